/* SPDX-License-Identifier: MIT */
/*
 * mysql_queue.c -- the order of those who wait for a row, and their waking.
 *
 * GET_LOCK is the wait queue: the server wakes its waiters in their order, and frees
 * the lock of a session that has ended. The lock decides nothing: a waiter that gets it
 * compares the row, as everybody else does.
 *
 *     client A          the server                       client B
 *
 *     acquire   ----->  UPDATE row .. AND GET_LOCK(l,0)
 *       <-- held -----  row: A     queue: A
 *                       UPDATE row: no match     <-----  acquire
 *                                                -----> BUSY: A's lease
 *                       GET_LOCK(l, an hour)     <-----  over a connection of its own
 *                       queue: A, B
 *     release   ----->  UPDATE row, RELEASE_LOCK(l)
 *                       queue: B                 ----->  1
 *                       UPDATE row               <-----
 *                       row: B                   ----->  held
 *
 * So the holder has the queue's lock in the session in which it got the row, and its
 * release is all that a waiter needs. A newcomer does not overtake the wait queue,
 * because it gets a free row only together with the lock, or when the row has been free
 * for ILK__MYSQL_GRACE_MS: then the one in front does not come. The other cases:
 *
 *     the holder is killed      the server frees the lock; the first of the wait queue
 *                               looks at the row when the lease ends
 *     the holder is frozen      it keeps the lock; all waiters look when the lease
 *                               has ended, and ILK__MYSQL_GRACE_MS later one of
 *                               them gets the row
 *     the holder has lost its session, has adopted the hold from elsewhere, or got
 *     the row after ILK__MYSQL_GRACE_MS
 *                               it tries to get the lock as it renews; the first
 *                               of the wait queue looks every ILK__MYSQL_HEAD_MS
 *     a wait is given up        KILL QUERY ends its GET_LOCK, and RELEASE_LOCK
 *                               follows if that came too late. The wait has ended
 *                               when its session is out of the wait queue, so the
 *                               client's next try does not meet it
 *     a waiter is killed        its place is gone with its session
 *     the first of the wait queue is frozen
 *                               the others look every ILK__MYSQL_SAFETY_MS at the
 *                               latest, and find the row free
 *
 * All waiters of one client and name share one connection: the client's first
 * waiter is the one in the wait queue. With each hold the client goes to its end, so
 * clients take turns, and each serves its own waiters in their order.
 */
#include "mysql_internal.h"

#include "base/backoff.h"

#include <string.h>

enum { QUEUE_WAIT_S = 3600, SOON_MS = 5 };

/* ---- who needs the wait queue -------------------------------------------- */

static int leaves(const ilk__contender *contender)
{
    const ilk__mysql_entry *entry = contender->at_store;

    return entry && entry->leaves;
}

ilk__contender *ilk__mysql_first_waiter(const ilk__mysql_name *name)
{
    ilk__contender *one = name->of->first;

    while (one && (one->state != ILK__CONTENDER_WAITS || leaves(one)))
        one = one->next;
    return one;
}

/* A hold, or a statement that may lead to one, uses the queue's connection. */
static int is_used(const ilk__mysql_name *name)
{
    for (const ilk__contender *one = name->of->first; one; one = one->next) {
        const ilk__mysql_entry *entry = one->at_store;

        if (entry && entry->on == name->queue_conn
            && (entry->may_hold || entry->is_unsure || entry->job))
            return 1;
    }
    return 0;
}

static ilk__mysql_name *name_of(const ilk__mysql_job *job)
{
    return job->name ? job->name->at_store : NULL;
}

/* ---- entering and leaving the wait queue --------------------------------- */

int ilk__mysql_queue_is_closing(const ilk__mysql_name *name)
{
    return (name->entering || name->frees
            || (name->queue_conn && name->queue_conn->kills))
           && !ilk__mysql_first_waiter(name);
}

static ilk__contender *first_leaver(const ilk__mysql_name *name)
{
    for (ilk__contender *one = name->of->first; one; one = one->next) {
        const ilk__mysql_entry *entry = one->at_store;

        if (entry && entry->leaves_queue)
            return one;
    }
    return NULL;
}

/* Each report may lead to a new wait, and to the next end of it. */
static void report_leavers(ilk__mysql_name *name)
{
    ilk__contender *one;

    while (!ilk__mysql_queue_is_closing(name)
           && (one = first_leaver(name)) != NULL) {
        ((ilk__mysql_entry *)one->at_store)->leaves_queue = 0;
        ilk__contender_left(one, ILK__LEFT_NO_HOLD);
    }
}

static void freed(ilk__mysql *self, ilk__mysql_job *job,
                  const ilk__mysql_result *result)
{
    ilk__mysql_name *name = self->names;

    (void)result;
    while (name && strcmp(name->lock, job->lock) != 0)
        name = name->next;
    if (!name)
        return;
    name->frees -= name->frees > 0;
    report_leavers(name);
}

/* The lock of a name that nobody here needs any more. Returns whether it is freed. */
static int release(ilk__mysql_conn *on, const char *lock)
{
    const ilk__mysql_subject subject = {.queue_lock = lock};
    ilk__mysql_job *job = ilk__mysql_job_new(freed);

    if (!job)
        return 0; /* the session ends when it has been idle */
    job->is_once = 1;
    memcpy(job->lock, lock, sizeof job->lock);
    ilk__mysql_compose(job, &subject, "DO RELEASE_LOCK({l})");
    return ilk__mysql_submit(on, job);
}

void ilk__mysql_queue_free_lock(ilk__mysql *self, ilk__mysql_name *name,
                                ilk__mysql_conn *on)
{
    (void)self;
    name->frees += (size_t)release(on, name->lock);
}

/* The same for a lock of a name that has gone. KILL QUERY would hit RELEASE_LOCK, and
 * the session would keep the lock: killed() releases it then. */
static void release_unneeded(ilk__mysql_conn *on, const char *lock)
{
    if (on->kills)
        memcpy(on->unneeded, lock, sizeof on->unneeded);
    else
        (void)release(on, lock);
}

static void took_queue_lock(ilk__mysql *self, ilk__mysql_job *job,
                            const ilk__mysql_result *result)
{
    ilk__mysql_name *name = name_of(job);
    ilk__mysql_row row = ilk__mysql_next_row(result->rows);
    const int has_it = ilk__mysql_number(&row, 0, 0) == 1;

    if (!name) {
        if (has_it)
            release_unneeded(job->on, job->lock);
        return;
    }
    name->entering = NULL;
    name->has_queue_lock = has_it;
    if (has_it) {
        name->enter_pause_ms = 0;
    } else { /* interrupted, an hour has passed, or the session has ended */
        name->enter_at =
            ilk__deadline(ilk__request_pause_ms(&name->enter_pause_ms));
        name->look_at =
            ilk__sooner(name->look_at, ilk__deadline(ILK__MYSQL_GRACE_MS));
    }
    ilk__mysql_queue_adjust(self, name);
    report_leavers(name);
}

static ilk__span who_waits(const ilk__mysql_name *name)
{
    const ilk__contender *first = ilk__mysql_first_waiter(name);

    return first && first->who.len
               ? (ilk__span){first->who.data, first->who.len}
               : (ilk__span){"", 0};
}

static void enter(ilk__mysql *self, ilk__mysql_name *name)
{
    const ilk__mysql_subject subject = ilk__mysql_subject_of(self, name);
    ilk__mysql_job *job;

    if (!name->queue_conn)
        name->queue_conn = ilk__mysql_take_queue_conn(self);
    job = name->queue_conn ? ilk__mysql_job_new(took_queue_lock) : NULL;
    if (!job) {
        /* No connection for it: its waiters look as if they were in front. */
        name->look_at =
            ilk__sooner(name->look_at, ilk__deadline(ILK__MYSQL_HEAD_MS));
        return;
    }
    job->name = name->of;
    job->is_once = 1;
    job->patience_ms = QUEUE_WAIT_S * 1000LL + self->reply_ms;
    memcpy(job->lock, name->lock, sizeof name->lock);
    /* For mysql_inspect.c of other clients. */
    ilk__mysql_compose(job, &subject, "SELECT GET_LOCK({l},{i})/*{c}*/",
                       (int64_t)QUEUE_WAIT_S, who_waits(name));
    if (ilk__mysql_submit(name->queue_conn, job)) {
        name->entering = job;
        name->entered++;
    }
}

/* Its GET_LOCK has to end in the usual time, or the connection does. */
static void limit_wait(const ilk__mysql *self, ilk__mysql_conn *conn)
{
    conn->due = ilk__sooner(conn->due, ilk__deadline(self->reply_ms));
}

static void interrupt(ilk__mysql *self, ilk__mysql_name *name);

static void killed(ilk__mysql *self, ilk__mysql_job *job,
                   const ilk__mysql_result *result)
{
    ilk__mysql_conn *conn = job->kills;
    ilk__mysql_name *name = self->names;

    (void)result;
    if (!conn)
        return;
    conn->kills--;
    if (!conn->kills && conn->unneeded[0]) {
        (void)release(conn, conn->unneeded);
        conn->unneeded[0] = '\0';
    }
    while (name && name->queue_conn != conn)
        name = name->next;
    if (!name || ilk__mysql_first_waiter(name))
        return;
    if (!name->entering)
        ilk__mysql_queue_adjust(self, name);
    else if (name->entered == job->number)
        limit_wait(self, conn);
    else
        interrupt(self, name); /* it was sent after this one */
    report_leavers(name);
}

/* End the GET_LOCK of a name without waiters. The connection gets no statement of
 * another name before the server has executed KILL QUERY, which would hit that. */
static void interrupt(ilk__mysql *self, ilk__mysql_name *name)
{
    ilk__mysql_conn *conn = name->queue_conn, *on;
    ilk__mysql_job *job;

    if (ilk__mysql_conn_unsend(name->entering)) {
        name->entering = NULL;
        return;
    }
    if (conn->current != name->entering || conn->state == ILK__MYSQL_CLOSED
        || conn->kills)
        return;
    on = ilk__mysql_shared_conn(self);
    job = on ? ilk__mysql_job_new(killed) : NULL;
    if (!job) {
        limit_wait(self, conn);
        return;
    }
    job->is_once = 1;
    job->number = name->entered;
    job->give_up_at = ilk__deadline(self->reply_ms);
    job->kills = conn;
    ilk__mysql_compose(job, NULL, "KILL QUERY {i}", (int64_t)conn->thread_id);
    if (ilk__mysql_submit(on, job))
        conn->kills++;
    else
        limit_wait(self, conn);
}

/* KILL QUERY would hit RELEASE_LOCK as well: killed() gives it back then. */
static int can_give_back(const ilk__mysql_name *name)
{
    return name->queue_conn && !name->queue_conn->kills;
}

static void leave_connection(ilk__mysql_name *name)
{
    name->has_queue_lock = 0;
    ilk__mysql_give_back_queue_conn(name->queue_conn);
    name->queue_conn = NULL;
}

static void give_back(ilk__mysql *self, ilk__mysql_name *name)
{
    if (name->has_queue_lock)
        ilk__mysql_queue_free_lock(self, name, name->queue_conn);
    leave_connection(name);
}

void ilk__mysql_queue_adjust(ilk__mysql *self, ilk__mysql_name *name)
{
    ilk__contender *waiter = ilk__mysql_first_waiter(name);

    if (!waiter)
        name->look_at = name->enter_at = ILK__FOREVER;
    else if (name->look_at == ILK__FOREVER)
        name->look_at = ilk__deadline(
            self->lacks_sessions ? ILK__MYSQL_POLL_MS : ILK__MYSQL_SAFETY_MS);
    if (name->queue_conn && is_used(name))
        return;
    if (name->entering) {
        if (!waiter)
            interrupt(self, name);
        if (name->entering || !name->queue_conn || waiter)
            return;
    }
    if (waiter && name->has_queue_lock)
        ilk__mysql_try_row(self, waiter);
    else if (waiter && name->enter_at == ILK__FOREVER && !self->lacks_sessions)
        enter(self, name);
    else if (!waiter && can_give_back(name))
        give_back(self, name);
}

/* ---- looking ------------------------------------------------------------- */

/* The first of the wait queue found the row free, and did not get it: another one was
 * faster, or the server changes nothing. */
static int64_t next_free_pause(ilk__mysql_name *name)
{
    const int pause = 2 * name->free_pause_ms;

    name->free_pause_ms = pause < SOON_MS               ? SOON_MS
                          : pause < ILK__MYSQL_GRACE_MS ? pause
                                                        : ILK__MYSQL_GRACE_MS;
    return name->free_pause_ms;
}

static int64_t pause_until(const ilk__mysql *self, ilk__mysql_name *name,
                           int64_t left_ms)
{
    int64_t pause = left_ms < 0 ? ILK__MYSQL_GRACE_MS
                                : left_ms + ILK__MYSQL_GRACE_MS,
            most = ILK__MYSQL_SAFETY_MS;

    if (self->lacks_sessions)
        return ILK__MYSQL_POLL_MS;
    if (left_ms >= 0)
        name->free_pause_ms = 0;
    if (name->has_queue_lock) {
        pause = left_ms < 0 ? next_free_pause(name) : left_ms;
        most = ILK__MYSQL_HEAD_MS;
    } else if (!name->queue_conn) {
        most = ILK__MYSQL_HEAD_MS;
    }
    return pause < SOON_MS ? SOON_MS : ilk__sooner(pause, most);
}

void ilk__mysql_queue_busy(ilk__mysql *self, ilk__mysql_name *name,
                           int64_t left_ms)
{
    const ilk__contender *waiter = ilk__mysql_first_waiter(name);

    if (waiter)
        name->look_at = ilk__deadline(pause_until(self, name, left_ms));
    if (!name->has_queue_lock)
        ilk__mysql_queue_adjust(self, name);
    else if (!waiter && !is_used(name) && can_give_back(name))
        give_back(self, name);
}

/* ---- the end of a session or a name -------------------------------------- */

void ilk__mysql_session_ended(ilk__mysql_conn *conn)
{
    for (ilk__mysql_name *one = conn->self->names; one; one = one->next)
        if (one->queue_conn == conn)
            one->has_queue_lock = 0;
    conn->unneeded[0] = '\0';
}

void ilk__mysql_queue_forget(ilk__mysql *self, ilk__mysql_name *name)
{
    if (name->reading && !ilk__mysql_conn_unsend(name->reading))
        name->reading->name = NULL;
    name->reading = NULL;
    if (name->entering) {
        interrupt(self, name);
        if (name->entering)
            name->entering->name = NULL;
        name->entering = NULL;
    }
    if (!name->queue_conn)
        return;
    if (name->has_queue_lock)
        release_unneeded(name->queue_conn, name->lock);
    leave_connection(name);
}

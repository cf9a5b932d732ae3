/* SPDX-License-Identifier: MIT */
/*
 * mysql_store.c -- acquires, renewals and releases: each is one statement that compares
 * and changes one row.
 *
 *     kind name   token  fence  until             session       released
 *     l    orders 7f3..  17..   us, server's UTC  of the holder the last token that
 *                                                               was released
 *
 * The row is held while it has a token and `until` is in the future. A release empties
 * the token, and makes `until` the time at which it came, so that a free row says
 * since when it is free.
 *
 * A repeated acquire finds its token, and keeps the fence. A statement is repeated
 * only after the session of its first copy has ended (mysql_conn.h), so a late copy
 * cannot follow the release. A release whose answer was lost finds its token as the
 * one that was released.
 */
#include "mysql_internal.h"

#include "base/alloc.h"

#include <mysqld_error.h>
#include <string.h>

enum { AGAIN_MS = 250, INSERTS_MOST = 4 };

/* ---- names and entries --------------------------------------------------- */

ilk__mysql_name *ilk__mysql_name_of(ilk__mysql *self, ilk__contended *name)
{
    ilk__mysql_name *one = name->at_store;

    if (one)
        return one;
    one = ilk__calloc(1, sizeof *one);
    if (!one)
        return NULL;
    one->of = name;
    one->look_at = one->enter_at = ILK__FOREVER;
    one->again_at = one->observe_at = ILK__FOREVER;
    ilk__mysql_queue_lock_name(
        one->lock, self->table,
        name->kind == ILK__CONTENDED_ELECTION ? 'e' : 'l', name->name);
    one->next = self->names;
    self->names = one;
    name->at_store = one;
    return one;
}

ilk__mysql_subject ilk__mysql_subject_of(const ilk__mysql *self,
                                         const ilk__mysql_name *name)
{
    return (ilk__mysql_subject){
        .table = self->table,
        .kind = name->of->kind == ILK__CONTENDED_ELECTION ? 'e' : 'l',
        .name = name->of->name,
        .queue_lock = name->lock};
}

static ilk__mysql_entry *entry_of(ilk__contender *contender)
{
    if (!contender->at_store)
        contender->at_store = ilk__calloc(1, sizeof(ilk__mysql_entry));
    return contender->at_store;
}

static ilk__span span_of(const ilk__bytes *bytes)
{
    return (ilk__span){bytes->data ? bytes->data : "", bytes->len};
}

/* ---- statements of contenders -------------------------------------------- */

static const char no_memory[] = "OOM out of memory";

/* A statement for a contender, with the usual time for its result. */
static ilk__mysql_job *job_for(ilk__mysql *self, ilk__contender *contender,
                               ilk__mysql_done *done)
{
    ilk__mysql_job *job = ilk__mysql_job_new(done);

    if (!job)
        return NULL;
    job->contender = contender;
    job->name = contender->of;
    job->give_up_at = ilk__deadline(self->reply_ms);
    return job;
}

static int submit(ilk__mysql_entry *entry, ilk__mysql_conn *on,
                  ilk__mysql_job *job)
{
    if (!ilk__mysql_submit(on, job))
        return 0;
    entry->job = job;
    entry->on = on;
    return 1;
}

/* The contender of a job that has ended. NULL: it has been forgotten. */
static ilk__contender *owner(ilk__mysql_job *job,
                             const ilk__mysql_result *result)
{
    ilk__contender *contender = job->contender;
    ilk__mysql_entry *entry = contender ? contender->at_store : NULL;

    if (!entry)
        return NULL;
    entry->job = NULL;
    if (!result->is_late)
        entry->is_unsure = 0;
    else if (job->sends)
        entry->is_unsure = 1;
    return contender;
}

/* It may have changed the row, or may do so later. The core expects that after a broken
 * connection, but not after an error. */
static int may_have_run(const ilk__mysql_job *job,
                        const ilk__mysql_result *result)
{
    return result->is_late && job->sends > 0;
}

static void failed(ilk__contender *contender, const ilk__mysql_result *result)
{
    /* The report may lead to further statements, which write the text. */
    char text[ILK__MYSQL_TEXT];
    size_t len = strlen(result->text);

    len = len < sizeof text ? len : sizeof text - 1;
    memcpy(text, result->text, len);
    text[len] = '\0';
    ilk__contender_failed(contender, text);
}

static int is_bad(const ilk__mysql_result *result)
{
    return result->error || result->is_late;
}

/* ---- acquiring ----------------------------------------------------------- */

static void took_row(ilk__mysql *self, ilk__mysql_job *job,
                     const ilk__mysql_result *result);

static void compose_acquire(ilk__mysql *self, ilk__mysql_name *name,
                            ilk__contender *contender, int by_queue,
                            ilk__mysql_job *job)
{
    const ilk__mysql_subject subject = ilk__mysql_subject_of(self, name);
    const ilk__span token = span_of(&contender->token);

    ilk__mysql_compose(
        job, &subject,
        "UPDATE {t} SET fence=LAST_INSERT_ID(IF(token={b},fence,"
        "GREATEST(fence+1,{i},{now}))),since=IF(token={b},since,{now}),",
        token, contender->floor + 1, token);
    if (subject.kind == 'e')
        ilk__mysql_compose(job, &subject,
                           "version=IF(token={b},version,version+1),value={b},",
                           token, span_of(&contender->value));
    ilk__mysql_compose(
        job, &subject,
        "token={b},who={b},session=CONNECTION_ID(),until={now}+{i} "
        "WHERE {k} AND ((token={b} AND until>{now}) OR ",
        token, span_of(&contender->who), contender->lease_ms * 1000, token);
    /* IF() evaluates GET_LOCK only for a row that is free. {now} is the beginning of
     * the statement, which may have waited for the row: so a free row may have an
     * `until` after {now}. When that is later than such a wait can last, the server's
     * clock was set back, and the row is for everybody. */
    if (by_queue || self->lacks_sessions)
        ilk__mysql_compose(job, &subject, "token='' OR until<={now})");
    else
        ilk__mysql_compose(job, &subject,
                           "IF(token='' OR until<={now},IF({get}=1,1,"
                           "until+{i}<={now} OR until>{now}+{i}),0))",
                           (int64_t)ILK__MYSQL_GRACE_MS * 1000,
                           (int64_t)ILK__MYSQL_LOCK_WAIT_MOST_MS * 1000);
    if (self->lacks_sessions)
        ilk__mysql_compose(job, &subject, " AND {now}<{i}",
                           self->clock_us
                               + (ilk__now_ms() + ILK__MYSQL_VALID_MS) * 1000);
}

static int is_by_queue(const ilk__mysql_name *name, const ilk__mysql_conn *on)
{
    return name->has_queue_lock && name->queue_conn == on;
}

void ilk__mysql_try_row(ilk__mysql *self, ilk__contender *contender)
{
    ilk__mysql_name *name = ilk__mysql_name_of(self, contender->of);
    ilk__mysql_entry *entry = entry_of(contender);
    ilk__mysql_conn *on;
    ilk__mysql_job *job = NULL;

    if (!name || !entry) {
        ilk__contender_failed(contender, no_memory);
        return;
    }
    if (entry->job)
        return; /* it has not ended yet */
    if (entry->is_unsure && entry->on)
        on = entry->on;
    else
        on = name->has_queue_lock ? name->queue_conn
                                  : ilk__mysql_shared_conn(self);
    if (on)
        job = job_for(self, contender, took_row);
    if (job) {
        job->number = !self->lacks_sessions;
        compose_acquire(self, name, contender, is_by_queue(name, on), job);
    }
    if (!job || !submit(entry, on, job))
        ilk__contender_failed(contender, no_memory);
}

/* A trigger of the table may hide the value of LAST_INSERT_ID(). */
static void took_fence(ilk__mysql *self, ilk__mysql_job *job,
                       const ilk__mysql_result *result)
{
    const int64_t ends = job->number;
    ilk__contender *contender = owner(job, result);
    const ilk__mysql_entry *entry = contender ? contender->at_store : NULL;
    ilk__mysql_row row;

    if (!contender)
        return;
    row = ilk__mysql_next_row(result->rows);
    if (entry->leaves)
        ilk__mysql_release_row(self, contender);
    else if (is_bad(result) && contender->state != ILK__CONTENDER_WAITS)
        failed(contender, result);
    else if (!is_bad(result) && row.at)
        ilk__contender_granted(contender, ilk__mysql_number(&row, 0, 0), ends);
    else
        ilk__mysql_lost(self, contender);
}

static void read_fence(ilk__mysql *self, ilk__contender *contender,
                       ilk__mysql_conn *on, int64_t ends)
{
    const ilk__mysql_subject subject =
        ilk__mysql_subject_of(self, contender->of->at_store);
    ilk__mysql_job *job = job_for(self, contender, took_fence);

    if (job) {
        job->number = ends;
        ilk__mysql_compose(job, &subject,
                           "SELECT fence FROM {t} WHERE {k} AND token={b}",
                           span_of(&contender->token));
    }
    if (!job || !submit(contender->at_store, on, job))
        ilk__contender_failed(contender, no_memory);
}

static void report_hold(ilk__mysql *self, ilk__contender *contender,
                        ilk__mysql_conn *on, const ilk__mysql_result *result,
                        int64_t ends)
{
    if (result->number)
        ilk__contender_granted(contender, (int64_t)result->number, ends);
    else
        read_fence(self, contender, on, ends);
}

static void granted(ilk__mysql *self, ilk__contender *contender,
                    ilk__mysql_conn *on, const ilk__mysql_result *result)
{
    ilk__mysql_name *name = contender->of->at_store;
    ilk__mysql_entry *entry = contender->at_store;

    entry->may_hold = 1;
    entry->generation = on->generation;
    entry->granted_at = ilk__now_ms();
    entry->inserts = 0;
    name->free_pause_ms = 0;
    if (name->queue_conn == on)
        name->has_queue_lock = 0; /* it belongs to the hold */
    if (entry->leaves) {
        ilk__mysql_release_row(self, contender);
        return;
    }
    if (name->observe_at != ILK__FOREVER)
        name->observe_at = 0;
    report_hold(self, contender, on, result,
                result->sent_at + contender->lease_ms);
}

/* ---- busy ---------------------------------------------------------------- */

static void found_busy(ilk__mysql *self, ilk__mysql_job *job,
                       const ilk__mysql_result *result);

/* A try did not match: the row is busy, or there is none. */
static int read_row(ilk__mysql *self, ilk__contender *contender,
                    ilk__mysql_conn *on)
{
    ilk__mysql_entry *entry = contender->at_store;
    ilk__mysql_name *name = contender->of->at_store;
    const ilk__mysql_subject subject = ilk__mysql_subject_of(self, name);
    ilk__mysql_job *job = job_for(self, contender, found_busy);

    if (!job)
        return 0;
    ilk__mysql_compose(
        job, &subject,
        "SELECT IF(token='',-1,CEIL((until-{now})/1000)) FROM {t} WHERE {k}");
    return submit(entry, on, job);
}

/* Whether the lock that this session has may be that of another one's hold. */
static int has_other_hold(const ilk__contender *contender,
                          const ilk__mysql_conn *on)
{
    for (const ilk__contender *one = contender->of->first; one;
         one = one->next) {
        const ilk__mysql_entry *entry = one->at_store;

        if (one != contender && entry && entry->on == on && entry->may_hold)
            return 1;
    }
    return 0;
}

/* GET_LOCK may have got the queue's lock before its statement failed. */
static void free_taken_lock(ilk__mysql *self, const ilk__contender *contender,
                            const ilk__mysql_job *job)
{
    ilk__mysql_name *name = contender->of->at_store;

    if (job->repeats_at && job->on != name->queue_conn
        && !has_other_hold(contender, job->on))
        ilk__mysql_queue_free_lock(self, name, job->on);
}

static void report_busy(ilk__mysql *self, ilk__contender *contender,
                        int64_t left_ms)
{
    ilk__mysql_name *name = contender->of->at_store;
    const int64_t rest = left_ms < 0 ? 0 : left_ms;

    if (contender->state != ILK__CONTENDER_WAITS) {
        if (contender->waiter.len)
            ilk__contender_queued(contender, rest, 1);
        else
            ilk__contender_busy(contender, rest, 1);
    }
    ilk__mysql_queue_busy(self, name, left_ms);
}

/* A row that somebody else's transaction has locked is as busy as one that is held. */
static void failed_to_take(ilk__mysql *self, ilk__contender *contender,
                           const ilk__mysql_result *result)
{
    const int waits = contender->state == ILK__CONTENDER_WAITS;

    if (result->error == ER_LOCK_WAIT_TIMEOUT || (waits && result->is_late))
        report_busy(self, contender, -1);
    else if (waits)
        ilk__mysql_lost(self, contender); /* it gets the error as it joins */
    else
        failed(contender, result);
}

static void took_row(ilk__mysql *self, ilk__mysql_job *job,
                     const ilk__mysql_result *result)
{
    ilk__mysql_conn *on = job->on;
    ilk__contender *contender = owner(job, result);
    ilk__mysql_entry *entry = contender ? contender->at_store : NULL;

    if (!contender)
        return;
    /* It was composed before the first session, and has a GET_LOCK. */
    if (result->error && self->lacks_sessions && job->number
        && !entry->leaves) {
        ilk__mysql_try_row(self, contender);
        return;
    }
    if (!self->lacks_sessions && !result->is_late
        && (result->error || (job->refusals && !result->matched)))
        free_taken_lock(self, contender, job);
    if (is_bad(result)) {
        entry->may_hold |= entry->is_unsure;
        if (entry->leaves)
            ilk__mysql_release_row(self, contender);
        else
            failed_to_take(self, contender, result);
        return;
    }
    if (result->matched) {
        granted(self, contender, on, result);
        return;
    }
    entry->may_hold = 0;
    if (entry->leaves)
        ilk__mysql_release_row(self, contender);
    else if (!read_row(self, contender, on))
        ilk__contender_failed(contender, no_memory);
}

static void inserted(ilk__mysql *self, ilk__mysql_job *job,
                     const ilk__mysql_result *result)
{
    ilk__contender *contender = owner(job, result);
    ilk__mysql_entry *entry = contender ? contender->at_store : NULL;

    if (!contender)
        return;
    entry->is_unsure = 0; /* of a row without a holder */
    if (entry->leaves)
        ilk__mysql_release_row(self, contender);
    else if (is_bad(result))
        failed_to_take(self, contender, result);
    else
        ilk__mysql_try_row(self, contender);
}

/* Several sessions may insert it; the first one does. */
static void insert_row(ilk__mysql *self, ilk__contender *contender,
                       ilk__mysql_conn *on)
{
    const ilk__mysql_subject subject =
        ilk__mysql_subject_of(self, contender->of->at_store);
    ilk__mysql_job *job = job_for(self, contender, inserted);

    if (job) {
        char kind[] = {subject.kind, '\0'};

        ilk__mysql_compose(job, &subject,
                           "INSERT IGNORE INTO {t} (kind,name,value) "
                           "VALUES ('{s}',{b},'')",
                           kind, subject.name);
    }
    if (!job || !submit(contender->at_store, on, job))
        ilk__contender_failed(contender, no_memory);
}

/* Each time it was inserted, it was not there afterwards. */
static const ilk__mysql_result keeps_no_row = {
    .error = ER_KEY_NOT_FOUND,
    .text = "ERR the database does not keep the row of the name"};

static void found_busy(ilk__mysql *self, ilk__mysql_job *job,
                       const ilk__mysql_result *result)
{
    ilk__mysql_conn *on = job->on;
    ilk__contender *contender = owner(job, result);
    ilk__mysql_entry *entry = contender ? contender->at_store : NULL;
    ilk__mysql_row row;

    if (!contender)
        return;
    entry->is_unsure = 0;
    if (entry->leaves) {
        ilk__mysql_release_row(self, contender);
        return;
    }
    if (is_bad(result) && contender->state != ILK__CONTENDER_WAITS) {
        failed(contender, result);
        return;
    }
    row = ilk__mysql_next_row(result->rows);
    if (!row.at && !is_bad(result)) {
        if (entry->inserts++ < INSERTS_MOST)
            insert_row(self, contender, on);
        else
            failed_to_take(self, contender, &keeps_no_row);
        return;
    }
    entry->inserts = 0;
    report_busy(self, contender, ilk__mysql_number(&row, 0, -1));
}

/* ---- join ---------------------------------------------------------------- */

/* The place behind the client's own waiters needs no statement. */
static int is_behind_own(const ilk__mysql_name *name,
                         const ilk__contender *contender)
{
    const ilk__contender *first = ilk__mysql_first_waiter(name);

    return first && first != contender && contender->waiter.len;
}

static void join(void *context, ilk__contender *contender)
{
    ilk__mysql *self = context;
    ilk__mysql_name *name = ilk__mysql_name_of(self, contender->of);
    ilk__mysql_entry *entry = entry_of(contender);

    if (!name || !entry) {
        ilk__contender_failed(contender, no_memory);
        return;
    }
    if (!entry->is_unsure && is_behind_own(name, contender))
        ilk__contender_queued(contender, -1, 1);
    else
        ilk__mysql_try_row(self, contender);
}

/* ---- renewing ------------------------------------------------------------ */

static void took_lease(ilk__mysql *self, ilk__mysql_job *job,
                       const ilk__mysql_result *result);

static void compose_renewal(ilk__mysql *self, ilk__contender *contender,
                            ilk__mysql_job *job)
{
    const ilk__mysql_subject subject =
        ilk__mysql_subject_of(self, contender->of->at_store);

    ilk__mysql_compose(job, &subject,
                       "UPDATE {t} SET fence=LAST_INSERT_ID(fence),until={s}"
                       "{now}+{i}{s}",
                       contender->renews ? "GREATEST(until," : "",
                       contender->lease_ms * 1000,
                       contender->renews ? ")" : "");
    /* The session that had the queue's lock has ended, the hold comes from another
     * process, or it was got without that lock: get it, if nobody has it. */
    if (!self->lacks_sessions)
        ilk__mysql_compose(job, &subject,
                           "+0*COALESCE({get},0),session=CONNECTION_ID()");
    ilk__mysql_compose(job, &subject,
                       " WHERE {k} AND token={b} AND until>{now}",
                       span_of(&contender->token));
}

static void send_renewal(ilk__mysql *self, ilk__contender *contender)
{
    ilk__mysql_name *name = ilk__mysql_name_of(self, contender->of);
    ilk__mysql_entry *entry = entry_of(contender);
    ilk__mysql_conn *on;
    ilk__mysql_job *job = NULL;

    if (!name || !entry) {
        ilk__contender_failed(contender, no_memory);
        return;
    }
    if (entry->job)
        return; /* its result will be reported */
    on = entry->on ? entry->on : ilk__mysql_shared_conn(self);
    if (on)
        job = job_for(self, contender, took_lease);
    if (job) {
        compose_renewal(self, contender, job);
        ilk__mysql_job_repeats(job); /* it may have the queue's lock */
    }
    if (!job || !submit(entry, on, job))
        ilk__contender_failed(contender, no_memory);
}

static void release_queue_lock(ilk__mysql *self, ilk__contender *contender);

static void took_lease(ilk__mysql *self, ilk__mysql_job *job,
                       const ilk__mysql_result *result)
{
    ilk__mysql_conn *on = job->on;
    ilk__contender *contender = owner(job, result);
    ilk__mysql_entry *entry = contender ? contender->at_store : NULL;
    int64_t ends;

    if (!contender)
        return;
    entry->may_hold |= entry->is_unsure || result->matched;
    if (!is_bad(result) && result->matched)
        entry->generation = on->generation;
    if (entry->leaves) {
        ilk__mysql_release_row(self, contender);
        return;
    }
    if (may_have_run(job, result)) {
        ilk__contender_failed(contender, NULL);
        return;
    }
    if (is_bad(result)) {
        failed(contender, result);
        return;
    }
    if (!result->matched) {
        ilk__mysql_lost(self, contender);
        return;
    }
    ends = result->sent_at + contender->lease_ms;
    if (contender->renews && contender->ends > ends)
        ends = contender->ends;
    report_hold(self, contender, on, result, ends);
}

static void renew(void *self, ilk__contender *contender)
{
    send_renewal(self, contender);
}

/* ---- releasing ----------------------------------------------------------- */

/* The queue's lock of a hold that has ended at the server, but not by our release. */
static void release_queue_lock(ilk__mysql *self, ilk__contender *contender)
{
    ilk__mysql_name *name = contender->of->at_store;
    ilk__mysql_entry *entry = contender->at_store;

    if (!entry->on || !entry->may_hold)
        return;
    if (name->queue_conn == entry->on)
        name->has_queue_lock = entry->generation == entry->on->generation;
    else if (entry->generation == entry->on->generation)
        ilk__mysql_queue_free_lock(self, name, entry->on);
    entry->may_hold = 0;
    entry->on = NULL;
}

void ilk__mysql_lost(ilk__mysql *self, ilk__contender *contender)
{
    ilk__mysql_name *name = contender->of->at_store;
    ilk__mysql_entry *entry = contender->at_store;

    release_queue_lock(self, contender);
    if (entry)
        entry->leaves = 1; /* it needs no place in the wait queue any more */
    if (name) {
        if (name->observe_at != ILK__FOREVER)
            name->observe_at = 0;
        ilk__mysql_queue_adjust(self, name);
    }
    ilk__contender_lost(contender);
}

/* A wait has left when its session is out of the wait queue: the next acquire must not
 * find it there. */
static void left(ilk__mysql *self, ilk__contender *contender, ilk__left how)
{
    ilk__mysql_name *name = contender->of->at_store;
    ilk__mysql_entry *entry = contender->at_store;

    if (entry) {
        release_queue_lock(self, contender);
        entry->on = NULL;
        entry->leaves = 1;
    }
    if (name) {
        if (name->observe_at != ILK__FOREVER)
            name->observe_at = 0;
        ilk__mysql_queue_adjust(self, name);
    }
    if (entry && name && how == ILK__LEFT_NO_HOLD
        && ilk__mysql_queue_is_closing(name))
        entry->leaves_queue = 1;
    else
        ilk__contender_left(contender, how);
}

static void release_again(ilk__contender *contender)
{
    ilk__mysql_name *name = contender->of->at_store;

    name->again_at = ilk__sooner(name->again_at, ilk__deadline(AGAIN_MS));
}

/* Whether it was released before, by a copy whose result was lost. */
static void found_released(ilk__mysql *self, ilk__mysql_job *job,
                           const ilk__mysql_result *result)
{
    ilk__contender *contender = owner(job, result);
    const ilk__mysql_entry *entry = contender ? contender->at_store : NULL;
    ilk__left how = ILK__LEFT_NO_HOLD;
    ilk__mysql_row row;

    if (!contender)
        return;
    if (is_bad(result)) {
        release_again(contender);
        failed(contender, result);
        return;
    }
    row = ilk__mysql_next_row(result->rows);
    /* The next holder's release takes the evidence away. But a token that is gone
     * before its lease is over was released, by the copy without an answer. After
     * that, the copy or the next holder may have ended it. */
    if (ilk__mysql_number(&row, 0, 0) > 0)
        how = ILK__LEFT_ITS_HOLD;
    else if (entry->was_release_lost)
        how = contender->ends > ilk__now_ms() ? ILK__LEFT_ITS_HOLD
                                              : ILK__LEFT_EITHER_WAY;
    left(self, contender, how);
}

static void released(ilk__mysql *self, ilk__mysql_job *job,
                     const ilk__mysql_result *result)
{
    ilk__mysql_conn *on = job->on;
    ilk__contender *contender = owner(job, result);
    ilk__mysql_entry *entry = contender ? contender->at_store : NULL;
    ilk__mysql_subject subject;

    if (!contender)
        return;
    entry->was_release_lost |=
        result->was_sent_before || (result->is_late && job->sends > 0);
    if (is_bad(result)) {
        release_again(contender);
        failed(contender, result);
        return;
    }
    if (result->matched) {
        entry->may_hold = 0;
        left(self, contender, ILK__LEFT_ITS_HOLD);
        return;
    }
    subject = ilk__mysql_subject_of(self, contender->of->at_store);
    job = job_for(self, contender, found_released);
    if (job)
        ilk__mysql_compose(
            job, &subject,
            "SELECT COUNT(*) FROM {t} WHERE {k} AND released={b}",
            span_of(&contender->token));
    if (!job || !submit(entry, on, job)) {
        release_again(contender);
        ilk__contender_failed(contender, no_memory);
    }
}

/* A hold whose lease is over here may have been adopted by another process, which
 * renews it under the same token. */
static int is_over(const ilk__contender *contender)
{
    return contender->fence && contender->ends <= ilk__now_ms();
}

/* RELEASE_LOCK comes before the commit. The next one of the wait queue then waits for
 * the row itself, which InnoDB frees with the commit, so both commits can share one
 * flush of the log. */
static void compose_release(ilk__mysql *self, ilk__contender *contender,
                            ilk__mysql_job *job)
{
    const ilk__mysql_subject subject =
        ilk__mysql_subject_of(self, contender->of->at_store);

    /* A lease that is over was not released. */
    ilk__mysql_compose(job, &subject,
                       is_over(contender)
                           ? "UPDATE {t} SET token='',"
                           : "UPDATE {t} SET released=token,token='',");
    if (subject.kind == 'e')
        ilk__mysql_compose(job, &subject, "value='',version=version+1,");
    if (self->lacks_sessions)
        ilk__mysql_compose(job, &subject, "until=LEAST(until,{now})");
    else
        ilk__mysql_compose(job, &subject,
                           "until=LEAST(until,{now})"
                           "+0*COALESCE(RELEASE_LOCK({l}),0)");
    ilk__mysql_compose(job, &subject, " WHERE {k} AND token={b}",
                       span_of(&contender->token));
    if (is_over(contender))
        ilk__mysql_compose(job, &subject, " AND until<={now}");
}

void ilk__mysql_release_row(ilk__mysql *self, ilk__contender *contender)
{
    ilk__mysql_entry *entry = contender->at_store;
    ilk__mysql_conn *on;
    ilk__mysql_job *job = NULL;

    if (!entry || (!entry->may_hold && !entry->is_unsure)) {
        left(self, contender, ILK__LEFT_NO_HOLD);
        return;
    }
    if (entry->job)
        return;
    on = entry->on ? entry->on : ilk__mysql_shared_conn(self);
    if (on)
        job = job_for(self, contender, released);
    if (job)
        compose_release(self, contender, job);
    if (!job || !submit(entry, on, job)) {
        release_again(contender);
        ilk__contender_failed(contender, no_memory);
    }
}

static void leave(void *context, ilk__contender *contender)
{
    ilk__mysql *self = context;
    ilk__mysql_entry *entry = contender->at_store;

    if (!entry) {
        left(self, contender, ILK__LEFT_NO_HOLD);
        return;
    }
    entry->leaves = 1;
    if (entry->job && ilk__mysql_conn_unsend(entry->job))
        entry->job = NULL;
    if (!entry->job)
        ilk__mysql_release_row(self, contender);
}

/* ---- the rest ------------------------------------------------------------ */

/* A hold that this client does not know: it was detached, or begun by another process. */
static void adopt(void *self, ilk__contender *contender)
{
    send_renewal(self, contender);
}

static void forget(void *context, ilk__contender *contender)
{
    ilk__mysql_entry *entry = contender->at_store;

    (void)context;
    if (!entry)
        return;
    if (entry->job && !ilk__mysql_conn_unsend(entry->job))
        entry->job->contender = NULL;
    contender->at_store = NULL;
    ilk__free(entry);
}

static void forget_name(void *context, ilk__contended *name)
{
    ilk__mysql *self = context;
    ilk__mysql_name *one = name->at_store, **link = &self->names;

    if (!one)
        return;
    ilk__mysql_queue_forget(self, one);
    while (*link != one)
        link = &(*link)->next;
    *link = one->next;
    name->at_store = NULL;
    ilk__free(one);
}

static void proclaimed(ilk__mysql *self, ilk__mysql_job *job,
                       const ilk__mysql_result *result)
{
    ilk__contender *contender = owner(job, result);
    ilk__mysql_entry *entry = contender ? contender->at_store : NULL;
    ilk__mysql_name *name;

    if (!contender)
        return;
    name = contender->of->at_store;
    if (entry->leaves) {
        ilk__mysql_release_row(self, contender);
    } else if (may_have_run(job, result)) {
        ilk__contender_failed(contender, NULL);
    } else if (is_bad(result)) {
        failed(contender, result);
    } else if (!result->matched) {
        ilk__mysql_lost(self, contender);
    } else {
        if (name->observe_at != ILK__FOREVER)
            name->observe_at = 0;
        ilk__contender_granted(contender, contender->fence, contender->ends);
    }
}

static void proclaim(void *context, ilk__contender *contender)
{
    ilk__mysql *self = context;
    ilk__mysql_name *name = ilk__mysql_name_of(self, contender->of);
    ilk__mysql_entry *entry = entry_of(contender);
    ilk__mysql_conn *on = NULL;
    ilk__mysql_job *job = NULL;

    if (name && entry && !entry->job)
        on = entry->on ? entry->on : ilk__mysql_shared_conn(self);
    if (on)
        job = job_for(self, contender, proclaimed);
    if (job) {
        const ilk__mysql_subject subject = ilk__mysql_subject_of(self, name);
        const ilk__span value = span_of(&contender->value);

        ilk__mysql_compose(job, &subject,
                           "UPDATE {t} SET version=IF(value={b},version,"
                           "version+1),value={b} "
                           "WHERE {k} AND token={b} AND until>{now}",
                           value, value, span_of(&contender->token));
    }
    if (!job || !submit(entry, on, job))
        ilk__contender_failed(contender, no_memory);
}

const ilk__contention_store ilk__mysql_store = {
    .name = "mysql",
    .join = join,
    .renew = renew,
    .leave = leave,
    .adopt = adopt,
    .forget = forget,
    .forget_name = forget_name,
    .check = ilk__mysql_check,
    .inspect = ilk__mysql_inspect,
    .break_hold = ilk__mysql_break,
    .proclaim = proclaim,
    .observe = ilk__mysql_observe,
};

/* SPDX-License-Identifier: MIT */
/* lane_open.c -- opens and closes a lane's connection. */
#include "lane_internal.h"

#include "base/clock.h"

#include <poll.h>
#include <sys/socket.h>

/* ---- the end of a connection -------------------------------------------- */

void ilk__lane_wake_newcomers(ilk__lane *lane)
{
    for (ilk__newcomer *n = lane->newcomers; n; n = n->next)
        ilk__unpark(&n->parker);
}

/* Close a broken connection unless the leader or the writer still uses it. */
void ilk__lane_close_if_unused(ilk__lane *lane)
{
    ilk__conn *conn = lane->conn;

    if (lane->has_leader || lane->has_writer || !conn)
        return;
    if (lane->state != ILK__LANE_BROKEN && lane->state != ILK__LANE_SHUT)
        return;
    lane->conn = NULL; /* first: a child of a fork closes what is here */
    ilk__conn_close(conn);
    lane->traffic.connected = 0;
    ilk__buf_drop(&lane->pending, ilk__buf_len(&lane->pending));
    ilk__buf_drop(&lane->writing, ilk__buf_len(&lane->writing));
    lane->batches = 0;
    if (lane->state == ILK__LANE_BROKEN)
        lane->state = ILK__LANE_DOWN;
    ilk__lane_wake_newcomers(lane);
}

void ilk__lane_break(ilk__lane *lane, ilk_status status, ilk__lane_state state)
{
    if (lane->state == ILK__LANE_UP) {
        lane->state = state;
        atomic_store(&lane->is_up, 0);
        lane->replaced = ilk__conn_identity_of(lane->conn);
        if (state == ILK__LANE_BROKEN && lane->first) /* before they finish */
            atomic_store(&lane->is_unsettled, 1);
        if (state == ILK__LANE_BROKEN) /* unsent bytes must not arrive late */
            ilk__conn_drop_unsent(lane->conn);
        /* Ends a poll() or send() of the leader or writer at once. */
        shutdown(ilk__conn_fd(lane->conn), SHUT_RDWR);
        ilk__lane_finish_all(lane, status);
    }
    ilk__lane_close_if_unused(lane);
}

/* ---- opening ------------------------------------------------------------ */

static void connected(ilk__lane *lane, ilk__conn *conn)
{
    lane->conn = conn;
    lane->state = ILK__LANE_UP;
    atomic_store(&lane->is_unsettled, 0);
    atomic_store(&lane->is_up, 1);
    ilk__error_clear(&lane->failure);
    lane->replaced.since = 0;
    if (ilk__conn_left_open(conn))
        atomic_store(&lane->left_open, 1);
    lane->retry_ms = 0;
    lane->retry_at = 0;
    lane->traffic.connects++;
    lane->traffic.connected = 1;
    if (ilk__conn_is_outdated(conn)) /* a switch just now */
        ilk__lane_break(lane, ILK_ECONN, ILK__LANE_BROKEN);
}

static void not_connected(ilk__lane *lane, ilk_status why)
{
    lane->retry_at =
        ilk__now_ms() + ilk__conn_pause_ms(lane->target, &lane->retry_ms, why);
}

/* Be the connector. Called and returns with the mutex held. */
static ilk_status open_connection(ilk__lane *lane, int64_t deadline,
                                  ilk_error *err)
{
    const ilk__target *to = lane->target;
    const ilk__conn_identity replaced = lane->replaced;
    ilk__conn *conn = NULL;
    ilk_status st;

    lane->has_connector = 1;
    ilk__lane_unlock(lane);
    st = ilk__conn_open(&conn, to, &replaced, deadline, err);
    if (st == ILK_ECONN && to->revive && to->revive(to->context))
        st = ilk__conn_open(&conn, to, &replaced, deadline, err);
    pthread_mutex_lock(&lane->mutex);
    lane->has_connector = 0;
    if (lane->state == ILK__LANE_SHUT && st == ILK_OK) {
        ilk__conn_close(conn);
        st = ilk__fail(err, ILK_ECLOSED, "the client is closed");
    } else if (st == ILK_OK) {
        connected(lane, conn);
    } else {
        not_connected(lane, st);
        lane->failures++;
        ilk__error_clear(&lane->failure);
        if (err)
            lane->failure = *err;
    }
    ilk__lane_wake_newcomers(lane);
    return st;
}

static int is_down(const ilk__lane *lane)
{
    return lane->state == ILK__LANE_DOWN && !lane->has_connector;
}

int ilk__lane_is_down(ilk__lane *lane, ilk__conn_identity *out_replaced)
{
    int down;

    pthread_mutex_lock(&lane->mutex);
    down = is_down(lane);
    *out_replaced = lane->replaced;
    ilk__lane_unlock(lane);
    return down;
}

void ilk__lane_adopt(ilk__lane *lane, ilk__conn *conn,
                     const ilk__conn_identity *replaced)
{
    pthread_mutex_lock(&lane->mutex);
    if (is_down(lane) && lane->replaced.since == replaced->since
        && lane->replaced.id == replaced->id)
        connected(lane, conn);
    else
        ilk__conn_close(conn);
    ilk__lane_wake_newcomers(lane);
    ilk__lane_unlock(lane);
}

/* Sleep until the lane's state may have changed, at most until `until`. Called
 * and returns with the mutex held. ILK_EINTR: the call is to end. */
static ilk_status await_change(ilk__lane *lane, int64_t until,
                               ilk__lane_sleep *sleep)
{
    ilk__newcomer self = {.next = lane->newcomers};
    ilk__newcomer **link;
    ilk_status st = ILK_OK;

    if (ilk__parker_init(&self.parker, NULL)) { /* no descriptor is left */
        ilk__lane_unlock(lane);
        poll(NULL, 0, ilk__poll_timeout(ilk__sooner(until, ilk__deadline(1))));
        pthread_mutex_lock(&lane->mutex);
        return ILK_OK;
    }
    lane->newcomers = &self;
    ilk__lane_unlock(lane);
    if (sleep)
        st = sleep->park(sleep, &self.parker, until);
    else
        ilk__park(&self.parker, until);
    pthread_mutex_lock(&lane->mutex);
    for (link = &lane->newcomers; *link != &self;)
        link = &(*link)->next;
    *link = self.next;
    ilk__parker_destroy(&self.parker);
    return st == ILK_EINTR ? ILK_EINTR : ILK_OK;
}

static ilk_status fail_in_time(const ilk__lane *lane, ilk_error *err)
{
    return ilk__fail(err, ILK_ECONN, "no connection in time%s%s",
                     lane->failure.msg[0] ? ": " : "", lane->failure.msg);
}

/* The text says why the call waited. */
static ilk_status end_early(const ilk__lane *lane, ilk_error *err)
{
    if (err)
        *err = lane->failure;
    return ILK_EINTR;
}

/* Another thread's attempt has failed. */
static ilk_status fail_as(const ilk_error *failure, ilk_error *err)
{
    return ilk__fail(err, failure->code ? (ilk_status)failure->code : ILK_ECONN,
                     "%s", failure->msg);
}

/* When the pause ends for a caller that came at `came`. It makes an attempt of its own,
 * with as much time for that as it has waited. */
static int64_t pause_end(const ilk__lane *lane, int64_t came, int64_t limit)
{
    return limit == ILK__FOREVER
               ? lane->retry_at
               : ilk__sooner(lane->retry_at, came + (limit - came) / 2);
}

/* Bring the lane up. Called and returns with the mutex held. */
ilk_status ilk__lane_come_up(ilk__lane *lane, int64_t deadline,
                             int64_t pauses_until, ilk__lane_sleep *sleep,
                             ilk_error *err)
{
    const unsigned failures = lane->failures;
    const int64_t came = ilk__now_ms();

    for (;;) {
        int64_t now, pause, until;

        if (lane->state == ILK__LANE_SHUT)
            return ilk__fail(err, ILK_ECLOSED, "the client is closed");
        if (lane->state == ILK__LANE_UP)
            return ILK_OK;
        now = ilk__now_ms();
        if (now >= deadline)
            return fail_in_time(lane, err);
        if (!pauses_until && lane->failures != failures)
            return fail_as(&lane->failure, err);
        pause =
            lane->failures != failures
                ? lane->retry_at
                : pause_end(lane, came, ilk__sooner(deadline, pauses_until));
        if (is_down(lane) && (!pauses_until || now >= pause)) {
            ilk_status st = open_connection(lane, deadline, err);

            if (st || lane->state == ILK__LANE_UP)
                return st;
            continue; /* a switch of the primary closed it at once */
        }
        if (is_down(lane) && now >= pauses_until)
            return fail_in_time(lane, err);
        until = is_down(lane)
                    ? ilk__sooner(ilk__sooner(deadline, pauses_until), pause)
                    : deadline;
        if (await_change(lane, until, sleep))
            return end_early(lane, err);
    }
}

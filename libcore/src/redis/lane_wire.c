/* SPDX-License-Identifier: MIT */
/*
 * lane_wire.c -- sends a lane's commands and receives their replies.
 *
 *     append     formats a command into `pending`, its slot goes to the end
 *     flush      swaps `pending` and `writing`, and sends that batch
 *     lead_once  polls, receives, and gives each reply to the first slot
 *     resign     wakes the caller that is to lead next
 *
 * The limit on unanswered batches makes commands gather in `pending` while the
 * server is busy, so that the next batch is larger.
 */
#include "lane_internal.h"

#include "base/clock.h"

#include <poll.h>

enum { BLIND_MS = 2 };

ilk_status ilk__lane_append(ilk__lane *lane, ilk__lane_slot *p,
                            const ilk__command *c, ilk_error *err)
{
    size_t before = ilk__buf_len(&lane->pending);
    ilk_status st = ilk__command_format(c, &lane->pending, err);

    if (st)
        return st;
    p->begins = lane->appended;
    lane->appended += ilk__buf_len(&lane->pending) - before;
    lane->counts.commands++;
    if (lane->last)
        lane->last->next = p;
    else
        lane->first = p;
    lane->last = p;
    return ILK_OK;
}

/* ---- writing ------------------------------------------------------------ */

/* Move all pending commands to `writing`, as a new batch. */
static void begin_batch(ilk__lane *lane)
{
    ilk__buf empty = lane->writing;

    lane->writing = lane->pending;
    lane->pending = empty;
    lane->last->ends_batch = 1;
    lane->unanswered++;
    lane->counts.writes++;
}

/*
 * Write the rest of the last batch, then new batches; `force` ignores the limit
 * on unanswered ones. Bytes that the socket did not accept stay in `writing`,
 * and the leader flushes again when the socket is writable.
 */
void ilk__lane_flush(ilk__lane *lane, int force, ilk_error *err)
{
    if (lane->has_writer)
        return;
    while (lane->state == ILK__LANE_UP) {
        size_t sent = 0, len;
        ilk_status st;

        if (!ilk__buf_len(&lane->writing) && !ilk__conn_unsent(lane->conn)) {
            if (!ilk__buf_len(&lane->pending)
                || (lane->unanswered >= ILK__LANE_BATCHES && !force))
                return;
            begin_batch(lane);
        }
        len = ilk__buf_len(&lane->writing);
        lane->has_writer = 1;
        ilk__lane_unlock(lane);
        st = ilk__conn_send(lane->conn, ilk__buf_data(&lane->writing), len,
                            &sent, err);
        pthread_mutex_lock(&lane->mutex);
        lane->has_writer = 0;
        ilk__buf_drop(&lane->writing, sent);
        lane->sent += sent;
        lane->counts.bytes_out += (int64_t)sent;
        if (st) {
            ilk__lane_break(lane, st, ILK__LANE_BROKEN);
            return;
        }
        if (sent < len || ilk__conn_unsent(lane->conn))
            return;
    }
    ilk__lane_let_go(lane);
}

/* ---- reading ------------------------------------------------------------ */

/* Give the reply to the first slot. Pushes are dropped. */
static ilk_status deliver(ilk__lane *lane, ilk__reply *reply)
{
    ilk__lane_slot *p = lane->first;

    if (reply->type == ILK__REPLY_PUSH) {
        ilk__reply_free(reply);
        return ILK_OK;
    }
    if (!p) {
        ilk__reply_free(reply);
        return ILK_EREPLY; /* more replies than commands */
    }
    lane->first = p->next;
    if (!lane->first)
        lane->last = NULL;
    if (p->ends_batch)
        lane->unanswered--;
    p->reply = reply;
    ilk__lane_finish(lane, p, ILK_OK);
    return ILK_OK;
}

enum { HANDFUL = 64 };

typedef struct ilk__haul {
    ilk__reply *replies[HANDFUL];
    size_t count, bytes;
    int writable;
} ilk__haul;

/* Read up to HANDFUL whole replies. ILK_OK: there may be more. */
static ilk_status read_replies(ilk__conn *conn, ilk__haul *haul, ilk_error *err)
{
    ilk_status st = ILK_OK;

    for (haul->count = 0; haul->count < HANDFUL && st == ILK_OK;)
        if (!(st = ilk__conn_reply(conn, &haul->replies[haul->count], err)))
            haul->count++;
    return st;
}

/* Wait for the socket and read the replies that came. The mutex is not held. */
static ilk_status wait_and_receive(ilk__conn *conn, int want_out,
                                   int64_t deadline, ilk__haul *haul,
                                   ilk_error *err)
{
    struct pollfd pfd = {.fd = ilk__conn_fd(conn), .events = POLLIN};
    ilk_status st;

    haul->count = haul->bytes = 0;
    haul->writable = 0;
    if (want_out)
        pfd.events |= POLLOUT;
    if (poll(&pfd, 1, ilk__poll_timeout(deadline)) <= 0)
        return ILK_EAGAIN; /* the time is up, or a signal, which is ignored */
    haul->writable = (pfd.revents & POLLOUT) != 0;
    if (!(pfd.revents & (POLLIN | POLLERR | POLLHUP)))
        return ILK_EAGAIN;
    st = ilk__conn_recv(conn, &haul->bytes, err);
    return st ? st : read_replies(conn, haul, err);
}

static ilk_status deliver_all(ilk__lane *lane, ilk__haul *haul, ilk_error *err)
{
    ilk_status st = ILK_OK;

    for (size_t i = 0; i < haul->count; i++)
        if (lane->state != ILK__LANE_UP)
            ilk__reply_free(haul->replies[i]);
        else if (deliver(lane, haul->replies[i]))
            st = ilk__fail(err, ILK_EREPLY, "the server sent a reply too many");
    return st;
}

/*
 * One turn of the leader. While another thread is writing, the leader cannot
 * know whether that write will be cut short, so that it would have to poll for
 * POLLOUT as well. It then polls for BLIND_MS at most and checks again.
 */
void ilk__lane_lead_once(ilk__lane *lane, int64_t deadline, ilk_error *err)
{
    ilk__conn *conn = lane->conn;
    int want_out =
        !lane->has_writer
        && (ilk__buf_len(&lane->writing) > 0 || ilk__conn_unsent(conn));
    ilk_status st, delivered;
    ilk__haul haul;

    if (lane->has_writer)
        deadline = ilk__sooner(deadline, ilk__deadline(BLIND_MS));
    ilk__lane_unlock(lane);
    st = wait_and_receive(conn, want_out, deadline, &haul, err);
    for (;;) {
        pthread_mutex_lock(&lane->mutex);
        delivered = deliver_all(lane, &haul, err);
        if (st || delivered)
            break;
        ilk__lane_unlock(lane);
        st = read_replies(conn, &haul, err);
    }
    lane->counts.bytes_in += (int64_t)haul.bytes;
    if (st != ILK_EAGAIN || delivered)
        ilk__lane_break(lane, delivered ? delivered : st, ILK__LANE_BROKEN);
    else if (haul.bytes || haul.writable)
        ilk__lane_flush(lane, 0, err);
}

/*
 * Stop being the leader, and wake the caller that is to lead. This is the last
 * one that sleeps: it reads the replies of all callers before it, so that
 * leadership seldom changes.
 */
void ilk__lane_resign(ilk__lane *lane)
{
    ilk__lane_slot *next = NULL;

    lane->has_leader = 0;
    for (ilk__lane_slot *p = lane->first; p; p = p->next)
        if (p->parked)
            next = p;
    if (next) {
        next->parked = 0;
        ilk__unpark(&next->parker);
    }
    ilk__lane_let_go(lane);
}

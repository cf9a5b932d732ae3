/* SPDX-License-Identifier: MIT */
/*
 * lane_wire.c -- sends a lane's commands and receives their replies.
 *
 *     append     formats a command into `pending`, its slot goes to the end
 *     flush      swaps `pending` and `writing`, and sends that batch
 *     lead_once  polls, receives, and gives each reply to the first slot
 *     resign     wakes the caller that is to lead next
 *
 * The limit on batches without a reply makes commands gather in `pending` while the
 * server is busy, so that the next batch is larger.
 */
#include "lane_internal.h"

#include "base/cancel.h"
#include "base/clock.h"

#include <poll.h>

enum { BLIND_MS = 2 };

ilk_status ilk__lane_append(ilk__lane *lane, ilk__lane_slot *p,
                            const ilk__command *c, ilk_error *err)
{
    int64_t number = lane->next_number++;
    ilk_status st = ilk__command_format(c, number, &lane->pending, err);

    if (st)
        return st;
    p->expected = (ilk__expected_reply){c->replies, number};
    lane->traffic.commands++;
    if (lane->last)
        lane->last->next = p;
    else
        lane->first = p;
    lane->last = p;
    return ILK_OK;
}

/* The connection broke; calls that find no other one in time return `why`. */
static void lose(ilk__lane *lane, ilk_status status, const ilk_error *why)
{
    if (why && why->code != 0 && lane->state == ILK__LANE_UP)
        lane->failure = *why;
    ilk__lane_break(lane, status, ILK__LANE_BROKEN);
}

/* ---- writing ------------------------------------------------------------ */

/* Move all pending commands to `writing`, as a new batch. */
static void begin_batch(ilk__lane *lane)
{
    ilk__buf empty = lane->writing;

    lane->writing = lane->pending;
    lane->pending = empty;
    lane->last->ends_batch = 1;
    lane->batches++;
    lane->traffic.writes++;
}

/*
 * Write the rest of the last batch, then new batches; `force` ignores the limit
 * on those without a reply. Bytes that the socket did not accept stay in `writing`,
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
                || (lane->batches >= ILK__LANE_BATCHES && !force))
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
        lane->traffic.bytes_out += (int64_t)sent;
        if (st) {
            lose(lane, st, err);
            return;
        }
        if (sent < len || ilk__conn_unsent(lane->conn))
            break; /* another thread may have broken the connection meanwhile */
    }
    ilk__lane_close_if_unused(lane);
}

/* ---- reading ------------------------------------------------------------ */

/* Give the reply to the first slot. Pushes are dropped. */
static void deliver(ilk__lane *lane, ilk__reply *reply)
{
    ilk__lane_slot *p = lane->first;

    if (reply->type == ILK__REPLY_PUSH) {
        ilk__reply_free(reply);
        return;
    }
    lane->first = p->next;
    if (!lane->first)
        lane->last = NULL;
    if (p->ends_batch)
        lane->batches--;
    p->reply = reply;
    ilk__lane_finish(lane, p, ILK_OK);
}

enum { REPLIES_AT_ONCE = 64 };

typedef struct ilk__lane_input {
    ilk__reply *replies[REPLIES_AT_ONCE];
    size_t count, bytes;
    int writable;
} ilk__lane_input;

/* Read up to REPLIES_AT_ONCE whole replies. ILK_OK: there may be more. */
static ilk_status read_replies(ilk__conn *conn, ilk__lane_input *input,
                               ilk_error *err)
{
    ilk_status st = ILK_OK;

    for (input->count = 0; input->count < REPLIES_AT_ONCE && st == ILK_OK;)
        if (!(st = ilk__conn_reply(conn, &input->replies[input->count], err)))
            input->count++;
    return st;
}

/* Wait for the socket and read the replies that came. The mutex is not held. */
static ilk_status wait_and_receive(ilk__conn *conn, int want_out,
                                   int64_t deadline, ilk__lane_input *input,
                                   ilk_error *err)
{
    struct pollfd pfd = {.fd = ilk__conn_fd(conn), .events = POLLIN};
    int cancelling, ready;
    ilk_status st;

    input->count = input->bytes = 0;
    input->writable = 0;
    if (want_out)
        pfd.events |= POLLOUT;
    cancelling = ilk__cancel_disable();
    ready = poll(&pfd, 1, ilk__poll_timeout(deadline));
    ilk__cancel_restore(cancelling);
    if (ready <= 0)
        return ILK_EAGAIN; /* the time is up, or a signal, which is ignored */
    input->writable = (pfd.revents & POLLOUT) != 0;
    if (!(pfd.revents & (POLLIN | POLLERR | POLLHUP | POLLNVAL)))
        return ILK_EAGAIN;
    st = ilk__conn_recv(conn, &input->bytes, err);
    return st ? st : read_replies(conn, input, err);
}

/*
 * Compare each reply with the slot whose turn it is. Returns how many replies
 * may be delivered. If all match, that is all of them. If one matches no slot,
 * only the replies before the first one without a number are delivered: such a
 * reply, for example an error, may belong to another request as well. No reply
 * belongs to a command that is in no batch yet.
 */
static size_t match_all(const ilk__lane *lane, const ilk__lane_input *input)
{
    const ilk__lane_slot *slot = lane->first;
    int batches = lane->batches;
    size_t proven = 0;

    for (size_t i = 0; i < input->count; i++) {
        ilk__match match = ILK__MATCH_FOREIGN;

        if (input->replies[i]->type == ILK__REPLY_PUSH) {
            match = ILK__MATCH_PROVEN;
        } else if (slot && batches > 0) {
            match = ilk__match_reply(&slot->expected, input->replies[i]);
            batches -= slot->ends_batch;
            slot = slot->next;
        }
        if (match == ILK__MATCH_FOREIGN)
            return proven;
        if (match == ILK__MATCH_PROVEN && proven == i)
            proven = i + 1;
    }
    return input->count;
}

/* ILK_ECONN: a reply belongs to no request of ours. */
static ilk_status deliver_all(ilk__lane *lane, const ilk__lane_input *input,
                              ilk_error *err)
{
    size_t count = 0;

    if (lane->state == ILK__LANE_UP)
        count = match_all(lane, input);
    for (size_t i = 0; i < input->count; i++)
        if (i < count)
            deliver(lane, input->replies[i]);
        else
            ilk__reply_free(input->replies[i]);
    if (lane->state != ILK__LANE_UP || count == input->count)
        return ILK_OK;
    return ilk__fail(err, ILK_ECONN, ILK__FOREIGN_REPLY);
}

/*
 * One turn of the leader. While another thread is writing, the socket may turn
 * out to accept only a part of its bytes, and the leader must then poll for
 * POLLOUT as well. So meanwhile it polls for BLIND_MS at most and checks again.
 */
int ilk__lane_lead_once(ilk__lane *lane, int64_t deadline, ilk_error *err)
{
    ilk__conn *conn = lane->conn;
    int want_out =
        !lane->has_writer
        && (ilk__buf_len(&lane->writing) > 0 || ilk__conn_unsent(conn));
    ilk_status st, foreign;
    ilk__lane_input input;

    if (lane->has_writer)
        deadline = ilk__sooner(deadline, ilk__deadline(BLIND_MS));
    ilk__lane_unlock(lane);
    st = wait_and_receive(conn, want_out, deadline, &input, err);
    for (;;) {
        pthread_mutex_lock(&lane->mutex);
        foreign = deliver_all(lane, &input, err);
        if (st || foreign)
            break;
        ilk__lane_unlock(lane);
        st = read_replies(conn, &input, err);
    }
    lane->traffic.bytes_in += (int64_t)input.bytes;
    if (st != ILK_EAGAIN || foreign)
        lose(lane, ILK_ECONN, err);
    else if (input.bytes || input.writable)
        ilk__lane_flush(lane, 0, err);
    return input.bytes || input.writable;
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
    ilk__lane_close_if_unused(lane);
}

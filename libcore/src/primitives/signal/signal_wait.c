/* SPDX-License-Identifier: MIT */
/*
 * signal_wait.c -- a wait for signals of one or several names.
 *
 * The wait has one entry, in the list of each name. A signal to one waiter
 * removes the entry from the list that delivered it; the entries in the other
 * lists are withdrawn when the wait ends, or, for a wait for all, stay until
 * each list has delivered its signal. When time runs out, signal_cancel says
 * whether a signal may still be on its way, and the wait lingers for that one.
 */
#include "signal_wait.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "wait/refresher.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

static const ilk__op_type wait_op, refresh_op, cancel_op;

static ilk__signal_wait *wait_of(const ilk__waiter *waiter)
{
    return (ilk__signal_wait *)((char *)waiter
                                - offsetof(ilk__signal_wait, waiter));
}

/* ---- commands and replies ----------------------------------------------- */

/* A wait for all signals does not join the list of a signal that it has got. */
static int has_got(const ilk__waiter *waiter, size_t index)
{
    if (waiter->wants_all)
        for (const ilk__delivered_signal *p = waiter->delivered; p; p = p->next)
            if (!p->aside && p->index == index)
                return 1;
    return 0;
}

static void choose(ilk__signal_wait *wait)
{
    ilk__bytes *to = wait->chosen;

    wait->tried_count = 0;
    ilk__shared_lock(wait->waiter.shared);
    for (size_t i = 0; i < wait->count; i++) {
        if (has_got(&wait->waiter, i))
            continue;
        wait->tried[wait->tried_count++] = i;
        memcpy(to, &wait->keys[ILK__SIGNAL_LISTS * i],
               ILK__SIGNAL_LISTS * sizeof *to);
        to += ILK__SIGNAL_LISTS;
    }
    ilk__shared_unlock(wait->waiter.shared);
}

static void ask_wait(ilk__op *op)
{
    ilk__signal_wait *wait = wait_of(op->subject);

    if (ilk__wait_ask_to_go(op))
        return;
    choose(wait);
    ilk__script_begin(&op->command, op->type->script, wait->chosen,
                      ILK__SIGNAL_LISTS * wait->tried_count);
    /* as the cancel, which has the keys of all names */
    op->command.order_key = wait->keys[0].data;
    op->command.order_key_len = wait->keys[0].len;
    ilk__wait_add_place(op);
    for (size_t i = 0; i < wait->tried_count; i++)
        ilk__command_add_str(&op->command, wait->secrets[wait->tried[i]]);
}

static ilk__act was_queued(ilk__op *op, const ilk__reply *reply)
{
    ilk__signal_wait *wait = wait_of(op->subject);

    if (reply->count != 2 + wait->tried_count)
        return ilk__wait_failed(
            op, ilk__fail(op->err, ILK_EREPLY, "tickets of a wrong number"));
    for (size_t i = 0; i < wait->tried_count; i++)
        ilk__waiter_placed(&wait->waiter, wait->tried[i],
                           ilk__script_int(reply, 1 + i));
    return ilk__wait_queued(op, -1, ilk__script_int(reply, 0), 1);
}

/*
 * GONE has the number of wake-ups that follow the last signals: one from each node of
 * a cluster that has some of the names. In two cases they do not prove that all
 * signals have come, and the wait lingers for its full time: after a repeated
 * request some nodes have sent theirs twice, and with several subscriber
 * connections a wake-up from the primary may overtake a signal from its
 * replica.
 */
static int under_way(const ilk__op *op, const ilk__reply *reply)
{
    const ilk__waiter *waiter = op->subject;
    int64_t wake_ups = ilk__script_int(reply, 0);

    if (wake_ups > ILK_SIGNAL_MAX || (wake_ups > 1 && op->retried)
        || waiter->shared->subscriber_count > 1)
        return INT_MAX;
    return wake_ups > 0 ? (int)wake_ups : 0;
}

static ilk__act on_reply(ilk__op *op, const ilk__reply *reply)
{
    const ilk__signal_wait *wait = wait_of(op->subject);
    int code = ilk__script_code(reply), gone = code == ILK__CODE_GONE;
    ilk__act act;

    if (wait->waiter.stage == ILK__STAGE_LEAVE)
        return ilk__wait_left(op, gone ? under_way(op, reply) : 0, gone);
    if (code != ILK__CODE_QUEUED)
        return ilk__wait_busy(op);
    act = was_queued(op, reply);
    return act == ILK__ACT_SLEEP && wait->listens ? ilk__op_done(op, ILK_OK)
                                                  : act;
}

static void ask_refresh(ilk__op *op)
{
    const ilk__refresher *refresher = op->subject;
    ilk__command *command = &op->command;

    ilk__script_begin(command, op->type->script, refresher->keys,
                      refresher->wait_queue.key_count);
    ilk__command_add_str(command, refresher->shared->client_id);
    ilk__command_add_int(command, ILK__LIVENESS_MS);
    ilk__command_add_int(command,
                         refresher->openings != refresher->answered_openings);
    ilk__command_add_int(command, ILK__GRANT_LIMIT);
    for (size_t i = 0; i < refresher->wait_queue.name_count; i++)
        ilk__command_add(command, refresher->lists[i].node.key,
                         refresher->lists[i].node.key_len);
    ilk__refresher_add_entries(op);
}

static const ilk__op_type wait_op = {.name = "signal_wait",
                                     .script = ILK__SCRIPT_SIGNAL_WAIT,
                                     .ask = ask_wait,
                                     .reply = on_reply,
                                     .start = ilk__wait_start,
                                     .wake = ilk__wait_wake,
                                     .cancelled = ilk__wait_is_cancelled,
                                     .failed = ilk__wait_failed,
                                     .sent = ilk__wait_sent};
static const ilk__op_type refresh_op = {.name = "signal_refresh",
                                        .script = ILK__SCRIPT_SIGNAL_REFRESH,
                                        .reply_is_optional = 1,
                                        .ask = ask_refresh,
                                        .reply = ilk__refresher_reply};
static const ilk__op_type cancel_op = {.name = "signal_cancel",
                                       .script = ILK__SCRIPT_SIGNAL_CANCEL,
                                       .ask = ilk__give_back_ask,
                                       .reply = ilk__give_back_done,
                                       .wake = ilk__give_back_wake};

/* ---- making one --------------------------------------------------------- */

static void withdraw_args(ilk__command *command,
                          const ilk__withdrawal *withdrawal)
{
    ilk__command_add(command, withdrawal->entry, withdrawal->entry_len);
    ilk__command_add_str(command,
                         withdrawal->accepted ? withdrawal->accepted : "ask");
    ilk__command_add_int(command, ILK__GRANT_LIMIT);
}

static void *cut(char **from, size_t size)
{
    char *piece = *from;

    *from += size;
    return piece;
}

static void copy_bytes(ilk__bytes *to, const ilk__bytes *from, char **room)
{
    to->len = from->len;
    to->data = cut(room, from->len + 1);
    memcpy(to->data, from->data, from->len + 1);
}

/* One block with copies of names and keys, because handles may be freed before
 * a suspended wait is. */
static ilk__signal_wait *allocate(ilk_signal *const *signals, size_t count)
{
    const size_t lists = ILK__SIGNAL_LISTS * count;
    size_t fixed =
        sizeof(ilk__signal_wait) + (count + 2 * lists) * sizeof(ilk__bytes)
        + count * (sizeof(int64_t) + sizeof(size_t) + ILK__SECRET_LEN + 2) + 1;
    size_t room = fixed;
    ilk__signal_wait *wait;
    char *to;

    for (size_t i = 0; i < count; i++) {
        room += signals[i]->name.len + 1;
        for (int k = 0; k < ILK__SIGNAL_LISTS; k++)
            room += signals[i]->keys[k].len + 1;
    }
    wait = ilk__calloc(1, room);
    if (!wait)
        return NULL;
    to = (char *)(wait + 1);
    wait->count = count;
    wait->tickets = cut(&to, count * sizeof *wait->tickets);
    wait->tried = cut(&to, count * sizeof *wait->tried);
    wait->names = cut(&to, count * sizeof *wait->names);
    wait->keys = cut(&to, lists * sizeof *wait->keys);
    wait->chosen = cut(&to, lists * sizeof *wait->chosen);
    wait->secrets = cut(&to, count * sizeof *wait->secrets);
    wait->accepted = cut(&to, count + 1);
    for (size_t i = 0; i < count; i++) {
        copy_bytes(&wait->names[i], &signals[i]->name, &to);
        ilk__secret_of_list(wait->secrets[i], signals[i]->handle.client->shared,
                            signals[i]->name.data, signals[i]->name.len);
        for (int k = 0; k < ILK__SIGNAL_LISTS; k++)
            copy_bytes(&wait->keys[ILK__SIGNAL_LISTS * i + (size_t)k],
                       &signals[i]->keys[k], &to);
    }
    return wait;
}

ilk_status ilk__signal_wait_new(ilk__signal_wait **out,
                                ilk_signal *const *signals, size_t count,
                                int wants_all, ilk_error *err)
{
    ilk__signal_wait *wait = allocate(signals, count);
    ilk_status st;

    if (!wait)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    wait->wait_queue = (ilk__wait_queue){.keys = wait->keys,
                                         .key_count = ILK__SIGNAL_LISTS * count,
                                         .acquire = &wait_op,
                                         .refresh = &refresh_op,
                                         .cancel = &cancel_op,
                                         .kind = 's',
                                         .orphaned = ilk__signal_orphaned,
                                         .names = wait->names,
                                         .name_count = count,
                                         .asks_to_leave = 1,
                                         .busy_text = "no signal is there",
                                         .withdraw_args = withdraw_args};
    st = ilk__waiter_init(&wait->waiter, signals[0]->handle.client->shared,
                          &wait->wait_queue, err);
    if (st) {
        ilk__free(wait);
        return st;
    }
    wait->waiter.fixed_token = "-"; /* the waiter's number makes it unique */
    wait->waiter.lease_ms = ILK__REFRESH_MS; /* there is nothing to claim */
    wait->waiter.wants_all = wants_all;
    wait->waiter.tickets = wait->tickets;
    wait->waiter.accepted = wait->accepted;
    *out = wait;
    return ILK_OK;
}

int ilk__signal_wait_is(const ilk__signal_wait *wait,
                        ilk_signal *const *signals, size_t count, int wants_all)
{
    if (wait->count != count || wait->waiter.wants_all != wants_all)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (wait->names[i].len != signals[i]->name.len
            || memcmp(wait->names[i].data, signals[i]->name.data,
                      wait->names[i].len)
                   != 0)
            return 0;
    return 1;
}

/* Signals that were acknowledged, but not fetched, go to other waiters. */
static void pass_on(ilk__waiter *waiter)
{
    for (const ilk__delivered_signal *p = waiter->delivered; p; p = p->next)
        if (p->message->type == ILK__MESSAGE_SIGNAL && !p->aside)
            ilk__signal_pass_on(waiter->shared, p->message);
    ilk__delivered_signal_drop(waiter);
}

void ilk__signal_wait_give_up(ilk__signal_wait *wait)
{
    ilk__waiter *waiter = &wait->waiter;

    ilk__shared_lock(waiter->shared);
    if (wait->complete)
        pass_on(waiter);
    else if (waiter->refresher && wait->listens)
        ilk__wait_give_up(waiter);
    wait->complete = wait->listens = 0;
    ilk__shared_unlock(waiter->shared);
}

void ilk__signal_wait_free(ilk__signal_wait *wait)
{
    if (!wait)
        return;
    ilk__signal_wait_give_up(wait);
    ilk__waiter_destroy(&wait->waiter);
    ilk__free(wait);
}

/* ---- waiting ------------------------------------------------------------ */

/* Moves the delivered signals into the result. Those put aside are dropped. */
static void collect(ilk__waiter *waiter, ilk_arrival *received)
{
    ilk__delivered_signal **link = &waiter->delivered;

    ilk__shared_lock(waiter->shared);
    while (*link) {
        ilk__delivered_signal *delivered = *link;

        if (delivered->aside) {
            link = &delivered->next;
            continue;
        }
        *link = delivered->next;
        received->delivered[waiter->wants_all ? delivered->index : 0] =
            delivered;
    }
    waiter->delivered_count = 0;
    ilk__delivered_signal_drop(waiter);
    ilk__shared_unlock(waiter->shared);
}

static void set_listens(ilk__signal_wait *wait, int listens)
{
    ilk__shared_lock(wait->waiter.shared);
    wait->listens = listens;
    ilk__shared_unlock(wait->waiter.shared);
}

static int is_under_way(const ilk__waiter *waiter)
{
    return waiter->stage == ILK__STAGE_QUEUED
           || waiter->stage == ILK__STAGE_LINGER;
}

static void run(ilk__signal_request *self, int64_t deadline,
                ilk__request_then *then)
{
    ilk__waiter *waiter = &self->own->wait->waiter;

    ilk__request_wait(&self->request, &wait_op, waiter, &waiter->parker,
                      deadline, then);
}

static void received_all(ilk__request *request, ilk_status status)
{
    ilk__signal_request *self = (ilk__signal_request *)request;
    ilk__signal_wait *wait = self->own->wait;

    wait->complete = 0;
    if (status == ILK_OK)
        collect(&wait->waiter, self->received);
    ilk__signal_finish(self, status);
}

void ilk__signal_await(ilk__signal_request *self)
{
    ilk__signal_wait *wait = self->own->wait;

    if (self->timeout_ms == 0 && !wait->complete
        && !is_under_way(&wait->waiter)) {
        ilk__signal_finish(self, ilk__fail(self->request.err, ILK_ETIMEOUT,
                                           "%s", ilk_strerror(ILK_ETIMEOUT)));
        return;
    }
    set_listens(wait, 0);
    if (wait->complete)
        received_all(&self->request, ILK_OK);
    else
        run(self, ilk__deadline(self->timeout_ms), received_all);
}

static void waits(ilk__request *request, ilk_status status)
{
    ilk_signal *signal = ((ilk__signal_request *)request)->own;
    ilk__signal_wait *wait = signal->wait;

    wait->complete = status == ILK_OK && !is_under_way(&wait->waiter);
    if (status && status != ILK_EINTR)
        set_listens(wait, 0);
    ilk__signal_end(request, signal, status);
}

void ilk__signal_begin_waiting(ilk__signal_request *self)
{
    ilk_signal *signal = self->own;
    ilk__signal_wait *wait = signal->wait;

    if (wait->complete || (wait->listens && is_under_way(&wait->waiter))) {
        ilk__signal_end(&self->request, signal, ILK_OK);
        return;
    }
    set_listens(wait, 1);
    run(self, ilk__request_patience(&self->request), waits);
}

/* SPDX-License-Identifier: MIT */
/* listen.c -- a listener to a channel: joining, waiting, leaving. */
#include "channel_internal.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <string.h>

ilk_status ilk__listener_init(ilk__listener *listener, ilk__shared *shared,
                              ilk_error *err)
{
    memset(listener, 0, sizeof *listener);
    listener->shared = shared;
    listener->end = &listener->first;
    return ilk__parker_init(&listener->parker, err);
}

/* ---- joining and leaving ------------------------------------------------ */

static ilk__channel *make(ilk__shared *shared, const ilk__channel_of *to)
{
    ilk__channel *channel = ilk__calloc(1, sizeof *channel + to->len + 1);

    if (!channel)
        return NULL;
    channel->shared = shared;
    channel->down_since = ilk__now_ms();
    channel->ident[0] = to->is_pattern ? 'p' : 'c';
    memcpy(channel->ident + 1, to->name, to->len);
    if (ilk__table_add(&shared->channels, &channel->node, channel->ident,
                       to->len + 1)) {
        ilk__free(channel);
        return NULL;
    }
    return channel;
}

/* The ACL may have changed since the refusal: the first new listener makes the
 * client subscribe again. */
static void forgive(ilk__channel *channel)
{
    channel->why.code = 0;
    for (size_t i = 0; i < ILK__SUBSCRIBERS_MAX; i++)
        channel->at[i].refused = 0;
}

ilk_status ilk__listener_join(ilk__listener *listener,
                              const ilk__channel_of *to)
{
    ilk__shared *shared = listener->shared;
    ilk__channel *channel = ilk__channel_find(
        shared, to->is_pattern ? 'p' : 'c', to->name, to->len);

    if (!channel)
        channel = make(shared, to);
    if (!channel)
        return ILK_ENOMEM;
    channel->own_format |= to->own_format;
    if (!channel->listeners)
        forgive(channel);
    listener->own_format = to->own_format;
    listener->lost = listener->gaps = 0;
    listener->to_begin = -1;
    listener->channel = channel;
    listener->next = channel->listeners;
    channel->listeners = listener;
    shared->channels_changed = 1;
    ilk__shared_wake_keeper(shared, 0);
    return ILK_OK;
}

void ilk__listen_end(ilk__listener *listener)
{
    ilk__shared *shared = listener->shared;
    ilk__channel_message *message;

    ilk__shared_lock(shared);
    if (listener->channel) {
        ilk__listener **link = &listener->channel->listeners;

        while (*link != listener)
            link = &(*link)->next;
        *link = listener->next;
        listener->channel = NULL;
        shared->channels_changed = 1;
        ilk__shared_wake_keeper(shared, 0);
    }
    while ((message = ilk__listener_pop(listener)))
        ilk__channel_message_free(message);
    ilk__shared_unlock(shared);
}

void ilk__listener_destroy(ilk__listener *listener)
{
    ilk__listen_end(listener);
    ilk__parker_destroy(&listener->parker);
}

void ilk__listen_cancel(ilk__listener *listener)
{
    ilk__shared_lock(listener->shared);
    atomic_store(&listener->cancelled, 1);
    ilk__unpark(&listener->parker);
    ilk__shared_unlock(listener->shared);
}

/* ---- waiting: an operation that sends nothing --------------------------- */

typedef struct wait_view {
    int done;
    int64_t down_since;
    ilk_error why;
} wait_view;

/*
 * Whether the listener begins now, or has begun. Without the primary's
 * subscription that of a replica suffices. The listener then takes all that the
 * primary sends, because the replica's copies of that are dropped.
 */
static int begins(ilk__listener *listener)
{
    const ilk__channel *channel = listener->channel;
    int done = ilk__channel_is_confirmed(channel, 0)
                   ? listener->to_begin == 0
                   : ilk__channel_is_subscribed(channel);

    if (done)
        listener->to_begin = 0;
    return done;
}

static wait_view view_of(ilk__listener *listener)
{
    ilk__shared *shared = listener->shared;
    const ilk__channel *channel = listener->channel;
    wait_view out;

    ilk__shared_lock(shared);
    out.done =
        listener->awaits_message ? listener->first != NULL : begins(listener);
    out.down_since = channel->down_since;
    out.why = channel->why;
    ilk__shared_unlock(shared);
    return out;
}

static ilk__act proceed(ilk__op *op, int again)
{
    ilk__listener *listener = op->subject;
    wait_view seen = view_of(listener);
    int64_t limit = ILK__FOREVER;
    ilk_error why;

    if (seen.done)
        return ilk__op_done(op, ILK_OK);
    if (atomic_exchange(&listener->cancelled, 0))
        return ilk__op_end(op, ILK_ECANCELLED);
    if (seen.why.code)
        return ilk__op_fail(op, (ilk_status)seen.why.code, "%s", seen.why.msg);
    if (ilk__shared_want_inbox(listener->shared, again, &why)
        == ILK__INBOX_REFUSED)
        return ilk__op_fail(op, (ilk_status)why.code, "%s", why.msg);
    if (op->now >= op->deadline)
        return ilk__op_end(op, ILK_ETIMEOUT);
    if (ilk__shared_is_stopped(listener->shared))
        return ilk__op_fail(op, ILK_ECANCELLED, "the client is stopped");
    if (seen.down_since)
        limit = seen.down_since + ILK__CONTACT_LOST_MS;
    if (op->now >= limit)
        return ilk__op_fail(op, ILK_ECONN, "no connection for messages: %s",
                            why.msg);
    return ilk__op_sleep(op, ilk__sooner(op->deadline, limit));
}

static ilk__act wake(ilk__op *op, ilk__cause cause)
{
    if (cause == ILK__CAUSE_CLOSED)
        return ilk__op_end(op, ILK_ECLOSED);
    if (cause == ILK__CAUSE_INTERRUPT)
        return ilk__op_end(op, ILK_EINTR);
    return proceed(op, 0);
}

static ilk__act start(ilk__op *op)
{
    return proceed(op, 1);
}

const ilk__op_type ilk__listen_op = {.name = "listen",
                                     .script = ILK__SCRIPT_NONE,
                                     .reply_is_optional = 1,
                                     .start = start,
                                     .wake = wake};

static void await(ilk__request *request, ilk__listener *listener,
                  int awaits_message, int64_t deadline, ilk__request_then *then)
{
    listener->awaits_message = awaits_message;
    ilk__request_wait(request, &ilk__listen_op, listener, &listener->parker,
                      deadline, then);
}

static void begun(ilk__request *request, ilk_status status)
{
    ilk__listener *listener = request->op->subject;

    if (status && status != ILK_EINTR)
        ilk__listen_end(listener);
    listener->then(request, status);
}

void ilk__listen_begin(ilk__request *request, ilk__listener *listener,
                       const ilk__channel_of *to, int64_t deadline,
                       ilk__request_then *then)
{
    ilk_status st = ILK_OK;

    ilk__shared_lock(listener->shared);
    if (!listener->channel) {
        atomic_store(&listener->cancelled, 0);
        st = ilk__listener_join(listener, to);
    }
    ilk__shared_unlock(listener->shared);
    listener->then = then;
    if (st)
        then(request, ilk__fail(request->err, st, "out of memory"));
    else
        await(request, listener, 0, deadline, begun);
}

void ilk__listen_next(ilk__request *request, ilk__listener *listener,
                      int64_t deadline, ilk__request_then *then)
{
    if (listener->channel)
        await(request, listener, 1, deadline, then);
    else
        then(request,
             ilk__fail(request->err, ILK_EINVAL, "it does not listen"));
}

ilk__channel_message *ilk__listen_pop(ilk__listener *listener)
{
    ilk__channel_message *message;

    ilk__shared_lock(listener->shared);
    message = ilk__listener_pop(listener);
    ilk__shared_unlock(listener->shared);
    return message;
}

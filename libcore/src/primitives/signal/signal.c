/* SPDX-License-Identifier: MIT */
/* signal.c -- signal handles; waiting with one or several of them, listening,
 * cancelling. */
#include "signal_wait.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/opts.h"

#include <string.h>

static const char channel_prefix[] = "ilk:signal:";

/* ---- handles ------------------------------------------------------------ */

void ilk_signal_opts_init(ilk_signal_opts *opts, size_t size)
{
    if (!opts || size < sizeof opts->size)
        return;
    memset(opts, 0, size);
    opts->size = size;
}

static ilk_status check_opts(ilk_signal *signal, const ilk_signal_opts *in,
                             ilk_error *err)
{
    ilk_signal_opts opts;
    ilk_status st =
        ilk__opts_copy(&opts, sizeof opts, in, "ilk_signal_opts", err);

    if (st)
        return st;
    if (opts.flags & ~(uint32_t)ILK_SIGNAL_PATTERN)
        return ilk__fail(err, ILK_EINVAL, "unknown signal flags 0x%x",
                         (unsigned)opts.flags);
    signal->flags = opts.flags;
    return ILK_OK;
}

static ilk_status set_name(ilk_signal *signal, const void *name, size_t len,
                           ilk_error *err)
{
    ilk_status st = ilk__signal_keys(signal->keys, name, len, err);

    if (st)
        return st;
    signal->channel.len = sizeof channel_prefix - 1 + len;
    signal->channel.data = ilk__malloc(signal->channel.len + 1);
    if (!signal->channel.data)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    memcpy(signal->channel.data, channel_prefix, sizeof channel_prefix - 1);
    signal->name.data = signal->channel.data + sizeof channel_prefix - 1;
    signal->name.len = len;
    memcpy(signal->name.data, name, len);
    signal->name.data[len] = '\0';
    return ILK_OK;
}

static void dispose(ilk_signal *signal)
{
    ilk__signal_keys_free(signal->keys);
    ilk__free(signal->channel.data); /* and the name in it */
    ilk__handle_close(&signal->handle);
    ilk__free(signal);
}

ilk_status ilk_signal_open(ilk_signal **out, ilk_client *client,
                           const void *name, size_t name_len,
                           const ilk_signal_opts *opts, ilk_error *err)
{
    ilk_signal *signal;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__client_enter_for(client, ILK_OFFER_SIGNAL, err);
    if (st)
        return st;
    signal = ilk__calloc(1, sizeof *signal);
    if (!signal)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    ilk__handle_init(&signal->handle, client, "signal", ilk__signal_bind);
    st = check_opts(signal, opts, err);
    if (st == ILK_OK)
        st = set_name(signal, name, name_len, err);
    if (st == ILK_OK && !(signal->flags & ILK_SIGNAL_PATTERN))
        st = ilk__client_accept_name(client, name, name_len, err);
    if (st == ILK_OK)
        st = ilk__handle_bind(&signal->handle, NULL, err);
    if (st) {
        dispose(signal);
        return st;
    }
    *out = signal;
    return ILK_OK;
}

const char *ilk_signal_name(const ilk_signal *signal, size_t *out_len)
{
    return ilk__key_name(signal ? &signal->name : NULL, NULL, out_len);
}

void ilk_signal_free(ilk_signal *signal)
{
    if (!signal)
        return;
    /* In a forked child the wait and its entries are the parent's. */
    if (!ilk__handle_is_mine(&signal->handle)) {
        ilk__signal_wait_forget(signal->wait);
    } else {
        ilk__handle_forget(&signal->handle);
        ilk__signal_wait_free(signal->wait);
        ilk__listener_destroy(&signal->listener);
        pthread_mutex_destroy(&signal->gate);
    }
    dispose(signal);
}

/* ---- waiting ------------------------------------------------------------ */

static int is_same_name(const ilk_signal *a, const ilk_signal *b)
{
    return a->name.len == b->name.len
           && memcmp(a->name.data, b->name.data, a->name.len) == 0;
}

static ilk_status check_set(ilk_signal *const *signals, size_t count,
                            ilk_error *err)
{
    if (!signals)
        return ilk__fail(err, ILK_EINVAL, "signals must not be NULL");
    if (count < 1 || count > ILK_SIGNAL_MAX)
        return ilk__fail(err, ILK_EINVAL, "count must be 1 to %d, got %zu",
                         ILK_SIGNAL_MAX, count);
    for (size_t i = 0; i < count; i++) {
        if (!signals[i])
            return ilk__fail(err, ILK_EINVAL, "signal %zu must not be NULL", i);
        if (count > 1 && (signals[i]->flags & ILK_SIGNAL_PATTERN))
            return ilk__fail(err, ILK_EINVAL,
                             "signal %zu is a pattern, which waits alone", i);
        if (signals[i]->handle.client != signals[0]->handle.client)
            return ilk__fail(err, ILK_EINVAL, "signal %zu is of another client",
                             i);
        for (size_t j = 0; j < i; j++)
            if (is_same_name(signals[i], signals[j]))
                return ilk__fail(err, ILK_EINVAL,
                                 "signals %zu and %zu are of one name", j, i);
    }
    return ILK_OK;
}

/* Keeps the handle's last wait if it is for the same signals, else makes a new
 * one. */
static ilk_status get_wait(ilk_signal *const *signals, size_t count,
                           int wants_all, ilk_error *err)
{
    ilk_signal *own = signals[0];
    ilk__signal_wait *wait, *old = own->wait;
    ilk_status st;

    if (old && ilk__signal_wait_is(old, signals, count, wants_all))
        return ILK_OK;
    st = ilk__signal_wait_new(&wait, signals, count, wants_all, err);
    if (st)
        return st;
    pthread_mutex_lock(&own->gate);
    own->wait = wait;
    pthread_mutex_unlock(&own->gate);
    ilk__signal_wait_free(old);
    return ILK_OK;
}

/* No request is running: only a listener or a suspended wait can be left. */
static void give_up_idle(ilk_signal *signal)
{
    ilk__listen_end(&signal->listener);
    if (signal->wait) {
        ilk__signal_wait_give_up(signal->wait);
        ilk__waiter_cancel(&signal->wait->waiter);
    }
}

static void end_wait(ilk_signal *signal)
{
    int32_t idle = 0;

    if (atomic_compare_exchange_strong(&signal->handle.busy, &idle, 1)) {
        give_up_idle(signal);
        atomic_store(&signal->handle.busy, 0);
        return;
    }
    ilk__listen_cancel(&signal->listener);
    pthread_mutex_lock(&signal->gate);
    if (signal->wait)
        ilk__waiter_cancel(&signal->wait->waiter);
    pthread_mutex_unlock(&signal->gate);
}

static void give_up(ilk__request *request)
{
    end_wait(((ilk__signal_request *)request)->own);
}

static ilk_status prepare_wait(ilk__signal_request *self)
{
    size_t room = self->wants_all ? self->count : 1;
    ilk_arrival *received =
        ilk__calloc(1, sizeof *received + room * sizeof *received->delivered);

    if (!received)
        return ilk__fail(self->request.err, ILK_ENOMEM, "out of memory");
    received->client = self->own->handle.client;
    received->era = self->own->handle.era;
    received->count = room;
    self->received = received;
    if (self->own->flags & ILK_SIGNAL_PATTERN)
        return ILK_OK;
    return get_wait(self->signals, self->count, self->wants_all,
                    self->request.err);
}

static void begin_wait(ilk__request *request)
{
    ilk__signal_request *self = (ilk__signal_request *)request;
    ilk_status st = ilk__check_timeout(self->timeout_ms, request->err);

    if (st == ILK_OK)
        st = ilk__signal_enter(self->own, request->err);
    if (st) {
        ilk__request_end(request, st);
        return;
    }
    st = prepare_wait(self);
    if (st)
        ilk__signal_finish(self, st);
    else if (self->own->flags & ILK_SIGNAL_PATTERN)
        ilk__signal_receive(self);
    else
        ilk__signal_await(self);
}

/* The handles have been checked. */
static ilk__signal_request wait_for(ilk_signal *const *signals, size_t count,
                                    int wants_all, int64_t timeout_ms)
{
    return (ilk__signal_request){.request.give_up = give_up,
                                 .own = signals[0],
                                 .signals = signals,
                                 .count = count,
                                 .wants_all = wants_all,
                                 .timeout_ms = timeout_ms};
}

static ilk_status run_wait(ilk_arrival **out, ilk_signal *const *signals,
                           size_t count, int wants_all, int64_t timeout_ms,
                           ilk_error *err)
{
    ilk__signal_request self;
    ilk_status st;

    ilk__error_clear(err);
    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = check_set(signals, count, err);
    if (st)
        return st;
    self = wait_for(signals, count, wants_all, timeout_ms);
    st = ilk__signal_run(&self.request, self.own, begin_wait, err);
    *out = self.request.result.object;
    return st;
}

static ilk_status start_wait(ilk_op **out, ilk_signal *const *signals,
                             size_t count, int wants_all, int64_t timeout_ms,
                             ilk_error *err)
{
    ilk__signal_request self;
    ilk_status st = check_set(signals, count, err);

    if (st)
        return ilk__started_none(out, st);
    self = wait_for(signals, count, wants_all, timeout_ms);
    return ilk__signal_start(out, &self.request, sizeof self, self.own,
                             begin_wait, err);
}

ilk_status ilk_signal_wait(ilk_arrival **out, ilk_signal *signal,
                           int64_t timeout_ms, ilk_error *err)
{
    return run_wait(out, &signal, 1, 0, timeout_ms, err);
}

ilk_status ilk_signal_wait_start(ilk_op **out, ilk_signal *signal,
                                 int64_t timeout_ms, ilk_error *err)
{
    return start_wait(out, &signal, 1, 0, timeout_ms, err);
}

ilk_status ilk_signal_wait_any(ilk_arrival **out, ilk_signal *const *signals,
                               size_t count, int64_t timeout_ms, ilk_error *err)
{
    return run_wait(out, signals, count, 0, timeout_ms, err);
}

ilk_status ilk_signal_wait_any_start(ilk_op **out, ilk_signal *const *signals,
                                     size_t count, int64_t timeout_ms,
                                     ilk_error *err)
{
    return start_wait(out, signals, count, 0, timeout_ms, err);
}

ilk_status ilk_signal_wait_all(ilk_arrival **out, ilk_signal *const *signals,
                               size_t count, int64_t timeout_ms, ilk_error *err)
{
    return run_wait(out, signals, count, 1, timeout_ms, err);
}

ilk_status ilk_signal_wait_all_start(ilk_op **out, ilk_signal *const *signals,
                                     size_t count, int64_t timeout_ms,
                                     ilk_error *err)
{
    return start_wait(out, signals, count, 1, timeout_ms, err);
}

/* ---- listening ---------------------------------------------------------- */

static void begin_listen(ilk__request *request)
{
    ilk__signal_request *self = (ilk__signal_request *)request;
    ilk_status st = ilk__signal_enter(self->own, request->err);

    if (st) {
        ilk__request_end(request, st);
    } else if (self->own->flags & ILK_SIGNAL_PATTERN) {
        ilk__signal_begin_receiving(self);
    } else {
        st = get_wait(&self->own, 1, 0, request->err);
        if (st)
            ilk__signal_end(request, self->own, st);
        else
            ilk__signal_begin_waiting(self);
    }
}

ilk_status ilk_signal_listen(ilk_signal *signal, ilk_error *err)
{
    ilk__signal_request self = {.own = signal};

    return ilk__signal_run(&self.request, signal, begin_listen, err);
}

ilk_status ilk_signal_listen_start(ilk_op **out, ilk_signal *signal,
                                   ilk_error *err)
{
    ilk__signal_request self = {.request.give_up = give_up, .own = signal};

    return ilk__signal_start(out, &self.request, sizeof self, signal,
                             begin_listen, err);
}

/* ---- the end ------------------------------------------------------------ */

ilk_status ilk_signal_cancel(ilk_signal *signal, ilk_error *err)
{
    ilk_status st;
    int is_mine;

    if (!signal)
        return ilk__fail(err, ILK_EINVAL, "signal must not be NULL");
    st = ilk__handle_check(&signal->handle, &is_mine, err);
    if (is_mine)
        end_wait(signal);
    return st;
}

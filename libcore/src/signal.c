/* SPDX-License-Identifier: MIT */
/* signal.c -- the signal's handle, and waiting with one or several. */
#include "signal_wait.h"

#include "alloc.h"
#include "opts.h"

#include <string.h>

static const char *const list_kinds[ILK__SIGNAL_LISTS] = {
    "signal:wait", "signal:live", "signal:crowd"};
static const char channel_prefix[] = "ilk:signal:";

/* ---- keys --------------------------------------------------------------- */

ilk_status ilk__signal_keys(ilk__bytes keys[ILK__SIGNAL_LISTS],
                            const void *name, size_t len, ilk_error *err)
{
    ilk_status st = ilk__name_check(name, len, "name", err);

    memset(keys, 0, ILK__SIGNAL_LISTS * sizeof *keys);
    for (int i = 0; i < ILK__SIGNAL_LISTS && st == ILK_OK; i++)
        st = ilk__side_key(&keys[i], list_kinds[i], name, len, err);
    if (st)
        ilk__signal_keys_free(keys);
    return st;
}

void ilk__signal_keys_free(ilk__bytes keys[ILK__SIGNAL_LISTS])
{
    for (int i = 0; i < ILK__SIGNAL_LISTS; i++) {
        ilk__free(keys[i].data);
        keys[i].data = NULL;
    }
}

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

/* Set up what belongs to the client's desk; again after a reopening. */
static ilk_status bind(ilk_signal *signal, ilk_error *err)
{
    ilk__desk *desk = signal->client->desk;
    ilk_status st = ilk__listener_init(&signal->listener, desk, err);

    if (st)
        return st;
    pthread_mutex_init(&signal->gate, NULL);
    signal->id = ilk__desk_new_id(desk);
    signal->wait = NULL;
    signal->era = signal->client->era;
    return ILK_OK;
}

static void dispose(ilk_signal *signal)
{
    ilk__signal_keys_free(signal->keys);
    ilk__free(signal->channel.data); /* and the name in it */
    ilk__client_unref(signal->client);
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
    st = ilk__client_enter(client, err);
    if (st)
        return st;
    signal = ilk__calloc(1, sizeof *signal);
    if (!signal)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    signal->client = ilk__client_ref(client);
    st = check_opts(signal, opts, err);
    if (st == ILK_OK)
        st = set_name(signal, name, name_len, err);
    if (st == ILK_OK)
        st = bind(signal, err);
    if (st) {
        dispose(signal);
        return st;
    }
    *out = signal;
    return ILK_OK;
}

void ilk_signal_free(ilk_signal *signal)
{
    if (!signal)
        return;
    /* A child, or a handle of the parent's desk, has nothing to take back. */
    if (ilk__client_is_forked(signal->client)
        || signal->era != signal->client->era) {
        ilk__signal_wait_forget(signal->wait);
    } else {
        ilk__signal_wait_free(signal->wait);
        ilk__listener_destroy(&signal->listener);
        pthread_mutex_destroy(&signal->gate);
    }
    dispose(signal);
}

/* ---- verbs: in and out -------------------------------------------------- */

/* The client was reopened after a fork: a wait under way is the parent's. */
static ilk_status bind_again(ilk_signal *signal, ilk_error *err)
{
    int waited = signal->listener.channel
                 || (signal->wait && signal->wait->waiter.watch);
    ilk_status st;

    ilk__signal_wait_forget(signal->wait);
    st = bind(signal, err);
    if (st == ILK_OK && waited)
        st = ilk__fail(err, ILK_EFORKED, "the wait is the parent process'");
    return st;
}

ilk_status ilk__signal_enter(ilk_signal *signal, ilk_error *err)
{
    ilk_status st;

    if (!signal)
        return ilk__fail(err, ILK_EINVAL, "signal must not be NULL");
    st = ilk__client_enter_handle(signal->client, &signal->busy, signal->era,
                                  err);
    if (st || signal->era == signal->client->era)
        return st;
    st = bind_again(signal, err);
    if (st)
        atomic_store(&signal->busy, 0);
    return st;
}

void ilk__signal_leave(ilk_signal *signal)
{
    atomic_store(&signal->busy, 0);
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
        if (signals[i]->client != signals[0]->client)
            return ilk__fail(err, ILK_EINVAL, "signal %zu is of another client",
                             i);
        for (size_t j = 0; j < i; j++)
            if (is_same_name(signals[i], signals[j]))
                return ilk__fail(err, ILK_EINVAL,
                                 "signals %zu and %zu are of one name", j, i);
    }
    return ILK_OK;
}

/* The handle's last wait, if it is over the same, or a new one. */
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

static ilk_status wait_for(ilk_arrival **out, ilk_signal *const *signals,
                           size_t count, int wants_all, int64_t timeout_ms,
                           ilk_error *err)
{
    size_t room = wants_all ? count : 1;
    ilk_arrival *arrival =
        ilk__calloc(1, sizeof *arrival + room * sizeof *arrival->parcels);
    ilk_status st;

    if (!arrival)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    arrival->count = room;
    if (signals[0]->flags & ILK_SIGNAL_PATTERN)
        st = ilk__signal_listen(signals[0], timeout_ms, arrival, err);
    else
        st = get_wait(signals, count, wants_all, err);
    if (st == ILK_OK && !arrival->heard)
        st = ilk__signal_wait_run(signals[0]->wait, signals[0]->client,
                                  timeout_ms, arrival, err);
    if (st)
        ilk_arrival_free(arrival);
    else
        *out = arrival;
    return st;
}

static ilk_status enter_and_wait(ilk_arrival **out, ilk_signal *const *signals,
                                 size_t count, int wants_all,
                                 int64_t timeout_ms, ilk_error *err)
{
    ilk_status st;

    ilk__error_clear(err);
    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = check_set(signals, count, err);
    if (st == ILK_OK)
        st = ilk__signal_enter(signals[0], err);
    if (st)
        return st;
    st = wait_for(out, signals, count, wants_all, timeout_ms, err);
    ilk__signal_leave(signals[0]);
    return st;
}

ilk_status ilk_signal_wait(ilk_arrival **out, ilk_signal *signal,
                           int64_t timeout_ms, ilk_error *err)
{
    return enter_and_wait(out, &signal, 1, 0, timeout_ms, err);
}

ilk_status ilk_signal_wait_any(ilk_arrival **out, ilk_signal *const *signals,
                               size_t count, int64_t timeout_ms, ilk_error *err)
{
    return enter_and_wait(out, signals, count, 0, timeout_ms, err);
}

ilk_status ilk_signal_wait_all(ilk_arrival **out, ilk_signal *const *signals,
                               size_t count, int64_t timeout_ms, ilk_error *err)
{
    return enter_and_wait(out, signals, count, 1, timeout_ms, err);
}

ilk_status ilk_signal_listen(ilk_signal *signal, ilk_error *err)
{
    ilk_status st = ilk__signal_enter(signal, err);

    if (st)
        return st;
    if (signal->flags & ILK_SIGNAL_PATTERN) {
        st = ilk__signal_listen_begin(signal, err);
    } else {
        st = get_wait(&signal, 1, 0, err);
        if (st == ILK_OK)
            st = ilk__signal_wait_begin(signal->wait, signal->client, err);
    }
    ilk__signal_leave(signal);
    return st;
}

/* Nobody is inside a verb: what is left is a listener, or a parked wait. */
static void give_up(ilk_signal *signal)
{
    ilk__listen_end(&signal->listener);
    if (signal->wait) {
        ilk__signal_wait_give_up(signal->wait);
        ilk__waiter_cancel(&signal->wait->waiter);
    }
}

ilk_status ilk_signal_cancel(ilk_signal *signal, ilk_error *err)
{
    int32_t idle = 0;
    ilk_status st;

    if (!signal)
        return ilk__fail(err, ILK_EINVAL, "signal must not be NULL");
    st = ilk__client_enter(signal->client, err);
    if (st || signal->era != signal->client->era)
        return st;
    if (atomic_compare_exchange_strong(&signal->busy, &idle, 1)) {
        give_up(signal);
        atomic_store(&signal->busy, 0);
        return ILK_OK;
    }
    ilk__listen_cancel(&signal->listener);
    pthread_mutex_lock(&signal->gate);
    if (signal->wait)
        ilk__waiter_cancel(&signal->wait->waiter);
    pthread_mutex_unlock(&signal->gate);
    return ILK_OK;
}

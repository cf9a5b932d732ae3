/* SPDX-License-Identifier: MIT */
/* signal_open.c -- a signal's handle: its keys, its options, its verbs. */
#include "signal_wait.h"

#include "base/alloc.h"
#include "base/opts.h"
#include "client/run.h"

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
        if (signal->busy)
            ilk__loop_forget(signal->client->loop, signal);
        ilk__signal_wait_free(signal->wait);
        ilk__listener_destroy(&signal->listener);
        pthread_mutex_destroy(&signal->gate);
    }
    dispose(signal);
}

/* ---- verbs: in and out -------------------------------------------------- */

static void leave(ilk_signal *signal)
{
    atomic_store(&signal->busy, 0);
}

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

    st = ilk__client_enter_handle(signal->client, &signal->busy, signal->era,
                                  err);
    if (st || signal->era == signal->client->era)
        return st;
    st = bind_again(signal, err);
    if (st)
        leave(signal);
    return st;
}

void ilk__signal_end(ilk__verb *verb, ilk_signal *signal, ilk_status status)
{
    leave(signal);
    ilk__verb_end(verb, status);
}

static ilk_status no_signal(ilk_error *err)
{
    return ilk__fail(err, ILK_EINVAL, "signal must not be NULL");
}

ilk_status ilk__signal_run(ilk__verb *verb, ilk_signal *signal,
                           ilk__verb_begin *begin, ilk_error *err)
{
    return signal ? ilk__verb_run(verb, signal->client, begin, err)
                  : no_signal(err);
}

ilk_status ilk__signal_start(ilk_op **out, ilk__verb *verb, size_t size,
                             ilk_signal *signal, ilk__verb_begin *begin,
                             ilk_error *err)
{
    if (!signal)
        return ilk__op_none(out, no_signal(err));
    verb->handle = signal;
    return ilk__verb_start(out, verb, size, signal->client, begin, err);
}

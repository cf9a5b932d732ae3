/* SPDX-License-Identifier: MIT */
/* queue.c -- a queue's handle: options, opening, freeing. */
#include "queue.h"

#include "base/alloc.h"
#include "base/opts.h"

#include <string.h>

enum { MAX_ATTEMPTS = 25 };
static const int64_t once_default = INT64_C(10) * 60 * 1000,
                     once_max = INT64_C(7) * 24 * 3600 * 1000;

/* ---- options ------------------------------------------------------------ */

void ilk_queue_opts_init(ilk_queue_opts *opts, size_t size)
{
    if (!opts || size < sizeof opts->size)
        return;
    memset(opts, 0, size);
    opts->size = size;
}

ilk_status ilk__check_delay(int64_t delay_ms, ilk_error *err)
{
    if (delay_ms >= 0 && delay_ms <= ILK__LEASE_MAX_MS)
        return ILK_OK;
    return ilk__fail(err, ILK_EINVAL, "delay_ms must be 0 to %lld, got %lld",
                     (long long)ILK__LEASE_MAX_MS, (long long)delay_ms);
}

ilk_status ilk__check_lease(int64_t lease_ms, ilk_error *err)
{
    return ilk__lease_check_ms("lease_ms", lease_ms, err);
}

ilk_status ilk__queue_check_opts(ilk_queue_opts *out, const ilk_queue_opts *in,
                                 ilk_error *err)
{
    ilk_status st = ilk__opts_copy(out, sizeof *out, in, "ilk_queue_opts", err);

    if (st)
        return st;
    if (out->max_attempts == 0)
        out->max_attempts = MAX_ATTEMPTS;
    if (out->once_ms == 0)
        out->once_ms = once_default;
    if (out->data_max == 0)
        out->data_max = ILK_QUEUE_DATA_MAX;
    if (out->order != ILK_QUEUE_FIFO && out->order != ILK_QUEUE_FILO)
        return ilk__fail(err, ILK_EINVAL, "unknown order %d", (int)out->order);
    if (out->max_attempts < -1)
        return ilk__fail(err, ILK_EINVAL,
                         "max_attempts must be -1 or more, got %d",
                         (int)out->max_attempts);
    if (out->once_ms < 0 || out->once_ms > once_max)
        return ilk__fail(err, ILK_EINVAL, "once_ms must be 0 to %lld, got %lld",
                         (long long)once_max, (long long)out->once_ms);
    if (out->data_max < 0 || out->data_max > ILK_QUEUE_DATA_MAX)
        return ilk__fail(err, ILK_EINVAL, "data_max must be 0 to %d, got %lld",
                         (int)ILK_QUEUE_DATA_MAX, (long long)out->data_max);
    if (out->flags & ~(uint32_t)ILK_QUEUE_RENEW)
        return ilk__fail(err, ILK_EINVAL, "unknown queue flags 0x%x",
                         (unsigned)out->flags);
    return ILK_OK;
}

/* ---- handles ------------------------------------------------------------ */

static void dispose(ilk_queue *queue)
{
    for (size_t i = 0; queue->queue_keys && i < queue->count; i++)
        ilk__queue_keys_unref(queue->queue_keys[i]);
    ilk__free(queue->queue_keys);
    ilk__free(queue->keys);
    ilk__client_unref(queue->client);
    ilk__free(queue);
}

static int has(const ilk_queue *queue, size_t count, const void *name,
               size_t len)
{
    for (size_t i = 0; i < count; i++)
        if (queue->queue_keys[i]->name.len == len
            && memcmp(queue->queue_keys[i]->name.data, name, len) == 0)
            return 1;
    return 0;
}

static ilk_status add_queue(ilk_queue *queue, size_t index, const void *name,
                            size_t len, ilk_error *err)
{
    ilk_status st =
        ilk__queue_keys_new(&queue->queue_keys[index], name, len, err);
    ilk__queue_keys *queue_keys = queue->queue_keys[index];

    if (st == ILK_OK)
        st = ilk__client_accept_name(queue->client, name, len, err);
    if (st)
        return st;
    queue_keys->order = queue->opts.order == ILK_QUEUE_FILO ? "filo" : "fifo";
    queue_keys->most =
        queue->opts.max_attempts < 0 ? 0 : queue->opts.max_attempts;
    memcpy(queue->keys + index * ILK__QUEUE_KEYS, queue_keys->keys,
           sizeof queue_keys->keys);
    if (has(queue, index, name, len))
        return ilk__fail(err, ILK_EINVAL, "a queue is named twice: \"%.*s\"",
                         len < 40 ? (int)len : 40, (const char *)name);
    return ILK_OK;
}

static ilk_status set_up(ilk_queue *queue, const void *const *names,
                         const size_t *lens, size_t count, ilk_error *err)
{
    ilk_status st = ILK_OK;

    queue->queue_keys = ilk__calloc(count, sizeof *queue->queue_keys);
    queue->keys = ilk__calloc(count * ILK__QUEUE_KEYS, sizeof *queue->keys);
    queue->count = count;
    if (!queue->queue_keys || !queue->keys)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    for (size_t i = 0; i < count && st == ILK_OK; i++)
        st = add_queue(queue, i, names[i], lens[i], err);
    queue->wait_queue = (ilk__wait_queue){.keys = queue->keys,
                                          .key_count = count * ILK__QUEUE_KEYS,
                                          .refresh = &ilk__queue_refresh_op,
                                          .cancel = &ilk__queue_cancel_op,
                                          .kind = 'q',
                                          .orphaned = ilk__queue_orphaned,
                                          .busy_text = "the queue is empty"};
    queue->era = queue->client->era;
    return st;
}

ilk_status ilk_queue_open_many(ilk_queue **out, ilk_client *client,
                               const void *const *names,
                               const size_t *name_lens, size_t count,
                               const ilk_queue_opts *opts, ilk_error *err)
{
    ilk_queue *queue;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__client_enter_for(client, ILK_OFFER_QUEUE, err);
    if (st)
        return st;
    if (!names || !name_lens)
        return ilk__fail(err, ILK_EINVAL, "names must not be NULL");
    if (count < 1 || count > ILK_MANY_MAX)
        return ilk__fail(err, ILK_EINVAL, "count must be 1 to %d, got %zu",
                         ILK_MANY_MAX, count);
    queue = ilk__calloc(1, sizeof *queue);
    if (!queue)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    queue->client = ilk__client_ref(client);
    st = ilk__queue_check_opts(&queue->opts, opts, err);
    if (st == ILK_OK)
        st = set_up(queue, names, name_lens, count, err);
    if (st)
        dispose(queue);
    else
        *out = queue;
    return st;
}

ilk_status ilk_queue_open(ilk_queue **out, ilk_client *client, const void *name,
                          size_t name_len, const ilk_queue_opts *opts,
                          ilk_error *err)
{
    return ilk_queue_open_many(out, client, &name, &name_len, 1, opts, err);
}

/* 0 in a forked child, and for a handle that the child got from its parent:
 * its waits belong to the parent process and must not be withdrawn. */
static int is_mine(const ilk_queue *queue)
{
    return !ilk__client_is_forked(queue->client)
           && queue->era == queue->client->era;
}

const char *ilk_queue_name(const ilk_queue *queue, size_t index,
                           size_t *out_len)
{
    int known = queue && index < queue->count;

    return ilk__key_name(known ? &queue->queue_keys[index]->name : NULL, NULL,
                         out_len);
}

void ilk_queue_free(ilk_queue *queue)
{
    if (!queue)
        return;
    if (is_mine(queue) && queue->requests)
        ilk__loop_forget(queue->client->loop, queue);
    ilk__queue_drop_waits(queue);
    dispose(queue);
}

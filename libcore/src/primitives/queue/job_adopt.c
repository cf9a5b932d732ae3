/* SPDX-License-Identifier: MIT */
/* job_adopt.c -- settling a message that another handle has reserved, by its
 * token. */
#include "batch.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "queue.h"

#include <stdlib.h>
#include <string.h>

/* The parts of a job's token. */
typedef struct claim {
    char token[ILK__TOKEN_LEN + 1];
    size_t place, count;
} claim;

static int number(const char **at, char end, size_t *out)
{
    char *after;
    long value;

    if (**at < '1' || **at > '9')
        return 0;
    value = strtol(*at, &after, 10);
    if (*after != end || value > ILK__BATCH_MAX)
        return 0;
    *out = (size_t)value;
    *at = after + 1;
    return 1;
}

static int parse(claim *out, const void *token, size_t len)
{
    char text[sizeof((ilk_job *)0)->token];
    const char *at = text + ILK__TOKEN_LEN + 1;

    if (len <= ILK__TOKEN_LEN || len >= sizeof text)
        return 0;
    memcpy(text, token, len);
    text[len] = '\0';
    if (strlen(text) != len
        || strspn(text, "0123456789abcdef") != ILK__TOKEN_LEN
        || text[ILK__TOKEN_LEN] != ':')
        return 0;
    memcpy(out->token, text, ILK__TOKEN_LEN);
    out->token[ILK__TOKEN_LEN] = '\0';
    return number(&at, ':', &out->place) && number(&at, '\0', &out->count)
           && out->place <= out->count;
}

/* The new batch has the size of the original one, but only the named message
 * may be settled through it. The others still count in batch->open, so that
 * settling this one never ends the lease that they share. */
static ilk_status make(ilk_batch **out, ilk_queue *queue, const claim *of,
                       ilk_error *err)
{
    ilk_batch *batch =
        ilk__calloc(1, sizeof *batch + of->count * sizeof *batch->jobs);
    ilk_status st;

    if (!batch)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    batch->count = of->count;
    for (size_t i = 0; i < of->count; i++) {
        batch->jobs[i].batch = batch;
        batch->jobs[i].place = i + 1;
        batch->jobs[i].reason = "";
    }
    atomic_store(&batch->refs, 1);
    batch->client = ilk__client_ref(queue->client);
    batch->era = queue->client->era;
    batch->queue_keys = ilk__queue_keys_ref(queue->queue_keys[0]);
    st = ilk__batch_hold(batch, of->token, ilk__now_ms(), ILK__LEASE_DEFAULT_MS,
                         err);
    for (size_t i = 0; i < of->count && st == ILK_OK; i++)
        if (i + 1 != of->place)
            atomic_store(&batch->jobs[i].state, ILK__JOB_SETTLED);
    if (st)
        ilk_batch_free(batch);
    else
        *out = batch;
    return st;
}

ilk_status ilk_job_adopt(ilk_job **out, ilk_queue *queue, const void *token,
                         size_t token_len, ilk_error *err)
{
    ilk_batch *batch = NULL;
    ilk_status st;
    claim of = {.place = 0};

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__queue_enter(queue, 1, err);
    if (st)
        return st;
    if (!token || !parse(&of, token, token_len))
        return ilk__fail(err, ILK_EINVAL, "that is no message's token");
    st = make(&batch, queue, &of, err);
    if (batch) { /* how long its lease still lasts is not known */
        atomic_store(&batch->lease.deadline, 0);
        *out = &batch->jobs[of.place - 1];
    }
    return st;
}

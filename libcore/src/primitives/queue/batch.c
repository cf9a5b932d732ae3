/* SPDX-License-Identifier: MIT */
/* batch.c -- a batch of messages: read from a reply, leased, returned as the
 * result of an operation. */
#include "base/alloc.h"
#include "base/clock.h"
#include "queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the lease ---------------------------------------------------------- */

static const ilk__op_type job_extend = {.name = "job_extend",
                                        .script = ILK__SCRIPT_JOB_EXTEND,
                                        .ask = ilk__lease_ask,
                                        .reply = ilk__lease_extended};
static const ilk__lease_kind lease_kind = {
    .noun = "message",
    .lost_notification = ILK_NOTIFICATION_NONE,
    .extend = &job_extend,
};

/* ---- reading a reply ---------------------------------------------------- */

/* Reads a number and the space behind it; the text ends with a NUL. */
static int number(const char **at, int64_t *out)
{
    char *end;

    if (**at < '0' || **at > '9')
        return 0;
    *out = strtoll(*at, &end, 10);
    if (*end != ' ')
        return 0;
    *at = end + 1;
    return 1;
}

/* Parses `1 <id> <attempts> <pushed ms> <data>`; a dead message has
 * `<bytes> <reason>` before that. The job points into the text. */
static int parse(ilk_job *job, const char *text, size_t len, int dead)
{
    const char *at = text, *end = text + len;
    int64_t version, attempts, reason_len = 0;

    if (dead) {
        if (!number(&at, &reason_len) || reason_len > end - at)
            return 0;
        job->reason = at;
        job->reason_len = (size_t)reason_len;
        at += reason_len;
    }
    if (!number(&at, &version) || version != 1 || !number(&at, &job->id)
        || !number(&at, &attempts) || !number(&at, &job->pushed_ms) || at > end)
        return 0;
    job->attempts = (int32_t)attempts;
    job->data = at;
    job->len = (size_t)(end - at);
    return 1;
}

static ilk_batch *allocate(const ilk__reply *reply, size_t at, size_t count)
{
    size_t size = sizeof(ilk_batch) + count * sizeof(ilk_job);

    for (size_t i = 0; i < count; i++)
        size += reply->items[at + i]->len + 1;
    return ilk__calloc(1, size);
}

/* Copies the messages behind the jobs, and ends each reason and each message's
 * data with a NUL. */
static int fill(ilk_batch *batch, const ilk__reply *reply, size_t at, int dead)
{
    char *to = (char *)(batch->jobs + batch->count);

    for (size_t i = 0; i < batch->count; i++) {
        const ilk__reply *blob = reply->items[at + i];
        ilk_job *job = &batch->jobs[i];

        memcpy(to, blob->str, blob->len);
        job->batch = batch;
        job->place = i + 1;
        job->reason = "";
        if (!parse(job, to, blob->len, dead))
            return 0;
        if (dead) /* over the version, which parse() has read already */
            to[(size_t)(job->reason - to) + job->reason_len] = '\0';
        to += blob->len + 1;
    }
    return 1;
}

ilk_status ilk__batch_new(ilk_batch **out, ilk_client *client,
                          ilk__queue_keys *queue_keys, const ilk__reply *reply,
                          size_t at, int dead, ilk_error *err)
{
    size_t count = reply->count - ++at;
    ilk_batch *batch;

    for (size_t i = 0; i < count; i++)
        if (reply->items[at + i]->type != ILK__REPLY_STR)
            return ilk__fail(err, ILK_EREPLY, "a message that is no text");
    batch = allocate(reply, at, count);
    if (!batch)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    batch->count = count;
    if (!fill(batch, reply, at, dead)) {
        ilk__free(batch);
        return ilk__fail(err, ILK_EREPLY, "a message that makes no sense");
    }
    for (size_t i = 0; i < count; i++)
        atomic_store(&batch->jobs[i].state, ILK__JOB_SETTLED);
    atomic_store(&batch->refs, 1);
    batch->client = ilk__client_ref(client);
    batch->era = client->era;
    batch->queue_keys = ilk__queue_keys_ref(queue_keys);
    *out = batch;
    return ILK_OK;
}

/* The job's public token: the delivery token and its place. */
static void name_job(ilk_job *job, const char *token)
{
    snprintf(job->token, sizeof job->token, "%s:%zu:%zu", token, job->place,
             job->batch->count);
}

void ilk__batch_count_delivery(ilk_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        batch->jobs[i].attempts++;
}

ilk_status ilk__batch_hold(ilk_batch *batch, const char *token, int64_t began,
                           int64_t lease_ms, ilk_error *err)
{
    ilk__shared *shared = batch->client->shared;
    ilk__lease *lease = &batch->lease;
    ilk_status st =
        ilk__lease_init(lease, shared, &lease_kind,
                        &batch->queue_keys->keys[ILK__QUEUE_KEY_LEASES], 1,
                        ilk__shared_new_id(shared), err);

    if (st)
        return st;
    batch->leased = 1;
    batch->lease_ms = lease_ms;
    lease->token_len = strlen(token);
    memcpy(lease->token, token, lease->token_len + 1);
    ilk__batch_count_delivery(batch);
    for (size_t i = 0; i < batch->count; i++) {
        name_job(&batch->jobs[i], token);
        atomic_store(&batch->jobs[i].state, ILK__JOB_OPEN);
    }
    atomic_store(&batch->open, (int32_t)batch->count);
    ilk__lease_begin(lease, 0, ilk__lease_deadline(began, lease_ms), lease_ms);
    return ILK_OK;
}

/* ---- handles ------------------------------------------------------------ */

int ilk__batch_is_mine(const ilk_batch *batch)
{
    return !ilk__client_is_forked(batch->client)
           && batch->era == batch->client->era;
}

void ilk__batch_ref(ilk_batch *batch)
{
    atomic_fetch_add(&batch->refs, 1);
}

static void unref(ilk_batch *batch)
{
    if (atomic_fetch_sub(&batch->refs, 1) > 1)
        return;
    if (batch->leased && ilk__batch_is_mine(batch))
        ilk__lease_destroy(&batch->lease);
    ilk__queue_keys_unref(batch->queue_keys);
    ilk__client_unref(batch->client);
    ilk__free(batch);
}

void ilk_batch_free(ilk_batch *batch)
{
    if (batch)
        unref(batch);
}

void ilk_job_free(ilk_job *job)
{
    if (job)
        unref(job->batch);
}

size_t ilk_batch_count(const ilk_batch *batch)
{
    return batch ? batch->count : 0;
}

int32_t ilk_batch_lost(const ilk_batch *batch)
{
    return batch ? atomic_load(&batch->lost) : 0;
}

ilk_status ilk_batch_job(ilk_job **out, ilk_batch *batch, size_t index,
                         ilk_error *err)
{
    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    if (!batch)
        return ilk__fail(err, ILK_EINVAL, "batch must not be NULL");
    if (index >= batch->count)
        return ilk__fail(err, ILK_EINVAL, "index must be below %zu, got %zu",
                         batch->count, index);
    ilk__error_clear(err);
    ilk__batch_ref(batch);
    *out = &batch->jobs[index];
    return ILK_OK;
}

/* ---- requests ----------------------------------------------------------- */

ilk_status ilk__batch_enter(const ilk_batch *batch, ilk_error *err)
{
    ilk_status st = ilk__client_enter(batch->client, err);

    if (st == ILK_OK && batch->era != batch->client->era)
        st = ilk__fail(err, ILK_EFORKED,
                       "the message belongs to the parent process");
    return st;
}

/* ---- as the result of an operation -------------------------------------- */

/* The application freed the operation without fetching the batch: the messages
 * return to the queue at once, and the attempt is not counted. */
static void give_back(const ilk_batch *batch)
{
    ilk__shared *shared = batch->client->shared;
    const ilk__wait_queue wait_queue = {.keys = batch->queue_keys->keys,
                                        .key_count = ILK__QUEUE_KEYS,
                                        .cancel = &ilk__queue_cancel_op};

    ilk__shared_lock(shared);
    ilk__give_back_token(shared, &wait_queue, batch->lease.token);
    ilk__shared_unlock(shared);
}

static void dispose(void *object)
{
    ilk_batch *batch = object;

    if (atomic_load(&batch->unfetched) && ilk__batch_is_mine(batch))
        give_back(batch);
    ilk_batch_free(batch);
}

void ilk__batch_answer(ilk__request *request, ilk_batch *batch)
{
    ilk__request_answer(request, batch, dispose);
}

ilk_batch *ilk_op_batch(ilk_op *op)
{
    ilk_batch *batch = ilk__started_object(op, dispose);

    if (batch)
        atomic_store(&batch->unfetched, 0);
    return batch;
}

ilk_job *ilk_op_job(ilk_op *op)
{
    ilk_batch *batch = ilk_op_batch(op);

    return batch && batch->count ? &batch->jobs[0] : NULL;
}

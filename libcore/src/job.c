/* SPDX-License-Identifier: MIT */
/* job.c -- one message: what is in it, and what becomes of it. */
#include "job.h"

#include "clock.h"
#include "ending.h"
#include "run.h"

/* ---- what is in it ------------------------------------------------------ */

static const char *bytes(const char *data, size_t len, size_t *out_len)
{
    if (out_len)
        *out_len = data ? len : 0;
    return data ? data : "";
}

const char *ilk_job_data(const ilk_job *job, size_t *out_len)
{
    return bytes(job ? job->data : NULL, job ? job->len : 0, out_len);
}

const char *ilk_job_reason(const ilk_job *job, size_t *out_len)
{
    return bytes(job ? job->reason : NULL, job ? job->reason_len : 0, out_len);
}

const char *ilk_job_queue(const ilk_job *job, size_t *out_len)
{
    const ilk__bytes *name = job ? &job->batch->shelf->name : NULL;

    return bytes(name ? name->data : NULL, name ? name->len : 0, out_len);
}

int64_t ilk_job_id(const ilk_job *job)
{
    return job ? job->id : 0;
}

int32_t ilk_job_attempts(const ilk_job *job)
{
    return job ? job->attempts : 0;
}

int64_t ilk_job_pushed_ms(const ilk_job *job)
{
    return job ? job->pushed_ms : 0;
}

int64_t ilk_job_remaining_ms(const ilk_job *job)
{
    const ilk_batch *batch = job ? job->batch : NULL;

    if (!batch || atomic_load(&job->state) != ILK__JOB_OPEN
        || ilk__client_is_forked(batch->client)
        || batch->era != batch->client->era)
        return 0;
    return ilk__lease_remaining(&batch->lease);
}

/* ---- what becomes of it ------------------------------------------------- */

static ilk_status enter(const ilk_job *job, ilk_error *err)
{
    ilk_status st;

    if (!job)
        return ilk__fail(err, ILK_EINVAL, "job must not be NULL");
    st = ilk__batch_enter(job->batch, err);
    if (st == ILK_OK && atomic_load(&job->state) != ILK__JOB_OPEN)
        st = ilk__fail(err, ILK_ENOTOWNER,
                       job->batch->leased ? "the message is finished already"
                                          : "the message was not reserved");
    return st;
}

static ilk_status end(ilk_job *job, ilk__ending_verb verb, int64_t delay_ms,
                      const void *reason, size_t reason_len, ilk_error *err)
{
    const ilk__shelf *shelf = job->batch->shelf;
    ilk__endings endings = {.alone = 1};
    ilk_status st =
        ilk__endings_add(&endings, job->batch, verb, job->place, job->place,
                         delay_ms, reason, reason_len, err);

    if (st)
        return st;
    st = ilk__endings_send(&endings, job->batch->client, shelf, shelf->keys,
                           ILK__SHELF_KEYS, verb == ILK__ENDING_DONE, err);
    ilk__endings_unheard(&endings); /* none, if it was answered */
    return st;
}

ilk_status ilk_job_ack(ilk_job *job, ilk_error *err)
{
    ilk_status st = enter(job, err);

    return st ? st : end(job, ILK__ENDING_DONE, 0, NULL, 0, err);
}

ilk_status ilk_job_nack(ilk_job *job, int64_t delay_ms, ilk_error *err)
{
    static const char reason[] = "given back too often";
    ilk_status st = enter(job, err);

    if (st == ILK_OK)
        st = ilk__check_delay(delay_ms, err);
    return st ? st
              : end(job, ILK__ENDING_FAILED, delay_ms, reason,
                    sizeof reason - 1, err);
}

ilk_status ilk_job_bury(ilk_job *job, const void *reason, size_t reason_len,
                        ilk_error *err)
{
    ilk_status st = enter(job, err);

    if (st == ILK_OK && !reason && reason_len)
        st = ilk__fail(err, ILK_EINVAL, "reason must not be NULL");
    return st ? st : end(job, ILK__ENDING_DEAD, 0, reason, reason_len, err);
}

ilk_status ilk_job_extend(ilk_job *job, int64_t lease_ms, ilk_error *err)
{
    int64_t asked_at = ilk__now_ms();
    ilk__extension extension;
    ilk__lease *lease;
    ilk_status st = enter(job, err);

    if (st)
        return st;
    lease = &job->batch->lease;
    if (lease_ms == 0)
        lease_ms = job->batch->lease_ms;
    st = ilk__check_lease(lease_ms, err);
    if (st)
        return st;
    ilk__lease_extension(lease, &extension, lease_ms);
    st = ilk__ask(job->batch->client, lease->kind->extend, &extension,
                  job->batch->client->opts.reply_timeout_ms, err);
    if (st == ILK_OK)
        ilk__lease_prolong(lease, asked_at, extension.ttl_ms);
    else if (st == ILK_ELOST)
        ilk__lease_lose(lease);
    return st;
}

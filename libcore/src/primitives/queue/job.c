/* SPDX-License-Identifier: MIT */
/* job.c -- the accessors of one message. */
#include "batch.h"

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
    const ilk__bytes *name = job ? &job->batch->queue_keys->name : NULL;

    return bytes(name ? name->data : NULL, name ? name->len : 0, out_len);
}

const char *ilk_job_token(const ilk_job *job)
{
    return job ? job->token : "";
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
        || !ilk__batch_is_mine(batch))
        return 0;
    return ilk__lease_remaining(&batch->lease);
}

/* SPDX-License-Identifier: MIT */
/* job_settle.c -- acknowledging, returning, burying reserved messages, and
 * extending their lease. */
#include "base/clock.h"
#include "client/loop.h"
#include "client/run.h"
#include "handle/hold.h"
#include "settlement.h"

static ilk_status enter(const ilk_batch *batch, const ilk_job *job,
                        ilk_error *err)
{
    ilk_status st = ilk__batch_enter(batch, err);

    if (st)
        return st;
    if (!batch->leased)
        return ilk__fail(err, ILK_ENOTOWNER,
                         job ? "the message was not reserved"
                             : "these messages were not reserved");
    if (job && atomic_load(&job->state) != ILK__JOB_OPEN)
        return ilk__fail(err, ILK_ENOTOWNER, "the message is finished already");
    return ILK_OK;
}

/* ---- settling ----------------------------------------------------------- */

typedef struct settle_request {
    ilk__request request;
    ilk_batch *batch; /* has a reference from begin() to end() */
    ilk_job *job;     /* NULL: all open jobs of the batch */
    ilk__settlement_kind kind;
    int64_t delay_ms;
    const void *reason; /* the caller's: valid until begin() returns */
    size_t reason_len;
    ilk__settlements settlements;
    ilk__settlement_query query;
} settle_request;

static ilk_status check(const settle_request *self, ilk_error *err)
{
    ilk_status st = enter(self->batch, self->job, err);

    if (st == ILK_OK)
        st = ilk__check_delay(self->delay_ms, err);
    if (st == ILK_OK && !self->reason && self->reason_len)
        st = ilk__fail(err, ILK_EINVAL, "reason must not be NULL");
    return st;
}

static ilk_status add(settle_request *self, ilk_error *err)
{
    ilk_job *job = self->job;

    if (!job)
        return ilk__settlements_add_open(&self->settlements, self->batch,
                                         self->kind, err);
    return ilk__settlements_add(&self->settlements, self->batch, self->kind,
                                job->place, job->place, self->delay_ms,
                                self->reason, self->reason_len, err);
}

static void end(settle_request *self, ilk_status status)
{
    /* A reply has emptied the list; these are the ones without a reply. */
    ilk__settlements_doubt(&self->settlements);
    ilk__settlements_unanswered(&self->settlements);
    ilk_batch_free(self->batch);
    ilk__request_end(&self->request, status);
}

static void answered(ilk__request *request, ilk_status status)
{
    end((settle_request *)request, status);
}

static void begin(ilk__request *request)
{
    settle_request *self = (settle_request *)request;
    const ilk__queue_keys *queue_keys = self->batch->queue_keys;
    ilk_status st = check(self, request->err);

    if (st) {
        ilk__request_end(request, st);
        return;
    }
    ilk__batch_ref(self->batch);
    self->settlements.alone = 1;
    st = add(self, request->err);
    if (st) {
        /* never sent, so end() must not mark them as in doubt */
        ilk__settlements_unanswered(&self->settlements);
        end(self, st);
    } else if (!self->settlements.count) {
        end(self, ILK_OK);
    } else {
        self->query = (ilk__settlement_query){.settlements = &self->settlements,
                                              .queue_keys = queue_keys,
                                              .keys = queue_keys->keys,
                                              .key_count = ILK__QUEUE_KEYS};
        ilk__settlements_send(request, &self->query,
                              self->kind == ILK__SETTLE_DONE, answered);
    }
}

static ilk_status run(settle_request *self, const char *noun, ilk_error *err)
{
    if (!self->batch)
        return ilk__fail(err, ILK_EINVAL, "%s must not be NULL", noun);
    return ilk__request_run(&self->request, self->batch->client, begin, err);
}

static ilk_status start(ilk_op **out, settle_request *self, const char *noun,
                        ilk_error *err)
{
    if (!self->batch)
        return ilk__started_none(
            out, ilk__fail(err, ILK_EINVAL, "%s must not be NULL", noun));
    return ilk__request_start(out, &self->request, sizeof *self,
                              self->batch->client, begin, err);
}

/* ---- one of them -------------------------------------------------------- */

static settle_request settle_request_of(ilk_job *job, ilk__settlement_kind kind)
{
    return (settle_request){
        .batch = job ? job->batch : NULL, .job = job, .kind = kind};
}

static settle_request nack_request(ilk_job *job, int64_t delay_ms)
{
    static const char reason[] = "given back too often";
    settle_request self = settle_request_of(job, ILK__SETTLE_FAILED);

    self.delay_ms = delay_ms;
    self.reason = reason;
    self.reason_len = sizeof reason - 1;
    return self;
}

static settle_request bury_request(ilk_job *job, const void *reason,
                                   size_t reason_len)
{
    settle_request self = settle_request_of(job, ILK__SETTLE_DEAD);

    self.reason = reason;
    self.reason_len = reason_len;
    return self;
}

ilk_status ilk_job_ack(ilk_job *job, ilk_error *err)
{
    settle_request self = settle_request_of(job, ILK__SETTLE_DONE);

    return run(&self, "job", err);
}

ilk_status ilk_job_ack_start(ilk_op **out, ilk_job *job, ilk_error *err)
{
    settle_request self = settle_request_of(job, ILK__SETTLE_DONE);

    return start(out, &self, "job", err);
}

ilk_status ilk_job_nack(ilk_job *job, int64_t delay_ms, ilk_error *err)
{
    settle_request self = nack_request(job, delay_ms);

    return run(&self, "job", err);
}

ilk_status ilk_job_nack_start(ilk_op **out, ilk_job *job, int64_t delay_ms,
                              ilk_error *err)
{
    settle_request self = nack_request(job, delay_ms);

    return start(out, &self, "job", err);
}

ilk_status ilk_job_bury(ilk_job *job, const void *reason, size_t reason_len,
                        ilk_error *err)
{
    settle_request self = bury_request(job, reason, reason_len);

    return run(&self, "job", err);
}

ilk_status ilk_job_bury_start(ilk_op **out, ilk_job *job, const void *reason,
                              size_t reason_len, ilk_error *err)
{
    settle_request self = bury_request(job, reason, reason_len);

    return start(out, &self, "job", err);
}

/* ---- all of them -------------------------------------------------------- */

ilk_status ilk_batch_ack(ilk_batch *batch, ilk_error *err)
{
    settle_request self = {.batch = batch, .kind = ILK__SETTLE_DONE};

    return run(&self, "batch", err);
}

ilk_status ilk_batch_ack_start(ilk_op **out, ilk_batch *batch, ilk_error *err)
{
    settle_request self = {.batch = batch, .kind = ILK__SETTLE_DONE};

    return start(out, &self, "batch", err);
}

/* ---- more time ---------------------------------------------------------- */

typedef struct extend_request {
    ilk__request request;
    ilk_job *job; /* its batch has a reference until extended() */
    int64_t lease_ms;
    ilk__lease_way way;
    ilk__lease_change change;
    ilk__extension extension;
} extend_request;

static void extended(ilk__request *request, ilk_status status)
{
    const extend_request *self = (extend_request *)request;
    ilk_batch *batch = self->job->batch;
    const ilk__lease_outcome outcome =
        ilk__extend_outcome(request, self->way, status, &self->extension);

    status = ilk__lease_change_end(&batch->lease, &self->change, &outcome,
                                   request->err);
    ilk_batch_free(batch);
    ilk__request_end(request, status);
}

static void begin_extend(ilk__request *request)
{
    extend_request *self = (extend_request *)request;
    ilk_batch *batch = self->job->batch;
    ilk_status st = enter(batch, self->job, request->err);

    if (st == ILK_OK && self->lease_ms == 0)
        self->lease_ms = batch->lease_ms;
    if (st == ILK_OK)
        st = ilk__check_lease(self->lease_ms, request->err);
    if (st) {
        ilk__request_end(request, st);
        return;
    }
    ilk__batch_ref(batch);
    ilk__lease_change_begin(&batch->lease, &self->change, self->way,
                            self->lease_ms);
    ilk__lease_extension(&batch->lease, &self->extension, self->lease_ms, 0);
    ilk__request_ask(request, batch->lease.kind->extend, &self->extension,
                     ilk__request_patience(request), extended);
}

ilk_status ilk_job_extend(ilk_job *job, int64_t lease_ms, ilk_error *err)
{
    extend_request self = {.job = job, .lease_ms = lease_ms};

    return job ? ilk__request_run(&self.request, job->batch->client,
                                  begin_extend, err)
               : ilk__fail(err, ILK_EINVAL, "job must not be NULL");
}

ilk_status ilk_job_extend_start(ilk_op **out, ilk_job *job, int64_t lease_ms,
                                ilk_error *err)
{
    extend_request self = {
        .job = job, .lease_ms = lease_ms, .way = ILK__LEASE_BY_LOOP};

    return job ? ilk__request_start(out, &self.request, sizeof self,
                                    job->batch->client, begin_extend, err)
               : ilk__started_none(
                   out, ilk__fail(err, ILK_EINVAL, "job must not be NULL"));
}

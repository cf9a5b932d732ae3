/* SPDX-License-Identifier: MIT */
/* confirmer.c -- confirms new holds at replicas: extend, WAIT, ROLE. */
#include "confirmer.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>

enum { WAIT_MS = 1000 }; /* for the replicas to answer */

typedef enum stage {
    STAGE_IDLE,     /* not begun: in no list */
    STAGE_NEW,      /* its extend is to be sent */
    STAGE_EXTENDS,  /* its extend is under way */
    STAGE_EXTENDED, /* a WAIT is to follow */
    STAGE_OVER
} stage;

struct ilk__confirmation {
    ilk__inflight inflight; /* the extend; first */
    ilk__extension extension;
    ilk__confirmer *confirmer;
    ilk__confirmation *next, **link; /* in the confirmer's list */
    ilk__parker parker;
    stage stage;
    int abandoned; /* its request is over: free it when the extend is */
    int waits;     /* a stop of the client ends it */
    int cancelled, interrupted;
    int64_t ttl_ms, deadline;
    int64_t connection; /* the number of the one that answered the extend */
    ilk_status status;
    ilk_error error;
    ilk__bytes room[]; /* copies of keys and token */
};

/* The operation of WAIT and then ROLE. */
typedef struct replicas_op {
    ilk__inflight inflight; /* first */
    int under_way;
    int asks_role;      /* WAIT has its reply */
    int64_t count;      /* the reply */
    int64_t connection; /* the number of the one that answered */
    uint64_t position;  /* of WAIT on the wire */
} replicas_op;

struct ilk__confirmer {
    ilk__shared *shared;
    ilk__pipeline pipeline;
    ilk__timers timers;
    int64_t replicas; /* that must have a hold */
    replicas_op wait;
    ilk_error error;          /* of that operation */
    ilk__confirmation *first; /* all that have begun */
};

/* ---- one confirmation --------------------------------------------------- */

static void enlist(ilk__confirmation *self)
{
    ilk__confirmer *confirmer = self->confirmer;

    self->next = confirmer->first;
    self->link = &confirmer->first;
    if (self->next)
        self->next->link = &self->next;
    confirmer->first = self;
}

static void dispose(ilk__confirmation *self)
{
    if (self->link) {
        *self->link = self->next;
        if (self->next)
            self->next->link = self->link;
    }
    ilk__timers_unreserve(&self->confirmer->timers);
    ilk__parker_destroy(&self->parker);
    ilk__free(self);
}

static void over(ilk__confirmation *self, ilk_status status)
{
    self->stage = STAGE_OVER;
    self->status = status;
    ilk__unpark(&self->parker);
}

/* Whether this status leaves open what the replicas have. */
static int is_silence(ilk_status status)
{
    return status == ILK_ECONN || status == ILK_ETIMEOUT
           || status == ILK_EUNKNOWN || status == ILK_EREPLY;
}

static ilk_status no_answer(ilk_error *err, const char *why)
{
    return ilk__fail(err, ILK_ENOQUORUM,
                     "it is unknown whether replicas have the hold: %.150s",
                     why);
}

static void extended(ilk__inflight *inflight)
{
    ilk__confirmation *self = (ilk__confirmation *)inflight;
    ilk_status status = inflight->op.status;
    char why[ILK_ERROR_MAX];

    ilk__op_free(&inflight->op);
    if (self->abandoned) {
        dispose(self);
        return;
    }
    if (status == ILK_OK) {
        self->stage = STAGE_EXTENDED;
        self->connection =
            self->confirmer->pipeline.connection.traffic.connects;
        return;
    }
    if (is_silence(status)) {
        memcpy(why, self->error.msg, sizeof why);
        status = no_answer(&self->error, why);
    }
    over(self, status);
}

static void extend(ilk__confirmation *self)
{
    ilk__confirmer *confirmer = self->confirmer;

    self->stage = STAGE_EXTENDS;
    self->extension.ttl_ms = self->ttl_ms;
    self->extension.fence = 0;
    ilk__inflight_init(&self->inflight, confirmer->shared,
                       self->extension.kind->extend, &self->extension);
    self->inflight.op.deadline = self->deadline;
    self->inflight.op.err = &self->error;
    self->inflight.finished = extended;
    ilk__inflight_start(&confirmer->pipeline, &self->inflight);
}

/* ---- WAIT, then ROLE ---------------------------------------------------- */

static void ask_replicas(ilk__op *op)
{
    const ilk__confirmer *self = op->subject;

    op->command.replies =
        self->wait.asks_role ? ILK__REPLIES_ARRAY : ILK__REPLIES_INT;
    ilk__command_add_str(&op->command, self->wait.asks_role ? "ROLE" : "WAIT");
    if (self->wait.asks_role)
        return;
    ilk__command_add_int(&op->command, self->replicas);
    ilk__command_add_int(&op->command, WAIT_MS);
}

static ilk__act replicas_answered(ilk__op *op, const ilk__reply *reply)
{
    ilk__confirmer *self = op->subject;
    replicas_op *wait = &self->wait;

    if (wait->asks_role)
        return reply->count && ilk__reply_is_text(reply->items[0], "master")
                   ? ilk__op_done(op, ILK_OK)
                   : ilk__op_fail(op, ILK_EREPLY, "the server is no primary");
    wait->asks_role = 1;
    wait->count = reply->num;
    wait->position = wait->inflight.position;
    wait->connection = self->pipeline.connection.traffic.connects;
    return ilk__op_ask(op);
}

/* Not sent again: on another connection its reply would prove nothing. */
static const ilk__op_type replicas_type = {.name = "WAIT",
                                           .script = ILK__SCRIPT_NONE,
                                           .only_once = 1,
                                           .ask = ask_replicas,
                                           .reply = replicas_answered};

/* Whether the WAIT that has just ended was sent behind this extend. */
static int is_covered(const ilk__confirmer *self,
                      const ilk__confirmation *confirmation)
{
    return confirmation->stage == STAGE_EXTENDED
           && confirmation->connection == self->wait.connection
           && confirmation->inflight.position < self->wait.position;
}

static void judge(const ilk__confirmer *self, ilk__confirmation *confirmation)
{
    ilk_status status = ILK_OK;

    if (self->wait.count < self->replicas)
        status = ilk__fail(
            &confirmation->error, ILK_ENOQUORUM,
            "replicas with the hold after %d ms: %lld, min_replicas is %lld",
            WAIT_MS, (long long)self->wait.count, (long long)self->replicas);
    over(confirmation, status);
}

/* The server has refused WAIT or ROLE. */
static void refuse(const ilk__confirmer *self, ilk__confirmation *confirmation,
                   ilk_status status)
{
    confirmation->error = self->error;
    over(confirmation, status);
}

static void replicas_asked(ilk__inflight *inflight)
{
    ilk__confirmer *self = inflight->op.subject;
    ilk_status status = inflight->op.status;

    self->wait.under_way = 0;
    ilk__op_free(&inflight->op);
    /* It ended with an error, as when the primary becomes a replica. */
    if (is_silence(status) && self->pipeline.connection.up)
        self->pipeline.distrusted = 1;
    for (ilk__confirmation *one = self->first; one; one = one->next)
        if (status == ILK_OK && is_covered(self, one))
            judge(self, one);
        else if (status && !is_silence(status) && status != ILK_ECLOSED
                 && one->stage == STAGE_EXTENDED)
            refuse(self, one, status);
}

static void ask(ilk__confirmer *self)
{
    replicas_op *wait = &self->wait;

    wait->under_way = 1;
    wait->asks_role = 0;
    ilk__error_clear(&self->error);
    ilk__inflight_init(&wait->inflight, self->shared, &replicas_type, self);
    wait->inflight.op.err = &self->error;
    wait->inflight.op.persist_ms = 0;
    wait->inflight.finished = replicas_asked;
    ilk__inflight_start(&self->pipeline, &wait->inflight);
}

/* ---- the keeper's side -------------------------------------------------- */

/* The connection that carried the extend is gone, and with it the writes that
 * a WAIT would count for. */
static int is_stranded(const ilk__confirmer *self,
                       const ilk__confirmation *confirmation)
{
    const ilk__async_conn *connection = &self->pipeline.connection;

    return confirmation->stage == STAGE_EXTENDED
           && (!connection->up
               || connection->traffic.connects != confirmation->connection);
}

/* Whether a WAIT that is sent now follows its extend. An extend that sleeps
 * between two copies does not count: a copy would be sent after the WAIT. */
static int is_ahead(const ilk__confirmation *confirmation)
{
    ilk__inflight_state state = confirmation->inflight.state;

    return confirmation->stage == STAGE_EXTENDED
           || (confirmation->stage == STAGE_EXTENDS
               && (state == ILK__INFLIGHT_ON_WIRE
                   || state == ILK__INFLIGHT_UNSENT));
}

int64_t ilk__confirmer_turn(ilk__confirmer *self, int64_t now)
{
    ilk__timer *timer;
    int ahead = 0;

    ilk__pipeline_check_patience(&self->pipeline, now, "replicas");
    while ((timer = ilk__timers_pop(&self->timers, now)))
        timer->fire(timer, &self->pipeline);
    for (ilk__confirmation *next, *one = self->first; one; one = next) {
        next = one->next;
        if (one->stage == STAGE_NEW || is_stranded(self, one))
            extend(one);
    }
    for (ilk__confirmation *one = self->first; one && !ahead; one = one->next)
        ahead = is_ahead(one);
    if (ahead && !self->wait.under_way)
        ask(self);
    return ilk__sooner(ilk__timers_next(&self->timers),
                       ilk__pipeline_patience(&self->pipeline));
}

void ilk__confirmer_run(ilk__confirmer *self)
{
    ilk__pipeline *pipeline = &self->pipeline;
    ilk__reply *reply = NULL; /* ilk__pipeline_handle() frees it */
    ilk__async_conn_result result;

    do {
        result = ilk__async_conn_next(&pipeline->connection, &reply);
        if (result == ILK__ASYNC_CONN_NOTHING && !pipeline->held_count)
            break;
        ilk__shared_lock(self->shared);
        ilk__pipeline_handle(pipeline, result, reply, "replicas");
        ilk__shared_unlock(self->shared);
    } while (result != ILK__ASYNC_CONN_NOTHING
             && result != ILK__ASYNC_CONN_LOST);
}

ilk__async_conn *ilk__confirmer_connection(ilk__confirmer *self)
{
    return &self->pipeline.connection;
}

/* An extend may have to wait for one WAIT before it, and for its own WAIT after
 * it: hence 2 * WAIT_MS more than the reply timeout. */
ilk__confirmer *ilk__confirmer_new(ilk__shared *shared,
                                   const ilk__target *target, int replicas,
                                   int64_t reply_timeout_ms)
{
    ilk__confirmer *self = ilk__calloc(1, sizeof *self);

    if (!self)
        return NULL;
    if (ilk__timers_reserve(&self->timers, NULL)) { /* for WAIT */
        ilk__free(self);
        return NULL;
    }
    self->shared = shared;
    self->replicas = replicas;
    ilk__pipeline_init(&self->pipeline, target, &self->timers,
                       reply_timeout_ms + 2 * (int64_t)WAIT_MS);
    return self;
}

void ilk__confirmer_close(ilk__confirmer *self)
{
    ilk__async_conn_close(&self->pipeline.connection);
}

void ilk__confirmer_free(ilk__confirmer *self)
{
    if (!self)
        return;
    ilk__pipeline_end(&self->pipeline);
    ilk__pipeline_free(&self->pipeline);
    ilk__timers_free(&self->timers);
    ilk__free(self);
}

void ilk__confirmer_abandon(ilk__confirmer *self)
{
    ilk__async_conn_abandon(&self->pipeline.connection);
}

/* ---- the request's side ------------------------------------------------- */

ilk_status ilk__confirmation_new(ilk__confirmation **out, ilk__shared *shared,
                                 const ilk__lease *lease, int64_t ttl_ms,
                                 int64_t deadline, int waits, ilk_error *err)
{
    ilk__confirmation *self =
        ilk__calloc(1, sizeof *self + ilk__lease_copy_room(lease));
    ilk_status st;

    *out = NULL;
    if (!self)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    st = ilk__parker_init(&self->parker, err);
    if (st) {
        ilk__free(self);
        return st;
    }
    self->confirmer = shared->confirmer;
    self->ttl_ms = ttl_ms;
    self->deadline = deadline;
    self->waits = waits;
    ilk__lease_extension_copy(lease, &self->extension, self->room, ttl_ms, 1);
    ilk__shared_lock(shared);
    st = ilk__timers_reserve(&self->confirmer->timers, err);
    ilk__shared_unlock(shared);
    if (st) {
        ilk__parker_destroy(&self->parker);
        ilk__free(self);
        return st;
    }
    *out = self;
    return ILK_OK;
}

static ilk__act begin(ilk__op *op)
{
    ilk__confirmation *self = op->subject;
    ilk__shared *shared = self->confirmer->shared;

    ilk__shared_lock(shared);
    self->stage = STAGE_NEW;
    enlist(self);
    ilk__shared_wake_keeper(shared, 0);
    ilk__shared_unlock(shared);
    return ilk__op_sleep(op, op->deadline);
}

/* With the mutex held. */
static ilk__act go_on(ilk__op *op, ilk__cause cause)
{
    ilk__confirmation *self = op->subject;

    if (self->stage == STAGE_OVER && self->status)
        return ilk__op_fail(op, self->status, "%s", self->error.msg);
    if (self->stage == STAGE_OVER)
        return ilk__op_done(op, ILK_OK);
    if (cause == ILK__CAUSE_CLOSED)
        return ilk__op_end(op, ILK_ECLOSED);
    if (self->cancelled || (self->waits && cause == ILK__CAUSE_STOPPED))
        return ilk__op_end(op, ILK_ECANCELLED);
    if (op->now >= op->deadline)
        return ilk__op_done(op, no_answer(op->err, "no answer in time"));
    self->interrupted |= cause == ILK__CAUSE_INTERRUPT;
    return ilk__op_sleep(op, op->deadline);
}

static ilk__act woken(ilk__op *op, ilk__cause cause)
{
    const ilk__confirmation *self = op->subject;
    ilk__shared *shared = self->confirmer->shared;
    ilk__act act;

    ilk__shared_lock(shared);
    act = go_on(op, cause);
    ilk__shared_unlock(shared);
    return act;
}

/* The keeper sends its commands; the operation itself only sleeps. */
const ilk__op_type ilk__confirm = {.name = "confirm",
                                   .script = ILK__SCRIPT_NONE,
                                   .start = begin,
                                   .wake = woken};

ilk__parker *ilk__confirmation_parker(ilk__confirmation *self)
{
    return &self->parker;
}

ilk__confirmed ilk__confirmation_result(const ilk__confirmation *self)
{
    return (ilk__confirmed){.sent_at = self->inflight.op.sent_at,
                            .lease_ms = self->extension.ttl_ms,
                            .interrupted = self->interrupted};
}

void ilk__confirmation_cancel(ilk__confirmation *self)
{
    self->cancelled = 1;
    ilk__unpark(&self->parker);
}

void ilk__confirmation_free(ilk__confirmation *self)
{
    ilk__shared *shared = self->confirmer->shared;

    ilk__shared_lock(shared);
    if (self->stage == STAGE_EXTENDS)
        self->abandoned = 1;
    else
        dispose(self);
    ilk__shared_unlock(shared);
}

/* SPDX-License-Identifier: MIT */
/*
 * barrier.c -- a barrier: rounds of a fixed number of parties.
 *
 * barrier_wait arrives under the wait's token and joins the wait queue of the
 * open round. When the round is full or broken, its waiters are woken, and each
 * sends barrier_wait again: the reply says how the round of its token ended.
 * include/barrier.lua describes the state in the server.
 */
#include "barrier.h"

#include "base/opts.h"
#include "handle/state_inspect.h"
#include "wait/lease.h"

#include <stdio.h>
#include <string.h>

enum { KEEP_DEFAULT_MS = 3600 * 1000 };

enum { LEAVE_MS = 1000 }; /* how long a wait that leaves waits for the reply */

static ilk_barrier *barrier_of(const ilk__waiter *waiter)
{
    return (ilk_barrier *)ilk__state_of(waiter);
}

static ilk__act differs(ilk__op *op, const ilk_barrier *self,
                        const ilk__reply *reply)
{
    return ilk__op_fail(
        op, ILK_EDIFFERS, "the barrier has %lld parties, not %lld",
        (long long)ilk__script_int(reply, 0), (long long)self->parties);
}

/* ---- handles ------------------------------------------------------------ */

void ilk_barrier_opts_init(ilk_barrier_opts *opts, size_t size)
{
    if (!opts || size < sizeof opts->size)
        return;
    memset(opts, 0, size);
    opts->size = size;
}

static ilk_status check_opts(ilk_barrier_opts *out, int64_t parties,
                             const ilk_barrier_opts *in, ilk_error *err)
{
    ilk_status st =
        ilk__opts_copy(out, sizeof *out, in, "ilk_barrier_opts", err);

    if (st)
        return st;
    if (parties < 1 || parties > ILK_BARRIER_PARTIES_MAX)
        return ilk__fail(err, ILK_EINVAL, "parties must be 1 to %d, got %lld",
                         ILK_BARRIER_PARTIES_MAX, (long long)parties);
    if (out->keep_ms < 0 || out->keep_ms > ILK__LEASE_MAX_MS)
        return ilk__fail(err, ILK_EINVAL,
                         "keep_ms must be 1 to %lld (0: an hour), got %lld",
                         (long long)ILK__LEASE_MAX_MS, (long long)out->keep_ms);
    if (out->keep_ms == 0)
        out->keep_ms = KEEP_DEFAULT_MS;
    return ILK_OK;
}

ilk_status ilk_barrier_open(ilk_barrier **out, ilk_client *client,
                            const void *name, size_t name_len, int64_t parties,
                            const ilk_barrier_opts *opts, ilk_error *err)
{
    ilk_barrier_opts checked;
    ilk__state *state;
    ilk_barrier *self;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__client_enter_for(client, ILK_OFFER_BARRIER, err);
    if (st == ILK_OK)
        st = check_opts(&checked, parties, opts, err);
    if (st)
        return st;
    st = ilk__state_new(&state, sizeof *self, client, &ilk__barrier_kind, name,
                        name_len, err);
    if (st)
        return st;
    self = (ilk_barrier *)state;
    self->opts = checked;
    self->parties = parties;
    *out = self;
    return ILK_OK;
}

void ilk_barrier_free(ilk_barrier *barrier)
{
    if (!barrier)
        return;
    ilk__state_free(&barrier->state);
}

/* ---- arriving ----------------------------------------------------------- */

static const char *mode_of(const ilk__waiter *waiter)
{
    if (waiter->stage == ILK__STAGE_LEAVE)
        return "leave";
    return waiter->stage == ILK__STAGE_ENQUEUE ? "wait" : "try";
}

/* A waiter that was woken by a change sends the same script again; the reply is
 * the outcome of its round. */
static void ask_wait(ilk__op *op)
{
    const ilk__waiter *waiter = op->subject;
    const ilk_barrier *self = barrier_of(waiter);
    const char *token = ilk__waiter_token(waiter);
    int knows = strcmp(self->arrived_as, token) == 0;

    if (waiter->stage != ILK__STAGE_LEAVE && ilk__wait_ask_to_go(op))
        return;
    ilk__state_ask(op);
    ilk__command_add_str(&op->command, mode_of(waiter));
    ilk__command_add_str(&op->command, token);
    ilk__command_add_int(&op->command, self->parties);
    ilk__command_add_int(&op->command, self->opts.keep_ms);
    ilk__command_add_int(&op->command, knows ? self->number : 0);
    ilk__command_add_str(&op->command, waiter->shared->label);
}

static ilk__act broken(ilk__op *op, const ilk__reply *why)
{
    static const struct {
        const char *how, *text;
    } reasons[] = {{"left ", "left it"},
                   {"dead ", "does not answer any more"},
                   {"reset ", "reset the barrier"}};

    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        size_t len = strlen(reasons[i].how);

        if (why->len >= len && memcmp(why->str, reasons[i].how, len) == 0)
            return ilk__state_refused(op, ILK_EBROKEN, "the round broke: %s %s",
                                      why->str + len, reasons[i].text);
    }
    return ilk__state_refused(op, ILK_EBROKEN,
                              "the round broke: the server has forgotten it");
}

static ilk__act queued(ilk__op *op, const ilk__reply *reply)
{
    ilk__waiter *waiter = op->subject;
    ilk_barrier *self = barrier_of(waiter);

    self->number = ilk__script_int(reply, 3);
    snprintf(self->arrived_as, sizeof self->arrived_as, "%s",
             ilk__waiter_token(waiter));
    return ilk__state_waits(op, reply);
}

static ilk__act answered(ilk__op *op, const ilk__reply *reply)
{
    ilk_barrier *self = barrier_of(op->subject);

    switch (ilk__script_code(reply)) {
    case ILK__CODE_STATE:
        self->index = ilk__script_int(reply, 0);
        return ilk__wait_got(op);
    case ILK__CODE_QUEUED: return queued(op, reply);
    case ILK__CODE_LOST: return broken(op, ilk__script_item(reply, 0));
    case ILK__CODE_GONE: return ilk__wait_left(op, 0, 0);
    case ILK__CODE_DIFFERS:
        (void)ilk__wait_got(op); /* the wait ends, without a result */
        return differs(op, self, reply);
    default: return ilk__state_waits(op, reply);
    }
}

/*
 * The deadline passed while a command had no reply, and that command may have
 * filled the round. So the wait sends "leave", whose reply says what became of
 * the arrival. The lane keeps the order of the two commands.
 */
static ilk__act failed(ilk__op *op, ilk_status status)
{
    ilk__waiter *waiter = op->subject;

    if (!op->retried || op->now < waiter->until
        || (status != ILK_ECONN && status != ILK_EUNKNOWN)
        || waiter->stage == ILK__STAGE_LEAVE)
        return ilk__wait_failed(op, status);
    waiter->stage = ILK__STAGE_LEAVE;
    waiter->end_status = ILK_ETIMEOUT; /* if the server replies */
    op->deadline = op->now + LEAVE_MS;
    op->persist_ms = 0;
    return ilk__op_ask(op);
}

static const ilk__op_type barrier_wait = {.name = "BARRIER_WAIT",
                                          .script = ILK__SCRIPT_BARRIER_WAIT,
                                          .ask = ask_wait,
                                          .reply = answered,
                                          .start = ilk__wait_start,
                                          .wake = ilk__wait_wake,
                                          .arrives = 1,
                                          .cancelled = ilk__wait_is_cancelled,
                                          .failed = failed,
                                          .sent = ilk__wait_sent},
                          barrier_refresh = ILK__STATE_REFRESH(BARRIER_REFRESH),
                          barrier_cancel = ILK__STATE_CANCEL(BARRIER_CANCEL);

static const char *const key_kinds[] = {"barrier", "barrier:arrived",
                                        "barrier:wait", "barrier:live",
                                        "barrier:rounds"};

const ilk__state_kind ilk__barrier_kind = {
    .noun = "barrier",
    .key_kinds = key_kinds,
    .key_count = sizeof key_kinds / sizeof *key_kinds,
    .wait = &barrier_wait,
    .refresh = &barrier_refresh,
    .cancel = &barrier_cancel,
    .asks_to_leave = 1,
};

static void arrived(ilk__request *request, ilk_status status)
{
    const ilk__state_request *self = (ilk__state_request *)request;

    if (status == ILK_OK)
        request->result.number = ((const ilk_barrier *)self->state)->index;
    ilk__state_end(request, status);
}

static void begin_wait(ilk__request *request)
{
    ilk__state_request *self = (ilk__state_request *)request;

    if (ilk__state_enter(self))
        ilk__state_await(self, arrived);
}

ilk_status ilk_barrier_wait(ilk_barrier *barrier, int64_t timeout_ms,
                            int64_t *out_index, ilk_error *err)
{
    ilk__state_request self = {.state = (ilk__state *)barrier,
                               .timeout_ms = timeout_ms};
    ilk_status st = ilk__state_run(&self, "barrier", begin_wait, err);

    if (st == ILK_OK && out_index)
        *out_index = self.request.result.number;
    return st;
}

ilk_status ilk_barrier_wait_start(ilk_op **out, ilk_barrier *barrier,
                                  int64_t timeout_ms, ilk_error *err)
{
    ilk__state_request self = {.state = (ilk__state *)barrier,
                               .timeout_ms = timeout_ms};

    return ilk__state_start(out, &self, sizeof self, "barrier", begin_wait,
                            err);
}

const char *ilk_barrier_name(const ilk_barrier *barrier, size_t *out_len)
{
    return ilk__key_name(barrier ? &barrier->state.keys[0] : NULL, key_kinds[0],
                         out_len);
}

ilk_status ilk_barrier_cancel(ilk_barrier *barrier, ilk_error *err)
{
    if (!barrier)
        return ilk__fail(err, ILK_EINVAL, "barrier must not be NULL");
    return ilk__state_cancel(&barrier->state, err);
}

/* ---- reset -------------------------------------------------------------- */

static void ask_reset(ilk__op *op)
{
    const ilk__change *change = op->subject;
    const ilk_barrier *self = (const ilk_barrier *)change->of.state;

    ilk__state_ask_change(op);
    ilk__command_add_int(&op->command, self->parties);
    ilk__command_add_int(&op->command, self->opts.keep_ms);
    ilk__command_add_str(&op->command, self->state.waiter.shared->label);
    ilk__command_add_int(&op->command, ILK_BARRIER_PARTIES_MAX);
}

static ilk__act was_reset(ilk__op *op, const ilk__reply *reply)
{
    ilk__change *change = op->subject;

    change->denied = (int)ilk__script_int(reply, 1);
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type barrier_reset = {.name = "barrier_reset",
                                           .script = ILK__SCRIPT_BARRIER_RESET,
                                           .ask = ask_reset,
                                           .reply = was_reset};

static void begin_reset(ilk__request *request)
{
    ilk__change *self = (ilk__change *)request;

    if (ilk__state_begin(&self->of))
        ilk__state_change(self, &barrier_reset, ilk__state_end);
}

ilk_status ilk_barrier_reset(ilk_barrier *barrier, ilk_error *err)
{
    ilk__change self = {.of.state = (ilk__state *)barrier};

    return ilk__state_run(&self.of, "barrier", begin_reset, err);
}

ilk_status ilk_barrier_reset_start(ilk_op **out, ilk_barrier *barrier,
                                   ilk_error *err)
{
    ilk__change self = {.of.state = (ilk__state *)barrier};

    return ilk__state_start(out, &self.of, sizeof self, "barrier", begin_reset,
                            err);
}

/* ---- inspecting --------------------------------------------------------- */

static void ask_read(ilk__op *op)
{
    const ilk__state_inspection *self = op->subject;
    const ilk_barrier *barrier = (const ilk_barrier *)self->of.state;

    ilk__script_begin(&op->command, op->type->script, barrier->state.keys, 1);
    ilk__command_add_int(&op->command, barrier->parties);
}

static ilk__act was_read(ilk__op *op, const ilk__reply *reply)
{
    ilk__state_inspection *self = op->subject;

    if (ilk__script_code(reply) == ILK__CODE_DIFFERS)
        return differs(op, (const ilk_barrier *)self->of.state, reply);
    self->now = ilk__script_int(reply, 0);
    self->agreed = ilk__script_int(reply, 1);
    return ilk__op_done(op, ILK_OK);
}

/* Opens a handle for inspecting only, which accepts any number of parties. */
static ilk_status open_any(ilk__state **out, ilk_client *client,
                           const void *name, size_t name_len, ilk_error *err)
{
    ilk_barrier *barrier;
    ilk_status st =
        ilk_barrier_open(&barrier, client, name, name_len, 1, NULL, err);

    if (st)
        return st;
    barrier->parties = 0;
    *out = &barrier->state;
    return ILK_OK;
}

static const ilk__op_type barrier_read = {.name = "barrier_read",
                                          .script = ILK__SCRIPT_BARRIER_READ,
                                          .reply_is_optional = 1,
                                          .ask = ask_read,
                                          .reply = was_read};
static const ilk__state_inspect_kind inspect_kind = {
    .noun = "barrier", .asks = &barrier_read, .open = open_any};

ilk_status ilk_barrier_waiting(ilk_barrier *barrier, int64_t *out_waiting,
                               ilk_error *err)
{
    if (barrier && !out_waiting)
        return ilk__fail(err, ILK_EINVAL, "out_waiting must not be NULL");
    return ilk__state_count(out_waiting, &inspect_kind, (ilk__state *)barrier,
                            err);
}

ilk_status ilk_barrier_waiting_start(ilk_op **out, ilk_barrier *barrier,
                                     ilk_error *err)
{
    return ilk__state_count_start(out, &inspect_kind, (ilk__state *)barrier,
                                  err);
}

ilk_status ilk_barrier_inspect(ilk_client *client, const void *name,
                               size_t name_len, int64_t *out_parties,
                               int64_t *out_waiting, ilk_error *err)
{
    if (!out_parties || !out_waiting)
        return ilk__fail(err, ILK_EINVAL, "%s must not be NULL",
                         out_parties ? "out_waiting" : "out_parties");
    return ilk__state_inspect(out_parties, out_waiting, &inspect_kind, client,
                              name, name_len, err);
}

ilk_status ilk_barrier_inspect_start(ilk_op **out, ilk_client *client,
                                     const void *name, size_t name_len,
                                     ilk_error *err)
{
    return ilk__state_inspect_start(out, &inspect_kind, client, name, name_len,
                                    err);
}

int64_t ilk_op_barrier_parties(ilk_op *op)
{
    const ilk__state_inspection *found = ilk__state_found(op, &inspect_kind);

    return found ? found->agreed : 0;
}

int64_t ilk_op_barrier_waiting(ilk_op *op)
{
    const ilk__state_inspection *found = ilk__state_found(op, &inspect_kind);

    return found ? found->now : 0;
}

/* SPDX-License-Identifier: MIT */
/* latch.c -- a latch: a number that is counted down, and waiters for 0. */
#include "latch.h"

#include "base/opts.h"
#include "handle/state_inspect.h"
#include "wait/lease.h"

#include <string.h>

enum { KEEP_DEFAULT_MS = 24 * 3600 * 1000 };

static ilk__act differs(ilk__op *op, const ilk_latch *self,
                        const ilk__reply *reply)
{
    return ilk__op_fail(
        op, ILK_EDIFFERS, "the latch counts down from %lld, not %lld",
        (long long)ilk__script_int(reply, 0), (long long)self->count);
}

/* ---- handles ------------------------------------------------------------ */

void ilk_latch_opts_init(ilk_latch_opts *opts, size_t size)
{
    if (!opts || size < sizeof opts->size)
        return;
    memset(opts, 0, size);
    opts->size = size;
}

static ilk_status check_opts(ilk_latch_opts *out, int64_t count,
                             const ilk_latch_opts *in, ilk_error *err)
{
    ilk_status st = ilk__opts_copy(out, sizeof *out, in, "ilk_latch_opts", err);

    if (st)
        return st;
    if (count < 1 || count > ILK_LATCH_COUNT_MAX)
        return ilk__fail(err, ILK_EINVAL, "count must be 1 to %d, got %lld",
                         ILK_LATCH_COUNT_MAX, (long long)count);
    if (out->keep_ms < 0 || out->keep_ms > ILK__LEASE_MAX_MS)
        return ilk__fail(err, ILK_EINVAL,
                         "keep_ms must be 1 to %lld (0: a day), got %lld",
                         (long long)ILK__LEASE_MAX_MS, (long long)out->keep_ms);
    if (out->keep_ms == 0)
        out->keep_ms = KEEP_DEFAULT_MS;
    return ILK_OK;
}

ilk_status ilk_latch_open(ilk_latch **out, ilk_client *client, const void *name,
                          size_t name_len, int64_t count,
                          const ilk_latch_opts *opts, ilk_error *err)
{
    ilk_latch_opts checked;
    ilk__state *state;
    ilk_latch *self;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__client_enter_for(client, ILK_OFFER_LATCH, err);
    if (st == ILK_OK)
        st = check_opts(&checked, count, opts, err);
    if (st)
        return st;
    st = ilk__state_new(&state, sizeof *self, client, &ilk__latch_kind, name,
                        name_len, err);
    if (st)
        return st;
    self = (ilk_latch *)state;
    self->opts = checked;
    self->count = count;
    *out = self;
    return ILK_OK;
}

void ilk_latch_free(ilk_latch *latch)
{
    if (!latch)
        return;
    ilk__state_free(&latch->state);
}

/* ---- waiting ------------------------------------------------------------ */

static void ask_wait(ilk__op *op)
{
    const ilk__waiter *waiter = op->subject;
    const ilk_latch *self = (const ilk_latch *)ilk__state_of(waiter);

    if (ilk__wait_ask_to_go(op))
        return;
    ilk__state_ask(op);
    ilk__command_add_str(&op->command, ilk__waiter_token(waiter));
    ilk__command_add_int(&op->command, self->count);
    ilk__command_add_int(&op->command, self->opts.keep_ms);
}

static ilk__act waited(ilk__op *op, const ilk__reply *reply)
{
    const ilk_latch *self = (const ilk_latch *)ilk__state_of(op->subject);

    switch (ilk__script_code(reply)) {
    case ILK__CODE_STATE: return ilk__wait_got(op);
    case ILK__CODE_DIFFERS:
        (void)ilk__wait_got(op); /* the wait ends, without a result */
        return differs(op, self, reply);
    default: return ilk__state_waits(op, reply);
    }
}

static const ilk__op_type latch_wait =
                              ILK__STATE_WAIT(LATCH_WAIT, ask_wait, waited),
                          latch_refresh = ILK__STATE_REFRESH(LATCH_REFRESH);

static const char *const key_kinds[] = {"latch", "latch:once", "latch:wait",
                                        "latch:live"};

const ilk__state_kind ilk__latch_kind = {
    .noun = "latch",
    .key_kinds = key_kinds,
    .key_count = sizeof key_kinds / sizeof *key_kinds,
    .wait = &latch_wait,
    .refresh = &latch_refresh,
    .cancel = &ilk__state_cancel_op,
};

static void begin_wait(ilk__request *request)
{
    ilk__state_request *self = (ilk__state_request *)request;

    if (ilk__state_enter(self))
        ilk__state_await(self, ilk__state_end);
}

ilk_status ilk_latch_wait(ilk_latch *latch, int64_t timeout_ms, ilk_error *err)
{
    ilk__state_request self = {.state = (ilk__state *)latch,
                               .timeout_ms = timeout_ms};

    return ilk__state_run(&self, "latch", begin_wait, err);
}

ilk_status ilk_latch_wait_start(ilk_op **out, ilk_latch *latch,
                                int64_t timeout_ms, ilk_error *err)
{
    ilk__state_request self = {.state = (ilk__state *)latch,
                               .timeout_ms = timeout_ms};

    return ilk__state_start(out, &self, sizeof self, "latch", begin_wait, err);
}

const char *ilk_latch_name(const ilk_latch *latch, size_t *out_len)
{
    return ilk__key_name(latch ? &latch->state.keys[0] : NULL, key_kinds[0],
                         out_len);
}

ilk_status ilk_latch_cancel(ilk_latch *latch, ilk_error *err)
{
    if (!latch)
        return ilk__fail(err, ILK_EINVAL, "latch must not be NULL");
    return ilk__state_cancel(&latch->state, err);
}

/* ---- counting ----------------------------------------------------------- */

typedef struct count_request {
    ilk__change change;
    const ilk__op_type *type;
    int64_t by;
    int64_t left;
} count_request;

static void ask_change(ilk__op *op)
{
    const count_request *self = op->subject;
    const ilk_latch *latch = (const ilk_latch *)self->change.of.state;

    ilk__state_ask_change(op);
    if (op->type->script == ILK__SCRIPT_LATCH_COUNT_DOWN)
        ilk__command_add_int(&op->command, self->by);
    ilk__command_add_int(&op->command, latch->count);
    ilk__command_add_int(&op->command, latch->opts.keep_ms);
    ilk__command_add_int(&op->command, ILK__STATE_NOTIFY);
}

static ilk__act changed(ilk__op *op, const ilk__reply *reply)
{
    count_request *self = op->subject;

    if (ilk__script_code(reply) == ILK__CODE_DIFFERS)
        return differs(op, (ilk_latch *)self->change.of.state, reply);
    self->left = ilk__script_int(reply, 0);
    ilk__state_changed(&self->change, reply, 1);
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type latch_count_down = {
    .name = "latch_count_down",
    .script = ILK__SCRIPT_LATCH_COUNT_DOWN,
    .ask = ask_change,
    .reply = changed,
};
static const ilk__op_type latch_reset = {.name = "latch_reset",
                                         .script = ILK__SCRIPT_LATCH_RESET,
                                         .ask = ask_change,
                                         .reply = changed};

static void was_changed(ilk__request *request, ilk_status status)
{
    const count_request *self = (count_request *)request;

    if (self->type == &latch_count_down
        && (status == ILK_OK || self->change.denied))
        request->result.number = self->left;
    ilk__state_end(request, status);
}

static void begin_change(ilk__request *request)
{
    count_request *self = (count_request *)request;

    if (self->by < 1 || self->by > ILK_LATCH_COUNT_MAX)
        ilk__request_fail(request, ILK_EINVAL, "n must be 1 to %d, got %lld",
                          ILK_LATCH_COUNT_MAX, (long long)self->by);
    else if (ilk__state_begin(&self->change.of))
        ilk__state_change(&self->change, self->type, was_changed);
}

static count_request count_down(ilk_latch *latch, int64_t n)
{
    return (count_request){.change.of.state = (ilk__state *)latch,
                           .type = &latch_count_down,
                           .by = n};
}

ilk_status ilk_latch_count_down(ilk_latch *latch, int64_t n, int64_t *out_left,
                                ilk_error *err)
{
    count_request self = count_down(latch, n);
    ilk_status st = ilk__state_run(&self.change.of, "latch", begin_change, err);

    if (out_left && (st == ILK_OK || self.change.denied))
        *out_left = self.left;
    return st;
}

ilk_status ilk_latch_count_down_start(ilk_op **out, ilk_latch *latch, int64_t n,
                                      ilk_error *err)
{
    count_request self = count_down(latch, n);

    return ilk__state_start(out, &self.change.of, sizeof self, "latch",
                            begin_change, err);
}

static count_request reset(ilk_latch *latch)
{
    return (count_request){
        .change.of.state = (ilk__state *)latch, .type = &latch_reset, .by = 1};
}

ilk_status ilk_latch_reset(ilk_latch *latch, ilk_error *err)
{
    count_request self = reset(latch);

    return ilk__state_run(&self.change.of, "latch", begin_change, err);
}

ilk_status ilk_latch_reset_start(ilk_op **out, ilk_latch *latch, ilk_error *err)
{
    count_request self = reset(latch);

    return ilk__state_start(out, &self.change.of, sizeof self, "latch",
                            begin_change, err);
}

/* ---- inspecting --------------------------------------------------------- */

static void ask_read(ilk__op *op)
{
    const ilk__state_inspection *self = op->subject;
    const ilk_latch *latch = (const ilk_latch *)self->of.state;

    ilk__script_begin(&op->command, op->type->script, latch->state.keys, 1);
    ilk__command_add_int(&op->command, latch->count);
}

static ilk__act was_read(ilk__op *op, const ilk__reply *reply)
{
    ilk__state_inspection *self = op->subject;

    if (ilk__script_code(reply) == ILK__CODE_DIFFERS)
        return differs(op, (const ilk_latch *)self->of.state, reply);
    self->now = ilk__script_int(reply, 0);
    self->agreed = ilk__script_int(reply, 1);
    return ilk__op_done(op, ILK_OK);
}

/* Opens a handle for inspecting only, which accepts any count on record. */
static ilk_status open_any(ilk__state **out, ilk_client *client,
                           const void *name, size_t name_len, ilk_error *err)
{
    ilk_latch *latch;
    ilk_status st =
        ilk_latch_open(&latch, client, name, name_len, 1, NULL, err);

    if (st)
        return st;
    latch->count = 0;
    *out = &latch->state;
    return ILK_OK;
}

static const ilk__op_type latch_read = {.name = "latch_read",
                                        .script = ILK__SCRIPT_LATCH_READ,
                                        .reply_is_optional = 1,
                                        .ask = ask_read,
                                        .reply = was_read};
static const ilk__state_inspect_kind inspect_kind = {
    .noun = "latch", .asks = &latch_read, .open = open_any};

ilk_status ilk_latch_count(ilk_latch *latch, int64_t *out_left, ilk_error *err)
{
    if (latch && !out_left)
        return ilk__fail(err, ILK_EINVAL, "out_left must not be NULL");
    return ilk__state_count(out_left, &inspect_kind, (ilk__state *)latch, err);
}

ilk_status ilk_latch_count_start(ilk_op **out, ilk_latch *latch, ilk_error *err)
{
    return ilk__state_count_start(out, &inspect_kind, (ilk__state *)latch, err);
}

ilk_status ilk_latch_inspect(ilk_client *client, const void *name,
                             size_t name_len, int64_t *out_count,
                             int64_t *out_left, ilk_error *err)
{
    if (!out_count || !out_left)
        return ilk__fail(err, ILK_EINVAL, "%s must not be NULL",
                         out_count ? "out_left" : "out_count");
    return ilk__state_inspect(out_count, out_left, &inspect_kind, client, name,
                              name_len, err);
}

ilk_status ilk_latch_inspect_start(ilk_op **out, ilk_client *client,
                                   const void *name, size_t name_len,
                                   ilk_error *err)
{
    return ilk__state_inspect_start(out, &inspect_kind, client, name, name_len,
                                    err);
}

int64_t ilk_op_latch_count(ilk_op *op)
{
    const ilk__state_inspection *found = ilk__state_found(op, &inspect_kind);

    return found ? found->agreed : 0;
}

int64_t ilk_op_latch_left(ilk_op *op)
{
    const ilk__state_inspection *found = ilk__state_found(op, &inspect_kind);

    return found ? found->now : 0;
}

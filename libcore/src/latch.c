/* SPDX-License-Identifier: MIT */
/* latch.c -- a number counted down: what to ask, what the answer means. */
#include "lease.h"
#include "opts.h"
#include "state_wait.h"

#include <interlock/latch.h>

#include <string.h>

enum { KEEP_DEFAULT_MS = 24 * 3600 * 1000 };

struct ilk_latch {
    ilk__state state;
    ilk_latch_opts opts;
    int64_t count;
};

static ilk__act differs(ilk__op *op, const ilk_latch *self,
                        const ilk__reply *reply)
{
    return ilk__op_fail(
        op, ILK_EDIFFERS, "the latch counts down from %lld, not %lld",
        (long long)ilk__script_int(reply, 0), (long long)self->count);
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
        (void)ilk__wait_got(op); /* out of line, with nothing */
        return differs(op, self, reply);
    default: return ilk__state_waits(op, reply);
    }
}

static const ilk__op_type latch_wait =
                              ILK__STATE_WAIT(LATCH_WAIT, ask_wait, waited),
                          latch_refresh = ILK__STATE_REFRESH(LATCH_REFRESH);

static const char *const key_kinds[] = {"latch", "latch:once", "latch:wait",
                                        "latch:live"};

static const ilk__state_kind kind = {
    .noun = "latch",
    .key_kinds = key_kinds,
    .key_count = sizeof key_kinds / sizeof *key_kinds,
    .wait = &latch_wait,
    .refresh = &latch_refresh,
    .cancel = &ilk__state_cancel_op,
};

ilk_status ilk_latch_wait(ilk_latch *latch, int64_t timeout_ms, ilk_error *err)
{
    ilk_status st;

    if (!latch)
        return ilk__fail(err, ILK_EINVAL, "latch must not be NULL");
    st = ilk__state_enter(&latch->state, err);
    if (st)
        return st;
    st = ilk__state_wait(&latch->state, timeout_ms, err);
    ilk__state_leave(&latch->state);
    return st;
}

ilk_status ilk_latch_cancel(ilk_latch *latch, ilk_error *err)
{
    if (!latch)
        return ilk__fail(err, ILK_EINVAL, "latch must not be NULL");
    return ilk__state_cancel(&latch->state, err);
}

/* ---- counting ----------------------------------------------------------- */

typedef struct counting {
    ilk__change change;
    const ilk_latch *latch;
    int64_t by;
    int64_t left, count;
} counting;

static void ask_change(ilk__op *op)
{
    const counting *self = op->subject;

    ilk__state_ask_change(op);
    if (op->type->script == ILK__SCRIPT_LATCH_COUNT_DOWN)
        ilk__command_add_int(&op->command, self->by);
    ilk__command_add_int(&op->command, self->latch->count);
    ilk__command_add_int(&op->command, self->latch->opts.keep_ms);
    ilk__command_add_int(&op->command, ILK__STATE_TELL);
}

static ilk__act changed(ilk__op *op, const ilk__reply *reply)
{
    counting *self = op->subject;

    if (ilk__script_code(reply) == ILK__CODE_DIFFERS)
        return differs(op, self->latch, reply);
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

ilk_status ilk_latch_count_down(ilk_latch *latch, int64_t n, int64_t *out_left,
                                ilk_error *err)
{
    counting question = {.latch = latch, .by = n};
    ilk_status st;

    if (!latch)
        return ilk__fail(err, ILK_EINVAL, "latch must not be NULL");
    if (n < 1 || n > ILK_LATCH_COUNT_MAX)
        return ilk__fail(err, ILK_EINVAL, "n must be 1 to %d, got %lld",
                         ILK_LATCH_COUNT_MAX, (long long)n);
    st = ilk__state_enter_verb(&latch->state, err);
    if (st)
        return st;
    question.change.state = &latch->state;
    st = ilk__state_change(&question.change, &latch_count_down, err);
    if (out_left && (st == ILK_OK || question.change.denied))
        *out_left = question.left;
    ilk__state_leave(&latch->state);
    return st;
}

ilk_status ilk_latch_reset(ilk_latch *latch, ilk_error *err)
{
    counting question = {.latch = latch};
    ilk_status st;

    if (!latch)
        return ilk__fail(err, ILK_EINVAL, "latch must not be NULL");
    st = ilk__state_enter_verb(&latch->state, err);
    if (st)
        return st;
    question.change.state = &latch->state;
    st = ilk__state_change(&question.change, &latch_reset, err);
    ilk__state_leave(&latch->state);
    return st;
}

/* ---- reading ------------------------------------------------------------ */

static void ask_read(ilk__op *op)
{
    const counting *self = op->subject;

    ilk__script_begin(&op->command, op->type->script, self->latch->state.keys,
                      1);
    ilk__command_add_int(&op->command, self->latch->count);
}

static ilk__act was_read(ilk__op *op, const ilk__reply *reply)
{
    counting *self = op->subject;

    if (ilk__script_code(reply) == ILK__CODE_DIFFERS)
        return differs(op, self->latch, reply);
    self->left = ilk__script_int(reply, 0);
    self->count = ilk__script_int(reply, 1);
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type latch_read = {.name = "latch_read",
                                        .script = ILK__SCRIPT_LATCH_READ,
                                        .reads = 1,
                                        .ask = ask_read,
                                        .reply = was_read};

static ilk_status read_latch(ilk_latch *latch, counting *question,
                             ilk_error *err)
{
    question->latch = latch;
    return ilk__state_read(&latch->state, &latch_read, question, err);
}

ilk_status ilk_latch_count(ilk_latch *latch, int64_t *out_left, ilk_error *err)
{
    counting question = {0};
    ilk_status st;

    if (!latch || !out_left)
        return ilk__fail(err, ILK_EINVAL, "%s must not be NULL",
                         latch ? "out_left" : "latch");
    st = read_latch(latch, &question, err);
    if (st == ILK_OK)
        *out_left = question.left;
    return st;
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
    st = ilk__client_enter(client, err);
    if (st == ILK_OK)
        st = check_opts(&checked, count, opts, err);
    if (st)
        return st;
    st = ilk__state_new(&state, sizeof *self, client, &kind, name, name_len,
                        err);
    if (st)
        return st;
    self = (ilk_latch *)state;
    self->opts = checked;
    self->count = count;
    *out = self;
    return ILK_OK;
}

/* A handle that asks for no number takes what is on record. */
ilk_status ilk_latch_inspect(ilk_client *client, const void *name,
                             size_t name_len, int64_t *out_count,
                             int64_t *out_left, ilk_error *err)
{
    counting question = {0};
    ilk_latch *self = NULL;
    ilk_status st;

    if (!out_count || !out_left)
        return ilk__fail(err, ILK_EINVAL, "%s must not be NULL",
                         out_count ? "out_left" : "out_count");
    st = ilk_latch_open(&self, client, name, name_len, 1, NULL, err);
    if (!self)
        return st;
    self->count = 0;
    st = read_latch(self, &question, err);
    if (st == ILK_OK) {
        *out_count = question.count;
        *out_left = question.left;
    }
    ilk_latch_free(self);
    return st;
}

void ilk_latch_free(ilk_latch *latch)
{
    if (!latch)
        return;
    ilk__state_free(&latch->state);
}

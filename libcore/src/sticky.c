/* SPDX-License-Identifier: MIT */
/* sticky.c -- an event that stays set: what to ask, what the answer means. */
#include "alloc.h"
#include "lease.h"
#include "opts.h"
#include "state_wait.h"

#include <interlock/sticky.h>

#include <string.h>

#define GENERATION_MAX (INT64_C(1) << 53)

enum { WAITS_FOR_SET = -1 };

struct ilk_sticky {
    ilk__state state;
    ilk_sticky_opts opts;
    int64_t known; /* of the wait under way: a generation, or WAITS_FOR_SET */

    /* as it was last seen */
    int64_t generation;
    int is_set;
    char *data; /* NULL: none */
    size_t data_len;
};

/* ---- what was seen ------------------------------------------------------ */

static int see(ilk_sticky *self, int64_t generation, int is_set,
               const void *data, size_t len)
{
    char *copy = len ? ilk__memdup(data, len) : NULL;

    if (len && !copy)
        return 0;
    ilk__free(self->data);
    self->data = copy;
    self->data_len = len;
    self->generation = generation;
    self->is_set = is_set;
    return 1;
}

/* STATE generation set ttl data */
static int see_reply(ilk_sticky *self, const ilk__reply *reply)
{
    const ilk__reply *data = ilk__script_item(reply, 3);

    return see(self, ilk__script_int(reply, 0), ilk__script_int(reply, 1) == 1,
               data->str, data->len);
}

/* ---- waiting ------------------------------------------------------------ */

static void ask_wait(ilk__op *op)
{
    const ilk__waiter *waiter = op->subject;
    const ilk_sticky *self = (const ilk_sticky *)ilk__state_of(waiter);

    if (ilk__wait_ask_to_go(op))
        return;
    ilk__state_ask(op);
    ilk__command_add_str(&op->command, ilk__waiter_token(waiter));
    if (self->known == WAITS_FOR_SET)
        ilk__command_add_str(&op->command, "");
    else
        ilk__command_add_int(&op->command, self->known);
}

static ilk__act waited(ilk__op *op, const ilk__reply *reply)
{
    ilk_sticky *self = (ilk_sticky *)ilk__state_of(op->subject);

    if (ilk__script_code(reply) != ILK__CODE_STATE)
        return ilk__state_waits(op, reply);
    if (!see_reply(self, reply))
        return ilk__state_refused(op, ILK_ENOMEM, "out of memory");
    return ilk__wait_got(op);
}

static const ilk__op_type sticky_wait =
    ILK__STATE_WAIT(STICKY_WAIT, ask_wait, waited);

static const char *const key_kinds[] = {"sticky", "sticky:once", "sticky:wait",
                                        "sticky:live"};

static const ilk__state_kind kind = {
    .noun = "event",
    .key_kinds = key_kinds,
    .key_count = sizeof key_kinds / sizeof *key_kinds,
    .wait = &sticky_wait,
    .refresh = &ilk__state_refresh_op,
    .cancel = &ilk__state_cancel_op,
};

/* A parked wait goes on, if it is the same one. */
static ilk_status wait(ilk_sticky *self, int64_t known, int64_t timeout_ms,
                       ilk_error *err)
{
    ilk_status st;

    if (!self)
        return ilk__fail(err, ILK_EINVAL, "sticky must not be NULL");
    st = known == self->known ? ilk__state_enter(&self->state, err)
                              : ilk__state_enter_verb(&self->state, err);
    if (st)
        return st;
    self->known = known;
    st = ilk__state_wait(&self->state, timeout_ms, err);
    ilk__state_leave(&self->state);
    return st;
}

ilk_status ilk_sticky_wait(ilk_sticky *sticky, int64_t timeout_ms,
                           ilk_error *err)
{
    return wait(sticky, WAITS_FOR_SET, timeout_ms, err);
}

ilk_status ilk_sticky_wait_change(ilk_sticky *sticky, int64_t generation,
                                  int64_t timeout_ms, ilk_error *err)
{
    if (generation < 0 || generation >= GENERATION_MAX)
        return ilk__fail(err, ILK_EINVAL,
                         "generation must be 0 to 2^53 - 1, got %lld",
                         (long long)generation);
    return wait(sticky, generation, timeout_ms, err);
}

ilk_status ilk_sticky_cancel(ilk_sticky *sticky, ilk_error *err)
{
    if (!sticky)
        return ilk__fail(err, ILK_EINVAL, "sticky must not be NULL");
    return ilk__state_cancel(&sticky->state, err);
}

/* ---- changing ----------------------------------------------------------- */

typedef struct changing {
    ilk__change change;
    const void *data;
    size_t data_len;
    int64_t ttl_ms;
    int64_t generation;
} changing;

static void ask_change(ilk__op *op)
{
    const changing *self = op->subject;

    ilk__state_ask_change(op);
    if (op->type->script == ILK__SCRIPT_STICKY_SET) {
        ilk__command_add(&op->command, self->data, self->data_len);
        ilk__command_add_int(&op->command, self->ttl_ms);
    }
    ilk__command_add_int(&op->command, ILK__STATE_TELL);
}

static ilk__act changed(ilk__op *op, const ilk__reply *reply)
{
    changing *self = op->subject;

    self->generation = ilk__script_int(reply, 0);
    ilk__state_changed(&self->change, reply, 1);
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type sticky_set = {.name = "sticky_set",
                                        .script = ILK__SCRIPT_STICKY_SET,
                                        .ask = ask_change,
                                        .reply = changed};
static const ilk__op_type sticky_clear = {.name = "sticky_clear",
                                          .script = ILK__SCRIPT_STICKY_CLEAR,
                                          .ask = ask_change,
                                          .reply = changed};

static ilk_status change(ilk_sticky *self, const ilk__op_type *type,
                         const void *data, size_t data_len, ilk_error *err)
{
    changing question = {.change.state = &self->state,
                         .data = data,
                         .data_len = data_len,
                         .ttl_ms = self->opts.ttl_ms};
    ilk_status st = ilk__state_enter_verb(&self->state, err);

    if (st)
        return st;
    st = ilk__state_change(&question.change, type, err);
    if ((st == ILK_OK || question.change.denied)
        && !see(self, question.generation, type == &sticky_set, data, data_len))
        st = ilk__fail(err, ILK_ENOMEM, "out of memory, after the change");
    ilk__state_leave(&self->state);
    return st;
}

ilk_status ilk_sticky_set(ilk_sticky *sticky, const void *data, size_t data_len,
                          ilk_error *err)
{
    if (!sticky)
        return ilk__fail(err, ILK_EINVAL, "sticky must not be NULL");
    if (!data && data_len)
        return ilk__fail(err, ILK_EINVAL, "data must not be NULL");
    if (data_len > ILK_STICKY_DATA_MAX)
        return ilk__fail(err, ILK_EINVAL,
                         "data must have at most %d bytes, got %zu",
                         ILK_STICKY_DATA_MAX, data_len);
    return change(sticky, &sticky_set, data ? data : "", data_len, err);
}

ilk_status ilk_sticky_clear(ilk_sticky *sticky, ilk_error *err)
{
    if (!sticky)
        return ilk__fail(err, ILK_EINVAL, "sticky must not be NULL");
    return change(sticky, &sticky_clear, "", 0, err);
}

/* ---- reading ------------------------------------------------------------ */

static void ask_read(ilk__op *op)
{
    const ilk_sticky *self = op->subject;

    ilk__script_begin(&op->command, op->type->script, self->state.keys, 1);
}

static ilk__act was_read(ilk__op *op, const ilk__reply *reply)
{
    if (!see_reply(op->subject, reply))
        return ilk__op_fail(op, ILK_ENOMEM, "out of memory");
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type sticky_read = {.name = "sticky_read",
                                         .script = ILK__SCRIPT_STICKY_READ,
                                         .reads = 1,
                                         .ask = ask_read,
                                         .reply = was_read};

ilk_status ilk_sticky_read(ilk_sticky *sticky, ilk_error *err)
{
    if (!sticky)
        return ilk__fail(err, ILK_EINVAL, "sticky must not be NULL");
    return ilk__state_read(&sticky->state, &sticky_read, sticky, err);
}

/* ---- handles ------------------------------------------------------------ */

void ilk_sticky_opts_init(ilk_sticky_opts *opts, size_t size)
{
    if (!opts || size < sizeof opts->size)
        return;
    memset(opts, 0, size);
    opts->size = size;
}

static ilk_status check_opts(ilk_sticky_opts *out, const ilk_sticky_opts *in,
                             ilk_error *err)
{
    ilk_status st =
        ilk__opts_copy(out, sizeof *out, in, "ilk_sticky_opts", err);

    if (st == ILK_OK && (out->ttl_ms < 0 || out->ttl_ms > ILK__LEASE_MAX_MS))
        st = ilk__fail(err, ILK_EINVAL,
                       "ttl_ms must be 1 to %lld (0: no end), got %lld",
                       (long long)ILK__LEASE_MAX_MS, (long long)out->ttl_ms);
    return st;
}

ilk_status ilk_sticky_open(ilk_sticky **out, ilk_client *client,
                           const void *name, size_t name_len,
                           const ilk_sticky_opts *opts, ilk_error *err)
{
    ilk_sticky_opts checked;
    ilk__state *state;
    ilk_sticky *self;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__client_enter(client, err);
    if (st == ILK_OK)
        st = check_opts(&checked, opts, err);
    if (st)
        return st;
    st = ilk__state_new(&state, sizeof *self, client, &kind, name, name_len,
                        err);
    if (st)
        return st;
    self = (ilk_sticky *)state;
    self->opts = checked;
    *out = self;
    return ILK_OK;
}

int32_t ilk_sticky_is_set(const ilk_sticky *sticky)
{
    return sticky ? sticky->is_set : 0;
}

int64_t ilk_sticky_generation(const ilk_sticky *sticky)
{
    return sticky ? sticky->generation : 0;
}

const char *ilk_sticky_data(const ilk_sticky *sticky, size_t *out_len)
{
    int has = sticky && sticky->data;

    if (out_len)
        *out_len = has ? sticky->data_len : 0;
    return has ? sticky->data : "";
}

void ilk_sticky_free(ilk_sticky *sticky)
{
    if (!sticky)
        return;
    ilk__free(sticky->data);
    ilk__state_free(&sticky->state);
}

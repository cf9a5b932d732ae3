/* SPDX-License-Identifier: MIT */
/*
 * register.c -- a register: one value, and a version that no other value ever
 * has.
 *
 * The handle keeps what its last reply showed, a refusal's included, so that a
 * caller whose compare-and-set was refused computes the next value without
 * another round trip. The functions of handle/state.h wait and wake waiters.
 */
#include "register.h"

#include "base/alloc.h"
#include "wait/lease.h"

#include <string.h>

/* How long the server remembers a change (scripts/include/done_requests.lua). */
enum { MEMORY_MS = 60000 };

/* ---- handles ------------------------------------------------------------ */

ilk_status ilk_register_open(ilk_register **out, ilk_client *client,
                             const void *name, size_t name_len, ilk_error *err)
{
    ilk__state *state;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__client_enter_for(client, ILK_OFFER_REGISTER, err);
    if (st == ILK_OK)
        st = ilk__state_new(&state, sizeof **out, client, &ilk__register_kind,
                            name, name_len, err);
    if (st == ILK_OK)
        *out = (ilk_register *)state;
    return st;
}

int64_t ilk_register_version(const ilk_register *handle)
{
    return handle ? handle->version : 0;
}

const char *ilk_register_value(const ilk_register *handle, size_t *out_len)
{
    int has = handle && handle->value;

    if (out_len)
        *out_len = has ? handle->value_len : 0;
    return has ? handle->value : NULL;
}

void ilk_register_free(ilk_register *handle)
{
    if (!handle)
        return;
    ilk__state_forget(&handle->state);
    ilk__free(handle->value);
    ilk__state_free(&handle->state);
}

/* ---- the state of the last reply ---------------------------------------- */

/* The handle owns `value` from then on; NULL: none. */
static void see(ilk_register *self, int64_t version, char *value, size_t len)
{
    ilk__free(self->value);
    self->value = value;
    self->value_len = len;
    self->version = version;
}

/* version has_value value: the first elements of several replies. 0: out of
 * memory, and the handle is as before. */
static int see_reply(ilk_register *self, const ilk__reply *reply)
{
    const ilk__reply *value = ilk__script_item(reply, 2);
    int has_value = ilk__script_int(reply, 1) == 1;
    char *copy = has_value ? ilk__memdup(value->str, value->len) : NULL;

    if (has_value && !copy)
        return 0;
    see(self, ilk__script_int(reply, 0), copy, has_value ? value->len : 0);
    return 1;
}

static ilk_status check_version(int64_t version, ilk_error *err)
{
    if (version >= 0 && version < ILK__SCRIPT_INT_MAX)
        return ILK_OK;
    return ilk__fail(err, ILK_EINVAL, "version must be 0 to 2^53 - 1, got %lld",
                     (long long)version);
}

/* ---- waiting ------------------------------------------------------------ */

static void ask_wait(ilk__op *op)
{
    const ilk__waiter *waiter = op->subject;
    const ilk_register *self = (const ilk_register *)ilk__state_of(waiter);

    if (ilk__wait_ask_to_go(op))
        return;
    ilk__state_ask(op);
    ilk__command_add_str(&op->command, ilk__waiter_token(waiter));
    ilk__command_add_int(&op->command, self->known);
}

static ilk__act waited(ilk__op *op, const ilk__reply *reply)
{
    ilk_register *self = (ilk_register *)ilk__state_of(op->subject);

    if (ilk__script_code(reply) != ILK__CODE_STATE)
        return ilk__state_waits(op, reply);
    if (!see_reply(self, reply))
        return ilk__state_refused(op, ILK_ENOMEM, "out of memory");
    return ilk__wait_got(op);
}

static const ilk__op_type register_wait =
    ILK__STATE_WAIT(REGISTER_WAIT, ask_wait, waited);

static const char *const key_kinds[] = {"register", "register:once",
                                        "register:wait", "register:live"};

const ilk__state_kind ilk__register_kind = {
    .noun = "register",
    .key_kinds = key_kinds,
    .key_count = sizeof key_kinds / sizeof *key_kinds,
    .wait = &register_wait,
    .refresh = &ilk__state_refresh_op,
    .cancel = &ilk__state_cancel_op,
};

typedef struct wait_request {
    ilk__state_request of;
    int64_t known;
} wait_request;

/* A suspended wait goes on if it waits for the same change. */
static void begin_wait(ilk__request *request)
{
    wait_request *self = (wait_request *)request;
    ilk_register *handle = (ilk_register *)self->of.state;

    if (!(self->known == handle->known ? ilk__state_enter(&self->of)
                                       : ilk__state_begin(&self->of)))
        return;
    handle->known = self->known;
    ilk__state_await(&self->of, ilk__state_end);
}

static wait_request wait_for(ilk_register *handle, int64_t version,
                             int64_t timeout_ms)
{
    return (wait_request){
        .of = {.state = (ilk__state *)handle, .timeout_ms = timeout_ms},
        .known = version};
}

ilk_status ilk_register_wait(ilk_register *handle, int64_t version,
                             int64_t timeout_ms, ilk_error *err)
{
    wait_request self = wait_for(handle, version, timeout_ms);
    ilk_status st = check_version(version, err);

    if (st)
        return st;
    return ilk__state_run(&self.of, "register", begin_wait, err);
}

ilk_status ilk_register_wait_start(ilk_op **out, ilk_register *handle,
                                   int64_t version, int64_t timeout_ms,
                                   ilk_error *err)
{
    wait_request self = wait_for(handle, version, timeout_ms);
    ilk_status st = check_version(version, err);

    if (st)
        return ilk__started_none(out, st);
    return ilk__state_start(out, &self.of, sizeof self, "register", begin_wait,
                            err);
}

const char *ilk_register_name(const ilk_register *handle, size_t *out_len)
{
    return ilk__key_name(handle ? &handle->state.keys[0] : NULL, key_kinds[0],
                         out_len);
}

ilk_status ilk_register_cancel(ilk_register *handle, ilk_error *err)
{
    if (!handle)
        return ilk__fail(err, ILK_EINVAL, "register must not be NULL");
    return ilk__state_cancel(&handle->state, err);
}

/* ---- changing ----------------------------------------------------------- */

typedef struct change_request {
    ilk__change change;
    const ilk__op_type *type;
    int64_t known;     /* the version to write over, or ILK_REGISTER_ANY */
    const void *given; /* the caller's: valid until begin_change() returns */
    char *value;       /* a copy, because a retry sends it again */
    size_t value_len;
    int64_t asked_at; /* when its first copy was sent */
    int64_t version;  /* of the value that was written; 0: none was */
} change_request;

static void ask_change(ilk__op *op)
{
    change_request *self = op->subject;

    ilk__state_ask_change(op);
    if (self->known == ILK_REGISTER_ANY)
        ilk__command_add_str(&op->command, "");
    else
        ilk__command_add_int(&op->command, self->known);
    if (op->type->script == ILK__SCRIPT_REGISTER_SET)
        ilk__command_add(&op->command, self->value, self->value_len);
    ilk__command_add_int(&op->command, ILK__STATE_NOTIFY);
    self->asked_at = op->now;
}

/* Whether an earlier copy may have been executed without a trace. `forgotten`: 1 where
 * the server may have forgotten a copy, 2 where a backend has also sent one before. */
static int is_in_doubt(const ilk__op *op, int64_t forgotten)
{
    const change_request *self = op->subject;

    return forgotten == 2
           || (op->retried
               && (forgotten == 1 || op->now - self->asked_at >= MEMORY_MS));
}

static ilk__act was_refused(ilk__op *op, const ilk__reply *reply)
{
    const change_request *self = op->subject;
    ilk_register *handle = (ilk_register *)self->change.of.state;

    if (!see_reply(handle, reply))
        return ilk__op_fail(op, ILK_ENOMEM, "out of memory");
    if (is_in_doubt(op, ilk__script_int(reply, 3)))
        return ilk__op_fail(op, ILK_EUNKNOWN,
                            "changed before version %lld, or refused: the "
                            "first reply is missing",
                            (long long)handle->version);
    if (!handle->value && self->type->script == ILK__SCRIPT_REGISTER_DELETE)
        return ilk__op_fail(op, ILK_ESTALE, "there is no value");
    if (self->known == ILK_REGISTER_ANY)
        return ilk__op_fail(op, ILK_EREPLY, "%s: refused for no version",
                            self->type->name);
    return ilk__op_fail(op, ILK_ESTALE, "version %lld is on record, not %lld",
                        (long long)handle->version, (long long)self->known);
}

static ilk__act changed(ilk__op *op, const ilk__reply *reply)
{
    change_request *self = op->subject;
    int64_t how;

    if (ilk__script_code(reply) == ILK__CODE_STALE)
        return was_refused(op, reply);
    self->version = ilk__script_int(reply, 0);
    if (!ilk__fence_is_valid(self->version) || self->version <= self->known)
        return ilk__op_fail(op, ILK_EREPLY, "%s: version %lld",
                            self->type->name, (long long)self->version);
    how = ilk__script_int(reply, 1);
    if (how != 1 && is_in_doubt(op, -how))
        return ilk__op_fail(op, ILK_EUNKNOWN,
                            "changed to version %lld, perhaps for the second "
                            "time: the first reply is missing",
                            (long long)self->version);
    ilk__state_changed(&self->change, reply, 2);
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type register_set = {.name = "register_set",
                                          .script = ILK__SCRIPT_REGISTER_SET,
                                          .ask = ask_change,
                                          .reply = changed};
static const ilk__op_type register_delete = {
    .name = "register_delete",
    .script = ILK__SCRIPT_REGISTER_DELETE,
    .ask = ask_change,
    .reply = changed,
};

static ilk_status check_change(const change_request *self, ilk_error *err)
{
    if (!self->given && self->value_len)
        return ilk__fail(err, ILK_EINVAL, "value must not be NULL");
    if (self->value_len > ILK_REGISTER_VALUE_MAX)
        return ilk__fail(err, ILK_EINVAL,
                         "value must have at most %d bytes, got %zu",
                         ILK_REGISTER_VALUE_MAX, self->value_len);
    return ILK_OK;
}

/* The handle has seen the change that it made, also when waiters could not be
 * woken (denied). */
static void was_changed(ilk__request *request, ilk_status status)
{
    change_request *self = (change_request *)request;

    if (status == ILK_OK || self->change.denied)
        see((ilk_register *)self->change.of.state, self->version, self->value,
            self->value_len);
    else
        ilk__free(self->value);
    ilk__state_end(request, status);
}

static void begin_change(ilk__request *request)
{
    change_request *self = (change_request *)request;
    ilk_status st = check_change(self, request->err);

    if (st) {
        ilk__request_end(request, st);
        return;
    }
    if (!ilk__state_begin(&self->change.of))
        return;
    if (self->type == &register_set)
        self->value =
            ilk__memdup(self->value_len ? self->given : "", self->value_len);
    if (self->type == &register_set && !self->value)
        ilk__state_end(request,
                       ilk__fail(request->err, ILK_ENOMEM, "out of memory"));
    else
        ilk__state_change(&self->change, self->type, was_changed);
}

static change_request setting(ilk_register *handle, int64_t known,
                              const void *value, size_t value_len)
{
    return (change_request){.change.of.state = (ilk__state *)handle,
                            .type = &register_set,
                            .known = known,
                            .given = value,
                            .value_len = value_len};
}

ilk_status ilk_register_set(ilk_register *handle, const void *value,
                            size_t value_len, ilk_error *err)
{
    change_request self = setting(handle, ILK_REGISTER_ANY, value, value_len);

    return ilk__state_run(&self.change.of, "register", begin_change, err);
}

ilk_status ilk_register_set_start(ilk_op **out, ilk_register *handle,
                                  const void *value, size_t value_len,
                                  ilk_error *err)
{
    change_request self = setting(handle, ILK_REGISTER_ANY, value, value_len);

    return ilk__state_start(out, &self.change.of, sizeof self, "register",
                            begin_change, err);
}

ilk_status ilk_register_cas(ilk_register *handle, int64_t version,
                            const void *value, size_t value_len, ilk_error *err)
{
    change_request self = setting(handle, version, value, value_len);
    ilk_status st = check_version(version, err);

    if (st)
        return st;
    return ilk__state_run(&self.change.of, "register", begin_change, err);
}

ilk_status ilk_register_cas_start(ilk_op **out, ilk_register *handle,
                                  int64_t version, const void *value,
                                  size_t value_len, ilk_error *err)
{
    change_request self = setting(handle, version, value, value_len);
    ilk_status st = check_version(version, err);

    if (st)
        return ilk__started_none(out, st);
    return ilk__state_start(out, &self.change.of, sizeof self, "register",
                            begin_change, err);
}

static change_request deleting(ilk_register *handle, int64_t known)
{
    return (change_request){.change.of.state = (ilk__state *)handle,
                            .type = &register_delete,
                            .known = known};
}

ilk_status ilk_register_delete(ilk_register *handle, int64_t version,
                               ilk_error *err)
{
    change_request self = deleting(handle, version);
    ilk_status st =
        version == ILK_REGISTER_ANY ? ILK_OK : check_version(version, err);

    if (st)
        return st;
    return ilk__state_run(&self.change.of, "register", begin_change, err);
}

ilk_status ilk_register_delete_start(ilk_op **out, ilk_register *handle,
                                     int64_t version, ilk_error *err)
{
    change_request self = deleting(handle, version);
    ilk_status st =
        version == ILK_REGISTER_ANY ? ILK_OK : check_version(version, err);

    if (st)
        return ilk__started_none(out, st);
    return ilk__state_start(out, &self.change.of, sizeof self, "register",
                            begin_change, err);
}

/* ---- reading ------------------------------------------------------------ */

static void ask_get(ilk__op *op)
{
    const ilk_register *self = op->subject;

    ilk__script_begin(&op->command, op->type->script, self->state.keys, 1);
}

static ilk__act was_read(ilk__op *op, const ilk__reply *reply)
{
    if (!see_reply(op->subject, reply))
        return ilk__op_fail(op, ILK_ENOMEM, "out of memory");
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type register_get = {.name = "register_get",
                                          .script = ILK__SCRIPT_REGISTER_GET,
                                          .reply_is_optional = 1,
                                          .ask = ask_get,
                                          .reply = was_read};

static void begin_get(ilk__request *request)
{
    ilk__state_request *self = (ilk__state_request *)request;

    if (ilk__state_begin(self))
        ilk__request_ask(request, &register_get, self->state,
                         ilk__request_patience(request), ilk__state_end);
}

ilk_status ilk_register_get(ilk_register *handle, ilk_error *err)
{
    ilk__state_request self = {.state = (ilk__state *)handle};

    return ilk__state_run(&self, "register", begin_get, err);
}

ilk_status ilk_register_get_start(ilk_op **out, ilk_register *handle,
                                  ilk_error *err)
{
    ilk__state_request self = {.state = (ilk__state *)handle};

    return ilk__state_start(out, &self, sizeof self, "register", begin_get,
                            err);
}

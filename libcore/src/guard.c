/* SPDX-License-Identifier: MIT */
/* guard.c -- a value in Redis that refuses writes with an older fence. */
#include "alloc.h"
#include "keys.h"
#include "run.h"

#include <interlock/guard.h>

#include <string.h>

enum { VALUE_MAX = 1024 * 1024 };
#define FENCE_MAX (INT64_C(1) << 53)

struct ilk_value {
    char *data; /* NULL: there is none */
    size_t len;
    int64_t fence;
};

typedef struct guarding {
    ilk__bytes keys[2]; /* of the value, and of its fence */
    int64_t fence;
    const void *value;
    size_t value_len;
    ilk_value *found;
} guarding;

/* ---- asking ------------------------------------------------------------- */

static void ask(ilk__op *op)
{
    const guarding *self = op->subject;

    ilk__script_begin(&op->command, op->type->script, self->keys, 2);
    if (op->type->script != ILK__SCRIPT_GUARD_REMOVE)
        ilk__command_add_int(&op->command, self->fence);
    if (op->type->script == ILK__SCRIPT_GUARD_SET)
        ilk__command_add(&op->command, self->value, self->value_len);
}

static ilk__act was_stale(ilk__op *op, const ilk__reply *reply)
{
    return ilk__op_fail(op, ILK_ESTALE, "a greater fence is on record: %lld",
                        (long long)ilk__script_int(reply, 0));
}

static ilk__act was_set(ilk__op *op, const ilk__reply *reply)
{
    if (ilk__script_code(reply) == ILK__CODE_WRITTEN)
        return ilk__op_done(op, ILK_OK);
    if (!op->retried)
        return was_stale(op, reply);
    return ilk__op_fail(op, ILK_EUNKNOWN,
                        "written before the greater fence %lld, or refused: "
                        "the first reply is missing",
                        (long long)ilk__script_int(reply, 0));
}

static ilk__act was_found(ilk__op *op, const ilk__reply *reply)
{
    guarding *self = op->subject;
    ilk_value *value = self->found;
    const ilk__reply *data;

    if (ilk__script_code(reply) == ILK__CODE_STALE)
        return was_stale(op, reply);
    value->fence = ilk__script_int(reply, 0);
    if (ilk__script_code(reply) != ILK__CODE_HELD)
        return ilk__op_done(op, ILK_OK);
    data = ilk__script_item(reply, 1);
    value->data = ilk__memdup(data->str, data->len);
    value->len = data->len;
    if (!value->data)
        return ilk__op_fail(op, ILK_ENOMEM, "out of memory");
    return ilk__op_done(op, ILK_OK);
}

static ilk__act was_removed(ilk__op *op, const ilk__reply *reply)
{
    (void)reply;
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type guard_set = {.name = "guard_set",
                                       .script = ILK__SCRIPT_GUARD_SET,
                                       .ask = ask,
                                       .reply = was_set};
/* Silence leaves open whether a fence is on record. Nobody has to know: it
   only refuses those who are late in any case. */
static const ilk__op_type guard_get = {.name = "guard_get",
                                       .script = ILK__SCRIPT_GUARD_GET,
                                       .reads = 1,
                                       .ask = ask,
                                       .reply = was_found};
static const ilk__op_type guard_remove = {.name = "guard_remove",
                                          .script = ILK__SCRIPT_GUARD_REMOVE,
                                          .ask = ask,
                                          .reply = was_removed};

static ilk_status run(ilk_client *client, const ilk__op_type *type,
                      guarding *self, const void *key, size_t key_len,
                      ilk_error *err)
{
    ilk_status st = ilk__client_enter(client, err);

    if (st == ILK_OK)
        st = ilk__name_check(key, key_len, "key", err);
    if (st)
        return st;
    self->keys[0].data = ilk__memdup(key, key_len);
    self->keys[0].len = key_len;
    if (!self->keys[0].data)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    st = ilk__side_key(&self->keys[1], "guard", key, key_len, err);
    if (st == ILK_OK)
        st = ilk__ask(client, type, self, client->opts.reply_timeout_ms, err);
    ilk__free(self->keys[0].data);
    ilk__free(self->keys[1].data);
    return st;
}

static ilk_status check_fence(int64_t fence, ilk_error *err)
{
    if (fence >= 0 && fence < FENCE_MAX)
        return ILK_OK;
    return ilk__fail(err, ILK_EINVAL, "fence must be 0 to 2^53 - 1, got %lld",
                     (long long)fence);
}

/* ---- verbs -------------------------------------------------------------- */

ilk_status ilk_guard_set(ilk_client *client, const void *key, size_t key_len,
                         int64_t fence, const void *value, size_t value_len,
                         ilk_error *err)
{
    guarding self = {
        .fence = fence, .value = value ? value : "", .value_len = value_len};
    ilk_status st = check_fence(fence, err);

    if (st)
        return st;
    if (value_len > VALUE_MAX)
        return ilk__fail(err, ILK_EINVAL,
                         "value must have at most %d bytes, got %zu", VALUE_MAX,
                         value_len);
    if (!value && value_len)
        return ilk__fail(err, ILK_EINVAL, "value must not be NULL");
    return run(client, &guard_set, &self, key, key_len, err);
}

ilk_status ilk_guard_get(ilk_value **out, ilk_client *client, const void *key,
                         size_t key_len, int64_t fence, ilk_error *err)
{
    guarding self = {.fence = fence};
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = check_fence(fence, err);
    if (st)
        return st;
    self.found = ilk__calloc(1, sizeof *self.found);
    if (!self.found)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    st = run(client, &guard_get, &self, key, key_len, err);
    if (st)
        ilk_value_free(self.found);
    else
        *out = self.found;
    return st;
}

ilk_status ilk_guard_remove(ilk_client *client, const void *key, size_t key_len,
                            ilk_error *err)
{
    guarding self = {0};

    return run(client, &guard_remove, &self, key, key_len, err);
}

const char *ilk_value_data(const ilk_value *value, size_t *out_len)
{
    if (out_len)
        *out_len = value ? value->len : 0;
    return value ? value->data : NULL;
}

int64_t ilk_value_fence(const ilk_value *value)
{
    return value ? value->fence : 0;
}

void ilk_value_free(ilk_value *value)
{
    if (!value)
        return;
    ilk__free(value->data);
    ilk__free(value);
}

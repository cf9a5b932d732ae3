/* SPDX-License-Identifier: MIT */
/* guard.c -- a guarded value: the server refuses writes under a smaller fence
 * than the greatest that has written or read it. */
#include "base/alloc.h"
#include "client/client.h"
#include "client/loop.h"
#include "client/run.h"

#include <interlock/guard.h>

#include <string.h>

enum { VALUE_MAX = 1024 * 1024, GUARD_KEYS = 2 };

struct ilk_value {
    char *data; /* NULL: there is none */
    size_t len;
    int64_t fence;
};

typedef struct guard_request {
    ilk__request request;
    const ilk__op_type *type;
    const void *key, *value; /* the caller's: valid until it has begun */
    size_t key_len, value_len;
    int64_t fence;
    ilk__bytes keys[GUARD_KEYS]; /* of the value, and of its fence */
    char *written;
    ilk_value *found;
} guard_request;

/* ---- asking ------------------------------------------------------------- */

static void ask(ilk__op *op)
{
    const guard_request *self = op->subject;

    ilk__script_begin(&op->command, op->type->script, self->keys, GUARD_KEYS);
    if (op->type->script != ILK__SCRIPT_GUARD_REMOVE)
        ilk__command_add_int(&op->command, self->fence);
    if (op->type->script == ILK__SCRIPT_GUARD_SET)
        ilk__command_add(&op->command, self->written, self->value_len);
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
    guard_request *self = op->subject;
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
/* `reads`, although it may raise the fence: a missing reply can be ignored,
 * because a raised fence refuses only writers that are late anyway. */
static const ilk__op_type guard_get = {.name = "guard_get",
                                       .script = ILK__SCRIPT_GUARD_GET,
                                       .reply_is_optional = 1,
                                       .ask = ask,
                                       .reply = was_found};
static const ilk__op_type guard_remove = {.name = "guard_remove",
                                          .script = ILK__SCRIPT_GUARD_REMOVE,
                                          .ask = ask,
                                          .reply = was_removed};

/* ---- the request -------------------------------------------------------- */

static void dispose(void *value)
{
    ilk_value_free(value);
}

static void end(guard_request *self, ilk_status status)
{
    ilk__keys_free(self->keys, GUARD_KEYS);
    ilk__free(self->written);
    if (status)
        ilk_value_free(self->found);
    else
        ilk__request_answer(&self->request, self->found, dispose);
    ilk__request_end(&self->request, status);
}

static void answered(ilk__request *request, ilk_status status)
{
    end((guard_request *)request, status);
}

static ilk_status check_fence(int64_t fence, ilk_error *err)
{
    if (fence >= 0 && fence < ILK__SCRIPT_INT_MAX)
        return ILK_OK;
    return ilk__fail(err, ILK_EINVAL, "fence must be 0 to 2^53 - 1, got %lld",
                     (long long)fence);
}

static ilk_status check(const guard_request *self, ilk_error *err)
{
    ilk_status st = check_fence(self->fence, err);

    if (st == ILK_OK && self->value_len > VALUE_MAX)
        st = ilk__fail(err, ILK_EINVAL,
                       "value must have at most %d bytes, got %zu", VALUE_MAX,
                       self->value_len);
    if (st == ILK_OK && !self->value && self->value_len)
        st = ilk__fail(err, ILK_EINVAL, "value must not be NULL");
    if (st == ILK_OK)
        st = ilk__client_enter_for(self->request.client, ILK_OFFER_GUARD, err);
    if (st == ILK_OK)
        st = ilk__name_check(self->key, self->key_len, "key", err);
    return st ? st
              : ilk__client_accept_name(self->request.client, self->key,
                                        self->key_len, err);
}

static int make_room(guard_request *self)
{
    if (self->type == &guard_set) {
        self->written =
            ilk__memdup(self->value_len ? self->value : "", self->value_len);
        return self->written != NULL;
    }
    if (self->type == &guard_get) {
        self->found = ilk__calloc(1, sizeof *self->found);
        return self->found != NULL;
    }
    return 1;
}

static ilk_status prepare(guard_request *self, ilk_error *err)
{
    static const char *const kinds[GUARD_KEYS] = {NULL, "guard"};
    ilk_status st = check(self, err);

    if (st == ILK_OK)
        st = ilk__keys_make(self->keys, kinds, GUARD_KEYS, self->key,
                            self->key_len, err);
    if (st == ILK_OK && !make_room(self))
        st = ilk__fail(err, ILK_ENOMEM, "out of memory");
    return st;
}

static void begin(ilk__request *request)
{
    guard_request *self = (guard_request *)request;
    ilk_status st = prepare(self, request->err);

    if (st)
        end(self, st);
    else
        ilk__request_ask(request, self->type, self,
                         ilk__request_patience(request), answered);
}

/* ---- requests ----------------------------------------------------------- */

static guard_request setting(const void *key, size_t key_len, int64_t fence,
                             const void *value, size_t value_len)
{
    return (guard_request){.type = &guard_set,
                           .key = key,
                           .key_len = key_len,
                           .fence = fence,
                           .value = value,
                           .value_len = value_len};
}

ilk_status ilk_guard_set(ilk_client *client, const void *key, size_t key_len,
                         int64_t fence, const void *value, size_t value_len,
                         ilk_error *err)
{
    guard_request self = setting(key, key_len, fence, value, value_len);

    return ilk__request_run(&self.request, client, begin, err);
}

ilk_status ilk_guard_set_start(ilk_op **out, ilk_client *client,
                               const void *key, size_t key_len, int64_t fence,
                               const void *value, size_t value_len,
                               ilk_error *err)
{
    guard_request self = setting(key, key_len, fence, value, value_len);

    return ilk__request_start(out, &self.request, sizeof self, client, begin,
                              err);
}

ilk_status ilk_guard_get(ilk_value **out, ilk_client *client, const void *key,
                         size_t key_len, int64_t fence, ilk_error *err)
{
    guard_request self = {
        .type = &guard_get, .key = key, .key_len = key_len, .fence = fence};
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    st = ilk__request_run(&self.request, client, begin, err);
    *out = self.request.result.object;
    return st;
}

ilk_status ilk_guard_get_start(ilk_op **out, ilk_client *client,
                               const void *key, size_t key_len, int64_t fence,
                               ilk_error *err)
{
    guard_request self = {
        .type = &guard_get, .key = key, .key_len = key_len, .fence = fence};

    return ilk__request_start(out, &self.request, sizeof self, client, begin,
                              err);
}

ilk_status ilk_guard_remove(ilk_client *client, const void *key, size_t key_len,
                            ilk_error *err)
{
    guard_request self = {
        .type = &guard_remove, .key = key, .key_len = key_len};

    return ilk__request_run(&self.request, client, begin, err);
}

ilk_status ilk_guard_remove_start(ilk_op **out, ilk_client *client,
                                  const void *key, size_t key_len,
                                  ilk_error *err)
{
    guard_request self = {
        .type = &guard_remove, .key = key, .key_len = key_len};

    return ilk__request_start(out, &self.request, sizeof self, client, begin,
                              err);
}

const ilk_value *ilk_op_value(ilk_op *op)
{
    return ilk__started_object(op, dispose);
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

/* SPDX-License-Identifier: MIT */
/*
 * etcd_client_requests.c -- encodes etcd's requests.
 *
 * nanopb calls back for keys, values and lists: once to count the bytes, and once
 * to write them.
 */
#include "etcd_client_messages.h"
#include "grpc_frame.h"

#include "etcd.pb.h"

#include <pb_encode.h>
#include <string.h>

typedef const pb_field_t *field;

/* Append a message with its frame. */
static ilk_status put(ilk__buf *out, const pb_msgdesc_t *type,
                      const void *message, ilk_error *err)
{
    size_t len = 0;
    pb_ostream_t stream;
    char *room;

    if (!pb_get_encoded_size(&len, type, message) || len > ILK__GRPC_MOST)
        return ilk__fail(err, ILK_EINVAL,
                         "a request to etcd has %zu bytes, at most %d are sent",
                         len, ILK__GRPC_MOST);
    room = ilk__buf_reserve(out, ILK__GRPC_HEAD + len);
    if (!room)
        return ilk__fail(err, ILK_ENOMEM, "no memory for a request to etcd");
    ilk__grpc_frame_head(room, len);
    stream = pb_ostream_from_buffer((pb_byte_t *)room + ILK__GRPC_HEAD, len);
    if (!pb_encode(&stream, type, message))
        return ilk__fail(err, ILK_EINVAL, "a request to etcd: %s",
                         PB_GET_ERROR(&stream));
    ilk__buf_grew(out, ILK__GRPC_HEAD + len);
    return ILK_OK;
}

static bool write_span(pb_ostream_t *stream, field f, void *const *arg)
{
    const ilk__span *span = *arg;

    if (span->len == 0)
        return true;
    return pb_encode_tag_for_field(stream, f)
           && pb_encode_string(stream, (const pb_byte_t *)span->at, span->len);
}

static pb_callback_t bytes(const ilk__span *span)
{
    return (pb_callback_t){.funcs.encode = write_span, .arg = (void *)span};
}

static bool write_message(pb_ostream_t *stream, field f,
                          const pb_msgdesc_t *type, const void *message)
{
    return pb_encode_tag_for_field(stream, f)
           && pb_encode_submessage(stream, type, message);
}

/* ---- transactions --------------------------------------------------------- */

#define SET(message, member, number)                                           \
    ((message).has_##member = (number) != 0, (message).member = (number))

static void fill_compare(ilk_etcd_Compare *to, const ilk__etcd_compare *from)
{
    *to = (ilk_etcd_Compare)ilk_etcd_Compare_init_zero;
    SET(*to, result, (int32_t)from->relation);
    SET(*to, target, (int32_t)from->target);
    to->key = bytes(&from->key);
    to->range_end = bytes(&from->range_end);
    to->has_version = from->target == ILK__ETCD_VERSION;
    to->version = from->number;
    to->has_create_revision = from->target == ILK__ETCD_CREATE_REVISION;
    to->create_revision = from->number;
    to->has_mod_revision = from->target == ILK__ETCD_MOD_REVISION;
    to->mod_revision = from->number;
    to->has_lease = from->target == ILK__ETCD_LEASE;
    to->lease = from->number;
    if (from->target == ILK__ETCD_VALUE)
        to->value = bytes(&from->value);
}

static void fill_range(ilk_etcd_RangeRequest *to, const ilk__etcd_op *from)
{
    static const struct {
        int32_t order, target;
    } orders[] = {[ILK__ETCD_BY_KEY] = {0, 0},
                  [ILK__ETCD_BY_CREATE_REVISION] = {1, 2},
                  [ILK__ETCD_BY_CREATE_REVISION_DESCENDING] = {2, 2},
                  [ILK__ETCD_BY_MOD_REVISION] = {1, 3},
                  [ILK__ETCD_BY_MOD_REVISION_DESCENDING] = {2, 3}};

    to->key = bytes(&from->key);
    to->range_end = bytes(&from->range_end);
    SET(*to, limit, from->limit);
    SET(*to, revision, from->at_revision);
    SET(*to, sort_order, orders[from->order].order);
    SET(*to, sort_target, orders[from->order].target);
    SET(*to, serializable, from->serializable != 0);
    SET(*to, keys_only, from->keys_only != 0);
    SET(*to, count_only, from->count_only != 0);
    SET(*to, min_mod_revision, from->min_mod_revision);
    SET(*to, max_mod_revision, from->max_mod_revision);
    SET(*to, min_create_revision, from->min_create_revision);
    SET(*to, max_create_revision, from->max_create_revision);
}

static void fill_put(ilk_etcd_PutRequest *to, const ilk__etcd_op *from)
{
    to->key = bytes(&from->key);
    to->value = bytes(&from->value);
    SET(*to, lease, from->lease);
    SET(*to, prev_kv, from->with_previous != 0);
    SET(*to, ignore_value, from->keeps_value != 0);
    SET(*to, ignore_lease, from->keeps_lease != 0);
}

static void fill_delete(ilk_etcd_DeleteRangeRequest *to,
                        const ilk__etcd_op *from)
{
    to->key = bytes(&from->key);
    to->range_end = bytes(&from->range_end);
    SET(*to, prev_kv, from->with_previous != 0);
}

static void fill_op(ilk_etcd_RequestOp *to, const ilk__etcd_op *from)
{
    *to = (ilk_etcd_RequestOp)ilk_etcd_RequestOp_init_zero;
    switch (from->kind) {
    case ILK__ETCD_PUT:
        to->has_request_put = true;
        fill_put(&to->request_put, from);
        break;
    case ILK__ETCD_RANGE:
        to->has_request_range = true;
        fill_range(&to->request_range, from);
        break;
    case ILK__ETCD_DELETE:
        to->has_request_delete_range = true;
        fill_delete(&to->request_delete_range, from);
        break;
    }
}

static bool write_compares(pb_ostream_t *stream, field f, void *const *arg)
{
    const ilk__etcd_txn *txn = *arg;

    for (size_t i = 0; i < txn->compare_count; i++) {
        ilk_etcd_Compare compare;

        fill_compare(&compare, &txn->compares[i]);
        if (!write_message(stream, f, ilk_etcd_Compare_fields, &compare))
            return false;
    }
    return true;
}

typedef struct branch {
    const ilk__etcd_op *ops;
    size_t count;
} branch;

static bool write_ops(pb_ostream_t *stream, field f, void *const *arg)
{
    const branch *ops = *arg;

    for (size_t i = 0; i < ops->count; i++) {
        ilk_etcd_RequestOp op;

        fill_op(&op, &ops->ops[i]);
        if (!write_message(stream, f, ilk_etcd_RequestOp_fields, &op))
            return false;
    }
    return true;
}

ilk_status ilk__etcd_put_txn(ilk__buf *out, const ilk__etcd_txn *txn,
                             ilk_error *err)
{
    ilk_etcd_TxnRequest message = ilk_etcd_TxnRequest_init_zero;
    branch then_ops = {txn->then_ops, txn->then_count},
           else_ops = {txn->else_ops, txn->else_count};

    message.compare =
        (pb_callback_t){.funcs.encode = write_compares, .arg = (void *)txn};
    message.success =
        (pb_callback_t){.funcs.encode = write_ops, .arg = &then_ops};
    message.failure =
        (pb_callback_t){.funcs.encode = write_ops, .arg = &else_ops};
    return put(out, ilk_etcd_TxnRequest_fields, &message, err);
}

ilk_status ilk__etcd_put_delete(ilk__buf *out, const ilk__etcd_op *op,
                                ilk_error *err)
{
    ilk_etcd_DeleteRangeRequest message = ilk_etcd_DeleteRangeRequest_init_zero;

    fill_delete(&message, op);
    return put(out, ilk_etcd_DeleteRangeRequest_fields, &message, err);
}

/* ---- leases, login, status ------------------------------------------------ */

ilk_status ilk__etcd_put_grant(ilk__buf *out, int64_t lease, int64_t ttl_s,
                               ilk_error *err)
{
    ilk_etcd_LeaseGrantRequest message = ilk_etcd_LeaseGrantRequest_init_zero;

    SET(message, ID, lease);
    SET(message, TTL, ttl_s);
    return put(out, ilk_etcd_LeaseGrantRequest_fields, &message, err);
}

ilk_status ilk__etcd_put_lease(ilk__buf *out, int64_t lease, ilk_error *err)
{
    ilk_etcd_LeaseRevokeRequest message = ilk_etcd_LeaseRevokeRequest_init_zero;

    SET(message, ID, lease);
    return put(out, ilk_etcd_LeaseRevokeRequest_fields, &message, err);
}

ilk_status ilk__etcd_put_nothing(ilk__buf *out, ilk_error *err)
{
    ilk_etcd_StatusRequest message = ilk_etcd_StatusRequest_init_zero;

    return put(out, ilk_etcd_StatusRequest_fields, &message, err);
}

ilk_status ilk__etcd_put_login(ilk__buf *out, const char *user,
                               const char *password, ilk_error *err)
{
    ilk_etcd_AuthenticateRequest message =
        ilk_etcd_AuthenticateRequest_init_zero;
    ilk__span name = {user, strlen(user)};
    ilk__span secret = {password, password ? strlen(password) : 0};

    message.name = bytes(&name);
    message.password = bytes(&secret);
    return put(out, ilk_etcd_AuthenticateRequest_fields, &message, err);
}

/* ---- watches -------------------------------------------------------------- */

ilk_status ilk__etcd_put_watch(ilk__buf *out, int64_t id,
                               const ilk__etcd_watch_request *request,
                               ilk_error *err)
{
    ilk_etcd_WatchRequest message = ilk_etcd_WatchRequest_init_zero;
    ilk_etcd_WatchCreateRequest *create = &message.create_request;

    message.has_create_request = true;
    create->key = bytes(&request->key);
    create->range_end = bytes(&request->range_end);
    SET(*create, start_revision, request->start_revision);
    SET(*create, progress_notify, request->with_progress != 0);
    if (request->without_puts)
        create->filters[create->filters_count++] = 0;
    if (request->without_deletes)
        create->filters[create->filters_count++] = 1;
    SET(*create, watch_id, id);
    return put(out, ilk_etcd_WatchRequest_fields, &message, err);
}

ilk_status ilk__etcd_put_watch_end(ilk__buf *out, int64_t id, ilk_error *err)
{
    ilk_etcd_WatchRequest message = ilk_etcd_WatchRequest_init_zero;

    message.has_cancel_request = true;
    SET(message.cancel_request, watch_id, id);
    return put(out, ilk_etcd_WatchRequest_fields, &message, err);
}

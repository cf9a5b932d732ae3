/* SPDX-License-Identifier: MIT */
/*
 * etcd_client_answers.c -- decodes etcd's answers.
 *
 * Keys and values are not copied: they point into the message. The stream is ours,
 * so that its position in the message is known.
 */
#include "etcd_client_messages.h"

#include "base/alloc.h"
#include "etcd.pb.h"

#include <pb_decode.h>
#include <string.h>

typedef const pb_field_t *field;

static bool take_bytes(pb_istream_t *stream, pb_byte_t *to, size_t len)
{
    const char **at = stream->state;

    if (to)
        memcpy(to, *at, len);
    *at += len;
    return true;
}

/* Decode a message, of which `at` is the position. */
static ilk_status read_message(ilk__span message, const pb_msgdesc_t *type,
                               void *out, const ilk__etcd_parts *parts)
{
    const char *at = message.at;
    pb_istream_t stream = {
        .callback = take_bytes, .state = &at, .bytes_left = message.len};

    if (pb_decode(&stream, type, out))
        return ILK_OK;
    return parts && parts->no_memory ? ILK_ENOMEM : ILK_EREPLY;
}

void ilk__etcd_parts_free(ilk__etcd_parts *parts)
{
    ilk__free(parts->kvs.items);
    ilk__free(parts->ops.items);
    ilk__free(parts->events.items);
    *parts = (ilk__etcd_parts){.no_memory = 0};
}

/* One more item at the end, or NULL. */
static void *append(ilk__etcd_parts *parts, ilk__etcd_list *list, size_t size)
{
    size_t room = list->room ? 2 * list->room : 4;
    void *items;

    if (list->count == ILK__ETCD_LIST_MOST)
        return NULL;
    if (list->count == list->room) {
        items = ilk__realloc(list->items, room * size);
        parts->no_memory = !items;
        if (!items)
            return NULL;
        list->items = items;
        list->room = room;
    }
    items = (char *)list->items + list->count++ * size;
    memset(items, 0, size);
    return items;
}

/* ---- bytes ---------------------------------------------------------------- */

/* A field that should have bytes and has a number comes in a stream of nanopb's own,
 * whose state is not ours. */
static bool read_span(pb_istream_t *stream, field f, void **arg)
{
    const char **at = stream->state;
    ilk__span *span = *arg;

    (void)f;
    if (stream->callback != take_bytes)
        return false;
    *span = (ilk__span){*at, stream->bytes_left};
    return pb_read(stream, NULL, stream->bytes_left);
}

static pb_callback_t bytes(ilk__span *span)
{
    return (pb_callback_t){.funcs.decode = read_span, .arg = span};
}

/* A server may send any number; these can be counted up and multiplied. */
#define REVISION_MOST (INT64_C(1) << 62)
#define TTL_MOST_S INT64_C(1000000000)

static int64_t within(int64_t number, int64_t least, int64_t most)
{
    if (number < least)
        return least;
    return number < most ? number : most;
}

static int64_t revision_of(bool has_header, const ilk_etcd_ResponseHeader *from)
{
    return has_header ? within(from->revision, 0, REVISION_MOST) : 0;
}

static void take_header(ilk__etcd_answer *out, bool has_header,
                        const ilk_etcd_ResponseHeader *header)
{
    out->revision = revision_of(has_header, header);
    out->member = has_header ? header->member_id : 0;
}

/* ---- keys ----------------------------------------------------------------- */

/* Where a KeyValue's bytes go while it is decoded. */
typedef struct kv_bytes {
    ilk__span key, value;
} kv_bytes;

static void expect_kv(ilk_etcd_KeyValue *message, kv_bytes *to)
{
    *to = (kv_bytes){{"", 0}, {"", 0}};
    message->key = bytes(&to->key);
    message->value = bytes(&to->value);
}

static void take_kv(ilk__etcd_kv *to, const ilk_etcd_KeyValue *from,
                    const kv_bytes *parts)
{
    *to = (ilk__etcd_kv){
        .key = parts->key,
        .value = parts->value,
        .create_revision = within(from->create_revision, 0, REVISION_MOST),
        .mod_revision = within(from->mod_revision, 0, REVISION_MOST),
        .version = from->version,
        .lease = from->lease};
}

static bool read_kv(pb_istream_t *stream, field f, void **arg)
{
    ilk_etcd_KeyValue message = ilk_etcd_KeyValue_init_zero;
    ilk__etcd_parts *parts = *arg;
    ilk__etcd_kv *kv;
    kv_bytes to;

    (void)f;
    expect_kv(&message, &to);
    if (!pb_decode(stream, ilk_etcd_KeyValue_fields, &message))
        return false;
    kv = append(parts, &parts->kvs, sizeof *kv);
    if (!kv)
        return false;
    take_kv(kv, &message, &to);
    return true;
}

/* ---- transactions --------------------------------------------------------- */

/* Until all are decoded the list of keys may move, so that an operation has only
 * the number of its keys. */
static bool read_op(pb_istream_t *stream, field f, void **arg)
{
    ilk_etcd_ResponseOp message = ilk_etcd_ResponseOp_init_zero;
    ilk__etcd_parts *parts = *arg;
    pb_callback_t kvs = {.funcs.decode = read_kv, .arg = parts};
    ilk__etcd_op_answer *op;
    size_t before = parts->kvs.count;
    ilk__etcd_kv *kv = NULL;
    kv_bytes to;

    (void)f;
    message.response_range.kvs = kvs;
    message.response_delete_range.prev_kvs = kvs;
    expect_kv(&message.response_put.prev_kv, &to);
    if (!pb_decode(stream, ilk_etcd_ResponseOp_fields, &message))
        return false;
    if (message.has_response_put && message.response_put.has_prev_kv) {
        kv = append(parts, &parts->kvs, sizeof *kv);
        if (!kv)
            return false;
        take_kv(kv, &message.response_put.prev_kv, &to);
    }
    op = append(parts, &parts->ops, sizeof *op);
    if (!op)
        return false;
    op->kv_count = parts->kvs.count - before;
    op->kind = message.has_response_range          ? ILK__ETCD_RANGE
               : message.has_response_delete_range ? ILK__ETCD_DELETE
                                                   : ILK__ETCD_PUT;
    op->count = message.has_response_range
                    ? message.response_range.count
                    : message.response_delete_range.deleted;
    op->more = message.response_range.more;
    return true;
}

static void point_at_kvs(ilk__etcd_parts *parts)
{
    const ilk__etcd_kv *kv = parts->kvs.items;
    ilk__etcd_op_answer *ops = parts->ops.items;

    for (size_t i = 0; i < parts->ops.count; i++) {
        ops[i].kvs = kv;
        if (kv)
            kv += ops[i].kv_count;
    }
}

ilk_status ilk__etcd_read_txn(ilk__span message, ilk__etcd_parts *parts,
                              ilk__etcd_answer *out)
{
    ilk_etcd_TxnResponse txn = ilk_etcd_TxnResponse_init_zero;
    ilk_status st;

    txn.responses = (pb_callback_t){.funcs.decode = read_op, .arg = parts};
    st = read_message(message, ilk_etcd_TxnResponse_fields, &txn, parts);
    if (st)
        return st;
    point_at_kvs(parts);
    take_header(out, txn.has_header, &txn.header);
    out->succeeded = txn.succeeded;
    out->ops = parts->ops.items;
    out->op_count = parts->ops.count;
    return ILK_OK;
}

ilk_status ilk__etcd_read_delete(ilk__span message, ilk__etcd_parts *parts,
                                 ilk__etcd_answer *out)
{
    ilk_etcd_DeleteRangeResponse from = ilk_etcd_DeleteRangeResponse_init_zero;
    ilk__etcd_op_answer *op;
    ilk_status st;

    from.prev_kvs = (pb_callback_t){.funcs.decode = read_kv, .arg = parts};
    st = read_message(message, ilk_etcd_DeleteRangeResponse_fields, &from,
                      parts);
    if (st)
        return st;
    op = append(parts, &parts->ops, sizeof *op);
    if (!op)
        return ILK_ENOMEM;
    op->kind = ILK__ETCD_DELETE;
    op->count = from.deleted;
    op->kv_count = parts->kvs.count;
    point_at_kvs(parts);
    take_header(out, from.has_header, &from.header);
    out->succeeded = 1;
    out->ops = op;
    out->op_count = 1;
    return ILK_OK;
}

/* ---- leases, login, status ------------------------------------------------ */

ilk_status ilk__etcd_read_grant(ilk__span message, ilk__etcd_parts *parts,
                                ilk__etcd_answer *out)
{
    ilk_etcd_LeaseGrantResponse from = ilk_etcd_LeaseGrantResponse_init_zero;
    ilk_status st =
        read_message(message, ilk_etcd_LeaseGrantResponse_fields, &from, parts);

    take_header(out, from.has_header, &from.header);
    out->lease = from.ID;
    out->ttl_s = within(from.TTL, -1, TTL_MOST_S);
    return st || from.ID ? st : ILK_EREPLY;
}

ilk_status ilk__etcd_read_revoke(ilk__span message, ilk__etcd_parts *parts,
                                 ilk__etcd_answer *out)
{
    ilk_etcd_LeaseRevokeResponse from = ilk_etcd_LeaseRevokeResponse_init_zero;
    ilk_status st = read_message(message, ilk_etcd_LeaseRevokeResponse_fields,
                                 &from, parts);

    take_header(out, from.has_header, &from.header);
    return st;
}

ilk_status ilk__etcd_read_keep_alive(ilk__span message, ilk__etcd_parts *parts,
                                     ilk__etcd_answer *out)
{
    ilk_etcd_LeaseKeepAliveResponse from =
        ilk_etcd_LeaseKeepAliveResponse_init_zero;
    ilk_status st = read_message(
        message, ilk_etcd_LeaseKeepAliveResponse_fields, &from, parts);

    take_header(out, from.has_header, &from.header);
    out->lease = from.ID;
    out->ttl_s = within(from.TTL, -1, TTL_MOST_S);
    return st;
}

ilk_status ilk__etcd_read_time_to_live(ilk__span message,
                                       ilk__etcd_parts *parts,
                                       ilk__etcd_answer *out)
{
    ilk_etcd_LeaseTimeToLiveResponse from =
        ilk_etcd_LeaseTimeToLiveResponse_init_zero;
    ilk_status st = read_message(
        message, ilk_etcd_LeaseTimeToLiveResponse_fields, &from, parts);

    take_header(out, from.has_header, &from.header);
    out->lease = from.ID;
    out->ttl_s = within(from.TTL, -1, TTL_MOST_S);
    out->granted_ttl_s = within(from.grantedTTL, -1, TTL_MOST_S);
    return st;
}

ilk_status ilk__etcd_read_status(ilk__span message, ilk__etcd_parts *parts,
                                 ilk__etcd_answer *out)
{
    ilk_etcd_StatusResponse from = ilk_etcd_StatusResponse_init_zero;
    ilk__span version = {"", 0};
    ilk_status st;

    from.version = bytes(&version);
    st = read_message(message, ilk_etcd_StatusResponse_fields, &from, parts);
    if (st)
        return st;
    if (version.len >= sizeof parts->version)
        version.len = sizeof parts->version - 1;
    memcpy(parts->version, version.at, version.len);
    parts->version[version.len] = '\0';
    take_header(out, from.has_header, &from.header);
    out->version = parts->version;
    out->leader = from.leader;
    return ILK_OK;
}

ilk_status ilk__etcd_read_login(ilk__span message, ilk__span *token)
{
    ilk_etcd_AuthenticateResponse from =
        ilk_etcd_AuthenticateResponse_init_zero;
    ilk_status st;

    *token = (ilk__span){"", 0};
    from.token = bytes(token);
    st = read_message(message, ilk_etcd_AuthenticateResponse_fields, &from,
                      NULL);
    return st || token->len ? st : ILK_EREPLY;
}

/* ---- watches -------------------------------------------------------------- */

static bool read_event(pb_istream_t *stream, field f, void **arg)
{
    ilk_etcd_Event message = ilk_etcd_Event_init_zero;
    ilk__etcd_parts *parts = *arg;
    ilk__etcd_event *event;
    kv_bytes to;

    (void)f;
    expect_kv(&message.kv, &to);
    if (!pb_decode(stream, ilk_etcd_Event_fields, &message))
        return false;
    event = append(parts, &parts->events, sizeof *event);
    if (!event)
        return false;
    event->is_delete = message.type == 1;
    take_kv(&event->kv, &message.kv, &to);
    return true;
}

ilk_status ilk__etcd_read_watch(ilk__span message, ilk__etcd_parts *parts,
                                ilk__etcd_watch_answer *out)
{
    ilk_etcd_WatchResponse from = ilk_etcd_WatchResponse_init_zero;
    ilk_status st;

    *out = (ilk__etcd_watch_answer){.reason = {"", 0}};
    from.cancel_reason = bytes(&out->reason);
    from.events = (pb_callback_t){.funcs.decode = read_event, .arg = parts};
    st = read_message(message, ilk_etcd_WatchResponse_fields, &from, parts);
    if (st)
        return st;
    out->revision = revision_of(from.has_header, &from.header);
    out->id = from.watch_id;
    out->created = from.created;
    out->cancelled = from.canceled;
    out->compact_revision = within(from.compact_revision, 0, REVISION_MOST);
    out->events = parts->events.items;
    out->event_count = parts->events.count;
    return ILK_OK;
}

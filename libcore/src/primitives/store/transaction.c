/* SPDX-License-Identifier: MIT */
/*
 * transaction.c -- a transaction: reads as of one timestamp, and writes that are sent
 * together, with the commit.
 *
 *     get      own write? -> its value
 *              else store_read, of which the first one gives the timestamp
 *     commit   store_commit: all writes in one step, or none
 *
 * The rules are those of tests/model/store.pml.
 */
#include "store.h"

#include "base/alloc.h"
#include "base/token.h"
#include "client/run.h"
#include "handle/handle.h"
#include "wait/lease.h"

#include <inttypes.h>
#include <string.h>

/* A version as the server keeps it. */
enum { VALUE = 'v', DELETED = 'd' };

typedef struct txn_write {
    ilk__bytes key, version; /* the server's key */
} txn_write;

struct ilk_txn {
    ilk__handle handle; /* first */
    ilk__bytes keys[ILK__STORE_KEYS];
    uint32_t flags;
    int is_over;
    int64_t timestamp; /* 0: it has none yet */
    txn_write *writes;
    size_t write_count, room;
    char *value; /* of the last read; NULL: none */
    size_t value_len;
    char id[ILK__TXN_ID + 1];
};

/* ---- beginning and ending ------------------------------------------------ */

static int copy_key(ilk__bytes *out, const ilk__bytes *from)
{
    *out = (ilk__bytes){ilk__memdup(from->data, from->len), from->len};
    return out->data != NULL;
}

ilk_status ilk_txn_begin(ilk_txn **out, ilk_store *store, uint32_t flags,
                         ilk_error *err)
{
    ilk_txn *txn;
    ilk_status st;

    if (!out || !store)
        return ilk__fail(err, ILK_EINVAL, "%s must not be NULL",
                         out ? "store" : "out");
    *out = NULL;
    if (flags & ~(uint32_t)ILK_TXN_SNAPSHOT)
        return ilk__fail(err, ILK_EINVAL, "unknown flags 0x%x", flags);
    st = ilk__client_enter(store->client, err);
    if (st)
        return st;
    txn = ilk__calloc(1, sizeof *txn);
    if (!txn)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    ilk__handle_init(&txn->handle, store->client, "transaction", NULL);
    txn->flags = flags;
    for (size_t i = 0; i < ILK__STORE_KEYS; i++)
        if (!copy_key(&txn->keys[i], &store->keys[i])) {
            ilk_txn_free(txn);
            return ilk__fail(err, ILK_ENOMEM, "out of memory");
        }
    *out = txn;
    return ILK_OK;
}

static void free_writes(ilk_txn *txn)
{
    for (size_t i = 0; i < txn->write_count; i++) {
        ilk__free(txn->writes[i].key.data);
        ilk__free(txn->writes[i].version.data);
    }
    ilk__free(txn->writes);
    txn->writes = NULL;
    txn->write_count = txn->room = 0;
}

void ilk_txn_free(ilk_txn *txn)
{
    if (!txn)
        return;
    ilk__handle_forget(&txn->handle);
    ilk__keys_free(txn->keys, ILK__STORE_KEYS);
    free_writes(txn);
    ilk__free(txn->value);
    ilk__handle_close(&txn->handle);
    ilk__free(txn);
}

const char *ilk_txn_id(const ilk_txn *txn)
{
    return txn ? txn->id : "";
}

const char *ilk_txn_value(const ilk_txn *txn, size_t *out_len)
{
    const int has = txn && txn->value;

    if (out_len)
        *out_len = has ? txn->value_len : 0;
    return has ? txn->value : NULL;
}

static ilk_status enter(ilk_txn *txn, ilk_error *err)
{
    ilk_status st = ilk__handle_enter(&txn->handle, err);

    if (st || !txn->is_over)
        return st;
    ilk__handle_leave(&txn->handle);
    return ilk__fail(err, ILK_ENOTOWNER, "the transaction has ended");
}

/* ---- keys ---------------------------------------------------------------- */

static ilk_status check_key(const void *key, size_t len, ilk_error *err)
{
    if (!key || len == 0 || len > ILK_STORE_KEY_MAX)
        return ilk__fail(err, ILK_EINVAL,
                         "a key must have 1 to %d bytes, got %zu",
                         ILK_STORE_KEY_MAX, key ? len : 0);
    return ILK_OK;
}

static ilk_status make_key(ilk__bytes *out, const ilk_txn *txn, const void *key,
                           size_t len, ilk_error *err)
{
    ilk_status st = check_key(key, len, err);

    return st ? st
              : ilk__part_key(out, &txn->keys[2], ilk__store_key_kinds[2], key,
                              len, err);
}

static txn_write *find_write(const ilk_txn *txn, const ilk__bytes *key)
{
    for (size_t i = 0; i < txn->write_count; i++)
        if (txn->writes[i].key.len == key->len
            && memcmp(txn->writes[i].key.data, key->data, key->len) == 0)
            return &txn->writes[i];
    return NULL;
}

/* ---- time ---------------------------------------------------------------- */

/* This is no conflict: a transaction that begins again would take as long. */
static ilk__act took_too_long(ilk__op *op)
{
    return ilk__op_fail(op, ILK_ETIMEOUT,
                        "the transaction took longer than 60 s");
}

/* ---- writing ------------------------------------------------------------- */

/* Takes the memory of both, also when it fails. */
static ilk_status add_write(ilk_txn *txn, ilk__bytes key, ilk__bytes version,
                            ilk_error *err)
{
    txn_write *write = find_write(txn, &key);
    ilk_status st = ILK_OK;

    if (write) {
        ilk__free(write->version.data);
        write->version = version;
        ilk__free(key.data);
        return ILK_OK;
    }
    if (txn->write_count == ILK_TXN_WRITES_MAX)
        st = ilk__fail(err, ILK_EINVAL, "a transaction writes at most %d keys",
                       ILK_TXN_WRITES_MAX);
    if (st == ILK_OK && txn->write_count == txn->room) {
        const size_t room = txn->room ? 2 * txn->room : 8;
        txn_write *more = ilk__realloc(txn->writes, room * sizeof *more);

        if (more) {
            txn->writes = more;
            txn->room = room;
        } else {
            st = ilk__fail(err, ILK_ENOMEM, "out of memory");
        }
    }
    if (st) {
        ilk__free(key.data);
        ilk__free(version.data);
        return st;
    }
    txn->writes[txn->write_count++] = (txn_write){key, version};
    return ILK_OK;
}

static ilk_status write(ilk_txn *txn, const void *key, size_t key_len,
                        const void *value, size_t value_len, int kind,
                        ilk_error *err)
{
    ilk__bytes at = {NULL, 0}, version = {NULL, 0};
    ilk_status st;

    if (txn->flags & ILK_TXN_SNAPSHOT)
        return ilk__fail(err, ILK_EINVAL, "a snapshot only reads");
    st = make_key(&at, txn, key, key_len, err);
    if (st)
        return st;
    version.len = 1 + value_len;
    version.data = ilk__malloc(version.len);
    if (!version.data) {
        ilk__free(at.data);
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    }
    version.data[0] = (char)kind;
    if (value_len)
        memcpy(version.data + 1, value, value_len);
    return add_write(txn, at, version, err);
}

static ilk_status run_write(ilk_txn *txn, const void *key, size_t key_len,
                            const void *value, size_t value_len, int kind,
                            ilk_error *err)
{
    ilk_status st;

    if (!txn)
        return ilk__fail(err, ILK_EINVAL, "transaction must not be NULL");
    st = enter(txn, err);
    if (st)
        return st;
    st = write(txn, key, key_len, value, value_len, kind, err);
    ilk__handle_leave(&txn->handle);
    if (st == ILK_OK)
        ilk__error_clear(err);
    return st;
}

ilk_status ilk_txn_put(ilk_txn *txn, const void *key, size_t key_len,
                       const void *value, size_t value_len, ilk_error *err)
{
    if (!value && value_len)
        return ilk__fail(err, ILK_EINVAL, "value must not be NULL");
    if (value_len > ILK_STORE_VALUE_MAX)
        return ilk__fail(err, ILK_EINVAL,
                         "value must have at most %d bytes, got %zu",
                         ILK_STORE_VALUE_MAX, value_len);
    return run_write(txn, key, key_len, value, value_len, VALUE, err);
}

ilk_status ilk_txn_delete(ilk_txn *txn, const void *key, size_t key_len,
                          ilk_error *err)
{
    return run_write(txn, key, key_len, NULL, 0, DELETED, err);
}

/* ---- reading ------------------------------------------------------------- */

typedef struct read_request {
    ilk__request request;
    const void *given; /* the caller's: valid until it has begun */
    size_t given_len;
    ilk__bytes keys[2]; /* the first is the transaction's */
} read_request;

static ilk_txn *txn_of(const ilk__request *request)
{
    return (ilk_txn *)request->handle;
}

/* 0: no memory. */
static int see(ilk_txn *txn, int has_value, const char *value, size_t len)
{
    char *copy = has_value ? ilk__memdup(len ? value : "", len) : NULL;

    if (has_value && !copy)
        return 0;
    ilk__free(txn->value);
    txn->value = copy;
    txn->value_len = has_value ? len : 0;
    return 1;
}

/* The server's place and the timestamp to rise above: '' and 0 for a store on
 * one server. The gateway of a ring fills them in for each server
 * (stores/shards/shards_store_words.c). */
static void add_place(ilk__op *op)
{
    ilk__command_add_str(&op->command, "");
    ilk__command_add_str(&op->command, "0");
}

static ilk__act belongs_to_others(ilk__op *op)
{
    return ilk__op_fail(op, ILK_EDIFFERS,
                        "a transaction over several servers has written the "
                        "key: the store's URL names all of them, with ?ring");
}

static void ask_read(ilk__op *op)
{
    const read_request *self = op->subject;

    ilk__script_begin(&op->command, op->type->script, self->keys, 2);
    ilk__command_add_int(&op->command, txn_of(&self->request)->timestamp);
    add_place(op);
}

static ilk__act was_read(ilk__op *op, const ilk__reply *reply)
{
    ilk_txn *txn = txn_of(&((read_request *)op->subject)->request);
    const ilk__reply *value;
    int64_t timestamp;

    if (ilk__script_code(reply) == ILK__CODE_GONE)
        return took_too_long(op);
    if (ilk__script_code(reply) == ILK__CODE_BUSY)
        return belongs_to_others(op);
    if (ilk__script_code(reply) == ILK__CODE_STALE)
        return ilk__op_fail(
            op, txn->flags & ILK_TXN_SNAPSHOT ? ILK_ESTALE : ILK_ECONFLICT,
            "the version as of this transaction is no longer "
            "kept");
    timestamp = ilk__script_int(reply, 0);
    value = ilk__script_item(reply, 2);
    if (!ilk__fence_is_valid(timestamp)
        || (txn->timestamp && timestamp != txn->timestamp))
        return ilk__op_fail(op, ILK_EREPLY, "store_read: timestamp %" PRId64,
                            timestamp);
    if (!see(txn, ilk__script_int(reply, 1) == 1, value->str, value->len))
        return ilk__op_fail(op, ILK_ENOMEM, "out of memory");
    txn->timestamp = timestamp;
    return ilk__op_done(op, ILK_OK);
}

/* `reads`, although it may give a timestamp: a missing reply can be ignored,
 * because its timestamp is not used. It still counts as a later read, which
 * costs one conflict at most (store_read.lua). */
static const ilk__op_type store_read = {.name = "store_read",
                                        .script = ILK__SCRIPT_STORE_READ,
                                        .reply_is_optional = 1,
                                        .ask = ask_read,
                                        .reply = was_read};

static void end_read(ilk__request *request, ilk_status status)
{
    read_request *self = (read_request *)request;

    ilk__free(self->keys[1].data);
    ilk__handle_leave((ilk__handle *)request->handle);
    ilk__request_end(request, status);
}

/* 1 when it needs no request. */
static int read_own(ilk_txn *txn, const ilk__bytes *key, ilk_status *st,
                    ilk_error *err)
{
    const txn_write *write = find_write(txn, key);

    if (!write)
        return 0;
    *st = see(txn, write->version.data[0] == VALUE, write->version.data + 1,
              write->version.len - 1)
              ? ILK_OK
              : ilk__fail(err, ILK_ENOMEM, "out of memory");
    return 1;
}

static void begin_read(ilk__request *request)
{
    read_request *self = (read_request *)request;
    ilk_txn *txn = txn_of(request);
    ilk_status st = enter(txn, request->err);

    if (st) {
        ilk__request_end(request, st);
        return;
    }
    self->keys[0] = txn->keys[0];
    st = make_key(&self->keys[1], txn, self->given, self->given_len,
                  request->err);
    if (st || read_own(txn, &self->keys[1], &st, request->err))
        end_read(request, st);
    else
        ilk__request_ask(request, &store_read, self,
                         ilk__request_patience(request), end_read);
}

ilk_status ilk_txn_get(ilk_txn *txn, const void *key, size_t key_len,
                       ilk_error *err)
{
    read_request self = {
        .request.handle = txn, .given = key, .given_len = key_len};

    if (!txn)
        return ilk__fail(err, ILK_EINVAL, "transaction must not be NULL");
    return ilk__request_run(&self.request, txn->handle.client, begin_read, err);
}

ilk_status ilk_txn_get_start(ilk_op **out, ilk_txn *txn, const void *key,
                             size_t key_len, ilk_error *err)
{
    read_request self = {
        .request.handle = txn, .given = key, .given_len = key_len};

    if (!txn)
        return ilk__started_none(
            out, ilk__fail(err, ILK_EINVAL, "transaction must not be NULL"));
    return ilk__request_start(out, &self.request, sizeof self,
                              txn->handle.client, begin_read, err);
}

/* ---- committing ---------------------------------------------------------- */

enum { COMMIT_KEYS = 2 }; /* store, done */

typedef struct commit_request {
    ilk__request request;
    ilk__bytes *keys; /* COMMIT_KEYS, and those that are written: the bytes are
                         the transaction's */
} commit_request;

static void ask_commit(ilk__op *op)
{
    const commit_request *self = op->subject;
    const ilk_txn *txn = txn_of(&self->request);

    ilk__script_begin(&op->command, op->type->script, self->keys,
                      COMMIT_KEYS + txn->write_count);
    ilk__command_add_str(&op->command, txn->id);
    ilk__command_add_int(&op->command, txn->timestamp);
    add_place(op);
    for (size_t i = 0; i < txn->write_count; i++)
        ilk__command_add(&op->command, txn->writes[i].version.data,
                         txn->writes[i].version.len);
}

static ilk__act was_committed(ilk__op *op, const ilk__reply *reply)
{
    switch (ilk__script_code(reply)) {
    case ILK__CODE_WRITTEN: return ilk__op_done(op, ILK_OK);
    case ILK__CODE_GONE: return took_too_long(op);
    case ILK__CODE_BUSY: return belongs_to_others(op);
    case ILK__CODE_REFUSED:
        return ilk__op_fail(op, ILK_ECONFLICT,
                            "the transaction was aborted by a question for its "
                            "outcome");
    default:
        return ilk__op_fail(op, ILK_ECONFLICT,
                            "a later transaction has read or written a key "
                            "that this one writes");
    }
}

/* A server that refuses a copy, or cannot be reached with it, leaves it open whether an
 * earlier one was executed. The gateway of a ring knows, and says ILK_ENOQUORUM only if none
 * was (stores/shards/shards_store.c). The end of a client is reported as it is for every request. */
static ilk__act commit_failed(ilk__op *op, ilk_status status)
{
    int is_open =
        op->retried && status != ILK_ENOQUORUM && status != ILK_ECLOSED;

    return ilk__op_end(op, is_open ? ILK_EUNKNOWN : status);
}

static const ilk__op_type store_commit = {.name = "store_commit",
                                          .script = ILK__SCRIPT_STORE_COMMIT,
                                          .ask = ask_commit,
                                          .reply = was_committed,
                                          .failed = commit_failed};

static void end_commit(ilk__request *request, ilk_status status)
{
    commit_request *self = (commit_request *)request;
    ilk_txn *txn = txn_of(request);

    ilk__free(self->keys);
    txn->is_over = 1;
    free_writes(txn);
    ilk__handle_leave(&txn->handle);
    ilk__request_end(request, status);
}

/* Behind the token: '-', and the time in ms. */
static void write_time(char id[ILK__TXN_ID + 1])
{
    int64_t ms = ilk__store_time_ms();

    id[ILK__TXN_TOKEN] = '-';
    id[ILK__TXN_ID] = '\0';
    for (size_t i = ILK__TXN_ID - 1; i > ILK__TXN_TOKEN; i--) {
        id[i] = (char)('0' + ms % 10);
        ms /= 10;
    }
}

static ilk_status prepare_commit(commit_request *self, ilk_error *err)
{
    ilk_txn *txn = txn_of(&self->request);
    ilk_status st = ilk__token(txn->id, ILK__TXN_TOKEN, err);

    if (st)
        return st;
    write_time(txn->id);
    self->keys =
        ilk__malloc((COMMIT_KEYS + txn->write_count) * sizeof *self->keys);
    if (!self->keys)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    for (size_t i = 0; i < COMMIT_KEYS; i++)
        self->keys[i] = txn->keys[i];
    for (size_t i = 0; i < txn->write_count; i++)
        self->keys[COMMIT_KEYS + i] = txn->writes[i].key;
    return ILK_OK;
}

static void begin_commit(ilk__request *request)
{
    commit_request *self = (commit_request *)request;
    const ilk_txn *txn = txn_of(request);
    ilk_status st = enter(txn_of(request), request->err);

    if (st) {
        ilk__request_end(request, st);
        return;
    }
    if (txn->write_count)
        st = prepare_commit(self, request->err);
    if (st || !txn->write_count) {
        end_commit(request, st);
        return;
    }
    ilk__request_ask(request, &store_commit, self,
                     ilk__request_patience(request), end_commit);
}

ilk_status ilk_txn_commit(ilk_txn *txn, ilk_error *err)
{
    commit_request self = {.request.handle = txn};

    if (!txn)
        return ilk__fail(err, ILK_EINVAL, "transaction must not be NULL");
    return ilk__request_run(&self.request, txn->handle.client, begin_commit,
                            err);
}

ilk_status ilk_txn_commit_start(ilk_op **out, ilk_txn *txn, ilk_error *err)
{
    commit_request self = {.request.handle = txn};

    if (!txn)
        return ilk__started_none(
            out, ilk__fail(err, ILK_EINVAL, "transaction must not be NULL"));
    return ilk__request_start(out, &self.request, sizeof self,
                              txn->handle.client, begin_commit, err);
}

/* SPDX-License-Identifier: MIT */
/*
 * kv.c -- replicated values: requests to put, get, delete and move them. One server
 * executes their scripts itself; the servers of a ring share them (stores/shards/shards_kv.c).
 */
#include "base/alloc.h"
#include "base/opts.h"
#include "base/token.h"
#include "client/client.h"
#include "client/loop.h"
#include "client/run.h"
#include "wait/lease.h"

#include <interlock/kv.h>

#include <stdio.h>
#include <string.h>

/* How long the server remembers a put (scripts/include/done_requests.lua). */
enum { MEMORY_MS = 60000, MOVED_AT_ONCE = 100 };

/* A value as the server gets it. */
enum { VALUE = 'v', DELETED = 'd' };

enum { KEY_RECORD, KEY_ONCE, KEYS };

static const char *const kinds[KEYS] = {"kv", "kv:once"};

struct ilk_kv {
    ilk_client *client;    /* a counted reference */
    ilk__bytes keys[KEYS]; /* the first is the front of the records' keys */
};

struct ilk_kv_entry {
    int64_t version;
    char *value;
    size_t len;
};

/* ---- handles ------------------------------------------------------------- */

static ilk_status set_up(ilk_kv *kv, ilk_client *client, const void *name,
                         size_t name_len, ilk_error *err)
{
    ilk_status st = ilk__keys_make(kv->keys, kinds, KEYS, name, name_len, err);

    if (st == ILK_OK)
        st = ilk__client_accept_name(client, name, name_len, err);
    if (st == ILK_OK)
        kv->client = ilk__client_ref(client);
    return st;
}

ilk_status ilk_kv_open(ilk_kv **out, ilk_client *client, const void *name,
                       size_t name_len, ilk_error *err)
{
    ilk_kv *kv;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__client_enter_for(client, ILK_OFFER_KV, err);
    if (st)
        return st;
    kv = ilk__calloc(1, sizeof *kv);
    if (!kv)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    st = set_up(kv, client, name, name_len, err);
    if (st)
        ilk_kv_free(kv);
    else
        *out = kv;
    return st;
}

const char *ilk_kv_name(const ilk_kv *kv, size_t *out_len)
{
    return ilk__key_name(kv ? &kv->keys[KEY_RECORD] : NULL, kinds[KEY_RECORD],
                         out_len);
}

void ilk_kv_free(ilk_kv *kv)
{
    if (!kv)
        return;
    ilk__keys_free(kv->keys, KEYS);
    if (kv->client)
        ilk__client_unref(kv->client);
    ilk__free(kv);
}

/* ---- entries ------------------------------------------------------------- */

const char *ilk_kv_entry_value(const ilk_kv_entry *entry, size_t *out_len)
{
    if (out_len)
        *out_len = entry ? entry->len : 0;
    return entry ? entry->value : NULL;
}

int64_t ilk_kv_entry_version(const ilk_kv_entry *entry)
{
    return entry ? entry->version : 0;
}

void ilk_kv_entry_free(ilk_kv_entry *entry)
{
    if (!entry)
        return;
    ilk__free(entry->value);
    ilk__free(entry);
}

static void dispose(void *entry)
{
    ilk_kv_entry_free(entry);
}

const ilk_kv_entry *ilk_op_kv_entry(ilk_op *op)
{
    return ilk__started_object(op, dispose);
}

/* ---- requests ------------------------------------------------------------ */

typedef struct kv_request {
    ilk__request request;
    const ilk__op_type *type;
    const ilk_kv *kv;        /* the caller's: valid until it has begun */
    const void *key, *value; /* the same */
    size_t key_len, value_len;
    int kind; /* VALUE or DELETED */
    uint32_t flags;
    ilk__bytes keys[KEYS]; /* copies */
    char *text;            /* of the value, behind its kind */
    char token[ILK__TOKEN_LEN + 1];
    int64_t asked_at; /* when its first copy was sent */
    ilk_kv_entry *found;
} kv_request;

static void ask_get(ilk__op *op)
{
    const kv_request *self = op->subject;

    ilk__script_begin(&op->command, op->type->script, self->keys, 1);
}

static ilk__act was_found(ilk__op *op, const ilk__reply *reply)
{
    kv_request *self = op->subject;
    const ilk__reply *value = ilk__script_item(reply, 2);
    const int64_t version = ilk__script_int(reply, 0);

    if (ilk__script_int(reply, 1) != 1)
        return ilk__op_done(op, ILK_OK);
    if (!ilk__fence_is_valid(version))
        return ilk__op_fail(op, ILK_EREPLY, "kv_get: version %lld",
                            (long long)version);
    self->found = ilk__calloc(1, sizeof *self->found);
    if (self->found)
        self->found->value = ilk__memdup(value->str, value->len);
    if (!self->found || !self->found->value)
        return ilk__op_fail(op, ILK_ENOMEM, "out of memory");
    self->found->len = value->len;
    self->found->version = version;
    return ilk__op_done(op, ILK_OK);
}

static void ask_put(ilk__op *op)
{
    kv_request *self = op->subject;

    ilk__script_begin(&op->command, op->type->script, self->keys, KEYS);
    ilk__command_add_str(&op->command, self->token);
    ilk__command_add(&op->command, self->text, 1 + self->value_len);
    ilk__command_add_str(&op->command, self->flags & ILK_KV_FAST ? "1" : "0");
    self->asked_at = op->now;
}

/* An earlier copy of this put may have been executed, and another put after it:
 * then this copy has put the older value back. */
static int is_in_doubt(const ilk__op *op, int64_t how)
{
    const kv_request *self = op->subject;

    return how != 1 && op->retried
           && (how == -1 || op->now - self->asked_at >= MEMORY_MS);
}

static ilk__act was_put(ilk__op *op, const ilk__reply *reply)
{
    kv_request *self = op->subject;
    const int64_t version = ilk__script_int(reply, 0);

    if (!ilk__fence_is_valid(version))
        return ilk__op_fail(op, ILK_EREPLY, "kv_put: version %lld",
                            (long long)version);
    if (is_in_doubt(op, ilk__script_int(reply, 1)))
        return ilk__op_fail(op, ILK_EUNKNOWN,
                            "written as version %lld, perhaps for the second "
                            "time: the first reply is missing",
                            (long long)version);
    self->request.result.number = version;
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type kv_get = {.name = "kv_get",
                                    .script = ILK__SCRIPT_KV_GET,
                                    .reply_is_optional = 1,
                                    .ask = ask_get,
                                    .reply = was_found};
static const ilk__op_type kv_put = {.name = "kv_put",
                                    .script = ILK__SCRIPT_KV_PUT,
                                    .ask = ask_put,
                                    .reply = was_put};

static void end(ilk__request *request, ilk_status status)
{
    kv_request *self = (kv_request *)request;

    ilk__keys_free(self->keys, KEYS);
    ilk__free(self->text);
    if (status)
        ilk_kv_entry_free(self->found);
    else if (self->type == &kv_get)
        ilk__request_answer(request, self->found, dispose);
    ilk__request_end(request, status);
}

static ilk_status check(const kv_request *self, ilk_error *err)
{
    if (!self->key || self->key_len == 0 || self->key_len > ILK_KV_KEY_MAX)
        return ilk__fail(err, ILK_EINVAL,
                         "a key must have 1 to %d bytes, got %zu",
                         ILK_KV_KEY_MAX, self->key ? self->key_len : 0);
    if (!self->value && self->value_len)
        return ilk__fail(err, ILK_EINVAL, "value must not be NULL");
    if (self->value_len > ILK_KV_VALUE_MAX)
        return ilk__fail(err, ILK_EINVAL,
                         "value must have at most %d bytes, got %zu",
                         ILK_KV_VALUE_MAX, self->value_len);
    if (self->flags & ~(uint32_t)ILK_KV_FAST)
        return ilk__fail(err, ILK_EINVAL, "flags must be 0 or ILK_KV_FAST");
    return ilk__client_enter(self->kv->client, err);
}

/* 0: no memory. */
static int make_keys(kv_request *self)
{
    const ilk__bytes *front = self->kv->keys, *once = &front[KEY_ONCE];

    self->keys[KEY_ONCE] =
        (ilk__bytes){ilk__memdup(once->data, once->len), once->len};
    return !ilk__part_key(&self->keys[KEY_RECORD], &front[KEY_RECORD],
                          kinds[KEY_RECORD], self->key, self->key_len, NULL)
           && self->keys[KEY_ONCE].data;
}

/* 0: no memory. */
static int make_text(kv_request *self)
{
    if (self->type != &kv_put)
        return 1;
    self->text = ilk__malloc(1 + self->value_len);
    if (!self->text)
        return 0;
    self->text[0] = (char)self->kind;
    if (self->value_len)
        memcpy(self->text + 1, self->value, self->value_len);
    return 1;
}

static ilk_status prepare(kv_request *self, ilk_error *err)
{
    ilk_status st = check(self, err);

    if (st == ILK_OK && self->type == &kv_put)
        st = ilk__token(self->token, ILK__TOKEN_LEN, err);
    if (st == ILK_OK && (!make_keys(self) || !make_text(self)))
        st = ilk__fail(err, ILK_ENOMEM, "out of memory");
    return st;
}

static void begin(ilk__request *request)
{
    kv_request *self = (kv_request *)request;
    ilk_status st = prepare(self, request->err);

    if (st)
        end(request, st);
    else
        ilk__request_ask(request, self->type, self,
                         ilk__request_patience(request), end);
}

static ilk_status run(kv_request *self, ilk_error *err)
{
    if (!self->kv)
        return ilk__fail(err, ILK_EINVAL, "kv must not be NULL");
    return ilk__request_run(&self->request, self->kv->client, begin, err);
}

static ilk_status start(ilk_op **out, kv_request *self, ilk_error *err)
{
    if (!self->kv)
        return ilk__started_none(
            out, ilk__fail(err, ILK_EINVAL, "kv must not be NULL"));
    return ilk__request_start(out, &self->request, sizeof *self,
                              self->kv->client, begin, err);
}

/* ---- get ----------------------------------------------------------------- */

static kv_request getting(const ilk_kv *kv, const void *key, size_t key_len)
{
    return (kv_request){
        .type = &kv_get, .kv = kv, .key = key, .key_len = key_len};
}

ilk_status ilk_kv_get(ilk_kv_entry **out, ilk_kv *kv, const void *key,
                      size_t key_len, ilk_error *err)
{
    kv_request self = getting(kv, key, key_len);
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    st = run(&self, err);
    *out = self.request.result.object;
    return st;
}

ilk_status ilk_kv_get_start(ilk_op **out, ilk_kv *kv, const void *key,
                            size_t key_len, ilk_error *err)
{
    kv_request self = getting(kv, key, key_len);

    return start(out, &self, err);
}

/* ---- put and delete ------------------------------------------------------ */

static kv_request putting(const ilk_kv *kv, const void *key, size_t key_len,
                          const void *value, size_t value_len, uint32_t flags)
{
    return (kv_request){.type = &kv_put,
                        .kv = kv,
                        .key = key,
                        .key_len = key_len,
                        .value = value,
                        .value_len = value_len,
                        .kind = VALUE,
                        .flags = flags};
}

static kv_request deleting(const ilk_kv *kv, const void *key, size_t key_len,
                           uint32_t flags)
{
    kv_request self = putting(kv, key, key_len, NULL, 0, flags);

    self.kind = DELETED;
    return self;
}

static ilk_status change(kv_request *self, int64_t *out_version, ilk_error *err)
{
    const ilk_status st = run(self, err);

    if (out_version)
        *out_version = st ? 0 : self->request.result.number;
    return st;
}

ilk_status ilk_kv_put(ilk_kv *kv, const void *key, size_t key_len,
                      const void *value, size_t value_len, uint32_t flags,
                      int64_t *out_version, ilk_error *err)
{
    kv_request self = putting(kv, key, key_len, value, value_len, flags);

    return change(&self, out_version, err);
}

ilk_status ilk_kv_put_start(ilk_op **out, ilk_kv *kv, const void *key,
                            size_t key_len, const void *value, size_t value_len,
                            uint32_t flags, ilk_error *err)
{
    kv_request self = putting(kv, key, key_len, value, value_len, flags);

    return start(out, &self, err);
}

ilk_status ilk_kv_delete(ilk_kv *kv, const void *key, size_t key_len,
                         uint32_t flags, int64_t *out_version, ilk_error *err)
{
    kv_request self = deleting(kv, key, key_len, flags);

    return change(&self, out_version, err);
}

ilk_status ilk_kv_delete_start(ilk_op **out, ilk_kv *kv, const void *key,
                               size_t key_len, uint32_t flags, ilk_error *err)
{
    kv_request self = deleting(kv, key, key_len, flags);

    return start(out, &self, err);
}

/* ---- move ---------------------------------------------------------------- */

typedef struct move_request {
    ilk__request request;
    const ilk_kv_progress *given; /* the caller's: valid until it has begun */
    ilk_kv_progress *at;
} move_request;

static void dispose_progress(void *at)
{
    ilk__free(at);
}

static void ask_move(ilk__op *op)
{
    static const ilk__bytes node = {(char *)"ilk:kv:node", 11};
    const ilk_kv_progress *at = op->subject;

    ilk__script_begin(&op->command, op->type->script, &node, 1);
    ilk__command_add_int(&op->command, at->server);
    ilk__command_add_str(&op->command, at->cursor);
    ilk__command_add_str(&op->command, at->pass_id);
    ilk__command_add_int(&op->command, MOVED_AT_ONCE);
}

static ilk__act was_moved(ilk__op *op, const ilk__reply *reply)
{
    ilk_kv_progress *at = op->subject;
    const int64_t servers = ilk__script_int(reply, 0),
                  server = ilk__script_int(reply, 1);
    const ilk__reply *cursor = ilk__script_item(reply, 2),
                     *pass = ilk__script_item(reply, 3);

    if (server < at->server || server > servers || servers > INT32_MAX
        || cursor->len >= sizeof at->cursor || pass->len >= sizeof at->pass_id)
        return ilk__op_fail(op, ILK_EREPLY, "kv_move: no progress");
    at->servers = (int32_t)servers;
    at->server = (int32_t)server;
    at->is_done = server == servers;
    memcpy(at->cursor, cursor->str, cursor->len + 1);
    memcpy(at->pass_id, pass->str, pass->len + 1);
    at->looked += ilk__script_int(reply, 4);
    at->copied += ilk__script_int(reply, 5);
    at->removed += ilk__script_int(reply, 6);
    return ilk__op_done(op, ILK_OK);
}

/* `reads`, although it writes: a missing reply can be ignored, because a step that is
 * repeated finds its work done. */
static const ilk__op_type kv_move = {.name = "kv_move",
                                     .script = ILK__SCRIPT_KV_MOVE,
                                     .reply_is_optional = 1,
                                     .ask = ask_move,
                                     .reply = was_moved};

static void end_move(ilk__request *request, ilk_status status)
{
    move_request *self = (move_request *)request;

    if (status)
        ilk__free(self->at);
    else
        ilk__request_answer(request, self->at, dispose_progress);
    ilk__request_end(request, status);
}

static ilk_status check_progress(const ilk_kv_progress *at, ilk_error *err)
{
    if (at->server < 0 || !memchr(at->cursor, 0, sizeof at->cursor)
        || !memchr(at->pass_id, 0, sizeof at->pass_id))
        return ilk__fail(err, ILK_EINVAL, "progress is none of ilk_kv_move()");
    if (at->is_done)
        return ilk__fail(err, ILK_EINVAL, "progress is done");
    return ILK_OK;
}

static ilk_status prepare_move(move_request *self, ilk_error *err)
{
    ilk_status st =
        ilk__client_enter_for(self->request.client, ILK_OFFER_KV, err);

    if (st)
        return st;
    self->at = ilk__malloc(sizeof *self->at);
    if (!self->at)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    st = ilk__opts_copy(self->at, sizeof *self->at, self->given, "progress",
                        err);
    return st ? st : check_progress(self->at, err);
}

static void begin_move(ilk__request *request)
{
    move_request *self = (move_request *)request;
    ilk_status st = prepare_move(self, request->err);

    if (st)
        end_move(request, st);
    else
        ilk__request_ask(request, &kv_move, self->at,
                         ilk__request_patience(request), end_move);
}

ilk_status ilk_kv_move(ilk_client *client, ilk_kv_progress *progress,
                       ilk_error *err)
{
    move_request self = {.given = progress};
    ilk_status st;

    if (!progress)
        return ilk__fail(err, ILK_EINVAL, "progress must not be NULL");
    st = ilk__request_run(&self.request, client, begin_move, err);
    if (st == ILK_OK)
        st = ilk__opts_fill(progress, self.request.result.object,
                            sizeof *progress, "progress", err);
    ilk__free(self.request.result.object);
    return st;
}

ilk_status ilk_kv_move_start(ilk_op **out, ilk_client *client,
                             const ilk_kv_progress *from, ilk_error *err)
{
    move_request self = {.given = from};

    return ilk__request_start(out, &self.request, sizeof self, client,
                              begin_move, err);
}

ilk_status ilk_op_kv_progress(ilk_op *op, ilk_kv_progress *out_progress,
                              ilk_error *err)
{
    const ilk_kv_progress *at = ilk__started_object(op, dispose_progress);

    if (!at)
        return ilk__fail(err, ILK_EINVAL, "the operation has no progress");
    return ilk__opts_fill(out_progress, at, sizeof *at, "out_progress", err);
}

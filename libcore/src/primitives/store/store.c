/* SPDX-License-Identifier: MIT */
/* store.c -- a store's handle, and what became of a transaction. */
#include "store.h"

#include "base/alloc.h"
#include "client/loop.h"
#include "client/run.h"

#include <string.h>
#include <time.h>

const char *const ilk__store_key_kinds[ILK__STORE_KEYS] = {
    "store", "store:done", "store:key"};

int64_t ilk__store_time_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- handles ------------------------------------------------------------ */

static ilk_status set_up(ilk_store *store, ilk_client *client, const void *name,
                         size_t name_len, ilk_error *err)
{
    ilk_status st = ilk__keys_make(store->keys, ilk__store_key_kinds,
                                   ILK__STORE_KEYS, name, name_len, err);

    if (st == ILK_OK)
        st = ilk__client_accept_name(client, name, name_len, err);
    if (st == ILK_OK)
        store->client = ilk__client_ref(client);
    return st;
}

ilk_status ilk_store_open(ilk_store **out, ilk_client *client, const void *name,
                          size_t name_len, ilk_error *err)
{
    ilk_store *store;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__client_enter_for(client, ILK_OFFER_STORE, err);
    if (st)
        return st;
    store = ilk__calloc(1, sizeof *store);
    if (!store)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    st = set_up(store, client, name, name_len, err);
    if (st)
        ilk_store_free(store);
    else
        *out = store;
    return st;
}

const char *ilk_store_name(const ilk_store *store, size_t *out_len)
{
    return ilk__key_name(store ? &store->keys[0] : NULL,
                         ilk__store_key_kinds[0], out_len);
}

void ilk_store_free(ilk_store *store)
{
    if (!store)
        return;
    ilk__keys_free(store->keys, ILK__STORE_KEYS);
    if (store->client)
        ilk__client_unref(store->client);
    ilk__free(store);
}

/* ---- outcomes ----------------------------------------------------------- */

typedef struct outcome_request {
    ilk__request request;
    const ilk_store *store; /* the caller's: valid until it has begun */
    const char *given;      /* the same */
    ilk__bytes keys[2];     /* done, store */
    char id[ILK__TXN_ID + 1];
    int64_t age_ms;
} outcome_request;

static void ask_outcome(ilk__op *op)
{
    const outcome_request *self = op->subject;

    ilk__script_begin(&op->command, op->type->script, self->keys, 2);
    ilk__command_add_str(&op->command, self->id);
    ilk__command_add_int(&op->command, self->age_ms);
}

static ilk__act has_outcome(ilk__op *op, const ilk__reply *reply)
{
    outcome_request *self = op->subject;

    self->request.result.number = ilk__script_int(reply, 0);
    return ilk__op_done(op, ILK_OK);
}

/* `reads`, although it may write: a missing reply can be ignored, because a
 * transaction that the call has aborted was not known to be committed. */
static const ilk__op_type store_outcome = {.name = "store_outcome",
                                           .script = ILK__SCRIPT_STORE_OUTCOME,
                                           .reply_is_optional = 1,
                                           .ask = ask_outcome,
                                           .reply = has_outcome};

static void end_outcome(ilk__request *request, ilk_status status)
{
    outcome_request *self = (outcome_request *)request;

    ilk__keys_free(self->keys, 2);
    ilk__request_end(request, status);
}

/* `<token>-<ms>`, as transaction.c writes it. */
static ilk_status take_id(outcome_request *self, ilk_error *err)
{
    const char *id = self->given;
    size_t len = id ? strlen(id) : 0;
    int64_t sent_ms = 0;

    if (len != ILK__TXN_ID || id[ILK__TXN_TOKEN] != '-'
        || strspn(id, "0123456789abcdef") != ILK__TXN_TOKEN
        || strspn(id + ILK__TXN_TOKEN + 1, "0123456789")
               != len - ILK__TXN_TOKEN - 1)
        return ilk__fail(err, ILK_EINVAL, "id must be a transaction's");
    for (size_t i = ILK__TXN_TOKEN + 1; i < len; i++)
        sent_ms = sent_ms * 10 + (id[i] - '0');
    memcpy(self->id, id, len + 1);
    self->age_ms = ilk__store_time_ms() - sent_ms;
    if (self->age_ms < 0)
        self->age_ms = 0;
    return ILK_OK;
}

static ilk_status prepare(outcome_request *self, ilk_error *err)
{
    ilk_status st = ilk__client_enter(self->store->client, err);

    if (st == ILK_OK)
        st = take_id(self, err);
    if (st)
        return st;
    for (size_t i = 0; i < 2; i++) {
        const ilk__bytes *from = &self->store->keys[1 - i];

        self->keys[i] =
            (ilk__bytes){ilk__memdup(from->data, from->len), from->len};
        if (!self->keys[i].data)
            return ilk__fail(err, ILK_ENOMEM, "out of memory");
    }
    return ILK_OK;
}

static void begin_outcome(ilk__request *request)
{
    outcome_request *self = (outcome_request *)request;
    ilk_status st = prepare(self, request->err);

    if (st)
        end_outcome(request, st);
    else
        ilk__request_ask(request, &store_outcome, self,
                         ilk__request_patience(request), end_outcome);
}

ilk_status ilk_store_outcome(ilk_store *store, const char *id,
                             int32_t *out_outcome, ilk_error *err)
{
    outcome_request self = {.store = store, .given = id};
    ilk_status st;

    if (!store || !out_outcome)
        return ilk__fail(err, ILK_EINVAL, "%s must not be NULL",
                         store ? "out_outcome" : "store");
    st = ilk__request_run(&self.request, store->client, begin_outcome, err);
    if (st == ILK_OK)
        *out_outcome = (int32_t)self.request.result.number;
    return st;
}

ilk_status ilk_store_outcome_start(ilk_op **out, ilk_store *store,
                                   const char *id, ilk_error *err)
{
    outcome_request self = {.store = store, .given = id};

    if (!store)
        return ilk__started_none(
            out, ilk__fail(err, ILK_EINVAL, "store must not be NULL"));
    return ilk__request_start(out, &self.request, sizeof self, store->client,
                              begin_outcome, err);
}

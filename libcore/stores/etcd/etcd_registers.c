/* SPDX-License-Identifier: MIT */
/*
 * etcd_registers.c -- registers as keys of etcd.
 *
 *     ilk:register:{limit}                v100      a value; the version is the
 *                                                   key's mod_revision
 *     ilk:register:{limit}                d         it was deleted
 *     ilk:register:once:{limit}/5b0c..e2            a change that was made
 *
 * A change is one transaction: it compares that its own key below `once` does not
 * exist, and the version if it names one, and puts both keys. So a copy that is
 * executed once more, or late, finds its own key and changes nothing; the revision
 * that created that key is the version of the change.
 *
 * The keys below `once` end with a lease that this client begins when it needs one
 * and uses for half of its time, so each lasts a minute at least. A deleted value
 * has such a lease as well, of two days.
 *
 * A watch begins at the present revision. A waiter that has read at an earlier one may
 * have missed a change, and so has one whose watch was interrupted: both are woken
 * when the watch is there, and read again.
 */
#include "etcd_store.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <string.h>

enum { VALUE = 'v', DELETED = 'd' };

/* For half of its time a lease is used. */
enum { ONCE_S = 120, DELETED_S = 2 * 86400 };

/* at_store of a name: it is watched, or was. */
typedef struct etcd_register {
    struct etcd_register *next, *previous; /* of the store */
    ilk__register_name *name;
    ilk__etcd_store *store;
    ilk__etcd_watch *watch;
    int64_t watch_at;   /* not before: after a failure */
    int64_t created_at; /* revision of the watch; 0: it is not there yet */
    int64_t read_at;    /* the earliest revision of a reading since then */
    int was_interrupted;
} etcd_register;

/* A change under way: its parts are the request's. */
typedef struct etcd_change {
    ilk__register_name *name;
    ilk__gateway_request *request;
    ilk__register_change change;
    ilk__etcd_loan *grants; /* the lease that is begun */
    int attempts;
} etcd_change;

static const char makes_no_sense[] = "ERR an answer of etcd makes no sense";

/* ---- the state of a key --------------------------------------------------- */

/* An error, or NULL. */
static const char *parse_state(ilk__register_state *out,
                               const ilk__etcd_op_answer *op)
{
    const ilk__etcd_kv *kv = op->kvs;

    *out = (ilk__register_state){0};
    if (!op->kv_count)
        return NULL;
    if (kv->mod_revision < 1)
        return makes_no_sense;
    if (!kv->value.len
        || (kv->value.at[0] != VALUE
            && (kv->value.at[0] != DELETED || kv->value.len != 1)))
        return "WRONGTYPE the key of the register has a value of another kind";
    out->version = kv->mod_revision;
    out->has_value = kv->value.at[0] == VALUE;
    out->value = (ilk__span){kv->value.at + 1, kv->value.len - 1};
    return NULL;
}

/* ---- reading --------------------------------------------------------------- */

/* A waiter that has read before the watch began may have missed a change. */
static void note_reading(const ilk__register_name *name, int64_t revision,
                         int *out_missed)
{
    etcd_register *at = name->at_store;

    *out_missed = 0;
    if (!at)
        return;
    if (at->created_at)
        *out_missed = revision < at->created_at;
    else if (revision < at->read_at)
        at->read_at = revision;
}

static void was_read(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    ilk__register_name *name = step->context;
    ilk__register_state state = {0};
    const char *error = answer->error;
    int missed = 0;

    if (step->store->is_closing) {
        ilk__register_change_failed(name, step->request, NULL);
        return;
    }
    if (!answer->status)
        error = answer->op_count == 1 ? parse_state(&state, &answer->ops[0])
                                      : makes_no_sense;
    if (!error)
        note_reading(name, answer->revision, &missed);
    ilk__register_was_read(name, step->request, &state, error);
    if (missed)
        ilk__register_has_changed(name);
}

void ilk__etcd_register_read(void *self, ilk__register_name *name,
                             ilk__gateway_request *request)
{
    const ilk__etcd_op get =
        ilk__etcd_get(name->state.key.data, name->state.key.len);
    const ilk__etcd_txn txn = {
        .then_ops = &get, .then_count = 1, .may_repeat = 1};
    ilk__etcd_step *step = ilk__etcd_step_new(self, was_read, NULL, NULL, NULL);

    if (!step) {
        ilk__register_was_read(name, request, NULL, ilk__etcd_no_memory);
        return;
    }
    step->context = name;
    step->request = request;
    ilk__etcd_step_commit(step, &txn);
}

/* ---- leases that are used for some time ------------------------------------ */

static void send_change(ilk__etcd_store *store, etcd_change *work);

static void end_change(etcd_change *work, const char *error)
{
    ilk__register_change_failed(work->name, work->request, error);
    ilk__free(work);
}

static void granted(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    etcd_change *work = step->context;

    if (step->store->is_closing) {
        end_change(work, NULL);
    } else if (answer->status) {
        end_change(work, answer->error);
    } else {
        work->grants->id = answer->lease;
        work->grants->until = answer->sent_at + step->number * 1000 / 2;
        send_change(step->store, work);
    }
}

/* 0: it is to come, or the change has failed. */
static int has_lease(ilk__etcd_store *store, etcd_change *work,
                     ilk__etcd_loan *loan, int64_t ttl_s)
{
    ilk__etcd_step *step;

    if (loan->id && ilk__now_ms() < loan->until)
        return 1;
    step = ilk__etcd_step_new(store, granted, NULL, NULL, NULL);
    if (!step) {
        end_change(work, ilk__etcd_no_memory);
        return 0;
    }
    step->context = work;
    step->number = ttl_s;
    work->grants = loan;
    ilk__etcd_step_grant(step, 0, ttl_s);
    return 0;
}

/* ---- changing -------------------------------------------------------------- */

/* The answer to a change that did not match: `once` has an earlier copy; or the key has
 * another version, or no value to delete. */
static const char *parse_refusal(int64_t *out_earlier,
                                 ilk__register_state *out_state,
                                 const ilk__etcd_answer *answer)
{
    *out_earlier = 0;
    if (answer->op_count != 2)
        return makes_no_sense;
    if (!answer->ops[0].kv_count)
        return parse_state(out_state, &answer->ops[1]);
    *out_earlier = answer->ops[0].kvs[0].create_revision;
    return *out_earlier > 0 ? NULL : makes_no_sense;
}

static void refused(etcd_change *work, const ilk__etcd_answer *answer)
{
    ilk__register_state state = {0};
    int64_t earlier;
    const char *error = parse_refusal(&earlier, &state, answer);

    if (error)
        ilk__register_change_failed(work->name, work->request, error);
    else if (earlier)
        ilk__register_had_changed(work->name, work->request, earlier);
    else if (work->change.known < 0 && !work->change.deletes)
        ilk__register_change_failed(work->name, work->request, makes_no_sense);
    else
        ilk__register_was_refused(work->name, work->request, &state,
                                  ILK__DOUBT_NONE);
    ilk__free(work);
}

static void committed(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    ilk__etcd_store *store = step->store;
    etcd_change *work = step->context;

    if (!store->is_closing && answer->is_gone
        && ++work->attempts < ILK__ETCD_ATTEMPTS) {
        store->once = store->deleted = (ilk__etcd_loan){0};
        send_change(store, work);
    } else if (store->is_closing || (answer->status && answer->may_have_run)) {
        end_change(work, NULL); /* the core repeats it, under the same token */
    } else if (answer->status) {
        end_change(work, answer->error);
    } else if (answer->succeeded) {
        ilk__register_was_changed(work->name, work->request, answer->revision,
                                  ILK__DOUBT_NONE);
        ilk__free(work);
    } else {
        refused(work, answer);
    }
}

/* `<keys[1]>/<token>`. ILK_ENOMEM. */
static ilk_status make_once_key(ilk__bytes *out, const etcd_change *work)
{
    const ilk__reply *prefix = work->request->keys[1];
    const ilk__span token = work->change.token;

    out->len = prefix->len + 1 + token.len;
    out->data = ilk__malloc(out->len);
    if (!out->data)
        return ILK_ENOMEM;
    memcpy(out->data, prefix->str, prefix->len);
    out->data[prefix->len] = '/';
    memcpy(out->data + prefix->len + 1, token.at, token.len);
    return ILK_OK;
}

/* The byte of the kind, and the value. ILK_ENOMEM. */
static ilk_status make_value(ilk__bytes *out, const etcd_change *work)
{
    const ilk__span value = work->change.value;
    const int deletes = work->change.deletes;

    out->len = deletes ? 1 : 1 + value.len;
    out->data = ilk__malloc(out->len);
    if (!out->data)
        return ILK_ENOMEM;
    out->data[0] = (char)(deletes ? DELETED : VALUE);
    if (!deletes && value.len)
        memcpy(out->data + 1, value.at, value.len);
    return ILK_OK;
}

static void commit(ilk__etcd_step *step, ilk__bytes once, ilk__bytes value)
{
    static const char deleted[] = {DELETED};
    const ilk__etcd_store *store = step->store;
    const etcd_change *work = step->context;
    const ilk__bytes key = work->name->state.key;
    const ilk__etcd_op puts[] = {
        {.kind = ILK__ETCD_PUT,
         .key = {key.data, key.len},
         .value = {value.data, value.len},
         .lease = work->change.deletes ? store->deleted.id : 0},
        {.kind = ILK__ETCD_PUT,
         .key = {once.data, once.len},
         .lease = store->once.id}};
    const ilk__etcd_op gets[] = {ilk__etcd_get(once.data, once.len),
                                 ilk__etcd_get(key.data, key.len)};
    ilk__etcd_compare compares[3];
    ilk__etcd_txn txn = {.compares = compares,
                         .then_ops = puts,
                         .then_count = 2,
                         .else_ops = gets,
                         .else_count = 2,
                         .may_repeat = 1};

    compares[txn.compare_count++] = ilk__etcd_compare_number(
        ILK__ETCD_CREATE_REVISION, once.data, once.len, 0);
    if (work->change.known >= 0)
        compares[txn.compare_count++] = ilk__etcd_compare_number(
            ILK__ETCD_MOD_REVISION, key.data, key.len, work->change.known);
    if (work->change.deletes) /* fails for a key that does not exist, too */
        compares[txn.compare_count++] =
            (ilk__etcd_compare){.target = ILK__ETCD_VALUE,
                                .relation = ILK__ETCD_NOT_EQUAL,
                                .key = {key.data, key.len},
                                .value = {deleted, sizeof deleted}};
    ilk__etcd_step_commit(step, &txn);
}

static void send_change(ilk__etcd_store *store, etcd_change *work)
{
    ilk__bytes once = {NULL, 0}, value = {NULL, 0};
    ilk__etcd_step *step;

    if (!has_lease(store, work, &store->once, ONCE_S)
        || (work->change.deletes
            && !has_lease(store, work, &store->deleted, DELETED_S)))
        return;
    step = ilk__etcd_step_new(store, committed, NULL, NULL, NULL);
    if (!step || make_once_key(&once, work) || make_value(&value, work)) {
        ilk__etcd_step_free(step);
        end_change(work, ilk__etcd_no_memory);
    } else {
        step->context = work;
        commit(step, once, value);
    }
    ilk__free(once.data);
    ilk__free(value.data);
}

void ilk__etcd_register_change(void *self, ilk__register_name *name,
                               const ilk__register_change *change,
                               ilk__gateway_request *request)
{
    etcd_change *work = ilk__calloc(1, sizeof *work);

    if (!work) {
        ilk__register_change_failed(name, request, ilk__etcd_no_memory);
        return;
    }
    work->name = name;
    work->request = request;
    work->change = *change;
    send_change(self, work);
}

/* ---- watching -------------------------------------------------------------- */

static void begin_watch(etcd_register *at);

static void watch_later(etcd_register *at)
{
    at->watch = NULL;
    at->watch_at = ilk__now_ms() + ILK__ETCD_AGAIN_MS;
    at->store->registers_due =
        ilk__sooner(at->store->registers_due, at->watch_at);
}

static void has_begun(etcd_register *at, int64_t revision)
{
    const int has_missed = at->was_interrupted || revision > at->read_at;

    at->created_at = revision;
    at->was_interrupted = 0;
    at->read_at = INT64_MAX;
    if (has_missed)
        ilk__register_has_changed(at->name);
}

static void on_news(void *owner, const ilk__etcd_news *news)
{
    etcd_register *at = owner;

    switch (news->kind) {
    case ILK__ETCD_CREATED: has_begun(at, news->revision); break;
    case ILK__ETCD_KEY_PUT:
    case ILK__ETCD_KEY_DELETED: ilk__register_has_changed(at->name); break;
    case ILK__ETCD_PROGRESS: break;
    case ILK__ETCD_ENDED:
        at->created_at = 0;
        at->was_interrupted = 1;
        watch_later(at);
        break;
    }
}

static void begin_watch(etcd_register *at)
{
    const ilk__etcd_watch_request request = {
        .key = {at->name->state.key.data, at->name->state.key.len}};

    if (ilk__etcd_watch_begin(&at->watch, at->store->client, &request, 0,
                              on_news, at))
        watch_later(at);
}

static void free_register(etcd_register *at)
{
    *(at->previous ? &at->previous->next : &at->store->registers_watched) =
        at->next;
    if (at->next)
        at->next->previous = at->previous;
    ilk__free(at);
}

ilk_status ilk__etcd_register_watch(void *self, ilk__register_name *name,
                                    int begins)
{
    ilk__etcd_store *store = self;
    etcd_register *at = name->at_store;

    if (!begins) {
        if (at && at->watch)
            ilk__etcd_watch_cancel(at->watch);
        if (at)
            free_register(at);
        name->at_store = NULL;
        return ILK_OK;
    }
    at = ilk__calloc(1, sizeof *at);
    if (!at)
        return ILK_ENOMEM;
    at->name = name;
    at->store = store;
    at->read_at = INT64_MAX;
    at->next = store->registers_watched;
    if (at->next)
        at->next->previous = at;
    store->registers_watched = at;
    name->at_store = at;
    begin_watch(at);
    return ILK_OK;
}

void ilk__etcd_register_forget(void *self, ilk__register_name *name)
{
    (void)self;
    if (name->at_store)
        free_register(name->at_store);
    name->at_store = NULL;
}

void ilk__etcd_registers_fire(ilk__etcd_store *store, int64_t now)
{
    if (now < store->registers_due)
        return;
    store->registers_due = ILK__FOREVER;
    for (etcd_register *at = store->registers_watched; at; at = at->next)
        if (!at->watch && now >= at->watch_at)
            begin_watch(at);
        else if (!at->watch)
            store->registers_due =
                ilk__sooner(store->registers_due, at->watch_at);
}

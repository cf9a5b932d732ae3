/* SPDX-License-Identifier: MIT */
/*
 * etcd_inspect.c -- reads, breaks and limits: what does not belong to a contender.
 *
 * An inspection reads the list with as many values as are wanted; then, of an
 * election, the leader's key and its client's; then how long the first holder's lease
 * lasts, unless the holder is this client's. When the leader has changed between the
 * first two, it begins again.
 */
#include "etcd_store.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_OPS = 3, BREAKS_MOST = 60, CLIENT_TEXT = 48, LIMIT_TEXT = 48 };

typedef struct inspection {
    ilk__contended_state state;
    size_t most;
    int64_t lease; /* of the first holder */
    char *leader;  /* its key, of an election */
    size_t leader_len;
    char *value, *who; /* of the leader */
    char *texts;       /* of all entries */
    ilk__contended_entry entries[];
} inspection;

static void free_inspection(inspection *one)
{
    if (!one)
        return;
    ilk__free(one->leader);
    ilk__free(one->value);
    ilk__free(one->who);
    ilk__free(one->texts);
    ilk__free(one);
}

static void begin(ilk__etcd_store *store, ilk__etcd_name *name, size_t most,
                  ilk__gateway_request *request, int attempts);

/* It ends here. */
static void report(ilk__etcd_step *step, inspection *one, const char *error)
{
    static const ilk__contended_state nothing;

    if (step->name->contended && !step->store->is_closing)
        ilk__contention_inspected(step->name->contended, step->request,
                                  one ? &one->state : &nothing, error);
    free_inspection(one);
}

static ilk__etcd_step *next_step(const ilk__etcd_step *step,
                                 ilk__etcd_then *then, inspection *one)
{
    ilk__etcd_step *next =
        ilk__etcd_step_new(step->store, then, step->name, NULL, NULL);

    if (!next)
        return NULL;
    next->request = step->request;
    next->context = one;
    next->attempts = step->attempts;
    return next;
}

/* ---- the holder's lease -------------------------------------------------- */

static void has_lease(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    inspection *one = step->context;

    if (!answer->status && answer->ttl_s > 0
        && answer->ttl_s < INT64_MAX / 1000)
        one->entries[0].lease_ms = answer->ttl_s * 1000;
    report(step, one, NULL);
}

static void read_lease(ilk__etcd_step *step, inspection *one)
{
    ilk__etcd_step *next;

    if (!one->state.holders || one->entries[0].lease_ms >= 0 || !one->lease) {
        report(step, one, NULL);
        return;
    }
    next = next_step(step, has_lease, one);
    if (!next)
        report(step, one, ilk__etcd_no_memory);
    else
        ilk__etcd_step_time_to_live(next, one->lease);
}

/* ---- the leader ---------------------------------------------------------- */

static int copy_leader(inspection *one, const ilk__etcd_answer *answer)
{
    const ilk__etcd_op_answer *leader = &answer->ops[0],
                              *client = &answer->ops[1];

    one->state.version = leader->kvs[0].version;
    one->value = ilk__memdup(leader->kvs[0].value.at, leader->kvs[0].value.len);
    one->state.value = (ilk__span){one->value, leader->kvs[0].value.len};
    if (client->kv_count && one->entries[0].token.len) {
        one->who =
            ilk__memdup(client->kvs[0].value.at, client->kvs[0].value.len);
        one->entries[0].who = (ilk__span){one->who, client->kvs[0].value.len};
        if (!one->who)
            return 0;
    }
    return one->value != NULL;
}

static void has_leader(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    inspection *one = step->context;

    if (answer->status) {
        report(step, one, answer->error);
    } else if (answer->op_count < 2 || !answer->ops[0].kv_count
               || answer->ops[0].kvs[0].create_revision
                      != one->entries[0].fence) {
        if (step->attempts >= ILK__ETCD_ATTEMPTS) {
            report(step, one,
                   "ERR etcd: the leader changes all the time; try again");
            return;
        }
        if (step->name->contended && !step->store->is_closing)
            begin(step->store, step->name, one->most, step->request,
                  step->attempts + 1);
        free_inspection(one);
    } else if (!copy_leader(one, answer)) {
        report(step, one, ilk__etcd_no_memory);
    } else {
        read_lease(step, one);
    }
}

static void read_leader(ilk__etcd_step *step, inspection *one)
{
    ilk__etcd_step *next = next_step(step, has_leader, one);
    char client[CLIENT_TEXT];
    const int len = snprintf(client, sizeof client, "ilk:client/%" PRIx64,
                             (uint64_t)one->lease);
    const ilk__etcd_op ops[] = {ilk__etcd_get(one->leader, one->leader_len),
                                ilk__etcd_get(client, (size_t)len)};

    if (!next)
        report(step, one, ilk__etcd_no_memory);
    else
        ilk__etcd_step_commit(
            next, &(ilk__etcd_txn){.then_ops = ops, .then_count = 2});
}

/* ---- the list ------------------------------------------------------------ */

static int64_t hex_number(ilk__span digits)
{
    char text[17];

    if (digits.len > 16)
        return 0;
    memcpy(text, digits.at, digits.len);
    text[digits.len] = '\0';
    return (int64_t)strtoull(text, NULL, 16);
}

static ilk__span keep(char **to, ilk__span text)
{
    const ilk__span kept = {*to, text.len};

    if (text.len)
        memcpy(*to, text.at, text.len);
    *to += text.len;
    return kept;
}

/* The text of a key; value: NULL when it was not read. A candidate's has no text
 * of ours. */
static ilk__etcd_value text_of(const ilk__etcd_shape *shape,
                               const ilk__etcd_kv *value)
{
    ilk__etcd_value text = {.token = shape->token, .who = shape->lease};

    if (value && !shape->is_foreign && shape->kind != ILK__CONTENDER_CANDIDATE)
        ilk__etcd_value_parse(&text, value->value);
    return text;
}

static void fill_entry(ilk__contended_entry *out, char **texts,
                       const ilk__etcd_shape *shape, const ilk__etcd_kv *key,
                       const ilk__etcd_kv *value)
{
    const ilk__etcd_value text = text_of(shape, value);

    *out = (ilk__contended_entry){.kind = (char)shape->kind,
                                  .permits = shape->permits,
                                  .fence = key->create_revision,
                                  .lease_ms = -1};
    out->since_ms = text.since_ms;
    out->token.at = *texts;
    out->token.len = ilk__etcd_token_decode(*texts, text.token);
    *texts += out->token.len;
    out->who = keep(texts, text.who);
}

static const ilk__etcd_entry *find_own(const ilk__etcd_store *store,
                                       ilk__span key)
{
    ilk__node *node = ilk__table_find(&store->by_key, key.at, key.len);

    return node ? (const ilk__etcd_entry *)((char *)node
                                            - offsetof(ilk__etcd_entry, by_key))
                : NULL;
}

/* The delete of a wait that this client has ended may come after the read. */
static int is_leaving_wait(const ilk__etcd_entry *entry)
{
    return entry && entry->leaves && !entry->holds;
}

static size_t count_leaving(const ilk__etcd_name *name)
{
    size_t count = 0;

    for (ilk__contender *one = name->contended->first; one; one = one->next)
        count += (size_t)is_leaving_wait(one->at_store);
    return count;
}

/* The end of an own hold is known. */
static int64_t own_lease_ms(const ilk__etcd_store *store, ilk__span key)
{
    const ilk__etcd_entry *entry = find_own(store, key);
    int64_t left;

    if (!entry || !entry->contender
        || entry->contender->state != ILK__CONTENDER_HOLDS)
        return -1;
    left = entry->contender->ends - ilk__now_ms();
    return left > 0 ? left : 0;
}

static int note_first(inspection *one, const ilk__etcd_name *name,
                      const ilk__etcd_shape *shape, ilk__span key)
{
    one->lease = hex_number(shape->lease);
    one->entries[0].lease_ms = own_lease_ms(name->store, key);
    if (name->kind != ILK__CONTENDED_ELECTION)
        return 1;
    one->leader = ilk__memdup(key.at, key.len);
    one->leader_len = key.len;
    return one->leader != NULL;
}

static size_t texts_room(const ilk__etcd_op_answer *list,
                         const ilk__etcd_op_answer *values)
{
    size_t room = 1;

    for (size_t i = 0; i < list->kv_count; i++)
        room += 2 * list->kvs[i].key.len;
    for (size_t i = 0; values && i < values->kv_count; i++)
        room += values->kvs[i].value.len;
    return room;
}

/* All contenders are counted; the first of them get entries. 0: no memory. */
static int fill(inspection *one, const ilk__etcd_name *name,
                const ilk__etcd_op_answer *list,
                const ilk__etcd_op_answer *values)
{
    ilk__queue_entry *order = ilk__calloc(list->kv_count + 1, sizeof *order);
    char *to = one->texts = ilk__malloc(texts_room(list, values));
    int is_good = order && to;
    ilk__etcd_shape shape;
    size_t count = 0;

    for (size_t i = 0; is_good && i < list->kv_count; i++) {
        const ilk__etcd_kv *key = &list->kvs[i];
        const ilk__etcd_kv *value =
            values && i < values->kv_count ? &values->kvs[i] : NULL;

        if (!ilk__etcd_key_parse(&shape, name, key->key)
            || is_leaving_wait(find_own(name->store, key->key)))
            continue;
        order[count] = (ilk__queue_entry){.number = key->create_revision,
                                          .permits = shape.permits,
                                          .kind = shape.kind};
        if (count < one->most)
            fill_entry(&one->entries[count], &to, &shape, key, value);
        if (count == 0)
            is_good = note_first(one, name, &shape, key->key);
        if (one->state.holders == count
            && ilk__name_queue_holds(order, count + 1, count, one->state.limit))
            one->state.holders++;
        else
            one->state.waiters++;
        count++;
    }
    ilk__free(order);
    return is_good;
}

static void has_list(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    ilk__etcd_name *name = step->name;
    const size_t most = (size_t)step->number, at = name->limit_key ? 1 : 0;
    inspection *one;

    if (answer->status || answer->op_count < at + 2) {
        report(step, NULL,
               answer->status ? answer->error
                              : "ERR etcd: an answer is too short");
        return;
    }
    one = ilk__calloc(1, sizeof *one + most * sizeof one->entries[0]);
    if (!one) {
        report(step, NULL, ilk__etcd_no_memory);
        return;
    }
    one->most = most;
    one->state.entries = one->entries;
    if (name->limit_key) {
        (void)ilk__etcd_limit_parse(name, &answer->ops[0]);
        one->state.limit = name->limit;
    }
    if (!fill(one, name, &answer->ops[at], &answer->ops[at + 1]))
        report(step, one, ilk__etcd_no_memory);
    else if (name->kind == ILK__CONTENDED_ELECTION && one->state.holders)
        read_leader(step, one);
    else
        read_lease(step, one);
}

/* Values of keys that are no contenders may be among the first ones: with them, all
 * values are read. */
static void begin(ilk__etcd_store *store, ilk__etcd_name *name, size_t most,
                  ilk__gateway_request *request, int attempts)
{
    ilk__etcd_step *step =
        ilk__etcd_step_new(store, has_list, name, NULL, NULL);
    ilk__etcd_op ops[LIST_OPS];
    size_t count;

    if (!step) {
        ilk__contention_inspected(name->contended, request, NULL,
                                  ilk__etcd_no_memory);
        return;
    }
    step->mode = ILK__ETCD_READ_WHOLE;
    step->request = request;
    step->number = (int64_t)most;
    step->attempts = attempts;
    count = ilk__etcd_list_ops(step, ops);
    ops[count] = ops[count - 1];
    ops[count].keys_only = name->kind == ILK__CONTENDED_ELECTION;
    ops[count].limit = name->kind == ILK__CONTENDED_ELECTION ? 1
                       : name->has_strangers
                           ? 0
                           : (int64_t)(most + count_leaving(name));
    ilk__etcd_step_commit(
        step, &(ilk__etcd_txn){.then_ops = ops, .then_count = count + 1});
}

void ilk__etcd_inspect(void *self, ilk__contended *contended, int64_t most,
                       ilk__gateway_request *request)
{
    ilk__etcd_name *name;

    if (ilk__etcd_name_find(&name, self, contended))
        ilk__contention_inspected(contended, request, NULL,
                                  ilk__etcd_no_memory);
    else
        begin(self, name, most > 0 ? (size_t)most : 1, request, 0);
}

/* ---- breaking ------------------------------------------------------------ */

/* A transaction has a limited number of deletions, so many readers take several.
 * Those that came after the first list are not meant. `before`: the step of the last
 * transaction, whose `base` is the number of keys deleted so far; NULL at first. */
static void begin_break(ilk__etcd_store *store, ilk__etcd_name *name,
                        char *token, size_t token_len,
                        ilk__gateway_request *request,
                        const ilk__etcd_step *before);

static void end_break(ilk__etcd_step *step, int was_held, const char *error)
{
    ilk__free(step->context);
    step->context = NULL;
    if (step->name->contended && !step->store->is_closing)
        ilk__contention_broken(step->name->contended, step->request, was_held,
                               error);
}

static void end_unsure_break(ilk__etcd_step *step)
{
    ilk__free(step->context);
    step->context = NULL;
    if (step->name->contended && !step->store->is_closing)
        ilk__contention_break_unsure(step->name->contended, step->request);
}

/* A part may be broken already. */
static void fail_break(ilk__etcd_step *step, const char *error)
{
    if (step->base > 0)
        end_unsure_break(step);
    else
        end_break(step, 0, error);
}

static void has_broken(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    char *token = step->context;

    if (answer->status && answer->may_have_run) {
        end_unsure_break(step);
    } else if (answer->status) {
        fail_break(step, answer->error);
    } else if (answer->succeeded && step->deletes < BREAKS_MOST) {
        end_break(step, 1, NULL);
        if (step->name->contended && !step->store->is_closing) {
            step->name->must_read = 1;
            ilk__etcd_name_settle(step->name);
        }
    } else if (step->attempts >= ILK__ETCD_ATTEMPTS || !step->name->contended
               || step->store->is_closing) {
        fail_break(step,
                   "ERR etcd: the holders change all the time; try again");
    } else {
        step->context = NULL;
        if (answer->succeeded)
            step->base += (int64_t)step->deletes;
        step->attempts = answer->succeeded ? 0 : step->attempts + 1;
        begin_break(step->store, step->name, token, (size_t)step->number,
                    step->request, step);
    }
}

/* The keys of the holders that are meant: the first one, or all readers in front. Behind
 * readers that this break has deleted, an entry that is no reader's has become the
 * holder only now, and stays. */
static size_t find_targets(const ilk__etcd_step *step,
                           const ilk__etcd_op_answer *list,
                           const ilk__etcd_kv **targets)
{
    const ilk__span token = {step->context, (size_t)step->number};
    ilk__etcd_shape shape;
    size_t count = 0;
    int seen = step->base > 0;

    for (size_t i = 0; i < list->kv_count && count < BREAKS_MOST; i++) {
        if (!ilk__etcd_key_parse(&shape, step->name, list->kvs[i].key))
            continue;
        if (list->kvs[i].create_revision > step->until_revision
            || (seen && shape.kind != ILK__CONTENDER_READER))
            break;
        if (!token.len
            || (!shape.is_foreign
                && ilk__etcd_token_equals(text_of(&shape, &list->kvs[i]).token,
                                          token)))
            targets[count++] = &list->kvs[i];
        seen = 1;
        if (shape.kind != ILK__CONTENDER_READER)
            break;
    }
    return count;
}

static void has_break_list(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    const ilk__etcd_kv *targets[BREAKS_MOST];
    ilk__etcd_compare compares[BREAKS_MOST];
    ilk__etcd_op ops[BREAKS_MOST];
    ilk__etcd_step *next;
    size_t count;

    if (answer->status || !answer->op_count) {
        fail_break(step, answer->status ? answer->error
                                        : "ERR etcd: an empty answer");
        return;
    }
    if (!step->until_revision)
        step->until_revision = answer->revision;
    count = find_targets(step, &answer->ops[answer->op_count - 1], targets);
    if (!count) {
        end_break(step, step->base > 0, NULL);
        return;
    }
    next = next_step(step, has_broken, step->context);
    if (!next) {
        fail_break(step, ilk__etcd_no_memory);
        return;
    }
    step->context = NULL;
    next->number = step->number;
    next->base = step->base;
    next->until_revision = step->until_revision;
    next->deletes = count;
    for (size_t i = 0; i < count; i++) {
        const ilk__span key = targets[i]->key;

        compares[i] =
            ilk__etcd_compare_number(ILK__ETCD_CREATE_REVISION, key.at, key.len,
                                     targets[i]->create_revision);
        ops[i] = (ilk__etcd_op){.kind = ILK__ETCD_DELETE, .key = key};
    }
    ilk__etcd_step_commit(next, &(ilk__etcd_txn){.compares = compares,
                                                 .compare_count = count,
                                                 .then_ops = ops,
                                                 .then_count = count});
}

static void begin_break(ilk__etcd_store *store, ilk__etcd_name *name,
                        char *token, size_t token_len,
                        ilk__gateway_request *request,
                        const ilk__etcd_step *before)
{
    ilk__etcd_step *step =
        ilk__etcd_step_new(store, has_break_list, name, NULL, NULL);
    ilk__etcd_op ops[LIST_OPS];
    size_t count;

    if (!step) {
        ilk__free(token);
        if (before && before->base > 0)
            ilk__contention_break_unsure(name->contended, request);
        else
            ilk__contention_broken(name->contended, request, 0,
                                   ilk__etcd_no_memory);
        return;
    }
    step->mode = ILK__ETCD_READ_WHOLE;
    step->request = request;
    step->context = token;
    step->number = (int64_t)token_len;
    if (before) {
        step->attempts = before->attempts;
        step->base = before->base;
        step->until_revision = before->until_revision;
    }
    count = ilk__etcd_list_ops(step, ops);
    ops[count - 1].keys_only =
        !token_len || name->kind == ILK__CONTENDED_ELECTION;
    ilk__etcd_step_commit(
        step, &(ilk__etcd_txn){.then_ops = ops, .then_count = count});
}

void ilk__etcd_break(void *self, ilk__contended *contended, ilk__span token,
                     ilk__gateway_request *request)
{
    ilk__etcd_name *name;
    char *copy = ilk__memdup(token.at ? token.at : "", token.len);

    if (!copy || ilk__etcd_name_find(&name, self, contended)) {
        ilk__free(copy);
        ilk__contention_broken(contended, request, 0, ilk__etcd_no_memory);
        return;
    }
    begin_break(self, name, copy, token.len, request, NULL);
}

/* ---- a semaphore's limit ------------------------------------------------- */

static void write_limit(ilk__etcd_store *store, ilk__etcd_name *name,
                        const ilk__etcd_step *before);

static void has_limit(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    ilk__etcd_name *name = step->name;
    const int64_t limit_before = name->limit;

    if (!name->contended || step->store->is_closing)
        return;
    if (answer->status) {
        ilk__contention_limit_set(name->contended, step->request, 0,
                                  answer->error);
    } else if (answer->succeeded) {
        name->limit = step->number;
        name->base = step->base;
        name->limit_revision = answer->revision;
        ilk__contention_limit_set(name->contended, step->request,
                                  step->is_try ? limit_before : 0, NULL);
        name->must_read = 1;
        ilk__etcd_name_settle(name);
    } else if (step->attempts >= ILK__ETCD_ATTEMPTS || !answer->op_count) {
        ilk__contention_limit_set(name->contended, step->request, 0,
                                  "ERR etcd: the limit changes all the time");
    } else {
        (void)ilk__etcd_limit_parse(name, &answer->ops[0]);
        write_limit(step->store, name, step);
    }
}

/* `before`: an attempt under another revision of the key. */
static void write_limit(ilk__etcd_store *store, ilk__etcd_name *name,
                        const ilk__etcd_step *before)
{
    ilk__etcd_step *step =
        ilk__etcd_step_new(store, has_limit, name, NULL, NULL);
    const int64_t base = name->base ? name->base : before->base;
    const ilk__etcd_compare same =
        ilk__etcd_compare_number(ILK__ETCD_MOD_REVISION, name->limit_key,
                                 name->limit_len, name->limit_revision);
    const ilk__etcd_op get = ilk__etcd_get(name->limit_key, name->limit_len);
    char text[LIMIT_TEXT];
    const int len = snprintf(text, sizeof text, "%" PRId64 " %" PRId64,
                             before->number, base);
    const ilk__etcd_op put = {.kind = ILK__ETCD_PUT,
                              .key = {name->limit_key, name->limit_len},
                              .value = {text, (size_t)len}};

    if (!step) {
        ilk__contention_limit_set(name->contended, before->request, 0,
                                  ilk__etcd_no_memory);
        return;
    }
    step->request = before->request;
    step->number = before->number;
    step->base = base;
    step->attempts = before->attempts + 1;
    step->is_try = name->limit_revision != 0;
    ilk__etcd_step_commit(step, &(ilk__etcd_txn){.compares = &same,
                                                 .compare_count = 1,
                                                 .then_ops = &put,
                                                 .then_count = 1,
                                                 .else_ops = &get,
                                                 .else_count = 1});
}

void ilk__etcd_set_limit(void *self, ilk__contended *contended, int64_t limit,
                         int64_t base, ilk__gateway_request *request)
{
    const ilk__etcd_step wanted = {
        .request = request, .number = limit, .base = base};
    ilk__etcd_name *name;

    if (ilk__etcd_name_find(&name, self, contended))
        ilk__contention_limit_set(contended, request, 0, ilk__etcd_no_memory);
    else
        write_limit(self, name, &wanted);
}

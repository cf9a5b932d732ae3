/* SPDX-License-Identifier: MIT */
/*
 * etcd_groups.c -- groups as keys of etcd: one for each member.
 *
 *     ilk:group:{web}/10.0.0.1:80       1 <token> <data>
 *
 * The key of the group has %2F for '/' and %25 for '%', so its first slash ends it, and
 * no group has a key of another. The id follows as it is.
 *
 * A member's lease belongs to its key alone. The client chooses the lease's number, from
 * the token; so each copy of a join names the same lease, and the key's lease says
 * whose it is.
 *
 *     join     grant the lease, or keep it alive if an earlier copy has granted it;
 *              then put the key if there is none
 *     renew    keep the lease alive, and read the key at the same time
 *     update   read the key; put it if it has not changed since
 *     leave    delete the key if it has the lease; then revoke the lease
 *
 * A copy of the join that comes after the leave names a lease that etcd does not know,
 * and is refused. So the lease does what a void key does for contenders. (Only a
 * delayed copy of the grant with a delayed copy of the put behind it can bring the
 * member back, and that one ends with the lease, which nobody renews.)
 *
 * Members are listed by ranges as of one revision. A later list reads the keys that were
 * written since, and the number of all keys: when that equals the number of known
 * members, nobody else has left. A watch begins at the present revision and the list
 * follows it, because etcd serves watches of the past slowly; reports of changes that the
 * list has already are ignored by their revision.
 */
#include "etcd_store.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "redis/script.h"

#include <string.h>

enum { PAGE = 1000, SECOND = 1000 }; /* members in a range: 5 MB at most */

/* at_store of a name. */
typedef struct etcd_group {
    ilk__group_name *name;
    ilk__etcd_store *store;
    ilk__bytes prefix, prefix_end; /* the end is behind all its keys */
    ilk__etcd_watch *watch;        /* NULL: none */
    int awaits_watch;              /* a list follows when it is there */
    ilk__bytes from;  /* the list's next key; NULL: its first page */
    int64_t revision; /* of the list */
    int64_t known;    /* of the last whole one; 0: there is none */
    int attempts;
} etcd_group;

/* A request about a member. Its words are the request's. */
typedef struct etcd_member {
    const etcd_group *group;
    ilk__gateway_request *request;
    ilk__group_member member;
    int64_t lease;         /* its number */
    int64_t ends;          /* of the lease, by this clock */
    ilk__bytes key, value; /* the value of a join or an update */
    int pending;           /* answers that a renewal waits for */
    int is_lost;
    char *error; /* of the first one that failed, or NULL */
    int attempts;
} etcd_member;

static const char makes_no_sense[] = "ERR an answer of etcd makes no sense";
static const char is_closing[] = "ILKDOWN the client is being closed";

/* ---- names ----------------------------------------------------------------- */

/* ILK_ENOMEM. */
static ilk_status make_prefix(etcd_group *at)
{
    const ilk__bytes key = at->name->state.key;
    char *to = ilk__malloc(3 * key.len + 1);

    at->prefix.data = to;
    if (!to)
        return ILK_ENOMEM;
    for (size_t i = 0; i < key.len; i++) {
        const char one = key.data[i];

        *to++ = (char)(one == '/' ? '%' : one);
        if (one == '/' || one == '%') {
            *to++ = '2';
            *to++ = (char)(one == '/' ? 'F' : '5');
        }
    }
    *to++ = '/';
    at->prefix.len = (size_t)(to - at->prefix.data);
    at->prefix_end = (ilk__bytes){ilk__memdup(at->prefix.data, at->prefix.len),
                                  at->prefix.len};
    if (!at->prefix_end.data)
        return ILK_ENOMEM;
    at->prefix_end.data[at->prefix.len - 1] = '/' + 1;
    return ILK_OK;
}

void ilk__etcd_group_forget(void *self, ilk__group_name *name)
{
    etcd_group *at = name->at_store;

    (void)self;
    if (!at)
        return;
    if (at->watch)
        ilk__etcd_watch_cancel(at->watch);
    name->at_store = NULL;
    ilk__free(at->prefix.data);
    ilk__free(at->prefix_end.data);
    ilk__free(at->from.data);
    ilk__free(at);
}

/* NULL: no memory. */
static etcd_group *find_group(ilk__etcd_store *store, ilk__group_name *name)
{
    etcd_group *at = name->at_store;

    if (at)
        return at;
    at = ilk__calloc(1, sizeof *at);
    if (!at)
        return NULL;
    at->name = name;
    at->store = store;
    name->at_store = at;
    if (make_prefix(at)) {
        ilk__etcd_group_forget(store, name);
        return NULL;
    }
    return at;
}

/* ---- requests about a member ------------------------------------------------ */

static void free_member(etcd_member *work)
{
    ilk__free(work->key.data);
    ilk__free(work->value.data);
    ilk__free(work->error);
    ilk__free(work);
}

static void end_failed(etcd_member *work, const char *error)
{
    ilk__group_failed(work->group->name, work->request, error);
    free_member(work);
}

static void end_lost(etcd_member *work)
{
    ilk__group_lost(work->group->name, work->request);
    free_member(work);
}

static void end_done(etcd_member *work)
{
    ilk__group_done(work->group->name, work->request);
    free_member(work);
}

static int is_join(const etcd_member *work)
{
    return work->request->script == ILK__SCRIPT_GROUP_JOIN;
}

/* The rest of the lease counts from the sending of the request that began or renewed
 * it. */
static void end_held(etcd_member *work)
{
    const int64_t left = work->ends - ilk__now_ms();

    if (left <= 0) {
        end_failed(work, is_join(work) ? NULL
                                       : "ILKDOWN etcd answers later than the "
                                         "lease ends");
        return;
    }
    ilk__group_held(work->group->name, work->request, left);
    free_member(work);
}

/* Whether the work goes on after this answer. The core repeats what may have been
 * executed, under the same token. */
static int goes_on(etcd_member *work, const ilk__etcd_answer *answer)
{
    if (work->group->store->is_closing
        || (answer->status && answer->may_have_run))
        end_failed(work, NULL);
    else if (answer->status)
        end_failed(work, answer->error);
    else
        return 1;
    return 0;
}

/* The server may have granted a longer lease. */
static void note_lease(etcd_member *work, const ilk__etcd_answer *answer)
{
    const int64_t wanted = work->member.lease_ms;
    const int64_t ttl_ms =
        answer->ttl_s <= wanted / SECOND ? answer->ttl_s * SECOND : wanted;

    work->ends = answer->sent_at + ttl_ms;
}

/* NULL: no memory, and the work has ended. */
static ilk__etcd_step *step_of(etcd_member *work, ilk__etcd_then *then)
{
    ilk__etcd_step *step =
        ilk__etcd_step_new(work->group->store, then, NULL, NULL, NULL);

    if (step)
        step->context = work;
    else
        end_failed(work, ilk__etcd_no_memory);
    return step;
}

static ilk__etcd_op get_own(const etcd_member *work)
{
    return ilk__etcd_get(work->key.data, work->key.len);
}

static ilk__etcd_op put_own(const etcd_member *work)
{
    return (ilk__etcd_op){.kind = ILK__ETCD_PUT,
                          .key = {work->key.data, work->key.len},
                          .value = {work->value.data, work->value.len},
                          .lease = work->lease};
}

static ilk__etcd_compare compare_own(const etcd_member *work,
                                     ilk__etcd_target target, int64_t number)
{
    return ilk__etcd_compare_number(target, work->key.data, work->key.len,
                                    number);
}

/* `then_op` if the key has this; else the answer has the key. */
static void commit(etcd_member *work, ilk__etcd_then *then,
                   ilk__etcd_compare compare, ilk__etcd_op then_op)
{
    const ilk__etcd_op own = get_own(work);
    ilk__etcd_step *step = step_of(work, then);

    if (step)
        ilk__etcd_step_commit(step, &(ilk__etcd_txn){.compares = &compare,
                                                     .compare_count = 1,
                                                     .then_ops = &then_op,
                                                     .then_count = 1,
                                                     .else_ops = &own,
                                                     .else_count = 1,
                                                     .may_repeat = 1});
}

/* The member's key in an answer; NULL: it is not in. */
static const ilk__etcd_kv *own_of(const etcd_member *work,
                                  const ilk__etcd_answer *answer)
{
    return answer->op_count == 1 && answer->ops[0].kind == ILK__ETCD_RANGE
                   && answer->ops[0].kv_count
                   && answer->ops[0].kvs[0].lease == work->lease
               ? answer->ops[0].kvs
               : NULL;
}

static int has_value(const etcd_member *work, const ilk__etcd_kv *kv)
{
    return kv->value.len == work->value.len
           && memcmp(kv->value.at, work->value.data, kv->value.len) == 0;
}

/* A number that only this token has, of the 63 bits that a lease may have. */
static int64_t lease_number(ilk__span token)
{
    const uint64_t hash = ilk__hash(ILK__HASH_START, token.at, token.len);

    return (int64_t)(hash >> 1) ? (int64_t)(hash >> 1) : 1;
}

/* NULL: no memory, and the request has ended. */
static etcd_member *new_member(ilk__etcd_store *store, ilk__group_name *name,
                               const ilk__group_member *member,
                               ilk__gateway_request *request)
{
    const etcd_group *at = find_group(store, name);
    etcd_member *work = at ? ilk__calloc(1, sizeof *work) : NULL;
    size_t len;

    if (!work) {
        ilk__group_failed(name, request, ilk__etcd_no_memory);
        return NULL;
    }
    work->group = at;
    work->request = request;
    work->member = *member;
    work->lease = lease_number(member->token);
    len = at->prefix.len + member->id.len;
    work->key = (ilk__bytes){ilk__malloc(len), len};
    if (!work->key.data || ilk__group_value(&work->value, member)) {
        end_failed(work, ilk__etcd_no_memory);
        return NULL;
    }
    memcpy(work->key.data, at->prefix.data, at->prefix.len);
    memcpy(work->key.data + at->prefix.len, member->id.at, member->id.len);
    return work;
}

/* ---- update ----------------------------------------------------------------- */

static void write_over(etcd_member *work, const ilk__etcd_kv *kv);
static void grant(etcd_member *work, const char *error);

static void has_value_now(etcd_member *work)
{
    if (is_join(work))
        end_held(work);
    else
        end_done(work);
}

static void has_ended(etcd_member *work)
{
    if (is_join(work))
        grant(work, "ERR etcd ends the lease of the member at once");
    else
        end_lost(work);
}

/* A copy whose answer was lost may have written it. */
static void has_own(etcd_member *work, const ilk__etcd_kv *kv)
{
    if (!kv)
        has_ended(work);
    else if (has_value(work, kv))
        has_value_now(work);
    else
        write_over(work, kv);
}

static void was_written(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    etcd_member *work = step->context;

    if (answer->is_gone) /* the lease, and soon the key */
        has_ended(work);
    else if (!goes_on(work, answer))
        return;
    else if (answer->succeeded)
        has_value_now(work);
    else
        has_own(work, own_of(work, answer));
}

/* A late copy is void: the key has changed since. */
static void write_over(etcd_member *work, const ilk__etcd_kv *kv)
{
    if (++work->attempts > ILK__ETCD_ATTEMPTS)
        end_failed(work, "ERR etcd: a key changes all the time");
    else
        commit(work, was_written,
               compare_own(work, ILK__ETCD_MOD_REVISION, kv->mod_revision),
               put_own(work));
}

static void was_read_for_update(ilk__etcd_step *step,
                                const ilk__etcd_answer *answer)
{
    etcd_member *work = step->context;

    if (goes_on(work, answer))
        has_own(work, own_of(work, answer));
}

static void read_own(etcd_member *work, ilk__etcd_then *then)
{
    const ilk__etcd_op own = get_own(work);
    ilk__etcd_step *step = step_of(work, then);

    if (step)
        ilk__etcd_step_commit(
            step, &(ilk__etcd_txn){.then_ops = &own, .then_count = 1});
}

void ilk__etcd_group_update(void *self, ilk__group_name *name,
                            const ilk__group_member *member,
                            ilk__gateway_request *request)
{
    etcd_member *work = new_member(self, name, member, request);

    if (work)
        read_own(work, was_read_for_update);
}

/* ---- join ------------------------------------------------------------------- */

static void was_dropped(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    (void)step;
    (void)answer;
}

/* Otherwise it ends by itself. */
static void drop_lease(const etcd_member *work)
{
    ilk__etcd_step *step =
        ilk__etcd_step_new(work->group->store, was_dropped, NULL, NULL, NULL);

    if (step)
        ilk__etcd_step_revoke(step, work->lease);
}

/* The id is another member's. */
static void refuse(etcd_member *work, const ilk__etcd_kv *kv)
{
    if (!ilk__group_is_value(kv->value)) {
        end_failed(work, "WRONGTYPE the key of the member has a value of "
                         "another kind");
        return;
    }
    drop_lease(work);
    ilk__group_refused(work->group->name, work->request);
    free_member(work);
}

static void was_put(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    etcd_member *work = step->context;

    if (answer->is_gone && !work->group->store->is_closing)
        grant(work, answer->error); /* it has ended in between */
    else if (!goes_on(work, answer))
        return;
    else if (answer->succeeded)
        end_held(work);
    else if (own_of(work, answer))
        has_own(work, own_of(work, answer));
    else if (answer->op_count == 1 && answer->ops[0].kv_count)
        refuse(work, answer->ops[0].kvs);
    else
        end_failed(work, makes_no_sense);
}

static void put(etcd_member *work)
{
    commit(work, was_put, compare_own(work, ILK__ETCD_CREATE_REVISION, 0),
           put_own(work));
}

static void was_found(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    etcd_member *work = step->context;

    if (!goes_on(work, answer))
        return;
    if (answer->ttl_s <= 0) {
        grant(work,
              "ERR etcd refuses to grant the lease, and does not have it");
        return;
    }
    note_lease(work, answer);
    put(work);
}

/* An earlier copy may have granted it. */
static void find_lease(etcd_member *work)
{
    ilk__etcd_step *step = step_of(work, was_found);

    if (step)
        ilk__etcd_step_keep_alive(step, work->lease);
}

static void was_granted(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    etcd_member *work = step->context;

    if (answer->status == ILK_ESERVER && !answer->may_have_run
        && !work->group->store->is_closing) {
        find_lease(work);
    } else if (goes_on(work, answer)) {
        note_lease(work, answer);
        put(work);
    }
}

/* `error`: why it is not there, or NULL. */
static void grant(etcd_member *work, const char *error)
{
    const int64_t ttl_s = (work->member.lease_ms + SECOND - 1) / SECOND;
    ilk__etcd_step *step;

    if (++work->attempts > ILK__ETCD_ATTEMPTS) {
        end_failed(work, error);
        return;
    }
    step = step_of(work, was_granted);
    if (step)
        ilk__etcd_step_grant(step, work->lease, ttl_s);
}

void ilk__etcd_group_join(void *self, ilk__group_name *name,
                          const ilk__group_member *member,
                          ilk__gateway_request *request)
{
    etcd_member *work = new_member(self, name, member, request);

    if (work)
        grant(work, NULL);
}

/* ---- renew ------------------------------------------------------------------ */

/* One of both answers has come. */
static void note_renewal(etcd_member *work, const ilk__etcd_answer *answer,
                         int is_lost)
{
    work->is_lost |= is_lost;
    if (answer->status && !is_lost && !work->error)
        work->error = ilk__strdup(answer->error);
    if (--work->pending)
        return;
    if (work->group->store->is_closing)
        end_failed(work, NULL);
    else if (work->is_lost)
        end_lost(work);
    else if (work->error)
        end_failed(work, work->error);
    else
        end_held(work);
}

static void was_kept(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    etcd_member *work = step->context;

    if (!answer->status)
        note_lease(work, answer);
    note_renewal(work, answer,
                 answer->is_gone || (!answer->status && answer->ttl_s <= 0));
}

static void was_read(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    etcd_member *work = step->context;

    note_renewal(work, answer, !answer->status && !own_of(work, answer));
}

void ilk__etcd_group_renew(void *self, ilk__group_name *name,
                           const ilk__group_member *member,
                           ilk__gateway_request *request)
{
    etcd_member *work = new_member(self, name, member, request);
    ilk__etcd_step *keep, *look;
    ilk__etcd_op own;

    if (!work)
        return;
    keep = ilk__etcd_step_new(self, was_kept, NULL, NULL, NULL);
    look = ilk__etcd_step_new(self, was_read, NULL, NULL, NULL);
    if (!keep || !look) {
        ilk__etcd_step_free(keep);
        ilk__etcd_step_free(look);
        end_failed(work, ilk__etcd_no_memory);
        return;
    }
    keep->context = look->context = work;
    work->pending = 2;
    own = get_own(work);
    own.keys_only = 1;
    ilk__etcd_step_keep_alive(keep, work->lease);
    ilk__etcd_step_commit(look,
                          &(ilk__etcd_txn){.then_ops = &own, .then_count = 1});
}

/* ---- leave ------------------------------------------------------------------ */

static void was_revoked(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    etcd_member *work = step->context;

    /* The key is gone, and a copy of the request would find that. */
    if (answer->status && !answer->is_gone) {
        end_failed(work, NULL);
        return;
    }
    if (!answer->is_gone && !goes_on(work, answer))
        return;
    if (work->is_lost)
        end_lost(work);
    else
        end_done(work);
}

static void was_deleted(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    etcd_member *work = step->context;
    ilk__etcd_step *revoke;

    if (!goes_on(work, answer))
        return;
    /* An earlier copy may have deleted it. */
    if (!answer->succeeded && answer->was_repeated) {
        end_failed(work, NULL);
        return;
    }
    work->is_lost = !answer->succeeded;
    revoke = step_of(work, was_revoked);
    if (revoke)
        ilk__etcd_step_revoke(revoke, work->lease);
}

void ilk__etcd_group_leave(void *self, ilk__group_name *name,
                           const ilk__group_member *member,
                           ilk__gateway_request *request)
{
    etcd_member *work = new_member(self, name, member, request);

    if (work)
        commit(work, was_deleted,
               compare_own(work, ILK__ETCD_LEASE, work->lease),
               (ilk__etcd_op){.kind = ILK__ETCD_DELETE,
                              .key = {work->key.data, work->key.len}});
}

/* ---- the list --------------------------------------------------------------- */

static void read_page(etcd_group *at);

static void end_list(etcd_group *at, const char *error)
{
    ilk__free(at->from.data);
    at->from = (ilk__bytes){NULL, 0};
    ilk__group_was_listed(at->name, error);
}

static ilk__span id_of(const etcd_group *at, ilk__span key)
{
    return (ilk__span){key.at + at->prefix.len, key.len - at->prefix.len};
}

static int is_of(const etcd_group *at, ilk__span key)
{
    return key.len > at->prefix.len
           && memcmp(key.at, at->prefix.data, at->prefix.len) == 0;
}

/* The least key behind this one. ILK_ENOMEM. */
static ilk_status note_next(etcd_group *at, ilk__span key)
{
    ilk__free(at->from.data);
    at->from.data = ilk__memdup(key.at, key.len); /* which appends a NUL */
    at->from.len = key.len + 1;
    return at->from.data ? ILK_OK : ILK_ENOMEM;
}

static void take_page(etcd_group *at, const ilk__etcd_op_answer *op)
{
    for (size_t i = 0; i < op->kv_count; i++)
        if (is_of(at, op->kvs[i].key))
            ilk__group_has(at->name, id_of(at, op->kvs[i].key),
                           op->kvs[i].value, op->kvs[i].mod_revision);
    if (!op->more || !op->kv_count) {
        ilk__group_list_ends(at->name, at->revision);
        at->known = ilk__group_lacks_report(at->name) ? 0 : at->revision;
        end_list(at, NULL);
    } else if (note_next(at, op->kvs[op->kv_count - 1].key)) {
        end_list(at, ilk__etcd_no_memory);
    } else {
        read_page(at);
    }
}

static void was_listed(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    etcd_group *at = step->context;

    if (step->store->is_closing) {
        end_list(at, is_closing);
    } else if (answer->is_gone && at->from.data
               && ++at->attempts <= ILK__ETCD_ATTEMPTS) {
        ilk__free(
            at->from.data); /* its revision was compacted: from the start */
        at->from = (ilk__bytes){NULL, 0};
        read_page(at);
    } else if (answer->status) {
        end_list(at, answer->error);
    } else if (answer->op_count != 1
               || answer->ops[0].kind != ILK__ETCD_RANGE) {
        end_list(at, makes_no_sense);
    } else {
        if (!at->from.data) {
            at->revision = answer->revision;
            ilk__group_list_begins(at->name);
        }
        take_page(at, &answer->ops[0]);
    }
}

static void read_page(etcd_group *at)
{
    const ilk__bytes from = at->from.data ? at->from : at->prefix;
    const ilk__etcd_op range = {
        .kind = ILK__ETCD_RANGE,
        .key = {from.data, from.len},
        .range_end = {at->prefix_end.data, at->prefix_end.len},
        .limit = PAGE,
        .at_revision = at->from.data ? at->revision : 0};
    ilk__etcd_step *step =
        ilk__etcd_step_new(at->store, was_listed, NULL, NULL, NULL);

    if (!step) {
        end_list(at, ilk__etcd_no_memory);
        return;
    }
    step->context = at;
    ilk__etcd_step_commit(
        step, &(ilk__etcd_txn){.then_ops = &range, .then_count = 1});
}

/* The keys that were written since the last list, and how many there are. */
static void has_changes(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    etcd_group *at = step->context;
    const ilk__etcd_op_answer *ops = answer->ops;

    if (step->store->is_closing) {
        end_list(at, is_closing);
        return;
    }
    if (answer->status) {
        end_list(at, answer->error);
        return;
    }
    for (size_t i = 0; answer->op_count == 2 && i < ops[0].kv_count; i++)
        if (is_of(at, ops[0].kvs[i].key))
            ilk__group_has(at->name, id_of(at, ops[0].kvs[i].key),
                           ops[0].kvs[i].value, ops[0].kvs[i].mod_revision);
    if (answer->op_count == 2 && !ops[0].more
        && !ilk__group_lacks_report(at->name)
        && ops[1].count == (int64_t)ilk__group_count(at->name)) {
        at->known = answer->revision;
        end_list(at, NULL);
    } else {
        read_page(at);
    }
}

static void read_changes(etcd_group *at)
{
    const ilk__etcd_op all = {
        .kind = ILK__ETCD_RANGE,
        .key = {at->prefix.data, at->prefix.len},
        .range_end = {at->prefix_end.data, at->prefix_end.len}};
    ilk__etcd_op ops[] = {all, all};
    ilk__etcd_step *step =
        ilk__etcd_step_new(at->store, has_changes, NULL, NULL, NULL);

    if (!step) {
        end_list(at, ilk__etcd_no_memory);
        return;
    }
    ops[0].limit = PAGE;
    ops[0].min_mod_revision = at->known + 1;
    ops[1].count_only = 1;
    step->context = at;
    ilk__etcd_step_commit(step,
                          &(ilk__etcd_txn){.then_ops = ops, .then_count = 2});
}

static void read_list(etcd_group *at)
{
    if (at->known)
        read_changes(at);
    else
        read_page(at);
}

static void watch_has_ended(etcd_group *at, const char *error)
{
    at->watch = NULL;
    if (at->awaits_watch) {
        at->awaits_watch = 0;
        end_list(at, error);
    } else {
        ilk__group_interrupted(at->name);
    }
}

static void on_news(void *owner, const ilk__etcd_news *news)
{
    etcd_group *at = owner;

    switch (news->kind) {
    case ILK__ETCD_CREATED:
        at->awaits_watch = 0;
        read_list(at);
        break;
    case ILK__ETCD_KEY_PUT:
        if (is_of(at, news->kv->key))
            ilk__group_has(at->name, id_of(at, news->kv->key), news->kv->value,
                           news->kv->mod_revision);
        break;
    case ILK__ETCD_KEY_DELETED:
        if (is_of(at, news->kv->key))
            ilk__group_has_left(at->name, id_of(at, news->kv->key),
                                news->kv->mod_revision);
        break;
    case ILK__ETCD_PROGRESS: break;
    case ILK__ETCD_ENDED: watch_has_ended(at, news->error); break;
    }
}

static ilk_status begin_watch(etcd_group *at)
{
    const ilk__etcd_watch_request request = {
        .key = {at->prefix.data, at->prefix.len},
        .range_end = {at->prefix_end.data, at->prefix_end.len}};

    return ilk__etcd_watch_begin(&at->watch, at->store->client, &request, 0,
                                 on_news, at);
}

void ilk__etcd_group_list(void *self, ilk__group_name *name, int watches)
{
    ilk__etcd_store *store = self;
    etcd_group *at = store->is_closing ? NULL : find_group(store, name);

    if (!at) {
        ilk__group_was_listed(name, store->is_closing ? is_closing
                                                      : ilk__etcd_no_memory);
        return;
    }
    at->attempts = 0;
    if (!watches || at->watch) {
        read_list(at);
        return;
    }
    at->awaits_watch = 1;
    if (begin_watch(at)) {
        at->watch = NULL;
        at->awaits_watch = 0;
        end_list(at, ilk__etcd_no_memory);
    }
}

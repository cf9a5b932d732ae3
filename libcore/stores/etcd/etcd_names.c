/* SPDX-License-Identifier: MIT */
/*
 * etcd_names.c -- the entries of a name, and which list says who holds.
 *
 * An exclusive entry holds when no key is before it, so one key is enough to read.
 * Readers and permits need the whole list. Keys below the prefix that are no
 * contenders (`a/b/694d..` for `a`) can be the one before; then the whole list is read,
 * until it has none of them.
 */
#include "etcd_store.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <string.h>

enum { LIST_OPS = 3 };

/* ---- names --------------------------------------------------------------- */

static char *join_bytes(const char *bytes, size_t len, char last)
{
    char *text = ilk__malloc(len + 2);

    if (!text)
        return NULL;
    memcpy(text, bytes, len);
    text[len] = last;
    text[len + 1] = '\0';
    return text;
}

static int set_texts(ilk__etcd_name *name, const ilk__contended *contended)
{
    const int is_semaphore = contended->kind == ILK__CONTENDED_SEMAPHORE;
    const ilk__span key = {contended->key.data, contended->key.len};
    const ilk__span base = is_semaphore ? key : contended->name;

    name->prefix = join_bytes(base.at, base.len, '/');
    name->prefix_end = join_bytes(base.at, base.len, '/' + 1);
    name->prefix_len = base.len + 1;
    if (is_semaphore) {
        name->limit_key = ilk__memdup(base.at, base.len);
        name->limit_len = base.len;
    }
    return name->prefix && name->prefix_end
           && (!is_semaphore || name->limit_key);
}

ilk_status ilk__etcd_name_find(ilk__etcd_name **out, ilk__etcd_store *store,
                               ilk__contended *contended)
{
    ilk__etcd_name *name = contended->at_store;

    *out = name;
    if (name)
        return ILK_OK;
    name = ilk__calloc(1, sizeof *name);
    if (!name)
        return ILK_ENOMEM;
    name->store = store;
    name->contended = contended;
    name->kind = contended->kind;
    name->refs = 1;
    name->whole_watch = ILK__QUEUE_WATCH_NONE;
    name->next = store->names;
    if (name->next)
        name->next->previous = name;
    store->names = name;
    if (!set_texts(name, contended)) {
        ilk__etcd_name_unref(name);
        return ILK_ENOMEM;
    }
    contended->at_store = *out = name;
    return ILK_OK;
}

int ilk__etcd_name_needs_whole(const ilk__etcd_name *name)
{
    return name->limit_key || name->readers || name->has_strangers;
}

static int is_waiting(const ilk__contender *one)
{
    const ilk__etcd_entry *entry = one->at_store;

    return entry && entry->create_revision && !entry->joins
           && !entry->awaits_fresh && !entry->leaves
           && (one->state == ILK__CONTENDER_WAITS
               || one->state == ILK__CONTENDER_JOINS);
}

ilk__etcd_entry *ilk__etcd_name_first_waiting(const ilk__etcd_name *name)
{
    ilk__etcd_entry *first = NULL, *entry;

    for (ilk__contender *one = name->contended->first; one; one = one->next)
        if (is_waiting(one)) {
            entry = one->at_store;
            if (!first || entry->create_revision < first->create_revision)
                first = entry;
        }
    return first;
}

void ilk__etcd_name_choose_list(ilk__etcd_step *step)
{
    ilk__etcd_entry *first = ilk__etcd_name_first_waiting(step->name);

    step->mode = ILK__ETCD_READ_NONE;
    if (!first)
        return;
    if (ilk__etcd_name_needs_whole(step->name)) {
        step->mode = ILK__ETCD_READ_WHOLE;
        return;
    }
    step->mode = ILK__ETCD_READ_BEFORE;
    step->before_of = first;
    first->refs++;
}

int ilk__etcd_limit_parse(ilk__etcd_name *name, const ilk__etcd_op_answer *op)
{
    ilk__span rest, limit;

    name->limit = name->base = name->limit_revision = 0;
    if (!op->kv_count)
        return 1;
    name->limit_revision = op->kvs[0].mod_revision;
    rest = op->kvs[0].value;
    limit = ilk__text_cut(&rest, ' ', NULL);
    name->limit = ilk__text_number(limit, INT64_MAX);
    name->base = rest.len ? ilk__text_number(rest, INT64_MAX) : name->limit;
    if (name->limit >= 1 && name->base >= 1)
        return 1;
    name->limit = name->base = 0;
    return 0;
}

/* ---- what lists say ------------------------------------------------------ */

void ilk__etcd_entry_gone(ilk__etcd_entry *entry)
{
    ilk__contender *contender = entry->contender;

    if (!contender || entry->joins || entry->is_leaving)
        return;
    if (entry->leaves) {
        if (!entry->lease)
            ilk__etcd_leave_done(entry, 0);
        return;
    }
    if (contender->state == ILK__CONTENDER_JOINS) {
        if (entry->awaits_lease || !contender->request)
            return;
        entry->create_revision = 0; /* under its key, see etcd_store.h */
        entry->awaits_fresh = 0;
        if (++entry->attempts > ILK__ETCD_ATTEMPTS)
            ilk__etcd_join_failed(entry, "ERR etcd: new leases end at once");
        else
            ilk__etcd_join_send(entry);
        return;
    }
    if (entry->lease && entry->is_unknown) { /* no late copy puts it again */
        entry->is_lost = 1;
        ilk__etcd_leave_send(entry);
        return;
    }
    ilk__contender_lost(contender);
}

void ilk__etcd_name_grant(ilk__etcd_entry *entry, int64_t sent_at)
{
    ilk__contender *contender = entry->contender;
    const ilk__etcd_lease *lease = entry->lease;

    if (!contender || !lease || entry->leaves
        || (contender->state != ILK__CONTENDER_JOINS
            && contender->state != ILK__CONTENDER_WAITS))
        return;
    if (!ilk__etcd_lease_is_fresh(lease, contender)) {
        entry->awaits_fresh = 1;
        ilk__etcd_lease_keep(entry->lease);
        return;
    }
    ilk__etcd_name_grant_now(entry, sent_at);
}

void ilk__etcd_name_read_later(ilk__etcd_name *name)
{
    name->must_read = 1;
    name->read_at = ilk__now_ms() + ILK__ETCD_AGAIN_MS;
    ilk__etcd_timer(name->store, name->read_at);
}

void ilk__etcd_name_grant_now(ilk__etcd_entry *entry, int64_t sent_at)
{
    ilk__contender *contender = entry->contender;

    entry->holds = 1;
    ilk__contender_granted(contender, entry->create_revision,
                           ilk__sooner(ilk__etcd_lease_end(entry->lease),
                                       sent_at + contender->lease_ms));
}

/* It has this key before it, or none. */
static void judge(ilk__etcd_entry *entry, const ilk__etcd_kv *before,
                  const ilk__etcd_answer *answer)
{
    ilk__etcd_name *name = entry->name;
    ilk__contender *contender = entry->contender;
    ilk__etcd_shape shape;

    if (!contender || entry->leaves || entry->joins)
        return;
    if (!before) {
        ilk__etcd_name_grant(entry, answer->sent_at);
        return;
    }
    if (!ilk__etcd_key_parse(&shape, name, before->key)) {
        name->has_strangers = 1;
        ilk__etcd_name_read(name, ILK__ETCD_READ_WHOLE, NULL);
        return;
    }
    if (ilk__etcd_name_first_waiting(name) == entry) {
        ilk__free(name->before.data);
        name->before.data = ilk__memdup(before->key.at, before->key.len);
        name->before.len = before->key.len;
        name->before_number = name->before.data ? entry->create_revision : 0;
        name->revision = answer->revision;
    }
    if (contender->state != ILK__CONTENDER_JOINS)
        return;
    if (contender->waiter.len)
        ilk__contender_queued(contender, -1, !shape.is_foreign);
    else
        ilk__contender_busy(contender, -1, !shape.is_foreign);
}

static ilk__contender *find_own(const ilk__etcd_name *name,
                                const ilk__etcd_kv *kv)
{
    ilk__node *node =
        ilk__table_find(&name->store->by_key, kv->key.at, kv->key.len);
    ilk__etcd_entry *entry;

    if (!node)
        return NULL;
    entry =
        (ilk__etcd_entry *)((char *)node - offsetof(ilk__etcd_entry, by_key));
    if (entry->create_revision != kv->create_revision)
        return NULL;
    entry->seen_at = name->store->report_revision;
    return entry->leaves ? NULL : entry->contender;
}

static size_t make_entries(ilk__queue_entry *entries, ilk__etcd_name *name,
                           const ilk__etcd_op_answer *list)
{
    ilk__etcd_shape shape;
    size_t count = 0;

    name->has_strangers = 0;
    for (size_t i = 0; i < list->kv_count; i++) {
        const ilk__etcd_kv *kv = &list->kvs[i];

        if (ilk__etcd_key_parse(&shape, name, kv->key))
            entries[count++] = (ilk__queue_entry){.number = kv->create_revision,
                                                  .permits = shape.permits,
                                                  .kind = shape.kind,
                                                  .own = find_own(name, kv),
                                                  .id = kv->key};
        else
            name->has_strangers = 1;
    }
    return count;
}

/* The earliest end of the leases of those who may hold now. Those who do, and whose
 * lease must be kept alive first, are not reported by the list. */
static int64_t choose_end(ilk__queue_entry *entries, size_t count,
                          int64_t limit, int64_t sent_at)
{
    int64_t ends = ILK__FOREVER;

    for (size_t i = 0; i < count; i++) {
        const ilk__contender *own = entries[i].own;
        ilk__etcd_entry *entry = own ? own->at_store : NULL;

        if (!own
            || (own->state != ILK__CONTENDER_JOINS
                && own->state != ILK__CONTENDER_WAITS))
            continue;
        if (ilk__etcd_lease_is_fresh(entry->lease, own)) {
            ends = ilk__sooner(ends, ilk__etcd_lease_end(entry->lease));
            ends = ilk__sooner(ends, sent_at + own->lease_ms);
        } else if (ilk__name_queue_holds(entries, count, i, limit)) {
            entries[i].own = NULL;
            ilk__etcd_name_grant(entry, sent_at);
        }
    }
    return ends;
}

static int is_known(const ilk__contender *contender)
{
    const ilk__etcd_entry *entry = contender->at_store;

    return entry && entry->create_revision && !entry->joins
           && !entry->is_unknown && !entry->is_lost
           && entry->create_revision <= entry->name->store->report_revision
           && entry->seen_at < entry->name->store->report_revision;
}

/* Those that are missing and may be put again by a late copy. */
static void find_lost_unknown(const ilk__etcd_name *name)
{
    for (ilk__contender *one = name->contended->first; one; one = one->next) {
        ilk__etcd_entry *entry = one->at_store;
        const int64_t revision = name->store->report_revision;

        if (entry && entry->is_unknown && !entry->is_lost
            && entry->create_revision && entry->create_revision <= revision
            && entry->seen_at < revision
            && (one->state == ILK__CONTENDER_WAITS
                || one->state == ILK__CONTENDER_HOLDS))
            ilk__etcd_entry_gone(entry); /* which only sends */
    }
}

static void set_whole_watch(ilk__etcd_name *name,
                            const ilk__queue_entry *entries, size_t count,
                            int64_t limit)
{
    const ptrdiff_t at = ilk__name_queue_watch(entries, count, limit);

    name->whole_watch = at < 0 ? at : 0;
    if (at < 0)
        return;
    ilk__free(name->before.data);
    name->before.data = ilk__memdup(entries[at].id.at, entries[at].id.len);
    name->before.len = entries[at].id.len;
    name->before_number = 0;
    if (!name->before.data)
        name->whole_watch = ILK__QUEUE_WATCH_ALL;
}

static void learn_whole(ilk__etcd_name *name, const ilk__etcd_op_answer *ops,
                        const ilk__etcd_answer *answer)
{
    const ilk__etcd_op_answer *list = name->limit_key ? &ops[1] : &ops[0];
    ilk__queue_entry *entries =
        ilk__calloc(list->kv_count + 1, sizeof *entries);
    int64_t limit = 1, ends;
    size_t count;

    if (!entries) {
        ilk__etcd_name_read_later(name);
        return;
    }
    if (name->limit_key) {
        (void)ilk__etcd_limit_parse(name, &ops[0]);
        limit = name->limit;
    }
    name->store->report_revision = answer->revision;
    count = make_entries(entries, name, list);
    find_lost_unknown(name);
    ends = choose_end(entries, count, limit, answer->sent_at);
    ilk__name_queue_report(name->contended, entries, count, limit, ends,
                           is_known);
    for (ilk__contender *one = name->contended->first; one; one = one->next)
        if (one->at_store && one->state == ILK__CONTENDER_HOLDS)
            ((ilk__etcd_entry *)one->at_store)->holds = 1;
    if (answer->revision >= name->revision) {
        name->revision = answer->revision;
        set_whole_watch(name, entries, count, limit);
    }
    ilk__free(entries);
}

static void learn_before(ilk__etcd_entry *entry, const ilk__etcd_op_answer *ops,
                         const ilk__etcd_answer *answer)
{
    if (!entry->create_revision || !entry->contender)
        return;
    if (!ops[0].kv_count
        || ops[0].kvs[0].create_revision != entry->create_revision)
        ilk__etcd_entry_gone(entry);
    else
        judge(entry, ops[1].kv_count ? &ops[1].kvs[0] : NULL, answer);
}

void ilk__etcd_name_learn(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    static const size_t needed[] = {0, 1, 2, 1};
    ilk__etcd_name *name = step->name;
    const size_t at = step->list_at[answer->succeeded ? 0 : 1];
    const ilk__etcd_op_answer *ops = answer->ops + at;
    const size_t need =
        needed[step->mode]
        + (step->mode == ILK__ETCD_READ_WHOLE && name->limit_key);

    if (!name->contended || answer->op_count < at + need)
        return;
    switch (step->mode) {
    case ILK__ETCD_READ_NONE: break;
    case ILK__ETCD_READ_LAST:
        judge(step->entry, ops[0].kv_count > 1 ? &ops[0].kvs[1] : NULL, answer);
        break;
    case ILK__ETCD_READ_BEFORE:
        learn_before(step->before_of, ops, answer);
        break;
    case ILK__ETCD_READ_WHOLE: learn_whole(name, ops, answer); break;
    }
}

/* ---- reading ------------------------------------------------------------- */

/* Those that join and wait for this list. */
static void fail_joins(const ilk__etcd_name *name, const char *text)
{
    for (ilk__contender *next, *one = name->contended->first; one; one = next) {
        next = one->next;
        if (one->state == ILK__CONTENDER_JOINS && one->request
            && is_waiting(one))
            ilk__contender_failed(one, text);
    }
}

static void was_read(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    ilk__etcd_name *name = step->name;

    name->is_reading--;
    if (!name->contended || step->store->is_closing)
        return;
    if (answer->status) {
        fail_joins(name, answer->error);
        ilk__etcd_name_read_later(name);
    } else {
        ilk__etcd_name_learn(step, answer);
    }
    if (step->request)
        ilk__contention_checked(name->contended, step->request,
                                answer->status ? answer->error : NULL);
    ilk__etcd_name_settle(name);
}

static void read_list(ilk__etcd_name *name, ilk__etcd_read_mode mode,
                      ilk__etcd_entry *before_of, ilk__gateway_request *request)
{
    ilk__etcd_step *step =
        ilk__etcd_step_new(name->store, was_read, name, NULL, NULL);
    ilk__etcd_op ops[LIST_OPS];
    ilk__etcd_txn txn = {.then_ops = ops};

    if (!step) {
        fail_joins(name, ilk__etcd_no_memory);
        if (request)
            ilk__contention_checked(name->contended, request,
                                    ilk__etcd_no_memory);
        ilk__etcd_name_read_later(name);
        return;
    }
    step->mode = mode;
    step->request = request;
    step->before_of = before_of;
    if (before_of)
        before_of->refs++;
    name->is_reading++;
    txn.then_count = ilk__etcd_list_ops(step, ops);
    ilk__etcd_step_commit(step, &txn);
}

void ilk__etcd_name_read(ilk__etcd_name *name, ilk__etcd_read_mode mode,
                         ilk__etcd_entry *before_of)
{
    read_list(name, mode, before_of, NULL);
}

void ilk__etcd_check(void *self, ilk__contended *contended,
                     ilk__gateway_request *request)
{
    ilk__etcd_name *name;

    if (ilk__etcd_name_find(&name, self, contended))
        ilk__contention_checked(contended, request, ilk__etcd_no_memory);
    else
        read_list(name, ILK__ETCD_READ_WHOLE, NULL, request);
}

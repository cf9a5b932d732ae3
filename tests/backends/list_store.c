/* SPDX-License-Identifier: MIT */
/* list_store.c -- a store of numbered entries in this process, behind each client's
 * gateway. */
#include "list_store.h"

#include "base/clock.h"
#include "stores/shared/contention.h"
#include "stores/shared/name_queue.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ENTRIES = 256, TEXT = 600, LISTS = 1024, OBSERVED = 64 };

typedef struct list_client list_client;

typedef struct entry {
    int64_t number, permits, since_ms, ends;
    ilk__contender_kind kind;
    list_client *owner;
    int holds;
    size_t value_len;
    char token[TEXT], who[TEXT], value[TEXT];
} entry;

typedef struct list {
    size_t key_len, count;
    char key[TEXT];
    entry *entries;
    int64_t limit, base, version, changes;
} list;

/* A result that is reported later. */
typedef struct job {
    struct job *next;
    int64_t due;
    void (*run)(list_client *self, struct job *job);
    ilk__contender *contender;
    ilk__contended *name;
    ilk__gateway_request *request;
    int fails, flag;
} job;

struct list_client {
    list_client *next;
    ilk__gateway *gateway;
    ilk__contention *contention;
    unsigned late, fail, lose, seed;
    job *jobs;
    int is_dirty;
    ilk__contended *observed[OBSERVED];
    int64_t versions[OBSERVED]; /* that were reported */
    size_t observed_count;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static list *lists[LISTS];
static size_t list_count;
static list_client *clients;
static int64_t last_number;
static long overlaps;

static void must(int good)
{
    if (!good)
        abort();
}

/* ---- the lists; with the mutex ------------------------------------------- */

static list *list_of(const void *key, size_t len)
{
    list *one;

    for (size_t i = 0; i < list_count; i++)
        if (lists[i]->key_len == len && memcmp(lists[i]->key, key, len) == 0)
            return lists[i];
    one = calloc(1, sizeof *one);
    must(one != NULL && list_count < LISTS && len < TEXT);
    one->entries = calloc(ENTRIES, sizeof *one->entries);
    must(one->entries != NULL);
    one->key_len = len;
    memcpy(one->key, key, len);
    return lists[list_count++] = one;
}

static void changed(list *one)
{
    one->changes++;
    for (list_client *client = clients; client; client = client->next) {
        client->is_dirty = 1;
        ilk__gateway_wake(client->gateway);
    }
}

static void remove_entry(list *one, size_t at)
{
    memmove(&one->entries[at], &one->entries[at + 1],
            (one->count - at - 1) * sizeof *one->entries);
    one->count--;
    changed(one);
}

static entry *entry_of(list *one, ilk__span token)
{
    for (size_t i = 0; i < one->count; i++)
        if (strlen(one->entries[i].token) == token.len
            && memcmp(one->entries[i].token, token.at, token.len) == 0)
            return &one->entries[i];
    return NULL;
}

static entry *own_entry(const ilk__contender *c)
{
    return entry_of(list_of(c->of->key.data, c->of->key.len),
                    (ilk__span){c->token.data, c->token.len});
}

static void copy(char *to, ilk__bytes from)
{
    must(from.len < TEXT);
    memcpy(to, from.data, from.len);
    to[from.len] = '\0';
}

static int64_t epoch_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void append(list_client *self, const ilk__contender *c)
{
    list *one = list_of(c->of->key.data, c->of->key.len);
    entry *e = &one->entries[one->count];

    must(one->count < ENTRIES);
    *e = (entry){.number = ++last_number,
                 .permits = c->permits,
                 .kind = c->kind,
                 .owner = self};
    if (e->number <= c->floor)
        e->number = last_number = c->floor + 1;
    copy(e->token, c->token);
    copy(e->who, c->who);
    copy(e->value, c->value);
    e->value_len = c->value.len;
    one->count++;
}

static int excludes(const entry *a, const entry *b)
{
    return a->kind != ILK__CONTENDER_PERMITS
           && !(a->kind == ILK__CONTENDER_READER
                && b->kind == ILK__CONTENDER_READER);
}

/* Set when an own contender is granted; it is checked against all others. */
static void note_hold(list *one, entry *e, int64_t ends)
{
    int64_t permits = 0;

    e->ends = ends;
    if (e->holds)
        return;
    e->holds = 1;
    e->since_ms = epoch_ms();
    one->version++;
    for (size_t i = 0; i < one->count; i++) {
        if (!one->entries[i].holds)
            continue;
        permits += one->entries[i].permits;
        overlaps += &one->entries[i] != e && excludes(&one->entries[i], e);
    }
    overlaps += e->kind == ILK__CONTENDER_PERMITS && permits > one->limit;
    changed(one);
}

/* ---- reports ------------------------------------------------------------- */

static ilk__contender *own_of(const ilk__contended *name, const entry *e)
{
    for (ilk__contender *c = name->first; c; c = c->next)
        if (strlen(e->token) == c->token.len
            && memcmp(e->token, c->token.data, c->token.len) == 0)
            return c;
    return NULL;
}

/* All own contenders: each entry in a list is older than the reading. */
static void report(ilk__contended *name)
{
    static _Thread_local ilk__queue_entry found[ENTRIES];
    list *one;
    size_t count;
    int64_t limit;
    int64_t ends;

    pthread_mutex_lock(&mutex);
    one = list_of(name->key.data, name->key.len);
    count = one->count;
    limit = one->limit;
    ends = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        entry *e = &one->entries[i];

        found[i] = (ilk__queue_entry){.number = e->number,
                                      .permits = e->permits,
                                      .kind = e->kind,
                                      .own = own_of(name, e),
                                      .id = {e->token, strlen(e->token)}};
    }
    for (size_t i = 0; i < count; i++) {
        const ilk__contender *c = found[i].own;

        if (c && !one->entries[i].holds && c->state <= ILK__CONTENDER_WAITS
            && ilk__name_queue_holds(found, count, i, limit))
            note_hold(one, &one->entries[i], ilk__now_ms() + c->lease_ms);
    }
    pthread_mutex_unlock(&mutex);
    ilk__name_queue_report(name, found, count, limit, ends, NULL);
}

static int differs(const ilk__contender *c, int64_t *limit, int64_t *base)
{
    list *one = list_of(c->of->key.data, c->of->key.len);

    if (c->kind != ILK__CONTENDER_PERMITS)
        return 0;
    if (!one->limit
        || (!one->count && c->limit != one->limit && c->limit != one->base))
        one->limit = one->base = c->limit;
    *limit = one->limit;
    *base = one->base;
    return (c->limit != one->limit && c->limit != one->base)
           || c->permits > one->limit;
}

static void run_join(list_client *self, job *what)
{
    ilk__contender *c = what->contender;
    int64_t limit = 0, base = 0;
    int is_other;

    (void)self;
    if (what->fails) {
        ilk__contender_failed(c, "ILKDOWN the lists are down");
        return;
    }
    pthread_mutex_lock(&mutex);
    is_other = !own_entry(c) && differs(c, &limit, &base);
    if (!is_other && !own_entry(c))
        append(self, c);
    pthread_mutex_unlock(&mutex);
    if (is_other)
        ilk__contender_differs(c, limit, base);
    else
        report(c->of);
}

static void run_renew(list_client *self, job *what)
{
    ilk__contender *c = what->contender;
    int64_t ends = ilk__now_ms() + c->lease_ms;
    entry *e;

    (void)self;
    if (what->fails) {
        ilk__contender_failed(c, "ILKDOWN the lists are down");
        return;
    }
    pthread_mutex_lock(&mutex);
    e = own_entry(c);
    if (e)
        e->ends = ends;
    pthread_mutex_unlock(&mutex);
    if (e)
        ilk__contender_granted(c, c->fence, ends);
    else
        ilk__contender_lost(c);
}

static void run_proclaim(list_client *self, job *what)
{
    ilk__contender *c = what->contender;
    list *one;
    entry *e;

    (void)self;
    if (what->fails) {
        ilk__contender_failed(c, "ILKDOWN the lists are down");
        return;
    }
    pthread_mutex_lock(&mutex);
    one = list_of(c->of->key.data, c->of->key.len);
    e = own_entry(c);
    if (e) {
        copy(e->value, c->value);
        e->value_len = c->value.len;
        one->version++;
        changed(one);
    }
    pthread_mutex_unlock(&mutex);
    if (e)
        ilk__contender_granted(c, c->fence, c->ends);
    else
        ilk__contender_lost(c);
}

static void run_leave(list_client *self, job *what)
{
    ilk__contender *c = what->contender;
    int held = 0;
    list *one;
    entry *e;

    (void)self;
    pthread_mutex_lock(&mutex);
    one = list_of(c->of->key.data, c->of->key.len);
    e = own_entry(c);
    if (e) {
        held = e->holds;
        one->version += held;
        remove_entry(one, (size_t)(e - one->entries));
    }
    pthread_mutex_unlock(&mutex);
    ilk__contender_left(c, held ? ILK__LEFT_ITS_HOLD : ILK__LEFT_NO_HOLD);
}

static void run_check(list_client *self, job *what)
{
    (void)self;
    if (!what->fails)
        report(what->name);
    ilk__contention_checked(what->name, what->request,
                            what->fails ? "ILKDOWN the lists are down" : NULL);
}

static void run_inspect(list_client *self, job *what)
{
    static _Thread_local ilk__contended_entry out[ENTRIES];
    static _Thread_local entry all[ENTRIES];
    ilk__contended_state state = {.entries = out};
    size_t count = 0;
    list *one;

    (void)self;
    pthread_mutex_lock(&mutex);
    one = list_of(what->name->key.data, what->name->key.len);
    state.limit = one->limit;
    state.version = one->version;
    memcpy(all, one->entries, one->count * sizeof *all);
    for (int holds = 1; holds >= 0; holds--)
        for (size_t i = 0; i < one->count; i++) {
            const entry *e = &all[i];

            if (e->holds != holds)
                continue;
            if (holds && !state.holders++)
                state.value = (ilk__span){e->value, e->value_len};
            state.waiters += !holds;
            out[count++] = (ilk__contended_entry){
                .kind = (char)e->kind,
                .token = {e->token, strlen(e->token)},
                .who = {e->who, strlen(e->who)},
                .permits = e->permits,
                .fence = e->number,
                .since_ms = e->since_ms,
                .lease_ms = holds ? e->ends - ilk__now_ms() : -1};
        }
    pthread_mutex_unlock(&mutex);
    ilk__contention_inspected(what->name, what->request, &state,
                              what->fails ? "ILKDOWN the lists are down"
                                          : NULL);
}

/* ---- what contention.h calls --------------------------------------------- */

static unsigned dice(list_client *self)
{
    return (unsigned)rand_r(&self->seed) % 100;
}

/* `may_fail`: failed() may be its end. */
static void do_job(list_client *self, job what, int may_fail)
{
    job *later;

    what.fails = may_fail && dice(self) < self->fail;
    if (dice(self) >= self->late) {
        what.run(self, &what);
        return;
    }
    later = malloc(sizeof *later);
    must(later != NULL);
    *later = what;
    later->due = ilk__now_ms() + rand_r(&self->seed) % LIST_LATE_MS;
    later->next = self->jobs;
    self->jobs = later;
}

/* The entry is made, and the reply is lost. */
static void join(void *self, ilk__contender *c)
{
    list_client *client = self;
    int64_t limit, base;

    if (dice(client) < client->lose) {
        pthread_mutex_lock(&mutex);
        if (!own_entry(c) && !differs(c, &limit, &base))
            append(client, c);
        pthread_mutex_unlock(&mutex);
        ilk__contender_failed(c, "ILKDOWN a reply of the lists is lost");
        return;
    }
    do_job(client, (job){.run = run_join, .contender = c}, 1);
}

static void renew(void *self, ilk__contender *c)
{
    do_job(self, (job){.run = run_renew, .contender = c}, 1);
}

static void leave(void *self, ilk__contender *c)
{
    list_client *client = self;

    if (dice(client) < client->fail)
        ilk__contender_failed(c, "ILKDOWN the lists are down");
    do_job(client, (job){.run = run_leave, .contender = c}, 0);
}

static void forget(void *self, ilk__contender *c)
{
    for (job **link = &((list_client *)self)->jobs; *link;) {
        job *one = *link;

        if (one->contender != c) {
            link = &one->next;
            continue;
        }
        *link = one->next;
        free(one);
    }
}

static void forget_name(void *self, ilk__contended *name)
{
    list_client *client = self;

    for (size_t i = 0; i < client->observed_count; i++)
        must(client->observed[i] != name);
}

static void check(void *self, ilk__contended *name,
                  ilk__gateway_request *request)
{
    do_job(self, (job){.run = run_check, .name = name, .request = request}, 1);
}

static void inspect(void *self, ilk__contended *name, int64_t most,
                    ilk__gateway_request *request)
{
    (void)most;
    do_job(self, (job){.run = run_inspect, .name = name, .request = request},
           1);
}

static void break_hold(void *self, ilk__contended *name, ilk__span token,
                       ilk__gateway_request *request)
{
    int was_held = 0;
    list *one;

    (void)self;
    pthread_mutex_lock(&mutex);
    one = list_of(name->key.data, name->key.len);
    for (size_t i = 0; i < one->count;) {
        entry *e = &one->entries[i];

        if (e->holds && (!token.len || e == entry_of(one, token))) {
            was_held = 1;
            one->version++;
            remove_entry(one, i);
        } else {
            i++;
        }
    }
    pthread_mutex_unlock(&mutex);
    ilk__contention_broken(name, request, was_held, NULL);
}

static void proclaim(void *self, ilk__contender *c)
{
    do_job(self, (job){.run = run_proclaim, .contender = c}, 1);
}

static void observe(void *self, ilk__contended *name, int begins)
{
    list_client *client = self;
    size_t at = 0;

    while (at < client->observed_count && client->observed[at] != name)
        at++;
    if (begins) {
        must(at < OBSERVED);
        client->observed[at] = name;
        pthread_mutex_lock(&mutex);
        client->versions[at] = list_of(name->key.data, name->key.len)->version;
        pthread_mutex_unlock(&mutex);
        client->observed_count++;
    } else {
        client->observed_count--;
        client->observed[at] = client->observed[client->observed_count];
        client->versions[at] = client->versions[client->observed_count];
    }
}

static void set_limit(void *self, ilk__contended *name, int64_t limit,
                      int64_t base, ilk__gateway_request *request)
{
    int64_t before;
    list *one;

    (void)self;
    pthread_mutex_lock(&mutex);
    one = list_of(name->key.data, name->key.len);
    before = one->limit;
    one->limit = limit;
    one->base = before ? one->base : base;
    changed(one);
    pthread_mutex_unlock(&mutex);
    ilk__contention_limit_set(name, request, before, NULL);
}

static const ilk__contention_store store = {.name = "the list store",
                                            .join = join,
                                            .renew = renew,
                                            .leave = leave,
                                            .forget = forget,
                                            .forget_name = forget_name,
                                            .check = check,
                                            .inspect = inspect,
                                            .break_hold = break_hold,
                                            .proclaim = proclaim,
                                            .observe = observe,
                                            .set_limit = set_limit,
                                            .has_readers = 1};

/* ---- the poll loop ------------------------------------------------------- */

static size_t prepare(void *context, struct pollfd *fds, size_t room,
                      int64_t *until)
{
    list_client *self = context;

    (void)fds;
    (void)room;
    *until = ilk__sooner(*until, ilk__contention_due(self->contention));
    for (const job *one = self->jobs; one; one = one->next)
        *until = ilk__sooner(*until, one->due);
    pthread_mutex_lock(&mutex);
    if (self->is_dirty)
        *until = 0;
    pthread_mutex_unlock(&mutex);
    return 0;
}

/* A job may add jobs, and end others. */
static void run_jobs(list_client *self)
{
    int64_t now = ilk__now_ms();
    job **link = &self->jobs;

    while (*link) {
        job one = **link, *gone = *link;

        if (one.due > now) {
            link = &gone->next;
            continue;
        }
        *link = gone->next;
        free(gone);
        one.run(self, &one);
        link = &self->jobs;
    }
}

static void report_all(list_client *self)
{
    ilk__contended *name, *last = NULL;
    ilk__contender *c = NULL;
    int was_dirty;

    pthread_mutex_lock(&mutex);
    was_dirty = self->is_dirty;
    self->is_dirty = 0;
    pthread_mutex_unlock(&mutex);
    if (!was_dirty)
        return;
    while ((c = ilk__contention_next(self->contention, &name, c))) {
        if (name != last)
            report(name);
        last = name;
    }
}

static void report_elections(list_client *self)
{
    for (size_t i = 0; i < self->observed_count; i++) {
        ilk__contended *name = self->observed[i];
        int64_t version;

        pthread_mutex_lock(&mutex);
        version = list_of(name->key.data, name->key.len)->version;
        pthread_mutex_unlock(&mutex);
        if (version != self->versions[i])
            ilk__contention_election_changed(name);
        self->versions[i] = version;
    }
}

static void polled(void *context, const struct pollfd *fds, size_t count)
{
    list_client *self = context;

    (void)fds;
    (void)count;
    run_jobs(self);
    report_all(self);
    report_elections(self);
    ilk__contention_fire(self->contention, ilk__now_ms());
}

/* ---- opening and closing ------------------------------------------------- */

static unsigned share(const ilk__url *url, const char *key)
{
    const char *at = url->options ? strstr(url->options, key) : NULL;

    return at ? (unsigned)strtoul(at + strlen(key), NULL, 10) : 0;
}

static ilk_status open_list(void **out, ilk__gateway *gateway,
                            const ilk__url *url, ilk_error *err)
{
    list_client *self = calloc(1, sizeof *self);

    must(self != NULL);
    self->gateway = gateway;
    self->late = share(url, "late=");
    self->fail = share(url, "fail=");
    self->lose = share(url, "lose=");
    self->seed = share(url, "seed=");
    self->contention = ilk__contention_new(gateway, &store, self);
    if (!self->contention) {
        free(self);
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    }
    pthread_mutex_lock(&mutex);
    self->next = clients;
    clients = self;
    pthread_mutex_unlock(&mutex);
    *out = self;
    return ILK_OK;
}

static void close_list(void *context)
{
    list_client *self = context, **link = &clients;

    self->observed_count = 0;
    ilk__contention_free(self->contention);
    pthread_mutex_lock(&mutex);
    while (*link != self)
        link = &(*link)->next;
    *link = self->next;
    for (size_t i = 0; i < list_count; i++)
        for (size_t at = 0; at < lists[i]->count;)
            if (lists[i]->entries[at].owner == self)
                remove_entry(lists[i], at);
            else
                at++;
    pthread_mutex_unlock(&mutex);
    while (self->jobs) {
        job *one = self->jobs;

        self->jobs = one->next;
        free(one);
    }
    free(self);
}

static void call(void *context, ilk__gateway_request *request)
{
    ilk__contention_call(((list_client *)context)->contention, request);
}

/* EXISTS, DEL and SET ... NX of keys, for the table. */
static void command(void *context, ilk__gateway_request *request)
{
    const char *text = "+OK\r\n";
    list *one;

    (void)context;
    pthread_mutex_lock(&mutex);
    if (request->arg_count > 1) {
        one = list_of(request->args[1]->str, request->args[1]->len);
        text = one->count ? ":1\r\n" : ":0\r\n";
        if (ilk__reply_is_text(request->args[0], "SET"))
            text = "$-1\r\n";
        if (ilk__reply_is_text(request->args[0], "DEL"))
            while (one->count)
                remove_entry(one, 0);
    }
    pthread_mutex_unlock(&mutex);
    ilk__gateway_reply_text(request, text, strlen(text));
}

void list_store_reset(void)
{
    must(clients == NULL);
    for (size_t i = 0; i < list_count; i++) {
        free(lists[i]->entries);
        free(lists[i]);
    }
    list_count = 0;
    overlaps = 0;
}

long list_store_overlaps(void)
{
    long count;

    pthread_mutex_lock(&mutex);
    count = overlaps;
    pthread_mutex_unlock(&mutex);
    return count;
}

const ilk__backend list_backend = {
    .scheme = "list",
    .store = "the list store",
    .offers = ILK_OFFER_LOCK | ILK_OFFER_RWLOCK | ILK_OFFER_SEMAPHORE
              | ILK_OFFER_ELECTION | ILK_OFFER_DETACH,
    .open = open_list,
    .close = close_list,
    .call = call,
    .command = command,
    .prepare = prepare,
    .polled = polled,
};

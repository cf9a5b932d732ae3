/* SPDX-License-Identifier: MIT */
/*
 * inspect_kind.c -- inspecting a name of any kind: one request, one result.
 *
 *     lock, semaphore, election   one script, with holders and waiters
 *     the others                  what the kind keeps, then its wait queue
 */
#include "inspect_states.h"

#include "base/alloc.h"
#include "client/run.h"
#include "primitives/election/election.h"
#include "primitives/group/group.h"
#include "primitives/lock/lock.h"
#include "primitives/semaphore/semaphore.h"

#include <interlock/list.h>

#include <string.h>

enum { NO_QUEUE = -1 };

#define KEYS(...) ((const char *const[]){__VA_ARGS__})

static const struct kind {
    int32_t bit;
    uint32_t offer;
    const char *const *key_kinds;
    size_t key_count;
    const ilk__op_type *reads; /* NULL: only the wait queue */
    int waiters_at;            /* NO_QUEUE: `reads` lists them */
} kinds[] = {
    {ILK_KIND_SIGNAL, ILK_OFFER_SIGNAL, KEYS("signal:wait"), 1, NULL, 0},
    {ILK_KIND_EVENT, ILK_OFFER_EVENT, KEYS("event", "event:wait"), 2,
     &ilk__read_event, 1},
    {ILK_KIND_BARRIER, ILK_OFFER_BARRIER, KEYS("barrier", "barrier:wait"), 2,
     &ilk__read_barrier, 1},
    {ILK_KIND_LATCH, ILK_OFFER_LATCH, KEYS("latch", "latch:wait"), 2,
     &ilk__read_latch, 1},
    {ILK_KIND_QUEUE, ILK_OFFER_QUEUE,
     KEYS("queue", "queue:ready", "queue:wait", "queue:live", "queue:delayed",
          "queue:leases", "queue:flight", "queue:dead", "queue:died"),
     9, &ilk__read_queue, 2},
    {ILK_KIND_GROUP, ILK_OFFER_GROUP, ilk__group_key_kinds, ILK__GROUP_KEYS,
     &ilk__read_group, 2},
    {ILK_KIND_REGISTER, ILK_OFFER_REGISTER, KEYS("register", "register:wait"),
     2, &ilk__read_register, 1},
    {ILK_KIND_ELECTION, ILK_OFFER_ELECTION, ilk__election_key_kinds,
     ILK__ELECTION_KEYS, &ilk__read_election, NO_QUEUE},
};

typedef struct inspect_request {
    ilk__request request;
    const struct kind *kind;
    const void *name; /* borrowed from the caller until it begins */
    size_t name_len;
    ilk__state_reading reading;
} inspect_request;

static void end(inspect_request *self, ilk_status status)
{
    ilk__state_reading *reading = &self->reading;

    ilk__keys_free(reading->at.keys, self->kind->key_count);
    ilk__known_free(&reading->members);
    if (status)
        ilk_info_free(reading->at.info);
    else
        ilk__request_answer(&self->request, reading->at.info,
                            ilk__info_dispose);
    ilk__request_end(&self->request, status);
}

static void ended(ilk__request *request, ilk_status status)
{
    end((inspect_request *)request, status);
}

static void ask(inspect_request *self, const ilk__op_type *type,
                ilk__request_then *then)
{
    ilk__request_ask(&self->request, type, &self->reading,
                     ilk__request_patience(&self->request), then);
}

/* Stores without scripts keep no wait queues of these kinds. */
static void read_waiters(inspect_request *self)
{
    if (self->kind->waiters_at == NO_QUEUE) {
        end(self, ILK_OK);
    } else if (!ilk_client_offers(self->request.client, ILK_OFFER_SIGNAL)) {
        self->reading.at.info->waiters = -1;
        end(self, ILK_OK);
    } else {
        self->reading.waiters_at = (size_t)self->kind->waiters_at;
        ask(self, &ilk__read_waiters, ended);
    }
}

static void was_read(ilk__request *request, ilk_status status)
{
    inspect_request *self = (inspect_request *)request;

    if (status)
        end(self, status);
    else if (self->reading.members.more)
        ask(self, self->kind->reads, was_read);
    else
        read_waiters(self);
}

static ilk_status prepare(inspect_request *self, ilk_error *err)
{
    ilk__inspection *at = &self->reading.at;
    const struct kind *kind = self->kind;
    ilk_status st =
        ilk__client_enter_for(self->request.client, kind->offer, err);

    ilk__known_init(&self->reading.members);
    if (st == ILK_OK)
        st = ilk__keys_make(at->keys, kind->key_kinds, kind->key_count,
                            self->name, self->name_len, err);
    if (st == ILK_OK)
        st = ilk__client_accept_name(self->request.client, self->name,
                                     self->name_len, err);
    if (st)
        return st;
    at->info = ilk__calloc(1, sizeof *at->info);
    if (!at->info)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    at->info->kind = kind->bit;
    at->info->state_name = "";
    return ILK_OK;
}

static void begin(ilk__request *request)
{
    inspect_request *self = (inspect_request *)request;
    ilk_status st = prepare(self, request->err);

    if (st)
        end(self, st);
    else if (self->kind->reads)
        ask(self, self->kind->reads, was_read);
    else
        read_waiters(self);
}

/* Locks and semaphores have inspections of their own. */
static const ilk__inspect_kind *held_kind(int32_t kind)
{
    return kind == ILK_KIND_LOCK        ? &ilk__lock_inspect_kind
           : kind == ILK_KIND_SEMAPHORE ? &ilk__semaphore_inspect_kind
                                        : NULL;
}

static ilk_status request_of(inspect_request *out, int32_t kind,
                             const void *name, size_t name_len, ilk_error *err)
{
    *out = (inspect_request){.name = name, .name_len = name_len};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !out->kind; i++)
        if (kinds[i].bit == kind)
            out->kind = &kinds[i];
    if (!out->kind)
        return ilk__fail(err, ILK_EINVAL,
                         "kind must be one that can be inspected, got %d",
                         (int)kind);
    return ILK_OK;
}

ilk_status ilk_inspect_kind(ilk_info **out, ilk_client *client, int32_t kind,
                            const void *name, size_t name_len, ilk_error *err)
{
    inspect_request self;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    if (held_kind(kind))
        return ilk__inspect(out, client, held_kind(kind), name, name_len, err);
    st = request_of(&self, kind, name, name_len, err);
    if (st)
        return st;
    st = ilk__request_run(&self.request, client, begin, err);
    *out = self.request.result.object;
    return st;
}

ilk_status ilk_inspect_kind_start(ilk_op **out, ilk_client *client,
                                  int32_t kind, const void *name,
                                  size_t name_len, ilk_error *err)
{
    inspect_request self;
    ilk_status st;

    if (held_kind(kind))
        return ilk__inspect_start(out, client, held_kind(kind), name, name_len,
                                  err);
    st = request_of(&self, kind, name, name_len, err);
    return st ? ilk__started_none(out, st)
              : ilk__request_start(out, &self.request, sizeof self, client,
                                   begin, err);
}

/* ---- the names of kinds -------------------------------------------------- */

static const struct {
    int32_t bit;
    const char *name;
} names[] = {
    {ILK_KIND_LOCK, "lock"},         {ILK_KIND_SEMAPHORE, "semaphore"},
    {ILK_KIND_ELECTION, "election"}, {ILK_KIND_SIGNAL, "signal"},
    {ILK_KIND_EVENT, "event"},       {ILK_KIND_BARRIER, "barrier"},
    {ILK_KIND_LATCH, "latch"},       {ILK_KIND_QUEUE, "queue"},
    {ILK_KIND_GROUP, "group"},       {ILK_KIND_REGISTER, "register"},
    {ILK_KIND_STORE, "store"},       {ILK_KIND_KV, "kv"},
};

const char *ilk_kind_name(int32_t kind)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].bit == kind)
            return names[i].name;
    return NULL;
}

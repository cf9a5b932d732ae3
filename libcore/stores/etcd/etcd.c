/* SPDX-License-Identifier: MIT */
/*
 * etcd.c -- the backend of etcd:// and etcd+tls://.
 *
 *     etcd://host[:port],host[:port]...[?options]
 *
 * Registers are in etcd_registers.c, groups in etcd_groups.c. Locks, read/write locks,
 * semaphores and elections are a contention store, with the keys and the order of
 * clientv3's concurrency.Mutex and Election (see etcd_keys.c). So clientv3, jetcd,
 * `etcdctl lock N` and `etcdctl elect N` wait for our holders, and our waiters for
 * theirs. A hold's fence is the create_revision of its key.
 *
 * All names are accepted: no two of them have a key in common.
 */
#include "etcd_store.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#include <stdlib.h>

extern const ilk__backend ilk__etcd_backend;

static const ilk__contention_store contention_store = {
    .name = "etcd",
    .join = ilk__etcd_join,
    .renew = ilk__etcd_renew,
    .leave = ilk__etcd_leave,
    .forget = ilk__etcd_forget,
    .forget_name = ilk__etcd_forget_name,
    .check = ilk__etcd_check,
    .inspect = ilk__etcd_inspect,
    .break_hold = ilk__etcd_break,
    .proclaim = ilk__etcd_proclaim,
    .observe = ilk__etcd_observe,
    .set_limit = ilk__etcd_set_limit,
    .has_readers = 1,
};

static const ilk__register_store register_store = {
    .read = ilk__etcd_register_read,
    .change = ilk__etcd_register_change,
    .watch = ilk__etcd_register_watch,
    .forget_name = ilk__etcd_register_forget,
};

static const ilk__group_store group_store = {
    .join = ilk__etcd_group_join,
    .renew = ilk__etcd_group_renew,
    .update = ilk__etcd_group_update,
    .leave = ilk__etcd_group_leave,
    .list = ilk__etcd_group_list,
    .forget_name = ilk__etcd_group_forget,
};

/* ---- opening and closing ------------------------------------------------- */

static void close_etcd(void *self)
{
    ilk__etcd_store *store = self;

    store->is_closing = 1;
    ilk__contention_free(store->contention);
    ilk__etcd_close(store->client); /* ends all steps */
    ilk__registers_free(store->registers);
    ilk__groups_free(store->groups);
    while (store->leases) {
        store->leases->refs = 1;
        ilk__etcd_lease_unref(store->leases);
    }
    ilk__table_free(&store->by_key);
    ilk__free(store);
}

static ilk_status open_etcd(void **out, ilk__gateway *gateway,
                            const ilk__url *url, ilk_error *err)
{
    ilk__etcd_store *store = ilk__calloc(1, sizeof *store);
    ilk_status st;

    *out = NULL;
    if (!store)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    store->first_number = 1;
    store->gateway = gateway;
    store->due = store->registers_due = ILK__FOREVER;
    st = ilk__etcd_open(&store->client, url, url->options, err);
    if (st == ILK_OK) {
        store->contention =
            ilk__contention_new(gateway, &contention_store, store);
        store->registers = ilk__registers_new(gateway, &register_store, store);
        store->groups = ilk__groups_new(gateway, &group_store, store);
        if (!store->contention || !store->registers || !store->groups)
            st = ilk__fail(err, ILK_ENOMEM, "out of memory");
    }
    if (st) {
        close_etcd(store);
        return st;
    }
    *out = store;
    return ILK_OK;
}

static void abandon(void *self)
{
    ilk__etcd_store *store = self;

    ilk__etcd_abandon(store->client);
}

/* ---- requests ------------------------------------------------------------ */

static void call(void *self, ilk__gateway_request *request)
{
    ilk__etcd_store *store = self;

    if (!ilk__groups_call(store->groups, request)
        && !ilk__registers_call(store->registers, request))
        ilk__contention_call(store->contention, request);
}

/* The three numbers that a version begins with. 0: it does not. */
static int read_version(const char *text, long numbers[3])
{
    for (int i = 0; i < 3; i++) {
        char *end;

        if (*text < '0' || *text > '9')
            return 0;
        numbers[i] = strtol(text, &end, 10);
        if (i < 2 && *end != '.')
            return 0;
        text = end + 1;
    }
    return 1;
}

int ilk__etcd_may_end_leases(const char *version)
{
    long part[3];

    return read_version(version, part) && part[0] == 3
           && (part[1] < 4 || (part[1] == 4 && part[2] < 31)
               || (part[1] == 5 && part[2] < 13));
}

static void warn_of_version(ilk__etcd_store *store, const char *version)
{
    if (store->is_warned || !ilk__etcd_may_end_leases(version))
        return;
    store->is_warned = 1;
    ilk__log(ILK__LOG_WARN,
             "etcd: version %.20s may end leases that are renewed when its "
             "leader was frozen or overloaded, so two may hold; 3.4.31, 3.5.13 "
             "and 3.6 do not",
             version);
}

static void has_status(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    if (!step->store->is_closing && !answer->status)
        warn_of_version(step->store, answer->version);
    if (step->store->is_closing)
        ilk__gateway_break(step->request);
    else if (answer->status)
        ilk__gateway_reply_error(step->request, answer->error);
    else if (!answer->leader)
        ilk__gateway_reply_error(step->request,
                                 "NOQUORUM this member of etcd has no leader");
    else
        ilk__gateway_contact_made(step->request);
}

static void contact(void *self, ilk__gateway_request *request)
{
    ilk__etcd_step *step =
        ilk__etcd_step_new(self, has_status, NULL, NULL, NULL);

    if (!step) {
        ilk__gateway_reply_error(request, ilk__etcd_no_memory);
        return;
    }
    step->request = request;
    ilk__etcd_step_ask_status(step);
}

/* ---- the loop ------------------------------------------------------------ */

static size_t prepare(void *self, struct pollfd *fds, size_t room,
                      int64_t *until)
{
    ilk__etcd_store *store = self;

    *until = ilk__sooner(*until, ilk__contention_due(store->contention));
    *until = ilk__sooner(*until, ilk__etcd_leases_due(store));
    *until = ilk__sooner(*until, store->due);
    *until = ilk__sooner(*until, ilk__registers_due(store->registers));
    *until = ilk__sooner(*until, store->registers_due);
    *until = ilk__sooner(*until, ilk__groups_due(store->groups));
    return ilk__etcd_prepare(store->client, fds, room, until);
}

static void polled(void *self, const struct pollfd *fds, size_t count)
{
    ilk__etcd_store *store = self;

    ilk__etcd_polled(store->client, fds, count);
    ilk__etcd_leases_fire(store, ilk__now_ms());
    ilk__contention_fire(store->contention, ilk__now_ms());
    ilk__etcd_names_fire(store, ilk__now_ms());
    ilk__registers_fire(store->registers, ilk__now_ms());
    ilk__etcd_registers_fire(store, ilk__now_ms());
    ilk__groups_fire(store->groups, ilk__now_ms());
}

/* ---- the backend --------------------------------------------------------- */

#define ETCD(url_scheme, other)                                                \
    {                                                                          \
        .scheme = (url_scheme), .store = "etcd", .also = (other),              \
        .offers = ILK_OFFER_LOCK | ILK_OFFER_RWLOCK | ILK_OFFER_SEMAPHORE      \
                  | ILK_OFFER_ELECTION | ILK_OFFER_REGISTER | ILK_OFFER_GROUP  \
                  | ILK_OFFER_LIST,                                            \
        .open = open_etcd, .close = close_etcd, .abandon = abandon,            \
        .call = call, .replies_alone = ilk__contention_replies_alone,          \
        .command = ilk__etcd_list_names, .contact = contact,                   \
        .prepare = prepare, .polled = polled                                   \
    }

static const ilk__backend with_tls = ETCD("etcd+tls", NULL);

const ilk__backend ilk__etcd_backend = ETCD("etcd", &with_tls);

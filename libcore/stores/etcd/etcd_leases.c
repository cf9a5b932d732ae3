/* SPDX-License-Identifier: MIT */
/*
 * etcd_leases.c -- the leases of one client: one for each ttl that is in use.
 *
 * A lease is kept alive while an entry of it waits, or when the core extends a hold;
 * so the hold of a program that hangs ends. Without entries it ends by itself. Its
 * end is counted from the sending of the last request that renewed it, so etcd never
 * ends it earlier. Its entries are lost only when the server says that it is over.
 */
#include "etcd_store.h"

#include "base/alloc.h"
#include "base/clock.h"

enum {
    KEEPS_OF_A_TTL = 5,
    LATE_OF_A_TTL = 50,
    SECOND = 1000,
    TTL_MOST_S = 1000000000 /* some 30 years: a server may say anything */
};

static int64_t ttl_ms_of(const ilk__etcd_answer *answer)
{
    return SECOND * (answer->ttl_s < TTL_MOST_S ? answer->ttl_s : TTL_MOST_S);
}

int64_t ilk__etcd_lease_end(const ilk__etcd_lease *lease)
{
    return lease->renewed_at + lease->ttl_ms;
}

/* A waiter extends its hold when it gets it; one that has joined just now uses it as
 * it is, and is promised all of its lease. */
int ilk__etcd_lease_is_fresh(const ilk__etcd_lease *lease,
                             const ilk__contender *contender)
{
    const int64_t wanted = contender->lease_ms < lease->ttl_ms
                               ? contender->lease_ms
                               : lease->ttl_ms;
    const int64_t spare = contender->state == ILK__CONTENDER_JOINS
                              ? wanted / LATE_OF_A_TTL
                              : wanted / 2;

    return ilk__etcd_lease_end(lease) - ilk__now_ms() >= wanted - spare;
}

/* ---- entries ------------------------------------------------------------- */

void ilk__etcd_lease_join(ilk__etcd_lease *lease, ilk__etcd_entry *entry)
{
    entry->lease = lease;
    lease->refs++;
    entry->next = lease->entries;
    if (entry->next)
        entry->next->previous = entry;
    lease->entries = entry;
}

/* Its key does not belong to it any more, either. */
void ilk__etcd_lease_part(ilk__etcd_entry *entry)
{
    ilk__etcd_lease *lease = entry->lease;

    ilk__etcd_key_free(entry);
    if (!lease)
        return;
    *(entry->previous ? &entry->previous->next : &lease->entries) = entry->next;
    if (entry->next)
        entry->next->previous = entry->previous;
    entry->next = entry->previous = NULL;
    entry->lease = NULL;
    entry->awaits_fresh = 0;
    entry->create_revision = entry->mod_revision = 0;
    ilk__etcd_lease_unref(lease);
}

/* Go on with an entry that awaits its lease; error: NULL, or why there is none. */
static void go_on(ilk__etcd_entry *entry, const char *error)
{
    entry->awaits_lease = 0;
    if (!entry->contender)
        return;
    if (entry->moves_to || entry->renews) {
        if (error)
            ilk__etcd_renew_failed(entry, error);
        else
            ilk__etcd_renew_continue(entry);
    } else if (entry->contender->state == ILK__CONTENDER_JOINS) {
        if (error)
            ilk__etcd_join_failed(entry, error);
        else
            ilk__etcd_join_send(entry);
    }
}

/* Reports may change the list, so it is searched again after each. Entries that move
 * to a lease belong to another one until they have. */
static ilk__etcd_entry *next_awaiting(ilk__etcd_lease *lease)
{
    for (ilk__etcd_lease *of = lease->store->leases; of; of = of->next)
        for (ilk__etcd_entry *one = of->entries; one; one = one->next)
            if (one->awaits_lease
                && (of == lease ? !one->moves_to : one->moves_to == lease))
                return one;
    return NULL;
}

static void go_on_all(ilk__etcd_lease *lease, const char *error)
{
    ilk__etcd_entry *one;

    lease->refs++;
    while ((one = next_awaiting(lease))) {
        one->refs++;
        go_on(one, error);
        ilk__etcd_entry_unref(one);
    }
    ilk__etcd_lease_unref(lease);
}

/* ---- beginning ----------------------------------------------------------- */

static void has_begun(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    ilk__etcd_lease *lease = step->lease;

    if (step->store->is_closing)
        return;
    if (answer->status != ILK_OK) {
        lease->state = ILK__ETCD_LEASE_LOST;
        go_on_all(lease, answer->error);
        return;
    }
    lease->state = ILK__ETCD_LEASE_READY;
    lease->id = answer->lease;
    lease->ttl_ms = ttl_ms_of(answer);
    lease->renewed_at = answer->sent_at;
    lease->keep_at = answer->sent_at + lease->ttl_ms / KEEPS_OF_A_TTL;
    go_on_all(lease, NULL);
}

static ilk__etcd_lease *begin(ilk__etcd_store *store, int64_t wanted_s)
{
    ilk__etcd_lease *lease = ilk__calloc(1, sizeof *lease);
    ilk__etcd_step *step;

    if (!lease)
        return NULL;
    lease->store = store;
    lease->wanted_s = wanted_s;
    lease->keep_at = ILK__FOREVER;
    lease->refs = 1;
    step = ilk__etcd_step_new(store, has_begun, NULL, NULL, lease);
    if (!step) {
        ilk__free(lease);
        return NULL;
    }
    lease->next = store->leases;
    store->leases = lease;
    ilk__etcd_step_grant(step, 0, wanted_s);
    return lease;
}

/* A lease without its first reference is forgotten when the last entry parts. */
static void end(ilk__etcd_lease *lease)
{
    if (lease->keep_at == -1)
        return;
    lease->keep_at = -1;
    ilk__etcd_lease_unref(lease);
}

/* One that nobody keeps alive is replaced shortly before its end. */
static int is_usable(const ilk__etcd_lease *lease, int64_t until)
{
    if (lease->state == ILK__ETCD_LEASE_BEGINS)
        return 1;
    return lease->state == ILK__ETCD_LEASE_READY
           && ilk__etcd_lease_end(lease) >= until
           && (lease->entries
               || ilk__etcd_lease_end(lease) - ilk__now_ms()
                      > lease->ttl_ms / KEEPS_OF_A_TTL);
}

ilk__etcd_lease *ilk__etcd_lease_find(ilk__etcd_store *store, int64_t lease_ms,
                                      int64_t until)
{
    const int64_t wanted_s = (lease_ms + SECOND - 1) / SECOND;

    for (ilk__etcd_lease *one = store->leases; one; one = one->next)
        if (one->wanted_s == wanted_s && is_usable(one, until))
            return one;
    return begin(store, wanted_s > 0 ? wanted_s : 1);
}

ilk_status ilk__etcd_lease_bind(ilk__etcd_entry *entry, int64_t lease_ms)
{
    ilk__etcd_store *store = entry->name->store;
    ilk__etcd_lease *lease;

    if (entry->lease && entry->lease->state != ILK__ETCD_LEASE_LOST)
        return ILK_OK;
    ilk__etcd_lease_part(entry);
    lease = ilk__etcd_lease_find(store, lease_ms, 0);
    if (!lease || lease->state == ILK__ETCD_LEASE_LOST)
        return ILK_ENOMEM;
    ilk__etcd_lease_join(lease, entry);
    return ILK_OK;
}

/* ---- keeping ------------------------------------------------------------- */

/* New holds whose lease is not fresh, and renewals, wait for a keep-alive. */
static ilk__etcd_entry *next_kept(ilk__etcd_lease *lease)
{
    for (ilk__etcd_entry *one = lease->entries; one; one = one->next)
        if (one->contender
            && (one->awaits_fresh
                || (one->renews && !one->renew_is_kept && !one->moves_to)))
            return one;
    return NULL;
}

static void note_kept(ilk__etcd_entry *entry, const char *error)
{
    if (entry->awaits_fresh) {
        entry->awaits_fresh = 0;
        if (!error && ilk__etcd_lease_end(entry->lease) <= ilk__now_ms())
            error = "ILKDOWN etcd answers later than the lease ends";
        if (!error)
            ilk__etcd_name_grant_now(entry, ilk__now_ms());
        else if (entry->contender->state == ILK__CONTENDER_JOINS)
            ilk__etcd_join_failed(entry, error);
        else
            ilk__etcd_name_read_later(entry->name); /* which finds it again */
    } else if (error) {
        ilk__etcd_renew_failed(entry, error);
    } else {
        entry->renew_is_kept = 1;
        ilk__etcd_renew_continue(entry);
    }
}

static void was_kept(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    ilk__etcd_lease *lease = step->lease;
    const char *error = answer->status ? answer->error : NULL;
    ilk__etcd_entry *one;

    lease->is_kept = 0;
    if (step->store->is_closing || lease->state != ILK__ETCD_LEASE_READY)
        return;
    if (answer->is_gone || (!error && answer->ttl_s <= 0)) {
        ilk__etcd_lease_lost(lease);
        return;
    }
    if (error) {
        lease->keep_at = ilk__now_ms() + ILK__ETCD_AGAIN_MS;
    } else if (answer->sent_at > lease->renewed_at) {
        lease->ttl_ms = ttl_ms_of(answer);
        lease->renewed_at = answer->sent_at;
        lease->keep_at = answer->sent_at + lease->ttl_ms / KEEPS_OF_A_TTL;
    }
    while ((one = next_kept(lease))) {
        one->refs++;
        note_kept(one, error);
        ilk__etcd_entry_unref(one);
    }
}

void ilk__etcd_lease_keep(ilk__etcd_lease *lease)
{
    ilk__etcd_step *step;

    if (lease->is_kept || lease->state != ILK__ETCD_LEASE_READY)
        return;
    step = ilk__etcd_step_new(lease->store, was_kept, NULL, NULL, lease);
    if (!step) {
        lease->keep_at = ilk__now_ms() + ILK__ETCD_AGAIN_MS;
        return;
    }
    lease->is_kept = 1;
    lease->keep_at = ilk__now_ms() + lease->ttl_ms / KEEPS_OF_A_TTL;
    ilk__etcd_step_keep_alive(step, lease->id);
}

/* Contenders that join are in flight, and their entry may come to wait. */
static int someone_waits(const ilk__etcd_lease *lease)
{
    for (const ilk__etcd_entry *one = lease->entries; one; one = one->next)
        if (one->contender
            && (one->awaits_fresh || one->renews
                || one->contender->state == ILK__CONTENDER_WAITS
                || one->contender->state == ILK__CONTENDER_JOINS))
            return 1;
    return 0;
}

/* ---- the end ------------------------------------------------------------- */

void ilk__etcd_lease_lost(ilk__etcd_lease *lease)
{
    ilk__etcd_entry *one;

    if (lease->state == ILK__ETCD_LEASE_LOST)
        return;
    lease->state = ILK__ETCD_LEASE_LOST;
    lease->refs++;
    while ((one = lease->entries)) {
        ilk__etcd_lease *other = one->perhaps_in;

        if (other && other->state == ILK__ETCD_LEASE_READY) {
            ilk__etcd_renew_follow(one, other); /* its next renewal finds out */
            continue;
        }
        one->refs++;
        ilk__etcd_lease_part(one);
        ilk__etcd_entry_gone(one);
        ilk__etcd_entry_unref(one);
    }
    end(lease);
    ilk__etcd_lease_unref(lease);
}

int64_t ilk__etcd_leases_due(const ilk__etcd_store *store)
{
    int64_t due = ILK__FOREVER;

    for (const ilk__etcd_lease *one = store->leases; one; one = one->next)
        if (one->state == ILK__ETCD_LEASE_READY && !one->is_kept)
            due = ilk__sooner(due, one->keep_at);
    return due;
}

static void fire(ilk__etcd_lease *lease, int64_t now)
{
    if (lease->state == ILK__ETCD_LEASE_LOST) {
        end(lease);
    } else if (lease->state == ILK__ETCD_LEASE_READY && lease->keep_at <= now) {
        if (someone_waits(lease))
            ilk__etcd_lease_keep(lease);
        else if (lease->refs == 1 && ilk__etcd_lease_end(lease) <= now)
            end(lease);
        else
            lease->keep_at = now + lease->ttl_ms / KEEPS_OF_A_TTL;
    }
}

void ilk__etcd_leases_fire(ilk__etcd_store *store, int64_t now)
{
    for (ilk__etcd_lease *next, *one = store->leases; one; one = next) {
        next = one->next;
        fire(one, now);
    }
}

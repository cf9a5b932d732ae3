/* SPDX-License-Identifier: MIT */
/* ct_quorum_alloc.c -- the thread of a quorum without memory. */
/* link: @support/gateway_alloc.link */
#include "fixture.h"
#include "gateway_alloc.h"

#include "test.h"

#include <stdio.h>

enum { NODES = 3, TTL_MS = 500, LONGEST_MS = 1000, STEP = 5 };

static fixture nodes[NODES];
static char url[256];

static int setup(void)
{
    for (size_t i = 0; i < NODES; i++)
        if (fixture_start(&nodes[i], NULL))
            return -1;
    return snprintf(url, sizeof url,
                    "redis://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d?quorum"
                    "&longest_lease_ms=%d&fsync=trust",
                    nodes[0].port, nodes[1].port, nodes[2].port, LONGEST_MS)
           < 0;
}

static int teardown(void)
{
    for (size_t i = 0; i < NODES; i++)
        fixture_stop(&nodes[i]);
    return 0;
}

AROUND_ALL(setup, teardown);

/* ---- scenes ----------------------------------------------------------------- */

static const ilk_lock_opts short_lived = {.size = sizeof short_lived,
                                          .ttl_ms = TTL_MS};

static ilk_status take_and_give(ilk_client *client, ilk_error *err)
{
    ilk_lock *lock = NULL;
    ilk_status st = ilk_lock_open(&lock, client, "n", 1, &short_lived, err);

    if (st == ILK_OK)
        st = ilk_lock_acquire(lock, 2000, err);
    if (st == ILK_OK)
        st = ilk_lock_extend(lock, TTL_MS, err);
    if (st == ILK_OK)
        st = ilk_lock_release(lock, err);
    ilk_lock_free(lock);
    return st;
}

static ilk_status wait_for_another(ilk_client *client, ilk_error *err)
{
    ilk_lock *holder = NULL, *waiter = NULL;
    ilk_status st = ilk_lock_open(&holder, client, "w", 1, &short_lived, err);

    if (st == ILK_OK)
        st = ilk_lock_open(&waiter, client, "w", 1, &short_lived, err);
    if (st == ILK_OK)
        st = ilk_lock_acquire(holder, 2000, err);
    if (st == ILK_OK)
        st = ilk_lock_acquire(waiter, 50, err);
    if (st == ILK_ETIMEOUT)
        st = ilk_lock_release(holder, err);
    if (st == ILK_OK)
        st = ilk_lock_acquire(waiter, 2000, err);
    ilk_lock_free(waiter);
    ilk_lock_free(holder);
    return st;
}

static ilk_status lead(ilk_client *client, ilk_error *err)
{
    const ilk_election_opts opts = {
        .size = sizeof opts, .ttl_ms = TTL_MS, .value = "a", .value_len = 1};
    ilk_election *election = NULL;
    ilk_leader *leader = NULL;
    ilk_status st = ilk_election_open(&election, client, "e", 1, &opts, err);

    if (st == ILK_OK)
        st = ilk_election_campaign(election, 2000, err);
    if (st == ILK_OK)
        st = ilk_election_proclaim(election, "other", 5, err);
    if (st == ILK_OK)
        st = ilk_election_leader(&leader, election, err);
    if (st == ILK_OK)
        st = ilk_election_resign(election, err);
    ilk_leader_free(leader);
    ilk_election_free(election);
    return st;
}

static ilk_status count(ilk_client *client, ilk_error *err)
{
    ilk_register *at = NULL;
    ilk_status st = ilk_register_open(&at, client, "r", 1, err);

    if (st == ILK_OK)
        st = ilk_register_get(at, err);
    if (st == ILK_OK)
        st = ilk_register_set(at, "some", 4, err);
    if (st == ILK_OK)
        st = ilk_register_cas(at, ilk_register_version(at), "more", 4, err);
    if (st == ILK_OK)
        st = ilk_register_wait(at, ilk_register_version(at), 30, err);
    if (st == ILK_ETIMEOUT)
        st = ilk_register_delete(at, ILK_REGISTER_ANY, err);
    ilk_register_free(at);
    return st;
}

/* ---- tests ------------------------------------------------------------------ */

static const gateway_alloc locks = {
    .url = url, .warm_up = take_and_give, .works = take_and_give, .step = STEP};
static const gateway_alloc elections = {
    .url = url, .warm_up = lead, .works = lead, .step = STEP};

static const gateway_alloc registers = {
    .url = url, .warm_up = count, .works = count, .step = STEP};

TEST(a_lock)
{
    gateway_alloc_run(&locks, take_and_give, 20);
}

TEST(a_wait)
{
    gateway_alloc_run(&locks, wait_for_another, 20);
}

TEST(a_leadership)
{
    gateway_alloc_run(&elections, lead, 30);
}

TEST(a_register)
{
    gateway_alloc_run(&registers, count, 30);
}

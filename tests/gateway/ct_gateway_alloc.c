/* SPDX-License-Identifier: MIT */
/* ct_gateway_alloc.c -- the gateway without memory, over the store in memory. */
#include "gateway_alloc.h"
#include "memory_backend.h"

#include "test.h"

/* ---- scenes ----------------------------------------------------------------- */

static ilk_status take_and_give(ilk_client *client, ilk_error *err)
{
    ilk_lock *lock = NULL;
    ilk_status st = ilk_lock_open(&lock, client, "n", 1, NULL, err);

    if (st == ILK_OK)
        st = ilk_lock_acquire_ttl(lock, 300, 500, err); /* expires */
    if (st == ILK_OK)
        st = ilk_lock_release(lock, err);
    ilk_lock_free(lock);
    return st;
}

static ilk_status push_and_pop(ilk_client *client, ilk_error *err)
{
    ilk_queue *queue = NULL;
    ilk_job *job = NULL;
    static char data[20000];
    ilk_status st = ilk_queue_open(&queue, client, "q", 1, NULL, err);

    if (st == ILK_OK)
        st = ilk_queue_push(NULL, queue, data, sizeof data, NULL, err);
    if (st == ILK_OK)
        st = ilk_queue_reserve(&job, queue, 300, 0, err);
    if (st == ILK_OK)
        st = ilk_job_ack(job, err);
    ilk_job_free(job);
    ilk_queue_free(queue);
    return st;
}

/* A wait opens the inbox, which subscribes. */
static ilk_status wait_for_another(ilk_client *client, ilk_error *err)
{
    ilk_lock *holder = NULL, *waiter = NULL;
    ilk_status st = ilk_lock_open(&holder, client, "w", 1, NULL, err);

    if (st == ILK_OK)
        st = ilk_lock_open(&waiter, client, "w", 1, NULL, err);
    if (st == ILK_OK)
        st = ilk_lock_acquire_ttl(holder, 300, 400, err);
    if (st == ILK_OK)
        st = ilk_lock_acquire(waiter, 100, err);
    if (st == ILK_ETIMEOUT)
        st = ilk_lock_release(holder, err);
    ilk_lock_free(waiter);
    ilk_lock_free(holder);
    return st;
}

static ilk_status ping(ilk_client *client, ilk_error *err)
{
    return ilk_client_ping(client, 500, err);
}

/* ---- tests ------------------------------------------------------------------ */

static const gateway_alloc memory = {
    .url = "memory://", .works = take_and_give, .clear = memory_backend_reset};

TEST(a_pair)
{
    gateway_alloc_run(&memory, take_and_give, 8);
}

TEST(a_job)
{
    gateway_alloc_run(&memory, push_and_pop, 12);
}

TEST(a_wait)
{
    gateway_alloc_run(&memory, wait_for_another, 20);
}

TEST(a_ping)
{
    gateway_alloc_run(&memory, ping, 4);
}

static int register_stores(void)
{
    ilk__backend_register(&memory_backend);
    return 0;
}

AROUND_ALL(register_stores, NULL);

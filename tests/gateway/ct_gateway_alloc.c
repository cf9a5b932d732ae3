/* SPDX-License-Identifier: MIT */
/*
 * ct_gateway_alloc.c -- the gateway without memory: the n-th allocation of its thread
 * fails, or that and all after it, for n = 1, 2, 3 ... until a scene needs no more.
 *
 * Each scene ends, and with memory back its client works. Leaks are found by the
 * address sanitizer.
 */
#include "memory_backend.h"

#include "fixture.h"

#include <interlock.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"

/* ---- the n-th allocation of the gateway's thread --------------------------- */

static _Thread_local int is_gateway;
static atomic_long made, fail_first, fail_last;

static int must_fail(void)
{
    long number;

    if (!is_gateway)
        return 0;
    number = atomic_fetch_add(&made, 1) + 1;
    return number >= atomic_load(&fail_first)
           && number <= atomic_load(&fail_last);
}

static void fail_from(long first, long last)
{
    atomic_store(&fail_first, first);
    atomic_store(&fail_last, last);
    atomic_store(&made, 0);
}

void *__real_ilk__malloc(size_t size);
void *__real_ilk__calloc(size_t count, size_t size);
void *__real_ilk__realloc(void *ptr, size_t size);
void __real_ilk__gateway_run_ready(ilk__gateway *gateway);
void *__wrap_ilk__malloc(size_t size);
void *__wrap_ilk__calloc(size_t count, size_t size);
void *__wrap_ilk__realloc(void *ptr, size_t size);
void __wrap_ilk__gateway_run_ready(ilk__gateway *gateway);

void *__wrap_ilk__malloc(size_t size)
{
    return must_fail() ? NULL : __real_ilk__malloc(size);
}

void *__wrap_ilk__calloc(size_t count, size_t size)
{
    return must_fail() ? NULL : __real_ilk__calloc(count, size);
}

void *__wrap_ilk__realloc(void *ptr, size_t size)
{
    return must_fail() ? NULL : __real_ilk__realloc(ptr, size);
}

/* Each turn calls it. */
void __wrap_ilk__gateway_run_ready(ilk__gateway *gateway)
{
    is_gateway = 1;
    __real_ilk__gateway_run_ready(gateway);
}

/* ---- scenes ----------------------------------------------------------------- */

static ilk_client *client;

static ilk_status take_and_give(ilk_error *err)
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

static ilk_status push_and_pop(ilk_error *err)
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
static ilk_status wait_for_another(ilk_error *err)
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

static ilk_status ping(ilk_error *err)
{
    return ilk_client_ping(client, 500, err);
}

/* ---- the machinery ---------------------------------------------------------- */

typedef ilk_status (*scene)(ilk_error *err);

static void assert_works(void)
{
    int64_t until = fixture_now_ms() + patience(10000);
    ilk_error err = {0};

    while (
        take_and_give(&err)) /* the one that failed may hold it for a while */
        if (fixture_now_ms() > until)
            fail_msg("it does not work any more: %s", err.msg);
}

static void open_a_client(void)
{
    const ilk_client_opts opts = {.size = sizeof opts,
                                  .connect_timeout_ms = 500,
                                  .reply_timeout_ms = 500,
                                  .flags = ILK_CLIENT_LAZY};
    ilk_error err = {0};

    if (ilk_client_open(&client, "memory://", &opts, &err))
        fail_msg("%s", err.msg);
}

/* 0 when there was no n-th. */
static int play(scene run, long first, long last)
{
    int64_t began = fixture_now_ms();
    ilk_error err = {0};
    ilk_status st;
    long count;

    open_a_client();
    fail_from(first, last);
    st = run(&err);
    count = atomic_load(&made);
    fail_from(0, 0);
    if (st && count < first)
        fail_msg("nothing failed, and yet: %s", err.msg);
    if (st)
        assert_int_equal(err.code, st);
    assert_true(fixture_now_ms() - began < patience(10000));
    assert_works();
    ilk_client_free(client);
    memory_backend_reset();
    return count >= first;
}

static void run_scene(scene run, long least)
{
    long n;

    for (n = 1; play(run, n, n); n++)
        continue;
    print_message("             %ld allocations\n", n - 1);
    assert_true(n - 1 >= least);
    for (n = 1; n <= least; n += 2)
        play(run, n, n + 1000000);
}

static void a_pair(void **state)
{
    (void)state;
    run_scene(take_and_give, 8);
}

static void a_job(void **state)
{
    (void)state;
    run_scene(push_and_pop, 12);
}

static void a_wait(void **state)
{
    (void)state;
    run_scene(wait_for_another, 20);
}

static void a_ping(void **state)
{
    (void)state;
    run_scene(ping, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ping),
        cmocka_unit_test(a_pair),
        cmocka_unit_test(a_job),
        cmocka_unit_test(a_wait),
    };

    ilk__backend_register(&memory_backend);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* gateway_alloc.c -- a gateway without memory. */
#include "gateway_alloc.h"

#include "gateway/gateway_internal.h"

#include "fixture.h"
#include "test.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { TIMEOUT_MS = 500, PATIENCE_MS = 10000 };

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

/* ---- playing ---------------------------------------------------------------- */

static ilk_client *open_client(const char *url)
{
    const ilk_client_opts opts = {.size = sizeof opts,
                                  .connect_timeout_ms = TIMEOUT_MS,
                                  .reply_timeout_ms = TIMEOUT_MS,
                                  .flags = ILK_CLIENT_LAZY};
    ilk_client *client;
    ilk_error err = {0};

    if (ilk_client_open(&client, url, &opts, &err))
        fail_msg("%s", err.msg);
    return client;
}

/* A hold of the play that failed may last for a while. */
static void await(ilk_client *client, gateway_scene *works)
{
    int64_t until = fixture_now_ms() + patience(PATIENCE_MS);
    ilk_error err = {0};

    while (works(client, &err))
        if (fixture_now_ms() > until)
            fail_msg("it does not work any more: %s", err.msg);
}

/* 0 when there was no n-th; -1 when the scene failed without one, since a busy
   machine used up its time. */
static int play_once(const gateway_alloc *at, gateway_scene *run, long first,
                     long last)
{
    ilk_client *client = open_client(at->url);
    int64_t began;
    ilk_error err = {0};
    ilk_status st;
    long count;

    if (at->warm_up)
        await(client, at->warm_up);
    began = fixture_now_ms();
    fail_from(first, last);
    st = run(client, &err);
    count = atomic_load(&made);
    fail_from(0, 0);
    if (st)
        assert_int_equal(err.code, st);
    assert_true(fixture_now_ms() - began < patience(PATIENCE_MS));
    await(client, at->works);
    ilk_client_free(client);
    if (at->clear)
        at->clear();
    if (st && count < first)
        print_message("             nothing failed, and yet: %s\n", err.msg);
    return count >= first ? 1 : st ? -1 : 0;
}

static int play(const gateway_alloc *at, gateway_scene *run, long first,
                long last)
{
    int64_t until = fixture_now_ms() + patience(PATIENCE_MS);
    int found;

    while ((found = play_once(at, run, first, last)) < 0)
        if (fixture_now_ms() > until)
            fail_msg("it fails, and no allocation did");
    return found;
}

void gateway_alloc_run(const gateway_alloc *at, gateway_scene *run, long least)
{
    const long step = at->step ? at->step : 1;
    long n = 1;

    while (play(at, run, n, n))
        n += step;
    print_message("             %ld allocations\n", n - step);
    assert_true(n > least);
    for (n = 1; n <= least; n += 2 * step)
        play(at, run, n, n + 1000000);
}

/* SPDX-License-Identifier: MIT */
/*
 * ct_semaphore_alloc.c -- scenes with semaphores in which the n-th allocation
 * and all after it fail, as in ct_alloc.c.
 */
#include "alloc.h"
#include "semaphore_case.h"

#include <string.h>

static ilk_client *client;

typedef struct scene {
    const char *name;
    ilk_status (*run)(ilk_error *err);
    ilk_status instead; /* also allowed without memory; 0: only ILK_ENOMEM */
} scene;

static ilk_status open_it(ilk_semaphore **out, int32_t permits, ilk_error *err)
{
    ilk_semaphore_opts opts;
    ilk_status st;

    ilk_semaphore_opts_init(&opts, sizeof opts);
    opts.permits = permits;
    opts.ttl_ms = 2000;
    st = ilk_semaphore_open(out, client, "n", 1, 4, &opts, err);
    assert_true((st == ILK_OK) == (*out != NULL));
    return st;
}

static ilk_status take_and_give(ilk_error *err)
{
    ilk_semaphore *s = NULL;
    ilk_status st = open_it(&s, 3, err);

    if (st == ILK_OK)
        st = ilk_semaphore_acquire(s, 0, err);
    if (st == ILK_OK)
        st = ilk_semaphore_extend(s, 3000, err);
    if (st == ILK_OK)
        st = ilk_semaphore_set_limit(s, 5, err);
    if (st == ILK_OK)
        st = ilk_semaphore_release(s, err);
    ilk_semaphore_free(s);
    return st;
}

/* The hold in the way ends by itself. */
static ilk_status wait_and_get(ilk_error *err)
{
    ilk_semaphore *s = NULL;
    ilk_status st = open_it(&s, 2, err);

    fixture_command(&fx, "DEL ilk:semaphore:{n}");
    fixture_command(&fx, "HSET ilk:semaphore:fence:{n} limit 4 base 4");
    fixture_call(&fx, "EVAL",
                 "local t = redis.call('TIME') "
                 "local now = t[1] * 1000 + math.floor(t[2] / 1000) "
                 "for i = 1, 3 do redis.call('ZADD', KEYS[1], now + 40, "
                 "'other ' .. i) end redis.call('PEXPIRE', KEYS[1], 9000)",
                 "1", "ilk:semaphore:{n}", (char *)NULL);
    if (st == ILK_OK)
        st = ilk_semaphore_acquire(s, 600, err);
    if (st == ILK_OK)
        st = ilk_semaphore_release(s, err);
    ilk_semaphore_free(s);
    return st;
}

static ilk_status look(ilk_error *err)
{
    ilk_semaphore *s = NULL;
    ilk_info *info = NULL;
    ilk_status st = open_it(&s, 1, err);

    if (st == ILK_OK)
        st = ilk_semaphore_acquire(s, 0, err);
    fixture_call(&fx, "ZADD", "ilk:semaphore:wait:{n}", "1", "1 p c p1 t 9 1 h",
                 (char *)NULL);
    if (st == ILK_OK)
        st = ilk_semaphore_inspect(&info, client, "n", 1, err);
    assert_true(st == ILK_OK || info == NULL);
    ilk_info_free(info);
    if (st == ILK_OK)
        st = ilk_semaphore_release(s, err);
    ilk_semaphore_free(s);
    return st;
}

static const scene scenes[] = {
    {"take and give", take_and_give, ILK_OK},
    {"wait and get", wait_and_get, ILK_ETIMEOUT},
    {"look", look, ILK_OK},
};

static void assert_works(void)
{
    ilk_semaphore *other = open_semaphore(client, "other", 2);
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_semaphore_acquire(other, 3000, &err));
    assert_status(ILK_OK, ilk_semaphore_release(other, &err));
    ilk_semaphore_free(other);
}

/* Play it with the n-th allocation failing; 0 when there was no n-th. */
static int play(const scene *s, long n)
{
    ilk_error err = {0};
    ilk_status st;
    long made;

    fixture_command(&fx, "FLUSHALL");
    client = open_client();
    ilk__alloc_fail_at(n);
    st = s->run(&err);
    made = ilk__alloc_count();
    ilk__alloc_fail_at(0);
    if (st && !(made >= n && (st == ILK_ENOMEM || st == s->instead)))
        fail_msg("%s, allocation %ld: %s: %s", s->name, n, ilk_status_name(st),
                 err.msg);
    if (st)
        assert_int_equal(err.code, st);
    assert_works();
    /* nothing that was taken stays taken for ever */
    assert_int_not_equal(-1, fixture_int(&fx, "PTTL ilk:semaphore:{n}"));
    ilk_client_free(client);
    return made >= n;
}

static void each_allocation_may_fail(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        long n = 1;

        while (play(&scenes[i], n))
            n++;
        print_message("%s: %ld allocations\n", scenes[i].name, n - 1);
        assert_true(n > 3);
    }
}

static int setup(void **state)
{
    (void)state;
    return fixture_start(&fx, NULL);
}

static int teardown(void **state)
{
    (void)state;
    return fixture_stop(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}

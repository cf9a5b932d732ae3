/* SPDX-License-Identifier: MIT */
/*
 * ct_sticky_alloc.c -- scenes with events, latches and barriers in which the
 * n-th allocation and all after it fail, as in ct_alloc.c.
 */
#include "alloc.h"
#include "state_case.h"

#include <string.h>

static ilk_client *client;

typedef struct scene {
    const char *name;
    ilk_status (*run)(ilk_error *err);
    ilk_status expected; /* with memory */
} scene;

static ilk_status set_and_see(ilk_error *err)
{
    ilk_sticky *sticky = NULL;
    ilk_status st = ilk_sticky_open(&sticky, client, "n", 1, NULL, err);

    assert_true((st == ILK_OK) == (sticky != NULL));
    if (st == ILK_OK)
        st = ilk_sticky_set(sticky, "data", 4, err);
    if (st == ILK_OK)
        st = ilk_sticky_wait(sticky, 1000, err);
    if (st == ILK_OK)
        assert_string_equal("data", ilk_sticky_data(sticky, NULL));
    if (st == ILK_OK)
        st = ilk_sticky_clear(sticky, err);
    if (st == ILK_OK)
        st = ilk_sticky_read(sticky, err);
    ilk_sticky_free(sticky);
    return st;
}

static ilk_status wait_in_vain(ilk_error *err)
{
    ilk_sticky *sticky = NULL;
    ilk_status st = ilk_sticky_open(&sticky, client, "v", 1, NULL, err);

    if (st == ILK_OK)
        st = ilk_sticky_wait(sticky, 40, err);
    ilk_sticky_free(sticky);
    return st;
}

static ilk_status count_down(ilk_error *err)
{
    ilk_latch *latch = NULL;
    int64_t left = 9;
    ilk_status st = ilk_latch_open(&latch, client, "n", 1, 2, NULL, err);

    if (st == ILK_OK)
        st = ilk_latch_reset(latch, err);
    if (st == ILK_OK)
        st = ilk_latch_count_down(latch, 2, &left, err);
    if (st == ILK_OK)
        st = ilk_latch_wait(latch, 1000, err);
    if (st == ILK_OK)
        st = ilk_latch_count(latch, &left, err);
    if (st == ILK_OK)
        assert_int_equal(0, left);
    ilk_latch_free(latch);
    return st;
}

static ilk_status arrive_in_vain(ilk_error *err)
{
    ilk_barrier *barrier = NULL;
    ilk_status st = ilk_barrier_open(&barrier, client, "n", 1, 2, NULL, err);

    if (st == ILK_OK)
        st = ilk_barrier_reset(barrier, err);
    if (st == ILK_OK)
        st = ilk_barrier_wait(barrier, 40, NULL, err);
    ilk_barrier_free(barrier);
    return st;
}

static const scene scenes[] = {
    {"set and see", set_and_see, ILK_OK},
    {"wait in vain", wait_in_vain, ILK_ETIMEOUT},
    {"count down", count_down, ILK_OK},
    {"arrive in vain", arrive_in_vain, ILK_ETIMEOUT},
};

/* With memory back all of it works. An entry that could not be taken back is
 * forgotten at the next change, or when its client does not refresh it. */
static void assert_works(void)
{
    ilk_barrier *one = open_barrier(client, "one", 1);
    ilk_sticky *other = open_sticky(client, "other");
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_barrier_wait(one, 3000, NULL, &err));
    assert_status(ILK_OK, ilk_sticky_set(other, "x", 1, &err));
    assert_status(ILK_OK, ilk_sticky_wait(other, 3000, &err));
    ilk_barrier_free(one);
    ilk_sticky_free(other);
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
    if (st != s->expected && !(made >= n && st == ILK_ENOMEM))
        fail_msg("%s, allocation %ld: %s: %s", s->name, n, ilk_status_name(st),
                 err.msg);
    if (st)
        assert_int_equal(err.code, st);
    assert_works();
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

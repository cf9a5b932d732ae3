/* SPDX-License-Identifier: MIT */
/* scene_case.c -- scenes in which the n-th allocation and all after it fail. */
#include "scene_case.h"

#include "base/alloc.h"

#include <string.h>

enum { SCENES = 32 };

AROUND_ALL(server_setup, server_teardown);

static const stage *on;

static int is_excused(const scene *s, ilk_status st)
{
    return st == ILK_ENOMEM || (s->instead != ILK_OK && st == s->instead);
}

/* Run it with the n-th allocation failing; how many there were. */
static long run_once(const scene *s, long n, ilk_status *out_st, ilk_error *err)
{
    long made;

    fixture_command(&fx, "FLUSHALL");
    client = open_client();
    if (on->set)
        on->set();
    if (s->before)
        s->before();
    ilk__alloc_fail_at(n);
    *out_st = s->run(err);
    made = ilk__alloc_count();
    ilk__alloc_fail_at(0);
    return made;
}

/* 0 when there was no n-th. Times are short, for many scenes end by them: one
 * that a slow machine ends so, although nothing failed, is played again. */
static int play(const scene *s, long n)
{
    ilk_error err = {0};
    ilk_status st;
    long made = run_once(s, n, &st, &err);

    for (int i = 0; i < 5 && made < n && st == ILK_ETIMEOUT; i++) {
        if (s->expected == ILK_ETIMEOUT)
            break;
        ilk_client_free(client);
        memset(&err, 0, sizeof err);
        made = run_once(s, n, &st, &err);
    }
    if (st != s->expected && !(made >= n && is_excused(s, st)))
        fail_msg("%s, allocation %ld: %s: %s", s->name, n, ilk_status_name(st),
                 err.msg);
    if (st)
        assert_int_equal(err.code, st);
    on->check(s);
    ilk_client_free(client);
    client = NULL;
    return made >= n;
}

static void no_allocation_is_one_too_many(void **state)
{
    const scene *s = *state;
    long n = 1;

    while (play(s, n))
        n++;
    print_message("             %s: %ld allocations\n", s->name, n - 1);
    assert_true(n - 1 >= on->least);
}

int run_scenes(const scene *scenes, size_t count, const stage *common)
{
    struct CMUnitTest tests[SCENES] = {{0}};

    assert_in_range(count, 1, SCENES);
    on = common;
    for (size_t i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){
            .name = scenes[i].name,
            .test_func = no_allocation_is_one_too_many,
            .initial_state = (void *)(uintptr_t)&scenes[i],
        };
    return test_run_made("scenes", tests, count);
}

/* SPDX-License-Identifier: MIT */
/*
 * ct_semaphore_alloc.c -- scenes with semaphores in which the n-th allocation
 * and all after it fail, as in ct_alloc.c.
 */
#include "scene_case.h"
#include "semaphore_case.h"

#include <string.h>

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
    {"take and give", NULL, take_and_give, ILK_OK, ILK_OK},
    {"wait and get", NULL, wait_and_get, ILK_OK, ILK_ETIMEOUT},
    {"look", NULL, look, ILK_OK, ILK_OK},
};

static void check(const scene *s)
{
    ilk_semaphore *other = open_semaphore(client, "other", 2);
    ilk_error err = {0};

    (void)s;
    assert_status(ILK_OK, ilk_semaphore_acquire(other, patience(3000), &err));
    assert_status(ILK_OK, ilk_semaphore_release(other, &err));
    ilk_semaphore_free(other);
    /* nothing that was taken stays taken for ever */
    assert_int_not_equal(-1, fixture_int(&fx, "PTTL ilk:semaphore:{n}"));
}

int main(void)
{
    static const stage common = {NULL, check, 3};

    return run_scenes(scenes, sizeof scenes / sizeof *scenes, &common);
}

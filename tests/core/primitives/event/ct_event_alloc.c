/* SPDX-License-Identifier: MIT */
/*
 * ct_event_alloc.c -- scenes with events, latches and barriers in which the
 * n-th allocation and all after it fail, as in ct_alloc.c.
 */
#include "scene_case.h"
#include "state_case.h"

#include <string.h>

static ilk_status set_and_see(ilk_error *err)
{
    ilk_event *event = NULL;
    ilk_status st = ilk_event_open(&event, client, "n", 1, NULL, err);

    assert_true((st == ILK_OK) == (event != NULL));
    if (st == ILK_OK)
        st = ilk_event_set(event, "data", 4, err);
    if (st == ILK_OK)
        st = ilk_event_wait(event, 1000, err);
    if (st == ILK_OK)
        assert_string_equal("data", ilk_event_data(event, NULL));
    if (st == ILK_OK)
        st = ilk_event_clear(event, err);
    if (st == ILK_OK)
        st = ilk_event_read(event, err);
    ilk_event_free(event);
    return st;
}

static ilk_status wait_in_vain(ilk_error *err)
{
    ilk_event *event = NULL;
    ilk_status st = ilk_event_open(&event, client, "v", 1, NULL, err);

    if (st == ILK_OK)
        st = ilk_event_wait(event, 40, err);
    ilk_event_free(event);
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
    {"set and see", NULL, set_and_see, ILK_OK, ILK_OK},
    {"wait in vain", NULL, wait_in_vain, ILK_ETIMEOUT, ILK_OK},
    {"count down", NULL, count_down, ILK_OK, ILK_OK},
    {"arrive in vain", NULL, arrive_in_vain, ILK_ETIMEOUT, ILK_OK},
};

/* With memory back all of it works. An entry that could not be taken back is
 * forgotten at the next change, or when its client does not refresh it. */
static void check(const scene *s)
{
    ilk_barrier *one = open_barrier(client, "one", 1);
    ilk_event *event = open_event(client, "other");
    ilk_error err = {0};

    (void)s;
    assert_status(ILK_OK, ilk_barrier_wait(one, 3000, NULL, &err));
    assert_status(ILK_OK, ilk_event_set(event, "x", 1, &err));
    assert_status(ILK_OK, ilk_event_wait(event, patience(3000), &err));
    ilk_barrier_free(one);
    ilk_event_free(event);
}

int main(void)
{
    static const stage common = {NULL, check, 3};

    return run_scenes(scenes, sizeof scenes / sizeof *scenes, &common);
}

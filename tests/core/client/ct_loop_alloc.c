/* SPDX-License-Identifier: MIT */
/*
 * ct_loop_alloc.c -- operations that are started while the n-th allocation
 * and all after it fail: each ends as it should or with ILK_ENOMEM, is
 * reported, and leaves nothing that stays for ever. See ct_alloc.c.
 */
#include "scene_case.h"
#include "started_case.h"

#include <poll.h>

enum { LIMIT_MS = 10000 };

static ilk_lock *lock;

/* Turn until a notification reports its end; its status. */
static ilk_status ends(ilk_op *op, ilk_error *err)
{
    int64_t limit = fixture_now_ms() + patience(LIMIT_MS);
    ilk_notification notification = {.size = sizeof notification};
    struct pollfd pfd = {.events = POLLIN};
    ilk_status st;

    assert_int_equal(ILK_OK, ilk_client_notification_fd(client, &pfd.fd, NULL));
    while (notification.kind != ILK_NOTIFICATION_DONE
           || notification.id != ilk_op_id(op)) {
        assert_true(fixture_now_ms() < limit);
        (void)poll(&pfd, 1, 1000);
        while (ilk_client_next_notification(client, &notification, NULL)
                   == ILK_OK
               && notification.kind != ILK_NOTIFICATION_DONE)
            continue;
    }
    st = ilk_op_status(op, err);
    assert_int_equal(notification.status, st);
    ilk_op_free(op);
    return st;
}

static ilk_status acquire(int64_t timeout_ms, ilk_error *err)
{
    ilk_op *op;
    ilk_status st = ilk_lock_acquire_start(&op, lock, timeout_ms, 0, err);

    return st ? st : ends(op, err);
}

static ilk_status release(ilk_error *err)
{
    ilk_op *op;
    ilk_status st = ilk_lock_release_start(&op, lock, err);

    return st ? st : ends(op, err);
}

/* ---- scenes ------------------------------------------------------------- */

static ilk_status take_and_give(ilk_error *err)
{
    ilk_status st = acquire(0, err);

    return st ? st : release(err);
}

static void held_by_others(void)
{
    fixture_command(&fx, "SET n somebody PX 60000");
}

static void held_for_a_moment(void)
{
    fixture_command(&fx, "SET n somebody PX 40");
}

static ilk_status wait_in_vain(ilk_error *err)
{
    return acquire(60, err);
}

static ilk_status wait_and_get(ilk_error *err)
{
    return acquire(300, err);
}

static ilk_status be_cancelled(ilk_error *err)
{
    ilk_op *op;
    ilk_status st = ilk_lock_acquire_start(&op, lock, -1, 0, err);

    if (st)
        return st;
    turn_for(client, 30);
    st = ilk_op_status(op, err);
    if (st == ILK_EAGAIN) {
        assert_int_equal(ILK_OK, ilk_op_cancel(op, NULL));
        return ends(op, err);
    }
    ilk_op_free(op);
    return st;
}

static ilk_status look(ilk_error *err)
{
    ilk_op *op;
    ilk_status st = ilk_inspect_start(&op, client, "n", 1, err);

    return st ? st : ends(op, err);
}

static const scene scenes[] = {
    {"take and give", NULL, take_and_give, ILK_OK, ILK_OK},
    {"wait in vain", held_by_others, wait_in_vain, ILK_ETIMEOUT, ILK_OK},
    {"wait and get", held_for_a_moment, wait_and_get, ILK_OK, ILK_ETIMEOUT},
    {"be cancelled", held_by_others, be_cancelled, ILK_ECANCELLED, ILK_OK},
    {"look", held_by_others, look, ILK_OK, ILK_OK},
};

/* ---- the machinery ------------------------------------------------------ */

/* The loop is open: what that needs, ct_alloc.c has looked at. */
static void set(void)
{
    int fd;

    lock = open_lock(client, "n");
    assert_int_equal(ILK_OK, ilk_client_notification_fd(client, &fd, NULL));
}

static void assert_expires(const char *key)
{
    if (fixture_int(&fx, "PTTL %s", key) == -1)
        fail_msg("%s stays for ever", key);
}

/* Without memory no message can give up a place in the wait queue. */
static void check(const scene *s)
{
    ilk_lock *other = open_lock(client, "other");
    ilk_error err = {0};
    ilk_op *op;

    (void)s;
    ilk_lock_free(lock);
    assert_expires("n");
    assert_expires("ilk:lock:wait:{n}");
    assert_status(ILK_OK, ilk_lock_acquire_start(&op, other, 3000, 0, &err));
    assert_status(ILK_OK, ends(op, &err));
    ilk_lock_free(other);
}

int main(void)
{
    static const stage common = {set, check, 3};

    return run_scenes(scenes, sizeof scenes / sizeof *scenes, &common);
}

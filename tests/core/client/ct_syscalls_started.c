/* SPDX-License-Identifier: MIT */
/*
 * ct_syscalls_started.c -- started operations whose system calls fail, one
 * after another; see ct_syscalls.c.
 */
/* link: @support/syscalls.link */
#include "started.h"
#include "syscall_case.h"

enum { SOON_MS = 5000 };

static ilk_lock *lock;

/* The calls of the test's own poll() are counted as well. */
static ilk_status end_of(ilk_op *op, ilk_error *err)
{
    ilk_status st;

    while ((st = ilk_op_status(op, err)) == ILK_EAGAIN)
        (void)turn(client, 10);
    ilk_op_free(op);
    return st;
}

static ilk_status acquire(int64_t timeout_ms, ilk_error *err)
{
    ilk_op *op;
    ilk_status st = ilk_lock_acquire_start(&op, lock, timeout_ms, 0, err);

    return st ? st : end_of(op, err);
}

static ilk_status release(ilk_error *err)
{
    ilk_op *op;
    ilk_status st = ilk_lock_release_start(&op, lock, err);

    return st ? st : end_of(op, err);
}

static ilk_status take_and_give(ilk_error *err)
{
    ilk_status st = acquire(SOON_MS, err);

    return st ? st : release(err);
}

static void held_for_a_moment(void)
{
    fixture_command(&fx, "SET n somebody PX 5");
}

static void held_by_others(void)
{
    fixture_command(&fx, "SET n somebody PX 60000");
}

static ilk_status wait_in_vain(ilk_error *err)
{
    return acquire(100, err); /* a connection is made in this time */
}

static ilk_status be_cancelled(ilk_error *err)
{
    ilk_op *op;
    ilk_status st = ilk_lock_acquire_start(&op, lock, -1, 0, err);

    if (st)
        return st;
    (void)turn(client, 1);
    (void)ilk_op_cancel(op, NULL);
    return end_of(op, err);
}

static const call_scene scenes[] = {
    {"take and give", NULL, take_and_give, ILK_OK, 0, 0},
    {"wait and get", held_for_a_moment, take_and_give, ILK_OK, 8, 0},
    {"wait in vain", held_by_others, wait_in_vain, ILK_ETIMEOUT, 8, 0},
    {"be cancelled", held_by_others, be_cancelled, ILK_ECANCELLED, 8, 0},
};

static void set(void)
{
    fixture_command(&fx, "FLUSHALL");
    client = open_client();
    lock = open_lock(client, "n");
}

static void check(const call_scene *s, int unharmed)
{
    ilk_error err = {0};

    assert_all_keys_end("-");
    if (unharmed && s->run == take_and_give)
        assert_string_equal("0", fixture_command(&fx, "EXISTS n"));
    fixture_command(&fx, "DEL n");
    ilk_lock_free(lock);
    lock = open_lock(client, "other");
    assert_status(ILK_OK, take_and_give(&err));
}

static void clear(void)
{
    ilk_lock_free(lock);
    ilk_client_free(client);
    client = NULL;
}

AROUND_ALL(server_setup, server_teardown);

int main(void)
{
    static const call_stage stage = {set, check, clear};

    return run_call_scenes(scenes, sizeof scenes / sizeof *scenes, &stage);
}

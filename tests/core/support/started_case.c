/* SPDX-License-Identifier: MIT */
/* started_case.c -- what the tests of started holds share. */
#include "started_case.h"

/* Of the lock that is held elsewhere: one at a time. */
static ilk_client *elsewhere;

ilk_op *start_acquire(ilk_lock *lock, int64_t timeout_ms)
{
    ilk_op *op = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK,
                  ilk_lock_acquire_start(&op, lock, timeout_ms, 0, &err));
    assert_non_null(op);
    return op;
}

ilk_lock *hold_elsewhere(const char *name)
{
    ilk_error err = {0};
    ilk_lock *lock;

    assert_null(elsewhere);
    elsewhere = open_client();
    lock = open_lock(elsewhere, name);
    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    return lock;
}

void free_elsewhere(ilk_lock *held)
{
    ilk_lock_free(held);
    ilk_client_free(elsewhere);
    elsewhere = NULL;
}

void await_lock_queue(const char *name, const char *count)
{
    turn_until(client, count, "ZCARD ilk:lock:wait:{%s}", name);
}

void assert_nothing_left(const char *name, ilk_lock *held)
{
    ilk_error err = {0};

    await_lock_queue(name, "0");
    assert_status(ILK_OK, ilk_lock_release(held, &err));
    assert_string_equal("0", fixture_command(&fx, "EXISTS %s", name));
    free_elsewhere(held);
}

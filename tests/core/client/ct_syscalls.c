/* SPDX-License-Identifier: MIT */
/*
 * ct_syscalls.c -- blocking calls whose system calls fail, one after another.
 *
 * Holds that a run left on the server are free again or end with their leases,
 * and the same client works on.
 */
/* link: @support/syscalls.link */
#include "fork_case.h"
#include "syscall_case.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum {
    SOON_MS = 5000,
    IDLE_MS = 100 /* a connection is made in this time */
};

static ilk_lock *lock;

static void clear(void)
{
    ilk_lock_free(lock);
    ilk_client_free(client);
    lock = NULL;
    client = NULL;
}

/* ---- clients ------------------------------------------------------------ */

static ilk_status open_at(const char *url, ilk_error *err)
{
    ilk_client *own = NULL;
    ilk_status st = ilk_client_open(&own, url, NULL, err);

    if (st)
        assert_null(own);
    else
        st = ilk_client_ping(own, SOON_MS, err);
    ilk_client_free(own);
    return st;
}

static ilk_status open_a_path(ilk_error *err)
{
    return open_at(fx.unix_url, err);
}

static ilk_status open_a_name(ilk_error *err)
{
    char url[64];

    snprintf(url, sizeof url, "redis://localhost:%d", fx.port);
    return open_at(url, err);
}

/* ---- a lock ------------------------------------------------------------- */

static ilk_status take_and_give(ilk_error *err)
{
    return take_and_give_lock(lock, err);
}

/* The client opens another connection. */
static void cut_off(void)
{
    fixture_command(&fx, "CLIENT KILL TYPE normal");
}

static void held_for_a_moment(void)
{
    fixture_command(&fx, "SET n somebody PX 5");
}

static void held_by_others(void)
{
    fixture_command(&fx, "SET n somebody PX 60000");
}

static ilk_status wait_and_get(ilk_error *err)
{
    ilk_status st = ilk_lock_acquire(lock, SOON_MS, err);

    return st ? st : ilk_lock_release(lock, err);
}

static ilk_status wait_in_vain(ilk_error *err)
{
    return ilk_lock_acquire(lock, IDLE_MS, err);
}

static ilk_status release_unconfirmed(ilk_error *err)
{
    ilk_status st = ilk_lock_acquire(lock, 0, err);

    return st ? st : ilk_lock_release_unconfirmed(lock, err);
}

/* ---- the end of a client, and a new one in a child ---------------------- */

static ilk_status free_all(ilk_error *err)
{
    ilk_status st = ilk_lock_acquire(lock, SOON_MS, err);

    ilk_lock_free(lock);
    ilk_client_free(client);
    lock = NULL;
    client = NULL;
    return st;
}

/* How the child's calls ended. */
static struct report {
    ilk_status status;
    ilk_error err;
} * report;

static void use_in_child(void)
{
    ilk_status st = ilk_client_reopen(client, &report->err);

    if (st == ILK_OK)
        st = take_and_give(&report->err);
    calls_leave();
    report->status = st;
    demand(ilk_client_reopen(client, NULL) == ILK_OK);
    demand(ilk_lock_acquire(lock, SOON_MS, NULL) == ILK_OK);
    demand(ilk_lock_release(lock, NULL) == ILK_OK);
    clear();
    demand(descriptors_left() == 0);
    _exit(0);
}

static ilk_status fork_and_reopen(ilk_error *err)
{
    pid_t pid = fork_now();

    if (pid == 0)
        use_in_child();
    calls_leave_to_children();
    assert_ends_well(pid);
    *err = report->err;
    return report->status;
}

static const call_scene scenes[] = {
    {"open a path", NULL, open_a_path, ILK_OK, 0, 0},
    {"open a name", NULL, open_a_name, ILK_OK, 0, 0},
    {"take and give", NULL, take_and_give, ILK_OK, 0, 0},
    {"take when cut off", cut_off, take_and_give, ILK_OK, 0, 0},
    {"wait and get", held_for_a_moment, wait_and_get, ILK_OK, 0, 0},
    {"wait in vain", held_by_others, wait_in_vain, ILK_ETIMEOUT, 0, 0},
    {"release unconfirmed", NULL, release_unconfirmed, ILK_OK, 0, 0},
    {"free all", held_for_a_moment, free_all, ILK_OK, 8, 0},
    {"fork and reopen", NULL, fork_and_reopen, ILK_OK, 0, 0},
};

/* ---- before and after --------------------------------------------------- */

static void set(void)
{
    fixture_command(&fx, "FLUSHALL");
    client = open_client();
    lock = open_lock(client, "n");
}

static void check(const call_scene *s, int unharmed)
{
    ilk_lock *other;
    ilk_error err = {0};

    assert_all_keys_end("-");
    if (unharmed && s->expected == ILK_OK && s->run != free_all
        && fixture_await(&fx, "0", (int)patience(SOON_MS), "EXISTS n") != 0)
        fail_msg("%s: the lock is held", row_name);
    if (client == NULL)
        client = open_client();
    other = open_lock(client, "other");
    assert_status(ILK_OK, ilk_lock_acquire(other, SOON_MS, &err));
    assert_status(ILK_OK, ilk_lock_release(other, &err));
    ilk_lock_free(other);
}

AROUND_ALL(server_setup, server_teardown);

int main(void)
{
    static const call_stage stage = {set, check, clear};

    report = mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (report == MAP_FAILED)
        return 1;
    return run_call_scenes(scenes, sizeof scenes / sizeof *scenes, &stage);
}

/* SPDX-License-Identifier: MIT */
/*
 * ct_syscalls_tls.c -- a client on TLS whose system calls fail, one after
 * another; see ct_syscalls.c.
 */
/* link: @support/syscalls.link */
#include "certs.h"
#include "syscall_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SOON_MS = 5000 };

static certs c;
static int tls_port;
static char url[256];

static ilk_status use(ilk_error *err)
{
    ilk_client *own = NULL;
    ilk_lock *lock = NULL;
    ilk_status st = ilk_client_open(&own, url, NULL, err);

    if (st == ILK_OK)
        st = ilk_lock_open(&lock, own, "n", 1, NULL, err);
    if (st == ILK_OK)
        st = ilk_lock_acquire(lock, SOON_MS, err);
    if (st == ILK_OK)
        st = ilk_lock_release(lock, err);
    ilk_lock_free(lock);
    ilk_client_free(own);
    return st;
}

static void held_for_a_moment(void)
{
    fixture_command(&fx, "SET n somebody PX 5");
}

static const call_scene scenes[] = {
    {"take and give", NULL, use, ILK_OK, 0, 0},
    {"wait and get", held_for_a_moment, use, ILK_OK, 8, 0},
};

static void set(void)
{
    fixture_command(&fx, "FLUSHALL");
}

static void check(const call_scene *s, int unharmed)
{
    ilk_error err = {0};
    ilk_status st;

    (void)s;
    assert_all_keys_end("-");
    if (unharmed)
        assert_string_equal("0", fixture_command(&fx, "EXISTS n"));
    fixture_command(&fx, "DEL n");
    st = use(&err);
    assert_status(ILK_OK, st);
}

static void clear(void)
{
}

static int start(void)
{
    int made = certs_serve(&c, &fx, &tls_port);

    if (made == CERTS_SKIP)
        exit(CERTS_SKIP);
    snprintf(url, sizeof url, "rediss://127.0.0.1:%d?ca=%s", tls_port,
             certs_path(&c, "ca.crt"));
    return made;
}

static int stop(void)
{
    certs_remove(&c);
    return fixture_stop(&fx);
}

AROUND_ALL(start, stop);

int main(void)
{
    static const call_stage stage = {set, check, clear};

    return run_call_scenes(scenes, sizeof scenes / sizeof *scenes, &stage);
}

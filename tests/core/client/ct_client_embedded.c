/* SPDX-License-Identifier: MIT */
/* ct_client_embedded.c -- clients of an embedded server that comes and goes. */
#include "fork_case.h"
#include "lock_case.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { THREADS = 4, CRASHES = 5 };

static char dir[] = "/tmp/ilk-client-XXXXXX";
static char url[64];

static int setup(void)
{
    strcpy(strstr(dir, "client-") + 7, "XXXXXX");
    if (mkdtemp(dir) == NULL)
        return -1;
    if (getenv("ILK_TEST_SERVER") != NULL)
        setenv("INTERLOCK_SERVER", getenv("ILK_TEST_SERVER"), 1);
    return snprintf(url, sizeof url, "embedded://%s", dir) < 0;
}

static int teardown(void)
{
    ilk_server_stop(url, 10000, NULL);
    fixture_remove(dir);
    return 0;
}

AROUND_EACH(setup, teardown);

static ilk_server_info look(void)
{
    ilk_server_info info = {.size = sizeof info};

    assert_int_equal(ilk_server_status(url, &info, NULL), ILK_OK);
    return info;
}

/* The directory is open to others for a moment, and so cannot be used. */
TEST(reopening_that_failed_can_be_done_again)
{
    ilk_client *client = open_client_at(url);
    int ready[2], go[2];
    ilk_error err;
    char byte;
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(go), 0);
    if ((pid = fork_now()) == 0) {
        close(go[1]);
        demand(chmod(dir, 0755) == 0);
        demand(ilk_client_reopen(client, &err) == ILK_ESYSTEM);
        demand(strstr(err.msg, "open to others") != NULL);
        demand(ilk_client_ping(client, -1, NULL) == ILK_EFORKED);
        demand(ilk_client_reopen(client, NULL) == ILK_ESYSTEM);
        demand(chmod(dir, 0700) == 0);
        demand(ilk_client_reopen(client, NULL) == ILK_OK);
        demand(write(ready[1], "", 1) == 1);
        demand(read(go[0], &byte, 1) == 0); /* the parent has left */
        demand(ilk_client_ping(client, -1, NULL) == ILK_OK);
        ilk_client_free(client);
        _exit(0);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    ilk_client_free(client);
    assert_int_equal(look().running, 1);
    close(go[1]);
    assert_ends_well(pid);
    assert_int_equal(look().running, 0);
    close(ready[0]);
    close(go[0]);
}

typedef struct visitor {
    ilk_client *client;
    char name[16];
    pthread_t thread;
    atomic_int *over;
} visitor;

/* Calls fail while the server is down, and none may after it. */
static void *visit(void *arg)
{
    visitor *v = arg;
    ilk_lock *lock = open_lock(v->client, v->name);

    while (!atomic_load(v->over)) {
        ilk_lock_acquire(lock, 0, NULL);
        ilk_lock_release(lock, NULL);
    }
    ilk_lock_free(lock);
    return NULL;
}

static void await_new_server(ilk_client *client, int32_t old)
{
    for (int64_t end = fixture_now_ms() + patience(5000);
         ilk_client_ping(client, -1, NULL) != ILK_OK || look().pid == old;)
        assert_true(fixture_now_ms() < end);
}

TEST(threads_whose_server_died_start_another)
{
    ilk_client *client = open_client_at(url);
    visitor visitors[THREADS];
    atomic_int over = 0;

    for (int i = 0; i < THREADS; i++) {
        visitor *v = &visitors[i];

        *v = (visitor){.client = client, .over = &over};
        snprintf(v->name, sizeof v->name, "n%d", i);
        assert_int_equal(pthread_create(&v->thread, NULL, visit, v), 0);
    }
    for (int i = 0; i < CRASHES; i++) {
        int32_t pid = look().pid;

        assert_true(pid > 1);
        assert_int_equal(kill(pid, SIGKILL), 0);
        await_new_server(client, pid);
    }
    atomic_store(&over, 1);
    for (int i = 0; i < THREADS; i++)
        join_soon(visitors[i].thread, "visit");
    ilk_client_free(client);
    assert_int_equal(look().running, 0);
}

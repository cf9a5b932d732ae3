/* SPDX-License-Identifier: MIT */
/* ct_quorum_status.c -- threads read the nodes' statistics while the gateway's thread
 * counts, and while the client is closed. */
#include "fixture.h"

#include <interlock.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

enum { NODES = 3, READERS = 2, TURNS = 200, LONGEST_MS = 3000 };

static fixture nodes[NODES];

static int setup(void)
{
    for (size_t i = 0; i < NODES; i++)
        if (fixture_start(&nodes[i], NULL))
            return -1;
    return 0;
}

static int teardown(void)
{
    for (size_t i = 0; i < NODES; i++)
        fixture_stop(&nodes[i]);
    return 0;
}

AROUND_ALL(setup, teardown);

static ilk_client *open_client(void)
{
    ilk_client *client;
    ilk_error err;
    char url[256];

    snprintf(url, sizeof url,
             "redis://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d?quorum"
             "&longest_lease_ms=%d",
             nodes[0].port, nodes[1].port, nodes[2].port, LONGEST_MS);
    if (ilk_client_open(&client, url, NULL, &err))
        fail_msg("%s: %s", url, err.msg);
    return client;
}

typedef struct reader {
    ilk_client *client;
    _Atomic int stop;
    _Atomic int64_t reads;
    _Atomic int faults;
} reader;

/* Each number only rises, and no vote is granted before its request. */
static void *reader_main(void *context)
{
    reader *self = context;
    int64_t commands[NODES] = {0};

    while (!atomic_load(&self->stop)) {
        ilk_node_stats node = {.size = sizeof node};
        size_t i = (size_t)atomic_fetch_add(&self->reads, 1) % NODES;
        ilk_status st = ilk_client_get_node_stats(self->client, i, &node, NULL);

        if (st == ILK_EAGAIN)
            continue; /* it is closed */
        if (st || node.commands < commands[i] || node.in_flight < 0
            || node.in_flight > node.commands || node.granted > node.commands)
            atomic_fetch_add(&self->faults, 1);
        commands[i] = node.commands;
    }
    return NULL;
}

/* A majority has granted by the time that the caller has the lock. */
static void assert_counted(ilk_client *client, int64_t acquires)
{
    ilk_node_stats node = {.size = sizeof node};
    int64_t granted = 0;

    for (size_t i = 0; i < NODES; i++) {
        assert_int_equal(ILK_OK,
                         ilk_client_get_node_stats(client, i, &node, NULL));
        granted += node.granted;
    }
    assert_true(granted >= 2 * acquires);
}

TEST(statistics_are_read_by_any_thread_at_any_time)
{
    ilk_client *client = open_client();
    const ilk_lock_opts opts = {.size = sizeof opts, .ttl_ms = LONGEST_MS};
    reader self = {.client = client};
    pthread_t threads[READERS];
    ilk_lock *lock;

    assert_int_equal(ILK_OK,
                     ilk_lock_open(&lock, client, "orders", 6, &opts, NULL));
    for (size_t i = 0; i < READERS; i++)
        assert_int_equal(0,
                         pthread_create(&threads[i], NULL, reader_main, &self));
    for (int turn = 1; turn <= OFTEN(TURNS); turn++) {
        assert_int_equal(ILK_OK, ilk_lock_acquire(lock, patience(20000), NULL));
        assert_counted(client, turn);
        (void)ilk_lock_release(lock, NULL); /* a stall may outlast the lease */
    }
    assert_int_equal(ILK_OK, ilk_client_close(client, NULL));
    atomic_store(&self.stop, 1);
    for (size_t i = 0; i < READERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(0, atomic_load(&self.faults));
    assert_true(atomic_load(&self.reads) > 0);
    ilk_lock_free(lock);
    ilk_client_free(client);
}

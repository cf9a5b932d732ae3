/* SPDX-License-Identifier: MIT */
/* replica_case.c -- a server with a replica, and who listens to both. */
#include "replica_case.h"

#include <stdio.h>

fixture replica;

int replica_setup(void)
{
    char args[64];

    if (fixture_start(&fx, "--repl-diskless-sync-delay 0"))
        return -1;
    snprintf(args, sizeof args, "--replicaof 127.0.0.1 %d", fx.port);
    if (fixture_start(&replica, args))
        return -1;
    return fixture_await(&fx, "1", 10000, "WAIT 1 100");
}

int replica_teardown(void)
{
    return fixture_stop(&replica) | fixture_stop(&fx);
}

ilk_client *open_listening(void)
{
    char url[256];

    snprintf(url, sizeof url, "redis://127.0.0.1:%d?listen=127.0.0.1:%d",
             fx.port, replica.port);
    return open_client_at(url);
}

void await_subscribers(fixture *at, const ilk_client *client, int count)
{
    char expected[128], channel[96];

    snprintf(channel, sizeof channel, "ilk:inbox:%s", ilk_client_id(client));
    snprintf(expected, sizeof expected, "%s\n%d", channel, count);
    assert_int_equal(fixture_await(at, expected, (int)patience(5000),
                                   "PUBSUB NUMSUB %s", channel),
                     0);
}

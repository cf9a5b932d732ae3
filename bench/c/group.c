/* SPDX-License-Identifier: MIT */
/*
 * group.c -- members of a group, all of one client: group URL PORT MEMBERS
 *
 * The median time of a join, after each of which hiredis sends a PING; and of a list
 * of all members, which is read LISTS times.
 */
#include "lines.h"
#include "raw.h"

#include <interlock.h>

enum { LISTS = 9 };

static ilk_error err;

static void check(ilk_status st)
{
    if (st)
        die("group", err.msg);
}

static void join(ilk_group *group, int number)
{
    ilk_member_opts opts;
    ilk_member *member;
    char id[32];
    const int len = snprintf(id, sizeof id, "member-%d", number);

    ilk_member_opts_init(&opts, sizeof opts);
    opts.ttl_ms = 600000;
    check(ilk_member_open(&member, group, id, (size_t)len, &opts, &err));
    check(ilk_member_join(member, "10.0.0.1:6379", 13, &err));
}

static void list(ilk_group *group, size_t expected)
{
    ilk_members *members;

    check(ilk_group_members(&members, group, &err));
    if (ilk_members_count(members) != expected)
        die("group", "the list is not whole");
    ilk_members_free(members);
}

int main(int argc, char **argv)
{
    diary joins = {NULL, 0, 0}, pings = {NULL, 0, 0}, lists = {NULL, 0, 0};
    ilk_client *client;
    ilk_group *group;
    redisContext *redis;
    int64_t began;
    int count;

    if (argc != 4)
        die("usage", "group URL PORT MEMBERS");
    count = atoi(argv[3]);
    check(ilk_client_open(&client, argv[1], NULL, &err));
    check(ilk_group_open(&group, client, "bench", 5, &err));
    redis = dial("127.0.0.1", argv[2]);
    for (int i = 0; i < count; i++) {
        began = now_ns();
        join(group, i);
        note(&joins, now_ns() - began);
        began = now_ns();
        freeReplyObject(redisCommand(redis, "PING"));
        note(&pings, now_ns() - began);
    }
    for (int i = 0; i < LISTS; i++) {
        began = now_ns();
        list(group, (size_t)count);
        note(&lists, now_ns() - began);
    }
    printf("{\"join\": %.2f, \"ping\": %.2f, \"list\": %.2f}\n",
           percentile_us(joins.times, joins.count, 0.5),
           percentile_us(pings.times, pings.count, 0.5),
           percentile_us(lists.times, lists.count, 0.5));
    return 0; /* the leases end with the server */
}

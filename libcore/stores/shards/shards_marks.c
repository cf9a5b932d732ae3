/* SPDX-License-Identifier: MIT */
/*
 * shards_marks.c -- which servers have missed something for good.
 *
 * Each server has a mark, a version up to which it has had what was written to it
 * (scripts/include/kv_mark.lua). All get one at about the same time. It rises at least
 * every minute while somebody uses the ring, and a delete raises those of the servers that
 * it reaches. A server whose mark is behind that of another one was away meanwhile. A value
 * that it has missed is written to it when it is read, unless it was away for as long as a
 * deleted key keeps its version: then it may have values of which no server keeps any more
 * that they were deleted. A server without a mark, while another has one, was wiped, or is
 * new; but the first mark reaches the servers one after the other, so for half a second
 * such a server is in doubt: its mark is read again and again, and requests for which it
 * would count wait.
 *
 * A server that was away so long, was wiped or is new returns: it gets what is written, and
 * its replies about values do not count until ilk_kv_move() has gone through.
 *
 *     look     read the marks of all servers: every 20 s while the ring is used, and
 *              at the first request after a pause
 *     raise    when all have replied, the marks of those that have missed nothing
 */
#include "shards_internal.h"

#include "base/token.h"
#include "redis/script.h"
#include "wait/lease.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    LOOK_MS = 20000,
    PAUSE_MS = 30000,
    USED_MS = 60000,
    DOUBT_MS = 500,
    AGAIN_MS = 20 /* until the mark of one in doubt is read again */
};

/* An hour less than a deleted key keeps its version: clocks may differ by so much. */
#define AWAY_US (ILK__SHARDS_DELETED_US - INT64_C(1000000) * 3600)

const ilk__bytes ilk__shards_node_key = {(char *)"ilk:kv:node", 11};

/* ---- versions ------------------------------------------------------------ */

static int64_t clock_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t ilk__shards_next_version(ilk__shards *shards, int64_t above)
{
    const int64_t clock = clock_us();
    int64_t version =
        shards->last_version < above ? above : shards->last_version;

    version = version < clock ? clock : version + 1;
    if (version < clock + ILK__SHARDS_AHEAD_US)
        shards->last_version = version;
    return ilk__fence_is_valid(version) ? version : 0;
}

int64_t ilk__shards_clock_us(const ilk__shards *shards)
{
    const ilk__shards_server *fastest = NULL;

    for (size_t i = 0; i < shards->ring_count; i++)
        if (shards->servers[i].is_known
            && (!fastest || shards->servers[i].ahead_us > fastest->ahead_us))
            fastest = &shards->servers[i];
    return clock_us() + (fastest ? fastest->ahead_us : 0);
}

/* ---- marks --------------------------------------------------------------- */

int ilk__shards_send_node(ilk__shards_server *server, int64_t version,
                          const char *pass, ilk__node_call_ended *ended,
                          void *owner)
{
    char name[ILK__SHARDS_NAME + 1];
    ilk__command command;

    ilk__command_init(&command);
    if (ilk__token(name, ILK__SHARDS_NAME, NULL))
        command.failed = 1;
    ilk__script_begin(&command, ILK__SCRIPT_KV_NODE, &ilk__shards_node_key, 1);
    ilk__command_add_int(&command, version);
    ilk__command_add_str(&command, pass);
    ilk__command_add_str(&command, name);
    return ilk__shards_send(server, &command, ILK__SCRIPT_KV_NODE, ended,
                            owner);
}

static int was_raised(void *at, void *owner, const ilk__node_call *call,
                      ilk__reply *reply)
{
    (void)at;
    (void)owner;
    (void)call;
    (void)reply;
    return 0;
}

static int is_known(const ilk__shards_server *server)
{
    return ilk__shards_is_up(server) && !server->is_former;
}

/* The mark counts as written: if a reply is lost, the mark is read again over the server's
 * next connection. */
static void raise_marks(ilk__shards *shards)
{
    const int64_t version = ilk__shards_next_version(shards, 0);
    int missed_nothing[ILK__SHARDS_SERVERS] = {0};

    for (size_t i = 0; i < shards->ring_count; i++)
        missed_nothing[i] = is_known(&shards->servers[i])
                            && !ilk__shards_returns(&shards->servers[i]);
    for (size_t i = 0; version && i < shards->ring_count; i++)
        if (missed_nothing[i]
            && ilk__shards_send_node(&shards->servers[i], version, "",
                                     was_raised, NULL))
            shards->servers[i].mark = version;
}

static int is_below(const ilk__shards_server *server)
{
    const ilk__shards *shards = server->gateway;

    for (size_t i = 0; i < shards->ring_count; i++)
        if (shards->servers[i].mark > server->mark)
            return 1;
    return 0;
}

/* A mark was read, or time has passed: judge anew which servers are in doubt. */
static void doubt(ilk__shards *shards, int64_t now)
{
    int any = 0;

    for (size_t i = 0; i < shards->ring_count; i++) {
        ilk__shards_server *server = &shards->servers[i];

        if (server->mark || !server->is_known || !is_below(server))
            server->lacks_since = 0;
        else if (!server->lacks_since)
            server->lacks_since = now;
        server->is_doubted =
            server->lacks_since && now < server->lacks_since + DOUBT_MS;
        any |= server->is_doubted;
    }
    if (!any)
        shards->doubted_at = 0;
    else if (!shards->doubted_at)
        shards->doubted_at = now;
}

/* Two addresses of one server would make one copy count as two. */
static const ilk__shards_server *find_twin(const ilk__shards_server *server)
{
    const ilk__shards *shards = server->gateway;

    for (size_t i = 0; i < shards->count; i++)
        if (i != server->number
            && strcmp(shards->servers[i].own_name, server->own_name) == 0)
            return &shards->servers[i];
    return NULL;
}

static void take_node(ilk__shards_server *server, const ilk__reply *reply)
{
    enum { AT_MARK, AT_NOW, AT_NAME };
    const ilk__shards_server *twin;

    snprintf(server->own_name, sizeof server->own_name, "%s",
             ilk__script_item(reply, AT_NAME)->str);
    server->mark = ilk__script_int(reply, AT_MARK);
    server->ahead_us = ilk__script_int(reply, AT_NOW) - clock_us();
    twin = find_twin(server);
    server->is_known = twin == NULL;
    server->has_failed = twin != NULL;
    if (twin)
        ilk__fail(&server->why, ILK_EINVAL, "it is the same server as %.60s",
                  ilk__shards_address(twin));
    doubt(server->gateway, ilk__now_ms());
}

int ilk__shards_gathers(const ilk__shards *shards)
{
    int may_come = 0;

    for (size_t i = 0; i < shards->ring_count; i++) {
        if (shards->servers[i].mark)
            return 0;
        may_come |= shards->servers[i].looking
                    || ilk__shards_may_come(&shards->servers[i]);
    }
    return may_come;
}

/* All have replied. The servers of a new ring have coming_ms for it, from the first
 * request on. */
static int may_raise(const ilk__shards *shards, int64_t now)
{
    if (shards->doubted_at || !shards->used_at)
        return 0;
    if (ilk__shards_gathers(shards))
        return now >= shards->began_at + shards->coming_ms;
    for (size_t i = 0; i < shards->count; i++)
        if (shards->servers[i].looking)
            return 0;
    return 1;
}

/* A server that replies with an error instead of its mark cannot take part. */
static int was_asked(void *at, void *owner, const ilk__node_call *call,
                     ilk__reply *reply)
{
    ilk__shards_server *server = at;

    (void)owner;
    (void)call;
    server->looking--;
    server->gateway->raise_is_due = 1;
    if (reply && reply->type == ILK__REPLY_ERROR) {
        server->has_failed = 1;
    } else if (reply) {
        take_node(server, reply);
    }
    return 0;
}

void ilk__shards_ask_mark(ilk__shards_server *server)
{
    if (!server->gateway->looked_at)
        server->gateway->looked_at = ilk__now_ms();
    server->looking +=
        (size_t)ilk__shards_send_node(server, 0, "", was_asked, NULL);
}

static void look(ilk__shards *shards, int64_t now)
{
    shards->looked_at = now;
    for (size_t i = 0; i < shards->count; i++)
        if (shards->servers[i].calls.connection.up)
            ilk__shards_ask_mark(&shards->servers[i]);
}

void ilk__shards_look(ilk__shards *shards)
{
    const int64_t now = ilk__now_ms();
    const int is_first = !shards->used_at;

    shards->used_at = now;
    if (is_first)
        shards->began_at = now;
    if (now >= shards->looked_at + PAUSE_MS)
        for (size_t i = 0; i < shards->count; i++)
            shards->servers[i].is_known = 0;
    else if (!is_first)
        return;
    look(shards, now);
}

/* ---- who has missed something -------------------------------------------- */

/* Without a mark it is behind, unless a majority can be reached and none of these has
 * one. */
static int is_behind(const ilk__shards_server *server)
{
    const ilk__shards *shards = server->gateway;
    size_t known = 0;

    if (is_below(server))
        return 1;
    for (size_t i = 0; i < shards->ring_count; i++)
        known += (size_t)is_known(&shards->servers[i]);
    return server->mark == 0 && known < shards->ring_count / 2 + 1;
}

int ilk__shards_returns(const ilk__shards_server *server)
{
    return server->is_former
           || ((server->mark == 0 || server->mark < clock_us() - AWAY_US)
               && is_behind(server));
}

/* ---- time ---------------------------------------------------------------- */

static int is_used(const ilk__shards *shards, int64_t now)
{
    return shards->used_at && now < shards->used_at + USED_MS;
}

static void ask_doubted(ilk__shards *shards, int64_t now)
{
    doubt(shards, now);
    if (!shards->doubted_at)
        return;
    shards->doubted_at = now;
    for (size_t i = 0; i < shards->ring_count; i++)
        if (shards->servers[i].is_doubted && !shards->servers[i].looking)
            ilk__shards_ask_mark(&shards->servers[i]);
}

void ilk__shards_fire_marks(ilk__shards *shards, int64_t now)
{
    if (shards->doubted_at && now >= shards->doubted_at + AGAIN_MS)
        ask_doubted(shards, now);
    if (shards->raise_is_due && may_raise(shards, now)) {
        shards->raise_is_due = 0;
        raise_marks(shards);
    }
    if (is_used(shards, now) && now >= shards->looked_at + LOOK_MS)
        look(shards, now);
}

int64_t ilk__shards_marks_due(const ilk__shards *shards)
{
    int64_t due = ILK__FOREVER;

    if (shards->doubted_at)
        due = shards->doubted_at + AGAIN_MS;
    if (shards->raise_is_due && shards->used_at && ilk__shards_gathers(shards))
        due = ilk__sooner(due, shards->began_at + shards->coming_ms);
    if (is_used(shards, ilk__now_ms()))
        due = ilk__sooner(due, shards->looked_at + LOOK_MS);
    return due;
}

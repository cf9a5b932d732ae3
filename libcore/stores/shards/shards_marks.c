/* SPDX-License-Identifier: MIT */
/*
 * ring_marks.c -- which servers have missed something for good.
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
#define AWAY_US (ILK__RING_DELETED_US - INT64_C(1000000) * 3600)

const ilk__bytes ilk__ring_node_key = {(char *)"ilk:kv:node", 11};

/* ---- versions ------------------------------------------------------------ */

static int64_t clock_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t ilk__ring_next_version(ilk__ring_gateway *ring, int64_t above)
{
    const int64_t clock = clock_us();
    int64_t version = ring->last_version < above ? above : ring->last_version;

    version = version < clock ? clock : version + 1;
    if (version < clock + ILK__RING_AHEAD_US)
        ring->last_version = version;
    return ilk__fence_is_valid(version) ? version : 0;
}

int64_t ilk__ring_clock_us(const ilk__ring_gateway *ring)
{
    const ilk__ring_server *fastest = NULL;

    for (size_t i = 0; i < ring->ring_count; i++)
        if (ring->servers[i].is_known
            && (!fastest || ring->servers[i].ahead_us > fastest->ahead_us))
            fastest = &ring->servers[i];
    return clock_us() + (fastest ? fastest->ahead_us : 0);
}

/* ---- marks --------------------------------------------------------------- */

int ilk__ring_send_node(ilk__ring_server *server, int64_t version,
                        const char *pass, ilk__node_call_ended *ended,
                        void *owner)
{
    char name[ILK__RING_NAME + 1];
    ilk__command command;

    ilk__command_init(&command);
    if (ilk__token(name, ILK__RING_NAME, NULL))
        command.failed = 1;
    ilk__script_begin(&command, ILK__SCRIPT_KV_NODE, &ilk__ring_node_key, 1);
    ilk__command_add_int(&command, version);
    ilk__command_add_str(&command, pass);
    ilk__command_add_str(&command, name);
    return ilk__ring_send(server, &command, ILK__SCRIPT_KV_NODE, ended, owner);
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

static int is_known(const ilk__ring_server *server)
{
    return ilk__ring_is_up(server) && !server->is_former;
}

/* The mark counts as written: if a reply is lost, the mark is read again over the server's
 * next connection. */
static void raise_marks(ilk__ring_gateway *ring)
{
    const int64_t version = ilk__ring_next_version(ring, 0);
    int missed_nothing[ILK__RING_SERVERS] = {0};

    for (size_t i = 0; i < ring->ring_count; i++)
        missed_nothing[i] = is_known(&ring->servers[i])
                            && !ilk__ring_returns(&ring->servers[i]);
    for (size_t i = 0; version && i < ring->ring_count; i++)
        if (missed_nothing[i]
            && ilk__ring_send_node(&ring->servers[i], version, "", was_raised,
                                   NULL))
            ring->servers[i].mark = version;
}

static int is_below(const ilk__ring_server *server)
{
    const ilk__ring_gateway *ring = server->gateway;

    for (size_t i = 0; i < ring->ring_count; i++)
        if (ring->servers[i].mark > server->mark)
            return 1;
    return 0;
}

/* A mark was read, or time has passed: judge anew which servers are in doubt. */
static void doubt(ilk__ring_gateway *ring, int64_t now)
{
    int any = 0;

    for (size_t i = 0; i < ring->ring_count; i++) {
        ilk__ring_server *server = &ring->servers[i];

        if (server->mark || !server->is_known || !is_below(server))
            server->lacks_since = 0;
        else if (!server->lacks_since)
            server->lacks_since = now;
        server->is_doubted =
            server->lacks_since && now < server->lacks_since + DOUBT_MS;
        any |= server->is_doubted;
    }
    if (!any)
        ring->doubted_at = 0;
    else if (!ring->doubted_at)
        ring->doubted_at = now;
}

/* Two addresses of one server would make one copy count as two. */
static const ilk__ring_server *find_twin(const ilk__ring_server *server)
{
    const ilk__ring_gateway *ring = server->gateway;

    for (size_t i = 0; i < ring->count; i++)
        if (i != server->number
            && strcmp(ring->servers[i].own_name, server->own_name) == 0)
            return &ring->servers[i];
    return NULL;
}

static void take_node(ilk__ring_server *server, const ilk__reply *reply)
{
    enum { AT_MARK, AT_NOW, AT_NAME };
    const ilk__ring_server *twin;

    snprintf(server->own_name, sizeof server->own_name, "%s",
             ilk__script_item(reply, AT_NAME)->str);
    server->mark = ilk__script_int(reply, AT_MARK);
    server->ahead_us = ilk__script_int(reply, AT_NOW) - clock_us();
    twin = find_twin(server);
    server->is_known = twin == NULL;
    server->has_failed = twin != NULL;
    if (twin)
        ilk__fail(&server->why, ILK_EINVAL, "it is the same server as %.60s",
                  ilk__ring_address(twin));
    doubt(server->gateway, ilk__now_ms());
}

int ilk__ring_gathers(const ilk__ring_gateway *ring)
{
    int may_come = 0;

    for (size_t i = 0; i < ring->ring_count; i++) {
        if (ring->servers[i].mark)
            return 0;
        may_come |=
            ring->servers[i].looking || ilk__ring_may_come(&ring->servers[i]);
    }
    return may_come;
}

/* All have replied. The servers of a new ring have coming_ms for it, from the first
 * request on. */
static int may_raise(const ilk__ring_gateway *ring, int64_t now)
{
    if (ring->doubted_at || !ring->used_at)
        return 0;
    if (ilk__ring_gathers(ring))
        return now >= ring->began_at + ring->coming_ms;
    for (size_t i = 0; i < ring->count; i++)
        if (ring->servers[i].looking)
            return 0;
    return 1;
}

/* A server that replies with an error instead of its mark cannot take part. */
static int was_asked(void *at, void *owner, const ilk__node_call *call,
                     ilk__reply *reply)
{
    ilk__ring_server *server = at;

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

void ilk__ring_ask_mark(ilk__ring_server *server)
{
    if (!server->gateway->looked_at)
        server->gateway->looked_at = ilk__now_ms();
    server->looking +=
        (size_t)ilk__ring_send_node(server, 0, "", was_asked, NULL);
}

static void look(ilk__ring_gateway *ring, int64_t now)
{
    ring->looked_at = now;
    for (size_t i = 0; i < ring->count; i++)
        if (ring->servers[i].calls.connection.up)
            ilk__ring_ask_mark(&ring->servers[i]);
}

void ilk__ring_look(ilk__ring_gateway *ring)
{
    const int64_t now = ilk__now_ms();
    const int is_first = !ring->used_at;

    ring->used_at = now;
    if (is_first)
        ring->began_at = now;
    if (now >= ring->looked_at + PAUSE_MS)
        for (size_t i = 0; i < ring->count; i++)
            ring->servers[i].is_known = 0;
    else if (!is_first)
        return;
    look(ring, now);
}

/* ---- who has missed something -------------------------------------------- */

/* Without a mark it is behind, unless a majority can be reached and none of these has
 * one. */
static int is_behind(const ilk__ring_server *server)
{
    const ilk__ring_gateway *ring = server->gateway;
    size_t known = 0;

    if (is_below(server))
        return 1;
    for (size_t i = 0; i < ring->ring_count; i++)
        known += (size_t)is_known(&ring->servers[i]);
    return server->mark == 0 && known < ring->ring_count / 2 + 1;
}

int ilk__ring_returns(const ilk__ring_server *server)
{
    return server->is_former
           || ((server->mark == 0 || server->mark < clock_us() - AWAY_US)
               && is_behind(server));
}

/* ---- time ---------------------------------------------------------------- */

static int is_used(const ilk__ring_gateway *ring, int64_t now)
{
    return ring->used_at && now < ring->used_at + USED_MS;
}

static void ask_doubted(ilk__ring_gateway *ring, int64_t now)
{
    doubt(ring, now);
    if (!ring->doubted_at)
        return;
    ring->doubted_at = now;
    for (size_t i = 0; i < ring->ring_count; i++)
        if (ring->servers[i].is_doubted && !ring->servers[i].looking)
            ilk__ring_ask_mark(&ring->servers[i]);
}

void ilk__ring_fire_marks(ilk__ring_gateway *ring, int64_t now)
{
    if (ring->doubted_at && now >= ring->doubted_at + AGAIN_MS)
        ask_doubted(ring, now);
    if (ring->raise_is_due && may_raise(ring, now)) {
        ring->raise_is_due = 0;
        raise_marks(ring);
    }
    if (is_used(ring, now) && now >= ring->looked_at + LOOK_MS)
        look(ring, now);
}

int64_t ilk__ring_marks_due(const ilk__ring_gateway *ring)
{
    int64_t due = ILK__FOREVER;

    if (ring->doubted_at)
        due = ring->doubted_at + AGAIN_MS;
    if (ring->raise_is_due && ring->used_at && ilk__ring_gathers(ring))
        due = ilk__sooner(due, ring->began_at + ring->coming_ms);
    if (is_used(ring, ilk__now_ms()))
        due = ilk__sooner(due, ring->looked_at + LOOK_MS);
    return due;
}

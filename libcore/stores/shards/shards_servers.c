/* SPDX-License-Identifier: MIT */
/* ring_servers.c -- the servers of a ring: their connections, their places, and which of
 * them are up. */
#include "shards_internal.h"

#include "base/alloc.h"
#include "base/hex.h"
#include "base/log.h"
#include "base/md5.h"

#include <stdio.h>
#include <string.h>

/* ---- opening and closing ------------------------------------------------- */

static int is_there(const ilk__ring_gateway *ring, const ilk__url *at)
{
    for (size_t i = 0; i < ring->count; i++)
        if (ring->servers[i].url.port == at->port
            && strcmp(ring->servers[i].url.host, at->host) == 0)
            return 1;
    return 0;
}

static ilk_status check_server(const ilk__ring_gateway *ring,
                               const ilk__url *at, ilk_error *err)
{
    if (ring->count == ILK__RING_SERVERS)
        return ilk__fail(err, ILK_EINVAL, "URL: a ring of over %d servers",
                         ILK__RING_SERVERS);
    if (is_there(ring, at))
        return ilk__fail(err, ILK_EINVAL, "URL: %.60s:%d is named twice",
                         at->host, at->port);
    return ILK_OK;
}

ilk_status ilk__ring_add_server(ilk__ring_gateway *ring, ilk__span text,
                                int is_former, ilk_error *err)
{
    ilk__url at = {.port = 0};
    ilk__ring_server *server;
    ilk_status st = ilk__url_parse_host(&at, text, "URL", err);

    if (st == ILK_OK)
        st = check_server(ring, &at, err);
    if (st) {
        ilk__url_free(&at);
        return st;
    }
    server = &ring->servers[ring->count];
    server->gateway = ring;
    server->number = ring->count++;
    server->is_former = is_former;
    server->url.host = at.host;
    server->url.port = at.port;
    return ILK_OK;
}

static void begin(ilk__ring_server *server)
{
    ilk__ring_gateway *ring = server->gateway;
    char *host = server->url.host;
    const int port = server->url.port;

    server->url = ring->url;
    server->url.host = host;
    server->url.port = port;
    ilk__node_stats_begin(&server->stats, &server->url);
    server->target = (ilk__target){.url = &server->url,
                                   .name = ring->name,
                                   .connect_timeout_ms = ring->connect_ms};
    ilk__node_calls_init(&server->calls, ring->gateway, &server->target,
                         server);
}

/* The servers are numbered in the order of their names. The hash of all names is the name
 * of the list: with it a script of a store refuses a client whose URL has other servers. */
static void number_servers(ilk__ring_gateway *ring)
{
    unsigned char hash[ILK__MD5_SIZE];
    char text[2 * ILK__MD5_SIZE + 1];
    ilk__md5 md5;

    ilk__md5_begin(&md5);
    for (size_t i = 0; i < ring->ring_count; i++)
        ilk__md5_add(&md5, ring->ring.nodes[i].name,
                     ring->ring.nodes[i].len + 1);
    ilk__md5_hash(hash, &md5);
    for (size_t i = 0; i < sizeof hash; i++)
        ilk__hex(text + 2 * i, hash[i]);
    text[2 * sizeof hash] = '\0';
    for (size_t i = 0; i < ring->ring_count; i++) {
        ilk__ring_server *server = &ring->servers[ring->server_of[i]];

        snprintf(server->place, sizeof server->place, "%zu %zu %s", i,
                 ring->ring_count, text);
    }
}

/* The name of a node of the ring is host:port, so all programs whose URLs have the same
 * servers, in whatever order, place a key alike. */
ilk_status ilk__ring_place(ilk__ring_gateway *ring, ilk_error *err)
{
    const void *names[ILK__RING_SERVERS];
    size_t lens[ILK__RING_SERVERS];
    ilk_status st;

    for (size_t i = 0; i < ring->count; i++) {
        begin(&ring->servers[i]);
        names[i] = ring->servers[i].stats.address;
        lens[i] = strlen(names[i]);
    }
    st = ilk__ring_add(&ring->ring, names, lens, ring->ring_count, NULL, err);
    for (size_t i = 0; st == ILK_OK && i < ring->ring_count; i++)
        for (size_t j = 0; j < ring->ring_count; j++)
            if (strcmp(ring->ring.nodes[i].name, names[j]) == 0)
                ring->server_of[i] = (uint32_t)j;
    if (st == ILK_OK)
        number_servers(ring);
    return st;
}

void ilk__ring_close_servers(ilk__ring_gateway *ring)
{
    for (size_t i = 0; i < ring->count; i++) {
        ilk__async_conn_close(&ring->servers[i].calls.connection);
        ring->servers[i].is_known = 0;
        ring->servers[i].has_failed = 1;
    }
    for (size_t i = 0; i < ring->count; i++) {
        ilk__node_calls_end_all(&ring->servers[i].calls);
        ilk__free(ring->servers[i].url.host);
    }
}

/* ---- places -------------------------------------------------------------- */

ilk__ring_server *ilk__ring_server_of(const ilk__ring_gateway *ring,
                                      ilk__bytes key)
{
    const int32_t node = ilk__ring_get(&ring->ring, key.data, key.len);

    return (ilk__ring_server *)&ring->servers[ring->server_of[node]];
}

size_t ilk__ring_servers_of(const ilk__ring_gateway *ring, ilk__bytes key,
                            ilk__ring_server *out[ILK__RING_COPIES])
{
    const size_t count = (size_t)ring->copies;
    int32_t nodes[ILK__RING_COPIES];

    if (ilk__ring_get_n(nodes, count, &ring->ring, key.data, key.len, NULL))
        return 0;
    for (size_t i = 0; i < count; i++)
        out[i] = (ilk__ring_server *)&ring->servers[ring->server_of[nodes[i]]];
    return count;
}

/* ---- states -------------------------------------------------------------- */

int ilk__ring_is_up(const ilk__ring_server *server)
{
    return server->calls.connection.up && server->is_known;
}

int ilk__ring_may_come(const ilk__ring_server *server)
{
    return !ilk__ring_is_up(server) && !server->has_failed;
}

const char *ilk__ring_address(const ilk__ring_server *server)
{
    return server->stats.address;
}

const char *ilk__ring_why(const ilk__ring_server *server)
{
    if (ilk__ring_is_up(server) && server->is_doubted)
        return "it has no mark, which another server has, and may get it now";
    if (ilk__ring_is_up(server) && ilk__ring_returns(server))
        return "it was wiped, or away for over 7 days, and counts when "
               "`interlock "
               "kv move` has gone through";
    return server->why.code ? server->why.msg : "it has not been reached yet";
}

/* ---- calls --------------------------------------------------------------- */

int ilk__ring_send(ilk__ring_server *server, ilk__command *command, int script,
                   ilk__node_call_ended *ended, void *owner)
{
    if (!ilk__node_calls_send(&server->calls, command, script, ended, owner))
        return 0;
    ilk__node_stats_call(&server->stats);
    return 1;
}

static void lose(ilk__ring_server *server, int has_failed)
{
    server->has_failed |= has_failed;
    server->is_known = 0;
    server->why = server->calls.connection.error;
    server->stats.in_flight = 0;
    ilk__log(ILK__LOG_INFO, "ring: %s: %s", server->stats.address,
             server->why.msg);
    ilk__node_calls_end_all(&server->calls);
}

static void take_reply(ilk__ring_server *server, ilk__node_call *call,
                       ilk__reply *reply)
{
    if (reply->type == ILK__REPLY_ERROR)
        (void)ilk__reply_error(reply, &server->why);
    (void)ilk__node_stats_reply(&server->stats, call);
    ilk__node_call_end(&server->calls, call, reply);
}

void ilk__ring_read_replies(ilk__ring_server *server)
{
    ilk__node_calls_event event;
    ilk__node_call *call;
    ilk__reply *reply;

    do {
        event = ilk__node_calls_next(&server->calls, &call, &reply);
        switch (event) {
        case ILK__NODE_CALLS_REPLY: take_reply(server, call, reply); break;
        case ILK__NODE_CALLS_CAME_UP: ilk__ring_ask_mark(server); break;
        case ILK__NODE_CALLS_LOST: lose(server, 0); break;
        case ILK__NODE_CALLS_FAILED: lose(server, 1); break;
        case ILK__NODE_CALLS_NOTHING: break;
        }
    } while (event != ILK__NODE_CALLS_NOTHING);
}

/* ---- logins of the core -------------------------------------------------- */

static int64_t end_of_contact(const ilk__ring_gateway *ring, size_t index)
{
    return ring->contact_at[index] + ring->connect_ms * 3 / 4;
}

/* One server is up, and the others are as well, or have failed, or have had a little
 * time. */
static int is_reached(const ilk__ring_gateway *ring, int64_t since)
{
    enum { OTHERS_MS = 250 };
    size_t up = 0, open = 0;

    for (size_t i = 0; i < ring->count; i++) {
        up += (size_t)ilk__ring_is_up(&ring->servers[i]);
        open += (size_t)ilk__ring_may_come(&ring->servers[i]);
    }
    return up > 0 && (open == 0 || since + OTHERS_MS <= ilk__now_ms());
}

static int may_be_reached(const ilk__ring_gateway *ring)
{
    for (size_t i = 0; i < ring->count; i++)
        if (!ring->servers[i].has_failed)
            return 1;
    return 0;
}

/* Name a server that refuses the login, if there is one: only the user can mend that. */
static void refuse_contact(const ilk__ring_gateway *ring,
                           ilk__gateway_request *request)
{
    const ilk__ring_server *worst = &ring->servers[0];
    char text[ILK_ERROR_MAX];

    for (size_t i = 0; i < ring->count; i++)
        if (ring->servers[i].why.code == ILK_EAUTH)
            worst = &ring->servers[i];
    snprintf(text, sizeof text, "%s %.100s: %.130s",
             worst->why.code == ILK_EAUTH ? "NOAUTH" : "NOQUORUM",
             ilk__ring_address(worst), ilk__ring_why(worst));
    ilk__gateway_reply_error(request, text);
}

static void answer_contacts(ilk__ring_gateway *ring)
{
    size_t left = 0;

    for (size_t i = 0; i < ring->contact_count; i++)
        if (is_reached(ring, ring->contact_at[i])) {
            ring->was_reached = 1;
            ilk__gateway_contact_made(ring->contacts[i]);
        } else if (!may_be_reached(ring)
                   || end_of_contact(ring, i) <= ilk__now_ms()) {
            refuse_contact(ring, ring->contacts[i]);
        } else {
            ring->contact_at[left] = ring->contact_at[i];
            ring->contacts[left++] = ring->contacts[i];
        }
    ring->contact_count = left;
}

void ilk__ring_contact(void *self, ilk__gateway_request *request)
{
    ilk__ring_gateway *ring = self;

    if (ring->was_reached) {
        ilk__gateway_contact_made(request);
        return;
    }
    if (ring->contact_count == ILK__RING_CONTACTS) {
        ilk__gateway_break(request);
        return;
    }
    ring->contacts[ring->contact_count] = request;
    ring->contact_at[ring->contact_count++] = ilk__now_ms();
    answer_contacts(ring);
}

/* ---- whether it can be reached -------------------------------------------- */

/* A request for TIME at all servers that are up: the first reply is the ring's. */
typedef struct ring_ping {
    ilk__ring_gateway *ring;
    ilk__gateway_request *request; /* NULL: it has its reply */
    size_t calls;
} ring_ping;

static void end_ping(ring_ping *ping)
{
    if (ping->calls)
        return;
    if (ping->request)
        refuse_contact(ping->ring, ping->request);
    ilk__free(ping);
}

static int answered_ping(void *at, void *owner, const ilk__node_call *call,
                         ilk__reply *reply)
{
    ring_ping *ping = owner;

    (void)at;
    (void)call;
    ping->calls--;
    if (ping->request && reply && reply->type != ILK__REPLY_ERROR) {
        ilk__gateway_contact_made(ping->request);
        ping->request = NULL;
    }
    end_ping(ping);
    return 0;
}

void ilk__ring_ping(void *self, ilk__gateway_request *request)
{
    ilk__ring_gateway *ring = self;
    ring_ping *ping = ilk__calloc(1, sizeof *ping);

    if (!ping) {
        ilk__gateway_break(request);
        return;
    }
    *ping = (ring_ping){ring, request, 1}; /* until all are sent */
    for (size_t i = 0; i < ring->count; i++) {
        ilk__command command;

        if (!ilk__ring_is_up(&ring->servers[i]))
            continue;
        ilk__command_init(&command);
        ilk__command_add_str(&command, "TIME");
        ping->calls += (size_t)ilk__ring_send(
            &ring->servers[i], &command, ILK__SCRIPT_NONE, answered_ping, ping);
    }
    ping->calls--;
    end_ping(ping);
}

/* ---- time ---------------------------------------------------------------- */

static int64_t silent_at(const ilk__ring_server *server)
{
    return ilk__node_calls_silent_at(&server->calls,
                                     server->gateway->patience_ms);
}

void ilk__ring_fire_servers(ilk__ring_gateway *ring, int64_t now)
{
    for (size_t i = 0; i < ring->count; i++)
        if (silent_at(&ring->servers[i]) <= now) {
            ilk__async_conn_break(&ring->servers[i].calls.connection,
                                  "the server does not answer");
            lose(&ring->servers[i], 1);
        }
    answer_contacts(ring);
}

int64_t ilk__ring_servers_due(const ilk__ring_gateway *ring)
{
    enum { CONTACTS_MS = 50 };
    int64_t until = ILK__FOREVER;

    for (size_t i = 0; i < ring->count; i++)
        until = ilk__sooner(until, silent_at(&ring->servers[i]));
    if (ring->contact_count)
        until = ilk__sooner(until, ilk__now_ms() + CONTACTS_MS);
    return until;
}

/* ---- numbers for other threads ------------------------------------------- */

static int32_t state_of(const ilk__ring_server *server)
{
    if (ilk__ring_is_up(server) && !server->is_doubted)
        return ilk__ring_returns(server) ? ILK_NODE_WAITING : ILK_NODE_VOTING;
    return server->has_failed ? ILK_NODE_FAILED : ILK_NODE_CONNECTING;
}

void ilk__ring_publish(ilk__ring_gateway *ring)
{
    pthread_mutex_lock(&ring->mutex);
    for (size_t i = 0; i < ring->count; i++) {
        const ilk__ring_server *server = &ring->servers[i];
        ilk_node_stats *out = &ring->published[i];

        *out = server->stats;
        out->state = state_of(server);
        out->connects = server->calls.connection.traffic.connects;
        snprintf(out->error, sizeof out->error, "%s",
                 out->state == ILK_NODE_VOTING ? server->why.msg
                                               : ilk__ring_why(server));
    }
    pthread_mutex_unlock(&ring->mutex);
}

ilk_status ilk__ring_node_stats(void *self, size_t index, ilk_node_stats *out)
{
    ilk__ring_gateway *ring = self;

    if (index >= ring->count)
        return ILK_EAGAIN;
    pthread_mutex_lock(&ring->mutex);
    *out = ring->published[index];
    pthread_mutex_unlock(&ring->mutex);
    return ILK_OK;
}

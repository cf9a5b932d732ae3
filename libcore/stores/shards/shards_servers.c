/* SPDX-License-Identifier: MIT */
/* shards_servers.c -- the servers of a ring: their connections, their places, and which of
 * them are up. */
#include "shards_internal.h"

#include "base/alloc.h"
#include "base/hex.h"
#include "base/log.h"
#include "base/md5.h"

#include <stdio.h>
#include <string.h>

/* ---- opening and closing ------------------------------------------------- */

static int is_there(const ilk__shards *shards, const ilk__url *at)
{
    for (size_t i = 0; i < shards->count; i++)
        if (shards->servers[i].url.port == at->port
            && strcmp(shards->servers[i].url.host, at->host) == 0)
            return 1;
    return 0;
}

static ilk_status check_server(const ilk__shards *shards, const ilk__url *at,
                               ilk_error *err)
{
    if (shards->count == ILK__SHARDS_SERVERS)
        return ilk__fail(err, ILK_EINVAL, "URL: a ring of over %d servers",
                         ILK__SHARDS_SERVERS);
    if (is_there(shards, at))
        return ilk__fail(err, ILK_EINVAL, "URL: %.60s:%d is named twice",
                         at->host, at->port);
    return ILK_OK;
}

ilk_status ilk__shards_add_server(ilk__shards *shards, ilk__span text,
                                  int is_former, ilk_error *err)
{
    ilk__url at = {.port = 0};
    ilk__shards_server *server;
    ilk_status st = ilk__url_parse_host(&at, text, "URL", err);

    if (st == ILK_OK)
        st = check_server(shards, &at, err);
    if (st) {
        ilk__url_free(&at);
        return st;
    }
    server = &shards->servers[shards->count];
    server->gateway = shards;
    server->number = shards->count++;
    server->is_former = is_former;
    server->url.host = at.host;
    server->url.port = at.port;
    return ILK_OK;
}

static void begin(ilk__shards_server *server)
{
    ilk__shards *shards = server->gateway;
    char *host = server->url.host;
    const int port = server->url.port;

    server->url = shards->url;
    server->url.host = host;
    server->url.port = port;
    ilk__node_stats_begin(&server->stats, &server->url);
    server->target = (ilk__target){.url = &server->url,
                                   .name = shards->name,
                                   .connect_timeout_ms = shards->connect_ms};
    ilk__node_calls_init(&server->calls, shards->gateway, &server->target,
                         server);
}

/* The servers are numbered in the order of their names. The hash of all names is the name
 * of the list: with it a script of a store refuses a client whose URL has other servers. */
static void number_servers(ilk__shards *shards)
{
    unsigned char hash[ILK__MD5_SIZE];
    char text[2 * ILK__MD5_SIZE + 1];
    ilk__md5 md5;

    ilk__md5_begin(&md5);
    for (size_t i = 0; i < shards->ring_count; i++)
        ilk__md5_add(&md5, shards->ring.nodes[i].name,
                     shards->ring.nodes[i].len + 1);
    ilk__md5_hash(hash, &md5);
    for (size_t i = 0; i < sizeof hash; i++)
        ilk__hex(text + 2 * i, hash[i]);
    text[2 * sizeof hash] = '\0';
    for (size_t i = 0; i < shards->ring_count; i++) {
        ilk__shards_server *server = &shards->servers[shards->server_of[i]];

        snprintf(server->place, sizeof server->place, "%zu %zu %s", i,
                 shards->ring_count, text);
    }
}

/* The name of a node of the ring is host:port, so all programs whose URLs have the same
 * servers, in whatever order, place a key alike. */
ilk_status ilk__shards_place(ilk__shards *shards, ilk_error *err)
{
    const void *names[ILK__SHARDS_SERVERS];
    size_t lens[ILK__SHARDS_SERVERS];
    ilk_status st;

    for (size_t i = 0; i < shards->count; i++) {
        begin(&shards->servers[i]);
        names[i] = shards->servers[i].stats.address;
        lens[i] = strlen(names[i]);
    }
    st = ilk__ring_add(&shards->ring, names, lens, shards->ring_count, NULL,
                       err);
    for (size_t i = 0; st == ILK_OK && i < shards->ring_count; i++)
        for (size_t j = 0; j < shards->ring_count; j++)
            if (strcmp(shards->ring.nodes[i].name, names[j]) == 0)
                shards->server_of[i] = (uint32_t)j;
    if (st == ILK_OK)
        number_servers(shards);
    return st;
}

void ilk__shards_close_servers(ilk__shards *shards)
{
    for (size_t i = 0; i < shards->count; i++) {
        ilk__async_conn_close(&shards->servers[i].calls.connection);
        shards->servers[i].is_known = 0;
        shards->servers[i].has_failed = 1;
    }
    for (size_t i = 0; i < shards->count; i++) {
        ilk__node_calls_end_all(&shards->servers[i].calls);
        ilk__free(shards->servers[i].url.host);
    }
}

/* ---- places -------------------------------------------------------------- */

ilk__shards_server *ilk__shards_server_of(const ilk__shards *shards,
                                          ilk__bytes key)
{
    const int32_t node = ilk__ring_get(&shards->ring, key.data, key.len);

    return (ilk__shards_server *)&shards->servers[shards->server_of[node]];
}

size_t ilk__shards_servers_of(const ilk__shards *shards, ilk__bytes key,
                              ilk__shards_server *out[ILK__SHARDS_COPIES])
{
    const size_t count = (size_t)shards->copies;
    int32_t nodes[ILK__SHARDS_COPIES];

    if (ilk__ring_get_n(nodes, count, &shards->ring, key.data, key.len, NULL))
        return 0;
    for (size_t i = 0; i < count; i++)
        out[i] =
            (ilk__shards_server *)&shards->servers[shards->server_of[nodes[i]]];
    return count;
}

/* ---- states -------------------------------------------------------------- */

int ilk__shards_is_up(const ilk__shards_server *server)
{
    return server->calls.connection.up && server->is_known;
}

int ilk__shards_may_come(const ilk__shards_server *server)
{
    return !ilk__shards_is_up(server) && !server->has_failed;
}

const char *ilk__shards_address(const ilk__shards_server *server)
{
    return server->stats.address;
}

const char *ilk__shards_why(const ilk__shards_server *server)
{
    if (ilk__shards_is_up(server) && server->is_doubted)
        return "it has no mark, which another server has, and may get it now";
    if (ilk__shards_is_up(server) && ilk__shards_returns(server))
        return "it was wiped, or away for over 7 days, and counts when "
               "`interlock "
               "kv move` has gone through";
    return server->why.code ? server->why.msg : "it has not been reached yet";
}

/* ---- calls --------------------------------------------------------------- */

int ilk__shards_send(ilk__shards_server *server, ilk__command *command,
                     int script, ilk__node_call_ended *ended, void *owner)
{
    if (!ilk__node_calls_send(&server->calls, command, script, ended, owner))
        return 0;
    ilk__node_stats_call(&server->stats);
    return 1;
}

static void lose(ilk__shards_server *server, int has_failed)
{
    server->has_failed |= has_failed;
    server->is_known = 0;
    server->why = server->calls.connection.error;
    server->stats.in_flight = 0;
    ilk__log(ILK__LOG_INFO, "ring: %s: %s", server->stats.address,
             server->why.msg);
    ilk__node_calls_end_all(&server->calls);
}

static void take_reply(ilk__shards_server *server, ilk__node_call *call,
                       ilk__reply *reply)
{
    if (reply->type == ILK__REPLY_ERROR)
        (void)ilk__reply_error(reply, &server->why);
    (void)ilk__node_stats_reply(&server->stats, call);
    ilk__node_call_end(&server->calls, call, reply);
}

void ilk__shards_read_replies(ilk__shards_server *server)
{
    ilk__node_calls_event event;
    ilk__node_call *call;
    ilk__reply *reply;

    do {
        event = ilk__node_calls_next(&server->calls, &call, &reply);
        switch (event) {
        case ILK__NODE_CALLS_REPLY: take_reply(server, call, reply); break;
        case ILK__NODE_CALLS_CAME_UP: ilk__shards_ask_mark(server); break;
        case ILK__NODE_CALLS_LOST: lose(server, 0); break;
        case ILK__NODE_CALLS_FAILED: lose(server, 1); break;
        case ILK__NODE_CALLS_NOTHING: break;
        }
    } while (event != ILK__NODE_CALLS_NOTHING);
}

/* ---- logins of the core -------------------------------------------------- */

static int64_t end_of_contact(const ilk__shards *shards, size_t index)
{
    return shards->contact_at[index] + shards->connect_ms * 3 / 4;
}

/* One server is up, and the others are as well, or have failed, or have had a little
 * time. */
static int is_reached(const ilk__shards *shards, int64_t since)
{
    enum { OTHERS_MS = 250 };
    size_t up = 0, open = 0;

    for (size_t i = 0; i < shards->count; i++) {
        up += (size_t)ilk__shards_is_up(&shards->servers[i]);
        open += (size_t)ilk__shards_may_come(&shards->servers[i]);
    }
    return up > 0 && (open == 0 || since + OTHERS_MS <= ilk__now_ms());
}

static int may_be_reached(const ilk__shards *shards)
{
    for (size_t i = 0; i < shards->count; i++)
        if (!shards->servers[i].has_failed)
            return 1;
    return 0;
}

/* Name a server that refuses the login, if there is one: only the user can mend that. */
static void refuse_contact(const ilk__shards *shards,
                           ilk__gateway_request *request)
{
    const ilk__shards_server *worst = &shards->servers[0];
    char text[ILK_ERROR_MAX];

    for (size_t i = 0; i < shards->count; i++)
        if (shards->servers[i].why.code == ILK_EAUTH)
            worst = &shards->servers[i];
    snprintf(text, sizeof text, "%s %.100s: %.130s",
             worst->why.code == ILK_EAUTH ? "NOAUTH" : "NOQUORUM",
             ilk__shards_address(worst), ilk__shards_why(worst));
    ilk__gateway_reply_error(request, text);
}

static void answer_contacts(ilk__shards *shards)
{
    size_t left = 0;

    for (size_t i = 0; i < shards->contact_count; i++)
        if (is_reached(shards, shards->contact_at[i])) {
            shards->was_reached = 1;
            ilk__gateway_contact_made(shards->contacts[i]);
        } else if (!may_be_reached(shards)
                   || end_of_contact(shards, i) <= ilk__now_ms()) {
            refuse_contact(shards, shards->contacts[i]);
        } else {
            shards->contact_at[left] = shards->contact_at[i];
            shards->contacts[left++] = shards->contacts[i];
        }
    shards->contact_count = left;
}

void ilk__shards_contact(void *self, ilk__gateway_request *request)
{
    ilk__shards *shards = self;

    if (shards->was_reached) {
        ilk__gateway_contact_made(request);
        return;
    }
    if (shards->contact_count == ILK__SHARDS_CONTACTS) {
        ilk__gateway_break(request);
        return;
    }
    shards->contacts[shards->contact_count] = request;
    shards->contact_at[shards->contact_count++] = ilk__now_ms();
    answer_contacts(shards);
}

/* ---- whether it can be reached -------------------------------------------- */

/* A request for TIME at all servers that are up: the first reply is the ring's. */
typedef struct shards_ping {
    ilk__shards *shards;
    ilk__gateway_request *request; /* NULL: it has its reply */
    size_t calls;
} shards_ping;

static void end_ping(shards_ping *ping)
{
    if (ping->calls)
        return;
    if (ping->request)
        refuse_contact(ping->shards, ping->request);
    ilk__free(ping);
}

static int answered_ping(void *at, void *owner, const ilk__node_call *call,
                         ilk__reply *reply)
{
    shards_ping *ping = owner;

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

void ilk__shards_ping(void *self, ilk__gateway_request *request)
{
    ilk__shards *shards = self;
    shards_ping *ping = ilk__calloc(1, sizeof *ping);

    if (!ping) {
        ilk__gateway_break(request);
        return;
    }
    *ping = (shards_ping){shards, request, 1}; /* until all are sent */
    for (size_t i = 0; i < shards->count; i++) {
        ilk__command command;

        if (!ilk__shards_is_up(&shards->servers[i]))
            continue;
        ilk__command_init(&command);
        ilk__command_add_str(&command, "TIME");
        ping->calls +=
            (size_t)ilk__shards_send(&shards->servers[i], &command,
                                     ILK__SCRIPT_NONE, answered_ping, ping);
    }
    ping->calls--;
    end_ping(ping);
}

/* ---- time ---------------------------------------------------------------- */

static int64_t silent_at(const ilk__shards_server *server)
{
    return ilk__node_calls_silent_at(&server->calls,
                                     server->gateway->patience_ms);
}

void ilk__shards_fire_servers(ilk__shards *shards, int64_t now)
{
    for (size_t i = 0; i < shards->count; i++)
        if (silent_at(&shards->servers[i]) <= now) {
            ilk__async_conn_break(&shards->servers[i].calls.connection,
                                  "the server does not answer");
            lose(&shards->servers[i], 1);
        }
    answer_contacts(shards);
}

int64_t ilk__shards_servers_due(const ilk__shards *shards)
{
    enum { CONTACTS_MS = 50 };
    int64_t until = ILK__FOREVER;

    for (size_t i = 0; i < shards->count; i++)
        until = ilk__sooner(until, silent_at(&shards->servers[i]));
    if (shards->contact_count)
        until = ilk__sooner(until, ilk__now_ms() + CONTACTS_MS);
    return until;
}

/* ---- numbers for other threads ------------------------------------------- */

static int32_t state_of(const ilk__shards_server *server)
{
    if (ilk__shards_is_up(server) && !server->is_doubted)
        return ilk__shards_returns(server) ? ILK_NODE_WAITING : ILK_NODE_VOTING;
    return server->has_failed ? ILK_NODE_FAILED : ILK_NODE_CONNECTING;
}

void ilk__shards_publish(ilk__shards *shards)
{
    pthread_mutex_lock(&shards->mutex);
    for (size_t i = 0; i < shards->count; i++) {
        const ilk__shards_server *server = &shards->servers[i];
        ilk_node_stats *out = &shards->published[i];

        *out = server->stats;
        out->state = state_of(server);
        out->connects = server->calls.connection.traffic.connects;
        snprintf(out->error, sizeof out->error, "%s",
                 out->state == ILK_NODE_VOTING ? server->why.msg
                                               : ilk__shards_why(server));
    }
    pthread_mutex_unlock(&shards->mutex);
}

ilk_status ilk__shards_node_stats(void *self, size_t index, ilk_node_stats *out)
{
    ilk__shards *shards = self;

    if (index >= shards->count)
        return ILK_EAGAIN;
    pthread_mutex_lock(&shards->mutex);
    *out = shards->published[index];
    pthread_mutex_unlock(&shards->mutex);
    return ILK_OK;
}

/* SPDX-License-Identifier: MIT */
/*
 * session_commands.c -- the commands that the gateway executes itself: the login
 * (redis/login.h) and subscriptions; and PING, to which the store replies.
 */
#include "gateway_internal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "redis/script.h"
#include "resp.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- arguments ---------------------------------------------------------- */

static const char *text_at(const ilk__session_request *request, size_t index)
{
    return index < request->command->count ? request->command->items[index]->str
                                           : "";
}

static int is_at(const ilk__session_request *request, size_t index,
                 const char *word)
{
    return strcasecmp(text_at(request, index), word) == 0;
}

static int64_t number_at(const ilk__session_request *request, size_t index)
{
    return strtoll(text_at(request, index), NULL, 10);
}

/* ---- the login ---------------------------------------------------------- */

static void set_name(ilk__session *session, const char *name)
{
    snprintf(session->name, sizeof session->name, "%s", name);
}

static void welcome(ilk__session_request *request)
{
    int protocol = request->session->protocol;

    ilk__session_request_put(request,
                             "%c%d\r\n$6\r\nserver\r\n$9\r\ninterlock\r\n"
                             "$5\r\nproto\r\n:%d\r\n$2\r\nid\r\n:%" PRId64
                             "\r\n",
                             protocol == 3 ? '%' : '*', protocol == 3 ? 3 : 6,
                             protocol, request->session->id);
}

/* It is replied to when the store can be reached: ilk__gateway_contact_made(). 0: there
 * is nothing to ask the store. */
static int ask_store(ilk__session_request *request,
                     void (*ask)(void *store, ilk__gateway_request *call))
{
    if (!ask)
        return 0;
    request->call.script = ILK__SCRIPT_NONE;
    request->state = ILK__REQUEST_BEGUN;
    ask(request->gateway->store, &request->call);
    return 1;
}

/* HELLO [protocol [AUTH user password] [SETNAME name]]. AUTH is ignored: the backend
 * logs in to the store itself, as the URL says. */
static void hello(ilk__session_request *request)
{
    ilk__session *session = request->session;
    int protocol = request->command->count > 1 ? (int)number_at(request, 1) : 2;

    if (protocol != 2 && protocol != 3) {
        ilk__session_request_put(request,
                                 "-NOPROTO unsupported protocol version\r\n");
        return;
    }
    session->protocol = protocol;
    for (size_t i = 2; i + 1 < request->command->count; i++)
        if (is_at(request, i, "SETNAME"))
            set_name(session, text_at(request, i + 1));
    if (!ask_store(request, request->gateway->backend->contact))
        welcome(request);
}

static ilk__session *session_with(const ilk__gateway *gateway, int64_t id)
{
    for (size_t i = 0; i < ILK__GATEWAY_SESSIONS; i++)
        if (gateway->sessions[i] && gateway->sessions[i]->id == id
            && !gateway->sessions[i]->broken)
            return gateway->sessions[i];
    return NULL;
}

/* CLIENT LIST ID id ... */
static void list_sessions(ilk__session_request *request)
{
    char text[1024] = "";
    size_t len = 0;

    for (size_t i = 3; i < request->command->count; i++) {
        const ilk__session *one =
            session_with(request->gateway, number_at(request, i));

        if (one && len + 64 + sizeof one->name < sizeof text)
            len += (size_t)snprintf(
                text + len, sizeof text - len,
                "id=%" PRId64 " name=%s age=%" PRId64 " idle=0\n", one->id,
                one->name, (ilk__now_ms() - one->since) / 1000);
    }
    ilk__session_request_put_bytes(request, (ilk__span){text, len});
}

/* CLIENT KILL ID id. The killed session is closed before this reply is sent. */
static void kill_session(ilk__session_request *request)
{
    ilk__session *one = session_with(request->gateway, number_at(request, 3));

    if (one)
        one->broken = 1;
    ilk__session_request_put(request, ":%d\r\n", one != NULL);
}

static void client(ilk__session_request *request)
{
    if (is_at(request, 1, "ID")) {
        ilk__session_request_put(request, ":%" PRId64 "\r\n",
                                 request->session->id);
    } else if (is_at(request, 1, "SETNAME")) {
        set_name(request->session, text_at(request, 2));
        ilk__session_request_put(request, "+OK\r\n");
    } else if (request->gateway->leaves_open) {
        ilk__session_request_put(
            request, "-NOPERM the store's user may not close connections\r\n");
    } else if (is_at(request, 1, "LIST") && is_at(request, 2, "ID")) {
        list_sessions(request);
    } else if (is_at(request, 1, "KILL") && is_at(request, 2, "ID")) {
        kill_session(request);
    } else {
        ilk__session_request_put(request,
                                 "-ERR unknown subcommand of CLIENT\r\n");
    }
}

static void say_ok(ilk__session_request *request)
{
    ilk__session_request_put(request, "+OK\r\n");
}

static void authenticate(ilk__session_request *request)
{
    if (!ask_store(request, request->gateway->backend->contact))
        say_ok(request);
}

static void say_pong(ilk__session_request *request)
{
    ilk__session_request_put(request, "+PONG\r\n");
}

static void ping(ilk__session_request *request)
{
    const ilk__backend *backend = request->gateway->backend;

    if (!ask_store(request, backend->ping ? backend->ping : backend->contact))
        say_pong(request);
}

void ilk__gateway_contact_made(ilk__gateway_request *call)
{
    ilk__session_request *request = (ilk__session_request *)call;

    if (call->script != ILK__SCRIPT_NONE && request->session) {
        request->has_contact = 1;
        ilk__session_request_again(request);
        return;
    }
    if (ilk__buf_len(&request->reply) == 0) {
        if (request->session && is_at(request, 0, "HELLO"))
            welcome(request);
        else if (is_at(request, 0, "PING"))
            say_pong(request);
        else
            say_ok(request);
    }
    ilk__session_request_done(request);
}

/* ---- subscriptions ------------------------------------------------------ */

static ilk__subscription **find(ilk__session *session, ilk__span channel,
                                int is_pattern)
{
    ilk__subscription **link = &session->subscriptions;

    while (*link
           && ((*link)->is_pattern != is_pattern || (*link)->len != channel.len
               || memcmp((*link)->channel, channel.at, channel.len) != 0))
        link = &(*link)->next;
    return link;
}

int ilk__session_subscribes(const ilk__session *session, ilk__span channel,
                            int is_pattern)
{
    return *find((ilk__session *)session, channel, is_pattern) != NULL;
}

/* A subscription begins or ends, and its session does not have it at this moment. The
 * backend gets the client's first one and the end of its last one: those that no other
 * session has. */
static void notify_backend(ilk__gateway *gateway, ilk__span channel,
                           int is_pattern, int begins)
{
    if (!gateway->backend->subscribe)
        return;
    for (size_t i = 0; i < ILK__GATEWAY_SESSIONS; i++)
        if (gateway->sessions[i]
            && ilk__session_subscribes(gateway->sessions[i], channel,
                                       is_pattern))
            return;
    gateway->backend->subscribe(gateway->store, channel, is_pattern, begins);
}

static void add_subscription(ilk__session *session, ilk__span channel,
                             int is_pattern)
{
    ilk__subscription **link = find(session, channel, is_pattern);
    ilk__subscription *one;

    if (*link)
        return;
    one = ilk__malloc(sizeof *one + channel.len);
    if (!one) {
        session->broken = 1;
        return;
    }
    notify_backend(session->gateway, channel, is_pattern, 1);
    one->next = NULL;
    one->is_pattern = is_pattern;
    one->len = channel.len;
    memcpy(one->channel, channel.at, channel.len);
    *link = one;
    session->subscription_count++;
}

static void remove_link(ilk__session *session, ilk__subscription **link)
{
    ilk__subscription *one = *link;

    *link = one->next;
    session->subscription_count--;
    notify_backend(session->gateway, (ilk__span){one->channel, one->len},
                   one->is_pattern, 0);
    ilk__free(one);
}

static void remove_subscription(ilk__session *session, ilk__span channel,
                                int is_pattern)
{
    ilk__subscription **link = find(session, channel, is_pattern);

    if (*link)
        remove_link(session, link);
}

void ilk__session_unsubscribe_all(ilk__session *session)
{
    while (session->subscriptions)
        remove_link(session, &session->subscriptions);
}

/* The confirmation is sent when the store's messages come here. */
static void await_patterns(ilk__session_request *request)
{
    ilk__gateway *gateway = request->gateway;

    if (!gateway->backend->await_patterns)
        return;
    request->call.script = ILK__SCRIPT_NONE;
    request->state = ILK__REQUEST_BEGUN;
    gateway->backend->await_patterns(gateway->store, &request->call);
}

/* [P]SUBSCRIBE and [P]UNSUBSCRIBE: each channel is confirmed. */
static void change_subscriptions(ilk__session_request *request)
{
    ilk__session *session = request->session;
    char word[16];
    int is_pattern, begins;

    snprintf(word, sizeof word, "%s", text_at(request, 0));
    for (char *c = word; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    is_pattern = word[0] == 'p';
    begins = word[is_pattern] == 's';
    for (size_t i = 1; i < request->command->count; i++) {
        const ilk__reply *item = request->command->items[i];
        const ilk__span channel = {item->str, item->len};

        (begins ? add_subscription : remove_subscription)(session, channel,
                                                          is_pattern);
        ilk__session_request_put(request, "%c3\r\n$%zu\r\n%s\r\n",
                                 session->protocol == 3 ? '>' : '*',
                                 strlen(word), word);
        ilk__session_request_put_bytes(request, channel);
        ilk__session_request_put(request, ":%zu\r\n",
                                 session->subscription_count);
    }
    if (begins && is_pattern)
        await_patterns(request);
}

int ilk__session_publish(ilk__session *session, ilk__span pattern,
                         ilk__span channel, ilk__span message)
{
    int is_pattern = pattern.at != NULL;
    ilk__buf *out = &session->out;

    if (session->broken
        || !ilk__session_subscribes(session, is_pattern ? pattern : channel,
                                    is_pattern))
        return 0;
    ilk__session_collect(session); /* the confirmation comes before it */
    if (ilk__resp_add(out, "%c%d\r\n", session->protocol == 3 ? '>' : '*',
                      is_pattern ? 4 : 3)
        || ilk__resp_add(out, is_pattern ? "$8\r\npmessage\r\n"
                                         : "$7\r\nmessage\r\n")
        || (is_pattern && ilk__resp_add_bytes(out, pattern))
        || ilk__resp_add_bytes(out, channel)
        || ilk__resp_add_bytes(out, message)
        || ilk__buf_len(out) > ILK__SESSION_UNSENT_MAX)
        session->broken = 1;
    return 1;
}

enum { WORD_MAX = 40 };

/* ---- the table ---------------------------------------------------------- */

void ilk__session_command(ilk__session_request *request)
{
    static const struct {
        const char *name;
        void (*run)(ilk__session_request *request);
    } commands[] = {
        {"HELLO", hello},
        {"AUTH", authenticate},
        {"SELECT", say_ok},
        {"CLIENT", client},
        {"PING", ping},
        {"SUBSCRIBE", change_subscriptions},
        {"UNSUBSCRIBE", change_subscriptions},
        {"PSUBSCRIBE", change_subscriptions},
        {"PUNSUBSCRIBE", change_subscriptions},
    };
    size_t shown;

    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (is_at(request, 0, commands[i].name)) {
            commands[i].run(request);
            if (request->state == ILK__REQUEST_NEW)
                ilk__session_request_done(request);
            return;
        }
    if (request->gateway->backend->command) {
        request->call.script = ILK__SCRIPT_NONE;
        request->call.args = request->command->items;
        request->call.arg_count = request->command->count;
        ilk__session_request_begin(request);
        return;
    }
    shown = strcspn(text_at(request, 0), "\r\n");
    ilk__session_request_put(request, "-ILKNONE %s has no command %.*s\r\n",
                             request->gateway->backend->store,
                             shown < WORD_MAX ? (int)shown : WORD_MAX,
                             text_at(request, 0));
    ilk__session_request_done(request);
}

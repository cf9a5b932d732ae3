/* SPDX-License-Identifier: MIT */
/* switch_listener.c -- the keeper listens to a sentinel for switches. */
#include "switch_listener.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "net/url_sentinels.h"

#include <stdio.h>
#include <string.h>

enum {
    SILENCE_MS = 1000, /* then the sentinel is sent a PING */
    PONG_MS = 1000,    /* in which it must answer */
    WORDS = 8,         /* of a message; the rest is ignored */
    TURN_MAX = 256     /* replies read in one turn of the keeper */
};

struct ilk__switch_listener {
    ilk__async_conn connection;
    ilk__target target; /* one sentinel */
    ilk__url url;
    const ilk__target *service; /* the client's target */
    unsigned sentinel;
    int answered;   /* the first two commands' replies that have come */
    int subscribed; /* a reply other than an error has come after them */
    int pinged;     /* a PING has no reply yet */
    int behind;     /* so many sentinels in a row had a lower epoch */
    int left;       /* so many were left since one was good */
    int64_t due;    /* the next PING, or the end of patience */
};

/* The connection is closed, so nothing uses the URL. */
static void choose(ilk__switch_listener *listener, unsigned sentinel)
{
    const ilk__url *url = listener->service->url;

    listener->sentinel = sentinel % (unsigned)url->sentinels->count;
    ilk__sentinel_url(&listener->url, url, listener->sentinel);
}

ilk__switch_listener *ilk__switch_listener_new(const ilk__target *target)
{
    ilk__switch_listener *listener = ilk__calloc(1, sizeof *listener);

    if (!listener)
        return NULL;
    listener->service = target;
    listener->target =
        (ilk__target){.url = &listener->url,
                      .name = target->name,
                      .connect_timeout_ms = target->connect_timeout_ms};
    ilk__async_conn_init(&listener->connection, &listener->target);
    listener->connection.wanted = 1;
    listener->due = ILK__FOREVER;
    choose(listener, atomic_load(&target->primary->sentinel));
    return listener;
}

void ilk__switch_listener_close(ilk__switch_listener *listener)
{
    ilk__async_conn_close(&listener->connection);
}

void ilk__switch_listener_free(ilk__switch_listener *listener)
{
    if (!listener)
        return;
    ilk__switch_listener_close(listener);
    ilk__free(listener);
}

void ilk__switch_listener_abandon(ilk__switch_listener *listener)
{
    ilk__async_conn_abandon(&listener->connection);
}

const ilk__async_conn *ilk__switch_listener_connection(
    const ilk__switch_listener *listener)
{
    return &listener->connection;
}

static void lost(ilk__switch_listener *listener)
{
    ilk__log(ILK__LOG_INFO, "sentinel: %s", listener->connection.error.msg);
    listener->due = ILK__FOREVER;
    choose(listener, listener->sentinel + 1);
}

/* ---- messages ----------------------------------------------------------- */

/* Cut a text at its spaces, writing to it; the words behind the last are "". */
static void cut_words(char *text, const char *words[WORDS])
{
    size_t count = 0;
    char *rest = text;

    while (count < WORDS && *rest != '\0') {
        size_t len = strcspn(rest, " ");
        int more = rest[len] == ' ';

        rest[len] = '\0';
        words[count++] = rest;
        rest += len + (more ? 1 : 0);
    }
    while (count < WORDS)
        words[count++] = "";
}

/* A message on `channel`: returns 1 if it is news of a switch of our service. */
static int read_message(ilk__switch_listener *listener,
                        const ilk__reply *channel, ilk__reply *payload)
{
    const char *service = listener->service->url->sentinels->service;
    const char *words[WORDS], *host, *port;
    ilk_error why;
    int number, ours;

    if (payload->type != ILK__REPLY_STR)
        return 0;
    cut_words(payload->str, words);
    if (ilk__reply_is_text(channel, "+switch-master")) {
        ours = strcmp(words[0], service) == 0;
        host = words[3];
        port = words[4];
    } else if (ilk__reply_is_text(channel, "+promoted-slave")) {
        ours = strcmp(words[0], "slave") == 0 && strcmp(words[4], "@") == 0
               && strcmp(words[5], service) == 0;
        host = words[2];
        port = words[3];
    } else {
        return 0;
    }
    if (!ours || !ilk__is_address(host, port, &number))
        return 0;
    if (ilk__primary_check(listener->service->primary, listener->service->url,
                           host, number, &why)) {
        ilk__log(ILK__LOG_WARN, "sentinel: %s", why.msg);
        return 0;
    }
    ilk__log(ILK__LOG_INFO, "sentinel: the primary of %.100s is %.100s:%d",
             service, host, number);
    ilk__primary_switched(listener->service->primary, listener->sentinel, host,
                          number);
    /* The message has no epoch: read it on a new connection, since a subscribed one
     * takes no other commands in RESP2. */
    if (ilk__reply_is_text(channel, "+switch-master"))
        ilk__async_conn_break(&listener->connection, "a switch");
    return 1;
}

/* The value of a key among the pairs of SENTINEL MASTER; "" if there is none. */
static const char *value_of(const ilk__reply *reply, const char *key)
{
    for (size_t i = 0; i + 1 < reply->count; i += 2)
        if (ilk__reply_is_text(reply->items[i], key)
            && reply->items[i + 1]->type == ILK__REPLY_STR)
            return reply->items[i + 1]->str;
    return "";
}

/*
 * Leave this sentinel for the next one, after a pause when each of them may
 * have had its turn.
 */
static void leave(ilk__switch_listener *listener, const char *why)
{
    const int count = (int)listener->service->url->sentinels->count;

    ilk__async_conn_break(&listener->connection, why);
    lost(listener);
    if (++listener->left % count == 0)
        listener->connection.retry_at = ilk__deadline(SILENCE_MS);
}

/*
 * The reply to SENTINEL MASTER. A sentinel whose reply has no epoch, such as a
 * refusal, is good enough to listen to. When all of them are behind, one after
 * the other, they were set up anew, and their epochs began again.
 */
static void read_epoch(ilk__switch_listener *listener, const ilk__reply *reply)
{
    const int count = (int)listener->service->url->sentinels->count;
    ilk__primary *primary = listener->service->primary;
    const char *text;
    int64_t epoch;

    if (reply->type != ILK__REPLY_ARRAY)
        return;
    text = value_of(reply, "config-epoch");
    epoch = ilk__text_number((ilk__span){text, strlen(text)}, INT64_MAX / 16);
    if (epoch < 0)
        return;
    if (epoch >= atomic_load(&primary->epoch))
        listener->behind = 0;
    else if (++listener->behind < count) {
        leave(listener, "the sentinel is behind the others");
        return;
    }
    atomic_store(&primary->epoch, epoch);
}

/*
 * The primary: returns 1 if it is news. It is not read from SENTINEL MASTER: the
 * sentinel that carries out a failover already has the new epoch there, but the
 * former primary, until all replicas follow the new one.
 */
static int read_primary(ilk__switch_listener *listener, const ilk__reply *reply)
{
    int port;
    const char *host = ilk__sentinel_address(reply, &port);
    ilk_error why;

    if (reply->type == ILK__REPLY_NIL)
        leave(listener, "the sentinel does not know the service");
    if (!host)
        return 0;
    if (ilk__primary_check(listener->service->primary, listener->service->url,
                           host, port, &why)) {
        leave(listener, why.msg);
        return 0;
    }
    listener->left = 0;
    ilk__primary_switched(listener->service->primary, listener->sentinel, host,
                          port);
    return 1;
}

static void refused(ilk__switch_listener *listener, const ilk__reply *reply)
{
    ilk__log(ILK__LOG_WARN,
             "sentinel: no news of switches, which are found later then: "
             "%.150s",
             reply->str);
    listener->connection.wanted = 0;
    listener->due = ILK__FOREVER;
    ilk__async_conn_break(&listener->connection, "refused");
}

static int on_reply(ilk__switch_listener *listener, const ilk__reply *reply)
{
    int is_array =
        reply->type == ILK__REPLY_ARRAY || reply->type == ILK__REPLY_PUSH;

    listener->pinged = 0;
    listener->due = ilk__now_ms() + SILENCE_MS;
    if (listener->answered < 2 && reply->type != ILK__REPLY_PUSH) {
        if (listener->answered++ == 1)
            return read_primary(listener, reply);
        read_epoch(listener, reply);
        return 0;
    }
    if (reply->type == ILK__REPLY_ERROR && !listener->subscribed)
        refused(listener, reply);
    else if (is_array && reply->count >= 3
             && ilk__reply_is_text(reply->items[0], "message"))
        return read_message(listener, reply->items[1], reply->items[2]);
    else
        listener->subscribed = 1;
    return 0;
}

/* ---- the connection ----------------------------------------------------- */

static void send_words(ilk__switch_listener *listener, const char *first,
                       const char *second, const char *third)
{
    const char *const all[] = {first, second, third};
    ilk__command command;
    ilk_status st;

    ilk__command_init(&command);
    for (size_t i = 0; i < 3 && all[i]; i++)
        ilk__command_add_str(&command, all[i]);
    st = ilk__async_conn_send(&listener->connection, &command, NULL);
    ilk__command_free(&command);
    if (st)
        ilk__async_conn_break(&listener->connection, "out of memory");
}

static void came_up(ilk__switch_listener *listener)
{
    const char *service = listener->service->url->sentinels->service;

    listener->answered = listener->subscribed = 0;
    listener->pinged = 1; /* the first reply is as good as a PONG */
    listener->due = ilk__now_ms() + PONG_MS;
    send_words(listener, "SENTINEL", "MASTER", service);
    if (listener->connection.up)
        send_words(listener, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", service);
    if (listener->connection.up)
        send_words(listener, "SUBSCRIBE", "+switch-master", "+promoted-slave");
}

static void check_silence(ilk__switch_listener *listener)
{
    if (!listener->connection.up || ilk__now_ms() < listener->due)
        return;
    if (listener->pinged) {
        ilk__async_conn_break(&listener->connection,
                              "the sentinel does not answer");
        listener->behind = 0;
        lost(listener);
        return;
    }
    listener->pinged = 1;
    listener->due = ilk__now_ms() + PONG_MS;
    send_words(listener, "PING", NULL, NULL);
}

int64_t ilk__switch_listener_prepare(ilk__switch_listener *listener,
                                     struct pollfd *pfd)
{
    int64_t due = ilk__async_conn_prepare(&listener->connection, pfd);

    return listener->connection.up ? ilk__sooner(due, listener->due) : due;
}

void ilk__switch_listener_polled(ilk__switch_listener *listener,
                                 const struct pollfd *pfd)
{
    ilk__async_conn_polled(&listener->connection, pfd);
}

int ilk__switch_listener_run(ilk__switch_listener *listener)
{
    ilk__reply *reply = NULL;
    int switched = 0;

    for (int i = 0; i < TURN_MAX; i++) {
        switch (ilk__async_conn_next(&listener->connection, &reply)) {
        case ILK__ASYNC_CONN_NOTHING: check_silence(listener); return switched;
        case ILK__ASYNC_CONN_CAME_UP: came_up(listener); break;
        case ILK__ASYNC_CONN_LOST:
            listener->behind = 0;
            lost(listener);
            return switched;
        case ILK__ASYNC_CONN_REPLY:
            switched |= on_reply(listener, reply);
            ilk__reply_free(reply);
            break;
        }
    }
    return switched;
}

void ilk__switch_listener_flush(ilk__switch_listener *listener)
{
    ilk__async_conn_flush(&listener->connection);
}

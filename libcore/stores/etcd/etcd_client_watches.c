/* SPDX-License-Identifier: MIT */
/*
 * etcd_client_watches.c -- watches, all on one stream.
 *
 *     waits --send--> sent --CREATED--> events ... --ENDED-->
 *
 * The numbers of watches are ours and are not used again, so that the last events of
 * a watch that was cancelled are recognised, and skipped. A server that refuses a watch
 * answers with the number -1, for the oldest one that is sent and not created. After a
 * login new watches get a new stream, with the new token; the old one stays as long as
 * it has watches.
 */
#include "etcd_client_internal.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <stddef.h>
#include <stdio.h>

enum { LOGINS_MOST = 2 };

/* ---- beginning and end ----------------------------------------------------- */

static void free_watch(ilk__etcd_watch *watch)
{
    ilk__etcd *client = watch->client;

    ilk__etcd_unlink(&watch->link);
    ilk__timer_clear(&client->timers, &watch->timer);
    ilk__timers_unreserve(&client->timers);
    ilk__buf_free(&watch->message);
    ilk__free(watch);
}

static void end_watch(ilk__etcd_watch *watch, const ilk__etcd_failure *failure)
{
    ilk__etcd_news news = {.kind = ILK__ETCD_ENDED,
                           .revision = failure->revision,
                           .status = failure->status,
                           .error = failure->text,
                           .is_gone = failure->is_gone};
    ilk__etcd_on_news on_news = watch->on_news;
    void *owner = watch->owner;

    free_watch(watch);
    on_news(owner, &news);
}

/* The server ends the watch. Without memory for the message it goes on, and its
 * events are skipped. */
static void send_end(ilk__etcd_watch *watch)
{
    ilk__buf message = {.data = NULL};

    if (watch->stream && !watch->stream->is_closed
        && ilk__etcd_put_watch_end(&message, watch->id, NULL) == ILK_OK)
        (void)ilk__grpc_send(watch->stream, &message, NULL);
    ilk__buf_free(&message);
}

void ilk__etcd_watch_cancel(ilk__etcd_watch *watch)
{
    send_end(watch);
    free_watch(watch);
}

static void too_late(ilk__timer *timer, void *context)
{
    ilk__etcd_watch *watch =
        (ilk__etcd_watch *)((char *)timer - offsetof(ilk__etcd_watch, timer));
    ilk__etcd *client = context;
    int64_t sent_at = watch->sent_at;
    ilk__etcd_failure failure;
    char text[ILK_ERROR_MAX];

    snprintf(text, sizeof text, "etcd at %.80s began no watch in %lld ms",
             client->endpoints[client->index].text, (long long)watch->reply_ms);
    ilk__etcd_fail_with(&failure, ILK_ECONN, 0, text);
    send_end(watch);
    end_watch(watch, &failure);
    if (sent_at)
        ilk__etcd_note_silence(client, sent_at, client->reply_ms);
}

ilk_status ilk__etcd_watch_begin(ilk__etcd_watch **out, ilk__etcd *client,
                                 const ilk__etcd_watch_request *request,
                                 int64_t reply_ms, ilk__etcd_on_news on_news,
                                 void *owner)
{
    ilk__etcd_watch *watch;
    ilk_status st;

    *out = NULL;
    if (request->key.len == 0)
        return ILK_EINVAL;
    watch = ilk__calloc(1, sizeof *watch);
    if (!watch)
        return ILK_ENOMEM;
    if (ilk__timers_reserve(&client->timers, NULL)) {
        ilk__free(watch);
        return ILK_ENOMEM;
    }
    ilk__etcd_list_init(&watch->link);
    watch->client = client;
    watch->id = ++client->watch_id;
    watch->reply_ms = reply_ms > 0 ? reply_ms : client->reply_ms;
    watch->timer.fire = too_late;
    watch->on_news = on_news;
    watch->owner = owner;
    st = ilk__etcd_put_watch(&watch->message, watch->id, request, NULL);
    if (st) {
        free_watch(watch);
        return st;
    }
    ilk__timer_set(&client->timers, &watch->timer,
                   ilk__deadline(watch->reply_ms));
    ilk__etcd_move(&client->watches, &watch->link);
    *out = watch;
    return ILK_OK;
}

/* Watches that callbacks begin meanwhile are not among them. */
void ilk__etcd_end_watch_list(ilk__etcd_link *list,
                              const ilk__etcd_failure *failure)
{
    while (!ilk__etcd_list_empty(list))
        end_watch((ilk__etcd_watch *)list->next, failure);
}

/* A watch whose stream is gone must not send anything there. */
static void move_unsent(ilk__etcd_watch *watch, ilk__etcd_link *out)
{
    watch->stream = NULL;
    ilk__etcd_move(out, &watch->link);
}

void ilk__etcd_end_watches(ilk__etcd *client, const ilk__grpc_stream *stream,
                           const ilk__etcd_failure *failure)
{
    ilk__etcd_link ends, *at = client->watches.next;

    ilk__etcd_list_init(&ends);
    while (at != &client->watches) {
        ilk__etcd_watch *watch = (ilk__etcd_watch *)at;

        at = at->next;
        if (watch->stream == stream)
            move_unsent(watch, &ends);
    }
    ilk__etcd_end_watch_list(&ends, failure);
}

void ilk__etcd_split_sent_watches(ilk__etcd *client, ilk__etcd_link *out)
{
    ilk__etcd_link *at = client->watches.next;

    while (at != &client->watches) {
        ilk__etcd_watch *watch = (ilk__etcd_watch *)at;

        at = at->next;
        if (watch->stream)
            move_unsent(watch, out);
    }
}

/* ---- sending --------------------------------------------------------------- */

static ilk_status open_stream(ilk__etcd *client)
{
    ilk__grpc_call request = {.path = "/etcdserverpb.Watch/Watch",
                              .token = client->token,
                              .has_leader = 1};
    ilk_status st =
        ilk__grpc_open(&client->watch_stream, client->conn, &request, NULL);

    if (st == ILK_OK)
        client->watch_stream->kind = ILK__ETCD_STREAM_WATCHES;
    return st;
}

/* Without memory now they wait, until their deadline. */
void ilk__etcd_send_watches(ilk__etcd *client)
{
    ilk__etcd_link *at;

    if (!ilk__etcd_can_send(client))
        return;
    for (at = client->watches.next; at != &client->watches; at = at->next) {
        ilk__etcd_watch *watch = (ilk__etcd_watch *)at;

        if (watch->stream)
            continue;
        if (!client->watch_stream && open_stream(client))
            return;
        if (ilk__grpc_send(client->watch_stream, &watch->message, NULL))
            return;
        watch->stream = client->watch_stream;
        watch->number = ++client->number;
        watch->sent_at = ilk__now_ms();
    }
}

/* ---- receiving ------------------------------------------------------------- */

static ilk__etcd_watch *find(ilk__etcd *client, const ilk__grpc_stream *stream,
                             int64_t id)
{
    ilk__etcd_link *at;

    for (at = client->watches.next; at != &client->watches; at = at->next) {
        ilk__etcd_watch *watch = (ilk__etcd_watch *)at;

        if (watch->id == id && watch->stream == stream)
            return watch;
    }
    return NULL;
}

static ilk__etcd_watch *find_oldest(ilk__etcd *client,
                                    const ilk__grpc_stream *stream)
{
    ilk__etcd_watch *oldest = NULL;
    ilk__etcd_link *at;

    for (at = client->watches.next; at != &client->watches; at = at->next) {
        ilk__etcd_watch *watch = (ilk__etcd_watch *)at;

        if (watch->stream == stream && !watch->created
            && (!oldest || watch->number < oldest->number))
            oldest = watch;
    }
    return oldest;
}

static void report(ilk__etcd_watch *watch, ilk__etcd_news_kind kind,
                   int64_t revision, const ilk__etcd_kv *kv)
{
    ilk__etcd_news news = {.kind = kind, .revision = revision, .kv = kv};

    watch->on_news(watch->owner, &news);
}

/* The server does not begin it, or ends it. etcd reports an expired token as a missing
 * right. */
static void cancelled(ilk__etcd *client, ilk__etcd_watch *watch,
                      const ilk__etcd_watch_answer *answer)
{
    ilk__etcd_failure failure;

    if (answer->compact_revision) {
        ilk__etcd_fail_by_code(&failure, ILK__GRPC_OUT_OF_RANGE,
                               "the revision has been compacted",
                               ilk__grpc_conn_where(client->conn));
        failure.revision = answer->compact_revision;
    } else {
        ilk__etcd_fail_by_reason(&failure, answer->reason,
                                 ilk__grpc_conn_where(client->conn));
    }
    if (!watch->created && failure.status == ILK_EAUTH && client->url.user
        && watch->logins < LOGINS_MOST) {
        watch->logins++;
        if (client->watch_stream == watch->stream)
            client->watch_stream = NULL;
        watch->stream = NULL;
        ilk__etcd_renew_login(client);
        return;
    }
    ilk__etcd_note(client, &failure);
    end_watch(watch, &failure);
}

static void take_events(ilk__etcd *client, const ilk__grpc_stream *stream,
                        const ilk__etcd_watch_answer *answer)
{
    ilk__etcd_watch *watch = find(client, stream, answer->id);

    if (watch && !answer->event_count)
        report(watch, ILK__ETCD_PROGRESS, answer->revision, NULL);
    for (size_t i = 0; i < answer->event_count; i++) {
        const ilk__etcd_event *event = &answer->events[i];

        /* A callback may have cancelled it. */
        watch = find(client, stream, answer->id);
        if (!watch)
            return;
        report(watch,
               event->is_delete ? ILK__ETCD_KEY_DELETED : ILK__ETCD_KEY_PUT,
               answer->revision, &event->kv);
    }
}

static void take(ilk__etcd *client, const ilk__grpc_stream *stream,
                 const ilk__etcd_watch_answer *answer)
{
    ilk__etcd_watch *watch = find(client, stream, answer->id);

    if (answer->cancelled) {
        if (!watch && answer->id < 0)
            watch = find_oldest(client, stream);
        if (watch)
            cancelled(client, watch, answer);
    } else if (answer->created) {
        if (!watch || watch->created)
            return;
        watch->created = 1;
        ilk__timer_clear(&client->timers, &watch->timer);
        report(watch, ILK__ETCD_CREATED, answer->revision, NULL);
    } else {
        take_events(client, stream, answer);
    }
}

static void stream_ended(ilk__etcd *client, ilk__grpc_stream *stream,
                         const ilk__etcd_failure *failure)
{
    ilk__etcd_link *at;

    if (client->watch_stream == stream)
        client->watch_stream = NULL;
    if (failure->wants_login && client->url.user) {
        for (at = client->watches.next; at != &client->watches; at = at->next) {
            ilk__etcd_watch *watch = (ilk__etcd_watch *)at;

            if (watch->stream == stream && !watch->created
                && watch->logins++ < LOGINS_MOST)
                watch->stream = NULL; /* it is sent again */
        }
        ilk__etcd_renew_login(client);
    }
    ilk__etcd_note(client, failure);
    ilk__etcd_end_watches(client, stream, failure);
    ilk__grpc_stream_free(stream);
}

static ilk_status take_first(ilk__etcd *client, ilk__grpc_stream *stream,
                             ilk__etcd_failure *failure)
{
    ilk__etcd_parts parts = {.no_memory = 0};
    ilk__etcd_watch_answer answer;
    ilk__span message;
    ilk_status st = ilk__etcd_next_message(stream, &message, failure);

    if (st)
        return st;
    st = ilk__etcd_read_watch(message, &parts, &answer);
    if (st)
        ilk__etcd_fail_with(failure, st, 0,
                            st == ILK_ENOMEM ? "no memory for etcd's events"
                                             : "etcd's events make no sense");
    else
        take(client, stream, &answer);
    ilk__etcd_parts_free(&parts);
    ilk__etcd_drop_message(stream, message);
    return st;
}

/* A stream that is not the one of new watches ends with its last watch. */
static int is_left(const ilk__etcd *client, const ilk__grpc_stream *stream)
{
    const ilk__etcd_link *at;

    if (client->watch_stream == stream)
        return 0;
    for (at = client->watches.next; at != &client->watches; at = at->next)
        if (((const ilk__etcd_watch *)at)->stream == stream)
            return 0;
    return 1;
}

void ilk__etcd_watches_ready(ilk__etcd *client, ilk__grpc_stream *stream)
{
    ilk__etcd_failure failure;
    ilk_status st;

    do
        st = take_first(client, stream, &failure);
    while (st == ILK_OK);
    if (st == ILK_EAGAIN && (stream->is_closed || stream->no_memory))
        ilk__etcd_fail_by_stream(&failure, stream,
                                 ilk__grpc_conn_where(client->conn));
    else if (st == ILK_EAGAIN) {
        if (is_left(client, stream))
            ilk__grpc_stream_free(stream);
        return;
    }
    stream_ended(client, stream, &failure);
}

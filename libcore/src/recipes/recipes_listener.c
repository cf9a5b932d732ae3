/* SPDX-License-Identifier: MIT */
/*
 * recipes_listener.c -- a listener for messages of a raw channel.
 *
 * A channel whose name ends in an id stands for one waiter, and a sender of
 * one-to-one signals chooses one of the channels in PUBSUB CHANNELS. A waiter's
 * channel remains there for a moment after its message has come:
 *
 *   - Senders of this library skip it. They write each waiter that they signal
 *     into the zset `signalled`, and recognise our waiters by a second channel
 *     ("ilk:recipes:one:..." and the first one's name).
 *   - Other senders may choose it again. So when the waiter leaves, it first
 *     unsubscribes, and then passes further messages on to another waiter.
 *
 * A server that is silent may be away. So a PING follows each SUBSCRIBE, and each
 * QUIET_MS without a message; a confirmation proves nothing, because the gateway of a
 * cluster sends it by itself:
 *
 *     quiet --QUIET_MS--> PING --a reply, or a message--> quiet
 *                           \--reply_timeout_ms--> the connection is dead: an outage
 */
#include "handle/handle.h"
#include "recipes.h"

#include "base/alloc.h"
#include "base/backoff.h"
#include "base/clock.h"
#include "dedicated_conn.h"

#include <string.h>

ILK__RECIPE_TYPE(listen, ILK__SCRIPT_RECIPES_LISTEN, ilk__recipe_done);

static const char mark[] = "ilk:recipes:one:";

enum {
    GOODBYE_MS = 2000,
    QUIET_MS = 1000, /* without a message, then a PING */
    SILENCE_MS = 500 /* a PING without a reply for so long is an outage */
};

struct ilk_listener {
    ilk__handle handle; /* first */
    ilk__bytes marked;  /* the second channel, ending in the first */
    ilk__bytes channel; /* borrowed from it */
    size_t prefix_len;  /* of the channel without the id; 0: there is no id */
    int ready; /* `signalled` does not contain it: it can be signalled */
    ilk__dedicated_conn dedicated;
    int is_subscribed;   /* the confirmation has come */
    int64_t received_at; /* the last message, or reply to a PING */
    int64_t pinged_at;   /* the PING that has no reply yet; 0: there is none */
    int64_t lost;        /* messages to pass on that reached nobody */
};

/* Makes both channels' names, in one block. Returns 0 without memory. */
static int join(ilk_listener *self, const void *key, size_t key_len,
                const void *id, size_t id_len)
{
    size_t head = sizeof mark - 1;
    char *whole = ilk__malloc(head + key_len + id_len + 1);

    if (!whole)
        return 0;
    memcpy(whole, mark, head);
    memcpy(whole + head, key, key_len);
    if (id_len)
        memcpy(whole + head + key_len, id, id_len);
    whole[head + key_len + id_len] = '\0';
    self->marked = (ilk__bytes){whole, head + key_len + id_len};
    self->channel = (ilk__bytes){whole + head, key_len + id_len};
    return 1;
}

ilk_status ilk_listener_open(ilk_listener **out, ilk_client *client,
                             const void *key, size_t key_len, const void *id,
                             size_t id_len, ilk_error *err)
{
    ilk_listener *self;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__client_enter_for(client, ILK_OFFER_RECIPES, err);
    if (st == ILK_OK)
        st = ilk__name_check(key, key_len, "channel", err);
    if (st)
        return st;
    if (id_len > ILK_NAME_MAX - key_len)
        return ilk__fail(err, ILK_EINVAL,
                         "channel and id must have at most %d bytes, got %zu",
                         ILK_NAME_MAX, key_len + id_len);
    self = ilk__calloc(1, sizeof *self);
    if (!self || !join(self, key, key_len, id, id_len)) {
        ilk__free(self);
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    }
    self->prefix_len = id ? key_len : 0;
    ilk__handle_init(&self->handle, client, "listener", NULL);
    *out = self;
    return ILK_OK;
}

void ilk_listener_free(ilk_listener *self)
{
    if (!self)
        return;
    ilk__dedicated_conn_close(&self->dedicated);
    ilk__free(self->marked.data);
    ilk__handle_close(&self->handle);
    ilk__free(self);
}

static ilk_status enter(ilk_listener *self, ilk_error *err)
{
    ilk__error_clear(err);
    if (!self)
        return ilk__fail(err, ILK_EINVAL, "listener must not be NULL");
    return ilk__handle_enter(&self->handle, err);
}

static ilk_status send_command(ilk_listener *self, const char *command_name,
                               ilk_error *err)
{
    ilk__command command;
    ilk_status st;

    ilk__command_init(&command);
    ilk__command_add_str(&command, command_name);
    ilk__command_add(&command, self->channel.data, self->channel.len);
    if (self->prefix_len)
        ilk__command_add(&command, self->marked.data, self->marked.len);
    st = ilk__dedicated_conn_send(&self->dedicated, &command, err);
    ilk__command_free(&command);
    return st;
}

static ilk_status send_ping(ilk_listener *self, ilk_error *err)
{
    ilk__command command;
    ilk_status st;

    ilk__command_init(&command);
    ilk__command_add_str(&command, "PING");
    st = ilk__dedicated_conn_send(&self->dedicated, &command, err);
    ilk__command_free(&command);
    self->pinged_at = ilk__now_ms();
    return st;
}

static int is_kind(const ilk__reply *reply, const char *command_name)
{
    return (reply->type == ILK__REPLY_ARRAY || reply->type == ILK__REPLY_PUSH)
           && reply->count >= 3 && reply->items[0]->type == ILK__REPLY_STR
           && strcmp(reply->items[0]->str, command_name) == 0;
}

static int is_message(const ilk__reply *reply)
{
    return is_kind(reply, "message") && reply->items[1]->type == ILK__REPLY_STR
           && reply->items[2]->type == ILK__REPLY_STR;
}

/* ---- waiting ------------------------------------------------------------ */

static ilk_status read_items(ilk_items **out, const ilk__reply *reply,
                             ilk_error *err)
{
    ilk_items *items;

    if (reply->type == ILK__REPLY_ERROR)
        return ilk__reply_error(reply, err);
    if (!is_message(reply))
        return ILK_OK; /* the confirmation, or the reply to a PING */
    items = ilk__items_new(2);
    for (size_t i = 0; items && i < 2; i++) {
        const ilk__reply *item = reply->items[i + 1];

        if (!ilk__items_set(items, i, item->str, item->len)) {
            ilk_items_free(items);
            items = NULL;
        }
    }
    *out = items;
    return items ? ILK_OK : ilk__fail(err, ILK_ENOMEM, "out of memory");
}

/* Notes what a reply says about the server. Returns 1 for an error that is the reply to
 * a PING: the user may not send it, but the server is there. */
static int note_reply(ilk_listener *self, const ilk__reply *reply)
{
    const int is_error = reply->type == ILK__REPLY_ERROR;

    if (is_kind(reply, "subscribe")) {
        self->is_subscribed = 1;
        return 0;
    }
    if (is_error
        && (!self->is_subscribed || !self->pinged_at
            || ilk__reply_error(reply, NULL) == ILK_ECONN))
        return 0;
    self->received_at = ilk__now_ms();
    self->pinged_at = 0;
    return is_error;
}

/* Removes the channel from `signalled`: our senders may choose it (again). */
static ilk_status get_ready(ilk_listener *self, ilk_error *err)
{
    ilk__recipe recipe;

    ilk__recipe_begin(&recipe, self->handle.client, err);
    ilk__recipe_side(&recipe, "recipes:signalled", self->channel.data,
                     self->prefix_len);
    ilk__recipe_text(&recipe, self->channel.data, self->channel.len);
    return ilk__recipe_run(&recipe, &listen);
}

/* Connects by then, if there is no connection. */
static ilk_status connect_on(ilk_listener *self, int64_t until, ilk_error *err)
{
    ilk_status st = ILK_OK;

    if (!self->dedicated.conn)
        self->ready = 0;
    if (!self->ready && self->prefix_len)
        st = get_ready(self, err);
    if (st)
        return st;
    self->ready = 1;
    if (self->dedicated.conn)
        return ILK_OK;
    self->is_subscribed = 0;
    self->pinged_at = 0;
    st = ilk__dedicated_conn_open(&self->dedicated, self->handle.client, until,
                                  err);
    if (st == ILK_OK)
        st = send_command(self, "SUBSCRIBE", err);
    return st ? st : send_ping(self, err);
}

/* Reads the next message that has come: ILK_OK, or ILK_EAGAIN for none. */
static ilk_status read_messages(ilk_items **out, ilk_listener *self,
                                int64_t until, ilk_error *err)
{
    ilk_status st = connect_on(self, until, err);

    while (!st && !*out) {
        ilk__reply *reply = NULL;

        st = ilk__dedicated_conn_next(&self->dedicated, &reply, err);
        if (st)
            break;
        if (!note_reply(self, reply))
            st = read_items(out, reply, err);
        ilk__reply_free(reply);
        if (st)
            ilk__dedicated_conn_close(&self->dedicated); /* an error reply */
    }
    if (st == ILK_OK)
        self->ready = 0;
    return st;
}

/* How long the reply to a PING may take: an outage ends a wait in time. */
static int64_t patience_for_ping(const ilk_listener *self)
{
    const ilk_client *client = self->handle.client;
    const int64_t cap = client->shared->outage.cap_ms;

    if (cap == 0 || cap >= client->opts.reply_timeout_ms)
        return client->opts.reply_timeout_ms;
    return cap > SILENCE_MS ? cap : SILENCE_MS;
}

/* When the next PING, or the end of patience, is due. */
static int64_t silence_due(const ilk_listener *self)
{
    return self->pinged_at ? self->pinged_at + patience_for_ping(self)
                           : self->received_at + QUIET_MS;
}

/* No message is there: ILK_EAGAIN, or ILK_ECONN for a server that does not reply. */
static ilk_status check_silence(ilk_listener *self, ilk_error *err)
{
    ilk_status st = ILK_OK;

    if (ilk__now_ms() < silence_due(self))
        return ILK_EAGAIN;
    if (!self->pinged_at)
        st = send_ping(self, err);
    else
        st = ilk__fail(err, ILK_ECONN, "the server does not reply");
    if (st)
        ilk__dedicated_conn_close(&self->dedicated);
    return st ? st : ILK_EAGAIN;
}

/* The outage that a wait has met. */
typedef struct loss {
    int64_t since; /* 0: none */
    ilk_error why;
} loss;

static ilk_status end_lost(const loss *lost, ilk_error *err)
{
    *err = lost->why;
    ilk__outage_tell(err, lost->since, ilk__now_ms());
    return (ilk_status)err->code;
}

/* At the deadline: only a server that replies says that there is no message. */
static ilk_status end_in_time(const ilk_listener *self, loss *lost,
                              ilk_error *err)
{
    const int64_t silent_since = self->pinged_at;

    if (!lost->since && silent_since
        && ilk__now_ms() >= silent_since + SILENCE_MS) {
        lost->since = silent_since;
        ilk__fail(&lost->why, ILK_ECONN, "the server does not reply");
    }
    return lost->since ? end_lost(lost, err) : ILK_ETIMEOUT;
}

static void note_loss(const ilk_listener *self, loss *lost,
                      const ilk_error *err)
{
    if (!lost->since)
        lost->since = self->pinged_at ? self->pinged_at : ilk__now_ms();
    ilk__fail(&lost->why, ILK_ECONN, "%s", err->msg);
}

/* When the outage ends the wait. Before there is one: by when to connect, for which
 * there is time in any case. */
static int64_t end_of_patience(const ilk_listener *self, const loss *lost,
                               int64_t deadline)
{
    const int64_t cap = self->handle.client->shared->outage.cap_ms;
    const int64_t least = ilk__deadline(SILENCE_MS);

    if (!lost->since)
        return deadline > least ? deadline : least;
    return ilk__sooner(deadline,
                       lost->since + ilk__sooner(cap, ILK__CONTACT_LOST_MS));
}

/* Returns the next message (ILK_OK), the end of the wait, or ILK_EAGAIN: *out_until is
 * when to look again without one. */
static ilk_status look(ilk_items **out, ilk_listener *self, loss *lost,
                       int64_t deadline, int64_t *out_until, ilk_error *err)
{
    ilk_status st =
        read_messages(out, self, end_of_patience(self, lost, deadline), err);

    if (st == ILK_EAGAIN)
        st = check_silence(self, err);
    if (st == ILK_EAGAIN && self->received_at > lost->since)
        lost->since = 0;
    if (st == ILK_EAGAIN)
        *out_until = silence_due(self);
    if (st != ILK_ECONN && st != ILK_ETIMEOUT) /* of an attempt to connect */
        return st;
    note_loss(self, lost, err);
    if (ilk__now_ms() >= end_of_patience(self, lost, deadline))
        return end_lost(lost, err);
    *out_until = ilk__deadline(ILK__LISTENER_PAUSE_MS);
    return ILK_EAGAIN;
}

static ilk_status listen_until(ilk_items **out, ilk_listener *self,
                               int64_t deadline, ilk_error *err)
{
    uint32_t interrupts = atomic_load(&self->handle.client->shared->interrupts);
    ilk_error own = {0, ""};
    loss lost = {0};

    err = err ? err : &own;
    for (;;) {
        int64_t until = deadline;
        ilk_status st = look(out, self, &lost, deadline, &until, err);

        if (st != ILK_EAGAIN)
            return st;
        until = ilk__sooner(until, deadline);
        st = ilk__dedicated_conn_sleep(self->handle.client, &self->dedicated, 1,
                                       until, interrupts, 0, err);
        if (st == ILK_ETIMEOUT && until == deadline)
            return end_in_time(self, &lost, err);
        if (st && st != ILK_ETIMEOUT)
            return st;
    }
}

ilk_status ilk_listener_wait(ilk_items **out, ilk_listener *self,
                             int64_t timeout_ms, ilk_error *err)
{
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__check_timeout(timeout_ms, err);
    if (st == ILK_OK)
        st = enter(self, err);
    if (st)
        return st;
    if (timeout_ms != 0 && ilk__shared_is_stopped(self->handle.client->shared))
        st = ilk__fail(err, ILK_ECANCELLED, "the client is stopped");
    else
        st = listen_until(out, self, ilk__deadline(timeout_ms), err);
    if (st == ILK_ETIMEOUT && timeout_ms == 0)
        st = ilk__fail(err, ILK_EBUSY, "no message is there");
    ilk__handle_leave(&self->handle);
    return st;
}

/* ---- leaving ------------------------------------------------------------ */

/* The messages that came before UNSUBSCRIBE was confirmed, and that no wait
 * has returned. */
typedef struct pile {
    ilk__reply **replies;
    size_t count, room;
} pile;

static int put(pile *left, ilk__reply *reply)
{
    if (left->count == left->room) {
        size_t room = left->room ? left->room * 2 : 4;
        ilk__reply **more =
            ilk__realloc(left->replies, room * sizeof *left->replies);

        if (!more)
            return 0;
        left->replies = more;
        left->room = room;
    }
    left->replies[left->count++] = reply;
    return 1;
}

/* Unsubscribes, and collects messages until the server has confirmed. */
static void unsubscribe(ilk_listener *self, pile *left)
{
    uint32_t interrupts = atomic_load(&self->handle.client->shared->interrupts);
    int64_t until = ilk__deadline(GOODBYE_MS);
    ilk_status st = send_command(self, "UNSUBSCRIBE", NULL);

    while (!st) {
        ilk__reply *reply = NULL;

        st = ilk__dedicated_conn_next(&self->dedicated, &reply, NULL);
        if (st == ILK_EAGAIN) {
            st =
                ilk__dedicated_conn_sleep(self->handle.client, &self->dedicated,
                                          1, until, interrupts, 1, NULL);
            if (st == ILK_EINTR && ilk__now_ms() < until) {
                interrupts =
                    atomic_load(&self->handle.client->shared->interrupts);
                st = ILK_OK;
            }
            continue;
        }
        /* If it was refused, closing the connection unsubscribes. */
        if (st == ILK_OK && !note_reply(self, reply)
            && (reply->type == ILK__REPLY_ERROR
                || is_kind(reply, "unsubscribe")))
            st = ILK_ECLOSED;
        if (st || !is_message(reply) || !put(left, reply))
            ilk__reply_free(reply);
    }
}

static ilk_status pass_on(ilk_listener *self, const pile *left, size_t first,
                          ilk_error *err)
{
    ilk_status st = ILK_OK;

    for (size_t i = first; i < left->count; i++) {
        const ilk__reply *data = left->replies[i]->items[2];
        int64_t receivers = 0;
        ilk_status one = ilk_recipes_signal(
            &receivers, self->handle.client, self->channel.data,
            self->prefix_len, 1, data->str, data->len, st ? NULL : err);

        st = st ? st : one;
        self->lost += receivers == 0;
    }
    return st;
}

static ilk_status leave(ilk_items **out, ilk_listener *self, int taking,
                        ilk_error *err)
{
    pile left = {0};
    ilk_status st = ILK_OK;

    unsubscribe(self, &left);
    ilk__dedicated_conn_close(&self->dedicated);
    if (taking && left.count)
        st = read_items(out, left.replies[0], err);
    if (self->prefix_len) {
        ilk_status one = pass_on(self, &left, taking ? 1 : 0, st ? NULL : err);

        st = st ? st : one;
    }
    for (size_t i = 0; i < left.count; i++)
        ilk__reply_free(left.replies[i]);
    ilk__free(left.replies);
    return st;
}

ilk_status ilk_listener_leave(ilk_items **out, int64_t *out_lost,
                              ilk_listener *self, int taking, ilk_error *err)
{
    ilk_status st;

    if (out)
        *out = NULL;
    if (out_lost)
        *out_lost = 0;
    if (taking && !out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    st = enter(self, err);
    if (st)
        return st;
    self->lost = 0;
    if (self->dedicated.conn)
        st = leave(out, self, taking, err);
    if (out_lost)
        *out_lost = self->lost;
    ilk__handle_leave(&self->handle);
    return st;
}

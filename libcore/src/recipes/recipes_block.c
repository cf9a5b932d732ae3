/* SPDX-License-Identifier: MIT */
/* recipes_block.c -- a consumer blocks until a list may have a message. */
#include "recipes_consumer.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>

/* The longest time that the server blocks, and how late its reply may be: at
 * the caller's deadline, and at the end of any other round. */
enum { ROUND_MS = 5000, LATE_MS = 20, LATE_ROUND_MS = 2000 };

enum {
    SHORT_ROUND_MS = 250 /* the shortest round, with a short outage_ms */
};

/* A server that is away shows only at the end of a round: if the program has given
 * outage_ms, after half of it. */
static int64_t cut(const ilk_consumer *self, int64_t ms)
{
    const int64_t cap = self->handle.client->shared->outage.cap_ms;
    const int64_t most = cap / 2 > SHORT_ROUND_MS ? cap / 2 : SHORT_ROUND_MS;

    return cap ? ilk__sooner(ms, most) : ms;
}

int ilk__consumer_is_blocking(const ilk_consumer *self)
{
    for (size_t i = 0; i < self->count; i++)
        if (self->awaiting[i])
            return 1;
    return 0;
}

static void drop(ilk_consumer *self, size_t list)
{
    ilk__dedicated_conn_abandon(&self->connections[list]);
    self->awaiting[list] = 0;
}

void ilk__consumer_hush(ilk_consumer *self)
{
    for (size_t i = 0; i < self->count; i++)
        if (self->awaiting[i])
            drop(self, i);
}

ilk_status ilk__consumer_unblock(ilk_consumer *self, ilk_error *err)
{
    ilk_status st = ILK_OK;

    ilk__consumer_hush(self);
    for (size_t i = 0; i < self->count && st == ILK_OK; i++) {
        if (!self->connections[i].replaced.since)
            continue;
        st = ilk__dedicated_conn_open(&self->connections[i],
                                      self->handle.client, ILK__FOREVER, err);
        ilk__dedicated_conn_close(&self->connections[i]);
    }
    return st;
}

/* Sends a BLMOVE for the list's next message, until the round ends. */
static ilk_status ask(ilk_consumer *self, size_t list, ilk_error *err)
{
    const ilk__bytes *keys = &self->keys[list * ILK__CONSUMER_KEYS];
    int64_t left = self->round_ends - ilk__now_ms();
    ilk__command command;
    char seconds[32];
    ilk_status st;

    if (left < 1)
        left = 1; /* 0 is for ever */
    snprintf(seconds, sizeof seconds, "%" PRId64 ".%03d", left / 1000,
             (int)(left % 1000));
    st = ilk__dedicated_conn_open(&self->connections[list], self->handle.client,
                                  ILK__FOREVER, err);
    if (st)
        return st;
    ilk__command_init(&command);
    ilk__command_add_str(&command, "BLMOVE");
    ilk__command_add(&command, keys[0].data, keys[0].len);
    ilk__command_add(&command, keys[1].data, keys[1].len);
    ilk__command_add_str(&command, "LEFT");
    ilk__command_add_str(&command, "RIGHT");
    ilk__command_add_str(&command, seconds);
    st = ilk__dedicated_conn_send(&self->connections[list], &command, err);
    ilk__command_free(&command);
    self->awaiting[list] = st == ILK_OK;
    return st;
}

/*
 * Reads the replies that have come. *out_over: there may be a message, or no
 * BLMOVE is left without a reply. A broken connection is not a failure here:
 * the next reserve shows whether the server can be reached. A server that becomes
 * a replica ends the BLMOVE by the error UNBLOCKED, and then the connection.
 */
static ilk_status read_reply(ilk_consumer *self, int *out_over, ilk_error *err)
{
    *out_over = 0;
    for (size_t i = 0; i < self->count; i++) {
        ilk__reply *reply = NULL;
        ilk_status st;

        if (!self->awaiting[i])
            continue;
        st = ilk__dedicated_conn_next(&self->connections[i], &reply, NULL);
        if (st == ILK_EAGAIN)
            continue;
        self->awaiting[i] = 0;
        if (st == ILK_OK && ilk__reply_is_error(reply, "UNBLOCKED"))
            ilk__dedicated_conn_close(&self->connections[i]);
        else if (st == ILK_OK && reply->type == ILK__REPLY_ERROR)
            st = ilk__reply_error(reply, err);
        else
            st = ILK_OK; /* or broken */
        *out_over |= !reply || reply->type != ILK__REPLY_NIL;
        ilk__reply_free(reply);
        if (st)
            return st;
    }
    *out_over |= !ilk__consumer_is_blocking(self);
    return ILK_OK;
}

ilk_status ilk__consumer_block(ilk_consumer *self, int64_t deadline,
                               uint32_t interrupts, ilk_error *err)
{
    ilk_status st = ILK_OK;
    int64_t until;
    int over = 0;

    if (!ilk__consumer_is_blocking(self)) {
        self->round_ends =
            ilk__sooner(deadline, ilk__deadline(cut(self, ROUND_MS)));
        for (size_t i = 0; i < self->count && !st; i++)
            st = ask(self, i, err);
    }
    until =
        self->round_ends
        + (self->round_ends == deadline ? LATE_MS : cut(self, LATE_ROUND_MS));
    while (!st) {
        st = read_reply(self, &over, err);
        if (st || over)
            break;
        st = ilk__dedicated_conn_sleep(self->handle.client, self->connections,
                                       self->count, until, interrupts, 0, err);
    }
    if (st == ILK_ETIMEOUT)
        st = ILK_OK; /* no reply in time: the connection is dead */
    if (st == ILK_OK)
        ilk__consumer_hush(self);
    return st;
}

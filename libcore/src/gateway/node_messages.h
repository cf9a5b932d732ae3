/* SPDX-License-Identifier: MIT */
/*
 * node_messages.h -- the client's channels at the nodes of a store that has several:
 * one list of them, and a subscriber connection to each node, on which they are
 * subscribed to.
 *
 *     list of channels --SUBSCRIBE--> node      when it changes, and when the
 *                      <--messages---           connection is up
 *                      ----- PING --->          after a time without bytes
 */
#ifndef ILK__NODE_MESSAGES_H
#define ILK__NODE_MESSAGES_H

#include "redis/async_conn.h"

enum {
    /* A connection without bytes for so long gets a PING. */
    ILK__NODE_PING_MS = 5000,
    /* Replies that are read from one connection in one turn: a publisher may send
     * faster than this thread reads. */
    ILK__NODE_TURN = 256
};

typedef struct ilk__node_channel {
    struct ilk__node_channel *next;
    int is_pattern;
    size_t len;
    char name[];
} ilk__node_channel;

typedef enum ilk__node_event {
    ILK__NODE_NOTHING,
    ILK__NODE_CAME_UP,
    ILK__NODE_CONFIRMED, /* all channels are subscribed to, or were refused */
    ILK__NODE_MESSAGE,
    ILK__NODE_BROKEN, /* it was up: messages may have been missed */
    ILK__NODE_FAILED  /* it could not be opened */
} ilk__node_event;

typedef struct ilk__node_messages {
    ilk__async_conn connection;
    ilk__node_channel *const *channels; /* the list */
    size_t unconfirmed;                 /* subscriptions */
    int64_t received_at;                /* the last bytes */
    int pinged;
} ilk__node_messages;

/* A message, whose spans point into its reply. Without a pattern `pattern.at` is
 * NULL. */
typedef struct ilk__node_message {
    ilk__span pattern, channel, content;
} ilk__node_message;

/* Add or remove a channel; 0 without memory. */
int ilk__node_channels_change(ilk__node_channel **list, ilk__span name,
                              int is_pattern, int begins);
void ilk__node_channels_free(ilk__node_channel **list);

void ilk__node_messages_init(ilk__node_messages *messages,
                             const ilk__target *target,
                             ilk__node_channel *const *channels);
/* Subscribe to a channel that was added to the list, or unsubscribe from one that
 * was removed. */
void ilk__node_messages_change(ilk__node_messages *messages, ilk__span name,
                               int is_pattern, int begins);
/* 1 when all channels are subscribed to. */
int ilk__node_messages_are_subscribed(const ilk__node_messages *messages);
/* The next thing that has happened. On MESSAGE the caller frees *out_reply, which has
 * the bytes of *out. */
ilk__node_event ilk__node_messages_next(ilk__node_messages *messages,
                                        ilk__node_message *out,
                                        ilk__reply **out_reply);

/* When to call ilk__node_messages_check(); `patience_ms` is for the reply to a
 * PING. */
int64_t ilk__node_messages_due(const ilk__node_messages *messages,
                               int64_t patience_ms);
/* The host of a silent connection may be gone: send a PING, and break the connection
 * when no reply comes. Returns 1 then. */
int ilk__node_messages_check(ilk__node_messages *messages, int64_t now,
                             int64_t patience_ms);

#endif

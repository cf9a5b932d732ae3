/* SPDX-License-Identifier: MIT */
/*
 * subscriber.h -- a subscriber connection: one on which the inbox listens: the
 * server's own, number 0, and those to replicas that the URL names.
 *
 * A replica passes on what is published on its server, but the server counts
 * only who listens to it. So what a replica alone tells is second hand: it
 * may have been taken back since, when the server found nobody there.
 *
 * Only the keeper's thread touches it, with the shared state's mutex held.
 */
#ifndef ILK__SUBSCRIBER_H
#define ILK__SUBSCRIBER_H

#include "redis/async_conn.h"

enum { ILK__SUBSCRIBERS_MAX = 8 };

typedef struct ilk__channel ilk__channel;

/* What a subscribing command was for: each is answered, in order. */
typedef enum ilk__subscribe_kind {
    ILK__SUBSCRIBE_OWN,     /* SUBSCRIBE to the client's own channel */
    ILK__SUBSCRIBE_FOREIGN, /* to one on which others publish releases */
    ILK__SUBSCRIBE_CHANNEL, /* to a listener's channel or pattern */
    ILK__UNSUBSCRIBE        /* of one of these */
} ilk__subscribe_kind;

typedef struct ilk__subscribe_call {
    ilk__subscribe_kind kind;
    ilk__channel *channel; /* CHANNEL */
} ilk__subscribe_call;

typedef struct ilk__subscriber {
    ilk__async_conn connection;
    unsigned number;
    int subscribed; /* the client's own channel is confirmed */
    int refused;    /* a replica that will not have us */
    ilk__buf calls; /* of ilk__subscribe_call, without an answer yet */
} ilk__subscriber;

void ilk__subscriber_init(ilk__subscriber *subscriber, unsigned number,
                          const ilk__target *target);
void ilk__subscriber_close(ilk__subscriber *subscriber);

/* Send `<command> <name>`. Without memory the connection is broken, and comes
 * again. */
void ilk__subscriber_call(ilk__subscriber *subscriber, const char *command_name,
                          const void *name, size_t len,
                          ilk__subscribe_call call);
/* What the next answer is for; 0 when nothing was asked. */
int ilk__subscriber_answered(ilk__subscriber *subscriber,
                             ilk__subscribe_call *out);

#endif

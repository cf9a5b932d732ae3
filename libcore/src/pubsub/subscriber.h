/* SPDX-License-Identifier: MIT */
/*
 * subscriber.h -- a subscriber connection, on which the inbox receives. Number
 * 0 goes to the primary, the others to the replicas that the URL names.
 *
 * A replica forwards the messages published on the primary, but PUBLISH on the
 * primary counts only the primary's own subscribers. When it counts none, our
 * scripts treat the message as lost and serve another client. So a message that
 * came from a replica only is second hand: it may no longer be valid.
 *
 * Only the keeper's thread touches it, with the shared state's mutex held.
 */
#ifndef ILK__SUBSCRIBER_H
#define ILK__SUBSCRIBER_H

#include "redis/async_conn.h"

enum { ILK__SUBSCRIBERS_MAX = 8 };

typedef struct ilk__channel ilk__channel;

/* The purpose of a subscribing command. Replies come in the order of the
 * commands. */
typedef enum ilk__subscribe_kind {
    ILK__SUBSCRIBE_OWN,     /* to the client's own channel */
    ILK__SUBSCRIBE_FOREIGN, /* to a channel on which others publish releases */
    ILK__SUBSCRIBE_CHANNEL, /* to a listener's channel or pattern */
    ILK__UNSUBSCRIBE        /* from a listener's channel or pattern */
} ilk__subscribe_kind;

typedef struct ilk__subscribe_call {
    ilk__subscribe_kind kind;
    ilk__channel *channel; /* CHANNEL */
    uint64_t mark;         /* hash of command and name, for the confirmation */
} ilk__subscribe_call;

typedef struct ilk__subscriber {
    ilk__async_conn connection;
    unsigned number;
    int subscribed; /* the client's own channel is confirmed */
    int refused;    /* a replica refused it: not used any more */
    ilk__buf calls; /* ilk__subscribe_call structs without a reply yet */
} ilk__subscriber;

void ilk__subscriber_init(ilk__subscriber *subscriber, unsigned number,
                          const ilk__target *target);
void ilk__subscriber_close(ilk__subscriber *subscriber);

/* Send `<command> <name>`. If memory runs out, the connection is broken, to be
 * opened anew with all its subscriptions. */
void ilk__subscriber_call(ilk__subscriber *subscriber, const char *command_name,
                          const void *name, size_t len,
                          ilk__subscribe_call call);
/*
 * The call that a confirmation, or an error reply, belongs to. A confirmation
 * repeats the command and the name, an error reply does not. Returns 0 when no
 * call waits for a reply, or when the next one has another command or name.
 */
int ilk__subscriber_confirmed(ilk__subscriber *subscriber,
                              const char *command_name, const void *name,
                              size_t len, ilk__subscribe_call *out);
int ilk__subscriber_refused(ilk__subscriber *subscriber,
                            ilk__subscribe_call *out);

#endif

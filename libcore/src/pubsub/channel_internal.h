/* SPDX-License-Identifier: MIT */
/* channel_internal.h -- for channel.c (subscriptions) and listen.c
 * (listeners). */
#ifndef ILK__CHANNEL_INTERNAL_H
#define ILK__CHANNEL_INTERNAL_H

#include "channel.h"

/* A channel or pattern that has listeners, or is not unsubscribed yet. */
struct ilk__channel {
    ilk__node node; /* in shared->channels, by ident */
    ilk__shared *shared;
    int own_format; /* a listener expects our own format: subscribe on all
                       subscriber connections */
    ilk__listener *listeners;
    struct {
        int subscribed; /* SUBSCRIBE was sent */
        int unanswered; /* SUBSCRIBE commands without a reply yet */
        int to_confirm; /* which of these replies confirms it; 0: none */
        int refused;    /* do not subscribe again on this connection */
    } at[ILK__SUBSCRIBERS_MAX]; /* by the connection's number */
    int64_t down_since;         /* local time; 0: it is subscribed */
    ilk_error why; /* why the primary refused; code 0: it did not */
    char ident[];  /* 'c' or 'p', then the name */
};

ilk__channel *ilk__channel_of_node(ilk__node *node);
ilk__channel *ilk__channel_find(ilk__shared *shared, char kind,
                                const void *name, size_t len);
/* Whether the subscription is confirmed: on any connection, or on this one. */
int ilk__channel_is_subscribed(const ilk__channel *channel);
int ilk__channel_is_confirmed(const ilk__channel *channel, size_t number);
/* The mutex is held. */
ilk_status ilk__listener_join(ilk__listener *listener,
                              const ilk__channel_of *to);
extern const ilk__op_type ilk__listen_op; /* op->subject: an ilk__listener */
/* The oldest message; NULL when there is none. The mutex is held. */
ilk__channel_message *ilk__listener_pop(ilk__listener *listener);

#endif

/* SPDX-License-Identifier: MIT */
/* channel_internal.h -- what the subscriptions and their listeners share. */
#ifndef ILK__CHANNEL_INTERNAL_H
#define ILK__CHANNEL_INTERNAL_H

#include "channel.h"

/* A channel or pattern that somebody listens to, or did until now. */
struct ilk__channel {
    ilk__node node; /* in shared->channels, by ident */
    ilk__shared *shared;
    int own_format; /* some listeners expect our messages: all subscriber
                       connections listen */
    ilk__listener *listeners;
    struct {
        int subscribed; /* subscribed, or about to be */
        int unanswered; /* subscribing commands */
        int refused;    /* not to be asked for again on this connection */
    } at[ILK__SUBSCRIBERS_MAX];
    int64_t down_since; /* local; 0: it is subscribed */
    ilk_error why;      /* the server refused it; code 0: it did not */
    char ident[];       /* 'c' or 'p', and the name */
};

ilk__channel *ilk__channel_of_node(ilk__node *node);
ilk__channel *ilk__channel_find(ilk__shared *shared, char kind,
                                const void *name, size_t len);
int ilk__channel_is_subscribed(const ilk__channel *channel);
/* The mutex is held. */
ilk_status ilk__listener_join(ilk__listener *listener,
                              const ilk__channel_of *to);
extern const ilk__op_type ilk__listen_op; /* op->subject: an ilk__listener */
/* NULL: none. The mutex is held. */
ilk__channel_message *ilk__listener_pop(ilk__listener *listener);

#endif

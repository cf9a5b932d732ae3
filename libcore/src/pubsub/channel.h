/* SPDX-License-Identifier: MIT */
/*
 * channel.h -- listening to a channel, or to all that match a glob pattern.
 *
 *     begin --> SUBSCRIBE --> confirmed --> next, next ... --> end
 *
 * One subscription of the client serves all its listeners to the same
 * channel. It is asked for anew after a reconnect, and taken back behind the
 * last listener. From the moment begin() has answered ILK_OK, a message is
 * kept for next(), up to ILK__CHANNEL_MESSAGES_MAX of them; then the oldest
 * goes and `lost` counts it. What is published while the connection is down is
 * not heard at all: `gaps` counts how often that may have happened, and who
 * waits for a change looks at the thing itself when it has grown.
 *
 * A listener to our own messages (message.h) receives them on all the client's
 * subscriber connections, each once. Others hear what the server itself sends,
 * since copies of a message without an id cannot be told from a second message.
 */
#ifndef ILK__CHANNEL_H
#define ILK__CHANNEL_H

#include "message.h"
#include "op/request.h"
#include "op/shared.h"
#include "subscriber.h"

enum { ILK__CHANNEL_MESSAGES_MAX = 1024 };

/* A message, to be freed with ilk__channel_message_free(). */
typedef struct ilk__channel_message ilk__channel_message;
struct ilk__channel_message {
    ilk__channel_message *next;
    const char *channel;
    size_t channel_len;
    const char *data; /* the message as it came */
    size_t data_len;
    ilk__message parsed; /* for those who expect our own format */
    char bytes[];
};

typedef struct ilk__listener ilk__listener;
struct ilk__listener {
    ilk__shared *shared;
    ilk__parker parker;
    _Atomic int cancelled;
    int own_format;
    int awaits_message;      /* else that it is confirmed */
    ilk__request_then *then; /* when that has come */

    /* under the shared state's mutex */
    ilk__channel *channel; /* NULL: it does not listen */
    ilk__listener *next;
    ilk__channel_message *first, **end;
    size_t count;
    int64_t lost, gaps;
};

/* A channel's or a pattern's name, and what is expected there. */
typedef struct ilk__channel_of {
    const void *name;
    size_t len;
    int is_pattern, own_format;
} ilk__channel_of;

ilk_status ilk__listener_init(ilk__listener *listener, ilk__shared *shared,
                              ilk_error *err);
/* Not in a forked child: there it is forgotten. */
void ilk__listener_destroy(ilk__listener *listener);

/*
 * Inside a request: listen, from when `then` is told ILK_OK. After ILK_EINTR
 * call it again with the same channel. Whatever else is told, the listener
 * does not listen: ILK_ETIMEOUT, ILK_ECANCELLED, ILK_ECLOSED, ILK_ECONN,
 * ILK_EAUTH, ILK_ENOMEM.
 */
void ilk__listen_begin(ilk__request *request, ilk__listener *listener,
                       const ilk__channel_of *to, int64_t deadline,
                       ilk__request_then *then);
/*
 * Inside a request: await a message; after ILK_OK it is to be taken. It goes on
 * listening, also after ILK_ETIMEOUT, ILK_EINTR and ILK_ECANCELLED; ILK_ECONN:
 * nothing was heard from the server for a minute. One at a time for each
 * listener.
 */
void ilk__listen_next(ilk__request *request, ilk__listener *listener,
                      int64_t deadline, ilk__request_then *then);
/* NULL: none */
ilk__channel_message *ilk__listen_pop(ilk__listener *listener);
void ilk__listen_end(ilk__listener *listener);
/* Ends a wait of the listener's with ILK_ECANCELLED. Any thread. */
void ilk__listen_cancel(ilk__listener *listener);
void ilk__channel_message_free(ilk__channel_message *message);

/* ---- for the inbox; the mutex is held ----------------------------------- */

/* Ask on this connection for what is wanted and not asked for, and the
 * reverse. */
void ilk__channels_ask(ilk__shared *shared, ilk__subscriber *subscriber);
void ilk__channels_sweep(ilk__shared *shared); /* those that nobody needs */
/* The answer to what was asked for this channel; why: it was refused. */
void ilk__channel_answered(ilk__channel *channel,
                           const ilk__subscriber *subscriber,
                           const ilk_error *why);
/* The connection is lost; what was asked on it will not be answered. */
void ilk__channels_lost(ilk__shared *shared, ilk__subscriber *subscriber);
/* A message; pattern: the one that it matched, or NULL. */
void ilk__channel_receive(ilk__shared *shared,
                          const ilk__subscriber *subscriber,
                          const ilk__reply *pattern, const ilk__reply *channel,
                          const ilk__reply *payload);
void ilk__channels_free(ilk__shared *shared); /* there are no listeners */

#endif

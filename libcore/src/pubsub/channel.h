/* SPDX-License-Identifier: MIT */
/*
 * channel.h -- listening to a channel, or to all channels that match a glob
 * pattern.
 *
 *     begin --> SUBSCRIBE --> confirmed --> next, next ... --> end
 *
 * All listeners of a client to the same channel share one subscription. The
 * client subscribes again after a reconnect, and unsubscribes after the last
 * listener has left. Messages that are older than a listener may still arrive on
 * the shared subscription. So SUBSCRIBE is sent once more for each new listener,
 * which receives the messages that follow the reply.
 *
 * Once begin() has returned ILK_OK, messages are kept for next(), at most
 * ILK__CHANNEL_MESSAGES_MAX of them and at most ILK__CHANNEL_BYTES_MAX bytes;
 * beyond that the oldest are dropped and counted in `lost`. Messages published
 * while the connection is down are not received at all. `gaps` counts the times
 * this may have happened; a caller that waits for a change must read the state
 * itself when `gaps` has grown.
 *
 * A listener for our own format (message.h) receives from all subscriber
 * connections of the client, with second copies dropped by the messages' ids.
 * From a replica it may receive what was published just before it began. Other
 * messages have no id, so a copy could not be distinguished from another
 * message; listeners for them receive from the primary only.
 */
#ifndef ILK__CHANNEL_H
#define ILK__CHANNEL_H

#include "message.h"
#include "op/request.h"
#include "op/shared.h"
#include "subscriber.h"

enum {
    ILK__CHANNEL_MESSAGES_MAX = 1024,
    ILK__CHANNEL_BYTES_MAX = 16 * 1024 * 1024 /* or one message */
};

/* A received message; to be freed with ilk__channel_message_free(). */
typedef struct ilk__channel_message ilk__channel_message;
struct ilk__channel_message {
    ilk__channel_message *next;
    const char *channel;
    size_t channel_len;
    const char *data; /* the message as received */
    size_t data_len;
    ilk__message parsed; /* if the listener has own_format */
    char bytes[];
};

typedef struct ilk__listener ilk__listener;
struct ilk__listener {
    ilk__shared *shared;
    ilk__parker parker;
    _Atomic int cancelled;
    int own_format;
    int awaits_message;      /* 0: it awaits the confirmation */
    ilk__request_then *then; /* called after the confirmation */

    /* under the shared state's mutex */
    ilk__channel *channel; /* NULL: not listening */
    ilk__listener *next;
    int to_begin; /* it begins with this reply of the primary to SUBSCRIBE, as
                     counted from now; 0: it has begun; -1: none is sent yet */
    ilk__channel_message *first, **end;
    size_t count, bytes;
    int64_t lost, gaps;
};

/* The name of a channel or pattern, and the format of its messages. */
typedef struct ilk__channel_of {
    const void *name;
    size_t len;
    int is_pattern, own_format;
} ilk__channel_of;

ilk_status ilk__listener_init(ilk__listener *listener, ilk__shared *shared,
                              ilk_error *err);
/* Must not be called in a forked child; there the listener is left as it is. */
void ilk__listener_destroy(ilk__listener *listener);

/*
 * Inside a request: begin to listen. `then` gets ILK_OK when the subscription
 * is confirmed. After ILK_EINTR, call again with the same channel. After any
 * other status the listener does not listen: ILK_ETIMEOUT, ILK_ECANCELLED,
 * ILK_ECLOSED, ILK_ECONN, ILK_EAUTH, ILK_ENOMEM.
 */
void ilk__listen_begin(ilk__request *request, ilk__listener *listener,
                       const ilk__channel_of *to, int64_t deadline,
                       ilk__request_then *then);
/*
 * Inside a request: wait for a message; after ILK_OK, fetch it by
 * ilk__listen_pop(). The listener goes on listening, also after ILK_ETIMEOUT,
 * ILK_EINTR and ILK_ECANCELLED. ILK_ECONN: there has been no connection for
 * ILK__CONTACT_LOST_MS. One wait at a time per listener.
 */
void ilk__listen_next(ilk__request *request, ilk__listener *listener,
                      int64_t deadline, ilk__request_then *then);
/* The oldest message; NULL when there is none. */
ilk__channel_message *ilk__listen_pop(ilk__listener *listener);
void ilk__listen_end(ilk__listener *listener);
/* End the listener's wait with ILK_ECANCELLED. Any thread. */
void ilk__listen_cancel(ilk__listener *listener);
void ilk__channel_message_free(ilk__channel_message *message);

/* ---- for the inbox; the mutex is held ----------------------------------- */

/* On this connection, subscribe to all channels with listeners and unsubscribe
 * from the others. */
void ilk__channels_ask(ilk__shared *shared, ilk__subscriber *subscriber);
void ilk__channels_sweep(ilk__shared *shared); /* free unused channels */
/* Its name or pattern, which may be any bytes and has no NUL behind it. */
const char *ilk__channel_name(const ilk__channel *channel, size_t *out_len);

/* The reply to a SUBSCRIBE for this channel. why: the refusal, or NULL. */
void ilk__channel_answered(ilk__channel *channel,
                           const ilk__subscriber *subscriber,
                           const ilk_error *why);
/* The connection is lost, and with it all subscriptions and replies. */
void ilk__channels_lost(ilk__shared *shared, ilk__subscriber *subscriber);
/* Hand a message to the listeners. pattern: the one it matched, or NULL. */
void ilk__channel_receive(ilk__shared *shared,
                          const ilk__subscriber *subscriber,
                          const ilk__reply *pattern, const ilk__reply *channel,
                          const ilk__reply *payload);
/* Free all channels. No listener may be left. */
void ilk__channels_free(ilk__shared *shared);

#endif

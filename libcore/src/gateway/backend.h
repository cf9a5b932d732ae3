/* SPDX-License-Identifier: MIT */
/*
 * backend.h -- what a store behind the gateway implements.
 *
 * A backend executes the library's scripts at another store. It gets a request
 * with the script's index, keys and arguments, does the work, and replies at any
 * later time with one of the replies that the script declares. It does not see
 * connections, logins or request numbers, and it need not keep the requests of a
 * connection in order: the gateway does.
 *
 * The gateway's thread calls these functions, except open(), which is called before
 * it starts, and close() after it has ended; the thread that ends it may also call
 * the others then. Three are for any thread and say so. None may block.
 *
 * A backend can rely on this:
 *
 *     requests with the same token (waits for signals: with the same entry) come one
 *     after another: the next one is called when the one before has its reply. After
 *     an error reply the store may still execute the earlier one; then it is the
 *     backend that must keep their order
 *     the requests of one connection that have a key in common are called in
 *     their order; unless it keeps_order, each when the one before has its reply
 *     (but those about two members of one group have no such order)
 *     a request stays valid until it has its reply, also when nobody waits for
 *     the reply any more
 *
 * It must keep these rules (tests/model/gateway.pml shows what fails without them):
 *
 *     every request gets a reply. When the store is silent, that is an error
 *     a retry under the same token finds what the first copy did; queue_reserve
 *     with a lease of 0 is a pop, which the core does not retry either
 *     an acquire that comes after the release or the cancel of its token is
 *     refused: its connection may have broken before it was read
 *     before a request is repeated over a new connection to the store, the store
 *     has closed the old one, or finds its copies void
 *     LOST is replied only when the store has said so
 *     the rest of a lease is what is left when the reply is made, counted from
 *     the sending of what acquired or renewed it
 */
#ifndef ILK__BACKEND_H
#define ILK__BACKEND_H

#include "net/url.h"
#include "redis/reply.h"

#include <interlock/client.h>

#include <poll.h>
#include <stdarg.h>

typedef struct ilk__gateway ilk__gateway;

/* A call of a script, or a plain command: then `script` is ILK__SCRIPT_NONE, and
 * all words of the command are `args`. Keys and arguments are strings; the number of the request,
 * which the core sends as the last argument, is not among them. */
typedef struct ilk__gateway_request {
    int script; /* index into ilk__scripts[] */
    ilk__reply *const *keys;
    size_t key_count;
    ilk__reply *const *args;
    size_t arg_count;
    int64_t number; /* of the request; ilk__gateway_reply() sends it back */
    void *work;     /* the backend's own */
} ilk__gateway_request;

typedef struct ilk__backend {
    const char *scheme;              /* of its URLs, in lower case: "memory" */
    const char *store;               /* in messages: "the memory store" */
    const struct ilk__backend *also; /* for another scheme. NULL: that is all */
    uint32_t offers;                 /* ILK_OFFER_... bits */
    int fails_over; /* a replica takes the place of a node that has failed, after
                           some seconds */
    int keeps_order; /* the store executes requests with a common key in the
                           order of their calls */
    /* The keys that order a request: requests with one of them in common keep their
     * order, so requests about different values must have none in common. NULL: all. */
    void (*ordered_keys)(const ilk__gateway_request *request, size_t *out_first,
                         size_t *out_count);
    ilk_status (*open)(void **out, ilk__gateway *gateway, const ilk__url *url,
                       ilk_error *err);
    /* Must reply to the requests that have no reply yet. */
    void (*close)(void *self);
    /* In a forked child, instead of close(): closes the copies of the descriptors and
     * locks no mutex. NULL: there are none. */
    void (*abandon)(void *self);
    /* Begin to execute it. ilk__gateway_reply() may be called before this
     * returns. */
    void (*call)(void *self, ilk__gateway_request *request);
    /* Whether it replies to this request from what it knows, without the store. A reply
     * says that the store is in reach, so contact() comes first, and call() when it has
     * been made. NULL: to none. */
    int (*replies_alone)(const ilk__gateway_request *request);
    /* A plain command; NULL: the gateway refuses them. */
    void (*command)(void *self, ilk__gateway_request *request);
    /* The client's first subscription to a channel or a pattern begins, or its last
     * one ends. NULL: the backend does not need this. */
    void (*subscribe)(void *self, ilk__span channel, int is_pattern,
                      int begins);
    /* Patterns were subscribed to: reply with ilk__gateway_contact_made(), now or
     * later, when their messages come here. A channel needs no such call: only the
     * core's next request announces it to others. NULL: messages come at once. */
    void (*await_patterns)(void *self, ilk__gateway_request *request);
    /* A connection of the core logs in, or the backend replies_alone(): reply with
     * ilk__gateway_contact_made(), now or later, when the store can be reached, or with
     * an error. NULL: it always can. */
    void (*contact)(void *self, ilk__gateway_request *request);
    /* ilk_client_ping(): ask the store, and reply with ilk__gateway_contact_made() when
     * it has replied since, or with an error. It replies if as many of its servers do as
     * a client needs to be opened. NULL: contact() asks it each time. */
    void (*ping)(void *self, ilk__gateway_request *request);
    /* ILK_EUNSUPPORTED for a name that the store cannot keep, when a handle is
     * opened; any thread. NULL: it keeps all names. */
    ilk_status (*accepts_name)(const void *name, size_t len, ilk_error *err);
    /* The node with this index, for ilk_client_get_node_stats(), of which `size` is
     * the caller's. ILK_EAGAIN: there are no more. Any thread, between open() and
     * close(). NULL: the store has no nodes. */
    ilk_status (*node_stats)(void *self, size_t index, ilk_node_stats *out);
    /* Begin to take the node in again that has lost its registers: note it down, for
     * polled(), which is called soon. As node_stats(). NULL: the store cannot lose any. */
    ilk_status (*adopt_node)(void *self, size_t index);
    /* Fill in what to poll for, at most `room` descriptors, and the time by which
     * polled() must be called without an event. Returns how many it has; when
     * there are more than `room`, it is called again with more. */
    size_t (*prepare)(void *self, struct pollfd *fds, size_t room,
                      int64_t *until);
    void (*polled)(void *self, const struct pollfd *fds, size_t count);
} ilk__backend;

/* Make a backend known, with those for its other schemes, before a client with such a
 * scheme is opened; they must exist as long as the process. Any thread. ILK_ENOMEM. */
ilk_status ilk__backend_register(const ilk__backend *backend);

/*
 * Make the backend of a URL's scheme known, if its shared object is found and was
 * not loaded before: libinterlock-<scheme>.so in $INTERLOCK_BACKENDS, in the
 * directory `interlock` beside the library, or beside the library. A scheme `x+y` is
 * in the object of `x`. It stays loaded.
 * Any thread. ILK_EINVAL: that variable names no directory, or one to which others may
 * write. ILK_EUNSUPPORTED: the scheme is documented, but its file is missing or
 * does not fit. ILK_OK for a scheme that does not exist: the parser refuses it.
 */
ilk_status ilk__backend_load(const char *url, ilk_error *err);

/* The backend of a parsed URL, or NULL. */
const ilk__backend *ilk__backend_find(const ilk__url *url);

/* ---- for backends: to be called where the gateway calls them ------------- */

/*
 * Reply with a code and the elements of its declared shape: 'i' takes an
 * int64_t, 's' a const char * with a NUL. The request is gone afterwards.
 */
void ilk__gateway_reply(ilk__gateway_request *request, int code,
                        const char *types, ...);
void ilk__gateway_reply_args(ilk__gateway_request *request, int code,
                             const char *types, va_list args);

/* A whole reply as RESP, which has the request's number as a script's reply has. */
void ilk__gateway_reply_text(ilk__gateway_request *request, const void *text,
                             size_t len);
/* An error, such as "NOQUORUM two of three nodes do not answer": its first word
 * decides the status, see reply.h. */
void ilk__gateway_reply_error(ilk__gateway_request *request, const char *text);
/* No reply: close the connection that the request came on. Its effect at the
 * store stays, and the core may repeat it. */
void ilk__gateway_break(ilk__gateway_request *request);

/* The store can be reached: the reply to contact() and ping(). Or the messages of all
 * patterns come here: the reply to await_patterns(). */
void ilk__gateway_contact_made(ilk__gateway_request *request);
/* Messages may have been missed: close the connections that have subscriptions,
 * which the core opens again. */
void ilk__gateway_break_subscribers(ilk__gateway *gateway);
/* A connection to the store that broke may still be open there, and its last commands may
 * be executed late, because the store's user may not close it. The core must not assume
 * that a new connection has closed the one before: all its connections are closed once,
 * and the gateway closes no other connection for it any more. */
void ilk__gateway_left_open(ilk__gateway *gateway);

/* Send a message of a channel to this client's subscribers of the channel, or of
 * a pattern that matches it (else `pattern.at` is NULL). Returns how many. */
size_t ilk__gateway_publish(ilk__gateway *gateway, ilk__span pattern,
                            ilk__span channel, ilk__span message);

/* Let the gateway's thread call polled() soon. The only one of these functions for
 * any thread. */
void ilk__gateway_wake(ilk__gateway *gateway);

#endif

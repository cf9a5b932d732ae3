/* SPDX-License-Identifier: MIT */
/* gateway_internal.h -- the parts of a gateway; for gateway.c and session*.c only. */
#ifndef ILK__GATEWAY_INTERNAL_H
#define ILK__GATEWAY_INTERNAL_H

#include "gateway.h"

#include "base/buf.h"
#include "base/pollable.h"
#include "base/table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

enum {
    ILK__GATEWAY_SESSIONS = 128,
    ILK__SESSION_REQUESTS = 4096, /* without a reply; more are not read */
    /* Bytes that the client has not received. From the first number on, no
     * commands are read; a message above the second closes the connection, as a
     * server does with a slow subscriber. */
    ILK__SESSION_UNSENT = 1024 * 1024,
    ILK__SESSION_UNSENT_MAX = 32 * 1024 * 1024,
    ILK__SESSION_NAME = 128
};

typedef struct ilk__session ilk__session;
typedef struct ilk__request_queue ilk__request_queue;

typedef enum ilk__request_state {
    ILK__REQUEST_NEW,   /* the session itself executes it, if no backend does */
    ILK__REQUEST_WAITS, /* for earlier ones */
    ILK__REQUEST_BEGUN, /* the backend has it, or is about to be called */
    ILK__REQUEST_REPLIED, /* the reply is complete */
    ILK__REQUEST_DROPPED  /* it had not begun when its connection was closed */
} ilk__request_state;

/* One command, from its arrival until its reply is in the session's buffer. */
typedef struct ilk__session_request {
    ilk__gateway_request call; /* first: the backend has its address */
    ilk__gateway *gateway;
    ilk__session *session; /* NULL when its connection is closed */
    ilk__reply *command;   /* the words of `call` are its items */
    ilk__request_state state;
    int has_contact;                     /* the store has been reached for it */
    struct ilk__session_request *next;   /* in the session, by arrival */
    struct ilk__session_request *behind; /* with the same token, by arrival */
    struct ilk__session_request *next_ready;
    ilk__request_queue *queue; /* of its token, or NULL */
    ilk__buf reply;
} ilk__session_request;

/* The requests with one token. The first one is at the backend, or about to
 * be. */
struct ilk__request_queue {
    ilk__node node;
    ilk__session_request *first, *last;
    char token[]; /* the key of the node */
};

typedef struct ilk__subscription {
    struct ilk__subscription *next;
    int is_pattern;
    size_t len;
    char channel[]; /* or pattern */
} ilk__subscription;

struct ilk__session {
    ilk__gateway *gateway;
    size_t slot; /* of gateway->sessions and ->descriptors */
    int fd;
    int64_t identity; /* of fd, which the program may close */
    int64_t id, since;
    char name[ILK__SESSION_NAME];
    int protocol;
    size_t
        polled_at; /* its place among the descriptors of this turn; 0: none */
    int broken;    /* to be closed when the turn is over */
    struct redisReader *reader;
    ilk__session_request *first, *last;
    size_t request_count, waiting_count;
    ilk__subscription *subscriptions;
    size_t subscription_count;
    ilk__buf out;
};

struct ilk__gateway {
    const ilk__backend *backend;
    void *store; /* the backend's */
    ilk__pollable wakeup;
    pthread_mutex_t mutex; /* guards the next block */
    int started, stopping;
    ilk__session *joining[ILK__GATEWAY_SESSIONS];
    size_t joining_count;

    /* the thread's own, but for the descriptors, which a fork reads */
    pthread_t thread;
    ilk__session *sessions[ILK__GATEWAY_SESSIONS];
    _Atomic int descriptors[ILK__GATEWAY_SESSIONS]; /* -1: the slot is free */
    int64_t identities[ILK__GATEWAY_SESSIONS];      /* of the descriptors */
    int64_t last_id;
    int64_t watched_until; /* see look_again() */
    int leaves_open;       /* see ilk__gateway_left_open() */
    ilk__table tokens;
    ilk__session_request *ready, *last_ready; /* to be called */
    ilk__session_request *orphans; /* begun, and their connection is closed */
    ilk__buf polled;               /* struct pollfd */
};

/* ---- session.c ---------------------------------------------------------- */

ilk__session *ilk__session_new(ilk__gateway *gateway, int fd);
/* Requests that have not begun are dropped; the others go on without it. */
void ilk__session_free(ilk__session *session);
short ilk__session_events(const ilk__session *session);
void ilk__session_receive(ilk__session *session, short revents);
/* Move the replies that are due to the buffer. */
void ilk__session_collect(ilk__session *session);
/* Send what the socket accepts of the buffer. Returns whether it has then executed
 * commands that were received before. */
int ilk__session_send(ilk__session *session);
/* Send the message if the session has this subscription; returns whether it
 * has. */
int ilk__session_publish(ilk__session *session, ilk__span pattern,
                         ilk__span channel, ilk__span message);
int ilk__session_subscribes(const ilk__session *session, ilk__span channel,
                            int is_pattern);
void ilk__session_unsubscribe_all(ilk__session *session);

/* ---- session_commands.c ------------------------------------------------- */

/* Execute a command that is no script, or reply with an error. */
void ilk__session_command(ilk__session_request *request);
/* ---- session_request.c ---------------------------------------------------------- */

/* Take its place behind the requests with the same token. */
void ilk__session_request_begin(ilk__session_request *request);
/* Append to the reply: formatted RESP of 255 bytes at most, a string. */
void ilk__session_request_put(ilk__session_request *request, const char *format,
                              ...) __attribute__((format(printf, 2, 3)));
void ilk__session_request_put_bytes(ilk__session_request *request,
                                    ilk__span bytes);
/* The reply is complete. */
void ilk__session_request_done(ilk__session_request *request);
/* Their session is closed: those that have not begun are dropped. */
void ilk__session_request_orphan_all(ilk__session_request *first);
/* Call the backend for it once more, soon. */
void ilk__session_request_again(ilk__session_request *request);
/* Call the backend for all requests whose turn it is. */
void ilk__gateway_run_ready(ilk__gateway *gateway);
void ilk__session_request_free(ilk__session_request *request);

#endif

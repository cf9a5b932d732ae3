/* SPDX-License-Identifier: MIT */
/*
 * message.h -- a message on a client's own channel, and its parser.
 *
 *     1 grant <waiter> <token> <fence> <lease ms> <server us> <name>
 *     1 wake <waiter> <name>
 *     1 change <secret> <key>
 *     1 signal <waiter> <signal id> <bytes of name> <name><data>
 *     1 notify <ticket>.<secret> <signal id> <bytes of name> <name><data>
 *
 * <waiter> is the letter of its kind, its id, a dot and a secret. A message for
 * an inbox needs the right secret (wait/secret.h); a notify for a listener has
 * "-". A grant, a wake and a signal are for one waiter of this client; a change
 * is for all its waiters in the list with that key; a notify for all its waiters
 * in the list of that name whose ticket is not above this one. Names and data
 * may be any bytes. Text that deviates from this form is refused.
 */
#ifndef ILK__MESSAGE_H
#define ILK__MESSAGE_H

#include "redis/reply.h"

enum { ILK__DATA_MAX = 1024 * 1024 }; /* of a signal */

typedef enum ilk__message_type {
    ILK__MESSAGE_GRANT,
    ILK__MESSAGE_WAKE,
    ILK__MESSAGE_SIGNAL,
    ILK__MESSAGE_NOTIFY,
    ILK__MESSAGE_CHANGE
} ilk__message_type;

typedef struct ilk__message ilk__message;

/* Its pointers point into the text that was parsed, which must outlive it. */
struct ilk__message {
    ilk__message_type type;
    char kind; /* of the waiter, as in its entry; NOTIFY: 0 */
    int64_t waiter;
    const char *secret;
    const char *token;                  /* GRANT */
    int64_t fence, lease_ms, server_us; /* GRANT */
    int64_t ticket;                     /* NOTIFY; tickets begin at 1 */
    const char *signal;                 /* SIGNAL, NOTIFY: its id */
    const char *name;
    size_t name_len;
    const char *data; /* SIGNAL, NOTIFY */
    size_t data_len;
    int second_hand; /* it came from a replica; see subscriber.h */
};

/* Parse the text, writing NULs into it; returns 0 when it is no message. */
int ilk__message_read(ilk__message *out, char *text, size_t len);

/*
 * For a grant, a signal and a notify: a hash of receiver, name, and token and
 * fence or signal id. A second copy of the same message has the same hash; other
 * messages practically never do.
 */
uint64_t ilk__message_mark(const ilk__message *message);

#endif

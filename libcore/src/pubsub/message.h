/* SPDX-License-Identifier: MIT */
/*
 * message.h -- a message on a client's own channel, taken apart.
 *
 *     1 grant <waiter> <token> <fence> <lease ms> <server us> <name>
 *     1 wake <waiter> <name>
 *     1 change <key>
 *     1 signal <waiter> <signal id> <bytes of name> <name><data>
 *     1 notify <ticket> <signal id> <bytes of name> <name><data>
 *
 * The waiter is its kind, a letter, and its number. A change is for all of
 * this client who wait in the list with that key. A signal is for one
 * waiter; a notify for all of this client who stand in that name's list with
 * a ticket up to this one. Names and data are any bytes. What is not exactly
 * of this form is no message.
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

/* What it points to lives as long as the message. */
struct ilk__message {
    ilk__message_type type;
    char kind; /* of the waiter, as in its entry; NOTIFY: 0 */
    int64_t waiter;
    const char *token;                  /* GRANT */
    int64_t fence, lease_ms, server_us; /* GRANT */
    int64_t ticket;                     /* NOTIFY; the lists' begin at 1 */
    const char *signal;                 /* SIGNAL, NOTIFY: its id */
    const char *name;
    size_t name_len;
    const char *data; /* SIGNAL, NOTIFY */
    size_t data_len;
    int second_hand; /* SIGNAL, NOTIFY: only a replica has told; see
                        subscriber.h */
};

/* Cuts the text of the message up in place; 0 when it is no message. */
int ilk__message_read(ilk__message *out, char *text, size_t len);

/*
 * For a signal and a notify: who it is for, and which it is, as a number that
 * a second copy of the same message has as well and no other.
 */
uint64_t ilk__message_mark(const ilk__message *message);

#endif

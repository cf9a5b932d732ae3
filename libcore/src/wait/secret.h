/* SPDX-License-Identifier: MIT */
/*
 * secret.h -- the secrets by which inbox messages prove themselves.
 *
 * Many users of a server may have the right to PUBLISH to any inbox. So a
 * message must repeat a secret that is stored only in the keys of the name that the
 * message is about:
 *
 *     of a waiter    behind its id in its entry: grant, wake
 *     of a list      among the clients that wait for it: signal, notify, change
 *
 * A secret is a hash, keyed by random bytes of the client, of the list's name, or
 * of the waiter's kind, id and name. So a late message for a waiter that is gone
 * is recognised as well, and nothing has to be remembered. A secret that was read
 * from the keys of one name proves nothing about another name: otherwise its
 * reader could make this client pass on grants and signals for names to which
 * only this client has rights. The exceptions are waits for signals and waits
 * of consumers, whose one entry may stand in the wait queues of several names:
 * a wake for them proves itself without the name.
 */
#ifndef ILK__SECRET_H
#define ILK__SECRET_H

#include "op/shared.h"

enum {
    ILK__SECRET_LEN = 16,
    /* the client's id, a dot and a list's secret */
    ILK__ADDRESS_LEN = ILK__CLIENT_ID_LEN + 1 + ILK__SECRET_LEN
};

/* Hexadecimal digits and a NUL. The name is the first key of the wait queue, as
 * messages contain it. */
void ilk__secret_of_waiter(char out[ILK__SECRET_LEN + 1],
                           const ilk__shared *shared, char kind, int64_t waiter,
                           const void *name, size_t len);
void ilk__secret_of_list(char out[ILK__SECRET_LEN + 1],
                         const ilk__shared *shared, const void *name,
                         size_t len);

/* The client's id with the secret of this list, for changes of the list. */
void ilk__secret_address(char out[ILK__ADDRESS_LEN + 1],
                         const ilk__shared *shared, const void *name,
                         size_t len);

/* Whether the message proves itself. */
int ilk__secret_proves(const ilk__shared *shared, const ilk__message *message);

#endif

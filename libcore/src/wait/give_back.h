/* SPDX-License-Identifier: MIT */
/*
 * give_back.h -- withdraws an entry from a wait queue, and whatever its token
 * was granted: a waiter ends, or a grant arrives for a waiter that is gone.
 *
 *     with its own reply    ilk__wait_queue_cancel() composes the command
 *     by the keeper         ilk__give_back(), _token() post an operation
 *     by the caller, and    ilk__give_back_ensured(): the caller sends the
 *     if need be the keeper command, and the keeper repeats it
 */
#ifndef ILK__GIVE_BACK_H
#define ILK__GIVE_BACK_H

#include "wait_queue.h"

/* The removal of an entry from the server, and of all that the token holds or
 * was granted. */
struct ilk__withdrawal {
    ilk__shared *shared;
    const ilk__wait_queue *wait_queue; /* the keeper's copy has no names */
    const char *entry;
    size_t entry_len;
    const char *token;
    int64_t
        lease_ms; /* that a late copy of the request would get; 0: unknown */
    /* For signals, a digit for each name: 1 acknowledges the signal that was
     * given to the entry, 0 hands it on. NULL: the reply says whether one was
     * given. Other primitives have NULL. */
    const char *accepted;
};

/* Compose the command that removes it. */
void ilk__wait_queue_cancel(ilk__command *command,
                            const ilk__withdrawal *withdrawal);

/*
 * Have the keeper cancel, for a waiter that is gone or an orphaned grant.
 * Copies all it needs; the mutex is held. If memory runs out nothing is sent:
 * then the entry's liveness and the grant's lease end on the server.
 */
void ilk__give_back(const ilk__withdrawal *withdrawal);

/* The same for a token alone, such as an orphaned grant's. */
void ilk__give_back_token(ilk__shared *shared,
                          const ilk__wait_queue *wait_queue, const char *token);

/* A hold under this token was detached, so another process may have adopted it: a late
 * copy of its grant must not be given back. Any thread. */
void ilk__detached_token_add(ilk__shared *shared, const char *token);
/* With the mutex held. */
int ilk__detached_token_has(const ilk__shared *shared, const char *token);

/*
 * An ensured command for a caller that sends the cancel itself. If the caller's
 * connection breaks before the reply, the keeper sends the cancel over its own
 * connection, and once more after a pause: between the two the server may read
 * and execute what the broken connection still carried. `also`, which may be
 * NULL, is another ensured command that ends together with this one. If memory
 * runs out, `also` alone is returned.
 */
ilk__ensured *ilk__give_back_ensured(const ilk__withdrawal *withdrawal,
                                     ilk__ensured *also);

/*
 * The same for what ends with this status. A gateway may refuse the cancel while its
 * store cannot be reached, and the reply to a caller's command is read with the caller's
 * next one only. So after an outage the keeper sends the cancel at once, as well, and
 * `also` is returned.
 */
ilk__ensured *ilk__give_back_after(const ilk__withdrawal *withdrawal,
                                   ilk_status end_status, ilk__ensured *also);

/* For an ensured cancel that is sent by its script's SHA1 or source: its
 * ensured->judge, which records whether the server has the script. */
ilk_status ilk__give_back_judge(const ilk__ensured *ensured,
                                const ilk__reply *reply);

/* For the primitives' cancelling op types. */
void ilk__give_back_ask(ilk__op *op);
ilk__act ilk__give_back_done(ilk__op *op, const ilk__reply *reply);
ilk__act ilk__give_back_wake(ilk__op *op, ilk__cause cause);

#endif

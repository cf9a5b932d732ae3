/* SPDX-License-Identifier: MIT */
/* wait_queue.h -- a primitive's wait queue: its keys, operations and entries on
 * the server; and how to withdraw from it. */
#ifndef ILK__WAIT_QUEUE_H
#define ILK__WAIT_QUEUE_H

#include "entry.h"
#include "op/shared.h"

enum {
    ILK__LIVENESS_MS = 6000, /* how long an entry lives without refresh */
    ILK__REFRESH_MS = 2000,  /* how often a client refreshes a waited name */
    ILK__GRANT_MS = 5000,    /* the lease of a grant not yet confirmed */
    ILK__GRANT_LIMIT = 64,   /* entries that one script call may visit */
    ILK__FOREIGN_POLL_MS = 100,
    ILK__LIST_KEY = 2 /* the index of the list of entries among the keys */
};

typedef struct ilk__wait_queue ilk__wait_queue;

/* What to remove from the server: this entry, and what the token holds or was
 * granted. */
typedef struct ilk__withdrawal {
    const ilk__shared *shared;
    const ilk__wait_queue *wait_queue; /* the keeper's copy has no names */
    const char *entry;
    size_t entry_len;
    const char *token;
} ilk__withdrawal;

/* A primitive's description of what its waiters wait for. */
struct ilk__wait_queue {
    /* For the lock: lock, fence, wait, live, readers. Other primitives have
     * keys of their own; a wait in several lists has those of each in turn. */
    const ilk__bytes *keys;
    size_t key_count;
    const ilk__op_type *acquire; /* with ilk__wait_* as its functions */
    const ilk__op_type *refresh; /* with ilk__refresher_* as its functions */
    const ilk__op_type *cancel;  /* with ilk__give_back_* as its functions */
    char kind; /* the letter in entries and messages that names the primitive */
    /* Passes on a message whose waiter is gone; NULL: the message can be
     * dropped. One function for each kind. */
    ilk__orphaned *orphaned;
    int barge;          /* acquire before those who wait already */
    ilk__bytes channel; /* on which others publish releases; may be empty */
    int64_t foreign_poll_ms; /* how often to claim from a foreign holder */
    /* The names whose lists hold the entry, for waits for signals. */
    const ilk__bytes *names;
    size_t name_count;
    /* 1: a wait that ends early sends LEAVE and reads whether a signal was
     * already sent to it. 0: it sends a cancel and reads no reply. */
    int asks_to_leave;
    /* Adds the cancel's arguments; NULL: entry, token, the channel if there is
     * one, grant_ms, limit, for the lock `barge`, liveness. */
    void (*withdraw_args)(ilk__command *command,
                          const ilk__withdrawal *withdrawal);
};

/* Compose the command that removes it. */
void ilk__wait_queue_cancel(ilk__command *command,
                            const ilk__withdrawal *withdrawal);

/*
 * Have the keeper cancel, for a waiter that is gone or an orphaned grant.
 * Copies all it needs; the mutex is held. If memory runs out nothing is sent:
 * then the entry's liveness and the grant's lease end on the server.
 */
void ilk__give_back(ilk__shared *shared, const ilk__wait_queue *wait_queue,
                    const char *entry, size_t entry_len, const char *token);

/*
 * An ensured command for a caller that sends the cancel itself: if its
 * connection breaks before the reply, the keeper sends the cancel over its own
 * connection. It does so twice, because the server may read what is left on
 * the broken connection after the first copy. `also`, which may be NULL, ends
 * together with the result; if memory runs out, `also` is the result.
 */
ilk__ensured *ilk__give_back_ensured(ilk__shared *shared,
                                     const ilk__wait_queue *wait_queue,
                                     const char *entry, size_t entry_len,
                                     const char *token, ilk__ensured *also);

/* For the primitives' cancelling op types. */
void ilk__give_back_ask(ilk__op *op);
ilk__act ilk__give_back_done(ilk__op *op, const ilk__reply *reply);
ilk__act ilk__give_back_wake(ilk__op *op, ilk__cause cause);

#endif

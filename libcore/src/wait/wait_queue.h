/* SPDX-License-Identifier: MIT */
/* wait_queue.h -- a wait queue: a thing that can be waited for, and taking back
 * what was asked. */
#ifndef ILK__WAIT_QUEUE_H
#define ILK__WAIT_QUEUE_H

#include "entry.h"
#include "op/shared.h"

enum {
    ILK__LIVENESS_MS = 6000, /* how long an entry lives without refresh */
    ILK__REFRESH_MS = 2000,  /* how often a client refreshes a waited name */
    ILK__GRANT_MS = 5000,    /* the lease of a grant nobody has seen yet */
    ILK__GRANT_LIMIT = 64,   /* entries looked at in one call */
    ILK__FOREIGN_POLL_MS = 100,
    ILK__LIST_KEY = 2 /* which of a wait queue's keys is the list of those in
                         it */
};

typedef struct ilk__wait_queue ilk__wait_queue;

/* What is taken back: an entry, a grant or a hold of this token. */
typedef struct ilk__withdrawal {
    const ilk__shared *shared;
    const ilk__wait_queue *wait_queue; /* names: only when a waiter asks
                                          itself */
    const char *entry;
    size_t entry_len;
    const char *token;
} ilk__withdrawal;

/* What a primitive tells about a thing that can be waited for. */
struct ilk__wait_queue {
    /* The lock's: lock, fence, wait, live, readers. Others bring theirs, and
     * a wait in several lists the keys of each in turn. */
    const ilk__bytes *keys;
    size_t key_count;
    const ilk__op_type *acquire; /* with ilk__wait_* as its functions */
    const ilk__op_type *refresh; /* with ilk__watch_* as its functions */
    const ilk__op_type *cancel;  /* with ilk__give_back_* */
    char kind; /* of our entries, by which the primitive is known */
    /* What is done with a message for a waiter of this kind that is gone;
     * NULL: nothing needs to be. One function for each kind. */
    ilk__orphaned *orphaned;
    int barge;          /* take it past those who wait */
    ilk__bytes channel; /* where others publish a release; may be empty */
    int64_t foreign_poll_ms;
    /* Where it stands, when signals by name are what is waited for. */
    const ilk__bytes *names;
    size_t name_count;
    /* A wait that ends early asks to be let go and hears whether something
     * was on its way to it; else it tells so and is gone. */
    int asks_to_leave;
    /* The cancel's arguments, where they are not entry, token, grant_ms,
     * limit, liveness. */
    void (*withdraw_args)(ilk__command *command,
                          const ilk__withdrawal *withdrawal);
};

/* The question that takes it back. */
void ilk__wait_queue_cancel(ilk__command *command,
                            const ilk__withdrawal *withdrawal);

/*
 * The keeper takes it back, for a waiter that is gone or a grant that nobody
 * waits for. Copies all it needs; the mutex is held. Without memory nothing
 * is done: liveness and lease end it on the server.
 */
void ilk__give_back(ilk__shared *shared, const ilk__wait_queue *wait_queue,
                    const char *entry, size_t entry_len, const char *token);

/*
 * For one who tells the server to take it back: should the connection break
 * before the answer, the keeper asks over its own. The server may read what
 * the old one still carries after the first copy of that question, so there
 * is a second one. `also`, or NULL, ends with it, and is all that is returned
 * when there is no memory.
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

/* SPDX-License-Identifier: MIT */
/* wait_queue.h -- a primitive's wait queue: its keys, operations and entries on
 * the server. give_back.h has how to withdraw from it. */
#ifndef ILK__WAIT_QUEUE_H
#define ILK__WAIT_QUEUE_H

#include "entry.h"
#include "limits.h"
#include "op/shared.h"
#include "secret.h"

enum {
    ILK__REFRESH_MS = 2000, /* how often a client refreshes a waited name */
    ILK__FOREIGN_POLL_MS = 100,
    ILK__GIVING_BACK_MAX = 512, /* cancels of the keeper in flight */
    ILK__LIST_KEY = 2 /* the index of the list of entries among the keys */
};

typedef struct ilk__wait_queue ilk__wait_queue;
typedef struct ilk__withdrawal ilk__withdrawal;

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
    int barge;        /* acquire before those who wait already */
    int gets_changes; /* a change wakes all waiters of a client by one message */
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
    /* The text of ILK_EBUSY; NULL: "held elsewhere", for what can be held. */
    const char *busy_text;
};

/*
 * The client as it is named on the server, in entries and among the clients of
 * the wait queue: by its id, and, if it gets changes of this wait queue, by the
 * secret that they must repeat.
 */
void ilk__wait_queue_address(char out[ILK__ADDRESS_LEN + 1],
                             const ilk__shared *shared,
                             const ilk__wait_queue *wait_queue);

/* Whether its waiters wait for a hold: a lock, permits, a leadership. A grant
 * for any other waiter makes no sense and is refused. */
int ilk__wait_queue_grants(const ilk__wait_queue *wait_queue);

#endif

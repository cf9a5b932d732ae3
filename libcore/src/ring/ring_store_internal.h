/* SPDX-License-Identifier: MIT */
/* ring_store_internal.h -- a request about a store, and its phases; for ring_store*.c
 * only. */
#ifndef ILK__RING_STORE_INTERNAL_H
#define ILK__RING_STORE_INTERNAL_H

#include "ring_internal.h"

#include "base/buf.h"

enum { ILK__STORE_ID_MOST = 64 }; /* bytes of a transaction's id */

typedef enum ilk__store_phase {
    /* for servers that come, or for the end of another transaction */
    ILK__STORE_WAITS,
    ILK__STORE_READS,
    ILK__STORE_COMMITS, /* on one server */
    ILK__STORE_PREPARES,
    ILK__STORE_DECIDES,
    ILK__STORE_ABORTS,   /* unless its home replies that it is committed */
    ILK__STORE_OUTCOMES, /* of this request's transaction */
    ILK__STORE_RECOVERS, /* of another transaction: its outcome, and its end */
    ILK__STORE_FINISHES,
    ILK__STORE_ENDED
} ilk__store_phase;

typedef enum ilk__part_state {
    ILK__PART_NEW,
    ILK__PART_ASKED,
    ILK__PART_READY,
    ILK__PART_BUSY,
    ILK__PART_LOST
} ilk__part_state;

/* A server, and those keys of the transaction that it has. */
typedef struct ilk__store_part {
    ilk__ring_server *server;
    ilk__part_state is;
    size_t count;
} ilk__store_part;

struct ilk__store_request {
    ilk__store_request *next, *previous;
    ilk__ring_gateway *ring;
    ilk__gateway_request *request; /* NULL: it has its reply */
    int script;
    ilk__store_phase is;
    ilk__store_phase was; /* what is repeated after WAITS and RECOVERS */
    int64_t began, until, retry_at;
    int pause_ms;
    size_t calls; /* without a reply */

    /* Copies: a transaction is finished after its reply. */
    ilk__buf store, done;
    char id[ILK__STORE_ID_MOST + 1];
    int64_t at; /* its timestamp; 0: none yet */
    ilk__buf *keys;
    size_t key_count;
    ilk__store_part parts[ILK__RING_SERVERS];
    size_t part_count;
    ilk__store_part **owners; /* of the keys */

    /* Another transaction, whose intent is in the way. */
    char other[ILK__STORE_ID_MOST + 1];
    int64_t met_at;       /* the first one */
    ilk__store_part *met; /* where */

    int64_t outcome, age_ms; /* of OUTCOMES */
    int refusal;             /* the code of a part that refuses; 0: none does */
    int64_t later;           /* of STALE: the timestamp in the way */
    char why[ILK_ERROR_MAX]; /* a server's error */
    /* ABORTS: what the caller gets; "": the refusal */
    char error[ILK_ERROR_MAX];
};

/* ---- ring_store.c -------------------------------------------------------- */

/* The reply to a call; `owner` is the request. */
ilk__node_call_ended ilk__store_answered;

/* ---- ring_store_words.c -------------------------------------------------- */

/* Copy the words of the core's request, and make its parts. 0: no memory, or it makes no
 * sense. */
int ilk__store_read_words(ilk__store_request *one);
/* Free what ilk__store_read_words() has allocated, also when it has returned 0. */
void ilk__store_free_words(ilk__store_request *one);
/* The server that decides on a transaction. */
ilk__ring_server *ilk__store_home_of(const ilk__ring_gateway *ring,
                                     const char *id);
/* NULL: the server has none of the keys. */
ilk__store_part *ilk__store_part_of(ilk__store_request *one,
                                    const ilk__ring_server *server);

/* Each counts its call in `calls`; 0: there will be no reply. */
int ilk__store_send_read(ilk__store_request *one);
/* store_commit or store_prepare, which have the same words. The part is ASKED then, or
 * LOST. */
int ilk__store_send_versions(ilk__store_request *one, ilk__store_part *at,
                             int script);
int ilk__store_send_finish(ilk__store_request *one, ilk__store_part *at,
                           const char *id, int is_committed);
int ilk__store_send_outcome(ilk__store_request *one, ilk__ring_server *server,
                            const char *id, int64_t age_ms);
int ilk__store_send_decision(ilk__store_request *one);
void ilk__store_send_forget(ilk__store_request *one);

#endif

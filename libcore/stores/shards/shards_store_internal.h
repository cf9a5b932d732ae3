/* SPDX-License-Identifier: MIT */
/* shards_store_internal.h -- a request about a store, and its phases; for shards_store*.c
 * only. */
#ifndef ILK__SHARDS_STORE_INTERNAL_H
#define ILK__SHARDS_STORE_INTERNAL_H

#include "shards_internal.h"

#include "base/buf.h"

enum {
    ILK__STORE_ID_MOST = 64,  /* bytes of a transaction's id */
    ILK__STORE_FIRST_KEYS = 2 /* store and done, before the keys of a call */
};

typedef enum ilk__shards_store_phase {
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
    /* It has its reply, and its intents stay for a copy. */
    ILK__STORE_LEFT,
    ILK__STORE_DROPS, /* no copy has come: its home aborts it */
    ILK__STORE_LOOKS, /* for commits that are left, without a request of the core's */
    ILK__STORE_ENDED
} ilk__shards_store_phase;

typedef enum ilk__part_state {
    ILK__PART_NEW,
    ILK__PART_ASKED,
    ILK__PART_READY,
    ILK__PART_BUSY,
    ILK__PART_LOST
} ilk__part_state;

/* A server, and those keys of the transaction that it has. */
typedef struct ilk__shards_store_part {
    ilk__shards_server *server;
    ilk__part_state is;
    size_t count;
} ilk__shards_store_part;

struct ilk__shards_store_request {
    ilk__shards_store_request *next, *previous;
    ilk__shards *shards;
    ilk__gateway_request *request; /* NULL: it has its reply */
    int script;
    ilk__shards_store_phase is;
    ilk__shards_store_phase was; /* what is repeated after WAITS and RECOVERS */
    int64_t began, until, retry_at;
    int pause_ms;
    size_t calls; /* without a reply */

    /* Copies: a transaction is finished after its reply. */
    ilk__buf store, done;
    char id[ILK__STORE_ID_MOST + 1];
    int64_t at; /* its timestamp; 0: none yet */
    ilk__buf *keys;
    size_t key_count;
    ilk__buf all_keys; /* as the scripts have them; while a command has them */
    ilk__shards_store_part parts[ILK__SHARDS_SERVERS];
    size_t part_count;
    ilk__shards_store_part **owners; /* of the keys */
    int had_intents;                 /* those of an earlier copy may be there */

    /* Another transaction, whose intent is in the way. */
    char other[ILK__STORE_ID_MOST + 1];
    int64_t met_at; /* the first one, less the time for which it was there */
    ilk__shards_store_part *met; /* where */
    ilk__buf other_keys;         /* all that it writes; empty: unknown */
    int is_committed;            /* as its home has replied */
    size_t settling;          /* calls that end its intents, without a reply */
    int is_left, is_met_left; /* of its intents: any, those at `met` */

    int64_t outcome, age_ms; /* of OUTCOMES */
    int refusal;             /* the code of a part that refuses; 0: none does */
    int64_t later;           /* of STALE: the timestamp in the way */
    char why[ILK_ERROR_MAX]; /* a server's error */
    /* ABORTS: what the caller gets; "": the refusal */
    char error[ILK_ERROR_MAX];
};

/* ---- shards_store.c ------------------------------------------------------ */

/* The reply to a call; `owner` is the request. */
ilk__node_call_ended ilk__shards_store_answered;

/* ---- shards_store_settle.c ----------------------------------------------- */

/* End the intents of one->other on all servers that can be reached, with a call to each. 0:
 * there will be no reply. The request does not go on before the last one. */
int ilk__shards_store_settle(ilk__shards_store_request *one);
/* The reply to such a call. 1: it was the last one. */
int ilk__shards_store_is_settled(ilk__shards_store_request *one,
                                 const ilk__shards_server *server, int is_done);

/* Whether it is time to look for commits of this store that are left at a server which is
 * up: then it is noted. */
int ilk__shards_store_is_look_due(ilk__shards_server *server,
                                  const ilk__shards_store_request *request);
/* A reply to a request that LOOKS; NULL: none, or an error. */
void ilk__shards_store_looked(ilk__shards_store_request *one,
                              ilk__shards_server *server,
                              const ilk__node_call *call,
                              const ilk__reply *reply);

/* ---- shards_store_words.c ------------------------------------------------ */

/* Copy the words of the core's request, and make its parts. 0: no memory, or it makes no
 * sense. */
int ilk__shards_store_read_words(ilk__shards_store_request *one);
/* Free what ilk__shards_store_read_words() has allocated, also when it has returned 0. */
void ilk__shards_store_free_words(ilk__shards_store_request *one);
/* The server that decides on a transaction. */
ilk__shards_server *ilk__shards_store_home_of(const ilk__shards *shards,
                                              const char *id);
/* NULL: the server has none of the keys. */
ilk__shards_store_part *ilk__shards_store_part_of(
    ilk__shards_store_request *one, const ilk__shards_server *server);

/* Each counts its call in `calls`; 0: there will be no reply. */
int ilk__shards_store_send_read(ilk__shards_store_request *one);
/* store_commit or store_prepare, which have the same words. The part is ASKED then, or
 * LOST. */
int ilk__shards_store_send_versions(ilk__shards_store_request *one,
                                    ilk__shards_store_part *at, int script);
int ilk__shards_store_send_left(ilk__shards_store_request *one,
                                ilk__shards_server *server);
int ilk__shards_store_send_finish(ilk__shards_store_request *one,
                                  ilk__shards_store_part *at, const char *id,
                                  int is_committed);
/* The same with other keys; `keys` has room for those of the store before them. */
int ilk__shards_store_send_end(ilk__shards_store_request *one,
                               ilk__shards_server *server, ilk__bytes *keys,
                               size_t count, const char *id, int is_committed);
int ilk__shards_store_send_outcome(ilk__shards_store_request *one,
                                   ilk__shards_server *server, const char *id,
                                   int64_t age_ms);
int ilk__shards_store_send_decision(ilk__shards_store_request *one);
void ilk__shards_store_send_forget(ilk__shards_store_request *one,
                                   const char *id);

#endif

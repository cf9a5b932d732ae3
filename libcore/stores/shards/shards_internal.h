/* SPDX-License-Identifier: MIT */
/* shards_internal.h -- the parts of the client of a ring; for shards*.c only. */
#ifndef ILK__SHARDS_INTERNAL_H
#define ILK__SHARDS_INTERNAL_H

#include "shards.h"

#include "base/clock.h"
#include "base/hash_ring.h"
#include "gateway/gateway.h"
#include "gateway/node_stats.h"
#include "gateway/request_words.h"
#include "net/tls_store.h"

#include <pthread.h>

enum {
    ILK__SHARDS_SERVERS = 64, /* at most, with those that have left the ring */
    ILK__SHARDS_COPIES = 16,  /* of a key, at most */
    ILK__SHARDS_NAME = 16,    /* digits of a server's own name */
    ILK__SHARDS_CONTACTS = 8, /* logins that wait */
    /* how long a request waits for servers that are still connecting; at most half of
     * the reply timeout */
    ILK__SHARDS_COMING_MS = 1000,
    ILK__SHARDS_COMMITS = 1 << 19, /* bits */
    ILK__SHARDS_STORES = 64        /* places of times; stores may share one */
};

/* Clocks differ by less than this. A version or timestamp that is further ahead is
 * faulty: it raises the later ones of its key, and of no other. */
#define ILK__SHARDS_AHEAD_US (INT64_C(1000000) * 3600 * 24)

typedef struct ilk__shards ilk__shards;
typedef struct ilk__shards_server ilk__shards_server;
typedef struct ilk__value_request ilk__value_request;
typedef struct ilk__move_step ilk__move_step;
typedef struct ilk__shards_store_request ilk__shards_store_request;

struct ilk__shards_server {
    ilk__shards *gateway;
    size_t number;
    int is_former; /* it has left the ring */
    ilk__url url;  /* host and port are its own, the rest the ring's */
    ilk__target target;
    ilk__node_calls calls;
    int has_failed;      /* since it was known last */
    int is_known;        /* its mark was read since it was connected */
    int64_t lacks_since; /* it has no mark, and another has one; 0: not so */
    int is_doubted;      /* it may get one at any moment: shards_marks.c */
    size_t looking;      /* reads of its mark without a reply */
    int64_t ahead_us;    /* its clock is ahead of this machine's by this */
    /* its number, how many there are, and the name of their list */
    char place[64];
    char own_name[ILK__SHARDS_NAME
                  + 1]; /* that it keeps; "" before its first reply */
    int64_t mark; /* it has missed nothing up to this version: shards_marks.c */
    ilk_error why; /* the last failure */
    int64_t
        looked_for_left[ILK__SHARDS_STORES]; /* by a hash of the store's name */
    ilk_node_stats stats;
};

/* Which transactions of this client are committed or may be, of the last minute or two: two
 * bits of each in one of two sets, of which the older one is emptied. */
typedef struct ilk__shards_commits {
    uint8_t sets[2][ILK__SHARDS_COMMITS / 8];
    int newer;     /* the set that is filled now ... */
    int64_t since; /* ... and since when */
} ilk__shards_commits;

struct ilk__shards {
    ilk__gateway *gateway;
    ilk__url url; /* of all servers: login, TLS, timeouts */
    ilk__tls_store *tls;
    char name[64]; /* of the connections */
    int64_t connect_ms;
    int64_t patience_ms; /* less than the core's own for a reply */
    int64_t coming_ms;   /* for servers that come */
    int64_t copies, write, read;

    ilk__shards_server servers[ILK__SHARDS_SERVERS];
    size_t count;      /* of all */
    size_t ring_count; /* of those on the ring, which come first */
    ilk__ring ring;    /* its nodes are sorted */
    uint32_t server_of[ILK__SHARDS_SERVERS]; /* a node of the ring's */

    int64_t last_version;   /* the greatest that this client has given */
    int64_t used_at;        /* the last request for a value */
    int64_t began_at;       /* the first one; 0: none yet */
    int64_t looked_at;      /* the last look at the marks; 0: none yet */
    int raise_is_due;       /* marks were read since they were raised last */
    int64_t doubted_at;     /* the last look at those in doubt; 0: none is */
    int64_t last_timestamp; /* the greatest that this client has seen */

    ilk__value_request *values;
    ilk__move_step *steps;
    ilk__shards_store_request *store_requests;
    ilk__shards_commits commits;

    ilk__gateway_request *contacts[ILK__SHARDS_CONTACTS]; /* logins */
    int64_t contact_at[ILK__SHARDS_CONTACTS];
    size_t contact_count;
    int was_reached; /* further logins succeed at once */

    pthread_mutex_t mutex; /* guards `published` */
    ilk_node_stats published[ILK__SHARDS_SERVERS];
};

/* ---- shards_servers.c ---------------------------------------------------- */

ilk_status ilk__shards_add_server(ilk__shards *shards, ilk__span text,
                                  int is_former, ilk_error *err);
/* All servers are there: place them on the ring. */
ilk_status ilk__shards_place(ilk__shards *shards, ilk_error *err);
void ilk__shards_close_servers(ilk__shards *shards);
/* As ilk__node_calls_send(); 0: there will be no reply. */
int ilk__shards_send(ilk__shards_server *server, ilk__command *command,
                     int script, ilk__node_call_ended *ended, void *owner);
/* The first server of a key. */
ilk__shards_server *ilk__shards_server_of(const ilk__shards *shards,
                                          ilk__bytes key);
/* The servers of a key in their order; returns how many. */
size_t ilk__shards_servers_of(const ilk__shards *shards, ilk__bytes key,
                              ilk__shards_server *out[ILK__SHARDS_COPIES]);
/* It is connected, and its mark is known. */
int ilk__shards_is_up(const ilk__shards_server *server);
/* It is not up, but may be soon: it has not failed. */
int ilk__shards_may_come(const ilk__shards_server *server);
/* host:port, as in the URL. */
const char *ilk__shards_address(const ilk__shards_server *server);
/* Why it does not take part. */
const char *ilk__shards_why(const ilk__shards_server *server);
void ilk__shards_read_replies(ilk__shards_server *server);
void ilk__shards_contact(void *self, ilk__gateway_request *request);
/* One server replies. */
void ilk__shards_ping(void *self, ilk__gateway_request *request);
/* Silent servers, and logins. */
void ilk__shards_fire_servers(ilk__shards *shards, int64_t now);
int64_t ilk__shards_servers_due(const ilk__shards *shards);
/* Let other threads read what was counted. */
void ilk__shards_publish(ilk__shards *shards);
/* Any thread. */
ilk_status ilk__shards_node_stats(void *self, size_t index,
                                  ilk_node_stats *out);

/* ---- shards_marks.c ------------------------------------------------------ */

extern const ilk__bytes ilk__shards_node_key;
/* How long a deleted key keeps its version (scripts/include/kv.lua). */
#define ILK__SHARDS_DELETED_US (INT64_C(1000000) * 3600 * 24 * 7)

/* A version above this one and all that this client has given, and not below its clock;
 * 0: none is left. */
int64_t ilk__shards_next_version(ilk__shards *shards, int64_t above);
/* The fastest of the servers' clocks that are known; this machine's clock only if none
 * is. */
int64_t ilk__shards_clock_us(const ilk__shards *shards);
/* kv_node at a server. */
int ilk__shards_send_node(ilk__shards_server *server, int64_t version,
                          const char *pass, ilk__node_call_ended *ended,
                          void *owner);
/* Ask a server that came up for its mark. */
void ilk__shards_ask_mark(ilk__shards_server *server);
/* Called for each request: the first one after a pause reads the marks again. */
void ilk__shards_look(ilk__shards *shards);
/* No server has a mark yet, and some may still come: the first mark is for all that do. */
int ilk__shards_gathers(const ilk__shards *shards);
/* It has missed something for good: its replies about values do not count. */
int ilk__shards_returns(const ilk__shards_server *server);
void ilk__shards_fire_marks(ilk__shards *shards, int64_t now);
int64_t ilk__shards_marks_due(const ilk__shards *shards);

/* ---- shards_copies.c ----------------------------------------------------- */

/* A copy in a reply of kv_read. */
typedef struct ilk__shards_copy {
    int64_t version; /* 0: there is none */
    ilk__span token, value;
    int has_value;   /* else it was deleted */
    int64_t read_us; /* by the server's clock */
} ilk__shards_copy;

ilk__shards_copy ilk__shards_copy_of(const ilk__reply *reply);
int ilk__shards_copy_is_newer(const ilk__shards_copy *a,
                              const ilk__shards_copy *b);
/* A server without the copy, or with another one, should have this one instead. */
int ilk__shards_copy_is_lacking(const ilk__shards_copy *there,
                                const ilk__shards_copy *newest);
int ilk__shards_copy_send_read(ilk__shards_server *server, ilk__bytes record,
                               ilk__node_call_ended *ended, void *owner);
/* `text` is `v<value>` or `d`. */
int ilk__shards_copy_send_write(ilk__shards_server *server, ilk__bytes record,
                                int64_t version, ilk__span token,
                                ilk__span text, ilk__node_call_ended *ended,
                                void *owner);
int ilk__shards_copy_send_settle(ilk__shards_server *server, ilk__bytes record,
                                 int64_t version, ilk__span token,
                                 ilk__node_call_ended *ended, void *owner);
int ilk__shards_copy_send_remove(ilk__shards_server *server, ilk__bytes record,
                                 const ilk__shards_copy *copy,
                                 ilk__node_call_ended *ended, void *owner);
int ilk__shards_copy_send(ilk__shards_server *server, ilk__bytes record,
                          const ilk__shards_copy *copy,
                          ilk__node_call_ended *ended, void *owner);

/* ---- shards_kv.c --------------------------------------------------------- */

/* kv_get and kv_put. */
void ilk__shards_value(ilk__shards *shards, ilk__gateway_request *request);
void ilk__shards_fire_values(ilk__shards *shards, int64_t now);
int64_t ilk__shards_values_due(const ilk__shards *shards);
void ilk__shards_free_values(ilk__shards *shards);

/* ---- shards_store.c ------------------------------------------------------ */

/* store_read, store_commit and store_outcome. */
void ilk__shards_store(ilk__shards *shards, ilk__gateway_request *request);
void ilk__shards_fire_store(ilk__shards *shards, int64_t now);
int64_t ilk__shards_store_due(const ilk__shards *shards);
void ilk__shards_free_store(ilk__shards *shards);

/* ---- shards_commits.c ---------------------------------------------------- */

/* It is committed, or its commit was sent and has no reply. */
void ilk__shards_note_commit(ilk__shards *shards, const char *id);
/* May be 1 although it was not noted: transactions share bits. */
int ilk__shards_may_have_committed(const ilk__shards_commits *commits,
                                   const char *id);

/* ---- shards_move.c ------------------------------------------------------- */

/* kv_move. */
void ilk__shards_move(ilk__shards *shards, ilk__gateway_request *request);
void ilk__shards_fire_steps(ilk__shards *shards);
int64_t ilk__shards_steps_due(const ilk__shards *shards);
void ilk__shards_free_steps(ilk__shards *shards);

#endif

/* SPDX-License-Identifier: MIT */
/* ring_internal.h -- the parts of the client of a ring; for ring*.c only. */
#ifndef ILK__RING_INTERNAL_H
#define ILK__RING_INTERNAL_H

#include "shards.h"

#include "base/clock.h"
#include "base/hash_ring.h"
#include "gateway/gateway.h"
#include "gateway/node_stats.h"
#include "gateway/request_words.h"
#include "net/tls_store.h"

#include <pthread.h>

enum {
    ILK__RING_SERVERS = 64, /* at most, with those that have left the ring */
    ILK__RING_COPIES = 16,  /* of a key, at most */
    ILK__RING_NAME = 16,    /* digits of a server's own name */
    ILK__RING_CONTACTS = 8, /* logins that wait */
    /* how long a request waits for servers that are still connecting; at most half of
     * the reply timeout */
    ILK__RING_COMING_MS = 1000,
    ILK__RING_COMMITS = 1 << 19, /* bits */
    ILK__RING_STORES = 64        /* places of times; stores may share one */
};

/* Clocks differ by less than this. A version or timestamp that is further ahead is
 * faulty: it raises the later ones of its key, and of no other. */
#define ILK__RING_AHEAD_US (INT64_C(1000000) * 3600 * 24)

typedef struct ilk__ring_gateway ilk__ring_gateway;
typedef struct ilk__ring_server ilk__ring_server;
typedef struct ilk__value_request ilk__value_request;
typedef struct ilk__move_step ilk__move_step;
typedef struct ilk__store_request ilk__store_request;

struct ilk__ring_server {
    ilk__ring_gateway *gateway;
    size_t number;
    int is_former; /* it has left the ring */
    ilk__url url;  /* host and port are its own, the rest the ring's */
    ilk__target target;
    ilk__node_calls calls;
    int has_failed;      /* since it was known last */
    int is_known;        /* its mark was read since it was connected */
    int64_t lacks_since; /* it has no mark, and another has one; 0: not so */
    int is_doubted;      /* it may get one at any moment: ring_marks.c */
    size_t looking;      /* reads of its mark without a reply */
    int64_t ahead_us;    /* its clock is ahead of this machine's by this */
    /* its number, how many there are, and the name of their list */
    char place[64];
    char own_name[ILK__RING_NAME
                  + 1]; /* that it keeps; "" before its first reply */
    int64_t mark;  /* it has missed nothing up to this version: ring_marks.c */
    ilk_error why; /* the last failure */
    int64_t
        looked_for_left[ILK__RING_STORES]; /* by a hash of the store's name */
    ilk_node_stats stats;
};

/* Which transactions of this client are committed or may be, of the last minute or two: two
 * bits of each in one of two sets, of which the older one is emptied. */
typedef struct ilk__ring_commits {
    uint8_t sets[2][ILK__RING_COMMITS / 8];
    int newer;     /* the set that is filled now ... */
    int64_t since; /* ... and since when */
} ilk__ring_commits;

struct ilk__ring_gateway {
    ilk__gateway *gateway;
    ilk__url url; /* of all servers: login, TLS, timeouts */
    ilk__tls_store *tls;
    char name[64]; /* of the connections */
    int64_t connect_ms;
    int64_t patience_ms; /* less than the core's own for a reply */
    int64_t coming_ms;   /* for servers that come */
    int64_t copies, write, read;

    ilk__ring_server servers[ILK__RING_SERVERS];
    size_t count;      /* of all */
    size_t ring_count; /* of those on the ring, which come first */
    ilk__ring ring;    /* its nodes are sorted */
    uint32_t server_of[ILK__RING_SERVERS]; /* a node of the ring's */

    int64_t last_version;   /* the greatest that this client has given */
    int64_t used_at;        /* the last request for a value */
    int64_t began_at;       /* the first one; 0: none yet */
    int64_t looked_at;      /* the last look at the marks; 0: none yet */
    int raise_is_due;       /* marks were read since they were raised last */
    int64_t doubted_at;     /* the last look at those in doubt; 0: none is */
    int64_t last_timestamp; /* the greatest that this client has seen */

    ilk__value_request *values;
    ilk__move_step *steps;
    ilk__store_request *store_requests;
    ilk__ring_commits commits;

    ilk__gateway_request *contacts[ILK__RING_CONTACTS]; /* logins */
    int64_t contact_at[ILK__RING_CONTACTS];
    size_t contact_count;
    int was_reached; /* further logins succeed at once */

    pthread_mutex_t mutex; /* guards `published` */
    ilk_node_stats published[ILK__RING_SERVERS];
};

/* ---- ring_servers.c ------------------------------------------------------ */

ilk_status ilk__ring_add_server(ilk__ring_gateway *ring, ilk__span text,
                                int is_former, ilk_error *err);
/* All servers are there: place them on the ring. */
ilk_status ilk__ring_place(ilk__ring_gateway *ring, ilk_error *err);
void ilk__ring_close_servers(ilk__ring_gateway *ring);
/* As ilk__node_calls_send(); 0: there will be no reply. */
int ilk__ring_send(ilk__ring_server *server, ilk__command *command, int script,
                   ilk__node_call_ended *ended, void *owner);
/* The first server of a key. */
ilk__ring_server *ilk__ring_server_of(const ilk__ring_gateway *ring,
                                      ilk__bytes key);
/* The servers of a key in their order; returns how many. */
size_t ilk__ring_servers_of(const ilk__ring_gateway *ring, ilk__bytes key,
                            ilk__ring_server *out[ILK__RING_COPIES]);
/* It is connected, and its mark is known. */
int ilk__ring_is_up(const ilk__ring_server *server);
/* It is not up, but may be soon: it has not failed. */
int ilk__ring_may_come(const ilk__ring_server *server);
/* host:port, as in the URL. */
const char *ilk__ring_address(const ilk__ring_server *server);
/* Why it does not take part. */
const char *ilk__ring_why(const ilk__ring_server *server);
void ilk__ring_read_replies(ilk__ring_server *server);
void ilk__ring_contact(void *self, ilk__gateway_request *request);
/* One server replies. */
void ilk__ring_ping(void *self, ilk__gateway_request *request);
/* Silent servers, and logins. */
void ilk__ring_fire_servers(ilk__ring_gateway *ring, int64_t now);
int64_t ilk__ring_servers_due(const ilk__ring_gateway *ring);
/* Let other threads read what was counted. */
void ilk__ring_publish(ilk__ring_gateway *ring);
/* Any thread. */
ilk_status ilk__ring_node_stats(void *self, size_t index, ilk_node_stats *out);

/* ---- ring_marks.c -------------------------------------------------------- */

extern const ilk__bytes ilk__ring_node_key;
/* How long a deleted key keeps its version (scripts/include/kv.lua). */
#define ILK__RING_DELETED_US (INT64_C(1000000) * 3600 * 24 * 7)

/* A version above this one and all that this client has given, and not below its clock;
 * 0: none is left. */
int64_t ilk__ring_next_version(ilk__ring_gateway *ring, int64_t above);
/* The fastest of the servers' clocks that are known; this machine's clock only if none
 * is. */
int64_t ilk__ring_clock_us(const ilk__ring_gateway *ring);
/* kv_node at a server. */
int ilk__ring_send_node(ilk__ring_server *server, int64_t version,
                        const char *pass, ilk__node_call_ended *ended,
                        void *owner);
/* Ask a server that came up for its mark. */
void ilk__ring_ask_mark(ilk__ring_server *server);
/* Called for each request: the first one after a pause reads the marks again. */
void ilk__ring_look(ilk__ring_gateway *ring);
/* No server has a mark yet, and some may still come: the first mark is for all that do. */
int ilk__ring_gathers(const ilk__ring_gateway *ring);
/* It has missed something for good: its replies about values do not count. */
int ilk__ring_returns(const ilk__ring_server *server);
void ilk__ring_fire_marks(ilk__ring_gateway *ring, int64_t now);
int64_t ilk__ring_marks_due(const ilk__ring_gateway *ring);

/* ---- ring_copies.c ------------------------------------------------------- */

/* A copy in a reply of kv_read. */
typedef struct ilk__copy {
    int64_t version; /* 0: there is none */
    ilk__span token, value;
    int has_value;   /* else it was deleted */
    int64_t read_us; /* by the server's clock */
} ilk__copy;

ilk__copy ilk__copy_of(const ilk__reply *reply);
int ilk__copy_is_newer(const ilk__copy *a, const ilk__copy *b);
/* A server without the copy, or with another one, should have this one instead. */
int ilk__copy_is_lacking(const ilk__copy *there, const ilk__copy *newest);
int ilk__copy_send_read(ilk__ring_server *server, ilk__bytes record,
                        ilk__node_call_ended *ended, void *owner);
/* `text` is `v<value>` or `d`. */
int ilk__copy_send_write(ilk__ring_server *server, ilk__bytes record,
                         int64_t version, ilk__span token, ilk__span text,
                         ilk__node_call_ended *ended, void *owner);
int ilk__copy_send_settle(ilk__ring_server *server, ilk__bytes record,
                          int64_t version, ilk__span token,
                          ilk__node_call_ended *ended, void *owner);
int ilk__copy_send_remove(ilk__ring_server *server, ilk__bytes record,
                          const ilk__copy *copy, ilk__node_call_ended *ended,
                          void *owner);
int ilk__copy_send(ilk__ring_server *server, ilk__bytes record,
                   const ilk__copy *copy, ilk__node_call_ended *ended,
                   void *owner);

/* ---- ring_kv.c ----------------------------------------------------------- */

/* kv_get and kv_put. */
void ilk__ring_value(ilk__ring_gateway *ring, ilk__gateway_request *request);
void ilk__ring_fire_values(ilk__ring_gateway *ring, int64_t now);
int64_t ilk__ring_values_due(const ilk__ring_gateway *ring);
void ilk__ring_free_values(ilk__ring_gateway *ring);

/* ---- ring_store.c -------------------------------------------------------- */

/* store_read, store_commit and store_outcome. */
void ilk__ring_store(ilk__ring_gateway *ring, ilk__gateway_request *request);
void ilk__ring_fire_store(ilk__ring_gateway *ring, int64_t now);
int64_t ilk__ring_store_due(const ilk__ring_gateway *ring);
void ilk__ring_free_store(ilk__ring_gateway *ring);

/* ---- ring_commits.c ------------------------------------------------------ */

/* It is committed, or its commit was sent and has no reply. */
void ilk__ring_note_commit(ilk__ring_gateway *ring, const char *id);
/* May be 1 although it was not noted: transactions share bits. */
int ilk__ring_may_have_committed(const ilk__ring_commits *commits,
                                 const char *id);

/* ---- ring_move.c --------------------------------------------------------- */

/* kv_move. */
void ilk__ring_move(ilk__ring_gateway *ring, ilk__gateway_request *request);
void ilk__ring_fire_steps(ilk__ring_gateway *ring);
int64_t ilk__ring_steps_due(const ilk__ring_gateway *ring);
void ilk__ring_free_steps(ilk__ring_gateway *ring);

#endif

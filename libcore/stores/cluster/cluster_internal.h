/* SPDX-License-Identifier: MIT */
/* cluster_internal.h -- the parts of a cluster's client; for cluster*.c only. */
#ifndef ILK__CLUSTER_INTERNAL_H
#define ILK__CLUSTER_INTERNAL_H

#include "cluster.h"

#include "base/clock.h"
#include "copies.h"
#include "gateway/gateway.h"
#include "gateway/node_messages.h"
#include "net/announced.h"
#include "net/tls_store.h"
#include "redirect.h"
#include "redis/async_conn.h"
#include "redis/script.h"
#include "redis/slot.h"

enum {
    ILK__CLUSTER_NODES = 1024,
    ILK__CLUSTER_HELD = 64,         /* replies that are looked at together */
    ILK__CLUSTER_CURSOR_BITS = 48,  /* of a walk's cursor at a node; above: the
                                       node's number */
    ILK__CLUSTER_REFUSALS = 5,      /* redirections in a row, then a pause */
    ILK__CLUSTER_SILENCE_MS = 1000, /* of a node: ask others for the slots */
    ILK__CLUSTER_IDLE_MS = 10000,   /* of a node without slots: disconnect */
    ILK__CLUSTER_TRIED = 1024,      /* tokens of reserves over several slots */
    ILK__CLUSTER_NEW_AT_ONCE = 512, /* new addresses, and then one in: */
    ILK__CLUSTER_NEW_EACH_MS = 1000
};

typedef struct ilk__cluster ilk__cluster;
typedef struct ilk__cluster_node ilk__cluster_node;
typedef struct ilk__cluster_work ilk__cluster_work;

/* The part that was tried last for a token: see cluster_split_queue.c. */
typedef struct ilk__cluster_tried {
    uint64_t mark; /* a hash of the token */
    size_t part;
    uint64_t turn; /* rises; 0: the place is free */
} ilk__cluster_tried;

/* A command for a node: a request, or CLUSTER SLOTS. */
struct ilk__cluster_work {
    ilk__cluster_work *next;
    ilk__gateway_request *request;  /* NULL: CLUSTER SLOTS */
    struct ilk__cluster_part *part; /* of a request that is split, or NULL */
    int slot;                       /* -1: `scans` */
    int scans;                      /* the number of the node to walk over */
    char cursor[24];                /* of the walk, at that node */
    int asks;                       /* ASKING stands in front, see `asked` */
    int asked;                      /* its reply has not come yet */
    int with_source;                /* EVAL: the node lacks the script */
    int refusals;                   /* since the last pause */
    int pause_ms;
    int64_t due; /* paused: when to try again */
    int64_t sent_at;
    int64_t deadline; /* for the first node that executes it */
};

typedef struct ilk__cluster_list {
    ilk__cluster_work *first, *last;
} ilk__cluster_list;

struct ilk__cluster_node {
    ilk__cluster *cluster;
    int number;   /* its place in cluster->nodes */
    ilk__url url; /* the host is its own, the rest the cluster's */
    ilk__target target;
    int is_seed;     /* named in the URL */
    int is_primary;  /* serves slots, by the newest map or a redirection */
    int is_retired;  /* it was a primary: its requests go to others */
    int has_failed;  /* since the last time it was up */
    int64_t used_at; /* when it was last given a request */
    ilk_error why;   /* of its last break; none while it is up */
    int must_break;  /* a command was written in part */
    ilk__async_conn requests;
    ilk__node_messages messages;
    size_t requests_at, messages_at; /* places among the descriptors */
    ilk__cluster_list wire;          /* without a reply */
    ilk__cluster_list waiting;       /* until it is ready */
    ilk__reply *held[ILK__CLUSTER_HELD];
    size_t held_count;
    /* The slots of requests that a broken connection had carried without a reply.
     * The node may execute these requests until the next connection is up. */
    int has_doubt;
    uint8_t doubt[ILK__SLOTS / 8];
};

struct ilk__cluster {
    ilk__gateway *gateway;
    ilk__url url; /* of all nodes: login, TLS, timeouts */
    ilk__tls_store *tls;
    char name[64]; /* of the connections */
    int64_t connect_ms, reply_ms;
    int64_t patience_ms; /* less than the core's own for a reply */

    char *hosts; /* the option with this name, or NULL */
    ilk__announced announced;
    char refusal[ILK_ERROR_MAX]; /* the last one, which was logged */
    ilk__cluster_node *nodes[ILK__CLUSTER_NODES];
    size_t node_count;
    int16_t owner[ILK__SLOTS]; /* the number of a node, -1: none is known */
    int has_map;
    int map_wanted, map_pause_ms, map_turn;
    int64_t map_due;
    ilk_error why; /* the last failure of a node */

    ilk__cluster_list paused;   /* to be routed again when they are due */
    ilk__cluster_list contacts; /* logins of the core, until there is a map */
    ilk__cluster_list pings;    /* until a node has replied */
    ilk__cluster_list
        patterns; /* subscriptions, until all nodes confirm them */

    ilk__node_channel *channels;
    ilk__copies copies;        /* messages that came from some nodes so far */
    ilk__cluster_tried *tried; /* allocated with the first one */
    uint64_t tried_turn;
};

/* ---- cluster_nodes.c ----------------------------------------------------- */

/* The node at this address, new if it is not known. NULL: too many, or no
 * memory. */
ilk__cluster_node *ilk__cluster_node_at(ilk__cluster *cluster, const char *host,
                                        int port);
/* The same for an address that a node has announced. NULL also if it is not allowed:
 * then cluster->why says so. */
ilk__cluster_node *ilk__cluster_announced_at(ilk__cluster *cluster,
                                             const char *host, int port);
void ilk__cluster_nodes_free(ilk__cluster *cluster);
/* Ask a node for CLUSTER SLOTS soon. */
void ilk__cluster_want_map(ilk__cluster *cluster);
/* In this turn. */
void ilk__cluster_want_map_now(ilk__cluster *cluster);
/* Do so if it is due. */
void ilk__cluster_ask_for_map(ilk__cluster *cluster);
/* Use the reply to CLUSTER SLOTS, which `from` sent. */
void ilk__cluster_read_map(ilk__cluster *cluster, const ilk__cluster_node *from,
                           const ilk__reply *reply);
/* A redirection names the node of a slot. */
void ilk__cluster_moved(ilk__cluster *cluster, int slot,
                        ilk__cluster_node *node);
/* End the connections of a node that has no slots and has had no request for a while.
 * Another node may get its place then. */
void ilk__cluster_let_go(ilk__cluster_node *node, int64_t now);
/* The first primary with this number or a greater one; NULL: none. */
ilk__cluster_node *ilk__cluster_primary_from(const ilk__cluster *cluster,
                                             int number);
/* 1 when another node than `node` may yet execute a request for the slot. */
int ilk__cluster_is_in_doubt(const ilk__cluster *cluster,
                             const ilk__cluster_node *node, int slot);

/* ---- cluster_requests.c -------------------------------------------------- */

void ilk__cluster_append(ilk__cluster_list *list, ilk__cluster_work *work);
ilk__cluster_work *ilk__cluster_take(ilk__cluster_list *list);
ilk__cluster_list ilk__cluster_take_all(ilk__cluster_list *list);
/* NULL without memory: then the request has ended. */
ilk__cluster_work *ilk__cluster_new_work(ilk__cluster *cluster,
                                         ilk__gateway_request *request);
/* No reply: the core repeats it. Frees the work. */
void ilk__cluster_break_off(ilk__cluster_work *work);
void ilk__cluster_call(void *self, ilk__gateway_request *request);
void ilk__cluster_command(void *self, ilk__gateway_request *request);
void ilk__cluster_contact(void *self, ilk__gateway_request *request);
/* Send it to the node of its slot, now or when that node is ready. */
void ilk__cluster_route(ilk__cluster *cluster, ilk__cluster_work *work);
/* The same to this node. */
void ilk__cluster_hand_to(ilk__cluster_node *node, ilk__cluster_work *work);
/* Only when it is ready. */
void ilk__cluster_send_to(ilk__cluster_node *node, ilk__cluster_work *work);
/* Route it after a pause, which grows, and ask for the map. */
void ilk__cluster_pause(ilk__cluster *cluster, ilk__cluster_work *work);
/* Route all again that wait for this node. */
void ilk__cluster_route_waiting(ilk__cluster_node *node);
void ilk__cluster_send_map_request(ilk__cluster_node *node);
/* End pauses and deadlines, and break silent nodes. */
void ilk__cluster_fire(ilk__cluster *cluster, int64_t now);
int64_t ilk__cluster_next_due(const ilk__cluster *cluster);
void ilk__cluster_end_all(ilk__cluster *cluster);
void ilk__cluster_answer_contacts(ilk__cluster *cluster);
/* A node replies to CLUSTER SLOTS. */
void ilk__cluster_ping(void *self, ilk__gateway_request *request);
/* It has replied. */
void ilk__cluster_answer_pings(ilk__cluster *cluster);

/* ---- cluster_split.c ----------------------------------------------------- */

/* Begin a request whose keys are in several slots. 0: it cannot be split. */
int ilk__cluster_try_split(ilk__cluster *cluster,
                           ilk__gateway_request *request);
/* The end of a work with a part: the reply of its node, which is changed here; an
 * error, with which no node has executed it; or no reply. Frees the work. */
void ilk__cluster_part_replied(ilk__cluster_work *work, ilk__reply *reply);
void ilk__cluster_part_refused(ilk__cluster_work *work, const char *text);
void ilk__cluster_part_broken(ilk__cluster_work *work);

/* ---- cluster_replies.c --------------------------------------------------- */

/* Its connection for requests: handle all that has happened. */
void ilk__cluster_read_replies(ilk__cluster_node *node);
void ilk__cluster_break(ilk__cluster_node *node, const char *why);

/* ---- cluster_messages.c -------------------------------------------------- */

void ilk__cluster_subscribe(void *self, ilk__span channel, int is_pattern,
                            int begins);
/* Anyone may publish a message for a pattern, and no request of ours comes before it.
 * So a subscription to a pattern is confirmed when all primaries have it. After
 * ILK__CLUSTER_SILENCE_MS a single primary is enough, because the others forward their
 * messages to it. */
void ilk__cluster_await_patterns(void *self, ilk__gateway_request *request);
void ilk__cluster_confirm_patterns(ilk__cluster *cluster);
int64_t ilk__cluster_patterns_due(const ilk__cluster *cluster);
/* The node has become a primary, or is none any more, or a request waits for it: open
 * or close its subscriber connection. */
void ilk__cluster_listen(ilk__cluster_node *node);
void ilk__cluster_read_messages(ilk__cluster_node *node);
void ilk__cluster_check_messages(ilk__cluster_node *node, int64_t now);

#endif

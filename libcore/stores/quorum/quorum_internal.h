/* SPDX-License-Identifier: MIT */
/* quorum_internal.h -- the parts of a quorum's client; for quorum*.c only. */
#ifndef ILK__QUORUM_INTERNAL_H
#define ILK__QUORUM_INTERNAL_H

#include "quorum.h"

#include "base/clock.h"
#include "base/table.h"
#include "gateway/gateway.h"
#include "gateway/node_calls.h"
#include "gateway/node_messages.h"
#include "gateway/node_stats.h"
#include "gateway/request_words.h"
#include "net/tls_store.h"
#include "quorum_members.h"
#include "quorum_votes.h"
#include "redis/async_conn.h"
#include "redis/script.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    ILK__QUORUM_LONGEST_MS = 60000, /* the longest lease, unless the URL says */
    ILK__QUORUM_COMING_MS = 1000,   /* how long to wait for nodes that come */
    ILK__NAME_KEYS = 6,             /* of an election; a lock has one less */
    ILK__REFRESH_HEAD = 5, /* of a refresh, before its entries: client, liveness
                              ms, grant ms, limit, n */
    ILK__QUORUM_CONTACTS = 8,
    ILK__OVER_TOKENS = 1024, /* whose acquire is refused when it comes late */
    ILK__OWED_MOST = 65536   /* attempts whose cancels have not reached all */
};

typedef struct ilk__quorum ilk__quorum;
typedef struct ilk__quorum_node ilk__quorum_node;
typedef struct ilk__attempt ilk__attempt;
typedef struct ilk__proposal ilk__proposal;
typedef struct ilk__round ilk__round;

/* Lengths: of the number of a node that has begun, of an edition, and of the list of all
 * nodes' numbers behind its edition, which names the quorum. */
enum {
    ILK__ACCEPTOR_NUMBER = 16,
    ILK__ACCEPTOR_EDITION = 8,
    ILK__ACCEPTOR_LIST =
        ILK__ACCEPTOR_EDITION + ILK__QUORUM_MOST * (ILK__ACCEPTOR_NUMBER + 1)
};

typedef enum ilk__acceptor_state {
    ILK__ACCEPTOR_UNKNOWN,
    ILK__ACCEPTOR_COMES, /* replies are missing */
    ILK__ACCEPTOR_BLANK,
    ILK__ACCEPTOR_BEGUN,
    ILK__ACCEPTOR_RETURNS,
    ILK__ACCEPTOR_READY,
    ILK__ACCEPTOR_UNFIT /* the reason is in `why` */
} ilk__acceptor_state;

/* A node, as one that keeps registers; quorum_acceptors.c. */
typedef struct ilk__acceptor {
    ilk__acceptor_state is;
    int calls;         /* without a reply */
    int is_checked;    /* its settings, too */
    unsigned settings; /* of the server, those that were seen */
    int64_t again_at;  /* the next look at it */
    char nonce[ILK__NONCE_MAX + 1];
    char text[ILK__ACCEPTOR_LIST + 1]; /* BEGUN: the number; RETURNS, READY: the
                                          list */
    char why[160];
} ilk__acceptor;

struct ilk__quorum_node {
    ilk__quorum *quorum;
    size_t number;
    ilk__url url; /* host and port are its own, the rest the quorum's */
    ilk__target target;
    ilk__node_calls calls;
    ilk__node_messages messages;
    size_t messages_at; /* its place among the descriptors */
    ilk__acceptor acceptor;
    char adoption_why[ILK_ERROR_MAX]; /* of the last one; "" */
    int has_failed;                   /* since it took part last */
    int took_part;                    /* at the end of the last turn */
    ilk_error why;                    /* the last failure */
    ilk_node_stats stats;             /* quorum_status.c */
};

/* The two kinds of holds: the scripts with which attempts confirm and cancel. All
 * other scripts of an attempt are the same for both. */
typedef struct ilk__quorum_kind {
    size_t key_count; /* of the core's requests, and of cancel */
    int confirm, cancel;
    size_t confirm_keys;
    int barges; /* cancels have this argument before the liveness */
} ilk__quorum_kind;

extern const ilk__quorum_kind ilk__quorum_lock, ilk__quorum_election;

/* The words of a request about a hold, as the core sent them. */
typedef struct ilk__hold_words {
    const ilk__quorum_kind *kind;
    ilk__bytes keys[ILK__NAME_KEYS];
    ilk__bytes token, who, entry, client, waiter;
} ilk__hold_words;

typedef enum ilk__attempt_state {
    ILK__ATTEMPT_PAUSES, /* it begins at `begin_at` */
    ILK__ATTEMPT_TRIES,  /* it collects votes, and confirms them */
    ILK__ATTEMPT_HOLDS,  /* and the core has the reply or the grant */
    ILK__ATTEMPT_ENDED   /* a cancel goes to each node */
} ilk__attempt_state;

/*
 * One token of the core, at all nodes. The nodes have `inner` in its place, which is
 * the core's token unless an earlier try under that was given back: a try that was
 * not confirmed goes on under a fresh token with its old stamp.
 */
struct ilk__attempt {
    ilk__attempt *next, *previous; /* live, owed or dead */
    ilk__node by_token, by_inner;
    int is_known; /* by_token has it: it is the one that the core means */
    ilk__quorum *quorum;
    ilk__attempt_state state;
    char *text; /* of all words */
    ilk__hold_words words;
    ilk__bytes inner, inner_entry;
    int64_t lease_ms, floor, stamp;
    int waits;        /* in the nodes' queues */
    int is_queued;    /* the core has that reply */
    int renews;       /* the extension never shortens */
    ilk__bytes value; /* what a leader publishes; a copy */
    int64_t version;  /* of it, in this leadership */
    int64_t begin_at;
    int pause_ms;
    ilk__votes votes;
    int asked[ILK__QUORUM_MOST];
    size_t calls; /* without a reply */

    ilk__gateway_request *request; /* acquire, extend or release; or NULL */
    int64_t request_at;            /* when it came */

    /* The holder at each node: the local end of its lease, and whether it is one of
     * this library's. */
    int64_t holder_ends[ILK__QUORUM_MOST];
    int ours[ILK__QUORUM_MOST];
    char why[ILK_ERROR_MAX]; /* a node's error about this name */

    /* ENDED */
    int64_t forget_at; /* no lease of it is left */
    int was_cut;       /* a cancel has not been sent, or has no reply */
    int is_superseded; /* another attempt has its token at the nodes */
    int unsettled[ILK__QUORUM_MOST]; /* the cancel has no reply */
    size_t released, gone;           /* replies to the cancels */
};

typedef enum ilk__adoption_step {
    ILK__ADOPTION_NONE,
    ILK__ADOPTION_BEGINS,
    ILK__ADOPTION_LOOKS,
    ILK__ADOPTION_SEALS,  /* the others get the list's next edition */
    ILK__ADOPTION_COPIES, /* their registers go to the node */
    ILK__ADOPTION_ENDS    /* the node becomes READY */
} ilk__adoption_step;

/* A node that has lost its memory, and is taken in again; quorum_adoption.c. */
typedef struct ilk__adoption {
    ilk__adoption_step is;
    size_t node;
    int64_t again_at; /* the end of a pause; 0: there is none */
    char list[ILK__ACCEPTOR_LIST + 1];
    char nonce[ILK__NONCE_MAX + 1]; /* of the node */
    unsigned turn;                  /* calls of another one are not its own */
    unsigned givers, given;         /* nodes, as bits */
    size_t giver;                   /* whose registers are copied now */
    char cursor[24];                /* of the last page */
    size_t calls;                   /* without a reply */
} ilk__adoption;

typedef struct ilk__attempt_list {
    ilk__attempt *first, *last;
    size_t count;
} ilk__attempt_list;

/* A copy of what the nodes have counted, for other threads. */
typedef struct ilk__quorum_status {
    pthread_mutex_t mutex; /* guards all of it */
    ilk_node_stats nodes[ILK__QUORUM_MOST];
    int64_t votes_at[ILK__QUORUM_MOST]; /* the end of wait_ms */
} ilk__quorum_status;

struct ilk__quorum {
    ilk__gateway *gateway;
    ilk__url url; /* of all nodes: login, TLS, timeouts */
    ilk__tls_store *tls;
    char name[64]; /* of the connections */
    int64_t connect_ms;
    int64_t patience_ms; /* less than the core's own for a reply */
    int64_t longest_ms;

    ilk__quorum_node nodes[ILK__QUORUM_MOST];
    size_t count;
    ilk__members members;
    char twice[200]; /* two nodes are one server: their names; or "" */
    size_t twins[2]; /* these two */

    ilk__attempt_list live, owed, dead;
    ilk__round *rounds; /* that wait for nodes */
    ilk__proposal *proposals;
    int64_t last_counter; /* of a ballot */
    int keeps_registers;  /* there was a request for one */
    int trusts_fsync;     /* fsync=trust */
    char acceptor_list[ILK__ACCEPTOR_LIST + 1]; /* of a majority, or "" */
    ilk__adoption adoption;
    atomic_uint to_adopt; /* nodes, as bits; any thread sets them */
    ilk__table by_token, by_inner;
    int64_t last_stamp, last_try;
    uint64_t over[ILK__OVER_TOKENS]; /* hashes of ended tokens */
    size_t over_at;

    ilk__gateway_request *contacts[ILK__QUORUM_CONTACTS]; /* logins */
    int64_t contact_at[ILK__QUORUM_CONTACTS];
    size_t contact_count;
    int was_reached; /* further logins succeed; requests get the errors */
    ilk__node_channel *channels;
    ilk__quorum_status status;
};

/* ---- quorum_nodes.c ------------------------------------------------------ */

/* The keys of a node itself; see scripts/README.md. */
extern const ilk__bytes ilk__quorum_node_key, ilk__quorum_most_key;

ilk_status ilk__quorum_add_node(ilk__quorum *quorum, ilk__span text,
                                ilk_error *err);
void ilk__quorum_close_nodes(ilk__quorum *quorum);
size_t ilk__quorum_majority(const ilk__quorum *quorum);
/* 1 when its votes count: it is a member, and its messages come here. */
int ilk__quorum_takes_part(const ilk__quorum_node *node);
/* How many do. */
size_t ilk__quorum_count_votes(const ilk__quorum *quorum);
/* 1 when a node that takes no part may do so as soon as replies have come: it has not
 * failed. */
int ilk__quorum_may_any_come(const ilk__quorum *quorum);
/* As ilk__node_calls_send(); 0: there will be no reply. The node is that of the quorum. */
int ilk__quorum_send(ilk__quorum_node *node, ilk__command *command, int script,
                     ilk__node_call_ended *ended, void *owner);
void ilk__quorum_read_replies(ilk__quorum_node *node);
/* Break silent connections, and send the calls of quorum_join that are due. */
void ilk__quorum_fire_nodes(ilk__quorum *quorum, int64_t now);
int64_t ilk__quorum_nodes_due(const ilk__quorum *quorum);
/* Why too few nodes vote, as an error with this first word. */
void ilk__quorum_write_why(const ilk__quorum *quorum, const char *word,
                           char out[ILK_ERROR_MAX]);
void ilk__quorum_contact(void *self, ilk__gateway_request *request);
void ilk__quorum_answer_contacts(ilk__quorum *quorum);

/* ---- quorum_messages.c --------------------------------------------------- */

void ilk__quorum_subscribe(void *self, ilk__span channel, int is_pattern,
                           int begins);
void ilk__quorum_read_messages(ilk__quorum_node *node);
void ilk__quorum_check_messages(ilk__quorum_node *node, int64_t now);

/* ---- quorum_commands.c --------------------------------------------------- */

/* Send the command of an attempt that quorum_votes.c returned, or its cancel; 0:
 * there will be no reply. */
int ilk__attempt_send(ilk__attempt *attempt, const ilk__vote_command *what,
                      ilk__node_call_ended *ended);
int ilk__attempt_send_cancel(ilk__attempt *attempt, ilk__quorum_node *node,
                             ilk__node_call_ended *ended);

/* ---- quorum_tokens.c ----------------------------------------------------- */

/* A live attempt, known by its token. `pause_ms`: the tries before it have given the
 * token back, so the nodes get another one; else 0. NULL: no memory. */
ilk__attempt *ilk__attempt_new(ilk__quorum *quorum,
                               const ilk__hold_words *words, int pause_ms);
/* One that has sent nothing; NULL is ignored. */
void ilk__attempt_free(ilk__attempt *attempt);
/* One that is in no list. */
void ilk__attempt_dispose(ilk__attempt *attempt);
void ilk__attempt_put(ilk__attempt_list *list, ilk__attempt *attempt);
void ilk__attempt_take_out(ilk__attempt_list *list, ilk__attempt *attempt);
/* Another value than before has the next version. 0: no memory. */
int ilk__attempt_set_value(ilk__attempt *attempt, ilk__bytes value);
/* The one that the core means by its token, and the one that nodes do. */
ilk__attempt *ilk__attempt_find(const ilk__quorum *quorum, const void *token,
                                size_t len);
ilk__attempt *ilk__attempt_of_node(const ilk__quorum *quorum, const void *inner,
                                   size_t len);
/* The core does not mean it by its token any more. */
void ilk__attempt_forget_token(ilk__attempt *attempt);
/* A release or a cancel ends it. */
void ilk__attempt_note_over(const ilk__attempt *attempt);
/* 1 when an attempt with this token was ended so. */
int ilk__attempt_is_over(const ilk__quorum *quorum, const void *token,
                         size_t len);

/* ---- quorum_attempts.c --------------------------------------------------- */

/* Take the request, which a reply will end, and ask the nodes. */
void ilk__attempt_begin(ilk__attempt *attempt, ilk__gateway_request *request);
void ilk__attempt_extend(ilk__attempt *attempt, ilk__gateway_request *request);
/* Confirm the hold with what it publishes now, and leave its lease as it is. */
void ilk__attempt_publish(ilk__attempt *attempt, ilk__gateway_request *request);
/* 1 while a majority of its votes is confirmed. */
int ilk__attempt_is_held(const ilk__attempt *attempt);
/* Give it up at all nodes; the request, a release, may be NULL. */
void ilk__attempt_release(ilk__attempt *attempt, ilk__gateway_request *request);
/* Send what is due, decide, and reply. */
void ilk__attempt_go_on(ilk__attempt *attempt);
/* Ask again the nodes that take part and count as silent. */
void ilk__attempt_reach_all(ilk__attempt *attempt);
/* The lease that the core may count from `since`, 0: none. */
int64_t ilk__attempt_lease(const ilk__attempt *attempt, int64_t since);
/* The rest of the holder's lease in ms, -1 without end, as far as it is known. */
int64_t ilk__attempt_holder_ms(const ilk__attempt *attempt, int64_t now);
int ilk__attempt_is_ours(const ilk__attempt *attempt);
void ilk__attempt_note_holder(ilk__attempt *attempt, size_t node,
                              int64_t sent_at, int64_t pttl, int ours);
/* A node takes part again, or takes part no more. */
void ilk__attempts_reach(ilk__quorum_node *node);
void ilk__attempts_miss(ilk__quorum_node *node);
void ilk__attempts_fire(ilk__quorum *quorum, int64_t now);
int64_t ilk__attempts_due(const ilk__quorum *quorum, int64_t now);
void ilk__attempts_free(ilk__quorum *quorum);
/* Microseconds of a clock that never goes back: what the gateway's replies give as
 * the server's time. */
int64_t ilk__quorum_now_us(void);

/* ---- quorum_rounds.c ----------------------------------------------------- */

/* One script at all nodes that take part. It waits for a majority of them while
 * some have yet to come, as when the first channel is subscribed. */
struct ilk__round {
    ilk__round *next; /* of those that wait */
    ilk__quorum *quorum;
    ilk__gateway_request *request; /* NULL: it has its reply */
    size_t calls;                  /* without a reply */
    ilk__reply *replies[ILK__QUORUM_MOST];
    int64_t began;
    uint8_t *sent; /* a refresh: which of the request's entries; a list: which
                                nodes */
    char why[ILK_ERROR_MAX]; /* a node's error */
    void (*send)(ilk__round *round);
    /* Reply, and clear `request`, if the replies that are there suffice; `is_last`:
     * no others come. */
    void (*decide)(ilk__round *round, int is_last);
};

/* `send` calls ilk__round_send(), ilk__round_break() or, unless a call is under way,
 * ilk__round_go_on(); now or later. */
void ilk__round_begin(ilk__quorum *quorum, ilk__gateway_request *request,
                      void (*send)(ilk__round *round),
                      void (*decide)(ilk__round *round, int is_last));
void ilk__round_send(ilk__round *round, int script, const ilk__bytes *keys,
                     size_t key_count, const ilk__bytes *args,
                     size_t arg_count);
/* One node gets a command that is no script, which is freed. 0: there will be no reply. */
int ilk__round_ask(ilk__round *round, ilk__quorum_node *node,
                   ilk__command *command);
/* Replies have come, or can come no more: decide, and end it if none is missing. */
void ilk__round_go_on(ilk__round *round);
/* A `send`: the request as it is. */
void ilk__round_pass_on(ilk__round *round);
/* Without memory to send it. */
void ilk__round_break(ilk__round *round);
void ilk__rounds_fire(ilk__quorum *quorum, int64_t now);
int64_t ilk__rounds_due(const ilk__quorum *quorum);
void ilk__rounds_free(ilk__quorum *quorum);
/* How many nodes have replied, and how many with this code. */
size_t ilk__round_replies(const ilk__round *round);
size_t ilk__round_count(const ilk__round *round, int code);
/* The majority-th greatest element of the replies that count; 0: too few do. */
int64_t ilk__round_number(const ilk__round *round, size_t index,
                          int (*counts)(const ilk__round *,
                                        const ilk__reply *));
int ilk__round_is_held(const ilk__round *round, const ilk__reply *reply);
/* Rounds of the break scripts, and of extensions of a hold that began elsewhere. */
void ilk__round_decide_break(ilk__round *round, int is_last);
void ilk__round_decide_extension(ilk__round *round, int is_last);
/* A majority of the nodes takes part, and replies. */
void ilk__quorum_ping(void *self, ilk__gateway_request *request);

/* ---- quorum_acceptors.c -------------------------------------------------- */

extern const ilk__bytes ilk__quorum_acceptor_key;

/* It keeps registers, of the quorum that a majority belongs to. */
int ilk__acceptor_is_fit(const ilk__quorum_node *node);
size_t ilk__acceptors_count(const ilk__quorum *quorum);
/* 1 when a node that does not keep them may do so soon. */
int ilk__acceptors_may_come(const ilk__quorum *quorum);
/* Why too few do, as an error. */
void ilk__acceptors_write_why(const ilk__quorum *quorum,
                              char out[ILK_ERROR_MAX]);
/* The reply to a look at the node; an error is no failure of the node. */
ilk__node_call_ended ilk__acceptor_answered;
/* Its messages come here, and it has a nonce. */
int ilk__acceptor_is_reached(const ilk__quorum_node *node);
/* Its state, and why it is not fit, for the user. */
ilk_node_registers ilk__acceptor_registers(const ilk__quorum_node *node);
const char *ilk__acceptor_why(const ilk__quorum_node *node);
/* Let the node become `begins`, `returns` or `ready` with this text, if it may. Its reply
 * is its state then. */
void ilk__acceptor_order(ilk__quorum_node *node, const char *word,
                         const char *text, int64_t now);
/* The numbers of a list without the edition. */
const char *ilk__acceptor_numbers(const char *list);
/* 1 when both have the same numbers, and `than` is a later edition. */
int ilk__acceptor_is_earlier(const char *list, const char *than);
/* Its connection is lost; it has refused a request. */
void ilk__acceptor_lost(ilk__quorum_node *node);
void ilk__acceptor_refused(ilk__quorum_node *node);
void ilk__acceptors_fire(ilk__quorum *quorum, int64_t now);
int64_t ilk__acceptors_due(const ilk__quorum *quorum);

/* ---- quorum_adoption.c --------------------------------------------------- */

/* Begin to take the node in again, unless it keeps its registers. Any thread. */
ilk_status ilk__quorum_adopt(void *self, size_t index);
int ilk__adoption_is_under_way(const ilk__quorum *quorum);
void ilk__adoption_fire(ilk__quorum *quorum, int64_t now);
int64_t ilk__adoption_due(const ilk__quorum *quorum);

/* ---- quorum_register_proposals.c ----------------------------------------- */

/* register_get, _wait, _set and _delete. */
void ilk__quorum_propose(ilk__quorum *quorum, ilk__gateway_request *request);
void ilk__proposals_fire(ilk__quorum *quorum, int64_t now);
int64_t ilk__proposals_due(const ilk__quorum *quorum);
void ilk__proposals_free(ilk__quorum *quorum);

/* ---- quorum_inspect.c ---------------------------------------------------- */

void ilk__quorum_inspect(ilk__quorum *quorum, ilk__gateway_request *request);

/* ---- quorum_list.c ------------------------------------------------------- */

void ilk__quorum_command(void *self, ilk__gateway_request *request);

/* ---- quorum_refresh.c ---------------------------------------------------- */

void ilk__quorum_refresh(ilk__quorum *quorum, ilk__gateway_request *request);

/* ---- quorum_leader.c ----------------------------------------------------- */

void ilk__quorum_proclaim(ilk__quorum *quorum, ilk__gateway_request *request);
void ilk__quorum_inspect_leader(ilk__quorum *quorum,
                                ilk__gateway_request *request);
void ilk__quorum_observe(ilk__quorum *quorum, ilk__gateway_request *request);
void ilk__quorum_refresh_observers(ilk__quorum *quorum,
                                   ilk__gateway_request *request);
void ilk__quorum_cancel_observer(ilk__quorum *quorum,
                                 ilk__gateway_request *request);

/* ---- quorum_status.c ----------------------------------------------------- */

void ilk__quorum_count_call(ilk__quorum_node *node);
void ilk__quorum_count_reply(ilk__quorum_node *node, const ilk__node_call *call,
                             const ilk__reply *reply);
ilk_node_state ilk__quorum_state_of(const ilk__quorum_node *node);
/* When a node that waits votes, as far as is known; ilk__now_ms()'s time. */
int64_t ilk__quorum_votes_at(const ilk__quorum_node *node);
/* Let other threads read what was counted, and the nodes' states. */
void ilk__quorum_publish(ilk__quorum *quorum);
/* Any thread. */
ilk_status ilk__quorum_node_stats(void *self, size_t index,
                                  ilk_node_stats *out);

/* ---- quorum_requests.c --------------------------------------------------- */

/* The token in an entry, `1 <kind> <client> <waiter> <token> ...`, or nothing. */
ilk__bytes ilk__quorum_token_of(const ilk__bytes *entry);

void ilk__quorum_call(void *self, ilk__gateway_request *request);

#endif

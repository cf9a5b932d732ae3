/* SPDX-License-Identifier: MIT */
/*
 * etcd_store.h -- the parts of the backend: leases, entries, names, and calls.
 *
 *     contention          this                                etcd
 *
 *     ilk__contender      ilk__etcd_entry  one key            N/<lease>-x1
 *     ilk__contended      ilk__etcd_name   a prefix, a watch  N/
 *                         ilk__etcd_lease  one for each ttl
 *
 * An entry or a name is freed when contention has forgotten it and no call refers to
 * it. A call (ilk__etcd_step) is one request to the server, with what its answer is
 * for.
 *
 * A transaction whose answer is missing may still be executed later, and then a key
 * appears that was deleted before. So each join compares that its void key
 * `ilk:void/<lease>-x1.<token>` does not exist, and a leave after a join without
 * an answer writes that key in the transaction that deletes the own one. It ends with
 * the lease.
 */
#ifndef ILK__ETCD_STORE_H
#define ILK__ETCD_STORE_H

#include "etcd_client.h"
#include "stores/shared/contention.h"
#include "stores/shared/groups.h"
#include "stores/shared/name_queue.h"
#include "stores/shared/registers.h"

typedef struct ilk__etcd_store ilk__etcd_store;
typedef struct ilk__etcd_lease ilk__etcd_lease;
typedef struct ilk__etcd_entry ilk__etcd_entry;
typedef struct ilk__etcd_name ilk__etcd_name;
typedef struct ilk__etcd_step ilk__etcd_step;

enum {
    ILK__ETCD_ATTEMPTS = 8,  /* of a call that another one has made void */
    ILK__ETCD_AGAIN_MS = 300 /* pause before a call or watch is repeated */
};

typedef enum ilk__etcd_lease_state {
    ILK__ETCD_LEASE_BEGINS,
    ILK__ETCD_LEASE_READY,
    ILK__ETCD_LEASE_LOST /* the server has said so, or never granted it */
} ilk__etcd_lease_state;

struct ilk__etcd_lease {
    ilk__etcd_lease *next;
    ilk__etcd_store *store;
    ilk__etcd_lease_state state;
    int64_t id;
    int64_t wanted_s, ttl_ms; /* the server may grant a longer one */
    int64_t renewed_at;       /* local time of the sending */
    int64_t keep_at;          /* the next keep-alive, if an entry waits then */
    int is_kept;              /* a keep-alive has no answer yet */
    ilk__etcd_entry *entries;
    size_t refs; /* entries and calls */
};

struct ilk__etcd_entry {
    ilk__contender *contender; /* NULL: forgotten */
    ilk__etcd_name *name;
    ilk__etcd_lease *lease;           /* NULL: none yet */
    ilk__etcd_entry *next, *previous; /* of its lease */
    ilk__node by_key;
    ilk__bytes key;  /* empty: no join was sent under this lease */
    uint64_t number; /* in the key */
    size_t refs;     /* contender and calls */
    int64_t create_revision, mod_revision; /* 0: not known */
    int64_t seen_at; /* revision of the last list that had it */
    int attempts;
    int awaits_lease; /* what it does next needs the lease, see below */
    int joins;        /* a join has no answer yet */
    int sets_limit;   /* its join replaces the limit of an unused semaphore */
    int is_unknown;   /* a join had no answer, and may be executed later */
    int is_left;      /* a leave had no answer, and may be executed */
    int has_left;     /* its only leave has deleted the key, or found none */
    int is_lost;      /* the leave in progress ends with lost() */
    int has_listed;   /* it tried once in vain and joins the list after all */
    int holds;        /* granted() was reported */
    int awaits_fresh; /* it is first; granted() follows a keep-alive */
    int leaves;       /* leave() was called */
    int is_leaving;   /* that has no answer yet */
    int64_t leave_at; /* the next attempt, or ILK__FOREVER */
    int renews;       /* renew() without a report */
    int renew_is_read, renew_is_kept;
    int64_t renew_sent_at;
    ilk__etcd_lease *moves_to; /* the renewal puts the key there */
    ilk__etcd_lease
        *perhaps_in; /* a move there may be executed, now or later */
    int is_moving;   /* its answer is to come */
    int is_astray;   /* the key is in a lease that is not known */
};

/* Which keys a list contains. */
typedef enum ilk__etcd_read_mode {
    ILK__ETCD_READ_NONE,
    ILK__ETCD_READ_LAST, /* the last two: the own new key, and the one before */
    ILK__ETCD_READ_BEFORE, /* the own key, and the one before */
    ILK__ETCD_READ_WHOLE
} ilk__etcd_read_mode;

struct ilk__etcd_name {
    ilk__etcd_name *next, *previous;
    ilk__contended *contended; /* NULL: forgotten */
    ilk__etcd_store *store;
    ilk__contended_kind kind;
    size_t refs;      /* contended, entries and calls */
    char *prefix;     /* `N/` */
    char *prefix_end; /* `N0`: behind all keys that begin with it */
    char *limit_key;  /* of a semaphore, or NULL; limit_len */
    size_t limit_len;
    size_t prefix_len;   /* of both */
    int64_t limit, base; /* as last read; 0: not known */
    int64_t limit_revision;
    uint64_t next_number; /* in a key: at most the least that is free */
    size_t readers;       /* entries of this kind */
    int has_strangers; /* keys that are no contenders: the key before an own one says nothing */
    int is_reading; /* lists without an answer */
    int must_read;
    int64_t revision;      /* of the newest list */
    int64_t before_number; /* the entry that has `before` before it */
    ilk__bytes before;     /* a key */
    ptrdiff_t
        whole_watch; /* of the newest whole list: NONE, ALL or 0, `before` */
    ilk__etcd_watch *watch;
    ilk__bytes watched; /* its key; empty: all */
    int64_t watch_at;   /* not before: after a failure */
    int64_t read_at;    /* the same for a list */
    int64_t lazy_for,
        lazy_at; /* a hold of this client is watched from then on */
    ilk__etcd_watch *observer;
    int observes, has_changed;
    int64_t observe_at;
};

typedef void ilk__etcd_then(ilk__etcd_step *step,
                            const ilk__etcd_answer *answer);

struct ilk__etcd_step {
    ilk__etcd_store *store;
    ilk__etcd_then *then;
    ilk__etcd_name *name; /* these hold references */
    ilk__etcd_entry *entry;
    ilk__etcd_lease *lease;
    ilk__gateway_request *request;
    ilk__etcd_read_mode mode;   /* of the list in the answer */
    ilk__etcd_entry *before_of; /* BEFORE: a reference */
    size_t list_at[2];          /* its first op in either branch */
    int64_t number, base;
    size_t deletes;         /* keys that a break deletes */
    int64_t until_revision; /* those that a break means have no later one */
    int attempts, is_try;
    void *context;
};

/* A lease that new keys are bound to until then. */
typedef struct ilk__etcd_loan {
    int64_t id; /* 0: none */
    int64_t until;
} ilk__etcd_loan;

struct ilk__etcd_store {
    ilk__gateway *gateway;
    ilk__etcd *client;
    ilk__contention *contention;
    ilk__registers *registers;
    struct etcd_register *registers_watched; /* etcd_registers.c only */
    int64_t registers_due;
    ilk__etcd_loan once, deleted; /* of the keys of changes, of deleted ones */
    ilk__groups *groups;
    ilk__etcd_lease *leases;
    ilk__etcd_name *names;
    ilk__table by_key; /* entries */
    /* Numbers in keys: the first that is certainly in no request, and the greatest
     * that was used. */
    uint64_t first_number, last_number;
    int64_t due;             /* the next timer of names and entries */
    int64_t report_revision; /* of the list that is reported */
    int is_closing;
    int is_warned; /* of the server's version */
};

/* ---- etcd.c ---------------------------------------------------------------- */

/* A member of this version that led, was frozen and is thawed may end leases that are
 * renewed at the present leader. */
int ilk__etcd_may_end_leases(const char *version);

/* ---- etcd_keys.c ----------------------------------------------------------- */

typedef struct ilk__etcd_shape {
    int is_foreign;
    ilk__contender_kind kind; /* of foreign ones: as the name's own */
    int64_t permits;
    ilk__span lease, token; /* of a candidate; it may be encoded */
} ilk__etcd_shape;

/* The text of a value: what is missing is empty or 0. */
typedef struct ilk__etcd_value {
    int64_t since_ms;
    ilk__span token, who; /* the token may be encoded */
} ilk__etcd_value;

/* The key of an entry under its lease, with a number of its own. ILK_ENOMEM. */
ilk_status ilk__etcd_key_make(ilk__bytes *out, ilk__etcd_entry *entry);
/* The entry has this key, if any, no more. */
void ilk__etcd_key_free(ilk__etcd_entry *entry);
/* From its key and its token; the caller frees it. ILK_ENOMEM. */
ilk_status ilk__etcd_void_key_make(ilk__bytes *out,
                                   const ilk__etcd_entry *entry);
/* Whether the key is of a contender of this name. */
int ilk__etcd_key_parse(ilk__etcd_shape *out, const ilk__etcd_name *name,
                        ilk__span key);
/* Whether both exclude one another. */
int ilk__etcd_key_excludes(const ilk__etcd_shape *one,
                           ilk__contender_kind kind);
int ilk__etcd_token_equals(ilk__span encoded, ilk__span token);
/* Decode a token; returns its length, at most that of the encoded one. */
size_t ilk__etcd_token_decode(char *out, ilk__span encoded);
/* The text of an own key's value. ILK_ENOMEM. */
ilk_status ilk__etcd_value_make(ilk__bytes *out, const ilk__contender *of);
void ilk__etcd_value_parse(ilk__etcd_value *out, ilk__span value);

/* ---- etcd_steps.c ---------------------------------------------------------- */

/* NULL: no memory. It takes references to what is not NULL. */
ilk__etcd_step *ilk__etcd_step_new(ilk__etcd_store *store, ilk__etcd_then *then,
                                   ilk__etcd_name *name, ilk__etcd_entry *entry,
                                   ilk__etcd_lease *lease);
void ilk__etcd_step_free(ilk__etcd_step *step); /* one that was not sent */
/* Send it. `then` is always called, also at once with an error; a step NULL is not
 * allowed. */
void ilk__etcd_step_commit(ilk__etcd_step *step, const ilk__etcd_txn *txn);
/* lease 0: the server chooses the number. */
void ilk__etcd_step_grant(ilk__etcd_step *step, int64_t lease, int64_t ttl_s);
void ilk__etcd_step_revoke(ilk__etcd_step *step, int64_t lease);
void ilk__etcd_step_keep_alive(ilk__etcd_step *step, int64_t lease);
void ilk__etcd_step_time_to_live(ilk__etcd_step *step, int64_t lease);
void ilk__etcd_step_ask_status(ilk__etcd_step *step);
/* Add the ops of a list to a transaction's; returns how many. */
size_t ilk__etcd_list_ops(const ilk__etcd_step *step, ilk__etcd_op *ops);
ilk__etcd_op ilk__etcd_get(const void *key, size_t len);
ilk__etcd_compare ilk__etcd_compare_number(ilk__etcd_target target,
                                           const void *key, size_t len,
                                           int64_t number);

void ilk__etcd_entry_unref(ilk__etcd_entry *entry);
void ilk__etcd_name_unref(ilk__etcd_name *name);
void ilk__etcd_lease_unref(ilk__etcd_lease *lease);
void ilk__etcd_timer(ilk__etcd_store *store, int64_t at);

extern const char ilk__etcd_no_memory[]; /* an error's text */

/* ---- etcd_leases.c --------------------------------------------------------- */

/* Bind the entry to the client's lease of lease_ms, which it may have to begin.
 * ILK_ENOMEM. */
ilk_status ilk__etcd_lease_bind(ilk__etcd_entry *entry, int64_t lease_ms);
/* One that lasts until then, without a further keep-alive. NULL: no memory. */
ilk__etcd_lease *ilk__etcd_lease_find(ilk__etcd_store *store, int64_t lease_ms,
                                      int64_t until);
void ilk__etcd_lease_join(ilk__etcd_lease *lease, ilk__etcd_entry *entry);
void ilk__etcd_lease_part(ilk__etcd_entry *entry);
int64_t ilk__etcd_lease_end(const ilk__etcd_lease *lease);
/* Whether that is far enough away for a new hold of this contender. */
int ilk__etcd_lease_is_fresh(const ilk__etcd_lease *lease,
                             const ilk__contender *contender);
void ilk__etcd_lease_keep(ilk__etcd_lease *lease);
/* The server has said that it is gone, and with it all its entries. */
void ilk__etcd_lease_lost(ilk__etcd_lease *lease);
void ilk__etcd_leases_fire(ilk__etcd_store *store, int64_t now);
int64_t ilk__etcd_leases_due(const ilk__etcd_store *store);

/* ---- etcd_join.c, etcd_leave.c, etcd_renew.c ------------------------------- */

void ilk__etcd_join(void *self, ilk__contender *contender);
void ilk__etcd_join_send(ilk__etcd_entry *entry);
void ilk__etcd_join_failed(ilk__etcd_entry *entry, const char *text);

void ilk__etcd_leave(void *self, ilk__contender *contender);
void ilk__etcd_leave_send(ilk__etcd_entry *entry);
void ilk__etcd_leave_done(ilk__etcd_entry *entry, int is_deleted);

void ilk__etcd_renew(void *self, ilk__contender *contender);
/* The lease that it needs is ready or kept alive, or that has failed. */
void ilk__etcd_renew_continue(ilk__etcd_entry *entry);
void ilk__etcd_renew_failed(ilk__etcd_entry *entry, const char *text);
/* Its key is in this lease now. */
void ilk__etcd_renew_follow(ilk__etcd_entry *entry, ilk__etcd_lease *to);
void ilk__etcd_proclaim(void *self, ilk__contender *contender);

/* ---- etcd_names.c ---------------------------------------------------------- */

/* ILK_ENOMEM: the name has no memory of its own yet. */
ilk_status ilk__etcd_name_find(ilk__etcd_name **out, ilk__etcd_store *store,
                               ilk__contended *contended);
/* Whether only the whole list says who holds. */
int ilk__etcd_name_needs_whole(const ilk__etcd_name *name);
/* Choose what a list in the answer contains: what the first own contender that
 * waits needs. */
void ilk__etcd_name_choose_list(ilk__etcd_step *step);
/* Report what the list in an answer says. */
void ilk__etcd_name_learn(ilk__etcd_step *step, const ilk__etcd_answer *answer);
/* It is first: granted(), at once or after a keep-alive. */
void ilk__etcd_name_grant(ilk__etcd_entry *entry, int64_t sent_at);
void ilk__etcd_name_grant_now(ilk__etcd_entry *entry, int64_t sent_at);
/* After a failure. */
void ilk__etcd_name_read_later(ilk__etcd_name *name);
/* Of this client's contenders; NULL: none waits. */
ilk__etcd_entry *ilk__etcd_name_first_waiting(const ilk__etcd_name *name);
void ilk__etcd_name_read(ilk__etcd_name *name, ilk__etcd_read_mode mode,
                         ilk__etcd_entry *before_of);
/* A semaphore's limit, as its key has it: 0 when the text is none. */
int ilk__etcd_limit_parse(ilk__etcd_name *name, const ilk__etcd_op_answer *op);
/* Its own key is gone, or its lease is: then entry->lease is NULL. */
void ilk__etcd_entry_gone(ilk__etcd_entry *entry);
void ilk__etcd_check(void *self, ilk__contended *name,
                     ilk__gateway_request *request);

/* ---- etcd_watches.c -------------------------------------------------------- */

/* Watch, or read, what is needed now. */
void ilk__etcd_name_settle(ilk__etcd_name *name);
void ilk__etcd_observe(void *self, ilk__contended *name, int begins);
/* Of contention: they are not used any more. */
void ilk__etcd_forget_name(void *self, ilk__contended *contended);
void ilk__etcd_forget(void *self, ilk__contender *contender);
void ilk__etcd_names_fire(ilk__etcd_store *store, int64_t now);

/* ---- etcd_list.c ----------------------------------------------------------- */

void ilk__etcd_list_names(void *self, ilk__gateway_request *request);

/* ---- etcd_registers.c ------------------------------------------------------- */

void ilk__etcd_register_read(void *self, ilk__register_name *name,
                             ilk__gateway_request *request);
void ilk__etcd_register_change(void *self, ilk__register_name *name,
                               const ilk__register_change *change,
                               ilk__gateway_request *request);
ilk_status ilk__etcd_register_watch(void *self, ilk__register_name *name,
                                    int begins);
void ilk__etcd_register_forget(void *self, ilk__register_name *name);
void ilk__etcd_registers_fire(ilk__etcd_store *store, int64_t now);

/* ---- etcd_groups.c ---------------------------------------------------------- */

void ilk__etcd_group_join(void *self, ilk__group_name *name,
                          const ilk__group_member *member,
                          ilk__gateway_request *request);
void ilk__etcd_group_renew(void *self, ilk__group_name *name,
                           const ilk__group_member *member,
                           ilk__gateway_request *request);
void ilk__etcd_group_update(void *self, ilk__group_name *name,
                            const ilk__group_member *member,
                            ilk__gateway_request *request);
void ilk__etcd_group_leave(void *self, ilk__group_name *name,
                           const ilk__group_member *member,
                           ilk__gateway_request *request);
void ilk__etcd_group_list(void *self, ilk__group_name *name, int watches);
void ilk__etcd_group_forget(void *self, ilk__group_name *name);

/* ---- etcd_inspect.c -------------------------------------------------------- */

void ilk__etcd_inspect(void *self, ilk__contended *name, int64_t most,
                       ilk__gateway_request *request);
void ilk__etcd_break(void *self, ilk__contended *name, ilk__span token,
                     ilk__gateway_request *request);
void ilk__etcd_set_limit(void *self, ilk__contended *name, int64_t limit,
                         int64_t base, ilk__gateway_request *request);

#endif

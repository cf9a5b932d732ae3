/* SPDX-License-Identifier: MIT */
/*
 * zookeeper_store.h -- the parts of the backend: session, requests, entries, names.
 *
 *     contention          this                          ZooKeeper
 *
 *                         ilk__zk         one session
 *     ilk__contended      ilk__zk_name    a parent      /path/N
 *     ilk__contender      ilk__zk_entry   a child       _c_<uuid>-lock-0000000007
 *                         ilk__zk_op      one request
 *                         ilk__zk_job     inspections and the like: some requests
 *     registers           ilk__zk_register, jobs        one node for each
 *     groups              ilk__zk_group, jobs           a parent, a child for each member
 *
 * Each frame of the server is read when it is whole; ilk__zk_act() acts upon the answer.
 * All requests of a session's connection are executed in order, and answered in that
 * order, so a read that was sent after a create contains its effect.
 *
 * A request without an answer may have been executed. After a new connection a sync is
 * the first request: from then on the requests of the old connection are either
 * executed and visible, or void. So an entry that is not found by its uuid behind
 * that sync does not exist.
 */
#ifndef ILK__ZOOKEEPER_STORE_H
#define ILK__ZOOKEEPER_STORE_H

#include "base/clock.h"
#include "base/table.h"
#include "net/url.h"
#include "stores/shared/contention.h"
#include "stores/shared/groups.h"
#include "stores/shared/name_queue.h"
#include "stores/shared/registers.h"
#include "zookeeper_conn.h"

typedef struct ilk__zk ilk__zk;
typedef struct ilk__zk_op ilk__zk_op;
typedef struct ilk__zk_entry ilk__zk_entry;
typedef struct ilk__zk_name ilk__zk_name;
typedef struct ilk__zk_job ilk__zk_job;
typedef struct ilk__zk_register ilk__zk_register;
typedef struct ilk__zk_group ilk__zk_group;
typedef struct ilk__zk_member ilk__zk_member;
typedef struct ilk__zk_watch ilk__zk_watch;

enum {
    ILK__ZK_ATTEMPTS = 8,   /* of what another client has made void */
    ILK__ZK_AGAIN_MS = 200, /* pause before something is repeated */
    ILK__ZK_UUID = 36,
    ILK__ZK_ANSWERS = 16,
    ILK__ZK_HOSTS = 32
};

/* ---- requests ------------------------------------------------------------ */

typedef enum ilk__zk_op_kind {
    ILK__ZK_CREATE,
    ILK__ZK_DELETE,
    ILK__ZK_EXISTS,
    ILK__ZK_GET,
    ILK__ZK_SET,
    ILK__ZK_CHILDREN,
    ILK__ZK_SYNC,
    ILK__ZK_ACL
} ilk__zk_op_kind;

typedef void ilk__zk_then(ilk__zk_op *op);

struct ilk__zk_op {
    ilk__zk_op *next, *previous; /* those under way, or those with an answer */
    ilk__zk *store;
    ilk__zk_op_kind kind;
    ilk__zk_then *then; /* NULL: nobody needs the answer */
    ilk__zk_name *name; /* these are references */
    ilk__zk_entry *entry;
    ilk__zk_job *job;
    uint64_t number; /* of the sending: later ones are greater */
    int64_t sent_at, answered_at;
    size_t index; /* the caller's */
    char *child;  /* likewise; freed with it */
    size_t child_len;
    int watches;
    uint64_t watch_for;   /* the number of a name, a register or a group */
    ilk__zk_watch *watch; /* to be set by its answer, or NULL */
    char *asked;          /* CREATE: the path of the request */
    int is_sequential;    /* CREATE: the server adds a number to it */

    /* the answer */
    int rc;
    char *text; /* CREATE: the path; GET: the data; ACL: the encoded list */
    size_t text_len;
    ilk__zk_stat stat;
    char **children; /* texts in one block, which is `text` */
    size_t child_count;
};

/* ---- the session --------------------------------------------------------- */

/* When an answered request was sent, and when its answer came. */
typedef struct ilk__zk_answer {
    int64_t sent_at, answered_at;
} ilk__zk_answer;

typedef enum ilk__zk_state {
    ILK__ZK_CONNECTS, /* no connection, or the server has not opened the session */
    ILK__ZK_PREPARES, /* connected: the path and its access list are read */
    ILK__ZK_READY
} ilk__zk_state;

struct ilk__zk {
    ilk__gateway *gateway;
    ilk__contention *contention;
    ilk__registers *registers;
    ilk__url
        url; /* its login and its files for TLS; `target` has a host, too */
    ilk__url target;
    char *path; /* "" or "/a/b" */
    char *hosts[ILK__ZK_HOSTS];
    int ports[ILK__ZK_HOSTS];
    size_t host_count, host_at;
    size_t dials, failures; /* in all; since a connection that lasted */
    int64_t connect_ms, reply_ms;
    int wanted_session_ms;

    ilk__zk_conn *conn; /* or NULL */
    ilk__zk_state state;
    int is_asked;      /* the server has to open the session */
    int is_logging_in; /* the login has no answer yet */
    int has_more;      /* not all that has come is read */
    int64_t open_at, asked_at;
    int pause_step;
    int64_t answered_at; /* the newest answer to any request */
    int64_t session_id;  /* 0: a new one is begun */
    char session_password[ILK__ZK_PASSWORD];
    int64_t zxid;   /* the greatest that the server has named in the session */
    int session_ms; /* as the server has decided */
    int is_expired, is_refused; /* the session is of no use any more */
    ilk__table watches;         /* of this connection */
    ilk__zk_answer answers[ILK__ZK_ANSWERS]; /* of this connection, a ring */
    size_t answer_count;
    int64_t connect_sent_at; /* it touched the session at the leader */
    int64_t leader_sent_at;  /* of the newest answer that needed the leader */
    int64_t heartbeat_at;
    int64_t pauses_until;   /* it does not connect: the session is to expire */
    int64_t no_pause_until; /* then it tries to connect for a whole timeout */
    ilk__bytes acl;         /* of all nodes, encoded; NULL data: not known */
    size_t made; /* length of the part of the path that is being made */
    int has_no_containers;
    int has_missed;  /* a watch: for want of memory, or with a connection */
    char error[200]; /* why there is no connection; or empty */

    ilk__zk_op *first, *last;                   /* under way, oldest first */
    ilk__zk_op *first_answered, *last_answered; /* to be acted upon */
    uint64_t op_number, name_number;
    ilk__zk_name *names;
    ilk__zk_job *jobs;
    ilk__zk_register *registers_used;
    ilk__groups *groups;
    ilk__zk_group *groups_used;
    ilk__table members; /* of groups: those of this client */
    ilk__timers member_timers;
    int64_t due;
    int is_closing;
};

/* ---- names and entries --------------------------------------------------- */

struct ilk__zk_name {
    ilk__zk_name *next, *previous;
    ilk__zk *store;
    ilk__contended *contended; /* NULL: forgotten */
    ilk__contended_kind kind;
    uint64_t number;
    size_t refs;
    char *path; /* of the parent */
    int must_read, is_making;
    int64_t read_at;     /* not before */
    int has_written;     /* this turn has a write: a list needs no sync */
    int64_t limit, base; /* of a semaphore, as last read; 0: none */
    int limit_version;   /* -1: there is no parent */
    uint64_t listed;     /* number of the newest list's request */
    char *watched;       /* the child that is watched, or NULL */
    uint64_t watch_op;   /* number of the request that watches it */
    int watches_all;
    int observes, observer_is_set;
    int64_t observe_at;
};

struct ilk__zk_entry {
    ilk__contender *contender; /* NULL: forgotten */
    ilk__zk_name *name;
    size_t refs;
    char uuid[ILK__ZK_UUID + 1];
    char *node;           /* its name below the parent; NULL: not known */
    int64_t czxid;        /* 0: not known */
    int64_t since_ms;     /* of the epoch: when it joined */
    uint64_t created_op;  /* number of its create */
    int creates, deletes; /* the request is under way */
    int is_unsure;        /* a create without an answer */
    int is_finding;       /* its czxid is being read */
    int leaves;           /* leave() was called */
    int is_left;          /* a delete without an answer */
    int holds;
    int renews, renew_is_sent, proclaims, proclaim_is_sent;
    int sets_limit;
    int attempts;
    int64_t by; /* then failed(), when no answer has come; ILK__FOREVER */
};

/* ---- what belongs to no contender ---------------------------------------- */

typedef void ilk__zk_run(ilk__zk_job *job);

struct ilk__zk_job {
    ilk__zk_job *next;
    ilk__zk *store;
    ilk__zk_name *name; /* a reference, or NULL */
    ilk__gateway_request *request;
    ilk__zk_run *run; /* begin, or begin again */
    void (*fail)(ilk__zk_job *job, const char *text);
    size_t refs;
    int is_running, is_over;
    int64_t by;
    int attempts;
    ilk__bytes token; /* of a break */
    char **targets;
    size_t target_count, answered;
    int was_held;
    size_t most;
    int64_t limit, base, limit_before;
    void *context; /* of an inspection, or a list of names */
    void (*drop_context)(ilk__zk_job *job);

    ilk__register_name *of_register; /* or NULL */
    ilk__register_change change;     /* without a token: it reads */
    int64_t first_version;           /* that it has read */
    int is_unsure;                   /* a write has had no answer */
    int has_forgotten; /* an earlier copy may be missing in the history */

    int is_of_group, is_writing; /* a write has no answer yet */
    ilk__group_name *of_group;   /* NULL: a member without a request lapses */
    ilk__group_member member;    /* of a request */
    char *path;                  /* its node */
};

/* ---- zookeeper_ops.c ----------------------------------------------------- */

extern const char ilk__zk_no_memory[];

/* NULL: no memory. It takes references. */
ilk__zk_op *ilk__zk_op_new(ilk__zk *store, ilk__zk_then *then,
                           ilk__zk_name *name, ilk__zk_entry *entry,
                           ilk__zk_job *job);
/* Send it; `then` is called later, in each case. A watch is for op->name. */
/* The access list is encoded. */
void ilk__zk_create(ilk__zk_op *op, const char *path, ilk__span data, int mode,
                    ilk__span acl);
void ilk__zk_delete(ilk__zk_op *op, const char *path);
void ilk__zk_exists(ilk__zk_op *op, const char *path, int watches);
void ilk__zk_get(ilk__zk_op *op, const char *path, int watches);
void ilk__zk_set(ilk__zk_op *op, const char *path, ilk__span data, int version);
void ilk__zk_children(ilk__zk_op *op, const char *path, int watches);
/* A sync whose answer nobody waits for. 0: no memory, and nothing was sent. */
int ilk__zk_sync(ilk__zk *store);
void ilk__zk_sync_for(ilk__zk_op *op);
void ilk__zk_read_acl(ilk__zk_op *op, const char *path);
/* The answer to the oldest request under way. ILK_EREPLY: it is none. */
ilk_status ilk__zk_take_answer(ilk__zk *store, int32_t xid, int32_t code,
                               ilk__zk_reader *from, ilk_error *err);
/* Act upon the answers. */
void ilk__zk_act(ilk__zk *store);
void ilk__zk_op_free(ilk__zk_op *op);
/* Those under way get no answer, but this code. */
void ilk__zk_ops_end(ilk__zk *store, int code);
/* Whether the server has not answered: it may have been executed. */
int ilk__zk_is_unsure(int rc);
/* The text of an error, for the core. */
const char *ilk__zk_error(char text[200], int rc);

/* ---- zookeeper_session.c ------------------------------------------------- */

size_t ilk__zk_prepare(ilk__zk *store, struct pollfd *fds, size_t room,
                       int64_t *until);
void ilk__zk_polled(ilk__zk *store, const struct pollfd *fds, size_t count);
/* A frame of the server, in `from`. A failure ends the connection. */
ilk_status ilk__zk_take_frame(ilk__zk *store, ilk__span frame, ilk_error *err);
void ilk__zk_note_answer(ilk__zk *store, const ilk__zk_op *op);
/* Until then the leader keeps the session. */
int64_t ilk__zk_session_end(const ilk__zk *store);
/* Read, or make, the path and its access list. */
void ilk__zk_prepare_path(ilk__zk *store);
/* Close the session and the connection; all requests end. */
void ilk__zk_shut(ilk__zk *store);
/* Of all nodes that are made, encoded. */
ilk__span ilk__zk_acl(const ilk__zk *store);
/* In a forked child. */
void ilk__zk_abandon(ilk__zk *store);
void ilk__zk_timer(ilk__zk *store, int64_t at);
const char *ilk__zk_why_down(const ilk__zk *store, char text[300]);

/* ---- zookeeper_watches.c ------------------------------------------------- */

/* NULL: no memory. */
ilk__zk_watch *ilk__zk_watch_new(const char *path, uint64_t number);
void ilk__zk_watch_free(ilk__zk_watch *watch); /* one that is not set */
/* The server has set it, if the code of the answer says so. 0: no memory; it is lost.
 * It is freed in each case but when its event comes. */
int ilk__zk_watch_set(ilk__zk *store, ilk__zk_watch *watch,
                      ilk__zk_op_kind kind, int code);
void ilk__zk_watches_fire(ilk__zk *store, ilk__zk_event event, ilk__span path);
void ilk__zk_watches_forget(ilk__zk *store);

/* ---- zookeeper_nodes.c --------------------------------------------------- */

typedef struct ilk__zk_shape {
    ilk__contender_kind kind;
    int64_t permits;
    int32_t number;
} ilk__zk_shape;

/* The path of the node for a key, below the path of the URL. NULL: no memory. */
char *ilk__zk_path_of(const char *path, ilk__span key);
/* The path of a child, or NULL: no memory. */
char *ilk__zk_child_path(const ilk__zk_name *name, const char *child);
/* The path for the create of an entry, to which the server adds the number. */
char *ilk__zk_entry_path(const ilk__zk_entry *entry);
int ilk__zk_uuid(char out[ILK__ZK_UUID + 1]);
int ilk__zk_shape_parse(ilk__zk_shape *out, const ilk__zk_name *name,
                        const char *child);
/* Whether the number a was given before b; it begins again behind 2^31. */
int ilk__zk_is_before(int32_t a, int32_t b);
ilk_status ilk__zk_data_make(ilk__bytes *out, const ilk__contender *of,
                             int64_t since_ms);
/* The words stay encoded. */
void ilk__zk_data_parse(ilk__span data, int64_t *out_since,
                        ilk__span *out_token, ilk__span *out_who,
                        ilk__span *out_value);
size_t ilk__zk_decode(char *out, ilk__span encoded);

/* ---- zookeeper_entries.c ------------------------------------------------- */

void ilk__zk_join(void *self, ilk__contender *contender);
void ilk__zk_renew(void *self, ilk__contender *contender);
void ilk__zk_leave(void *self, ilk__contender *contender);
void ilk__zk_proclaim(void *self, ilk__contender *contender);
void ilk__zk_forget(void *self, ilk__contender *contender);
/* Do what is next. The entry may be freed. */
void ilk__zk_entry_advance(ilk__zk_entry *entry);
/* The list, read behind its create, does not have it. */
void ilk__zk_entry_missing(ilk__zk_entry *entry);
void ilk__zk_entry_found(ilk__zk_entry *entry, const char *node);
/* The session is over, and all nodes of it. */
void ilk__zk_entry_session_lost(ilk__zk_entry *entry);
void ilk__zk_entry_fire(ilk__zk_entry *entry, int64_t now);
void ilk__zk_entry_unref(ilk__zk_entry *entry);
void ilk__zk_entry_failed(ilk__zk_entry *entry, const char *text);

/* ---- zookeeper_names.c --------------------------------------------------- */

ilk_status ilk__zk_name_find(ilk__zk_name **out, ilk__zk *store,
                             ilk__contended *contended);
void ilk__zk_name_unref(ilk__zk_name *name);
/* Create the parent, then advance its entries and jobs. */
void ilk__zk_name_make(ilk__zk_name *name, int64_t limit);
void ilk__zk_name_must_read(ilk__zk_name *name);
void ilk__zk_name_read_later(ilk__zk_name *name);
/* An own node is being deleted: it needs no watch, because a list follows the delete. */
void ilk__zk_name_deletes(ilk__zk_name *name, const char *node);
void ilk__zk_check(void *self, ilk__contended *contended,
                   ilk__gateway_request *request);
void ilk__zk_forget_name(void *self, ilk__contended *contended);
/* Ready: continue everything. */
void ilk__zk_names_resume(ilk__zk *store);
void ilk__zk_names_session_lost(ilk__zk *store);
/* Send the lists that are due. */
void ilk__zk_names_flush(ilk__zk *store);
void ilk__zk_names_fire(ilk__zk *store, int64_t now);
void ilk__zk_watch_fired(ilk__zk *store, uint64_t number, const char *path);
/* Read the children for `list`, behind a sync unless a write goes before, and a
 * semaphore's limit before them. 0: no memory; nothing was sent, and `list` is freed. */
int ilk__zk_read_list(ilk__zk_op *list, int watches, int is_synced);
void ilk__zk_name_learn(ilk__zk_name *name, ilk__zk_op *op);
/* The nodes that contend, in order; the caller frees. NULL: no memory. */
typedef struct ilk__zk_listed {
    ilk__zk_shape shape;
    uint32_t order;   /* how far behind the first its number is */
    const char *node; /* of the op */
} ilk__zk_listed;
ilk__zk_listed *ilk__zk_sorted(const ilk__zk_name *name, const ilk__zk_op *op,
                               size_t *out_count);

/* ---- zookeeper_limits.c -------------------------------------------------- */

void ilk__zk_limit_parse(ilk__zk_name *name, const ilk__zk_op *op);
/* Those that join with another limit: they are refused, or replace the limit of a
 * semaphore that nobody uses. 1: the list is to be read again first. */
int ilk__zk_limits_judge(ilk__zk_name *name, const ilk__zk_listed *list,
                         size_t count);
void ilk__zk_set_limit(void *self, ilk__contended *name, int64_t limit,
                       int64_t base, ilk__gateway_request *request);

/* ---- zookeeper_observers.c ----------------------------------------------- */

void ilk__zk_observe(void *self, ilk__contended *contended, int begins);
/* Read, and set the watches. */
void ilk__zk_observe_begin(ilk__zk_name *name);
/* A watch of the name has fired. */
void ilk__zk_observe_fired(ilk__zk_name *name);
/* The name's timer. */
void ilk__zk_observe_fire(ilk__zk_name *name, int64_t now);

/* ---- zookeeper_jobs.c, zookeeper_inspect.c ------------------------------- */

/* NULL: no memory, and nothing was reported. */
ilk__zk_job *ilk__zk_job_new(ilk__zk *store, ilk__contended *contended,
                             ilk__gateway_request *request, ilk__zk_run *run,
                             void (*fail)(ilk__zk_job *, const char *));
void ilk__zk_job_start(ilk__zk_job *job);
/* It has been reported. */
void ilk__zk_job_over(ilk__zk_job *job);
/* Whether the caller must return: the job is over, or the server has not answered and
 * the job begins again over the next connection. 0: the caller goes on. */
int ilk__zk_job_repeats(ilk__zk_job *job, const ilk__zk_op *op);
void ilk__zk_job_unref(ilk__zk_job *job);
void ilk__zk_jobs_resume(ilk__zk *store);
void ilk__zk_jobs_fire(ilk__zk *store, int64_t now);
void ilk__zk_jobs_break(ilk__zk *store);
void ilk__zk_inspect(void *self, ilk__contended *name, int64_t most,
                     ilk__gateway_request *request);
void ilk__zk_break(void *self, ilk__contended *name, ilk__span token,
                   ilk__gateway_request *request);
void ilk__zk_contact(void *self, ilk__gateway_request *request);

/* ---- zookeeper_list.c ---------------------------------------------------- */

void ilk__zk_list_names(void *self, ilk__gateway_request *request);

/* ---- zookeeper_registers.c ----------------------------------------------- */

void ilk__zk_register_read(void *self, ilk__register_name *name,
                           ilk__gateway_request *request);
void ilk__zk_register_change(void *self, ilk__register_name *name,
                             const ilk__register_change *change,
                             ilk__gateway_request *request);
ilk_status ilk__zk_register_watch(void *self, ilk__register_name *name,
                                  int begins);
void ilk__zk_register_forget(void *self, ilk__register_name *name);
void ilk__zk_register_watch_fired(ilk__zk *store, uint64_t number);
/* The watches are lost: all waiters read again. */
void ilk__zk_registers_read_again(ilk__zk *store);

/* ---- zookeeper_groups.c -------------------------------------------------- */

void ilk__zk_group_join(void *self, ilk__group_name *name,
                        const ilk__group_member *member,
                        ilk__gateway_request *request);
void ilk__zk_group_renew(void *self, ilk__group_name *name,
                         const ilk__group_member *member,
                         ilk__gateway_request *request);
void ilk__zk_group_update(void *self, ilk__group_name *name,
                          const ilk__group_member *member,
                          ilk__gateway_request *request);
void ilk__zk_group_leave(void *self, ilk__group_name *name,
                         const ilk__group_member *member,
                         ilk__gateway_request *request);
void ilk__zk_group_list(void *self, ilk__group_name *name, int watches);
void ilk__zk_group_forget(void *self, ilk__group_name *name);
void ilk__zk_group_watch_fired(ilk__zk *store, uint64_t number,
                               const char *path);
/* Remove those of this client whose leases have ended. */
void ilk__zk_members_fire(ilk__zk *store, int64_t now);
/* A watch is lost; or all of them, and this client's members. */
void ilk__zk_groups_list_again(ilk__zk *store);
void ilk__zk_groups_session_lost(ilk__zk *store);
/* Of a job that is_of_group, when the client is closed; ilk__zk_job_over() follows. */
void ilk__zk_group_break(ilk__zk_job *job);
void ilk__zk_groups_close(ilk__zk *store);

#endif

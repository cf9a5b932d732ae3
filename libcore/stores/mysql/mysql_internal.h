/* SPDX-License-Identifier: MIT */
/* mysql_internal.h -- what the files of this backend share. */
#ifndef ILK__MYSQL_INTERNAL_H
#define ILK__MYSQL_INTERNAL_H

#include "mysql_conn.h"
#include "mysql_sql.h"

#include "base/clock.h"

#define ILK__MYSQL_TABLE "ilk_lock"

enum {
    ILK__MYSQL_TEXT = 1536, /* of an error */
    /* InnoDB's, for a row: the least that MySQL takes, because the other statements of
     * the connection wait as well. */
    ILK__MYSQL_LOCK_WAIT_S = 1,
    /* Such a wait is over at the server before the client gives the statement up:
     * MySQL looks for waits that are over once a second. */
    ILK__MYSQL_LOCK_WAIT_MOST_MS = ILK__MYSQL_LOCK_WAIT_S * 1000 + 1500,
    /* A free row whose queue's lock somebody has is for everybody after this time. */
    ILK__MYSQL_GRACE_MS = 250,
    /* The most between two looks of a waiter that the wait queue does not wake. */
    ILK__MYSQL_SAFETY_MS = 10000,
    /* The first of the wait queue looks this often while the holder is not in the
     * wait queue: it was adopted, or has lost its session. */
    ILK__MYSQL_HEAD_MS = 1000,
    ILK__MYSQL_POLL_MS = 100, /* a server without sessions */
    ILK__MYSQL_OBSERVE_MS =
        250,                   /* an election that is observed, a register with
                                    waiters */
    ILK__MYSQL_VALID_MS = 3000 /* of an acquire without a session */
};

typedef struct ilk__mysql_register ilk__mysql_register;

struct ilk__mysql {
    ilk__gateway *gateway;
    ilk__contention *contention;
    ilk__registers *registers;
    char *host, *user, *password, *database, *table;
    char *ca, *cert, *key;
    int port, is_tls;
    int64_t connect_ms, reply_ms;
    ilk__mysql_conn *conns; /* all of them */
    size_t shared_count, queue_conn_count;
    int table_is_ready;
    int lacks_sessions; /* GET_LOCK does not stay with the connection */
    int64_t
        clock_us; /* the server's time minus the local one, or a little less */
    char text[ILK__MYSQL_TEXT];    /* of the result that is reported */
    char trouble[ILK__MYSQL_TEXT]; /* why there was no connection, or "" */
    struct ilk__mysql_name *names;
    ilk__mysql_register *registers_watched;
    ilk__mysql_job
        *registers_look; /* a statement for some of them, under way */
};

/* This backend's part of a name. */
typedef struct ilk__mysql_name {
    struct ilk__mysql_name *next; /* in mysql->names */
    ilk__contended *of;
    ilk__mysql_conn
        *queue_conn; /* for the waits, or the hold that followed one; or NULL */
    int has_queue_lock; /* `queue_conn` has the lock, and nobody holds by it */
    ilk__mysql_job *entering; /* GET_LOCK, under way */
    int64_t entered;          /* how often it was sent */
    size_t frees;             /* RELEASE_LOCK, under way */
    int64_t look_at;          /* the next look of the first waiter at the row */
    int64_t enter_at;         /* the next GET_LOCK, after one that has failed */
    int enter_pause_ms;       /* the last pause before it */
    int free_pause_ms; /* the last one after a free row that was not to be had */
    int64_t again_at;  /* of releases without a result */
    int64_t observe_at;      /* ILK__FOREVER: nobody observes */
    ilk__mysql_job *reading; /* for observers */
    int has_seen, seen_leads;
    int64_t seen_fence, seen_version;
    char lock[ILK__MYSQL_QUEUE_LOCK];
} ilk__mysql_name;

/* Its part of a contender. */
typedef struct ilk__mysql_entry {
    ilk__mysql_conn *on; /* where its latest statement is, or was; or NULL */
    unsigned generation; /* the session of `on` in which it got the row */
    ilk__mysql_job *job; /* under way, or NULL */
    int may_hold;        /* the row may be its own */
    int is_unsure;    /* a statement had no result: only `on` can repeat it */
    int leaves;       /* leave() was called */
    int leaves_queue; /* left() follows when its session is out of the queue */
    int was_release_lost; /* one had no answer, and may have released */
    int inserts;          /* of the row, since it was last seen */
    int64_t granted_at;
} ilk__mysql_entry;

/* ---- mysql_pool.c -------------------------------------------------------- */

/* A shared connection for a statement. NULL: no memory. */
ilk__mysql_conn *ilk__mysql_shared_conn(ilk__mysql *self);
/* One for the waits of a name, until it is given back. NULL: no memory, or there are
 * too many. */
ilk__mysql_conn *ilk__mysql_take_queue_conn(ilk__mysql *self);
void ilk__mysql_give_back_queue_conn(ilk__mysql_conn *conn);
/* Send a statement; frees it and returns 0 when it has had no memory. */
int ilk__mysql_submit(ilk__mysql_conn *on, ilk__mysql_job *job);
/* Close connections that have long been idle; the time of the next one. */
int64_t ilk__mysql_close_idle(ilk__mysql *self, int64_t now);

/* ---- mysql_prepare.c ----------------------------------------------------- */

/* A step of preparing, from which a session repeats them when the table has gone. */
enum { ILK__MYSQL_STEP_TABLE = 5 };

/* The next statement that makes a new session ready, or NULL: it is, or the
 * connection has been closed. */
ilk__mysql_job *ilk__mysql_prepare_step(ilk__mysql_conn *conn);
/* mysql_conn.c: the server cannot be used; the jobs fail with self->trouble. */
void ilk__mysql_conn_refuse(ilk__mysql_conn *conn);
/* mysql_conn.c: a step of preparing had an error that may not come again. The
 * connection is opened anew, after a pause, and the jobs stay. */
void ilk__mysql_conn_reopen(ilk__mysql_conn *conn);

/* ---- mysql_store.c ------------------------------------------------------- */

extern const ilk__contention_store ilk__mysql_store;

ilk__mysql_name *ilk__mysql_name_of(ilk__mysql *self, ilk__contended *name);
ilk__mysql_subject ilk__mysql_subject_of(const ilk__mysql *self,
                                         const ilk__mysql_name *name);
/* Try to get the row for a contender that JOINS or WAITS. */
void ilk__mysql_try_row(ilk__mysql *self, ilk__contender *contender);
void ilk__mysql_release_row(ilk__mysql *self, ilk__contender *contender);
/* It holds no longer, as the server has said. The contender is freed. */
void ilk__mysql_lost(ilk__mysql *self, ilk__contender *contender);

/* ---- mysql_queue.c ------------------------------------------------------- */

/* Enter or leave the wait queue, as the contenders of the name need it. */
void ilk__mysql_queue_adjust(ilk__mysql *self, ilk__mysql_name *name);
/* How a try found the row: the rest of the holder's lease; below 0: it is free, but not
 * for us yet. */
void ilk__mysql_queue_busy(ilk__mysql *self, ilk__mysql_name *name,
                           int64_t left_ms);
void ilk__mysql_queue_forget(ilk__mysql *self, ilk__mysql_name *name);
/* A session has ended, and with it the queue's lock that it had. */
void ilk__mysql_session_ended(ilk__mysql_conn *conn);
/* Free the queue's lock, if this session has it and needs it for nothing. */
void ilk__mysql_queue_free_lock(ilk__mysql *self, ilk__mysql_name *name,
                                ilk__mysql_conn *on);
/* Nobody waits here, and the sessions are about to leave the wait queue. Then
 * those with leaves_queue are reported. */
int ilk__mysql_queue_is_closing(const ilk__mysql_name *name);
/* The first contender that waits, or NULL. */
ilk__contender *ilk__mysql_first_waiter(const ilk__mysql_name *name);

/* ---- mysql_inspect.c ----------------------------------------------------- */

void ilk__mysql_check(void *context, ilk__contended *name,
                      ilk__gateway_request *request);
void ilk__mysql_inspect(void *context, ilk__contended *name, int64_t most,
                        ilk__gateway_request *request);
void ilk__mysql_break(void *context, ilk__contended *name, ilk__span token,
                      ilk__gateway_request *request);
void ilk__mysql_observe(void *context, ilk__contended *name, int begins);
void ilk__mysql_read_for_observers(ilk__mysql *self, ilk__mysql_name *name,
                                   int64_t now);

/* ---- mysql_list.c -------------------------------------------------------- */

void ilk__mysql_list_names(ilk__mysql *self, ilk__gateway_request *request);

/* ---- mysql_registers.c --------------------------------------------------- */

void ilk__mysql_register_read(void *context, ilk__register_name *name,
                              ilk__gateway_request *request);
void ilk__mysql_register_change(void *context, ilk__register_name *name,
                                const ilk__register_change *change,
                                ilk__gateway_request *request);
ilk_status ilk__mysql_register_watch(void *context, ilk__register_name *name,
                                     int begins);
void ilk__mysql_register_forget(void *context, ilk__register_name *name);
/* When those with waiters are looked at next. */
int64_t ilk__mysql_registers_due(const ilk__mysql *self);
void ilk__mysql_registers_fire(ilk__mysql *self, int64_t now);

#endif

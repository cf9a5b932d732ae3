/* SPDX-License-Identifier: MIT */
/*
 * mysql_conn.h -- one connection to the server, which executes statements one after
 * another without blocking, and is opened again when it breaks.
 *
 *     CLOSED --due--> RESOLVES --> CONNECTS --> READY <--> QUERIES, STORES
 *        ^                |            |          |            |
 *        +----------------+------------+----------+------------+ broken
 *
 * Over TLS, DIALS is in place of RESOLVES and CONNECTS (mysql_dial.h). A new session
 * executes the steps of preparing first (mysql_prepare.c), then its jobs.
 *
 * A statement that was sent over a connection that broke may have been executed, or
 * may be executed later. So each connection of the server has a name: a user-level lock
 * (GET_LOCK) with random digits, which the server frees when the session has ended. The
 * next connection kills the session that still has the lock of its predecessor, and
 * waits for that lock, before it sends the statement again. A server behind a
 * proxy that keeps no session has no such proof: see `lacks_sessions`.
 */
#ifndef ILK__MYSQL_CONN_H
#define ILK__MYSQL_CONN_H

#include "mysql_dial.h"
#include "mysql_frames.h"

#include "base/buf.h"
#include "net/resolve.h"
#include "stores/shared/contention.h"
#include "stores/shared/registers.h"

#include <mysql.h>
#include <poll.h>

typedef struct ilk__mysql ilk__mysql;
typedef struct ilk__mysql_conn ilk__mysql_conn;
typedef struct ilk__mysql_job ilk__mysql_job;

/* How a statement ended. */
typedef struct ilk__mysql_result {
    unsigned error;   /* the server's number, 0: none */
    const char *text; /* of the error, as a gateway's reply: "ILKDOWN ..." */
    int is_late; /* no result in time: the statement may still be executed */
    uint64_t matched, number; /* rows; the value of LAST_INSERT_ID(...) */
    MYSQL_RES *rows;          /* or NULL */
    int64_t sent_at;          /* the last time */
    int was_sent_before;      /* over an earlier connection */
} ilk__mysql_result;

typedef void ilk__mysql_done(ilk__mysql *self, ilk__mysql_job *job,
                             const ilk__mysql_result *result);

/* A statement. It is idempotent unless is_once. */
struct ilk__mysql_job {
    ilk__mysql_job *next;
    ilk__buf sql;
    size_t repeats_at; /* the place of a digit, see mysql_sql.c; or 0 */
    int no_memory;     /* the statement is incomplete */
    ilk__mysql_done *done;
    ilk__mysql_conn *on;
    ilk__contender *contender; /* whose work it is, or NULL */
    ilk__contended *name;
    ilk__gateway_request *request;
    int breaks_request; /* when it is freed without a result */
    int64_t number;     /* the owner's own */
    int64_t sent_at;    /* 0: not yet */
    int sends, refusals;
    int64_t give_up_at;  /* ILK__FOREVER: it is kept until it has a result */
    int64_t patience_ms; /* of one sending; 0: patience_of(), mysql_conn.c */
    int is_once;         /* it is not sent again over a new connection */
    char lock[24];       /* of the wait queue, for what outlives the name */
    ilk__mysql_conn *kills;
    ilk__register_name *register_name; /* or NULL */
    ilk__register_change change;
    int may_have_run; /* an earlier statement for the change had no result */
    int rounds;       /* of statements for the change */
};

typedef enum ilk__mysql_conn_state {
    ILK__MYSQL_CLOSED,
    ILK__MYSQL_RESOLVES,
    ILK__MYSQL_CONNECTS,
    ILK__MYSQL_DIALS, /* over TLS, in place of both */
    ILK__MYSQL_READY, /* to send; the steps of preparing come first */
    ILK__MYSQL_QUERIES,
    ILK__MYSQL_STORES /* reads the rows */
} ilk__mysql_conn_state;

enum { ILK__MYSQL_MARK = 32 };

struct ilk__mysql_conn {
    ilk__mysql_conn *next;
    ilk__mysql *self;
    MYSQL *mysql;
    ilk__mysql_conn_state state;
    int waits_for; /* MYSQL_WAIT_... bits of the library's call, 0: none */
    int step;      /* of preparing; ILK__MYSQL_PREPARED */
    size_t polled_at;
    int is_polled;
    int64_t library_due; /* of MYSQL_WAIT_TIMEOUT */
    int64_t due;         /* of the next attempt, the attempt, or the result */
    int64_t used_at;     /* for the next ping */
    int pause_ms;
    ilk__resolve *resolve;
    ilk__mysql_dial *dial;
    ilk__mysql_frames frames; /* what the server sends */
    unsigned address;         /* the index of the one to try */
    char host[80]; /* that one, as numbers: the library reads it again while it
                      connects */
    ilk__mysql_job *current; /* that is executed, or was when it broke */
    ilk__mysql_job *first, **last;
    ilk__mysql_job *own; /* a statement of preparing, or a ping */
    size_t job_count;
    char mark[ILK__MYSQL_MARK];     /* the lock that names the session */
    char previous[ILK__MYSQL_MARK]; /* of one that may not have ended, or "" */
    unsigned long thread_id;
    unsigned long
        previous_id; /* which has that lock, as the server has just said; 0:
                                  not known */
    int previous_was_there; /* looks after the first one wait for that lock */
    unsigned generation;    /* of sessions */
    int has_sent;      /* the session may have executed a statement of a job */
    int is_queue_conn; /* never shared */
    int is_taken;      /* of a name */
    size_t kills; /* KILL QUERYs against its statement, without a result yet: it
                       must not get another one before that */
    char unneeded[24]; /* a lock of a name that has gone, which the session
                          frees when there are no `kills` any more; or "" */
    int64_t idle_since;
};

enum { ILK__MYSQL_PREPARED = 100 };

ilk__mysql_conn *ilk__mysql_conn_new(ilk__mysql *self, int is_queue_conn);
/* Frees the jobs, without calling done(). */
void ilk__mysql_conn_free(ilk__mysql_conn *conn);
void ilk__mysql_conn_abandon(ilk__mysql_conn *conn);

/* A statement to be written into job->sql. NULL: no memory. */
ilk__mysql_job *ilk__mysql_job_new(ilk__mysql_done *done);
void ilk__mysql_job_free(ilk__mysql_job *job);
/* Takes the job over. */
void ilk__mysql_conn_send(ilk__mysql_conn *conn, ilk__mysql_job *job);
/* Take back a job if it was never sent: done() is not called. 0: it was sent. */
int ilk__mysql_conn_unsend(ilk__mysql_job *job);

/* Begin the first of its statements, if the connection has nothing else to do. */
void ilk__mysql_conn_begin(ilk__mysql_conn *conn);
size_t ilk__mysql_conn_prepare(ilk__mysql_conn *conn, struct pollfd *fds,
                               size_t count, size_t room, int64_t *until);
void ilk__mysql_conn_polled(ilk__mysql_conn *conn, const struct pollfd *fds,
                            size_t count, int64_t now);

/* ---- values of rows ------------------------------------------------------ */

typedef struct ilk__mysql_row {
    MYSQL_ROW at;
    unsigned long *lengths;
    unsigned count;
} ilk__mysql_row;

/* The next row; at is NULL when there is none. */
ilk__mysql_row ilk__mysql_next_row(MYSQL_RES *rows);
ilk__span ilk__mysql_text(const ilk__mysql_row *row, unsigned column);
/* NULL and whatever is no number: `otherwise`. */
int64_t ilk__mysql_number(const ilk__mysql_row *row, unsigned column,
                          int64_t otherwise);

#endif

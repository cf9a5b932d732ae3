/* SPDX-License-Identifier: MIT */
/*
 * mysql_prepare.c -- what a new session executes before its first statement: settings,
 * whether the server can be used, the end of the session before it, the table.
 */
#include "mysql_internal.h"

#include "base/log.h"

#include <inttypes.h>
#include <mysqld_error.h>
#include <stdio.h>
#include <string.h>

enum {
    SETTINGS = 0,
    ISOLATION = 1,
    VARIABLES = 2,
    SESSION = 3,
    PREVIOUS = 4,
    TABLE = ILK__MYSQL_STEP_TABLE,
    CREATE = TABLE + 1,
    COLUMNS = TABLE + 2,
    READY = TABLE + 3,
    CLOCK = TABLE + 4 /* instead of SESSION, where that has failed */
};

enum {
    MARIADB_LEAST = 100002, /* several locks by GET_LOCK in one session */
    MYSQL_LEAST = 50705,
    PREVIOUS_WAIT_S = 1
};

/* Microseconds; replies have numbers below 2^53. */
#define TIME_MOST (INT64_C(1) << 53)

#define COLUMN_NAMES                                                           \
    "kind,name,token,who,fence,until,since,session,released,version,value"

/* An administrator may have to type it. */
#define DEFINITION                                                             \
    "(kind CHAR(1) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,"            \
    " name VARBINARY(512) NOT NULL,"                                           \
    " token VARBINARY(1024) NOT NULL DEFAULT '',"                              \
    " who VARBINARY(1024) NOT NULL DEFAULT '',"                                \
    " fence BIGINT NOT NULL DEFAULT 0,"                                        \
    " until BIGINT NOT NULL DEFAULT 0,"                                        \
    " since BIGINT NOT NULL DEFAULT 0,"                                        \
    " session BIGINT UNSIGNED NOT NULL DEFAULT 0,"                             \
    " released VARBINARY(1024) NOT NULL DEFAULT '',"                           \
    " version BIGINT NOT NULL DEFAULT 0,"                                      \
    " value MEDIUMBLOB NOT NULL,"                                              \
    " PRIMARY KEY (kind, name)) ENGINE=InnoDB"

static void refuse(ilk__mysql_conn *conn, const char *word, const char *why)
{
    const ilk__mysql *self = conn->self;

    snprintf(conn->self->trouble, sizeof conn->self->trouble, "%s %s:%d: %s",
             word, self->host, self->port, why);
    ilk__mysql_conn_refuse(conn);
}

/* Whether the result can be used; else it has refused the server. */
static int is_good(ilk__mysql_conn *conn, const ilk__mysql_result *result)
{
    if (!result->error)
        return 1;
    snprintf(conn->self->trouble, sizeof conn->self->trouble, "%s",
             result->text);
    if (result->error
        == ER_QUERY_INTERRUPTED) /* an administrator's KILL QUERY */
        ilk__mysql_conn_reopen(conn);
    else
        ilk__mysql_conn_refuse(conn);
    return 0;
}

static void set(ilk__mysql *self, ilk__mysql_job *job,
                const ilk__mysql_result *result)
{
    (void)self;
    if (is_good(job->on, result))
        job->on->step++;
}

/* ---- whether the server can be used -------------------------------------- */

static int is_on(ilk__span value)
{
    return ilk__text_equals(value, "ON") || ilk__text_equals(value, "1");
}

/* Why it cannot, or NULL. A locked row of a Galera node excludes nobody at the other
 * nodes before the commit, and GET_LOCK never does. */
static const char *fault_of(ilk__span name, ilk__span value)
{
    if (ilk__text_equals(name, "wsrep_on") && is_on(value))
        return "a Galera cluster has no GET_LOCK for all its nodes, and "
               "certifies rows only at the commit: use a server without it";
    if (ilk__text_equals(name, "read_only") && !ilk__text_equals(value, "OFF")
        && !ilk__text_equals(value, "0"))
        return "the server is read_only: the URL must lead to the primary";
    if ((ilk__text_equals(name, "super_read_only")
         || ilk__text_equals(name, "innodb_read_only"))
        && is_on(value))
        return "the server is read-only: the URL must lead to the primary";
    return NULL;
}

static int is_too_old(ilk__mysql_conn *conn)
{
    const unsigned long version = mysql_get_server_version(conn->mysql);

    return version
           < (mariadb_connection(conn->mysql) ? MARIADB_LEAST : MYSQL_LEAST);
}

static void took_variables(ilk__mysql *self, ilk__mysql_job *job,
                           const ilk__mysql_result *result)
{
    ilk__mysql_row row;

    if (!is_good(job->on, result))
        return;
    while ((row = ilk__mysql_next_row(result->rows)).at != NULL) {
        const ilk__span name = ilk__mysql_text(&row, 0);
        const char *fault = fault_of(name, ilk__mysql_text(&row, 1));

        if (fault) {
            refuse(job->on,
                   ilk__text_equals(name, "wsrep_on") ? "ILKNONE" : "READONLY",
                   fault);
            return;
        }
    }
    if (is_too_old(job->on)) {
        refuse(job->on, "ILKNONE",
               "the server is older than MariaDB 10.0.2 or MySQL 5.7.5");
        return;
    }
    (void)self;
    job->on->step++;
}

/* ---- sessions ------------------------------------------------------------ */

static void lack_sessions(ilk__mysql *self)
{
    if (!self->lacks_sessions)
        ilk__log(ILK__LOG_WARN,
                 "mysql: GET_LOCK does not stay with a connection to %s:%d, as "
                 "behind a proxy that shares connections: waiters look at "
                 "their row every %d ms",
                 self->host, self->port, ILK__MYSQL_POLL_MS);
    self->lacks_sessions = 1;
}

/* Compare the server's time with ours; 0: it has refused the server. */
static int take_clock(ilk__mysql_conn *conn, const ilk__mysql_row *row,
                      unsigned column)
{
    const int64_t now_us = ilk__mysql_number(row, column, -1);

    if (now_us <= 0 || now_us > TIME_MOST) {
        refuse(conn, "ILKINVALID", "the server's time is none");
        return 0;
    }
    conn->self->clock_us = now_us - ilk__now_ms() * 1000;
    return 1;
}

/* Whether the server, or a proxy before it, has no GET_LOCK for this user. That lasts,
 * as other errors do not. */
static int is_unsupported(unsigned error)
{
    switch (error) {
    case ER_SP_DOES_NOT_EXIST: /* no such function */
    case ER_NOT_SUPPORTED_YET:
    case ER_PARSE_ERROR:
    case ER_SPECIFIC_ACCESS_DENIED_ERROR:
    case ER_PROCACCESS_DENIED_ERROR: return 1;
    default: return 0;
    }
}

static void took_session(ilk__mysql *self, ilk__mysql_job *job,
                         const ilk__mysql_result *result)
{
    ilk__mysql_conn *conn = job->on;
    ilk__mysql_row row = ilk__mysql_next_row(result->rows);

    if (!is_unsupported(result->error) && !is_good(conn, result))
        return;
    if (result->error || ilk__mysql_number(&row, 1, 0) != 1) {
        lack_sessions(self);
        conn->step = CLOCK;
        return;
    }
    /* The proxy may execute this whole statement in one session, and the next one
     * in another: then the connection id is not that of the login. */
    if (ilk__mysql_number(&row, 0, 0) != (int64_t)conn->thread_id)
        lack_sessions(self);
    if (take_clock(conn, &row, 2))
        conn->step = conn->previous[0] ? PREVIOUS : TABLE;
}

static void took_clock(ilk__mysql *self, ilk__mysql_job *job,
                       const ilk__mysql_result *result)
{
    ilk__mysql_row row = ilk__mysql_next_row(result->rows);

    (void)self;
    if (is_good(job->on, result) && take_clock(job->on, &row, 0))
        job->on->step = TABLE;
}

static void killed(ilk__mysql *self, ilk__mysql_job *job,
                   const ilk__mysql_result *result)
{
    (void)self;
    (void)job;
    (void)result; /* it may have ended in between */
}

static void took_previous(ilk__mysql *self, ilk__mysql_job *job,
                          const ilk__mysql_result *result)
{
    ilk__mysql_conn *conn = job->on;
    ilk__mysql_row row = ilk__mysql_next_row(result->rows);

    (void)self;
    if (!is_good(conn, result))
        return;
    conn->previous_id = (unsigned long)ilk__mysql_number(&row, 1, 0);
    conn->previous_was_there = 1;
    if (ilk__mysql_number(&row, 0, 0) == 1) {
        conn->previous[0] = '\0';
        conn->previous_id = 0;
        conn->step = TABLE;
    }
}

/* The session before this one is killed when it is still there; its lock is the proof
 * of its end. Both are repeated until then. Its number alone is no proof that it is
 * there: a server that was restarted may have given that to another session. */
static void end_previous(ilk__mysql_conn *conn, ilk__mysql_job *job)
{
    if (conn->previous_id) {
        ilk__mysql_compose(job, NULL, "KILL {i}", (int64_t)conn->previous_id);
        job->done = killed;
        conn->previous_id = 0;
        return;
    }
    ilk__mysql_compose(
        job, NULL,
        "SELECT GET_LOCK('{s}',{i}),IS_USED_LOCK('{s}'),"
        "RELEASE_LOCK('{s}')",
        conn->previous,
        (int64_t)(conn->previous_was_there ? PREVIOUS_WAIT_S : 0),
        conn->previous, conn->previous);
    job->done = took_previous;
}

/* ---- the table ----------------------------------------------------------- */

static void took_table(ilk__mysql *self, ilk__mysql_job *job,
                       const ilk__mysql_result *result)
{
    ilk__mysql_row row = ilk__mysql_next_row(result->rows);
    ilk__span engine = ilk__mysql_text(&row, 0);

    (void)self;
    if (!is_good(job->on, result))
        return;
    if (row.at && !ilk__text_equals(engine, "InnoDB"))
        refuse(job->on, "ILKNONE",
               "the table " ILK__MYSQL_TABLE
               " must have the engine InnoDB, which locks rows");
    else
        job->on->step = row.at ? COLUMNS : CREATE;
}

static void created(ilk__mysql *self, ilk__mysql_job *job,
                    const ilk__mysql_result *result)
{
    char why[ILK__MYSQL_TEXT];

    if (!result->error || result->error == ER_TABLE_EXISTS_ERROR) {
        job->on->step++;
        return;
    }
    if (strncmp(result->text, "NOPERM", 6) != 0) {
        (void)is_good(job->on, result);
        return;
    }
    snprintf(why, sizeof why,
             "there is no table, and this user must not create it. An "
             "administrator runs: CREATE TABLE %s " DEFINITION
             "; and GRANT SELECT, INSERT, UPDATE ON %s TO the user",
             self->table, self->table);
    refuse(job->on, "NOPERM", why);
}

static void took_columns(ilk__mysql *self, ilk__mysql_job *job,
                         const ilk__mysql_result *result)
{
    if (result->error == ER_BAD_FIELD_ERROR) {
        refuse(job->on, "ILKINVALID",
               "the table " ILK__MYSQL_TABLE
               " has other columns than this version needs");
        return;
    }
    if (!is_good(job->on, result))
        return;
    self->table_is_ready = 1;
    job->on->step = READY;
}

/* ---- the steps ----------------------------------------------------------- */

static void compose_settings(ilk__mysql_job *job)
{
    ilk__mysql_compose(job, NULL,
                       "SET SESSION autocommit=1,sql_mode='STRICT_ALL_TABLES',"
                       "innodb_lock_wait_timeout={i},wait_timeout=60,"
                       "group_concat_max_len=65536",
                       (int64_t)ILK__MYSQL_LOCK_WAIT_S);
}

static void compose_variables(ilk__mysql_job *job)
{
    ilk__mysql_compose(job, NULL,
                       "SHOW GLOBAL VARIABLES WHERE Variable_name IN "
                       "('wsrep_on','read_only','super_read_only',"
                       "'innodb_read_only')");
    job->done = took_variables;
}

static void compose_session(ilk__mysql_conn *conn, ilk__mysql_job *job)
{
    ilk__mysql_compose(job, NULL,
                       "SELECT CONNECTION_ID(),"
                       "GET_LOCK('{s}',0)=1 AND"
                       " IS_USED_LOCK('{s}')=CONNECTION_ID(),{now}",
                       conn->mark, conn->mark);
    job->done = took_session;
}

static void compose_table(const ilk__mysql *self, ilk__mysql_job *job)
{
    const ilk__span database = {self->database, strlen(self->database)},
                    table = {ILK__MYSQL_TABLE, strlen(ILK__MYSQL_TABLE)};

    ilk__mysql_compose(job, NULL,
                       "SELECT ENGINE FROM information_schema.TABLES "
                       "WHERE TABLE_SCHEMA=CONVERT({b} USING utf8mb4) "
                       "AND TABLE_NAME=CONVERT({b} USING utf8mb4)",
                       database, table);
    job->done = took_table;
}

static void compose(ilk__mysql_conn *conn, ilk__mysql_job *job)
{
    const ilk__mysql *self = conn->self;
    const ilk__mysql_subject subject = {.table = self->table};

    switch (conn->step) {
    case SETTINGS: compose_settings(job); break;
    case ISOLATION:
        ilk__mysql_compose(
            job, NULL,
            "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
        break;
    case VARIABLES: compose_variables(job); break;
    case SESSION: compose_session(conn, job); break;
    case CLOCK:
        ilk__mysql_compose(job, NULL, "SELECT {now}");
        job->done = took_clock;
        break;
    case PREVIOUS: end_previous(conn, job); break;
    case TABLE: compose_table(self, job); break;
    case CREATE:
        ilk__mysql_compose(job, &subject,
                           "CREATE TABLE IF NOT EXISTS {t} " DEFINITION);
        job->done = created;
        break;
    default:
        ilk__mysql_compose(job, &subject,
                           "SELECT " COLUMN_NAMES " FROM {t} LIMIT 0");
        job->done = took_columns;
        break;
    }
}

ilk__mysql_job *ilk__mysql_prepare_step(ilk__mysql_conn *conn)
{
    ilk__mysql_job *job;

    if (conn->step >= TABLE && conn->step != CLOCK
        && conn->self->table_is_ready)
        return NULL;
    job = ilk__mysql_job_new(set);
    if (job)
        compose(conn, job);
    if (job && !job->no_memory)
        return job;
    ilk__mysql_job_free(job);
    refuse(conn, "OOM", "out of memory");
    return NULL;
}

/* SPDX-License-Identifier: MIT */
/*
 * mysql_conn.c -- the state machine of a connection.
 *
 * The library suspends a call that would block: *_start() and *_cont() return the
 * events that it waits for, or 0 when the call has ended. A connection has at most
 * one call at a time, so the same three functions serve all states.
 */
#include "mysql_internal.h"
#include "mysql_plugins.h"
#include "mysql_reads.h"

#include "base/alloc.h"
#include "base/backoff.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "base/token.h"

#include <errmsg.h>
#include <mysqld_error.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PING_MS = 20000,
    REFUSALS = 5, /* deadlocks and the like, of one statement */
    MARIADB_CONNECTION_KILLED = 1927,
    MYSQL_CLIENT_INACTIVE = 4031
};

/* The ways to log in. In plain text caching_sha2_password and sha256_password encrypt
 * the password with any key that the server sends, so they need TLS. */
#define METHODS "mysql_native_password,client_ed25519,"
#define METHODS_OF_TLS METHODS "caching_sha2_password,sha256_password,"

static void go_on(ilk__mysql_conn *conn);
static void step(ilk__mysql_conn *conn, int events);

/* ---- jobs ---------------------------------------------------------------- */

ilk__mysql_job *ilk__mysql_job_new(ilk__mysql_done *done)
{
    ilk__mysql_job *job = ilk__calloc(1, sizeof *job);

    if (job) {
        job->done = done;
        job->give_up_at = ILK__FOREVER;
    }
    return job;
}

void ilk__mysql_job_free(ilk__mysql_job *job)
{
    if (!job)
        return;
    if (job->breaks_request && job->request)
        ilk__gateway_break(job->request);
    if (ilk__buf_len(&job->sql))
        ilk__wipe(job->sql.data + job->sql.start, ilk__buf_len(&job->sql));
    ilk__buf_free(&job->sql);
    ilk__free(job);
}

static void finish(ilk__mysql_conn *conn, ilk__mysql_job *job,
                   ilk__mysql_result *result)
{
    result->sent_at = job->sent_at;
    result->was_sent_before = job->sends > 1;
    job->done(conn->self, job, result);
    if (result->rows)
        mysql_free_result(result->rows);
    ilk__mysql_job_free(job);
}

static void fail_job(ilk__mysql_conn *conn, ilk__mysql_job *job)
{
    ilk__mysql *self = conn->self;
    ilk__mysql_result result = {.is_late = 1, .text = self->text};

    snprintf(self->text, sizeof self->text, "%s",
             self->trouble[0] ? self->trouble
                              : "ILKDOWN the database server does not answer");
    conn->job_count--;
    finish(conn, job, &result);
}

static ilk__mysql_job *take_first(ilk__mysql_conn *conn)
{
    ilk__mysql_job *job = conn->first;

    if (job) {
        conn->first = job->next;
        if (!conn->first)
            conn->last = &conn->first;
        job->next = NULL;
    }
    return job;
}

void ilk__mysql_conn_send(ilk__mysql_conn *conn, ilk__mysql_job *job)
{
    job->on = conn;
    job->next = NULL;
    *conn->last = job;
    conn->last = &job->next;
    conn->job_count++;
}

int ilk__mysql_conn_unsend(ilk__mysql_job *job)
{
    ilk__mysql_conn *conn = job->on;
    ilk__mysql_job **link = &conn->first;

    while (*link && *link != job)
        link = &(*link)->next;
    if (!*link || job->sends)
        return 0;
    *link = job->next;
    if (!*link)
        conn->last = link;
    conn->job_count--;
    ilk__mysql_job_free(job);
    return 1;
}

static void put_back(ilk__mysql_conn *conn, ilk__mysql_job *job)
{
    job->next = conn->first;
    if (!conn->first)
        conn->last = &job->next;
    conn->first = job;
}

/* Fail the jobs whose time is over or that must not be sent again, and with `all` those
 * that were never sent; but none that is executed. done() may send new ones, which are
 * not looked at. */
static void fail_jobs(ilk__mysql_conn *conn, int64_t now, int all)
{
    ilk__mysql_job *job, *rest = conn->first;

    conn->first = NULL;
    conn->last = &conn->first;
    while (rest) {
        job = rest;
        rest = job->next;
        job->next = NULL;
        if (job->give_up_at <= now || (job->is_once && job->sends)
            || (all && !job->sends)) {
            fail_job(conn, job);
        } else {
            *conn->last = job;
            conn->last = &job->next;
        }
    }
}

/* ---- opening ------------------------------------------------------------- */

ilk__mysql_conn *ilk__mysql_conn_new(ilk__mysql *self, int is_queue_conn)
{
    ilk__mysql_conn *conn = ilk__calloc(1, sizeof *conn);

    if (!conn)
        return NULL;
    conn->self = self;
    conn->last = &conn->first;
    conn->is_queue_conn = is_queue_conn;
    conn->due = 0;
    return conn;
}

/* Whether the library can send its good-bye without waiting for the server. */
static int takes_more(MYSQL *mysql)
{
    struct pollfd one = {.fd = mysql_get_socket(mysql), .events = POLLOUT};

    return poll(&one, 1, 0) == 1 && one.revents == POLLOUT;
}

static void close_library(ilk__mysql_conn *conn)
{
    if (!conn->mysql)
        return;
    /* A call that is suspended ends here. Without a socket to write to, the
     * library cannot block. */
    if (conn->waits_for || conn->state != ILK__MYSQL_READY
        || !takes_more(conn->mysql))
        mariadb_cancel(conn->mysql);
    mysql_close(conn->mysql);
    conn->mysql = NULL;
    conn->waits_for = 0;
}

/* The jobs stay. */
static void close_session(ilk__mysql_conn *conn)
{
    ilk__resolve_free(conn->resolve);
    conn->resolve = NULL;
    ilk__mysql_dial_free(conn->dial);
    conn->dial = NULL;
    close_library(conn);
    if (conn->own)
        ilk__mysql_job_free(conn->own);
    conn->own = NULL;
    if (conn->has_sent)
        memcpy(conn->previous, conn->mark, sizeof conn->previous);
    conn->previous_id = 0;
    conn->previous_was_there = 0;
    conn->state = ILK__MYSQL_CLOSED;
    conn->step = 0;
}

/* The session is over, or could not begin. */
static void broken(ilk__mysql_conn *conn, int is_refused)
{
    const int64_t now = ilk__now_ms();
    const int had_session = conn->has_sent;

    close_session(conn);
    conn->has_sent = 0;
    conn->due = now + ilk__connect_pause_ms(&conn->pause_ms, ILK_ECONN);
    /* Without sessions, only time ends what was sent. */
    if (had_session && conn->self->lacks_sessions)
        conn->due = now + ILK__MYSQL_VALID_MS + ILK__MYSQL_LOCK_WAIT_MOST_MS;
    if (had_session)
        ilk__mysql_session_ended(conn);
    if (conn->current)
        put_back(conn, conn->current);
    conn->current = NULL;
    fail_jobs(conn, now, is_refused);
}

void ilk__mysql_conn_refuse(ilk__mysql_conn *conn)
{
    ilk__log(ILK__LOG_WARN, "mysql: %s", conn->self->trouble);
    conn->pause_ms = ILK__CONNECT_PAUSE_MOST_MS;
    broken(conn, 1);
}

void ilk__mysql_conn_reopen(ilk__mysql_conn *conn)
{
    broken(conn, 0);
}

static const char *status_word(unsigned error)
{
    switch (error) {
    case ER_ACCESS_DENIED_ERROR:
    case ER_ACCESS_DENIED_NO_PASSWORD_ERROR: return "WRONGPASS";
    case ER_DBACCESS_DENIED_ERROR:
    case ER_TABLEACCESS_DENIED_ERROR:
    case ER_COLUMNACCESS_DENIED_ERROR:
    case ER_SPECIFIC_ACCESS_DENIED_ERROR: return "NOPERM";
    case ER_BAD_DB_ERROR: return "ILKINVALID";
    case ER_OPTION_PREVENTS_STATEMENT:
    case ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION: return "READONLY";
    case ER_OUTOFMEMORY:
    case ER_OUT_OF_RESOURCES: return "OOM";
    case ER_LOCK_WAIT_TIMEOUT: return "BUSY";
    default: return "ERR";
    }
}

static void note_trouble(ilk__mysql_conn *conn)
{
    ilk__mysql *self = conn->self;
    unsigned error = mysql_errno(conn->mysql);
    const char *word = status_word(error);

    if (conn->frames.fault[0]) {
        snprintf(self->trouble, sizeof self->trouble,
                 "%s the database server at %s:%d sends %s", conn->frames.word,
                 self->host, self->port, conn->frames.fault);
        ilk__log(ILK__LOG_WARN, "mysql: %s", self->trouble);
        return;
    }
    if (strcmp(word, "ERR") == 0)
        word = "ILKDOWN";
    snprintf(self->trouble, sizeof self->trouble,
             "%s the database server at %s:%d: %.400s", word, self->host,
             self->port, mysql_error(conn->mysql));
}

static void set_options(ilk__mysql_conn *conn)
{
    const ilk__mysql *self = conn->self;
    const unsigned seconds = (unsigned)((self->connect_ms + 999) / 1000),
                   tcp = MYSQL_PROTOCOL_TCP, no_files = 0;
    const my_bool yes = 1, no = 0;
    char plugins[PATH_MAX];

    if (ilk__mysql_plugin_directory(plugins))
        mysql_options(conn->mysql, MYSQL_PLUGIN_DIR, plugins);
    mysql_options(conn->mysql, MYSQL_OPT_NONBLOCK, 0);
    mysql_options(conn->mysql, MYSQL_OPT_PROTOCOL, &tcp);
    mysql_options(conn->mysql, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
    mysql_options(conn->mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    /* A server must not make its client read files or send a bare password. */
    mysql_options(conn->mysql, MYSQL_OPT_LOCAL_INFILE, &no_files);
    mysql_options(conn->mysql, MARIADB_OPT_RESTRICTED_AUTH,
                  self->is_tls ? METHODS_OF_TLS : METHODS);
    /* Else it would begin as the server's greeting says. */
    if (!self->is_tls)
        mysql_options(conn->mysql, MYSQL_DEFAULT_AUTH, "mysql_native_password");
    mysql_options4(conn->mysql, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name",
                   "interlock");
    mysql_options(conn->mysql, MYSQL_OPT_SSL_ENFORCE,
                  self->is_tls ? &yes : &no);
    mysql_options(conn->mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT,
                  self->is_tls ? &yes : &no);
    if (self->ca)
        mysql_options(conn->mysql, MYSQL_OPT_SSL_CA, self->ca);
    if (self->cert)
        mysql_options(conn->mysql, MYSQL_OPT_SSL_CERT, self->cert);
    if (self->key)
        mysql_options(conn->mysql, MYSQL_OPT_SSL_KEY, self->key);
}

/* The address to try, of those that the name has. */
static int address_text(ilk__mysql_conn *conn, const struct addrinfo *first,
                        char *out, size_t room)
{
    unsigned count = 0, wanted;
    const struct addrinfo *one;

    for (one = first; one; one = one->ai_next)
        count++;
    wanted = conn->address++ % (count ? count : 1);
    for (one = first; one && wanted; one = one->ai_next)
        wanted--;
    return one
           && getnameinfo(one->ai_addr, one->ai_addrlen, out, (socklen_t)room,
                          NULL, 0, NI_NUMERICHOST)
                  == 0;
}

static void connect_to(ilk__mysql_conn *conn, const struct addrinfo *addresses)
{
    const ilk__mysql *self = conn->self;
    MYSQL *result = NULL;

    if (!address_text(conn, addresses, conn->host, sizeof conn->host)
        || !(conn->mysql = mysql_init(NULL))) {
        broken(conn, 1);
        return;
    }
    set_options(conn);
    ilk__mysql_frames_begin(&conn->frames, METHODS);
    conn->state = ILK__MYSQL_CONNECTS;
    conn->library_due = ILK__FOREVER; /* until the next prepare() */
    ilk__mysql_reads_check(conn->mysql, &conn->frames, conn->due);
    conn->waits_for = mysql_real_connect_start(
        &result, conn->mysql, conn->host, self->user, self->password,
        self->database, (unsigned)self->port, NULL, CLIENT_FOUND_ROWS);
    ilk__mysql_reads_left();
    if (!conn->waits_for)
        step(conn, 0);
}

static void could_not_begin(ilk__mysql_conn *conn, const ilk_error *err)
{
    snprintf(conn->self->trouble, sizeof conn->self->trouble, "ILKDOWN %.400s",
             err->msg);
    broken(conn, 1);
}

static void look_up(ilk__mysql_conn *conn)
{
    const struct addrinfo *addresses;
    ilk_error err = {0};
    ilk_status st = ilk__resolve_result(conn->resolve, &addresses, &err);

    if (st == ILK_EAGAIN)
        return;
    if (st) {
        could_not_begin(conn, &err);
        return;
    }
    connect_to(conn, addresses);
    ilk__resolve_free(conn->resolve);
    conn->resolve = NULL;
}

static void dial(ilk__mysql_conn *conn)
{
    const ilk__mysql *self = conn->self;
    const ilk__mysql_target target = {.host = self->host,
                                      .user = self->user,
                                      .password = self->password,
                                      .database = self->database,
                                      .methods = METHODS_OF_TLS,
                                      .port = self->port};
    ilk_error err = {0};
    MYSQL *mysql;

    conn->mysql = mysql_init(NULL);
    if (!conn->mysql) {
        broken(conn, 1);
        return;
    }
    set_options(conn);
    mysql = conn->mysql;
    conn->mysql = NULL;
    conn->state = ILK__MYSQL_DIALS;
    if (ilk__mysql_dial_start(&conn->dial, mysql, &target, conn->due, &err))
        could_not_begin(conn, &err);
}

static void connected(ilk__mysql_conn *conn, const MYSQL *result);

static void dialled(ilk__mysql_conn *conn)
{
    int is_connected = 0;

    conn->mysql =
        ilk__mysql_dial_result(conn->dial, &is_connected, &conn->frames);
    if (!conn->mysql)
        return;
    ilk__mysql_dial_free(conn->dial);
    conn->dial = NULL;
    connected(conn, is_connected ? conn->mysql : NULL);
}

static void open_session(ilk__mysql_conn *conn, int64_t now)
{
    const ilk__mysql *self = conn->self;
    ilk_error err = {0};
    char token[ILK__CLIENT_ID_LEN + 1];

    conn->due = now + self->connect_ms;
    if (ilk__token(token, ILK__CLIENT_ID_LEN, &err)) {
        could_not_begin(conn, &err);
        return;
    }
    snprintf(conn->mark, sizeof conn->mark, "ilk@%s", token);
    conn->step = 0;
    if (self->is_tls) {
        dial(conn);
        return;
    }
    if (ilk__resolve_start(&conn->resolve, self->host, self->port, &err)) {
        could_not_begin(conn, &err);
        return;
    }
    conn->state = ILK__MYSQL_RESOLVES;
    look_up(conn);
}

/* ---- statements ---------------------------------------------------------- */

static ilk__mysql_job *executed(const ilk__mysql_conn *conn)
{
    return conn->own ? conn->own : conn->current;
}

/* How long one sending of a statement may take. It is not less than a wait for a row,
 * however short the URL's time is: given up before the server ends that wait, it would
 * take the session of all others with it. */
static int64_t patience_of(const ilk__mysql_conn *conn,
                           const ilk__mysql_job *job)
{
    if (job->patience_ms)
        return job->patience_ms;
    return conn->self->reply_ms > ILK__MYSQL_LOCK_WAIT_MOST_MS
               ? conn->self->reply_ms
               : ILK__MYSQL_LOCK_WAIT_MOST_MS;
}

static void execute(ilk__mysql_conn *conn, ilk__mysql_job *job)
{
    const int64_t now = ilk__now_ms();
    int failed = 0;

    job->on = conn;
    job->sent_at = now;
    job->sends++;
    conn->used_at = now;
    conn->due = now + patience_of(conn, job);
    conn->state = ILK__MYSQL_QUERIES;
    conn->library_due = ILK__FOREVER;
    ilk__mysql_frames_expect(&conn->frames);
    ilk__mysql_reads_check(conn->mysql, &conn->frames, conn->due);
    conn->waits_for =
        mysql_real_query_start(&failed, conn->mysql, ilk__buf_data(&job->sql),
                               (unsigned long)ilk__buf_len(&job->sql));
    ilk__mysql_reads_left();
    if (!conn->waits_for)
        step(conn, 0);
}

/* Begin the next statement, if there is one. */
static void go_on(ilk__mysql_conn *conn)
{
    if (conn->state != ILK__MYSQL_READY || conn->own || conn->current)
        return;
    if (conn->step != ILK__MYSQL_PREPARED) {
        conn->own = ilk__mysql_prepare_step(conn);
        if (conn->own) {
            execute(conn, conn->own);
            return;
        }
        if (conn->state != ILK__MYSQL_READY)
            return; /* no memory, or the server is refused */
        conn->step = ILK__MYSQL_PREPARED;
        conn->pause_ms = 0;
        conn->generation += !conn->has_sent;
        conn->self->trouble[0] = '\0';
    }
    conn->current = take_first(conn);
    if (conn->current) {
        conn->has_sent = 1;
        execute(conn, conn->current);
    }
}

static int is_lost(unsigned error)
{
    return (error >= CR_MIN_ERROR && error <= CR_MAX_ERROR)
           || error == MARIADB_CONNECTION_KILLED
           || error == MYSQL_CLIENT_INACTIVE || error == ER_SERVER_SHUTDOWN;
}

/* Whether the statement may succeed when it is repeated at once. After a wait for a row
 * it is not repeated: it has waited already, and others have waited behind it. */
static int is_passing(unsigned error)
{
    return error == ER_LOCK_DEADLOCK || error == ER_QUERY_INTERRUPTED
           || error == ER_NO_SUCH_TABLE;
}

static int is_to_repeat(ilk__mysql_conn *conn, ilk__mysql_job *job,
                        unsigned error)
{
    if (!error || job == conn->own || job->is_once || !is_passing(error)
        || ++job->refusals > REFUSALS || job->give_up_at <= ilk__now_ms())
        return 0;
    if (error == ER_NO_SUCH_TABLE) { /* it was dropped */
        conn->self->table_is_ready = 0;
        conn->step = ILK__MYSQL_STEP_TABLE;
    }
    ilk__mysql_job_repeats(job);
    return 1;
}

/* The statement has its result. */
static void conclude(ilk__mysql_conn *conn, MYSQL_RES *rows)
{
    ilk__mysql_job *job = executed(conn);
    ilk__mysql *self = conn->self;
    ilk__mysql_result result = {
        .error = mysql_errno(conn->mysql), .text = self->text, .rows = rows};

    conn->state = ILK__MYSQL_READY;
    if (is_lost(result.error) || conn->frames.fault[0]) {
        note_trouble(conn);
        if (rows)
            mysql_free_result(rows);
        broken(conn, conn->step != ILK__MYSQL_PREPARED);
        return;
    }
    if (is_to_repeat(conn, job, result.error)) {
        conn->current = NULL;
        put_back(conn, job);
        go_on(conn);
        return;
    }
    if (result.error)
        snprintf(self->text, sizeof self->text, "%s the database: %.400s (%u)",
                 status_word(result.error), mysql_error(conn->mysql),
                 result.error);
    result.matched = mysql_affected_rows(conn->mysql);
    result.number = mysql_insert_id(conn->mysql);
    if (job == conn->own) {
        conn->own = NULL;
    } else {
        conn->current = NULL;
        conn->job_count--;
    }
    conn->idle_since = ilk__now_ms();
    finish(conn, job, &result);
    go_on(conn);
}

/* A session in the wait queue sends nothing, so that only these probes find a server
 * that is gone. */
static void keep_alive(int fd)
{
    const int yes = 1, idle_s = 10, pause_s = 5, count = 4;

    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &pause_s, sizeof pause_s);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

static void connected(ilk__mysql_conn *conn, const MYSQL *result)
{
    if (!result || conn->frames.fault[0]) {
        note_trouble(conn);
        broken(conn, 1);
        return;
    }
    conn->state = ILK__MYSQL_READY;
    conn->thread_id = mysql_thread_id(conn->mysql);
    keep_alive(mysql_get_socket(conn->mysql));
    /* The library leaves the socket blocking, and OpenSSL reads from it until it has
     * a result: for GET_LOCK, an hour. */
    (void)ilk__descriptor_prepare(mysql_get_socket(conn->mysql));
    conn->used_at = ilk__now_ms();
    go_on(conn);
}

/* Continue the library's call. Returns the result's rows, if they are complete. */
static MYSQL_RES *call_on(ilk__mysql_conn *conn, MYSQL **opened, int events)
{
    MYSQL_RES *rows = NULL;
    int failed = 0;

    if (conn->state == ILK__MYSQL_CONNECTS && conn->waits_for)
        conn->waits_for = mysql_real_connect_cont(opened, conn->mysql, events);
    if (conn->state == ILK__MYSQL_QUERIES && conn->waits_for)
        conn->waits_for = mysql_real_query_cont(&failed, conn->mysql, events);
    else if (conn->state == ILK__MYSQL_STORES)
        conn->waits_for = mysql_store_result_cont(&rows, conn->mysql, events);
    if (conn->state == ILK__MYSQL_QUERIES && !conn->waits_for
        && !mysql_errno(conn->mysql) && mysql_field_count(conn->mysql)) {
        conn->state = ILK__MYSQL_STORES;
        conn->waits_for = mysql_store_result_start(&rows, conn->mysql);
    }
    return rows;
}

/* Continue the library's call; when it has ended (waits_for 0), take its result. */
static void step(ilk__mysql_conn *conn, int events)
{
    MYSQL *opened = mysql_errno(conn->mysql) ? NULL : conn->mysql;
    MYSQL_RES *rows;

    ilk__mysql_reads_check(conn->mysql, &conn->frames, conn->due);
    rows = call_on(conn, &opened, events);
    ilk__mysql_reads_left();
    if (conn->waits_for)
        return;
    if (conn->state == ILK__MYSQL_CONNECTS)
        connected(conn, opened);
    else
        conclude(conn, rows);
}

/* ---- the loop ------------------------------------------------------------ */

void ilk__mysql_conn_begin(ilk__mysql_conn *conn)
{
    const int64_t now = ilk__now_ms();

    if (conn->state == ILK__MYSQL_READY)
        go_on(conn);
    else if (conn->state == ILK__MYSQL_CLOSED && conn->job_count
             && conn->due <= now)
        open_session(conn, now);
}

/* The time at which the first of the jobs that wait gives up. */
static int64_t earliest_end(const ilk__mysql_conn *conn)
{
    int64_t end = ILK__FOREVER;

    for (const ilk__mysql_job *job = conn->first; job; job = job->next)
        end = ilk__sooner(end, job->give_up_at);
    return end;
}

static size_t add_poll(ilk__mysql_conn *conn, int fd, short events,
                       struct pollfd *fds, size_t count, size_t room)
{
    conn->is_polled = fd >= 0 && count < room;
    if (conn->is_polled) {
        fds[count] = (struct pollfd){.fd = fd, .events = events};
        conn->polled_at = count;
    }
    return count + (fd >= 0);
}

static short poll_events(int waits_for)
{
    int events = 0;

    if (waits_for & MYSQL_WAIT_READ)
        events |= POLLIN;
    if (waits_for & MYSQL_WAIT_WRITE)
        events |= POLLOUT;
    if (waits_for & MYSQL_WAIT_EXCEPT)
        events |= POLLPRI;
    return (short)events;
}

size_t ilk__mysql_conn_prepare(ilk__mysql_conn *conn, struct pollfd *fds,
                               size_t count, size_t room, int64_t *until)
{
    conn->is_polled = 0;
    switch (conn->state) {
    case ILK__MYSQL_CLOSED:
        if (conn->job_count) {
            *until = ilk__sooner(*until, conn->due);
            *until = ilk__sooner(*until, earliest_end(conn));
        }
        return count;
    case ILK__MYSQL_RESOLVES:
        *until = ilk__sooner(*until, conn->due);
        return add_poll(conn, ilk__resolve_fd(conn->resolve), POLLIN, fds,
                        count, room);
    case ILK__MYSQL_DIALS:
        *until = ilk__sooner(*until, conn->due);
        return add_poll(conn, ilk__mysql_dial_fd(conn->dial), POLLIN, fds,
                        count, room);
    case ILK__MYSQL_READY:
        *until =
            ilk__sooner(*until, conn->job_count ? 0 : conn->used_at + PING_MS);
        return add_poll(conn, mysql_get_socket(conn->mysql), POLLIN, fds, count,
                        room);
    default: break;
    }
    *until = ilk__sooner(*until, conn->due);
    *until = ilk__sooner(*until, earliest_end(conn));
    if (conn->waits_for & MYSQL_WAIT_TIMEOUT) {
        conn->library_due =
            ilk__deadline(mysql_get_timeout_value_ms(conn->mysql));
        *until = ilk__sooner(*until, conn->library_due);
    }
    return add_poll(conn, mysql_get_socket(conn->mysql),
                    poll_events(conn->waits_for), fds, count, room);
}

static int library_events(const ilk__mysql_conn *conn, short revents,
                          int64_t now)
{
    int events = 0;

    if (revents & (POLLIN | POLLHUP | POLLERR))
        events |= MYSQL_WAIT_READ;
    if (revents & (POLLOUT | POLLHUP | POLLERR))
        events |= MYSQL_WAIT_WRITE;
    if (revents & POLLPRI)
        events |= MYSQL_WAIT_EXCEPT;
    events &= conn->waits_for;
    if (!events && (conn->waits_for & MYSQL_WAIT_TIMEOUT)
        && conn->library_due <= now)
        events = MYSQL_WAIT_TIMEOUT;
    return events;
}

static void pinged(ilk__mysql *self, ilk__mysql_job *job,
                   const ilk__mysql_result *result)
{
    (void)self;
    (void)job;
    (void)result;
}

static void ping(ilk__mysql_conn *conn)
{
    ilk__mysql_job *job = ilk__mysql_job_new(pinged);

    if (!job)
        return;
    ilk__mysql_compose(job, NULL, "DO 0");
    if (job->no_memory) {
        ilk__mysql_job_free(job);
        return;
    }
    conn->own = job;
    execute(conn, job);
}

/* No result is due on an idle session, so an event means that the server has ended it. */
static void watch_idle(ilk__mysql_conn *conn, short revents, int64_t now)
{
    if (revents && !conn->own && !conn->current) {
        snprintf(conn->self->trouble, sizeof conn->self->trouble,
                 "ILKDOWN the database server has closed a connection");
        broken(conn, 0);
        return;
    }
    go_on(conn);
    if (conn->state == ILK__MYSQL_READY && !conn->job_count
        && now >= conn->used_at + PING_MS)
        ping(conn);
}

static void is_overdue(ilk__mysql_conn *conn)
{
    snprintf(conn->self->trouble, sizeof conn->self->trouble,
             "ILKDOWN the database server at %s:%d does not answer",
             conn->self->host, conn->self->port);
    broken(conn, conn->step != ILK__MYSQL_PREPARED);
}

void ilk__mysql_conn_polled(ilk__mysql_conn *conn, const struct pollfd *fds,
                            size_t count, int64_t now)
{
    short revents = conn->is_polled && conn->polled_at < count
                        ? fds[conn->polled_at].revents
                        : 0;
    int events;

    conn->is_polled = 0;
    if (conn->state == ILK__MYSQL_CLOSED) {
        if (conn->job_count && earliest_end(conn) <= now)
            fail_jobs(conn, now, 0);
        if (conn->job_count && conn->due <= now)
            open_session(conn, now);
        return;
    }
    if (conn->state == ILK__MYSQL_READY) {
        watch_idle(conn, revents, now);
        return;
    }
    if (conn->state == ILK__MYSQL_RESOLVES) {
        if (revents)
            look_up(conn);
    } else if (conn->state == ILK__MYSQL_DIALS) {
        if (revents)
            dialled(conn);
    } else if ((events = library_events(conn, revents, now)) != 0) {
        step(conn, events);
    }
    if (conn->state == ILK__MYSQL_READY || conn->state == ILK__MYSQL_CLOSED)
        return;
    if (conn->due <= now)
        is_overdue(conn);
    else if (conn->job_count && earliest_end(conn) <= now)
        fail_jobs(conn, now, 0);
}

/* ---- the end ------------------------------------------------------------- */

void ilk__mysql_conn_free(ilk__mysql_conn *conn)
{
    ilk__mysql_job *job;

    if (!conn)
        return;
    conn->has_sent = 0;
    close_session(conn);
    ilk__mysql_job_free(conn->current);
    while ((job = take_first(conn)) != NULL)
        ilk__mysql_job_free(job);
    ilk__free(conn);
}

/* The library's memory is left: to free it might write to the parent's session. */
void ilk__mysql_conn_abandon(ilk__mysql_conn *conn)
{
    if (conn->mysql && mysql_get_socket(conn->mysql) >= 0)
        close(mysql_get_socket(conn->mysql));
    if (conn->resolve)
        ilk__resolve_free(conn->resolve);
    conn->resolve = NULL;
    ilk__mysql_dial_free(conn->dial);
    conn->dial = NULL;
}

/* ---- values of rows ------------------------------------------------------ */

ilk__mysql_row ilk__mysql_next_row(MYSQL_RES *rows)
{
    ilk__mysql_row row = {0};

    if (!rows)
        return row;
    row.at = mysql_fetch_row(rows);
    row.lengths = mysql_fetch_lengths(rows);
    row.count = mysql_num_fields(rows);
    return row;
}

ilk__span ilk__mysql_text(const ilk__mysql_row *row, unsigned column)
{
    if (!row->at || column >= row->count || !row->at[column])
        return (ilk__span){"", 0};
    return (ilk__span){row->at[column], row->lengths[column]};
}

int64_t ilk__mysql_number(const ilk__mysql_row *row, unsigned column,
                          int64_t otherwise)
{
    const char *text = ilk__mysql_text(row, column).at;
    char *end;
    long long number = strtoll(text, &end, 10);

    return end == text ? otherwise : number;
}

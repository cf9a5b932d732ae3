/* SPDX-License-Identifier: MIT */
/*
 * mysql_backend.c -- the backend: its URL, opening and closing, and its turn in the
 * gateway's loop.
 *
 *     mysql://user:password@host:3306/database
 *     mysql+tls://user:password@host/database?ca=FILE&cert=FILE&key=FILE
 *
 * The user needs SELECT, INSERT and UPDATE on the table ilk_lock of that database,
 * and CREATE if the table does not exist yet. To end its own sessions, it needs no
 * right.
 */
#include "mysql_internal.h"

#include "mysql_reads.h"

#include "base/alloc.h"
#include "base/environment.h"

#include <interlock/client.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORT = 3306, CONNECT_MS = 2000, REPLY_MS = 5000, DATABASE_MAX = 64 };

static const ilk__register_store register_store = {
    .read = ilk__mysql_register_read,
    .change = ilk__mysql_register_change,
    .watch = ilk__mysql_register_watch,
    .forget_name = ilk__mysql_register_forget,
};

/* ---- the URL ------------------------------------------------------------- */

static ilk_status take_option(ilk__mysql *self, ilk__span key, ilk__span value,
                              ilk_error *err)
{
    if (ilk__text_equals(key, "ca") && !self->ca)
        return ilk__text_decode(&self->ca, value, "URL: ca", err);
    if (ilk__text_equals(key, "cert") && !self->cert)
        return ilk__text_decode(&self->cert, value, "URL: cert", err);
    if (ilk__text_equals(key, "key") && !self->key)
        return ilk__text_decode(&self->key, value, "URL: key", err);
    return ilk__fail(err, ILK_EINVAL,
                     "URL: mysql has no option \"%.*s\", or takes it only once",
                     key.len < 40 ? (int)key.len : 40, key.at);
}

/* The core has read those that all stores have. */
static int is_of_core(ilk__span key)
{
    return ilk__text_equals(key, "label")
           || ilk__text_equals(key, "connect_timeout_ms")
           || ilk__text_equals(key, "reply_timeout_ms")
           || ilk__text_equals(key, "outage");
}

static ilk_status take_options(ilk__mysql *self, const char *options,
                               ilk_error *err)
{
    ilk__span rest = {options ? options : "", options ? strlen(options) : 0};
    ilk_status st = ILK_OK;
    int more = rest.len > 0;

    while (more && st == ILK_OK) {
        ilk__span value = ilk__text_cut(&rest, '&', &more);
        const ilk__span key = ilk__text_cut(&value, '=', NULL);

        if (key.len && !is_of_core(key))
            st = take_option(self, key, value, err);
    }
    if (st == ILK_OK && !self->is_tls && (self->ca || self->cert || self->key))
        return ilk__fail(err, ILK_EINVAL,
                         "URL: ca, cert and key need mysql+tls://");
    if (st == ILK_OK && !self->cert != !self->key)
        return ilk__fail(err, ILK_EINVAL, "URL: cert and key come together");
    return st;
}

static ilk_status take_database(ilk__mysql *self, const char *path,
                                ilk_error *err)
{
    if (path && *path == '/')
        path++;
    if (!path || !*path || strchr(path, '/') || strlen(path) > DATABASE_MAX)
        return ilk__fail(err, ILK_EINVAL,
                         "URL: mysql needs the name of a database, as in "
                         "mysql://user@host/database");
    self->database = ilk__strdup(path);
    if (self->database)
        self->table = ilk__mysql_quote(self->database, ILK__MYSQL_TABLE);
    return self->table ? ILK_OK : ilk__fail(err, ILK_ENOMEM, "out of memory");
}

static ilk_status take_login(ilk__mysql *self, const ilk__url *url,
                             ilk_error *err)
{
    if (!url->user || !*url->user)
        return ilk__fail(err, ILK_EINVAL, "URL: mysql needs a user");
    self->user = ilk__strdup(url->user);
    self->password = ilk__strdup(url->password ? url->password : "");
    return self->user && self->password
               ? ILK_OK
               : ilk__fail(err, ILK_ENOMEM, "out of memory");
}

static ilk_status read_url(ilk__mysql *self, const ilk__url *url,
                           ilk_error *err)
{
    const ilk__span hosts = {url->hosts, strlen(url->hosts)};
    ilk_status st;

    if (memchr(hosts.at, ',', hosts.len))
        return ilk__fail(err, ILK_EINVAL,
                         "URL: mysql takes one host, the primary: rows of two "
                         "servers exclude nobody");
    self->connect_ms =
        url->connect_timeout_ms ? url->connect_timeout_ms : CONNECT_MS;
    self->reply_ms =
        (url->reply_timeout_ms ? url->reply_timeout_ms : REPLY_MS) * 3 / 4;
    st = ilk__url_parse_address(&self->host, &self->port, hosts, PORT, "URL",
                                err);
    if (st == ILK_OK)
        st = take_database(self, url->path, err);
    if (st == ILK_OK)
        st = take_login(self, url, err);
    if (st == ILK_OK)
        st = take_options(self, url->options, err);
    return st;
}

/* ---- opening and closing ------------------------------------------------- */

static void dispose(ilk__mysql *self)
{
    ilk__mysql_conn *next;

    ilk__contention_free(self->contention);
    for (ilk__mysql_conn *one = self->conns; one; one = next) {
        next = one->next;
        ilk__mysql_conn_free(one);
    }
    ilk__registers_free(self->registers);
    if (self->password)
        ilk__wipe(self->password, strlen(self->password));
    ilk__free(self->password);
    ilk__free(self->host);
    ilk__free(self->user);
    ilk__free(self->database);
    ilk__free(self->table);
    ilk__free(self->ca);
    ilk__free(self->cert);
    ilk__free(self->key);
    ilk__free(self);
}

static int reads_are_checked;

/* mysql_init() would do it, but not for two threads at the same time. */
static void begin_library(void)
{
    reads_are_checked =
        mysql_library_init(0, NULL, NULL) == 0 && ilk__mysql_reads_begin();
}

/* The client library reads them also in a process with more rights than its caller,
 * who could have it load code, or accept any certificate. */
static ilk_status refuse_environment(ilk_error *err)
{
    static const char *const names[] = {
        "LIBMYSQL_PLUGINS", "MARIADB_PLUGIN_DIR",
        "MARIADB_TLS_DISABLE_PEER_VERIFICATION"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (getenv(names[i]) && !ilk__environment(names[i]))
            return ilk__fail(
                err, ILK_EINVAL,
                "URL: mysql in a process with more rights than its "
                "caller: unset %s, which libmariadb would obey",
                names[i]);
    return ILK_OK;
}

static ilk_status use_library(ilk_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const ilk_status st = refuse_environment(err);

    if (st)
        return st;
    pthread_once(&once, begin_library);
    return reads_are_checked
               ? ILK_OK
               : ilk__fail(err, ILK_ENOMEM, "libmariadb cannot begin");
}

static ilk_status open_mysql(void **out, ilk__gateway *gateway,
                             const ilk__url *url, int is_tls, ilk_error *err)
{
    ilk__mysql *self;
    ilk_status st = use_library(err);

    *out = NULL;
    if (st)
        return st;
    self = ilk__calloc(1, sizeof *self);
    if (!self)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    self->gateway = gateway;
    self->is_tls = is_tls;
    st = read_url(self, url, err);
    if (st == ILK_OK) {
        self->contention =
            ilk__contention_new(gateway, &ilk__mysql_store, self);
        self->registers = ilk__registers_new(gateway, &register_store, self);
        if (!self->contention || !self->registers)
            st = ilk__fail(err, ILK_ENOMEM, "out of memory");
    }
    if (st) {
        dispose(self);
        return st;
    }
    *out = self;
    return ILK_OK;
}

static ilk_status open_plain(void **out, ilk__gateway *gateway,
                             const ilk__url *url, ilk_error *err)
{
    return open_mysql(out, gateway, url, 0, err);
}

static ilk_status open_tls(void **out, ilk__gateway *gateway,
                           const ilk__url *url, ilk_error *err)
{
    return open_mysql(out, gateway, url, 1, err);
}

static void close_mysql(void *self)
{
    dispose(self);
}

static void abandon(void *context)
{
    const ilk__mysql *self = context;

    for (ilk__mysql_conn *one = self->conns; one; one = one->next)
        ilk__mysql_conn_abandon(one);
}

/* ---- the loop ------------------------------------------------------------ */

/* Statements are begun at once, not in prepare(): their results may be reported at
 * once, and by then the gateway has looked at its own connections. */
static void begin(ilk__mysql *self)
{
    for (ilk__mysql_conn *one = self->conns; one; one = one->next)
        ilk__mysql_conn_begin(one);
}

/* A login of the core waits until a session is ready, or gets the error. */
static void contacted(ilk__mysql *self, ilk__mysql_job *job,
                      const ilk__mysql_result *result)
{
    (void)self;
    if (result->error || result->is_late)
        ilk__gateway_reply_error(job->request, result->text);
    else
        ilk__gateway_contact_made(job->request);
    job->request = NULL;
}

static void contact(void *context, ilk__gateway_request *request)
{
    ilk__mysql *self = context;
    ilk__mysql_conn *on = ilk__mysql_shared_conn(self);
    ilk__mysql_job *job = on ? ilk__mysql_job_new(contacted) : NULL;

    if (job) {
        job->request = request;
        job->breaks_request = 1;
        job->give_up_at = ilk__deadline(self->reply_ms);
        ilk__mysql_compose(job, NULL, "DO 0");
        if (!job->no_memory) {
            ilk__mysql_conn_send(on, job);
            begin(self);
            return;
        }
        job->request = NULL;
        ilk__mysql_job_free(job);
    }
    ilk__gateway_reply_error(request, "OOM out of memory");
}

static void call(void *context, ilk__gateway_request *request)
{
    ilk__mysql *self = context;

    if (!ilk__registers_call(self->registers, request))
        ilk__contention_call(self->contention, request);
    begin(self);
}

static void command(void *context, ilk__gateway_request *request)
{
    ilk__mysql_list_names(context, request);
    begin(context);
}

static int64_t name_due(const ilk__mysql_name *name)
{
    return ilk__sooner(ilk__sooner(name->look_at, name->enter_at),
                       ilk__sooner(name->again_at, name->observe_at));
}

static size_t prepare(void *context, struct pollfd *fds, size_t room,
                      int64_t *until)
{
    ilk__mysql *self = context;
    size_t count = 0;

    for (ilk__mysql_conn *one = self->conns; one; one = one->next)
        count = ilk__mysql_conn_prepare(one, fds, count, room, until);
    for (const ilk__mysql_name *one = self->names; one; one = one->next)
        *until = ilk__sooner(*until, name_due(one));
    *until = ilk__sooner(*until, ilk__contention_due(self->contention));
    *until = ilk__sooner(*until, ilk__registers_due(self->registers));
    *until = ilk__sooner(*until, ilk__mysql_registers_due(self));
    return count;
}

static void release_again(ilk__mysql *self, ilk__mysql_name *name)
{
    ilk__contender *one = name->of->first;

    name->again_at = ILK__FOREVER;
    /* The first one without a statement; its result calls for the next. */
    for (; one; one = one->next) {
        const ilk__mysql_entry *entry = one->at_store;

        if (entry && entry->leaves && !entry->leaves_queue && !entry->job) {
            name->again_at = ilk__deadline(1);
            ilk__mysql_release_row(self, one);
            return;
        }
    }
}

/* Fire one timer of the names; 0: none is due. A report may lead to requests that change
 * the list, so each search begins at its front. */
static int fire_one(ilk__mysql *self, int64_t now)
{
    ilk__contender *waiter;
    ilk__mysql_name *one = self->names;

    while (one && name_due(one) > now)
        one = one->next;
    if (!one)
        return 0;
    if (one->again_at <= now) {
        release_again(self, one);
    } else if (one->enter_at <= now) {
        one->enter_at = ILK__FOREVER;
        ilk__mysql_queue_adjust(self, one);
    } else if (one->look_at <= now) {
        one->look_at = ilk__deadline(ILK__MYSQL_SAFETY_MS);
        waiter = ilk__mysql_first_waiter(one);
        if (waiter)
            ilk__mysql_try_row(self, waiter);
        else
            ilk__mysql_queue_adjust(self, one);
    } else {
        ilk__mysql_read_for_observers(self, one, now);
    }
    return 1;
}

static void polled(void *context, const struct pollfd *fds, size_t count)
{
    ilk__mysql *self = context;
    const int64_t now = ilk__now_ms();

    for (ilk__mysql_conn *one = self->conns; one; one = one->next)
        ilk__mysql_conn_polled(one, fds, count, now);
    while (fire_one(self, now)) {
    }
    ilk__contention_fire(self->contention, now);
    ilk__registers_fire(self->registers, now);
    ilk__mysql_registers_fire(self, now);
    (void)ilk__mysql_close_idle(self, now);
    begin(self);
}

#define MYSQL_BACKEND(name, opener, next)                                      \
    {                                                                          \
        .scheme = (name), .store = "MySQL", .also = (next),                    \
        .offers = ILK_OFFER_LOCK | ILK_OFFER_ELECTION | ILK_OFFER_DETACH       \
                  | ILK_OFFER_REGISTER | ILK_OFFER_LIST,                       \
        .open = (opener), .close = close_mysql, .abandon = abandon,            \
        .call = call, .replies_alone = ilk__contention_replies_alone,          \
        .command = command, .contact = contact, .prepare = prepare,            \
        .polled = polled                                                       \
    }

static const ilk__backend mariadb_tls =
    MYSQL_BACKEND("mariadb+tls", open_tls, NULL);
static const ilk__backend mariadb =
    MYSQL_BACKEND("mariadb", open_plain, &mariadb_tls);
static const ilk__backend mysql_tls =
    MYSQL_BACKEND("mysql+tls", open_tls, &mariadb);
extern const ilk__backend ilk__mysql_backend;
const ilk__backend ilk__mysql_backend =
    MYSQL_BACKEND("mysql", open_plain, &mysql_tls);

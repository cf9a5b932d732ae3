/* SPDX-License-Identifier: MIT */
/*
 * etcd_client.c -- the client's connection: endpoints, login, loss, its turn in the
 * loop.
 *
 * prepare() sends and polled() receives and calls back. A connection that breaks in
 * prepare() is only noted there. Callbacks run while no list is walked and nothing of
 * nghttp2 is on the stack.
 */
#include "etcd_client_internal.h"

#include "base/alloc.h"
#include "base/backoff.h"
#include "base/clock.h"
#include "gateway/backend.h"

#include <stdio.h>
#include <string.h>

enum {
    /* etcd closes connections that are pinged more often than every 5 s. */
    PING_AFTER_MS = 6000,
    STEADY_MS = 1000,       /* a connection that lasts so long was a good one */
    DENIED_PAUSE_MS = 1000, /* etcd computes a slow hash for each login */
    PATIENCES = 4,          /* of the time for an answer */
    OPTIONS_TEXT = 4096
};

static void lose(ilk__etcd *client, const ilk_error *why)
{
    if (!client->is_lost)
        client->lost = *why;
    client->is_lost = 1;
}

int ilk__etcd_can_send(const ilk__etcd *client)
{
    return client->connected && !client->is_lost
           && client->login == ILK__ETCD_LOGIN_DONE
           && ilk__grpc_conn_accepts(client->conn);
}

/* ---- what calls and streams report ------------------------------------------ */

void ilk__etcd_renew_login(ilk__etcd *client)
{
    if (client->login == ILK__ETCD_LOGIN_DONE)
        client->login = ILK__ETCD_LOGIN_NEEDED;
}

void ilk__etcd_leave_endpoint(ilk__etcd *client, const char *why)
{
    if (client->leaves)
        return;
    client->leaves = 1;
    ilk__fail(&client->leaving, ILK_ECONN, "%s", why);
}

/* With several endpoints. Not at once after connecting, so that a cluster without a
 * leader does not get a new connection for each call. */
void ilk__etcd_note(ilk__etcd *client, const ilk__etcd_failure *failure)
{
    if (failure->leaderless && client->count > 1 && client->connected
        && ilk__now_ms() - client->connected_at >= STEADY_MS)
        ilk__etcd_leave_endpoint(client, failure->text);
}

int64_t ilk__etcd_patience(const ilk__etcd *client, int64_t reply_ms)
{
    return client->count > 1 ? reply_ms / PATIENCES : client->reply_ms;
}

void ilk__etcd_note_silence(ilk__etcd *client, int64_t sent_at,
                            int64_t reply_ms)
{
    const int64_t patience = ilk__etcd_patience(client, reply_ms);
    char text[ILK_ERROR_MAX];

    if (!client->conn || ilk__grpc_conn_received_at(client->conn) > sent_at
        || ilk__now_ms() - sent_at < patience)
        return;
    snprintf(text, sizeof text, "etcd at %.80s is silent",
             ilk__grpc_conn_where(client->conn));
    ilk__etcd_leave_endpoint(client, text);
}

ilk_status ilk__etcd_next_message(ilk__grpc_stream *stream, ilk__span *out,
                                  ilk__etcd_failure *failure)
{
    ilk_error why;
    ilk_status st = ilk__grpc_frame_first(&stream->in, out, &why);

    if (st == ILK_OK && stream->http_status == 200 && stream->is_grpc)
        return ILK_OK;
    if (st == ILK_EAGAIN)
        return st;
    if (st == ILK_OK || stream->http_status != 200 || !stream->is_grpc) {
        ilk__etcd_fail_by_stream(failure, stream,
                                 ilk__grpc_conn_where(stream->conn));
        return ILK_EREPLY;
    }
    ilk__etcd_fail_with(failure, st, 1, why.msg);
    return st;
}

void ilk__etcd_drop_message(ilk__grpc_stream *stream, ilk__span message)
{
    ilk__buf_drop(&stream->in, ILK__GRPC_HEAD + message.len);
}

/* ---- login ----------------------------------------------------------------- */

static void begin_login(ilk__etcd *client)
{
    ilk__grpc_call request = {.path = "/etcdserverpb.Auth/Authenticate",
                              .ends = 1};
    ilk__buf message = {.data = NULL};
    ilk_error err;
    ilk_status st;

    if (!client->url.user) {
        client->login = ILK__ETCD_LOGIN_DONE;
        return;
    }
    st = ilk__etcd_put_login(&message, client->url.user, client->url.password,
                             &err);
    request.message = &message;
    if (st == ILK_OK)
        st =
            ilk__grpc_open(&client->login_stream, client->conn, &request, &err);
    if (message.data)
        ilk__wipe(message.data, message.room);
    ilk__buf_free(&message);
    if (st) {
        lose(client, &err);
        return;
    }
    client->login_stream->kind = ILK__ETCD_STREAM_LOGIN;
    client->login = ILK__ETCD_LOGIN_RUNS;
    client->login_until = ilk__deadline(client->reply_ms);
}

static void drop_token(ilk__etcd *client)
{
    if (client->token)
        ilk__wipe(client->token, strlen(client->token));
    ilk__free(client->token);
    client->token = NULL;
}

/* The streams that have the former token keep it: new watches and renewals get new
 * ones. */
static void logged_in(ilk__etcd *client)
{
    client->login = ILK__ETCD_LOGIN_DONE;
    client->logins++;
    client->watch_stream = NULL;
    ilk__etcd_renewals_again(client);
}

static ilk_status take_token(ilk__etcd *client, ilk__grpc_stream *stream,
                             ilk__etcd_failure *failure)
{
    ilk__span message, token;
    ilk_status st = ilk__etcd_next_message(stream, &message, failure);

    if (st && st != ILK_EAGAIN)
        return st;
    if (st == ILK_EAGAIN || stream->code != 0) {
        ilk__etcd_fail_by_stream(failure, stream,
                                 ilk__grpc_conn_where(client->conn));
        return failure->status;
    }
    st = ilk__etcd_read_login(message, &token);
    if (st == ILK_OK) {
        drop_token(client);
        client->token = ilk__memdup(token.at, token.len);
        if (!client->token)
            st = ILK_ENOMEM;
    }
    if (st)
        ilk__etcd_fail_with(failure, st, 0,
                            st == ILK_ENOMEM
                                ? "no memory for etcd's token"
                                : "etcd's answer to the login makes no sense");
    return st;
}

static void login_ready(ilk__etcd *client, ilk__grpc_stream *stream)
{
    ilk__etcd_failure failure;
    ilk_error why;
    ilk_status st;

    if (!stream->is_closed)
        return;
    st = take_token(client, stream, &failure);
    /* A cluster without authentication accepts any login. */
    if (st && stream->code == ILK__GRPC_FAILED_PRECONDITION
        && strstr(stream->message, "authentication is not enabled"))
        st = ILK_OK;
    client->login_stream = NULL;
    ilk__grpc_stream_free(stream);
    if (st == ILK_OK) {
        logged_in(client);
        return;
    }
    /* The first word is for replies; the calls that wait get their own. */
    ilk__fail(&why, failure.status, "%s", strchr(failure.text, ' ') + 1);
    lose(client, &why);
}

/* ---- connecting ------------------------------------------------------------ */

static void connect_next(ilk__etcd *client)
{
    const ilk__etcd_endpoint_at *endpoint = &client->endpoints[client->index];
    ilk_error err;

    client->target = client->url;
    client->target.host = endpoint->host;
    client->target.port = endpoint->port;
    if (ilk__grpc_conn_new(&client->conn, &client->target,
                           ilk__deadline(client->connect_ms), &err))
        lose(client, &err);
    client->awaits_ping = 0;
    client->ping_at = ilk__now_ms();
}

static void step(ilk__etcd *client, int may_receive)
{
    ilk_error err;
    ilk_status st;

    if (!client->conn || client->is_lost)
        return;
    ilk__error_clear(&err);
    st = ilk__grpc_conn_step(client->conn, may_receive, &err);
    if (st == ILK_EAGAIN)
        return;
    if (st) {
        lose(client, &err);
        return;
    }
    if (!client->connected) {
        client->connected = 1;
        client->connected_at = ilk__now_ms();
        client->connects++;
        client->login = ILK__ETCD_LOGIN_NEEDED;
    }
    if (client->login == ILK__ETCD_LOGIN_NEEDED)
        begin_login(client);
    if (client->login == ILK__ETCD_LOGIN_DONE && client->failures) {
        client->failures = 0;
        ilk__error_clear(&client->error);
    }
}

static void send_all(ilk__etcd *client)
{
    ilk__etcd_send_renewals(client);
    ilk__etcd_send_watches(client);
    ilk__etcd_send_calls(client);
}

/* ---- loss ------------------------------------------------------------------ */

static void drop_connection(ilk__etcd *client)
{
    if (client->conn) {
        client->bytes_in += ilk__grpc_conn_bytes_in(client->conn);
        client->bytes_out += ilk__grpc_conn_bytes_out(client->conn);
    }
    ilk__grpc_conn_free(client->conn);
    client->conn = NULL;
    client->login_stream = NULL;
    client->watch_stream = NULL;
    client->connected = 0;
    client->revision = 0;
    client->has_fd = 0;
    client->login = ILK__ETCD_LOGIN_NEEDED;
    drop_token(client);
}

/* When to connect again, and to which. Returns whether all endpoints have failed. */
static int plan_next(ilk__etcd *client, int was_up)
{
    int64_t now = ilk__now_ms(), pause = 0;
    int was_steady = was_up && now - client->connected_at >= STEADY_MS;
    int is_round;

    client->failures = was_up ? 0 : client->failures + 1;
    is_round = client->failures && client->failures % client->count == 0;
    if (was_steady)
        client->retry_step = 0;
    else if (was_up || is_round)
        pause = ilk__connect_pause_ms(&client->retry_step, ILK_ECONN);
    if (client->lost.code == ILK_EAUTH && pause < DENIED_PAUSE_MS)
        pause = DENIED_PAUSE_MS;
    client->retry_at = now + pause;
    client->index = (client->index + 1) % client->count;
    return client->failures >= client->count;
}

/* Of the statuses with which connecting may fail, calls that were not sent get these as
 * they are; all others become ILK_ECONN. */
static void describe_loss(const ilk__etcd *client, ilk__etcd_failure *out,
                          int may_have_run)
{
    ilk_status st = (ilk_status)client->lost.code;

    if (st != ILK_EAUTH && st != ILK_ENOMEM && st != ILK_EINVAL
        && st != ILK_ESERVERBUSY && st != ILK_ENOQUORUM)
        st = ILK_ECONN;
    if (may_have_run && st != ILK_ENOMEM)
        st = ILK_ECONN;
    ilk__etcd_fail_with(out, st, may_have_run, client->lost.msg);
}

static void act_on_loss(ilk__etcd *client)
{
    int was_up = client->connected && client->login == ILK__ETCD_LOGIN_DONE;
    ilk__etcd_failure sent, unsent;
    ilk__etcd_link calls, watches;
    int all_failed;

    client->is_lost = 0;
    client->error = client->lost;
    describe_loss(client, &sent, 1);
    describe_loss(client, &unsent, 0);
    all_failed = plan_next(client, was_up) || unsent.status == ILK_EAUTH;
    ilk__etcd_list_init(&calls);
    ilk__etcd_list_init(&watches);
    ilk__etcd_split_sent(client, &calls);
    ilk__etcd_split_sent_watches(client, &watches);
    ilk__etcd_renewals_again(client);
    drop_connection(client);
    ilk__etcd_fail_calls(&calls, &sent);
    ilk__etcd_end_watch_list(&watches, &sent);
    if (!all_failed)
        return;
    ilk__etcd_fail_calls(&client->renewals_waiting, &unsent);
    ilk__etcd_end_watches(client, NULL, &unsent);
    ilk__etcd_fail_calls(&client->waiting, &unsent);
}

/* ---- health ---------------------------------------------------------------- */

static int64_t health_due(const ilk__etcd *client)
{
    int64_t since;

    if (!client->connected)
        return ILK__FOREVER;
    if (client->login == ILK__ETCD_LOGIN_RUNS)
        return client->login_until;
    if (client->awaits_ping)
        return client->ping_at + client->reply_ms;
    if (ilk__grpc_conn_stream_count(client->conn) == 0)
        return ILK__FOREVER;
    since = ilk__grpc_conn_received_at(client->conn);
    return (since > client->ping_at ? since : client->ping_at) + PING_AFTER_MS;
}

/* A server that goes away finishes its calls first. */
static void check_health(ilk__etcd *client)
{
    ilk_error err;
    int64_t now = ilk__now_ms();

    if (!client->connected || client->is_lost)
        return;
    if (client->awaits_ping
        && ilk__grpc_conn_received_at(client->conn) >= client->ping_at)
        client->awaits_ping = 0;
    if (!ilk__grpc_conn_accepts(client->conn)
        && ilk__etcd_list_empty(&client->sent)) {
        ilk__fail(&err, ILK_ECONN, "etcd at %s is shutting down",
                  ilk__grpc_conn_where(client->conn));
        lose(client, &err);
    } else if (now < health_due(client)) {
        return;
    } else if (client->awaits_ping || client->login == ILK__ETCD_LOGIN_RUNS) {
        ilk__fail(&err, ILK_ECONN, "etcd at %s is silent",
                  ilk__grpc_conn_where(client->conn));
        lose(client, &err);
    } else {
        client->awaits_ping = 1;
        client->ping_at = now;
        if (ilk__grpc_conn_ping(client->conn, &err))
            lose(client, &err);
    }
}

/* ---- the loop -------------------------------------------------------------- */

static int64_t next_due(const ilk__etcd *client)
{
    int64_t due = ilk__timers_next(&client->timers);

    if (client->is_lost || client->leaves
        || !ilk__etcd_list_empty(&client->unsendable))
        return ilk__now_ms();
    if (!client->conn)
        return ilk__sooner(due, client->retry_at);
    due = ilk__sooner(due, ilk__grpc_conn_until(client->conn));
    return ilk__sooner(due, health_due(client));
}

size_t ilk__etcd_prepare(ilk__etcd *client, struct pollfd *fds, size_t room,
                         int64_t *until)
{
    int fd = -1;

    client->has_fd = 0;
    if (!client->conn && !client->is_lost && ilk__now_ms() >= client->retry_at)
        connect_next(client);
    if (!client->connected)
        step(client, 0);
    if (client->connected) {
        send_all(client);
        step(client, 0);
    }
    *until = ilk__sooner(*until, next_due(client));
    if (client->conn && !client->is_lost)
        fd = ilk__grpc_conn_fd(client->conn);
    if (fd < 0)
        return 0;
    if (room) {
        fds[0] = (struct pollfd){.fd = fd,
                                 .events = ilk__grpc_conn_events(client->conn)};
        client->has_fd = 1;
    }
    return 1;
}

static void take_ready(ilk__etcd *client)
{
    ilk__grpc_stream *stream;

    while (client->conn && (stream = ilk__grpc_take_ready(client->conn)))
        switch (stream->kind) {
        case ILK__ETCD_STREAM_UNARY:
            ilk__etcd_call_ready(client, stream);
            break;
        case ILK__ETCD_STREAM_LOGIN: login_ready(client, stream); break;
        case ILK__ETCD_STREAM_RENEWALS:
            ilk__etcd_renewals_ready(client, stream);
            break;
        default: ilk__etcd_watches_ready(client, stream); break;
        }
}

static void fail_unsendable(ilk__etcd *client)
{
    ilk__etcd_failure failure;

    if (ilk__etcd_list_empty(&client->unsendable))
        return;
    ilk__etcd_fail_with(&failure, ILK_ENOMEM, 0,
                        "no memory for a call of etcd");
    ilk__etcd_fail_calls(&client->unsendable, &failure);
}

void ilk__etcd_polled(ilk__etcd *client, const struct pollfd *fds, size_t count)
{
    int is_readable =
        client->has_fd && count && (fds[0].revents & ~POLLOUT) != 0;
    ilk__timer *timer;

    step(client, is_readable);
    take_ready(client);
    fail_unsendable(client);
    while ((timer = ilk__timers_pop(&client->timers, ilk__now_ms())))
        timer->fire(timer, client);
    check_health(client);
    if (client->leaves && client->conn)
        lose(client, &client->leaving);
    client->leaves = 0;
    if (client->is_lost)
        act_on_loss(client);
    if (client->connected && client->login == ILK__ETCD_LOGIN_NEEDED)
        step(client, 0);
}

/* ---- opening and closing --------------------------------------------------- */

int ilk__etcd_is_tls(const char *scheme)
{
    return strcmp(scheme, "etcd+tls") == 0 || strcmp(scheme, "etcds") == 0;
}

static ilk_status add_endpoint(ilk__etcd *client, ilk__span text,
                               ilk_error *err)
{
    ilk__etcd_endpoint_at *to = &client->endpoints[client->count];
    ilk_status st;

    if (client->count == ILK__ETCD_ENDPOINTS_MOST)
        return ilk__fail(err, ILK_EINVAL, "URL: over %d hosts of etcd",
                         ILK__ETCD_ENDPOINTS_MOST);
    st = ilk__url_parse_address(&to->host, &to->port, text, ILK__ETCD_PORT,
                                "URL", err);
    if (st) {
        ilk__free(to->host);
        to->host = NULL;
        return st;
    }
    snprintf(to->text, sizeof to->text,
             strchr(to->host, ':') ? "[%s]:%d" : "%s:%d", to->host, to->port);
    client->count++;
    return ILK_OK;
}

static ilk_status add_endpoints(ilk__etcd *client, const char *hosts,
                                ilk_error *err)
{
    ilk__span rest = {hosts, strlen(hosts)};
    ilk_status st = ILK_OK;
    int more = 1;

    while (more && st == ILK_OK) {
        ilk__span item = ilk__text_cut(&rest, ',', &more);

        st = add_endpoint(client, item, err);
    }
    return st;
}

/* The options mean what they mean for a Redis server, so they are parsed as those of a
 * Redis URL; its database, protocol and replicas (listen) are not for etcd. */
static ilk_status read_options(ilk__url *out, int is_tls, const char *options,
                               ilk_error *err)
{
    char text[OPTIONS_TEXT + 64];
    ilk_status st;

    snprintf(text, sizeof text, "%s://etcd%s%s", is_tls ? "rediss" : "redis",
             *options ? "?" : "", options);
    st = ilk__url_parse(out, text, err);
    if (st == ILK_OK && (out->protocol || out->listen || out->db))
        return ilk__fail(err, ILK_EINVAL,
                         "URL: protocol, listen and db are not for etcd");
    return st;
}

/* All options but noquorum are of the connection: those go to `out`. */
static ilk_status split_options(const char *options, char *out, size_t room,
                                ilk_error *err)
{
    ilk__span rest = {options, options ? strlen(options) : 0};
    size_t len = 0;
    int more = rest.len > 0;

    if (rest.len >= room)
        return ilk__fail(err, ILK_EINVAL, "URL: its query is too long");
    *out = '\0';
    while (more) {
        const ilk__span item = ilk__text_cut(&rest, '&', &more);
        ilk__span value = item, key = ilk__text_cut(&value, '=', NULL);

        if (!ilk__text_equals(key, "noquorum")) /* the core has read it */
            len += (size_t)snprintf(out + len, room - len, "%s%.*s",
                                    len ? "&" : "", (int)item.len, item.at);
    }
    return ILK_OK;
}

static ilk_status copy_login(ilk__url *to, const ilk__url *from, ilk_error *err)
{
    to->user = ilk__strdup(from->user);
    to->password = ilk__strdup(from->password);
    if ((from->user && !to->user) || (from->password && !to->password))
        return ilk__fail(err, ILK_ENOMEM, "no memory for a client of etcd");
    if (to->password && !to->user)
        return ilk__fail(err, ILK_EINVAL,
                         "URL: etcd has no password without a user");
    return ILK_OK;
}

static int64_t first_of(int64_t a, int64_t b, int64_t c)
{
    return a > 0 ? a : b > 0 ? b : c;
}

static ilk_status read_url(ilk__etcd *client, const ilk__url *url,
                           const char *options, ilk_error *err)
{
    int is_tls = ilk__etcd_is_tls(url->backend->scheme);
    char own[OPTIONS_TEXT];
    ilk_status st = split_options(options, own, sizeof own, err);

    if (st == ILK_OK)
        st = read_options(&client->url, is_tls, own, err);
    if (st == ILK_OK)
        st = copy_login(&client->url, url, err);
    if (st == ILK_OK)
        st = add_endpoints(client, url->hosts, err);
    client->connect_ms =
        first_of(client->url.connect_timeout_ms, url->connect_timeout_ms,
                 ILK__ETCD_CONNECT_MS);
    client->reply_ms = first_of(client->url.reply_timeout_ms,
                                url->reply_timeout_ms, ILK__ETCD_REPLY_MS);
    return st;
}

static void free_client(ilk__etcd *client)
{
    drop_connection(client);
    for (size_t i = 0; i < client->count; i++)
        ilk__free(client->endpoints[i].host);
    ilk__timers_free(&client->timers);
    ilk__tls_store_free(client->tls);
    ilk__url_free(&client->url);
    ilk__free(client);
}

ilk_status ilk__etcd_open(ilk__etcd **out, const ilk__url *url,
                          const char *options, ilk_error *err)
{
    ilk__etcd *client = ilk__calloc(1, sizeof *client);
    ilk_status st;

    *out = NULL;
    if (!client)
        return ilk__fail(err, ILK_ENOMEM, "no memory for a client of etcd");
    ilk__etcd_list_init(&client->waiting);
    ilk__etcd_list_init(&client->sent);
    ilk__etcd_list_init(&client->renewals_waiting);
    ilk__etcd_list_init(&client->renewals_sent);
    ilk__etcd_list_init(&client->unsendable);
    ilk__etcd_list_init(&client->watches);
    client->rtt_ms = -1;
    st = read_url(client, url, options, err);
    if (st) {
        free_client(client);
        return st;
    }
    if (client->url.scheme == ILK__SCHEME_TLS)
        client->tls = ilk__tls_store_new();
    client->url.tls = client->tls;
    *out = client;
    return ILK_OK;
}

void ilk__etcd_close(ilk__etcd *client)
{
    ilk__etcd_failure failure;
    ilk__etcd_link calls, watches;
    ilk_error why;

    if (!client)
        return;
    ilk__fail(&why, ILK_ECONN, "the client of etcd is closed");
    client->lost = why;
    ilk__etcd_list_init(&calls);
    ilk__etcd_list_init(&watches);
    ilk__etcd_split_sent(client, &calls);
    ilk__etcd_split_sent_watches(client, &watches);
    ilk__etcd_renewals_again(client);
    drop_connection(client);
    client->count = client->count ? client->count : 1;
    describe_loss(client, &failure, 1);
    ilk__etcd_fail_calls(&calls, &failure);
    ilk__etcd_end_watch_list(&watches, &failure);
    failure.may_have_run = 0;
    /* A callback may make a call. */
    while (!ilk__etcd_list_empty(&client->waiting)
           || !ilk__etcd_list_empty(&client->renewals_waiting)
           || !ilk__etcd_list_empty(&client->unsendable)
           || !ilk__etcd_list_empty(&client->watches)) {
        ilk__etcd_fail_calls(&client->unsendable, &failure);
        ilk__etcd_fail_calls(&client->renewals_waiting, &failure);
        ilk__etcd_end_watches(client, NULL, &failure);
        ilk__etcd_fail_calls(&client->waiting, &failure);
    }
    free_client(client);
}

void ilk__etcd_abandon(ilk__etcd *client)
{
    if (client->conn)
        ilk__grpc_conn_abandon(client->conn);
}

/* ---- status ---------------------------------------------------------------- */

const char *ilk__etcd_endpoint(const ilk__etcd *client, size_t index)
{
    return index < client->count ? client->endpoints[index].text : NULL;
}

void ilk__etcd_get_status(const ilk__etcd *client, ilk__etcd_status *out)
{
    const ilk__grpc_conn *conn = client->conn;

    *out = (ilk__etcd_status){
        .up = client->connected && client->login == ILK__ETCD_LOGIN_DONE,
        .endpoint = client->endpoints[client->index].text,
        .endpoint_index = client->index,
        .endpoint_count = client->count,
        .error = &client->error,
        .rtt_ms = client->rtt_ms,
        .connects = client->connects,
        .logins = client->logins,
        .calls = client->calls,
        .bytes_in =
            client->bytes_in + (conn ? ilk__grpc_conn_bytes_in(conn) : 0),
        .bytes_out =
            client->bytes_out + (conn ? ilk__grpc_conn_bytes_out(conn) : 0)};
}

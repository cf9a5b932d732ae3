/* SPDX-License-Identifier: MIT */
/*
 * zookeeper_session.c -- the session: hosts, connection, loss, and how long it lasts.
 *
 * A server is silent when it owes an answer and has given none for half of the reply
 * timeout. The connection counts as broken then, and likewise after the first frame that
 * makes no sense: all requests end, and the next server is tried. When a server answers
 * that the session is over, all nodes are gone, and a new session begins.
 *
 * A connection begins with one frame of each side: the client names the session, or
 * asks for a new one, and the server answers with its number, password and timeout.
 *
 * How long the session lasts: the leader ends it when nothing has touched it there for
 * the timeout. Requests touch it at their server. A follower sends the touches to the
 * leader with its reply to the leader's next ping, so a follower that is cut off answers
 * for a while, and its touches are lost:
 *
 *     client      follower                   leader
 *       T ----------> touched
 *       <------------ answer
 *                     <--------------------- ping
 *                     touches -------------> the session is touched
 *       P ----------> ---------------------> executed
 *       <------------ <--------------------- answer
 *
 * A request T counts when a later request P, which was executed by the leader (a write
 * or a sync), was sent so long after the answer to T that a ping came in between: the
 * connection of the two servers keeps the order. A leader pings each half tick, and a
 * session has at least two ticks unless the server's configuration says otherwise, so a
 * quarter of the session's timeout is long enough. The client sends something now and
 * then (a heartbeat), so that there is a T.
 */
#include "zookeeper_store.h"

#include "base/alloc.h"
#include "base/backoff.h"
#include "base/log.h"
#include "gateway/backend.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

enum {
    PINGS = 4,      /* of a leader at least, in a session's timeout */
    HEARTBEATS = 8, /* in a session's timeout */
    PAUSE_MS =
        500, /* before another session, and before the path is read again */
    STEADY_MS = 1000, /* a connection that lasts so long was a good one */
    READS = 16,       /* of a socket, before the loop goes on */
    /* The timeout of a session that a server may decide upon. */
    DECIDED_LEAST_MS = 100,
    DECIDED_MOST_MS = 60 * 60 * 1000
};

void ilk__zk_timer(ilk__zk *store, int64_t at)
{
    store->due = ilk__sooner(store->due, at);
}

/* ---- how long it lasts --------------------------------------------------- */

static int went_to_leader(const ilk__zk_op *op)
{
    return op->kind == ILK__ZK_CREATE || op->kind == ILK__ZK_DELETE
           || op->kind == ILK__ZK_SET || op->kind == ILK__ZK_SYNC;
}

void ilk__zk_note_answer(ilk__zk *store, const ilk__zk_op *op)
{
    const size_t last =
        (store->answer_count + ILK__ZK_ANSWERS - 1) % ILK__ZK_ANSWERS;

    if (ilk__zk_is_unsure(op->rc) || op->sent_at < store->connect_sent_at)
        return;
    if (went_to_leader(op) && op->sent_at > store->leader_sent_at)
        store->leader_sent_at = op->sent_at;
    if (store->answer_count
        && op->sent_at - store->answers[last].sent_at
               < store->session_ms / ILK__ZK_ANSWERS)
        return;
    store->answers[store->answer_count++ % ILK__ZK_ANSWERS] =
        (ilk__zk_answer){op->sent_at, op->answered_at};
}

int64_t ilk__zk_session_end(const ilk__zk *store)
{
    const int64_t before = store->leader_sent_at - store->session_ms / PINGS;
    int64_t from = store->connect_sent_at;

    for (size_t i = 0; i < ILK__ZK_ANSWERS && i < store->answer_count; i++)
        if (store->answers[i].answered_at <= before
            && store->answers[i].sent_at > from)
            from = store->answers[i].sent_at;
    return from + store->session_ms;
}

/* ---- the connection ------------------------------------------------------- */

static void set_error(ilk__zk *store, const char *why)
{
    snprintf(store->error, sizeof store->error, "%.190s", why);
}

/* The next server at once, unless all of them have failed one after another. */
static void choose_next(ilk__zk *store, int64_t lasted_ms)
{
    store->host_at = (store->host_at + 1) % store->host_count;
    if (lasted_ms >= STEADY_MS) {
        store->failures = 0;
        store->pause_step = 0;
    }
    store->open_at = ilk__now_ms();
    if (++store->failures >= store->host_count)
        store->open_at += ilk__connect_pause_ms(&store->pause_step, ILK_ECONN);
}

/* Servers whose state is older than what the client has seen close its connections. When
 * the session is over by now, one of them may say so. */
static void forget_old_zxid(ilk__zk *store, int64_t now)
{
    if (store->is_asked && store->state < ILK__ZK_PREPARES
        && now >= ilk__zk_session_end(store) + store->session_ms)
        store->zxid = 0;
}

/* Requests under way may have been executed. The watches are lost with it. */
static void leave_connection(ilk__zk *store, const char *why)
{
    const int64_t now = ilk__now_ms(), opened_at = store->conn->opened_at;
    const int is_ready = store->state >= ILK__ZK_PREPARES;

    set_error(store, why);
    ilk__log(is_ready ? ILK__LOG_WARN : ILK__LOG_DEBUG, "zookeeper: %s", why);
    forget_old_zxid(store, now);
    ilk__zk_conn_free(store->conn);
    store->conn = NULL;
    store->state = ILK__ZK_CONNECTS;
    store->is_asked = store->is_logging_in = store->has_more = 0;
    store->has_missed |= store->watches.count > 0;
    ilk__zk_watches_forget(store);
    ilk__zk_ops_end(store, ILK__ZK_LOST);
    choose_next(store, is_ready ? now - opened_at : 0);
}

static void look_at_descriptor(ilk__zk *store)
{
    if (!store->conn || ilk__zk_conn_is_own(store->conn))
        return;
    ilk__zk_conn_forget_descriptor(store->conn);
    leave_connection(store, "its descriptor was closed by the program");
}

static void try_to_connect(ilk__zk *store, int64_t now)
{
    ilk_error err = {.msg = ""};

    if (now < store->open_at || now < store->pauses_until)
        return;
    store->target = store->url;
    store->target.host = store->hosts[store->host_at];
    store->target.port = store->ports[store->host_at];
    if (ilk__zk_conn_new(&store->conn, &store->target,
                         store->dials++ / store->host_count,
                         now + store->connect_ms, &err)) {
        set_error(store, err.msg);
        store->open_at = now + PAUSE_MS;
    }
}

/* The frame that opens the session. 0: no memory. */
static int ask_for_session(ilk__zk *store)
{
    enum { ROOM = 64 };
    char *to = ilk__zk_begin_frame(&store->conn->out, ROOM);

    if (!to)
        return 0;
    to = ilk__zk_put_int(to, 0); /* the version of the protocol */
    to = ilk__zk_put_long(to, store->zxid);
    to = ilk__zk_put_int(to, store->wanted_session_ms);
    to = ilk__zk_put_long(to, store->session_id);
    to = ilk__zk_put_bytes(
        to, (ilk__span){store->session_password, ILK__ZK_PASSWORD});
    *to++ = 0; /* a server that only reads is of no use */
    ilk__zk_end_frame(&store->conn->out, to);
    store->asked_at = ilk__now_ms();
    store->is_asked = 1;
    return 1;
}

/* Connect, and send what there is. */
static void step(ilk__zk *store)
{
    ilk_error err = {.msg = ""};
    ilk_status st;

    if (!store->conn)
        return;
    st = ilk__zk_conn_step(store->conn, &err);
    if (st == ILK_OK && !store->is_asked) {
        st = ask_for_session(store)
                 ? ilk__zk_conn_step(store->conn, &err)
                 : ilk__fail(&err, ILK_ENOMEM, "no memory for a session");
    }
    if (st && st != ILK_EAGAIN)
        leave_connection(store, err.msg);
}

/* ---- the path ------------------------------------------------------------ */

static void read_again(ilk__zk *store)
{
    const int has_missed = store->has_missed;

    store->has_missed = 0;
    ilk__zk_names_resume(store);
    if (!has_missed)
        return;
    ilk__zk_registers_read_again(store);
    ilk__zk_groups_list_again(store);
}

static void become_ready(ilk__zk *store)
{
    store->state = ILK__ZK_READY;
    store->error[0] = '\0';
    read_again(store);
    ilk__zk_jobs_resume(store);
}

static void take_acl(ilk__zk *store, ilk__zk_op *op)
{
    ilk__free(store->acl.data);
    store->acl = (ilk__bytes){op->text, op->text_len};
    op->text = NULL;
}

ilk__span ilk__zk_acl(const ilk__zk *store)
{
    return (ilk__span){store->acl.data, store->acl.len};
}

/* One entry: all rights for everybody, or for the user who creates the node. */
static ilk__span first_acl(const ilk__zk *store, char room[64])
{
    enum { ALL_RIGHTS = 31 };
    char *to = ilk__zk_put_int(ilk__zk_put_int(room, 1), ALL_RIGHTS);

    to = ilk__zk_put_text(to, store->url.user ? "auth" : "world");
    to = ilk__zk_put_text(to, store->url.user ? "" : "anyone");
    return (ilk__span){room, (size_t)(to - room)};
}

static void has_path_acl(ilk__zk_op *op);

static void made_path(ilk__zk_op *op)
{
    ilk__zk *store = op->store;
    char text[200];

    if (store->state != ILK__ZK_PREPARES || ilk__zk_is_unsure(op->rc))
        return;
    if (op->rc != ILK__ZK_OK && op->rc != ILK__ZK_NODE_EXISTS) {
        set_error(store, ilk__zk_error(text, op->rc));
        ilk__zk_jobs_fire(store, ILK__FOREVER);
        store->heartbeat_at = ilk__now_ms() + PAUSE_MS;
        return;
    }
    ilk__zk_prepare_path(store);
}

/* Make the next part of the path. */
static void make_path(ilk__zk *store)
{
    ilk__zk_op *op = ilk__zk_op_new(store, made_path, NULL, NULL, NULL);
    const size_t from = store->made + 1;
    const size_t len = strcspn(store->path + from, "/");
    char *part = ilk__memdup(store->path, from + len), acl[64];

    if (op) {
        store->made = from + len;
        ilk__zk_create(op, part, (ilk__span){"", 0}, ILK__ZK_PERSISTENT,
                       first_acl(store, acl));
    }
    ilk__free(part);
}

static void has_path_acl(ilk__zk_op *op)
{
    ilk__zk *store = op->store;
    char text[200];

    if (store->state != ILK__ZK_PREPARES || ilk__zk_is_unsure(op->rc))
        return;
    if (op->rc == ILK__ZK_OK) {
        take_acl(store, op);
        become_ready(store);
    } else if (op->rc == ILK__ZK_NO_NODE && store->path[store->made]) {
        make_path(store);
    } else { /* the next heartbeat looks again */
        set_error(store, ilk__zk_error(text, op->rc));
        ilk__zk_jobs_fire(store, ILK__FOREVER);
        store->heartbeat_at = ilk__now_ms() + PAUSE_MS;
    }
}

void ilk__zk_prepare_path(ilk__zk *store)
{
    ilk__zk_op *op = ilk__zk_op_new(store, has_path_acl, NULL, NULL, NULL);

    store->state = ILK__ZK_PREPARES;
    if (op)
        ilk__zk_read_acl(op, *store->path ? store->path : "/");
    else
        store->heartbeat_at = ilk__now_ms() + PAUSE_MS;
}

/* ---- frames of the server -------------------------------------------------- */

/* 0: no memory. */
static int log_in(ilk__zk *store)
{
    const char *user = store->url.user;
    const char *password = store->url.password ? store->url.password : "";
    const size_t len = user ? strlen(user) + 1 + strlen(password) : 0;
    char *to;

    if (!user)
        return 1;
    to = ilk__zk_begin_frame(&store->conn->out, 64 + len);
    if (!to)
        return 0;
    to = ilk__zk_put_int(to, ILK__ZK_XID_LOGIN);
    to = ilk__zk_put_int(to, ILK__ZK_TYPE_LOGIN);
    to = ilk__zk_put_text(ilk__zk_put_int(to, 0), "digest");
    to = ilk__zk_put_int(to, (int32_t)len);
    to = stpcpy(stpcpy(stpcpy(to, user), ":"), password);
    ilk__zk_end_frame(&store->conn->out, to);
    store->is_logging_in = 1;
    return 1;
}

static ilk_status connected(ilk__zk *store, ilk_error *err)
{
    store->connect_sent_at = store->leader_sent_at = store->asked_at;
    store->answer_count = 0;
    store->heartbeat_at = ilk__now_ms() + store->session_ms / HEARTBEATS;
    store->made = 0;
    store->no_pause_until = 0;
    store->state = ILK__ZK_PREPARES;
    if (!log_in(store) || !ilk__zk_sync(store))
        return ilk__fail(err, ILK_ENOMEM, "no memory for a session");
    if (store->acl.data)
        become_ready(store);
    else
        ilk__zk_prepare_path(store);
    return ILK_OK;
}

static void forget_session(ilk__zk *store)
{
    store->session_id = store->zxid = 0;
    store->pauses_until = store->no_pause_until = 0;
    ilk__wipe(store->session_password, ILK__ZK_PASSWORD);
}

static ilk_status take_session(ilk__zk *store, ilk__zk_reader *from,
                               ilk_error *err)
{
    int64_t id;
    int32_t timeout;
    ilk__span password;

    (void)ilk__zk_take_int(from); /* the version of the protocol */
    timeout = ilk__zk_take_int(from);
    id = ilk__zk_take_long(from);
    password = ilk__zk_take_bytes(from);
    if (!from->is_bad && store->session_id && (timeout <= 0 || !id)) {
        store->is_expired = 1;
        return ilk__fail(err, ILK_ECONN, "the session of ZooKeeper is over");
    }
    if (from->is_bad || !id || password.len != ILK__ZK_PASSWORD
        || (store->session_id && id != store->session_id))
        return ilk__fail(err, ILK_EREPLY,
                         "a server of ZooKeeper opens no session, or another "
                         "one");
    if (timeout < DECIDED_LEAST_MS || timeout > DECIDED_MOST_MS)
        return ilk__fail(err, ILK_EREPLY,
                         "a server of ZooKeeper opens a session of %ld ms; it "
                         "must be %d to %d",
                         (long)timeout, DECIDED_LEAST_MS, DECIDED_MOST_MS);
    store->session_id = id;
    store->session_ms = timeout;
    memcpy(store->session_password, password.at, ILK__ZK_PASSWORD);
    return connected(store, err);
}

static ilk_status take_login(ilk__zk *store, int32_t code, ilk_error *err)
{
    if (!store->is_logging_in)
        return ilk__fail(err, ILK_EREPLY, "an answer to no login");
    store->is_logging_in = 0;
    if (code == ILK__ZK_OK)
        return ILK_OK;
    store->is_refused = 1;
    return ilk__fail(err, ILK_EAUTH,
                     "NOAUTH ZooKeeper refuses the login of the URL");
}

static ilk_status take_event(ilk__zk *store, ilk__zk_reader *from,
                             ilk_error *err)
{
    const int32_t event = ilk__zk_take_int(from);
    ilk__span path;

    (void)ilk__zk_take_int(from); /* the state of the session */
    path = ilk__zk_take_path(from);
    if (from->is_bad || event < ILK__ZK_NODE_CREATED
        || event > ILK__ZK_CHILDREN_CHANGED)
        return ilk__fail(err, ILK_EREPLY, "an event that makes no sense");
    ilk__zk_watches_fire(store, (ilk__zk_event)event, path);
    return ILK_OK;
}

/* A server whose state goes back has lost transactions that were answered, or one of its
 * answers was none. The next connection begins without that number. */
static ilk_status look_at_zxid(ilk__zk *store, int64_t zxid, ilk_error *err)
{
    if (zxid <= 0 || zxid >= store->zxid)
        return ILK_OK;
    store->zxid = 0;
    return ilk__fail(err, ILK_EREPLY,
                     "a server of ZooKeeper has lost transactions");
}

static ilk_status take_reply(ilk__zk *store, ilk__zk_reader *from,
                             ilk_error *err)
{
    const int32_t xid = ilk__zk_take_int(from);
    const int64_t zxid = ilk__zk_take_long(from);
    const int32_t code = ilk__zk_take_int(from);
    ilk_status st;

    if (xid == ILK__ZK_XID_EVENT)
        return take_event(store, from, err);
    st = look_at_zxid(store, zxid, err);
    if (st == ILK_OK)
        st = xid == ILK__ZK_XID_LOGIN
                 ? take_login(store, code, err)
                 : ilk__zk_take_answer(store, xid, code, from, err);
    if (st == ILK_OK && zxid > 0)
        store->zxid = zxid;
    return st;
}

ilk_status ilk__zk_take_frame(ilk__zk *store, ilk__span frame, ilk_error *err)
{
    ilk__zk_reader from = {.at = frame.at, .left = frame.len};
    ilk_status st;

    st = store->state < ILK__ZK_PREPARES ? take_session(store, &from, err)
                                         : take_reply(store, &from, err);
    ilk__zk_act(store);
    return st;
}

/* A part of what has come, so that the loop goes on under a flood. */
static ilk_status receive(ilk__zk *store, ilk_error *err)
{
    ilk_status st = ILK_OK, next;
    ilk__span frame;

    store->has_more = 0;
    for (int i = 0; st == ILK_OK; i++) {
        if (i == READS) {
            store->has_more = 1;
            break;
        }
        st = ilk__zk_conn_receive(store->conn, err);
        for (next = st; next == ILK_OK;) {
            next = ilk__zk_conn_next(store->conn, &frame, err);
            if (next == ILK_OK)
                next = ilk__zk_take_frame(store, frame, err);
            if (next && next != ILK_EAGAIN)
                return next;
        }
    }
    return st;
}

/* ---- its end --------------------------------------------------------------- */

/* The server ends the session then, and deletes its nodes. Where the socket does not
 * accept it now, the session ends at its timeout. */
static void say_goodbye(ilk__zk *store)
{
    char *to = store->state >= ILK__ZK_PREPARES
                   ? ilk__zk_begin_frame(&store->conn->out, 8)
                   : NULL;

    if (!to)
        return;
    to = ilk__zk_put_int(to, (int32_t)(++store->op_number & INT32_MAX));
    ilk__zk_end_frame(&store->conn->out,
                      ilk__zk_put_int(to, ILK__ZK_TYPE_CLOSE));
    (void)ilk__zk_conn_step(store->conn, NULL);
}

void ilk__zk_shut(ilk__zk *store)
{
    look_at_descriptor(store);
    if (store->conn)
        say_goodbye(store);
    ilk__zk_conn_free(store->conn);
    store->conn = NULL;
    store->state = ILK__ZK_CONNECTS;
    store->is_asked = store->is_logging_in = 0;
    ilk__zk_watches_forget(store);
    ilk__zk_ops_end(store, ILK__ZK_CLOSING);
    forget_session(store);
}

void ilk__zk_abandon(ilk__zk *store)
{
    if (store->conn)
        ilk__zk_conn_abandon(store->conn);
}

static void end_session(ilk__zk *store)
{
    const int is_refused = store->is_refused;

    store->is_expired = store->is_refused = 0;
    ilk__zk_shut(store);
    store->open_at = ilk__now_ms() + (is_refused ? PAUSE_MS : 0);
    ilk__zk_act(store);
    ilk__zk_names_session_lost(store);
}

/* ---- the loop ------------------------------------------------------------ */

/* When the server counts as silent: an answer is owed, and none at all has come for so
 * long. */
static int64_t silent_at(const ilk__zk *store)
{
    int64_t since;

    if (!store->first)
        return ILK__FOREVER;
    since = store->first->sent_at;
    if (since < store->answered_at)
        since = store->answered_at;
    return since + store->reply_ms / 2;
}

/* Each connection prolongs the session, also when only the answers are lost. Holds are
 * over by now, and others wait for their nodes: let the server end the session. */
static void let_session_expire(ilk__zk *store, int64_t now)
{
    if (!store->session_id || now < store->no_pause_until
        || now < ilk__zk_session_end(store))
        return;
    store->pauses_until = now + store->session_ms * 3 / 2;
    store->no_pause_until = store->pauses_until + store->session_ms;
}

static void look_for_silence(ilk__zk *store, int64_t now)
{
    if (!store->conn)
        return;
    if (now >= silent_at(store)) {
        leave_connection(store, "a server of ZooKeeper is silent");
    } else if (store->is_asked && store->state < ILK__ZK_PREPARES
               && now >= store->conn->socket.deadline) {
        leave_connection(store, "a server of ZooKeeper does not answer");
        let_session_expire(store, now);
    }
}

static void send_heartbeat(ilk__zk *store, int64_t now)
{
    ilk__zk_op *op;

    if (store->state < ILK__ZK_PREPARES || now < store->heartbeat_at)
        return;
    store->heartbeat_at = now + store->session_ms / HEARTBEATS;
    if (store->has_missed && store->state == ILK__ZK_READY)
        read_again(store);
    if (store->state == ILK__ZK_PREPARES) {
        store->made = 0;
        ilk__zk_prepare_path(store);
        return;
    }
    op = ilk__zk_op_new(store, NULL, NULL, NULL, NULL);
    if (op)
        ilk__zk_exists(op, "/", 0);
}

static void work(ilk__zk *store)
{
    const int64_t now = ilk__now_ms();

    ilk__zk_act(store);
    if (store->is_expired || store->is_refused)
        end_session(store);
    look_for_silence(store, now);
    if (!store->conn)
        try_to_connect(store, now);
    send_heartbeat(store, now);
    ilk__contention_fire(store->contention, now);
    ilk__registers_fire(store->registers, now);
    ilk__groups_fire(store->groups, now);
    ilk__zk_members_fire(store, now);
    ilk__zk_jobs_fire(store, now);
    ilk__zk_names_fire(store, now);
    ilk__zk_names_flush(store);
}

static int64_t until_session(const ilk__zk *store)
{
    int64_t until;

    if (store->first_answered || store->is_expired || store->is_refused
        || (store->conn && store->has_more))
        return 0;
    if (!store->conn)
        return store->open_at > store->pauses_until ? store->open_at
                                                    : store->pauses_until;
    until = silent_at(store);
    if (!store->is_asked)
        until = ilk__sooner(until, store->conn->socket.until);
    else if (store->state < ILK__ZK_PREPARES)
        until = ilk__sooner(until, store->conn->socket.deadline);
    else
        until = ilk__sooner(until, store->heartbeat_at);
    return until;
}

size_t ilk__zk_prepare(ilk__zk *store, struct pollfd *fds, size_t room,
                       int64_t *until)
{
    int fd;

    look_at_descriptor(store);
    work(store);
    step(store);
    fd = store->conn ? ilk__zk_conn_fd(store->conn) : -1;
    if (fd >= 0 && room)
        *fds = (struct pollfd){.fd = fd,
                               .events = ilk__zk_conn_events(store->conn)};
    *until = ilk__sooner(*until, until_session(store));
    *until = ilk__sooner(*until, store->due);
    *until = ilk__sooner(*until, ilk__contention_due(store->contention));
    *until = ilk__sooner(*until, ilk__registers_due(store->registers));
    *until = ilk__sooner(*until, ilk__groups_due(store->groups));
    *until = ilk__sooner(*until, ilk__timers_next(&store->member_timers));
    return fd >= 0;
}

void ilk__zk_polled(ilk__zk *store, const struct pollfd *fds, size_t count)
{
    ilk_error err = {.msg = ""};
    ilk_status st = ILK_EAGAIN;

    look_at_descriptor(store);
    step(store);
    if (store->conn && store->is_asked
        && (store->has_more || (count && fds[0].revents)))
        st = receive(store, &err);
    if (st && st != ILK_EAGAIN)
        leave_connection(store, err.msg);
    work(store);
}

const char *ilk__zk_why_down(const ilk__zk *store, char text[300])
{
    static const char *const words[] = {"NOPERM", "NOAUTH", "ERR ", "ILKDOWN"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(store->error, words[i], strlen(words[i])) == 0) {
            snprintf(text, 300, "%s", store->error);
            return text;
        }
    snprintf(text, 300, "ILKDOWN ZooKeeper does not answer%s%s",
             *store->error ? ": " : "", store->error);
    return text;
}

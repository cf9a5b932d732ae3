/* SPDX-License-Identifier: MIT */
/*
 * zookeeper_session.c -- the session: hosts, connection, loss, and how long it lasts.
 *
 * A server is silent when it owes an answer and has given none for half of the reply
 * timeout. The connection counts as broken then: the socket is shut down, the library
 * ends all requests, and goes to the next server. When a server answers that the
 * session is over, all nodes are gone, and a new handle begins a new session.
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
#include "base/descriptor.h"
#include "base/log.h"
#include "gateway/backend.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum {
    PINGS = 4,      /* of a leader at least, in a session's timeout */
    HEARTBEATS = 8, /* in a session's timeout */
    PAUSE_MS = 500, /* before another handle */
    ADDRESS = 64
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

/* ---- opening ------------------------------------------------------------- */

static void on_log(const char *line)
{
    const int is_bad = strstr(line, "ZOO_ERROR") || strstr(line, "ZOO_WARN");

    ilk__log(is_bad ? ILK__LOG_WARN : ILK__LOG_DEBUG, "zookeeper: %s", line);
}

static void add_address(char *hosts, size_t room, const struct addrinfo *info,
                        int port)
{
    char address[ADDRESS];
    const size_t len = strlen(hosts);

    if (getnameinfo(info->ai_addr, info->ai_addrlen, address, sizeof address,
                    NULL, 0, NI_NUMERICHOST))
        return;
    snprintf(hosts + len, room - len, "%s%s:%d", len ? "," : "", address, port);
}

static void set_error(ilk__zk *store, const char *why)
{
    snprintf(store->error, sizeof store->error, "%.190s", why);
}

static void pause_opening(ilk__zk *store, const char *why)
{
    set_error(store, why);
    store->open_at = ilk__now_ms() + PAUSE_MS;
}

static void drop_resolves(ilk__zk *store)
{
    for (size_t i = 0; i < store->host_count; i++) {
        ilk__resolve_free(store->resolves[i]);
        store->resolves[i] = NULL;
    }
}

static void open_handle(ilk__zk *store, const char *hosts)
{
    store->handle =
        zookeeper_init2(hosts, ilk__zk_on_session, store->wanted_session_ms,
                        store->continues.client_id ? &store->continues : NULL,
                        store, ZOO_NO_LOG_CLIENTENV, on_log);
    if (!store->handle) {
        pause_opening(
            store, "the client library of ZooKeeper could not make a handle");
        return;
    }
    /* The hosts are addresses; the library would look them up in every turn. */
    (void)zoo_set_servers_resolution_delay(store->handle, -1);
    ilk__wipe(&store->continues, sizeof store->continues);
    store->state = ILK__ZK_CONNECTS;
    store->fd = -1;
    store->session_id = 0;
    store->pauses_until = 0;
    store->is_expired = store->is_refused = store->is_cut = 0;
    store->dialled_at = ilk__now_ms();
    if (store->user) {
        char login[1024];
        const int len = snprintf(login, sizeof login, "%s:%s", store->user,
                                 store->password ? store->password : "");

        (void)zoo_add_auth(store->handle, "digest", login, len, NULL, NULL);
        ilk__wipe(login, sizeof login);
    }
}

/* The library itself would block for a name server. */
static void begin_resolving(ilk__zk *store)
{
    for (size_t i = 0; i < store->host_count; i++)
        if (!store->resolves[i]
            && ilk__resolve_start(&store->resolves[i], store->hosts[i],
                                  store->ports[i], NULL)) {
            drop_resolves(store);
            pause_opening(store, "the addresses of ZooKeeper's hosts cannot "
                                 "be looked up");
            return;
        }
}

static void try_to_open(ilk__zk *store)
{
    char hosts[ILK__ZK_HOSTS * (ADDRESS + 8)] = "";
    const struct addrinfo *info;
    ilk_error err = {.msg = ""};
    ilk_status st;

    if (ilk__now_ms() < store->open_at)
        return;
    begin_resolving(store);
    if (!store->resolves[0])
        return;
    for (size_t i = 0; i < store->host_count; i++) {
        st = ilk__resolve_result(store->resolves[i], &info, &err);
        if (st == ILK_EAGAIN)
            return;
        if (st == ILK_OK)
            for (; info; info = info->ai_next)
                add_address(hosts, sizeof hosts, info, store->ports[i]);
    }
    drop_resolves(store);
    if (*hosts)
        open_handle(store, hosts);
    else
        pause_opening(store, err.msg);
}

/* ---- the descriptor ------------------------------------------------------ */

static int is_dialled(const ilk__zk *store)
{
    const int state = zoo_state(store->handle);

    return state == ZOO_CONNECTING_STATE || state == ZOO_ASSOCIATING_STATE
           || state == ZOO_CONNECTED_STATE || state == ZOO_READONLY_STATE;
}

int ilk__zk_fd(const ilk__zk *store)
{
    return store->fd >= 0
                   && ilk__descriptor_identity(store->fd) == store->identity
               ? store->fd
               : -1;
}

static void keep_fd(ilk__zk *store, int fd)
{
    store->fd = fd;
    store->identity = ilk__descriptor_identity(fd);
    if (store->identity < 0)
        store->fd = -1;
    else
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* The program has closed the descriptor. The library still has its number, and would
 * read, write and close a file that the program has opened under it. So the handle is
 * never closed, and another one continues the session. The contexts link these handles
 * into a list, so leak checkers find them. */
static void leave_handle(ilk__zk *store)
{
    static _Atomic(zhandle_t *) left;
    zhandle_t *before = atomic_load(&left);
    const clientid_t *id = zoo_client_id(store->handle);

    do
        zoo_set_context(store->handle, before);
    while (!atomic_compare_exchange_weak(&left, &before, store->handle));
    if (id)
        store->continues = *id;
    set_error(store, "its descriptor was closed by the program");
    ilk__log(ILK__LOG_WARN,
             "zookeeper: descriptor %d was closed by the program", store->fd);
    store->handle = NULL;
    store->state = ILK__ZK_CLOSED;
    store->fd = -1;
    ilk__zk_ops_end(store);
    /* The server forgets the watches with the connection, and the next handle's library
     * does not know them. */
    store->has_missed = 1;
    store->heartbeat_at = 0;
}

static void look_at_descriptor(ilk__zk *store)
{
    if (store->handle && store->fd >= 0 && is_dialled(store)
        && ilk__zk_fd(store) < 0)
        leave_handle(store);
}

static void cut(ilk__zk *store)
{
    const int fd = ilk__zk_fd(store);

    if (fd < 0 || store->is_cut)
        return;
    store->is_cut = 1;
    shutdown(fd, SHUT_RDWR);
}

/* ---- the path ------------------------------------------------------------ */

static void become_ready(ilk__zk *store)
{
    store->state = ILK__ZK_READY;
    store->error[0] = '\0';
    ilk__zk_names_resume(store);
    ilk__zk_jobs_resume(store);
}

static void take_acl(ilk__zk *store, ilk__zk_op *op)
{
    const struct ACL_vector before = store->acl;

    store->acl = op->acl;
    op->acl = before; /* which frees it */
}

static void has_path_acl(ilk__zk_op *op);

static void made_path(ilk__zk_op *op)
{
    ilk__zk *store = op->store;
    char text[200];

    if (store->state != ILK__ZK_PREPARES || ilk__zk_is_unsure(op->rc))
        return;
    if (op->rc != ZOK && op->rc != ZNODEEXISTS) {
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
    char *part = ilk__memdup(store->path, from + len);

    if (op) {
        store->made = from + len;
        ilk__zk_create(op, part, (ilk__span){"", 0}, ZOO_PERSISTENT,
                       store->user ? &ZOO_CREATOR_ALL_ACL
                                   : &ZOO_OPEN_ACL_UNSAFE);
    }
    ilk__free(part);
}

static void has_path_acl(ilk__zk_op *op)
{
    ilk__zk *store = op->store;
    char text[200];

    if (store->state != ILK__ZK_PREPARES || ilk__zk_is_unsure(op->rc))
        return;
    if (op->rc == ZOK) {
        take_acl(store, op);
        become_ready(store);
    } else if (op->rc == ZNONODE && store->path[store->made]) {
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

/* ---- changes ------------------------------------------------------------- */

static void connected(ilk__zk *store)
{
    const clientid_t *id = zoo_client_id(store->handle);

    store->session_ms = zoo_recv_timeout(store->handle);
    store->session_id = id ? id->client_id : 0;
    store->connect_sent_at = store->leader_sent_at = store->dialled_at;
    store->answer_count = 0;
    store->heartbeat_at = ilk__now_ms() + store->session_ms / HEARTBEATS;
    store->made = 0;
    store->no_pause_until = 0;
    store->state = ILK__ZK_PREPARES;
    if (!ilk__zk_sync(store)) { /* again, over another connection */
        store->state = ILK__ZK_CONNECTS;
        set_error(store, ilk__zk_no_memory);
        cut(store);
    } else if (store->acl.data) {
        become_ready(store);
    } else {
        ilk__zk_prepare_path(store);
    }
}

void ilk__zk_session_changed(ilk__zk *store, int state)
{
    if (!store->handle) {
        return;
    } else if (state == ZOO_CONNECTED_STATE) {
        connected(store);
    } else if (state == ZOO_EXPIRED_SESSION_STATE) {
        store->is_expired = 1;
    } else if (state == ZOO_AUTH_FAILED_STATE) {
        store->is_refused = 1;
        set_error(store, "NOAUTH ZooKeeper refuses the login of the URL");
    } else {
        store->state = ILK__ZK_CONNECTS;
    }
}

/* Close the handle. The library ends all requests; the caller acts upon their ends. */
void ilk__zk_shut(ilk__zk *store)
{
    struct pollfd one = {.events = POLLOUT};
    zhandle_t *handle;

    drop_resolves(store);
    look_at_descriptor(store);
    handle = store->handle;
    if (!handle)
        return;
    /* The library waits until its last request is sent: a socket that does not accept
     * it now is shut down. */
    one.fd = ilk__zk_fd(store);
    if (one.fd >= 0 && (poll(&one, 1, 0) != 1 || !(one.revents & POLLOUT)))
        shutdown(one.fd, SHUT_RDWR);
    store->handle = NULL;
    store->state = ILK__ZK_CLOSED;
    store->fd = -1;
    (void)zookeeper_close(handle);
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

    if (!store->first || store->is_cut)
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
    if (now >= silent_at(store)) {
        set_error(store, "a server of ZooKeeper is silent");
        cut(store);
    } else if (store->state == ILK__ZK_CONNECTS && store->fd >= 0
               && is_dialled(store)
               && now - store->dialled_at >= store->connect_ms) {
        set_error(store, "a server of ZooKeeper does not answer");
        cut(store);
        let_session_expire(store, now);
    }
}

static void send_heartbeat(ilk__zk *store, int64_t now)
{
    ilk__zk_op *op;

    if (store->state < ILK__ZK_PREPARES || now < store->heartbeat_at)
        return;
    store->heartbeat_at = now + store->session_ms / HEARTBEATS;
    if (store->has_missed) {
        store->has_missed = 0;
        ilk__zk_names_resume(store);
        ilk__zk_registers_read_again(store);
        ilk__zk_groups_list_again(store);
    }
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
    if (!store->handle)
        try_to_open(store);
    look_for_silence(store, now);
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

    if (store->first_answered || store->is_expired || store->is_refused)
        return 0;
    if (!store->handle)
        return store->resolves[0] ? ILK__FOREVER : store->open_at;
    until = silent_at(store);
    if (store->state == ILK__ZK_CONNECTS && store->fd >= 0 && !store->is_cut)
        until = ilk__sooner(until, store->dialled_at + store->connect_ms);
    if (store->state >= ILK__ZK_PREPARES)
        until = ilk__sooner(until, store->heartbeat_at);
    return until;
}

/* The library's part: a descriptor, and a timeout. */
static size_t prepare_handle(ilk__zk *store, struct pollfd *fds, size_t room,
                             int64_t *until)
{
    struct timeval wait = {0};
    const int was_dialled = is_dialled(store);
    const int64_t now = ilk__now_ms();
    int fd = -1, interest = 0, rc;
    int64_t ms;

    if (!was_dialled && now < store->pauses_until) {
        store->fd = -1;
        *until = ilk__sooner(*until, store->pauses_until);
        return 0;
    }
    rc = zookeeper_interest(store->handle, &fd, &interest, &wait);
    if (rc != ZOK && !*store->error)
        snprintf(store->error, sizeof store->error,
                 "no server of ZooKeeper can be reached: %s", zerror(rc));
    if (!is_dialled(store)) /* the library has closed it */
        store->fd = fd = -1;
    if (!was_dialled && fd >= 0) { /* often under the same number */
        store->is_cut = 0;
        store->dialled_at = now;
        keep_fd(store, fd);
    }
    ms = (int64_t)wait.tv_sec * 1000 + (wait.tv_usec + 999) / 1000;
    if ((fd < 0 || rc != ZOK) && ms < 20)
        ms = 20;
    *until = ilk__sooner(*until, ilk__now_ms() + ms);
    if (store->first_answered)
        *until = 0;
    if (fd < 0)
        return 0;
    if (room)
        *fds = (struct pollfd){
            .fd = fd,
            .events = (short)((interest & ZOOKEEPER_READ ? POLLIN : 0)
                              | (interest & ZOOKEEPER_WRITE ? POLLOUT : 0))};
    return 1;
}

size_t ilk__zk_prepare(ilk__zk *store, struct pollfd *fds, size_t room,
                       int64_t *until)
{
    size_t count = 0;

    look_at_descriptor(store);
    work(store);
    if (store->handle)
        count = prepare_handle(store, fds, room, until);
    for (size_t i = 0; !store->handle && i < store->host_count; i++) {
        const int fd =
            store->resolves[i] ? ilk__resolve_fd(store->resolves[i]) : -1;

        if (fd < 0)
            continue;
        if (count < room)
            fds[count] = (struct pollfd){.fd = fd, .events = POLLIN};
        count++;
    }
    *until = ilk__sooner(*until, until_session(store));
    *until = ilk__sooner(*until, store->due);
    *until = ilk__sooner(*until, ilk__contention_due(store->contention));
    *until = ilk__sooner(*until, ilk__registers_due(store->registers));
    *until = ilk__sooner(*until, ilk__groups_due(store->groups));
    *until = ilk__sooner(*until, ilk__timers_next(&store->member_timers));
    return count;
}

void ilk__zk_polled(ilk__zk *store, const struct pollfd *fds, size_t count)
{
    int events = 0;

    look_at_descriptor(store);
    for (size_t i = 0; store->handle && i < count; i++) {
        if (fds[i].fd != store->fd)
            continue;
        if (fds[i].revents & (POLLIN | POLLERR | POLLHUP))
            events |= ZOOKEEPER_READ;
        if (fds[i].revents & (POLLOUT | POLLERR | POLLHUP))
            events |= ZOOKEEPER_WRITE;
    }
    if (store->handle && store->fd >= 0) {
        const int rc = zookeeper_process(store->handle, events);

        if (rc != ZOK && rc != ZNOTHING && !*store->error)
            snprintf(store->error, sizeof store->error,
                     "the connection to ZooKeeper broke: %s", zerror(rc));
        if (!is_dialled(store)) /* the library has closed it */
            store->fd = -1;
    }
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

/* SPDX-License-Identifier: MIT */
/*
 * zookeeper.c -- the backend of zookeeper://.
 *
 *     zookeeper://[user:password@]host[:port],host[:port],...[/path][?options]
 *
 * Registers are in zookeeper_registers.c, groups in zookeeper_groups.c. Locks, read/write
 * locks, semaphores and elections are a contention store. A lock has the nodes of
 * Curator's InterProcessMutex, see zookeeper_nodes.c. A hold's fence is the czxid of its
 * node. The client of the protocol is the backend's own: zookeeper_wire.h,
 * zookeeper_conn.h, zookeeper_session.c.
 */
#include "zookeeper_store.h"

#include "base/alloc.h"
#include "base/token.h"
#include "gateway/backend.h"
#include "net/tls_store.h"

#include <poll.h>
#include <string.h>

enum {
    PORT = 2181,
    CONNECT_MS = 2000,
    REPLY_MS = 5000,
    SESSION_MS = 10000,
    SESSION_LEAST_MS = 500,
    SESSION_MOST_MS = 600000,
    FINISH_MS = 300
};

extern const ilk__backend ilk__zk_backend;

static const ilk__contention_store contention_store = {
    .name = "ZooKeeper",
    .join = ilk__zk_join,
    .renew = ilk__zk_renew,
    .leave = ilk__zk_leave,
    .forget = ilk__zk_forget,
    .forget_name = ilk__zk_forget_name,
    .check = ilk__zk_check,
    .inspect = ilk__zk_inspect,
    .break_hold = ilk__zk_break,
    .proclaim = ilk__zk_proclaim,
    .observe = ilk__zk_observe,
    .set_limit = ilk__zk_set_limit,
    .has_readers = 1,
};

static const ilk__register_store register_store = {
    .read = ilk__zk_register_read,
    .change = ilk__zk_register_change,
    .watch = ilk__zk_register_watch,
    .forget_name = ilk__zk_register_forget,
};

static const ilk__group_store group_store = {
    .join = ilk__zk_group_join,
    .renew = ilk__zk_group_renew,
    .update = ilk__zk_group_update,
    .leave = ilk__zk_group_leave,
    .list = ilk__zk_group_list,
    .forget_name = ilk__zk_group_forget,
};

/* ---- the URL ------------------------------------------------------------- */

static const char with_tls_scheme[] = "zookeeper+tls";

/* The files of TLS. 0: it is another option. */
static int take_file(ilk__zk *store, ilk__span key, ilk__span value,
                     ilk_status *out_st, ilk_error *err)
{
    struct {
        const char *name;
        char **to;
    } files[] = {{"ca", &store->url.ca},
                 {"cert", &store->url.cert},
                 {"key", &store->url.key}};

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (store->url.scheme == ILK__SCHEME_TLS
            && ilk__text_equals(key, files[i].name)) {
            ilk__free(*files[i].to);
            *out_st = ilk__text_decode(files[i].to, value, files[i].name, err);
            return 1;
        }
    return 0;
}

static ilk_status take_option(ilk__zk *store, ilk__span key, ilk__span value,
                              ilk_error *err)
{
    ilk_status st = ILK_OK;
    int64_t number;

    if (take_file(store, key, value, &st, err))
        return st;
    if (ilk__text_equals(key, "label")
        || ilk__text_equals(key, "connect_timeout_ms")
        || ilk__text_equals(key, "reply_timeout_ms")
        || ilk__text_equals(key, "outage"))
        return ILK_OK; /* the core has read these */
    if (!ilk__text_equals(key, "session_timeout_ms"))
        return ilk__fail(err, ILK_EINVAL,
                         "URL: zookeeper has no option \"%.*s\"",
                         key.len < 40 ? (int)key.len : 40, key.at);
    number = ilk__text_number(value, SESSION_MOST_MS);
    if (number < SESSION_LEAST_MS)
        return ilk__fail(err, ILK_EINVAL,
                         "URL: session_timeout_ms must be from %d to %d",
                         SESSION_LEAST_MS, SESSION_MOST_MS);
    store->wanted_session_ms = (int)number;
    return ILK_OK;
}

static ilk_status take_options(ilk__zk *store, const char *options,
                               ilk_error *err)
{
    ilk__span rest = {options ? options : "", options ? strlen(options) : 0};
    ilk_status st = ILK_OK;
    int more = rest.len > 0;

    while (more && st == ILK_OK) {
        ilk__span value = ilk__text_cut(&rest, '&', &more);
        const ilk__span key = ilk__text_cut(&value, '=', NULL);

        if (key.len)
            st = take_option(store, key, value, err);
    }
    return st;
}

static ilk_status take_hosts(ilk__zk *store, const char *hosts, ilk_error *err)
{
    ilk__span rest = {hosts, strlen(hosts)};
    int more = 1;

    while (more) {
        const ilk__span one = ilk__text_cut(&rest, ',', &more);
        const size_t at = store->host_count;
        ilk_status st;

        if (at == ILK__ZK_HOSTS)
            return ilk__fail(err, ILK_EINVAL,
                             "URL: zookeeper takes at most %d hosts",
                             ILK__ZK_HOSTS);
        store->host_count++;
        st = ilk__url_parse_address(&store->hosts[at], &store->ports[at], one,
                                    PORT, "URL", err);
        if (st)
            return st;
    }
    return ILK_OK;
}

static int is_part(const char *part, size_t len)
{
    if (!len || (len == 1 && part[0] == '.')
        || (len == 2 && memcmp(part, "..", 2) == 0))
        return 0;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)part[i] < ' ' || part[i] == 0x7f)
            return 0;
    return 1;
}

static ilk_status take_path(ilk__zk *store, const char *path, ilk_error *err)
{
    size_t len = path ? strlen(path) : 0;

    if (len && path[0] == '/') {
        path++;
        len--;
    }
    if (len && path[len - 1] == '/')
        len--;
    store->path = ilk__calloc(1, len + 2);
    if (!store->path)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    if (!len)
        return ILK_OK;
    store->path[0] = '/';
    memcpy(store->path + 1, path, len);
    for (const char *at = store->path; *at;) {
        const size_t part = strcspn(at + 1, "/");

        if (!is_part(at + 1, part))
            return ilk__fail(err, ILK_EINVAL,
                             "URL: no part of zookeeper's path may be empty, "
                             "\".\" or \"..\" or have control characters");
        at += 1 + part;
    }
    return ILK_OK;
}

static ilk_status take_login(ilk__zk *store, const ilk__url *url,
                             ilk_error *err)
{
    enum { LOGIN_MOST = 500 };

    if (!url->user || !*url->user)
        return ILK_OK;
    if (strlen(url->user) > LOGIN_MOST
        || (url->password && strlen(url->password) > LOGIN_MOST))
        return ilk__fail(err, ILK_EINVAL, "URL: the login is too long");
    store->url.user = ilk__strdup(url->user);
    store->url.password = ilk__strdup(url->password ? url->password : "");
    return store->url.user && store->url.password
               ? ILK_OK
               : ilk__fail(err, ILK_ENOMEM, "out of memory");
}

static ilk_status read_url(ilk__zk *store, const ilk__url *url, ilk_error *err)
{
    ilk_status st;

    if (strcmp(url->backend->scheme, with_tls_scheme) == 0)
        store->url.scheme = ILK__SCHEME_TLS;
    store->connect_ms =
        url->connect_timeout_ms ? url->connect_timeout_ms : CONNECT_MS;
    store->reply_ms = url->reply_timeout_ms ? url->reply_timeout_ms : REPLY_MS;
    store->wanted_session_ms = SESSION_MS;
    st = take_hosts(store, url->hosts, err);
    if (st == ILK_OK)
        st = take_path(store, url->path, err);
    if (st == ILK_OK)
        st = take_login(store, url, err);
    if (st == ILK_OK)
        st = take_options(store, url->options, err);
    return st;
}

/* ---- opening and closing ------------------------------------------------- */

/* Wait for the answers to requests under way: unread bytes would break the
 * connection before the server has read the request that closes the session. */
static void finish_requests(ilk__zk *store)
{
    const int64_t until = ilk__deadline(FINISH_MS);
    struct pollfd fds[ILK__ZK_HOSTS];
    int64_t next;
    size_t count;

    while (store->state == ILK__ZK_READY && store->first
           && ilk__now_ms() < until) {
        next = until;
        count = ilk__zk_prepare(store, fds, ILK__ZK_HOSTS, &next);
        if (count > ILK__ZK_HOSTS)
            break;
        (void)poll(fds, (nfds_t)count,
                   ilk__poll_timeout(ilk__sooner(next, until)));
        ilk__zk_polled(store, fds, count);
    }
}

static void close_zookeeper(void *self)
{
    ilk__zk *store = self;

    if (store->contention)
        finish_requests(store);
    store->is_closing = 1;
    ilk__zk_shut(store); /* all requests end */
    ilk__zk_act(store);
    ilk__zk_jobs_break(store);
    ilk__contention_free(store->contention);
    ilk__registers_free(store->registers);
    ilk__groups_free(store->groups);
    ilk__zk_groups_close(store);
    for (size_t i = 0; i < store->host_count; i++)
        ilk__free(store->hosts[i]);
    ilk__tls_store_free(store->url.tls);
    store->url.tls = NULL;
    ilk__url_free(&store->url);
    ilk__free(store->path);
    ilk__free(store->acl.data);
    ilk__free(store);
}

static ilk_status open_zookeeper(void **out, ilk__gateway *gateway,
                                 const ilk__url *url, ilk_error *err)
{
    ilk__zk *store = ilk__calloc(1, sizeof *store);
    ilk_status st;

    *out = NULL;
    if (!store)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    store->gateway = gateway;
    store->due = ILK__FOREVER;
    st = read_url(store, url, err);
    if (st == ILK_OK) {
        if (store->url.scheme == ILK__SCHEME_TLS)
            store->url.tls = ilk__tls_store_new();
        store->host_at = ilk__jitter((uint32_t)store->host_count);
        store->contention =
            ilk__contention_new(gateway, &contention_store, store);
        store->registers = ilk__registers_new(gateway, &register_store, store);
        store->groups = ilk__groups_new(gateway, &group_store, store);
        if (!store->contention || !store->registers || !store->groups)
            st = ilk__fail(err, ILK_ENOMEM, "out of memory");
    }
    if (st) {
        close_zookeeper(store);
        return st;
    }
    *out = store;
    return ILK_OK;
}

/* The session is the parent's. */
static void abandon(void *self)
{
    ilk__zk_abandon(self);
}

/* ---- the gateway --------------------------------------------------------- */

static void call(void *self, ilk__gateway_request *request)
{
    ilk__zk *store = self;

    if (!ilk__groups_call(store->groups, request)
        && !ilk__registers_call(store->registers, request))
        ilk__contention_call(store->contention, request);
}

static size_t prepare(void *self, struct pollfd *fds, size_t room,
                      int64_t *until)
{
    return ilk__zk_prepare(self, fds, room, until);
}

static void polled(void *self, const struct pollfd *fds, size_t count)
{
    ilk__zk_polled(self, fds, count);
}

#define ZOOKEEPER(url_scheme, other)                                           \
    {                                                                          \
        .scheme = (url_scheme), .store = "ZooKeeper", .also = (other),         \
        .offers = ILK_OFFER_LOCK | ILK_OFFER_RWLOCK | ILK_OFFER_SEMAPHORE      \
                  | ILK_OFFER_ELECTION | ILK_OFFER_REGISTER | ILK_OFFER_GROUP  \
                  | ILK_OFFER_LIST,                                            \
        .open = open_zookeeper, .close = close_zookeeper, .abandon = abandon,  \
        .call = call, .replies_alone = ilk__contention_replies_alone,          \
        .command = ilk__zk_list_names, .contact = ilk__zk_contact,             \
        .prepare = prepare, .polled = polled                                   \
    }

static const ilk__backend with_tls = ZOOKEEPER(with_tls_scheme, NULL);

const ilk__backend ilk__zk_backend = ZOOKEEPER("zookeeper", &with_tls);

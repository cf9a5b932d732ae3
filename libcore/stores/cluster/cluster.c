/* SPDX-License-Identifier: MIT */
/* cluster.c -- the backend: its URL, opening and closing, and its turn in the
 * gateway's loop. */
#include "cluster_internal.h"

#include "base/alloc.h"
#include "base/token.h"
#include "gateway/node_url.h"
#include "redis/keys.h"

#include <stdio.h>
#include <string.h>

enum { OPTIONS_TEXT = 4096 };

/* ---- the URL ------------------------------------------------------------- */

static ilk_status take_option(void *store, ilk__span key, ilk__span value,
                              int *out_is_own, ilk_error *err)
{
    ilk__cluster *cluster = store;
    ilk_status st;

    *out_is_own = ilk__text_equals(key, "hosts");
    if (!*out_is_own)
        return ILK_OK;
    st = ilk__text_decode(&cluster->hosts, value, "query", err);
    return st ? st : ilk__announced_check_patterns(cluster->hosts, err);
}

static ilk_status read_url(ilk__cluster *cluster, const ilk__url *url,
                           ilk_error *err)
{
    char options[OPTIONS_TEXT] = "";
    ilk_status st = ILK_OK;

    if (url->path && strcmp(url->path, "/") != 0
        && strcmp(url->path, "/0") != 0)
        return ilk__fail(err, ILK_EINVAL,
                         "URL: a cluster has database 0 only, got \"%.40s\"",
                         url->path);
    if (url->options)
        st = ilk__node_url_split(options, sizeof options, url->options,
                                 take_option, cluster, err);
    if (st == ILK_OK)
        st = ilk__announced_init(&cluster->announced, cluster->hosts,
                                 ILK__CLUSTER_NEW_AT_ONCE,
                                 ILK__CLUSTER_NEW_EACH_MS, err);
    return st ? st : ilk__node_url_read(&cluster->url, url, NULL, options, err);
}

static ilk_status add_seed(ilk__cluster *cluster, ilk__span text,
                           ilk_error *err)
{
    ilk__url seed = {.port = 0};
    ilk__cluster_node *node = NULL;
    ilk_status st = ilk__url_parse_host(&seed, text, "URL", err);

    if (st == ILK_OK && strlen(seed.host) < ILK__NODE_HOST)
        node = ilk__cluster_node_at(cluster, seed.host, seed.port);
    ilk__url_free(&seed);
    if (st == ILK_OK && !node)
        return ilk__fail(err, ILK_ENOMEM, "no memory for a node");
    if (node)
        node->is_seed = 1;
    return st;
}

static ilk_status add_seeds(ilk__cluster *cluster, const ilk__url *url,
                            ilk_error *err)
{
    ilk__span rest = {url->hosts, strlen(url->hosts)};
    ilk_status st = ILK_OK;
    int more = 1;

    while (more && st == ILK_OK) {
        ilk__span item = ilk__text_cut(&rest, ',', &more);

        if (cluster->node_count == ILK__CLUSTER_NODES / 2)
            return ilk__fail(err, ILK_EINVAL, "URL: over %d hosts",
                             ILK__CLUSTER_NODES / 2);
        st = add_seed(cluster, item, err);
    }
    return st;
}

/* ---- opening and closing ------------------------------------------------- */

/* Both timeouts are the client's: it has written those of its options into the URL. */
static ilk_status set_up(ilk__cluster *cluster, const ilk__url *url,
                         ilk_error *err)
{
    char token[ILK__CLIENT_ID_LEN + 1];
    ilk_status st = ilk__token(token, ILK__CLIENT_ID_LEN, err);

    if (st)
        return st;
    snprintf(cluster->name, sizeof cluster->name, "interlock-cluster-%s",
             token);
    ilk__node_url_timeouts(url, &cluster->connect_ms, &cluster->reply_ms,
                           &cluster->patience_ms);
    for (size_t i = 0; i < ILK__SLOTS; i++)
        cluster->owner[i] = -1;
    st = read_url(cluster, url, err);
    if (st)
        return st;
    if (cluster->url.scheme == ILK__SCHEME_TLS)
        cluster->tls = ilk__tls_store_new();
    cluster->url.tls = cluster->tls;
    return add_seeds(cluster, url, err);
}

static void dispose(ilk__cluster *cluster)
{
    ilk__cluster_nodes_free(cluster);
    ilk__node_channels_free(&cluster->channels);
    ilk__copies_free(&cluster->copies);
    ilk__free(cluster->tried);
    ilk__tls_store_free(cluster->tls);
    ilk__url_free(&cluster->url);
    ilk__free(cluster->hosts);
    ilk__free(cluster);
}

static ilk_status open_cluster(void **out, ilk__gateway *gateway,
                               const ilk__url *url, ilk_error *err)
{
    ilk__cluster *cluster = ilk__calloc(1, sizeof *cluster);
    ilk_status st;

    *out = NULL;
    if (!cluster)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    cluster->gateway = gateway;
    st = set_up(cluster, url, err);
    if (st)
        dispose(cluster);
    else
        *out = cluster;
    return st;
}

static void close_cluster(void *self)
{
    ilk__cluster *cluster = self;

    ilk__cluster_end_all(cluster);
    dispose(cluster);
}

static void abandon(void *self)
{
    ilk__cluster *cluster = self;

    for (size_t i = 0; i < cluster->node_count; i++) {
        ilk__async_conn_abandon(&cluster->nodes[i]->requests);
        ilk__async_conn_abandon(&cluster->nodes[i]->messages.connection);
    }
}

/* ---- the loop ------------------------------------------------------------ */

/* Requests that came since the last turn are written here, all at once. */
static size_t prepare(void *self, struct pollfd *fds, size_t room,
                      int64_t *until)
{
    ilk__cluster *cluster = self;
    size_t count = 0;

    for (size_t i = 0; i < cluster->node_count; i++) {
        ilk__cluster_node *node = cluster->nodes[i];

        ilk__async_conn_flush(&node->requests);
        ilk__async_conn_flush(&node->messages.connection);
        count = ilk__async_conn_add(&node->requests, &node->requests_at, fds,
                                    room, count, until);
        count =
            ilk__async_conn_add(&node->messages.connection, &node->messages_at,
                                fds, room, count, until);
    }
    *until = ilk__sooner(*until, ilk__cluster_next_due(cluster));
    return count;
}

static void polled(void *self, const struct pollfd *fds, size_t count)
{
    ilk__cluster *cluster = self;

    (void)count;
    for (size_t i = 0; i < cluster->node_count; i++) {
        ilk__cluster_node *node = cluster->nodes[i];

        if (node->requests_at)
            ilk__async_conn_polled(&node->requests,
                                   &fds[node->requests_at - 1]);
        if (node->messages_at)
            ilk__async_conn_polled(&node->messages.connection,
                                   &fds[node->messages_at - 1]);
        ilk__cluster_read_messages(node);
        ilk__cluster_read_replies(node);
    }
    ilk__cluster_fire(cluster, ilk__now_ms());
}

/* ---- the backend --------------------------------------------------------- */

static ilk_status accepts_name(const void *name, size_t len, ilk_error *err)
{
    if (ilk__name_has_slot(name, len))
        return ILK_OK;
    return ilk__fail(err, ILK_EUNSUPPORTED,
                     "a cluster cannot keep the keys of \"%.*s\" in one slot: "
                     "a name with '}' needs a hash tag, as in {orders}:1",
                     len < 40 ? (int)len : 40, (const char *)name);
}

#define CLUSTER(url_scheme, other)                                             \
    {                                                                          \
        .scheme = (url_scheme), .also = (other), .store = "the cluster",       \
        .offers = UINT32_MAX, .fails_over = 1, .open = open_cluster,           \
        .close = close_cluster, .abandon = abandon, .call = ilk__cluster_call, \
        .command = ilk__cluster_command, .contact = ilk__cluster_contact,      \
        .ping = ilk__cluster_ping, .accepts_name = accepts_name,               \
        .subscribe = ilk__cluster_subscribe,                                   \
        .await_patterns = ilk__cluster_await_patterns, .prepare = prepare,     \
        .polled = polled                                                       \
    }

static const ilk__backend with_tls = CLUSTER("rediss+cluster", NULL);

const ilk__backend ilk__cluster_backend = CLUSTER("redis+cluster", &with_tls);

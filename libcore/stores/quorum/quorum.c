/* SPDX-License-Identifier: MIT */
/* quorum.c -- the backend: its URL, opening and closing, and its turn in the
 * gateway's loop. */
#include "quorum_internal.h"

#include "base/alloc.h"
#include "base/token.h"
#include "gateway/node_url.h"
#include "wait/lease.h"

#include <stdio.h>
#include <string.h>

enum { OPTIONS_TEXT = 4096 };

/* ---- the URL ------------------------------------------------------------- */

static ilk_status take_longest(ilk__quorum *quorum, ilk__span value,
                               ilk_error *err)
{
    quorum->longest_ms = ilk__text_number(value, ILK__LEASE_MAX_MS);
    if (quorum->longest_ms > ILK__DRIFT_MS)
        return ILK_OK;
    return ilk__fail(err, ILK_EINVAL,
                     "URL: longest_lease_ms must be a number of milliseconds, "
                     "got \"%.*s\"",
                     value.len < 40 ? (int)value.len : 40, value.at);
}

static ilk_status take_fsync(ilk__quorum *quorum, ilk__span value,
                             ilk_error *err)
{
    quorum->trusts_fsync = ilk__text_equals(value, "trust");
    if (quorum->trusts_fsync || ilk__text_equals(value, "check"))
        return ILK_OK;
    return ilk__fail(err, ILK_EINVAL,
                     "URL: fsync must be check or trust, got \"%.*s\"",
                     value.len < 40 ? (int)value.len : 40, value.at);
}

static ilk_status take_option(void *store, ilk__span key, ilk__span value,
                              int *out_is_own, ilk_error *err)
{
    ilk__quorum *quorum = store;

    *out_is_own = 1;
    if (ilk__text_equals(key, "longest_lease_ms"))
        return take_longest(quorum, value, err);
    if (ilk__text_equals(key, "fsync"))
        return take_fsync(quorum, value, err);
    /* The core has read the second one. */
    *out_is_own =
        ilk__text_equals(key, "quorum") || ilk__text_equals(key, "noquorum");
    return ILK_OK;
}

static ilk_status read_url(ilk__quorum *quorum, const ilk__url *url,
                           ilk_error *err)
{
    char options[OPTIONS_TEXT];
    ilk_status st = ilk__node_url_split(options, sizeof options, url->options,
                                        take_option, quorum, err);

    return st ? st
              : ilk__node_url_read(&quorum->url, url, url->path, options, err);
}

static ilk_status add_nodes(ilk__quorum *quorum, const ilk__url *url,
                            ilk_error *err)
{
    ilk__span rest = {url->hosts, strlen(url->hosts)};
    ilk_status st = ILK_OK;
    int more = 1;

    while (more && st == ILK_OK) {
        ilk__span item = ilk__text_cut(&rest, ',', &more);

        if (quorum->count == ILK__QUORUM_MOST)
            return ilk__fail(err, ILK_EINVAL, "URL: a quorum of over %d hosts",
                             ILK__QUORUM_MOST);
        st = ilk__quorum_add_node(quorum, item, err);
    }
    if (st == ILK_OK && quorum->count < ILK__QUORUM_LEAST)
        return ilk__fail(err, ILK_EINVAL,
                         "URL: a quorum has %d to %d hosts, got %zu",
                         ILK__QUORUM_LEAST, ILK__QUORUM_MOST, quorum->count);
    return st;
}

/* ---- opening and closing ------------------------------------------------- */

static ilk_status set_up(ilk__quorum *quorum, const ilk__url *url,
                         ilk_error *err)
{
    char token[ILK__CLIENT_ID_LEN + 1];
    int64_t reply_ms;
    ilk_status st = ilk__token(token, ILK__CLIENT_ID_LEN, err);

    if (st)
        return st;
    snprintf(quorum->name, sizeof quorum->name, "interlock-quorum-%s", token);
    ilk__node_url_timeouts(url, &quorum->connect_ms, &reply_ms,
                           &quorum->patience_ms);
    quorum->longest_ms = ILK__QUORUM_LONGEST_MS;
    st = read_url(quorum, url, err);
    if (st)
        return st;
    if (quorum->url.scheme == ILK__SCHEME_TLS)
        quorum->tls = ilk__tls_store_new();
    quorum->url.tls = quorum->tls;
    st = add_nodes(quorum, url, err);
    if (st == ILK_OK)
        ilk__members_begin(&quorum->members, quorum->count);
    return st;
}

static void dispose(ilk__quorum *quorum)
{
    ilk__quorum_close_nodes(quorum);
    ilk__attempts_free(quorum);
    ilk__rounds_free(quorum);
    ilk__proposals_free(quorum);
    ilk__node_channels_free(&quorum->channels);
    ilk__tls_store_free(quorum->tls);
    ilk__url_free(&quorum->url);
    pthread_mutex_destroy(&quorum->status.mutex);
    ilk__free(quorum);
}

static ilk_status open_quorum(void **out, ilk__gateway *gateway,
                              const ilk__url *url, ilk_error *err)
{
    ilk__quorum *quorum = ilk__calloc(1, sizeof *quorum);
    ilk_status st;

    *out = NULL;
    if (!quorum)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    quorum->gateway = gateway;
    pthread_mutex_init(&quorum->status.mutex, NULL);
    st = set_up(quorum, url, err);
    if (st) {
        dispose(quorum);
        return st;
    }
    ilk__quorum_publish(quorum);
    *out = quorum;
    return ILK_OK;
}

static void close_quorum(void *self)
{
    ilk__quorum *quorum = self;

    for (size_t i = 0; i < quorum->contact_count; i++)
        ilk__gateway_break(quorum->contacts[i]);
    dispose(quorum);
}

static void abandon(void *self)
{
    ilk__quorum *quorum = self;

    for (size_t i = 0; i < quorum->count; i++) {
        ilk__async_conn_abandon(&quorum->nodes[i].calls.connection);
        ilk__async_conn_abandon(&quorum->nodes[i].messages.connection);
    }
}

/* ---- the loop ------------------------------------------------------------ */

/* Calls since the last turn are written here, all at once. */
static size_t prepare(void *self, struct pollfd *fds, size_t room,
                      int64_t *until)
{
    ilk__quorum *quorum = self;
    size_t count = 0;

    for (size_t i = 0; i < quorum->count; i++) {
        ilk__quorum_node *node = &quorum->nodes[i];

        ilk__async_conn_flush(&node->calls.connection);
        ilk__async_conn_flush(&node->messages.connection);
        count =
            ilk__async_conn_add(&node->calls.connection, &node->calls.polled_at,
                                fds, room, count, until);
        count =
            ilk__async_conn_add(&node->messages.connection, &node->messages_at,
                                fds, room, count, until);
    }
    *until = ilk__sooner(*until, ilk__quorum_nodes_due(quorum));
    *until = ilk__sooner(*until, ilk__attempts_due(quorum, ilk__now_ms()));
    *until = ilk__sooner(*until, ilk__rounds_due(quorum));
    *until = ilk__sooner(*until, ilk__acceptors_due(quorum));
    *until = ilk__sooner(*until, ilk__adoption_due(quorum));
    *until = ilk__sooner(*until, ilk__proposals_due(quorum));
    ilk__quorum_publish(quorum);
    return count;
}

static void polled(void *self, const struct pollfd *fds, size_t count)
{
    ilk__quorum *quorum = self;

    (void)count;
    for (size_t i = 0; i < quorum->count; i++) {
        ilk__quorum_node *node = &quorum->nodes[i];

        if (node->calls.polled_at)
            ilk__async_conn_polled(&node->calls.connection,
                                   &fds[node->calls.polled_at - 1]);
        if (node->messages_at)
            ilk__async_conn_polled(&node->messages.connection,
                                   &fds[node->messages_at - 1]);
        ilk__quorum_read_messages(node);
        ilk__quorum_read_replies(node);
    }
    ilk__quorum_fire_nodes(quorum, ilk__now_ms());
    ilk__attempts_fire(quorum, ilk__now_ms());
    ilk__rounds_fire(quorum, ilk__now_ms());
    ilk__acceptors_fire(quorum, ilk__now_ms());
    ilk__adoption_fire(quorum, ilk__now_ms());
    ilk__proposals_fire(quorum, ilk__now_ms());
    ilk__quorum_publish(quorum);
}

/* ---- the backend --------------------------------------------------------- */

#define QUORUM(url_scheme, other)                                              \
    {                                                                          \
        .scheme = (url_scheme), .also = (other), .store = "the quorum",        \
        .offers = ILK_OFFER_LOCK | ILK_OFFER_ELECTION | ILK_OFFER_DETACH       \
                  | ILK_OFFER_REGISTER | ILK_OFFER_LIST,                       \
        .open = open_quorum, .close = close_quorum, .abandon = abandon,        \
        .call = ilk__quorum_call, .command = ilk__quorum_command,              \
        .contact = ilk__quorum_contact, .ping = ilk__quorum_ping,              \
        .subscribe = ilk__quorum_subscribe,                                    \
        .node_stats = ilk__quorum_node_stats, .adopt_node = ilk__quorum_adopt, \
        .prepare = prepare, .polled = polled                                   \
    }

/* Users write redis://...?quorum; see net/url.c. */
static const ilk__backend with_tls = QUORUM("rediss+quorum", NULL);

const ilk__backend ilk__quorum_backend = QUORUM("redis+quorum", &with_tls);

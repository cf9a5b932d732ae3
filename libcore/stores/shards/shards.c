/* SPDX-License-Identifier: MIT */
/* ring.c -- the backend: its URL, opening and closing, and its turn in the gateway's
 * loop. */
#include "shards_internal.h"

#include "base/alloc.h"
#include "base/token.h"
#include "gateway/node_url.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { OPTIONS_TEXT = 4096, LEAST = 2, COPIES = 3 };

/* ---- the URL ------------------------------------------------------------- */

static ilk_status take_number(int64_t *out, const char *what, ilk__span value,
                              ilk_error *err)
{
    *out = ilk__text_number(value, ILK__RING_COPIES);
    if (*out > 0)
        return ILK_OK;
    return ilk__fail(
        err, ILK_EINVAL, "URL: %s must be a number from 1 to %d, got \"%.*s\"",
        what, ILK__RING_COPIES, value.len < 40 ? (int)value.len : 40, value.at);
}

static ilk_status add_servers(ilk__ring_gateway *ring, ilk__span hosts,
                              int are_former, ilk_error *err)
{
    ilk_status st = ILK_OK;
    int more = 1;

    while (more && st == ILK_OK)
        st = ilk__ring_add_server(ring, ilk__text_cut(&hosts, ',', &more),
                                  are_former, err);
    return st;
}

/* The servers on the ring were added before, so former ones come behind them. */
static ilk_status take_option(void *store, ilk__span key, ilk__span value,
                              int *out_is_own, ilk_error *err)
{
    ilk__ring_gateway *ring = store;

    *out_is_own = 1;
    if (ilk__text_equals(key, "copies"))
        return take_number(&ring->copies, "copies", value, err);
    if (ilk__text_equals(key, "write"))
        return take_number(&ring->write, "write", value, err);
    if (ilk__text_equals(key, "read"))
        return take_number(&ring->read, "read", value, err);
    if (ilk__text_equals(key, "former"))
        return add_servers(ring, value, 1, err);
    *out_is_own = ilk__text_equals(key, "ring");
    return ILK_OK;
}

static ilk_status check_copies(ilk__ring_gateway *ring, ilk_error *err)
{
    const int64_t servers = (int64_t)ring->ring_count;

    if (ring->ring_count < LEAST)
        return ilk__fail(err, ILK_EINVAL,
                         "URL: a ring of %zu: it has at least %d servers",
                         ring->ring_count, LEAST);
    if (!ring->copies)
        ring->copies = servers < COPIES ? servers : COPIES;
    if (!ring->write)
        ring->write = ring->copies / 2 + 1;
    if (!ring->read)
        ring->read = ring->copies / 2 + 1;
    if (ring->copies <= servers && ring->write <= ring->copies
        && ring->read <= ring->copies)
        return ILK_OK;
    return ilk__fail(
        err, ILK_EINVAL,
        "URL: copies=%" PRId64 "&write=%" PRId64 "&read=%" PRId64
        " on a ring of %zu: a key is on at most all servers, and at "
        "most all of its copies can be waited for",
        ring->copies, ring->write, ring->read, ring->ring_count);
}

/* A former server is added before all options have been read. So the servers' own URLs,
 * which need the rest of the options, are made later: in ilk__ring_place(). */
static ilk_status read_url(ilk__ring_gateway *ring, const ilk__url *url,
                           ilk_error *err)
{
    const ilk__span hosts = {url->hosts, strlen(url->hosts)};
    char options[OPTIONS_TEXT];
    ilk_status st = add_servers(ring, hosts, 0, err);

    ring->ring_count = ring->count;
    if (st == ILK_OK)
        st = ilk__node_url_split(options, sizeof options, url->options,
                                 take_option, ring, err);
    if (st == ILK_OK)
        st = ilk__node_url_read(&ring->url, url, url->path, options, err);
    return st ? st : check_copies(ring, err);
}

/* ---- opening and closing ------------------------------------------------- */

static ilk_status set_up(ilk__ring_gateway *ring, const ilk__url *url,
                         ilk_error *err)
{
    char token[ILK__CLIENT_ID_LEN + 1];
    int64_t reply_ms;
    ilk_status st = ilk__token(token, ILK__CLIENT_ID_LEN, err);

    if (st)
        return st;
    snprintf(ring->name, sizeof ring->name, "interlock-ring-%s", token);
    ilk__node_url_timeouts(url, &ring->connect_ms, &reply_ms,
                           &ring->patience_ms);
    ring->coming_ms = ilk__sooner(ILK__RING_COMING_MS, ring->patience_ms / 2);
    st = read_url(ring, url, err);
    if (st)
        return st;
    if (ring->url.scheme == ILK__SCHEME_TLS)
        ring->tls = ilk__tls_store_new();
    ring->url.tls = ring->tls;
    return ilk__ring_place(ring, err);
}

static void dispose(ilk__ring_gateway *ring)
{
    ilk__ring_close_servers(ring);
    ilk__ring_free_values(ring);
    ilk__ring_free_steps(ring);
    ilk__ring_free_store(ring);
    ilk__ring_free(&ring->ring);
    ilk__tls_store_free(ring->tls);
    ilk__url_free(&ring->url);
    pthread_mutex_destroy(&ring->mutex);
    ilk__free(ring);
}

static ilk_status open_ring(void **out, ilk__gateway *gateway,
                            const ilk__url *url, ilk_error *err)
{
    ilk__ring_gateway *ring = ilk__calloc(1, sizeof *ring);
    ilk_status st;

    *out = NULL;
    if (!ring)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    ring->gateway = gateway;
    pthread_mutex_init(&ring->mutex, NULL);
    st = set_up(ring, url, err);
    if (st) {
        dispose(ring);
        return st;
    }
    ilk__ring_publish(ring);
    *out = ring;
    return ILK_OK;
}

static void close_ring(void *self)
{
    ilk__ring_gateway *ring = self;

    for (size_t i = 0; i < ring->contact_count; i++)
        ilk__gateway_break(ring->contacts[i]);
    dispose(ring);
}

static void abandon(void *self)
{
    ilk__ring_gateway *ring = self;

    for (size_t i = 0; i < ring->count; i++)
        ilk__async_conn_abandon(&ring->servers[i].calls.connection);
}

/* ---- requests ------------------------------------------------------------ */

static void call(void *self, ilk__gateway_request *request)
{
    switch (request->script) {
    case ILK__SCRIPT_KV_GET:
    case ILK__SCRIPT_KV_PUT: ilk__ring_value(self, request); break;
    case ILK__SCRIPT_KV_MOVE: ilk__ring_move(self, request); break;
    case ILK__SCRIPT_STORE_READ:
    case ILK__SCRIPT_STORE_COMMIT:
    case ILK__SCRIPT_STORE_OUTCOME: ilk__ring_store(self, request); break;
    default:
        ilk__gateway_reply_error(request,
                                 "ILKNONE a ring keeps replicated values "
                                 "and stores, and nothing else");
    }
}

/* The keys of the values themselves. The other keys belong to all values of a name. */
static void order_keys(const ilk__gateway_request *request, size_t *out_first,
                       size_t *out_count)
{
    switch (request->script) {
    case ILK__SCRIPT_KV_GET:
    case ILK__SCRIPT_KV_PUT: *out_count = 1; break;
    case ILK__SCRIPT_STORE_READ: *out_first = *out_count = 1; break;
    case ILK__SCRIPT_STORE_COMMIT:
        *out_first = 2;
        *out_count = request->key_count > 2 ? request->key_count - 2 : 0;
        break;
    default: *out_count = 0; /* outcomes, and steps of a move */
    }
}

/* ---- the loop ------------------------------------------------------------ */

/* Calls since the last turn are written here, all at once. */
static size_t prepare(void *self, struct pollfd *fds, size_t room,
                      int64_t *until)
{
    ilk__ring_gateway *ring = self;
    size_t count = 0;

    for (size_t i = 0; i < ring->count; i++) {
        ilk__node_calls *calls = &ring->servers[i].calls;

        ilk__async_conn_flush(&calls->connection);
        count = ilk__async_conn_add(&calls->connection, &calls->polled_at, fds,
                                    room, count, until);
    }
    *until = ilk__sooner(*until, ilk__ring_servers_due(ring));
    *until = ilk__sooner(*until, ilk__ring_marks_due(ring));
    *until = ilk__sooner(*until, ilk__ring_values_due(ring));
    *until = ilk__sooner(*until, ilk__ring_store_due(ring));
    *until = ilk__sooner(*until, ilk__ring_steps_due(ring));
    ilk__ring_publish(ring);
    return count;
}

static void polled(void *self, const struct pollfd *fds, size_t count)
{
    ilk__ring_gateway *ring = self;
    int64_t now;

    (void)count;
    for (size_t i = 0; i < ring->count; i++) {
        ilk__node_calls *calls = &ring->servers[i].calls;

        if (calls->polled_at)
            ilk__async_conn_polled(&calls->connection,
                                   &fds[calls->polled_at - 1]);
        ilk__ring_read_replies(&ring->servers[i]);
    }
    now = ilk__now_ms();
    ilk__ring_fire_servers(ring, now);
    ilk__ring_fire_marks(ring, now);
    ilk__ring_fire_values(ring, now);
    ilk__ring_fire_store(ring, now);
    ilk__ring_fire_steps(ring);
    ilk__ring_publish(ring);
}

/* ---- the backend --------------------------------------------------------- */

#define RING(url_scheme, other)                                                \
    {                                                                          \
        .scheme = (url_scheme), .also = (other), .store = "the ring",          \
        .ordered_keys = order_keys, .offers = ILK_OFFER_KV | ILK_OFFER_STORE,  \
        .open = open_ring, .close = close_ring, .abandon = abandon,            \
        .call = call, .contact = ilk__ring_contact, .ping = ilk__ring_ping,    \
        .node_stats = ilk__ring_node_stats, .prepare = prepare,                \
        .polled = polled                                                       \
    }

/* Users write redis://...?ring; see net/url.c. */
static const ilk__backend with_tls = RING("rediss+ring", NULL);

const ilk__backend ilk__ring_backend = RING("redis+ring", &with_tls);

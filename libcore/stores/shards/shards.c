/* SPDX-License-Identifier: MIT */
/* shards.c -- the backend: its URL, opening and closing, and its turn in the gateway's
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
    *out = ilk__text_number(value, ILK__SHARDS_COPIES);
    if (*out > 0)
        return ILK_OK;
    return ilk__fail(err, ILK_EINVAL,
                     "URL: %s must be a number from 1 to %d, got \"%.*s\"",
                     what, ILK__SHARDS_COPIES,
                     value.len < 40 ? (int)value.len : 40, value.at);
}

static ilk_status add_servers(ilk__shards *shards, ilk__span hosts,
                              int are_former, ilk_error *err)
{
    ilk_status st = ILK_OK;
    int more = 1;

    while (more && st == ILK_OK)
        st = ilk__shards_add_server(shards, ilk__text_cut(&hosts, ',', &more),
                                    are_former, err);
    return st;
}

/* The servers on the ring were added before, so former ones come behind them. */
static ilk_status take_option(void *store, ilk__span key, ilk__span value,
                              int *out_is_own, ilk_error *err)
{
    ilk__shards *shards = store;

    *out_is_own = 1;
    if (ilk__text_equals(key, "copies"))
        return take_number(&shards->copies, "copies", value, err);
    if (ilk__text_equals(key, "write"))
        return take_number(&shards->write, "write", value, err);
    if (ilk__text_equals(key, "read"))
        return take_number(&shards->read, "read", value, err);
    if (ilk__text_equals(key, "former"))
        return add_servers(shards, value, 1, err);
    *out_is_own = ilk__text_equals(key, "ring");
    return ILK_OK;
}

static ilk_status check_copies(ilk__shards *shards, ilk_error *err)
{
    const int64_t servers = (int64_t)shards->ring_count;

    if (shards->ring_count < LEAST)
        return ilk__fail(err, ILK_EINVAL,
                         "URL: a ring of %zu: it has at least %d servers",
                         shards->ring_count, LEAST);
    if (!shards->copies)
        shards->copies = servers < COPIES ? servers : COPIES;
    if (!shards->write)
        shards->write = shards->copies / 2 + 1;
    if (!shards->read)
        shards->read = shards->copies / 2 + 1;
    if (shards->copies <= servers && shards->write <= shards->copies
        && shards->read <= shards->copies)
        return ILK_OK;
    return ilk__fail(
        err, ILK_EINVAL,
        "URL: copies=%" PRId64 "&write=%" PRId64 "&read=%" PRId64
        " on a ring of %zu: a key is on at most all servers, and at "
        "most all of its copies can be waited for",
        shards->copies, shards->write, shards->read, shards->ring_count);
}

/* A former server is added before all options have been read. So the servers' own URLs,
 * which need the rest of the options, are made later: in ilk__shards_place(). */
static ilk_status read_url(ilk__shards *shards, const ilk__url *url,
                           ilk_error *err)
{
    const ilk__span hosts = {url->hosts, strlen(url->hosts)};
    char options[OPTIONS_TEXT];
    ilk_status st = add_servers(shards, hosts, 0, err);

    shards->ring_count = shards->count;
    if (st == ILK_OK)
        st = ilk__node_url_split(options, sizeof options, url->options,
                                 take_option, shards, err);
    if (st == ILK_OK)
        st = ilk__node_url_read(&shards->url, url, url->path, options, err);
    return st ? st : check_copies(shards, err);
}

/* ---- opening and closing ------------------------------------------------- */

static ilk_status set_up(ilk__shards *shards, const ilk__url *url,
                         ilk_error *err)
{
    char token[ILK__CLIENT_ID_LEN + 1];
    int64_t reply_ms;
    ilk_status st = ilk__token(token, ILK__CLIENT_ID_LEN, err);

    if (st)
        return st;
    snprintf(shards->name, sizeof shards->name, "interlock-ring-%s", token);
    ilk__node_url_timeouts(url, &shards->connect_ms, &reply_ms,
                           &shards->patience_ms);
    shards->coming_ms =
        ilk__sooner(ILK__SHARDS_COMING_MS, shards->patience_ms / 2);
    st = read_url(shards, url, err);
    if (st)
        return st;
    if (shards->url.scheme == ILK__SCHEME_TLS)
        shards->tls = ilk__tls_store_new();
    shards->url.tls = shards->tls;
    return ilk__shards_place(shards, err);
}

static void dispose(ilk__shards *shards)
{
    ilk__shards_close_servers(shards);
    ilk__shards_free_values(shards);
    ilk__shards_free_steps(shards);
    ilk__shards_free_store(shards);
    ilk__ring_free(&shards->ring);
    ilk__tls_store_free(shards->tls);
    ilk__url_free(&shards->url);
    pthread_mutex_destroy(&shards->mutex);
    ilk__free(shards);
}

static ilk_status open_ring(void **out, ilk__gateway *gateway,
                            const ilk__url *url, ilk_error *err)
{
    ilk__shards *shards = ilk__calloc(1, sizeof *shards);
    ilk_status st;

    *out = NULL;
    if (!shards)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    shards->gateway = gateway;
    pthread_mutex_init(&shards->mutex, NULL);
    st = set_up(shards, url, err);
    if (st) {
        dispose(shards);
        return st;
    }
    ilk__shards_publish(shards);
    *out = shards;
    return ILK_OK;
}

static void close_ring(void *self)
{
    ilk__shards *shards = self;

    for (size_t i = 0; i < shards->contact_count; i++)
        ilk__gateway_break(shards->contacts[i]);
    dispose(shards);
}

static void abandon(void *self)
{
    ilk__shards *shards = self;

    for (size_t i = 0; i < shards->count; i++)
        ilk__async_conn_abandon(&shards->servers[i].calls.connection);
}

/* ---- requests ------------------------------------------------------------ */

static void call(void *self, ilk__gateway_request *request)
{
    switch (request->script) {
    case ILK__SCRIPT_KV_GET:
    case ILK__SCRIPT_KV_PUT: ilk__shards_value(self, request); break;
    case ILK__SCRIPT_KV_MOVE: ilk__shards_move(self, request); break;
    case ILK__SCRIPT_STORE_READ:
    case ILK__SCRIPT_STORE_COMMIT:
    case ILK__SCRIPT_STORE_OUTCOME: ilk__shards_store(self, request); break;
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
    ilk__shards *shards = self;
    size_t count = 0;

    for (size_t i = 0; i < shards->count; i++) {
        ilk__node_calls *calls = &shards->servers[i].calls;

        ilk__async_conn_flush(&calls->connection);
        count = ilk__async_conn_add(&calls->connection, &calls->polled_at, fds,
                                    room, count, until);
    }
    *until = ilk__sooner(*until, ilk__shards_servers_due(shards));
    *until = ilk__sooner(*until, ilk__shards_marks_due(shards));
    *until = ilk__sooner(*until, ilk__shards_values_due(shards));
    *until = ilk__sooner(*until, ilk__shards_store_due(shards));
    *until = ilk__sooner(*until, ilk__shards_steps_due(shards));
    ilk__shards_publish(shards);
    return count;
}

static void polled(void *self, const struct pollfd *fds, size_t count)
{
    ilk__shards *shards = self;
    int64_t now;

    (void)count;
    for (size_t i = 0; i < shards->count; i++) {
        ilk__node_calls *calls = &shards->servers[i].calls;

        if (calls->polled_at)
            ilk__async_conn_polled(&calls->connection,
                                   &fds[calls->polled_at - 1]);
        ilk__shards_read_replies(&shards->servers[i]);
    }
    now = ilk__now_ms();
    ilk__shards_fire_servers(shards, now);
    ilk__shards_fire_marks(shards, now);
    ilk__shards_fire_values(shards, now);
    ilk__shards_fire_store(shards, now);
    ilk__shards_fire_steps(shards);
    ilk__shards_publish(shards);
}

/* ---- the backend --------------------------------------------------------- */

#define SHARDS(url_scheme, other)                                              \
    {                                                                          \
        .scheme = (url_scheme), .also = (other), .store = "the ring",          \
        .ordered_keys = order_keys, .offers = ILK_OFFER_KV | ILK_OFFER_STORE,  \
        .open = open_ring, .close = close_ring, .abandon = abandon,            \
        .call = call, .contact = ilk__shards_contact,                          \
        .ping = ilk__shards_ping, .node_stats = ilk__shards_node_stats,        \
        .prepare = prepare, .polled = polled                                   \
    }

/* Users write redis://...?ring; see net/url.c. */
static const ilk__backend with_tls = SHARDS("rediss+ring", NULL);

const ilk__backend ilk__shards_backend = SHARDS("redis+ring", &with_tls);

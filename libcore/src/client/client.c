/* SPDX-License-Identifier: MIT */
/*
 * client.c -- opening, closing and reopening a client.
 *
 * A client owns lanes for its callers, the shared client state, a keeper and
 * the application's loop. Each handle holds a reference to the client.
 *
 * Fork: a child has another fork generation (base/forked.h), so a public
 * function finds that the client is the parent's before it locks a mutex. A
 * mutex may be locked for ever in the child, by a thread that exists only in
 * the parent. So abandon() closes the child's copies of the descriptors and
 * leaks what it cannot free safely.
 */
#include "client.h"

#include "base/alloc.h"
#include "base/backoff.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/forked.h"
#include "base/log.h"
#include "base/opts.h"
#include "loop.h"
#include "net/url_sentinels.h"
#include "pubsub/channel.h"
#include "run.h"
#include "stores/built_in.h"
#include "wait/lease.h"
#include "wait/refresher.h"

#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
    CONNECT_TIMEOUT_MS = 2000,
    START_TIMEOUT_MS = 10000, /* where a server may have to be started */
    REPLY_TIMEOUT_MS = 5000,
    FAILOVER_MS = 15000, /* another server takes the place of one that failed */
    /* for the keeper's last commands, when the client is closed: cancels of waits,
       or releases of holds as well */
    LAST_CANCELS_MS = 200,
    LAST_RELEASES_MS = 1000
};

int ilk__client_is_forked(const ilk_client *client)
{
    return client->generation != ilk__fork_generation();
}

ilk_status ilk__client_enter(const ilk_client *client, ilk_error *err)
{
    ilk__error_clear(err);
    if (!client)
        return ilk__fail(err, ILK_EINVAL, "client must not be NULL");
    if (ilk__client_is_forked(client))
        return ilk__fail(err, ILK_EFORKED,
                         "the client belongs to the parent process");
    if (client->closed)
        return ilk__fail(err, ILK_ECLOSED, "the client is closed");
    return ILK_OK;
}

/* By the number of the bit of ILK_OFFER_... */
static const char *const offers[] = {
    "lock",      "read/write lock", "lock over many names",
    "semaphore", "election",        "queue",
    "signal",    "event",           "barrier",
    "latch",     "guard",           "list of names",
    "recipe",    "detached hold",   "group",
    "register",  "store",           "replicated value"};

int ilk_client_offers(const ilk_client *client, uint32_t what)
{
    const uint32_t all = (UINT32_C(1) << sizeof offers / sizeof offers[0]) - 1;
    uint32_t offered;

    if (!client)
        return 0;
    offered = client->backend ? client->backend->offers & all : all;
    return (what & ~offered) == 0;
}

ilk_status ilk__client_enter_for(const ilk_client *client, uint32_t offer,
                                 ilk_error *err)
{
    ilk_status st = ilk__client_enter(client, err);
    size_t bit = 0;

    if (st || ilk_client_offers(client, offer))
        return st;
    while (offer >> bit != 1)
        bit++;
    return ilk__fail(err, ILK_EUNSUPPORTED,
                     "%s offers no %s; one Redis or Valkey server does",
                     client->backend->store, offers[bit]);
}

ilk_status ilk__client_accept_name(const ilk_client *client, const void *name,
                                   size_t len, ilk_error *err)
{
    if (!client->backend || !client->backend->accepts_name || !name || !len)
        return ILK_OK; /* other checks refuse a name that is missing */
    return client->backend->accepts_name(name, len, err);
}

/* ---- opening ------------------------------------------------------------ */

/* The URL goes before the options. */
static ilk_status check_outage(ilk_client *client, ilk_error *err)
{
    ilk_client_opts *opts = &client->opts;
    const ilk__url *url = &client->url;

    if (url->outage_ms || url->no_outage_wait) {
        opts->outage_ms = url->outage_ms;
        opts->flags &= ~(uint32_t)ILK_CLIENT_NO_OUTAGE_WAIT;
        opts->flags |= url->no_outage_wait ? ILK_CLIENT_NO_OUTAGE_WAIT : 0;
    }
    if (opts->outage_ms < 0 || opts->outage_ms > INT_MAX)
        return ilk__fail(err, ILK_EINVAL, "outage_ms must be 0 to %d, got %lld",
                         INT_MAX, (long long)opts->outage_ms);
    if (opts->outage_ms && opts->flags & ILK_CLIENT_NO_OUTAGE_WAIT)
        return ilk__fail(err, ILK_EINVAL,
                         "outage_ms and ILK_CLIENT_NO_OUTAGE_WAIT exclude "
                         "each other");
    return ILK_OK;
}

static ilk_status check_opts(ilk_client *client, ilk_error *err)
{
    ilk_client_opts *opts = &client->opts;
    const ilk__url *url = &client->url;

    if (url->connect_timeout_ms)
        opts->connect_timeout_ms = url->connect_timeout_ms;
    if (url->reply_timeout_ms)
        opts->reply_timeout_ms = url->reply_timeout_ms;
    if (opts->connect_timeout_ms < 0 || opts->reply_timeout_ms < 0)
        return ilk__fail(err, ILK_EINVAL, "timeouts must not be negative");
    if (opts->connect_timeout_ms > INT_MAX || opts->reply_timeout_ms > INT_MAX)
        return ilk__fail(err, ILK_EINVAL, "timeouts must be at most %d ms",
                         INT_MAX); /* as in a URL */
    if (opts->flags
        & ~(uint32_t)(ILK_CLIENT_LAZY | ILK_CLIENT_NO_EMBEDDED | ILK_CLIENT_TICK
                      | ILK_CLIENT_NO_OUTAGE_WAIT))
        return ilk__fail(err, ILK_EINVAL, "unknown client flags 0x%x",
                         (unsigned)opts->flags);
    if (opts->protocol != 0 && opts->protocol != 2 && opts->protocol != 3)
        return ilk__fail(err, ILK_EINVAL, "protocol must be 2 or 3, got %u",
                         (unsigned)opts->protocol);
    if (!opts->reply_timeout_ms)
        opts->reply_timeout_ms = REPLY_TIMEOUT_MS;
    /* A program that gives a time to connect gives up a server that is mute. */
    if (!opts->connect_timeout_ms) {
        client->first_answer_ms = opts->reply_timeout_ms;
        opts->connect_timeout_ms = url->scheme == ILK__SCHEME_EMBEDDED
                                       ? START_TIMEOUT_MS
                                       : CONNECT_TIMEOUT_MS;
    }
    /* A backend finds them in the URL. */
    client->url.connect_timeout_ms = opts->connect_timeout_ms;
    client->url.reply_timeout_ms = opts->reply_timeout_ms;
    if (!client->url.protocol)
        client->url.protocol = (int)opts->protocol;
    return check_outage(client, err);
}

/* NULL means the environment's URL, then the embedded server. */
static const char *choose_url(const char *url, int *implicit)
{
    const char *named = ilk__environment("INTERLOCK_URL");

    *implicit = 0;
    if (url)
        return url;
    if (named && *named)
        return named;
    *implicit = 1;
    return "embedded://";
}

static int embedded_is_forbidden(const ilk_client *client)
{
    const char *wish = ilk__environment("INTERLOCK_EMBEDDED");

    return (client->opts.flags & ILK_CLIENT_NO_EMBEDDED)
           || (wish && strcmp(wish, "0") == 0);
}

/*
 * Nothing listens on the socket. If the server is embedded it has died; start
 * it again. The new attachment is made before the old one is dropped, so that
 * a server that another process has just started is not stopped.
 */
static int revive(void *context)
{
    ilk_client *client = context;
    ilk__embedded *again = NULL, *old;
    ilk_status st;

    if (!client->is_embedded)
        return 0;
    pthread_mutex_lock(&client->revival);
    st = ilk__embedded_attach(&again, client->embedded_dir,
                              ilk__deadline(client->opts.connect_timeout_ms),
                              NULL);
    old = client->closed ? again : client->embedded;
    if (st == ILK_OK && !client->closed)
        client->embedded = again;
    pthread_mutex_unlock(&client->revival);
    if (st == ILK_OK)
        ilk__embedded_detach(old);
    return st == ILK_OK;
}

/* Start or join the embedded server, and connect to its socket. */
static ilk_status attach_embedded(ilk_client *client, int implicit,
                                  ilk_error *err)
{
    static atomic_flag warned = ATOMIC_FLAG_INIT;
    char *socket;
    ilk_status st;

    if (embedded_is_forbidden(client))
        return ilk__fail(err, ILK_ECONN,
                         "no server: give a URL or set INTERLOCK_URL (the "
                         "embedded server is forbidden)");
    client->embedded_dir = client->url.path;
    client->url.path = NULL;
    st = ilk__embedded_attach(&client->embedded, client->embedded_dir,
                              ilk__deadline(client->opts.connect_timeout_ms),
                              err);
    if (st)
        return st;
    if (implicit && !atomic_flag_test_and_set(&warned))
        ilk__log(ILK__LOG_WARN, "no URL was given: an embedded server is "
                                "used, other hosts are not covered");
    client->is_embedded = 1;
    socket = ilk__strdup(ilk__embedded_socket(client->embedded));
    if (!socket)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    client->url.path = socket;
    client->url.scheme = ILK__SCHEME_UNIX;
    client->url.same_user = 1;
    return ILK_OK;
}

/* The connections of a client with a backend lead to its gateway. */
static ilk_status connect_to_gateway(void *context, int *out_fd, ilk_error *err)
{
    const ilk_client *client = context;

    return ilk__gateway_connect(client->gateway, out_fd, err);
}

/* The keeper calls this when a sentinel has announced another primary. The new
 * one may not have our scripts. */
static void on_switch(void *context)
{
    ilk_client *client = context;

    ilk__shared_lock(client->shared);
    for (size_t i = 0; i < ILK__SCRIPT_COUNT; i++)
        client->shared->knows_script[i] = 0;
    ilk__shared_unlock(client->shared);
    ilk__lanes_leave_old(client->lanes);
    ilk__loop_leave_old(client->loop);
}

static void set_target(ilk_client *client)
{
    if (client->url.scheme == ILK__SCHEME_TLS)
        client->tls = ilk__tls_store_new();
    client->url.tls = client->tls;
    client->target = (ilk__target){
        .url = &client->url,
        .name = client->name,
        .connect_timeout_ms = client->opts.connect_timeout_ms,
        .first_answer_ms = client->first_answer_ms,
        .primary = client->url.sentinels ? &client->primary : NULL,
        .connect = client->backend ? connect_to_gateway : NULL,
        .revive = revive,
        .context = client};
}

/* Whether another server takes the place of one that has failed. */
static int fails_over(const ilk_client *client)
{
    return client->url.sentinels
           || (client->backend && client->backend->fails_over);
}

static void set_outage(const ilk_client *client)
{
    const ilk_client_opts *opts = &client->opts;
    ilk__outage *outage = &client->shared->outage;

    outage->fails_over = fails_over(client);
    outage->wait_ms = opts->outage_ms;
    if (opts->flags & ILK_CLIENT_NO_OUTAGE_WAIT) {
        outage->cap_ms = 0;
    } else if (opts->outage_ms) {
        outage->cap_ms = opts->outage_ms;
    } else {
        outage->wait_ms =
            outage->fails_over ? FAILOVER_MS : opts->connect_timeout_ms;
    }
}

/* Make the gateway if there is a backend, the shared state, lanes, keeper and loop
 * of this process. */
static ilk_status build(ilk_client *client, ilk_error *err)
{
    const ilk_client_opts *opts = &client->opts;
    ilk_status st;

    if (client->backend) {
        st = ilk__gateway_open(&client->gateway, client->backend, &client->url,
                               err);
        if (st)
            return st;
    }
    client->shared = ilk__calloc(1, sizeof *client->shared);
    if (!client->shared)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    st = ilk__shared_open(client->shared, client->url.label, err);
    if (st) {
        ilk__free(client->shared);
        client->shared = NULL;
        return st;
    }
    client->shared->stops = &client->stops;
    client->shared->has_gateway = client->backend != NULL;
    set_outage(client);
    snprintf(client->name, sizeof client->name, "interlock-%s",
             client->shared->client_id);
    set_target(client);
    client->lanes = ilk__lanes_new(&client->target);
    client->keeper = ilk__keeper_new(client->shared, &client->target,
                                     opts->reply_timeout_ms);
    client->loop =
        ilk__loop_new(client, &client->target, opts->reply_timeout_ms);
    if (!client->lanes || !client->keeper || !client->loop)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    ilk__client_listen(client);
    if (client->url.sentinels && client->url.sentinels->min_replicas)
        st = ilk__keeper_confirm(client->keeper,
                                 client->url.sentinels->min_replicas, err);
    if (st == ILK_OK && client->url.sentinels)
        return ilk__keeper_ask_sentinels(client->keeper, on_switch, client,
                                         err);
    return st;
}

static void destroy(ilk_client *client)
{
    ilk__loop_free(client->loop);
    if (client->keeper)
        ilk__keeper_free(client->keeper);
    ilk__lanes_free(client->lanes);
    if (client->shared) {
        ilk__channels_free(client->shared);
        ilk__shared_close(client->shared);
    }
    ilk__free(client->shared);
    ilk__gateway_free(client->gateway);
    ilk__tls_store_free(client->tls);
    ilk__embedded_detach(client->embedded);
    ilk__free(client->embedded_dir);
    if (!ilk__client_is_forked(client)) /* else the parent may have locked it */
        pthread_mutex_destroy(&client->revival);
    ilk__client_forget_replicas(client);
    ilk__url_free(&client->url);
    ilk__free(client);
}

/* Copy the option's text, which is the caller's, unless the URL gave one. */
static ilk_status copy_text(char **field, const char **option, ilk_error *err)
{
    const char *text = *option;

    *option = NULL;
    if (*field || !text)
        return ILK_OK;
    *field = ilk__strdup(text);
    return *field ? ILK_OK : ilk__fail(err, ILK_ENOMEM, "out of memory");
}

/* One attempt; if the program has said how long, as many as that allows. */
static ilk_status connect_first(ilk_client *client, ilk_error *err)
{
    const ilk_client_opts *opts = &client->opts;
    const int64_t until = ilk__deadline(opts->outage_ms);
    int pause_ms = 0;
    ilk_status st;

    for (;;) {
        const ilk_status why =
            ilk__lanes_connect(client->lanes, ILK__FOREVER, err);
        int64_t now = ilk__now_ms();

        st = why == ILK_ETIMEOUT
                 ? ilk__fail(err, ILK_ECONN, "%s", err ? err->msg : "")
                 : why;
        if (st != ILK_ECONN || now >= until)
            return st;
        now += ilk__connect_pause_ms(&pause_ms, why);
        if (poll(NULL, 0, ilk__poll_timeout(ilk__sooner(until, now))) < 0)
            return ilk__fail(err, ILK_EINTR, "%s", ilk_strerror(ILK_EINTR));
    }
}

static ilk_status set_up(ilk_client *client, const char *text,
                         const ilk_client_opts *opts, ilk_error *err)
{
    int implicit;
    ilk_status st = ilk__opts_copy(&client->opts, sizeof client->opts, opts,
                                   "ilk_client_opts", err);

    text = choose_url(text, &implicit);
    if (st == ILK_OK)
        st = ilk__backend_load(text, err);
    if (st == ILK_OK)
        st = ilk__url_parse(&client->url, text, err);
    if (st == ILK_OK)
        st = check_opts(client, err);
    if (st == ILK_OK)
        st = copy_text(&client->url.label, &client->opts.label, err);
    if (st == ILK_OK)
        st = copy_text(&client->url.listen, &client->opts.listen, err);
    if (st == ILK_OK && client->url.sentinels)
        st = ilk__url_sentinels_read(client->url.sentinels, err);
    if (st == ILK_OK && client->url.sentinels)
        st = ilk__primary_init(&client->primary, &client->url, err);
    if (st == ILK_OK)
        st = ilk__client_find_replicas(client, err);
    client->backend = ilk__backend_find(&client->url);
    if (st == ILK_OK && client->url.scheme == ILK__SCHEME_EMBEDDED)
        st = attach_embedded(client, implicit, err);
    if (st == ILK_OK)
        st = build(client, err);
    if (st == ILK_OK && !(client->opts.flags & ILK_CLIENT_LAZY))
        st = connect_first(client, err);
    return st;
}

ilk_status ilk_client_open(ilk_client **out, const char *url,
                           const ilk_client_opts *opts, ilk_error *err)
{
    ilk_client *client;
    ilk_status st;

    ilk__error_clear(err);
    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    ilk__fork_watch();
    st = ilk__built_in_stores_register(err);
    if (st)
        return st;
    client = ilk__calloc(1, sizeof *client);
    if (!client)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    atomic_init(&client->refs, 1);
    pthread_mutex_init(&client->revival, NULL);
    client->generation = ilk__fork_generation();
    st = set_up(client, url, opts, err);
    if (st) {
        destroy(client);
        return st;
    }
    *out = client;
    return ILK_OK;
}

/* ---- closing ------------------------------------------------------------ */

/* The keeper has ended, and a call that comes later finds the client closed, or holds
 * the mutex and writes to -1. */
static void close_wakeup(ilk_client *client)
{
    ilk__shared_lock(client->shared);
    if (!atomic_load(&client->raising))
        ilk__pollable_close(&client->shared->wakeup);
    ilk__shared_unlock(client->shared);
}

static void shut(ilk_client *client)
{
    ilk__embedded *embedded;
    size_t released;

    if (atomic_exchange(&client->closed, 1))
        return;
    ilk__shared_lock(client->shared);
    client->shared->closed = 1;
    /* Inspections would count these waiters until their liveness ends. */
    ilk__refresher_withdraw_all(client->shared);
    released = ilk__leases_give_back(client->shared);
    ilk__shared_wake_sleepers(client->shared);
    ilk__shared_unlock(client->shared);
    ilk__loop_shut(client->loop);
    ilk__keeper_stop(client->keeper,
                     released ? LAST_RELEASES_MS : LAST_CANCELS_MS);
    close_wakeup(client);
    ilk__lanes_shut(client->lanes);
    ilk__gateway_stop(client->gateway);
    pthread_mutex_lock(&client->revival);
    embedded = client->embedded;
    client->embedded = NULL;
    pthread_mutex_unlock(&client->revival);
    ilk__embedded_detach(embedded);
}

ilk_status ilk_client_close(ilk_client *client, ilk_error *err)
{
    ilk_status st = ilk__client_enter(client, err);

    if (st && st != ILK_ECLOSED)
        return st;
    ilk__error_clear(err);
    if (st == ILK_OK)
        shut(client);
    return ILK_OK;
}

/* In a forked child: close our copies of the descriptors and forget the rest.
 * The parent's connections and its embedded server are not affected. */
static void abandon(ilk_client *client)
{
    if (client->lanes)
        ilk__lanes_abandon(client->lanes);
    if (client->keeper)
        ilk__keeper_abandon(client->keeper);
    if (client->loop)
        ilk__loop_abandon(client->loop);
    if (client->shared) {
        ilk__pollable_close(&client->shared->wakeup);
        ilk__pollable_close(&client->shared->notifications.pollable);
    }
    ilk__embedded_abandon(client->embedded);
    ilk__gateway_abandon(client->gateway);
    client->gateway = NULL;
    client->lanes = NULL;
    client->keeper = NULL;
    client->loop = NULL;
    client->shared = NULL;
    client->tls = NULL; /* a thread of the parent may have locked it */
    client->embedded = NULL;
}

ilk_client *ilk__client_ref(ilk_client *client)
{
    atomic_fetch_add(&client->refs, 1);
    return client;
}

void ilk__client_unref(ilk_client *client)
{
    if (atomic_fetch_sub(&client->refs, 1) != 1)
        return;
    if (ilk__client_is_forked(client))
        abandon(client);
    else
        shut(client);
    destroy(client);
}

void ilk_client_free(ilk_client *client)
{
    if (client)
        ilk__client_unref(client);
}

/* A stop of the parent process does not apply to this one. A signal handler may
 * stop the client meanwhile: it stores `stopped_in` first, so either its stop is
 * found here, or it is set again after ilk_client_resume(). */
static void forget_stop_of_parent(ilk_client *client)
{
    if (atomic_load(&client->stops) % 2 == 0)
        return;
    ilk_client_resume(client);
    if (atomic_load(&client->stopped_in) == ilk__fork_generation())
        atomic_fetch_or(&client->stops, 1);
}

ilk_status ilk_client_reopen(ilk_client *client, ilk_error *err)
{
    ilk_status st = ILK_OK;

    ilk__error_clear(err);
    if (!client)
        return ilk__fail(err, ILK_EINVAL, "client must not be NULL");
    if (!ilk__client_is_forked(client))
        return ILK_OK;
    abandon(client);
    pthread_mutex_init(&client->revival, NULL); /* may have been held */
    client->era++;
    client->closed = 0;
    forget_stop_of_parent(client);
    if (client->is_embedded)
        st = ilk__embedded_attach(
            &client->embedded, client->embedded_dir,
            ilk__deadline(client->opts.connect_timeout_ms), err);
    if (st == ILK_OK)
        st = build(client, err);
    if (st == ILK_OK)
        client->generation = ilk__fork_generation();
    return st;
}

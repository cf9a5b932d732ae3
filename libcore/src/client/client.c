/* SPDX-License-Identifier: MIT */
/*
 * client.c -- opening, closing and reopening a client.
 *
 * A client owns a lane for its callers, the shared client state, a keeper and
 * the application's loop. Each handle holds a reference to the client.
 *
 * Fork: an atfork handler increments fork_generation in the child, so a public
 * function finds that the client is the parent's before it locks a mutex. A
 * mutex may be locked for ever in the child, by a thread that exists only in
 * the parent. So abandon() closes the child's copies of the descriptors and
 * leaks what it cannot free safely.
 */
#include "client.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/opts.h"
#include "loop.h"
#include "pubsub/channel.h"
#include "run.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECT_TIMEOUT_MS = 2000, REPLY_TIMEOUT_MS = 5000 };

static uint32_t fork_generation;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void in_child(void)
{
    fork_generation++;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

int ilk__client_is_forked(const ilk_client *client)
{
    return client->generation != fork_generation;
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

/* ---- opening ------------------------------------------------------------ */

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
    if (opts->flags
        & ~(uint32_t)(ILK_CLIENT_LAZY | ILK_CLIENT_NO_EMBEDDED
                      | ILK_CLIENT_TICK))
        return ilk__fail(err, ILK_EINVAL, "unknown client flags 0x%x",
                         (unsigned)opts->flags);
    if (opts->protocol != 0 && opts->protocol != 2 && opts->protocol != 3)
        return ilk__fail(err, ILK_EINVAL, "protocol must be 2 or 3, got %u",
                         (unsigned)opts->protocol);
    if (!opts->connect_timeout_ms)
        opts->connect_timeout_ms = CONNECT_TIMEOUT_MS;
    if (!opts->reply_timeout_ms)
        opts->reply_timeout_ms = REPLY_TIMEOUT_MS;
    if (!client->url.protocol)
        client->url.protocol = (int)opts->protocol;
    return ILK_OK;
}

/* NULL means the environment's URL, then the embedded server. */
static const char *choose_url(const char *url, int *implicit)
{
    const char *named = getenv("INTERLOCK_URL");

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
    const char *wish = getenv("INTERLOCK_EMBEDDED");

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

    if (!client->embedded)
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
    socket = ilk__strdup(ilk__embedded_socket(client->embedded));
    if (!socket)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    client->url.path = socket;
    client->url.scheme = ILK__SCHEME_UNIX;
    return ILK_OK;
}

/* Make the shared state, lane, keeper and loop of this process. */
static ilk_status build(ilk_client *client, ilk_error *err)
{
    const ilk_client_opts *opts = &client->opts;
    ilk_status st;

    client->shared = ilk__calloc(1, sizeof *client->shared);
    if (!client->shared)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    st = ilk__shared_open(client->shared, client->url.label, err);
    if (st) {
        ilk__free(client->shared);
        client->shared = NULL;
        return st;
    }
    snprintf(client->name, sizeof client->name, "interlock-%s",
             client->shared->client_id);
    client->target =
        (ilk__target){.url = &client->url,
                      .name = client->name,
                      .connect_timeout_ms = opts->connect_timeout_ms,
                      .revive = revive,
                      .context = client};
    client->lane = ilk__lane_new(&client->target);
    client->keeper = ilk__keeper_new(client->shared, &client->target,
                                     opts->reply_timeout_ms);
    client->loop =
        ilk__loop_new(client, &client->target, opts->reply_timeout_ms);
    if (!client->lane || !client->keeper || !client->loop)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    ilk__client_listen(client);
    return ILK_OK;
}

static void destroy(ilk_client *client)
{
    ilk__loop_free(client->loop);
    if (client->keeper)
        ilk__keeper_free(client->keeper);
    ilk__lane_free(client->lane);
    if (client->shared) {
        ilk__channels_free(client->shared);
        ilk__shared_close(client->shared);
    }
    ilk__free(client->shared);
    ilk__embedded_detach(client->embedded);
    ilk__free(client->embedded_dir);
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

static ilk_status set_up(ilk_client *client, const char *text,
                         const ilk_client_opts *opts, ilk_error *err)
{
    int implicit;
    ilk_status st = ilk__opts_copy(&client->opts, sizeof client->opts, opts,
                                   "ilk_client_opts", err);

    if (st == ILK_OK)
        st = ilk__url_parse(&client->url, choose_url(text, &implicit), err);
    if (st == ILK_OK)
        st = check_opts(client, err);
    if (st == ILK_OK)
        st = copy_text(&client->url.label, &client->opts.label, err);
    if (st == ILK_OK)
        st = copy_text(&client->url.listen, &client->opts.listen, err);
    if (st == ILK_OK)
        st = ilk__client_find_replicas(client, err);
    if (st == ILK_OK && client->url.scheme == ILK__SCHEME_EMBEDDED)
        st = attach_embedded(client, implicit, err);
    if (st == ILK_OK)
        st = build(client, err);
    if (st == ILK_OK && !(client->opts.flags & ILK_CLIENT_LAZY))
        st = ilk__lane_connect(
            client->lane, ilk__deadline(client->opts.connect_timeout_ms), err);
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
    pthread_once(&fork_once, watch_forks);
    client = ilk__calloc(1, sizeof *client);
    if (!client)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    atomic_init(&client->refs, 1);
    pthread_mutex_init(&client->revival, NULL);
    client->generation = fork_generation;
    st = set_up(client, url, opts, err);
    if (st) {
        destroy(client);
        return st;
    }
    *out = client;
    return ILK_OK;
}

/* ---- closing ------------------------------------------------------------ */

static void shut(ilk_client *client)
{
    ilk__embedded *embedded;

    if (atomic_exchange(&client->closed, 1))
        return;
    ilk__shared_lock(client->shared);
    client->shared->closed = 1;
    ilk__shared_wake_sleepers(client->shared);
    ilk__shared_unlock(client->shared);
    ilk__loop_shut(client->loop);
    ilk__keeper_stop(client->keeper);
    ilk__lane_shut(client->lane);
    pthread_mutex_lock(&client->revival);
    embedded = client->embedded;
    client->embedded = NULL;
    pthread_mutex_unlock(&client->revival);
    ilk__embedded_detach(embedded);
}

ilk_status ilk_client_close(ilk_client *client, ilk_error *err)
{
    ilk_status st = ilk__client_enter(client, err);

    if (st == ILK_ECLOSED)
        return ILK_OK;
    if (st)
        return st;
    shut(client);
    return ILK_OK;
}

/* In a forked child: close our copies of the descriptors and forget the rest.
 * The parent's connections and its embedded server are not affected. */
static void abandon(ilk_client *client)
{
    if (client->lane)
        ilk__lane_abandon(client->lane);
    if (client->keeper)
        ilk__keeper_abandon(client->keeper);
    if (client->loop)
        ilk__loop_abandon(client->loop);
    if (client->shared) {
        ilk__pollable_close(&client->shared->wakeup);
        ilk__pollable_close(&client->shared->notifications.pollable);
    }
    ilk__embedded_abandon(client->embedded);
    client->lane = NULL;
    client->keeper = NULL;
    client->loop = NULL;
    client->shared = NULL;
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

ilk_status ilk_client_reopen(ilk_client *client, ilk_error *err)
{
    int embedded;
    ilk_status st = ILK_OK;

    ilk__error_clear(err);
    if (!client)
        return ilk__fail(err, ILK_EINVAL, "client must not be NULL");
    if (!ilk__client_is_forked(client))
        return ILK_OK;
    embedded = client->embedded != NULL;
    abandon(client);
    pthread_mutex_init(&client->revival, NULL); /* may have been held */
    client->era++;
    client->closed = 0;
    if (embedded)
        st = ilk__embedded_attach(
            &client->embedded, client->embedded_dir,
            ilk__deadline(client->opts.connect_timeout_ms), err);
    if (st == ILK_OK)
        st = build(client, err);
    if (st == ILK_OK)
        client->generation = fork_generation;
    return st;
}

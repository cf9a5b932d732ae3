/* SPDX-License-Identifier: MIT */
/* client_requests.c -- the client's public functions: ping, interrupt, stop,
 * notifications, statistics. */
#include "base/clock.h"
#include "base/forked.h"
#include "base/opts.h"
#include "client.h"
#include "loop.h"
#include "run.h"

#include <string.h>

void ilk_client_opts_init(ilk_client_opts *opts, size_t size)
{
    if (!opts || size < sizeof opts->size)
        return;
    memset(opts, 0, size);
    opts->size = size;
}

static void ask_ping(ilk__op *op)
{
    op->command.replies = ILK__REPLIES_STR;
    ilk__command_add_str(&op->command, "PING");
}

static ilk__act on_pong(ilk__op *op, const ilk__reply *reply)
{
    (void)reply;
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type ping = {.name = "ping",
                                  .script = ILK__SCRIPT_NONE,
                                  .reply_is_optional = 1,
                                  .ask = ask_ping,
                                  .reply = on_pong};

typedef struct ping_request {
    ilk__request request;
    int64_t timeout_ms;
} ping_request;

static void ponged(ilk__request *request, ilk_status status)
{
    ilk__request_end(request, status);
}

static void begin_ping(ilk__request *request)
{
    const ping_request *self = (ping_request *)request;
    ilk_status st = ilk__client_enter(request->client, request->err);

    if (st)
        ilk__request_end(request, st);
    else if (self->timeout_ms < 0)
        ilk__request_ask(request, &ping, NULL, ilk__request_patience(request),
                         ponged);
    else
        ilk__request_wait(request, &ping, NULL, NULL,
                          ilk__deadline(self->timeout_ms), ponged);
}

ilk_status ilk_client_ping(ilk_client *client, int64_t timeout_ms,
                           ilk_error *err)
{
    ping_request self = {.timeout_ms = timeout_ms};

    return ilk__request_run(&self.request, client, begin_ping, err);
}

ilk_status ilk_client_ping_start(ilk_op **out, ilk_client *client,
                                 int64_t timeout_ms, ilk_error *err)
{
    ping_request self = {.timeout_ms = timeout_ms};

    return ilk__request_start(out, &self.request, sizeof self, client,
                              begin_ping, err);
}

/* A signal handler may be here while another thread closes the client, which keeps the
 * descriptor open then. */
static void raise_wakeup(ilk_client *client)
{
    atomic_fetch_add(&client->raising, 1);
    if (!client->closed)
        ilk__pollable_raise(&client->shared->wakeup);
    atomic_fetch_sub(&client->raising, 1);
}

void ilk_client_interrupt(ilk_client *client)
{
    if (!client || ilk__client_is_forked(client) || client->closed)
        return;
    atomic_fetch_add(&client->shared->interrupts, 1);
    raise_wakeup(client);
}

/* In a child that has not reopened the client yet only the flag is set: the
 * parent's keeper has no thread there. */
void ilk_client_stop(ilk_client *client)
{
    if (!client)
        return;
    atomic_store(&client->stopped_in, ilk__fork_generation());
    atomic_fetch_or(&client->stops, 1);
    if (!ilk__client_is_forked(client))
        raise_wakeup(client);
}

void ilk_client_resume(ilk_client *client)
{
    uint32_t stops = client ? atomic_load(&client->stops) : 0;

    while (stops % 2
           && !atomic_compare_exchange_weak(&client->stops, &stops, stops + 1))
        continue;
}

int ilk_client_stopped(const ilk_client *client)
{
    return client && atomic_load(&client->stops) % 2
           && atomic_load(&client->stopped_in) == ilk__fork_generation();
}

ilk_status ilk_client_notification_fd(ilk_client *client, int *out_fd,
                                      ilk_error *err)
{
    ilk_status st = ilk__client_enter(client, err);

    if (st)
        return st;
    if (!out_fd)
        return ilk__fail(err, ILK_EINVAL, "out_fd must not be NULL");
    /* From now on the keeper also watches leases that are not renewed, so that
     * their end is notified. */
    atomic_store(&client->shared->notifications_wanted, 1);
    return ilk__loop_fd(client->loop, out_fd, err);
}

/* Works after close, too: started operations that ended with the client still
 * have their notifications. */
ilk_status ilk_client_next_notification(ilk_client *client,
                                        ilk_notification *notification,
                                        ilk_error *err)
{
    ilk_notification ours = {.size = sizeof ours};
    ilk_status st = ilk__client_enter(client, err);

    if (st && st != ILK_ECLOSED)
        return st;
    if (!notification)
        return ilk__fail(err, ILK_EINVAL, "notification must not be NULL");
    if (ilk__loop_next(client->loop, &ours) == ILK_OK)
        st = ILK_OK;
    else if (st == ILK_OK)
        st =
            ilk__notifications_next(&client->shared->notifications, &ours, err);
    if (st)
        return st;
    return ilk__opts_fill(notification, &ours, sizeof ours, "ilk_notification",
                          err);
}

ilk_status ilk_client_notify_kept(ilk_client *client, int64_t id,
                                  ilk_error *err)
{
    ilk_status st = ilk__client_enter(client, err);

    if (st == ILK_OK)
        ilk__notifications_push(&client->shared->notifications,
                                ILK_NOTIFICATION_KEPT, id, NULL, ILK_OK,
                                ILK_LOSS_NONE);
    return st;
}

ilk_status ilk_client_get_stats(ilk_client *client, ilk_client_stats *stats,
                                ilk_error *err)
{
    ilk_client_stats ours;
    ilk__traffic sum = {0};
    ilk_status st = ilk__client_enter(client, err);

    if (st && st != ILK_ECLOSED)
        return st;
    ilk__error_clear(err);
    if (!stats)
        return ilk__fail(err, ILK_EINVAL, "stats must not be NULL");
    ilk__lanes_add_traffic(client->lanes, &sum);
    ilk__shared_lock(client->shared);
    ours = client->shared->stats;
    ilk__keeper_add_traffic(client->keeper, &sum);
    ilk__shared_unlock(client->shared);
    ilk__loop_add_traffic(client->loop, &sum);
    ours.commands = sum.commands;
    ours.writes = sum.writes;
    ours.bytes_out = sum.bytes_out;
    ours.bytes_in = sum.bytes_in;
    ours.connects = sum.connects;
    ours.connections = sum.connected;
    pthread_mutex_lock(&client->shared->notifications.mutex);
    ours.notifications_dropped = client->shared->notifications.dropped;
    pthread_mutex_unlock(&client->shared->notifications.mutex);
    return ilk__opts_fill(stats, &ours, sizeof ours, "ilk_client_stats", err);
}

ilk_status ilk_client_get_node_stats(ilk_client *client, size_t index,
                                     ilk_node_stats *stats, ilk_error *err)
{
    ilk_node_stats ours = {.size = sizeof ours};
    ilk_status st = ilk__client_enter(client, err);

    if (st && st != ILK_ECLOSED)
        return st;
    ilk__error_clear(err);
    if (!stats)
        return ilk__fail(err, ILK_EINVAL, "stats must not be NULL");
    if (!client->gateway
        || ilk__gateway_node_stats(client->gateway, index, &ours))
        return ilk__fail(err, ILK_EAGAIN, "the client has no node %zu", index);
    return ilk__opts_fill(stats, &ours, sizeof ours, "ilk_node_stats", err);
}

ilk_status ilk_client_adopt_node(ilk_client *client, size_t index,
                                 ilk_error *err)
{
    ilk_status st = ilk__client_enter(client, err);

    if (st)
        return st;
    st = client->gateway ? ilk__gateway_adopt_node(client->gateway, index)
                         : ILK_EUNSUPPORTED;
    if (st == ILK_EUNSUPPORTED)
        return ilk__fail(err, st, "only a quorum can take in a node");
    if (st)
        return ilk__fail(err, st, "the client has no node %zu", index);
    return ILK_OK;
}

const char *ilk_client_id(const ilk_client *client)
{
    return client && client->shared ? client->shared->client_id : "";
}

const char *ilk_client_url(const ilk_client *client)
{
    return client ? client->url.shown : "";
}

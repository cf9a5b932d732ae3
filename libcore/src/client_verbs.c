/* SPDX-License-Identifier: MIT */
/* client_verbs.c -- what can be asked of a client. */
#include "client.h"
#include "opts.h"
#include "run.h"

static void ask_ping(ilk__op *op)
{
    ilk__command_add_str(&op->command, "PING");
}

static ilk__act on_pong(ilk__op *op, const ilk__reply *reply)
{
    (void)reply;
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type ping = {.name = "ping",
                                  .script = ILK__SCRIPT_NONE,
                                  .reads = 1,
                                  .ask = ask_ping,
                                  .reply = on_pong};

ilk_status ilk_client_ping(ilk_client *client, int64_t timeout_ms,
                           ilk_error *err)
{
    ilk_status st = ilk__client_enter(client, err);

    if (st)
        return st;
    if (timeout_ms < 0)
        timeout_ms = client->opts.reply_timeout_ms;
    return ilk__ask(client, &ping, NULL, timeout_ms, err);
}

void ilk_client_interrupt(ilk_client *client)
{
    if (!client || ilk__client_is_forked(client) || client->closed)
        return;
    atomic_fetch_add(&client->desk->interrupts, 1);
    ilk__pollable_raise(&client->desk->bell);
}

ilk_status ilk_client_event_fd(ilk_client *client, int *out_fd, ilk_error *err)
{
    ilk_status st = ilk__client_enter(client, err);

    if (st)
        return st;
    if (!out_fd)
        return ilk__fail(err, ILK_EINVAL, "out_fd must not be NULL");
    /* The keeper tells of leases that run out, renewed or not. */
    st = ilk__keeper_start(client->keeper, err);
    if (st)
        return st;
    atomic_store(&client->desk->events_wanted, 1);
    return ilk__events_fd(&client->desk->events, out_fd, err);
}

ilk_status ilk_client_next_event(ilk_client *client, ilk_event *event,
                                 ilk_error *err)
{
    ilk_event ours = {.size = sizeof ours};
    ilk_status st = ilk__client_enter(client, err);

    if (st)
        return st;
    if (!event)
        return ilk__fail(err, ILK_EINVAL, "event must not be NULL");
    st = ilk__events_next(&client->desk->events, &ours, err);
    if (st)
        return st;
    return ilk__opts_fill(event, &ours, sizeof ours, "ilk_event", err);
}

ilk_status ilk_client_get_stats(ilk_client *client, ilk_client_stats *stats,
                                ilk_error *err)
{
    ilk_client_stats ours;
    ilk__lane_counts lane;
    ilk__keeper_counts keeper;
    ilk_status st = ilk__client_enter(client, err);

    if (st && st != ILK_ECLOSED)
        return st;
    if (!stats)
        return ilk__fail(err, ILK_EINVAL, "stats must not be NULL");
    ilk__lane_counts_get(client->lane, &lane);
    ilk__desk_lock(client->desk);
    ours = client->desk->stats;
    ilk__keeper_counts_get(client->keeper, &keeper);
    ilk__desk_unlock(client->desk);
    ours.commands = lane.commands + keeper.commands;
    ours.writes = lane.writes + keeper.writes;
    ours.bytes_out = lane.bytes_out + keeper.bytes_out;
    ours.bytes_in = lane.bytes_in + keeper.bytes_in;
    ours.connects = lane.connects + keeper.connects;
    ours.connections = lane.connected + keeper.connected;
    pthread_mutex_lock(&client->desk->events.mutex);
    ours.events_dropped = client->desk->events.dropped;
    pthread_mutex_unlock(&client->desk->events.mutex);
    return ilk__opts_fill(stats, &ours, sizeof ours, "ilk_client_stats", err);
}

const char *ilk_client_id(const ilk_client *client)
{
    return client && client->desk ? client->desk->client_id : "";
}

const char *ilk_client_url(const ilk_client *client)
{
    return client ? client->url.shown : "";
}

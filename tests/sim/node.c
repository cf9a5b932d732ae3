/* SPDX-License-Identifier: MIT */
/* node.c -- one process: its clock, its keeper, its connections, its end. */
#include "sim.h"

#include "base/clock.h"
#include "client/inbox.h"
#include "wait/refresher.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

node nodes[NODES];

/* ---- its clock ---------------------------------------------------------- */

int64_t local_of(const node *n, int64_t when)
{
    return n ? n->offset + (int64_t)((double)when * n->rate) : when;
}

static int64_t world_of(const node *n, int64_t local)
{
    int64_t when = (int64_t)((double)(local - n->offset) / n->rate);

    while (local_of(n, when) < local)
        when++;
    return when;
}

/* ---- connections -------------------------------------------------------- */

ilk_status __wrap_ilk__async_conn_send(ilk__async_conn *connection,
                                       const ilk__command *command,
                                       ilk__expected_reply *out);
void __wrap_ilk__async_conn_break(ilk__async_conn *connection, const char *why);

static wire *wire_of(node *n, const ilk__async_conn *connection)
{
    return connection == &n->pipeline.connection ? &n->calls : &n->inbox;
}

ilk_status __wrap_ilk__async_conn_send(ilk__async_conn *connection,
                                       const ilk__command *command,
                                       ilk__expected_reply *out)
{
    ilk__expected_reply expected =
        wire_send(current, wire_of(current, connection), command, NULL);

    if (out)
        *out = expected;
    return ILK_OK;
}

void __wrap_ilk__async_conn_break(ilk__async_conn *connection, const char *why)
{
    violated("a connection was broken: %s", why);
    node_break(current, wire_of(current, connection));
}

static void connection_came_up(node *n, ilk__async_conn *connection)
{
    wire_of(n, connection)->up = 1;
    connection->up = 1;
    ilk__shared_lock(&n->shared);
    if (connection == &n->pipeline.connection) {
        ilk__pipeline_connection_up(&n->pipeline);
        ilk__refresher_refresh_all(&n->shared);
    } else {
        ilk__inbox_came_up(&n->shared, &n->subscriber);
    }
    ilk__shared_unlock(&n->shared);
}

static void connect(node *n, ilk__async_conn *connection)
{
    connection->traffic.connects = 0; /* counts attempts under way */
    if (!n->dead && !connection->up)
        connection_came_up(n, connection);
    node_turn(n);
}

static void connect_calls(node *n, void *data)
{
    (void)data;
    connect(n, &n->pipeline.connection);
}

static void connect_inbox(node *n, void *data)
{
    (void)data;
    connect(n, &n->subscriber.connection);
}

static void open_if_wanted(node *n, ilk__async_conn *connection,
                           event_fn *connects)
{
    if (!connection->wanted || connection->up || connection->traffic.connects)
        return;
    connection->traffic.connects = 1;
    at(world_now + 1 + dice(40), connects, n, NULL);
}

/* The process finds out that a connection is gone. */
static void lane_is_lost(node *n, void *data)
{
    (void)data;
    if (n->dead)
        return;
    for (size_t i = 0; i < n->task_count; i++)
        task_no_answer(&n->tasks[i]);
    node_turn(n);
}

static void connection_is_lost(node *n, ilk__async_conn *connection)
{
    if (n->dead || !connection->up)
        return;
    connection->up = 0;
    ilk__fail(&connection->error, ILK_ECONN, "broken");
    ilk__shared_lock(&n->shared);
    if (connection == &n->pipeline.connection)
        ilk__pipeline_connection_lost(&n->pipeline);
    else
        ilk__inbox_lost(&n->shared, &n->subscriber);
    ilk__shared_unlock(&n->shared);
    node_turn(n);
}

static void calls_are_lost(node *n, void *data)
{
    (void)data;
    connection_is_lost(n, &n->pipeline.connection);
}

static void inbox_is_lost(node *n, void *data)
{
    (void)data;
    connection_is_lost(n, &n->subscriber.connection);
}

void node_break(node *n, wire *w)
{
    if (!w->up)
        return;
    trace("node %d: %s breaks", (int)(n - nodes),
          w == &n->lane    ? "lane"
          : w == &n->calls ? "calls"
                           : "inbox");
    wire_cut(w);
    if (w == &n->lane)
        at(world_now, lane_is_lost, n, NULL);
    else if (w == &n->calls)
        at(world_now, calls_are_lost, n, NULL);
    else
        at(world_now, inbox_is_lost, n, NULL);
    if (w == &n->inbox)
        wire_unsubscribe(n);
}

/* ---- its keeper --------------------------------------------------------- */

static void start_posted(node *n)
{
    ilk__inflight *inflight;

    while ((inflight = ilk__shared_next_posted(&n->shared)))
        ilk__inflight_start(&n->pipeline, inflight);
}

static void keep(node *n)
{
    ilk__shared *shared = &n->shared;
    ilk__timer *timer;

    ilk__shared_lock(shared);
    start_posted(n);
    while ((timer = ilk__timers_pop(&shared->timers, local_of(n, world_now))))
        timer->fire(timer, &n->pipeline);
    start_posted(n);
    if (shared->inbox == ILK__INBOX_WANTED || shared->inbox == ILK__INBOX_READY)
        n->subscriber.connection.wanted = 1;
    ilk__shared_unlock(shared);
    open_if_wanted(n, &n->pipeline.connection, connect_calls);
    open_if_wanted(n, &n->subscriber.connection, connect_inbox);
}

static void planned_turn(node *n, void *data)
{
    (void)data;
    if (n->planned_at <= world_now)
        n->planned_at = INT64_MAX;
    node_turn(n);
}

static void plan(node *n)
{
    int64_t due = ilk__timers_next(&n->shared.timers);

    for (size_t i = 0; i < n->task_count; i++)
        due = ilk__sooner(due, task_due(&n->tasks[i]));
    if (due == ILK__FOREVER)
        return;
    due = world_of(n, due);
    if (due <= world_now)
        due = world_now + 1;
    if (due >= n->planned_at)
        return;
    n->planned_at = due;
    at(due, planned_turn, n, NULL);
}

void node_turn(node *n)
{
    if (n->dead)
        return;
    do {
        keep(n);
        for (size_t i = 0; i < n->task_count; i++)
            task_turn(&n->tasks[i]);
    } while (n->shared.posted);
    plan(n);
}

/* ---- birth and death ---------------------------------------------------- */

void node_open(node *n)
{
    memset(n, 0, sizeof *n);
    if (ilk__shared_open(&n->shared, "me", NULL))
        abort();
    ilk__pipeline_init(&n->pipeline, NULL, &n->shared.timers, -1);
    n->planned_at = INT64_MAX;
    n->offset = 100000 + dice(1000000);
    n->rate = 0.996 + dice(9) / 1000.0; /* within the drift allowed for */
}

void node_kill(node *n)
{
    trace("node %d: killed", (int)(n - nodes));
    n->dead = 1;
    wire_cut(&n->lane);
    wire_cut(&n->calls);
    wire_cut(&n->inbox);
    wire_unsubscribe(n);
}

/* Only memory is given back: for the world it is killed. */
void node_close(node *n)
{
    ilk__inflight *inflight;

    current = n;
    n->dead = 1;
    for (size_t i = 0; i < n->task_count; i++)
        task_close(&n->tasks[i]);
    ilk__shared_lock(&n->shared);
    while ((inflight = ilk__shared_next_posted(&n->shared)))
        ilk__inflight_end(&n->pipeline, inflight);
    ilk__pipeline_end(&n->pipeline);
    ilk__pipeline_free(&n->pipeline);
    ilk__shared_unlock(&n->shared);
    ilk__shared_close(&n->shared);
    ilk__buf_free(&n->pipeline.connection.out);
    ilk__buf_free(&n->subscriber.calls);
    current = NULL;
}

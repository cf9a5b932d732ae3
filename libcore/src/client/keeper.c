/* SPDX-License-Identifier: MIT */
/*
 * keeper.c -- the client's background thread and its event loop.
 *
 *     with the mutex       start posted operations, fire timers, subscribe;
 *                          their commands go to the connections' buffers
 *     without the mutex    write the buffers, poll, read
 *     with it, per reply   step the operation, or deliver the message
 *
 * Only this thread touches its connections, so I/O needs no mutex; the shared
 * state does.
 */
#include "keeper.h"

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "confirmer.h"
#include "inbox.h"
#include "pubsub/channel.h"
#include "pubsub/subscriber.h"
#include "switch_listener.h"
#include "wait/refresher.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

struct ilk__keeper {
    ilk__shared *shared;
    pthread_t thread;
    int started, stopping; /* under the shared state's mutex */
    int64_t stop_by;
    ilk__pipeline pipeline;
    /* the inbox receives on these */
    ilk__subscriber subscribers[ILK__SUBSCRIBERS_MAX];
    size_t subscriber_count;
    ilk__switch_listener *switches; /* NULL: no sentinels */
    ilk__confirmer *confirmer;      /* NULL: holds need no replicas */
    void (*on_switch)(void *context);
    void *context;
    uint32_t interrupts;  /* shared->interrupts when last read */
    uint32_t stop;        /* the last stop that it has seen */
    ilk__traffic traffic; /* for other threads, under the mutex */
};

ilk__keeper *ilk__keeper_new(ilk__shared *shared, const ilk__target *target,
                             int64_t reply_timeout_ms)
{
    ilk__keeper *keeper = ilk__calloc(1, sizeof *keeper);

    if (!keeper)
        return NULL;
    keeper->shared = shared;
    ilk__pipeline_init(&keeper->pipeline, target, &shared->timers,
                       reply_timeout_ms);
    keeper->pipeline.outage = &shared->outage;
    ilk__keeper_listen(keeper, target);
    return keeper;
}

void ilk__keeper_listen(ilk__keeper *keeper, const ilk__target *target)
{
    size_t number = keeper->subscriber_count++;

    ilk__subscriber_init(&keeper->subscribers[number], (unsigned)number,
                         target);
    keeper->shared->subscriber_count++;
}

ilk_status ilk__keeper_ask_sentinels(ilk__keeper *keeper,
                                     void (*on_switch)(void *context),
                                     void *context, ilk_error *err)
{
    keeper->switches =
        ilk__switch_listener_new(keeper->pipeline.connection.target);
    keeper->on_switch = on_switch;
    keeper->context = context;
    return keeper->switches ? ILK_OK
                            : ilk__fail(err, ILK_ENOMEM, "out of memory");
}

ilk_status ilk__keeper_confirm(ilk__keeper *keeper, int replicas,
                               ilk_error *err)
{
    keeper->confirmer =
        ilk__confirmer_new(keeper->shared, keeper->pipeline.connection.target,
                           replicas, keeper->pipeline.reply_timeout_ms);
    keeper->shared->confirmer = keeper->confirmer;
    return keeper->confirmer ? ILK_OK
                             : ilk__fail(err, ILK_ENOMEM, "out of memory");
}

/* ---- connections -------------------------------------------------------- */

static void run_pipeline(ilk__keeper *keeper)
{
    ilk__pipeline *pipeline = &keeper->pipeline;
    ilk__reply *reply = NULL; /* ilk__pipeline_handle() frees it */
    ilk__async_conn_result result;

    do {
        result = ilk__async_conn_next(&pipeline->connection, &reply);
        if (result == ILK__ASYNC_CONN_NOTHING && !pipeline->held_count)
            break;
        ilk__shared_lock(keeper->shared);
        ilk__pipeline_handle(pipeline, result, reply, "keeper");
        /* waiters may have been granted something while it was down */
        if (result == ILK__ASYNC_CONN_CAME_UP)
            ilk__refresher_refresh_all(keeper->shared);
        ilk__shared_unlock(keeper->shared);
    } while (result != ILK__ASYNC_CONN_NOTHING
             && result != ILK__ASYNC_CONN_LOST);
}

enum { TURN_MAX = 256 }; /* messages that one turn reads from a subscriber */

/* Others may send messages faster than this reads them. The rest is left for the
 * next turn, so that renewals are sent in between. */
static void run_subscriber(ilk__keeper *keeper, ilk__subscriber *subscriber)
{
    ilk__reply *reply = NULL;
    ilk__async_conn_result result;

    for (int i = 0; i < TURN_MAX; i++) {
        result = ilk__async_conn_next(&subscriber->connection, &reply);
        if (result == ILK__ASYNC_CONN_NOTHING)
            break;
        ilk__shared_lock(keeper->shared);
        if (result == ILK__ASYNC_CONN_CAME_UP)
            ilk__inbox_came_up(keeper->shared, subscriber);
        else if (result == ILK__ASYNC_CONN_LOST)
            ilk__inbox_lost(keeper->shared, subscriber);
        else
            ilk__inbox_reply(keeper->shared, subscriber, reply);
        ilk__shared_unlock(keeper->shared);
        ilk__reply_free(reply);
        reply = NULL;
        if (result == ILK__ASYNC_CONN_LOST)
            break;
    }
}

static void run_switches(ilk__keeper *keeper)
{
    if (!keeper->switches || !ilk__switch_listener_run(keeper->switches))
        return;
    ilk__async_conn_leave_old(&keeper->pipeline.connection);
    for (size_t i = 0; i < keeper->subscriber_count; i++)
        ilk__async_conn_leave_old(&keeper->subscribers[i].connection);
    if (keeper->confirmer)
        ilk__async_conn_leave_old(ilk__confirmer_connection(keeper->confirmer));
    keeper->on_switch(keeper->context);
}

/* ---- the loop ----------------------------------------------------------- */

static void count(ilk__keeper *keeper)
{
    ilk__traffic sum = {0};

    ilk__async_conn_add_traffic(&keeper->pipeline.connection, &sum);
    for (size_t i = 0; i < keeper->subscriber_count; i++)
        ilk__async_conn_add_traffic(&keeper->subscribers[i].connection, &sum);
    if (keeper->switches)
        ilk__async_conn_add_traffic(
            ilk__switch_listener_connection(keeper->switches), &sum);
    if (keeper->confirmer)
        ilk__async_conn_add_traffic(
            ilk__confirmer_connection(keeper->confirmer), &sum);
    keeper->traffic = sum;
}

/* Open the subscriber connections when the inbox is needed, and update their
 * subscriptions when channels were added or removed. */
static void tend_subscribers(ilk__keeper *keeper)
{
    ilk__shared *shared = keeper->shared;
    int wanted =
        shared->inbox == ILK__INBOX_WANTED || shared->inbox == ILK__INBOX_READY;
    int changed = shared->channels_changed;

    shared->channels_changed = 0;
    for (size_t i = 0; i < keeper->subscriber_count; i++) {
        ilk__subscriber *subscriber = &keeper->subscribers[i];

        if (wanted && !subscriber->refused)
            subscriber->connection.wanted = 1;
        if (changed && subscriber->connection.up)
            ilk__inbox_channels(shared, subscriber);
    }
    if (changed)
        ilk__channels_sweep(shared);
}

static void start_posted(ilk__keeper *keeper)
{
    ilk__inflight *inflight;

    while ((inflight = ilk__shared_next_posted(keeper->shared)))
        ilk__inflight_start(&keeper->pipeline, inflight);
}

/* The part of a turn that needs the mutex. *due: when the confirmer is to be
 * called again. Returns 0 when the thread must end. */
static int keep(ilk__keeper *keeper, int64_t *due)
{
    ilk__shared *shared = keeper->shared;
    ilk__pipeline *pipeline = &keeper->pipeline;
    int64_t now = ilk__now_ms();
    uint32_t interrupts = atomic_load(&shared->interrupts);
    ilk__timer *timer;

    ilk__pipeline_check_patience(pipeline, now, "keeper");
    start_posted(keeper);
    while ((timer = ilk__timers_pop(&shared->timers, now)))
        timer->fire(timer, pipeline);
    start_posted(keeper);
    *due = keeper->confirmer ? ilk__confirmer_turn(keeper->confirmer, now)
                             : ILK__FOREVER;
    if (interrupts != keeper->interrupts || shared->closed
        || ilk__shared_is_stopped_anew(shared, &keeper->stop))
        ilk__shared_wake_sleepers(shared);
    keeper->interrupts = interrupts;
    tend_subscribers(keeper);
    count(keeper);
    return !keeper->stopping
           || ((pipeline->count || pipeline->unsent.first)
               && now < keeper->stop_by);
}

/* Poll until a connection or the wake-up descriptor is ready, or it is due. */
static void sleep_on(ilk__keeper *keeper, int64_t due)
{
    struct pollfd fds[4 + ILK__SUBSCRIBERS_MAX];
    size_t subscribers = keeper->subscriber_count, count = 2 + subscribers;

    fds[0] = (struct pollfd){.fd = ilk__pollable_fd(&keeper->shared->wakeup),
                             .events = POLLIN};
    due = ilk__sooner(
        due, ilk__async_conn_prepare(&keeper->pipeline.connection, &fds[1]));
    for (size_t i = 0; i < subscribers; i++)
        due = ilk__sooner(
            due, ilk__async_conn_prepare(&keeper->subscribers[i].connection,
                                         &fds[2 + i]));
    if (keeper->switches)
        due = ilk__sooner(
            due, ilk__switch_listener_prepare(keeper->switches, &fds[count++]));
    if (keeper->confirmer)
        due = ilk__sooner(due, ilk__async_conn_prepare(
                                   ilk__confirmer_connection(keeper->confirmer),
                                   &fds[count++]));
    if (poll(fds, count, ilk__poll_timeout(due)) > 0) {
        (void)ilk__pollable_polled(&keeper->shared->wakeup, fds[0].revents,
                                   &keeper->shared->mutex);
        ilk__async_conn_polled(&keeper->pipeline.connection, &fds[1]);
        for (size_t i = 0; i < subscribers; i++)
            ilk__async_conn_polled(&keeper->subscribers[i].connection,
                                   &fds[2 + i]);
        if (keeper->confirmer)
            ilk__async_conn_polled(ilk__confirmer_connection(keeper->confirmer),
                                   &fds[--count]);
        if (keeper->switches)
            ilk__switch_listener_polled(keeper->switches, &fds[--count]);
    }
}

int ilk__keeper_turn(ilk__keeper *keeper)
{
    ilk__shared *shared = keeper->shared;
    int going;
    int64_t due, confirmer_due;

    ilk__shared_lock(shared);
    shared->plan = INT64_MIN; /* awake: wake_keeper() does nothing */
    going = keep(keeper, &confirmer_due);
    due = ilk__sooner(ilk__timers_next(&shared->timers), confirmer_due);
    due = ilk__sooner(due, ilk__pipeline_patience(&keeper->pipeline));
    if (keeper->stopping)
        due = ilk__sooner(due, keeper->stop_by);
    shared->plan = due;
    ilk__shared_unlock(shared);
    if (!going)
        return 0;
    ilk__async_conn_flush(&keeper->pipeline.connection);
    for (size_t i = 0; i < keeper->subscriber_count; i++)
        ilk__async_conn_flush(&keeper->subscribers[i].connection);
    if (keeper->switches)
        ilk__switch_listener_flush(keeper->switches);
    if (keeper->confirmer)
        ilk__async_conn_flush(ilk__confirmer_connection(keeper->confirmer));
    sleep_on(keeper, due);
    run_switches(keeper);
    run_pipeline(keeper);
    for (size_t i = 0; i < keeper->subscriber_count; i++)
        run_subscriber(keeper, &keeper->subscribers[i]);
    if (keeper->confirmer)
        ilk__confirmer_run(keeper->confirmer);
    return 1;
}

static void *keeper_main(void *context)
{
    while (ilk__keeper_turn(context))
        continue;
    return NULL;
}

/* ---- starting and stopping ---------------------------------------------- */

ilk_status ilk__keeper_start(ilk__keeper *keeper, ilk_error *err)
{
    int failed = 0;

    ilk__shared_lock(keeper->shared);
    if (!keeper->started && !keeper->shared->closed) {
        failed = ilk__thread_start(&keeper->thread, NULL, keeper_main, keeper);
        keeper->started = !failed;
    }
    ilk__shared_unlock(keeper->shared);
    if (failed)
        return ilk__fail(err, ILK_ESYSTEM, "cannot start a thread: %s",
                         strerror(failed));
    return ILK_OK;
}

void ilk__keeper_stop(ilk__keeper *keeper, int64_t within_ms)
{
    int running, cancelling;

    ilk__shared_lock(keeper->shared);
    running = keeper->started && !keeper->stopping;
    keeper->stopping = 1;
    keeper->stop_by = ilk__deadline(within_ms);
    ilk__pollable_raise(&keeper->shared->wakeup);
    ilk__shared_unlock(keeper->shared);
    cancelling = ilk__cancel_disable();
    if (running)
        pthread_join(keeper->thread, NULL);
    ilk__cancel_restore(cancelling);
    ilk__async_conn_close(&keeper->pipeline.connection);
    for (size_t i = 0; i < keeper->subscriber_count; i++)
        ilk__subscriber_close(&keeper->subscribers[i]);
    if (keeper->switches)
        ilk__switch_listener_close(keeper->switches);
    if (keeper->confirmer)
        ilk__confirmer_close(keeper->confirmer);
    ilk__shared_lock(keeper->shared);
    count(keeper); /* no connection is left */
    ilk__shared_unlock(keeper->shared);
}

void ilk__keeper_free(ilk__keeper *keeper)
{
    ilk__inflight *inflight;

    while ((inflight = ilk__shared_next_posted(keeper->shared)))
        ilk__inflight_end(&keeper->pipeline, inflight);
    ilk__pipeline_end(&keeper->pipeline);
    ilk__pipeline_free(&keeper->pipeline);
    ilk__switch_listener_free(keeper->switches);
    ilk__confirmer_free(keeper->confirmer);
    ilk__free(keeper);
}

void ilk__keeper_abandon(ilk__keeper *keeper)
{
    ilk__async_conn_abandon(&keeper->pipeline.connection);
    for (size_t i = 0; i < keeper->subscriber_count; i++)
        ilk__async_conn_abandon(&keeper->subscribers[i].connection);
    if (keeper->switches)
        ilk__switch_listener_abandon(keeper->switches);
    if (keeper->confirmer)
        ilk__confirmer_abandon(keeper->confirmer);
}

void ilk__keeper_add_traffic(const ilk__keeper *keeper, ilk__traffic *sum)
{
    ilk__traffic_add(sum, &keeper->traffic);
}

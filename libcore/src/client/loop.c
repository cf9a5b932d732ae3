/* SPDX-License-Identifier: MIT */
/* loop.c -- the application's event loop: its descriptor, and its turns. */
#include "loop_internal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "client.h"

#include <string.h>

/* When this many bytes are collected they are written at once, so that the
 * server works on them while the application starts more operations. */
enum { ENOUGH = 4 * 1024 };

/* Its address identifies the thread. */
static _Thread_local char here;

void ilk__loop_lock(ilk__loop *loop)
{
    pthread_mutex_lock(&loop->mutex);
    atomic_store(&loop->inside, &here);
}

void ilk__loop_unlock(ilk__loop *loop)
{
    atomic_store(&loop->inside, NULL);
    pthread_mutex_unlock(&loop->mutex);
}

void ilk__loop_let_pass(ilk__loop *loop)
{
    if (atomic_load(&loop->inside) == &here)
        return;
    ilk__loop_lock(loop);
    ilk__loop_unlock(loop);
}

/* ---- the wake-up descriptor --------------------------------------------- */

void ilk__loop_wake_up(ilk__loop *loop)
{
    if (!atomic_exchange(&loop->raised, 1))
        ilk__pollable_raise(&loop->wakeup);
}

/*
 * Another thread sets `raised` just before it writes to the descriptor. If the
 * descriptor is not readable yet, `raised` stays set and the next turn clears
 * it. The caller must look for news after this call, not before, or it could
 * miss some.
 */
static void clear_wakeup(ilk__loop *loop)
{
    if (atomic_load(&loop->raised) && ilk__pollable_clear(&loop->wakeup))
        atomic_store(&loop->raised, 0);
}

/*
 * Called when all sleepers are woken, because the loop is one of them. If no
 * operation is running, the application need not wake up. The permit is then
 * consumed here: as long as the parker has one, ilk__unpark() does not call this
 * function again.
 */
static void wake_loop(ilk__wake *wake)
{
    ilk__loop *loop = (ilk__loop *)((char *)wake - offsetof(ilk__loop, wake));

    if (atomic_load(&loop->under_way))
        ilk__loop_wake_up(loop);
    else
        (void)ilk__parker_consume(&loop->parker);
}

static void alarm_fires(ilk__timer *timer, void *context)
{
    ilk__loop *loop = (ilk__loop *)((char *)timer - offsetof(ilk__loop, alarm));

    (void)context;
    atomic_store(&loop->alarm_at, ILK__FOREVER);
    if (atomic_load(&loop->under_way))
        ilk__loop_wake_up(loop);
}

/* The alarm is only ever made earlier. One that is too early costs an idle
 * turn, but moving it back would take the mutex each time. */
static void set_alarm(ilk__loop *loop, int64_t due)
{
    ilk__shared *shared = loop->client->shared;

    if (due >= atomic_load(&loop->alarm_at))
        return;
    ilk__shared_lock(shared);
    atomic_store(&loop->alarm_at, due);
    ilk__shared_set_timer(shared, &loop->alarm, due);
    ilk__shared_unlock(shared);
}

/* ---- making and opening ------------------------------------------------- */

ilk__loop *ilk__loop_new(ilk_client *client, const ilk__target *target,
                         int64_t reply_timeout_ms)
{
    ilk__loop *loop = ilk__calloc(1, sizeof *loop);

    if (!loop)
        return NULL;
    pthread_mutex_init(&loop->mutex, NULL);
    loop->client = client;
    loop->pollset.fd = -1;
    loop->wakeup.fds[0] = loop->wakeup.fds[1] = -1;
    loop->watched_fd = -1;
    loop->alarm_at = ILK__FOREVER;
    loop->alarm.fire = alarm_fires;
    loop->wake.call = wake_loop;
    ilk__pipeline_init(&loop->pipeline, target, &loop->timers,
                       reply_timeout_ms);
    loop->pipeline.outage = &client->shared->outage;
    loop->pipeline.connection.pollset = &loop->pollset;
    return loop;
}

static void close_fds(ilk__loop *loop)
{
    ilk__pollset_close(&loop->pollset);
    ilk__pollable_close(&loop->wakeup);
}

static ilk_status open_fds(ilk__loop *loop, ilk_error *err)
{
    int news;
    ilk_status st = ilk__pollset_open(&loop->pollset, err);

    if (st == ILK_OK)
        st = ilk__pollable_open(&loop->wakeup, err);
    if (st == ILK_OK)
        st = ilk__pollset_watch(&loop->pollset, ilk__pollable_fd(&loop->wakeup),
                                POLLIN, err);
    if (st == ILK_OK)
        st = ilk__notifications_fd(&loop->client->shared->notifications, &news,
                                   err);
    if (st == ILK_OK)
        st = ilk__pollset_watch(&loop->pollset, news, POLLIN, err);
    return st;
}

/* Register the loop with the shared state as a sleeper, so that it is woken
 * together with the sleeping threads. */
static ilk_status sign_in(ilk__loop *loop, ilk_error *err)
{
    ilk__shared *shared = loop->client->shared;
    ilk_status st = ilk__parker_init(&loop->parker, err);

    if (st)
        return st;
    loop->parker.wake = &loop->wake;
    loop->sleeper.parker = &loop->parker;
    ilk__shared_lock(shared);
    st = ilk__timers_reserve(&shared->timers, err);
    if (st == ILK_OK) {
        loop->sleeper.next = shared->sleepers;
        shared->sleepers = &loop->sleeper;
        loop->wakes = shared->wakes;
    }
    ilk__shared_unlock(shared);
    if (st)
        ilk__parker_destroy(&loop->parker);
    return st;
}

ilk_status ilk__loop_open(ilk__loop *loop, ilk_error *err)
{
    ilk_status st;

    if (loop->open)
        return ILK_OK;
    /* The keeper receives the grants, watches the leases and runs the alarm. */
    st = ilk__keeper_start(loop->client->keeper, err);
    if (st == ILK_OK)
        st = open_fds(loop, err);
    if (st == ILK_OK)
        st = sign_in(loop, err);
    if (st == ILK_OK)
        loop->open = 1;
    else
        close_fds(loop);
    return st;
}

ilk_status ilk__loop_fd(ilk__loop *loop, int *out_fd, ilk_error *err)
{
    ilk_status st;

    ilk__loop_lock(loop);
    st = loop->shut ? ilk__client_enter(loop->client, err)
                    : ilk__loop_open(loop, err);
    *out_fd = loop->pollset.fd;
    ilk__loop_unlock(loop);
    return st;
}

void ilk__loop_leave_old(ilk__loop *loop)
{
    ilk__loop_lock(loop);
    if (loop->open && !loop->shut) {
        ilk__async_conn_leave_old(&loop->pipeline.connection);
        ilk__loop_wake_up(loop);
    }
    ilk__loop_unlock(loop);
}

/* ---- a turn ------------------------------------------------------------- */

/* If all sleepers were woken, resume the sleeping operations before this reply
 * is processed. */
static void wake_first(ilk__loop *loop)
{
    uint32_t wakes = atomic_load(&loop->client->shared->wakes);

    if (wakes != loop->wakes)
        ilk__loop_wake_all(loop);
    loop->wakes = wakes;
}

static void run_connection(ilk__loop *loop)
{
    ilk__pipeline *pipeline = &loop->pipeline;
    ilk__reply *reply = NULL;
    ilk__async_conn_result result;

    do {
        result = ilk__async_conn_next(&pipeline->connection, &reply);
        if (result != ILK__ASYNC_CONN_NOTHING)
            wake_first(loop);
        ilk__pipeline_handle(pipeline, result, reply, "loop");
    } while (result != ILK__ASYNC_CONN_NOTHING
             && result != ILK__ASYNC_CONN_LOST);
}

/* Set the pollset and the alarm, so that the application runs the next turn in
 * time. */
static void prepare(ilk__loop *loop)
{
    ilk__async_conn *connection = &loop->pipeline.connection;
    struct pollfd pfd;
    int64_t due = ilk__async_conn_prepare(connection, &pfd);

    if (pfd.fd >= 0
        && (!connection->up || connection->traffic.connects != loop->connects
            || pfd.fd != loop->watched_fd || pfd.events != loop->watched_for)) {
        if (ilk__pollset_watch(&loop->pollset, pfd.fd, pfd.events, NULL))
            due = 0; /* it cannot be polled: run turns instead */
        loop->watched_fd = pfd.fd;
        loop->watched_for = pfd.events;
        loop->connects = connection->up ? connection->traffic.connects : -1;
    }
    due = ilk__sooner(due, ilk__timers_next(&loop->timers));
    due = ilk__sooner(due, ilk__pipeline_patience(&loop->pipeline));
    if (due < ILK__FOREVER)
        set_alarm(loop, due);
}

static void flush(ilk__loop *loop)
{
    const ilk__pipeline *pipeline = &loop->pipeline;

    ilk__async_conn_flush(&loop->pipeline.connection);
    if (ilk__async_conn_unwritten(&pipeline->connection))
        return;
    loop->written = pipeline->first + pipeline->count;
    ilk__loop_cancels_sent(loop);
}

void ilk__loop_kick(ilk__loop *loop)
{
    const ilk__pipeline *pipeline = &loop->pipeline;

    if (!loop->open || loop->shut)
        return;
    if (!pipeline->connection.up)
        run_connection(loop);
    if (pipeline->first < loop->written /* a reply will cause a turn */
        && (ilk__buf_len(&pipeline->connection.out) < ENOUGH
            || loop->watched_for & POLLOUT)) {
        set_alarm(loop, ilk__timers_next(&loop->timers));
    } else {
        flush(loop);
        prepare(loop);
    }
    if (loop->done.first || loop->cancelling.first)
        ilk__loop_wake_up(loop);
}

static void turn(ilk__loop *loop)
{
    ilk__async_conn *connection = &loop->pipeline.connection;
    int64_t now = ilk__now_ms();
    ilk__timer *timer;

    clear_wakeup(loop);
    (void)ilk__parker_consume(&loop->parker);
    if (ilk__shared_is_stopped_anew(loop->client->shared, &loop->stop))
        ilk__loop_stop_waits(loop);
    wake_first(loop);
    ilk__loop_wake_ready(loop);
    /* Read before the deadlines are checked: the application may have run no
     * turn for a while, and a reply that came meanwhile is in time. */
    connection->readable = connection->conn != NULL;
    run_connection(loop);
    ilk__pipeline_check_patience(&loop->pipeline, now, "loop");
    while ((timer = ilk__timers_pop(&loop->timers, now)))
        timer->fire(timer, &loop->pipeline);
    flush(loop);
    prepare(loop);
}

ilk_status ilk__loop_next(ilk__loop *loop, ilk_notification *out)
{
    ilk_status st = ILK_EAGAIN;
    ilk_op *op;

    ilk__loop_lock(loop);
    if (!loop->done.first && loop->open && !loop->shut)
        turn(loop);
    op = loop->done.first;
    if (op) {
        ilk__started_remove(op);
        *out = (ilk_notification){.size = sizeof *out,
                                  .kind = ILK_NOTIFICATION_DONE,
                                  .status = op->request->status,
                                  .id = op->id,
                                  .user = atomic_load(&op->user)};
        st = ILK_OK;
    }
    if (loop->done.first)
        ilk__loop_wake_up(loop); /* the application may fetch only one now */
    ilk__loop_unlock(loop);
    return st;
}

int ilk__loop_in_order(const ilk__loop *loop)
{
    return !loop->pipeline.connection.left_open;
}

void ilk__loop_add_traffic(ilk__loop *loop, ilk__traffic *sum)
{
    ilk__loop_lock(loop);
    ilk__async_conn_add_traffic(&loop->pipeline.connection, sum);
    ilk__loop_unlock(loop);
}

/* ---- the end ------------------------------------------------------------ */

static void sign_out(ilk__loop *loop)
{
    ilk__shared *shared = loop->client->shared;
    ilk__sleeper **link;

    ilk__shared_lock(shared);
    for (link = &shared->sleepers; *link != &loop->sleeper;)
        link = &(*link)->next;
    *link = loop->sleeper.next;
    ilk__timer_clear(&shared->timers, &loop->alarm);
    ilk__timers_unreserve(&shared->timers);
    ilk__shared_unlock(shared);
}

void ilk__loop_shut(ilk__loop *loop)
{
    ilk__loop_lock(loop);
    loop->shut = 1;
    ilk__loop_end_all(loop);
    ilk__loop_cancels_sent(loop);
    if (loop->open) {
        /* the last cancels */
        ilk__async_conn_flush(&loop->pipeline.connection);
        sign_out(loop);
        if (loop->done.first)
            ilk__loop_wake_up(loop);
    }
    ilk__async_conn_close(&loop->pipeline.connection);
    /* A server that finds the connection closed may not have read the last
     * cancels. This makes the keeper, which is stopped later, send those that
     * are ensured once more. */
    ilk__pipeline_connection_lost(&loop->pipeline);
    ilk__pipeline_free(&loop->pipeline);
    ilk__loop_unlock(loop);
}

void ilk__loop_free(ilk__loop *loop)
{
    if (!loop)
        return;
    if (loop->open)
        ilk__parker_destroy(&loop->parker);
    close_fds(loop);
    ilk__timers_free(&loop->timers);
    pthread_mutex_destroy(&loop->mutex);
    ilk__free(loop);
}

void ilk__loop_abandon(ilk__loop *loop)
{
    ilk__async_conn_abandon(&loop->pipeline.connection);
    close_fds(loop);
}

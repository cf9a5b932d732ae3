/* SPDX-License-Identifier: MIT */
/*
 * gateway.c -- the gateway's thread and its poll loop.
 *
 * A turn: take in new connections; read commands; call the backend for those
 * whose turn it is; close broken connections; send what is due; poll.
 */
#include "gateway_internal.h"

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/thread.h"
#include "net/dial.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <sys/socket.h>

enum {
    NO_MEMORY_MS = 10,
    WATCH_MS = 100,
    WATCHED_MS = 10000,
    LAST_TURNS = 64,
    LAST_MS = 200 /* at the end, for requests without a reply */
};

/* ---- sessions ----------------------------------------------------------- */

static int slot_of(const ilk__gateway *gateway)
{
    for (int i = 0; i < ILK__GATEWAY_SESSIONS; i++)
        if (atomic_load(&gateway->descriptors[i]) < 0)
            return i;
    return -1;
}

static void close_session(ilk__gateway *gateway, ilk__session *session)
{
    gateway->sessions[session->slot] = NULL;
    atomic_store(&gateway->descriptors[session->slot], -1);
    ilk__session_free(session);
}

static void take_newcomers(ilk__gateway *gateway)
{
    pthread_mutex_lock(&gateway->mutex);
    for (size_t i = 0; i < gateway->joining_count; i++) {
        ilk__session *session = gateway->joining[i];

        session->id = ++gateway->last_id;
        gateway->sessions[session->slot] = session;
    }
    gateway->joining_count = 0;
    pthread_mutex_unlock(&gateway->mutex);
}

static void close_broken(ilk__gateway *gateway)
{
    for (size_t i = 0; i < ILK__GATEWAY_SESSIONS; i++)
        if (gateway->sessions[i] && gateway->sessions[i]->broken)
            close_session(gateway, gateway->sessions[i]);
}

size_t ilk__gateway_publish(ilk__gateway *gateway, ilk__span pattern,
                            ilk__span channel, ilk__span message)
{
    size_t count = 0;

    for (size_t i = 0; i < ILK__GATEWAY_SESSIONS; i++)
        if (gateway->sessions[i])
            count += (size_t)ilk__session_publish(gateway->sessions[i], pattern,
                                                  channel, message);
    return count;
}

void ilk__gateway_break_subscribers(ilk__gateway *gateway)
{
    for (size_t i = 0; i < ILK__GATEWAY_SESSIONS; i++)
        if (gateway->sessions[i] && gateway->sessions[i]->subscriptions)
            gateway->sessions[i]->broken = 1;
}

void ilk__gateway_left_open(ilk__gateway *gateway)
{
    if (gateway->leaves_open)
        return;
    gateway->leaves_open = 1;
    for (size_t i = 0; i < ILK__GATEWAY_SESSIONS; i++)
        if (gateway->sessions[i])
            gateway->sessions[i]->broken = 1;
}

/* ---- the loop ----------------------------------------------------------- */

void ilk__gateway_wake(ilk__gateway *gateway)
{
    pthread_mutex_lock(&gateway->mutex);
    ilk__pollable_raise(&gateway->wakeup);
    pthread_mutex_unlock(&gateway->mutex);
}

static struct pollfd *room_for(ilk__gateway *gateway, size_t count)
{
    size_t len = count * sizeof(struct pollfd);
    void *room;

    ilk__buf_drop(&gateway->polled, ilk__buf_len(&gateway->polled));
    room = ilk__buf_reserve(&gateway->polled, len);
    return room;
}

/* The wake-up descriptor and those of the sessions; returns how many. */
static size_t prepare_own(ilk__gateway *gateway, struct pollfd *fds)
{
    size_t count = 1;

    fds[0] = (struct pollfd){.fd = ilk__pollable_fd(&gateway->wakeup),
                             .events = POLLIN};
    for (size_t i = 0; i < ILK__GATEWAY_SESSIONS; i++) {
        ilk__session *session = gateway->sessions[i];

        if (!session)
            continue;
        session->polled_at = count;
        fds[count++] = (struct pollfd){.fd = session->fd,
                                       .events = ilk__session_events(session)};
    }
    return count;
}

/* The gateway's own descriptors, then the backend's. NULL: no memory. */
static struct pollfd *prepare(ilk__gateway *gateway, size_t *out_own,
                              size_t *out_backend, int64_t *out_until)
{
    size_t room = 16, wanted;
    struct pollfd *fds;

    do {
        fds = room_for(gateway, 1 + ILK__GATEWAY_SESSIONS + room);
        if (!fds)
            return NULL;
        *out_own = prepare_own(gateway, fds);
        *out_until = ILK__FOREVER;
        wanted = gateway->backend->prepare(gateway->store, fds + *out_own, room,
                                           out_until);
        *out_backend = wanted;
    } while (wanted > room && (room = wanted));
    return fds;
}

static void handle(ilk__gateway *gateway, const struct pollfd *fds,
                   size_t own_count, size_t backend_count)
{
    if (!ilk__pollable_polled(&gateway->wakeup, fds[0].revents,
                              &gateway->mutex))
        gateway->watched_until = ilk__deadline(WATCHED_MS);
    for (size_t i = 0; i < ILK__GATEWAY_SESSIONS; i++) {
        ilk__session *session = gateway->sessions[i];

        short revents = session ? fds[session->polled_at].revents : 0;

        if (revents & ~POLLOUT)
            ilk__session_receive(session, revents);
    }
    gateway->backend->polled(gateway->store, fds + own_count, backend_count);
    take_newcomers(gateway);
}

/* A killed session is closed before the reply to CLIENT KILL is sent. When the
 * requests of a closed session are dropped, those of others may begin. */
static void run_requests(ilk__gateway *gateway)
{
    do {
        ilk__gateway_run_ready(gateway);
        for (size_t i = 0; i < ILK__GATEWAY_SESSIONS; i++)
            if (gateway->sessions[i])
                ilk__session_collect(gateway->sessions[i]);
        close_broken(gateway);
    } while (gateway->ready);
}

static void flush(ilk__gateway *gateway)
{
    int more;

    do {
        run_requests(gateway);
        more = 0;
        for (size_t i = 0; i < ILK__GATEWAY_SESSIONS; i++)
            if (gateway->sessions[i])
                more |= ilk__session_send(gateway->sessions[i]);
        close_broken(gateway);
    } while (more || gateway->ready);
}

static int is_stopping(ilk__gateway *gateway)
{
    int stopping;

    pthread_mutex_lock(&gateway->mutex);
    stopping = gateway->stopping;
    pthread_mutex_unlock(&gateway->mutex);
    return stopping;
}

/* The program has closed the wake-up descriptor, which was replaced. While it goes on
 * closing descriptors one by one, it may close the new one as well, and poll() does
 * not report that. */
static int64_t look_again(const ilk__gateway *gateway, int64_t until)
{
    if (gateway->watched_until < ilk__now_ms())
        return until;
    return ilk__sooner(until, ilk__deadline(WATCH_MS));
}

/* One turn, which sleeps until `latest` at most. Returns the number of descriptors
 * that were ready. */
static int turn(ilk__gateway *gateway, int64_t latest)
{
    size_t own = 0, backend = 0;
    int64_t until;
    struct pollfd *fds = prepare(gateway, &own, &backend, &until);
    int ready;

    if (!fds) {
        poll(NULL, 0, NO_MEMORY_MS);
        return 0;
    }
    until = ilk__sooner(look_again(gateway, until), latest);
    ready = poll(fds, own + backend, ilk__poll_timeout(until));
    for (size_t i = 0; ready < 0 && i < own + backend; i++)
        fds[i].revents = 0;
    handle(gateway, fds, own, backend);
    flush(gateway);
    return ready;
}

/* Commands that were sent before the stop, such as a release whose reply nobody
 * waits for, are executed: a server would do so, too. A store may drop commands without
 * a reply when their connection is closed, so the thread waits for the replies a while. */
static void *gateway_main(void *context)
{
    ilk__gateway *gateway = context;
    int64_t latest;

    while (!is_stopping(gateway))
        turn(gateway, ILK__FOREVER);
    for (int i = 0; i < LAST_TURNS && turn(gateway, 0) > 0; i++)
        continue;
    latest = ilk__deadline(LAST_MS);
    while (gateway->tokens.count > 0 && ilk__now_ms() < latest)
        turn(gateway, latest);
    return NULL;
}

/* ---- starting and stopping ---------------------------------------------- */

ilk_status ilk__gateway_open(ilk__gateway **out, const ilk__backend *backend,
                             const ilk__url *url, ilk_error *err)
{
    ilk__gateway *gateway = ilk__calloc(1, sizeof *gateway);
    ilk_status st;

    *out = NULL;
    if (!gateway)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    for (size_t i = 0; i < ILK__GATEWAY_SESSIONS; i++)
        atomic_init(&gateway->descriptors[i], -1);
    gateway->backend = backend;
    st = ilk__pollable_open(&gateway->wakeup, err);
    if (st) {
        ilk__free(gateway);
        return st;
    }
    pthread_mutex_init(&gateway->mutex, NULL);
    st = backend->open(&gateway->store, gateway, url, err);
    if (st) {
        ilk__pollable_close(&gateway->wakeup);
        pthread_mutex_destroy(&gateway->mutex);
        ilk__free(gateway);
        return st;
    }
    *out = gateway;
    return ILK_OK;
}

/* With the mutex. */
static ilk_status join(ilk__gateway *gateway, ilk__session *session,
                       ilk_error *err)
{
    int slot = slot_of(gateway), failed = 0;

    if (gateway->stopping)
        return ilk__fail(err, ILK_ECONN, "the gateway is closed");
    if (slot < 0)
        return ilk__fail(err, ILK_ECONN, "over %d connections to the gateway",
                         ILK__GATEWAY_SESSIONS);
    if (!gateway->started)
        failed =
            ilk__thread_start(&gateway->thread, NULL, gateway_main, gateway);
    if (failed)
        return ilk__fail(err, ILK_ESYSTEM, "cannot start a thread: %s",
                         strerror(failed));
    gateway->started = 1;
    session->slot = (size_t)slot;
    gateway->identities[slot] = session->identity;
    atomic_store(&gateway->descriptors[slot], session->fd);
    gateway->joining[gateway->joining_count++] = session;
    ilk__pollable_raise(&gateway->wakeup);
    return ILK_OK;
}

ilk_status ilk__gateway_connect(ilk__gateway *gateway, int *out_fd,
                                ilk_error *err)
{
    int fds[2] = {-1, -1};
    ilk__session *session;
    ilk_status st;

    if (ilk__dial_pair(fds) != 0)
        return ilk__fail(err, ILK_ESYSTEM, "cannot make a pair of sockets: %s",
                         strerror(errno));
    session = ilk__session_new(gateway, fds[1]);
    if (!session) {
        ilk__descriptor_close(fds[0]);
        ilk__descriptor_close(fds[1]);
        return ilk__fail(err, ILK_ENOMEM, "no memory for a connection");
    }
    pthread_mutex_lock(&gateway->mutex);
    st = join(gateway, session, err);
    pthread_mutex_unlock(&gateway->mutex);
    if (st) {
        ilk__descriptor_close(fds[0]);
        ilk__session_free(session);
        return st;
    }
    *out_fd = fds[0];
    return ILK_OK;
}

/* The backend is closed only after `stopping` was set under the mutex. */
ilk_status ilk__gateway_node_stats(ilk__gateway *gateway, size_t index,
                                   ilk_node_stats *out)
{
    ilk_status st = ILK_EAGAIN;

    pthread_mutex_lock(&gateway->mutex);
    if (!gateway->stopping && gateway->backend->node_stats)
        st = gateway->backend->node_stats(gateway->store, index, out);
    pthread_mutex_unlock(&gateway->mutex);
    return st;
}

ilk_status ilk__gateway_adopt_node(ilk__gateway *gateway, size_t index)
{
    ilk_status st = ILK_EAGAIN;

    if (!gateway->backend->adopt_node)
        return ILK_EUNSUPPORTED;
    pthread_mutex_lock(&gateway->mutex);
    if (!gateway->stopping)
        st = gateway->backend->adopt_node(gateway->store, index);
    if (st == ILK_OK)
        ilk__pollable_raise(&gateway->wakeup);
    pthread_mutex_unlock(&gateway->mutex);
    return st;
}

static int begin_stop(ilk__gateway *gateway)
{
    int first;

    pthread_mutex_lock(&gateway->mutex);
    first = !gateway->stopping;
    gateway->stopping = 1;
    ilk__pollable_raise(&gateway->wakeup);
    pthread_mutex_unlock(&gateway->mutex);
    return first;
}

void ilk__gateway_stop(ilk__gateway *gateway)
{
    int cancelling;

    if (!gateway || !begin_stop(gateway))
        return;
    cancelling = ilk__cancel_disable();
    if (gateway->started)
        pthread_join(gateway->thread, NULL);
    ilk__cancel_restore(cancelling);
    take_newcomers(gateway);
    for (size_t i = 0; i < ILK__GATEWAY_SESSIONS; i++)
        if (gateway->sessions[i])
            close_session(gateway, gateway->sessions[i]);
    ilk__gateway_run_ready(gateway);
    gateway->backend->close(gateway->store);
}

void ilk__gateway_free(ilk__gateway *gateway)
{
    if (!gateway)
        return;
    ilk__gateway_stop(gateway);
    ilk__table_free(&gateway->tokens);
    ilk__buf_free(&gateway->polled);
    ilk__pollable_close(&gateway->wakeup);
    pthread_mutex_destroy(&gateway->mutex);
    ilk__free(gateway);
}

void ilk__gateway_abandon(ilk__gateway *gateway)
{
    if (!gateway)
        return;
    for (size_t i = 0; i < ILK__GATEWAY_SESSIONS; i++) {
        int fd = atomic_load(&gateway->descriptors[i]);

        if (fd >= 0 && ilk__descriptor_identity(fd) == gateway->identities[i])
            ilk__descriptor_close(fd);
    }
    ilk__pollable_close(&gateway->wakeup);
    if (gateway->backend->abandon)
        gateway->backend->abandon(gateway->store);
}

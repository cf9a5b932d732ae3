/* SPDX-License-Identifier: MIT */
/*
 * conn.c -- takes a connection from start to ready, one stage after another.
 *
 *     [FIND] -> RESOLVE -> DIAL -> [TLS] -> LOGIN -> [ROLE] -> READY
 *                          ^  |next address
 *                          +--+             any of them -> FAILED
 *
 * With sentinels, a server that cannot be reached or is no primary leads back
 * to FIND. A switch that is announced meanwhile (sentinel.h) ends the attempt,
 * so that a frozen server does not use up the deadline. The number of switches
 * is read before a search begins and is written after the server's hash: a
 * thread that reads a new number also reads the hash of that switch or of a
 * later one.
 *
 * Only ilk__conn_open() blocks, in poll() between the steps.
 */
#include "base/alloc.h"
#include "base/backoff.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "conn_internal.h"
#include "net/url_sentinels.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/socket.h>

/* Enough for a login: growing might leave a copy of the password in the old
 * memory, which nobody wipes. */
enum { LOGIN_ROOM = 1024 };

/* How often a connection that is being opened looks for a switch. */
enum { SWITCH_TICK_MS = 50 };

/* Connections that a forked child inherited. They are never freed; the list
 * keeps them reachable, so that leak checkers do not report them. */
static _Atomic(ilk__conn *) inherited;

/* The URL of a store up to its first host: the reason must fit behind it. */
static void name_store(ilk__conn *conn, const char *shown)
{
    size_t len = strcspn(shown, ",?");

    snprintf(conn->where, sizeof conn->where, "%.*s%s", (int)len, shown,
             shown[len] == ',' ? ",..." : "");
}

void ilk__conn_name_peer(ilk__conn *conn)
{
    const ilk__url *url = conn->url;

    if (conn->target->connect != NULL)
        name_store(conn, url->shown);
    else if (url->sentinels != NULL && url->host == NULL)
        snprintf(conn->where, sizeof conn->where, "the primary of %s",
                 url->sentinels->service);
    else if (url->scheme == ILK__SCHEME_UNIX)
        snprintf(conn->where, sizeof conn->where, "%s", url->path);
    else if (url->host != NULL)
        snprintf(conn->where, sizeof conn->where,
                 strchr(url->host, ':') != NULL ? "[%s]:%d" : "%s:%d",
                 url->host, url->port);
}

/* The login closes the replaced connection only if both lead to the same server
 * (login.h). */
ilk_status ilk__conn_begin_login(ilk__conn *conn)
{
    const ilk__conn_identity *replaces =
        conn->replaces.server == conn->server ? &conn->replaces : NULL;

    ilk__buf_drop(&conn->login_out, ilk__buf_len(&conn->login_out));
    return ilk__login_start(&conn->login, conn->url, conn->target->name,
                            replaces, &conn->login_out, NULL);
}

/* Prepare what the stages need. ILK_ENOMEM. */
static ilk_status prepare(ilk__conn *conn)
{
    conn->reader = ilk__reader_new();
    if (conn->reader == NULL
        || ilk__buf_reserve(&conn->login_out, LOGIN_ROOM) == NULL)
        return ILK_ENOMEM;
    if (conn->url->sentinels == NULL)
        return ilk__conn_begin_login(conn);
    conn->search = ilk__sentinel_search_new(conn->target);
    return conn->search != NULL ? ILK_OK : ILK_ENOMEM;
}

void ilk__conn_extend(ilk__conn *conn, int64_t ms)
{
    const int64_t later = ilk__sooner(ilk__deadline(ms), conn->limit);

    if (ms > 0 && later > conn->deadline)
        conn->deadline = conn->until = later;
}

ilk_status ilk__conn_start(ilk__conn **out, const ilk__target *target,
                           const ilk__conn_identity *replaces, int64_t limit,
                           ilk_error *err)
{
    ilk__conn *conn = ilk__malloc(sizeof *conn);

    *out = NULL;
    if (conn == NULL)
        return ilk__fail(err, ILK_ENOMEM, "no memory for a connection");
    /* `received` is not zeroed: its pages stay unused until bytes arrive. */
    memset(conn, 0, offsetof(ilk__conn, received));
    conn->fd = -1;
    conn->pid = getpid();
    conn->target = target;
    conn->limit = conn->deadline = limit;
    if (target->connect_timeout_ms)
        conn->deadline =
            ilk__sooner(limit, ilk__deadline(target->connect_timeout_ms));
    conn->until = conn->connect_until = conn->deadline;
    conn->url = target->url;
    conn->primary = target->primary;
    if (replaces != NULL)
        conn->replaces = *replaces;
    ilk__conn_name_peer(conn);
    if (prepare(conn) != ILK_OK) {
        ilk__conn_close(conn);
        return ilk__fail(err, ILK_ENOMEM, "no memory for a connection");
    }
    *out = conn;
    return ILK_OK;
}

/* Free the parts that only connecting needs, and drop the borrowed URL. */
static void finish_stage(ilk__conn *conn)
{
    ilk__resolve_free(conn->resolve);
    conn->resolve = NULL;
    conn->address = NULL;
    ilk__sentinel_search_free(conn->search);
    conn->search = NULL;
    conn->target = NULL;
    conn->login.url = NULL;
    conn->events = POLLIN;
    if (conn->login_out.data != NULL) /* may have contained a password */
        ilk__wipe(conn->login_out.data, conn->login_out.room);
    ilk__buf_free(&conn->login_out);
}

static ilk_status fail_for_good(ilk__conn *conn, ilk_status status,
                                const ilk_error *why, ilk_error *err)
{
    conn->stage = ILK__CONN_FAILED;
    conn->failure = *why;
    ilk__conn_hang_up(conn);
    finish_stage(conn);
    return ilk__fail(err, status, "%s", why->msg);
}

static const char *doing(const ilk__conn *conn)
{
    switch (conn->stage) {
    case ILK__CONN_FIND: return "asking the sentinels";
    case ILK__CONN_RESOLVE: return "looking up its address";
    case ILK__CONN_DIAL: return "connecting";
    case ILK__CONN_TLS: return "agreeing on TLS";
    case ILK__CONN_ROLE: return "asking for its role";
    default: return "logging in";
    }
}

/* ---- attempts, with sentinels ------------------------------------------- */

int ilk__conn_is_outdated(const ilk__conn *conn)
{
    const ilk__primary *primary = conn->primary;

    return primary != NULL && atomic_load(&primary->switches) != conn->switches
           && atomic_load(&primary->server) != conn->server;
}

/* Forget the server of this attempt, and search again after a pause. */
static int begin_again(ilk__conn *conn, const ilk_error *why, int64_t pause_ms)
{
    ilk__conn_hang_up(conn);
    ilk__resolve_free(conn->resolve);
    conn->resolve = NULL;
    conn->address = NULL;
    ilk__tls_free(conn->tls);
    conn->tls = NULL;
    ilk__buf_drop(&conn->sealed, ilk__buf_len(&conn->sealed));
    atomic_store(&conn->kept, 0);
    ilk__reader_free(conn->reader);
    conn->reader = NULL;
    conn->reason = *why;
    conn->asked_role = 0;
    conn->has_answered = 0;
    conn->deadline = conn->connect_until;
    conn->stage = ILK__CONN_FIND;
    conn->pause_until = ilk__sooner(ilk__now_ms() + pause_ms, conn->deadline);
    return 1;
}

/*
 * With sentinels: whether another attempt follows. It does after a switch, at
 * once, and when the server could not be reached or is no primary, after a
 * pause, if there is time for it.
 */
static int tries_again(ilk__conn *conn, ilk_status status, ilk_error *why)
{
    int64_t left = conn->connect_until - ilk__now_ms();

    if (conn->search == NULL || conn->stage == ILK__CONN_FIND || left <= 0)
        return 0;
    if (ilk__conn_is_outdated(conn)) {
        ilk__fail(why, ILK_ECONN, "%s is not the primary any more",
                  conn->where);
        return begin_again(conn, why, 0);
    }
    if (status != ILK_ECONN || left < INT64_C(2) * ILK__PRIMARY_PAUSE_MS)
        return 0;
    ilk__sentinel_search_distrust(conn->search);
    return begin_again(conn, why, ILK__PRIMARY_PAUSE_MS);
}

/* The search failed after an attempt, whose failure says more. */
static void recall_reason(const ilk__conn *conn, ilk_error *why)
{
    const ilk_error last = *why;

    if (conn->reason.msg[0] != '\0')
        ilk__fail(why, ILK_ECONN, "%.120s; then %.120s", conn->reason.msg,
                  last.msg);
}

static ilk_status out_of_time(const ilk__conn *conn, ilk_error *why)
{
    if (conn->reason.msg[0] != '\0')
        return ilk__fail(why, ILK_ECONN, "no primary of %s in time: %.180s",
                         conn->url->sentinels->service, conn->reason.msg);
    return ilk__fail(why, ILK_ETIMEOUT, "no answer from %s in time while %s",
                     conn->where, doing(conn));
}

ilk_status ilk__conn_step(ilk__conn *conn, ilk_error *err)
{
    ilk_error why;
    ilk_status status;

    if (conn->stage == ILK__CONN_FAILED)
        return ilk__fail(err, (ilk_status)conn->failure.code, "%s",
                         conn->failure.msg);
    while (conn->stage != ILK__CONN_READY) {
        ilk__error_clear(&why);
        status = ilk__conn_stage_step(conn, &why);
        if (tries_again(conn, status, &why))
            continue;
        if (status == ILK_EAGAIN && ilk__now_ms() < conn->deadline)
            return ILK_EAGAIN;
        if (status == ILK_EAGAIN)
            status = out_of_time(conn, &why);
        else if (conn->stage == ILK__CONN_FIND && status == ILK_ECONN)
            recall_reason(conn, &why);
        if (status != ILK_OK)
            return fail_for_good(conn, status, &why, err);
        conn->stage++;
    }
    if (conn->target != NULL) {
        conn->login.identity.since = ilk__now_ms();
        conn->login.identity.server = conn->server;
        finish_stage(conn);
    }
    return ILK_OK;
}

static ilk_status wait_once(const ilk__conn *conn, ilk_error *err)
{
    struct pollfd pfd = {.fd = ilk__conn_fd(conn), .events = conn->events};

    int cancelling = ilk__cancel_disable();
    int ready = poll(&pfd, 1, ilk__poll_timeout(ilk__conn_until(conn)));

    ilk__cancel_restore(cancelling);
    if (ready >= 0 || errno == EINTR)
        return ILK_OK;
    return ilk__fail(err, ILK_ECONN, "cannot wait for %s: %s", conn->where,
                     strerror(errno));
}

ilk_status ilk__conn_open(ilk__conn **out, const ilk__target *target,
                          const ilk__conn_identity *replaces, int64_t limit,
                          ilk_error *err)
{
    ilk_status status = ilk__conn_start(out, target, replaces, limit, err);

    if (*out == NULL)
        return status;
    while ((status = ilk__conn_step(*out, err)) == ILK_EAGAIN) {
        status = wait_once(*out, err);
        if (status != ILK_OK)
            break;
    }
    if (status != ILK_OK) {
        ilk__conn_close(*out);
        *out = NULL;
    }
    return status;
}

int64_t ilk__conn_pause_ms(const ilk__target *target, int *step_ms,
                           ilk_status why)
{
    return ilk__connect_pause_ms(step_ms, target->primary ? ILK_ECONN : why);
}

int ilk__conn_fd(const ilk__conn *conn)
{
    if (conn->stage == ILK__CONN_FIND && conn->search != NULL)
        return ilk__sentinel_search_fd(conn->search);
    if (conn->stage == ILK__CONN_RESOLVE && conn->resolve != NULL)
        return ilk__resolve_fd(conn->resolve);
    return conn->fd;
}

short ilk__conn_events(const ilk__conn *conn)
{
    if (conn->stage == ILK__CONN_READY && ilk__conn_unsent(conn))
        return POLLIN | POLLOUT;
    return conn->events;
}

int64_t ilk__conn_until(const ilk__conn *conn)
{
    if (conn->primary == NULL || conn->search == NULL)
        return conn->until;
    return ilk__sooner(conn->until, ilk__now_ms() + SWITCH_TICK_MS);
}

int ilk__conn_protocol(const ilk__conn *conn)
{
    return conn->login.protocol;
}

ilk__conn_identity ilk__conn_identity_of(const ilk__conn *conn)
{
    return conn->login.identity;
}

int ilk__conn_left_open(const ilk__conn *conn)
{
    return conn->login.left_open;
}

void ilk__conn_shutdown(const ilk__conn *conn)
{
    (void)shutdown(conn->fd, SHUT_RDWR);
}

void ilk__conn_drop_unsent(const ilk__conn *conn)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    (void)setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

/* Another thread may have been using the connection when the process forked,
 * so the child cannot trust its state: it only closes the descriptor. */
static void disown(ilk__conn *conn)
{
    ilk__conn_hang_up(conn);
    if (conn->search != NULL) /* closes its descriptor, too */
        ilk__sentinel_search_disown(conn->search);
    conn->next = atomic_load(&inherited);
    while (!atomic_compare_exchange_weak(&inherited, &conn->next, conn))
        continue;
}

void ilk__conn_close(ilk__conn *conn)
{
    if (conn == NULL)
        return;
    if (conn->pid != getpid()) {
        disown(conn);
        return;
    }
    ilk__conn_hang_up(conn);
    finish_stage(conn);
    ilk__tls_free(conn->tls);
    ilk__reader_free(conn->reader);
    ilk__buf_free(&conn->sealed);
    ilk__free(conn);
}

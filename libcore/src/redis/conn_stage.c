/* SPDX-License-Identifier: MIT */
/*
 * conn_stage.c -- the stages of connecting, one function for each.
 *
 * A stage returns ILK_OK (go on with the next), ILK_EAGAIN (call it again when
 * fd reports `events`, or at `until`) or its failure. The addresses of a host
 * share the time that is left, so that one address which drops our packets
 * does not use up the whole deadline.
 *
 * The deadline moves when the server has accepted the connection, and once more
 * at its first bytes. A server that starts or recovers meets all of its clients
 * at once; those that it has begun to serve would else come again, at its cost.
 */
#include "base/backoff.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "command.h"
#include "conn_internal.h"
#include "net/dial.h"

#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

enum {
    ADDRESS_MS = 3000 /* for each address when there is no deadline */
};

void ilk__conn_hang_up(ilk__conn *conn)
{
    if (conn->fd >= 0)
        ilk__descriptor_close(conn->fd);
    conn->fd = -1;
}

static ilk_status wait_for(ilk__conn *conn, short events)
{
    conn->events = events;
    return ILK_EAGAIN;
}

/* Ask the sentinels, unless the URL names the server. */
static ilk_status find_step(ilk__conn *conn, ilk_error *err)
{
    ilk__sentinel_search *search = conn->search;
    int64_t now = ilk__now_ms();
    ilk_status status;

    if (search == NULL)
        return ILK_OK;
    if (now < conn->pause_until) {
        conn->until = conn->pause_until;
        return wait_for(conn, 0);
    }
    if (!conn->searching && conn->primary != NULL)
        conn->switches = atomic_load(&conn->primary->switches);
    conn->searching = 1;
    status = ilk__sentinel_search_step(search, conn->deadline, err);
    conn->until =
        ilk__sooner(ilk__sentinel_search_until(search), conn->deadline);
    if (status != ILK_OK)
        return status == ILK_EAGAIN
                   ? wait_for(conn, ilk__sentinel_search_events(search))
                   : status;
    conn->searching = 0;
    conn->found = *conn->target->url;
    snprintf(conn->host, sizeof conn->host, "%s",
             ilk__sentinel_search_host(search));
    conn->found.host = conn->host;
    conn->found.port = ilk__sentinel_search_port(search);
    conn->url = &conn->found;
    conn->server = ilk__server_hash(conn->found.host, conn->found.port);
    conn->until = conn->deadline;
    ilk__conn_name_peer(conn);
    if (conn->reader == NULL) /* another attempt */
        conn->reader = ilk__reader_new();
    if (conn->reader == NULL || ilk__conn_begin_login(conn) != ILK_OK)
        return ilk__fail(err, ILK_ENOMEM, "no memory for a connection");
    return ILK_OK;
}

static ilk_status resolve_step(ilk__conn *conn, ilk_error *err)
{
    const ilk__url *url = conn->url;
    ilk_status status = ILK_OK;

    if (conn->target->connect != NULL)
        return ILK_OK;
    if (url->scheme == ILK__SCHEME_EMBEDDED)
        return ilk__fail(err, ILK_EINVAL, "embedded:// has no address");
    if (url->scheme == ILK__SCHEME_TLS && conn->tls == NULL)
        status = ilk__tls_new(&conn->tls, url, err);
    if (status != ILK_OK || url->scheme == ILK__SCHEME_UNIX)
        return status;
    if (conn->resolve == NULL)
        status = ilk__resolve_start(&conn->resolve, url->host, url->port, err);
    if (status == ILK_ESYSTEM) /* no descriptor or thread: worth a retry */
        return ilk__fail(err, ILK_ECONN, "cannot connect to %s: %s",
                         conn->where, err->msg);
    if (status == ILK_OK)
        status = ilk__resolve_result(conn->resolve, &conn->address, err);
    return status == ILK_EAGAIN ? wait_for(conn, POLLIN) : status;
}

/* Begin to connect to the current address and set its share of the time. */
static ilk_status dial(ilk__conn *conn, ilk_error *err)
{
    const struct addrinfo *address = conn->address, *rest;
    const ilk__target *target = conn->target;
    const ilk__url *url = conn->url;
    int64_t now = ilk__now_ms(), share = ADDRESS_MS;
    int count = 0;

    conn->until = conn->deadline;
    if (target->connect != NULL)
        return target->connect(target->context, &conn->fd, err);
    if (address == NULL)
        return ilk__dial_path(&conn->fd, url->path, url->same_user, err);
    for (rest = address; rest != NULL; rest = rest->ai_next)
        count++;
    if (conn->deadline != ILK__FOREVER)
        share = (conn->deadline - now) / count;
    if (count > 1)
        conn->until = now + share;
    return ilk__dial(&conn->fd, address->ai_addr, address->ai_addrlen,
                     conn->where, err);
}

/* Begin or continue to connect to the current address. */
static ilk_status try_address(ilk__conn *conn, ilk_error *err)
{
    ilk_status status;

    if (conn->fd < 0)
        status = dial(conn, err);
    else
        status = ilk__dial_finish(conn->fd, conn->where, err);
    if (status == ILK_EBUSY) {
        conn->until = ilk__sooner(ilk__now_ms() + ILK__SOCKET_BUSY_PAUSE_MS,
                                  conn->deadline);
        return wait_for(conn, 0);
    }
    if (status == ILK_EAGAIN && conn->until < conn->deadline
        && ilk__now_ms() >= conn->until)
        return ilk__fail(err, ILK_ECONN, "cannot connect to %s: no answer",
                         conn->where);
    return status == ILK_EAGAIN ? wait_for(conn, POLLOUT) : status;
}

static int64_t first_answer_ms(const ilk__target *target)
{
    return target->first_answer_ms ? target->first_answer_ms
                                   : target->connect_timeout_ms;
}

/* Try one address after another; if all fail, the last one's error is kept. */
static ilk_status dial_step(ilk__conn *conn, ilk_error *err)
{
    ilk_status status;

    for (;;) {
        status = try_address(conn, err);
        if (status == ILK_OK) {
            conn->until = conn->deadline;
            ilk__conn_extend(conn, first_answer_ms(conn->target));
        }
        if (status == ILK_OK || status == ILK_EAGAIN)
            return status;
        ilk__conn_hang_up(conn);
        if (conn->address == NULL || conn->address->ai_next == NULL)
            return status;
        conn->address = conn->address->ai_next;
    }
}

/* Bytes have come. Only the first ones count: a server that sends one at a time
 * does not hold the connection for ever. */
static void note_answer(ilk__conn *conn)
{
    if (conn->has_answered)
        return;
    conn->has_answered = 1;
    ilk__conn_extend(conn, conn->url->reply_timeout_ms);
}

static ilk_status tls_step(ilk__conn *conn, ilk_error *err)
{
    ilk_status status, flushed;
    size_t len;

    if (conn->tls == NULL)
        return ILK_OK;
    for (;;) {
        status = ilk__tls_handshake(conn->tls, err);
        if (status != ILK_OK && status != ILK_EAGAIN) {
            ilk__conn_flush(conn, NULL); /* send the TLS alert, if possible */
            return ilk__fail(err, status, "cannot connect to %s: %s",
                             conn->where, err->msg);
        }
        flushed = ilk__conn_flush(conn, err);
        if (status == ILK_OK || flushed != ILK_OK)
            return flushed;
        status = ilk__conn_fetch(conn, &len, err);
        if (status == ILK_EAGAIN)
            return wait_for(conn,
                            ilk__conn_unsent(conn) ? POLLIN | POLLOUT : POLLIN);
        if (status == ILK_OK) {
            note_answer(conn);
            status = ilk__tls_put(conn->tls, conn->received, len, err);
        }
        if (status != ILK_OK)
            return status;
    }
}

/* Send the commands of login or role, as far as the socket accepts them. */
static ilk_status send_login(ilk__conn *conn, ilk_error *err)
{
    size_t len = ilk__buf_len(&conn->login_out), sent;
    ilk_status status;

    if (len == 0 && !ilk__conn_unsent(conn))
        return ILK_OK;
    status =
        ilk__conn_send(conn, ilk__buf_data(&conn->login_out), len, &sent, err);
    ilk__buf_drop(&conn->login_out, sent);
    return status;
}

/* Ask the server for its role. */
static ilk_status ask_role(ilk__conn *conn)
{
    ilk__command command;
    ilk_status status;

    if (conn->asked_role)
        return ILK_OK;
    conn->asked_role = 1;
    ilk__command_init(&command);
    ilk__command_add_str(&command, "ROLE");
    status = ilk__command_format(&command, 0, &conn->login_out, NULL);
    ilk__command_free(&command);
    return status;
}

static ilk_status judge_role(const ilk__conn *conn, const ilk__reply *reply,
                             ilk_error *err)
{
    ilk_error why;
    ilk_status status;

    if (reply->type == ILK__REPLY_ERROR) {
        status = ilk__reply_error(reply, &why);
        return ilk__fail(err, status, "cannot ask %s for its role: %s",
                         conn->where, why.msg);
    }
    if (reply->type != ILK__REPLY_ARRAY || reply->count == 0
        || reply->items[0]->type != ILK__REPLY_STR)
        return ilk__fail(err, ILK_ECONN,
                         "the role of the server at %s makes no sense",
                         conn->where);
    if (!ilk__reply_is_text(reply->items[0], "master"))
        return ilk__fail(err, ILK_ECONN, "the server at %s is no primary",
                         conn->where);
    return ILK_OK;
}

static ilk_status read_role(ilk__conn *conn, ilk_error *err)
{
    ilk__reply *reply;
    ilk_status status;

    while ((status = ilk__conn_reply(conn, &reply, err)) == ILK_OK) {
        int is_push = reply->type == ILK__REPLY_PUSH;

        status = is_push ? ILK_EAGAIN : judge_role(conn, reply, err);
        ilk__reply_free(reply);
        if (!is_push)
            break;
    }
    return status;
}

/* Pass the replies received to the login. ILK_OK: logged in; ILK_EAGAIN: it
 * needs more replies. */
static ilk_status read_replies(ilk__conn *conn, ilk_error *err)
{
    ilk__reply *reply;
    ilk_error why;
    ilk_status status;

    do {
        status = ilk__conn_reply(conn, &reply, &why);
        if (status != ILK_OK)
            break;
        conn->login.now = ilk__now_ms();
        status = ilk__login_reply(&conn->login, reply, &conn->login_out, &why);
        ilk__reply_free(reply);
    } while (status == ILK_EAGAIN);
    if (status == ILK_OK || status == ILK_EAGAIN)
        return status;
    return ilk__fail(err, status, "cannot log in to %s: %s", conn->where,
                     why.msg);
}

enum { TALK_MOST = 64 }; /* receives, before the deadline is checked again */

/* A server may send an error (too many clients) and close before it receives
 * our first command. After a failed send the replies are therefore still read,
 * and the error reply is reported instead of the broken connection. After
 * TALK_MOST receives it returns, so that the deadline holds even if the server
 * sends without an end. */
static ilk_status talk(ilk__conn *conn,
                       ilk_status (*read)(ilk__conn *, ilk_error *),
                       ilk_error *err)
{
    ilk_status sent, status;
    size_t len;

    for (int i = 0; i < TALK_MOST; i++) {
        sent = send_login(conn, err);
        status = ilk__conn_recv(conn, &len, err);
        if (status == ILK_EAGAIN && sent != ILK_OK)
            return sent;
        if (status == ILK_EAGAIN)
            break;
        if (status == ILK_OK) {
            note_answer(conn);
            status = read(conn, err);
        }
        if (status != ILK_EAGAIN)
            return status;
    }
    return wait_for(conn,
                    ilk__buf_len(&conn->login_out) > 0 || ilk__conn_unsent(conn)
                        ? POLLIN | POLLOUT
                        : POLLIN);
}

static ilk_status role_step(ilk__conn *conn, ilk_error *err)
{
    ilk_status status = ILK_OK;

    if (conn->search == NULL)
        return ILK_OK;
    status = ask_role(conn);
    if (status != ILK_OK)
        return ilk__fail(err, status, "no memory for a connection");
    return talk(conn, read_role, err);
}

ilk_status ilk__conn_stage_step(ilk__conn *conn, ilk_error *err)
{
    switch (conn->stage) {
    case ILK__CONN_FIND: return find_step(conn, err);
    case ILK__CONN_RESOLVE: return resolve_step(conn, err);
    case ILK__CONN_DIAL: return dial_step(conn, err);
    case ILK__CONN_TLS: return tls_step(conn, err);
    case ILK__CONN_ROLE: return role_step(conn, err);
    default: return talk(conn, read_replies, err);
    }
}

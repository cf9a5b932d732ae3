/* SPDX-License-Identifier: MIT */
/*
 * store_socket.c -- a non-blocking socket to one server, with TLS or without.
 *
 * The addresses of a host share the time that is left, so that one which drops our
 * packets does not use up the whole deadline.
 */
#include "store_socket.h"

#include "base/backoff.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "net/dial.h"
#include "net/socket_io.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

void ilk__store_socket_init(ilk__store_socket *self, const char *store,
                            const ilk__url *url, const char *protocol,
                            int64_t deadline)
{
    /* `received` is not zeroed: its pages stay unused until bytes arrive. */
    memset(self, 0, offsetof(ilk__store_socket, received));
    self->fd = -1;
    self->store = store;
    self->protocol = protocol;
    self->url = url;
    self->deadline = self->until = deadline;
    snprintf(self->where, sizeof self->where,
             strchr(url->host, ':') ? "[%s]:%d" : "%s:%d", url->host,
             url->port);
}

static ilk_status wait_for(ilk__store_socket *self, short events)
{
    self->events = events;
    return ILK_EAGAIN;
}

/* ---- sending and receiving ------------------------------------------------ */

static ilk_status broke(const ilk__store_socket *self, int error,
                        ilk_error *err)
{
    return ilk__fail(err, ILK_ECONN, "the connection to %s at %s broke: %s",
                     self->store, self->where, strerror(error));
}

static ilk_status send_some(ilk__store_socket *self, const void *data,
                            size_t len, size_t *out_sent, ilk_error *err)
{
    return ilk__socket_send(self->fd, data, len, out_sent)
               ? ILK_OK
               : broke(self, errno, err);
}

/* Send the encrypted bytes, as far as the socket accepts them. */
static ilk_status flush(ilk__store_socket *self, ilk_error *err)
{
    size_t pending = ilk__tls_pending(self->tls), len, sent = 0;
    ilk_status st = ILK_OK;
    char *room;

    if (pending) {
        room = ilk__buf_reserve(&self->sealed, pending);
        if (!room)
            return ilk__fail(err, ILK_ENOMEM, "no memory to send to %s",
                             self->where);
        ilk__buf_grew(&self->sealed, ilk__tls_get(self->tls, room, pending));
    }
    len = ilk__buf_len(&self->sealed);
    if (len)
        st = send_some(self, ilk__buf_data(&self->sealed), len, &sent, err);
    ilk__buf_drop(&self->sealed, sent);
    return st;
}

/* The TLS layer's error, with the server's address in front of the text. */
static ilk_status tls_broke(const ilk__store_socket *self, const ilk_error *why,
                            ilk_error *err)
{
    return ilk__fail(err, (ilk_status)why->code,
                     "the connection to %s at %s: %.180s", self->store,
                     self->where, why->msg);
}

ilk_status ilk__store_socket_send(ilk__store_socket *self, const void *data,
                                  size_t len, size_t *out_sent, ilk_error *err)
{
    ilk_error why;
    ilk_status st;

    *out_sent = 0;
    if (!self->tls)
        return len ? send_some(self, data, len, out_sent, err) : ILK_OK;
    if (len) {
        st = ilk__tls_write(self->tls, data, len, &why);
        if (st)
            return tls_broke(self, &why, err);
        *out_sent = len;
    }
    return flush(self, err);
}

int ilk__store_socket_unsent(const ilk__store_socket *self)
{
    return self->tls
           && (ilk__buf_len(&self->sealed) || ilk__tls_pending(self->tls));
}

static ilk_status fetch(ilk__store_socket *self, size_t *out_len,
                        ilk_error *err)
{
    switch (ilk__socket_receive(self->fd, self->received, sizeof self->received,
                                out_len)) {
    case ILK__SOCKET_BYTES: return ILK_OK;
    case ILK__SOCKET_NOTHING: return ILK_EAGAIN;
    case ILK__SOCKET_CLOSED:
        return ilk__fail(err, ILK_ECONN,
                         "the server at %s closed the connection", self->where);
    default: return broke(self, errno, err);
    }
}

/* Bytes that arrived together with the end of the handshake, or with the end of
 * the connection, are in the TLS layer already. */
ilk_status ilk__store_socket_receive(ilk__store_socket *self, ilk__span *out,
                                     ilk_error *err)
{
    ilk_error why;
    ilk_status fetched, st;
    size_t len;

    fetched = fetch(self, &len, err);
    *out = (ilk__span){self->received, len};
    if (!self->tls)
        return fetched;
    if (fetched == ILK_OK) {
        st = ilk__tls_put(self->tls, self->received, len, err);
        if (st)
            return st;
    }
    st = ilk__tls_read(self->tls, self->received, sizeof self->received, &len,
                       &why);
    *out = (ilk__span){self->received, len};
    if (st == ILK_OK)
        return ILK_OK;
    if (st == ILK_EAGAIN)
        return fetched == ILK_ECONN ? ILK_ECONN : ILK_EAGAIN;
    return tls_broke(self, &why, err);
}

/* ---- connecting ----------------------------------------------------------- */

/* The owner counts its attempts, so that each address is the first one in turn. */
static void pass_over(ilk__store_socket *self)
{
    size_t count = 0;

    for (const struct addrinfo *one = self->address; one; one = one->ai_next)
        count++;
    for (size_t i = self->turn % count; i > 0; i--)
        self->address = self->address->ai_next;
}

static ilk_status resolve_step(ilk__store_socket *self, ilk_error *err)
{
    const ilk__url *url = self->url;
    ilk_status st = ILK_OK;

    if (url->scheme == ILK__SCHEME_TLS && !self->tls) {
        st = ilk__tls_new(&self->tls, url, err);
        if (st == ILK_OK && self->protocol)
            st = ilk__tls_offer_protocol(self->tls, self->protocol, err);
    }
    if (st == ILK_OK && !self->resolve)
        st = ilk__resolve_start(&self->resolve, url->host, url->port, err);
    if (st == ILK_OK)
        st = ilk__resolve_result(self->resolve, &self->address, err);
    if (st == ILK_OK)
        pass_over(self);
    return st == ILK_EAGAIN ? wait_for(self, POLLIN) : st;
}

static ilk_status dial(ilk__store_socket *self, ilk_error *err)
{
    const struct addrinfo *address = self->address, *rest;
    int64_t now = ilk__now_ms();
    int count = 0;

    for (rest = address; rest; rest = rest->ai_next)
        count++;
    self->until = self->deadline;
    if (count > 1)
        self->until = now + (self->deadline - now) / count;
    return ilk__dial(&self->fd, address->ai_addr, address->ai_addrlen,
                     self->where, err);
}

static ilk_status try_address(ilk__store_socket *self, ilk_error *err)
{
    ilk_status st = self->fd < 0 ? dial(self, err)
                                 : ilk__dial_finish(self->fd, self->where, err);

    if (st == ILK_EAGAIN && self->until < self->deadline
        && ilk__now_ms() >= self->until)
        return ilk__fail(err, ILK_ECONN, "cannot connect to %s: no answer",
                         self->where);
    return st == ILK_EAGAIN ? wait_for(self, POLLOUT) : st;
}

static void hang_up(ilk__store_socket *self)
{
    if (self->fd >= 0)
        ilk__descriptor_close(self->fd);
    self->fd = -1;
}

static ilk_status dial_step(ilk__store_socket *self, ilk_error *err)
{
    ilk_status st;

    for (;;) {
        st = try_address(self, err);
        if (st == ILK_OK)
            self->until = self->deadline;
        if (st == ILK_OK || st == ILK_EAGAIN)
            return st;
        hang_up(self);
        if (!self->address->ai_next)
            return st;
        self->address = self->address->ai_next;
    }
}

static ilk_status tls_step(ilk__store_socket *self, ilk_error *err)
{
    ilk_status st, flushed;
    ilk_error why;
    size_t len;

    if (!self->tls)
        return ILK_OK;
    for (;;) {
        st = ilk__tls_handshake(self->tls, &why);
        if (st && st != ILK_EAGAIN) {
            flush(self, NULL); /* send the TLS alert, if possible */
            return ilk__fail(err, st, "cannot connect to %s at %s: %.180s",
                             self->store, self->where, why.msg);
        }
        flushed = flush(self, err);
        if (st == ILK_OK || flushed)
            return flushed;
        st = fetch(self, &len, err);
        if (st == ILK_EAGAIN)
            return wait_for(self, ilk__store_socket_unsent(self)
                                      ? POLLIN | POLLOUT
                                      : POLLIN);
        if (st == ILK_OK)
            st = ilk__tls_put(self->tls, self->received, len, err);
        if (st)
            return st;
    }
}

ilk_status ilk__store_socket_step(ilk__store_socket *self, ilk_error *err)
{
    ilk_status st = ILK_OK;

    while (self->stage != ILK__SOCKET_OPEN && st == ILK_OK) {
        switch (self->stage) {
        case ILK__SOCKET_RESOLVES: st = resolve_step(self, err); break;
        case ILK__SOCKET_DIALS: st = dial_step(self, err); break;
        default: st = tls_step(self, err); break;
        }
        if (st == ILK_OK)
            self->stage++;
    }
    if (st == ILK_EAGAIN && ilk__now_ms() >= self->deadline)
        return ilk__fail(err, ILK_ECONN, "no answer from %s in time",
                         self->where);
    return st;
}

int ilk__store_socket_fd(const ilk__store_socket *self)
{
    if (self->fd < 0 && self->resolve)
        return ilk__resolve_fd(self->resolve);
    return self->fd;
}

void ilk__store_socket_close(ilk__store_socket *self)
{
    hang_up(self);
    ilk__resolve_free(self->resolve);
    ilk__tls_free(self->tls);
    ilk__buf_free(&self->sealed);
    self->resolve = NULL;
    self->tls = NULL;
}

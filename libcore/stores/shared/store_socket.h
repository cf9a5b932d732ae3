/* SPDX-License-Identifier: MIT */
/*
 * store_socket.h -- a non-blocking socket to one server of a store, with TLS or
 * without.
 *
 *     RESOLVES -> DIALS -> AGREES -> OPEN
 *
 * AGREES is the handshake of TLS; without TLS it ends at once.
 */
#ifndef ILK__STORE_SOCKET_H
#define ILK__STORE_SOCKET_H

#include "base/buf.h"
#include "net/resolve.h"
#include "net/tls.h"

enum { ILK__SOCKET_WHERE = 280, ILK__SOCKET_RECEIVED = 64 * 1024 };

typedef enum ilk__socket_stage {
    ILK__SOCKET_RESOLVES,
    ILK__SOCKET_DIALS,
    ILK__SOCKET_AGREES,
    ILK__SOCKET_OPEN
} ilk__socket_stage;

typedef struct ilk__store_socket {
    ilk__socket_stage stage;
    int fd; /* -1: none yet */
    short events;
    int64_t deadline; /* of connecting */
    int64_t until;    /* step again then, at the latest */
    const char *store, *protocol;
    const ilk__url *url;
    ilk__resolve *resolve;
    size_t turn; /* so many addresses are passed over first */
    const struct addrinfo *address; /* that is tried */
    ilk__tls *tls;
    ilk__buf sealed; /* encrypted bytes that the socket did not accept */
    char where[ILK__SOCKET_WHERE]; /* host:port */
    char received[ILK__SOCKET_RECEIVED];
} ilk__store_socket;

/* url->host, port and the TLS options; with TLS if url->scheme says so. `store` is its
 * name in messages, `protocol` what TLS offers (ALPN) or NULL. The URL and the texts
 * are borrowed. Allocates nothing. */
void ilk__store_socket_init(ilk__store_socket *self, const char *store,
                            const ilk__url *url, const char *protocol,
                            int64_t deadline);
/* ILK_OK: open; ILK_EAGAIN: when the descriptor has events, or at `until`; else the
 * failure, which is final. err must not be NULL. */
ilk_status ilk__store_socket_step(ilk__store_socket *self, ilk_error *err);
int ilk__store_socket_fd(const ilk__store_socket *self);

/* Once open. Send: ILK_OK, also when *out_sent is less than len. With TLS it is
 * len, and ilk__store_socket_unsent() says whether bytes are kept; then call it
 * again with len 0. ILK_ECONN, ILK_ENOMEM. */
ilk_status ilk__store_socket_send(ilk__store_socket *self, const void *data,
                                  size_t len, size_t *out_sent, ilk_error *err);
int ilk__store_socket_unsent(const ilk__store_socket *self);
/* ILK_OK: *out is in `received` until the next call; ILK_EAGAIN; ILK_ECONN. */
ilk_status ilk__store_socket_receive(ilk__store_socket *self, ilk__span *out,
                                     ilk_error *err);

void ilk__store_socket_close(ilk__store_socket *self);

#endif

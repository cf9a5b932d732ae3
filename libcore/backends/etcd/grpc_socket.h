/* SPDX-License-Identifier: MIT */
/*
 * grpc_socket.h -- a non-blocking socket to one endpoint, with TLS or without.
 *
 *     RESOLVES -> DIALS -> AGREES -> OPEN
 *
 * AGREES is the handshake of TLS; without TLS it ends at once.
 */
#ifndef ILK__GRPC_SOCKET_H
#define ILK__GRPC_SOCKET_H

#include "base/buf.h"
#include "net/resolve.h"
#include "net/tls.h"

enum { ILK__GRPC_WHERE = 280, ILK__GRPC_RECEIVED = 64 * 1024 };

typedef enum ilk__grpc_stage {
    ILK__GRPC_RESOLVES,
    ILK__GRPC_DIALS,
    ILK__GRPC_AGREES,
    ILK__GRPC_OPEN
} ilk__grpc_stage;

typedef struct ilk__grpc_socket {
    ilk__grpc_stage stage;
    int fd; /* -1: none yet */
    short events;
    int64_t deadline; /* of connecting */
    int64_t until;    /* step again then, at the latest */
    const ilk__url *url;
    ilk__resolve *resolve;
    const struct addrinfo *address; /* that is tried */
    ilk__tls *tls;
    ilk__buf sealed; /* encrypted bytes that the socket did not accept */
    char where[ILK__GRPC_WHERE]; /* host:port */
    char received[ILK__GRPC_RECEIVED];
} ilk__grpc_socket;

/* url->host, port and the TLS options; with TLS if url->scheme says so. The URL is
 * borrowed. Allocates nothing. */
void ilk__grpc_socket_init(ilk__grpc_socket *self, const ilk__url *url,
                           int64_t deadline);
/* ILK_OK: open; ILK_EAGAIN: when the descriptor has events, or at `until`; else the
 * failure, which is final. err must not be NULL. */
ilk_status ilk__grpc_socket_step(ilk__grpc_socket *self, ilk_error *err);
int ilk__grpc_socket_fd(const ilk__grpc_socket *self);

/* Once open. Send: ILK_OK, also when *out_sent is less than len. With TLS it is
 * len, and ilk__grpc_socket_unsent() says whether bytes are kept; then call it
 * again with len 0. ILK_ECONN, ILK_ENOMEM. */
ilk_status ilk__grpc_socket_send(ilk__grpc_socket *self, const void *data,
                                 size_t len, size_t *out_sent, ilk_error *err);
int ilk__grpc_socket_unsent(const ilk__grpc_socket *self);
/* ILK_OK: *out is in `received` until the next call; ILK_EAGAIN; ILK_ECONN. */
ilk_status ilk__grpc_socket_receive(ilk__grpc_socket *self, ilk__span *out,
                                    ilk_error *err);

void ilk__grpc_socket_close(ilk__grpc_socket *self);

#endif

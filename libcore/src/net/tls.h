/* SPDX-License-Identifier: MIT */
/*
 * tls.h -- encryption between a connection and its socket, without I/O.
 *
 *     plain bytes   -> ilk__tls_write()  =  ilk__tls_get()  -> socket
 *     plain bytes   <- ilk__tls_read()   =  ilk__tls_put()  <- socket
 *
 * One thread may be on the upper line while another is on the lower one: a
 * mutex inside is held for memory work only. Built without ILK_TLS,
 * ilk__tls_new() refuses and the rest is never reached.
 */
#ifndef ILK__TLS_H
#define ILK__TLS_H

#include "url.h"

typedef struct ilk__tls ilk__tls;

/*
 * Prepare a client for url's host, its authorities and its own certificate.
 * ILK_EINVAL: a file that cannot be loaded, or built without TLS; ILK_ENOMEM.
 */
ilk_status ilk__tls_new(ilk__tls **out, const ilk__url *url, ilk_error *err);
void ilk__tls_free(ilk__tls *tls); /* sends nothing; NULL is fine */

/* ILK_OK: done; ILK_EAGAIN: get, put and call again; ILK_ECONN. */
ilk_status ilk__tls_handshake(ilk__tls *tls, ilk_error *err);

/* Bytes from the socket. ILK_ENOMEM. */
ilk_status ilk__tls_put(ilk__tls *tls, const void *data, size_t len,
                        ilk_error *err);

/* Plain bytes: ILK_OK and *out_len > 0; ILK_EAGAIN; ILK_ECONN. */
ilk_status ilk__tls_read(ilk__tls *tls, void *out, size_t room, size_t *out_len,
                         ilk_error *err);

/* Encrypt all of data. ILK_ECONN, ILK_ENOMEM. */
ilk_status ilk__tls_write(ilk__tls *tls, const void *data, size_t len,
                          ilk_error *err);

/* Bytes for the socket: how many there are, and up to room of them. */
size_t ilk__tls_pending(ilk__tls *tls);
size_t ilk__tls_get(ilk__tls *tls, void *out, size_t room);

#endif

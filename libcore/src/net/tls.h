/* SPDX-License-Identifier: MIT */
/*
 * tls.h -- encryption between a connection and its socket, without I/O.
 *
 *     plain bytes   -> ilk__tls_write()  =  ilk__tls_get()  -> socket
 *     plain bytes   <- ilk__tls_read()   =  ilk__tls_put()  <- socket
 *
 * One thread may send (upper line) while another receives (lower line): a mutex
 * inside guards each call, and is never held during I/O. In a build without
 * ILK_TLS, ilk__tls_new() returns ILK_EINVAL, and the other functions are never
 * reached.
 */
#ifndef ILK__TLS_H
#define ILK__TLS_H

#include "url.h"

typedef struct ilk__tls ilk__tls;

/*
 * Prepare the client's side of a session with url's host, with the certificate
 * authorities and the client certificate that url names. ILK_EINVAL: a file
 * cannot be loaded, or the library was built without TLS; ILK_ENOMEM.
 */
ilk_status ilk__tls_new(ilk__tls **out, const ilk__url *url, ilk_error *err);
void ilk__tls_free(ilk__tls *tls); /* sends nothing; NULL is ignored */

/* Offer one protocol over TLS (ALPN), such as "h2"; before the handshake. A server
 * that agrees to none is no error here. ILK_EINVAL: the name is empty or over 255
 * bytes; ILK_ENOMEM. */
ilk_status ilk__tls_offer_protocol(ilk__tls *tls, const char *name,
                                   ilk_error *err);

/* ILK_OK: done; ILK_EAGAIN: send what ilk__tls_get() returns, pass what the
 * socket receives to ilk__tls_put(), and call again; ILK_ECONN. */
ilk_status ilk__tls_handshake(ilk__tls *tls, ilk_error *err);

/* After the handshake: it resumed an earlier session (tls_store.h). */
int ilk__tls_is_resumed(ilk__tls *tls);

/* Pass on bytes received from the socket. ILK_ENOMEM. */
ilk_status ilk__tls_put(ilk__tls *tls, const void *data, size_t len,
                        ilk_error *err);

/* Decrypt up to room bytes: ILK_OK and *out_len > 0; ILK_EAGAIN; ILK_ECONN. */
ilk_status ilk__tls_read(ilk__tls *tls, void *out, size_t room, size_t *out_len,
                         ilk_error *err);

/* Encrypt all of data. ILK_ECONN, ILK_ENOMEM. */
ilk_status ilk__tls_write(ilk__tls *tls, const void *data, size_t len,
                          ilk_error *err);

/* The number of bytes to be sent to the socket, and up to room of them. */
size_t ilk__tls_pending(ilk__tls *tls);
size_t ilk__tls_get(ilk__tls *tls, void *out, size_t room);

#endif

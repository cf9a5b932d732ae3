/* SPDX-License-Identifier: MIT */
/* tls_context.h -- the certificates that TLS trusts, and our own; for tls.c
 * only. */
#ifndef ILK__TLS_CONTEXT_H
#define ILK__TLS_CONTEXT_H

#include "url.h"

#include <openssl/ssl.h>

/*
 * TLS 1.2 or later; servers are always verified. Authorities: url->ca (a file
 * or a directory); else SSL_CERT_FILE and SSL_CERT_DIR; else the system's.
 * Our certificate: url->cert, with its key in url->key or in the same file.
 * ILK_EINVAL names the file and what is wrong with it; ILK_ENOMEM.
 */
ilk_status ilk__tls_context(SSL_CTX **out, const ilk__url *url, ilk_error *err);

/* A number that changes when a file changes that ilk__tls_context() loads for url. */
uint64_t ilk__tls_context_files(const ilk__url *url);

/* tls_store.c. Make an SSL object with the certificates and the session in
 * url->tls, which is not NULL. */
ilk_status ilk__tls_store_open(SSL **out, const ilk__url *url, ilk_error *err);
/* Its handshake failed: forget the session. */
void ilk__tls_store_failed(SSL *ssl);

#endif

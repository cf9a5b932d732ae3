/* SPDX-License-Identifier: MIT */
/*
 * tls_store.h -- what the TLS connections of one client share: the loaded
 * certificates, and the last session, with which a reconnect need not verify the
 * certificate again.
 */
#ifndef ILK__TLS_STORE_H
#define ILK__TLS_STORE_H

typedef struct ilk__tls_store ilk__tls_store;

/* NULL where there is no memory or no TLS: then nothing is shared. */
ilk__tls_store *ilk__tls_store_new(void);
/* When its last connection is closed. NULL is ignored. */
void ilk__tls_store_free(ilk__tls_store *store);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * tls_store.c -- what the TLS connections of one client share.
 *
 * Loading a system's certificate authorities takes milliseconds and a megabyte,
 * so it is done once. It is done again when one of the files has changed: the
 * certificates may be renewed while a client is open.
 *
 * A session is kept for one host, because OpenSSL compares the host's name with
 * the certificate in a full handshake only. A failed handshake and new
 * certificates end it.
 */
#include "tls_store.h"

#ifdef ILK_TLS

#include "tls_context.h"

#include "base/alloc.h"

#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

struct ilk__tls_store {
    pthread_mutex_t mutex; /* guards the rest; no other is locked under it */
    SSL_CTX *context;      /* NULL: not loaded */
    uint64_t files;        /* of ilk__tls_context_files() when it was */
    SSL_SESSION *session;  /* NULL: none */
    char *host;            /* of the session */
    int port;
};

ilk__tls_store *ilk__tls_store_new(void)
{
    ilk__tls_store *store = ilk__calloc(1, sizeof *store);

    if (store != NULL)
        pthread_mutex_init(&store->mutex, NULL);
    return store;
}

static void drop_session(ilk__tls_store *store)
{
    SSL_SESSION_free(store->session);
    ilk__free(store->host);
    store->session = NULL;
    store->host = NULL;
}

void ilk__tls_store_free(ilk__tls_store *store)
{
    if (store == NULL)
        return;
    drop_session(store);
    SSL_CTX_free(store->context);
    pthread_mutex_destroy(&store->mutex);
    ilk__free(store);
}

/* Called by OpenSSL when the server has given a session. 1: it is ours now. */
static int on_session(SSL *ssl, SSL_SESSION *session)
{
    const ilk__url *url = SSL_get_app_data(ssl);
    ilk__tls_store *store;
    char *host;

    if (url == NULL || (host = ilk__strdup(url->host)) == NULL)
        return 0;
    store = url->tls;
    pthread_mutex_lock(&store->mutex);
    if (SSL_get_SSL_CTX(ssl) != store->context) {
        /* The certificates have been replaced since this connection began, and a
         * resumed one would not be checked against the new ones. */
        pthread_mutex_unlock(&store->mutex);
        ilk__free(host);
        return 0;
    }
    drop_session(store);
    store->session = session;
    store->host = host;
    store->port = url->port;
    pthread_mutex_unlock(&store->mutex);
    return 1;
}

static ilk_status load(ilk__tls_store *store, const ilk__url *url,
                       ilk_error *err)
{
    uint64_t files = ilk__tls_context_files(url);
    SSL_CTX *context;
    ilk_status st;

    if (store->context != NULL && store->files == files)
        return ILK_OK;
    if ((st = ilk__tls_context(&context, url, err)) != ILK_OK)
        return st;
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT
                                                | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context, on_session);
    drop_session(store);
    SSL_CTX_free(store->context); /* connections have references of their own */
    store->context = context;
    store->files = files;
    return ILK_OK;
}

ilk_status ilk__tls_store_open(SSL **out, const ilk__url *url, ilk_error *err)
{
    ilk__tls_store *store = url->tls;
    void *owner = (void *)(uintptr_t)url;
    ilk_status st;

    pthread_mutex_lock(&store->mutex);
    if ((st = load(store, url, err)) == ILK_OK) {
        *out = SSL_new(store->context);
        if (*out == NULL)
            st = ilk__fail(err, ILK_ENOMEM, "no memory for TLS");
        else
            SSL_set_app_data(*out, owner);
        if (st == ILK_OK && store->session != NULL && store->port == url->port
            && strcmp(store->host, url->host) == 0)
            (void)SSL_set_session(*out, store->session); /* or without it */
    }
    pthread_mutex_unlock(&store->mutex);
    return st;
}

void ilk__tls_store_failed(SSL *ssl)
{
    const ilk__url *url = SSL_get_app_data(ssl);

    if (url == NULL)
        return;
    pthread_mutex_lock(&url->tls->mutex);
    drop_session(url->tls);
    pthread_mutex_unlock(&url->tls->mutex);
}

#else

ilk__tls_store *ilk__tls_store_new(void)
{
    return 0;
}

void ilk__tls_store_free(ilk__tls_store *store)
{
    (void)store;
}

#endif

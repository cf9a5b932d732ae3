/* SPDX-License-Identifier: MIT */
/*
 * tls.c -- encryption between a connection and its socket, without I/O.
 *
 * OpenSSL reads from and writes to two memory BIOs, and the connection moves
 * bytes between them and its socket. Two threads must not use an SSL object at
 * the same time, so a mutex guards each call; no call waits for the network.
 */
#include "tls.h"
#include "base/alloc.h"

#ifdef ILK_TLS

#include "tls_context.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

struct ilk__tls {
    pthread_mutex_t mutex; /* guards the rest; no other is locked under it */
    SSL *ssl;
    BIO *in, *out; /* from and to the socket; ssl owns them */
};

/* The server's certificate must be valid for host. A name is also sent to the
 * server (SNI), an IP address is not. host is not const because OpenSSL's macro
 * casts the const away. */
static int set_host(SSL *ssl, char *host)
{
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);

    X509_VERIFY_PARAM_set_hostflags(param,
                                    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1)
        return 1;
    ERR_clear_error();
    return SSL_set_tlsext_host_name(ssl, host) == 1
           && SSL_set1_host(ssl, host) == 1;
}

static int set_bios(ilk__tls *tls)
{
    tls->in = BIO_new(BIO_s_mem());
    tls->out = BIO_new(BIO_s_mem());
    if (tls->in == NULL || tls->out == NULL) {
        BIO_free(tls->in);
        BIO_free(tls->out);
        return 0;
    }
    BIO_set_mem_eof_return(tls->in, -1); /* empty means retry, not EOF */
    BIO_set_mem_eof_return(tls->out, -1);
    SSL_set_bio(tls->ssl, tls->in, tls->out);
    return 1;
}

static ilk_status open_alone(SSL **out, const ilk__url *url, ilk_error *err)
{
    SSL_CTX *context = NULL;
    ilk_status status = ilk__tls_context(&context, url, err);

    if (status != ILK_OK)
        return status;
    *out = SSL_new(context);
    SSL_CTX_free(context); /* the SSL object keeps its own reference */
    return *out != NULL ? ILK_OK
                        : ilk__fail(err, ILK_ENOMEM, "no memory for TLS");
}

ilk_status ilk__tls_new(ilk__tls **out, const ilk__url *url, ilk_error *err)
{
    ilk__tls *tls = ilk__calloc(1, sizeof *tls);
    ilk_status status;

    *out = NULL;
    if (tls == NULL)
        return ilk__fail(err, ILK_ENOMEM, "no memory for TLS");
    pthread_mutex_init(&tls->mutex, NULL);
    /* A process may exit with a client open. OpenSSL must not free its tables
     * then, because a thread of the client still uses them. This first use
     * decides, unless the program has initialised OpenSSL before. */
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
    ERR_clear_error();
    if (url->tls != NULL)
        status = ilk__tls_store_open(&tls->ssl, url, err);
    else
        status = open_alone(&tls->ssl, url, err);
    if (status == ILK_OK && (!set_bios(tls) || !set_host(tls->ssl, url->host)))
        status =
            ilk__fail(err, ILK_ENOMEM, "cannot prepare TLS for %s", url->host);
    if (status != ILK_OK) {
        ilk__tls_free(tls);
        return status;
    }
    SSL_set_connect_state(tls->ssl);
    *out = tls;
    return ILK_OK;
}

ilk_status ilk__tls_offer_protocol(ilk__tls *tls, const char *name,
                                   ilk_error *err)
{
    size_t len = strlen(name);
    unsigned char list[1 + 255 + 1];
    int failed;

    if (len == 0 || len > 255)
        return ilk__fail(err, ILK_EINVAL, "no name of a protocol: \"%s\"",
                         name);
    list[0] = (unsigned char)len;
    memcpy(list + 1, name, len + 1);
    pthread_mutex_lock(&tls->mutex);
    failed = SSL_set_alpn_protos(tls->ssl, list, (unsigned)len + 1);
    ERR_clear_error();
    pthread_mutex_unlock(&tls->mutex);
    return failed ? ilk__fail(err, ILK_ENOMEM, "no memory for TLS") : ILK_OK;
}

void ilk__tls_free(ilk__tls *tls)
{
    if (tls == NULL)
        return;
    /* OpenSSL forgets the session of a connection without an orderly end, but
     * ours often end otherwise. */
    if (tls->ssl != NULL)
        SSL_set_shutdown(tls->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(tls->ssl);
    pthread_mutex_destroy(&tls->mutex);
    ilk__free(tls);
}

/* Report OpenSSL's error. A fault of the certificate comes first, because it is
 * the cause. */
static ilk_status broken(ilk__tls *tls, const char *what, ilk_error *err)
{
    long verdict = SSL_get_verify_result(tls->ssl);
    unsigned long code = ERR_peek_last_error();
    const char *reason = ERR_reason_error_string(code);

    ERR_clear_error();
    if (ERR_GET_REASON(code) == ERR_R_MALLOC_FAILURE)
        return ilk__fail(err, ILK_ENOMEM, "no memory for TLS");
    if (verdict != X509_V_OK)
        return ilk__fail(err, ILK_ECONN,
                         "tls %s failed: the server's certificate: %s", what,
                         X509_verify_cert_error_string(verdict));
    return ilk__fail(err, ILK_ECONN, "tls %s failed: %s", what,
                     reason != NULL ? reason : "the stream makes no sense");
}

/* The outcome of an SSL call that returned result <= 0. */
static ilk_status outcome(ilk__tls *tls, int result, const char *what,
                          ilk_error *err)
{
    switch (SSL_get_error(tls->ssl, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: return ILK_EAGAIN;
    case SSL_ERROR_ZERO_RETURN:
        return ilk__fail(err, ILK_ECONN, "the server ended the tls session");
    default: return broken(tls, what, err);
    }
}

ilk_status ilk__tls_handshake(ilk__tls *tls, ilk_error *err)
{
    ilk_status status = ILK_OK;
    int result;

    pthread_mutex_lock(&tls->mutex);
    ERR_clear_error();
    result = SSL_do_handshake(tls->ssl);
    if (result <= 0)
        status = outcome(tls, result, "handshake", err);
    if (status != ILK_OK && status != ILK_EAGAIN)
        ilk__tls_store_failed(tls->ssl);
    pthread_mutex_unlock(&tls->mutex);
    return status;
}

int ilk__tls_is_resumed(ilk__tls *tls)
{
    int resumed;

    pthread_mutex_lock(&tls->mutex);
    resumed = SSL_session_reused(tls->ssl);
    pthread_mutex_unlock(&tls->mutex);
    return resumed;
}

ilk_status ilk__tls_put(ilk__tls *tls, const void *data, size_t len,
                        ilk_error *err)
{
    size_t written = 0;
    int fine;

    pthread_mutex_lock(&tls->mutex);
    fine = BIO_write_ex(tls->in, data, len, &written) == 1 && written == len;
    pthread_mutex_unlock(&tls->mutex);
    return fine ? ILK_OK : ilk__fail(err, ILK_ENOMEM, "no memory for TLS");
}

ilk_status ilk__tls_read(ilk__tls *tls, void *out, size_t room, size_t *out_len,
                         ilk_error *err)
{
    ilk_status status = ILK_OK;
    int result;

    *out_len = 0;
    pthread_mutex_lock(&tls->mutex);
    ERR_clear_error();
    result = SSL_read_ex(tls->ssl, out, room, out_len);
    if (result != 1)
        status = outcome(tls, result, "reading", err);
    pthread_mutex_unlock(&tls->mutex);
    return status;
}

/* A memory BIO accepts any number of bytes, so this fails only if the session
 * is broken. */
ilk_status ilk__tls_write(ilk__tls *tls, const void *data, size_t len,
                          ilk_error *err)
{
    ilk_status status = ILK_OK;
    size_t written = 0;
    int result;

    pthread_mutex_lock(&tls->mutex);
    ERR_clear_error();
    result = SSL_write_ex(tls->ssl, data, len, &written);
    if (result != 1)
        status = outcome(tls, result, "writing", err);
    pthread_mutex_unlock(&tls->mutex);
    if (status == ILK_EAGAIN)
        return ilk__fail(err, ILK_ECONN,
                         "tls writing failed: the server "
                         "renegotiates");
    return status;
}

size_t ilk__tls_pending(ilk__tls *tls)
{
    size_t len;

    pthread_mutex_lock(&tls->mutex);
    len = BIO_ctrl_pending(tls->out);
    pthread_mutex_unlock(&tls->mutex);
    return len;
}

size_t ilk__tls_get(ilk__tls *tls, void *out, size_t room)
{
    size_t len = 0;

    pthread_mutex_lock(&tls->mutex);
    if (BIO_read_ex(tls->out, out, room, &len) != 1)
        len = 0;
    pthread_mutex_unlock(&tls->mutex);
    return len;
}

#else

ilk_status ilk__tls_new(ilk__tls **out, const ilk__url *url, ilk_error *err)
{
    *out = NULL;
    return ilk__fail(err, ILK_EINVAL,
                     "built without TLS: rediss://%s is not available",
                     url->host);
}

/* Without ILK_TLS there is never an ilk__tls, so these are never reached. */
void ilk__tls_free(ilk__tls *tls)
{
    (void)tls;
}

static ilk_status absent(ilk_error *err)
{
    return ilk__fail(err, ILK_EINVAL, "built without TLS");
}

ilk_status ilk__tls_offer_protocol(ilk__tls *tls, const char *name,
                                   ilk_error *err)
{
    (void)tls;
    (void)name;
    return absent(err);
}

ilk_status ilk__tls_handshake(ilk__tls *tls, ilk_error *err)
{
    (void)tls;
    return absent(err);
}

int ilk__tls_is_resumed(ilk__tls *tls)
{
    (void)tls;
    return 0;
}

ilk_status ilk__tls_put(ilk__tls *tls, const void *data, size_t len,
                        ilk_error *err)
{
    (void)tls;
    (void)data;
    (void)len;
    return absent(err);
}

ilk_status ilk__tls_read(ilk__tls *tls, void *out, size_t room, size_t *out_len,
                         ilk_error *err)
{
    (void)tls;
    (void)out;
    (void)room;
    *out_len = 0;
    return absent(err);
}

ilk_status ilk__tls_write(ilk__tls *tls, const void *data, size_t len,
                          ilk_error *err)
{
    (void)tls;
    (void)data;
    (void)len;
    return absent(err);
}

size_t ilk__tls_pending(ilk__tls *tls)
{
    (void)tls;
    return 0;
}

size_t ilk__tls_get(ilk__tls *tls, void *out, size_t room)
{
    (void)tls;
    (void)out;
    (void)room;
    return 0;
}

#endif

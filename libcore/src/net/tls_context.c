/* SPDX-License-Identifier: MIT */
/* tls_context.c -- the certificates that TLS trusts, and our own. */
#ifdef ILK_TLS

#include "tls_context.h"

#include "base/cancel.h"
#include "base/environment.h"

#include <sys/stat.h>
#include <unistd.h>

#include <openssl/err.h>

/* The files in which systems keep their certificate authorities. They are tried
 * because a statically linked OpenSSL looks where the machine on which it was
 * built keeps them. */
static const char *const system_files[] = {
    "/etc/ssl/certs/ca-certificates.crt", /* Debian, Ubuntu, Arch, Gentoo */
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* Fedora, RHEL */
    "/etc/pki/tls/certs/ca-bundle.crt",                  /* older ones */
    "/etc/ssl/ca-bundle.pem",                            /* openSUSE */
    "/etc/ssl/cert.pem",                                 /* macOS, Alpine */
    "/usr/local/share/certs/ca-root-nss.crt"             /* FreeBSD */
};

static ilk_status cannot_load(const char *what, const char *file,
                              ilk_error *err)
{
    const char *reason = ERR_reason_error_string(ERR_peek_error());

    ERR_clear_error();
    return ilk__fail(err, ILK_EINVAL, "cannot load the %s %s: %s", what, file,
                     reason != NULL ? reason : "nothing usable in it");
}

static ilk_status trust(SSL_CTX *context, const char *path, ilk_error *err)
{
    struct stat info;
    int directory = stat(path, &info) == 0 && S_ISDIR(info.st_mode);

    if (SSL_CTX_load_verify_locations(context, directory ? NULL : path,
                                      directory ? path : NULL)
        != 1)
        return cannot_load("certificate authorities", path, err);
    return ILK_OK;
}

static ilk_status trust_system(SSL_CTX *context, ilk_error *err)
{
    size_t i;

    for (i = 0; i < sizeof system_files / sizeof system_files[0]; i++)
        if (access(system_files[i], R_OK) == 0)
            return trust(context, system_files[i], err);
    SSL_CTX_set_default_verify_paths(context);
    return ILK_OK;
}

static ilk_status load_authorities(SSL_CTX *context, const ilk__url *url,
                                   ilk_error *err)
{
    const char *file = ilk__environment("SSL_CERT_FILE");
    const char *directory = ilk__environment("SSL_CERT_DIR");
    ilk_status status = ILK_OK;

    if (url->ca != NULL)
        return trust(context, url->ca, err);
    if (file == NULL && directory == NULL)
        return trust_system(context, err);
    if (file != NULL)
        status = trust(context, file, err);
    if (status == ILK_OK && directory != NULL)
        status = trust(context, directory, err);
    return status;
}

static ilk_status load_own(SSL_CTX *context, const ilk__url *url,
                           ilk_error *err)
{
    const char *key = url->key != NULL ? url->key : url->cert;

    if (url->cert == NULL && url->key == NULL)
        return ILK_OK;
    if (url->cert == NULL)
        return ilk__fail(err, ILK_EINVAL, "key=%s needs cert= as well",
                         url->key);
    if (SSL_CTX_use_certificate_chain_file(context, url->cert) != 1)
        return cannot_load("certificate", url->cert, err);
    if (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
        return cannot_load("key", key, err);
    return ILK_OK;
}

static uint64_t mix(uint64_t hash, uint64_t number)
{
    return (hash ^ number) * 0x9e3779b97f4a7c15U + (hash >> 29);
}

static uint64_t mix_file(uint64_t hash, const char *path)
{
    struct stat info;

    if (path == NULL || stat(path, &info) != 0)
        return mix(hash, 1);
    hash = mix(mix(hash, (uint64_t)info.st_dev), (uint64_t)info.st_ino);
    hash = mix(mix(hash, (uint64_t)info.st_size), (uint64_t)info.st_mtime);
#ifdef __linux__
    hash = mix(hash, (uint64_t)info.st_mtim.tv_nsec);
#endif
    return hash;
}

uint64_t ilk__tls_context_files(const ilk__url *url)
{
    uint64_t hash = 1;

    hash = mix_file(hash, url->cert);
    hash = mix_file(hash, url->key);
    if (url->ca != NULL)
        return mix_file(hash, url->ca);
    hash = mix_file(hash, ilk__environment("SSL_CERT_FILE"));
    hash = mix_file(hash, ilk__environment("SSL_CERT_DIR"));
    for (size_t i = 0; i < sizeof system_files / sizeof system_files[0]; i++)
        hash = mix_file(hash, system_files[i]);
    return hash;
}

/* Without this, OpenSSL would ask on the terminal for a key's pass phrase. */
static int no_pass_phrase(char *buf, int size, int writing, void *data)
{
    (void)buf;
    (void)size;
    (void)writing;
    (void)data;
    return -1;
}

/* OpenSSL reads files here: cancellation points, with its locks held. */
static ilk_status load(SSL_CTX *context, const ilk__url *url, ilk_error *err)
{
    int cancelling = ilk__cancel_disable();
    ilk_status status = load_authorities(context, url, err);

    if (status == ILK_OK)
        status = load_own(context, url, err);
    ilk__cancel_restore(cancelling);
    return status;
}

ilk_status ilk__tls_context(SSL_CTX **out, const ilk__url *url, ilk_error *err)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    ilk_status status;

    *out = NULL;
    if (context == NULL)
        return ilk__fail(err, ILK_ENOMEM, "no memory for TLS");
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_default_passwd_cb(context, no_pass_phrase);
    if ((status = load(context, url, err)) != ILK_OK) {
        SSL_CTX_free(context);
        return status;
    }
    *out = context;
    return ILK_OK;
}

#else
typedef int ilk__no_tls_context; /* a C file holds at least one declaration */
#endif

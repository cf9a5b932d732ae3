/* SPDX-License-Identifier: MIT */
/* ut_tls.c -- our side of TLS against OpenSSL's other side, in memory. */
#include "certs.h"
#include "net/tls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

#ifdef ILK_TLS

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>

static certs c;

/* Both ends and what carries bytes between them. */
typedef struct wire {
    SSL_CTX *context;
    SSL *server;
    BIO *in, *out; /* the server's */
    ilk__tls *client;
    ilk_error err;
} wire;

static void make_server(wire *w, const char *name, int version, int verify)
{
    char file[32];

    w->context = SSL_CTX_new(TLS_server_method());
    snprintf(file, sizeof file, "%s.crt", name);
    assert_int_equal(SSL_CTX_use_certificate_file(
                         w->context, certs_path(&c, file), SSL_FILETYPE_PEM),
                     1);
    snprintf(file, sizeof file, "%s.key", name);
    assert_int_equal(SSL_CTX_use_PrivateKey_file(
                         w->context, certs_path(&c, file), SSL_FILETYPE_PEM),
                     1);
    SSL_CTX_set_max_proto_version(w->context, version);
    SSL_CTX_set_min_proto_version(w->context, TLS1_VERSION);
    SSL_CTX_set_security_level(w->context, 0); /* old versions need it */
    if (verify) {
        SSL_CTX_load_verify_locations(w->context, certs_path(&c, "ca.crt"),
                                      NULL);
        SSL_CTX_set_verify(w->context,
                           SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                           NULL);
    }
    w->server = SSL_new(w->context);
    w->in = BIO_new(BIO_s_mem());
    w->out = BIO_new(BIO_s_mem());
    SSL_set_bio(w->server, w->in, w->out);
    SSL_set_accept_state(w->server);
}

static void unmake(wire *w)
{
    SSL_free(w->server);
    SSL_CTX_free(w->context);
    ilk__tls_free(w->client);
}

/* Move what either side has for the other; 0 when there was nothing. */
static int carry(wire *w)
{
    char bytes[4096];
    size_t len = ilk__tls_get(w->client, bytes, sizeof bytes);
    int got, moved = len > 0;

    if (moved)
        assert_int_equal(BIO_write(w->in, bytes, (int)len), len);
    got = BIO_read(w->out, bytes, sizeof bytes);
    if (got > 0)
        assert_int_equal(ilk__tls_put(w->client, bytes, (size_t)got, &w->err),
                         ILK_OK);
    return moved || got > 0;
}

static ilk_status shake_hands(wire *w)
{
    ilk_status status;

    do {
        status = ilk__tls_handshake(w->client, &w->err);
        ERR_clear_error();
        SSL_do_handshake(w->server);
    } while (status == ILK_EAGAIN && carry(w));
    while (carry(w)) { /* the server's part may be longer than ours */
        ERR_clear_error();
        SSL_do_handshake(w->server);
    }
    return status;
}

static void assert_says(const wire *w, const char *text)
{
    if (strstr(w->err.msg, text) == NULL)
        fail_msg("'%s' is not in '%s'", text, w->err.msg);
    assert_null(strstr(w->err.msg, "uccess"));
}

static char *copy(const char *text)
{
    return text != NULL ? strdup(text) : NULL;
}

/* Everything from a URL's parts, so that files with any name will do. */
static ilk_status make_client(wire *w, const char *host, const char *ca,
                              const char *cert, const char *key)
{
    ilk__url url = {.scheme = ILK__SCHEME_TLS, .port = 6379};
    ilk_status status;

    url.host = copy(host);
    url.ca = copy(ca);
    url.cert = copy(cert);
    url.key = copy(key);
    status = ilk__tls_new(&w->client, &url, &w->err);
    free(url.host);
    free(url.ca);
    free(url.cert);
    free(url.key);
    return status;
}

static void exchange(wire *w, const char *text)
{
    size_t len = strlen(text), got;
    char bytes[64];

    assert_int_equal(ilk__tls_write(w->client, text, len, &w->err), ILK_OK);
    carry(w);
    assert_int_equal(SSL_read(w->server, bytes, sizeof bytes), len);
    assert_memory_equal(bytes, text, len);
    assert_int_equal(SSL_write(w->server, text, (int)len), len);
    while (carry(w))
        continue;
    assert_int_equal(
        ilk__tls_read(w->client, bytes, sizeof bytes, &got, &w->err), ILK_OK);
    assert_int_equal(got, len);
    assert_memory_equal(bytes, text, len);
    assert_int_equal(
        ilk__tls_read(w->client, bytes, sizeof bytes, &got, &w->err),
        ILK_EAGAIN);
}

static const struct handshake {
    const char *host, *server, *ca;
    int version;
    const char *error; /* NULL: it succeeds */
} handshakes[] = {
    {"localhost", "server", "ca.crt", TLS1_3_VERSION, NULL},
    {"LOCALHOST", "server", "ca.crt", TLS1_2_VERSION, NULL},
    {"127.0.0.1", "server", "ca.crt", TLS1_3_VERSION, NULL},
    {"127.0.0.2", "server", "ca.crt", TLS1_3_VERSION, "IP address mismatch"},
    {"localhost", "elsewhere", "ca.crt", TLS1_3_VERSION, "ostname mismatch"},
    {"localhost", "elsewhere", "ca.crt", TLS1_2_VERSION, "ostname mismatch"},
    {"elsewhere.example", "elsewhere", "ca.crt", TLS1_3_VERSION, NULL},
    {"server", "server", "ca.crt", TLS1_3_VERSION, "ostname mismatch"},
    {"localhost", "server", "other.crt", TLS1_3_VERSION, "issuer"},
    {"localhost", "server", "ca.crt", TLS1_1_VERSION, "tls handshake failed"},
};

TEST(certificates_are_verified_by_name_and_authority)
{
    for (size_t i = 0; i < sizeof handshakes / sizeof handshakes[0]; i++) {
        const struct handshake *h = &handshakes[i];
        wire w = {0};
        ilk_status status;

        make_server(&w, h->server, h->version, 0);
        assert_int_equal(
            make_client(&w, h->host, certs_path(&c, h->ca), NULL, NULL),
            ILK_OK);
        status = shake_hands(&w);
        assert_int_equal(status, h->error == NULL ? ILK_OK : ILK_ECONN);
        if (h->error != NULL)
            assert_says(&w, h->error);
        else
            exchange(&w, "PING\r\n");
        unmake(&w);
    }
}

TEST(the_client_hello_has_the_name)
{
    wire w = {0};

    make_server(&w, "server", TLS1_3_VERSION, 0);
    make_client(&w, "localhost", certs_path(&c, "ca.crt"), NULL, NULL);
    assert_int_equal(shake_hands(&w), ILK_OK);
    assert_string_equal(SSL_get_servername(w.server, TLSEXT_NAMETYPE_host_name),
                        "localhost");
    unmake(&w);
}

TEST(without_ca_the_environment_counts)
{
    wire w = {0};

    for (int good = 0; good <= 1; good++) {
        memset(&w, 0, sizeof w);
        setenv("SSL_CERT_FILE", certs_path(&c, good ? "ca.crt" : "other.crt"),
               1);
        make_server(&w, "server", TLS1_3_VERSION, 0);
        assert_int_equal(make_client(&w, "localhost", NULL, NULL, NULL),
                         ILK_OK);
        assert_int_equal(shake_hands(&w), good ? ILK_OK : ILK_ECONN);
        unmake(&w);
    }
    unsetenv("SSL_CERT_FILE");

    /* Nor does the system know our authority. */
    memset(&w, 0, sizeof w);
    make_server(&w, "server", TLS1_3_VERSION, 0);
    assert_int_equal(make_client(&w, "localhost", NULL, NULL, NULL), ILK_OK);
    assert_int_equal(shake_hands(&w), ILK_ECONN);
    assert_says(&w, "issuer");
    unmake(&w);
}

TEST(a_client_shows_its_certificate)
{
    char bytes[16];
    size_t len;

    for (int shown = 0; shown <= 1; shown++) {
        wire w = {0};

        make_server(&w, "server", TLS1_3_VERSION, 1);
        assert_int_equal(
            make_client(&w, "localhost", certs_path(&c, "ca.crt"),
                        shown ? certs_path(&c, "client.crt") : NULL,
                        shown ? certs_path(&c, "client.key") : NULL),
            ILK_OK);
        assert_int_equal(shake_hands(&w), ILK_OK);
        if (shown) {
            exchange(&w, "hello");
        } else { /* in TLS 1.3 the refusal comes behind the handshake */
            assert_int_equal(
                ilk__tls_read(w.client, bytes, sizeof bytes, &len, &w.err),
                ILK_ECONN);
            assert_says(&w, "certificate required");
        }
        unmake(&w);
    }
}

static const struct unusable {
    const char *ca, *cert, *key, *error;
} unusables[] = {
    {"missing.crt", NULL, NULL, "missing.crt"},
    {"ca.key", NULL, NULL, "ca.key"},
    {"ca.crt", "missing.crt", "client.key", "missing.crt"},
    {"ca.crt", "client.crt", "missing.key", "missing.key"},
    {"ca.crt", "client.crt", "server.key", "server.key"},
    {"ca.crt", "client.crt", NULL, "client.crt"},
    {"ca.crt", NULL, "client.key", "client.key"},
};

TEST(files_that_do_not_serve_are_named)
{
    for (size_t i = 0; i < sizeof unusables / sizeof unusables[0]; i++) {
        const struct unusable *u = &unusables[i];
        wire w = {0};

        assert_int_equal(
            make_client(&w, "localhost", certs_path(&c, u->ca),
                        u->cert != NULL ? certs_path(&c, u->cert) : NULL,
                        u->key != NULL ? certs_path(&c, u->key) : NULL),
            ILK_EINVAL);
        assert_null(w.client);
        assert_says(&w, u->error);
    }
}

TEST(a_stream_that_is_no_tls_is_refused)
{
    static const char plain[] = "-ERR unknown command\r\n";
    wire w = {0};

    make_client(&w, "localhost", certs_path(&c, "ca.crt"), NULL, NULL);
    assert_int_equal(ilk__tls_handshake(w.client, &w.err), ILK_EAGAIN);
    assert_int_equal(ilk__tls_put(w.client, plain, sizeof plain - 1, &w.err),
                     ILK_OK);
    assert_int_equal(ilk__tls_handshake(w.client, &w.err), ILK_ECONN);
    assert_says(&w, "tls handshake failed: ");
    unmake(&w);
}

TEST(the_servers_end_is_reported)
{
    char bytes[16];
    wire w = {0};
    size_t len;

    make_server(&w, "server", TLS1_3_VERSION, 0);
    make_client(&w, "localhost", certs_path(&c, "ca.crt"), NULL, NULL);
    assert_int_equal(shake_hands(&w), ILK_OK);
    SSL_shutdown(w.server);
    while (carry(&w))
        continue;
    assert_int_equal(ilk__tls_read(w.client, bytes, sizeof bytes, &len, &w.err),
                     ILK_ECONN);
    assert_says(&w, "ended");
    unmake(&w);
}

static int setup(void)
{
    int made = certs_make(&c);

    if (made == CERTS_SKIP)
        exit(CERTS_SKIP);
    unsetenv("SSL_CERT_FILE");
    unsetenv("SSL_CERT_DIR");
    return made;
}

static int teardown(void)
{
    certs_remove(&c);
    return 0;
}

AROUND_ALL(setup, teardown);

#else

TEST(tls_is_refused_by_name)
{
    char host[] = "example";
    ilk__url url = {.scheme = ILK__SCHEME_TLS, .host = host};
    ilk__tls *tls;
    ilk_error err;

    assert_int_equal(ilk__tls_new(&tls, &url, &err), ILK_EINVAL);
    assert_null(tls);
    assert_non_null(strstr(err.msg, "built without TLS"));
}

#endif

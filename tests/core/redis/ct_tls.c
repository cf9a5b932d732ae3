/* SPDX-License-Identifier: MIT */
/* ct_tls.c -- rediss:// to a real server, with and without certificates. */
#include "base/clock.h"
#include "certs.h"
#include "redis/conn.h"
#include "server_case.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static certs c;
static int tls_port;
static ilk_error err;
static ilk__conn *conn;

/* own names a client certificate and its key, or is NULL. */
static ilk_status open_tls(const char *host, const char *ca, const char *own)
{
    char text[512], more[256] = "";
    ilk_status status;
    ilk__url url;

    if (own != NULL)
        snprintf(more, sizeof more, "&cert=%s/%s.crt&key=%s/%s.key", c.dir, own,
                 c.dir, own);
    snprintf(text, sizeof text, "rediss://%s:%d/1?ca=%s/%s%s", host, tls_port,
             c.dir, ca, more);
    assert_null(conn);
    assert_int_equal(ilk__url_parse(&url, text, &err), ILK_OK);
    status =
        ilk__conn_open(&conn, &(ilk__target){.url = &url, .name = "ilk:test"},
                       NULL, ilk__deadline(2000), &err);
    ilk__url_free(&url);
    return status;
}

static void assert_refused(ilk_status status, const char *text)
{
    char where[16];

    assert_int_equal(status, ILK_ECONN);
    assert_null(conn);
    if (strstr(err.msg, text) == NULL)
        fail_msg("'%s' is not in '%s'", text, err.msg);
    assert_null(strstr(err.msg, "uccess"));
    snprintf(where, sizeof where, ":%d", tls_port);
    assert_non_null(strstr(err.msg, where));
}

static int hang_up(void)
{
    ilk__conn_close(conn);
    conn = NULL;
    return 0;
}

AROUND_EACH(NULL, hang_up);

static void wait_for(short events)
{
    struct pollfd pfd = {.fd = ilk__conn_fd(conn), .events = events};

    assert_int_equal(poll(&pfd, 1, 5000), 1);
}

static void send_all(const char *data, size_t len)
{
    size_t sent;

    assert_int_equal(ilk__conn_send(conn, data, len, &sent, &err), ILK_OK);
    assert_int_equal(sent, len);
    while (ilk__conn_unsent(conn)) {
        wait_for(POLLOUT);
        assert_int_equal(ilk__conn_send(conn, NULL, 0, &sent, &err), ILK_OK);
    }
}

static ilk__reply *next_reply(void)
{
    ilk_status status;
    ilk__reply *reply;
    size_t bytes;

    while ((status = ilk__conn_reply(conn, &reply, &err)) == ILK_EAGAIN) {
        wait_for(POLLIN);
        status = ilk__conn_recv(conn, &bytes, &err);
        assert_true(status == ILK_OK || status == ILK_EAGAIN);
    }
    assert_int_equal(status, ILK_OK);
    return reply;
}

static void assert_works(void)
{
    ilk__reply *reply;

    send_all("CLIENT INFO\r\n", 13);
    reply = next_reply();
    assert_non_null(strstr(reply->str, " name=ilk:test "));
    assert_non_null(strstr(reply->str, " db=1 "));
    ilk__reply_free(reply);
    assert_int_equal(ilk__conn_protocol(conn), 3);
}

TEST(names_and_addresses_are_accepted)
{
    assert_int_equal(open_tls("localhost", "ca.crt", NULL), ILK_OK);
    assert_works();
    hang_up();
    assert_int_equal(open_tls("127.0.0.1", "ca.crt", NULL), ILK_OK);
    assert_works();
}

TEST(wrong_authorities_and_names_are_refused)
{
    assert_refused(open_tls("localhost", "other.crt", NULL),
                   "the server's certificate: self");
    fixture_command(&fx, "CONFIG SET tls-cert-file %s tls-key-file %s",
                    certs_path(&c, "elsewhere.crt"),
                    certs_path(&c, "elsewhere.key"));
    assert_refused(open_tls("localhost", "ca.crt", NULL), "ostname mismatch");
    assert_refused(open_tls("127.0.0.1", "ca.crt", NULL), "address mismatch");
    fixture_command(&fx, "CONFIG SET tls-cert-file %s tls-key-file %s",
                    certs_path(&c, "server.crt"), certs_path(&c, "server.key"));
    assert_int_equal(open_tls("localhost", "ca.crt", NULL), ILK_OK);
}

TEST(a_plain_server_is_no_tls_server)
{
    int port = tls_port;

    tls_port = fx.port; /* it waits for a line, or answers an error */
    assert_int_not_equal(open_tls("localhost", "ca.crt", NULL), ILK_OK);
    tls_port = port;
    assert_non_null(strstr(err.msg, "localhost"));
}

TEST(a_client_certificate_may_be_required)
{
    fixture_command(&fx, "CONFIG SET tls-auth-clients yes");
    assert_int_equal(open_tls("localhost", "ca.crt", "client"), ILK_OK);
    assert_works();
    hang_up();
    assert_refused(open_tls("localhost", "ca.crt", NULL),
                   "certificate required");
    fixture_command(&fx, "CONFIG SET tls-auth-clients optional");
    assert_int_equal(open_tls("localhost", "ca.crt", NULL), ILK_OK);
}

enum { BIG = 3 * 1024 * 1024, ROUNDS = 4 };

/* Larger than any buffer on the way, in both directions. */
TEST(much_goes_through)
{
    static char big[BIG];
    ilk__reply *reply;
    char head[64];

    for (size_t i = 0; i < BIG; i++)
        big[i] = (char)(i * 2654435761u >> 24);
    assert_int_equal(open_tls("localhost", "ca.crt", NULL), ILK_OK);
    for (int round = 0; round < ROUNDS; round++) {
        snprintf(head, sizeof head, "*2\r\n$4\r\nECHO\r\n$%d\r\n", BIG);
        send_all(head, strlen(head));
        send_all(big, BIG);
        send_all("\r\n", 2);
        reply = next_reply();
        assert_int_equal(reply->len, BIG);
        assert_memory_equal(reply->str, big, BIG);
        ilk__reply_free(reply);
    }
}

enum { PINGS = 3000 };

static void *receiver(void *arg)
{
    for (int i = 0; i < PINGS; i++) {
        ilk__reply *reply = next_reply();

        *(int *)arg += reply->type == ILK__REPLY_STR;
        ilk__reply_free(reply);
    }
    return NULL;
}

/* One thread encrypts while another decrypts. */
TEST(two_threads_share_a_connection)
{
    pthread_t thread;
    int count = 0;

    assert_int_equal(open_tls("localhost", "ca.crt", NULL), ILK_OK);
    assert_int_equal(pthread_create(&thread, NULL, receiver, &count), 0);
    for (int i = 0; i < PINGS; i++)
        send_all("PING\r\n", 6);
    pthread_join(thread, NULL);
    assert_int_equal(count, PINGS);
}

TEST(the_servers_death_is_reported)
{
    size_t bytes;
    ilk_status status;

    assert_int_equal(open_tls("localhost", "ca.crt", NULL), ILK_OK);
    fixture_kill(&fx);
    do {
        wait_for(POLLIN);
        status = ilk__conn_recv(conn, &bytes, &err);
    } while (status == ILK_EAGAIN);
    assert_int_equal(status, ILK_ECONN);
    assert_int_equal(fixture_restart(&fx), 0);
}

static int setup(void)
{
    int made = certs_serve(&c, &fx, &tls_port);

    if (made == CERTS_SKIP)
        exit(CERTS_SKIP);
    return made;
}

static int teardown(void)
{
    certs_remove(&c);
    return fixture_stop(&fx);
}

AROUND_ALL(setup, teardown);

/* SPDX-License-Identifier: MIT */
/* ct_client_tls.c -- what the TLS connections of one client share. */
/* link: -Wl,--wrap=ilk__tls_context,--wrap=ilk__tls_handshake */
#include "certs.h"
#include "fork_case.h"
#include "lock_case.h"

#include "base/clock.h"
#include "net/tls.h"
#include "net/tls_store.h"
#include "redis/conn.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef ILK_TLS

#include "net/tls_context.h"

static certs c;
static int tls_port;
static char url[256];
static atomic_int loads, handshakes, resumed;

ilk_status __real_ilk__tls_context(SSL_CTX **out, const ilk__url *of,
                                   ilk_error *err);
ilk_status __wrap_ilk__tls_context(SSL_CTX **out, const ilk__url *of,
                                   ilk_error *err);
ilk_status __real_ilk__tls_handshake(ilk__tls *tls, ilk_error *err);
ilk_status __wrap_ilk__tls_handshake(ilk__tls *tls, ilk_error *err);

ilk_status __wrap_ilk__tls_context(SSL_CTX **out, const ilk__url *of,
                                   ilk_error *err)
{
    atomic_fetch_add(&loads, 1);
    return __real_ilk__tls_context(out, of, err);
}

ilk_status __wrap_ilk__tls_handshake(ilk__tls *tls, ilk_error *err)
{
    ilk_status st = __real_ilk__tls_handshake(tls, err);

    if (st == ILK_OK) {
        atomic_fetch_add(&handshakes, 1);
        if (ilk__tls_is_resumed(tls))
            atomic_fetch_add(&resumed, 1);
    }
    return st;
}

/* Wait until the keeper has a connection as well. */
static void wait_for(ilk_client *client, const char *name)
{
    ilk_lock *held = open_lock(client, name),
             *waiting = open_lock(client, name);
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(held, patience(5000), &err));
    for (int64_t end = fixture_now_ms() + patience(10000);
         fixture_command(&fx, "CLIENT LIST TYPE pubsub")[0] == '\0';) {
        assert_status(ILK_ETIMEOUT, ilk_lock_acquire(waiting, 50, &err));
        assert_true(fixture_now_ms() < end);
    }
    assert_status(ILK_OK, ilk_lock_release(held, &err));
    ilk_lock_free(held);
    ilk_lock_free(waiting);
}

static void count_from_zero(void)
{
    atomic_store(&loads, 0);
    atomic_store(&handshakes, 0);
    atomic_store(&resumed, 0);
}

static void fail_at_cleanup(void)
{
    _exit(2);
}

/* A program may exit without freeing its clients, whose threads then use
 * OpenSSL to the very end. This must be the first use of TLS here, because
 * OpenSSL decides once whether it cleans up. */
TEST(openssl_is_not_cleaned_up_at_exit)
{
    static ilk_client *left_open; /* for LeakSanitizer */
    pid_t pid;

    if ((pid = fork_now()) == 0) {
        left_open = open_client_at(url);
        demand(ilk_client_ping(left_open, 5000, NULL) == ILK_OK);
        demand(OPENSSL_atexit(fail_at_cleanup) == 1);
        exit(0);
    }
    assert_ends_well(pid);
}

TEST(certificates_are_loaded_once)
{
    ilk_client *client;

    count_from_zero();
    client = open_client_at(url);
    wait_for(client, "once");
    assert_true(atomic_load(&handshakes) > 1);
    assert_int_equal(atomic_load(&loads), 1);
    assert_true(atomic_load(&resumed) > 0);
    ilk_client_free(client);
}

static void reconnect(ilk_client *client)
{
    fixture_command(&fx, "CLIENT KILL TYPE normal");
    fixture_command(&fx, "CLIENT KILL TYPE pubsub");
    fixture_hang_up(&fx);
    for (int64_t end = fixture_now_ms() + patience(10000);
         ilk_client_ping(client, 5000, NULL) != ILK_OK;)
        assert_true(fixture_now_ms() < end);
}

/* A new file under the old name. */
static void replace_authority(void)
{
    char command[1200], ca[256];

    snprintf(ca, sizeof ca, "%s", certs_path(&c, "ca.crt"));
    snprintf(command, sizeof command, "cp '%s' '%s.new' && mv '%s.new' '%s'",
             ca, ca, ca, ca);
    assert_int_equal(system(command), 0);
}

TEST(changed_certificates_are_loaded_again)
{
    ilk_client *client;

    client = open_client_at(url);
    wait_for(client, "again");
    count_from_zero();
    reconnect(client);
    assert_int_equal(atomic_load(&loads), 0);
    replace_authority();
    reconnect(client);
    assert_int_equal(atomic_load(&loads), 1);
    ilk_client_free(client);
}

/* A session for one host proves nothing about another. */
TEST(a_session_is_for_its_host)
{
    ilk__tls_store *store = ilk__tls_store_new();
    ilk__url one = {0}, other = {0};
    char name[128];
    ilk__conn *conn;
    ilk_error err = {0};

    assert_non_null(store);
    snprintf(name, sizeof name, "rediss://127.0.0.1:%d?ca=%s", tls_port,
             certs_path(&c, "ca.crt"));
    assert_status(ILK_OK, ilk__url_parse(&one, url, &err));
    assert_status(ILK_OK, ilk__url_parse(&other, name, &err));
    one.tls = other.tls = store;
    count_from_zero();
    for (int i = 0; i < 2; i++) {
        assert_status(
            ILK_OK,
            ilk__conn_open(&conn, &(ilk__target){.url = &one, .name = "test"},
                           NULL, ilk__deadline(5000), &err));
        ilk__conn_close(conn);
    }
    assert_int_equal(atomic_load(&resumed), 1);
    assert_status(ILK_OK,
                  ilk__conn_open(&conn,
                                 &(ilk__target){.url = &other, .name = "test"},
                                 NULL, ilk__deadline(5000), &err));
    ilk__conn_close(conn);
    assert_int_equal(atomic_load(&resumed), 1);
    ilk__url_free(&one);
    ilk__url_free(&other);
    ilk__tls_store_free(store);
}

/* Start to connect; returns when the certificates were loaded for it, or it uses those
 * that the store has. */
static ilk__conn *start_to_connect(const ilk__target *target)
{
    const int before = atomic_load(&loads);
    ilk_error err = {0};
    ilk__conn *conn;

    assert_status(ILK_OK, ilk__conn_start(&conn, target, NULL,
                                          ilk__deadline(patience(5000)), &err));
    while (atomic_load(&loads) == before)
        assert_status(ILK_EAGAIN, ilk__conn_step(conn, &err));
    return conn;
}

static void connect_to_the_end(ilk__conn *conn)
{
    ilk_error err = {0};
    ilk_status st;

    while ((st = ilk__conn_step(conn, &err)) == ILK_EAGAIN) {
        struct pollfd pfd = {.fd = ilk__conn_fd(conn),
                             .events = ilk__conn_events(conn)};

        assert_int_equal(poll(&pfd, 1, (int)patience(5000)), 1);
    }
    assert_status(ILK_OK, st);
    ilk__conn_close(conn);
}

/* Resuming skips the check of the server's certificate. */
TEST(a_session_from_before_new_certificates_is_not_kept)
{
    ilk__url one = {0};
    const ilk__target target = {.url = &one, .name = "test"};
    ilk__conn *first, *conn;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk__url_parse(&one, url, &err));
    one.tls = ilk__tls_store_new();
    count_from_zero();
    first = start_to_connect(&target);
    replace_authority();
    ilk__conn_close(start_to_connect(&target));
    connect_to_the_end(first);
    assert_status(ILK_OK, ilk__conn_open(&conn, &target, NULL,
                                         ilk__deadline(5000), &err));
    ilk__conn_close(conn);
    assert_int_equal(atomic_load(&loads), 2);
    assert_int_equal(atomic_load(&resumed), 0);
    ilk__tls_store_free(one.tls);
    ilk__url_free(&one);
}

TEST(a_reopened_client_loads_its_own)
{
    ilk_client *client = open_client_at(url);
    pid_t pid;

    if ((pid = fork_now()) == 0) {
        count_from_zero();
        demand(ilk_client_reopen(client, NULL) == ILK_OK);
        demand(ilk_client_ping(client, 5000, NULL) == ILK_OK);
        demand(atomic_load(&loads) == 1 && atomic_load(&resumed) == 0);
        ilk_client_free(client);
        _exit(0);
    }
    assert_ends_well(pid);
    assert_int_equal(ilk_client_ping(client, 5000, NULL), ILK_OK);
    ilk_client_free(client);
}

static int setup(void)
{
    int made = certs_serve(&c, &fx, &tls_port);

    if (made == CERTS_SKIP)
        exit(CERTS_SKIP);
    snprintf(url, sizeof url, "rediss://localhost:%d?ca=%s", tls_port,
             certs_path(&c, "ca.crt"));
    return made;
}

static int teardown(void)
{
    certs_remove(&c);
    return fixture_stop(&fx);
}

AROUND_ALL(setup, teardown);

#else

int main(void)
{
    return CERTS_SKIP;
}

#endif

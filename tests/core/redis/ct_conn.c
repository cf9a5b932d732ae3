/* SPDX-License-Identifier: MIT */
/* ct_conn.c -- connecting and logging in to a real server. */
#include "base/clock.h"
#include "redis/conn.h"
#include "server_case.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

AROUND_ALL(server_setup, server_teardown);

static ilk_error err;
static ilk__conn *conn;

static ilk_status open_url(const char *text)
{
    ilk_status status;
    ilk__url url;

    assert_null(conn); /* or it would be forgotten */
    assert_int_equal(ilk__url_parse(&url, text, &err), ILK_OK);
    status =
        ilk__conn_open(&conn, &(ilk__target){.url = &url, .name = "ilk:test"},
                       NULL, ilk__deadline(2000), &err);
    ilk__url_free(&url);
    return status;
}

/* redis://[login@]127.0.0.1:port[rest] */
static ilk_status open_tcp(const char *login, const char *rest)
{
    char url[256];

    snprintf(url, sizeof url, "redis://%s127.0.0.1:%d%s", login, fx.port, rest);
    return open_url(url);
}

static int hang_up(void)
{
    ilk__conn_close(conn);
    conn = NULL;
    return 0;
}

AROUND_EACH(NULL, hang_up);

/* One command as it stands, and its reply. */
static ilk__reply *ask(const char *command)
{
    size_t len = strlen(command), sent, bytes;
    ilk_status status;
    ilk__reply *reply;

    assert_int_equal(ilk__conn_send(conn, command, len, &sent, &err), ILK_OK);
    assert_int_equal(sent, len);
    while ((status = ilk__conn_reply(conn, &reply, &err)) == ILK_EAGAIN) {
        struct pollfd pfd = {.fd = ilk__conn_fd(conn),
                             .events = ilk__conn_events(conn)};

        assert_int_equal(poll(&pfd, 1, 5000), 1);
        status = ilk__conn_recv(conn, &bytes, &err);
        assert_true(status == ILK_OK || status == ILK_EAGAIN);
    }
    assert_int_equal(status, ILK_OK);
    return reply;
}

/* CLIENT INFO has this field for this connection. */
static void assert_known_as(const char *field)
{
    ilk__reply *reply = ask("CLIENT INFO\r\n");

    assert_int_equal(reply->type, ILK__REPLY_STR);
    if (strstr(reply->str, field) == NULL)
        fail_msg("'%s' is not in '%s'", field, reply->str);
    ilk__reply_free(reply);
}

static void assert_refused(ilk_status status, ilk_status expected,
                           const char *text)
{
    char where[32];

    assert_int_equal(status, expected);
    assert_null(conn);
    snprintf(where, sizeof where, "127.0.0.1:%d", fx.port);
    assert_non_null(strstr(err.msg, where));
    if (strstr(err.msg, text) == NULL)
        fail_msg("'%s' is not in '%s'", text, err.msg);
    assert_null(strstr(err.msg, "sesame"));
}

TEST(resp3_by_tcp)
{
    assert_int_equal(open_tcp("", ""), ILK_OK);
    assert_int_equal(ilk__conn_protocol(conn), 3);
    assert_known_as(" name=ilk:test ");
    assert_known_as(" db=0 ");
    assert_known_as(" resp=3");
}

TEST(a_name_is_looked_up)
{
    char url[64];

    snprintf(url, sizeof url, "redis://localhost:%d", fx.port);
    assert_int_equal(open_url(url), ILK_OK);
}

TEST(resp2_by_its_option)
{
    assert_int_equal(open_tcp("", "/3?protocol=2"), ILK_OK);
    assert_int_equal(ilk__conn_protocol(conn), 2);
    assert_known_as(" name=ilk:test ");
    assert_known_as(" db=3 ");
    assert_known_as(" resp=2");
}

TEST(by_unix_socket_with_a_database)
{
    char url[256];

    snprintf(url, sizeof url, "%s?db=5", fx.unix_url);
    assert_int_equal(open_url(url), ILK_OK);
    assert_known_as(" db=5 ");
    assert_known_as(" resp=3");
}

TEST(a_database_out_of_range_is_refused)
{
    assert_refused(open_tcp("", "/99"), ILK_ESERVER, "out of range");
}

TEST(users_log_in_with_their_passwords)
{
    fixture_call(&fx, "ACL", "SETUSER", "ada", "on", ">open sesame!", "~*",
                 "&*", "+@all", "-client", (char *)NULL);
    for (int protocol = 2; protocol <= 3; protocol++) {
        char rest[32];

        snprintf(rest, sizeof rest, "/1?protocol=%d", protocol);
        assert_int_equal(open_tcp("ada:open%20sesame!@", rest), ILK_OK);
        ilk__reply_free(ask("PING\r\n"));
        hang_up();
        assert_refused(open_tcp("ada:sesame@", rest), ILK_EAUTH, "WRONGPASS");
        assert_refused(open_tcp("bob:sesame@", rest), ILK_EAUTH, "WRONGPASS");
    }
    fixture_command(&fx, "ACL DELUSER ada");
}

TEST(a_right_that_is_missing_is_named)
{
    ilk__reply *reply;

    fixture_command(&fx, "ACL SETUSER eve on >sesame ~a* +get +client +select");
    assert_int_equal(open_tcp("eve:sesame@", "/1"), ILK_OK);
    reply = ask("SET a 1\r\n");
    assert_int_equal(ilk__reply_error(reply, &err), ILK_EAUTH);
    assert_non_null(strstr(err.msg, "'set'"));
    ilk__reply_free(reply);
    reply = ask("GET b\r\n");
    assert_int_equal(ilk__reply_error(reply, &err), ILK_EAUTH);
    assert_non_null(strstr(err.msg, "key"));
    ilk__reply_free(reply);
    fixture_command(&fx, "ACL DELUSER eve");
}

/* The wrapping of errors in scripts as this very server does it. */
TEST(errors_in_scripts_are_seen_through)
{
    static const struct {
        const char *command;
        ilk_status status;
    } asks[] = {
        {"EVAL \"return redis.call('GET', KEYS[1])\" 1 list\r\n", ILK_ETYPE},
        {"EVAL \"return redis.call('SET', KEYS[1], 'x')\" 1 k\r\n",
         ILK_ESERVERMEMORY},
        {"EVAL \"return nonsense\" 0\r\n", ILK_ESERVER},
        {"SET k v\r\n", ILK_ESERVERMEMORY},
        {"EVALSHA ffffffffffffffffffffffffffffffffffffffff 0\r\n", ILK_ESERVER},
    };

    assert_int_equal(open_tcp("", ""), ILK_OK);
    ilk__reply_free(ask("RPUSH list 1\r\n"));
    ilk__reply_free(ask("CONFIG SET maxmemory 1\r\n"));
    for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++) {
        ilk__reply *reply = ask(asks[i].command);

        if (ilk__reply_error(reply, &err) != asks[i].status)
            fail_msg("%s: %s", asks[i].command, err.msg);
        ilk__reply_free(reply);
    }
    ilk__reply_free(ask("CONFIG SET maxmemory 0\r\n"));
}

TEST(a_password_is_required)
{
    fixture_command(&fx, "CONFIG SET requirepass sesame");
    assert_int_equal(open_tcp(":sesame@", ""), ILK_OK);
    hang_up();
    assert_int_equal(open_tcp(":sesame@", "?protocol=2"), ILK_OK);
    hang_up();
    assert_refused(open_tcp(":sesame2@", ""), ILK_EAUTH, "WRONGPASS");
    assert_refused(open_tcp("", ""), ILK_EAUTH, "NOAUTH");
    assert_refused(open_tcp("", "?protocol=2"), ILK_EAUTH, "NOAUTH");

    /* And none where the server has none: RESP2's AUTH is then an error. */
    assert_int_equal(open_tcp(":sesame@", ""), ILK_OK);
    ilk__reply_free(ask("CONFIG SET requirepass \"\"\r\n"));
    hang_up();
    assert_refused(open_tcp(":sesame@", "?protocol=2"), ILK_EAUTH,
                   "without any password");
}

TEST(a_full_server_says_so)
{
    fixture_command(&fx, "PING"); /* the fixture's own connection */
    assert_string_equal(fixture_command(&fx, "CONFIG SET maxclients 1"), "OK");
    for (int i = 0; i < 20; i++)
        assert_refused(open_tcp("", ""), ILK_ECONN, "max number of clients");
    assert_string_equal(fixture_command(&fx, "CONFIG SET maxclients 99"), "OK");
    assert_int_equal(open_tcp("", ""), ILK_OK);
}

TEST(a_frozen_server_costs_no_more_than_the_deadline)
{
    int64_t before, spent;
    ilk__url url;

    assert_int_equal(ilk__url_parse(&url, fx.tcp_url, &err), ILK_OK);
    fixture_pause(&fx);
    before = fixture_now_ms();
    assert_int_equal(ilk__conn_open(&conn,
                                    &(ilk__target){.url = &url, .name = "n"},
                                    NULL, ilk__deadline(100), &err),
                     ILK_ETIMEOUT);
    spent = fixture_now_ms() - before;
    fixture_resume(&fx);
    ilk__url_free(&url);
    assert_in_range(spent, 99, 100 + patience(20));
}

TEST(a_server_that_dies_is_reported)
{
    struct pollfd pfd = {.events = POLLIN};
    size_t bytes;

    assert_int_equal(open_tcp("", ""), ILK_OK);
    assert_int_equal(fixture_kill(&fx), 0);
    pfd.fd = ilk__conn_fd(conn);
    assert_int_equal(poll(&pfd, 1, 2000), 1);
    assert_int_equal(ilk__conn_recv(conn, &bytes, &err), ILK_ECONN);
    hang_up();
    assert_refused(open_tcp("", ""), ILK_ECONN, "refused");
    assert_int_equal(fixture_restart(&fx), 0);
    assert_int_equal(open_tcp("", ""), ILK_OK);
}

/* Servers of other kinds, each started for its test. */
static void restart_with(const char *extra)
{
    fixture_stop(&fx);
    assert_int_equal(fixture_start(&fx, extra), 0);
}

TEST(a_server_without_hello)
{
    restart_with("--rename-command HELLO no-such --requirepass sesame");
    assert_int_equal(open_tcp(":sesame@", "/2"), ILK_OK);
    assert_int_equal(ilk__conn_protocol(conn), 2);
    assert_known_as(" name=ilk:test ");
    assert_known_as(" db=2 ");
    hang_up();
    assert_refused(open_tcp(":sesame2@", ""), ILK_EAUTH, "WRONGPASS");
    assert_refused(open_tcp("", ""), ILK_EAUTH, "NOAUTH");
}

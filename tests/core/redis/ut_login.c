/* SPDX-License-Identifier: MIT */
/* ut_login.c -- what a new connection says, and what it makes of answers. */
#include "base/alloc.h"
#include "redis/login.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

/* A login under test: words lets go of lengths, "HELLO 3 SETNAME n;...". */
typedef struct talk {
    ilk__url url;
    ilk__login login;
    ilk__buf out;
    struct redisReader *server, *client;
    char words[2048];
} talk;

static talk of_this_test;

static int setup(void)
{
    talk *t = &of_this_test;

    memset(t, 0, sizeof *t);
    t->server = ilk__reader_new();
    t->client = ilk__reader_new();
    return t->server == NULL || t->client == NULL;
}

static int teardown(void)
{
    talk *t = &of_this_test;

    ilk__reader_free(t->server);
    ilk__reader_free(t->client);
    ilk__buf_free(&t->out);
    ilk__url_free(&t->url);
    return 0;
}

AROUND_EACH(setup, teardown);

/* The bytes since the last time, read as a server would. */
static const char *said(talk *t)
{
    size_t len = ilk__buf_len(&t->out);
    char *at = t->words;
    ilk__reply *command;

    ilk__reader_feed(t->server, ilk__buf_data(&t->out), len, NULL);
    ilk__buf_drop(&t->out, len);
    *at = '\0';
    while (ilk__reader_next(t->server, &command, NULL) == ILK_OK) {
        for (size_t i = 0; i < command->count; i++)
            at += sprintf(at, "%s%s", i > 0 ? " " : "", command->items[i]->str);
        at += sprintf(at, ";");
        ilk__reply_free(command);
    }
    return t->words;
}

static void begin(talk *t, const char *url, const char *name)
{
    ilk_error err;

    assert_int_equal(ilk__url_parse(&t->url, url, &err), ILK_OK);
    assert_int_equal(
        ilk__login_start(&t->login, &t->url, name, NULL, &t->out, NULL),
        ILK_OK);
}

static ilk_status answer(talk *t, const char *bytes, ilk_error *err)
{
    ilk__reply *reply;
    ilk_status status;

    assert_int_equal(ilk__reader_feed(t->client, bytes, strlen(bytes), NULL),
                     ILK_OK);
    assert_int_equal(ilk__reader_next(t->client, &reply, NULL), ILK_OK);
    status = ilk__login_reply(&t->login, reply, &t->out, err);
    ilk__reply_free(reply);
    return status;
}

TEST(one_round_says_everything)
{
    talk *t = &of_this_test;

    begin(t, "redis://ada:se%20sam@h/7", "ilk:host:1");
    assert_string_equal(said(t),
                        "HELLO 3 AUTH ada se sam SETNAME ilk:host:1;SELECT 7;"
                        "CLIENT ID;");
    assert_int_equal(
        answer(t, "%2\r\n+proto\r\n:3\r\n+mode\r\n+standalone\r\n", NULL),
        ILK_EAGAIN);
    assert_int_equal(answer(t, "+OK\r\n", NULL), ILK_EAGAIN);
    assert_int_equal(answer(t, ":7\r\n", NULL), ILK_OK);
    assert_int_equal(t->login.protocol, 3);
    assert_int_equal(t->login.identity.id, 7);
    assert_string_equal(said(t), "");
}

TEST(a_password_alone_is_the_default_users)
{
    begin(&of_this_test, "redis://:sesame@h", NULL);
    assert_string_equal(said(&of_this_test),
                        "HELLO 3 AUTH default sesame;CLIENT ID;");
}

TEST(names_are_made_acceptable)
{
    begin(&of_this_test, "redis://h", "my host\n\xc3\xa9!");
    assert_string_equal(said(&of_this_test),
                        "HELLO 3 SETNAME my-host---!;CLIENT ID;");
}

TEST(the_protocol_is_learnt)
{
    talk *t = &of_this_test;

    begin(t, "redis://h", "n");
    assert_int_equal(answer(t,
                            "*4\r\n+proto\r\n:2\r\n$4\r\nmode\r\n"
                            "$7\r\ncluster\r\n",
                            NULL),
                     ILK_EAGAIN);
    assert_int_equal(answer(t, ":7\r\n", NULL), ILK_OK);
    assert_int_equal(t->login.protocol, 2);
}

TEST(old_servers_get_old_commands)
{
    static const char *const refusals[] = {
        "-ERR unknown command `HELLO`, with args beginning with: `3`\r\n",
        "-ERR Unknown command 'hello'\r\n",
        "-NOPROTO unsupported protocol version\r\n",
        "-NOPERM this user has no permissions to run 'hello'\r\n"};

    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        talk *t = &of_this_test;

        begin(t, "redis://:sesame@h/2", "n");
        said(t);
        assert_int_equal(answer(t, refusals[i], NULL), ILK_EAGAIN);
        assert_string_equal(said(t), ""); /* the round is not over */
        assert_int_equal(
            answer(t, "-NOAUTH Authentication required.\r\n", NULL),
            ILK_EAGAIN);
        assert_int_equal(
            answer(t, "-NOAUTH Authentication required.\r\n", NULL),
            ILK_EAGAIN);
        assert_string_equal(said(t),
                            "AUTH sesame;CLIENT SETNAME n;CLIENT ID;SELECT 2;"
                            "CLIENT ID;");
        assert_int_equal(answer(t, "+OK\r\n", NULL), ILK_EAGAIN);
        assert_int_equal(answer(t, "-ERR no such thing\r\n", NULL), ILK_EAGAIN);
        assert_int_equal(answer(t, ":7\r\n", NULL), ILK_EAGAIN);
        assert_int_equal(answer(t, "+OK\r\n", NULL), ILK_EAGAIN);
        assert_int_equal(answer(t, ":7\r\n", NULL), ILK_OK);
        assert_int_equal(t->login.identity.id, 7);
        assert_int_equal(t->login.protocol, 2);
        ilk__url_free(&t->url);
    }
}

TEST(resp2_is_spoken_by_its_option)
{
    talk *t = &of_this_test;

    begin(t, "redis://ada:x@h?protocol=2", "n");
    assert_string_equal(said(t),
                        "AUTH ada x;CLIENT SETNAME n;CLIENT ID;CLIENT ID;");
    assert_int_equal(answer(t, "+OK\r\n", NULL), ILK_EAGAIN);
    assert_int_equal(answer(t, "+OK\r\n", NULL), ILK_EAGAIN);
    assert_int_equal(answer(t, "-NOPERM client|id\r\n", NULL), ILK_EAGAIN);
    assert_int_equal(answer(t, "-NOPERM client|id\r\n", NULL), ILK_OK);
    assert_int_equal(t->login.identity.id, 0);
    assert_int_equal(t->login.protocol, 2);
}

/* ---- in place of a connection that broke -------------------------------- */

enum { LOGGED_IN_MS = 100000, AGE_S = 40 };

/* As the second of its name: the first had the number 12, and would be 40 s
 * old now. */
static void begin_again(talk *t, const char *name)
{
    const ilk__conn_identity first = {.id = 12, .since = LOGGED_IN_MS};

    assert_int_equal(ilk__url_parse(&t->url, "redis://h", NULL), ILK_OK);
    assert_int_equal(
        ilk__login_start(&t->login, &t->url, name, &first, &t->out, NULL),
        ILK_OK);
    t->login.now = LOGGED_IN_MS + AGE_S * 1000;
    said(t);
}

static ilk_status answer_list(talk *t, const char *line)
{
    char bytes[320];

    snprintf(bytes, sizeof bytes, "$%zu\r\n%s\r\n", strlen(line), line);
    return answer(t, bytes, NULL);
}

#define OWN_LINE "id=15 addr=h:2 name=n age=0 idle=0 db=0 cmd=client|list\n"
#define OLD_LINE "id=12 addr=h:1 name=n age=39 idle=0 db=0\n"

/* Up to the list of connections. */
static void ask_for_list(talk *t)
{
    begin_again(t, "n");
    assert_int_equal(answer(t, "%2\r\n+proto\r\n:3\r\n+id\r\n:15\r\n", NULL),
                     ILK_EAGAIN);
    assert_int_equal(answer(t, ":15\r\n", NULL), ILK_EAGAIN);
    assert_int_equal(t->login.identity.id, 15);
    assert_string_equal(said(t), "CLIENT LIST ID 12 15;CLIENT ID;");
}

TEST(the_one_that_broke_is_closed_first)
{
    talk *t = &of_this_test;

    ask_for_list(t);
    assert_int_equal(answer_list(t, OLD_LINE OWN_LINE), ILK_EAGAIN);
    assert_int_equal(answer(t, ":15\r\n", NULL), ILK_EAGAIN);
    assert_string_equal(said(t),
                        "CLIENT KILL ID 12;CLIENT LIST ID 12 15;CLIENT ID;");
    assert_int_equal(answer(t, ":1\r\n", NULL), ILK_EAGAIN);
    assert_int_equal(answer_list(t, OWN_LINE), ILK_EAGAIN);
    assert_int_equal(answer(t, ":15\r\n", NULL), ILK_OK);
    assert_false(t->login.left_open);
}

TEST(one_that_is_still_there_is_left_open)
{
    talk *t = &of_this_test;

    ask_for_list(t);
    assert_int_equal(answer_list(t, OWN_LINE OLD_LINE), ILK_EAGAIN);
    assert_int_equal(answer(t, ":15\r\n", NULL), ILK_EAGAIN);
    assert_int_equal(answer(t, ":0\r\n", NULL), ILK_EAGAIN);
    assert_int_equal(answer_list(t, OWN_LINE OLD_LINE), ILK_EAGAIN);
    assert_int_equal(answer(t, ":15\r\n", NULL), ILK_OK);
    assert_true(t->login.left_open);
}

static void expect_no_kill(talk *t, const char *line, int left_open)
{
    char lines[256];

    ask_for_list(t);
    snprintf(lines, sizeof lines, "%s%s", line, OWN_LINE);
    assert_int_equal(answer_list(t, lines), ILK_EAGAIN);
    assert_int_equal(answer(t, ":15\r\n", NULL), ILK_OK);
    assert_int_equal(t->login.left_open, left_open);
    assert_string_equal(said(t), "");
    ilk__url_free(&t->url);
}

TEST(one_that_is_gone_needs_no_kill)
{
    expect_no_kill(&of_this_test, "", 0);
}

/* A server that was started anew may have given the number to another. */
TEST(a_younger_one_of_that_number_is_left_alone)
{
    expect_no_kill(&of_this_test, "id=12 addr=h:1 name=n age=37 idle=0\n", 0);
    expect_no_kill(&of_this_test, "id=12 addr=h:1 name=m age=37 idle=0\n", 0);
}

/* A server that was started anew may also have given it to this connection. */
TEST(one_of_our_own_number_is_gone)
{
    talk *t = &of_this_test;

    begin_again(t, "n");
    assert_int_equal(answer(t, "%2\r\n+proto\r\n:3\r\n+id\r\n:12\r\n", NULL),
                     ILK_EAGAIN);
    assert_int_equal(answer(t, ":12\r\n", NULL), ILK_OK);
    assert_string_equal(said(t), "");
    assert_false(t->login.left_open);
}

/* Its name may have been refused, so it may be ours. */
TEST(one_of_another_name_is_left_open)
{
    expect_no_kill(&of_this_test, "id=12 addr=h:1 name=m age=40 idle=0\n", 1);
    expect_no_kill(&of_this_test, "id=12 addr=h:1 name=nn age=40 idle=0\n", 1);
    expect_no_kill(&of_this_test, "id=12 addr=h:1 name= age=40 idle=0\n", 1);
    expect_no_kill(&of_this_test, "id=12\n", 1);
}

TEST(a_missing_right_to_close_it_is_no_failure)
{
    talk *t = &of_this_test;

    ask_for_list(t);
    assert_int_equal(answer(t, "-NOPERM client|list\r\n", NULL), ILK_EAGAIN);
    assert_int_equal(answer(t, ":15\r\n", NULL), ILK_OK);
    assert_true(t->login.left_open);
    ilk__url_free(&t->url);
    ask_for_list(t);
    assert_int_equal(answer_list(t, OLD_LINE OWN_LINE), ILK_EAGAIN);
    assert_int_equal(answer(t, ":15\r\n", NULL), ILK_EAGAIN);
    assert_int_equal(answer(t, "-NOPERM client|kill\r\n", NULL), ILK_EAGAIN);
    assert_int_equal(answer_list(t, OLD_LINE OWN_LINE), ILK_EAGAIN);
    assert_int_equal(answer(t, ":15\r\n", NULL), ILK_OK);
    assert_true(t->login.left_open);
}

TEST(one_without_a_name_is_not_looked_for)
{
    talk *t = &of_this_test;

    begin_again(t, "");
    assert_int_equal(answer(t, "%0\r\n", NULL), ILK_EAGAIN);
    assert_int_equal(answer(t, ":15\r\n", NULL), ILK_OK);
    assert_true(t->login.left_open);
}

/* ---- replies that are added, dropped, swapped or another's -------------- */

#define MAP "%2\r\n+proto\r\n:3\r\n+id\r\n:15\r\n"
#define LISTED "$97\r\n" OLD_LINE OWN_LINE "\r\n"

/* The last reply of each ends the login. */
static const struct disorder {
    const char *url, *replies;
} disorders[] = {
    {"redis://h", MAP MAP},
    {"redis://h", MAP "+OK\r\n"},
    {"redis://h", MAP ":16\r\n"}, /* a HELLO or an id of another connection */
    {"redis://h", MAP ":0\r\n"},
    {"redis://h/2", MAP MAP},
    {"redis://h/2", MAP ":15\r\n"},
    {"redis://h/2", MAP "+OK\r\n+OK\r\n"},
    {"redis://h/2", MAP "+QUEUED\r\n"},
    {"redis://h/2?protocol=2", "+OK\r\n+OK\r\n"},
    {"redis://h/2?protocol=2", ":15\r\n"},
    {"redis://h/2?protocol=2", "+OK\r\n:15\r\n:15\r\n"},
    {"redis://h/2?protocol=2", "+OK\r\n:15\r\n+OK\r\n+OK\r\n"},
    {"redis://h/2?protocol=2", "+OK\r\n:1\r\n+OK\r\n:15\r\n"},
    {"redis://h", MAP ":15\r\n" MAP},
    {"redis://h", MAP ":15\r\n:15\r\n"},
    {"redis://h", MAP ":15\r\n+OK\r\n"},
    {"redis://h", MAP ":15\r\n$0\r\n\r\n"},
    {"redis://h", MAP ":15\r\n$41\r\n" OLD_LINE "\r\n"},
    {"redis://h", MAP ":15\r\n" LISTED LISTED},
    {"redis://h", MAP ":15\r\n-ERR no\r\n" LISTED},
    {"redis://h", MAP ":15\r\n" LISTED ":15\r\n+OK\r\n"},
    {"redis://h", MAP ":15\r\n" LISTED ":15\r\n" LISTED},
    {"redis://h", MAP ":15\r\n" LISTED ":15\r\n:1\r\n:1\r\n"},
};

TEST(a_reply_out_of_its_place_ends_the_login)
{
    const ilk__conn_identity first = {.id = 12, .since = LOGGED_IN_MS};

    for (size_t i = 0; i < sizeof disorders / sizeof disorders[0]; i++) {
        const struct disorder *disorder = &disorders[i];
        talk *t = &of_this_test;
        ilk_status status = ILK_EAGAIN;
        ilk_error err = {0};
        ilk__reply *reply;

        ilk__reader_free(t->client);
        t->client = ilk__reader_new();
        assert_int_equal(ilk__url_parse(&t->url, disorder->url, NULL), ILK_OK);
        assert_int_equal(
            ilk__login_start(&t->login, &t->url, "n", &first, &t->out, NULL),
            ILK_OK);
        t->login.now = LOGGED_IN_MS + AGE_S * 1000;
        ilk__reader_feed(t->client, disorder->replies,
                         strlen(disorder->replies), NULL);
        while (ilk__reader_next(t->client, &reply, NULL) == ILK_OK) {
            if (status != ILK_EAGAIN)
                fail_msg("ended early: %s", disorder->replies);
            status = ilk__login_reply(&t->login, reply, &t->out, &err);
            ilk__reply_free(reply);
        }
        if (status != ILK_ECONN)
            fail_msg("status %d: %s", status, disorder->replies);
        assert_non_null(strstr(err.msg, "belongs to no request"));
        said(t);
        ilk__url_free(&t->url);
    }
}

TEST(pushes_are_passed_over)
{
    talk *t = &of_this_test;

    begin(t, "redis://h", "n");
    assert_int_equal(answer(t, ">1\r\n+hi\r\n", NULL), ILK_EAGAIN);
    assert_int_equal(answer(t, "%1\r\n+proto\r\n:3\r\n", NULL), ILK_EAGAIN);
    assert_int_equal(answer(t, ">1\r\n+hi\r\n", NULL), ILK_EAGAIN);
    assert_int_equal(answer(t, ":7\r\n", NULL), ILK_OK);
}

static const struct refusal {
    const char *url, *line;
    ilk_status status;
} refusals[] = {
    {"redis://h", "-NOAUTH HELLO must be called\r\n", ILK_EAUTH},
    {"redis://:a@h", "-WRONGPASS invalid\r\n", ILK_EAUTH},
    {"redis://h", "-ERR max number of clients reached\r\n", ILK_ECONN},
    {"redis://h", "-LOADING Redis is loading\r\n", ILK_ESERVERLOADING},
    {"redis://h", "-DENIED protected mode\r\n", ILK_EAUTH},
    {"redis://h", "+OK\r\n", ILK_EREPLY},
    {"redis://h", ":3\r\n", ILK_EREPLY},
    {"redis://h?protocol=2", "-NOAUTH Authentication required.\r\n", ILK_EAUTH},
    {"redis://h?protocol=2", "-ERR max number of clients reached\r\n",
     ILK_ECONN},
};

TEST(refusals_end_it)
{
    talk *t = &of_this_test;

    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        ilk_error err = {0};

        begin(t, refusals[i].url, "n");
        assert_int_equal(answer(t, refusals[i].line, &err), refusals[i].status);
        assert_int_equal(err.code, refusals[i].status);
        assert_true(strlen(err.msg) > 5);
        said(t);
        ilk__url_free(&t->url);
    }
}

TEST(a_database_out_of_range_is_refused)
{
    talk *t = &of_this_test;
    ilk_error err;

    begin(t, "redis://h/99", "n");
    assert_int_equal(answer(t, "%0\r\n", NULL), ILK_EAGAIN);
    assert_int_equal(answer(t, "-ERR DB index is out of range\r\n", &err),
                     ILK_ESERVER);
    assert_non_null(strstr(err.msg, "DB index"));
}

TEST(want_of_memory_is_reported)
{
    talk *t = &of_this_test;
    ilk_error err;

    begin(t, "redis://h", "n");
    ilk__buf_free(&t->out);
    ilk__alloc_fail_at(1);
    assert_int_equal(
        ilk__login_start(&t->login, &t->url, "n", NULL, &t->out, &err),
        ILK_ENOMEM);
    ilk__alloc_fail_at(0);
}

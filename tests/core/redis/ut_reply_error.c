/* SPDX-License-Identifier: MIT */
/* ut_reply_error.c -- error lines of real servers get their statuses. */
#include "redis/reply.h"

#include <string.h>

#include "test.h"

static const struct line {
    const char *text;
    ilk_status status;
} lines[] = {
    {"ERR wrong number of arguments for 'get' command", ILK_ESERVER},
    {"NOSCRIPT No matching script. Please use EVAL.", ILK_ESERVER},
    {"NOAUTH Authentication required.", ILK_EAUTH},
    {"WRONGPASS invalid username-password pair or user is disabled.",
     ILK_EAUTH},
    {"NOPERM this user has no permissions to run the 'evalsha' command",
     ILK_EAUTH},
    {"NOPERM No permissions to access a key", ILK_EAUTH},
    {"DENIED Redis is running in protected mode", ILK_EAUTH},
    {"ERR AUTH <password> called without any password configured for the "
     "default user. Are you sure your configuration is correct?",
     ILK_EAUTH},
    {"ERR Client sent AUTH, but no password is set", ILK_EAUTH},
    {"ERR invalid password", ILK_EAUTH},
    {"WRONGTYPE Operation against a key holding the wrong kind of value",
     ILK_ETYPE},
    {"BUSY Redis is busy running a script.", ILK_ESERVERBUSY},
    {"BUSYGROUP Consumer Group name already exists", ILK_ESERVER},
    {"ILKDOWN no node serves the slot", ILK_ECONN},
    {"UNBLOCKED force unblock from blocking operation", ILK_ECONN},
    {"ILKNONE the store has none", ILK_EUNSUPPORTED},
    {"LOADING Redis is loading the dataset in memory", ILK_ESERVERLOADING},
    {"READONLY You can't write against a read only replica.",
     ILK_ESERVERREADONLY},
    {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is "
     "set to 'no'.",
     ILK_ESERVERREADONLY},
    {"NOREPLICAS Not enough good replicas to write.", ILK_ESERVERREADONLY},
    {"MISCONF Redis is configured to save RDB snapshots", ILK_ESERVERREADONLY},
    {"OOM command not allowed when used memory > 'maxmemory'.",
     ILK_ESERVERMEMORY},
    {"MOVED 3999 127.0.0.1:6381", ILK_ECLUSTER},
    {"ASK 3999 127.0.0.1:6381", ILK_ECLUSTER},
    {"ASKING is not a word", ILK_ESERVER},
    {"TRYAGAIN Multiple keys request during rehashing of slot", ILK_ECLUSTER},
    {"CLUSTERDOWN The cluster is down", ILK_ECLUSTER},
    {"CROSSSLOT Keys in request don't hash to the same slot", ILK_ECLUSTER},
    {"ERR max number of clients reached", ILK_ECONN},
    {"OOM", ILK_ESERVERMEMORY},
    {"ERR", ILK_ESERVER},
    {"", ILK_ESERVER},

    /* Raised in a script: Redis 7, then 6.2. */
    {"OOM command not allowed when used memory > 'maxmemory'. script: "
     "5d3e, on @user_script:1.",
     ILK_ESERVERMEMORY},
    {"ERR ACL failure in script: No permissions to access a channel script: "
     "5d3e, on @user_script:1.",
     ILK_EAUTH},
    {"ERR Script attempted to access a non local key in a cluster node "
     "script: 5d3e, on @user_script:1.",
     ILK_ECLUSTER},
    {"ERR Error running script (call to f_5d3e): @user_script:1: WRONGTYPE "
     "Operation against a key holding the wrong kind of value",
     ILK_ETYPE},
    {"ERR Error running script (call to f_5d3e): @user_script:1: "
     "@user_script: 1: -OOM command not allowed when used memory > "
     "'maxmemory'.",
     ILK_ESERVERMEMORY},
    {"ERR Error running script (call to f_5d3e): @user_script:1: "
     "@user_script: 1: -READONLY You can't write against a read only "
     "replica.",
     ILK_ESERVERREADONLY},
    {"ERR Error running script (call to f_5d3e): @user_script:1: "
     "@user_script: 1: The user executing the script can't run this command "
     "or subcommand",
     ILK_EAUTH},
    {"ERR Error running script (call to f_5d3e): @user_script:1: "
     "user_script:1: attempt to index a nil value",
     ILK_ESERVER},
    {"ERR syntax error: OOM", ILK_ESERVER}, /* no script is spoken of */
};

static struct redisReader *reader;

static ilk__reply *error_of(const char *text)
{
    ilk__reply *reply;

    ilk__reader_feed(reader, "-", 1, NULL);
    ilk__reader_feed(reader, text, strlen(text), NULL);
    ilk__reader_feed(reader, "\r\n", 2, NULL);
    assert_int_equal(ilk__reader_next(reader, &reply, NULL), ILK_OK);
    return reply;
}

static int setup(void)
{
    reader = ilk__reader_new();
    return reader == NULL;
}

static int teardown(void)
{
    ilk__reader_free(reader);
    return 0;
}

AROUND_ALL(setup, teardown);

TEST(lines_have_their_statuses_and_are_quoted)
{
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        ilk__reply *reply = error_of(lines[i].text);
        ilk_error err;

        if (ilk__reply_error(reply, &err) != lines[i].status)
            fail_msg("%s for: %s", ilk_status_name(err.code), lines[i].text);
        assert_int_equal(err.code, lines[i].status);
        assert_non_null(strstr(err.msg, lines[i].text));
        assert_int_equal(ilk__reply_error(reply, NULL), lines[i].status);
        ilk__reply_free(reply);
    }
}

TEST(control_bytes_are_replaced_and_long_lines_cut)
{
    char text[1000];
    ilk__reply *reply;
    ilk_error err;

    memset(text, 'x', sizeof text);
    memcpy(text, "ERR \x1b[2Jboo\n", 12);
    text[sizeof text - 1] = '\0';
    text[11] = '\t';
    reply = error_of(text);
    assert_int_equal(ilk__reply_error(reply, &err), ILK_ESERVER);
    assert_non_null(strstr(err.msg, "ERR ?[2Jboo?xxx"));
    assert_int_equal(strlen(err.msg), ILK_ERROR_MAX - 1);
    ilk__reply_free(reply);
}

/* The line of an unknown command repeats what was sent, AUTH's password. */
TEST(arguments_are_not_repeated)
{
    ilk__reply *reply =
        error_of("ERR unknown command `HELLO`, with args beginning with: `3`, "
                 "`AUTH`, `default`, `sesame`, ");
    ilk_error err;

    assert_int_equal(ilk__reply_error(reply, &err), ILK_ESERVER);
    assert_non_null(strstr(err.msg, "unknown command `HELLO`"));
    assert_null(strstr(err.msg, "sesame"));
    ilk__reply_free(reply);
}

TEST(prefixes_are_whole_words)
{
    ilk__reply *reply = error_of("NOSCRIPT No matching script.");

    assert_true(ilk__reply_is_error(reply, "NOSCRIPT"));
    assert_false(ilk__reply_is_error(reply, "NOSCRI"));
    assert_false(ilk__reply_is_error(reply, "NOSCRIPTS"));
    ilk__reply_free(reply);
}

TEST(a_reply_that_is_no_error_says_so)
{
    ilk__reply *reply;
    ilk_error err;

    ilk__reader_feed(reader, "+OOM no\r\n", 9, NULL);
    ilk__reader_next(reader, &reply, NULL);
    assert_int_equal(ilk__reply_error(reply, &err), ILK_EREPLY);
    assert_false(ilk__reply_is_error(reply, "OOM"));
    ilk__reply_free(reply);
}

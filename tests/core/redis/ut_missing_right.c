/* SPDX-License-Identifier: MIT */
/* ut_missing_right.c -- what each server's refusal says of the missing right. */
#include "redis/missing_right.h"
#include "redis/script.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

static char name_key[] = "orders", fence_key[] = "ilk:lock:fence:{orders}";
static char our_key[] = "ilk:semaphore:{a}";
static const ilk__bytes name_and_fence[] = {{name_key, sizeof name_key - 1},
                                            {fence_key, sizeof fence_key - 1}};
static const ilk__bytes ours[] = {{our_key, sizeof our_key - 1},
                                  {our_key, sizeof our_key - 1}};

/* The text after "the user lacks ", up to the server's; "" without it. */
static const char *lacks(int script, const ilk__bytes *keys, const char *text)
{
    static ilk_error err;
    ilk__reply reply = {
        .type = ILK__REPLY_ERROR, .str = (char *)text, .len = strlen(text)};
    ilk__command command;
    char *end;

    ilk__command_init(&command);
    if (script == ILK__SCRIPT_NONE)
        ilk__command_add_str(&command, "PING");
    else
        ilk__script_begin(&command, script, keys, 2);
    memset(&err, 0, sizeof err);
    assert_int_equal(ILK_EAUTH,
                     ilk__missing_right(&reply, &command, script, &err));
    assert_int_equal(ILK_EAUTH, err.code);
    ilk__command_free(&command);
    end = strstr(err.msg, "; the server says: ");
    if (!end)
        return "";
    *end = '\0';
    return err.msg + strlen("the user lacks ");
}

/* The number of the first line of a script that has this text. */
static long line_with(int script, const char *what)
{
    const char *text = ilk__scripts[script].text, *at = strstr(text, what);
    long number = 1;

    assert_non_null(at);
    for (; text < at; text++)
        number += *text == '\n';
    return number;
}

/* A server's words about the line: before its number, and behind that. */
typedef struct refusal {
    const char *before, *behind;
} refusal;

static const char *refused_in_line(const refusal *by, const char *what)
{
    char text[200];

    snprintf(text, sizeof text, "%s@user_script:%ld%s", by->before,
             line_with(ILK__SCRIPT_LOCK_ACQUIRE, what), by->behind);
    return lacks(ILK__SCRIPT_LOCK_ACQUIRE, name_and_fence, text);
}

TEST(a_command_that_the_server_names)
{
    assert_string_equal("+ping",
                        lacks(ILK__SCRIPT_NONE, NULL,
                              "NOPERM this user has no permissions to run the "
                              "'ping' command or its subcommand"));
    assert_string_equal("+evalsha, for lock_acquire",
                        lacks(ILK__SCRIPT_LOCK_ACQUIRE, name_and_fence,
                              "NOPERM User u has no permissions to run the "
                              "'evalsha' command"));
    assert_string_equal(
        "+client|kill",
        lacks(ILK__SCRIPT_NONE, NULL,
              "NOPERM User u has no permissions to run the 'client|kill' "
              "command"));
    assert_string_equal(
        "+hset, for lock_acquire",
        lacks(ILK__SCRIPT_LOCK_ACQUIRE, name_and_fence,
              "ERR ACL failure in script: User u has no permissions to run the "
              "'hset' command script: on @user_script:1."));
}

TEST(a_command_that_only_the_line_shows)
{
    static const refusal servers[] = {
        {"ERR The user executing the script can't run this command or "
         "subcommand script: 67ed, on ",
         "."},
        {"ERR Error running script (call to f_67ed): ",
         ": @user_script: 7: The user executing the script can't run this "
         "command or subcommand"}};

    for (int i = 0; i < 2; i++) {
        assert_string_equal("+time, for lock_acquire",
                            refused_in_line(&servers[i], "call(\"TIME\""));
        assert_string_equal("+zadd, for lock_acquire",
                            refused_in_line(&servers[i], "call(\"ZADD\""));
    }
}

TEST(keys_and_channels)
{
    static const char *const keys[] = {
        "NOPERM this user has no permissions to access one of the keys used as "
        "arguments",
        "NOPERM No permissions to access a key",
        "ERR The user executing the script can't access at least one of the "
        "keys mentioned in the command arguments script: 6, on @user_script:1.",
        "ERR ACL failure in script: No permissions to access a key script: on "
        "@user_script:1."};
    static const char *const channels[] = {
        "NOPERM this user has no permissions to access one of the channels "
        "used as arguments",
        "ERR The user executing the script can't publish to the channel "
        "mentioned in the command script: 8, on @user_script:1.",
        "ERR ACL failure in script: No permissions to access a channel script: "
        "on @user_script:1."};

    for (int i = 0; i < 4; i++) {
        assert_string_equal(
            "~orders or ~ilk:*, for lock_acquire",
            lacks(ILK__SCRIPT_LOCK_ACQUIRE, name_and_fence, keys[i]));
        assert_string_equal(
            "~ilk:*, for semaphore_acquire",
            lacks(ILK__SCRIPT_SEMAPHORE_ACQUIRE, ours, keys[i]));
    }
    for (int i = 0; i < 3; i++) {
        assert_string_equal(
            "&ilk:inbox:*, for lock_release",
            lacks(ILK__SCRIPT_LOCK_RELEASE, name_and_fence, channels[i]));
        assert_string_equal(
            "&ilk:inbox:* or &ilk:signal:*, for signal_notify_one",
            lacks(ILK__SCRIPT_SIGNAL_NOTIFY_ONE, ours, channels[i]));
    }
}

/* The server's text alone remains. */
TEST(a_right_that_cannot_be_named)
{
    static const char *const texts[] = {
        "NOPERM",
        "NOAUTH Authentication required.",
        "NOPERM this user has no permissions to run the ''",
        "ERR The user executing the script can't run this command",
        "ERR The user executing the script can't run it @user_script:",
        "ERR The user executing the script can't run it @user_script:0.",
        "ERR The user executing the script can't run it @user_script:-9.",
        "ERR The user executing the script can't run it @user_script:99999999.",
        "WRONGPASS run the 'x' channel"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_string_equal(
            "", lacks(ILK__SCRIPT_GUARD_GET, name_and_fence, texts[i]));
}

TEST(texts_stay_one_short_line)
{
    char name[300], text[400];
    ilk__bytes keys[2] = {{name, sizeof name}, ours[0]};
    const char *right;

    memset(name, '\n', sizeof name);
    right = lacks(ILK__SCRIPT_LOCK_ACQUIRE, keys,
                  "NOPERM No permissions to access a key");
    assert_null(strchr(right, '\n'));
    assert_true(strlen(right) < 130);
    memset(text, 'x', sizeof text);
    memcpy(text, "NOPERM to run the '", 19);
    text[sizeof text - 1] = '\0';
    assert_string_equal("", lacks(ILK__SCRIPT_NONE, NULL, text));
    text[sizeof text - 2] = '\'';
    assert_string_equal("", lacks(ILK__SCRIPT_NONE, NULL, text));
}

TEST(a_refused_subscription)
{
    static char text[] = "NOPERM No permissions to access a channel";
    static char run[] = "NOPERM no permissions to run the 'psubscribe' command";
    ilk__reply reply = {
        .type = ILK__REPLY_ERROR, .str = text, .len = sizeof text - 1};
    ilk_error err = {0};

    assert_int_equal(
        ILK_EAUTH, ilk__missing_right_to(&reply, "ilk:signal:a*...", 13, &err));
    assert_string_equal("the user lacks &ilk:signal:a*; the server says: "
                        "NOPERM No permissions to access a channel",
                        err.msg);
    reply.str = run;
    reply.len = sizeof run - 1;
    assert_int_equal(ILK_EAUTH, ilk__missing_right_to(&reply, "x", 1, &err));
    assert_non_null(strstr(err.msg, "lacks +psubscribe; "));
}

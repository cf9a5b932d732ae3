/* SPDX-License-Identifier: MIT */
/* ct_group_replies.c -- replies that are cut, lost, late or senseless. */
#include "proxy_case.h"
#include "redis/script.h"
#include "state_case.h"

#include <stdio.h>
#include <string.h>

static ilk_client *behind; /* behind the proxy */

static int setup(void)
{
    if (state_setup() != 0 || proxy_before_server(&between) != 0)
        return -1;
    behind = open_client_at(between.url);
    return 0;
}

static int teardown(void)
{
    ilk_client_free(behind);
    proxy_close(&between);
    return state_teardown();
}

AROUND_ALL(setup, teardown);

static const char *sha_of(int script)
{
    return ilk__scripts[script].sha1;
}

/* So that the scripts are loaded, and the proxy meets EVALSHA. */
static void load_scripts(void)
{
    ilk_member *warm = join_group(client, "warm", "m", 0);
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_member_update(warm, "x", 1, &err));
    assert_status(ILK_OK, ilk_member_leave(warm, &err));
    ilk_member_free(warm);
}

TEST(a_request_without_a_reply_happens_once)
{
    ilk_member *a = open_member(behind, "cut", "a", 0);
    ilk_error err = {0};
    int64_t version;

    load_scripts();
    for (size_t at = 0; at < 20; at += 4) {
        proxy_cut(&between, sha_of(ILK__SCRIPT_GROUP_JOIN), at);
        assert_status(ILK_OK, ilk_member_join(a, "1", 1, &err));
        assert_int_equal(1, proxy_struck(&between));
        assert_int_equal(1, fixture_int(&fx, "ZCARD ilk:group:{cut}"));

        proxy_cut(&between, sha_of(ILK__SCRIPT_GROUP_UPDATE), at);
        assert_status(ILK_OK, ilk_member_update(a, "2", 1, &err));
        assert_int_equal(1, proxy_struck(&between));
        version = fixture_int(&fx, "ZSCORE ilk:group:changed:{cut} a");
        assert_status(ILK_OK, ilk_member_update(a, "2", 1, &err));
        assert_int_equal(version,
                         fixture_int(&fx, "ZSCORE ilk:group:changed:{cut} a"));

        proxy_cut(&between, sha_of(ILK__SCRIPT_GROUP_LEAVE), at);
        assert_status(ILK_OK, ilk_member_leave(a, &err));
        assert_int_equal(1, proxy_struck(&between));
        assert_int_equal(0, fixture_int(&fx, "ZCARD ilk:group:{cut}"));
    }
    ilk_member_free(a);
}

TEST(a_request_that_was_lost_is_sent_again)
{
    ilk_member *a = open_member(behind, "lose", "a", 0);
    ilk_error err = {0};

    proxy_arm(&between, PROXY_LOSE, "{lose}");
    assert_status(ILK_OK, ilk_member_join(a, "1", 1, &err));
    proxy_arm(&between, PROXY_LOSE, "{lose}");
    assert_status(ILK_OK, ilk_member_update(a, "2", 1, &err));
    proxy_arm(&between, PROXY_LOSE, "{lose}");
    assert_status(ILK_OK, ilk_member_leave(a, &err));
    ilk_member_free(a);
}

/* A leave that finds nobody, when nobody but itself can have removed the member,
 * and when the server has forgotten it. */
TEST(a_repeated_leave_is_judged_by_its_lease)
{
    ilk_member *a = join_group(behind, "judge", "a", 60000);
    ilk_error err = {0};

    fixture_command(&fx, "FLUSHALL");
    assert_status(ILK_ELOST, ilk_member_leave(a, &err));
    assert_string_equal("the member \"a\" was lost before: the store "
                        "no longer has it",
                        err.msg);
    assert_status(ILK_OK, ilk_member_join(a, NULL, 0, &err));
    proxy_cut(&between, sha_of(ILK__SCRIPT_GROUP_LEAVE), 0);
    assert_status(ILK_OK, ilk_member_leave(a, &err));
    ilk_member_free(a);
}

/* The join gives up before its reply comes; the next one finds itself in. */
TEST(a_join_without_a_reply_is_found_by_the_next_one)
{
    ilk_client_opts opts;
    ilk_client *hasty = NULL;
    ilk_member *a;
    ilk_error err = {0};
    char token[64];

    load_scripts();
    ilk_client_opts_init(&opts, sizeof opts);
    opts.reply_timeout_ms = 150;
    opts.flags = ILK_CLIENT_NO_OUTAGE_WAIT;
    assert_status(ILK_OK, ilk_client_open(&hasty, between.url, &opts, &err));
    a = open_member(hasty, "late", "a", 60000);
    proxy_delay(&between, sha_of(ILK__SCRIPT_GROUP_JOIN), 1000);
    assert_int_not_equal(ILK_OK, ilk_member_join(a, "1", 1, &err));
    assert_int_equal(0, ilk_member_held(a));
    assert_int_equal(0,
                     fixture_await(&fx, "1", 5000, "ZCARD ilk:group:{late}"));
    strcpy(token, ilk_member_token(a));
    fixture_sleep_ms(1200); /* the proxy serves nobody meanwhile */

    assert_status(ILK_OK, ilk_member_join(a, "2", 1, &err));

    assert_string_equal(token, ilk_member_token(a));
    assert_int_equal(1, ilk_member_held(a));
    assert_int_equal(1, fixture_int(&fx, "ZCARD ilk:group:{late}"));
    assert_status(ILK_OK, ilk_member_leave(a, &err));
    ilk_member_free(a);
    ilk_client_free(hasty);
}

/* The same, and the program gives it up. */
TEST(a_join_without_a_reply_can_be_left)
{
    ilk_client_opts opts;
    ilk_client *hasty = NULL;
    ilk_member *a;
    ilk_error err = {0};

    load_scripts();
    ilk_client_opts_init(&opts, sizeof opts);
    opts.reply_timeout_ms = 150;
    opts.flags = ILK_CLIENT_NO_OUTAGE_WAIT;
    assert_status(ILK_OK, ilk_client_open(&hasty, between.url, &opts, &err));
    a = open_member(hasty, "left", "a", 60000);
    proxy_delay(&between, sha_of(ILK__SCRIPT_GROUP_JOIN), 1000);
    assert_int_not_equal(ILK_OK, ilk_member_join(a, "1", 1, &err));
    fixture_sleep_ms(1200);
    assert_status(ILK_OK, ilk_member_leave(a, &err));
    assert_status(ILK_ENOTOWNER, ilk_member_leave(a, &err));
    assert_int_equal(0, fixture_int(&fx, "ZCARD ilk:group:{left}"));
    ilk_member_free(a);
    ilk_client_free(hasty);
}

TEST(senseless_members_are_refused_and_read_again)
{
    static const char *const senseless[] = {
        "*2\r\n:15\r\n:1\r\n",
        "*7\r\n:15\r\n:1\r\n:0\r\n:5\r\n:0\r\n:1\r\n$1\r\na\r\n",
        "*7\r\n:15\r\n:1\r\n:0\r\n:5\r\n:0\r\n:-1\r\n$1\r\na\r\n",
        ("*7\r\n:15\r\n:1\r\n:0\r\n:5\r\n:0\r\n:9007199254740991\r\n"
         "$1\r\na\r\n"),
        "*8\r\n:15\r\n:1\r\n:0\r\n:5\r\n:0\r\n:1\r\n$1\r\na\r\n:7\r\n",
        "*8\r\n:15\r\n:1\r\n:0\r\n:5\r\n:0\r\n:1\r\n$1\r\na\r\n$0\r\n\r\n",
        "*8\r\n:15\r\n:1\r\n:0\r\n:5\r\n:0\r\n:1\r\n$1\r\na\r\n$4\r\n2 t \r\n",
        "*8\r\n:15\r\n:1\r\n:0\r\n:5\r\n:0\r\n:1\r\n$1\r\na\r\n$3\r\n1 t\r\n",
        /* further pages for ever */
        "*6\r\n:15\r\n:1\r\n:0\r\n:0\r\n:1\r\n:0\r\n",
    };
    ilk_member *a = join_group(client, "odd", "a", 0);
    ilk_group *group = open_group(behind, "odd");
    ilk_members *members = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_group_members(&members, group, &err));
    ilk_members_free(members);
    assert_status(ILK_OK, ilk_group_watch(&members, group, 0, &err));
    ilk_members_free(members);
    for (size_t i = 0; i < sizeof senseless / sizeof *senseless; i++) {
        proxy_replace(&between, sha_of(ILK__SCRIPT_GROUP_READ), senseless[i],
                      strlen(senseless[i]));
        assert_status(ILK_EREPLY, ilk_group_members(&members, group, &err));
        assert_null(members);
        proxy_replace(&between, sha_of(ILK__SCRIPT_GROUP_WATCH), senseless[i],
                      strlen(senseless[i]));
        assert_status(ILK_EREPLY, ilk_group_watch(&members, group, 0, &err));
        assert_null(members);
        assert_status(ILK_EBUSY, ilk_group_watch(&members, group, 0, &err));
    }
    ilk_member_free(a);
    ilk_group_free(group);
}

/* The message goes to nobody, and the refresh finds the entry gone. */
TEST(a_message_that_was_lost_costs_time_and_no_change)
{
    ilk_group *group = open_group(client, "lost");
    ilk_member *a = open_member(other, "lost", "a", 0);
    ilk_members *members = NULL;
    ilk_op *op = NULL;
    ilk_error err = {0};
    int64_t began;

    assert_status(ILK_OK, ilk_group_watch(&members, group, 0, &err));
    ilk_members_free(members);
    assert_status(ILK_OK, ilk_group_watch_start(&op, group, 20000, &err));
    while (fixture_int(&fx, "ZCARD ilk:group:wait:{lost}") != 1) {
        ilk_notification note = {.size = sizeof note};

        (void)ilk_client_next_notification(client, &note, NULL);
        fixture_sleep_ms(5);
    }
    fixture_command(&fx, "DEL ilk:group:live:{lost}");
    assert_status(ILK_OK, ilk_member_join(a, NULL, 0, &err));
    began = fixture_now_ms();
    while (ilk_op_status(op, &err) == ILK_EAGAIN) {
        ilk_notification note = {.size = sizeof note};

        (void)ilk_client_next_notification(client, &note, NULL);
        fixture_sleep_ms(5);
    }
    assert_in_range(fixture_now_ms() - began, 0, patience(2500));
    assert_int_equal(1, ilk_members_count(ilk_op_members(op)));
    ilk_op_free(op);
    ilk_member_free(a);
    ilk_group_free(group);
}

TEST(a_group_goes_on_behind_a_restart)
{
    ilk_group *group = open_group(client, "restart");
    ilk_member *a = join_group(other, "restart", "a", 60000);
    ilk_members *members = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_group_watch(&members, group, 0, &err));
    ilk_members_free(members);
    assert_int_equal(0, fixture_kill(&fx));
    assert_int_equal(0, fixture_restart(&fx));
    assert_status(ILK_OK,
                  ilk_group_watch(&members, group, patience(5000), &err));
    assert_int_equal(1, ilk_members_count(members));
    assert_int_equal(ILK_MEMBER_LEFT, ilk_members_change(members, 0));
    ilk_members_free(members);
    assert_status(ILK_ELOST, ilk_member_update(a, "x", 1, &err));
    assert_status(ILK_OK, ilk_member_join(a, "x", 1, &err));
    assert_status(ILK_OK,
                  ilk_group_watch(&members, group, patience(5000), &err));
    assert_int_equal(ILK_MEMBER_JOINED, ilk_members_change(members, 0));
    ilk_members_free(members);
    ilk_member_free(a);
    ilk_group_free(group);
}

/* A user who may use the keys, and publish to nobody. */
TEST(nobody_joins_who_may_not_publish)
{
    ilk_group *group = open_group(client, "deny");
    ilk_client *silenced;
    ilk_member *a;
    ilk_members *members = NULL;
    ilk_op *op = NULL;
    ilk_error err = {0};
    char url[256];

    fixture_command(&fx, "ACL SETUSER silenced on >s ~* +@all resetchannels");
    snprintf(url, sizeof url, "unix://silenced:s@%s", fx.socket);
    silenced = open_client_at(url);
    assert_status(ILK_OK, ilk_group_watch(&members, group, 0, &err));
    ilk_members_free(members);
    assert_status(ILK_OK, ilk_group_watch_start(&op, group, 20000, &err));
    while (fixture_int(&fx, "ZCARD ilk:group:wait:{deny}") != 1) {
        ilk_notification note = {.size = sizeof note};

        (void)ilk_client_next_notification(client, &note, NULL);
        fixture_sleep_ms(5);
    }
    a = open_member(silenced, "deny", "a", 0);
    assert_status(ILK_EAUTH, ilk_member_join(a, NULL, 0, &err));
    assert_non_null(strstr(err.msg, "may not PUBLISH to ilk:inbox:*"));
    assert_int_equal(0, ilk_member_held(a));
    assert_int_equal(0, fixture_int(&fx, "ZCARD ilk:group:{deny}"));
    ilk_op_free(op);
    ilk_member_free(a);
    ilk_group_free(group);
    ilk_client_free(silenced);
}

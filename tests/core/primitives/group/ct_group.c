/* SPDX-License-Identifier: MIT */
/* ct_group.c -- members that join, change and leave, and those who watch. */
#include "fork_case.h"
#include "state_case.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

AROUND_ALL(state_setup, state_teardown);

/* ---- what the tests share ----------------------------------------------- */

/* The changes as text, "+a=data" or "-a" or "!a=data", sorted by nothing. */
static const char *text_of(const ilk_members *members)
{
    static char text[512];
    static const char signs[] = "?+-!";
    size_t len = 0;

    text[0] = '\0';
    for (size_t i = 0; i < ilk_members_count(members); i++) {
        int32_t change = ilk_members_change(members, i);

        len += (size_t)snprintf(text + len, sizeof text - len, "%s%c%s=%s",
                                i ? " " : "", signs[change],
                                ilk_members_id(members, i, NULL),
                                ilk_members_data(members, i, NULL));
    }
    return text;
}

static void assert_members(const char *expected, ilk_group *group)
{
    ilk_members *members = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_group_members(&members, group, &err));
    assert_string_equal(expected, text_of(members));
    ilk_members_free(members);
}

/* The next change must be this one, within `timeout_ms`. */
static void assert_change(const char *expected, ilk_group *group,
                          int64_t timeout_ms)
{
    ilk_members *members = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_group_watch(&members, group, timeout_ms, &err));
    assert_string_equal(expected, text_of(members));
    ilk_members_free(members);
}

static void assert_no_change(ilk_group *group)
{
    ilk_members *members = (ilk_members *)1;
    ilk_error err = {0};

    assert_status(ILK_EBUSY, ilk_group_watch(&members, group, 0, &err));
    assert_null(members);
}

static void update(ilk_member *member, const char *data)
{
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_member_update(member, data, strlen(data), &err));
}

static void leave(ilk_member *member)
{
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_member_leave(member, &err));
    ilk_member_free(member);
}

/* ---- members ------------------------------------------------------------ */

TEST(members_are_listed_with_their_data)
{
    ilk_group *group = open_group(other, "list");
    ilk_member *a, *b;
    size_t len;

    assert_members("", group);
    a = join_group(client, "list", "a", 0);
    b = join_group(other, "list", "b", 0);
    assert_members("+a=a +b=b", group);
    update(a, "new");
    assert_members("+b=b +a=new", group);
    assert_string_equal("a", ilk_member_id(a, NULL));
    assert_in_range(ilk_member_remaining_ms(a), 8000, 10000);
    leave(a);
    assert_members("+b=b", group);
    leave(b);
    assert_members("", group);
    assert_memory_equal("list", ilk_group_name(group, &len), 4);
    assert_int_equal(4, len);
    ilk_group_free(group);
}

TEST(ids_and_data_are_any_bytes)
{
    static const char id[] = {'\0', '\n', ' ', '\xff'}, data[] = {' ', '\0'};
    ilk_group *group = open_group(client, "bytes");
    ilk_member *member = NULL;
    ilk_members *members = NULL;
    ilk_error err = {0};
    size_t len;

    assert_status(ILK_OK,
                  ilk_member_open(&member, group, id, sizeof id, NULL, &err));
    assert_status(ILK_OK, ilk_member_join(member, data, sizeof data, &err));
    assert_status(ILK_OK, ilk_group_members(&members, group, &err));
    assert_int_equal(1, ilk_members_count(members));
    assert_memory_equal(id, ilk_members_id(members, 0, &len), sizeof id);
    assert_int_equal(sizeof id, len);
    assert_memory_equal(data, ilk_members_data(members, 0, &len), sizeof data);
    assert_int_equal(sizeof data, len);
    assert_null(ilk_members_id(members, 1, &len));
    assert_int_equal(0, len);
    assert_null(ilk_members_data(members, 1, NULL));
    assert_int_equal(0, ilk_members_change(members, 1));
    ilk_members_free(members);
    ilk_member_free(member);
    ilk_group_free(group);
}

TEST(an_id_that_is_in_is_refused)
{
    ilk_member *a = join_group(client, "taken", "a", 0);
    ilk_member *second = open_member(other, "taken", "a", 0);
    ilk_error err = {0};

    assert_status(ILK_EHELD, ilk_member_join(second, NULL, 0, &err));
    assert_non_null(strstr(err.msg, "a member with this id is in the group"));
    assert_status(ILK_EHELD, ilk_member_join(a, NULL, 0, &err));
    assert_string_equal("the handle is in the group already", err.msg);
    assert_int_equal(0, ilk_member_held(second));
    leave(a);
    assert_status(ILK_OK, ilk_member_join(second, NULL, 0, &err));
    assert_int_equal(1, ilk_member_held(second));
    ilk_member_free(second);
}

TEST(a_stranger_cannot_update_or_leave)
{
    ilk_member *a = open_member(client, "idle", "a", 0);
    ilk_error err = {0};

    assert_string_equal("", ilk_member_token(a));
    assert_status(ILK_ENOTOWNER, ilk_member_update(a, "x", 1, &err));
    assert_status(ILK_ENOTOWNER, ilk_member_leave(a, &err));
    assert_status(ILK_ENOTOWNER, ilk_member_check(a, &err));
    ilk_member_free(a);
}

TEST(a_handle_may_join_again)
{
    ilk_member *a = join_group(client, "again", "a", 0);
    ilk_group *group = open_group(other, "again");
    ilk_error err = {0};
    char first[64];

    snprintf(first, sizeof first, "%s", ilk_member_token(a));
    assert_change("+a=a", group, 0);
    assert_status(ILK_OK, ilk_member_leave(a, &err));
    assert_status(ILK_OK, ilk_member_join(a, "2", 1, &err));
    assert_string_not_equal(first, ilk_member_token(a));
    assert_change("-a=a +a=2", group, 0);
    ilk_member_free(a);
    ilk_group_free(group);
}

/* ---- the lease ---------------------------------------------------------- */

TEST(a_member_is_renewed_until_its_handle_is_freed)
{
    ilk_member *a = join_group(client, "renew", "a", 300);
    ilk_group *group = open_group(other, "renew");
    ilk_error err = {0};

    assert_change("+a=a", group, 0);
    fixture_sleep_ms(1000);
    assert_status(ILK_OK, ilk_member_check(a, &err));
    assert_no_change(group);
    ilk_member_free(a); /* nothing is sent */
    assert_change("-a=a", group, patience(3000));
    ilk_group_free(group);
}

static ilk_notification await_notification(ilk_client *of)
{
    ilk_notification note = {.size = sizeof note};
    int64_t end = fixture_now_ms() + patience(10000);

    while (ilk_client_next_notification(of, &note, NULL) == ILK_EAGAIN) {
        assert_true(fixture_now_ms() < end);
        fixture_sleep_ms(5);
    }
    return note;
}

static void assert_lost(ilk_client *of, ilk_member *member)
{
    ilk_notification note = await_notification(of);
    ilk_error err = {0};

    assert_int_equal(ILK_NOTIFICATION_MEMBER_LOST, note.kind);
    assert_int_equal(ILK_ELOST, note.status);
    assert_int_equal(ilk_member_number(member), note.id);
    assert_int_equal(0, ilk_member_held(member));
    assert_status(ILK_ELOST, ilk_member_check(member, &err));
    assert_status(ILK_ELOST, ilk_member_update(member, "x", 1, &err));
}

TEST(a_member_that_the_server_forgot_is_lost_and_may_rejoin)
{
    ilk_member *a = join_group(client, "flush", "a", 600);
    ilk_group *group = open_group(other, "flush");
    ilk_error err = {0};

    assert_change("+a=a", group, 0);
    fixture_command(&fx, "FLUSHALL");
    assert_lost(client, a);
    assert_change("-a=a", group, patience(3000));
    assert_status(ILK_ELOST, ilk_member_leave(a, &err));
    assert_status(ILK_OK, ilk_member_join(a, "b", 1, &err));
    assert_change("+a=b", group, patience(3000));
    ilk_member_free(a);
    ilk_group_free(group);
}

TEST(an_update_of_a_lost_member_reports_the_loss)
{
    ilk_member *a = join_group(client, "del", "a", 60000);
    ilk_error err = {0};

    fixture_command(&fx, "DEL ilk:group:{del}");
    assert_status(ILK_ELOST, ilk_member_update(a, "x", 1, &err));
    assert_string_equal("the member \"a\" was lost: the store no longer has it",
                        err.msg);
    assert_lost(client, a);
    ilk_member_free(a);
}

enum { CROWD = 1000, CROWD_TTL_MS = 4000 /* outlasts stalls */ };

static int connections(void)
{
    const char *info =
        strstr(fixture_command(&fx, "INFO clients"), "connected_clients:");

    assert_non_null(info);
    return atoi(info + strlen("connected_clients:"));
}

TEST(a_thousand_members_need_few_connections)
{
    static ilk_member *members[CROWD];
    int before = connections();
    ilk_client *own = open_client();
    ilk_group *group = open_group(own, "crowd");
    ilk_members *all = NULL;
    ilk_error err = {0};
    char id[16];

    for (int i = 0; i < CROWD; i++) {
        snprintf(id, sizeof id, "m%d", i);
        members[i] = join_group(own, "crowd", id, CROWD_TTL_MS);
    }
    assert_status(ILK_OK, ilk_group_watch(&all, group, 0, &err));
    assert_int_equal(CROWD, ilk_members_count(all));
    ilk_members_free(all);
    assert_status(ILK_ETIMEOUT,
                  ilk_group_watch(&all, group, CROWD_TTL_MS + 500, &err));
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(1, ilk_member_held(members[i]));
    assert_in_range(connections() - before, 2, 3);
    for (int i = 0; i < CROWD; i++)
        ilk_member_free(members[i]);
    ilk_group_free(group);
    ilk_client_free(own);
}

/* ---- watching ----------------------------------------------------------- */

TEST(the_first_change_is_everybody_also_nobody)
{
    ilk_group *first = open_group(client, "first"),
              *late = open_group(client, "first");
    ilk_member *a;

    assert_change("", first, -1);
    assert_no_change(first);
    a = join_group(client, "first", "a", 0);
    assert_change("+a=a", late, 0);
    assert_change("+a=a", first, 0);
    assert_no_change(late);
    leave(a);
    ilk_group_free(first);
    ilk_group_free(late);
}

/* A watch in a thread of its own. */
typedef struct watching {
    ilk_group *group;
    int64_t timeout_ms;
    pthread_t thread;
    ilk_members *members;
    ilk_status status;
    ilk_error err;
    int64_t ended_at;
} watching;

static void *watch(void *context)
{
    watching *w = context;

    w->status = ilk_group_watch(&w->members, w->group, w->timeout_ms, &w->err);
    w->ended_at = fixture_now_ms();
    return NULL;
}

static void start_watching(watching *w, const char *name)
{
    assert_int_equal(0, pthread_create(&w->thread, NULL, watch, w));
    await_queue_length("group", name, 1);
}

static void assert_watched(watching *w, const char *expected)
{
    ilk_error err;

    join_soon(w->thread, "watching a group");
    err = w->err;
    assert_status(ILK_OK, w->status);
    assert_string_equal(expected, text_of(w->members));
    ilk_members_free(w->members);
}

TEST(each_kind_of_change_wakes_who_watches)
{
    ilk_group *group = open_group(client, "kinds");
    watching w = {.group = group, .timeout_ms = -1};
    ilk_member *a, *dead;

    assert_change("", group, 0);
    start_watching(&w, "kinds");
    a = join_group(other, "kinds", "a", 0);
    assert_watched(&w, "+a=a");

    start_watching(&w, "kinds");
    update(a, "b");
    assert_watched(&w, "!a=b");

    start_watching(&w, "kinds");
    leave(a);
    assert_watched(&w, "-a=b");

    dead = join_group(other, "kinds", "dead", 400);
    assert_change("+dead=dead", group, 0);
    start_watching(&w, "kinds");
    ilk_member_free(dead);
    assert_watched(&w, "-dead=dead");
    ilk_group_free(group);
}

/* It is found when its lease ends, and not at the next refresh. */
TEST(a_death_is_seen_when_the_lease_ends)
{
    ilk_group *group = open_group(client, "soon");
    watching w = {.group = group, .timeout_ms = -1};
    ilk_member *dead = join_group(other, "soon", "dead", 700);
    int64_t began = fixture_now_ms();

    assert_change("+dead=dead", group, 0);
    ilk_member_free(dead);
    start_watching(&w, "soon");
    assert_watched(&w, "-dead=dead");
    assert_in_range(w.ended_at - began, 600, 700 + patience(500));
    ilk_group_free(group);
}

/* As if a member had come and gone since the last page. */
static const char next_version[] =
    "local v,f=redis.call('HGET',KEYS[1],''):match('(%d+) (%d+)')"
    "redis.call('HSET',KEYS[1],'',string.format('%.0f %s',v+1,f))"
    "redis.call('DEL',KEYS[2])";

TEST(a_member_that_came_and_went_is_no_change)
{
    ilk_group *group = open_group(client, "brief");
    watching w = {.group = group, .timeout_ms = 20000};
    ilk_member *a;

    assert_change("", group, 0);
    leave(join_group(other, "brief", "x", 0));
    assert_no_change(group);
    start_watching(&w, "brief");
    fixture_call(&fx, "EVAL", next_version, "2", "ilk:group:data:{brief}",
                 "ilk:group:wait:{brief}", (char *)NULL);
    await_queue_length("group", "brief", 1);
    a = join_group(other, "brief", "a", 0);
    assert_watched(&w, "+a=a");
    leave(a);
    assert_change("-a=a", group, 0);

    /* a wait that goes on ends when it would have ended */
    w = (watching){.group = group, .timeout_ms = 3000};
    start_watching(&w, "brief");
    fixture_call(&fx, "EVAL", next_version, "2", "ilk:group:data:{brief}",
                 "ilk:group:wait:{brief}", (char *)NULL);
    join_soon(w.thread, "watching a group");
    assert_int_equal(ILK_ETIMEOUT, w.status);
    ilk_group_free(group);
}

TEST(an_update_to_the_same_data_is_no_change)
{
    ilk_group *group = open_group(client, "same");
    ilk_member *a = join_group(other, "same", "a", 0);

    assert_change("+a=a", group, 0);
    update(a, "a");
    assert_no_change(group);
    update(a, "b");
    update(a, "a");
    assert_no_change(group);
    leave(a);
    ilk_group_free(group);
}

TEST(a_watch_ends_by_time_cancel_stop_and_close)
{
    ilk_client *own = open_client();
    ilk_group *group = open_group(own, "ends");
    watching w = {.group = group, .timeout_ms = -1};
    ilk_members *members = NULL;
    ilk_error err = {0};
    int64_t began;

    assert_change("", group, 0);
    began = fixture_now_ms();
    assert_status(ILK_ETIMEOUT, ilk_group_watch(&members, group, 150, &err));
    assert_on_time(fixture_now_ms() - began, 150);
    start_watching(&w, "ends");
    assert_status(ILK_OK, ilk_group_cancel(group, &err));
    join_soon(w.thread, "watching a group");
    assert_int_equal(ILK_ECANCELLED, w.status);
    await_queue_length("group", "ends", 0);
    start_watching(&w, "ends");
    ilk_client_stop(own);
    join_soon(w.thread, "watching a group");
    assert_int_equal(ILK_ECANCELLED, w.status);
    assert_status(ILK_OK, ilk_client_close(own, &err));
    assert_status(ILK_ECLOSED, ilk_group_watch(&members, group, 0, &err));
    assert_status(ILK_ECLOSED, ilk_group_members(&members, group, &err));
    ilk_group_free(group);
    ilk_client_free(own);
}

TEST(a_handle_has_one_watch_at_a_time)
{
    ilk_group *group = open_group(client, "one");
    watching w = {.group = group, .timeout_ms = -1};
    ilk_members *members = NULL;
    ilk_error err = {0};

    assert_change("", group, 0);
    start_watching(&w, "one");
    assert_status(ILK_EHELD, ilk_group_watch(&members, group, 0, &err));
    assert_status(ILK_EHELD, ilk_group_members(&members, group, &err));
    assert_status(ILK_OK, ilk_group_cancel(group, &err));
    join_soon(w.thread, "watching a group");
    ilk_group_free(group);
}

enum { MANY = 10000 };

/* Also the time: 20 ms where nothing else runs. */
TEST(ten_thousand_members_are_listed_page_by_page)
{
    static const char fill[] =
        "for i=1,10000 do redis.call('ZADD',KEYS[1],9e12,'m'..i)"
        "redis.call('HSET',KEYS[2],'m'..i,'1 t'..i..' data')"
        "redis.call('ZADD',KEYS[3],i,'m'..i)end "
        "redis.call('HSET',KEYS[2],'','10000 1')";
    ilk_group *group = open_group(client, "many");
    ilk_members *members = NULL;
    ilk_error err = {0};
    int64_t began;

    fixture_call(&fx, "EVAL", fill, "3", "ilk:group:{many}",
                 "ilk:group:data:{many}", "ilk:group:changed:{many}",
                 (char *)NULL);
    began = fixture_now_ms();
    assert_status(ILK_OK, ilk_group_members(&members, group, &err));
    assert_in_range(fixture_now_ms() - began, 0, patience(500));
    assert_int_equal(MANY, ilk_members_count(members));
    assert_string_equal("m1", ilk_members_id(members, 0, NULL));
    assert_string_equal("m10000", ilk_members_id(members, MANY - 1, NULL));
    ilk_members_free(members);
    assert_status(ILK_OK, ilk_group_watch(&members, group, 0, &err));
    assert_int_equal(MANY, ilk_members_count(members));
    ilk_members_free(members);
    fixture_command(&fx, "DEL ilk:group:{many} ilk:group:data:{many} "
                         "ilk:group:changed:{many}");
    assert_status(ILK_OK, ilk_group_watch(&members, group, 0, &err));
    assert_int_equal(MANY, ilk_members_count(members));
    assert_int_equal(ILK_MEMBER_LEFT, ilk_members_change(members, MANY - 1));
    ilk_members_free(members);
    ilk_group_free(group);
}

/* ---- fork, misuse ------------------------------------------------------- */

TEST(a_child_is_refused_what_the_parent_holds)
{
    ilk_client *own = open_client();
    ilk_group *group = open_group(own, "fork");
    ilk_member *a = join_group(own, "fork", "a", 600);
    ilk_members *members = NULL;
    ilk_error err = {0};
    pid_t pid;

#ifdef __SANITIZE_THREAD__
    skip_because("ThreadSanitizer lets no child of threads start a thread");
#endif
    assert_change("+a=a", group, 0);
    pid = fork_now();
    if (pid == 0) {
        demand(ilk_member_held(a) == 0);
        demand(ilk_member_check(a, &err) == ILK_EFORKED);
        demand(ilk_member_leave(a, &err) == ILK_EFORKED);
        demand(ilk_group_members(&members, group, &err) == ILK_EFORKED);
        demand(ilk_client_reopen(own, &err) == ILK_OK);
        demand(ilk_member_leave(a, &err) == ILK_EFORKED);
        demand(ilk_member_leave(a, &err) == ILK_ENOTOWNER);
        demand(ilk_member_join(a, NULL, 0, &err) == ILK_EHELD);
        demand(ilk_group_members(&members, group, &err) == ILK_OK);
        demand(ilk_members_count(members) == 1);
        ilk_members_free(members);
        ilk_member_free(a);
        ilk_group_free(group);
        ilk_client_free(own);
        _exit(0);
    }
    assert_ends_well(pid);
    fixture_sleep_ms(800);
    assert_status(ILK_OK, ilk_member_check(a, &err));
    leave(a);
    ilk_group_free(group);
    ilk_client_free(own);
}

TEST(bad_input_is_refused)
{
    static char large[ILK_MEMBER_DATA_MAX + 1];
    ilk_group *group = open_group(client, "bad"), *none = (ilk_group *)1;
    ilk_member *a = open_member(client, "bad", "a", 0);
    ilk_member *no_member = (ilk_member *)1;
    ilk_members *members = NULL;
    ilk_member_opts opts;
    ilk_error err = {0};

    assert_status(ILK_EINVAL, ilk_group_open(NULL, client, "x", 1, &err));
    assert_status(ILK_EINVAL, ilk_group_open(&none, client, "", 0, &err));
    assert_null(none);
    assert_status(ILK_EINVAL, ilk_group_open(&none, client, "ilk:x", 5, &err));
    assert_status(ILK_EINVAL, ilk_group_open(&none, NULL, "x", 1, &err));
    assert_status(ILK_EINVAL, ilk_group_members(NULL, group, &err));
    assert_status(ILK_EINVAL, ilk_group_members(&members, NULL, &err));
    assert_status(ILK_EINVAL, ilk_group_watch(NULL, group, 0, &err));
    assert_status(ILK_EINVAL, ilk_group_watch(&members, group, -2, &err));
    assert_status(ILK_EINVAL, ilk_group_watch(&members, NULL, 0, &err));
    assert_status(ILK_EINVAL, ilk_group_cancel(NULL, &err));

    assert_status(ILK_EINVAL, ilk_member_open(NULL, group, "a", 1, NULL, &err));
    assert_status(ILK_EINVAL,
                  ilk_member_open(&no_member, group, "", 0, NULL, &err));
    assert_string_equal("id must have 1 to 512 bytes, got 0", err.msg);
    assert_null(no_member);
    assert_status(ILK_EINVAL,
                  ilk_member_open(&no_member, group, large, 513, NULL, &err));
    assert_status(ILK_EINVAL,
                  ilk_member_open(&no_member, group, NULL, 1, NULL, &err));
    assert_status(ILK_EINVAL,
                  ilk_member_open(&no_member, NULL, "a", 1, NULL, &err));
    ilk_member_opts_init(&opts, sizeof opts);
    opts.ttl_ms = -1;
    assert_status(ILK_EINVAL,
                  ilk_member_open(&no_member, group, "a", 1, &opts, &err));
    assert_status(ILK_EINVAL, ilk_member_join(a, large, sizeof large, &err));
    assert_string_equal("data must have at most 4096 bytes, got 4097", err.msg);
    assert_status(ILK_EINVAL, ilk_member_join(a, NULL, 1, &err));
    assert_status(ILK_OK, ilk_member_join(a, large, ILK_MEMBER_DATA_MAX, &err));
    assert_status(ILK_EINVAL, ilk_member_update(a, large, sizeof large, &err));
    assert_status(ILK_EINVAL, ilk_member_update(a, NULL, 1, &err));
    assert_status(ILK_EINVAL, ilk_member_join(NULL, NULL, 0, &err));
    assert_status(ILK_EINVAL, ilk_member_leave(NULL, &err));
    assert_status(ILK_EINVAL, ilk_member_check(NULL, &err));
    assert_int_equal(0, ilk_member_held(NULL));
    assert_int_equal(0, ilk_member_number(NULL));
    assert_null(ilk_member_id(NULL, NULL));
    assert_string_equal("", ilk_member_token(NULL));
    assert_null(ilk_group_name(NULL, NULL));
    assert_int_equal(0, ilk_members_count(NULL));
    ilk_member_opts_init(NULL, 8);
    ilk_members_free(NULL);
    ilk_member_free(NULL);
    ilk_group_free(NULL);
    leave(a);
    ilk_group_free(group);
}

TEST(a_key_of_another_type_is_refused)
{
    ilk_group *group = open_group(client, "type");
    ilk_member *a = open_member(client, "type", "a", 0);
    ilk_members *members = NULL;
    ilk_error err = {0};

    fixture_command(&fx, "SET ilk:group:{type} x");
    assert_status(ILK_ETYPE, ilk_group_members(&members, group, &err));
    assert_status(ILK_ETYPE, ilk_group_watch(&members, group, 0, &err));
    assert_status(ILK_ETYPE, ilk_member_join(a, NULL, 0, &err));
    ilk_member_free(a);
    ilk_group_free(group);
}

/* SPDX-License-Identifier: MIT */
/* ct_recipes.c -- plain keys in plain formats, also when replies are lost. */
#include "fork_case.h"
#include "lock_case.h"
#include "proxy_case.h"

#include <string.h>
#include <unistd.h>

AROUND_EACH(server_flush, NULL);

#define STR(text) text, strlen(text)

static ilk_client *client; /* through the proxy */

static int setup(void)
{
    if (proxy_setup() != 0)
        return -1;
    client = open_client_at(between.url);
    return 0;
}

static int teardown(void)
{
    ilk_client_free(client);
    return proxy_teardown();
}

AROUND_ALL(setup, teardown);

/* The i-th item is this text. */
static void assert_item(const char *expected, const ilk_items *items, size_t i)
{
    size_t len = 0;

    assert_true(i < ilk_items_count(items));
    assert_string_equal(expected, ilk_items_data(items, i, &len));
    assert_int_equal(strlen(expected), len);
}

static void assert_pops(const char *expected, int end)
{
    ilk_items *items = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_recipes_pop(&items, client, "q", 1, end, &err));
    if (expected)
        assert_item(expected, items, 0);
    else
        assert_int_equal(0, ilk_items_count(items));
    ilk_items_free(items);
}

static void push(const char *value, int end, int64_t expected)
{
    ilk_error err = {0};
    int64_t length = 0;

    assert_status(ILK_OK, ilk_recipes_push(&length, client, "q", 1, end,
                                           STR(value), &err));
    assert_int_equal(expected, length);
}

/* ---- what they do ------------------------------------------------------- */

TEST(lists_have_two_ends)
{
    push("a", ILK_RECIPES_HEAD, 1);
    push("b", ILK_RECIPES_HEAD, 2);
    push("c", ILK_RECIPES_TAIL, 3);
    assert_string_equal("b\na\nc", fixture_command(&fx, "LRANGE q 0 -1"));
    assert_pops("c", ILK_RECIPES_TAIL);
    assert_pops("b", ILK_RECIPES_HEAD);
    assert_pops("a", ILK_RECIPES_HEAD);
    assert_pops(NULL, ILK_RECIPES_HEAD);
    assert_null(ilk_items_data(NULL, 0, NULL));
    ilk_items_free(NULL);
}

static ilk_items *park(void)
{
    ilk_items *items = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK,
                  ilk_recipes_park(&items, client, "q", 1, "cache", 5, &err));
    return items;
}

static ilk_status unpark(const ilk_items *items, ilk_error *err)
{
    return ilk_recipes_unpark(client, "cache", 5,
                              STR(ilk_items_data(items, 1, NULL)), err);
}

TEST(a_late_unpark_leaves_the_next_delivery_alone)
{
    ilk_items *late, *next;
    ilk_error err = {0};
    int64_t moved = 0;

    push("a", ILK_RECIPES_HEAD, 1);
    late = park();
    assert_status(
        ILK_OK, ilk_recipes_restore(&moved, client, "q", 1, "cache", 5, &err));
    assert_int_equal(1, moved);
    next = park();
    assert_item("a", next, 0);
    assert_status(ILK_ELOST, unpark(late, &err));
    assert_int_equal(1, fixture_int(&fx, "LLEN cache"));
    assert_status(ILK_OK, unpark(next, &err));
    assert_int_equal(0, fixture_int(&fx, "LLEN cache"));
    ilk_items_free(late);
    ilk_items_free(next);
}

static ilk_status take_permit(ilk_items **out, ilk_error *err)
{
    return ilk_recipes_permit(out, client, "s", 1, 1, 10000, err);
}

TEST(permits_end_at_the_limit)
{
    ilk_items *mine = NULL, *more = NULL;
    ilk_error err = {0};
    const char *id;

    assert_status(ILK_OK, take_permit(&mine, &err));
    id = ilk_items_data(mine, 0, NULL);
    assert_int_equal(36, strlen(id));
    assert_int_equal('4', id[14]);
    assert_status(ILK_EBUSY, take_permit(&more, &err));
    assert_null(more);
    assert_status(ILK_OK,
                  ilk_recipes_permit_refresh(client, "s", 1, STR(id), &err));
    assert_status(ILK_OK,
                  ilk_recipes_permit_release(client, "s", 1, STR(id), &err));
    assert_status(ILK_ELOST,
                  ilk_recipes_permit_release(client, "s", 1, STR(id), &err));
    assert_status(ILK_ELOST,
                  ilk_recipes_permit_refresh(client, "s", 1, STR(id), &err));
    ilk_items_free(mine);
}

static int64_t lead(ilk_client *who, int64_t selector)
{
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_recipes_master(&selector, who, "m", 1, NULL, 0,
                                             selector, 20000, &err));
    return selector;
}

TEST(one_client_is_the_master)
{
    ilk_client *other = open_client();

    assert_int_equal(1, lead(client, 0));
    assert_int_equal(0, lead(other, 0));
    assert_int_equal(2, lead(client, 1));
    fixture_command(&fx, "DEL m");
    assert_int_equal(1, lead(other, 0));
    assert_int_equal(0, lead(client, 2));
    ilk_client_free(other);
}

/* ---- lost replies ------------------------------------------------------- */

/* The server does the next thing that may not be done twice; its reply
   does not get here, and the request is sent again. */
static void lose_the_next_reply(void)
{
    proxy_cut(&between, "ilk:recipes:", 0);
}

static void assert_lost(void)
{
    assert_int_equal(1, proxy_struck(&between));
}

TEST(a_lost_reply_pushes_and_pops_once)
{
    push("warm", ILK_RECIPES_HEAD, 1);
    assert_pops("warm", ILK_RECIPES_HEAD);
    lose_the_next_reply();
    push("a", ILK_RECIPES_HEAD, 1);
    assert_lost();
    push("b", ILK_RECIPES_HEAD, 2);
    lose_the_next_reply();
    assert_pops("b", ILK_RECIPES_HEAD);
    assert_lost();
    assert_string_equal("a", fixture_command(&fx, "LRANGE q 0 -1"));
}

TEST(a_lost_reply_parks_and_unparks_once)
{
    ilk_items *items;
    ilk_error err = {0};

    for (int i = 1; i <= 3; i++)
        push("same", ILK_RECIPES_HEAD, i);
    ilk_items_free(park());
    lose_the_next_reply();
    items = park();
    assert_lost();
    assert_int_equal(2, fixture_int(&fx, "LLEN cache"));
    lose_the_next_reply();
    assert_status(ILK_OK, unpark(items, &err));
    assert_lost();
    assert_int_equal(1, fixture_int(&fx, "LLEN cache"));
    ilk_items_free(items);
}

TEST(a_lost_reply_takes_due_tasks_once)
{
    ilk_items *items = NULL;
    ilk_error err = {0};
    int more = 0;

    assert_status(ILK_OK,
                  ilk_recipes_delay(client, "z", 1, -5, "old", 3, &err));
    assert_status(ILK_OK, ilk_recipes_due(&items, &more, client, "z", 1, &err));
    assert_item("old", items, 0);
    ilk_items_free(items);
    assert_status(ILK_OK, ilk_recipes_delay(client, "z", 1, 0, "a", 1, &err));
    lose_the_next_reply();
    assert_status(ILK_OK, ilk_recipes_due(&items, &more, client, "z", 1, &err));
    assert_lost();
    assert_item("a", items, 0);
    assert_int_equal(0, fixture_int(&fx, "EXISTS z"));
    ilk_items_free(items);
}

TEST(a_lost_reply_keeps_permit_and_mastership)
{
    ilk_items *mine = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK,
                  ilk_recipes_permit(&mine, client, "w", 1, 1, 1000, &err));
    ilk_items_free(mine);
    proxy_cut(&between, "s:owner", 0);
    assert_status(ILK_OK, take_permit(&mine, &err));
    assert_lost();
    lose_the_next_reply();
    assert_status(
        ILK_OK, ilk_recipes_permit_release(
                    client, "s", 1, STR(ilk_items_data(mine, 0, NULL)), &err));
    assert_lost();
    ilk_items_free(mine);
    lose_the_next_reply();
    assert_int_equal(1, lead(client, 0));
    assert_lost();
    assert_int_equal(2, lead(client, 1));
}

/* ---- what is refused ---------------------------------------------------- */

TEST(arguments_without_sense_are_refused)
{
    static char large[ILK_RECIPES_VALUE_MAX + 1];
    char key[513];
    ilk_items *out = NULL;
    int64_t n = 0;
    ilk_error err = {0};

    memset(key, 'k', sizeof key);
#define REFUSED(call) assert_status(ILK_EINVAL, call)
    REFUSED(ilk_recipes_push(NULL, NULL, "q", 1, 0, "x", 1, &err));
    REFUSED(ilk_recipes_push(NULL, client, "", 0, 0, "x", 1, &err));
    REFUSED(ilk_recipes_push(NULL, client, NULL, 1, 0, "x", 1, &err));
    REFUSED(ilk_recipes_push(NULL, client, "ilk:x", 5, 0, "x", 1, &err));
    REFUSED(ilk_recipes_push(NULL, client, key, sizeof key, 0, "x", 1, &err));
    REFUSED(ilk_recipes_push(NULL, client, "q", 1, 2, "x", 1, &err));
    REFUSED(ilk_recipes_push(NULL, client, "q", 1, 0, NULL, 1, &err));
    REFUSED(
        ilk_recipes_push(NULL, client, "q", 1, 0, large, sizeof large, &err));
    REFUSED(ilk_recipes_pop(NULL, client, "q", 1, 0, &err));
    REFUSED(ilk_recipes_pop(&out, client, "q", 1, -1, &err));
    REFUSED(ilk_recipes_park(NULL, client, "q", 1, "c", 1, &err));
    REFUSED(ilk_recipes_park(&out, client, "q", 1, "", 0, &err));
    REFUSED(ilk_recipes_restore(NULL, client, "q", 1, "q", 1, &err));
    REFUSED(ilk_recipes_delay(client, "q", 1, INT64_MIN, "x", 1, &err));
    REFUSED(ilk_recipes_due(NULL, NULL, client, "q", 1, &err));
    REFUSED(ilk_recipes_permit(&out, client, "s", 1, 0, 1, &err));
    REFUSED(ilk_recipes_permit(&out, client, "s", 1, 1, -1, &err));
    REFUSED(ilk_recipes_permit(&out, client, key, 505, 1, 1, &err));
    REFUSED(ilk_recipes_master(NULL, client, "m", 1, NULL, 0, 0, 2000, &err));
    REFUSED(ilk_recipes_master(&n, client, "m", 1, key, 65, 0, 2000, &err));
    REFUSED(ilk_recipes_master(&n, client, "m", 1, key, 0, 0, 2000, &err));
    REFUSED(ilk_recipes_master(&n, client, "m", 1, NULL, 0, -1, 2000, &err));
    REFUSED(ilk_recipes_master(&n, client, "m", 1, NULL, 0, 0, 999, &err));
    REFUSED(ilk_recipes_master(&n, NULL, "m", 1, NULL, 0, 0, 2000, &err));
    REFUSED(ilk_recipes_signal(&n, client, "", 0, 1, "x", 1, &err));
    assert_null(out);
    assert_string_equal("", fixture_command(&fx, "KEYS *"));
    assert_status(ILK_OK, ilk_recipes_push(NULL, client, key, sizeof key - 1, 0,
                                           large, sizeof large - 1, &err));
}

TEST(wrong_types_and_long_values_of_others_are_refused)
{
    ilk_items *out = NULL;
    ilk_error err = {0};

    fixture_command(&fx, "SET q x");
    assert_status(ILK_ETYPE, ilk_recipes_pop(&out, client, "q", 1, 0, &err));
    fixture_command(&fx, "DEL q");
    fixture_command(&fx, "SETRANGE v %d x", ILK_RECIPES_VALUE_MAX);
    fixture_call(&fx, "EVAL",
                 "return redis.call('RPUSH', 'q', redis.call('GET', 'v'))", "0",
                 (char *)NULL);
    assert_status(ILK_ESERVER, ilk_recipes_pop(&out, client, "q", 1, 0, &err));
    assert_non_null(strstr(err.msg, "1048577"));
    assert_int_equal(1, fixture_int(&fx, "LLEN q"));
}

TEST(a_forked_child_is_refused_and_may_reopen)
{
    pid_t pid;

    assert_int_equal(1, lead(client, 0));
    pid = fork_now();
    if (pid == 0) {
        int64_t n = 0;

        demand(ilk_recipes_push(NULL, client, "q", 1, 0, "x", 1, NULL)
               == ILK_EFORKED);
        demand(ilk_client_reopen(client, NULL) == ILK_OK);
        demand(ilk_recipes_master(&n, client, "m", 1, NULL, 0, 1, 20000, NULL)
               == ILK_OK);
        demand(n == 0);
        _exit(0);
    }
    assert_ends_well(pid);
    assert_int_equal(2, lead(client, 1));
}

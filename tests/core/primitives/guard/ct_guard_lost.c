/* SPDX-License-Identifier: MIT */
/* ct_guard_lost.c -- guarded reads and writes whose first answer is lost. */
#include "lock_case.h"

#include <string.h>

AROUND_ALL(server_setup, server_teardown);

/* One call under fence 7, made by a thread of its own. */
typedef struct call {
    pthread_t thread;
    ilk_client *client;
    int writes;
    ilk_value *found;
    ilk_error err;
} call;

static void *make(void *arg)
{
    call *c = arg;

    if (c->writes)
        ilk_guard_set(c->client, "k", 1, 7, "seven", 5, &c->err);
    else
        ilk_guard_get(&c->found, c->client, "k", 1, 7, &c->err);
    return NULL;
}

static void await_script(void)
{
    int64_t until = fixture_now_ms() + 5000;

    while (!strstr(fixture_command(&fx, "CLIENT LIST"), "cmd=eval")) {
        assert_true(fixture_now_ms() < until);
        fixture_sleep_ms(1);
    }
}

/* The server holds the first request back, then closes its connection: the
   client cannot know whether it was run, and asks once more. */
static void make_and_lose_the_first_answer(call *c)
{
    ilk_error err = {0};

    c->client = open_client();
    assert_status(ILK_OK, ilk_client_ping(c->client, -1, &err));
    assert_string_equal("OK", fixture_command(&fx, "CLIENT PAUSE 20000 WRITE"));
    assert_int_equal(0, pthread_create(&c->thread, NULL, make, c));
    await_script();
    assert_int_not_equal(0, fixture_int(&fx, "CLIENT KILL TYPE normal"));
    assert_string_equal("OK", fixture_command(&fx, "CLIENT UNPAUSE"));
    pthread_join(c->thread, NULL);
    ilk_client_free(c->client);
}

static void expect(ilk_status expected, const call *c)
{
    assert_status_at(expected, c->err.code, &c->err, "the call", __FILE__,
                     __LINE__);
}

TEST(write_is_made_once_more)
{
    call c = {.writes = 1};

    fixture_command(&fx, "FLUSHALL");
    make_and_lose_the_first_answer(&c);
    expect(ILK_OK, &c);
    assert_string_equal("seven", fixture_command(&fx, "GET k"));
}

/* It may have written before the greater fence came. */
TEST(write_that_is_stale_the_second_time_is_unknown)
{
    call c = {.writes = 1};

    fixture_command(&fx, "SET ilk:guard:{k} 9");
    make_and_lose_the_first_answer(&c);
    expect(ILK_EUNKNOWN, &c);
    assert_non_null(strstr(c.err.msg, "9"));
}

TEST(read_is_made_once_more_under_its_fence)
{
    call c = {.writes = 0};

    fixture_command(&fx, "FLUSHALL");
    fixture_command(&fx, "SET k ten");
    make_and_lose_the_first_answer(&c);
    expect(ILK_OK, &c);
    assert_string_equal("ten", ilk_value_data(c.found, NULL));
    assert_string_equal("7", fixture_command(&fx, "GET ilk:guard:{k}"));
    ilk_value_free(c.found);
}

TEST(read_that_is_stale_the_second_time_is_stale)
{
    call c = {.writes = 0};

    fixture_command(&fx, "SET ilk:guard:{k} 9");
    make_and_lose_the_first_answer(&c);
    expect(ILK_ESTALE, &c);
    assert_null(c.found);
}

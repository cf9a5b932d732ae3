/* SPDX-License-Identifier: MIT */
/* ut_keeper.c -- the keeper's turns while messages come without an end. */
/* link: -Wl,--wrap=ilk__async_conn_next */
#include "client/keeper.h"

#include "base/clock.h"
#include "fixture.h"
#include "pubsub/channel.h"
#include "redis/reply.h"

#include <stdatomic.h>
#include <string.h>

#include "test.h"

enum { TURNS = 3 };

static ilk__shared shared;
static ilk__keeper *keeper;
static _Atomic int ended, fired;
static _Atomic int64_t messages;

/* A message to another channel, as often as somebody reads. */
static ilk__reply *new_message(void)
{
    static const char resp[] = "*3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$1\r\ny\r\n";
    struct redisReader *reader = ilk__reader_new();
    ilk__reply *reply = NULL;

    assert_non_null(reader);
    assert_int_equal(ilk__reader_feed(reader, resp, sizeof resp - 1, NULL),
                     ILK_OK);
    assert_int_equal(ilk__reader_next(reader, &reply, NULL), ILK_OK);
    ilk__reader_free(reader);
    return reply;
}

ilk__async_conn_result __wrap_ilk__async_conn_next(ilk__async_conn *connection,
                                                   ilk__reply **out);

ilk__async_conn_result __wrap_ilk__async_conn_next(ilk__async_conn *connection,
                                                   ilk__reply **out)
{
    if (connection->carries_commands || atomic_load(&ended))
        return ILK__ASYNC_CONN_NOTHING;
    atomic_fetch_add(&messages, 1);
    *out = new_message();
    return ILK__ASYNC_CONN_REPLY;
}

/* It is due again at once: each turn of the keeper fires it. */
static void fire(ilk__timer *timer, void *context)
{
    (void)context;
    if (atomic_fetch_add(&fired, 1) < TURNS)
        ilk__shared_set_timer(&shared, timer, ilk__now_ms() + 1);
}

TEST(messages_without_end_leave_time_for_timers)
{
    ilk__timer timer = {.fire = fire};
    int64_t give_up;

    give_up = fixture_now_ms() + patience(10000);
    ilk__shared_lock(&shared);
    assert_int_equal(ilk__timers_reserve(&shared.timers, NULL), ILK_OK);
    ilk__shared_set_timer(&shared, &timer, ilk__now_ms() + 1);
    ilk__shared_unlock(&shared);
    assert_int_equal(ilk__keeper_start(keeper, NULL), ILK_OK);

    while (atomic_load(&fired) <= TURNS && fixture_now_ms() < give_up)
        fixture_sleep_ms(1);

    atomic_store(&ended, 1);
    ilk__keeper_stop(keeper, 200);
    ilk__timers_unreserve(&shared.timers);
    assert_true(atomic_load(&fired) > TURNS);
    assert_true(atomic_load(&messages) > 0);
}

static int setup(void)
{
    static const ilk__target nowhere = {.connect_timeout_ms = 1000};

    if (ilk__shared_open(&shared, "me", NULL))
        return -1;
    keeper = ilk__keeper_new(&shared, &nowhere, 1000);
    return keeper ? 0 : -1;
}

static int teardown(void)
{
    ilk__keeper_free(keeper);
    ilk__channels_free(&shared);
    ilk__shared_close(&shared);
    return 0;
}

AROUND_EACH(setup, teardown);

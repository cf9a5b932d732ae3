/* SPDX-License-Identifier: MIT */
/* ut_shards_kv.c -- versions of values on several servers, and what a repeated put knows. */
/* link: @support/node_calls.link */
#include "shards_case.h"

#include <string.h>

#include "test.h"

AROUND_EACH(shards_case_open, shards_case_close);

static const int64_t day_us = INT64_C(86400) * 1000000;

static void put(const char *record, const char *fast)
{
    const char *const keys[] = {record, "ilk:kv:once:{v}", NULL};
    const char *const args[] = {"mine", "vx", fast, NULL};

    ilk__shards_value(&shards,
                      shards_case_request(ILK__SCRIPT_KV_PUT, keys, args));
}

static void read_as(size_t server, int64_t version, const char *token)
{
    shards_case_answer(&shards.servers[server], ILK__SCRIPT_KV_READ,
                       ILK__CODE_STATE, "isisi", version, token,
                       (int64_t)(version > 0), version ? "y" : "",
                       ilk__shards_clock_us(&shards));
}

/* Returns the version, when two servers have it. */
static int64_t write_all(void)
{
    for (size_t i = 0; i < 2; i++)
        shards_case_answer(&shards.servers[i], ILK__SCRIPT_KV_WRITE,
                           ILK__CODE_WRITTEN, "");
    assert_int_equal(ILK__CODE_WRITTEN, shards_result.code);
    return shards_result.numbers[0];
}

/* ---- what a repeated put knows ------------------------------------------- */

TEST(a_put_over_nothing_has_no_earlier_copy)
{
    put("a", "0");
    read_as(0, 0, "");
    read_as(1, 0, "");
    assert_true(write_all() > 0);
    assert_int_equal(0, shards_result.numbers[1]);
}

TEST(a_put_that_finds_itself_goes_on)
{
    put("a", "0");
    read_as(0, 7, "mine");
    read_as(1, 0, "");
    assert_int_equal(7, write_all());
    assert_int_equal(1, shards_result.numbers[1]);
}

TEST(a_put_over_anothers_value_may_have_an_earlier_copy)
{
    put("a", "0");
    read_as(0, 7, "other");
    read_as(1, 0, "");
    assert_true(write_all() > 7);
    assert_int_equal(-1, shards_result.numbers[1]);
}

TEST(a_fast_put_does_not_look)
{
    put("a", "1");
    assert_true(write_all() > 0);
    assert_int_equal(-1, shards_result.numbers[1]);
}

/* ---- versions ------------------------------------------------------------ */

static int64_t put_over(const char *record, int64_t version)
{
    put(record, "0");
    read_as(0, version, "other");
    read_as(1, 0, "");
    return write_all();
}

TEST(versions_rise_above_those_of_a_clock_that_is_ahead)
{
    const int64_t ahead = ilk__shards_clock_us(&shards) + day_us / 2;

    assert_int_equal(ahead + 1, put_over("a", ahead));
    assert_int_equal(ahead + 2, ilk__shards_next_version(&shards, 0));
}

TEST(a_spoilt_version_stays_with_its_key)
{
    const int64_t spoilt = ILK__SCRIPT_INT_MAX - 2000000;

    assert_int_equal(spoilt + 1, put_over("a", spoilt));
    assert_true(put_over("b", 7) < ilk__shards_clock_us(&shards) + day_us);
    assert_true(ilk__shards_next_version(&shards, 0)
                < ilk__shards_clock_us(&shards) + day_us);
}

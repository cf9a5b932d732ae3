/* SPDX-License-Identifier: MIT */
/* ut_name_queue.c -- the order of entries: who holds, and whose removal matters. */
#include "stores/shared/name_queue.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 8 };

static ilk__contender own = {.state = ILK__CONTENDER_WAITS};

/* One letter for each entry: x r e, or its permits as a digit; an upper case letter,
 * or a digit behind '+', is an own one that waits. */
static size_t read(ilk__queue_entry *out, const char *text)
{
    size_t count = 0;

    for (; *text; text++) {
        ilk__queue_entry *one = &out[count];
        int is_own = *text == '+' || (*text >= 'A' && *text <= 'Z');

        if (*text == '+')
            text++;
        *one = (ilk__queue_entry){.number = (int64_t)count + 10,
                                  .permits = 1,
                                  .own = is_own ? &own : NULL};
        one->kind = (ilk__contender_kind)(*text | 0x20);
        if (*text >= '0' && *text <= '9') {
            one->kind = ILK__CONTENDER_PERMITS;
            one->permits = *text - '0';
        }
        count++;
    }
    return count;
}

static void expect_holders(const char *text, int64_t limit, const char *holds)
{
    ilk__queue_entry entries[MOST];
    size_t count = read(entries, text);

    assert_int_equal(count, strlen(holds));
    for (size_t i = 0; i < count; i++)
        assert_int_equal(holds[i] == '1',
                         ilk__name_queue_holds(entries, count, i, limit));
}

TEST(the_first_holds)
{
    expect_holders("xxx", 1, "100");
    expect_holders("ee", 1, "10");
    expect_holders("rrxr", 1, "1100");
    expect_holders("xrr", 1, "100");
    expect_holders("rr", 1, "11");
}

TEST(permits_add_up)
{
    expect_holders("1111", 3, "1110");
    expect_holders("212", 3, "110");
    expect_holders("231", 3, "100"); /* nobody overtakes the one that needs 3 */
    expect_holders("5", 3, "0");
    expect_holders("1", 0, "0");
}

TEST(sums_do_not_overflow)
{
    ilk__queue_entry entries[MOST];
    size_t count = read(entries, "1111");

    for (size_t i = 0; i < count; i++)
        entries[i].permits = INT64_MAX;
    assert_true(ilk__name_queue_holds(entries, count, 0, INT64_MAX));
    for (size_t i = 1; i < count; i++)
        assert_false(ilk__name_queue_holds(entries, count, i, INT64_MAX));
    entries[0].permits = -5; /* another's entry may say anything */
    entries[1].permits = 1;
    assert_false(ilk__name_queue_holds(entries, count, 1, 1));
    assert_false(ilk__name_queue_holds(entries, count, count, 1));
}

static void expect_watch(const char *text, int64_t limit, ptrdiff_t expected)
{
    ilk__queue_entry entries[MOST];
    size_t count = read(entries, text);

    assert_int_equal(expected, ilk__name_queue_watch(entries, count, limit));
}

TEST(one_removal_is_watched)
{
    expect_watch("xx", 1, ILK__QUEUE_WATCH_NONE);
    expect_watch("X", 1, ILK__QUEUE_WATCH_NONE);
    expect_watch("xxX", 1, 1);
    expect_watch("xXX", 1, 0);
    expect_watch("rrX", 1, 1);
    expect_watch("xrrR", 1, 0);
    expect_watch("rxrR", 1, 1);
    expect_watch("rR", 1, ILK__QUEUE_WATCH_NONE);
    expect_watch("eE", 1, 0);
    expect_watch("2+2", 3, 0);
    expect_watch("11+1", 2, ILK__QUEUE_WATCH_ALL);
    expect_watch("+5", 3, ILK__QUEUE_WATCH_ALL);
}

/* Take away entries, each time the watched one or all but it: without it nobody of
 * the own ones comes to hold. */
TEST(only_the_watched_removal_helps)
{
    const unsigned seed = (unsigned)time(NULL);
    unsigned dice = seed;

    print_message("seed %u\n", seed);
    for (int run = 0; run < 20000; run++) {
        ilk__queue_entry entries[MOST], fewer[MOST];
        size_t count = 1 + (size_t)rand_r(&dice) % MOST, left = 0, waits;
        ptrdiff_t watch;

        for (size_t i = 0; i < count; i++)
            entries[i] = (ilk__queue_entry){
                .permits = 1,
                .kind = rand_r(&dice) % 2 ? ILK__CONTENDER_READER
                                          : ILK__CONTENDER_EXCLUSIVE,
                .own = rand_r(&dice) % 3 ? NULL : &own};
        watch = ilk__name_queue_watch(entries, count, 1);
        for (waits = 0; waits < count; waits++)
            if (entries[waits].own
                && !ilk__name_queue_holds(entries, count, waits, 1))
                break;
        assert_int_equal(waits == count, watch == ILK__QUEUE_WATCH_NONE);
        if (watch < 0)
            continue;
        assert_true((size_t)watch < waits);
        for (size_t i = 0; i <= waits; i++)
            if (i == waits || i == (size_t)watch || rand_r(&dice) % 2)
                fewer[left++] = entries[i];
        assert_false(ilk__name_queue_holds(fewer, left, left - 1, 1));
    }
}

/* SPDX-License-Identifier: MIT */
/* ut_recent.c -- the marks of messages seen lately. */
#include "base/recent.h"

#include "test.h"

static ilk__recent recent;

static int teardown(void)
{
    ilk__recent_free(&recent);
    return 0;
}

AROUND_EACH(NULL, teardown);

TEST(a_mark_is_new_once)
{
    for (uint64_t mark = 0; mark < 8; mark++) {
        assert_false(ilk__recent_seen(&recent, mark << 40));
        assert_true(ilk__recent_seen(&recent, mark << 40));
    }
}

/* As many as there is room for, when they are spread as hashes are. */
TEST(thousands_are_remembered)
{
    const uint64_t room = ILK__RECENT_SETS * ILK__RECENT_WAYS;

    for (uint64_t i = 0; i < room; i++)
        assert_false(ilk__recent_seen(&recent, i << 32 | (i + 1)));

    for (uint64_t i = 0; i < room; i++)
        assert_true(ilk__recent_seen(&recent, i << 32 | (i + 1)));
}

TEST(the_oldest_of_a_full_set_makes_room)
{
    for (uint64_t i = 1; i <= ILK__RECENT_WAYS + 1; i++)
        assert_false(ilk__recent_seen(&recent, i));

    for (uint64_t i = 2; i <= ILK__RECENT_WAYS + 1; i++)
        assert_true(ilk__recent_seen(&recent, i));
    assert_false(ilk__recent_seen(&recent, 1));
}

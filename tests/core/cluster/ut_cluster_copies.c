/* SPDX-License-Identifier: MIT */
/* ut_cluster_copies.c -- a message that comes from several nodes counts once. */
#include "stores/cluster/copies.h"

#include "base/alloc.h"

#include "test.h"

TEST(one_of_each_node_is_new)
{
    ilk__copies copies = {0};

    assert_true(ilk__copies_is_new(&copies, 7, 1, 0));
    assert_false(ilk__copies_is_new(&copies, 7, 0, 0));
    assert_false(ilk__copies_is_new(&copies, 7, 2, 0));
    assert_true(ilk__copies_is_new(&copies, 8, 0, 0));
    ilk__copies_free(&copies);
}

/* The same text published twice, with one node far behind. */
TEST(equal_messages_are_counted)
{
    ilk__copies copies = {0};

    assert_true(ilk__copies_is_new(&copies, 7, 0, 0));
    assert_true(ilk__copies_is_new(&copies, 7, 0, 0));
    assert_false(ilk__copies_is_new(&copies, 7, 1, 0));
    assert_false(ilk__copies_is_new(&copies, 7, 1, 0));
    assert_true(ilk__copies_is_new(&copies, 7, 1, 0));
    assert_false(ilk__copies_is_new(&copies, 7, 0, 0));
    ilk__copies_free(&copies);
}

TEST(a_node_that_joins_is_not_behind)
{
    ilk__copies copies = {0};

    assert_true(ilk__copies_is_new(&copies, 7, 0, 0));
    assert_true(ilk__copies_is_new(&copies, 7, 0, 0));
    ilk__copies_join(&copies, 3);
    assert_true(ilk__copies_is_new(&copies, 7, 3, 0));
    assert_false(ilk__copies_is_new(&copies, 7, 0, 0));
    ilk__copies_free(&copies);
}

TEST(number_and_time_are_bounded)
{
    ilk__copies copies = {0};

    for (uint64_t mark = 0; mark < 3 * ILK__COPIES_MOST; mark++)
        assert_true(ilk__copies_is_new(&copies, mark, 0, 0));
    assert_true(copies.count <= ILK__COPIES_MOST);
    assert_true(ilk__copies_is_new(&copies, 1, 0, ILK__COPIES_MS));
    assert_int_equal(copies.count, 1);
    ilk__copies_free(&copies);
}

TEST(without_memory_all_are_new)
{
    ilk__copies copies = {0};

    for (long number = 1; number < 5; number++) {
        ilk__alloc_fail_at(number);
        assert_true(ilk__copies_is_new(&copies, (uint64_t)number, 0, 0));
        ilk__alloc_fail_at(0);
    }
    ilk__copies_free(&copies);
}

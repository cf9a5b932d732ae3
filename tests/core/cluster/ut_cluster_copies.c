/* SPDX-License-Identifier: MIT */
/* ut_cluster_copies.c -- a message that comes from several nodes counts once. */
#include "stores/cluster/copies.h"

#include "base/alloc.h"

#include "cmocka_all.h"

static void one_of_each_node_is_new(void **state)
{
    ilk__copies copies = {0};

    (void)state;
    assert_true(ilk__copies_is_new(&copies, 7, 1, 0));
    assert_false(ilk__copies_is_new(&copies, 7, 0, 0));
    assert_false(ilk__copies_is_new(&copies, 7, 2, 0));
    assert_true(ilk__copies_is_new(&copies, 8, 0, 0));
    ilk__copies_free(&copies);
}

/* The same text published twice, with one node far behind. */
static void equal_messages_are_counted(void **state)
{
    ilk__copies copies = {0};

    (void)state;
    assert_true(ilk__copies_is_new(&copies, 7, 0, 0));
    assert_true(ilk__copies_is_new(&copies, 7, 0, 0));
    assert_false(ilk__copies_is_new(&copies, 7, 1, 0));
    assert_false(ilk__copies_is_new(&copies, 7, 1, 0));
    assert_true(ilk__copies_is_new(&copies, 7, 1, 0));
    assert_false(ilk__copies_is_new(&copies, 7, 0, 0));
    ilk__copies_free(&copies);
}

static void a_node_that_joins_is_not_behind(void **state)
{
    ilk__copies copies = {0};

    (void)state;
    assert_true(ilk__copies_is_new(&copies, 7, 0, 0));
    assert_true(ilk__copies_is_new(&copies, 7, 0, 0));
    ilk__copies_join(&copies, 3);
    assert_true(ilk__copies_is_new(&copies, 7, 3, 0));
    assert_false(ilk__copies_is_new(&copies, 7, 0, 0));
    ilk__copies_free(&copies);
}

static void number_and_time_are_bounded(void **state)
{
    ilk__copies copies = {0};

    (void)state;
    for (uint64_t mark = 0; mark < 3 * ILK__COPIES_MOST; mark++)
        assert_true(ilk__copies_is_new(&copies, mark, 0, 0));
    assert_true(copies.count <= ILK__COPIES_MOST);
    assert_true(ilk__copies_is_new(&copies, 1, 0, ILK__COPIES_MS));
    assert_int_equal(copies.count, 1);
    ilk__copies_free(&copies);
}

static void without_memory_all_are_new(void **state)
{
    ilk__copies copies = {0};

    (void)state;
    for (long number = 1; number < 5; number++) {
        ilk__alloc_fail_at(number);
        assert_true(ilk__copies_is_new(&copies, (uint64_t)number, 0, 0));
        ilk__alloc_fail_at(0);
    }
    ilk__copies_free(&copies);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_of_each_node_is_new),
        cmocka_unit_test(equal_messages_are_counted),
        cmocka_unit_test(a_node_that_joins_is_not_behind),
        cmocka_unit_test(number_and_time_are_bounded),
        cmocka_unit_test(without_memory_all_are_new),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

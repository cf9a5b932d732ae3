/* SPDX-License-Identifier: MIT */
/* ut_alloc.c -- memory, through one door. */
#include "base/alloc.h"

#include <string.h>

#include "test.h"

static int heal(void)
{
    ilk__alloc_fail_at(0);
    return 0;
}

TEST(zero_bytes_are_no_failure)
{
    void *blocks[3];

    blocks[0] = ilk__malloc(0);
    blocks[1] = ilk__calloc(0, 8);
    blocks[2] = ilk__realloc(NULL, 0);

    for (int i = 0; i < 3; i++) {
        assert_non_null(blocks[i]);
        ilk__free(blocks[i]);
    }
}

TEST(calloc_refuses_a_product_that_overflows)
{
    volatile size_t half = SIZE_MAX / 2;

    assert_null(ilk__calloc(half, 3));
}

TEST(copies_end_in_nul_and_keep_bytes)
{
    char *text = ilk__strdup("abc"), *data = ilk__memdup("a\0b", 3);

    assert_string_equal(text, "abc");
    assert_memory_equal(data, "a\0b\0", 4);
    assert_null(ilk__strdup(NULL));
    ilk__free(text);
    ilk__free(data);
}

TEST(copy_of_nothing_is_an_empty_string)
{
    char *data = ilk__memdup(NULL, 0);

    assert_string_equal(data, "");
    ilk__free(data);
}

TEST_WITH(NULL, heal, the_chosen_allocation_and_all_after_it_fail)
{
    void *first, *second;

    ilk__alloc_fail_at(3);
    first = ilk__malloc(1);
    second = ilk__calloc(1, 1);

    assert_non_null(first);
    assert_non_null(second);
    assert_null(ilk__malloc(1));
    assert_null(ilk__calloc(1, 1));
    assert_null(ilk__realloc(NULL, 1));
    assert_null(ilk__strdup("a"));
    assert_null(ilk__memdup("a", 1));
    ilk__free(first);
    ilk__free(second);
}

TEST_WITH(NULL, heal, a_failed_realloc_leaves_the_block)
{
    char *text = ilk__strdup("kept");

    ilk__alloc_fail_at(1);

    assert_null(ilk__realloc(text, 1000));
    assert_string_equal(text, "kept");
    ilk__free(text);
}

TEST_WITH(NULL, heal, allocations_are_counted_from_the_last_fail_at)
{
    ilk__alloc_fail_at(0);
    ilk__free(ilk__malloc(1));
    ilk__free(ilk__strdup("a"));

    assert_int_equal(ilk__alloc_count(), 2);
    ilk__alloc_fail_at(0);
    assert_int_equal(ilk__alloc_count(), 0);
}

TEST(wipe_leaves_zeros)
{
    char secret[] = "secret";

    ilk__wipe(secret, sizeof secret);
    ilk__wipe(NULL, 0);

    assert_memory_equal(secret, "\0\0\0\0\0\0", sizeof secret);
}

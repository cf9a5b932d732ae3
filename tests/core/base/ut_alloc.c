/* SPDX-License-Identifier: MIT */
/* ut_alloc.c -- memory, through one door. */
#include "base/alloc.h"

#include <string.h>

#include "cmocka_all.h"

static int heal(void **state)
{
    (void)state;
    ilk__alloc_fail_at(0);
    return 0;
}

static void zero_bytes_are_no_failure(void **state)
{
    void *blocks[3];

    (void)state;
    blocks[0] = ilk__malloc(0);
    blocks[1] = ilk__calloc(0, 8);
    blocks[2] = ilk__realloc(NULL, 0);

    for (int i = 0; i < 3; i++) {
        assert_non_null(blocks[i]);
        ilk__free(blocks[i]);
    }
}

static void calloc_refuses_a_product_that_overflows(void **state)
{
    volatile size_t half = SIZE_MAX / 2;

    (void)state;
    assert_null(ilk__calloc(half, 3));
}

static void copies_end_in_nul_and_keep_bytes(void **state)
{
    char *text = ilk__strdup("abc"), *data = ilk__memdup("a\0b", 3);

    (void)state;
    assert_string_equal(text, "abc");
    assert_memory_equal(data, "a\0b\0", 4);
    assert_null(ilk__strdup(NULL));
    ilk__free(text);
    ilk__free(data);
}

static void copy_of_nothing_is_an_empty_string(void **state)
{
    char *data = ilk__memdup(NULL, 0);

    (void)state;
    assert_string_equal(data, "");
    ilk__free(data);
}

static void the_chosen_allocation_and_all_after_it_fail(void **state)
{
    void *first, *second;

    (void)state;
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

static void a_failed_realloc_leaves_the_block(void **state)
{
    char *text = ilk__strdup("kept");

    (void)state;
    ilk__alloc_fail_at(1);

    assert_null(ilk__realloc(text, 1000));
    assert_string_equal(text, "kept");
    ilk__free(text);
}

static void allocations_are_counted_from_the_last_fail_at(void **state)
{
    (void)state;
    ilk__alloc_fail_at(0);
    ilk__free(ilk__malloc(1));
    ilk__free(ilk__strdup("a"));

    assert_int_equal(ilk__alloc_count(), 2);
    ilk__alloc_fail_at(0);
    assert_int_equal(ilk__alloc_count(), 0);
}

static void wipe_leaves_zeros(void **state)
{
    char secret[] = "secret";

    (void)state;
    ilk__wipe(secret, sizeof secret);
    ilk__wipe(NULL, 0);

    assert_memory_equal(secret, "\0\0\0\0\0\0", sizeof secret);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_bytes_are_no_failure),
        cmocka_unit_test(calloc_refuses_a_product_that_overflows),
        cmocka_unit_test(copies_end_in_nul_and_keep_bytes),
        cmocka_unit_test(copy_of_nothing_is_an_empty_string),
        cmocka_unit_test_teardown(the_chosen_allocation_and_all_after_it_fail,
                                  heal),
        cmocka_unit_test_teardown(a_failed_realloc_leaves_the_block, heal),
        cmocka_unit_test_teardown(allocations_are_counted_from_the_last_fail_at,
                                  heal),
        cmocka_unit_test(wipe_leaves_zeros),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

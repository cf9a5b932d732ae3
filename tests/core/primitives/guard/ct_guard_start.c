/* SPDX-License-Identifier: MIT */
/*
 * ct_guard_start.c -- what is special about started operations on guarded
 * values; ct_started_waits.c and ct_started_requests.c have the rest.
 */
#include "client_case.h"
#include "started.h"

AROUND_ALL(client_setup, client_teardown);

static ilk_error err;

TEST(a_smaller_fence_is_refused)
{
    ilk_op *op;

    assert_status(ILK_OK,
                  ilk_guard_set(client, "balance", 7, 7, "early", 5, &err));
    assert_status(ILK_OK, ilk_guard_set_start(&op, client, "balance", 7, 6,
                                              "late", 4, &err));
    assert_ends(ILK_ESTALE, client, op);
    assert_string_equal("early", fixture_command(&fx, "GET balance"));
    assert_status(ILK_OK,
                  ilk_guard_get_start(&op, client, "balance", 7, 6, &err));
    assert_ended(ILK_ESTALE, client, op);
    assert_null(ilk_op_value(op));
    ilk_op_free(op);
}

TEST(get_leaves_the_value_in_the_operation)
{
    ilk_op *op;
    size_t len;

    assert_status(ILK_OK, ilk_guard_set(client, "read", 4, 3, "a\0b", 3, &err));
    assert_status(ILK_OK, ilk_guard_get_start(&op, client, "read", 4, 5, &err));
    assert_null(ilk_op_value(op)); /* too early */
    assert_ended(ILK_OK, client, op);
    assert_memory_equal("a\0b", ilk_value_data(ilk_op_value(op), &len), 3);
    assert_int_equal(3, len);
    assert_int_equal(5, ilk_value_fence(ilk_op_value(op)));
    assert_null(ilk_op_info(op)); /* of another kind */
    ilk_op_free(op);

    assert_status(ILK_OK, ilk_guard_get_start(&op, client, "none", 4, 0, &err));
    assert_ended(ILK_OK, client, op);
    assert_non_null(ilk_op_value(op));
    assert_null(ilk_value_data(ilk_op_value(op), NULL));
    ilk_op_free(op);
}

TEST(many_are_under_way_at_once)
{
    enum { MANY = 500 };
    ilk_op *ops[MANY];

    for (int i = 0; i < MANY; i++)
        assert_status(ILK_OK,
                      ilk_guard_set_start(&ops[i], client, "raced", 5, i + 1,
                                          &"0123456789"[i % 10], 1, &err));
    for (int i = 0; i < MANY; i++)
        assert_ends(ILK_OK, client, ops[i]);
    assert_string_equal("9", fixture_command(&fx, "GET raced"));
}

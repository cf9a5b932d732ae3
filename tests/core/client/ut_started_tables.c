/* SPDX-License-Identifier: MIT */
/*
 * ut_started_tables.c -- every function that starts an operation is in the
 * table of the waits or in that of the requests, and so in every scenario.
 */
#include "started_request.h"
#include "started_wait.h"

#include "test.h"

#include <string.h>

/* From the public headers, when the build is configured. */
static const char *const functions[] = {
#include "start_functions.inc"
};

static int rows_of(const char *function)
{
    int rows = 0;

    for (size_t i = 0; i < wait_row_count; i++)
        rows += strcmp(wait_rows[i].function, function) == 0;
    for (size_t i = 0; i < request_row_count; i++)
        rows += strcmp(request_rows[i].function, function) == 0;
    return rows;
}

TEST(every_function_is_in_a_table)
{
    int missing = 0;

    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (rows_of(functions[i]) == 0) {
            print_error("%s is in no table\n", functions[i]);
            missing++;
        }
    assert_int_equal(0, missing);
}

/* So that a list that was not read does not pass for a complete table. */
TEST(every_row_is_of_a_public_function)
{
    int found = 0;

    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        found += rows_of(functions[i]);
    assert_int_equal(wait_row_count + request_row_count, found);
}

TEST(no_operation_has_no_result)
{
    assert_result(RESULT_NONE, NULL);
    assert_int_equal(0, ilk_op_id(NULL));
    assert_int_equal(ILK_EINVAL, ilk_op_status(NULL, NULL));
    assert_int_equal(ILK_EINVAL, ilk_op_cancel(NULL, NULL));
    ilk_op_free(NULL);
}

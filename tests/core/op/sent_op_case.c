/* SPDX-License-Identifier: MIT */
/* sent_op_case.c -- one operation that has sent its command. */
#include "sent_op_case.h"

#include <string.h>

#include "test.h"

ilk__op sent_op;
ilk_error sent_err;

int sent_op_setup(void)
{
    memset(&sent_err, 0, sizeof sent_err);
    return op_case_setup();
}

int sent_op_teardown(void)
{
    ilk__op_free(&sent_op);
    return op_case_teardown();
}

void send_op(const ilk__op_type *type, int64_t timeout_ms)
{
    ilk__op_init(&sent_op, type, NULL, __wrap_ilk__deadline(timeout_ms),
                 &sent_err);
    sent_op.persist_ms = 0;
    assert_int_equal(op_start(&sent_op), ILK__ACT_SEND);
}

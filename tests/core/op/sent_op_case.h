/* SPDX-License-Identifier: MIT */
/* sent_op_case.h -- one operation that has sent its command, for the tests of
 * op.c. */
#ifndef ILK__SENT_OP_CASE_H
#define ILK__SENT_OP_CASE_H

#include "op_case.h"

extern ilk__op sent_op;
extern ilk_error sent_err;

int sent_op_setup(void);
int sent_op_teardown(void);

/* Begin the operation, which sends its command. */
void send_op(const ilk__op_type *type, int64_t timeout_ms);

#endif

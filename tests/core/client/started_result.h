/* SPDX-License-Identifier: MIT */
/*
 * started_result.h -- the results that a started operation can have besides
 * its status. Each kind of result has a getter of its own, which answers
 * nothing for operations of other kinds.
 */
#ifndef ILK__STARTED_RESULT_H
#define ILK__STARTED_RESULT_H

#include <interlock.h>

typedef enum started_result {
    RESULT_NONE,
    RESULT_NUMBER, /* one that is not 0 */
    RESULT_INFO,
    RESULT_LIST,
    RESULT_VALUE,
    RESULT_LEADER,
    RESULT_ARRIVAL,
    RESULT_BATCH,
    RESULT_QUEUE_INFO,
    RESULT_LATCH,
    RESULT_BARRIER,
    RESULT_MEMBERS,
    RESULT_KV_ENTRY,
    RESULT_KV_PROGRESS
} started_result;

/* The operation has this result and no other, however often it is read. */
#define assert_result(expected, op)                                            \
    assert_result_at(expected, op, __FILE__, __LINE__)
void assert_result_at(started_result expected, ilk_op *op, const char *file,
                      int line);

#endif

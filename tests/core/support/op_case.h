/* SPDX-License-Identifier: MIT */
/*
 * op_case.h -- what tests of machines share: a clock that only the test
 * moves, and short ways to feed an operation and to read what it asks.
 *
 * A test that includes this links with
 *     -Wl,--wrap=ilk__now_ms -Wl,--wrap=ilk__deadline
 */
#ifndef ILK__OP_CASE_H
#define ILK__OP_CASE_H

#include "base/clock.h"
#include "op/op.h"

enum { OP_CASE_BEGIN_MS = 1000 * 1000 };

extern int64_t local_ms; /* what every machine takes for now */

int op_case_setup(void);    /* the clock is at its beginning */
int op_case_teardown(void); /* replies are freed */

/*
 * Kinds of requests. All send lock_extend for two keys and two arguments but
 * op_case_ping; op_case_careful has functions for all that can happen: what
 * ends it is in op_case_seen, then it ensures, then it is ILK_ECANCELLED; woken
 * it asks again, by a signal it is ILK_EINTR.
 */
extern const ilk__op_type op_case_change, op_case_look, op_case_ping,
    op_case_careful;
#define OP_CASE_WORDS " 2 orders fence token 30000"

/* The calls of the requests' functions since the set-up. */
typedef struct op_seen {
    int asked, answered, woken;
    ilk__cause cause;
    ilk_status failure;
} op_seen;
extern op_seen op_case_seen;

/*
 * A reply, read by the real reader, freed by the teardown. "1 20 -3" is an
 * array of numbers; anything that begins otherwise is the protocol's text.
 */
const ilk__reply *op_case_reply(const char *text);

ilk__act op_start(ilk__op *op);
ilk__act op_answer(ilk__op *op, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
ilk__act op_no_answer(ilk__op *op, ilk_status status, int may_have_run);
ilk__act op_sent(ilk__op *op, ilk_status status);
ilk__act op_wake(ilk__op *op, ilk__cause cause);

/*
 * The words of op->command, parted by spaces: "lock_extend 2 orders ...", or
 * "lock_extend! 2 orders ..." when the script's text is sent instead of its
 * name. An empty argument shows as ''. Valid until the next call.
 */
const char *op_says(const ilk__op *op);

int64_t __wrap_ilk__now_ms(void);
int64_t __wrap_ilk__deadline(int64_t timeout_ms);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * inflight_case.h -- in-flight operations over a connection that is none: it is
 * up when the test says so, and what is sent is only counted.
 *
 * A test that includes this links with
 *     -Wl,--wrap=ilk__now_ms,--wrap=ilk__deadline,--wrap=ilk__async_conn_send
 */
#ifndef ILK__INFLIGHT_CASE_H
#define ILK__INFLIGHT_CASE_H

#include "op/inflight.h"
#include "op_case.h"

#include "test.h"

enum { INFLIGHT_REPLY_MS = 5000, INFLIGHT_MOST = 3000 };

/* An operation in flight and how it ended; it begins `more` first, as a request
 * may. */
typedef struct runner {
    ilk__inflight inflight;
    ilk_error err;
    int ended;
    ilk_status status;
    int64_t ended_at;
    const ilk__op_type *more;
} runner;

/* How an ensured command ended. */
typedef struct ensured_result {
    ilk__ensured ensured;
    int ended;
    ilk_status status;
} ensured_result;

extern ilk__timers timers;
extern ilk__pipeline pipeline;
extern runner runners[INFLIGHT_MOST];
extern ensured_result ensured_one;
extern int sent;           /* commands that were written to the connection */
extern ilk_status sending; /* what comes of writing one */

int inflight_setup(void);    /* the connection is up */
int inflight_teardown(void); /* nothing is left behind */

runner *start_inflight(int number, const ilk__op_type *type,
                       int64_t timeout_ms);
/* A wait whose limit is shorter than its time for a first reply. */
runner *start_short(int number, const ilk__op_type *type, int64_t limit_ms,
                    int64_t timeout_ms);
void start_many(int count);      /* the first so many, without a deadline */
void answer_inflight(int count); /* of the commands on the wire */
void tick(int64_t ms);           /* so much time passes; what is due fires */
void lose_connection(void);
void bring_connection_up(void);

#define assert_inflight_ended(self, how)                                       \
    do {                                                                       \
        assert_int_equal((self)->ended, 1);                                    \
        assert_int_equal((self)->status, how);                                 \
    } while (0)

ilk_status __wrap_ilk__async_conn_send(ilk__async_conn *connection,
                                       const ilk__command *command,
                                       ilk__expected_reply *out);

#endif

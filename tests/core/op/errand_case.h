/* SPDX-License-Identifier: MIT */
/*
 * errand_case.h -- errands over a link that is none: it is up when the test
 * says so, and what is sent is only counted.
 *
 * A test that includes this links with
 *     -Wl,--wrap=ilk__now_ms,--wrap=ilk__deadline,--wrap=ilk__link_send
 */
#ifndef ILK__ERRAND_CASE_H
#define ILK__ERRAND_CASE_H

#include "op/errand.h"
#include "op_case.h"

#include "cmocka_all.h"

enum { ERRAND_REPLY_MS = 5000, ERRANDS_MOST = 3000 };

/* An errand and how it ended; it begins `more` first, as a verb may. */
typedef struct runner {
    ilk__errand errand;
    ilk_error err;
    int ended;
    ilk_status status;
    int64_t ended_at;
    const ilk__op_type *more;
} runner;

/* What was told: how it ended. */
typedef struct pledge {
    ilk__promise promise;
    int ended;
    ilk_status status;
} pledge;

extern ilk__timers timers;
extern ilk__errands errands;
extern runner runners[ERRANDS_MOST];
extern pledge pledged;
extern int sent;           /* commands that were written to the link */
extern ilk_status sending; /* what comes of writing one */

int errand_setup(void **state);    /* the link is up */
int errand_teardown(void **state); /* nothing is left behind */

runner *start_errand(int number, const ilk__op_type *type, int64_t timeout_ms);
void start_errands(int count);  /* the first so many, without a deadline */
void answer_errands(int count); /* of the commands on the wire */
void tick(int64_t ms);          /* so much time passes; what is due fires */
void lose_link(void);
void bring_link_up(void);

#define assert_errand_ended(self, how)                                         \
    do {                                                                       \
        assert_int_equal((self)->ended, 1);                                    \
        assert_int_equal((self)->status, how);                                 \
    } while (0)

ilk_status __wrap_ilk__link_send(ilk__link *link, const ilk__command *command);

#endif

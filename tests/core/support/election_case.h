/* SPDX-License-Identifier: MIT */
/*
 * election_case.h -- what the tests of elections share: candidates that must
 * open, campaigns in threads of their own, what a finding must say.
 */
#ifndef ILK__ELECTION_CASE_H
#define ILK__ELECTION_CASE_H

#include "lock_case.h"

ilk_election *open_candidate(ilk_client *client, const char *name,
                             int64_t ttl_ms, const char *value);
ilk_election *open_candidate_with(ilk_client *client, const char *name,
                                  const ilk_election_opts *opts);

/* The value that is published now; "-" when nobody leads. Valid until the next call. */
const char *published(ilk_election *election);

/* Wait until n candidates stand in the wait queue, or n observers. */
void await_candidates(const char *name, int n);
void await_observers(const char *name, int n);

/* The next state, as "value term-index": see expect_state(). */
ilk_leader *next_state(ilk_observer *observer, int64_t timeout_ms);

/* Its value must be this ("-": nobody leads); answers the term, and frees. */
int64_t expect_state(ilk_leader *state, const char *value);

typedef struct campaign {
    ilk_election *election;
    int64_t timeout_ms, ended_at;
    pthread_t thread;
    ilk_status status;
    ilk_error err;
} campaign;

void start_campaign(campaign *c, ilk_election *election, int64_t timeout_ms);
void end_campaign(campaign *c, ilk_status expected);

#endif

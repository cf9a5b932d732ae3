/* SPDX-License-Identifier: MIT */
/*
 * election.h -- the candidate's handle and ilk_leader, the result of asking who
 * leads.
 *
 * A leadership is a hold (hold.h) whose fence is the term. It differs from a
 * lock in three points. Candidates store their value on the server when they
 * enter the wait queue, so that it is published at the moment of the election.
 * Tokens may begin with an identity, by which a restarted candidate resumes its
 * leadership. Observers wait in a second wait queue.
 */
#ifndef ILK__ELECTION_H
#define ILK__ELECTION_H

#include "handle/hold.h"

#include <interlock/election_leader.h>

enum {
    ILK__ELECTION_KEYS = 6, /* leader, fence, wait, live, value, seen */
    ILK__ELECTION_DEFAULT_MS = 20 * 1000
};

/* The elements of the replies of election_inspect that follow the code. */
enum {
    ILK__ELECTION_AT_TERM,
    ILK__ELECTION_AT_VERSION,
    ILK__ELECTION_AT_LEADS,
    ILK__ELECTION_AT_PTTL,
    ILK__ELECTION_AT_SINCE,
    ILK__ELECTION_AT_TOKEN,
    ILK__ELECTION_AT_WHO,
    ILK__ELECTION_AT_VALUE,
    ILK__ELECTION_AT_CANDIDATES,
    ILK__ELECTION_AT_ENTRIES
};

extern const char *const ilk__election_key_kinds[ILK__ELECTION_KEYS];

struct ilk_election {
    ilk__hold hold;
    char *value;
    size_t value_len;
    /* `identity:` and `identity:client id`; empty without an identity */
    char identity[ILK_ELECTION_IDENTITY_MAX + 2];
    char prefix[ILK_ELECTION_IDENTITY_MAX + 2 + ILK__CLIENT_ID_LEN];
};

enum { ILK__LEADER_LISTED = 100 };

struct ilk_leader {
    int leads;
    int64_t term, version, ttl_ms, since_ms, candidates;
    char *value, *label;
    size_t value_len;
    char *listed[ILK__LEADER_LISTED]; /* labels */
    size_t listed_count;
};

ilk_status ilk__election_check_value(const void *value, size_t len,
                                     ilk_error *err);

/* Make an ilk_leader from the reply of election_inspect, or of
   election_observe, which lacks the candidates. On ILK_ENOMEM *out is NULL. */
ilk_status ilk__leader_read(ilk_leader **out, const ilk__reply *reply,
                            ilk_error *err);

/* Set the request's result; the request owns the leader from then on. */
void ilk__leader_answer(ilk__request *request, ilk_leader *leader);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * election.h -- the candidate's handle, the observer's, and what is found.
 *
 * A leadership is a hold (hold.h) whose fence is the term. What it has more
 * than a lock: a value that lies with the candidates from the moment they
 * stand in the wait queue, so that it is there when one is elected; an
 * identity, which its tokens begin with; and a second wait queue, of those who
 * observe.
 */
#ifndef ILK__ELECTION_H
#define ILK__ELECTION_H

#include "handle/hold.h"

#include <interlock/election_leader.h>

enum {
    ILK__ELECTION_KEYS = 6, /* leader, fence, wait, live, value, seen */
    ILK__ELECTION_DEFAULT_MS = 20 * 1000
};

extern const char *const ilk__election_key_kinds[ILK__ELECTION_KEYS];

struct ilk_election {
    ilk__hold hold;
    char *value;
    size_t value_len;
    /* `identity:` and `identity:client`; empty without one */
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

/* The name, inside the handle's keys. */
void ilk__election_name(const ilk_election *election, const char **out,
                        size_t *out_len);

/* Build a finding of an answer: election_inspect's, or as much of it as
 * election_observe tells. ILK_ENOMEM leaves nothing. */
ilk_status ilk__leader_read(ilk_leader **out, const ilk__reply *reply,
                            ilk_error *err);

/* What a request found. */
void ilk__leader_answer(ilk__request *request, ilk_leader *leader);

#endif

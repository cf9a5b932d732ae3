/* SPDX-License-Identifier: MIT */
/* group.h -- the handles of groups and members. */
#ifndef ILK__GROUP_H
#define ILK__GROUP_H

#include "handle/state.h"
#include "members.h"
#include "wait/lease.h"

enum {
    ILK__GROUP_KEYS = 6,    /* members, data, wait, live, changed, gone */
    ILK__GROUP_PAGE = 1000, /* members, and as many who left, in one reply */
    ILK__MEMBER_DEFAULT_MS = 10 * 1000
};

extern const char *const ilk__group_key_kinds[ILK__GROUP_KEYS];

struct ilk_group {
    ilk__state state;
    ilk__known watched;
    int has_reported; /* 0: report once even if the group is empty */
};

struct ilk_member {
    ilk__state state; /* it has no wait */
    ilk__lease lease;
    /* The group's keys and, behind them, the id, which is an argument: renewals
     * copy these, because they may outlive the handle. */
    ilk__bytes lease_keys[ILK__GROUP_KEYS + 1];
    ilk__bytes id;
    int64_t ttl_ms;
    void *user;
    /* A join without a reply may have succeeded: the next one has the same
     * token and is then a retry of it. */
    int may_be_in;
};

#endif

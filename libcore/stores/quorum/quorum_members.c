/* SPDX-License-Identifier: MIT */
/* quorum_members.c -- taking the nodes of a quorum in. */
#include "quorum_members.h"

#include "base/clock.h"
#include "redis/script.h"
#include "wait/lease.h"

#include <string.h>

void ilk__members_begin(ilk__members *members, size_t count)
{
    memset(members, 0, sizeof *members);
    members->count = count;
}

void ilk__members_connected(ilk__members *members, size_t node)
{
    members->nodes[node] = (ilk__member){.connected = 1};
}

void ilk__members_lost(ilk__members *members, size_t node)
{
    members->nodes[node] = (ilk__member){.connected = 0};
}

/* A call that is under way is not repeated: its reply brings the new state. */
void ilk__members_refused(ilk__members *members, size_t node)
{
    members->nodes[node].known = 0;
    members->nodes[node].is_member = 0;
}

int ilk__members_may_vote(const ilk__members *members, size_t node)
{
    const ilk__member *one = &members->nodes[node];

    return one->connected && one->known && one->is_member;
}

static int waits(const ilk__member *one)
{
    return one->connected && one->known && !one->is_member;
}

/* From this local time on it may be taken in as one of the first. */
static int64_t first_from(const ilk__member *one)
{
    return one->is_late && one->from > one->first_at ? one->from
                                                     : one->first_at;
}

int ilk__members_is_joining(const ilk__members *members, size_t node,
                            int64_t now)
{
    const ilk__member *one = &members->nodes[node];

    if (!one->connected || !one->known)
        return 1;
    return !one->is_member
           && (one->is_first ? first_from(one) : one->from) <= now;
}

/* ---- the floor ----------------------------------------------------------- */

/* The greatest fence of a majority among the others, read since the node's wait was
 * over; 0 when there are too few of them. */
static int has_floor(const ilk__members *members, size_t node, int64_t *out)
{
    size_t number = 0;

    *out = 0;
    for (size_t i = 0; i < members->count; i++) {
        const ilk__member *other = &members->nodes[i];

        if (i == node || !ilk__members_may_vote(members, i)
            || other->read_at < members->nodes[node].from)
            continue;
        number++;
        if (other->most > *out)
            *out = other->most;
    }
    return number >= members->count / 2 + 1;
}

/* Whether some node waits for a floor, and this member's was read before that. */
static int is_needed(const ilk__members *members, size_t node, int64_t now)
{
    for (size_t i = 0; i < members->count; i++) {
        const ilk__member *one = &members->nodes[i];

        if (i != node && waits(one) && one->from <= now
            && members->nodes[node].read_at < one->from)
            return 1;
    }
    return 0;
}

/* ---- the first ----------------------------------------------------------- */

/* How many are members, when all nodes have replied; else all of them. */
static size_t count_members(const ilk__members *members)
{
    size_t number = 0;

    for (size_t i = 0; i < members->count; i++) {
        if (!members->nodes[i].connected || !members->nodes[i].known)
            return members->count;
        number += (size_t)members->nodes[i].is_member;
    }
    return number;
}

/* The time from which on nobody counts a vote that the node has forgotten. At a first
 * start the time for which the server has run gives it. */
static int64_t safe_from(const ilk__member *one, int is_start)
{
    return is_start ? one->early : one->from;
}

static int is_one_late(const ilk__members *members)
{
    for (size_t i = 0; i < members->count; i++)
        if (waits(&members->nodes[i]) && members->nodes[i].is_late)
            return 1;
    return 0;
}

/* Too few nodes are members for another one to get its floor from them. A node stays
 * one of the first under its nonce, also when others are members already. The first are
 * taken in when it is safe for all. Fences then rise by the clocks of clients and nodes alone. */
static void find_the_first(ilk__members *members)
{
    const size_t number = count_members(members);
    const int is_late = is_one_late(members);
    const int is_start = number == 0 && !is_late;
    int64_t at = 0, floor = 0;

    if (number >= members->count / 2 + 1)
        return;
    for (size_t i = 0; i < members->count; i++) {
        const ilk__member *one = &members->nodes[i];

        if (one->most > floor)
            floor = one->most;
        if (waits(one) && safe_from(one, is_start) > at)
            at = safe_from(one, is_start);
    }
    for (size_t i = 0; i < members->count; i++) {
        ilk__member *one = &members->nodes[i];

        if (!waits(one) || (one->is_first && number > 0 && !is_late))
            continue;
        one->is_first = 1;
        one->first_at = at;
        one->first_floor = floor;
    }
}

/* ---- reading once more -------------------------------------------------- */

/* Note which of the first are checked. */
static void check_the_first(ilk__members *members)
{
    for (size_t i = 0; i < members->count; i++) {
        ilk__member *one = &members->nodes[i];
        int is_checked = 1;

        for (size_t k = 0; k < members->count; k++)
            is_checked &=
                k == i || members->nodes[k].read_turn > one->known_turn;
        one->is_checked |= is_checked;
    }
}

/* Whether one of the first is not checked, for want of this node. */
static int is_unread(const ilk__members *members, size_t node)
{
    for (size_t i = 0; i < members->count; i++) {
        const ilk__member *one = &members->nodes[i];

        if (i != node && waits(one) && one->is_first && !one->is_checked
            && members->nodes[node].read_turn < one->known_turn)
            return 1;
    }
    return 0;
}

/* ---- calls --------------------------------------------------------------- */

static int take_in(const ilk__members *members, size_t node, int64_t now,
                   ilk__join *out)
{
    const ilk__member *one = &members->nodes[node];
    int64_t floor;

    if (one->is_first && one->is_checked && first_from(one) <= now) {
        out->floor = one->first_floor;
        out->first = 1;
    } else if (has_floor(members, node, &floor)) {
        out->floor = floor;
    } else {
        return 0;
    }
    out->nonce = one->nonce;
    return 1;
}

static int call_to(const ilk__members *members, size_t node, int64_t now,
                   ilk__join *out)
{
    const ilk__member *one = &members->nodes[node];

    *out = (ilk__join){.node = node,
                       .script = ILK__SCRIPT_QUORUM_JOIN,
                       .nonce = "",
                       .is_known = members->was_member[node]};
    if (!one->connected || one->sent)
        return 0;
    if (!one->known || is_unread(members, node))
        return 1;
    return one->is_member ? is_needed(members, node, now)
                          : take_in(members, node, now, out);
}

int ilk__members_next(ilk__members *members, int64_t now, ilk__join *out)
{
    for (size_t i = 0; i < members->count; i++) {
        if (!call_to(members, i, now, out))
            continue;
        members->nodes[i].sent = 1;
        members->nodes[i].sent_at = now;
        members->nodes[i].sent_turn = ++members->turn;
        return 1;
    }
    return 0;
}

/* The node's clock may be slower than ours by the drift. */
static int64_t end_of_wait(int64_t now, int64_t wait_ms)
{
    if (wait_ms <= 0)
        return now;
    if (wait_ms > ILK__LEASE_MAX_MS)
        wait_ms = ILK__LEASE_MAX_MS;
    return now + wait_ms + wait_ms / 100 + ILK__DRIFT_MS;
}

/* Another nonce is another loss of memory. Under the same nonce the end of the wait
 * stays: a later reply would put it off by its drift, and make the reads since then
 * too old. */
static void take_wait(ilk__members *members, ilk__member *one,
                      const ilk__join_reply *reply, int64_t now)
{
    if (one->known && strcmp(one->nonce, reply->nonce) == 0)
        return;
    one->is_first = one->is_checked = 0;
    one->known_turn = ++members->turn;
    one->from = end_of_wait(now, reply->wait_ms);
    one->early = end_of_wait(now, reply->early_ms);
    memcpy(one->nonce, reply->nonce, strlen(reply->nonce) + 1);
}

int ilk__members_reply(ilk__members *members, size_t node,
                       const ilk__join_reply *reply, int64_t now)
{
    ilk__member *one = &members->nodes[node];

    if (!one->sent)
        return 0;
    one->sent = 0;
    if (reply->nonce[0] == '\0' || strlen(reply->nonce) > ILK__NONCE_MAX
        || reply->most < 0)
        return 0;
    take_wait(members, one, reply, now);
    one->known = 1;
    one->is_member = reply->is_member;
    if (reply->is_member)
        members->was_member[node] = 1;
    one->is_late =
        !reply->is_member && (reply->is_late || members->was_member[node]);
    one->most = reply->most;
    one->read_at = one->sent_at;
    one->read_turn = one->sent_turn;
    find_the_first(members);
    check_the_first(members);
    return 1;
}

int64_t ilk__members_wake_at(const ilk__members *members, int64_t now)
{
    int64_t at = ILK__FOREVER;

    for (size_t i = 0; i < members->count; i++) {
        const ilk__member *one = &members->nodes[i];

        if (!waits(one))
            continue;
        if (one->is_first && first_from(one) > now)
            at = ilk__sooner(at, first_from(one));
        if (one->from > now)
            at = ilk__sooner(at, one->from);
    }
    return at;
}

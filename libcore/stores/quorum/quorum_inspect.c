/* SPDX-License-Identifier: MIT */
/* quorum_inspect.c -- who holds a lock: the token that a majority has. */
#include "quorum_internal.h"

#include "gateway/resp.h"

#include <string.h>

static const ilk__reply *item(const ilk__reply *reply, size_t index)
{
    return reply->items[index + 1]; /* behind the code */
}

enum {
    INSPECT_TYPE,
    INSPECT_VALUE,
    INSPECT_PTTL,
    INSPECT_NOW,
    INSPECT_FENCE,
    INSPECT_TOKEN,
    INSPECT_SINCE,
    INSPECT_WHO,
    INSPECT_WAITERS,
    INSPECT_READERS,
    INSPECT_OWNER,
    INSPECT_LISTED, /* readers: none on a quorum */
    INSPECT_ENTRIES
};

static int has_value_of(const ilk__reply *reply, const ilk__reply *other)
{
    const ilk__reply *a = item(reply, INSPECT_VALUE),
                     *b = item(other, INSPECT_VALUE);

    return ilk__script_code(other) == ILK__CODE_HELD && a->len == b->len
           && memcmp(a->str, b->str, a->len) == 0;
}

/* Whether a majority has the holder of this reply. */
static int is_held_by_majority(const ilk__round *round, const ilk__reply *reply)
{
    size_t count = 0;

    if (ilk__script_code(reply) != ILK__CODE_HELD)
        return 0;
    for (size_t i = 0; i < round->quorum->count; i++)
        count += (size_t)(round->replies[i]
                          && has_value_of(reply, round->replies[i]));
    return count >= ilk__quorum_majority(round->quorum);
}

/* Of the replies with the majority's holder, or, if not `held`, of all replies, the one
 * with the greatest fence. */
static ilk__reply *best_of(const ilk__round *round, int held)
{
    ilk__reply *best = NULL;

    for (size_t i = 0; i < round->quorum->count; i++) {
        ilk__reply *one = round->replies[i];

        if (!one || (held && !is_held_by_majority(round, one)))
            continue;
        if (!best
            || item(one, INSPECT_FENCE)->num > item(best, INSPECT_FENCE)->num)
            best = one;
    }
    return best;
}

static void send_on(ilk__round *round, ilk__reply *reply, int code)
{
    ilk__buf text = {0};

    reply->items[0]->num = ilk__reply_head(round->request->number, code);
    if (ilk__resp_add_reply(&text, reply))
        ilk__gateway_break(round->request);
    else
        ilk__gateway_reply_text(round->request, ilk__buf_data(&text),
                                ilk__buf_len(&text));
    ilk__buf_free(&text);
    round->request = NULL;
}

static void say_nobody(ilk__reply *reply)
{
    ilk__reply *value = reply->items[1 + INSPECT_VALUE],
               *type = reply->items[1 + INSPECT_TYPE];

    value->len = 0;
    if (type->len >= 4) {
        memcpy(type->str, "none", 5);
        type->len = 4;
    }
    reply->items[1 + INSPECT_PTTL]->num = -2;
}

/* The order of the entries is that of stamps, which do not say since when they are there. */
static void forget_waited(ilk__reply *reply)
{
    for (size_t i = 1 + INSPECT_ENTRIES + 1; i < reply->count; i += 2)
        reply->items[i]->num = -1;
}

/* A name is held by the token that a majority has. Votes that are divided are
 * nobody's yet. */
static void decide_inspection(ilk__round *round, int is_last)
{
    ilk__reply *best = best_of(round, 1);
    int is_held = best != NULL;
    int64_t waiters = 0;

    if (!is_last
        || ilk__round_replies(round) < ilk__quorum_majority(round->quorum))
        return;
    for (size_t i = 0; i < round->quorum->count; i++)
        if (round->replies[i]
            && item(round->replies[i], INSPECT_WAITERS)->num > waiters)
            waiters = item(round->replies[i], INSPECT_WAITERS)->num;
    if (is_held)
        best->items[1 + INSPECT_FENCE]->num =
            ilk__round_number(round, INSPECT_FENCE, is_held_by_majority);
    else
        best = best_of(round, 0);
    if (!is_held && ilk__script_code(best) == ILK__CODE_HELD)
        say_nobody(best);
    best->items[1 + INSPECT_WAITERS]->num = waiters;
    forget_waited(best);
    send_on(round, best, is_held ? ILK__CODE_HELD : ILK__CODE_FREE);
}

void ilk__quorum_inspect(ilk__quorum *quorum, ilk__gateway_request *request)
{
    ilk__round_begin(quorum, request, ilk__round_pass_on, decide_inspection);
}

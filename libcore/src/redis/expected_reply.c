/* SPDX-License-Identifier: MIT */
/* expected_reply.c -- decides whether a reply belongs to a command. */
#include "expected_reply.h"

#include "base/token.h"

#define NUMBER_LEAST (INT64_C(1) << 32)

int64_t ilk__reply_head(int64_t number, int code)
{
    return number * ILK__CODE_LIMIT + code;
}

int64_t ilk__first_request_number(void)
{
    return NUMBER_LEAST + (int64_t)ilk__jitter(UINT32_MAX);
}

static ilk__match match_number(int64_t number, ilk__reply *reply)
{
    const ilk__reply *first = ilk__reply_first(reply);

    if (first->type != ILK__REPLY_INT || first->num < 0
        || first->num / ILK__CODE_LIMIT != number)
        return ILK__MATCH_FOREIGN;
    if (first != reply)
        reply = reply->items[0];
    reply->num %= ILK__CODE_LIMIT;
    return ILK__MATCH_PROVEN;
}

ilk__match ilk__match_reply(const ilk__expected_reply *expected,
                            ilk__reply *reply)
{
    ilk__reply_type type = ILK__REPLY_NIL;

    if (reply->type == ILK__REPLY_ERROR)
        return ILK__MATCH_POSSIBLE;
    switch (expected->kind) {
    case ILK__REPLIES_NUMBERED: return match_number(expected->number, reply);
    case ILK__REPLIES_ANY: return ILK__MATCH_POSSIBLE;
    case ILK__REPLIES_INT:
        if (reply->num >= ilk__reply_head(NUMBER_LEAST, 0))
            return ILK__MATCH_FOREIGN; /* of a script */
        type = ILK__REPLY_INT;
        break;
    case ILK__REPLIES_STR: type = ILK__REPLY_STR; break;
    case ILK__REPLIES_ARRAY: type = ILK__REPLY_ARRAY; break;
    }
    return reply->type == type ? ILK__MATCH_POSSIBLE : ILK__MATCH_FOREIGN;
}

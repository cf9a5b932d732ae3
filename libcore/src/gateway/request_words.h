/* SPDX-License-Identifier: MIT */
/* request_words.h -- the keys and arguments of a request, as a command takes them. */
#ifndef ILK__REQUEST_WORDS_H
#define ILK__REQUEST_WORDS_H

#include "backend.h"
#include "redis/script.h"

ilk__bytes ilk__gateway_word(const ilk__reply *word);
/* Empty when the request has no such argument. */
ilk__bytes ilk__gateway_arg(const ilk__gateway_request *request, size_t index);
/* -1: it is no whole number below ILK__SCRIPT_INT_MAX. */
int64_t ilk__gateway_number_arg(const ilk__gateway_request *request,
                                size_t index);

/*
 * Reply LOST. In the replies to extends and renewals follows the evidence of the record
 * (scripts/include/evidence.lua), which a store of another kind does not have.
 */
static inline void ilk__gateway_reply_lost(ilk__gateway_request *request)
{
    switch (request->script) {
    case ILK__SCRIPT_LOCK_EXTEND:
    case ILK__SCRIPT_RWLOCK_EXTEND:
    case ILK__SCRIPT_REDISSON_EXTEND:
    case ILK__SCRIPT_MANY_EXTEND:
    case ILK__SCRIPT_SEMAPHORE_EXTEND:
    case ILK__SCRIPT_ELECTION_RENEW:
        ilk__gateway_reply(request, ILK__CODE_LOST, "iis", (int64_t)0,
                           (int64_t)0, ILK__NO_RECORD);
        break;
    default: ilk__gateway_reply(request, ILK__CODE_LOST, "");
    }
}

#endif

/* SPDX-License-Identifier: MIT */
/* promise.h -- who sees to it that what a server is told gets done. */
#ifndef ILK__PROMISE_H
#define ILK__PROMISE_H

#include "reply.h"

#include <interlock/base.h>

/*
 * Goes along with a command whose answer nobody reads. `ended` is called
 * once, by whoever has the promise then, without a mutex: ILK_OK, the server
 * did it; ILK_ECLOSED, the client goes; else it did not, or nobody knows, and
 * over that connection it never will. It frees the promise.
 */
typedef struct ilk__promise ilk__promise;
struct ilk__promise {
    void (*ended)(ilk__promise *promise, ilk_status status);
    /* What an answer means, read by whoever reads it. NULL: whatever is no
     * error is good. */
    ilk_status (*judge)(const ilk__promise *promise, const ilk__reply *reply);
    ilk__promise *next; /* who has it keeps it in a list */
    ilk_status status;
};

static inline ilk_status ilk__promise_judge(const ilk__promise *promise,
                                            const ilk__reply *reply)
{
    if (promise->judge)
        return promise->judge(promise, reply);
    return reply->type == ILK__REPLY_ERROR ? ILK_ESERVER : ILK_OK;
}

#endif

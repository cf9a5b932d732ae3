/* SPDX-License-Identifier: MIT */
/* ensured.h -- an ensured command: somebody sees to it that it gets done. */
#ifndef ILK__ENSURED_H
#define ILK__ENSURED_H

#include "reply.h"

#include <interlock/base.h>

/*
 * Goes along with a command whose answer nobody reads. `ended` is called
 * once, by whoever has it then, without a mutex: ILK_OK, the server
 * did it; ILK_ECLOSED, the client goes; else it did not, or nobody knows, and
 * over that connection it never will. It frees the ensured command.
 */
typedef struct ilk__ensured ilk__ensured;
struct ilk__ensured {
    void (*ended)(ilk__ensured *ensured, ilk_status status);
    /* What an answer means, read by whoever reads it. NULL: whatever is no
     * error is good. */
    ilk_status (*judge)(const ilk__ensured *ensured, const ilk__reply *reply);
    ilk__ensured *next; /* who has it keeps it in a list */
    ilk_status status;
};

static inline ilk_status ilk__ensured_judge(const ilk__ensured *ensured,
                                            const ilk__reply *reply)
{
    if (ensured->judge)
        return ensured->judge(ensured, reply);
    return reply->type == ILK__REPLY_ERROR ? ILK_ESERVER : ILK_OK;
}

#endif

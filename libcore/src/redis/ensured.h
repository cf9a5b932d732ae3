/* SPDX-License-Identifier: MIT */
/*
 * ensured.h -- an ensured command: nobody waits for its reply, but its owner is
 * notified of the outcome and can send it again.
 */
#ifndef ILK__ENSURED_H
#define ILK__ENSURED_H

#include "reply.h"

#include <interlock/base.h>

/*
 * Accompanies such a command through the lane or the loop. `ended` is called
 * exactly once, without any mutex held, and frees the ensured command:
 *
 *     ILK_OK        the server executed the command
 *     ILK_ECLOSED   the client is closing
 *     others        it was not sent, the server refused it, or its reply was
 *                   lost; it will not be executed over that connection any more
 */
typedef struct ilk__ensured ilk__ensured;
struct ilk__ensured {
    void (*ended)(ilk__ensured *ensured, ilk_status status);
    /* The status that a reply stands for; called by the thread that read the
     * reply. NULL: every reply but an error is ILK_OK. */
    ilk_status (*judge)(const ilk__ensured *ensured, const ilk__reply *reply);
    ilk__ensured *next; /* in a list of the lane or loop that carries it */
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

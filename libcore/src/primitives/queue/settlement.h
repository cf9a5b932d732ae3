/* SPDX-License-Identifier: MIT */
/*
 * settlement.h -- settlements: how deliveries ended, on their way to the
 * server, as arguments of scripts/include/settlement.lua, and what the server
 * replies.
 */
#ifndef ILK__SETTLEMENT_H
#define ILK__SETTLEMENT_H

#include "base/buf.h"
#include "job.h"
#include "op/request.h"

/* What becomes of it: the kinds of settlement.lua. */
typedef enum ilk__settlement_kind {
    ILK__SETTLE_DONE = 'a',
    ILK__SETTLE_FAILED = 'n',
    ILK__SETTLE_UNTOUCHED = 'r',
    ILK__SETTLE_DEAD = 'd'
} ilk__settlement_kind;

/* Some messages of one batch that end in the same way. */
typedef struct ilk__settlement {
    ilk_batch *batch;   /* borrowed */
    size_t from, to;    /* places in it, from 1; both included */
    size_t text_end;    /* where its argument ends in the text */
    int64_t sure_until; /* local: nobody else could have it before */
} ilk__settlement;

typedef struct ilk__settlements {
    ilk__buf text;
    ilk__settlement *list;
    size_t count, room;
    int alone; /* of one batch, in a question about its queue only */
    int32_t lost, refused, unknown; /* what was replied, in messages */
} ilk__settlements;

void ilk__settlements_free(ilk__settlements *settlements); /* what it holds */

/* Messages from..to end so; none of them has been in a settlement that was
 * answered. ILK_ENOMEM: nothing was added. */
ilk_status ilk__settlements_add(ilk__settlements *settlements, ilk_batch *batch,
                                ilk__settlement_kind kind, size_t from,
                                size_t to, int64_t delay_ms, const void *reason,
                                size_t reason_len, ilk_error *err);

/* The same for all of the batch that are open; none is fine. */
ilk_status ilk__settlements_add_open(ilk__settlements *settlements,
                                     ilk_batch *batch,
                                     ilk__settlement_kind kind, ilk_error *err);

/* The arguments, one for each settlement. */
void ilk__settlements_ask(const ilk__settlements *settlements,
                          ilk__command *command);
/* What the server did: numbers, as settle.lua answers them. 0: not so. */
int ilk__settlements_reply(ilk__settlements *settlements, const ilk__op *op,
                           const char *text);
/* No answer came: they may have ended. To be sent again, or all are open. */
void ilk__settlements_doubt(ilk__settlements *settlements);
void ilk__settlements_unanswered(ilk__settlements *settlements);

/* ILK_OK, or the worst of what was replied. */
ilk_status ilk__settlements_status(const ilk__settlements *settlements,
                                   ilk_error *err);

/* A question that is only about them: to a queue or to several. */
typedef struct ilk__settlement_query {
    ilk__settlements *settlements;
    const ilk__queue_keys *queue_keys;
    const ilk__bytes *keys;
    size_t key_count;
} ilk__settlement_query;

/*
 * Inside a request: send them by themselves. all_done: they are of one queue,
 * and every message is done. `then` sees to those that were not answered.
 */
void ilk__settlements_send(ilk__request *request, ilk__settlement_query *query,
                           int all_done, ilk__request_then *then);

#endif

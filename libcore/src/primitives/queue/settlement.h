/* SPDX-License-Identifier: MIT */
/*
 * settlement.h -- settlements: how deliveries ended. They are collected as
 * arguments for scripts/include/settlement.lua, sent alone or with the next
 * reserve, and the reply says how many messages each of them found.
 */
#ifndef ILK__SETTLEMENT_H
#define ILK__SETTLEMENT_H

#include "base/buf.h"
#include "batch.h"
#include "op/request.h"

/* How a delivery ended: the kinds of settlement.lua. */
typedef enum ilk__settlement_kind {
    ILK__SETTLE_DONE = 'a',
    ILK__SETTLE_FAILED = 'n',
    ILK__SETTLE_UNTOUCHED = 'r',
    ILK__SETTLE_DEAD = 'd'
} ilk__settlement_kind;

/* A range of messages of one batch that ended in the same way. */
typedef struct ilk__settlement {
    ilk_batch *batch;   /* borrowed */
    size_t from, to;    /* places in it, from 1; both included */
    size_t text_end;    /* where its argument ends in the text */
    int64_t sure_until; /* local deadline of the lease: ours until then */
} ilk__settlement;

typedef struct ilk__settlements {
    ilk__buf text;
    ilk__settlement *list;
    size_t count, room;
    int alone; /* the script gets the keys of one queue: its index is 0 */
    int32_t lost, refused, unknown; /* from the reply, in messages */
} ilk__settlements;

void ilk__settlements_free(ilk__settlements *settlements); /* its content */

/* Adds one for the messages from..to. ILK_ENOTOWNER: one of them is settled, or is being
 * settled by another thread; ILK_ENOMEM. Nothing was added then. */
ilk_status ilk__settlements_add(ilk__settlements *settlements, ilk_batch *batch,
                                ilk__settlement_kind kind, size_t from,
                                size_t to, int64_t delay_ms, const void *reason,
                                size_t reason_len, ilk_error *err);

/* The same for all open messages of the batch; there may be none. */
ilk_status ilk__settlements_add_open(ilk__settlements *settlements,
                                     ilk_batch *batch,
                                     ilk__settlement_kind kind, ilk_error *err);

/* Adds the arguments to a command, one for each settlement. */
void ilk__settlements_ask(const ilk__settlements *settlements,
                          ilk__command *command);
/* Reads the reply of include/settle.lua: one number for each settlement.
 * Returns 0 if it is something else. */
int ilk__settlements_reply(ilk__settlements *settlements, const ilk__op *op,
                           const char *text);
/* No reply came, so the server may have done them. The first marks their
 * messages as in doubt and keeps the settlements, to be sent again; the second
 * drops the settlements and opens their messages again. */
void ilk__settlements_doubt(ilk__settlements *settlements);
void ilk__settlements_unanswered(ilk__settlements *settlements);

/* ILK_OK, or the worst of what was replied. */
ilk_status ilk__settlements_status(const ilk__settlements *settlements,
                                   ilk_error *err);

/* A command with settlements only, for one queue or several. */
typedef struct ilk__settlement_query {
    ilk__settlements *settlements;
    const ilk__queue_keys *queue_keys;
    const ilk__bytes *keys;
    size_t key_count;
} ilk__settlement_query;

/*
 * Inside a request: sends the settlements without anything else. all_done: all
 * are of one queue and of kind DONE, so the smaller script job_ack will do.
 * `then` has to handle settlements that got no reply.
 */
void ilk__settlements_send(ilk__request *request, ilk__settlement_query *query,
                           int all_done, ilk__request_then *then);

#endif

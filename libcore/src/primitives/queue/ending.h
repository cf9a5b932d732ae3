/* SPDX-License-Identifier: MIT */
/*
 * ending.h -- how deliveries ended, on their way to the server: the items of
 * scripts/include/item.lua and what is heard of them.
 */
#ifndef ILK__ENDING_H
#define ILK__ENDING_H

#include "base/buf.h"
#include "job.h"
#include "op/request.h"

/* What becomes of it: the kinds of item.lua. */
typedef enum ilk__ending_verb {
    ILK__ENDING_DONE = 'a',
    ILK__ENDING_FAILED = 'n',
    ILK__ENDING_UNTOUCHED = 'r',
    ILK__ENDING_DEAD = 'd'
} ilk__ending_verb;

/* Some messages of one batch that end in the same way. */
typedef struct ilk__ending {
    ilk_batch *batch;   /* borrowed */
    size_t from, to;    /* places in it, from 1; both included */
    size_t text_end;    /* where its item ends in the text */
    int64_t sure_until; /* local: nobody else could have it before */
} ilk__ending;

typedef struct ilk__endings {
    ilk__buf text;
    ilk__ending *items;
    size_t count, room;
    int alone; /* of one batch, in a question about its queue only */
    int32_t lost, refused, unknown; /* what was heard, in messages */
} ilk__endings;

void ilk__endings_free(ilk__endings *endings); /* what it holds */

/* Messages from..to end so; none of them has been in an item that was heard.
 * ILK_ENOMEM: nothing was added. */
ilk_status ilk__endings_add(ilk__endings *endings, ilk_batch *batch,
                            ilk__ending_verb kind, size_t from, size_t to,
                            int64_t delay_ms, const void *reason,
                            size_t reason_len, ilk_error *err);

/* The same for all of the batch that are open; none is fine. */
ilk_status ilk__endings_add_open(ilk__endings *endings, ilk_batch *batch,
                                 ilk__ending_verb kind, ilk_error *err);

/* The arguments, one for each item. */
void ilk__endings_ask(const ilk__endings *endings, ilk__command *command);
/* What the server did: numbers, as finish.lua answers them. 0: not so. */
int ilk__endings_heard(ilk__endings *endings, const ilk__op *op,
                       const char *text);
/* No answer came: they may have ended. To be said again, or all are open. */
void ilk__endings_doubt(ilk__endings *endings);
void ilk__endings_unheard(ilk__endings *endings);

/* ILK_OK, or the worst of what was heard. */
ilk_status ilk__endings_verdict(const ilk__endings *endings, ilk_error *err);

/* A question that is only about them: to a queue or to several. */
typedef struct ilk__saying {
    ilk__endings *endings;
    const ilk__shelf *shelf;
    const ilk__bytes *keys;
    size_t key_count;
} ilk__saying;

/*
 * Inside a request: say them by themselves. all_done: they are of one queue,
 * and every message is done. `then` sees to those that were not heard.
 */
void ilk__endings_say(ilk__request *request, ilk__saying *saying, int all_done,
                      ilk__request_then *then);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * recipes_consumer.h -- a consumer of messages from raw lists.
 *
 *     reserve (a script) --found--> taken --settle--> reserve ...
 *          \--nothing--> BLMOVE queue -> taken list, on one connection for
 *                        each list, until one replies --> reserve
 *
 * The content of BLMOVE's reply is not used: the message that it moved is in
 * the taken list, where the next reserve looks first. So no message is lost
 * when a connection breaks, or is closed while BLMOVE moves one.
 */
#ifndef ILK__RECIPES_CONSUMER_H
#define ILK__RECIPES_CONSUMER_H

#include "dedicated_conn.h"
#include "handle/handle.h"
#include "recipes.h"

enum { ILK__CONSUMER_ID = 48, ILK__CONSUMER_KEYS = 3 };

struct ilk_consumer {
    ilk__handle handle; /* first */
    char id[ILK__CONSUMER_ID];
    size_t count;
    ilk__bytes *keys; /* for each list: queue, taken, consumers */
    ilk__dedicated_conn *connections; /* one for each list */
    char *awaiting; /* for each connection: a BLMOVE has no reply yet */
    int64_t round_ends;
    int known;         /* it is registered in the `consumers` keys */
    ilk__bytes taken;  /* the message to settle */
    size_t taken_from; /* and the index of its list */
    int holds;         /* there is such a message */
};

/* Reserves a message; *out stays NULL if there is none. */
ilk_status ilk__consumer_reserve(ilk_items **out, ilk_consumer *self,
                                 int64_t deadline, ilk_error *err);

/* Returns the messages that this or another consumer took to the list. */
ilk_status ilk__consumer_recover(ilk_consumer *self, size_t list,
                                 const char *id, ilk_error *err);

/* Waits until there may be a message, or the round ends. */
ilk_status ilk__consumer_block(ilk_consumer *self, int64_t deadline,
                               uint32_t interrupts, ilk_error *err);
int ilk__consumer_is_blocking(const ilk_consumer *self);
/* Closes the connections that block, so that no BLMOVE moves a message. */
void ilk__consumer_hush(ilk_consumer *self);
/* The same; on ILK_OK the server has closed these connections as well, if the user may
 * close connections, and moves no message for them any more. */
ilk_status ilk__consumer_unblock(ilk_consumer *self, ilk_error *err);

#endif

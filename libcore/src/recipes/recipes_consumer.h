/* SPDX-License-Identifier: MIT */
/*
 * recipes_consumer.h -- one who takes messages from raw lists.
 *
 *     reserve (a script) --found--> taken --settle--> reserve ...
 *          \--nothing--> BLMOVE queue -> taken list, one connection for each
 *                        list, until one answers --> reserve
 *
 * What BLMOVE answers does not matter: what it moved lies in the taken list,
 * where the next reserve finds it first. So a connection that breaks loses
 * nothing, nor does one that is closed while the server still moves.
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
    char *asked; /* which of them a BLMOVE is under way on */
    int64_t round_ends;
    int known; /* it stands among the consumers */
    ilk__bytes taken;
    size_t taken_from;
    int holds;
};

/* Look for a message; *out stays NULL when there is none. */
ilk_status ilk__consumer_reserve(ilk_items **out, ilk_consumer *self,
                                 int64_t deadline, ilk_error *err);

/* Give back what this or another consumer of the list has taken. */
ilk_status ilk__consumer_recover(ilk_consumer *self, size_t list,
                                 const char *id, ilk_error *err);

/* Wait until there may be a message, at most until the round ends. */
ilk_status ilk__consumer_block(ilk_consumer *self, int64_t deadline,
                               uint32_t interrupts, ilk_error *err);
int ilk__consumer_is_blocking(const ilk_consumer *self);
void ilk__consumer_hush(ilk_consumer *self); /* nothing moves any more */

#endif

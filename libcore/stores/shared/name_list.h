/* SPDX-License-Identifier: MIT */
/*
 * name_list.h -- the names that a store has, in replies to SCAN, by which the core lists
 * names (primitives/list/list.c).
 *
 *     SCAN 0 MATCH ...          from the first one
 *     SCAN >orders MATCH ...    behind the place that the store has called `orders`
 *
 * A reply has the side keys by which the core knows the kinds: `ilk:lock:fence:{orders}`
 * is a lock. The store need not read the pattern: the core leaves out what does not
 * match, and what it has had before.
 */
#ifndef ILK__NAME_LIST_H
#define ILK__NAME_LIST_H

#include "base/buf.h"
#include "gateway/backend.h"

typedef struct ilk__name_list {
    ilk__buf keys;
    size_t count;
    int no_memory;
} ilk__name_list;

/* Where the page begins: behind this place; empty: at the front. 0 after a reply: the command
 * is another one. */
int ilk__name_list_asked(ilk__gateway_request *request, ilk__span *out_after);

/* Add a name of a kind, such as "lock:fence"; what cannot be a name is left out. */
void ilk__name_list_add(ilk__name_list *list, const char *kind, ilk__span name);

/* Reply with the names, and free them. `last`: the place behind which the next page
 * begins; empty: there are no more. */
void ilk__name_list_reply(ilk__name_list *list, ilk__gateway_request *request,
                          ilk__span last);

#endif

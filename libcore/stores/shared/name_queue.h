/* SPDX-License-Identifier: MIT */
/*
 * name_queue.h -- the order of a name's contenders, where the store keeps each as an
 * entry that it numbers: a key of etcd, a sequential node of ZooKeeper.
 *
 * Everybody who contends for the name has one entry, and reads the list of all. The
 * holders follow from the list alone: an entry holds when the earlier ones that
 * exclude it leave room for it.
 *
 *     exclusive, candidate   no earlier entry
 *     reader                 no earlier exclusive entry
 *     permits                the permits of all earlier entries and its own are
 *                            at most the limit
 *
 * So a holder's entry is never behind one that waits and excludes it, and only
 * removals let another one hold. A list is a proof only if the store read it after it
 * had numbered the own entry, and if it contains that entry.
 *
 * Of a client's own contenders of a name the first one that waits is the first to
 * hold, so one watch for each name is enough.
 */
#ifndef ILK__NAME_QUEUE_H
#define ILK__NAME_QUEUE_H

#include "contention.h"

#include <stddef.h>
#include <stdint.h>

/* One of the entries, in their order. */
typedef struct ilk__queue_entry {
    int64_t number;  /* the store's: it decides the order */
    int64_t permits; /* of PERMITS; of others 1 */
    ilk__contender_kind kind;
    ilk__contender *own; /* the contender that it belongs to, or NULL */
    ilk__span id;        /* what the store calls it: key or node; borrowed */
} ilk__queue_entry;

enum {
    ILK__QUEUE_WATCH_NONE = -1, /* none of the own contenders waits */
    ILK__QUEUE_WATCH_ALL = -2 /* each removal: more than one entry may matter */
};

/* Whether entries[at] holds. */
int ilk__name_queue_holds(const ilk__queue_entry *entries, size_t count,
                          size_t at, int64_t limit);
/* The index of the entry whose removal has to be seen for the first own contender
 * that waits, or one of the above. */
ptrdiff_t ilk__name_queue_watch(const ilk__queue_entry *entries, size_t count,
                                int64_t limit);
/*
 * Report what a list says about the own contenders:
 *
 *     granted()          it holds, and did not before; with its number as the fence, and
 *                        `ends`, the end of the lease that such entries have
 *     queued(), busy()   it JOINS, and does not hold
 *     lost()             it WAITS or HOLDS, is_known(), and is not in the list
 *
 * is_known() is true when the list was read after the entry of the contender had been
 * numbered. NULL: that is so for all.
 */
void ilk__name_queue_report(ilk__contended *name,
                            const ilk__queue_entry *entries, size_t count,
                            int64_t limit, int64_t ends,
                            int (*is_known)(const ilk__contender *contender));

#endif

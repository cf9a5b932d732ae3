/* SPDX-License-Identifier: MIT */
/*
 * recent.h -- a bounded set of the marks of recent messages. It distinguishes a
 * copy, which came over a second connection, from a new message.
 *
 * It holds some 4000 marks, in sets of eight; in each set the oldest mark is
 * replaced. A copy is not recognised if its mark has been replaced, or if there
 * was no memory for the sets.
 */
#ifndef ILK__RECENT_H
#define ILK__RECENT_H

#include "error.h"

enum { ILK__RECENT_SETS = 512, ILK__RECENT_WAYS = 8 };

typedef struct ilk__recent {
    struct ilk__recent_set {
        uint64_t marks[ILK__RECENT_WAYS];
        unsigned next; /* the oldest */
    } * sets;          /* allocated for the first mark */
} ilk__recent;

/* Add the mark; 1 when it was in the set before. */
int ilk__recent_seen(ilk__recent *recent, uint64_t mark);
/* 1 when the mark is in the set. */
int ilk__recent_has(const ilk__recent *recent, uint64_t mark);
void ilk__recent_free(ilk__recent *recent);

#endif

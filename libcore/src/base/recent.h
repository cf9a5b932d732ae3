/* SPDX-License-Identifier: MIT */
/*
 * recent.h -- the marks of messages seen lately, so that the copy that comes
 * over a second connection is told from a new one.
 *
 * Bounded: some 4000 marks, in sets of eight in which the oldest makes room.
 * A copy that comes later than that, or without memory, is not recognised.
 */
#ifndef ILK__RECENT_H
#define ILK__RECENT_H

#include "error.h"

enum { ILK__RECENT_SETS = 512, ILK__RECENT_WAYS = 8 };

typedef struct ilk__recent {
    struct ilk__recent_set {
        uint64_t marks[ILK__RECENT_WAYS];
        unsigned next; /* the oldest */
    } * sets;          /* NULL until the first */
} ilk__recent;

/* 1 when this mark was seen before; remembers it. */
int ilk__recent_seen(ilk__recent *recent, uint64_t mark);
int ilk__recent_has(const ilk__recent *recent, uint64_t mark); /* only asks */
void ilk__recent_free(ilk__recent *recent);

#endif

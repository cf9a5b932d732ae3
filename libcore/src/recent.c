/* SPDX-License-Identifier: MIT */
/* recent.c -- the marks of messages seen lately. */
#include "recent.h"

#include "alloc.h"

int ilk__recent_seen(ilk__recent *recent, uint64_t mark)
{
    struct ilk__recent_set *set;

    if (!recent->sets)
        recent->sets = ilk__calloc(ILK__RECENT_SETS, sizeof *recent->sets);
    if (!recent->sets)
        return 0;
    if (mark == 0) /* the mark of an empty place */
        mark = 1;
    set = &recent->sets[(mark >> 32) % ILK__RECENT_SETS];
    for (unsigned i = 0; i < ILK__RECENT_WAYS; i++)
        if (set->marks[i] == mark)
            return 1;
    set->marks[set->next] = mark;
    set->next = (set->next + 1) % ILK__RECENT_WAYS;
    return 0;
}

void ilk__recent_free(ilk__recent *recent)
{
    ilk__free(recent->sets);
    recent->sets = NULL;
}

/* SPDX-License-Identifier: MIT */
/* recent.c -- a bounded set of the marks of recent messages. */
#include "recent.h"

#include "alloc.h"

static struct ilk__recent_set *set_of(const ilk__recent *recent, uint64_t mark)
{
    return &recent->sets[(mark >> 32) % ILK__RECENT_SETS];
}

int ilk__recent_has(const ilk__recent *recent, uint64_t mark)
{
    for (unsigned i = 0; recent->sets && i < ILK__RECENT_WAYS; i++)
        if (set_of(recent, mark)->marks[i] == mark)
            return 1;
    return 0;
}

int ilk__recent_seen(ilk__recent *recent, uint64_t mark)
{
    struct ilk__recent_set *set;

    if (mark == 0) /* 0 is an empty entry */
        mark = 1;
    if (ilk__recent_has(recent, mark))
        return 1;
    if (!recent->sets)
        recent->sets = ilk__calloc(ILK__RECENT_SETS, sizeof *recent->sets);
    if (!recent->sets)
        return 0;
    set = set_of(recent, mark);
    set->marks[set->next] = mark;
    set->next = (set->next + 1) % ILK__RECENT_WAYS;
    return 0;
}

void ilk__recent_free(ilk__recent *recent)
{
    ilk__free(recent->sets);
    recent->sets = NULL;
}

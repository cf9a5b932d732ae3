/* SPDX-License-Identifier: MIT */
/* copies.c -- how often each node has sent a message. */
#include "copies.h"

#include "base/alloc.h"

#include <stddef.h>
#include <string.h>

struct ilk__copied {
    ilk__node node;
    uint64_t mark;
    int64_t since;
    ilk__copied *next;
    unsigned delivered;
    size_t room; /* of sent[] */
    unsigned *sent;
};

static ilk__copied *of_node(ilk__node *node)
{
    return (ilk__copied *)((char *)node - offsetof(ilk__copied, node));
}

static void forget_first(ilk__copies *copies)
{
    ilk__copied *first = copies->first;

    copies->first = first->next;
    if (!copies->first)
        copies->last = NULL;
    copies->count--;
    ilk__table_remove(&copies->table, &first->node);
    ilk__free(first->sent);
    ilk__free(first);
}

static ilk__copied *add(ilk__copies *copies, uint64_t mark, int64_t now)
{
    ilk__copied *one = ilk__calloc(1, sizeof *one);

    if (!one)
        return NULL;
    one->mark = mark;
    one->since = now;
    if (ilk__table_add(&copies->table, &one->node, &one->mark,
                       sizeof one->mark)) {
        ilk__free(one);
        return NULL;
    }
    if (copies->last)
        copies->last->next = one;
    else
        copies->first = one;
    copies->last = one;
    copies->count++;
    return one;
}

/* On failure the numbers stay as they were. */
static int make_room(ilk__copied *one, size_t count)
{
    unsigned *sent;

    if (count <= one->room)
        return 1;
    sent = ilk__realloc(one->sent, count * sizeof *sent);
    if (!sent)
        return 0;
    memset(sent + one->room, 0, (count - one->room) * sizeof *sent);
    one->sent = sent;
    one->room = count;
    return 1;
}

int ilk__copies_is_new(ilk__copies *copies, uint64_t mark, size_t node,
                       int64_t now)
{
    ilk__node *found;
    ilk__copied *one;

    while (copies->first
           && (copies->count >= ILK__COPIES_MOST
               || copies->first->since + ILK__COPIES_MS <= now))
        forget_first(copies);
    found = ilk__table_find(&copies->table, &mark, sizeof mark);
    one = found ? of_node(found) : add(copies, mark, now);
    if (!one || !make_room(one, node + 1))
        return 1;
    one->sent[node]++;
    if (one->sent[node] <= one->delivered)
        return 0;
    one->delivered = one->sent[node];
    return 1;
}

void ilk__copies_join(ilk__copies *copies, size_t node)
{
    for (ilk__copied *one = copies->first; one; one = one->next)
        if (make_room(one, node + 1))
            one->sent[node] = one->delivered;
}

void ilk__copies_free(ilk__copies *copies)
{
    while (copies->first)
        forget_first(copies);
    ilk__table_free(&copies->table);
}

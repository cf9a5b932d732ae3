/* SPDX-License-Identifier: MIT */
/* group_view.c -- the lists of those who are in and of those who have left. */
#include "group_view.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "gateway/resp.h"

#include <inttypes.h>
#include <string.h>

enum { LEFT_MOST = 10000 }; /* are remembered */

struct ilk__view_id {
    ilk__node by_id; /* first */
    ilk__view_id *next, *previous;
    int64_t version, revision, listing;
    char *value; /* NULL: it has left */
    size_t value_len, id_len;
    char id[];
};

/* ---- the lists ----------------------------------------------------------- */

static void append(ilk__view_order *order, ilk__view_id *one)
{
    one->next = NULL;
    one->previous = order->last;
    *(one->previous ? &one->previous->next : &order->first) = one;
    order->last = one;
    order->count++;
}

static void take_out(ilk__view_order *order, ilk__view_id *one)
{
    *(one->previous ? &one->previous->next : &order->first) = one->next;
    *(one->next ? &one->next->previous : &order->last) = one->previous;
    order->count--;
}

static ilk__view_order *order_of(ilk__group_view *view, const ilk__view_id *one)
{
    return one->value ? &view->members : &view->left;
}

static void forget(ilk__group_view *view, ilk__view_id *one)
{
    take_out(order_of(view, one), one);
    ilk__table_remove(&view->by_id, &one->by_id);
    ilk__free(one->value);
    ilk__free(one);
}

void ilk__view_free(ilk__group_view *view)
{
    while (view->members.first)
        forget(view, view->members.first);
    while (view->left.first)
        forget(view, view->left.first);
    ilk__table_free(&view->by_id);
}

static ilk__view_id *find(const ilk__group_view *view, ilk__span id)
{
    return (ilk__view_id *)ilk__table_find(&view->by_id, id.at, id.len);
}

/* One that is in neither list yet. NULL: no memory. */
static ilk__view_id *new_id(ilk__group_view *view, ilk__span id)
{
    ilk__view_id *one = ilk__calloc(1, sizeof *one + id.len);

    if (!one)
        return NULL;
    memcpy(one->id, id.at, id.len);
    one->id_len = id.len;
    if (ilk__table_add(&view->by_id, &one->by_id, one->id, id.len)) {
        ilk__free(one);
        return NULL;
    }
    append(&view->left, one);
    return one;
}

/* ---- reports ------------------------------------------------------------- */

static int64_t next_version(ilk__group_view *view)
{
    const int64_t now_us = ilk__now_ms() * 1000, next = *view->last_version + 1;

    view->version = *view->last_version = now_us > next ? now_us : next;
    return view->version;
}

static void limit_left(ilk__group_view *view)
{
    while (view->left.count > LEFT_MOST) {
        if (view->floor)
            view->floor = view->left.first->version;
        forget(view, view->left.first);
    }
}

/* `value` is the id's from now on. */
static void change(ilk__group_view *view, ilk__view_id *one, char *value,
                   size_t len)
{
    take_out(order_of(view, one), one);
    ilk__free(one->value);
    one->value = value;
    one->value_len = len;
    one->version = next_version(view);
    append(order_of(view, one), one);
    limit_left(view);
}

static int has_value(const ilk__view_id *one, ilk__span value)
{
    if (!value.at || !one->value)
        return !value.at && !one->value;
    return one->value_len == value.len
           && memcmp(one->value, value.at, value.len) == 0;
}

int ilk__view_set(ilk__group_view *view, ilk__span id, ilk__span value,
                  int64_t revision)
{
    ilk__view_id *one = find(view, id);
    char *copy = NULL;

    /* With revisions, the departure of an unknown id is kept: a list that was read
     * before it may still have the id. */
    if ((!one && !value.at && !revision) || (one && revision < one->revision))
        return 0;
    if (!one || !has_value(one, value)) {
        copy = value.at ? ilk__memdup(value.at, value.len) : NULL;
        if (!one && !(value.at && !copy))
            one = new_id(view, id);
        if (!one || (value.at && !copy)) {
            ilk__free(copy);
            return -1;
        }
        one->revision = revision;
        one->listing = view->listing;
        change(view, one, copy, value.len);
        return 1;
    }
    one->revision = revision;
    one->listing = view->listing;
    return 0;
}

void ilk__view_list_begins(ilk__group_view *view)
{
    view->listing++;
}

int ilk__view_lists(ilk__group_view *view, ilk__span id)
{
    ilk__view_id *one = find(view, id);

    if (one)
        one->listing = view->listing;
    return one && one->value;
}

int ilk__view_list_ends(ilk__group_view *view, int64_t revision)
{
    int has_changed = 0;

    for (ilk__view_id *one = view->members.first, *next; one; one = next) {
        next = one->next;
        if (one->listing == view->listing || one->revision > revision)
            continue;
        one->revision = revision;
        change(view, one, NULL, 0);
        has_changed = 1;
    }
    return has_changed;
}

void ilk__view_begin(ilk__group_view *view)
{
    view->floor = next_version(view);
}

/* ---- pages --------------------------------------------------------------- */

static int is_known(const ilk__group_view *view, const ilk__view_place *place)
{
    return view->floor && place->base >= view->floor
           && place->base <= view->version && place->cursor <= view->version;
}

int ilk__view_has_changes(const ilk__group_view *view,
                          const ilk__view_place *place)
{
    return !is_known(view, place) || place->base != view->version
           || place->cursor != view->version;
}

int ilk__view_continues(const ilk__group_view *view,
                        const ilk__view_place *place)
{
    return is_known(view, place) && place->cursor != place->base;
}

/* A part of one list, in its order. */
typedef struct part {
    const ilk__view_id *first;
    size_t count;
} part;

/* The ids behind version `from`, up to *reached, at most `most`. When it has `most`,
 * *reached becomes the version of the last one. */
static part part_of(const ilk__view_order *order, int64_t from,
                    int64_t *reached, size_t most)
{
    const ilk__view_id *one = order->last, *last = NULL;
    part found = {NULL, 0};

    while (one && one->version > from) {
        found.first = one;
        one = one->previous;
    }
    for (one = found.first;
         one && one->version <= *reached && found.count < most;
         one = one->next) {
        last = one;
        found.count++;
    }
    if (last && found.count == most)
        *reached = last->version;
    return found;
}

static int add_texts(ilk__buf *reply, const part *of, int values)
{
    const ilk__view_id *one = of->first;

    for (size_t i = 0; i < of->count; i++, one = one->next)
        if (ilk__resp_add_bytes(reply,
                                values ? (ilk__span){one->value, one->value_len}
                                       : (ilk__span){one->id, one->id_len}))
            return 0;
    return 1;
}

ilk_status ilk__view_add_page(ilk__buf *reply, const ilk__group_view *view,
                              int64_t head, const ilk__view_place *place)
{
    const int is_full = !is_known(view, place);
    const int64_t base = is_full ? view->version : place->base;
    const int64_t cursor = is_full ? 0 : place->cursor;
    int64_t reached = view->version;
    const part in = part_of(&view->members, cursor, &reached, place->count);
    const part left = part_of(&view->left, cursor > base ? cursor : base,
                              &reached, place->count);

    return ilk__resp_add(reply,
                         "*%zu\r\n:%" PRId64 "\r\n:%d\r\n:%" PRId64
                         "\r\n:%" PRId64 "\r\n:%d\r\n:%zu\r\n",
                         6 + 2 * in.count + left.count, head, is_full, base,
                         reached, reached < view->version, in.count)
                   || !add_texts(reply, &in, 0) || !add_texts(reply, &in, 1)
                   || !add_texts(reply, &left, 0)
               ? ILK_ENOMEM
               : ILK_OK;
}

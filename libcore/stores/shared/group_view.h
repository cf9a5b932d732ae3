/* SPDX-License-Identifier: MIT */
/*
 * group_view.h -- the members of a group as a store has reported them, and those who
 * have left.
 *
 *     members   a --- d --- b        in the order of their last changes
 *     left      c --- e              in the order in which they left
 *               ------------> versions
 *
 * Each change has a version. The changes after a version are those further on in both
 * lists; so a reader sends the version that it has, as in scripts/group/group_read.lua.
 * They are complete only from the floor on, which is the version of the first whole
 * list, or of the last departure that was forgotten: a reader with an earlier version
 * begins again, with all members.
 *
 * A version is greater than all that this client has had, of any group, and not below the
 * clock in microseconds. No other client sees it. So a reader may come back after its
 * view was dropped and another one begun: it is behind the floor then.
 *
 * A report has the store's revision of what it says, and an older one than the last
 * about the same id is ignored. A store whose reports come in order has 0 everywhere.
 */
#ifndef ILK__GROUP_VIEW_H
#define ILK__GROUP_VIEW_H

#include "base/buf.h"
#include "base/table.h"
#include "net/url_text.h"

#include <stdint.h>

typedef struct ilk__view_id ilk__view_id;

typedef struct ilk__view_order {
    ilk__view_id *first, *last;
    size_t count;
} ilk__view_order;

typedef struct ilk__group_view {
    int64_t *last_version; /* of the client */
    ilk__table by_id;
    ilk__view_order members, left;
    int64_t version, floor; /* floor 0: no whole list has come yet */
    int64_t listing;        /* counts the lists */
} ilk__group_view;

/* The place of a reader: it has applied all changes up to `cursor`. At the end of its
 * pages it has the whole group as of `base`; -1: it has nothing yet. */
typedef struct ilk__view_place {
    int64_t cursor, base;
    size_t count; /* of members, and as many who left, in a page */
} ilk__view_place;

void ilk__view_free(ilk__group_view *view);

/* The id has this value, or `value.at` NULL: it is not in. Returns whether that is
 * another one than before; -1: no memory. */
int ilk__view_set(ilk__group_view *view, ilk__span id, ilk__span value,
                  int64_t revision);
/* A whole list begins. Until it ends, each of its members is reported: by
 * ilk__view_set(), or by ilk__view_lists() when it still has the value that is known.
 * The list ends as of a revision: members that were not reported have left, unless a
 * report of a later revision has them. */
void ilk__view_list_begins(ilk__group_view *view);
/* 0: the id is not known, and needs a report. */
int ilk__view_lists(ilk__group_view *view, ilk__span id);
int ilk__view_list_ends(ilk__group_view *view, int64_t revision); /* as set */

/* The first whole list has ended: it is the floor. */
void ilk__view_begin(ilk__group_view *view);

/* Whether the reader is behind the view, or must begin again with all members. */
int ilk__view_has_changes(const ilk__group_view *view,
                          const ilk__view_place *place);
/* Whether the reader is in the midst of its pages. */
int ilk__view_continues(const ilk__group_view *view,
                        const ilk__view_place *place);
/* Append the next page as a reply of group_read: `head` is its first element.
 * ILK_ENOMEM. */
ilk_status ilk__view_add_page(ilk__buf *reply, const ilk__group_view *view,
                              int64_t head, const ilk__view_place *place);

#endif

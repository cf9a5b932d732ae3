/* SPDX-License-Identifier: MIT */
/*
 * members.h -- a handle's copy of a group's members, and their changes.
 *
 * The server sends changes page by page (group_read.lua). ilk__known_apply() puts a
 * page into the table; when the last one is in, ilk__known_report() compares the
 * table with what was reported before. So a page may be applied twice, a member may
 * change between two pages, and an error loses nothing.
 *
 *     page --apply--> shown: what was reported   now: what the server has
 *                        none                       value      JOINED
 *                        value                      none       LEFT
 *                        value                      other      UPDATED, or with
 *                                                              another token both
 */
#ifndef ILK__MEMBERS_H
#define ILK__MEMBERS_H

#include "base/table.h"
#include "redis/reply.h"

#include <interlock/group.h>

typedef struct ilk__known_member ilk__known_member;

typedef struct ilk__known {
    ilk__table members;
    ilk__known_member *first_changed, *last_changed; /* since the last report */
    /* The arguments of group_read.lua: all changes up to `cursor` were applied. */
    int64_t cursor, base;
    int more; /* there are further pages */
} ilk__known;

/* base is -1 until the first page, so that it begins with all members. */
void ilk__known_init(ilk__known *known);
void ilk__known_free(ilk__known *known);

/* Apply a reply of group_read, or STATE of group_watch. ILK_EREPLY, ILK_ENOMEM; the
 * next page then begins where this one did. */
ilk_status ilk__known_apply(ilk__known *known, const ilk__reply *reply,
                            ilk_error *err);

/* Report the changes since the last report. ILK_ENOMEM: the next call reports
 * them. */
ilk_status ilk__known_report(ilk_members **out, ilk__known *known,
                             ilk_error *err);

#endif

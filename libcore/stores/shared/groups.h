/* SPDX-License-Identifier: MIT */
/*
 * groups.h -- the groups of one client at a store that is no Redis.
 *
 *   the core's requests          this layer                    the store
 *
 *   group_join, _renew,
 *   _update, _leave            -------------------- the same -->
 *   group_read, group_watch    -------------------- list ------>
 *     <- page of the view, or QUEUED
 *     <- message: change       <------------------- has, has_left
 *   group_refresh, state_cancel  from the list of waiters; a refresh when the store
 *                                has answered
 *
 * For each request the store lists the members first, so the reply shows all that was
 * done before the request came; further pages are of the same view (group_view.h). A
 * wait also lets the store watch, from before the list on. So a change after the list
 * wakes the waiter, which sends its request again. After an interruption of the watch
 * the store lists the members once more for the waiters.
 *
 * One list of a group is under way at a time. Requests that come meanwhile share the
 * next one.
 *
 * The store keeps the members, each under a lease, and removes a member by itself when
 * its lease has ended. All functions are for the gateway's thread.
 */
#ifndef ILK__GROUPS_H
#define ILK__GROUPS_H

#include "group_view.h"
#include "state_names.h"

typedef struct ilk__groups ilk__groups;

/* Requests, linked by their `work`. */
typedef struct ilk__group_requests {
    ilk__gateway_request *first, *last;
} ilk__group_requests;

/* A group with requests or waiters of this client. */
typedef struct ilk__group_name {
    ilk__state_name state; /* first */
    void *at_store;        /* the store's own; forget_name() frees it */

    /* groups.c only */
    ilk__group_view view;
    ilk__group_requests listed, next; /* by the list under way, by the next */
    int is_listing;
    int is_watched;     /* lists let the store watch */
    int is_current;     /* the view has all that the store has reported */
    int is_interrupted; /* since the list began */
    int lacks_memory;   /* for a report of the list */
    int has_changed;    /* and nobody was woken yet */
    ilk__timer again;
} ilk__group_name;

/* The words of a request about a member. All of it is valid until the request has its
 * reply. */
typedef struct ilk__group_member {
    ilk__span id, token;
    ilk__span data;   /* of a join or an update */
    int64_t lease_ms; /* of a join or a renewal */
} ilk__group_member;

/* The work of a store; `self` is the backend's own. A member's value at the store is
 * ilk__group_value(). */
typedef struct ilk__group_store {
    /* join and renew end with held(), update and leave with done(). A join of an id
     * that another member has ends with refused(), the others with lost() when the
     * store does not have the member; all may end with failed(). A request about the
     * token that is in finds what an earlier copy did; a copy that comes after the
     * leave finds nobody. */
    void (*join)(void *self, ilk__group_name *name,
                 const ilk__group_member *member,
                 ilk__gateway_request *request);
    void (*renew)(void *self, ilk__group_name *name,
                  const ilk__group_member *member,
                  ilk__gateway_request *request);
    void (*update)(void *self, ilk__group_name *name,
                   const ilk__group_member *member,
                   ilk__gateway_request *request);
    void (*leave)(void *self, ilk__group_name *name,
                  const ilk__group_member *member,
                  ilk__gateway_request *request);
    /* Report all members; with `watches`, from then on each change, until the name is
     * forgotten or interrupted() was reported. Ends with was_listed(). */
    void (*list)(void *self, ilk__group_name *name, int watches);
    /* The name is not used any more; its watch ends. */
    void (*forget_name)(void *self, ilk__group_name *name);
} ilk__group_store;

/* NULL: no memory. */
ilk__groups *ilk__groups_new(ilk__gateway *gateway,
                             const ilk__group_store *store, void *self);
/* When the store works on no request any more. */
void ilk__groups_free(ilk__groups *groups);

/* A backend's call(), before that of other states. 0: the request is about something
 * else. */
int ilk__groups_call(ilk__groups *groups, ilk__gateway_request *request);
/* The time of the next timer, and what is due. */
int64_t ilk__groups_due(const ilk__groups *groups);
void ilk__groups_fire(ilk__groups *groups, int64_t now);

/* ---- values -------------------------------------------------------------- */

/* `1 <token> <data>`, as the core reads it; the caller frees it. ILK_ENOMEM. */
ilk_status ilk__group_value(ilk__bytes *out, const ilk__group_member *member);
/* Whether a text is such a value; and whether it has this token. */
int ilk__group_is_value(ilk__span text);
int ilk__group_has_token(ilk__span value, ilk__span token);

/* ---- reports about a request ---------------------------------------------- */

/* It is in, with so much of its lease left. */
void ilk__group_held(ilk__group_name *name, ilk__gateway_request *request,
                     int64_t lease_ms);
/* Another one is in under this id. */
void ilk__group_refused(ilk__group_name *name, ilk__gateway_request *request);
/* It was updated, or has left. */
void ilk__group_done(ilk__group_name *name, ilk__gateway_request *request);
/* The store does not have it. */
void ilk__group_lost(ilk__group_name *name, ilk__gateway_request *request);
/* `error`: such as "ILKDOWN no server of etcd answers"; NULL: it may have been
 * executed, or will be. */
void ilk__group_failed(ilk__group_name *name, ilk__gateway_request *request,
                       const char *error);

/* ---- reports about members ------------------------------------------------ */

/* See ilk__view_set() and ilk__view_list_begins() for revisions and lists. A text that
 * is no value counts as nobody. */
void ilk__group_has(ilk__group_name *name, ilk__span id, ilk__span value,
                    int64_t revision);
void ilk__group_has_left(ilk__group_name *name, ilk__span id, int64_t revision);
void ilk__group_list_begins(ilk__group_name *name);
int ilk__group_lists(ilk__group_name *name, ilk__span id);
void ilk__group_list_ends(ilk__group_name *name, int64_t revision);
/* How many are in by the reports, and whether a report of this list was lost for want
 * of memory. */
size_t ilk__group_count(const ilk__group_name *name);
int ilk__group_lacks_report(const ilk__group_name *name);
/* The list that was called for has ended; NULL: it is whole. */
void ilk__group_was_listed(ilk__group_name *name, const char *error);
/* The store does not watch any more, and may have missed a change. */
void ilk__group_interrupted(ilk__group_name *name);

#endif

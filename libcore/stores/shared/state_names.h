/* SPDX-License-Identifier: MIT */
/*
 * state_names.h -- the names of small states, such as registers, that one client uses at
 * a store that is no Redis, and the waiters for their changes.
 *
 * A name is kept while a request or a waiter needs it, and for a moment after that,
 * because a waiter comes back after each change. A waiter is listed by its entry, as the
 * core has written it, until a change wakes it, the core cancels it, or no refresh of its
 * client comes in time.
 *
 * All functions are for the gateway's thread.
 */
#ifndef ILK__STATE_NAMES_H
#define ILK__STATE_NAMES_H

#include "base/table.h"
#include "base/timer.h"
#include "gateway/backend.h"
#include "redis/keys.h"

typedef struct ilk__state_names ilk__state_names;
typedef struct ilk__state_name ilk__state_name;
typedef struct ilk__state_waiter ilk__state_waiter;

/* A primitive's struct for a name begins with one. */
struct ilk__state_name {
    ilk__bytes key;             /* keys[0] of the requests: in its own memory */
    size_t requests;            /* that the store works on */
    ilk__state_waiter *waiters; /* NULL: none */

    /* state_names.c only */
    ilk__node by_key;
    ilk__state_names *of;
    ilk__timer timer; /* to forget it */
};

struct ilk__state_names {
    ilk__gateway *gateway;
    size_t name_size; /* of the primitive's struct for a name */
    /* The name was not used for a while: forget() follows. NULL: nothing to do. */
    void (*unused)(ilk__state_name *name);
    /* Free what belongs to the name, but not the name. */
    void (*forget)(ilk__state_name *name);
    ilk__timers timers; /* the primitive may have further ones; see _fire() */

    /* state_names.c only */
    ilk__table by_key, by_entry;
    size_t waiter_count;
};

/* Forget all names. Their requests have their replies. */
void ilk__state_names_free(ilk__state_names *names);
/* Run the timers that are due, with the names as context. */
void ilk__state_names_fire(ilk__state_names *names, int64_t now);

/* The name of the request, which may be new: zeroed. NULL: no memory, and the request
 * has got its reply. ilk__state_name_settle() follows, when its use ends. */
ilk__state_name *ilk__state_name_find(ilk__state_names *names,
                                      ilk__gateway_request *request);
void ilk__state_name_settle(ilk__state_name *name);

/* ---- waiters --------------------------------------------------------------
 *
 * The request is one that waits, with its entry, client and liveness as the first
 * arguments. */

/* Whether it has an entry; without one it only reads. */
int ilk__state_waiter_is_named(const ilk__gateway_request *request);
/* List the waiter, or keep it listed. 0: it could not, and the request has its reply. */
int ilk__state_waiter_add(ilk__state_name *name, ilk__gateway_request *request);
/* It waits no more. */
void ilk__state_waiter_remove(ilk__state_name *name,
                              const ilk__gateway_request *request);
/* Wake all waiters of the name: they leave the list, and send their requests again. */
void ilk__state_name_wake(ilk__state_name *name);

/* Reply to a refresh: QUEUED for each entry that is listed, GONE for the others. */
void ilk__state_names_refresh(ilk__state_names *names,
                              ilk__gateway_request *request);
/* Reply to a cancel. 0: its entry is not listed here, and it has no reply. */
int ilk__state_names_cancel(ilk__state_names *names,
                            ilk__gateway_request *request);

/* The error for an argument that is not a whole number in its range. */
void ilk__state_misuse(ilk__gateway_request *request);

#endif

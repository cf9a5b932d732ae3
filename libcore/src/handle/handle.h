/* SPDX-License-Identifier: MIT */
/*
 * handle.h -- what every handle on a name carries: its client, whether a
 * request is at work on it, and whether it belongs to this process.
 *
 *     init, bind -> [enter -> a request -> leave]* -> forget -> close
 *
 * A type of handles has an ilk__handle as its first member, so that one is
 * the other. Each request begins with ilk__handle_enter() and ends with
 * ilk__handle_leave(); between them the handle is that request's alone.
 *
 * After a fork the child's handles answer ILK_EFORKED until their client is
 * reopened. The next request then binds the handle to the child's client once
 * more; docs/fork.md has the whole way.
 */
#ifndef ILK__HANDLE_H
#define ILK__HANDLE_H

#include "client/client.h"
#include "client/loop.h"

typedef struct ilk__handle ilk__handle;
typedef ilk_status ilk__handle_binder(ilk__handle *handle, int *out_in_use,
                                      ilk_error *err);

struct ilk__handle {
    ilk_client *client; /* counted */
    const char *noun;   /* "lock": for texts; constant */
    /*
     * Set up what belongs to the client's shared state, when the handle is
     * opened and again in a child. *out_in_use is 1 when the parent held or
     * awaited something by it: that stays the parent's, and the request answers
     * ILK_EFORKED once. NULL: there is nothing to bind, and such a handle
     * stays the parent's.
     */
    ilk__handle_binder *bind;
    uint32_t era;         /* the client's, when the handle was bound */
    _Atomic int32_t busy; /* a request is under way */
};

/* Refers to the client, and binds nothing yet. */
void ilk__handle_init(ilk__handle *handle, ilk_client *client, const char *noun,
                      ilk__handle_binder *bind);

/* Bind the handle to its client, unless it is; out_in_use may be NULL. */
ilk_status ilk__handle_bind(ilk__handle *handle, int *out_in_use,
                            ilk_error *err);

/* The handle is being freed: what was started on it ends. */
void ilk__handle_forget(ilk__handle *handle);
/* The reference to the client goes; the client may be closed by that. */
void ilk__handle_close(ilk__handle *handle);

/*
 * For every request. ILK_EFORKED, ILK_ECLOSED, ILK_EHELD (another request is at
 * work), or what binding failed with.
 */
ilk_status ilk__handle_enter(ilk__handle *handle, ilk_error *err);
void ilk__handle_leave(ilk__handle *handle);

/* 0: it is of the parent process, so there is nothing to give back. */
int ilk__handle_is_mine(const ilk__handle *handle);

/* For a cancel, which may come while a request is under way: as enter, without
   waiting for the request. *out_is_mine: there is something to cancel. */
ilk_status ilk__handle_check(const ilk__handle *handle, int *out_is_mine,
                             ilk_error *err);

#endif

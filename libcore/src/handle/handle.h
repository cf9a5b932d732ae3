/* SPDX-License-Identifier: MIT */
/*
 * handle.h -- the common part of every handle on a name: its client, whether a
 * request is running on it, and whether it belongs to this process.
 *
 *     init, bind -> [enter -> a request -> leave]* -> forget -> close
 *
 * Every handle type has an ilk__handle as its first member, so a pointer to
 * one can be cast to the other. Each request begins with ilk__handle_enter()
 * and ends with ilk__handle_leave(); no other request runs on the handle
 * between the two.
 *
 * After a fork, requests in the child return ILK_EFORKED until the client is
 * reopened there. The next request then binds the handle to the child's client
 * again; docs/fork.md describes all steps.
 */
#ifndef ILK__HANDLE_H
#define ILK__HANDLE_H

#include "client/client.h"
#include "client/loop.h"

typedef struct ilk__handle ilk__handle;
typedef ilk_status ilk__handle_binder(ilk__handle *handle, int *out_in_use,
                                      ilk_error *err);

struct ilk__handle {
    ilk_client *client; /* a counted reference */
    const char *noun;   /* "lock": for error texts; constant */
    /*
     * Sets up the parts that belong to the client's shared state: when the
     * handle is opened, and again in a forked child. *out_in_use is 1 when the
     * parent held or awaited something through this handle: the parent keeps
     * it, and the child's request returns ILK_EFORKED once. NULL: there is
     * nothing to bind, and the handle cannot be used in a child.
     */
    ilk__handle_binder *bind;
    uint32_t era;         /* the client's era when the handle was bound */
    _Atomic int32_t busy; /* a request is running */
};

/* Takes a reference to the client; ilk__handle_bind() does the rest. */
void ilk__handle_init(ilk__handle *handle, ilk_client *client, const char *noun,
                      ilk__handle_binder *bind);

/* Bind the handle to its client, unless it is bound; out_in_use may be NULL. */
ilk_status ilk__handle_bind(ilk__handle *handle, int *out_in_use,
                            ilk_error *err);

/* The handle is being freed: end the operations that were started on it. */
void ilk__handle_forget(ilk__handle *handle);
/* Drop the reference to the client. The last one closes the client. */
void ilk__handle_close(ilk__handle *handle);

/*
 * Begin and end every request. enter returns ILK_EFORKED, ILK_ECLOSED,
 * ILK_EHELD (another request is running), or the status of a failed bind.
 */
ilk_status ilk__handle_enter(ilk__handle *handle, ilk_error *err);
void ilk__handle_leave(ilk__handle *handle);

/* 0: the handle belongs to the parent process, which also cleans up. */
int ilk__handle_is_mine(const ilk__handle *handle);

/* For a cancel, which may be called while a request is running: checks as enter
   does, but a busy handle is accepted. *out_is_mine is 1 if the handle belongs
   to this process, so that there may be something to cancel. */
ilk_status ilk__handle_check(const ilk__handle *handle, int *out_is_mine,
                             ilk_error *err);

#endif

/* SPDX-License-Identifier: MIT */
/* promise.h -- who sees to it that what a server is told gets done. */
#ifndef ILK__PROMISE_H
#define ILK__PROMISE_H

#include <interlock/base.h>

/*
 * Goes along with a command whose answer nobody reads. `ended` is called
 * once, by whoever has the promise then, without a mutex: ILK_OK, the server
 * did it; ILK_ECLOSED, the client goes; else it did not, or nobody knows, and
 * over that connection it never will. It frees the promise.
 */
typedef struct ilk__promise ilk__promise;
struct ilk__promise {
    void (*ended)(ilk__promise *promise, ilk_status status);
    ilk__promise *next; /* who has it keeps it in a list */
    ilk_status status;
};

#endif

/* SPDX-License-Identifier: MIT */
/*
 * started_wait.h -- the table of all waits that can be started.
 *
 * A row has to wait because of `block`, which another client calls before the
 * wait starts, and gets what it waits for by `grant`, which that client calls
 * later. ct_started_waits.c plays its scenarios with all rows side by side.
 */
#ifndef ILK__STARTED_WAIT_H
#define ILK__STARTED_WAIT_H

#include "started_result.h"

enum {
    /* One grant ends one wait: the next in the queue needs another grant, or
     * that the first gives back. */
    WAIT_EXCLUSIVE = 1,
    /* A cancel after the grant is too late, and the wait ends with ILK_OK.
     * Others learn of the grant when they ask again. */
    WAIT_GRANT_STANDS = 2,
    /* Any number of waits may run on one handle. */
    WAIT_SHARES_HANDLE = 4,
    /* A server that has lost its memory grants by itself. */
    WAIT_NEEDS_MEMORY = 8,
    /* The server counts one waiter for each client. */
    WAIT_ONE_A_CLIENT = 16,
    /* Each grant ends as many waits as the primitive's options say. */
    WAIT_IN_ROUNDS = 32,
    /* A wait of 0 ms asks nobody and is refused by the start. */
    WAIT_REFUSES_TO_TRY = 64,
    /* Newcomers may pass the wait queue. */
    WAIT_UNORDERED = 128,
    /* It awaits a subscription, and may start while the server is away. */
    WAIT_SENDS_NO_REQUEST = 256
};

/* In commands, each @ is the name. */
typedef struct wait_row {
    const char *name;     /* of the row */
    const char *function; /* that starts it */
    const char *noun;     /* of the handle, in texts of errors */
    int traits;
    started_result result;
    const char *waiting; /* a command: how many wait */
    /* A command and its answer when nobody has or awaits what there is to get,
     * after a grant; NULL: a grant leaves nothing. */
    const char *spare, *spare_answer;
    /* A command that makes the lease of a grant so long that its end frees
     * nothing during a test; answers 1. NULL: a grant has no lease. */
    const char *prolong;

    void *(*open)(ilk_client *of, const char *name);
    ilk_status (*start)(ilk_op **out, void *handle, int64_t timeout_ms,
                        ilk_error *err);
    /* With an argument that must be refused; NULL: there is none. */
    ilk_status (*start_wrong)(ilk_op **out, void *handle, ilk_error *err);
    ilk_status (*cancel)(void *handle, ilk_error *err);
    /* Give back what a wait got; NULL: freeing the operation does. */
    ilk_status (*give_back)(void *handle, ilk_error *err);
    void (*free)(void *handle);

    void *(*block)(ilk_client *of, const char *name);
    void (*grant)(void *theirs);
    void (*unblock)(void *theirs); /* free what `block` answered */
} wait_row;

extern const wait_row wait_rows[];
extern const size_t wait_row_count;

#endif

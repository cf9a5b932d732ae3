/* SPDX-License-Identifier: MIT */
/*
 * caller.h -- a process that calls the verbs of the library while its servers come
 * and go, as caller.py does: the commands and the reports are described there.
 *
 *   outage_caller blocking|started URL GIVEN-URL AT-ONCE-URL
 *   outage_caller verbs-blocking|verbs-started
 */
#ifndef ILK_TEST_OUTAGE_CALLER_H
#define ILK_TEST_OUTAGE_CALLER_H

#include <interlock.h>

#include <pthread.h>

enum { CALLER_NAME_MAX = 64, CALLER_TOKEN_MAX = 128 };

typedef struct caller_row caller_row;

/* A call: what it works on, and how it ended. */
typedef struct caller_cell {
    const caller_row *row;
    int number;
    char when[16];
    int64_t limit_ms;
    char name[CALLER_NAME_MAX];
    ilk_client *client, *other;
    void *handle, *second;        /* made by the row */
    void *blocker;                /* what lets it wait, of the other client */
    char token[CALLER_TOKEN_MAX]; /* of what somebody else holds or began */
    int64_t number_out;           /* what the call returns */
    double began;
    ilk_op *op; /* started, or NULL */
    int ended;  /* atomic */
} caller_cell;

typedef ilk_status caller_step(caller_cell *c, ilk_error *err);

/* A verb: prepared by `make`; a call that is to wait has to by `block`, and gets
 * what it waits for by `serve`. */
struct caller_row {
    const char *verb;
    caller_step *make, *call;
    ilk_status (*start)(ilk_op **out, caller_cell *c, ilk_error *err);
    caller_step *block, *serve;
};

extern int64_t caller_lease_ms;        /* of all holds */
extern const caller_row caller_rows[]; /* ended by one without a verb */

#endif

/* SPDX-License-Identifier: MIT */
/*
 * started_request.h -- the table of all requests that can be started: what
 * does not wait for others, but only for the server's reply.
 *
 * `open` makes a handle for which the request succeeds once.
 * ct_started_requests.c plays its scenarios with all rows side by side.
 */
#ifndef ILK__STARTED_REQUEST_H
#define ILK__STARTED_REQUEST_H

#include "started_result.h"

enum {
    REQUEST_BY_NAME = 1, /* the handle is the client */
    /* It goes on when its handle is freed. */
    REQUEST_OUTLIVES_HANDLE = 2,
    /* The client knows the answer, and sends nothing. */
    REQUEST_IS_LOCAL = 4,
    /* It registers a wait, which a cancel withdraws, as does freeing. */
    REQUEST_REGISTERS = 8,
    /* It goes on while the server is away. Others end with ILK_ECONN. */
    REQUEST_PATIENT = 16
};

typedef struct request_row request_row;

/* One row being played. The rest of the struct is what `open` made. */
typedef struct request {
    const request_row *row;
    char name[32];
    ilk_client *client;
    ilk_op *op;
    void *handle;
    char data[80];
    void *second; /* of another client */
    void (*free_second)(void *second);
    ilk_op *wait; /* of the second handle */
} request;

/* In commands, each @ is the name. */
struct request_row {
    const char *name;     /* of the row */
    const char *function; /* that starts it */
    const char *noun;     /* of the handle, in texts of errors */
    int traits;
    started_result result;
    int64_t number; /* with RESULT_NUMBER */
    /* A command and its answer when the request was executed; NULL: it changes
     * nothing. */
    const char *effect, *effect_answer;
    ilk_status second; /* of another start meanwhile on the handle */
    /* How it ends when the server has lost its memory: the first was never
     * sent before, and is patient; a copy of the second may have been
     * executed. */
    ilk_status forgotten, repeated;
    const char *word; /* in its command; NULL: the name */

    void (*open)(request *r);
    /* name and data are the caller's again when it returns. */
    ilk_status (*start)(ilk_op **out, void *handle, const char *name,
                        const char *data, ilk_error *err);
    /* With an argument that must be refused; NULL: there is none. */
    ilk_status (*start_wrong)(ilk_op **out, void *handle, ilk_error *err);
    void (*free)(void *handle);
    /* A handle that holds nothing, which cannot start it; NULL: none is. */
    void *(*open_idle)(ilk_client *of, const char *name);
};

extern const request_row request_rows[];
extern const size_t request_row_count;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * request.h -- a request: what a caller asked for, as operations one after the
 * other, no I/O.
 *
 *     begin --ask--> operation --ends--> then --ask--> operation --> ... end
 *
 * begin() checks the arguments and enters the handle; it and every then()
 * either ask once more, by ilk__request_ask() or ilk__request_wait(), or end
 * the request, after they have left the handle. The same request runs in its
 * caller's thread until it is over (run.h, ilk__request_run()), or is started
 * and driven by the application's event loop (loop.h, ilk__request_start()).
 *
 * A primitive writes
 *
 *     struct extend_request { ilk__request request; what it works on };
 *
 * with the request first, and gives what it works on a life as long as the
 * request's: nothing may point to the caller's memory once begin() is done.
 */
#ifndef ILK__REQUEST_H
#define ILK__REQUEST_H

#include "base/park.h"
#include "op.h"

#include <interlock/client.h>

typedef struct ilk__request ilk__request;
typedef void ilk__request_begin(ilk__request *request);
typedef void ilk__request_then(ilk__request *request, ilk_status status);

/* What a started request leaves in its operation; see interlock/op.h. */
typedef struct ilk__result {
    int64_t number;
    void *object;
    void (*dispose)(void *object);
} ilk__result;

struct ilk__request {
    /* filled in by the primitive */
    const void *handle; /* ends with it, if that is freed first; may be NULL */
    /* a wait: end it, as the primitive's cancel does; its place, too, when it
     * has answered ILK_EINTR. NULL: no wait */
    void (*give_up)(ilk__request *request);

    /* while it runs */
    ilk_client *client;
    int64_t reply_timeout_ms; /* the client's */
    ilk__op *op;              /* the one under way */
    ilk__parker *parker;      /* where its news arrive; NULL: none do */
    ilk__request_then *then;  /* when it ends; NULL: the request is over */
    ilk_error *err;           /* never NULL */

    /* when it is over */
    ilk_status status;
    ilk__result result;
};

/* For begin() and then(): one question, or something to wait for. */
void ilk__request_ask(ilk__request *request, const ilk__op_type *type,
                      void *subject, int64_t deadline, ilk__request_then *then);
void ilk__request_wait(ilk__request *request, const ilk__op_type *type,
                       void *subject, ilk__parker *parker, int64_t deadline,
                       ilk__request_then *then);
/* The client's usual time for one question, from now. */
int64_t ilk__request_patience(const ilk__request *request);
/* A question whose failure is nobody's concern: after ilk__request_ask(). */
void ilk__request_hush(ilk__request *request);
/* What it answers; the getters for objects know them by how they are freed. */
void ilk__request_answer(ilk__request *request, void *object,
                         void (*dispose)(void *object));
void ilk__request_end(ilk__request *request, ilk_status status);
void ilk__request_fail(ilk__request *request, ilk_status status,
                       const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif

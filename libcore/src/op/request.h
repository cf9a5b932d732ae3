/* SPDX-License-Identifier: MIT */
/*
 * request.h -- a request: one call of the public API, as a sequence of
 * operations. It does no I/O.
 *
 *     begin --ask--> operation --ends--> then --ask--> operation --> ... end
 *
 * begin() checks the arguments and enters the handle. It and every then()
 * either set the next operation, by ilk__request_ask() or ilk__request_wait(),
 * or leave the handle and end the request. The same request can run in its
 * caller's thread until it is over (run.h, ilk__request_run()), or can be
 * started and driven by the application's event loop (loop.h,
 * ilk__request_start()).
 *
 * A primitive declares
 *
 *     struct extend_request { ilk__request request; its own data };
 *
 * with the request first. The event loop runs a copy of the struct after the
 * call has returned, so nothing in it may point to the caller's memory once
 * begin() has returned.
 */
#ifndef ILK__REQUEST_H
#define ILK__REQUEST_H

#include "base/park.h"
#include "op.h"

#include <interlock/client.h>

typedef struct ilk__request ilk__request;
typedef void ilk__request_begin(ilk__request *request);
typedef void ilk__request_then(ilk__request *request, ilk_status status);

/* The result of a started request, kept in its ilk_op; see interlock/op.h. */
typedef struct ilk__result {
    int64_t number;
    void *object;
    void (*dispose)(void *object);
} ilk__result;

struct ilk__request {
    /* filled in by the primitive */
    const void *handle; /* if it is freed, the request ends; may be NULL */
    /* Cancels the wait, as the primitive's public cancel does; after ILK_EINTR
     * it also gives up the entry that stayed in the wait queue. NULL: the
     * request does not wait. */
    void (*give_up)(ilk__request *request);

    /* while it runs */
    ilk_client *client;
    int64_t reply_timeout_ms; /* the client's */
    ilk__outage *outage;      /* the client's */
    ilk__op *op;              /* the current operation */
    ilk__parker *parker;      /* woken for its news; NULL: it has none */
    ilk__request_then *then;  /* called when it ends; NULL: request is over */
    ilk_error *err;           /* never NULL */

    /* when it is over */
    ilk_status status;
    ilk__result result;
};

/*
 * For begin() and then(): the next operation. The first one has no limit of the
 * caller's: in an outage it tries again for the client's outage_ms. The second one
 * has, `deadline`, and can be woken by `parker`; an outage ends it at the deadline, or
 * before it if the program has said so.
 */
void ilk__request_ask(ilk__request *request, const ilk__op_type *type,
                      void *subject, int64_t deadline, ilk__request_then *then);
void ilk__request_wait(ilk__request *request, const ilk__op_type *type,
                       void *subject, ilk__parker *parker, int64_t deadline,
                       ilk__request_then *then);
/* The deadline of a call without a limit: by then it has a reply, or an outage has
 * ended it. */
int64_t ilk__request_patience(const ilk__request *request);
/* After ilk__request_ask(): its failure must not fill the caller's error. */
void ilk__request_hush(ilk__request *request);
/* Set the result. `dispose` frees the object and also identifies its type for
 * the getters (ilk__started_object()). */
void ilk__request_answer(ilk__request *request, void *object,
                         void (*dispose)(void *object));
void ilk__request_end(ilk__request *request, ilk_status status);
void ilk__request_fail(ilk__request *request, ilk_status status,
                       const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif

/* SPDX-License-Identifier: MIT */
/*
 * verb.h -- what a caller asked for: operations one after the other, no I/O.
 *
 *     begin --ask--> operation --ends--> then --ask--> operation --> ... end
 *
 * begin() checks the arguments and enters the handle; it and every then()
 * either ask once more, by ilk__verb_ask() or ilk__verb_wait(), or end the
 * verb, after they have left the handle. The same verb runs in its caller's
 * thread until it is over (run.h, ilk__verb_run()), or is started and driven
 * by the application's event loop (loop.h, ilk__verb_start()).
 *
 * A primitive writes
 *
 *     typedef struct extending { ilk__verb verb; what it works on } extending;
 *
 * with the verb first, and gives what it works on a life as long as the
 * verb's: nothing may point to the caller's memory once begin() is done.
 */
#ifndef ILK__VERB_H
#define ILK__VERB_H

#include "base/park.h"
#include "op.h"

#include <interlock/client.h>

typedef struct ilk__verb ilk__verb;
typedef void ilk__verb_begin(ilk__verb *verb);
typedef void ilk__verb_then(ilk__verb *verb, ilk_status status);

/* What a started verb leaves in its operation; see interlock/op.h. */
typedef struct ilk__result {
    int64_t number;
    void *object;
    void (*dispose)(void *object);
} ilk__result;

struct ilk__verb {
    /* filled in by the primitive */
    const void *handle; /* ends with it, if that is freed first; may be NULL */
    /* a wait: end it, as the primitive's cancel does; its place, too, when it
     * has answered ILK_EINTR. NULL: no wait */
    void (*give_up)(ilk__verb *verb);

    /* while it runs */
    ilk_client *client;
    int64_t reply_timeout_ms; /* the client's */
    ilk__op *op;              /* the one under way */
    ilk__parker *parker;      /* where its news arrive; NULL: none do */
    ilk__verb_then *then;     /* when it ends; NULL: the verb is over */
    ilk_error *err;           /* never NULL */

    /* when it is over */
    ilk_status status;
    ilk__result result;
};

/* For begin() and then(): one question, or something to wait for. */
void ilk__verb_ask(ilk__verb *verb, const ilk__op_type *type, void *subject,
                   int64_t deadline, ilk__verb_then *then);
void ilk__verb_wait(ilk__verb *verb, const ilk__op_type *type, void *subject,
                    ilk__parker *parker, int64_t deadline,
                    ilk__verb_then *then);
/* The client's usual time for one question, from now. */
int64_t ilk__verb_patience(const ilk__verb *verb);
/* A question whose failure is nobody's concern: after ilk__verb_ask(). */
void ilk__verb_hush(ilk__verb *verb);
/* What it answers; the getters for objects know them by how they are freed. */
void ilk__verb_answer(ilk__verb *verb, void *object,
                      void (*dispose)(void *object));
void ilk__verb_end(ilk__verb *verb, ilk_status status);
void ilk__verb_fail(ilk__verb *verb, ilk_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif

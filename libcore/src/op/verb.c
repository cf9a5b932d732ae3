/* SPDX-License-Identifier: MIT */
/* verb.c -- operations one after the other, in the caller's thread. */
#include "verb.h"

#include "base/clock.h"
#include "client/run.h"

#include <stdarg.h>
#include <stdio.h>

void ilk__verb_wait(ilk__verb *verb, const ilk__op_type *type, void *subject,
                    ilk__parker *parker, int64_t deadline, ilk__verb_then *then)
{
    ilk__op_init(verb->op, type, subject, deadline, verb->err);
    verb->parker = parker;
    verb->then = then;
}

void ilk__verb_ask(ilk__verb *verb, const ilk__op_type *type, void *subject,
                   int64_t deadline, ilk__verb_then *then)
{
    ilk__verb_wait(verb, type, subject, NULL, deadline, then);
}

int64_t ilk__verb_patience(const ilk__verb *verb)
{
    return ilk__deadline(verb->client->opts.reply_timeout_ms);
}

void ilk__verb_hush(ilk__verb *verb)
{
    verb->op->err = NULL;
}

void ilk__verb_answer(ilk__verb *verb, void *object,
                      void (*dispose)(void *object))
{
    verb->result.object = object;
    verb->result.dispose = dispose;
}

void ilk__verb_end(ilk__verb *verb, ilk_status status)
{
    verb->then = NULL;
    verb->status = status;
}

void ilk__verb_fail(ilk__verb *verb, ilk_status status, const char *format, ...)
{
    char text[ILK_ERROR_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ilk__verb_end(verb, ilk__fail(verb->err, status, "%s", text));
}

ilk_status ilk__verb_run(ilk__verb *verb, ilk_client *client,
                         ilk__verb_begin *begin, ilk_error *err)
{
    ilk_error own = {0};
    ilk__parker parker;
    ilk__op op;
    ilk_status st = ilk__parker_init(&parker, err);

    if (st)
        return st;
    verb->client = client;
    verb->op = &op;
    verb->err = err ? err : &own;
    begin(verb);
    while (verb->then) {
        ilk__verb_then *then = verb->then;

        st = ilk__run(client, &op, verb->parker ? verb->parker : &parker);
        ilk__op_free(&op);
        verb->then = NULL;
        then(verb, st);
    }
    ilk__parker_destroy(&parker);
    return verb->status;
}

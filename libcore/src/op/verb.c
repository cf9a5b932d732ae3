/* SPDX-License-Identifier: MIT */
/* verb.c -- operations one after the other: what is asked next, and the end. */
#include "verb.h"

#include "base/clock.h"

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
    return ilk__deadline(verb->reply_timeout_ms);
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

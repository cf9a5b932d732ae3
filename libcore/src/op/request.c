/* SPDX-License-Identifier: MIT */
/* request.c -- a request: setting its next operation, its result, its end. */
#include "request.h"

#include "base/clock.h"

#include <stdarg.h>
#include <stdio.h>

void ilk__request_wait(ilk__request *request, const ilk__op_type *type,
                       void *subject, ilk__parker *parker, int64_t deadline,
                       ilk__request_then *then)
{
    ilk__op *op = request->op;

    ilk__op_init(op, type, subject, deadline, request->err);
    op->outage = request->outage;
    op->persist_ms = request->outage->cap_ms;
    request->parker = parker;
    request->then = then;
}

void ilk__request_ask(ilk__request *request, const ilk__op_type *type,
                      void *subject, int64_t deadline, ilk__request_then *then)
{
    ilk__request_wait(request, type, subject, NULL, deadline, then);
    request->op->persist_ms = request->outage->wait_ms;
}

int64_t ilk__request_patience(const ilk__request *request)
{
    return ilk__outage_patience(request->outage, request->reply_timeout_ms);
}

void ilk__request_hush(ilk__request *request)
{
    request->op->err = NULL;
}

void ilk__request_answer(ilk__request *request, void *object,
                         void (*dispose)(void *object))
{
    request->result.object = object;
    request->result.dispose = dispose;
}

void ilk__request_end(ilk__request *request, ilk_status status)
{
    request->then = NULL;
    request->status = status;
}

void ilk__request_fail(ilk__request *request, ilk_status status,
                       const char *format, ...)
{
    char text[ILK_ERROR_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ilk__request_end(request, ilk__fail(request->err, status, "%s", text));
}

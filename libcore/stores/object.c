/* SPDX-License-Identifier: MIT */
/*
 * object.c -- a part of each backend that is a shared object: its entry, and the
 * core's functions that the table of services has.
 *
 * ILK_BACKEND is the name of its ilk__backend, ILK_BACKEND_VERSION the version that it
 * is built from. All functions of alloc.h are here: if one were missing, the linker
 * would take the core's alloc.c for it, which has all the others as well.
 */
#include "gateway/backend_services.h"

#include "base/alloc.h"
#include "base/log.h"

#include <interlock/base.h>

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

extern const ilk__backend ILK_BACKEND;
extern ILK_API ilk__backend_entry interlock_backend;

static _Atomic(const ilk__backend_services *) services;

const ilk__backend *interlock_backend(const char *core,
                                      const ilk__backend_services *table,
                                      const char **out_own)
{
    *out_own = ILK_BACKEND_VERSION;
    if (strcmp(core, ILK_BACKEND_VERSION) != 0)
        return NULL;
    atomic_store(&services, table);
    return &ILK_BACKEND;
}

static const ilk__backend_services *core(void)
{
    return atomic_load_explicit(&services, memory_order_relaxed);
}

/* ---- memory ------------------------------------------------------------- */

void *ilk__malloc(size_t size)
{
    return core()->malloc(size);
}

void *ilk__calloc(size_t count, size_t size)
{
    return core()->calloc(count, size);
}

void *ilk__realloc(void *ptr, size_t size)
{
    return core()->realloc(ptr, size);
}

void ilk__free(void *ptr)
{
    core()->free(ptr);
}

char *ilk__strdup(const char *text)
{
    return text ? ilk__memdup(text, strlen(text)) : NULL;
}

void *ilk__memdup(const void *data, size_t len)
{
    char *copy = len == SIZE_MAX ? NULL : ilk__malloc(len + 1);

    if (!copy)
        return NULL;
    if (len)
        memcpy(copy, data, len);
    copy[len] = '\0';
    return copy;
}

void ilk__wipe(void *data, size_t len)
{
    if (!data || !len)
        return;
    memset(data, 0, len);
    __asm__ __volatile__("" : : "r"(data) : "memory"); /* see alloc.c */
}

/* ---- the log ------------------------------------------------------------ */

enum { LINE = 1024 };

void ilk__log(ilk__log_level level, const char *format, ...)
{
    char line[LINE];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    core()->log((int)level, line);
}

/* ---- the gateway -------------------------------------------------------- */

void ilk__gateway_reply_args(ilk__gateway_request *request, int code,
                             const char *types, va_list args)
{
    core()->reply_args(request, code, types, args);
}

void ilk__gateway_reply(ilk__gateway_request *request, int code,
                        const char *types, ...)
{
    va_list args;

    va_start(args, types);
    ilk__gateway_reply_args(request, code, types, args);
    va_end(args);
}

void ilk__gateway_reply_text(ilk__gateway_request *request, const void *text,
                             size_t len)
{
    core()->reply_text(request, text, len);
}

void ilk__gateway_reply_error(ilk__gateway_request *request, const char *text)
{
    core()->reply_error(request, text);
}

void ilk__gateway_break(ilk__gateway_request *request)
{
    core()->break_connection(request);
}

void ilk__gateway_contact_made(ilk__gateway_request *request)
{
    core()->contact_made(request);
}

size_t ilk__gateway_publish(ilk__gateway *gateway, ilk__span pattern,
                            ilk__span channel, ilk__span message)
{
    return core()->publish(gateway, pattern, channel, message);
}

void ilk__gateway_left_open(ilk__gateway *gateway)
{
    core()->left_open(gateway);
}

void ilk__gateway_wake(ilk__gateway *gateway)
{
    core()->wake(gateway);
}

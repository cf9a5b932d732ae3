/* SPDX-License-Identifier: MIT */
/*
 * backend_services.h -- what a backend in a shared object gets from the core that
 * loads it.
 *
 * The object exports one function, `interlock_backend`. It and the core must have one
 * version, because they share structs and the numbers of scripts. The object has
 * copies of the parts of base/ and net/ that it uses, such as buffers, sockets and TLS.
 * This table has the functions of the parts with a state of their own: memory, the log,
 * and the gateway that calls the backend. libcore/stores/object.c defines the functions
 * of alloc.h, log.h and backend.h with it, so that a backend calls them as the core does.
 */
#ifndef ILK__BACKEND_SERVICES_H
#define ILK__BACKEND_SERVICES_H

#include "backend.h"

#define ILK__BACKEND_ENTRY "interlock_backend"

typedef struct ilk__backend_services {
    void *(*malloc)(size_t size);
    void *(*calloc)(size_t count, size_t size);
    void *(*realloc)(void *ptr, size_t size);
    void (*free)(void *ptr);
    void (*log)(int level, const char *line);
    void (*reply_args)(ilk__gateway_request *request, int code,
                       const char *types, va_list args);
    void (*reply_text)(ilk__gateway_request *request, const void *text,
                       size_t len);
    void (*reply_error)(ilk__gateway_request *request, const char *text);
    void (*break_connection)(ilk__gateway_request *request);
    void (*contact_made)(ilk__gateway_request *request);
    size_t (*publish)(ilk__gateway *gateway, ilk__span pattern,
                      ilk__span channel, ilk__span message);
    void (*wake)(ilk__gateway *gateway);
    void (*left_open)(ilk__gateway *gateway);
} ilk__backend_services;

/*
 * The entry, which is the same in all versions. `core` is the version of the core,
 * *out_own becomes that of the object. The table exists as long as the process. Any
 * thread, any number of times. NULL when the versions differ.
 */
typedef const ilk__backend *ilk__backend_entry(
    const char *core, const ilk__backend_services *services,
    const char **out_own);

#endif

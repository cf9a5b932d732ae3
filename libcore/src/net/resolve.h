/* SPDX-License-Identifier: MIT */
/*
 * resolve.h -- looks up the addresses of a host name without blocking.
 *
 * The result for a numeric address is ready at once. A name is looked up by a
 * detached thread, because getaddrinfo() cannot be interrupted. The thread and
 * the caller share an ilk__resolve, and the last of them frees it. In a forked
 * child the thread does not exist, so that the caller frees it.
 */
#ifndef ILK__RESOLVE_H
#define ILK__RESOLVE_H

#include "base/error.h"

struct addrinfo;

typedef struct ilk__resolve ilk__resolve;

/* ILK_ENOMEM, ILK_ESYSTEM (no descriptor, or no thread). */
ilk_status ilk__resolve_start(ilk__resolve **out, const char *host, int port,
                              ilk_error *err);

/* Readable when the result is ready; -1 when it was ready at once. */
int ilk__resolve_fd(const ilk__resolve *resolve);

/*
 * ILK_OK and at least one address, borrowed until ilk__resolve_free();
 * ILK_EAGAIN: not ready yet; ILK_ECONN: no such name, or no name server.
 */
ilk_status ilk__resolve_result(const ilk__resolve *resolve,
                               const struct addrinfo **out, ilk_error *err);

void ilk__resolve_free(ilk__resolve *resolve); /* NULL is ignored */

#endif

/* SPDX-License-Identifier: MIT */
/*
 * resolve.h -- from a host name to addresses, without waiting for it.
 *
 * Numeric addresses are ready at once. A name is looked up by a thread of its
 * own that nobody waits for; whoever lets go last, it or the owner, frees
 * what they share. In the child of a fork the thread is gone, and the owner
 * is the last.
 */
#ifndef ILK__RESOLVE_H
#define ILK__RESOLVE_H

#include "base/error.h"

struct addrinfo;

typedef struct ilk__resolve ilk__resolve;

/* ILK_ENOMEM, ILK_ESYSTEM (no descriptor or thread to be had). */
ilk_status ilk__resolve_start(ilk__resolve **out, const char *host, int port,
                              ilk_error *err);

/* Readable when the result is there; -1 when it was there at once. */
int ilk__resolve_fd(const ilk__resolve *resolve);

/*
 * ILK_OK and at least one address, borrowed until ilk__resolve_free();
 * ILK_EAGAIN: not yet; ILK_ECONN: there is no such name, or nobody to ask.
 */
ilk_status ilk__resolve_result(const ilk__resolve *resolve,
                               const struct addrinfo **out, ilk_error *err);

void ilk__resolve_free(ilk__resolve *resolve); /* NULL is fine */

#endif

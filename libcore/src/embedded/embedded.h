/* SPDX-License-Identifier: MIT */
/*
 * embedded.h -- a private server on a unix socket, shared by one user's
 * processes, started by the first and stopped by the last.
 */
#ifndef ILK__EMBEDDED_H
#define ILK__EMBEDDED_H

#include "base/error.h"

typedef struct ilk__embedded ilk__embedded;

/*
 * Attach to the server of dir, and start it if it does not run. NULL is the
 * user's default directory, whose server loses its data if it crashes; the
 * server of any other directory writes an AOF. ILK_ECONN: there is no server
 * program, or the server does not answer before the deadline; ILK_ESYSTEM: the
 * directory cannot be used.
 */
ilk_status ilk__embedded_attach(ilk__embedded **out, const char *dir,
                                int64_t deadline, ilk_error *err);

const char *ilk__embedded_socket(const ilk__embedded *embedded);

/* Detach; the last attachment saves and stops the server. NULL is ignored. */
void ilk__embedded_detach(ilk__embedded *embedded);

/* In a forked child: close the descriptors, and leave the server running. */
void ilk__embedded_abandon(ilk__embedded *embedded);

#endif

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
 * Attach to the server of dir (NULL: the user's default directory, without
 * persistence across crashes; a named one runs with AOF), starting it when
 * none runs. ILK_ECONN when no server program is found or it does not answer
 * before the deadline; ILK_ESYSTEM for the directory.
 */
ilk_status ilk__embedded_attach(ilk__embedded **out, const char *dir,
                                int64_t deadline, ilk_error *err);

const char *ilk__embedded_socket(const ilk__embedded *embedded);

/* The last process out saves and stops the server. NULL is ignored. */
void ilk__embedded_detach(ilk__embedded *embedded);

/* In a forked child: close descriptors, leave the server alone. */
void ilk__embedded_abandon(ilk__embedded *embedded);

#endif

/* SPDX-License-Identifier: MIT */
/* pollable.h -- a descriptor that one side raises and the other polls. */
#ifndef ILK__POLLABLE_H
#define ILK__POLLABLE_H

#include "error.h"

typedef struct ilk__pollable {
    int fds[2]; /* the same eventfd twice, or a pipe's ends; -1: closed */
} ilk__pollable;

ilk_status ilk__pollable_open(ilk__pollable *pollable, ilk_error *err);
void ilk__pollable_close(ilk__pollable *pollable);
int ilk__pollable_fd(const ilk__pollable *pollable); /* readable when raised */
void ilk__pollable_raise(ilk__pollable *pollable);   /* signal-safe */
int ilk__pollable_clear(ilk__pollable *pollable);    /* 1: it was raised */

#endif

/* SPDX-License-Identifier: MIT */
/* pollable.h -- a descriptor that one side raises and the other polls. */
#ifndef ILK__POLLABLE_H
#define ILK__POLLABLE_H

#include "error.h"

#include <pthread.h>

typedef struct ilk__pollable {
    int fds[2]; /* the same eventfd twice, or a pipe's ends; -1: closed */
} ilk__pollable;

ilk_status ilk__pollable_open(ilk__pollable *pollable, ilk_error *err);
void ilk__pollable_close(ilk__pollable *pollable);
int ilk__pollable_fd(const ilk__pollable *pollable); /* readable when raised */
void ilk__pollable_raise(ilk__pollable *pollable);   /* signal-safe */
int ilk__pollable_clear(ilk__pollable *pollable);    /* 1: it was raised */

/*
 * After poll() of the descriptor in the thread that clears it: clears it when it is
 * raised, and opens another one when the program has closed it, which it replaces
 * with the mutex that those who raise it lock. Returns 0 then.
 */
int ilk__pollable_polled(ilk__pollable *pollable, short revents,
                         pthread_mutex_t *mutex);

#endif

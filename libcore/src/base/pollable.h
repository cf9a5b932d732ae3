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
 * To be called after poll() of the descriptor, by the thread that clears it.
 * Clears it if it is raised. If the program has closed it, opens another one
 * and puts that in its place under the mutex; returns 0 then, else 1. A thread
 * that raises it without the mutex may still write to the old number.
 */
int ilk__pollable_polled(ilk__pollable *pollable, short revents,
                         pthread_mutex_t *mutex);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * pollset.h -- one descriptor that is readable while any of several others is
 * ready: epoll on Linux, kqueue elsewhere.
 */
#ifndef ILK__POLLSET_H
#define ILK__POLLSET_H

#include "error.h"

typedef struct ilk__pollset {
    int fd; /* -1: closed */
} ilk__pollset;

ilk_status ilk__pollset_open(ilk__pollset *set, ilk_error *err);
void ilk__pollset_close(ilk__pollset *set);

/* Add a descriptor, for POLLIN, POLLOUT or both, or change its events.
 * ILK_ESYSTEM. */
ilk_status ilk__pollset_watch(ilk__pollset *set, int fd, short events,
                              ilk_error *err);
/* Remove a descriptor, before it is closed: otherwise epoll would keep it for
 * as long as a forked child has it open. */
void ilk__pollset_forget(ilk__pollset *set, int fd);

#endif

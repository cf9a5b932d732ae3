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

/* Ready for POLLIN, POLLOUT or both; again: for others. ILK_ESYSTEM. */
ilk_status ilk__pollset_watch(ilk__pollset *set, int fd, short events,
                              ilk_error *err);
/* Before it is closed: while a forked child has it open, too, it would stay. */
void ilk__pollset_forget(ilk__pollset *set, int fd);

#endif

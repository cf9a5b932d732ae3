/* SPDX-License-Identifier: MIT */
/*
 * embedded_home.h -- the directory of an embedded server and its locks.
 *
 *     lock    exclusive while a process starts or stops the server
 *     users   shared by all attachments; the one that can lock it exclusively
 *             is the last
 *     alive   exclusive while the server runs: it inherited the descriptor
 *     watch   exclusive while a watcher runs, see embedded_watcher.h
 *     socket, pid, log, dump.rdb, appendonlydir     written by the server
 *
 * All locks are flock(): the kernel releases them with the last descriptor, in
 * whatever way a process ends. Every descriptor is close-on-exec.
 */
#ifndef ILK__EMBEDDED_HOME_H
#define ILK__EMBEDDED_HOME_H

#include "base/error.h"

#include <sys/un.h>

enum { ILK__SOCKET_MAX = sizeof(((struct sockaddr_un *)0)->sun_path) };

typedef struct ilk__home {
    int fd;         /* the directory; -1 when there is none */
    int persistent; /* not the default directory: the server writes an AOF */
    char path[ILK__SOCKET_MAX];
    char socket[ILK__SOCKET_MAX];
} ilk__home;

/*
 * Open dir, or the user's default directory for NULL, and check that it belongs
 * to the user, that nobody else has access, and that nobody else can rename it
 * or a directory above it. A missing directory is made if
 * `create`, else the result is ILK_OK with fd -1. ILK_EINVAL (not an absolute
 * path), ILK_ESYSTEM.
 */
ilk_status ilk__home_open(ilk__home *out, const char *dir, int create,
                          ilk_error *err);
void ilk__home_close(ilk__home *home);

/* Lock a file (LOCK_SH or LOCK_EX) without waiting. Returns its descriptor, or
 * -1 and errno: EWOULDBLOCK when a conflicting lock is held. */
int ilk__home_try(const ilk__home *home, const char *file, int how);

/* Acquire `lock`. ILK_ECONN when the deadline passes, ILK_ESYSTEM. */
ilk_status ilk__home_lock(const ilk__home *home, int64_t deadline, int *out_fd,
                          ilk_error *err);

/* Release such a lock and close its descriptor. Closing alone is not enough: a child
 * that another thread has forked has a copy of the descriptor, which keeps the lock. */
void ilk__home_unlock(int fd);

/* 1 when the server is alive. */
int ilk__home_alive(const ilk__home *home);

/* The process id in a file: the server's in `pid`, the watcher's in `watch`;
 * 0: unknown. */
int32_t ilk__home_pid(const ilk__home *home, const char *file);

/* Sleep for half a millisecond, between two attempts. */
void ilk__home_nap(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * embedded_home.h -- the directory of an embedded server and its locks.
 *
 *     lock    exclusive while someone starts or stops the server
 *     users   shared by every attachment; nobody else there: last one out
 *     alive   exclusive by the server itself, through a descriptor that it
 *             inherited, so the kernel knows whether it lives
 *     socket, pid, log, dump.rdb, appendonlydir     the server's own
 *
 * All locks are flock(): they end with the last descriptor, however a process
 * ends. Every descriptor is close-on-exec.
 */
#ifndef ILK__EMBEDDED_HOME_H
#define ILK__EMBEDDED_HOME_H

#include "base/error.h"

#include <sys/un.h>

enum { ILK__SOCKET_MAX = sizeof(((struct sockaddr_un *)0)->sun_path) };

typedef struct ilk__home {
    int fd;         /* the directory; -1 when there is none */
    int persistent; /* a named directory: the server keeps a journal */
    char path[ILK__SOCKET_MAX];
    char socket[ILK__SOCKET_MAX];
} ilk__home;

/*
 * Open dir, or the user's default directory for NULL, and check that it is
 * the user's alone. create: make it when it is missing; else a missing one
 * is ILK_OK with fd -1. ILK_ESYSTEM.
 */
ilk_status ilk__home_open(ilk__home *out, const char *dir, int create,
                          ilk_error *err);
void ilk__home_close(ilk__home *home);

/* Take a lock at once (LOCK_SH or LOCK_EX): its descriptor, or -1, errno. */
int ilk__home_try(const ilk__home *home, const char *file, int how);

/* Wait for `lock`. ILK_ECONN when the deadline passes, ILK_ESYSTEM. */
ilk_status ilk__home_lock(const ilk__home *home, int64_t deadline, int *out_fd,
                          ilk_error *err);

/* 1 when the server lives. */
int ilk__home_alive(const ilk__home *home);

/* The server's process as its own pid file tells, 0 when unknown. */
int32_t ilk__home_pid(const ilk__home *home);

/* Sleep a little between two looks. */
void ilk__home_nap(void);

#endif

/* SPDX-License-Identifier: MIT */
/* embedded_home.c -- the directory of an embedded server and its locks. */
#include "embedded_home.h"

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/environment.h"
#include "embedded_parents.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { NAP_NS = 500000, PATH_ROOM = 4096 };

static const char socket_name[] = "/socket";

/*
 * The directory of the user's default server. $XDG_RUNTIME_DIR is used only if
 * it belongs to this user, because sudo may keep another user's value.
 */
static int default_dir(char *out, size_t size)
{
    const char *runtime = ilk__environment("XDG_RUNTIME_DIR");
    const char *tmp = ilk__environment("TMPDIR");
    struct stat info;

    if (runtime != NULL && runtime[0] == '/' && stat(runtime, &info) == 0
        && S_ISDIR(info.st_mode) && info.st_uid == geteuid())
        return snprintf(out, size, "%s/interlock", runtime);
    if (tmp == NULL || tmp[0] != '/')
        tmp = "/tmp";
    return snprintf(out, size, "%s/interlock-%lu", tmp,
                    (unsigned long)geteuid());
}

/* Set the path, and the socket's path, which must fit into a sockaddr_un. */
static ilk_status set_path(ilk__home *home, const char *dir, ilk_error *err)
{
    const size_t most = sizeof home->socket - sizeof socket_name;
    size_t len = strlen(dir);

    if (len > most)
        return ilk__fail(err, ILK_ESYSTEM,
                         "embedded: a socket's directory has at most %zu "
                         "bytes, got %zu: %s",
                         most, len, dir);
    memcpy(home->path, dir, len);
    home->path[len] = '\0';
    memcpy(home->socket, home->path, len);
    memcpy(home->socket + len, socket_name, sizeof socket_name);
    return ILK_OK;
}

/*
 * Check the directories above dir, and set the paths: without trailing slashes
 * or symbolic links, so that they lead to the same directory for as long as
 * nobody but this user and root renames one. *out_parent: the parent exists.
 */
static ilk_status find_place(ilk__home *home, const char *dir, int *out_parent,
                             ilk_error *err)
{
    char plain[PATH_ROOM], resolved[2 * PATH_ROOM];
    size_t len = strlen(dir);
    ilk_status st;

    *out_parent = 0;
    while (len > 1 && dir[len - 1] == '/')
        len--;
    if (dir[0] != '/')
        return ilk__fail(err, ILK_EINVAL,
                         "embedded: the directory must be absolute, got "
                         "\"%s\"",
                         dir);
    if (len >= sizeof plain)
        return ilk__fail(err, ILK_ESYSTEM, "embedded: the path is too long");
    memcpy(plain, dir, len);
    plain[len] = '\0';
    st = ilk__parents_check(resolved, sizeof resolved, plain, err);
    if (st != ILK_OK)
        return st;
    *out_parent = resolved[0] != '\0';
    return set_path(home, *out_parent ? resolved : plain, err);
}

static ilk_status check_owner(const ilk__home *home, const struct stat *info,
                              ilk_error *err)
{
    if (info->st_uid != geteuid())
        return ilk__fail(
            err, ILK_ESYSTEM, "embedded: %s belongs to user %lu, not to %lu",
            home->path, (unsigned long)info->st_uid, (unsigned long)geteuid());
    if ((info->st_mode & 077) != 0)
        return ilk__fail(err, ILK_ESYSTEM,
                         "embedded: %s is open to others, mode %03o: use "
                         "chmod 700",
                         home->path, (unsigned)info->st_mode & 0777);
    return ILK_OK;
}

/* open() of what must be no symbolic link. */
static int open_plain(int dir, const char *path, int flags)
{
    int fd;

    do
        fd = openat(dir, path, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
    while (fd < 0 && errno == EINTR);
    return ilk__descriptor_raise(fd);
}

ilk_status ilk__home_open(ilk__home *out, const char *dir, int create,
                          ilk_error *err)
{
    char path[PATH_ROOM];
    struct stat info, standard;
    ilk_status st;
    int n, parent;

    memset(out, 0, sizeof *out);
    out->fd = -1;
    n = default_dir(path, sizeof path);
    if (n < 0 || (size_t)n >= sizeof path) {
        if (dir == NULL)
            return ilk__fail(
                err, ILK_ESYSTEM,
                "embedded: the path of the default directory is too long");
        path[0] = '\0'; /* no directory is that one */
    }
    st = find_place(out, dir != NULL ? dir : path, &parent, err);
    if (st != ILK_OK || (!parent && !create))
        return st;
    if (create && mkdir(out->path, 0700) != 0 && errno != EEXIST)
        return ilk__fail(err, ILK_ESYSTEM, "embedded: cannot make %s: %s",
                         out->path, strerror(errno));

    out->fd = open_plain(AT_FDCWD, out->path, O_RDONLY | O_DIRECTORY);
    if (out->fd < 0 && errno == ENOENT && !create)
        return ILK_OK;
    if (out->fd < 0)
        return ilk__fail(err, ILK_ESYSTEM, "embedded: cannot open %s: %s",
                         out->path, strerror(errno));
    if (fstat(out->fd, &info) != 0)
        st = ilk__fail(err, ILK_ESYSTEM, "embedded: %s: %s", out->path,
                       strerror(errno));
    else
        st = check_owner(out, &info, err);
    if (st != ILK_OK) {
        ilk__home_close(out);
        return st;
    }
    /* The default directory gets no AOF, also when it is named explicitly. */
    out->persistent = stat(path, &standard) != 0
                      || standard.st_dev != info.st_dev
                      || standard.st_ino != info.st_ino;
    return ILK_OK;
}

void ilk__home_close(ilk__home *home)
{
    if (home->fd >= 0)
        ilk__descriptor_close(home->fd);
    home->fd = -1;
}

int ilk__home_try(const ilk__home *home, const char *file, int how)
{
    int fd = open_plain(home->fd, file, O_RDWR | O_CREAT), error = 0;

    if (fd < 0)
        return -1;
    do
        error = flock(fd, how | LOCK_NB) == 0 ? 0 : errno;
    while (error == EINTR);
    if (error == 0)
        return fd;
    ilk__descriptor_close(fd);
    errno = error;
    return -1;
}

/*
 * flock() has no timeout, so this tries again between short sleeps. A process
 * holds the lock for milliseconds, unless it waits for a server that does not
 * answer.
 */
ilk_status ilk__home_lock(const ilk__home *home, int64_t deadline, int *out_fd,
                          ilk_error *err)
{
    while ((*out_fd = ilk__home_try(home, "lock", LOCK_EX)) < 0) {
        if (errno != EWOULDBLOCK)
            return ilk__fail(err, ILK_ESYSTEM, "embedded: %s/lock: %s",
                             home->path, strerror(errno));
        if (ilk__poll_timeout(deadline) == 0)
            return ilk__fail(err, ILK_ECONN,
                             "embedded: another process is still starting "
                             "or stopping the server in %s",
                             home->path);
        ilk__home_nap();
    }
    return ILK_OK;
}

void ilk__home_unlock(int fd)
{
    flock(fd, LOCK_UN);
    ilk__descriptor_close(fd);
}

int ilk__home_alive(const ilk__home *home)
{
    int fd = ilk__home_try(home, "alive", LOCK_SH);

    if (fd < 0)
        return errno == EWOULDBLOCK;
    ilk__home_unlock(fd);
    return 0;
}

int32_t ilk__home_pid(const ilk__home *home, const char *file)
{
    char text[24] = "";
    int fd = open_plain(home->fd, file, O_RDONLY);
    ssize_t n;
    long pid;

    if (fd < 0)
        return 0;
    do
        n = read(fd, text, sizeof text - 1);
    while (n < 0 && errno == EINTR);
    ilk__descriptor_close(fd);
    pid = n > 0 ? strtol(text, NULL, 10) : 0;
    return pid > 0 && pid <= INT32_MAX ? (int32_t)pid : 0;
}

void ilk__home_nap(void)
{
    const struct timespec nap = {0, NAP_NS};

    nanosleep(&nap, NULL);
}

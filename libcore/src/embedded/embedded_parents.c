/* SPDX-License-Identifier: MIT */
/*
 * embedded_parents.c -- may somebody else replace the directory of a server?
 *
 * The rule is that of sshd for its key files: each directory up to the root
 * belongs to root or to this user, and nobody else may write to it. A sticky
 * directory such as /tmp passes, because only owners rename entries there, and
 * so does one that only a private group may write to: a group whose number is
 * the user's, as most systems create it, or 0.
 */
#include "embedded_parents.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_ROOM = 4096 };

static int is_writable_by_others(const struct stat *info)
{
    gid_t group = info->st_gid;

    if ((info->st_mode & S_ISVTX) != 0)
        return 0;
    if ((info->st_mode & S_IWOTH) != 0)
        return 1;
    return (info->st_mode & S_IWGRP) != 0 && group != 0 && group != geteuid();
}

/* `top` owns the root directory and so decides about every path. In a user
 * namespace that is not user 0. */
static ilk_status check_one(const char *parent, const char *dir, uid_t top,
                            ilk_error *err)
{
    struct stat info;

    if (stat(parent, &info) != 0)
        return ilk__fail(err, ILK_ESYSTEM, "embedded: %s: %s", parent,
                         strerror(errno));
    if (info.st_uid != 0 && info.st_uid != geteuid() && info.st_uid != top)
        return ilk__fail(err, ILK_ESYSTEM,
                         "embedded: user %lu could replace %s, because %s "
                         "belongs to them",
                         (unsigned long)info.st_uid, dir, parent);
    if (is_writable_by_others(&info))
        return ilk__fail(err, ILK_ESYSTEM,
                         "embedded: other users could replace %s, because "
                         "they may write to %s, mode %03o: use chmod go-w",
                         dir, parent, (unsigned)info.st_mode & 0777);
    return ILK_OK;
}

/* Check "/", "/a", "/a/b" for the parent /a/b, which is resolved. */
static ilk_status check_all(char *parent, const char *dir, ilk_error *err)
{
    ilk_status st;
    struct stat root;
    char *end = parent;

    if (stat("/", &root) != 0)
        return ilk__fail(err, ILK_ESYSTEM, "embedded: /: %s", strerror(errno));
    st = check_one("/", dir, root.st_uid, err);
    while (st == ILK_OK && end[0] == '/' && end[1] != '\0') {
        char saved;

        end += 1 + strcspn(end + 1, "/");
        saved = *end;
        *end = '\0';
        st = check_one(parent, dir, root.st_uid, err);
        *end = saved;
    }
    return st;
}

ilk_status ilk__parents_check(char *out, size_t size, const char *dir,
                              ilk_error *err)
{
    const char *name = strrchr(dir, '/') + 1;
    char above[PATH_ROOM], parent[PATH_ROOM];
    ilk_status st;

    *out = '\0';
    if (name - dir >= PATH_ROOM)
        return ilk__fail(err, ILK_ESYSTEM, "embedded: the path is too long");
    snprintf(above, sizeof above, "%.*s", (int)(name - dir), dir);
    if (realpath(above, parent) == NULL)
        return errno == ENOENT
                   ? ILK_OK
                   : ilk__fail(err, ILK_ESYSTEM, "embedded: cannot open %s: %s",
                               above, strerror(errno));
    if ((st = check_all(parent, dir, err)) != ILK_OK)
        return st;
    snprintf(out, size, "%s%s%s", parent, parent[1] == '\0' ? "" : "/", name);
    return ILK_OK;
}

/* SPDX-License-Identifier: MIT */
/*
 * backend.c -- the known backends, and those in shared objects.
 *
 * No mutex is held while an object is loaded, because a child could find it locked.
 * Two threads may load one at a time: dlopen() counts, the entry returns the same
 * backend to both, and the list of the schemes takes it once.
 */
#include "backend_packages.h"
#include "backend_services.h"

#include "base/alloc.h"
#include "base/environment.h"
#include "base/log.h"

#include <interlock/base.h>

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

ilk_status ilk__backend_register(const ilk__backend *backend)
{
    ilk_status st = ILK_OK;

    for (; st == ILK_OK && backend; backend = backend->also)
        st = ilk__url_add_backend(backend->scheme, backend);
    return st;
}

const ilk__backend *ilk__backend_find(const ilk__url *url)
{
    return url->scheme == ILK__SCHEME_BACKEND ? url->backend : NULL;
}

/* ---- where objects are -------------------------------------------------- */

/* Of the library, or of the program or the module that it is part of. A relative
 * name, as the program's own often is, may lead elsewhere by now. */
static int own_directory(char out[PATH_MAX])
{
    static const char here;
    Dl_info info;
    char *end;
    ssize_t len = -1;

    if (dladdr(&here, &info) && info.dli_fname && info.dli_fname[0] == '/') {
        len = snprintf(out, PATH_MAX, "%s", info.dli_fname);
    } else {
#ifdef __linux__
        len = readlink("/proc/self/exe", out, PATH_MAX);
#endif
    }
    if (len <= 0 || len >= PATH_MAX)
        return 0;
    out[len] = '\0';
    end = strrchr(out, '/');
    if (!end)
        return 0;
    *end = '\0';
    return 1;
}

static int is_at(char path[PATH_MAX], const char *directory, const char *below,
                 const char *scheme)
{
    int len = snprintf(path, PATH_MAX, "%s%s/libinterlock-%s.so", directory,
                       below, scheme);

    return len > 0 && len < PATH_MAX && access(path, F_OK) == 0;
}

/* $INTERLOCK_BACKENDS, or NULL. */
static const char *named_directory(void)
{
    const char *named = ilk__environment("INTERLOCK_BACKENDS");

    return named && *named ? named : NULL;
}

/* Others who may write to the directory could put code there. A group whose number is
 * the user's, as most systems create it, is private. */
static ilk_status check_named(ilk_error *err)
{
    const char *named = named_directory();
    struct stat info;

    if (!named)
        return ILK_OK;
    if (stat(named, &info) || !S_ISDIR(info.st_mode))
        return ilk__fail(err, ILK_EINVAL,
                         "INTERLOCK_BACKENDS: there is no directory %.200s",
                         named);
    if ((info.st_uid && info.st_uid != geteuid()) || info.st_mode & S_IWOTH
        || (info.st_mode & S_IWGRP && info.st_gid && info.st_gid != geteuid()))
        return ilk__fail(err, ILK_EINVAL,
                         "INTERLOCK_BACKENDS: other users may write to %.200s, "
                         "mode %03o, user %lu: code is loaded from there",
                         named, (unsigned)info.st_mode & 0777,
                         (unsigned long)info.st_uid);
    return ILK_OK;
}

static int find_object(char path[PATH_MAX], const char *scheme)
{
    const char *named = named_directory();
    char own[PATH_MAX];

    if (named && is_at(path, named, "", scheme))
        return 1;
    if (!own_directory(own))
        return 0;
#ifdef ILK_BACKENDS_BELOW /* of the command in a wheel: cmake/PythonExt.cmake */
    if (is_at(path, own, ILK_BACKENDS_BELOW, scheme))
        return 1;
#endif
    return is_at(path, own, "/interlock", scheme)
           || is_at(path, own, "", scheme);
}

/* ---- loading ------------------------------------------------------------ */

static void log_line(int level, const char *line)
{
    ilk__log((ilk__log_level)level, "%s", line);
}

static const ilk__backend_services services = {
    .malloc = ilk__malloc,
    .calloc = ilk__calloc,
    .realloc = ilk__realloc,
    .free = ilk__free,
    .log = log_line,
    .reply_args = ilk__gateway_reply_args,
    .reply_text = ilk__gateway_reply_text,
    .reply_error = ilk__gateway_reply_error,
    .break_connection = ilk__gateway_break,
    .contact_made = ilk__gateway_contact_made,
    .publish = ilk__gateway_publish,
    .wake = ilk__gateway_wake,
    .left_open = ilk__gateway_left_open,
};

/* All that an object has, so that its other scheme does not load it again. */
static ilk_status register_all(const ilk__backend *backend, const char *path,
                               const char *scheme, ilk_error *err)
{
    int is_found = 0;

    for (const ilk__backend *one = backend; one; one = one->also)
        is_found |= strcmp(one->scheme, scheme) == 0;
    if (!is_found)
        return ilk__fail(err, ILK_EUNSUPPORTED, "%s has no backend for %s://",
                         path, scheme);
    if (ilk__backend_register(backend))
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    return ILK_OK;
}

static ilk_status load(const char *path, const char *scheme, const char *store,
                       ilk_error *err)
{
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    ilk__backend_entry *entry = NULL;
    const ilk__backend *backend;
    const char *own = "unknown", *fault;

    if (!object) {
        fault = dlerror();
        return ilk__backend_is_refused(store, fault ? fault : path, err);
    }
    *(void **)&entry = dlsym(object, ILK__BACKEND_ENTRY);
    if (!entry)
        return ilk__fail(err, ILK_EUNSUPPORTED, "%s is no backend", path);
    backend = entry(ilk_version(), &services, &own);
    if (strcmp(own, ilk_version()) != 0)
        return ilk__fail(err, ILK_EUNSUPPORTED,
                         "%s has version %s, and the library %s: install both "
                         "from one release",
                         path, own, ilk_version());
    return register_all(backend, path, scheme, err);
}

ilk_status ilk__backend_load(const char *url, ilk_error *err)
{
    char scheme[ILK__URL_SCHEME_MAX + 1], store[ILK__BACKEND_STORE_MAX + 1];
    char path[PATH_MAX];
    ilk_status st;

    if (!ilk__url_unknown_scheme(scheme, url))
        return ILK_OK;
    ilk__backend_store_of(store, scheme);
    st = check_named(err);
    if (st)
        return st;
    if (find_object(path, store))
        return load(path, scheme, store, err);
    if (!ilk__backend_is_documented(store))
        return ILK_OK;
    return ilk__backend_is_missing(store, err);
}

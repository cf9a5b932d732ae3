/* SPDX-License-Identifier: MIT */
/* backend_packages.c -- what a backend's shared object needs, for messages. */
#include "backend_packages.h"

#include "base/error.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct store_packages {
    const char *name;
    const char *to_build; /* Debian's packages; NULL: it needs none */
    const char *library;  /* the client library, as its file name begins */
    const char *to_run;   /* Debian's package with the client library */
} store_packages;

static const store_packages stores[] = {
    {"etcd", "libnghttp2-dev and libnanopb-dev", "libnghttp2.so",
     "libnghttp2-14"},
    {"mysql", "libmariadb-dev", "libmariadb.so", "libmariadb3"},
    {"zookeeper", NULL, NULL, NULL},
};

static const store_packages *find(const char *name)
{
    for (size_t i = 0; i < sizeof stores / sizeof stores[0]; i++)
        if (strcmp(stores[i].name, name) == 0)
            return &stores[i];
    return NULL;
}

void ilk__backend_store_of(char out[ILK__BACKEND_STORE_MAX + 1],
                           const char *scheme)
{
    size_t len = strcspn(scheme, "+");

    if (len == 7 && strncmp(scheme, "mariadb", len) == 0) {
        scheme = "mysql";
        len = 5;
    }
    snprintf(out, ILK__BACKEND_STORE_MAX + 1, "%.*s", (int)len, scheme);
}

int ilk__backend_is_documented(const char *store)
{
    return find(store) != NULL;
}

ilk_status ilk__backend_is_missing(const char *store, ilk_error *err)
{
    const store_packages *packages = find(store);

    if (packages && !packages->to_build)
        return ilk__fail(
            err, ILK_EUNSUPPORTED,
            "built without %s: build again with "
            "-DILK_BACKENDS=AUTO, or set INTERLOCK_BACKENDS to the "
            "directory of libinterlock-%s.so",
            store, store);
    return ilk__fail(
        err, ILK_EUNSUPPORTED,
        "built without %s: install %s (Debian's names) and build "
        "again; or moved: set INTERLOCK_BACKENDS to the directory of "
        "libinterlock-%s.so",
        store, packages ? packages->to_build : "its client library", store);
}

/* The linkers' texts differ, but all of them contain the name of the file that is
 * missing. A text that begins with a path is about the file at this path, which is
 * there. */
ilk_status ilk__backend_is_refused(const char *store, const char *fault,
                                   ilk_error *err)
{
    const store_packages *packages = find(store);

    if (packages && packages->library && fault[0] != '/'
        && strstr(fault, packages->library))
        return ilk__fail(err, ILK_EUNSUPPORTED,
                         "the client library of %s is missing; on Debian "
                         "install %s: %s",
                         store, packages->to_run, fault);
    return ilk__fail(err, ILK_EUNSUPPORTED, "cannot load the backend: %s",
                     fault);
}

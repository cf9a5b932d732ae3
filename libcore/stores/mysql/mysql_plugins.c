/* SPDX-License-Identifier: MIT */
/* mysql_plugins.c -- finds plug-ins that lie beside this shared object. */
#include "mysql_plugins.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int ilk__mysql_plugin_directory(char out[PATH_MAX])
{
    static const char here;
    Dl_info info;
    const char *end;
    int len;

    if (!dladdr(&here, &info) || !info.dli_fname)
        return 0;
    end = strrchr(info.dli_fname, '/');
    if (!end)
        return 0;
    len = snprintf(out, PATH_MAX, "%.*s/mariadb", (int)(end - info.dli_fname),
                   info.dli_fname);
    return len < PATH_MAX && access(out, X_OK) == 0;
}

/* SPDX-License-Identifier: MIT */
/* mysql_plugins.h -- where the client library has its plug-ins. */
#ifndef ILK__MYSQL_PLUGINS_H
#define ILK__MYSQL_PLUGINS_H

#include <limits.h>

/*
 * The directory `mariadb` beside this shared object, in which a wheel carries the
 * plug-ins of the client library: ways to log in, such as caching_sha2_password. For
 * mysql_options(mysql, MYSQL_PLUGIN_DIR, out), before each connection. Returns 0 when
 * there is none: the library uses its own. Any thread.
 */
int ilk__mysql_plugin_directory(char out[PATH_MAX]);

#endif

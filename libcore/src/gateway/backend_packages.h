/* SPDX-License-Identifier: MIT */
/*
 * backend_packages.h -- the stores whose backends are shared objects of this project, and
 * what each of them needs: for messages that say what to install.
 */
#ifndef ILK__BACKEND_PACKAGES_H
#define ILK__BACKEND_PACKAGES_H

#include <interlock/base.h>

enum { ILK__BACKEND_STORE_MAX = 16 };

/* The store that a scheme is for, after which its object is named: `etcd` for
 * `etcd+tls`, `mysql` for `mariadb`; else the scheme itself. */
void ilk__backend_store_of(char out[ILK__BACKEND_STORE_MAX + 1],
                           const char *scheme);

/* A store for which the documents promise a backend. */
int ilk__backend_is_documented(const char *store);

/* ILK_EUNSUPPORTED for a documented store without an object. */
ilk_status ilk__backend_is_missing(const char *store, ilk_error *err);

/* ILK_EUNSUPPORTED for an object that the dynamic linker refuses with the text
 * `fault`; it may be a client library that is not installed. */
ilk_status ilk__backend_is_refused(const char *store, const char *fault,
                                   ilk_error *err);

#endif

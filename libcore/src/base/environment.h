/* SPDX-License-Identifier: MIT */
/* environment.h -- variables of the environment, which may be a stranger's. */
#ifndef ILK__ENVIRONMENT_H
#define ILK__ENVIRONMENT_H

/*
 * getenv(), but NULL in a process that runs with more rights than its caller:
 * a set-user-ID program or one with file capabilities. There the caller could
 * choose the server's program, its directory or the trusted authorities.
 */
const char *ilk__environment(const char *name);

#endif

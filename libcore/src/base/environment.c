/* SPDX-License-Identifier: MIT */
/* environment.c -- variables of the environment, which may be a stranger's. */
#include "environment.h"

#include <stdlib.h>
#include <unistd.h>

const char *ilk__environment(const char *name)
{
#ifdef __linux__
    return secure_getenv(name);
#else
    return issetugid() ? NULL : getenv(name);
#endif
}

/* SPDX-License-Identifier: MIT */
/* own_path.c -- where this program lies, for running it a second time. */
#include "cli.h"

#include <unistd.h>

#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

int cli_own_path(char *path, size_t room)
{
#ifdef __APPLE__
    uint32_t size = (uint32_t)room;

    return _NSGetExecutablePath(path, &size) == 0;
#else
    static const char *const links[] = {"/proc/self/exe", "/proc/curproc/file"};
    size_t i;
    ssize_t n;

    for (i = 0; i < sizeof links / sizeof links[0]; i++) {
        n = readlink(links[i], path, room - 1);
        if (n > 0) {
            path[n] = '\0';
            return 1;
        }
    }
    return 0;
#endif
}

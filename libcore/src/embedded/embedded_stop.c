/* SPDX-License-Identifier: MIT */
/* embedded_stop.c -- saves and stops the server of a directory. */
#include "embedded_stop.h"

#include "base/clock.h"
#include "base/log.h"
#include "embedded_command.h"

#include <errno.h>
#include <string.h>

int ilk__embedded_shutdown(const ilk__home *home, int64_t deadline, char *line,
                           size_t size)
{
    /* A persistent server has all data in its AOF and needs no RDB file. */
    const char *command =
        home->persistent ? "SHUTDOWN NOSAVE" : "SHUTDOWN SAVE";

    while (ilk__home_alive(home)) {
        int error =
            ilk__embedded_command(home->socket, command, line, size, deadline);

        if (error == 0 && line[0] == '-' && strncmp(line, "-LOADING", 8) != 0)
            return EPERM;
        if (ilk__poll_timeout(deadline) == 0)
            return ETIMEDOUT;
        ilk__home_nap();
    }
    return 0;
}

ilk_status ilk__embedded_stop(const ilk__home *home, int64_t deadline,
                              ilk_error *err)
{
    char line[128];
    int error = ilk__embedded_shutdown(home, deadline, line, sizeof line);

    if (error == EPERM)
        return ilk__fail(err, ILK_ESYSTEM,
                         "embedded: the server in %s does not stop: %.100s",
                         home->path, line + 1);
    if (error != 0)
        return ilk__fail(err, ILK_ETIMEOUT,
                         "embedded: the server in %s does not stop in time",
                         home->path);
    ilk__log(ILK__LOG_INFO, "embedded: stopped the server in %s", home->path);
    return ILK_OK;
}

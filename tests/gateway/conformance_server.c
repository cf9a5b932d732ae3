/* SPDX-License-Identifier: MIT */
/* conformance_server.c -- the table over the gateway and a store in memory: the
 * fixture's commands are another connection to such a gateway. */
#include "conformance_server.h"

#include "memory_backend.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static ilk__gateway *gateway;
static ilk__url url;

/* The shares of faults are those of $ILK_MEMORY, such as "late=20&lose=5". The
 * fixture's own commands have none. */
int conformance_server_start(fixture *fx)
{
    const char *faults = getenv("ILK_MEMORY");
    struct timeval wait = {.tv_sec = 5};

    memset(fx, 0, sizeof *fx);
    fx->fd = -1;
    ilk__backend_register(&memory_backend);
    snprintf(fx->unix_url, sizeof fx->unix_url, "memory://%s%s",
             faults ? "?" : "", faults ? faults : "");
    if (ilk__url_parse(&url, "memory://", NULL)
        || ilk__gateway_open(&gateway, &memory_backend, &url, NULL)
        || ilk__gateway_connect(gateway, &fx->fd, NULL))
        return -1;
    fx->fd_owner = getpid();
    fcntl(fx->fd, F_SETFL, 0); /* the fixture's reads block */
    return setsockopt(fx->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
}

int conformance_server_stop(fixture *fx)
{
    fixture_hang_up(fx);
    ilk__gateway_free(gateway);
    ilk__url_free(&url);
    memory_backend_reset();
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* conformance_url.c -- the table over the store of $ILK_CONFORMANCE_URL. There is no
 * connection for the fixture's commands: $ILK_CONFORMANCE_DIR has cases without. */
#include "conformance_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int conformance_server_start(fixture *fx)
{
    const char *url = getenv("ILK_CONFORMANCE_URL");
    int len;

    memset(fx, 0, sizeof *fx);
    fx->fd = -1;
    if (!url) {
        fprintf(stderr, "ILK_CONFORMANCE_URL is not set\n");
        return -1;
    }
    len = snprintf(fx->unix_url, sizeof fx->unix_url, "%s", url);
    return len > 0 && (size_t)len < sizeof fx->unix_url ? 0 : -1;
}

int conformance_server_stop(fixture *fx)
{
    (void)fx;
    return 0;
}

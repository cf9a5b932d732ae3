/* SPDX-License-Identifier: MIT */
/* proxy_case.c -- a proxy before the server of the tests. */
#include "proxy_case.h"

#include <stdio.h>

proxy between;

int proxy_before_server(proxy *p)
{
    char path[sizeof p->path];

    snprintf(path, sizeof path, "%s/proxy", fx.dir);
    return proxy_open(p, path, fx.socket);
}

int proxy_setup(void)
{
    return server_setup() != 0 ? -1 : proxy_before_server(&between);
}

int proxy_teardown(void)
{
    proxy_close(&between);
    return server_teardown();
}

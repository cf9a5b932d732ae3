/* SPDX-License-Identifier: MIT */
/* client_case.c -- a server and one client of it for all tests. */
#include "client_case.h"

ilk_client *client;

int client_setup(void)
{
    if (server_setup() != 0)
        return -1;
    client = open_client();
    return 0;
}

int client_teardown(void)
{
    ilk_client_free(client);
    client = NULL;
    return server_teardown();
}

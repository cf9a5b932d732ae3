/* SPDX-License-Identifier: MIT */
/* server_case.c -- one server for all tests of a program. */
#include "server_case.h"

#include <string.h>

fixture fx;
const char *row_name;

int server_setup(void)
{
    return fixture_start(&fx, NULL);
}

int server_teardown(void)
{
    return fixture_stop(&fx);
}

int server_flush(void)
{
    return strcmp("OK", fixture_command(&fx, "FLUSHALL"));
}

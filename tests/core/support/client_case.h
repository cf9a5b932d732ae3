/* SPDX-License-Identifier: MIT */
/*
 * client_case.h -- a server and one client of it for all tests of a program.
 *
 *     AROUND_ALL(client_setup, client_teardown);
 */
#ifndef ILK__CLIENT_CASE_H
#define ILK__CLIENT_CASE_H

#include "lock_case.h"

extern ilk_client *client; /* NULL while it is not open */

int client_setup(void);
int client_teardown(void);

#endif

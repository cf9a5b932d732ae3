/* SPDX-License-Identifier: MIT */
/*
 * proxy_case.h -- a proxy before the server of server_case.h, for all tests of
 * a program or for one.
 */
#ifndef ILK__PROXY_CASE_H
#define ILK__PROXY_CASE_H

#include "proxy.h"
#include "server_case.h"

extern proxy between;

int proxy_setup(void); /* a server, and `between` before it */
int proxy_teardown(void);

/* Only a proxy, of a test's own: 0. Ended by proxy_close(). */
int proxy_before_server(proxy *p);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * server_case.h -- one server for all tests of a program, started before the
 * first and ended after the last.
 *
 *     AROUND_ALL(server_setup, server_teardown);
 */
#ifndef ILK__SERVER_CASE_H
#define ILK__SERVER_CASE_H

#include "fixture.h"
#include "test.h"

extern fixture fx; /* the test program's server */

/* Named by assertions that fail, in a test that plays one scenario with each
 * row of a table; NULL: there is no table. */
extern const char *row_name;

int server_setup(void);
int server_teardown(void);
int server_flush(void); /* before a test: no keys */

#endif

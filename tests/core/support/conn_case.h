/* SPDX-License-Identifier: MIT */
/*
 * conn_case.h -- what tests of connections share: a peer, a connection to it
 * and the error that came of it, made anew for each test.
 */
#ifndef ILK__CONN_CASE_H
#define ILK__CONN_CASE_H

#include "peer.h"
#include "redis/conn.h"

/* To HELLO and CLIENT ID. */
#define HELLO_ANSWER "%2\r\n+proto\r\n:3\r\n+mode\r\n+standalone\r\n:7\r\n"

enum { SLACK_MS = 60 }; /* by which a deadline may be missed */

extern peer far_end;
extern ilk_error err;
extern ilk__conn *conn;        /* closed after the test */
extern long conn_case_fail_at; /* the allocation in an open that fails; 0 */

int conn_case_setup(void); /* the peer listens */
int conn_case_teardown(void);

int conn_case_fds(void); /* how many descriptors are open */

/* Open url, or the peer's with the password "sesame". */
ilk_status conn_case_open_url(const char *text, int64_t timeout_ms);
ilk_status conn_case_open(int64_t timeout_ms);

/* The error's text has this in it, or the peer's address; no password. */
void conn_case_says(const char *text);
void conn_case_says_where(void);

#endif

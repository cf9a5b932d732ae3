/* SPDX-License-Identifier: MIT */
/*
 * conformance_server.h -- what the table runs over: a server, and in another
 * program a backend (tests/gateway/conformance_server.c).
 */
#ifndef ILK__CONFORMANCE_SERVER_H
#define ILK__CONFORMANCE_SERVER_H

#include "fixture.h"

/* Fill in fx->unix_url, and make the fixture's commands work. 0 or -1. */
int conformance_server_start(fixture *fx);
int conformance_server_stop(fixture *fx);

#endif

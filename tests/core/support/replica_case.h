/* SPDX-License-Identifier: MIT */
/*
 * replica_case.h -- a server with a replica, and clients that listen to both.
 */
#ifndef ILK__REPLICA_CASE_H
#define ILK__REPLICA_CASE_H

#include "lock_case.h"

extern fixture replica;

int replica_setup(void); /* in step with each other */
int replica_teardown(void);

ilk_client *open_listening(void);

/* The client's own channel has so many listeners there, at last. */
void await_subscribers(fixture *at, const ilk_client *client, int count);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * run.h -- the blocking driver: the caller's thread runs an operation or a
 * request to its end, over the client's lanes, which all callers share.
 */
#ifndef ILK__RUN_H
#define ILK__RUN_H

#include "client.h"
#include "op/request.h"

/*
 * Run op and return its status; op->err has the text. The thread sleeps on
 * `parker`, which the keeper unparks for news. The caller must have entered the
 * client (ilk__client_enter()).
 */
ilk_status ilk__run(ilk_client *client, ilk__op *op, ilk__parker *parker);

/*
 * 1 when the calling thread must return ILK_EINTR every TICK_MS, see run.c.
 */
int ilk__run_ticks(const ilk_client *client);

/* Run a request to its end and return its status. begin() enters the client. */
ilk_status ilk__request_run(ilk__request *request, ilk_client *client,
                            ilk__request_begin *begin, ilk_error *err);

/* Run a single operation outside of any request; `deadline` as in
 * ilk__request_ask(). */
ilk_status ilk__ask(ilk_client *client, const ilk__op_type *type, void *subject,
                    int64_t deadline, ilk_error *err);

#endif

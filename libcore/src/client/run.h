/* SPDX-License-Identifier: MIT */
/*
 * run.h -- the blocking driver: the caller's thread runs an operation, or a
 * request, to its end, over the client's shared lane.
 */
#ifndef ILK__RUN_H
#define ILK__RUN_H

#include "client.h"
#include "op/request.h"

/*
 * Run op and answer its status; op->err has the text. Sleeps park on parker,
 * which the keeper wakes for news. The caller has entered the client.
 */
ilk_status ilk__run(ilk_client *client, ilk__op *op, ilk__parker *parker);

/*
 * 1 when the calling thread must come back with ILK_EINTR every now and then:
 * an interpreter's handlers run on its main thread only.
 */
int ilk__run_ticks(const ilk_client *client);

/* To its end, in this thread; its status. The client is entered by begin(). */
ilk_status ilk__request_run(ilk__request *request, ilk_client *client,
                            ilk__request_begin *begin, ilk_error *err);

/* One question, one answer, outside of any request. */
ilk_status ilk__ask(ilk_client *client, const ilk__op_type *type, void *subject,
                    int64_t timeout_ms, ilk_error *err);

#endif

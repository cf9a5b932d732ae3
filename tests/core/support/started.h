/* SPDX-License-Identifier: MIT */
/*
 * started.h -- what the tests of started operations share: an event loop
 * that is one poll(), and what must come out of it.
 *
 *     assert_status(ILK_OK, ilk_lock_acquire_start(&op, lock, -1, 0, &err));
 *     turn_until(client, "1", "ZCARD ilk:lock:wait:{%s}", name);
 *     ...
 *     assert_ends(ILK_OK, client, op);
 */
#ifndef ILK__STARTED_H
#define ILK__STARTED_H

#include "server_case.h"

#include <interlock.h>

/*
 * Wait at most timeout_ms for the client's descriptor, then fetch all
 * notifications there are; how many of them reported the end of an operation.
 * The ends are kept for assert_ended().
 */
int turn(ilk_client *client, int timeout_ms);

/* Turn until the server answers this command so; at most 10 s. */
void turn_until(ilk_client *client, const char *expected, const char *format,
                ...) __attribute__((format(printf, 3, 4)));

/* Turn for so long, whatever happens. */
void turn_for(ilk_client *client, int64_t ms);

/*
 * Turn until a notification reports the end of this operation, at most 10 s;
 * notification and operation must say that it ended so. The second frees it,
 * too.
 */
#define assert_ended(expected, client, op)                                     \
    assert_ended_at(expected, client, op, __FILE__, __LINE__)
#define assert_ends(expected, client, op)                                      \
    do {                                                                       \
        assert_ended(expected, client, op);                                    \
        ilk_op_free(op);                                                       \
        (op) = NULL;                                                           \
    } while (0)
void assert_ended_at(ilk_status expected, ilk_client *client, ilk_op *op,
                     const char *file, int line);

/* It goes on for a while; no notification reports it. */
#define assert_under_way(client, op)                                           \
    assert_under_way_at(client, op, __FILE__, __LINE__)
void assert_under_way_at(ilk_client *client, ilk_op *op, const char *file,
                         int line);

#endif

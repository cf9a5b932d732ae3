/* SPDX-License-Identifier: MIT */
/*
 * shared_case.h -- shared client state without threads and server, for tests of
 * the machines that work at it. The test is keeper, driver and server in one.
 */
#ifndef ILK__SHARED_CASE_H
#define ILK__SHARED_CASE_H

#include "client/inbox.h"
#include "op_case.h"
#include "primitives/lock/lock.h"
#include "wait/refresher.h"

extern ilk__shared shared;
extern ilk__subscriber inbox_subscriber, replica_subscriber;
extern ilk__subscriber
    *inbox_receiver; /* which of them receives what follows; never connected */

/* shared client state whose inbox is ready */
int shared_case_setup(void);
int shared_case_teardown(void);

/* One who takes a lock, without the lock's handle. */
typedef struct taker {
    char name[64];
    ilk__bytes keys[ILK__LOCK_KEYS];
    ilk__wait_queue wait_queue;
    ilk__waiter waiter;
    ilk__op op;
    ilk_error err;
} taker;

void taker_open(taker *t, const char *name, const ilk__hold_kind *kind);
void taker_close(taker *t);

/* Begin to acquire a lease of 30 s; 0 tries once, -1 has no deadline. */
ilk__act taker_acquire(taker *t, int64_t timeout_ms);
/* Acquire; the reply at once is that it stands in the wait queue. */
void taker_queue(taker *t, int64_t timeout_ms);
/* The expected request of taker_acquire(); in the wait queue: it enqueues. */
const char *taker_asks(const taker *t, int queued);
/* The same for a cancel: sent by the taker itself, or given to the keeper. */
const char *taker_tells(const taker *t);
const char *taker_gives_back(const taker *t);

/* Let so much time pass and fire what is due. */
void shared_tick(int64_t ms);

/* The next operation that was posted, its request composed; NULL: there is
 * none. */
ilk__inflight *next_inflight(void);
ilk__act inflight_answer(ilk__inflight *inflight, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The keeper could not send it, or was not answered. */
ilk__act inflight_no_answer(ilk__inflight *inflight, ilk_status status,
                            int may_have_run);
/* done with that */
void inflight_end(ilk__inflight *inflight, ilk_status status);
/* The next operation asks this; it is answered that nothing was held. */
void assert_gives_back(const char *words);
void assert_gives_back_twice(const char *words);

/* A message on the client's own channel, to which the right secret is added;
 * the message as it is; or the server's words as they are. */
void inbox_receives(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
void inbox_receives_bytes(const char *payload, size_t len);
void inbox_receives_forged(const char *payload, size_t len);
/* The inbox subscribes on this connection; the second is confirmed as well. */
void inbox_subscribes(ilk__subscriber *subscriber);
void inbox_confirms(ilk__subscriber *subscriber);
void inbox_receives_raw(const char *resp);
/* The grant of a lease, as the server's clock shows server_us. */
void inbox_grants(const taker *t, int64_t fence, int64_t lease_ms,
                  int64_t server_us);

#endif

/* SPDX-License-Identifier: MIT */
/**
 * @file interlock.h
 * Locks and semaphores that many processes share through one Redis or Valkey
 * server.
 *
 * This is the umbrella header: it includes the pages below and nothing else.
 *
 * Rules that hold on every page:
 * - A handle is opaque. `_open` makes one and sends nothing, functions act,
 *   `_free` is silent on the network and accepts NULL.
 * - Handles hold a reference on their client, so they may be freed in any
 *   order.
 * - Functions answer an ilk_status: ILK_OK (0) or a negative code. The text
 *   goes to the caller's ilk_error, which may be NULL. After ILK_OK it has the
 *   code ILK_OK and no text.
 * - Names and payloads are bytes: a pointer and a length, any content.
 * - Times are int64_t milliseconds. A timeout of -1 waits for ever, 0 tries
 *   once. A wait of less than 500 leaves the server 500 for its first reply.
 * - Most functions that may wait have a non-blocking form whose name ends in
 *   `_start`; op.h lists those that have none.
 * - Threads: "any thread" may be called from several threads at once; "one
 *   thread at a time" may move between threads; "immutable" never changes.
 * - No function is a cancellation point: pthread_cancel() takes effect after the
 *   call, at the thread's next cancellation point. A thread whose cancel type is
 *   PTHREAD_CANCEL_ASYNCHRONOUS must not call the library.
 */
#ifndef INTERLOCK_H
#define INTERLOCK_H

#include "interlock/arrival.h"
#include "interlock/barrier.h"
#include "interlock/base.h"
#include "interlock/client.h"
#include "interlock/election.h"
#include "interlock/election_leader.h"
#include "interlock/event.h"
#include "interlock/group.h"
#include "interlock/guard.h"
#include "interlock/inspect.h"
#include "interlock/job.h"
#include "interlock/kv.h"
#include "interlock/latch.h"
#include "interlock/list.h"
#include "interlock/lock.h"
#include "interlock/lock_many.h"
#include "interlock/log.h"
#include "interlock/notification.h"
#include "interlock/op.h"
#include "interlock/queue.h"
#include "interlock/queue_inspect.h"
#include "interlock/recipes.h"
#include "interlock/register.h"
#include "interlock/ring.h"
#include "interlock/rwlock.h"
#include "interlock/semaphore.h"
#include "interlock/server.h"
#include "interlock/signal.h"
#include "interlock/store.h"
#include "interlock/worker.h"

#endif

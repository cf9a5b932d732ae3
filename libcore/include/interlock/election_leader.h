/* SPDX-License-Identifier: MIT */
/**
 * @file election_leader.h
 * The present leader: reading it once, and observing each change.
 */
#ifndef INTERLOCK_ELECTION_LEADER_H
#define INTERLOCK_ELECTION_LEADER_H

#include "election.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** A snapshot of an election: leader, value, candidates. */
typedef struct ilk_leader ilk_leader;

/** An observer: waits for changes of leader or value. */
typedef struct ilk_observer ilk_observer;

/** Flags of ilk_election_observe(). */
enum { ILK_OBSERVE_VACANT = 1 /**< report also that nobody leads */ };

/**
 * Read who leads, since when, and who waits in the wait queue.
 *
 * @param[out] out  the leader, to be freed; NULL when the call fails
 * @param election  a handle, campaigning or not
 * @param[out] err  may be NULL
 * @return ILK_OK, also when nobody leads; ILK_EINVAL, ILK_ETYPE, ILK_ECONN,
 *         ILK_EAUTH and the others
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_election_leader(ilk_leader **out, ilk_election *election,
                                       ilk_error *err);

/**
 * Start ilk_election_leader(); ilk_op_leader() returns the result.
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param election  the handle; it may be freed while this runs
 * @param[out] err  may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_election_leader_start(ilk_op **out,
                                             ilk_election *election,
                                             ilk_error *err);

/**
 * The result of ilk_election_leader_start() or ilk_observer_next_start().
 *
 * @param op  one that has ended with ILK_OK
 * @return the leader; NULL for another kind of operation, or before its end
 * Ownership: borrowed until the operation is freed. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API const ilk_leader *ilk_op_leader(ilk_op *op);

/**
 * The value that the leader published.
 *
 * @param leader        the leader
 * @param[out] out_len  its bytes; may be NULL
 * @return NUL-terminated bytes; NULL when nobody leads
 * Ownership: borrowed until the leader is freed. Threads: immutable.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_leader_value(const ilk_leader *leader, size_t *out_len);

/**
 * The leader's term; when nobody leads, that of the last one.
 *
 * @param leader  the leader
 * @return the term; 0 when none is on record
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_leader_term(const ilk_leader *leader);

/**
 * The label of the leader's client, host:pid by default.
 *
 * @param leader  the leader
 * @return a NUL-terminated string; "" when nobody leads
 * Ownership: borrowed until the leader is freed. Threads: immutable.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_leader_label(const ilk_leader *leader);

/**
 * Since when it leads, in milliseconds of the server's clock since 1970.
 *
 * @param leader  the leader
 * @return milliseconds; 0 when nobody leads
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_leader_since_ms(const ilk_leader *leader);

/**
 * The remaining lease by the server's clock.
 *
 * @param leader  the leader
 * @return milliseconds; 0 when nobody leads
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_leader_ttl_ms(const ilk_leader *leader);

/**
 * How many candidates are in the wait queue; 0 in an observer's result.
 *
 * @param leader  the leader
 * @return their number, which may be greater than that of those listed
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_leader_candidates(const ilk_leader *leader);

/**
 * How many candidates are listed: the first 100 at most, in order.
 *
 * @param leader  the leader
 * @return their number
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_leader_listed(const ilk_leader *leader);

/**
 * The label of the i-th candidate's client.
 *
 * @param leader  the leader
 * @param index   0 to ilk_leader_listed() - 1
 * @return a NUL-terminated string; "" beyond the end
 * Ownership: borrowed until the leader is freed. Threads: immutable.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_leader_candidate_label(const ilk_leader *leader,
                                               size_t index);

/**
 * Free the leader.
 *
 * @param leader  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_leader_free(ilk_leader *leader);

/**
 * Make an observer: ilk_observer_next() returns who leads, and then each
 * change. Nothing is sent yet.
 *
 * @param[out] out  the observer, to be freed; NULL when the call fails
 * @param election  a handle of the election; it may be freed before *out
 * @param flags     ILK_OBSERVE_…
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_ENOMEM, ILK_ECLOSED, ILK_EFORKED
 * Ownership: the caller frees *out. Threads: any thread. Blocks: no.
 * Since: 0.1
 */
ILK_API ilk_status ilk_election_observe(ilk_observer **out,
                                        ilk_election *election, uint32_t flags,
                                        ilk_error *err);

/**
 * Wait for the next state that this observer has not returned: at first who
 * leads, then each change of leader or value. A state that lasts only a moment
 * may be skipped. The latest state is always returned, unless the server lost
 * its data and has a smaller term. While nothing changes, the client sends only
 * the refresh of its waits, every two seconds.
 *
 * @param[out] out    the leader, to be freed; NULL when the call fails
 * @param observer    the observer
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 checks once
 * @param[out] err    may be NULL
 * @return ILK_OK; ILK_EBUSY (timeout_ms 0, nothing new); ILK_ETIMEOUT;
 *         ILK_EINTR; ILK_ECANCELLED; ILK_EHELD (another call is running);
 *         ILK_ECONN and the server's errors
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: yes; ended by a signal (ILK_EINTR), ilk_client_interrupt(),
 * ilk_client_stop(), ilk_observer_cancel() and ilk_client_close(). Since: 0.1
 */
ILK_API ilk_status ilk_observer_next(ilk_leader **out, ilk_observer *observer,
                                     int64_t timeout_ms, ilk_error *err);

/**
 * Start ilk_observer_next(); ilk_op_leader() returns the result.
 *
 * @param[out] out    the operation, to be freed; NULL when the call fails
 * @param observer    the observer
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 checks once
 * @param[out] err    may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_observer_next_start(ilk_op **out, ilk_observer *observer,
                                           int64_t timeout_ms, ilk_error *err);

/**
 * Cancel a wait: a thread inside ilk_observer_next() returns ILK_ECANCELLED.
 *
 * @param observer  the observer; nothing happens when it does not wait
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_EFORKED
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_observer_cancel(ilk_observer *observer, ilk_error *err);

/**
 * Free an observer.
 * @param observer  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_observer_free(ilk_observer *observer);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif

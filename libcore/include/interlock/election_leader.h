/* SPDX-License-Identifier: MIT */
/**
 * @file election_leader.h
 * Who leads: asking for it, and being told of each change.
 */
#ifndef INTERLOCK_ELECTION_LEADER_H
#define INTERLOCK_ELECTION_LEADER_H

#include "election.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** What is known of a leadership at one moment. */
typedef struct ilk_leader ilk_leader;

/** One who is told of changes. */
typedef struct ilk_observer ilk_observer;

/** Flags of ilk_election_observe(). */
enum { ILK_OBSERVE_VACANT = 1 /**< tell as well when nobody leads */ };

/**
 * Ask who leads, since when, and who stands in the wait queue.
 *
 * @param[out] out  the finding, to be freed; NULL when the call fails
 * @param election  a handle, whether it campaigns or not
 * @param[out] err  may be NULL
 * @return ILK_OK, also when nobody leads; ILK_EINVAL, ILK_ETYPE, ILK_ECONN,
 *         ILK_EAUTH and the others
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_election_leader(ilk_leader **out, ilk_election *election,
                                       ilk_error *err);

/**
 * Start ilk_election_leader(); ilk_op_leader() has what was found.
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param election  the handle; it may be freed meanwhile
 * @param[out] err  may be NULL
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_election_leader_start(ilk_op **out,
                                             ilk_election *election,
                                             ilk_error *err);

/**
 * What an operation found that asked who leads, or waited for a change.
 *
 * @param op  one that has ended with ILK_OK
 * @return the finding; NULL for another kind of operation, or too early
 * Ownership: borrowed until the operation is freed. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API const ilk_leader *ilk_op_leader(ilk_op *op);

/**
 * What the leader has published.
 *
 * @param leader        the finding
 * @param[out] out_len  its bytes; may be NULL
 * @return NUL-terminated bytes; NULL when nobody leads
 * Ownership: borrowed until the finding is freed. Threads: immutable.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_leader_value(const ilk_leader *leader, size_t *out_len);

/**
 * The leader's term; when nobody leads, that of the last one.
 *
 * @param leader  the finding
 * @return the term; 0 when none is on record
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_leader_term(const ilk_leader *leader);

/**
 * The label of the leader's client, host:pid by default.
 *
 * @param leader  the finding
 * @return a NUL-terminated string; "" when nobody leads
 * Ownership: borrowed until the finding is freed. Threads: immutable.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_leader_label(const ilk_leader *leader);

/**
 * Since when it leads, in milliseconds of the server's clock since 1970.
 *
 * @param leader  the finding
 * @return milliseconds; 0 when nobody leads
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_leader_since_ms(const ilk_leader *leader);

/**
 * The lease left by the server's clock.
 *
 * @param leader  the finding
 * @return milliseconds; 0 when nobody leads
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_leader_ttl_ms(const ilk_leader *leader);

/**
 * How many candidates stand in the wait queue; 0 in what an observer is told.
 *
 * @param leader  the finding
 * @return their number, which may be greater than that of those listed
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_leader_candidates(const ilk_leader *leader);

/**
 * How many of the candidates are listed; at most 100, the first first.
 *
 * @param leader  the finding
 * @return their number
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_leader_listed(const ilk_leader *leader);

/**
 * The label of the i-th candidate's client.
 *
 * @param leader  the finding
 * @param index   0 to ilk_leader_listed() - 1
 * @return a NUL-terminated string; "" beyond the end
 * Ownership: borrowed until the finding is freed. Threads: immutable.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_leader_candidate_label(const ilk_leader *leader,
                                               size_t index);

/**
 * Free a finding.
 *
 * @param leader  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_leader_free(ilk_leader *leader);

/**
 * Observe the election: ilk_observer_next() tells who leads, and again at
 * each change. Nothing is sent yet.
 *
 * @param[out] out  the observer, to be freed; NULL when the call fails
 * @param election  whose name is observed; it may be freed before *out
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
 * The next thing that an observer has not been told: at first who leads,
 * then each change of leader or value. What was true for a moment only may
 * be skipped; what is true last is always told, unless a server that lost its
 * memory shows a smaller term. Between changes nothing is asked but the
 * refresh of those who wait, every two seconds.
 *
 * @param[out] out    the finding, to be freed; NULL when the call fails
 * @param observer    the observer
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 looks once
 * @param[out] err    may be NULL
 * @return ILK_OK; ILK_EBUSY (timeout_ms 0, nothing new); ILK_ETIMEOUT;
 *         ILK_EINTR; ILK_ECANCELLED; ILK_EHELD (another thread is in here);
 *         ILK_ECONN and the server's conditions
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: yes; ended by a signal (ILK_EINTR), ilk_client_interrupt(),
 * ilk_observer_cancel() and ilk_client_close(). Since: 0.1
 */
ILK_API ilk_status ilk_observer_next(ilk_leader **out, ilk_observer *observer,
                                     int64_t timeout_ms, ilk_error *err);

/**
 * Start ilk_observer_next(); ilk_op_leader() has what was found.
 *
 * @param[out] out    the operation, to be freed; NULL when the call fails
 * @param observer    the observer
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 looks once
 * @param[out] err    may be NULL
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_observer_next_start(ilk_op **out, ilk_observer *observer,
                                           int64_t timeout_ms, ilk_error *err);

/**
 * End a wait: a thread inside ilk_observer_next() returns ILK_ECANCELLED.
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

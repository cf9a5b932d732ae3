/* SPDX-License-Identifier: MIT */
/**
 * @file lock.h
 * A lock that one owner at a time holds, under a lease, with a fence.
 *
 * The owner is the handle: it may move between threads, and its token may be
 * handed to another process. A lock is lost, not broken, when its lease runs
 * out: the next holder gets a greater fence, and what the lock protects can
 * refuse the smaller one (guard.h).
 *
 * The key is the name itself, a plain string with an expiry, so redis-py,
 * redsync, node-redlock and whoever uses SET NX PX exclude us and we them.
 */
#ifndef INTERLOCK_LOCK_H
#define INTERLOCK_LOCK_H

#include "client.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** A lock's handle: one owner, one hold. */
typedef struct ilk_lock ilk_lock;

/** Flags of ilk_lock_opts; 0 is the default behaviour. */
enum {
    ILK_LOCK_NO_RENEW = 1, /**< let the lease run out, do not renew it */
    ILK_LOCK_BARGE = 2,    /**< take a free lock past those who wait */
    ILK_LOCK_REENTRANT = 4 /**< acquire again on a holding handle counts */
};

/** How the lock lies in the server. */
typedef enum ilk_lock_layout {
    ILK_LAYOUT_PLAIN = 0,   /**< a string, as redis-py, redsync and others */
    ILK_LAYOUT_REDISSON = 1 /**< a hash, as Redisson's RLock */
} ilk_lock_layout;

/** Options of a lock. Zero means the default everywhere. */
typedef struct ilk_lock_opts {
    size_t size;             /**< set by ilk_lock_opts_init() */
    int64_t ttl_ms;          /**< the lease; default 30000, at most 1 year */
    int64_t max_hold_ms;     /**< renew no longer than this; default no end */
    int64_t foreign_poll_ms; /**< look after a foreign holder; default 100 */
    uint32_t flags;          /**< ILK_LOCK_… */
    int32_t layout;          /**< an ilk_lock_layout */
} ilk_lock_opts;

/**
 * Set every field of the options to its default.
 *
 * @param opts  the options to initialise
 * @param size  sizeof the caller's struct
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API void ilk_lock_opts_init(ilk_lock_opts *opts, size_t size);

/**
 * Make a handle for the lock of this name. Nothing is sent.
 *
 * @param[out] out  the handle, to be freed; NULL when the call fails
 * @param client    the client; the handle keeps a reference on it
 * @param name      1 to 512 bytes, any bytes but a leading "ilk:"
 * @param name_len  their number
 * @param opts      may be NULL for the defaults
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_ENOMEM, ILK_ECLOSED, ILK_EFORKED
 * Ownership: the caller frees *out. Threads: any thread. Blocks: no.
 * Since: 0.1
 */
ILK_API ilk_status ilk_lock_open(ilk_lock **out, ilk_client *client,
                                 const void *name, size_t name_len,
                                 const ilk_lock_opts *opts, ilk_error *err);

/**
 * Take the lock, waiting up to timeout_ms for those who asked before.
 *
 * After ILK_EINTR the handle keeps its place in the wait queue for a few
 * seconds: acquire again takes the wait up, ilk_lock_cancel() ends it.
 *
 * @param lock        a handle that does not hold yet
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 tries once
 * @param[out] err    may be NULL
 * @return ILK_OK; ILK_EBUSY (timeout_ms 0, held elsewhere); ILK_ETIMEOUT;
 *         ILK_EINTR; ILK_ECANCELLED; ILK_EHELD; ILK_ECONN, ILK_EAUTH,
 *         ILK_ETYPE, ILK_ECLOSED, ILK_EFORKED and the server's conditions
 * Threads: one thread at a time.
 * Blocks: yes; ended by a signal (ILK_EINTR), ilk_client_interrupt(),
 * ilk_lock_cancel() and ilk_client_close(). Since: 0.1
 */
ILK_API ilk_status ilk_lock_acquire(ilk_lock *lock, int64_t timeout_ms,
                                    ilk_error *err);

/**
 * As ilk_lock_acquire(), with a lease for this acquire only.
 *
 * @param lock        a handle that does not hold yet
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 tries once
 * @param ttl_ms      the lease; 0 for the handle's
 * @param[out] err    may be NULL
 * @return as ilk_lock_acquire(); ILK_EINVAL for a negative ttl_ms
 * Threads: one thread at a time. Blocks: as ilk_lock_acquire(). Since: 0.1
 */
ILK_API ilk_status ilk_lock_acquire_ttl(ilk_lock *lock, int64_t timeout_ms,
                                        int64_t ttl_ms, ilk_error *err);

/**
 * Start ilk_lock_acquire_ttl().
 *
 * @param[out] out     the operation, to be freed; NULL when the call fails
 * @param lock         the handle
 * @param timeout_ms   milliseconds; -1 waits for ever, 0 tries once
 * @param ttl_ms       the lease; 0 for the handle's
 * @param[out] err     may be NULL
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_lock_acquire_start(ilk_op **out, ilk_lock *lock,
                                          int64_t timeout_ms, int64_t ttl_ms,
                                          ilk_error *err);

/**
 * End a wait: the place in the wait queue is given up, a grant that was already
 * under way goes to the next. A thread inside ilk_lock_acquire() returns
 * ILK_ECANCELLED.
 *
 * @param lock      the handle; nothing happens when it does not wait
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_EFORKED
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_lock_cancel(ilk_lock *lock, ilk_error *err);

/**
 * Give the lock up; the first who waits holds it next.
 *
 * The handle is free afterwards whatever the answer. With
 * ILK_LOCK_REENTRANT only the last of several releases gives the lock up.
 *
 * @param lock      the handle
 * @param[out] err  may be NULL
 * @return ILK_OK (this call gave the lock up); ILK_ELOST (it was no longer
 *         ours; nobody's lock is touched); ILK_ENOTOWNER (the handle holds
 *         nothing); ILK_EUNKNOWN (no answer, and the server cannot tell
 *         whether the lock was released or lost before); ILK_EAUTH (released,
 *         but this user may not wake the next)
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_lock_release(ilk_lock *lock, ilk_error *err);

/**
 * Start ilk_lock_release(); the lock counts as given up at once.
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param lock       the handle
 * @param[out] err   may be NULL
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_lock_release_start(ilk_op **out, ilk_lock *lock,
                                          ilk_error *err);

/**
 * As ilk_lock_release(), without waiting for the answer: sent at once, ahead
 * of all that this client sends later, and read by its next call. It saves a
 * round trip and leaves the caller in doubt for as long.
 *
 * When the answer tells that the hold had been lost before, the next acquire
 * on this handle answers ILK_ELOST, once, and takes nothing. When no answer
 * comes, the background thread gives back under the token.
 *
 * @param lock      the handle
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_ENOTOWNER; ILK_ELOST when that is known already;
 *         ILK_ENOMEM (still held)
 * Threads: one thread at a time. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_lock_release_unconfirmed(ilk_lock *lock, ilk_error *err);

/**
 * Set the lease left to ttl_ms, counted from now. Background renewals go on
 * and never shorten it; a shorter one is therefore renewed soon.
 *
 * Until the answer comes, and after ILK_EUNKNOWN, the handle counts on no more
 * than the shorter of both leases.
 *
 * @param lock      a handle that holds
 * @param ttl_ms    the lease; 0 for the handle's
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_ELOST; ILK_ENOTOWNER; ILK_EINVAL; ILK_EUNKNOWN
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_lock_extend(ilk_lock *lock, int64_t ttl_ms,
                                   ilk_error *err);

/**
 * Start ilk_lock_extend().
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param lock       the handle
 * @param ttl_ms     the lease; 0 for the handle's
 * @param[out] err   may be NULL
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_lock_extend_start(ilk_op **out, ilk_lock *lock,
                                         int64_t ttl_ms, ilk_error *err);

/**
 * Find out whether the lock is still ours. Within the local deadline that
 * costs nothing; past it the server is asked.
 *
 * @param lock      the handle
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_ELOST; ILK_ENOTOWNER; ILK_EUNKNOWN (no answer)
 * Threads: one thread at a time. Blocks: at most one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_lock_check(ilk_lock *lock, ilk_error *err);

/**
 * Start ilk_lock_check().
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param lock       the handle
 * @param[out] err   may be NULL
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_lock_check_start(ilk_op **out, ilk_lock *lock,
                                        ilk_error *err);

/**
 * Stop renewing and give the hold away: the handle is free, the lock stays
 * taken under the token, which another handle may adopt before the lease
 * ends. ilk_lock_token() tells the token until the next acquire.
 *
 * Nothing that this handle has sent changes the lease afterwards: a renewal
 * under way is waited for, and an extend without an answer is settled first.
 *
 * @param lock      a handle that holds
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_ENOTOWNER; ILK_ELOST; ILK_EUNKNOWN (an extend has no
 *         answer and may be executed late: still held)
 * Threads: one thread at a time. Blocks: as long as a renewal is under way,
 * or one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_lock_detach(ilk_lock *lock, ilk_error *err);

/**
 * Take over a hold by its token; the lease is the handle's ttl at least and
 * is renewed as if this handle had acquired it. The fence stays.
 *
 * @param lock       a handle that does not hold
 * @param token      what the donor's ilk_lock_token() told
 * @param token_len  its bytes
 * @param[out] err   may be NULL
 * @return ILK_OK; ILK_ELOST (no longer held under this token); ILK_EHELD;
 *         ILK_EINVAL; ILK_EUNKNOWN
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_lock_adopt(ilk_lock *lock, const void *token,
                                  size_t token_len, ilk_error *err);

/**
 * Start ilk_lock_adopt().
 *
 * @param[out] out    the operation, to be freed; NULL when the call fails
 * @param lock        the handle
 * @param token       what the donor's ilk_lock_token() told; copied
 * @param token_len   its bytes
 * @param[out] err    may be NULL
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_lock_adopt_start(ilk_op **out, ilk_lock *lock,
                                        const void *token, size_t token_len,
                                        ilk_error *err);

/**
 * Whether the handle holds for sure: taken, not lost, local deadline not
 * passed.
 *
 * @param lock  the handle; NULL answers 0
 * @return 1 or 0
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int32_t ilk_lock_held(const ilk_lock *lock);

/**
 * Milliseconds that the lock is ours for sure, by the local clock, counted
 * from before the request was sent, less 1 % and 2 ms for drift.
 *
 * @param lock  the handle; NULL answers 0
 * @return milliseconds; 0 when not held or not sure any more
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_lock_remaining_ms(const ilk_lock *lock);

/**
 * The fence of the current or last hold: greater than any before it for
 * this name, below 2^53.
 *
 * @param lock  the handle; NULL answers 0
 * @return the fence; 0 before the first acquire
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_lock_fence(const ilk_lock *lock);

/**
 * The token of the current or last hold.
 *
 * @param lock  the handle; NULL answers ""
 * @return a NUL-terminated string; "" before the first acquire
 * Ownership: borrowed until the next acquire, adopt or free.
 * Threads: one thread at a time. Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_lock_token(const ilk_lock *lock);

/**
 * The handle's number, unique in its client; notifications carry it.
 *
 * @param lock  the handle; NULL answers 0
 * @return a positive number
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_lock_id(const ilk_lock *lock);

/**
 * Take a lock away from whoever holds it; the first who waits holds it next.
 * For operators: the former holder is not asked, its fence is stale.
 *
 * @param client     the client
 * @param name       the lock's name
 * @param name_len   its bytes
 * @param token      break only this holder's lock; NULL for anybody's
 * @param token_len  its bytes
 * @param[out] err   may be NULL
 * @return ILK_OK; ILK_ENOTOWNER (nobody, or not that token, holds it);
 *         ILK_EINVAL, ILK_ETYPE, ILK_EUNKNOWN
 * Threads: any thread. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_lock_break(ilk_client *client, const void *name,
                                  size_t name_len, const void *token,
                                  size_t token_len, ilk_error *err);

/**
 * Start ilk_lock_break().
 *
 * @param[out] out    the operation, to be freed; NULL when the call fails
 * @param client      the client
 * @param name        the lock's name; copied
 * @param name_len    its bytes
 * @param token       break only this holder's lock; NULL for anybody's; copied
 * @param token_len   its bytes
 * @param[out] err    may be NULL
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_lock_break_start(ilk_op **out, ilk_client *client,
                                        const void *name, size_t name_len,
                                        const void *token, size_t token_len,
                                        ilk_error *err);

/**
 * Free the handle. Nothing is sent: a lock that is held runs out with its
 * lease; a wait is given up by the keeper.
 *
 * @param lock  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_lock_free(ilk_lock *lock);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif

/* SPDX-License-Identifier: MIT */
/**
 * @file lock.h
 * A lock that one owner at a time holds, under a lease, with a fence.
 *
 * The owner is the handle: it may move between threads, and its token may be
 * handed to another process. When the lease runs out the lock is lost. The
 * next holder gets a greater fence, so that the resource behind the lock can
 * refuse late writes with the smaller one (guard.h).
 *
 * The key is the name itself, a plain string with an expiry. So these locks
 * exclude those of redis-py, redsync, node-redlock and of everything else that
 * uses SET NX PX.
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
    ILK_LOCK_BARGE = 2,    /**< take a free lock ahead of the queue */
    ILK_LOCK_REENTRANT = 4 /**< a handle that holds may acquire again */
};

/** How the lock is stored on the server. */
typedef enum ilk_lock_layout {
    ILK_LAYOUT_PLAIN = 0,   /**< a string, as redis-py, redsync and others */
    ILK_LAYOUT_REDISSON = 1 /**< a hash, as Redisson's RLock */
} ilk_lock_layout;

/** Options of a lock. Zero means the default everywhere. */
typedef struct ilk_lock_opts {
    size_t size;             /**< set by ilk_lock_opts_init() */
    int64_t ttl_ms;          /**< the lease; default 30000, at most 1 year,
                                  at least ILK_LEASE_MIN_MS */
    int64_t max_hold_ms;     /**< end the hold after this, unless it is
                                extended; default: never */
    int64_t foreign_poll_ms; /**< how often to poll while another library
                                  holds the lock; default 100 */
    uint32_t flags;          /**< ILK_LOCK_… */
    int32_t layout;          /**< an ilk_lock_layout */
    void *user;              /**< comes back in notifications; never read */
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
 * Acquire the lock, waiting up to timeout_ms. Waiters are served in order.
 *
 * After ILK_EINTR the handle keeps its place in the wait queue for a few
 * seconds: calling acquire again resumes the wait, ilk_lock_cancel() ends it.
 *
 * @param lock        a handle that does not hold yet
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 tries once
 * @param[out] err    may be NULL
 * @return ILK_OK; ILK_EBUSY (timeout_ms 0, held elsewhere); ILK_ETIMEOUT;
 *         ILK_EINTR; ILK_ECANCELLED; ILK_EHELD; ILK_ECONN, ILK_EAUTH,
 *         ILK_ETYPE, ILK_ECLOSED, ILK_EFORKED and the server's errors
 * Threads: one thread at a time.
 * Blocks: yes; ended by a signal (ILK_EINTR), ilk_client_interrupt(),
 * ilk_client_stop(), ilk_lock_cancel() and ilk_client_close(). Since: 0.1
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
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_lock_acquire_start(ilk_op **out, ilk_lock *lock,
                                          int64_t timeout_ms, int64_t ttl_ms,
                                          ilk_error *err);

/**
 * Cancel a wait. The handle leaves the wait queue, and a grant that is already
 * on its way goes to the next waiter. A thread inside ilk_lock_acquire()
 * returns ILK_ECANCELLED.
 *
 * @param lock      the handle; nothing happens when it does not wait
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_EFORKED
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_lock_cancel(ilk_lock *lock, ilk_error *err);

/**
 * Release the lock and grant it to the first waiter.
 *
 * The handle is free afterwards, whatever the result. With ILK_LOCK_REENTRANT
 * only the last of several nested releases releases the lock.
 *
 * @param lock      the handle
 * @param[out] err  may be NULL
 * @return ILK_OK (this call released the lock); ILK_ELOST (the hold had been
 *         lost; the lock of another holder is left alone); ILK_ENOTOWNER (the
 *         handle holds nothing); ILK_EUNKNOWN (a reply was lost, and the
 *         server's record does not show whether the lock was released or lost
 *         before); ILK_EAUTH (released, but this user may not PUBLISH to the
 *         next waiter)
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_lock_release(ilk_lock *lock, ilk_error *err);

/**
 * Start ilk_lock_release(). The handle no longer holds as soon as this
 * returns ILK_OK.
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param lock       the handle
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_lock_release_start(ilk_op **out, ilk_lock *lock,
                                          ilk_error *err);

/**
 * As ilk_lock_release(), without waiting for the reply. The command is sent at
 * once, ahead of everything that this client sends later for the same name (but an
 * acquire of several names at once may overtake it, unless the name is the first of
 * them in the order of their bytes). The next call for that name reads the
 * reply; so does a call for another name, from 20 ms on. This saves a round
 * trip; until then the caller does not know whether the release succeeded.
 *
 * If the reply says that the hold had been lost before, the next acquire on
 * this handle returns ILK_ELOST, once, and acquires nothing. If no reply
 * arrives, the keeper releases by the token.
 *
 * @param lock      the handle
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_ENOTOWNER; ILK_ELOST when that is known already;
 *         ILK_ENOMEM (still held)
 * Threads: one thread at a time. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_lock_release_unconfirmed(ilk_lock *lock, ilk_error *err);

/**
 * Set the remaining lease to ttl_ms, counted from now. Renewal goes on and
 * never shortens a lease; one that was set shorter is soon renewed.
 *
 * Until the reply arrives, and after ILK_EUNKNOWN, the handle relies only on
 * the shorter of the two leases.
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
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_lock_extend_start(ilk_op **out, ilk_lock *lock,
                                         int64_t ttl_ms, ilk_error *err);

/**
 * Check whether the handle still holds. Before the local deadline the answer
 * comes from memory; after it a request goes to the server.
 *
 * @param lock      the handle
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_ELOST; ILK_ENOTOWNER; ILK_EUNKNOWN (no reply)
 * Threads: one thread at a time. Blocks: at most one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_lock_check(ilk_lock *lock, ilk_error *err);

/**
 * Start ilk_lock_check().
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param lock       the handle
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_lock_check_start(ilk_op **out, ilk_lock *lock,
                                        ilk_error *err);

/**
 * Detach the hold from the handle: renewal stops and the handle is free, but
 * the lock stays held under its token. Another handle, also in another process,
 * may adopt the token before the lease ends. ilk_lock_token() returns it until
 * the next acquire.
 *
 * Nothing that this handle has sent changes the lease afterwards: detach waits
 * for a running renewal, and for the effect of an extend without a reply.
 *
 * @param lock      a handle that holds
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_ENOTOWNER; ILK_ELOST; ILK_EUNKNOWN (an extend has no
 *         reply and may be executed late; the handle still holds);
 *         ILK_EUNSUPPORTED (without ILK_OFFER_DETACH; the handle still holds);
 *         ILK_ECLOSED (the client was closed while a renewal was running)
 * Threads: one thread at a time. Blocks: while a renewal is running, or one
 * round trip. Since: 0.1
 */
ILK_API ilk_status ilk_lock_detach(ilk_lock *lock, ilk_error *err);

/**
 * Take over a detached hold by its token. The lease becomes at least the
 * handle's ttl and is renewed as if this handle had acquired it. The fence
 * stays the same.
 *
 * @param lock       a handle that does not hold
 * @param token      from ilk_lock_token() of the detached handle
 * @param token_len  its bytes
 * @param[out] err   may be NULL
 * @return ILK_OK; ILK_ELOST (no longer held under this token); ILK_EHELD;
 *         ILK_EINVAL; ILK_EUNKNOWN; ILK_EUNSUPPORTED (without ILK_OFFER_DETACH)
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_lock_adopt(ilk_lock *lock, const void *token,
                                  size_t token_len, ilk_error *err);

/**
 * Start ilk_lock_adopt().
 *
 * @param[out] out    the operation, to be freed; NULL when the call fails
 * @param lock        the handle
 * @param token       from ilk_lock_token() of the detached handle; copied
 * @param token_len   its bytes
 * @param[out] err    may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_lock_adopt_start(ilk_op **out, ilk_lock *lock,
                                        const void *token, size_t token_len,
                                        ilk_error *err);

/**
 * Whether the handle certainly holds: acquired, not lost, and its local
 * deadline has not passed.
 *
 * @param lock  the handle; NULL yields 0
 * @return 1 or 0
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int32_t ilk_lock_held(const ilk_lock *lock);

/**
 * Time until the local deadline, up to which the handle certainly holds. It is
 * the lease, counted by the local clock from before the command was sent, less
 * 1 % and 2 ms for clock drift.
 *
 * @param lock  the handle; NULL yields 0
 * @return milliseconds; 0 when not held, or no longer certain
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_lock_remaining_ms(const ilk_lock *lock);

/**
 * The fence of the current or last hold: greater than any before it for
 * this name, below 2^53.
 *
 * @param lock  the handle; NULL yields 0
 * @return the fence; 0 before the first acquire
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_lock_fence(const ilk_lock *lock);

/**
 * The token of the current or last hold.
 *
 * @param lock  the handle; NULL yields ""
 * @return a NUL-terminated string; "" before the first acquire
 * Ownership: borrowed until the next acquire, adopt or free.
 * Threads: one thread at a time. Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_lock_token(const ilk_lock *lock);

/**
 * The name that the handle was opened with.
 *
 * @param lock          the handle; NULL yields NULL
 * @param[out] out_len  its bytes; may be NULL
 * @return bytes without a NUL behind them
 * Ownership: borrowed until the handle is freed. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_lock_name(const ilk_lock *lock, size_t *out_len);

/**
 * The handle's number, unique in its client; notifications carry it.
 *
 * @param lock  the handle; NULL yields 0
 * @return a positive number
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_lock_id(const ilk_lock *lock);

/**
 * Take a lock away from its holder and grant it to the first waiter. This is
 * for operators: the former holder gets no message, and its fence is stale.
 *
 * @param client     the client
 * @param name       the lock's name
 * @param name_len   its bytes
 * @param token      break only this holder's lock; NULL for anybody's
 * @param token_len  its bytes
 * @param[out] err   may be NULL
 * @return ILK_OK; ILK_ENOTOWNER (it is free, or held under another token);
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
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_lock_break_start(ilk_op **out, ilk_client *client,
                                        const void *name, size_t name_len,
                                        const void *token, size_t token_len,
                                        ilk_error *err);

/**
 * Free the handle. Nothing is sent by this call: a hold ends with its lease,
 * and the keeper withdraws a wait.
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

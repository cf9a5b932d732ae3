/* SPDX-License-Identifier: MIT */
/**
 * @file semaphore.h
 * Permits that a limited number of owners hold, each under a lease.
 *
 * A handle is one hold: it acquires all its permits or none, first come, first
 * served. A waiter for many permits is not overtaken by waiters for few. Each
 * hold has its own lease, renewal, token and fence; the permits of an owner
 * that died are free again when its lease ends.
 *
 * The server stores the limit while the semaphore is held or waited for. A
 * handle that was opened with another limit gets ILK_EDIFFERS.
 */
#ifndef INTERLOCK_SEMAPHORE_H
#define INTERLOCK_SEMAPHORE_H

#include "inspect.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** A semaphore's handle: one owner, one hold of some permits. */
typedef struct ilk_semaphore ilk_semaphore;

/** The greatest limit of a semaphore. */
enum { ILK_SEMAPHORE_MAX = 1024 };

/** Flags of ilk_semaphore_opts; 0 is the default behaviour. */
enum {
    ILK_SEMAPHORE_NO_RENEW = 1, /**< let the lease run out */
    ILK_SEMAPHORE_BARGE = 2     /**< take free permits ahead of the queue */
};

/** Options of a semaphore. Zero means the default everywhere. */
typedef struct ilk_semaphore_opts {
    size_t size;         /**< set by ilk_semaphore_opts_init() */
    int64_t ttl_ms;      /**< the lease; default 30000, at most 1 year,
                              at least ILK_LEASE_MIN_MS */
    int64_t max_hold_ms; /**< end the hold after this, unless it is
                                extended; default: never */
    int32_t permits;     /**< how many this handle acquires; default 1 */
    uint32_t flags;      /**< ILK_SEMAPHORE_… */
    void *user;          /**< comes back in notifications; never read */
} ilk_semaphore_opts;

/**
 * Set every field of the options to its default.
 *
 * @param opts  the options to initialise
 * @param size  sizeof the caller's struct
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API void ilk_semaphore_opts_init(ilk_semaphore_opts *opts, size_t size);

/**
 * Make a handle for the semaphore of this name. Nothing is sent.
 *
 * @param[out] out  the handle, to be freed; NULL when the call fails
 * @param client    the client; the handle keeps a reference on it
 * @param name      1 to 512 bytes, any bytes but a leading "ilk:"
 * @param name_len  their number
 * @param limit     how many permits there are, 1 to ILK_SEMAPHORE_MAX
 * @param opts      may be NULL for the defaults
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL (also for more permits than the limit),
 *         ILK_ENOMEM, ILK_ECLOSED, ILK_EFORKED
 * Ownership: the caller frees *out. Threads: any thread. Blocks: no.
 * Since: 0.1
 */
ILK_API ilk_status ilk_semaphore_open(ilk_semaphore **out, ilk_client *client,
                                      const void *name, size_t name_len,
                                      int32_t limit,
                                      const ilk_semaphore_opts *opts,
                                      ilk_error *err);

/**
 * Acquire the handle's permits, waiting up to timeout_ms. Waiters are served
 * in order.
 *
 * After ILK_EINTR the handle keeps its place in the wait queue for a few
 * seconds: calling acquire again resumes the wait, ilk_semaphore_cancel() ends
 * it.
 *
 * @param semaphore   a handle that does not hold yet
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 tries once
 * @param[out] err    may be NULL
 * @return ILK_OK; ILK_EBUSY (timeout_ms 0, not enough are free, or others
 *         wait); ILK_ETIMEOUT; ILK_EDIFFERS (the semaphore has another
 *         limit, or one below this handle's permits); ILK_EINTR;
 *         ILK_ECANCELLED; ILK_EHELD; ILK_ECONN, ILK_EAUTH, ILK_ETYPE,
 *         ILK_ECLOSED, ILK_EFORKED and the server's errors
 * Threads: one thread at a time.
 * Blocks: yes; ended by a signal (ILK_EINTR), ilk_client_interrupt(),
 * ilk_client_stop(), ilk_semaphore_cancel() and ilk_client_close(). Since: 0.1
 */
ILK_API ilk_status ilk_semaphore_acquire(ilk_semaphore *semaphore,
                                         int64_t timeout_ms, ilk_error *err);

/**
 * As ilk_semaphore_acquire(), with a lease for this acquire only.
 *
 * @param semaphore   a handle that does not hold yet
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 tries once
 * @param ttl_ms      the lease; 0 for the handle's
 * @param[out] err    may be NULL
 * @return as ilk_semaphore_acquire(); ILK_EINVAL for a negative ttl_ms
 * Threads: one thread at a time. Blocks: as ilk_semaphore_acquire().
 * Since: 0.1
 */
ILK_API ilk_status ilk_semaphore_acquire_ttl(ilk_semaphore *semaphore,
                                             int64_t timeout_ms, int64_t ttl_ms,
                                             ilk_error *err);

/**
 * Start ilk_semaphore_acquire_ttl().
 *
 * @param[out] out    the operation, to be freed; NULL when the call fails
 * @param semaphore   the handle
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 tries once
 * @param ttl_ms      the lease; 0 for the handle's
 * @param[out] err    may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_semaphore_acquire_start(ilk_op **out,
                                               ilk_semaphore *semaphore,
                                               int64_t timeout_ms,
                                               int64_t ttl_ms, ilk_error *err);

/**
 * Cancel a wait. The handle leaves the wait queue, and a grant that is already
 * on its way goes to the next waiter. A thread inside ilk_semaphore_acquire()
 * returns ILK_ECANCELLED.
 *
 * @param semaphore  the handle; nothing happens when it does not wait
 * @param[out] err   may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_EFORKED
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_semaphore_cancel(ilk_semaphore *semaphore,
                                        ilk_error *err);

/**
 * Release the permits and grant them to as many of the first waiters as fit.
 *
 * The handle is free afterwards, whatever the result.
 *
 * @param semaphore  the handle
 * @param[out] err   may be NULL
 * @return ILK_OK; ILK_ELOST (the hold had been lost; other holders' permits are
 *         left alone); ILK_ENOTOWNER (the handle holds nothing); ILK_EUNKNOWN
 *         (no reply; the hold ends with its lease at the latest); ILK_EAUTH
 *         (released, but this user may not PUBLISH to the next waiter)
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_semaphore_release(ilk_semaphore *semaphore,
                                         ilk_error *err);

/**
 * Start ilk_semaphore_release(). The handle no longer holds as soon as this
 * returns ILK_OK.
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param semaphore  the handle
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_semaphore_release_start(ilk_op **out,
                                               ilk_semaphore *semaphore,
                                               ilk_error *err);

/**
 * As ilk_semaphore_release(), without waiting for the reply; see
 * ilk_lock_release_unconfirmed().
 *
 * If the reply says that the hold had been lost before, the next acquire on
 * this handle returns ILK_ELOST, once, and acquires nothing. If no reply
 * arrives, the keeper releases by the token.
 *
 * @param semaphore  the handle
 * @param[out] err   may be NULL
 * @return ILK_OK; ILK_ENOTOWNER; ILK_ELOST when that is known already;
 *         ILK_ENOMEM (still held)
 * Threads: one thread at a time. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_semaphore_release_unconfirmed(ilk_semaphore *semaphore,
                                                     ilk_error *err);

/**
 * Set the remaining lease to ttl_ms, counted from now.
 *
 * @param semaphore  a handle that holds
 * @param ttl_ms     the lease; 0 for the handle's
 * @param[out] err   may be NULL
 * @return ILK_OK; ILK_ELOST; ILK_ENOTOWNER; ILK_EINVAL; ILK_EUNKNOWN
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_semaphore_extend(ilk_semaphore *semaphore,
                                        int64_t ttl_ms, ilk_error *err);

/**
 * Start ilk_semaphore_extend().
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param semaphore  the handle
 * @param ttl_ms     the lease; 0 for the handle's
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_semaphore_extend_start(ilk_op **out,
                                              ilk_semaphore *semaphore,
                                              int64_t ttl_ms, ilk_error *err);

/**
 * Check whether the handle still holds, as ilk_lock_check() does.
 *
 * @param semaphore  the handle
 * @param[out] err   may be NULL
 * @return ILK_OK; ILK_ELOST; ILK_ENOTOWNER; ILK_EUNKNOWN (no reply)
 * Threads: one thread at a time. Blocks: at most one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_semaphore_check(ilk_semaphore *semaphore,
                                       ilk_error *err);

/**
 * Start ilk_semaphore_check().
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param semaphore  the handle
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_semaphore_check_start(ilk_op **out,
                                             ilk_semaphore *semaphore,
                                             ilk_error *err);

/**
 * Detach the hold from the handle, as ilk_lock_detach() does: the permits stay
 * held under the token, which ilk_semaphore_token() returns until the next
 * acquire.
 *
 * @param semaphore  a handle that holds
 * @param[out] err   may be NULL
 * @return ILK_OK; ILK_ENOTOWNER; ILK_ELOST; ILK_EUNKNOWN, ILK_EUNSUPPORTED (as
 *         there)
 * Threads: one thread at a time. Blocks: as ilk_lock_detach(). Since: 0.1
 */
ILK_API ilk_status ilk_semaphore_detach(ilk_semaphore *semaphore,
                                        ilk_error *err);

/**
 * Take over a detached hold by its token, with as many permits as it has. The
 * lease starts again with the handle's ttl and is renewed as if this handle had
 * acquired it. The fence stays the same.
 *
 * @param semaphore  a handle that does not hold
 * @param token      from ilk_semaphore_token() of the detached handle
 * @param token_len  its bytes
 * @param[out] err   may be NULL
 * @return ILK_OK; ILK_ELOST (no longer held under this token); ILK_EHELD;
 *         ILK_EINVAL; ILK_EUNKNOWN; ILK_EUNSUPPORTED (without ILK_OFFER_DETACH)
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_semaphore_adopt(ilk_semaphore *semaphore,
                                       const void *token, size_t token_len,
                                       ilk_error *err);

/**
 * Start ilk_semaphore_adopt().
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param semaphore  the handle
 * @param token      from ilk_semaphore_token() of the detached handle; copied
 * @param token_len  its bytes
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_semaphore_adopt_start(ilk_op **out,
                                             ilk_semaphore *semaphore,
                                             const void *token,
                                             size_t token_len, ilk_error *err);

/**
 * Change the limit of a semaphore that is in use. Raising it grants permits to
 * waiters. Lowering it revokes nothing, but no permits are granted until enough
 * were released.
 *
 * Handles that were opened with the original limit continue to work, as do
 * those opened with the new one.
 *
 * @param semaphore  any handle of that name
 * @param limit      this handle's permits to ILK_SEMAPHORE_MAX
 * @param[out] err   may be NULL
 * @return ILK_OK; ILK_EINVAL; ILK_EAUTH (changed, but this user may not
 *         PUBLISH to the waiters); ILK_ETYPE, ILK_EUNKNOWN
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_semaphore_set_limit(ilk_semaphore *semaphore,
                                           int32_t limit, ilk_error *err);

/**
 * Start ilk_semaphore_set_limit().
 *
 * @param[out] out    the operation, to be freed; NULL when the call fails
 * @param semaphore   the handle
 * @param limit       as for ilk_semaphore_set_limit()
 * @param[out] err    may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_semaphore_set_limit_start(ilk_op **out,
                                                 ilk_semaphore *semaphore,
                                                 int32_t limit, ilk_error *err);

/**
 * Whether the handle certainly holds, as for a lock.
 *
 * @param semaphore  the handle; NULL yields 0
 * @return 1 or 0
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int32_t ilk_semaphore_held(const ilk_semaphore *semaphore);

/**
 * Time until the local deadline, as for a lock.
 *
 * @param semaphore  the handle; NULL yields 0
 * @return milliseconds; 0 when not held, or no longer certain
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_semaphore_remaining_ms(const ilk_semaphore *semaphore);

/**
 * The fence of the current or last hold: greater than that of any hold of
 * this name that was granted before, below 2^53.
 *
 * @param semaphore  the handle; NULL yields 0
 * @return the fence; 0 before the first acquire
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_semaphore_fence(const ilk_semaphore *semaphore);

/**
 * The token of the current or last hold.
 *
 * @param semaphore  the handle; NULL yields ""
 * @return a NUL-terminated string; "" before the first acquire
 * Ownership: borrowed until the next acquire, adopt or free.
 * Threads: one thread at a time. Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_semaphore_token(const ilk_semaphore *semaphore);

/**
 * The name that the handle was opened with.
 *
 * @param semaphore     the handle; NULL yields NULL
 * @param[out] out_len  its bytes; may be NULL
 * @return bytes without a NUL behind them
 * Ownership: borrowed until the handle is freed. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_semaphore_name(const ilk_semaphore *semaphore,
                                       size_t *out_len);

/**
 * The handle's number, unique in its client; notifications carry it.
 *
 * @param semaphore  the handle; NULL yields 0
 * @return a positive number
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_semaphore_id(const ilk_semaphore *semaphore);

/**
 * Free the handle. Nothing is sent by this call: a hold ends with its lease,
 * and the keeper withdraws a wait.
 *
 * @param semaphore  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_semaphore_free(ilk_semaphore *semaphore);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif

/* SPDX-License-Identifier: MIT */
/**
 * @file lock_many.h
 * One lock over many names: all of them or none.
 *
 * If all names are free and nobody waits for them, one script acquires them.
 * Otherwise they are acquired one by one in byte order, so that callers with
 * the same names cannot deadlock. If the rest cannot be acquired in time, the
 * names acquired so far are released. All names share one lease and one fence,
 * which is greater than any earlier fence of each name.
 */
#ifndef INTERLOCK_LOCK_MANY_H
#define INTERLOCK_LOCK_MANY_H

#include "lock.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** A handle for one lock over many names. */
typedef struct ilk_lock_many ilk_lock_many;

/**
 * Make a handle. Nothing is sent.
 *
 * @param[out] out   the handle, to be freed; NULL when the call fails
 * @param client     the client; the handle keeps a reference on it
 * @param names      count pointers to names as ilk_lock_open() takes them
 * @param name_lens  count lengths in bytes
 * @param count      1 to ILK_MANY_MAX; a name given twice counts once
 * @param opts       as for one lock; layout must be ILK_LAYOUT_PLAIN
 * @param[out] err   may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_ENOMEM, ILK_ECLOSED, ILK_EFORKED
 * Ownership: the caller frees *out. Threads: any thread. Blocks: no.
 * Since: 0.1
 */
ILK_API ilk_status ilk_lock_many_open(ilk_lock_many **out, ilk_client *client,
                                      const void *const *names,
                                      const size_t *name_lens, size_t count,
                                      const ilk_lock_opts *opts,
                                      ilk_error *err);

/**
 * Acquire all the names, or none.
 *
 * @param many        a handle that does not hold
 * @param timeout_ms  milliseconds for all of them; -1 for ever, 0 once
 * @param[out] err    may be NULL; its text names the lock that was not free
 * @return as ilk_lock_acquire(); after ILK_EINTR the names acquired so far and
 *         the place in the wait queue are kept for a few seconds: calling
 *         acquire again resumes, ilk_lock_many_cancel() gives them back
 * Threads: one thread at a time. Blocks: as ilk_lock_acquire(). Since: 0.1
 */
ILK_API ilk_status ilk_lock_many_acquire(ilk_lock_many *many,
                                         int64_t timeout_ms, ilk_error *err);

/**
 * Start ilk_lock_many_acquire().
 *
 * @param[out] out    the operation, to be freed; NULL when the call fails
 * @param many        the handle
 * @param timeout_ms  milliseconds for all of them; -1 for ever, 0 once
 * @param[out] err    may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_lock_many_acquire_start(ilk_op **out,
                                               ilk_lock_many *many,
                                               int64_t timeout_ms,
                                               ilk_error *err);

/**
 * Release all the names.
 *
 * @param many      the handle
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_ELOST if one of them had been lost (the others are
 *         released nevertheless); ILK_ENOTOWNER; ILK_EUNKNOWN
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_lock_many_release(ilk_lock_many *many, ilk_error *err);

/**
 * Start ilk_lock_many_release(). The handle no longer holds as soon as this
 * returns ILK_OK.
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param many      the handle
 * @param[out] err  may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_lock_many_release_start(ilk_op **out,
                                               ilk_lock_many *many,
                                               ilk_error *err);

/**
 * Set the remaining lease of all the names to ttl_ms, counted from now.
 *
 * @param many      a handle that holds
 * @param ttl_ms    the lease; 0 for the handle's
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_ELOST if one of them has been lost;
 *         ILK_ENOTOWNER; ILK_EINVAL; ILK_EUNKNOWN
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_lock_many_extend(ilk_lock_many *many, int64_t ttl_ms,
                                        ilk_error *err);

/**
 * Start ilk_lock_many_extend().
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param many      the handle
 * @param ttl_ms    the lease; 0 for the handle's
 * @param[out] err  may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_lock_many_extend_start(ilk_op **out, ilk_lock_many *many,
                                              int64_t ttl_ms, ilk_error *err);

/**
 * Cancel a wait, as ilk_lock_cancel() does.
 *
 * @param many      the handle
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_EFORKED
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_lock_many_cancel(ilk_lock_many *many, ilk_error *err);

/**
 * Check whether the handle still holds all the names, as ilk_lock_check() does.
 *
 * @param many      the handle
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_ELOST; ILK_ENOTOWNER; ILK_EUNKNOWN
 * Threads: one thread at a time. Blocks: at most one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_lock_many_check(ilk_lock_many *many, ilk_error *err);

/**
 * Start ilk_lock_many_check().
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param many      the handle
 * @param[out] err  may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_lock_many_check_start(ilk_op **out, ilk_lock_many *many,
                                             ilk_error *err);

/**
 * Whether the handle certainly holds all its names.
 *
 * @param many  the handle; NULL yields 0
 * @return 1 or 0
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int32_t ilk_lock_many_held(const ilk_lock_many *many);

/**
 * Time until the local deadline; see ilk_lock_remaining_ms().
 *
 * @param many  the handle; NULL yields 0
 * @return milliseconds; 0 when not held, or no longer certain
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_lock_many_remaining_ms(const ilk_lock_many *many);

/**
 * The fence of the current or last hold, greater than any before it for each
 * of the names.
 *
 * @param many  the handle; NULL yields 0
 * @return the fence; 0 before the first acquire
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_lock_many_fence(const ilk_lock_many *many);

/**
 * The token under which all the names are or were held.
 *
 * @param many  the handle; NULL yields ""
 * @return a NUL-terminated string; "" before the first acquire
 * Ownership: borrowed until the next acquire or free.
 * Threads: one thread at a time. Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_lock_many_token(const ilk_lock_many *many);

/**
 * The handle's number, unique in its client; notifications carry it.
 *
 * @param many  the handle; NULL yields 0
 * @return a positive number
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_lock_many_id(const ilk_lock_many *many);

/**
 * Free the handle, as ilk_lock_free() does.
 *
 * @param many  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_lock_many_free(ilk_lock_many *many);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif

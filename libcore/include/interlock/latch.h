/* SPDX-License-Identifier: MIT */
/**
 * @file latch.h
 * A latch: a number that is counted down once, and waiters for its end.
 *
 * The first call that counts down or waits stores the number on the server; a
 * handle with another number gets ILK_EDIFFERS. At 0 the latch is open, also
 * for late waiters, until it is reset or deleted.
 *
 * The server remembers each countdown for a minute (the last 10,000 of them),
 * so that a retry after a lost reply counts only once.
 *
 * Keys: `ilk:latch:{name}` and side keys. They expire after keep_ms, a day by
 * default, in which nobody counted down or waited; then the name is a new
 * latch. They do not expire while somebody waits.
 */
#ifndef INTERLOCK_LATCH_H
#define INTERLOCK_LATCH_H

#include "op.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** A latch's handle: one waiter. */
typedef struct ilk_latch ilk_latch;

/** Limits of a latch. */
enum { ILK_LATCH_COUNT_MAX = 1000000000 /**< the greatest count */ };

/** Options of a latch. Zero means the default everywhere. */
typedef struct ilk_latch_opts {
    size_t size;     /**< set by ilk_latch_opts_init() */
    int64_t keep_ms; /**< deleted when unused so long; default one day */
} ilk_latch_opts;

/**
 * Set every field of the options to its default.
 *
 * @param opts  the options to initialise
 * @param size  sizeof the caller's struct
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API void ilk_latch_opts_init(ilk_latch_opts *opts, size_t size);

/**
 * Make a handle for the latch of this name. Nothing is sent.
 *
 * @param[out] out  the handle, to be freed; NULL when the call fails
 * @param client    the client; the handle keeps a reference on it
 * @param name      1 to 512 bytes, any bytes but a leading "ilk:"
 * @param name_len  their number
 * @param count     the initial count, 1 to ILK_LATCH_COUNT_MAX
 * @param opts      may be NULL for the defaults
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_ENOMEM, ILK_ECLOSED, ILK_EFORKED
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_latch_open(ilk_latch **out, ilk_client *client,
                                  const void *name, size_t name_len,
                                  int64_t count, const ilk_latch_opts *opts,
                                  ilk_error *err);

/**
 * Count down by n, but not below 0; at 0 all waiters are woken. This works on a
 * server that is out of memory.
 *
 * @param latch          the handle
 * @param n              at least 1
 * @param[out] out_left  what is left; may be NULL
 * @param[out] err       may be NULL
 * @return ILK_OK; ILK_EINVAL; ILK_EDIFFERS (the latch has another count);
 *         ILK_EAUTH (counted, but this user may not PUBLISH to the waiters:
 *         they see it within 2 s); ILK_EUNKNOWN (no reply)
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_latch_count_down(ilk_latch *latch, int64_t n,
                                        int64_t *out_left, ilk_error *err);

/**
 * Start ilk_latch_count_down(). ilk_op_number() returns what is left.
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param latch      the handle
 * @param n          at least 1
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_latch_count_down_start(ilk_op **out, ilk_latch *latch,
                                              int64_t n, ilk_error *err);

/**
 * Wait until the count is 0; return at once if it is.
 *
 * After ILK_EINTR the handle stays in the wait queue for a few seconds: calling
 * wait again resumes, any other call on the handle ends the wait.
 *
 * @param latch       the handle
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 checks once
 * @param[out] err    may be NULL
 * @return ILK_OK; ILK_EBUSY (timeout_ms 0, not open); ILK_ETIMEOUT; ILK_EINTR;
 *         ILK_ECANCELLED; ILK_EDIFFERS; ILK_ECONN, ILK_EAUTH, ILK_ECLOSED,
 *         ILK_EFORKED and the server's errors
 * Threads: one thread at a time.
 * Blocks: yes; ended by a signal (ILK_EINTR), ilk_client_interrupt(),
 * ilk_client_stop(), ilk_latch_cancel() and ilk_client_close(). Since: 0.1
 */
ILK_API ilk_status ilk_latch_wait(ilk_latch *latch, int64_t timeout_ms,
                                  ilk_error *err);

/**
 * Start ilk_latch_wait().
 *
 * @param[out] out    the operation, to be freed; NULL when the call fails
 * @param latch       the handle
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 checks once
 * @param[out] err    may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_latch_wait_start(ilk_op **out, ilk_latch *latch,
                                        int64_t timeout_ms, ilk_error *err);

/**
 * Read what is left; the initial count if the server has none on record.
 *
 * @param latch          the handle
 * @param[out] out_left  what is left
 * @param[out] err       may be NULL
 * @return ILK_OK; ILK_EDIFFERS; ILK_ECONN and the server's errors
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_latch_count(ilk_latch *latch, int64_t *out_left,
                                   ilk_error *err);

/**
 * Start ilk_latch_count(). ilk_op_number() returns what is left.
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param latch      the handle
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_latch_count_start(ilk_op **out, ilk_latch *latch,
                                         ilk_error *err);

/**
 * Start again with the handle's count, whatever is on record. Waiters with the
 * same count go on waiting; others fail with ILK_EDIFFERS.
 *
 * @param latch     the handle
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EAUTH as in ilk_latch_count_down(); ILK_EUNKNOWN
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_latch_reset(ilk_latch *latch, ilk_error *err);

/**
 * Start ilk_latch_reset().
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param latch      the handle
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_latch_reset_start(ilk_op **out, ilk_latch *latch,
                                         ilk_error *err);

/**
 * Cancel a wait: a thread inside ilk_latch_wait() returns ILK_ECANCELLED.
 *
 * @param latch     the handle; nothing happens when it does not wait
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_EFORKED
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_latch_cancel(ilk_latch *latch, ilk_error *err);

/**
 * Inspect a latch without a handle, whatever its count.
 *
 * @param client          the client
 * @param name            the latch's name
 * @param name_len        its bytes
 * @param[out] out_count  the initial count; 0 when none is on record
 * @param[out] out_left   what is left to count
 * @param[out] err        may be NULL
 * @return ILK_OK; ILK_EINVAL; ILK_ETYPE, ILK_ECONN and the others
 * Threads: any thread. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_latch_inspect(ilk_client *client, const void *name,
                                     size_t name_len, int64_t *out_count,
                                     int64_t *out_left, ilk_error *err);

/**
 * Start ilk_latch_inspect(). ilk_op_latch_count() and ilk_op_latch_left()
 * return the result.
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param client     the client
 * @param name       the latch's name, which is copied
 * @param name_len   its bytes
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_latch_inspect_start(ilk_op **out, ilk_client *client,
                                           const void *name, size_t name_len,
                                           ilk_error *err);

/**
 * The initial count that ilk_latch_inspect_start() has read.
 *
 * @param op  an operation; NULL yields 0
 * @return the number; 0 when the server has none on record, and for an
 *         operation that is running or of another kind
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_op_latch_count(ilk_op *op);

/**
 * The number left to count, as ilk_latch_inspect_start() has read it.
 *
 * @param op  an operation; NULL yields 0
 * @return the number; 0 for an operation that is running or of another kind
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_op_latch_left(ilk_op *op);

/**
 * The name that the handle was opened with.
 *
 * @param latch         the handle; NULL yields NULL
 * @param[out] out_len  its bytes; may be NULL
 * @return bytes without a NUL behind them
 * Ownership: borrowed until the handle is freed. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_latch_name(const ilk_latch *latch, size_t *out_len);

/**
 * Free the handle. Nothing is sent: the latch stays as it is.
 *
 * @param latch  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_latch_free(ilk_latch *latch);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif

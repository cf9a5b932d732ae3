/* SPDX-License-Identifier: MIT */
/**
 * @file barrier.h
 * A barrier: a point that all parties must reach before any of them continues,
 * round by round.
 *
 * Each wait arrives at the open round; the first arrival opens it. When the
 * last party has arrived the round is full: all of its waits return, each with
 * the index of its arrival, and the next arrival opens the next round.
 *
 * A round breaks when it cannot become full any more, because a party that had
 * arrived is gone:
 *
 *   its wait timed out, was cancelled, was not resumed within 6 s after a
 *     signal, or its handle was freed                        at once
 *   its process died, froze, lost the server, or closed its client
 *                                                            within 6 s
 *   ilk_barrier_reset()                                      at once
 *
 * Then every other wait of that round returns ILK_EBROKEN, with a text that
 * says who left and why; the one that timed out returns ILK_ETIMEOUT. Only the
 * round is broken, not the barrier: the next arrival opens a new round. (A
 * threading.Barrier of Python stays broken until it is reset.) Parties that
 * work in step should therefore treat both ILK_EBROKEN and ILK_ETIMEOUT as the
 * end of their common work, or agree on where to start again.
 *
 * The server decides once whether a round is full or broken, and all of its
 * parties get the same result, even late and frozen ones. A wait that times out
 * while its round becomes full returns ILK_OK. The only exception: if the
 * server cannot be reached when a wait ends, the wait may return
 * ILK_ECONN although the round was full for the others.
 *
 * A party that never arrives does not break a round, so give waits a timeout.
 *
 * Keys: `ilk:barrier:{name}` and side keys. They expire after keep_ms, an hour
 * by default, in which nobody arrived or waited; until then the server has the
 * number of parties and the last 256 rounds on record.
 */
#ifndef INTERLOCK_BARRIER_H
#define INTERLOCK_BARRIER_H

#include "op.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** A barrier's handle: one party. */
typedef struct ilk_barrier ilk_barrier;

/** Limits of a barrier. */
enum { ILK_BARRIER_PARTIES_MAX = 1024 /**< in one round */ };

/** Options of a barrier. Zero means the default everywhere. */
typedef struct ilk_barrier_opts {
    size_t size;     /**< set by ilk_barrier_opts_init() */
    int64_t keep_ms; /**< deleted when unused so long; default one hour */
} ilk_barrier_opts;

/**
 * Set every field of the options to its default.
 *
 * @param opts  the options to initialise
 * @param size  sizeof the caller's struct
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API void ilk_barrier_opts_init(ilk_barrier_opts *opts, size_t size);

/**
 * Make a handle for the barrier of this name. Nothing is sent.
 *
 * @param[out] out  the handle, to be freed; NULL when the call fails
 * @param client    the client; the handle keeps a reference on it
 * @param name      1 to 512 bytes, any bytes but a leading "ilk:"
 * @param name_len  their number
 * @param parties   how many a round has, 1 to ILK_BARRIER_PARTIES_MAX
 * @param opts      may be NULL for the defaults
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_ENOMEM, ILK_ECLOSED, ILK_EFORKED
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_barrier_open(ilk_barrier **out, ilk_client *client,
                                    const void *name, size_t name_len,
                                    int64_t parties,
                                    const ilk_barrier_opts *opts,
                                    ilk_error *err);

/**
 * Arrive, and wait until the round is full.
 *
 * With timeout_ms 0 it arrives only if it is the last party, and breaks
 * nothing. After ILK_EINTR it stays arrived for a few seconds: calling wait
 * again resumes, any other call on the handle leaves the round and breaks it.
 *
 * @param barrier         the handle
 * @param timeout_ms      milliseconds; -1 waits for ever, 0 tries once
 * @param[out] out_index  0 to parties - 1, in the order of arrival; may be
 *                        NULL
 * @param[out] err        may be NULL
 * @return ILK_OK; ILK_EBROKEN; ILK_EBUSY (timeout_ms 0, others are missing);
 *         ILK_ETIMEOUT (and the round is broken); ILK_EINTR; ILK_ECANCELLED;
 *         ILK_EDIFFERS (the barrier has another number); ILK_ECONN,
 *         ILK_EAUTH, ILK_ECLOSED, ILK_EFORKED and the server's errors
 * Threads: one thread at a time.
 * Blocks: yes; ended by a signal (ILK_EINTR), ilk_client_interrupt(),
 * ilk_client_stop(), ilk_barrier_cancel() and ilk_client_close(). Since: 0.1
 */
ILK_API ilk_status ilk_barrier_wait(ilk_barrier *barrier, int64_t timeout_ms,
                                    int64_t *out_index, ilk_error *err);

/**
 * Start ilk_barrier_wait(). ilk_op_number() returns the index. Cancelling the
 * operation leaves and breaks the round; if the round is full by then, the
 * operation ends with ILK_OK.
 *
 * @param[out] out    the operation, to be freed; NULL when the call fails
 * @param barrier     the handle
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 tries once
 * @param[out] err    may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_barrier_wait_start(ilk_op **out, ilk_barrier *barrier,
                                          int64_t timeout_ms, ilk_error *err);

/**
 * How many have arrived at the open round.
 *
 * @param barrier           the handle
 * @param[out] out_waiting  their number, 0 when no round is open
 * @param[out] err          may be NULL
 * @return ILK_OK; ILK_EDIFFERS; ILK_ECONN and the server's errors
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_barrier_waiting(ilk_barrier *barrier,
                                       int64_t *out_waiting, ilk_error *err);

/**
 * Start ilk_barrier_waiting(). ilk_op_number() returns the number.
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param barrier    the handle
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_barrier_waiting_start(ilk_op **out, ilk_barrier *barrier,
                                             ilk_error *err);

/**
 * Break the open round, if there is one, and start again with the handle's
 * number of parties, whatever is on record.
 *
 * @param barrier   the handle
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EAUTH (done, but this user may not PUBLISH to the
 *         waiters: they see it within 2 s); ILK_EUNKNOWN (no reply)
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_barrier_reset(ilk_barrier *barrier, ilk_error *err);

/**
 * Start ilk_barrier_reset().
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param barrier    the handle
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_barrier_reset_start(ilk_op **out, ilk_barrier *barrier,
                                           ilk_error *err);

/**
 * Cancel a wait: a thread inside ilk_barrier_wait() returns ILK_ECANCELLED, and
 * the round is broken.
 *
 * @param barrier   the handle; nothing happens when it does not wait
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_EFORKED
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_barrier_cancel(ilk_barrier *barrier, ilk_error *err);

/**
 * Inspect a barrier without a handle, whatever its number of parties.
 *
 * @param client            the client
 * @param name              the barrier's name
 * @param name_len          its bytes
 * @param[out] out_parties  their number; 0 when none is on record
 * @param[out] out_waiting  how many have arrived at the open round
 * @param[out] err          may be NULL
 * @return ILK_OK; ILK_EINVAL; ILK_ETYPE, ILK_ECONN and the others
 * Threads: any thread. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_barrier_inspect(ilk_client *client, const void *name,
                                       size_t name_len, int64_t *out_parties,
                                       int64_t *out_waiting, ilk_error *err);

/**
 * Start ilk_barrier_inspect(). ilk_op_barrier_parties() and
 * ilk_op_barrier_waiting() return the result.
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param client     the client
 * @param name       the barrier's name, which is copied
 * @param name_len   its bytes
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_barrier_inspect_start(ilk_op **out, ilk_client *client,
                                             const void *name, size_t name_len,
                                             ilk_error *err);

/**
 * The number of parties that ilk_barrier_inspect_start() has read.
 *
 * @param op  an operation; NULL yields 0
 * @return the number; 0 when the server has none on record, and for an
 *         operation that is running or of another kind
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_op_barrier_parties(ilk_op *op);

/**
 * How many had arrived, as ilk_barrier_inspect_start() has read it.
 *
 * @param op  an operation; NULL yields 0
 * @return the number; 0 for an operation that is running or of another kind
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_op_barrier_waiting(ilk_op *op);

/**
 * The name that the handle was opened with.
 *
 * @param barrier       the handle; NULL yields NULL
 * @param[out] out_len  its bytes; may be NULL
 * @return bytes without a NUL behind them
 * Ownership: borrowed until the handle is freed. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_barrier_name(const ilk_barrier *barrier,
                                     size_t *out_len);

/**
 * Free the handle. Nothing is sent by this call; the keeper withdraws a wait
 * that a signal had interrupted, which breaks the round.
 *
 * @param barrier  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_barrier_free(ilk_barrier *barrier);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif

/* SPDX-License-Identifier: MIT */
/**
 * @file signal.h
 * Waiting for a signal, and giving it: to one who waits, or to all.
 *
 * A signal is of the moment: who waits at that time gets it, nobody else
 * ever will, and the giver is told how many that were. Waits stand in a list
 * on the server, so a signal to one goes to whoever has waited longest, once:
 * a wait whose time runs out while a signal is on its way to it returns that
 * signal, and what reaches a waiter that is gone is passed on to the next.
 * Nothing is delivered twice. A signal is lost, although it was counted, when
 * the process or the connection that it was sent to ends at that moment, or
 * when it has to be passed on and nobody else waits.
 *
 * A handle may also listen to a pattern of names. Listeners hear what is
 * given to all; a signal to one goes to those who wait for that very name.
 */
#ifndef INTERLOCK_SIGNAL_H
#define INTERLOCK_SIGNAL_H

#include "arrival.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** A handle for the signals of one name, or of a pattern of names. */
typedef struct ilk_signal ilk_signal;

/** Bounds. */
enum {
    ILK_SIGNAL_DATA_MAX = 1048576, /**< bytes that a signal carries at most */
    ILK_SIGNAL_MAX = 64            /**< signals in one wait at most */
};

/** Flags of ilk_signal_opts; 0 is the default behaviour. */
enum {
    /** the name is a glob as Redis' PSUBSCRIBE takes it, such as `jobs.*` */
    ILK_SIGNAL_PATTERN = 1
};

/** Options of a signal. Zero means the default everywhere. */
typedef struct ilk_signal_opts {
    size_t size;    /**< set by ilk_signal_opts_init() */
    uint32_t flags; /**< ILK_SIGNAL_… */
} ilk_signal_opts;

/**
 * Set every field of the options to its default.
 *
 * @param opts  the options to initialise
 * @param size  sizeof the caller's struct
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API void ilk_signal_opts_init(ilk_signal_opts *opts, size_t size);

/**
 * Make a handle for the signals of this name. Nothing is sent.
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
ILK_API ilk_status ilk_signal_open(ilk_signal **out, ilk_client *client,
                                   const void *name, size_t name_len,
                                   const ilk_signal_opts *opts, ilk_error *err);

/**
 * Wait for a signal. The wait begins when the server has been told of it, one
 * round trip after the call.
 *
 * After ILK_EINTR the wait goes on for a few seconds: a signal that comes
 * meanwhile is returned by the next wait on this handle;
 * ilk_signal_cancel() ends it.
 *
 * @param[out] out    what came, to be freed; NULL when the call fails
 * @param signal      the handle
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 returns what came
 *                    since ilk_signal_listen(), or since a wait that ended
 *                    with ILK_EINTR
 * @param[out] err    may be NULL
 * @return ILK_OK; ILK_ETIMEOUT (none came); ILK_EINTR; ILK_ECANCELLED;
 *         ILK_EHELD (another thread waits with this handle); ILK_ECONN,
 *         ILK_EAUTH, ILK_ETYPE, ILK_ECLOSED, ILK_EFORKED and the server's
 *         conditions
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: yes; ended by a signal of the system (ILK_EINTR),
 * ilk_client_interrupt(), ilk_signal_cancel() and ilk_client_close().
 * Since: 0.1
 */
ILK_API ilk_status ilk_signal_wait(ilk_arrival **out, ilk_signal *signal,
                                   int64_t timeout_ms, ilk_error *err);

/**
 * Start ilk_signal_wait(). ilk_op_arrival() tells what came.
 *
 * @param[out] out    the operation, to be freed; NULL when the call fails
 * @param signal      the handle
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 as for
 *                    ilk_signal_wait()
 * @param[out] err    may be NULL
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_signal_wait_start(ilk_op **out, ilk_signal *signal,
                                         int64_t timeout_ms, ilk_error *err);

/**
 * Begin to wait, and return as soon as the server knows: a signal from then on
 * is kept for the next ilk_signal_wait() on this handle. For those who look
 * at something first and wait only if they must: a signal that comes between
 * the look and the wait is not missed. One signal ends it, of a pattern up to
 * 1024 are kept until that wait; ilk_signal_cancel() and freeing the handle
 * give it up. Nothing happens when it has begun already.
 *
 * @param signal    the handle
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINTR (call it again), and others as ilk_signal_wait()
 * Threads: one thread at a time. Blocks: one round trip; the first wait of a
 * client opens a connection. Since: 0.1
 */
ILK_API ilk_status ilk_signal_listen(ilk_signal *signal, ilk_error *err);

/**
 * Start ilk_signal_listen().
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param signal     the handle
 * @param[out] err   may be NULL
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_signal_listen_start(ilk_op **out, ilk_signal *signal,
                                           ilk_error *err);

/**
 * Wait for a signal of any one of several handles. The wait stands in all
 * their lists, and leaves them together with the first signal; one that was
 * sent to it alone by another list at that moment is passed on.
 *
 * @param[out] out    what came, to be freed; NULL when the call fails
 * @param signals     count handles of one client, of different names, none
 *                    of a pattern if there are several; the wait is the first
 *                    one's, which ilk_signal_cancel() takes
 * @param count       1 to ILK_SIGNAL_MAX
 * @param timeout_ms  as for ilk_signal_wait()
 * @param[out] err    may be NULL
 * @return as ilk_signal_wait(); ILK_EINVAL for handles of several clients,
 *         for two of one name, and for a pattern among several
 * Ownership: the caller frees *out and keeps the handles.
 * Threads: one thread at a time. Blocks: as ilk_signal_wait(). Since: 0.1
 */
ILK_API ilk_status ilk_signal_wait_any(ilk_arrival **out,
                                       ilk_signal *const *signals, size_t count,
                                       int64_t timeout_ms, ilk_error *err);

/**
 * Start ilk_signal_wait_any(). ilk_op_arrival() tells what came. The operation
 * is on the first handle; the others are its caller's again at once, and may
 * be freed.
 *
 * @param[out] out    the operation, to be freed; NULL when the call fails
 * @param signals     as for ilk_signal_wait_any(); the array is copied
 * @param count       1 to ILK_SIGNAL_MAX
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 as for
 *                    ilk_signal_wait()
 * @param[out] err    may be NULL
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_signal_wait_any_start(ilk_op **out,
                                             ilk_signal *const *signals,
                                             size_t count, int64_t timeout_ms,
                                             ilk_error *err);

/**
 * Wait until each of several handles has got a signal. The first one of each
 * counts. When the time runs out before, those that were sent to this wait
 * alone are passed on.
 *
 * @param[out] out    one for each, in the handles' order, to be freed; NULL
 *                    when the call fails
 * @param signals     as for ilk_signal_wait_any()
 * @param count       1 to ILK_SIGNAL_MAX
 * @param timeout_ms  as for ilk_signal_wait()
 * @param[out] err    may be NULL
 * @return as ilk_signal_wait_any()
 * Ownership: the caller frees *out and keeps the handles.
 * Threads: one thread at a time. Blocks: as ilk_signal_wait(). Since: 0.1
 */
ILK_API ilk_status ilk_signal_wait_all(ilk_arrival **out,
                                       ilk_signal *const *signals, size_t count,
                                       int64_t timeout_ms, ilk_error *err);

/**
 * Start ilk_signal_wait_all(). ilk_op_arrival() tells what came. The operation
 * is on the first handle; the others are its caller's again at once, and may
 * be freed.
 *
 * @param[out] out    the operation, to be freed; NULL when the call fails
 * @param signals     as for ilk_signal_wait_any(); the array is copied
 * @param count       1 to ILK_SIGNAL_MAX
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 as for
 *                    ilk_signal_wait()
 * @param[out] err    may be NULL
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_signal_wait_all_start(ilk_op **out,
                                             ilk_signal *const *signals,
                                             size_t count, int64_t timeout_ms,
                                             ilk_error *err);

/**
 * Signal the one who has waited longest.
 *
 * @param[out] out_reached  1, or 0 when nobody waits; may be NULL
 * @param signal            a handle of a name, not of a pattern
 * @param data              any bytes; may be NULL when data_len is 0
 * @param data_len          0 to ILK_SIGNAL_DATA_MAX
 * @param[out] err          may be NULL
 * @return ILK_OK, also when nobody waits; ILK_EINVAL; ILK_EHELD; ILK_EUNKNOWN
 *         (no answer: it may have been given, once); ILK_EAUTH (this user may
 *         not send to those who wait); ILK_ECONN and the others
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_signal_notify_one(int64_t *out_reached,
                                         ilk_signal *signal, const void *data,
                                         size_t data_len, ilk_error *err);

/**
 * Start ilk_signal_notify_one(). ilk_op_number() tells how many were reached.
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param signal     a handle of a name, not of a pattern
 * @param data       any bytes, which are copied; may be NULL when data_len is
 *                   0
 * @param data_len   0 to ILK_SIGNAL_DATA_MAX
 * @param[out] err   may be NULL
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_signal_notify_one_start(ilk_op **out, ilk_signal *signal,
                                               const void *data,
                                               size_t data_len, ilk_error *err);

/**
 * Signal all who wait. Each client gets one message, however many of its
 * threads wait.
 *
 * @param[out] out_reached  how many waits were reached, and on top one for
 *                          each client that listens to a pattern of this
 *                          name; may be NULL
 * @param signal            a handle of a name, not of a pattern
 * @param data              any bytes; may be NULL when data_len is 0
 * @param data_len          0 to ILK_SIGNAL_DATA_MAX
 * @param[out] err          may be NULL
 * @return as ilk_signal_notify_one(); after ILK_EAUTH *out_reached tells how
 *         many were reached all the same
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_signal_notify_all(int64_t *out_reached,
                                         ilk_signal *signal, const void *data,
                                         size_t data_len, ilk_error *err);

/**
 * Start ilk_signal_notify_all(). ilk_op_number() tells how many were reached.
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param signal     a handle of a name, not of a pattern
 * @param data       any bytes, which are copied; may be NULL when data_len is
 *                   0
 * @param data_len   0 to ILK_SIGNAL_DATA_MAX
 * @param[out] err   may be NULL
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_signal_notify_all_start(ilk_op **out, ilk_signal *signal,
                                               const void *data,
                                               size_t data_len, ilk_error *err);

/**
 * End a wait: a thread inside ilk_signal_wait() and its kin returns
 * ILK_ECANCELLED, or the signal that was already on its way. A wait that
 * ended with ILK_EINTR is given up, and what came for it alone is passed on.
 *
 * @param signal    the handle, or the first one of those that wait together;
 *                  nothing happens when it does not wait
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_EFORKED
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_signal_cancel(ilk_signal *signal, ilk_error *err);

/**
 * How many waits stand in the wait queue of this name: those that a signal
 * given to all would reach, and a few whose process died a moment ago. Patterns
 * are not counted.
 *
 * @param client            the client
 * @param name              the signal's name
 * @param name_len          its bytes
 * @param[out] out_waiting  their number
 * @param[out] err          may be NULL
 * @return ILK_OK; ILK_EINVAL; ILK_ETYPE, ILK_ECONN and the others
 * Threads: any thread. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_signal_inspect(ilk_client *client, const void *name,
                                      size_t name_len, int64_t *out_waiting,
                                      ilk_error *err);

/**
 * Start ilk_signal_inspect(). ilk_op_number() tells how many wait.
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param client     the client
 * @param name       the signal's name, which is copied
 * @param name_len   its bytes
 * @param[out] err   may be NULL
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_signal_inspect_start(ilk_op **out, ilk_client *client,
                                            const void *name, size_t name_len,
                                            ilk_error *err);

/**
 * Free the handle. Nothing is sent by the caller: a wait is given up by the
 * keeper.
 *
 * @param signal  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_signal_free(ilk_signal *signal);

/**
 * What a started wait has brought.
 *
 * @param op  the operation of an ilk_signal_wait_start() or its kin
 * @return the arrival; NULL while it is under way, when it has failed, and
 *         for operations of another kind
 * Ownership: borrowed until the operation is freed. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API const ilk_arrival *ilk_op_arrival(ilk_op *op);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif

/* SPDX-License-Identifier: MIT */
/**
 * @file signal.h
 * Signals: wait for one, or send one to a single waiter or to all.
 *
 * A signal reaches those who wait at the moment, and the sender gets their
 * number. (An event, event.h, stays set.) The server keeps a
 * list of the waits, so a signal to one waiter goes to the one who has waited
 * longest, and to no other. If a wait times out while a signal is on its way,
 * it returns that signal. The server keeps a signal to one waiter until the
 * waiter has it: a broken connection does not lose it, and it goes to the next
 * waiter when its waiter is gone or its process was silent for 6 s. It is lost
 * only if nobody else waits then, or with the server's memory. It is received
 * twice only if the first waiter's process was silent for 6 s before it
 * acknowledged the signal, or was killed just before its acknowledgement was
 * sent. A signal to all waiters is not kept.
 *
 * A handle may also have a pattern of names. It receives the signals that are
 * sent to all waiters of a matching name; a signal to one waiter goes only to a
 * wait for exactly that name.
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

/** Limits of signals. */
enum {
    ILK_SIGNAL_DATA_MAX = 1048576, /**< bytes that a signal carries at most */
    ILK_SIGNAL_MAX = 64            /**< signals in one wait at most */
};

/** Flags of ilk_signal_opts; 0 is the default behaviour. */
enum {
    /** the name is a glob as PSUBSCRIBE of Redis takes it, such as jobs.* */
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
 * Wait for a signal. The wait begins when the server has registered it, up to
 * one round trip after the call.
 *
 * After ILK_EINTR the wait stays registered for a few seconds: the next wait on
 * this handle returns a signal that arrived meanwhile. ilk_signal_cancel() ends
 * it.
 *
 * @param[out] out    the signal, to be freed; NULL when the call fails
 * @param signal      the handle
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 returns a signal that
 *                    arrived since ilk_signal_listen(), or since a wait that
 *                    ended with ILK_EINTR
 * @param[out] err    may be NULL
 * @return ILK_OK; ILK_ETIMEOUT (no signal); ILK_EINTR; ILK_ECANCELLED;
 *         ILK_EHELD (another thread waits with this handle); ILK_ECONN,
 *         ILK_EAUTH, ILK_ETYPE, ILK_ECLOSED, ILK_EFORKED and the server's
 *         errors
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: yes; ended by a Unix signal (ILK_EINTR),
 * ilk_client_interrupt(), ilk_client_stop(), ilk_signal_cancel() and
 * ilk_client_close(). Since: 0.1
 */
ILK_API ilk_status ilk_signal_wait(ilk_arrival **out, ilk_signal *signal,
                                   int64_t timeout_ms, ilk_error *err);

/**
 * Start ilk_signal_wait(). ilk_op_arrival() returns the signal.
 *
 * @param[out] out    the operation, to be freed; NULL when the call fails
 * @param signal      the handle
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 as for
 *                    ilk_signal_wait()
 * @param[out] err    may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_signal_wait_start(ilk_op **out, ilk_signal *signal,
                                         int64_t timeout_ms, ilk_error *err);

/**
 * Register a wait and return: a signal that arrives from then on is kept for
 * the next ilk_signal_wait() on this handle. Use it to check a condition first
 * and wait only if necessary: a signal between the check and the wait is not
 * missed. One signal ends the registration; for a pattern up to 1024 signals
 * are kept. ilk_signal_cancel() and freeing the handle end it, too. A second
 * call has no effect.
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
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_signal_listen_start(ilk_op **out, ilk_signal *signal,
                                           ilk_error *err);

/**
 * Wait for a signal of any of several handles. The wait is registered under all
 * their names and ends with the first signal. If a second one was sent to this
 * wait alone at the same moment, it is passed on to the next waiter.
 *
 * @param[out] out    the signal, to be freed; NULL when the call fails
 * @param signals     count handles of one client with different names; a
 *                    pattern is allowed only if count is 1. To cancel the
 *                    wait, pass the first one to ilk_signal_cancel()
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
 * Start ilk_signal_wait_any(). ilk_op_arrival() returns the signal. The
 * operation runs on the first handle; the others may be used and freed at once.
 *
 * @param[out] out    the operation, to be freed; NULL when the call fails
 * @param signals     as for ilk_signal_wait_any(); the array is copied
 * @param count       1 to ILK_SIGNAL_MAX
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 as for
 *                    ilk_signal_wait()
 * @param[out] err    may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_signal_wait_any_start(ilk_op **out,
                                             ilk_signal *const *signals,
                                             size_t count, int64_t timeout_ms,
                                             ilk_error *err);

/**
 * Wait until each of several handles has received a signal; the first one of
 * each is returned. If the time runs out before, signals that were sent to this
 * wait alone are passed on to the next waiters.
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
 * Start ilk_signal_wait_all(). ilk_op_arrival() returns the signals. The
 * operation runs on the first handle; the others may be used and freed at once.
 *
 * @param[out] out    the operation, to be freed; NULL when the call fails
 * @param signals     as for ilk_signal_wait_any(); the array is copied
 * @param count       1 to ILK_SIGNAL_MAX
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 as for
 *                    ilk_signal_wait()
 * @param[out] err    may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_signal_wait_all_start(ilk_op **out,
                                             ilk_signal *const *signals,
                                             size_t count, int64_t timeout_ms,
                                             ilk_error *err);

/**
 * Send a signal to the one who has waited longest.
 *
 * @param[out] out_reached  1, or 0 when nobody waits; may be NULL
 * @param signal            a handle of a name, not of a pattern
 * @param data              any bytes; may be NULL when data_len is 0
 * @param data_len          0 to ILK_SIGNAL_DATA_MAX
 * @param[out] err          may be NULL
 * @return ILK_OK, also when nobody waits; ILK_EINVAL; ILK_EHELD; ILK_EUNKNOWN
 *         (no reply: it may have been sent, once); ILK_EAUTH (this user may
 *         not PUBLISH to the waiters); ILK_ECONN and the others
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_signal_notify_one(int64_t *out_reached,
                                         ilk_signal *signal, const void *data,
                                         size_t data_len, ilk_error *err);

/**
 * Start ilk_signal_notify_one(). ilk_op_number() returns how many were reached.
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param signal     a handle of a name, not of a pattern
 * @param data       any bytes, which are copied; may be NULL when data_len is
 *                   0
 * @param data_len   0 to ILK_SIGNAL_DATA_MAX
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_signal_notify_one_start(ilk_op **out, ilk_signal *signal,
                                               const void *data,
                                               size_t data_len, ilk_error *err);

/**
 * Send a signal to all waiters. Each client gets one message, however many of
 * its threads wait. When more than 128 clients wait, the server is called several
 * times, each time for 128 waiters and with a message for each client among them,
 * in their order. Waiters that come after the first call get none.
 *
 * @param[out] out_reached  how many waits were reached, plus one for each
 *                          client that listens to a matching pattern; may be
 *                          NULL
 * @param signal            a handle of a name, not of a pattern
 * @param data              any bytes; may be NULL when data_len is 0
 * @param data_len          0 to ILK_SIGNAL_DATA_MAX
 * @param[out] err          may be NULL
 * @return as ilk_signal_notify_one(); after ILK_EAUTH *out_reached is set, too,
 *         and after ILK_EUNKNOWN, when the last reply said how many
 * Threads: one thread at a time. Blocks: a round trip, of more than 128 clients
 * one for each 128 waiters. Since: 0.1
 */
ILK_API ilk_status ilk_signal_notify_all(int64_t *out_reached,
                                         ilk_signal *signal, const void *data,
                                         size_t data_len, ilk_error *err);

/**
 * Start ilk_signal_notify_all(). ilk_op_number() returns how many were reached.
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param signal     a handle of a name, not of a pattern
 * @param data       any bytes, which are copied; may be NULL when data_len is
 *                   0
 * @param data_len   0 to ILK_SIGNAL_DATA_MAX
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_signal_notify_all_start(ilk_op **out, ilk_signal *signal,
                                               const void *data,
                                               size_t data_len, ilk_error *err);

/**
 * Cancel a wait: a thread inside one of the wait functions returns
 * ILK_ECANCELLED, or a signal that was already on its way. A wait that ended
 * with ILK_EINTR is withdrawn, and a signal sent to it alone is passed on.
 *
 * @param signal    the handle; for several handles the first one;
 *                  nothing happens when it does not wait
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_EFORKED
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_signal_cancel(ilk_signal *signal, ilk_error *err);

/**
 * Count the waits registered for this name: those that a signal to all would
 * reach, and waits of processes that died a moment ago. Patterns are not
 * counted.
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
 * Start ilk_signal_inspect(). ilk_op_number() returns the number of waits.
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param client     the client
 * @param name       the signal's name, which is copied
 * @param name_len   its bytes
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_signal_inspect_start(ilk_op **out, ilk_client *client,
                                            const void *name, size_t name_len,
                                            ilk_error *err);

/**
 * The name that the handle was opened with.
 *
 * @param signal        the handle; NULL yields NULL
 * @param[out] out_len  its bytes; may be NULL
 * @return bytes without a NUL behind them
 * Ownership: borrowed until the handle is freed. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_signal_name(const ilk_signal *signal, size_t *out_len);

/**
 * Free the handle. Nothing is sent by this call: the keeper withdraws a wait.
 *
 * @param signal  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_signal_free(ilk_signal *signal);

/**
 * The received signals of a started wait.
 *
 * @param op  an operation of ilk_signal_wait_start() or its variants
 * @return the arrival; NULL while it is running, when it has failed, and for
 *         operations of another kind
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

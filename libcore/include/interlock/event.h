/* SPDX-License-Identifier: MIT */
/**
 * @file event.h
 * An event: a flag that stays set, so that a late waiter returns at once.
 *
 * A signal (signal.h) reaches only those who wait at that moment. An event is a
 * state, set or clear, with data and a number, its generation. Each set, and
 * each clear of a set event, gives it a greater generation by the same rule as
 * a fence: greater than the last one and not below the server's clock in
 * microseconds. So the generation rises even after the server lost its data.
 *
 * An event stays set until it is cleared, or for ttl_ms. The end of ttl_ms is
 * not a change: the generation stays the same, and waits for a change go on. A
 * waiter that is woken reads the state from the server; if several changes
 * follow each other it may miss all but the last, which it always sees.
 *
 * The server remembers each set and clear for a minute (the last 10,000 of
 * them), so that a retry after a lost reply has no second effect, whatever
 * happened in between.
 *
 * Keys: `ilk:event:{name}` and side keys. A clear event is deleted after a day
 * without a change.
 */
#ifndef INTERLOCK_EVENT_H
#define INTERLOCK_EVENT_H

#include "op.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** An event's handle: one waiter, and the state that it saw last. */
typedef struct ilk_event ilk_event;

/** Limits of an event. */
enum { ILK_EVENT_DATA_MAX = 1048576 /**< bytes of its data: 1 MiB */ };

/** Options of an event. Zero means the default everywhere. */
typedef struct ilk_event_opts {
    size_t size;    /**< set by ilk_event_opts_init() */
    int64_t ttl_ms; /**< how long it stays set; default: until cleared */
} ilk_event_opts;

/**
 * Set every field of the options to its default.
 *
 * @param opts  the options to initialise
 * @param size  sizeof the caller's struct
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API void ilk_event_opts_init(ilk_event_opts *opts, size_t size);

/**
 * Make a handle for the event of this name. Nothing is sent.
 *
 * @param[out] out  the handle, to be freed; NULL when the call fails
 * @param client    the client; the handle keeps a reference on it
 * @param name      1 to 512 bytes, any bytes but a leading "ilk:"
 * @param name_len  their number
 * @param opts      may be NULL for the defaults
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_ENOMEM, ILK_ECLOSED, ILK_EFORKED
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_event_open(ilk_event **out, ilk_client *client,
                                  const void *name, size_t name_len,
                                  const ilk_event_opts *opts, ilk_error *err);

/**
 * Set the event, with data, and wake all waiters. An event that is set gets the
 * new data and a greater generation. The handle has then seen this state.
 *
 * @param event     the handle
 * @param data      any bytes; may be NULL when data_len is 0
 * @param data_len  their number, at most ILK_EVENT_DATA_MAX
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL; ILK_EAUTH (set, but this user may not PUBLISH to
 *         the waiters: they see it within 2 s); ILK_EUNKNOWN (no reply)
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_event_set(ilk_event *event, const void *data,
                                 size_t data_len, ilk_error *err);

/**
 * Start ilk_event_set().
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param event      the handle
 * @param data       any bytes, which are copied; may be NULL when data_len is
 *                   0
 * @param data_len   their number, at most ILK_EVENT_DATA_MAX
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_event_set_start(ilk_op **out, ilk_event *event,
                                       const void *data, size_t data_len,
                                       ilk_error *err);

/**
 * Clear the event and delete its data. A clear event does not change. The
 * handle has then seen this state.
 *
 * @param event     the handle
 * @param[out] err  may be NULL
 * @return as ilk_event_set(); works on a server that is out of memory
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_event_clear(ilk_event *event, ilk_error *err);

/**
 * Start ilk_event_clear().
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param event      the handle
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_event_clear_start(ilk_op **out, ilk_event *event,
                                         ilk_error *err);

/**
 * Read the event's state; the handle has then seen it.
 *
 * @param event     the handle
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_ECONN and the server's errors
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_event_read(ilk_event *event, ilk_error *err);

/**
 * Start ilk_event_read().
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param event      the handle
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_event_read_start(ilk_op **out, ilk_event *event,
                                        ilk_error *err);

/**
 * Wait until the event is set; return at once if it is. The handle has then
 * seen that state.
 *
 * Every set ends the waits that are in the queue, also if a clear follows before
 * they ask for the state: ilk_event_is_set() is 0 then.
 *
 * After ILK_EINTR the handle stays in the wait queue for a few seconds: the
 * same call resumes the wait, any other call on the handle ends it.
 *
 * @param event       the handle
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 checks once
 * @param[out] err    may be NULL
 * @return ILK_OK; ILK_EBUSY (timeout_ms 0, not set); ILK_ETIMEOUT; ILK_EINTR;
 *         ILK_ECANCELLED; ILK_ECONN, ILK_EAUTH, ILK_ECLOSED, ILK_EFORKED and
 *         the server's errors
 * Threads: one thread at a time.
 * Blocks: yes; ended by a signal (ILK_EINTR), ilk_client_interrupt(),
 * ilk_client_stop(), ilk_event_cancel() and ilk_client_close(). Since: 0.1
 */
ILK_API ilk_status ilk_event_wait(ilk_event *event, int64_t timeout_ms,
                                  ilk_error *err);

/**
 * Start ilk_event_wait().
 *
 * @param[out] out    the operation, to be freed; NULL when the call fails
 * @param event       the handle
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 checks once
 * @param[out] err    may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_event_wait_start(ilk_op **out, ilk_event *event,
                                        int64_t timeout_ms, ilk_error *err);

/**
 * Wait until a set or a clear makes the generation greater than this one;
 * return at once if it is. The handle has then seen the latest state.
 *
 * @param event       the handle
 * @param generation  the last one known, from ilk_event_generation()
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 checks once
 * @param[out] err    may be NULL
 * @return as ilk_event_wait(); ILK_EINVAL for a negative generation
 * Threads: one thread at a time. Blocks: as ilk_event_wait(). Since: 0.1
 */
ILK_API ilk_status ilk_event_wait_change(ilk_event *event, int64_t generation,
                                         int64_t timeout_ms, ilk_error *err);

/**
 * Start ilk_event_wait_change().
 *
 * @param[out] out    the operation, to be freed; NULL when the call fails
 * @param event       the handle
 * @param generation  the last one known
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 checks once
 * @param[out] err    may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_event_wait_change_start(ilk_op **out, ilk_event *event,
                                               int64_t generation,
                                               int64_t timeout_ms,
                                               ilk_error *err);

/**
 * Cancel a wait: a thread inside ilk_event_wait() returns ILK_ECANCELLED.
 *
 * @param event     the handle; nothing happens when it does not wait
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_EFORKED
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_event_cancel(ilk_event *event, ilk_error *err);

/**
 * Whether the event was set when the handle last saw it.
 *
 * @param event  the handle; NULL yields 0
 * @return 1 or 0; 0 before the first call
 * Threads: one thread at a time. Blocks: no. Since: 0.1
 */
ILK_API int32_t ilk_event_is_set(const ilk_event *event);

/**
 * The generation that the handle last saw, below 2^53.
 *
 * @param event  the handle; NULL yields 0
 * @return the generation; 0 when the server had none on record, and before
 *         the first call
 * Threads: one thread at a time. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_event_generation(const ilk_event *event);

/**
 * The data that the handle last saw.
 *
 * @param event         the handle; NULL yields ""
 * @param[out] out_len  its bytes; may be NULL
 * @return NUL-terminated bytes; "" when the event was clear
 * Ownership: borrowed until the next call on this handle. Threads: one thread
 * at a time. Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_event_data(const ilk_event *event, size_t *out_len);

/**
 * The name that the handle was opened with.
 *
 * @param event         the handle; NULL yields NULL
 * @param[out] out_len  its bytes; may be NULL
 * @return bytes without a NUL behind them
 * Ownership: borrowed until the handle is freed. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_event_name(const ilk_event *event, size_t *out_len);

/**
 * Free the handle. Nothing is sent: the event stays as it is.
 *
 * @param event  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_event_free(ilk_event *event);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif

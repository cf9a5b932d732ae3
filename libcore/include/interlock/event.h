/* SPDX-License-Identifier: MIT */
/**
 * @file event.h
 * An event that stays set: who comes late does not wait for ever.
 *
 * A signal is heard by those who wait at that moment. This one is a state,
 * set or clear, with a few bytes of data and a number, its generation. Every
 * set, and every clear of a set event, gives it a greater generation, by the
 * fence's rule: greater than the last and not below the server's clock in
 * microseconds, so it goes on rising when the server has lost the record.
 *
 * It stays set until it is cleared, or for ttl_ms. That its time has run out
 * is no change: the generation stays, and nobody who waits for one is woken.
 * Who is woken asks the server how it stands; of several changes in a row a
 * waiter may see the last only, and the last it does see.
 *
 * Set and clear are remembered by the server for a minute (the last 10,000
 * of them), so that one that is sent again because its answer was lost does
 * not happen twice, whatever came in between.
 *
 * Keys: `ilk:event:{name}` and side keys. A clear event is forgotten after
 * a day without a change.
 */
#ifndef INTERLOCK_EVENT_H
#define INTERLOCK_EVENT_H

#include "op.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** An event's handle: one waiter, and what it has last seen. */
typedef struct ilk_event ilk_event;

/** Limits of an event. */
enum { ILK_EVENT_DATA_MAX = 1048576 /**< bytes of its data: 1 MiB */ };

/** Options of an event. Zero means the default everywhere. */
typedef struct ilk_event_opts {
    size_t size;    /**< set by ilk_event_opts_init() */
    int64_t ttl_ms; /**< a set lasts so long; default: until it is cleared */
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
 * Set the event, with data, and wake all who wait. Set again, it has the new
 * data and a greater generation. The handle has then seen this state.
 *
 * @param event     the handle
 * @param data      any bytes; may be NULL when data_len is 0
 * @param data_len  their number, at most ILK_EVENT_DATA_MAX
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL; ILK_EAUTH (set, but this user may not wake those
 *         who wait: they see it within 2 s); ILK_EUNKNOWN (no answer)
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
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_event_set_start(ilk_op **out, ilk_event *event,
                                       const void *data, size_t data_len,
                                       ilk_error *err);

/**
 * Clear the event and forget its data. A clear one stays as it is. The handle
 * has then seen this state.
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
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_event_clear_start(ilk_op **out, ilk_event *event,
                                         ilk_error *err);

/**
 * Ask how the event stands; the handle has then seen that.
 *
 * @param event     the handle
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_ECONN and the server's conditions
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_event_read(ilk_event *event, ilk_error *err);

/**
 * Start ilk_event_read().
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param event      the handle
 * @param[out] err   may be NULL
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_event_read_start(ilk_op **out, ilk_event *event,
                                        ilk_error *err);

/**
 * Wait until the event is set; at once when it is. The handle has then seen
 * that state.
 *
 * After ILK_EINTR the handle stays in the wait queue for a few seconds: the
 * same wait again takes it up, any other verb ends it.
 *
 * @param event       the handle
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 looks once
 * @param[out] err    may be NULL
 * @return ILK_OK; ILK_EBUSY (timeout_ms 0, not set); ILK_ETIMEOUT; ILK_EINTR;
 *         ILK_ECANCELLED; ILK_ECONN, ILK_EAUTH, ILK_ECLOSED, ILK_EFORKED and
 *         the server's conditions
 * Threads: one thread at a time.
 * Blocks: yes; ended by a signal (ILK_EINTR), ilk_client_interrupt(),
 * ilk_event_cancel() and ilk_client_close(). Since: 0.1
 */
ILK_API ilk_status ilk_event_wait(ilk_event *event, int64_t timeout_ms,
                                  ilk_error *err);

/**
 * Start ilk_event_wait().
 *
 * @param[out] out    the operation, to be freed; NULL when the call fails
 * @param event       the handle
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 looks once
 * @param[out] err    may be NULL
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_event_wait_start(ilk_op **out, ilk_event *event,
                                        int64_t timeout_ms, ilk_error *err);

/**
 * Wait until the generation is greater than this one, by a set or a clear; at
 * once when it is. The handle has then seen the state as it is by now.
 *
 * @param event       the handle
 * @param generation  the one that is known, from ilk_event_generation()
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 looks once
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
 * @param generation  the one that is known
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 looks once
 * @param[out] err    may be NULL
 * @return ILK_OK when it was started; else what failed at once
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_event_wait_change_start(ilk_op **out, ilk_event *event,
                                               int64_t generation,
                                               int64_t timeout_ms,
                                               ilk_error *err);

/**
 * End a wait: a thread inside ilk_event_wait() returns ILK_ECANCELLED.
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
 * @param event  the handle; NULL answers 0
 * @return 1 or 0; 0 before the first verb
 * Threads: one thread at a time. Blocks: no. Since: 0.1
 */
ILK_API int32_t ilk_event_is_set(const ilk_event *event);

/**
 * The generation that the handle last saw, below 2^53.
 *
 * @param event  the handle; NULL answers 0
 * @return the generation; 0 when the server had none on record, and before
 *         the first verb
 * Threads: one thread at a time. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_event_generation(const ilk_event *event);

/**
 * The data that the handle last saw.
 *
 * @param event         the handle; NULL answers ""
 * @param[out] out_len  their number of bytes; may be NULL
 * @return NUL-terminated bytes; "" when the event was clear
 * Ownership: borrowed until the next verb on this handle. Threads: one thread
 * at a time. Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_event_data(const ilk_event *event, size_t *out_len);

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

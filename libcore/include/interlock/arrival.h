/* SPDX-License-Identifier: MIT */
/**
 * @file arrival.h
 * Received signals: the result of a wait for signals.
 */
#ifndef INTERLOCK_ARRIVAL_H
#define INTERLOCK_ARRIVAL_H

#include "op.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** The signals that a wait returned: one, or one for each handle. */
typedef struct ilk_arrival ilk_arrival;

/**
 * How many signals it has: 1, or one for each handle of
 * ilk_signal_wait_all().
 *
 * @param arrival  the result of a wait; NULL yields 0
 * @return their number
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API size_t ilk_arrival_count(const ilk_arrival *arrival);

/**
 * Which handle of the wait the i-th signal belongs to.
 *
 * @param arrival  the result of a wait
 * @param index    0 to ilk_arrival_count() - 1
 * @return the handle's index in the wait, from 0; -1 beyond the end
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int32_t ilk_arrival_which(const ilk_arrival *arrival, size_t index);

/**
 * The name that the i-th signal was sent to. With a pattern it differs from
 * the handle's.
 *
 * @param arrival       the result of a wait
 * @param index         0 to ilk_arrival_count() - 1
 * @param[out] out_len  its bytes; may be NULL
 * @return NUL-terminated bytes; NULL beyond the end
 * Ownership: borrowed until the arrival is freed. Threads: immutable.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_arrival_name(const ilk_arrival *arrival, size_t index,
                                     size_t *out_len);

/**
 * The data of the i-th signal.
 *
 * @param arrival       the result of a wait
 * @param index         0 to ilk_arrival_count() - 1
 * @param[out] out_len  its bytes; may be NULL
 * @return NUL-terminated bytes, any bytes; NULL beyond the end
 * Ownership: borrowed until the arrival is freed. Threads: immutable.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_arrival_data(const ilk_arrival *arrival, size_t index,
                                     size_t *out_len);

/**
 * Free the received signals.
 *
 * @param arrival  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_arrival_free(ilk_arrival *arrival);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif

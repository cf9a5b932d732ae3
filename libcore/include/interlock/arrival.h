/* SPDX-License-Identifier: MIT */
/**
 * @file arrival.h
 * What a wait for signals has brought.
 */
#ifndef INTERLOCK_ARRIVAL_H
#define INTERLOCK_ARRIVAL_H

#include "op.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** What a wait has brought: one signal, or one of each name. */
typedef struct ilk_arrival ilk_arrival;

/**
 * How many signals have come: 1, or as many as there were handles in
 * ilk_signal_wait_all().
 *
 * @param arrival  what a wait has brought; NULL answers 0
 * @return their number
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API size_t ilk_arrival_count(const ilk_arrival *arrival);

/**
 * Which handle it was that the i-th signal came for.
 *
 * @param arrival  what a wait has brought
 * @param index    0 to ilk_arrival_count() - 1
 * @return its place among the handles of the wait, from 0; -1 beyond the end
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int32_t ilk_arrival_which(const ilk_arrival *arrival, size_t index);

/**
 * The name under which the i-th signal was given: of interest to those who
 * listen to a pattern.
 *
 * @param arrival       what a wait has brought
 * @param index         0 to ilk_arrival_count() - 1
 * @param[out] out_len  its bytes; may be NULL
 * @return NUL-terminated bytes; NULL beyond the end
 * Ownership: borrowed until the arrival is freed. Threads: immutable.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_arrival_name(const ilk_arrival *arrival, size_t index,
                                     size_t *out_len);

/**
 * What the i-th signal carries.
 *
 * @param arrival       what a wait has brought
 * @param index         0 to ilk_arrival_count() - 1
 * @param[out] out_len  its bytes; may be NULL
 * @return NUL-terminated bytes, any bytes; NULL beyond the end
 * Ownership: borrowed until the arrival is freed. Threads: immutable.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_arrival_data(const ilk_arrival *arrival, size_t index,
                                     size_t *out_len);

/**
 * Free what a wait has brought.
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

/* SPDX-License-Identifier: MIT */
/**
 * @file guard.h
 * A value in Redis that refuses writes with an older fence.
 *
 * A lock cannot prevent a process that was frozen beyond its lease from writing
 * late. The written resource can: it records the greatest fence it has seen and
 * refuses smaller ones. The value is stored at the key itself, the fence at
 * `ilk:guard:{key}`, so readers may use a plain GET.
 *
 * A holder that computes the new value from the old one must also read under
 * its fence. Otherwise a late write of the former holder may arrive after the
 * new holder's read and before its first write. It would be accepted, and both
 * would have started from the same old value.
 */
#ifndef INTERLOCK_GUARD_H
#define INTERLOCK_GUARD_H

#include "client.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** A value that was read. */
typedef struct ilk_value ilk_value;

/**
 * Write a value under a fence.
 *
 * @param client     the client
 * @param key        1 to 512 bytes, any bytes but a leading "ilk:"
 * @param key_len    their number
 * @param fence      from ilk_lock_fence(); 0 writes without a check and
 *                   leaves the fence on record as it is
 * @param value      any bytes; may be NULL when value_len is 0
 * @param value_len  their number, at most 1 MiB
 * @param[out] err   may be NULL
 * @return ILK_OK; ILK_ESTALE (a greater fence is on record, nothing was
 *         changed); ILK_EINVAL, ILK_ETYPE; ILK_EUNKNOWN
 * Threads: any thread. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_guard_set(ilk_client *client, const void *key,
                                 size_t key_len, int64_t fence,
                                 const void *value, size_t value_len,
                                 ilk_error *err);

/**
 * Start ilk_guard_set().
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param client     the client
 * @param key        as in ilk_guard_set(); copied
 * @param key_len    its bytes
 * @param fence      as in ilk_guard_set()
 * @param value      any bytes; may be NULL when value_len is 0; copied
 * @param value_len  their number, at most 1 MiB
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_guard_set_start(ilk_op **out, ilk_client *client,
                                       const void *key, size_t key_len,
                                       int64_t fence, const void *value,
                                       size_t value_len, ilk_error *err);

/**
 * Read a guarded value; with a fence if the caller is going to write it.
 *
 * The same step records the fence, as a write does: after this has returned, no
 * former holder can change the value.
 *
 * @param[out] out  the value, to be freed; NULL when the call fails
 * @param client    the client
 * @param key       as in ilk_guard_set()
 * @param key_len   its bytes
 * @param fence     from ilk_lock_fence(); 0 only reads
 * @param[out] err  may be NULL
 * @return ILK_OK, also when there is no value; ILK_ESTALE (a greater fence is
 *         on record, nothing was changed); ILK_EINVAL, ILK_ETYPE and the
 *         others, ILK_ECONN among them: without a reply the fence may be on
 *         record; it is safe to call this again
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_guard_get(ilk_value **out, ilk_client *client,
                                 const void *key, size_t key_len, int64_t fence,
                                 ilk_error *err);

/**
 * Start ilk_guard_get(); ilk_op_value() returns the value.
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param client    the client
 * @param key       as in ilk_guard_set(); copied
 * @param key_len   its bytes
 * @param fence     from ilk_lock_fence(); 0 only reads
 * @param[out] err  may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_guard_get_start(ilk_op **out, ilk_client *client,
                                       const void *key, size_t key_len,
                                       int64_t fence, ilk_error *err);

/**
 * The value that an operation has read.
 *
 * @param op  one that has ended with ILK_OK
 * @return the value; NULL for another kind of operation, or before its end
 * Ownership: borrowed until the operation is freed. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API const ilk_value *ilk_op_value(ilk_op *op);

/**
 * The bytes of a value.
 *
 * @param value         the value
 * @param[out] out_len  their number; may be NULL
 * @return NUL-terminated bytes; NULL when the key does not exist
 * Ownership: borrowed until the value is freed. Threads: immutable.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_value_data(const ilk_value *value, size_t *out_len);

/**
 * The fence on record: the greatest of all writes and reads with a fence.
 *
 * @param value  the value
 * @return the fence; 0 when none is on record
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_value_fence(const ilk_value *value);

/**
 * Free a value.
 *
 * @param value  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_value_free(ilk_value *value);

/**
 * Remove a guarded value and its fence, whatever the fence.
 *
 * @param client    the client
 * @param key       as in ilk_guard_set()
 * @param key_len   its bytes
 * @param[out] err  may be NULL
 * @return ILK_OK, also when there was none; ILK_EINVAL and the others
 * Threads: any thread. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_guard_remove(ilk_client *client, const void *key,
                                    size_t key_len, ilk_error *err);

/**
 * Start ilk_guard_remove().
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param client    the client
 * @param key       as in ilk_guard_set(); copied
 * @param key_len   its bytes
 * @param[out] err  may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_guard_remove_start(ilk_op **out, ilk_client *client,
                                          const void *key, size_t key_len,
                                          ilk_error *err);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif

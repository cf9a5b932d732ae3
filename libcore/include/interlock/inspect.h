/* SPDX-License-Identifier: MIT */
/**
 * @file inspect.h
 * Inspecting names without changing them: who holds, who waits.
 *
 * The getters serve all kinds. Where a name has several holders, the getters for a
 * single holder describe the one who was served first; of readers the one whose lease
 * ends first.
 */
#ifndef INTERLOCK_INSPECT_H
#define INTERLOCK_INSPECT_H

#include "client.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** A snapshot of one name. */
typedef struct ilk_info ilk_info;

/** How a name is held. */
typedef enum ilk_info_state {
    ILK_INFO_FREE = 0,    /**< nobody holds it */
    ILK_INFO_HELD = 1,    /**< held through this library */
    ILK_INFO_FOREIGN = 2, /**< held by another library, such as redis-py */
    ILK_INFO_READERS = 3, /**< held by readers */
    ILK_INFO_REDISSON = 4 /**< held in Redisson's layout */
} ilk_info_state;

/**
 * Inspect one lock.
 *
 * @param[out] out  the info, to be freed; NULL when the call fails
 * @param client    the client
 * @param name      the name
 * @param name_len  its bytes
 * @param[out] err  may be NULL
 * @return ILK_OK, also for a name that nobody holds; ILK_EINVAL; ILK_ETYPE
 *         (the key is no lock); ILK_ECONN, ILK_EAUTH and the others
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_inspect(ilk_info **out, ilk_client *client,
                               const void *name, size_t name_len,
                               ilk_error *err);

/**
 * Start ilk_inspect(); ilk_op_info() returns the result.
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param client     the client
 * @param name       the name; copied
 * @param name_len   its bytes
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_inspect_start(ilk_op **out, ilk_client *client,
                                     const void *name, size_t name_len,
                                     ilk_error *err);

/**
 * Inspect a semaphore.
 *
 * @param[out] out  the info, to be freed; NULL when the call fails
 * @param client    the client
 * @param name      the semaphore's name
 * @param name_len  its bytes
 * @param[out] err  may be NULL
 * @return ILK_OK, also for a name that nobody uses; ILK_EINVAL; ILK_ETYPE;
 *         ILK_ECONN, ILK_EAUTH and the others
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_semaphore_inspect(ilk_info **out, ilk_client *client,
                                         const void *name, size_t name_len,
                                         ilk_error *err);

/**
 * Start ilk_semaphore_inspect(); ilk_op_info() returns the result.
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param client    the client
 * @param name      the semaphore's name; copied
 * @param name_len  its bytes
 * @param[out] err  may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_semaphore_inspect_start(ilk_op **out, ilk_client *client,
                                               const void *name,
                                               size_t name_len, ilk_error *err);

/**
 * Inspect a name of any kind that can be inspected: all but stores and replicated values.
 * For a lock as ilk_inspect(), for a semaphore as ilk_semaphore_inspect().
 *
 * @param[out] out  the info, to be freed; NULL when the call fails
 * @param client    the client
 * @param kind      one of ILK_KIND_…
 * @param name      the name
 * @param name_len  its bytes
 * @param[out] err  may be NULL
 * @return ILK_OK, also for a name that nobody uses; ILK_EINVAL; ILK_EUNSUPPORTED (the
 *         store does not keep this kind); ILK_ETYPE; ILK_ECONN, ILK_EAUTH and the others
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: one round trip, or two; for a group one more for each 1,000 members.
 * Since: 0.1
 */
ILK_API ilk_status ilk_inspect_kind(ilk_info **out, ilk_client *client,
                                    int32_t kind, const void *name,
                                    size_t name_len, ilk_error *err);

/**
 * Start ilk_inspect_kind(); ilk_op_info() returns the result.
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param client     the client
 * @param kind       one of ILK_KIND_…
 * @param name       the name; copied
 * @param name_len   its bytes
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_inspect_kind_start(ilk_op **out, ilk_client *client,
                                          int32_t kind, const void *name,
                                          size_t name_len, ilk_error *err);

/**
 * The result of a started inspection.
 *
 * @param op  one that has ended with ILK_OK
 * @return the info; NULL for another kind of operation, or before its end
 * Ownership: borrowed until the operation is freed. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API const ilk_info *ilk_op_info(ilk_op *op);

/**
 * Which kind was inspected.
 *
 * @param info  the info
 * @return one of ILK_KIND_…
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int32_t ilk_info_kind(const ilk_info *info);

/**
 * The state in one word. Of a lock: free, held, readers, foreign, redisson; of a semaphore:
 * free, held; of an election: vacant, led; of an event: clear, set; of a latch: none,
 * closed, open; of a barrier: idle, waiting; of a signal: idle, awaited; of a queue: empty,
 * ready; of a group: empty, joined; of a register: none, set.
 *
 * @param info  the info
 * @return a NUL-terminated string
 * Ownership: a literal. Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_info_state_name(const ilk_info *info);

/**
 * Whether the server has anything on record for this kind and name.
 *
 * @param info  the info
 * @return 1 or 0
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int32_t ilk_info_in_use(const ilk_info *info);

/**
 * How long the longest waiter has waited, of those that are listed.
 *
 * @param info  the info
 * @return milliseconds; 0 when nobody waits; -1 when it is not known of all of them
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_info_longest_wait_ms(const ilk_info *info);

/**
 * How many facts there are that only this kind has: of a semaphore limit and used; of an
 * election term and, if somebody leads, value; of an event generation and data; of a latch
 * count and left; of a barrier parties; of a queue ready, delayed, taken, dead, pushed,
 * expired, returned, buried, purged, oldest_ms, finished and order; of a group members; of a register
 * version and, if there is one, value.
 *
 * @param info  the info
 * @return their number
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API size_t ilk_info_facts(const ilk_info *info);

/**
 * The name of the i-th fact.
 *
 * @param info   the info
 * @param index  0 to ilk_info_facts() - 1
 * @return a NUL-terminated string; "" beyond the end
 * Ownership: a literal. Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_info_fact_name(const ilk_info *info, size_t index);

/**
 * The i-th fact that is a number.
 *
 * @param info   the info
 * @param index  0 to ilk_info_facts() - 1
 * @return the number; 0 for a fact that is bytes, and beyond the end
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_info_fact_number(const ilk_info *info, size_t index);

/**
 * The i-th fact that is bytes.
 *
 * @param info          the info
 * @param index         0 to ilk_info_facts() - 1
 * @param[out] out_len  their number; may be NULL
 * @return NUL-terminated bytes; NULL for a fact that is a number, and beyond the end
 * Ownership: borrowed until the info is freed. Threads: immutable.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_info_fact_text(const ilk_info *info, size_t index,
                                       size_t *out_len);

/**
 * How the name is held.
 *
 * @param info  the info
 * @return an ilk_info_state
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int32_t ilk_info_get_state(const ilk_info *info);

/**
 * The token of the holder; the first reader's when readers hold.
 *
 * @param info          the info
 * @param[out] out_len  its bytes; may be NULL
 * @return NUL-terminated bytes, "" when nobody holds
 * Ownership: borrowed until the info is freed. Threads: immutable.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_info_holder(const ilk_info *info, size_t *out_len);

/**
 * The label of the holder's client, host:pid by default; "" for foreign ones.
 *
 * @param info  the info
 * @return a NUL-terminated string
 * Ownership: borrowed until the info is freed. Threads: immutable.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_info_label(const ilk_info *info);

/**
 * Since when it is held, in milliseconds of the server's clock since 1970.
 *
 * @param info  the info
 * @return milliseconds; 0 when unknown
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_info_since_ms(const ilk_info *info);

/**
 * The remaining lease by the server's clock.
 *
 * @param info  the info
 * @return milliseconds; 0 when free; -1 for a foreign lock without expiry, and for
 *         a hold whose end the store does not show: that of its client's session
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_info_ttl_ms(const ilk_info *info);

/**
 * The greatest fence on record for this name.
 *
 * @param info  the info
 * @return the fence; 0 when none is on record
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_info_fence(const ilk_info *info);

/**
 * How many readers hold the lock.
 *
 * @param info  the info
 * @return their number
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_info_readers(const ilk_info *info);

/**
 * How many waiters are in the wait queue.
 *
 * @param info  the info
 * @return their number, which may be greater than that of those listed
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_info_waiters(const ilk_info *info);

/**
 * How many waiters are listed: the first 100 at most, in order.
 *
 * @param info  the info
 * @return their number
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_info_listed(const ilk_info *info);

/**
 * The label of the i-th waiter's client.
 *
 * @param info   the info
 * @param index  0 to ilk_info_listed() - 1
 * @return a NUL-terminated string; "" beyond the end
 * Ownership: borrowed until the info is freed. Threads: immutable.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_info_waiter_label(const ilk_info *info, size_t index);

/**
 * The token under which the i-th waiter will hold.
 *
 * @param info   the info
 * @param index  0 to ilk_info_listed() - 1
 * @return a NUL-terminated string; "" beyond the end
 * Ownership: borrowed until the info is freed. Threads: immutable.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_info_waiter_token(const ilk_info *info, size_t index);

/**
 * The id of the i-th waiter's client (ilk_client_id()): what one client holds and waits for
 * has the same.
 *
 * @param info   the info
 * @param index  0 to ilk_info_listed() - 1
 * @return a NUL-terminated string; "" when it is not known, and beyond the end
 * Ownership: borrowed until the info is freed. Threads: immutable.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_info_waiter_client(const ilk_info *info, size_t index);

/**
 * How long the i-th waiter has waited, by the server's clock.
 *
 * @param info   the info
 * @param index  0 to ilk_info_listed() - 1
 * @return milliseconds; -1 when it is not known: for a waiter of an earlier version, at a
 *         store other than Redis, over a quorum, and beyond the end
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_info_waiter_waited_ms(const ilk_info *info, size_t index);

/**
 * How many permits the i-th waiter waits for; 1 for a lock.
 *
 * @param info   the info
 * @param index  0 to ilk_info_listed() - 1
 * @return their number; 0 beyond the end
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_info_waiter_permits(const ilk_info *info, size_t index);

/**
 * How many permits the semaphore has.
 *
 * @param info  the info
 * @return the limit; 0 when none is on record, and for a lock
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_info_limit(const ilk_info *info);

/**
 * How many permits of the semaphore are held.
 *
 * @param info  the info
 * @return their number
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_info_used(const ilk_info *info);

/**
 * How many holders it has: those of a semaphore's permits, readers of a lock, reservations
 * of a queue's messages, members of a group; 1 for another name that is held.
 *
 * @param info  the info
 * @return their number, which may be greater than that of those listed
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_info_holders(const ilk_info *info);

/**
 * How many holders are listed: the first 100 at most, in the order in which
 * they were served.
 *
 * @param info  the info
 * @return their number; 0 for a lock
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_info_holders_listed(const ilk_info *info);

/**
 * The label of the i-th holder's client.
 *
 * @param info   the info
 * @param index  0 to ilk_info_holders_listed() - 1
 * @return a NUL-terminated string; "" beyond the end
 * Ownership: borrowed until the info is freed. Threads: immutable.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_info_holder_label(const ilk_info *info, size_t index);

/**
 * The token of the i-th holder.
 *
 * @param info   the info
 * @param index  0 to ilk_info_holders_listed() - 1
 * @return a NUL-terminated string; "" beyond the end
 * Ownership: borrowed until the info is freed. Threads: immutable.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_info_holder_token(const ilk_info *info, size_t index);

/**
 * The id of the i-th holder's client, as of a waiter.
 *
 * @param info   the info
 * @param index  0 to ilk_info_holders_listed() - 1
 * @return a NUL-terminated string; "" when it is not known, and beyond the end
 * Ownership: borrowed until the info is freed. Threads: immutable.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_info_holder_client(const ilk_info *info, size_t index);

/**
 * How many permits the i-th holder has.
 *
 * @param info   the info
 * @param index  0 to ilk_info_holders_listed() - 1
 * @return their number; 0 beyond the end
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_info_holder_permits(const ilk_info *info, size_t index);

/**
 * The fence of the i-th holder.
 *
 * @param info   the info
 * @param index  0 to ilk_info_holders_listed() - 1
 * @return the fence; 0 beyond the end
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_info_holder_fence(const ilk_info *info, size_t index);

/**
 * Since when the i-th holder holds, by the server's clock since 1970.
 *
 * @param info   the info
 * @param index  0 to ilk_info_holders_listed() - 1
 * @return milliseconds; 0 beyond the end
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_info_holder_since_ms(const ilk_info *info, size_t index);

/**
 * The remaining lease of the i-th holder, by the server's clock.
 *
 * @param info   the info
 * @param index  0 to ilk_info_holders_listed() - 1
 * @return milliseconds; 0 beyond the end; -1 as for ilk_info_ttl_ms()
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_info_holder_ttl_ms(const ilk_info *info, size_t index);

/**
 * Free the info.
 *
 * @param info  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_info_free(ilk_info *info);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif

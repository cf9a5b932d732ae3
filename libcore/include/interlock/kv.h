/* SPDX-License-Identifier: MIT */
/**
 * @file kv.h
 * Replicated values: keys with one value each, of which the newest wins.
 *
 * With a URL of several servers, `redis://a,b,c,d?ring&copies=3&write=2&read=2`,
 * each value is on `copies` of them, those that follow its key on a ring of
 * consistent hashing (ring.h, layout ketama). A put has succeeded when `write` of
 * them have it, a get asks until `read` of them have replied, and the newest
 * value of those is the answer. With read + write > copies, a get takes every
 * put into account that has succeeded before. With one server there is one
 * copy.
 *
 * A version is a clock in microseconds that never goes back (Kulkarni and others,
 * "Logical Physical Clocks", 2014): a put first reads the versions at `read`
 * servers and takes a greater one, so that it does not lose to a value that is
 * older, however the clocks are set. Of two puts at once one wins, the same at all
 * servers. A value that must not be overwritten unseen is a register (register.h);
 * several keys that change together are a store (store.h).
 *
 * A get that finds different versions writes the newest one to the servers that
 * have an older one before it returns, and in the background to those that reply
 * later. So a server that was away gets what it has missed when it is read, or by
 * ilk_kv_move(). A deleted key keeps its version until all of its servers have it, and
 * for 7 days more. A server that was away for longer, or was wiped, or is new, gets what is
 * written, and its replies do not count until a pass of ilk_kv_move() has
 * ended.
 *
 * Keys: `ilk:kv:{name}/KEY` for each key (of a name with a `}` `ilk:kv=name/KEY/BYTES`,
 * with the number of the key's bytes), `ilk:kv:once:{name}` on a single server, and
 * `ilk:kv:node` on each server of a ring.
 */
#ifndef INTERLOCK_KV_H
#define INTERLOCK_KV_H

#include "op.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** A handle for the values of one name. */
typedef struct ilk_kv ilk_kv;
/** A value that was read, with its version. */
typedef struct ilk_kv_entry ilk_kv_entry;

/** Limits of keys and values, and the flags of a change. */
enum {
    ILK_KV_KEY_MAX = 512,     /**< bytes of a key, which must not be empty */
    ILK_KV_VALUE_MAX = 65536, /**< bytes of a value: 64 KiB */
    /** Do not read the versions first: one round trip instead of two. The version
     *  is then this machine's clock, or one more than the greatest that the client
     *  has seen. When this clock is behind that of another writer, the change is
     *  lost at once to the older one, without an error. */
    ILK_KV_FAST = 1
};

/** Where ilk_kv_move() is; it begins with all zeros but the size. */
typedef struct ilk_kv_progress {
    size_t size;      /**< set by the caller to sizeof */
    int32_t server;   /**< the server that is looked through, from 0 */
    int32_t servers;  /**< how many there are; 0 before the first step */
    int32_t is_done;  /**< 1 when all were looked through */
    int64_t looked;   /**< records that were found */
    int64_t copied;   /**< copies that were written */
    int64_t removed;  /**< copies that were removed from a wrong server */
    char cursor[24];  /**< the place in this server; "" begins */
    char pass_id[24]; /**< names this pass; "" before the first step */
} ilk_kv_progress;

/**
 * Make a handle for the values of this name. Nothing is sent.
 *
 * @param[out] out  the handle, to be freed; NULL when the call fails
 * @param client    the client; the handle keeps a reference on it
 * @param name      1 to 512 bytes, any bytes but a leading "ilk:"
 * @param name_len  their number
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_ENOMEM, ILK_ECLOSED, ILK_EFORKED,
 *         ILK_EUNSUPPORTED (the store behind the URL keeps no such values)
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_kv_open(ilk_kv **out, ilk_client *client,
                               const void *name, size_t name_len,
                               ilk_error *err);

/**
 * The name that the handle was opened with.
 *
 * @param kv            the handle; NULL yields NULL
 * @param[out] out_len  its bytes; may be NULL
 * @return bytes without a NUL behind them
 * Ownership: borrowed until the handle is freed. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_kv_name(const ilk_kv *kv, size_t *out_len);

/**
 * Free the handle.
 *
 * @param kv  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_kv_free(ilk_kv *kv);

/**
 * Read the newest value of a key.
 *
 * @param[out] out  the value and its version, to be freed; NULL when there is no
 *                  value, and when the call fails
 * @param kv        the handle
 * @param key       1 to ILK_KV_KEY_MAX bytes, any bytes
 * @param key_len   their number
 * @param[out] err  may be NULL
 * @return ILK_OK, also when there is no value; ILK_EINVAL; ILK_ENOQUORUM (fewer
 *         than `read` servers have replied); ILK_ECONN and the server's errors
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: one round trip, two when copies differ. Since: 0.1
 */
ILK_API ilk_status ilk_kv_get(ilk_kv_entry **out, ilk_kv *kv, const void *key,
                              size_t key_len, ilk_error *err);

/**
 * Start ilk_kv_get(). ilk_op_kv_entry() returns the result.
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param kv        the handle
 * @param key       as in ilk_kv_get(); it is copied
 * @param key_len   its bytes
 * @param[out] err  may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_kv_get_start(ilk_op **out, ilk_kv *kv, const void *key,
                                    size_t key_len, ilk_error *err);

/**
 * The result of ilk_kv_get_start().
 *
 * @param op  the operation
 * @return NULL when there is no value, while it runs, after a failure, and for
 *         other operations
 * Ownership: borrowed until the operation is freed. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API const ilk_kv_entry *ilk_op_kv_entry(ilk_op *op);

/**
 * The value that was read.
 *
 * @param entry         from ilk_kv_get(); NULL yields NULL
 * @param[out] out_len  its bytes; may be NULL
 * @return bytes with a NUL behind them
 * Ownership: borrowed until the entry is freed. Threads: immutable.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_kv_entry_value(const ilk_kv_entry *entry,
                                       size_t *out_len);

/**
 * The version of the value that was read.
 *
 * @param entry  from ilk_kv_get(); NULL yields 0
 * @return microseconds since 1970, below 2^53
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_kv_entry_version(const ilk_kv_entry *entry);

/**
 * Free what ilk_kv_get() returned.
 *
 * @param entry  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_kv_entry_free(ilk_kv_entry *entry);

/**
 * Write a value, whatever is there.
 *
 * @param kv                the handle
 * @param key               1 to ILK_KV_KEY_MAX bytes, any bytes
 * @param key_len           their number
 * @param value             any bytes; may be NULL when value_len is 0
 * @param value_len         their number, at most ILK_KV_VALUE_MAX
 * @param flags             0 or ILK_KV_FAST
 * @param[out] out_version  the value's version; may be NULL
 * @param[out] err          may be NULL
 * @return ILK_OK; ILK_EINVAL; ILK_ENOQUORUM (fewer than `write` servers have it;
 *         the text says on how many it may be, and a get may find it there or
 *         not); ILK_EUNKNOWN (no reply); ILK_ECONN and the server's errors
 * Threads: any thread. Blocks: two round trips, one with ILK_KV_FAST or with one
 * server. Since: 0.1
 */
ILK_API ilk_status ilk_kv_put(ilk_kv *kv, const void *key, size_t key_len,
                              const void *value, size_t value_len,
                              uint32_t flags, int64_t *out_version,
                              ilk_error *err);

/**
 * Start ilk_kv_put(). ilk_op_number() returns the version.
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param kv         the handle
 * @param key        as in ilk_kv_put(); it is copied
 * @param key_len    its bytes
 * @param value      as in ilk_kv_put(); it is copied
 * @param value_len  its bytes
 * @param flags      0 or ILK_KV_FAST
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_kv_put_start(ilk_op **out, ilk_kv *kv, const void *key,
                                    size_t key_len, const void *value,
                                    size_t value_len, uint32_t flags,
                                    ilk_error *err);

/**
 * Delete a key, whether it has a value or not. Its version is kept for 7 days, so
 * that an older copy of the value does not come back.
 *
 * @param kv                the handle
 * @param key               1 to ILK_KV_KEY_MAX bytes, any bytes
 * @param key_len           their number
 * @param flags             0 or ILK_KV_FAST
 * @param[out] out_version  the version of the change; may be NULL
 * @param[out] err          may be NULL
 * @return as ilk_kv_put()
 * Threads: any thread. Blocks: as ilk_kv_put(). Since: 0.1
 */
ILK_API ilk_status ilk_kv_delete(ilk_kv *kv, const void *key, size_t key_len,
                                 uint32_t flags, int64_t *out_version,
                                 ilk_error *err);

/**
 * Start ilk_kv_delete(). ilk_op_number() returns the version.
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param kv        the handle
 * @param key       as in ilk_kv_delete(); it is copied
 * @param key_len   its bytes
 * @param flags     0 or ILK_KV_FAST
 * @param[out] err  may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_kv_delete_start(ilk_op **out, ilk_kv *kv,
                                       const void *key, size_t key_len,
                                       uint32_t flags, ilk_error *err);

/**
 * Put the values of all names where they belong, one bounded step of the way: about
 * 100 records of one server. The caller repeats it until progress->is_done. Each
 * record that is found goes, in its newest version, to those of its servers that have
 * an older one, and is then removed from a server that is none of them. Gets and puts
 * go on meanwhile. With one server there is nothing to do.
 *
 * To change the servers of a ring, name those that leave in `former=` of the URL of
 * the new ring (`redis://a,b,c,d?ring&former=e`), move once while the programs use
 * the old URL, let them use the new one, and move again. Until the second pass has
 * ended, a program with the new URL may miss what one with the old URL has put since
 * the first. When servers are only added, one at a time, the programs may use the
 * new URL first, and one pass is enough: the new server counts when it has ended.
 *
 * At its end a pass takes in the servers that have missed something for good: new
 * ones, those that were wiped, and those that were away for over 7 days. A record
 * that only such a server has was deleted meanwhile, and is removed.
 *
 * @param client    a client of several servers (`?ring`), or of one
 * @param progress  where it is; a pass begins with all zeros but the size. It
 *                  may be copied and kept: another process can go on there.
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL; ILK_EUNSUPPORTED (the store behind the URL keeps no such
 *         values); ILK_ENOQUORUM (a server cannot be reached: the same step may be
 *         tried again, and nothing is lost); ILK_ECONN and the servers' errors
 * Threads: any thread, with a progress of its own. Blocks: some round trips.
 * Since: 0.1
 */
ILK_API ilk_status ilk_kv_move(ilk_client *client, ilk_kv_progress *progress,
                               ilk_error *err);

/**
 * Start ilk_kv_move(). ilk_op_kv_progress() returns where it is then.
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param client    a client of several servers (`?ring`), or of one
 * @param from      where it is; it is copied. NULL begins
 * @param[out] err  may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_kv_move_start(ilk_op **out, ilk_client *client,
                                     const ilk_kv_progress *from,
                                     ilk_error *err);

/**
 * The result of ilk_kv_move_start().
 *
 * @param op                 the operation
 * @param[out] out_progress  where it is; its size is set by the caller
 * @param[out] err           may be NULL
 * @return ILK_OK; ILK_EINVAL while it runs, after a failure, and for other
 *         operations
 * Ownership: nothing changes hands. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_op_kv_progress(ilk_op *op, ilk_kv_progress *out_progress,
                                      ilk_error *err);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif

/* SPDX-License-Identifier: MIT */
/**
 * @file store.h
 * A store: many keys with values, read and changed by transactions.
 *
 * A transaction has a timestamp, which its first read takes from the server. It
 * reads each key as of that time, so that all its reads fit together. Its writes
 * stay in the client until it commits; then all of them appear in one step, as
 * of that time, or none does. Committed transactions are serializable, in the
 * order of their timestamps: this is multiversion timestamp ordering (Bernstein
 * and Goodman, "Multiversion Concurrency Control", 1983; Reed, 1978).
 *
 * Nothing is locked, so nothing waits and nothing can deadlock. Instead a
 * commit is refused with ILK_ECONFLICT when it comes too late: a transaction with
 * a later timestamp has read or written a key that this one writes. The caller
 * then begins a new one and reads again. A transaction that only writes gets
 * its timestamp when it commits, and is never too late.
 *
 * A snapshot is a transaction that only reads. It never waits, and transactions
 * with a later timestamp may write what it has read; those with an earlier one
 * may not.
 *
 * The server keeps former versions of a key for 60 seconds, but at most 64 of
 * each key. A read that needs an older one is refused: ILK_ECONFLICT for a
 * transaction and ILK_ESTALE for a snapshot, which cannot conflict. So is any read
 * or commit of one that is older than 60 seconds: ILK_ETIMEOUT.
 *
 * With a URL of several servers, `redis://a,b,c?ring`, each key is on one of them, and a
 * commit that writes on several has two phases (Gray, "Notes on Data Base Operating
 * Systems", 1978): it takes two round trips, three when nothing was read. A call may then
 * end with ILK_ENOQUORUM when a server that it needs is missing, and any call on servers
 * other than those that the store began with ends with ILK_EDIFFERS.
 *
 * Keys: `ilk:store:{name}`, `ilk:store:done:{name}`, and `ilk:store:key:{name}/KEY`
 * for each key (of a name with a `}` `ilk:store:key=name/KEY/BYTES`, with the number of the
 * key's bytes).
 */
#ifndef INTERLOCK_STORE_H
#define INTERLOCK_STORE_H

#include "op.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** A store's handle, for any number of transactions at once. */
typedef struct ilk_store ilk_store;
/** One transaction, or one snapshot. */
typedef struct ilk_txn ilk_txn;

/** Limits of a store and of a transaction, and the flags of one. */
enum {
    ILK_STORE_KEY_MAX = 512,     /**< bytes of a key, which must not be empty */
    ILK_STORE_VALUE_MAX = 65536, /**< bytes of a value: 64 KiB */
    ILK_TXN_WRITES_MAX = 256,    /**< keys that one transaction writes */
    ILK_TXN_SNAPSHOT = 1         /**< it only reads */
};

/** The end of a transaction. */
typedef enum ilk_txn_outcome {
    /** no longer on record: ilk_store_outcome() was called too late */
    ILK_TXN_UNDECIDED = 0,
    ILK_TXN_COMMITTED = 1, /**< all its writes are there */
    ILK_TXN_ABORTED = 2    /**< none is, and none will be */
} ilk_txn_outcome;

/**
 * Make a handle for the store of this name. Nothing is sent.
 *
 * @param[out] out  the handle, to be freed; NULL when the call fails
 * @param client    the client; the handle keeps a reference on it
 * @param name      1 to 512 bytes, any bytes but a leading "ilk:"
 * @param name_len  their number
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_ENOMEM, ILK_ECLOSED, ILK_EFORKED,
 *         ILK_EUNSUPPORTED (the server behind the URL keeps no stores)
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_store_open(ilk_store **out, ilk_client *client,
                                  const void *name, size_t name_len,
                                  ilk_error *err);

/**
 * The name that the handle was opened with.
 *
 * @param store         the handle; NULL yields NULL
 * @param[out] out_len  its bytes; may be NULL
 * @return bytes without a NUL behind them
 * Ownership: borrowed until the handle is freed. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_store_name(const ilk_store *store, size_t *out_len);

/**
 * Free the handle. Its transactions keep what they need of it.
 *
 * @param store  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_store_free(ilk_store *store);

/**
 * Ask what became of a transaction, after ilk_txn_commit() has ended with
 * ILK_EUNKNOWN. One that is not committed by then is aborted by this call: a
 * late copy of its commit has no effect any more. So the answer is final. It is
 * ILK_TXN_UNDECIDED only when the commit was sent more than 5 minutes ago, by
 * the clock of this machine.
 *
 * @param store             the handle
 * @param id                from ilk_txn_id()
 * @param[out] out_outcome  an ilk_txn_outcome
 * @param[out] err          may be NULL
 * @return ILK_OK; ILK_EINVAL; ILK_ECONN and the server's errors
 * Threads: any thread. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_store_outcome(ilk_store *store, const char *id,
                                     int32_t *out_outcome, ilk_error *err);

/**
 * Start ilk_store_outcome(); ilk_op_number() returns the ilk_txn_outcome.
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param store     the handle
 * @param id        from ilk_txn_id(), which is copied
 * @param[out] err  may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_store_outcome_start(ilk_op **out, ilk_store *store,
                                           const char *id, ilk_error *err);

/**
 * Begin a transaction. Nothing is sent; its first read gives it its timestamp.
 *
 * @param[out] out  the transaction, to be freed; NULL when the call fails
 * @param store     the handle
 * @param flags     0 or ILK_TXN_SNAPSHOT
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_ENOMEM, ILK_ESYSTEM, ILK_ECLOSED, ILK_EFORKED
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_txn_begin(ilk_txn **out, ilk_store *store,
                                 uint32_t flags, ilk_error *err);

/**
 * Read a key as of the transaction's time, or what the transaction has written
 * there itself. ilk_txn_value() then returns it.
 *
 * @param txn       the transaction
 * @param key       1 to ILK_STORE_KEY_MAX bytes, any bytes
 * @param key_len   their number
 * @param[out] err  may be NULL
 * @return ILK_OK, also when there is no value; ILK_EINVAL; ILK_ECONFLICT (the
 *         version is no longer kept; of a snapshot ILK_ESTALE); ILK_ETIMEOUT (it
 *         took longer than 60 s); ILK_ENOTOWNER (it has ended); ILK_ECONN and the
 *         server's errors
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_txn_get(ilk_txn *txn, const void *key, size_t key_len,
                               ilk_error *err);

/**
 * Start ilk_txn_get().
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param txn       the transaction
 * @param key       as in ilk_txn_get(); it is copied
 * @param key_len   its bytes
 * @param[out] err  may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_txn_get_start(ilk_op **out, ilk_txn *txn,
                                     const void *key, size_t key_len,
                                     ilk_error *err);

/**
 * The value that the last ilk_txn_get() has found.
 *
 * @param txn           the transaction; NULL yields NULL
 * @param[out] out_len  its bytes; may be NULL
 * @return NUL-terminated bytes; NULL when there was no value, and before the
 *         first read
 * Ownership: borrowed until the next call on this transaction. Threads: one
 * thread at a time. Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_txn_value(const ilk_txn *txn, size_t *out_len);

/**
 * Write a key when the transaction commits. Nothing is sent.
 *
 * @param txn        the transaction, which is no snapshot
 * @param key        1 to ILK_STORE_KEY_MAX bytes, any bytes; it is copied
 * @param key_len    their number
 * @param value      any bytes, which are copied; may be NULL when value_len is 0
 * @param value_len  their number, at most ILK_STORE_VALUE_MAX
 * @param[out] err   may be NULL
 * @return ILK_OK; ILK_EINVAL (also for the key after ILK_TXN_WRITES_MAX, and
 *         for a snapshot); ILK_ENOTOWNER (it has ended); ILK_ENOMEM;
 *         ILK_EHELD, ILK_EFORKED
 * Threads: one thread at a time. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_txn_put(ilk_txn *txn, const void *key, size_t key_len,
                               const void *value, size_t value_len,
                               ilk_error *err);

/**
 * Delete a key when the transaction commits. Nothing is sent. A key without a
 * value may be deleted, too.
 *
 * @param txn       the transaction, which is no snapshot
 * @param key       as in ilk_txn_put()
 * @param key_len   its bytes
 * @param[out] err  may be NULL
 * @return as ilk_txn_put()
 * Threads: one thread at a time. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_txn_delete(ilk_txn *txn, const void *key, size_t key_len,
                                  ilk_error *err);

/**
 * Make all writes visible, in one step. The transaction has then ended, also
 * when it was refused. One without writes sends nothing.
 *
 * @param txn       the transaction
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_ECONFLICT (refused: a later transaction has read or
 *         written a key that it writes; nothing is written); ILK_ETIMEOUT (it took
 *         longer than 60 s; nothing is written); ILK_EUNKNOWN (no reply: ilk_store_outcome() settles it);
 *         ILK_ENOTOWNER (it has ended before); ILK_ECONN and the server's
 *         errors (nothing is written)
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_txn_commit(ilk_txn *txn, ilk_error *err);

/**
 * Start ilk_txn_commit().
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param txn       the transaction
 * @param[out] err  may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_txn_commit_start(ilk_op **out, ilk_txn *txn,
                                        ilk_error *err);

/**
 * The transaction's id, for ilk_store_outcome(): a random number, and when its
 * commit was sent.
 *
 * @param txn  the transaction; NULL yields ""
 * @return text that ends with a NUL; "" before its commit
 * Ownership: borrowed until the transaction is freed. Threads: one thread at a
 * time. Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_txn_id(const ilk_txn *txn);

/**
 * Free the transaction. One that has not committed is abandoned: nothing of it
 * is at the server.
 *
 * @param txn  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_txn_free(ilk_txn *txn);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif

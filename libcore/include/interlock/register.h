/* SPDX-License-Identifier: MIT */
/**
 * @file register.h
 * A register: one value with a version, for compare-and-set.
 *
 * Each change gives the register a new version by the same rule as a fence:
 * greater than the last one and not below the server's clock in microseconds.
 * So a version is never used for two values, also after the server lost its
 * data; when no greater one below 2^53 is left, a change is refused (an error
 * of the server, ILKFENCE). Version 0 means that the server has nothing on
 * record. In etcd a version is a revision of the cluster, in ZooKeeper the
 * number of a transaction.
 *
 * A delete is a change: the register then has a version and no value. That
 * record is deleted after a day without a change, and the version is 0 again;
 * the next change still gets a greater version, because of the clock.
 *
 * The server remembers each change for a minute (the last 10,000 of them), so
 * that a retry after a lost reply has no second effect, whatever happened in
 * between. A retry that comes when its request may be forgotten ends with
 * ILK_EUNKNOWN. Other stores remember the last changes only (docs/register.md).
 *
 * Over a quorum registers are CASPaxos: Rystsov, "CASPaxos: Replicated State
 * Machines without logs", 2018. Each call may end with ILK_ENOQUORUM there, and
 * a change takes two round trips; see docs/quorum.md.
 *
 * Keys: `ilk:register:{name}` and side keys.
 */
#ifndef INTERLOCK_REGISTER_H
#define INTERLOCK_REGISTER_H

#include "op.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** A register's handle: one waiter, and the value that it saw last. */
typedef struct ilk_register ilk_register;

/** Limits of a register, and the version that stands for all. */
enum {
    ILK_REGISTER_VALUE_MAX = 65536, /**< bytes of its value: 64 KiB */
    ILK_REGISTER_ANY = -1           /**< whatever version is on record */
};

/**
 * Make a handle for the register of this name. Nothing is sent.
 *
 * @param[out] out  the handle, to be freed; NULL when the call fails
 * @param client    the client; the handle keeps a reference on it
 * @param name      1 to 512 bytes, any bytes but a leading "ilk:"
 * @param name_len  their number
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_ENOMEM, ILK_ECLOSED, ILK_EFORKED,
 *         ILK_EUNSUPPORTED (the store offers no registers)
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_register_open(ilk_register **out, ilk_client *client,
                                     const void *name, size_t name_len,
                                     ilk_error *err);

/**
 * Read the value and its version; the handle has then seen them.
 *
 * @param handle    the handle
 * @param[out] err  may be NULL
 * @return ILK_OK, also when there is no value; ILK_ECONN and the server's
 *         errors
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_register_get(ilk_register *handle, ilk_error *err);

/**
 * Start ilk_register_get().
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param handle     the handle
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_register_get_start(ilk_op **out, ilk_register *handle,
                                          ilk_error *err);

/**
 * Write a value, whatever is there, and wake all waiters. The handle has then
 * seen this value and its version.
 *
 * @param handle     the handle
 * @param value      any bytes; may be NULL when value_len is 0
 * @param value_len  their number, at most ILK_REGISTER_VALUE_MAX
 * @param[out] err   may be NULL
 * @return ILK_OK; ILK_EINVAL; ILK_EAUTH (written, but this user may not
 *         PUBLISH to the waiters: they see it within 2 s); ILK_EUNKNOWN (no
 *         reply, or a retry whose first copy may be forgotten)
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_register_set(ilk_register *handle, const void *value,
                                    size_t value_len, ilk_error *err);

/**
 * Start ilk_register_set().
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param handle     the handle
 * @param value      any bytes, which are copied; may be NULL when value_len is
 *                   0
 * @param value_len  their number, at most ILK_REGISTER_VALUE_MAX
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_register_set_start(ilk_op **out, ilk_register *handle,
                                          const void *value, size_t value_len,
                                          ilk_error *err);

/**
 * Write a value if the register still has this version, and wake all waiters.
 * Whether it was written or refused, the handle has then seen what is on
 * record.
 *
 * @param handle     the handle
 * @param version    from ilk_register_version(); 0 writes if nothing is on
 *                   record
 * @param value      any bytes; may be NULL when value_len is 0
 * @param value_len  their number, at most ILK_REGISTER_VALUE_MAX
 * @param[out] err   may be NULL
 * @return ILK_OK; ILK_ESTALE (another version is on record; nothing was
 *         changed); ILK_EINVAL; ILK_EAUTH and ILK_EUNKNOWN as
 *         ilk_register_set()
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_register_cas(ilk_register *handle, int64_t version,
                                    const void *value, size_t value_len,
                                    ilk_error *err);

/**
 * Start ilk_register_cas().
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param handle     the handle
 * @param version    as in ilk_register_cas()
 * @param value      any bytes, which are copied; may be NULL when value_len is
 *                   0
 * @param value_len  their number, at most ILK_REGISTER_VALUE_MAX
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_register_cas_start(ilk_op **out, ilk_register *handle,
                                          int64_t version, const void *value,
                                          size_t value_len, ilk_error *err);

/**
 * Delete the value, and wake all waiters. The register keeps a version, which
 * is new; without a value nothing changes. Whether it was deleted or refused,
 * the handle has then seen what is on record.
 *
 * @param handle    the handle
 * @param version   delete only if the register still has this version;
 *                  ILK_REGISTER_ANY deletes whatever is there
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_ESTALE (there is no value, or it has another version;
 *         nothing was changed); ILK_EINVAL; ILK_EAUTH and ILK_EUNKNOWN as
 *         ilk_register_set(); works on a server that is out of memory
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_register_delete(ilk_register *handle, int64_t version,
                                       ilk_error *err);

/**
 * Start ilk_register_delete().
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param handle     the handle
 * @param version    as in ilk_register_delete()
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_register_delete_start(ilk_op **out, ilk_register *handle,
                                             int64_t version, ilk_error *err);

/**
 * Wait until the register has another version than this one; return at once if
 * it has. The handle has then seen what is on record. If several changes follow
 * each other, a waiter may miss all but the last, which it always sees.
 *
 * After ILK_EINTR the handle stays in the wait queue for a few seconds: the
 * same call resumes the wait, any other call on the handle ends it.
 *
 * @param handle      the handle
 * @param version     the one known, from ilk_register_version(); 0 waits until
 *                    something is on record
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 checks once
 * @param[out] err    may be NULL
 * @return ILK_OK; ILK_EBUSY (timeout_ms 0, the version is the same);
 *         ILK_ETIMEOUT; ILK_EINTR; ILK_EINVAL; ILK_ECANCELLED; ILK_ECONN,
 *         ILK_EAUTH, ILK_ECLOSED, ILK_EFORKED and the server's errors
 * Threads: one thread at a time.
 * Blocks: yes; ended by a signal (ILK_EINTR), ilk_client_interrupt(),
 * ilk_client_stop(), ilk_register_cancel() and ilk_client_close(). Since: 0.1
 */
ILK_API ilk_status ilk_register_wait(ilk_register *handle, int64_t version,
                                     int64_t timeout_ms, ilk_error *err);

/**
 * Start ilk_register_wait().
 *
 * @param[out] out    the operation, to be freed; NULL when the call fails
 * @param handle      the handle
 * @param version     as in ilk_register_wait()
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 checks once
 * @param[out] err    may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_register_wait_start(ilk_op **out, ilk_register *handle,
                                           int64_t version, int64_t timeout_ms,
                                           ilk_error *err);

/**
 * Cancel a wait: a thread inside ilk_register_wait() returns ILK_ECANCELLED.
 *
 * @param handle    the handle; nothing happens when it does not wait
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_EFORKED
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_register_cancel(ilk_register *handle, ilk_error *err);

/**
 * The version that the handle last saw, below 2^53.
 *
 * @param handle  the handle; NULL yields 0
 * @return the version; 0 when the server had nothing on record, and before the
 *         first call
 * Threads: one thread at a time. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_register_version(const ilk_register *handle);

/**
 * The value that the handle last saw.
 *
 * @param handle        the handle; NULL yields NULL
 * @param[out] out_len  its bytes; may be NULL
 * @return NUL-terminated bytes; NULL when there was no value, and before the
 *         first call
 * Ownership: borrowed until the next call on this handle. Threads: one thread
 * at a time. Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_register_value(const ilk_register *handle,
                                       size_t *out_len);

/**
 * The name that the handle was opened with.
 *
 * @param handle        the handle; NULL yields NULL
 * @param[out] out_len  its bytes; may be NULL
 * @return bytes without a NUL behind them
 * Ownership: borrowed until the handle is freed. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_register_name(const ilk_register *handle,
                                      size_t *out_len);

/**
 * Free the handle. Nothing is sent: the register stays as it is.
 *
 * @param handle  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_register_free(ilk_register *handle);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif

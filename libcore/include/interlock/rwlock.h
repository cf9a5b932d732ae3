/* SPDX-License-Identifier: MIT */
/**
 * @file rwlock.h
 * A lock that many readers or one writer hold, first come, first served.
 *
 * Readers and writers are ordinary ilk_lock handles: acquire, release, extend
 * and the rest are those of lock.h. A writer holds the plain lock of the name,
 * so it excludes readers and also other libraries' locks on that name. A reader
 * never overtakes a waiting writer; readers that are adjacent in the wait
 * queue are granted together. Each reader has a lease and a fence of its own.
 */
#ifndef INTERLOCK_RWLOCK_H
#define INTERLOCK_RWLOCK_H

#include "lock.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/**
 * Make a reader's handle: it shares the name with other readers.
 *
 * @param[out] out  the handle, to be freed; NULL when the call fails
 * @param client    the client; the handle keeps a reference on it
 * @param name      as ilk_lock_open() takes it
 * @param name_len  its bytes
 * @param opts      may be NULL; layout must be ILK_LAYOUT_PLAIN, and
 *                  ILK_LOCK_BARGE is refused: readers keep the order
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_ENOMEM, ILK_ECLOSED, ILK_EFORKED
 * Ownership: the caller frees *out. Threads: any thread. Blocks: no.
 * Since: 0.1
 */
ILK_API ilk_status ilk_rwlock_read_open(ilk_lock **out, ilk_client *client,
                                        const void *name, size_t name_len,
                                        const ilk_lock_opts *opts,
                                        ilk_error *err);

/**
 * Make a writer's handle: it holds the name alone.
 *
 * @param[out] out  the handle, to be freed; NULL when the call fails
 * @param client    the client; the handle keeps a reference on it
 * @param name      as ilk_lock_open() takes it
 * @param name_len  its bytes
 * @param opts      as for ilk_rwlock_read_open()
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_ENOMEM, ILK_ECLOSED, ILK_EFORKED
 * Ownership: the caller frees *out. Threads: any thread. Blocks: no.
 * Since: 0.1
 */
ILK_API ilk_status ilk_rwlock_write_open(ilk_lock **out, ilk_client *client,
                                         const void *name, size_t name_len,
                                         const ilk_lock_opts *opts,
                                         ilk_error *err);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif

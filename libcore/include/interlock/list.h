/* SPDX-License-Identifier: MIT */
/**
 * @file list.h
 * Which names are in use.
 */
#ifndef INTERLOCK_LIST_H
#define INTERLOCK_LIST_H

#include "client.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** Names found by ilk_list_open(). */
typedef struct ilk_list ilk_list;

/** Primitives that a name may belong to; flags, to be added up. */
enum {
    ILK_KIND_LOCK = 1,
    ILK_KIND_SEMAPHORE = 2,
    ILK_KIND_ELECTION = 4,
    ILK_KIND_SIGNAL = 8, /**< one that is waited for */
    ILK_KIND_EVENT = 16,
    ILK_KIND_BARRIER = 32,
    ILK_KIND_LATCH = 64,
    ILK_KIND_QUEUE = 128,
    ILK_KIND_GROUP = 256,    /**< one that has members */
    ILK_KIND_REGISTER = 512, /**< one that has a version */
    ILK_KIND_STORE = 1024,   /**< one that has given a timestamp */
    ILK_KIND_KV = 2048       /**< one that has values, or had some */
};

/**
 * The name of a kind: "lock", "semaphore" and so on.
 *
 * @param kind  one of ILK_KIND_…
 * @return a NUL-terminated string; NULL for another number
 * Ownership: a literal. Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_kind_name(int32_t kind);

/**
 * Find the names of locks that are held or awaited through this library, or
 * were within the last day; etcd and ZooKeeper have those in use alone. It scans the
 * whole key space in small steps, so it is meant for operators, not for regular use by
 * programs.
 *
 * @param[out] out     the names, to be freed; NULL when the call fails
 * @param client       the client
 * @param pattern      a glob as Redis' KEYS takes it; NULL for all
 * @param pattern_len  its bytes
 * @param[out] err     may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_ECONN, ILK_EAUTH and the others; ILK_EUNSUPPORTED:
 *         the store has no lists, or does not keep this kind
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: some round trips. Since: 0.1
 */
ILK_API ilk_status ilk_list_open(ilk_list **out, ilk_client *client,
                                 const void *pattern, size_t pattern_len,
                                 ilk_error *err);

/**
 * As ilk_list_open(), for all kinds that the store keeps: names that are in use or were
 * recently. A name of several kinds appears once for each kind.
 *
 * @param[out] out     the names, to be freed; NULL when the call fails
 * @param client       the client
 * @param kinds        sum of ILK_KIND_…; 0 for all
 * @param pattern      a glob as Redis' KEYS takes it; NULL for all
 * @param pattern_len  its bytes
 * @param[out] err     may be NULL
 * @return as ilk_list_open()
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: some round trips. Since: 0.1
 */
ILK_API ilk_status ilk_list_open_kinds(ilk_list **out, ilk_client *client,
                                       uint32_t kinds, const void *pattern,
                                       size_t pattern_len, ilk_error *err);

/**
 * Start ilk_list_open_kinds(); ilk_op_list() returns the names.
 *
 * @param[out] out     the operation, to be freed; NULL when the call fails
 * @param client       the client
 * @param kinds        sum of ILK_KIND_…; 0 for all
 * @param pattern      a glob as Redis' KEYS takes it; NULL for all; copied
 * @param pattern_len  its bytes
 * @param[out] err     may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_list_open_start(ilk_op **out, ilk_client *client,
                                       uint32_t kinds, const void *pattern,
                                       size_t pattern_len, ilk_error *err);

/**
 * Begin to walk through the key space in steps of ilk_list_next(), for a caller
 * that wants to use the first names before the last ones are found.
 *
 * @param[out] out     a list without names, to be freed; NULL when the call
 *                     fails
 * @param client       the client
 * @param kinds        sum of ILK_KIND_…; 0 for all
 * @param pattern      a glob as Redis' KEYS takes it; NULL for all; copied
 * @param pattern_len  its bytes
 * @param[out] err     may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_ECLOSED, ILK_EFORKED, ILK_ENOMEM, ILK_EUNSUPPORTED
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_list_walk(ilk_list **out, ilk_client *client,
                                 uint32_t kinds, const void *pattern,
                                 size_t pattern_len, ilk_error *err);

/**
 * Walk one step. The list then has the names that this step has found and no
 * step before; there may be none. After a failure the same step can be repeated.
 *
 * @param list      a list of ilk_list_walk()
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EAGAIN after the last step; ILK_EINVAL, ILK_ECONN,
 *         ILK_EAUTH and the others
 * Ownership: names of the step before must not be used any more.
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_list_next(ilk_list *list, ilk_error *err);

/**
 * The names that an operation has found.
 *
 * @param op  one that has ended with ILK_OK
 * @return the names; NULL for another kind of operation, or before its end
 * Ownership: borrowed until the operation is freed. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API const ilk_list *ilk_op_list(ilk_op *op);

/**
 * How many names were found.
 *
 * @param list  the names
 * @return their number
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API size_t ilk_list_count(const ilk_list *list);

/**
 * The i-th name. Names are sorted by their bytes, equal names by kind.
 *
 * @param list          the names
 * @param index         0 to ilk_list_count() - 1
 * @param[out] out_len  its bytes; may be NULL
 * @return NUL-terminated bytes; NULL beyond the end
 * Ownership: borrowed until the list is freed. Threads: immutable.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_list_name(const ilk_list *list, size_t index,
                                  size_t *out_len);

/**
 * The kind of the i-th name.
 *
 * @param list   the names
 * @param index  0 to ilk_list_count() - 1
 * @return one of ILK_KIND_…; 0 beyond the end
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int32_t ilk_list_kind(const ilk_list *list, size_t index);

/**
 * Free the names.
 *
 * @param list  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_list_free(ilk_list *list);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif

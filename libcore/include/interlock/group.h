/* SPDX-License-Identifier: MIT */
/**
 * @file group.h
 * A group: who is in it, by heartbeat, and who joins and leaves.
 *
 * A member has an id, some data that all can read, and a lease that the client
 * renews in the background. A member whose process ends or hangs is out of the
 * group when its lease has ended: the next call that lists or watches the group
 * removes it.
 *
 * A handle of a group is one watcher: ilk_group_watch() returns all members the
 * first time, and then what has changed since its last return. Any number of
 * changes in quick succession may come as one; a member that left and joined
 * again in between comes as both.
 *
 * A member is identified by the token of its ilk_member_join(), not by its id.
 * So a process that was frozen beyond its lease cannot update or remove the member
 * that has joined under the same id meanwhile.
 *
 * Keys: `ilk:group:{name}` and side keys. They expire a day after the last lease. In
 * etcd and ZooKeeper a member is a key or a node below `ilk:group:{name}`; when its
 * process ends, it is out with its lease there, which has whole seconds, or with the
 * session of its client (docs/group.md).
 */
#ifndef INTERLOCK_GROUP_H
#define INTERLOCK_GROUP_H

#include "op.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** A group's handle: one watcher. */
typedef struct ilk_group ilk_group;

/** A member's handle: one membership at a time. */
typedef struct ilk_member ilk_member;

/** Members, or changes of them, as a call returned them. */
typedef struct ilk_members ilk_members;

/** Limits of a group. */
enum {
    ILK_MEMBER_ID_MAX = 512,   /**< bytes of an id; 1 at least */
    ILK_MEMBER_DATA_MAX = 4096 /**< bytes of a member's data */
};

/** The kinds of changes. */
typedef enum ilk_member_change {
    ILK_MEMBER_JOINED = 1, /**< it is in */
    ILK_MEMBER_LEFT = 2,   /**< it left, or its lease ended */
    ILK_MEMBER_UPDATED = 3 /**< it has other data */
} ilk_member_change;

/** Options of a member. Zero means the default everywhere. */
typedef struct ilk_member_opts {
    size_t size;    /**< set by ilk_member_opts_init() */
    int64_t ttl_ms; /**< the lease; default 10 s; renewed after a third of it */
    void *user;     /**< returned in the notification of a loss */
} ilk_member_opts;

/* ---- groups --------------------------------------------------------------- */

/**
 * Make a handle for the group of this name. Nothing is sent.
 *
 * @param[out] out  the handle, to be freed; NULL when the call fails
 * @param client    the client; the handle keeps a reference on it
 * @param name      1 to 512 bytes, any bytes but a leading "ilk:"
 * @param name_len  their number
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_ENOMEM, ILK_ECLOSED, ILK_EFORKED;
 *         ILK_EUNSUPPORTED for a store that keeps no groups
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_group_open(ilk_group **out, ilk_client *client,
                                  const void *name, size_t name_len,
                                  ilk_error *err);

/**
 * List the members. It does not affect what ilk_group_watch() returns next.
 *
 * @param[out] out  all members as ILK_MEMBER_JOINED, to be freed; NULL when the
 *                  call fails
 * @param group     the handle
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_ETYPE, ILK_ECONN and the server's errors; ILK_ENOMEM
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: one round trip for each 1,000 members. Since: 0.1
 */
ILK_API ilk_status ilk_group_members(ilk_members **out, ilk_group *group,
                                     ilk_error *err);

/**
 * Start ilk_group_members(). ilk_op_members() returns the result.
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param group     the handle
 * @param[out] err  may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_group_members_start(ilk_op **out, ilk_group *group,
                                           ilk_error *err);

/**
 * Wait until something changed since this call returned last on this handle; the
 * first call returns all members at once, as ILK_MEMBER_JOINED, also when there
 * are none.
 *
 * A member whose lease ends is reported within moments, because the client asks
 * at that time, or the store reports it. When a message of the server is lost, changes are reported within
 * 2 s. An error loses no change: the next call returns it.
 *
 * After ILK_EINTR the handle stays in the wait queue for a few seconds: calling
 * this again resumes, any other call on the handle ends the wait.
 *
 * @param[out] out    the changes, to be freed; NULL when the call fails
 * @param group       the handle
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 checks once
 * @param[out] err    may be NULL
 * @return ILK_OK; ILK_EBUSY (timeout_ms 0, no change); ILK_ETIMEOUT; ILK_EINTR;
 *         ILK_ECANCELLED; ILK_ECONN, ILK_EAUTH, ILK_ECLOSED, ILK_EFORKED,
 *         ILK_ENOMEM and the server's errors
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: yes; ended by a signal (ILK_EINTR), ilk_client_interrupt(),
 * ilk_client_stop(), ilk_group_cancel() and ilk_client_close(). Since: 0.1
 */
ILK_API ilk_status ilk_group_watch(ilk_members **out, ilk_group *group,
                                   int64_t timeout_ms, ilk_error *err);

/**
 * Start ilk_group_watch(). ilk_op_members() returns the result. If the
 * operation is freed before its changes were fetched, no later call returns
 * them.
 *
 * @param[out] out    the operation, to be freed; NULL when the call fails
 * @param group       the handle
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 checks once
 * @param[out] err    may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_group_watch_start(ilk_op **out, ilk_group *group,
                                         int64_t timeout_ms, ilk_error *err);

/**
 * End a wait: the thread inside ilk_group_watch() returns ILK_ECANCELLED, and a
 * suspended wait ends.
 *
 * @param group     the handle; nothing happens when it does not wait
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_EFORKED
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_group_cancel(ilk_group *group, ilk_error *err);

/**
 * The name that the handle was opened with.
 *
 * @param group         the handle; NULL yields NULL
 * @param[out] out_len  its bytes; may be NULL
 * @return bytes without a NUL behind them
 * Ownership: borrowed until the handle is freed. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_group_name(const ilk_group *group, size_t *out_len);

/**
 * Free the handle. Nothing is sent; members that were opened from it go on.
 *
 * @param group  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_group_free(ilk_group *group);

/* ---- results -------------------------------------------------------------- */

/**
 * The result of ilk_group_members_start() or ilk_group_watch_start().
 *
 * @param op  an operation; NULL yields NULL
 * @return the members; NULL for an operation that is running, failed, or is of
 *         another kind
 * Ownership: borrowed until the operation is freed. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API const ilk_members *ilk_op_members(ilk_op *op);

/**
 * How many entries there are.
 *
 * @param members  NULL yields 0
 * @return the number
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API size_t ilk_members_count(const ilk_members *members);

/**
 * The change of an entry's member.
 *
 * @param members  as ilk_group_watch() returned it
 * @param index    below ilk_members_count()
 * @return an ilk_member_change; 0 for an index beyond the end. A member that was
 *         replaced under its id has two entries, ILK_MEMBER_LEFT first
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API int32_t ilk_members_change(const ilk_members *members, size_t index);

/**
 * The id of an entry's member.
 *
 * @param members       as ilk_group_watch() returned it
 * @param index         below ilk_members_count()
 * @param[out] out_len  its bytes; may be NULL
 * @return the bytes, with a NUL behind them; NULL for an index beyond the end
 * Ownership: borrowed until the members are freed. Threads: immutable.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_members_id(const ilk_members *members, size_t index,
                                   size_t *out_len);

/**
 * The data of an entry's member, of ILK_MEMBER_LEFT the last that was known.
 *
 * @param members       as ilk_group_watch() returned it
 * @param index         below ilk_members_count()
 * @param[out] out_len  its bytes; may be NULL
 * @return the bytes, with a NUL behind them; NULL for an index beyond the end
 * Ownership: borrowed until the members are freed. Threads: immutable.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_members_data(const ilk_members *members, size_t index,
                                     size_t *out_len);

/**
 * Free what ilk_group_members() or ilk_group_watch() returned.
 *
 * @param members  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_members_free(ilk_members *members);

/* ---- members -------------------------------------------------------------- */

/**
 * Set every field of the options to its default.
 *
 * @param opts  the options to initialise
 * @param size  sizeof the caller's struct
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API void ilk_member_opts_init(ilk_member_opts *opts, size_t size);

/**
 * Make a handle for a member of a group, which is not in yet. Nothing is sent.
 *
 * @param[out] out  the handle, to be freed; NULL when the call fails
 * @param group     the group, which may be freed before the member
 * @param id        the member's id in the group, 1 to ILK_MEMBER_ID_MAX bytes, any
 *                  bytes
 * @param id_len    their number
 * @param opts      may be NULL for the defaults
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_ENOMEM, ILK_ECLOSED, ILK_EFORKED
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_member_open(ilk_member **out, ilk_group *group,
                                   const void *id, size_t id_len,
                                   const ilk_member_opts *opts, ilk_error *err);

/**
 * Join the group. From then on the client renews the lease in the background; if
 * it is lost, the client gets an ILK_NOTIFICATION_MEMBER_LOST. A member that was
 * lost may join again with the same handle.
 *
 * @param member    the handle
 * @param data      any bytes; may be NULL when data_len is 0
 * @param data_len  their number, at most ILK_MEMBER_DATA_MAX
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EHELD (a member with this id is in, through this handle or
 *         another); ILK_EINVAL; ILK_EAUTH (nobody joined, because this user may
 *         not PUBLISH to those who watch); ILK_EUNKNOWN (no reply: it may be in
 *         until its lease ends, and another join on this handle finds out)
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_member_join(ilk_member *member, const void *data,
                                   size_t data_len, ilk_error *err);

/**
 * Start ilk_member_join().
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param member     the handle
 * @param data       as in ilk_member_join(); copied
 * @param data_len   their number
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_member_join_start(ilk_op **out, ilk_member *member,
                                         const void *data, size_t data_len,
                                         ilk_error *err);

/**
 * Give the member other data.
 *
 * @param member    the handle
 * @param data      any bytes; may be NULL when data_len is 0
 * @param data_len  their number, at most ILK_MEMBER_DATA_MAX
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_ELOST; ILK_ENOTOWNER (not joined); ILK_EINVAL; ILK_EAUTH
 *         (updated, but this user may not PUBLISH to those who watch: they see it
 *         within 2 s); ILK_EUNKNOWN (no reply)
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_member_update(ilk_member *member, const void *data,
                                     size_t data_len, ilk_error *err);

/**
 * Start ilk_member_update().
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param member     the handle
 * @param data       as in ilk_member_update(); copied
 * @param data_len   their number
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_member_update_start(ilk_op **out, ilk_member *member,
                                           const void *data, size_t data_len,
                                           ilk_error *err);

/**
 * Leave the group. The handle is not joined afterwards, also after an error, and
 * renews nothing. This works on a server that is out of memory.
 *
 * @param member    the handle
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_ELOST (it was out already; a member that has joined under
 *         the same id stays); ILK_ENOTOWNER (not joined); ILK_EAUTH (it left, but
 *         this user may not PUBLISH to those who watch); ILK_EUNKNOWN (no reply: it
 *         is out when its lease has ended)
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_member_leave(ilk_member *member, ilk_error *err);

/**
 * Start ilk_member_leave().
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param member     the handle
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_member_leave_start(ilk_op **out, ilk_member *member,
                                          ilk_error *err);

/**
 * Whether the member is in for sure, by the local clock.
 *
 * @param member    the handle
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_ELOST; ILK_ENOTOWNER (not joined); ILK_EINVAL, ILK_EFORKED,
 *         ILK_ECLOSED
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_member_check(const ilk_member *member, ilk_error *err);

/**
 * Whether the member is in for sure, as a number.
 *
 * @param member  the handle; NULL yields 0
 * @return 1 or 0
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int32_t ilk_member_held(const ilk_member *member);

/**
 * For how long the member is in for sure, by the local clock.
 *
 * @param member  the handle; NULL yields 0
 * @return milliseconds; 0 when it is not joined, lost or in doubt
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_member_remaining_ms(const ilk_member *member);

/**
 * The id that the handle was opened with.
 *
 * @param member        the handle; NULL yields NULL
 * @param[out] out_len  its bytes; may be NULL
 * @return the bytes, with a NUL behind them
 * Ownership: borrowed until the handle is freed. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_member_id(const ilk_member *member, size_t *out_len);

/**
 * The token of the current or last membership.
 *
 * @param member  the handle; NULL yields ""
 * @return text; "" before the first join
 * Ownership: borrowed until the next join or the handle's end.
 * Threads: one thread at a time. Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_member_token(const ilk_member *member);

/**
 * The handle's number within its client; notifications carry it.
 *
 * @param member  the handle; NULL yields 0
 * @return a positive number
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_member_number(const ilk_member *member);

/**
 * Free the handle. Nothing is sent: a member that is in stays until its lease
 * ends.
 *
 * @param member  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_member_free(ilk_member *member);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif

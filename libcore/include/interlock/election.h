/* SPDX-License-Identifier: MIT */
/**
 * @file election.h
 * One of many candidates leads, under a lease that it renews, for a term.
 *
 * Candidates wait in the wait queue. The leader leads for as long as it renews
 * its lease. When it resigns, the first candidate in the wait queue is elected
 * at once; when it dies, as soon as its lease has ended. The term is a fence
 * (guard.h): it is greater than that of any earlier leader, even after the
 * server lost its data.
 *
 * A leader publishes a value, such as its address. Anybody may read it, and
 * observers get a result at each change of value or leader
 * (election_leader.h). ilk_election_is_leader() uses only the local clock and
 * becomes 0 before anybody else can be elected.
 */
#ifndef INTERLOCK_ELECTION_H
#define INTERLOCK_ELECTION_H

#include "client.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** A candidate's handle: one candidate, one term at a time. */
typedef struct ilk_election ilk_election;

/** Limits of a candidate's options. */
enum {
    ILK_ELECTION_VALUE_MAX = 65536, /**< bytes of the published value */
    ILK_ELECTION_IDENTITY_MAX = 64  /**< bytes of an identity */
};

/** Flags of ilk_election_opts. */
enum { ILK_ELECTION_NO_RENEW = 1 /**< the leadership ends with the lease */ };

/** Options of a candidate. Zero means the default everywhere. */
typedef struct ilk_election_opts {
    size_t size;          /**< set by ilk_election_opts_init() */
    int64_t ttl_ms;       /**< the lease; default 20000, at most 1 year,
                               at least ILK_LEASE_MIN_MS */
    int64_t max_hold_ms;  /**< end the hold after this, unless it is
                                extended; default: never */
    const void *value;    /**< published while it leads; copied */
    size_t value_len;     /**< its bytes; default 0 */
    const void *identity; /**< identity that survives a restart; copied */
    size_t identity_len;  /**< its bytes; default 0, no identity */
    uint32_t flags;       /**< ILK_ELECTION_… */
    void *user;           /**< comes back in notifications; never read */
} ilk_election_opts;

/**
 * Set every field of the options to its default.
 *
 * @param opts  the options to initialise
 * @param size  sizeof the caller's struct
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API void ilk_election_opts_init(ilk_election_opts *opts, size_t size);

/**
 * Make a handle for a candidate in the election of this name. Nothing is
 * sent.
 *
 * An identity must belong to one process at a time: a candidate that campaigns
 * under the leader's identity resumes the leadership at once, in the same term,
 * ahead of the wait queue. This is for a process that restarts within its
 * lease. If the former process still runs, its next renewal fails and it no
 * longer leads. An identity has up to 64 bytes; each byte other than letters,
 * digits and `-._@/` counts three times.
 *
 * @param[out] out  the handle, to be freed; NULL when the call fails
 * @param client    the client; the handle keeps a reference on it
 * @param name      1 to 512 bytes, any bytes but a leading "ilk:"
 * @param name_len  their number
 * @param opts      may be NULL for the defaults
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_ENOMEM, ILK_ECLOSED, ILK_EFORKED
 * Ownership: the caller frees *out. Threads: any thread. Blocks: no.
 * Since: 0.1
 */
ILK_API ilk_status ilk_election_open(ilk_election **out, ilk_client *client,
                                     const void *name, size_t name_len,
                                     const ilk_election_opts *opts,
                                     ilk_error *err);

/**
 * Wait in the wait queue until this candidate is elected.
 *
 * If it leads already, this returns ILK_OK at once. After ILK_EINTR the handle
 * keeps its place in the wait queue for a few seconds: calling campaign again
 * resumes the wait, ilk_election_cancel() ends it.
 *
 * @param election    the handle
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 tries once
 * @param[out] err    may be NULL
 * @return ILK_OK; ILK_EBUSY (timeout_ms 0, another leads); ILK_ETIMEOUT;
 *         ILK_EINTR; ILK_ECANCELLED; ILK_EHELD (another call is running);
 *         ILK_ECONN and the server's errors
 * Threads: one thread at a time.
 * Blocks: yes; ended by a signal (ILK_EINTR), ilk_client_interrupt(),
 * ilk_client_stop(), ilk_election_cancel() and ilk_client_close(). Since: 0.1
 */
ILK_API ilk_status ilk_election_campaign(ilk_election *election,
                                         int64_t timeout_ms, ilk_error *err);

/**
 * Start ilk_election_campaign().
 *
 * @param[out] out    the operation, to be freed; NULL when the call fails
 * @param election    the handle
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 tries once
 * @param[out] err    may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_election_campaign_start(ilk_op **out,
                                               ilk_election *election,
                                               int64_t timeout_ms,
                                               ilk_error *err);

/**
 * Cancel a campaign. The candidate leaves the wait queue, and a grant that is
 * already on its way goes to the next candidate. A thread inside
 * ilk_election_campaign() returns ILK_ECANCELLED.
 *
 * @param election  the handle; nothing happens when it does not wait
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_EFORKED
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_election_cancel(ilk_election *election, ilk_error *err);

/**
 * Resign; the first candidate in the wait queue is elected.
 *
 * @param election  the handle; it does not lead afterwards, whatever the
 *                  result
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_ELOST (it no longer led; another leader is left alone);
 *         ILK_ENOTOWNER (it does not lead); ILK_EUNKNOWN (no reply; the
 *         leadership ends with its lease at the latest); ILK_EAUTH (resigned,
 *         but this user may not PUBLISH to the next candidate)
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_election_resign(ilk_election *election, ilk_error *err);

/**
 * Start ilk_election_resign(). The handle no longer leads as soon as this
 * returns ILK_OK.
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param election  the handle
 * @param[out] err  may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_election_resign_start(ilk_op **out,
                                             ilk_election *election,
                                             ilk_error *err);

/**
 * Set the remaining lease, counted from now, for candidates that renew
 * themselves. The term stays the same.
 *
 * @param election  a handle that leads
 * @param ttl_ms    the lease; 0 for the handle's
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_ELOST; ILK_ENOTOWNER; ILK_EINVAL; ILK_EUNKNOWN
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_election_renew(ilk_election *election, int64_t ttl_ms,
                                      ilk_error *err);

/**
 * Start ilk_election_renew().
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param election  the handle
 * @param ttl_ms    the lease; 0 for the handle's
 * @param[out] err  may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_election_renew_start(ilk_op **out,
                                            ilk_election *election,
                                            int64_t ttl_ms, ilk_error *err);

/**
 * Check whether it still leads. Before the local deadline the answer comes
 * from memory; after it a request goes to the server.
 *
 * @param election  the handle
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_ELOST; ILK_ENOTOWNER; ILK_EUNKNOWN (no reply)
 * Threads: one thread at a time. Blocks: at most one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_election_check(ilk_election *election, ilk_error *err);

/**
 * Start ilk_election_check().
 *
 * @param[out] out  the operation, to be freed; NULL when the call fails
 * @param election  the handle
 * @param[out] err  may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_election_check_start(ilk_op **out,
                                            ilk_election *election,
                                            ilk_error *err);

/**
 * Publish another value. The handle publishes it in later terms, too.
 *
 * @param election   a handle that leads
 * @param value      any bytes; may be NULL when value_len is 0
 * @param value_len  their number, at most ILK_ELECTION_VALUE_MAX
 * @param[out] err   may be NULL
 * @return ILK_OK; ILK_ELOST (it no longer leads, nothing is published);
 *         ILK_ENOTOWNER; ILK_EINVAL, ILK_ENOMEM; ILK_EUNKNOWN
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_election_proclaim(ilk_election *election,
                                         const void *value, size_t value_len,
                                         ilk_error *err);

/**
 * Start ilk_election_proclaim().
 *
 * @param[out] out   the operation, to be freed; NULL when the call fails
 * @param election   the handle
 * @param value      any bytes; may be NULL when value_len is 0; copied
 * @param value_len  their number, at most ILK_ELECTION_VALUE_MAX
 * @param[out] err   may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_election_proclaim_start(ilk_op **out,
                                               ilk_election *election,
                                               const void *value,
                                               size_t value_len,
                                               ilk_error *err);

/**
 * Whether the candidate certainly leads: elected, not lost, and its local
 * deadline has not passed.
 *
 * @param election  the handle; NULL yields 0
 * @return 1 or 0
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int32_t ilk_election_is_leader(const ilk_election *election);

/**
 * Time until the local deadline, up to which it certainly leads. It is the
 * lease, counted by the local clock from before the command was sent, less 1 %
 * and 2 ms for clock drift.
 *
 * @param election  the handle; NULL yields 0
 * @return milliseconds; 0 when it does not lead, or no longer certainly
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_election_remaining_ms(const ilk_election *election);

/**
 * The term of the current or last leadership of this handle, below 2^53.
 *
 * @param election  the handle; NULL yields 0
 * @return the term; 0 before the first
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_election_term(const ilk_election *election);

/**
 * The token of the current or last leadership.
 *
 * @param election  the handle; NULL yields ""
 * @return a NUL-terminated string; "" before the first
 * Ownership: borrowed until the next campaign or free.
 * Threads: one thread at a time. Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_election_token(const ilk_election *election);

/**
 * The name that the handle was opened with.
 *
 * @param election      the handle; NULL yields NULL
 * @param[out] out_len  its bytes; may be NULL
 * @return bytes without a NUL behind them
 * Ownership: borrowed until the handle is freed. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_election_name(const ilk_election *election,
                                      size_t *out_len);

/**
 * The handle's number, unique in its client; notifications carry it.
 *
 * @param election  the handle; NULL yields 0
 * @return a positive number
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int64_t ilk_election_id(const ilk_election *election);

/**
 * End the term of whoever leads; the first candidate leads next. This is for
 * operators: the former leader gets no message and loses the leadership at its
 * next renewal. It may campaign again.
 *
 * @param client     the client
 * @param name       the election's name
 * @param name_len   its bytes
 * @param token      break only this leader's term; NULL for anybody's
 * @param token_len  its bytes
 * @param[out] err   may be NULL
 * @return ILK_OK; ILK_ENOTOWNER (nobody leads, or under another token);
 *         ILK_EINVAL, ILK_ETYPE, ILK_EUNKNOWN
 * Threads: any thread. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_election_break(ilk_client *client, const void *name,
                                      size_t name_len, const void *token,
                                      size_t token_len, ilk_error *err);

/**
 * Start ilk_election_break().
 *
 * @param[out] out    the operation, to be freed; NULL when the call fails
 * @param client      the client
 * @param name        the election's name; copied
 * @param name_len    its bytes
 * @param token       break only this leader's term; NULL for anybody's; copied
 * @param token_len   its bytes
 * @param[out] err    may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_election_break_start(ilk_op **out, ilk_client *client,
                                            const void *name, size_t name_len,
                                            const void *token, size_t token_len,
                                            ilk_error *err);

/**
 * Free the handle. Nothing is sent by this call: a leadership ends with its
 * lease, and the keeper withdraws a campaign.
 *
 * @param election  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_election_free(ilk_election *election);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif

/* SPDX-License-Identifier: MIT */
/**
 * @file recipes.h
 * Coordination as it is often written by hand on Redis, without its races.
 *
 * These functions work on plain keys in plain formats that other programs may
 * use at the same time: lists of values, sorted sets of tasks and permits, a
 * counter, channels. Each is one atomic step where hand-written code sends
 * several commands, uses the server's clock, and may be retried after a lost
 * reply without a second effect. `docs/recipes.md` lists the well-known
 * hand-written functions, their flaws, and the replacements below.
 *
 * `ilk:recipes:once:...` and `ilk:recipes:due:...` keep the last reply to each
 * thread of a client for a minute. Other side keys are named below.
 *
 * Keys and channels are 1 to 512 bytes, any but a leading "ilk:". Values are
 * any bytes, at most ILK_RECIPES_VALUE_MAX. A longer one that others have put
 * on a list is refused with ILK_ESERVER and stays where it is.
 */
#ifndef INTERLOCK_RECIPES_H
#define INTERLOCK_RECIPES_H

#include "client.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** Limits, the ends of a list, ways to settle a message. */
enum {
    ILK_RECIPES_VALUE_MAX = 1024 * 1024, /**< bytes of a value */
    ILK_RECIPES_QUEUES_MAX = 64,         /**< lists of one consumer */
    ILK_RECIPES_HEAD = 0,                /**< LPUSH, LPOP */
    ILK_RECIPES_TAIL = 1,                /**< RPUSH, RPOP */
    ILK_RECIPES_DONE = 0,                /**< handled: gone for good */
    ILK_RECIPES_BACK = 1,                /**< put back on its list */
    ILK_RECIPES_DEAD = 2                 /**< cannot be handled */
};

/** Values that were read. */
typedef struct ilk_items ilk_items;

/** A consumer of raw lists, with connections of its own. */
typedef struct ilk_consumer ilk_consumer;

/** A listener for messages of a raw channel. */
typedef struct ilk_listener ilk_listener;

/**
 * How many values were read.
 *
 * @param items  the values; may be NULL
 * @return their number; 0 for NULL
 * Threads: immutable. Blocks: no. Since: 0.1
 */
ILK_API size_t ilk_items_count(const ilk_items *items);

/**
 * One of the values.
 *
 * @param items         the values
 * @param index         from 0
 * @param[out] out_len  its bytes; may be NULL
 * @return NUL-terminated bytes; NULL when there is no such value
 * Ownership: borrowed until the items are freed. Threads: immutable.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_items_data(const ilk_items *items, size_t index,
                                   size_t *out_len);

/**
 * Free values.
 *
 * @param items  the values; may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_items_free(ilk_items *items);

/**
 * Put a value on a list.
 *
 * @param[out] out_length  of the list; may be NULL
 * @param client           the client
 * @param key,key_len      the list
 * @param end              ILK_RECIPES_HEAD or ILK_RECIPES_TAIL
 * @param value,value_len  any bytes
 * @param[out] err         may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_ETYPE; ILK_EUNKNOWN
 * Threads: any thread. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_recipes_push(int64_t *out_length, ilk_client *client,
                                    const void *key, size_t key_len, int end,
                                    const void *value, size_t value_len,
                                    ilk_error *err);

/**
 * Take a value from a list. For FIFO order use the end opposite to the push.
 *
 * A lost reply loses no value, but if the process dies after the call, the
 * value is lost.
 *
 * @param[out] out     one item, or none when the list is empty
 * @param client       the client
 * @param key,key_len  the list
 * @param end          ILK_RECIPES_HEAD or ILK_RECIPES_TAIL
 * @param[out] err     may be NULL
 * @return ILK_OK, also when it is empty; ILK_EINVAL, ILK_ETYPE; ILK_EUNKNOWN
 *         (a value may have been taken and lost)
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_recipes_pop(ilk_items **out, ilk_client *client,
                                   const void *key, size_t key_len, int end,
                                   ilk_error *err);

/**
 * Take the value at the tail of a list and keep it at the head of another,
 * the cache, until ilk_recipes_unpark().
 *
 * Give each consumer a cache of its own. `ilk:recipes:parked:{cache}` lists for
 * a day the values that are being handled.
 *
 * @param[out] out         none when the list is empty, else two items: the
 *                         value, and the token for ilk_recipes_unpark()
 * @param client           the client
 * @param key,key_len      the list
 * @param cache,cache_len  the other list
 * @param[out] err         may be NULL
 * @return ILK_OK, also when it is empty; ILK_EINVAL, ILK_ETYPE; ILK_EUNKNOWN
 *         (a value may be in the cache)
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_recipes_park(ilk_items **out, ilk_client *client,
                                    const void *key, size_t key_len,
                                    const void *cache, size_t cache_len,
                                    ilk_error *err);

/**
 * Remove a handled value from the cache.
 *
 * @param client           the client
 * @param cache,cache_len  the cache
 * @param token,token_len  from ilk_recipes_park()
 * @param[out] err         may be NULL
 * @return ILK_OK; ILK_ELOST (it was restored or removed meanwhile, and another
 *         consumer may have it; nothing was removed now); ILK_EUNKNOWN
 * Threads: any thread. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_recipes_unpark(ilk_client *client, const void *cache,
                                      size_t cache_len, const void *token,
                                      size_t token_len, ilk_error *err);

/**
 * Move the values in a dead consumer's cache back to the list, as the next to
 * be taken, in their old order. Tokens from ilk_recipes_park() for them become
 * invalid.
 *
 * @param[out] out_moved   how many; may be NULL
 * @param client           the client
 * @param key,key_len      the list
 * @param cache,cache_len  the cache
 * @param[out] err         may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_ETYPE; ILK_EUNKNOWN
 * Threads: any thread. Blocks: a round trip per 1000 values. Since: 0.1
 */
ILK_API ilk_status ilk_recipes_restore(int64_t *out_moved, ilk_client *client,
                                       const void *key, size_t key_len,
                                       const void *cache, size_t cache_len,
                                       ilk_error *err);

/**
 * Put a task into a sorted set; it is due later by the server's clock.
 *
 * @param client           the client
 * @param key,key_len      the set; scores are seconds since 1970
 * @param delay_ms         milliseconds from now; negative: in the past
 * @param value,value_len  the task; the same bytes again only set a new time
 * @param[out] err         may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_ETYPE; ILK_EUNKNOWN
 * Threads: any thread. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_recipes_delay(ilk_client *client, const void *key,
                                     size_t key_len, int64_t delay_ms,
                                     const void *value, size_t value_len,
                                     ilk_error *err);

/**
 * Take the tasks that are due. Each task goes to exactly one caller.
 *
 * @param[out] out       the tasks, the earliest first, at most 1000 and at
 *                       most ILK_RECIPES_VALUE_MAX bytes of them
 * @param[out] out_more  1 when others may be due; may be NULL
 * @param client         the client
 * @param key,key_len    the set
 * @param[out] err       may be NULL
 * @return ILK_OK, also when there are none; ILK_EINVAL, ILK_ETYPE;
 *         ILK_EUNKNOWN (tasks may have been taken and lost)
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_recipes_due(ilk_items **out, int *out_more,
                                   ilk_client *client, const void *key,
                                   size_t key_len, ilk_error *err);

/**
 * Acquire a permit of the well-known fair semaphore: it has sorted sets at the
 * key (identifier -> seconds since 1970) and at key:owner (identifier -> turn),
 * and a counter of turns at key:counter.
 *
 * @param[out] out     one item: the identifier
 * @param client       the client
 * @param key,key_len  the semaphore; key:counter must be a valid key, too
 * @param limit        how many may hold it, 1 or more
 * @param timeout_ms   permits older than this have expired
 * @param[out] err     may be NULL
 * @return ILK_OK; ILK_EBUSY (all permits are held); ILK_EINVAL, ILK_ETYPE;
 *         ILK_EUNKNOWN (a permit may be held until it expires)
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_recipes_permit(ilk_items **out, ilk_client *client,
                                      const void *key, size_t key_len,
                                      int64_t limit, int64_t timeout_ms,
                                      ilk_error *err);

/**
 * Release a permit.
 *
 * @param client           the client
 * @param key,key_len      the semaphore
 * @param token,token_len  the identifier
 * @param[out] err         may be NULL
 * @return ILK_OK; ILK_ELOST (it had run out); ILK_EINVAL; ILK_EUNKNOWN
 * Threads: any thread. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_recipes_permit_release(ilk_client *client,
                                              const void *key, size_t key_len,
                                              const void *token,
                                              size_t token_len, ilk_error *err);

/**
 * Restart a permit's time.
 *
 * @param client           the client
 * @param key,key_len      the semaphore
 * @param token,token_len  the identifier
 * @param[out] err         may be NULL
 * @return ILK_OK; ILK_ELOST (it had run out); ILK_EINVAL; ILK_EUNKNOWN
 * Threads: any thread. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_recipes_permit_refresh(ilk_client *client,
                                              const void *key, size_t key_len,
                                              const void *token,
                                              size_t token_len, ilk_error *err);

/**
 * Become or stay the master. Call it more often than once per tenure.
 *
 * `ilk:recipes:master:{key}` names the master.
 *
 * @param[out] out_selector  for the next call; 0: another candidate is master
 * @param client             the client
 * @param key,key_len        the counter of tenures
 * @param id,id_len          the candidate, at most 64 bytes; NULL: the client
 * @param selector           from the last call; 0 for the first call, and to
 *                           step down
 * @param tenure_ms          how long it lasts, a second or more
 * @param[out] err           may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_ETYPE; ILK_EUNKNOWN
 * Threads: any thread. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_recipes_master(int64_t *out_selector, ilk_client *client,
                                      const void *key, size_t key_len,
                                      const void *id, size_t id_len,
                                      int64_t selector, int64_t tenure_ms,
                                      ilk_error *err);

/**
 * Send a message to the current listeners of a channel.
 *
 * @param[out] out_receivers  how many listeners received it; may be NULL
 * @param client              the client
 * @param key,key_len         the channel, or the beginning of its name,
 *                            literally
 * @param single              0: all listeners of the channel; 1: one of the
 *                            listeners whose channel begins with key
 * @param value,value_len     data
 * @param[out] err            may be NULL
 * @return ILK_OK, also when nobody listens; ILK_EINVAL; ILK_EUNKNOWN
 * Threads: any thread. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_recipes_signal(int64_t *out_receivers,
                                      ilk_client *client, const void *key,
                                      size_t key_len, int single,
                                      const void *value, size_t value_len,
                                      ilk_error *err);

/**
 * Make a listener on a channel; nothing is sent.
 *
 * @param[out] out     the listener
 * @param client       the client
 * @param key,key_len  the channel, or the beginning of its name
 * @param id,id_len    NULL: the key is the channel; else the channel is key
 *                     followed by id, which must be unique among listeners
 * @param[out] err     may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_ENOMEM
 * Ownership: the caller frees *out. Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_listener_open(ilk_listener **out, ilk_client *client,
                                     const void *key, size_t key_len,
                                     const void *id, size_t id_len,
                                     ilk_error *err);

/**
 * Wait for the next message. The listener subscribes with the first call and
 * receives messages between calls, too.
 *
 * @param[out] out    two items: the channel, the data
 * @param listener    the listener
 * @param timeout_ms  milliseconds; -1 waits for ever
 * @param[out] err    may be NULL
 * @return ILK_OK; ILK_EBUSY (timeout_ms 0, nothing there); ILK_ETIMEOUT;
 *         ILK_EINTR; ILK_ECANCELLED (ilk_client_stop()); ILK_ECONN (no server
 *         at the end of timeout_ms, of outage_ms if that was given, or for a minute;
 *         messages sent while the connection was down are lost)
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: yes; as ilk_consumer_pop(). Since: 0.1
 */
ILK_API ilk_status ilk_listener_wait(ilk_items **out, ilk_listener *listener,
                                     int64_t timeout_ms, ilk_error *err);

/**
 * Stop listening. Of the messages that arrived and were not fetched, the first
 * can be fetched here; for a listener with an id, the others are passed on to
 * listeners with the same key.
 *
 * @param[out] out       the first, as from ilk_listener_wait(), or NULL; NULL
 *                       when `take` is 0
 * @param[out] out_lost  how many had no other listener; may be NULL
 * @param listener       the listener; it may wait again later
 * @param take           0 or 1
 * @param[out] err       may be NULL
 * @return ILK_OK; the error that prevented passing messages on
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: a round trip or two. Since: 0.1
 */
ILK_API ilk_status ilk_listener_leave(ilk_items **out, int64_t *out_lost,
                                      ilk_listener *listener, int take,
                                      ilk_error *err);

/**
 * Free a listener.
 *
 * @param listener  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_listener_free(ilk_listener *listener);

/**
 * Make a consumer of lists to which others push; nothing is sent.
 *
 * A message that it takes stays in `ilk:recipes:taken:<consumer>:{key}` until
 * it is settled. `ilk:recipes:consumers:{key}` lists all consumers of a list:
 * when one has died, the others put its messages back. So every message is
 * handled at least once, and twice if its consumer was considered dead too
 * early.
 *
 * @param[out] out   the consumer
 * @param client     the client
 * @param names      the lists, the most urgent first
 * @param name_lens  their bytes
 * @param count      1 to ILK_RECIPES_QUEUES_MAX
 * @param[out] err   may be NULL
 * @return ILK_OK; ILK_EINVAL, ILK_ENOMEM
 * Ownership: the caller frees *out. Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_consumer_open(ilk_consumer **out, ilk_client *client,
                                     const void *const *names,
                                     const size_t *name_lens, size_t count,
                                     ilk_error *err);

/**
 * Take the next message from the head of the first list that has one.
 *
 * @param[out] out    two items: the list, the message
 * @param consumer    the consumer; its last message must be settled
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 checks once
 * @param[out] err    may be NULL
 * @return ILK_OK; ILK_EBUSY (timeout_ms 0, nothing there); ILK_ETIMEOUT;
 *         ILK_EINTR; ILK_ECANCELLED (ilk_client_stop()); ILK_EHELD (the last
 *         message is not settled); ILK_ETYPE
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: yes, on connections of its own, without polling; ended by a signal
 * at once, by ilk_client_interrupt(), ilk_client_stop() and close soon.
 * Since: 0.1
 */
ILK_API ilk_status ilk_consumer_pop(ilk_items **out, ilk_consumer *consumer,
                                    int64_t timeout_ms, ilk_error *err);

/**
 * Settle the message that was taken.
 *
 * @param consumer  the consumer
 * @param how       ILK_RECIPES_DONE: it was handled; _BACK: it goes back to
 *                  the head of its list; _DEAD: it is appended to
 *                  `ilk:recipes:dead:{key}`, which keeps the last 1000
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_ELOST (other consumers considered this one dead and put
 *         the message back); ILK_ENOTOWNER (no message); ILK_EUNKNOWN
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_consumer_settle(ilk_consumer *consumer, int how,
                                       ilk_error *err);

/**
 * Leave: a message that is not settled goes back to its list.
 *
 * @param consumer  the consumer; it may take again later
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EUNKNOWN and the others
 * Threads: one thread at a time. Blocks: a round trip per list. Since: 0.1
 */
ILK_API ilk_status ilk_consumer_leave(ilk_consumer *consumer, ilk_error *err);

/**
 * Free a consumer. Other consumers consider one that has not left dead when its
 * client is closed or its process ends.
 *
 * @param consumer  may be NULL
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_consumer_free(ilk_consumer *consumer);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif

/* SPDX-License-Identifier: MIT */
/**
 * @file recipes.h
 * Coordination as it is often written by hand on Redis, without its races.
 *
 * These work on plain keys in plain formats, which programs of other kinds
 * use at the same time: lists of values, sorted sets of tasks and permits, a
 * counter, channels. What takes several commands elsewhere is one step here,
 * times are the server's, and a request whose reply was lost is asked again
 * without being done twice. `docs/recipes.md` tells each well-known function,
 * its flaw, and which of these takes its place.
 *
 * `ilk:recipes:once:...` and `ilk:recipes:due:...` keep the last answer to a
 * thread of a client for a minute. Other side keys are named where they serve.
 *
 * Keys and channels are 1 to 512 bytes, any but a leading "ilk:". Values are
 * any bytes, at most ILK_RECIPES_VALUE_MAX. A longer one that others have put
 * on a list is refused with ILK_ESERVER and stays where it is. `client` is an
 * open client; `err` may be NULL everywhere.
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
    ILK_RECIPES_BACK = 1,                /**< to its list again */
    ILK_RECIPES_DEAD = 2                 /**< of no use to anybody */
};

/** Values that were read. */
typedef struct ilk_items ilk_items;

/** One who takes messages from raw lists, with connections of its own. */
typedef struct ilk_consumer ilk_consumer;

/** One who waits for messages of a raw channel. */
typedef struct ilk_listener ilk_listener;

/**
 * How many values were read; 0 for NULL.
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
 * Free values; NULL is fine.
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_items_free(ilk_items *items);

/**
 * Put a value on a list.
 *
 * @param[out] out_length  of the list; may be NULL
 * @param key,key_len      the list
 * @param end              ILK_RECIPES_HEAD or ILK_RECIPES_TAIL
 * @param value,value_len  any bytes
 * @return ILK_OK; ILK_EINVAL, ILK_ETYPE; ILK_EUNKNOWN
 * Threads: any thread. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_recipes_push(int64_t *out_length, ilk_client *client,
                                    const void *key, size_t key_len, int end,
                                    const void *value, size_t value_len,
                                    ilk_error *err);

/**
 * Take a value from a list: FIFO from the end where it was not put.
 *
 * A lost reply loses nothing; a process that dies with the value does.
 *
 * @param[out] out     one item, or none when the list is empty
 * @param key,key_len  the list
 * @param end          ILK_RECIPES_HEAD or ILK_RECIPES_TAIL
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
 * Give each consumer a cache of its own. `ilk:recipes:parked:{cache}` knows
 * what is being handled, for a day.
 *
 * @param[out] out         none when the list is empty, else two items: the
 *                         value, and the token for ilk_recipes_unpark()
 * @param key,key_len      the list
 * @param cache,cache_len  the other list
 * @return ILK_OK, also when it is empty; ILK_EINVAL, ILK_ETYPE; ILK_EUNKNOWN
 *         (a value may lie in the cache)
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
 * @param cache,cache_len  the cache
 * @param token,token_len  from ilk_recipes_park()
 * @return ILK_OK; ILK_ELOST (it was restored or removed meanwhile, somebody
 *         else may have it; nothing else was removed); ILK_EUNKNOWN
 * Threads: any thread. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_recipes_unpark(ilk_client *client, const void *cache,
                                      size_t cache_len, const void *token,
                                      size_t token_len, ilk_error *err);

/**
 * Put what a consumer that died left in its cache back, as the next to be
 * taken, in the old order. Its tokens count no more.
 *
 * @param[out] out_moved   how many; may be NULL
 * @param key,key_len      the list
 * @param cache,cache_len  the cache
 * @return ILK_OK; ILK_EINVAL, ILK_ETYPE; ILK_EUNKNOWN
 * Threads: any thread. Blocks: a round trip per 1000 values. Since: 0.1
 */
ILK_API ilk_status ilk_recipes_restore(int64_t *out_moved, ilk_client *client,
                                       const void *key, size_t key_len,
                                       const void *cache, size_t cache_len,
                                       ilk_error *err);

/**
 * Put a task into a sorted set, to be due later by the server's clock.
 *
 * @param key,key_len      the set; scores are seconds since 1970
 * @param delay_ms         milliseconds from now; below 0 is before now
 * @param value,value_len  the task; the same bytes again only change its time
 * @return ILK_OK; ILK_EINVAL, ILK_ETYPE; ILK_EUNKNOWN
 * Threads: any thread. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_recipes_delay(ilk_client *client, const void *key,
                                     size_t key_len, int64_t delay_ms,
                                     const void *value, size_t value_len,
                                     ilk_error *err);

/**
 * Take the tasks that are due, each by exactly one caller.
 *
 * @param[out] out       the tasks, the earliest first, at most 1000 and at most
 *                       ILK_RECIPES_VALUE_MAX bytes of them
 * @param[out] out_more  1 when others may be due; may be NULL
 * @param key,key_len    the set
 * @return ILK_OK, also when there are none; ILK_EINVAL, ILK_ETYPE;
 *         ILK_EUNKNOWN (tasks may have been taken and lost)
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_recipes_due(ilk_items **out, int *out_more,
                                   ilk_client *client, const void *key,
                                   size_t key_len, ilk_error *err);

/**
 * A permit of the fair semaphore: sorted sets at the key (identifier ->
 * seconds since 1970) and at key:owner (identifier -> turn), the turns'
 * counter at key:counter.
 *
 * @param[out] out     one item: the identifier
 * @param key,key_len  the semaphore, so short that key:counter is a key
 * @param limit        1 or more may hold it
 * @param timeout_ms   permits older than this have run out
 * @return ILK_OK; ILK_EBUSY (so many hold it already); ILK_EINVAL, ILK_ETYPE;
 *         ILK_EUNKNOWN (a permit may be taken until its time is over)
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_recipes_permit(ilk_items **out, ilk_client *client,
                                      const void *key, size_t key_len,
                                      int64_t limit, int64_t timeout_ms,
                                      ilk_error *err);

/**
 * Give a permit back.
 *
 * @param key,key_len      the semaphore
 * @param token,token_len  the identifier
 * @return ILK_OK; ILK_ELOST (it had run out); ILK_EINVAL; ILK_EUNKNOWN
 * Threads: any thread. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_recipes_permit_release(ilk_client *client,
                                              const void *key, size_t key_len,
                                              const void *token,
                                              size_t token_len, ilk_error *err);

/**
 * Begin a permit's time anew.
 *
 * @param key,key_len      the semaphore
 * @param token,token_len  the identifier
 * @return ILK_OK; ILK_ELOST (it had run out); ILK_EINVAL; ILK_EUNKNOWN
 * Threads: any thread. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_recipes_permit_refresh(ilk_client *client,
                                              const void *key, size_t key_len,
                                              const void *token,
                                              size_t token_len, ilk_error *err);

/**
 * Become or stay the master. To be called more often than every tenure.
 *
 * `ilk:recipes:master:{key}` knows which candidate it is.
 *
 * @param[out] out_selector  for the next call; 0: somebody else is the master
 * @param key,key_len        the counter of tenures
 * @param id,id_len          the candidate, at most 64 bytes; NULL: the client
 * @param selector           what the last call answered; 0 at first, and to
 *                           stand down
 * @param tenure_ms          how long it lasts, a second or more
 * @return ILK_OK; ILK_EINVAL, ILK_ETYPE; ILK_EUNKNOWN
 * Threads: any thread. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_recipes_master(int64_t *out_selector, ilk_client *client,
                                      const void *key, size_t key_len,
                                      const void *id, size_t id_len,
                                      int64_t selector, int64_t tenure_ms,
                                      ilk_error *err);

/**
 * Signal who listens to a channel now.
 *
 * @param[out] out_heard   how many the server told, 0 when nobody listens; may
 *                         be NULL
 * @param key,key_len      the channel, or the beginning of its name, literally
 * @param single           0: all who listen to it; 1: one of those whose
 *                         channel begins so
 * @param value,value_len  data
 * @return ILK_OK, also when nobody listens; ILK_EINVAL; ILK_EUNKNOWN
 * Threads: any thread. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_recipes_signal(int64_t *out_heard, ilk_client *client,
                                      const void *key, size_t key_len,
                                      int single, const void *value,
                                      size_t value_len, ilk_error *err);

/**
 * Make a listener on a channel; nothing is sent.
 *
 * @param[out] out     the listener
 * @param key,key_len  the channel, or the beginning of its name
 * @param id,id_len    NULL: the key is the channel; else the id is behind it,
 *                     and unique among those who wait for ilk_recipes_signal()
 * @return ILK_OK; ILK_EINVAL, ILK_ENOMEM
 * Ownership: the caller frees *out. Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_listener_open(ilk_listener **out, ilk_client *client,
                                     const void *key, size_t key_len,
                                     const void *id, size_t id_len,
                                     ilk_error *err);

/**
 * Wait for the next message: of those sent since the first call, for it
 * listens between calls, too.
 *
 * @param[out] out    two items: the channel, the data
 * @param listener    the listener
 * @param timeout_ms  milliseconds; -1 waits for ever
 * @return ILK_OK; ILK_EBUSY (timeout_ms 0, nothing there); ILK_ETIMEOUT;
 *         ILK_EINTR; ILK_ECONN (no server for a minute; what was sent while a
 *         connection was away is lost)
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: yes; as ilk_consumer_pop(). Since: 0.1
 */
ILK_API ilk_status ilk_listener_wait(ilk_items **out, ilk_listener *listener,
                                     int64_t timeout_ms, ilk_error *err);

/**
 * Stop listening. What came and was not waited for: the first may be taken
 * still, as a wait that timed out would; with an id, the others are passed on
 * to waiters with the same beginning.
 *
 * @param[out] out       the first, as from ilk_listener_wait(), or NULL; NULL
 *                       when `take` is 0
 * @param[out] out_lost  how many nobody was there for; may be NULL
 * @param listener       the listener; it may wait again later
 * @param take           0 or 1
 * @return ILK_OK; what hindered it from passing messages on
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: a round trip or two. Since: 0.1
 */
ILK_API ilk_status ilk_listener_leave(ilk_items **out, int64_t *out_lost,
                                      ilk_listener *listener, int take,
                                      ilk_error *err);

/**
 * Free a listener; NULL is fine.
 * Threads: one thread at a time, once. Blocks: no. Since: 0.1
 */
ILK_API void ilk_listener_free(ilk_listener *listener);

/**
 * Make a consumer of lists to which others push; nothing is sent.
 *
 * What it takes stays in `ilk:recipes:taken:<consumer>:{key}` until it is
 * settled. `ilk:recipes:consumers:{key}` knows all consumers of a list: when
 * one has died, the others put back what it had parked. So every message is
 * handled at least once, and twice when its consumer was taken for dead.
 *
 * @param[out] out   the consumer
 * @param names      the lists, the most urgent first
 * @param name_lens  their bytes
 * @param count      1 to ILK_RECIPES_QUEUES_MAX
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
 * @param consumer    settled, if it has taken one before
 * @param timeout_ms  milliseconds; -1 waits for ever, 0 looks once
 * @return ILK_OK; ILK_EBUSY (timeout_ms 0, nothing there); ILK_ETIMEOUT;
 *         ILK_EINTR; ILK_EHELD (the last one is not settled); ILK_ETYPE
 * Ownership: the caller frees *out. Threads: one thread at a time.
 * Blocks: yes, on connections of its own, without polling; ended by a signal
 * at once, by ilk_client_interrupt() and close soon. Since: 0.1
 */
ILK_API ilk_status ilk_consumer_pop(ilk_items **out, ilk_consumer *consumer,
                                    int64_t timeout_ms, ilk_error *err);

/**
 * Settle the message that was taken.
 *
 * @param consumer  the consumer
 * @param how       ILK_RECIPES_DONE: it was handled; _BACK: it goes back to
 *                  the head of its list; _DEAD: behind
 *                  `ilk:recipes:dead:{key}`, which keeps the last 1000
 * @return ILK_OK; ILK_ELOST (others took this consumer for dead and have put
 *         the message back); ILK_ENOTOWNER (there is none); ILK_EUNKNOWN
 * Threads: one thread at a time. Blocks: one round trip. Since: 0.1
 */
ILK_API ilk_status ilk_consumer_settle(ilk_consumer *consumer, int how,
                                       ilk_error *err);

/**
 * Leave: what is not settled goes back to its list.
 *
 * @param consumer  the consumer; it may take again later
 * @return ILK_OK; ILK_EUNKNOWN and the others
 * Threads: one thread at a time. Blocks: a round trip per list. Since: 0.1
 */
ILK_API ilk_status ilk_consumer_leave(ilk_consumer *consumer, ilk_error *err);

/**
 * Free a consumer. One that has not left is taken for dead when its client is
 * closed or its process ends.
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

/* SPDX-License-Identifier: MIT */
/**
 * @file client.h
 * A client: one server, a few connections, any number of threads.
 *
 * Each connection is opened when it is needed: one for calls, shared by all
 * threads, and up to three more once threads often call at the same time; one
 * that receives wake-ups, at the first wait, and one more for each replica in
 * `listen`; one for renewals, at the first renewal; one for all started
 * operations (op.h). The first of these starts a background thread, the keeper:
 * a wait, a lease that is renewed, a started operation, a release whose reply
 * is not waited for.
 *
 * After fork(), calls in the child return ILK_EFORKED and send nothing until
 * ilk_client_reopen() gives the child connections of its own.
 */
#ifndef INTERLOCK_CLIENT_H
#define INTERLOCK_CLIENT_H

#include "base.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** A connection to one server, shared by the handles made from it. */
typedef struct ilk_client ilk_client;

/** An operation that was started without waiting for its end; see op.h. */
typedef struct ilk_op ilk_op;

/** Flags of ilk_client_opts; 0 is the default behaviour. */
enum {
    ILK_CLIENT_LAZY = 1,        /**< connect at the first call, not in open */
    ILK_CLIENT_NO_EMBEDDED = 2, /**< never start an embedded server */
    /** waits on the process' main thread return ILK_EINTR every 250 ms, so
        that an interpreter can run its signal handlers */
    ILK_CLIENT_TICK = 4,
    /** a call fails at the first attempt that cannot be made, because the
        server cannot be reached; waits that are in their wait queues go on */
    ILK_CLIENT_NO_OUTAGE_WAIT = 8
};

/** Something that a store can keep, for ilk_client_offers(). */
enum {
    ILK_OFFER_LOCK = 1,       /**< locks */
    ILK_OFFER_RWLOCK = 2,     /**< read/write locks */
    ILK_OFFER_MANY = 4,       /**< one lock over many names */
    ILK_OFFER_SEMAPHORE = 8,  /**< semaphores */
    ILK_OFFER_ELECTION = 16,  /**< elections and observers */
    ILK_OFFER_QUEUE = 32,     /**< queues and workers */
    ILK_OFFER_SIGNAL = 64,    /**< signals */
    ILK_OFFER_EVENT = 128,    /**< events */
    ILK_OFFER_BARRIER = 256,  /**< barriers */
    ILK_OFFER_LATCH = 512,    /**< latches */
    ILK_OFFER_GUARD = 1024,   /**< guarded values */
    ILK_OFFER_LIST = 2048,    /**< lists of the names in use */
    ILK_OFFER_RECIPES = 4096, /**< recipes on plain keys */
    /** holds that outlive their client: what detach leaves and adopt takes */
    ILK_OFFER_DETACH = 8192,
    ILK_OFFER_GROUP = 16384,    /**< groups and their members */
    ILK_OFFER_REGISTER = 32768, /**< registers */
    ILK_OFFER_STORE = 65536,    /**< stores and their transactions */
    ILK_OFFER_KV = 131072       /**< replicated values */
};

/** Options of a client. Zero means the default everywhere. */
typedef struct ilk_client_opts {
    size_t size;                /**< set by ilk_client_opts_init() */
    int64_t connect_timeout_ms; /**< to connect; default 2000, for an embedded
                                   server 10000. If it is given, also for the
                                   first answer to the login */
    int64_t reply_timeout_ms; /**< to wait for one reply, of the login as well;
                                   default 5000 */
    const char *label;        /**< shown by inspection; default host:pid */
    uint32_t flags;           /**< ILK_CLIENT_… */
    uint32_t protocol;        /**< RESP 2 or 3; default 3, falling back */
    const char *listen;       /**< replicas, see ilk_client_open() */
    /** how long calls without a limit of their own try again while the server
        cannot be reached; default connect_timeout_ms, with sentinels and for a
        cluster 15000. If it is not 0, calls with a limit end after it as well,
        and so does ilk_client_open() */
    int64_t outage_ms;
    /** for an interpreter, which runs its signal handlers in a call of its own:
        called with `user` in the calling thread when a signal has come while a
        call pauses because the server is away, and every 250 ms with
        ILK_CLIENT_TICK. It returns 1 to end that call with ILK_EINTR, else 0.
        NULL: each signal ends it */
    int (*interrupted)(void *user);
    void *user; /**< for `interrupted`; may be NULL */
} ilk_client_opts;

/** Counters of a client since it was opened. */
typedef struct ilk_client_stats {
    size_t size;         /**< set by the caller to sizeof */
    int64_t commands;    /**< commands sent */
    int64_t writes;      /**< writes that carried them */
    int64_t bytes_out;   /**< bytes sent */
    int64_t bytes_in;    /**< bytes received */
    int64_t connects;    /**< connections made, reconnects included */
    int64_t connections; /**< connections open now */
    int64_t acquires;    /**< holds acquired */
    int64_t waits;       /**< acquires that had to wait in the queue */
    int64_t waiting;     /**< acquires that wait now */
    int64_t held;        /**< leases that are renewed now */
    int64_t renewals;    /**< leases renewed */
    int64_t refreshes;   /**< refreshes of wait queues sent */
    int64_t losses;      /**< leases lost */
    int64_t passed_on;   /**< orphaned grants given back */
    /** notifications that found the queue full */
    int64_t notifications_dropped;
    /** inbox messages dropped: without the secret of a wait, or of another
     *  version */
    int64_t messages_refused;
} ilk_client_stats;

/** The state of a node of a quorum. */
typedef enum ilk_node_state {
    ILK_NODE_CONNECTING = 0, /**< it has not replied yet */
    ILK_NODE_VOTING = 1,     /**< its votes count */
    ILK_NODE_WAITING = 2, /**< it was started or wiped, and does not vote yet */
    ILK_NODE_FAILED = 3   /**< it cannot be reached, or is refused */
} ilk_node_state;

/** Whether a node of a quorum keeps registers. */
typedef enum ilk_node_registers {
    ILK_REGISTERS_UNKNOWN = 0, /**< not known yet */
    ILK_REGISTERS_NONE = 1,    /**< none: no node of the quorum keeps any yet */
    ILK_REGISTERS_KEPT = 2,    /**< it keeps them */
    /** it has lost them, and takes no part until it is taken in again; see
     *  ilk_client_adopt_node() */
    ILK_REGISTERS_LOST = 3,
    ILK_REGISTERS_RETURNING = 4, /**< it is being taken in again */
    ILK_REGISTERS_REFUSED = 5,   /**< its settings may lose a register */
    ILK_REGISTERS_FOREIGN = 6    /**< it keeps those of another quorum */
} ilk_node_registers;

/** One node as the client finds it, and its counters since the client was
    opened. */
typedef struct ilk_node_stats {
    size_t size;       /**< set by the caller to sizeof */
    char address[264]; /**< host:port, as in the URL */
    int32_t state;     /**< an ilk_node_state */
    /** milliseconds until a node that waits may vote; 0 when it waits for other
     *  nodes */
    int64_t wait_ms;
    int64_t connects;  /**< connections made, reconnects included */
    int64_t commands;  /**< commands sent */
    int64_t in_flight; /**< commands without a reply now */
    int64_t granted;   /**< votes granted */
    int64_t confirmed; /**< votes confirmed, renewals included; a hold may begin
                            without one */
    int64_t refused; /**< votes refused: it was restarted or wiped meanwhile */
    int64_t lost;    /**< votes that were gone when they were confirmed */
    /** microseconds to the last reply; -1 without one */
    int64_t round_trip_us;
    /** mean of about the last 8 round trips; -1 without a reply */
    int64_t mean_round_trip_us;
    /** microseconds by which the node's clock is ahead of this machine's, within
     *  half a round trip; 0 without a reply */
    int64_t clock_offset_us;
    char error[ILK_ERROR_MAX]; /**< the last failure; "" without one */
    int32_t registers;         /**< an ilk_node_registers */
    int32_t adopting;          /**< 1 while this client takes it in again */
    /** copies of registers that this client took to it from other nodes; each
     *  register comes from several of them */
    int64_t copied;
    /** why it keeps no registers, or is not taken in; "" when it keeps them */
    char registers_error[ILK_ERROR_MAX];
} ilk_node_stats;

/**
 * Set every field of the options to its default.
 *
 * @param opts  the options to initialise
 * @param size  sizeof the caller's struct
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API void ilk_client_opts_init(ilk_client_opts *opts, size_t size);

/**
 * Open a client.
 *
 * The URL is `redis://[user[:password]@]host[:port][/db]`, the same with
 * `rediss://` for TLS, `unix://[user:password@]/path[?db=n]`,
 * `redis+sentinel://[user[:password]@]host[:port],.../service[/db]` for the
 * primary that these sentinels name (`rediss+sentinel://` for TLS),
 * `redis+cluster://host[:port],...` for a cluster,
 * `redis://host[:port],host[:port],host[:port][/db]?quorum` for locks that a
 * majority of independent servers keeps, the same with `?ring` for values and stores that
 * they share, or `embedded://[/dir]` for a private server that the library starts and the
 * processes of one user share. NULL means $INTERLOCK_URL or, if that is unset,
 * the embedded server, which excludes only processes on this host;
 * INTERLOCK_EMBEDDED=0 forbids it. The query may set `connect_timeout_ms`,
 * `reply_timeout_ms`, `outage`, `label`, `protocol`, `listen`, for sentinels
 * `sentinel_user`, `sentinel_password_file` and `min_replicas`, for sentinels and a
 * cluster `hosts`, and for TLS `ca`, `cert` and `key`. `outage` is a time, as in `outage=2s` or `outage=500ms`, and
 * sets outage_ms; `outage=0` is ILK_CLIENT_NO_OUTAGE_WAIT.
 *
 * The call makes one attempt to connect. With outage_ms it tries again for so long.
 *
 * With `min_replicas=N` an acquire of a lock, semaphore or election returns
 * when N replicas have acknowledged the hold. If they do not within a second, it
 * gives the hold back and tries again. After its deadline it returns
 * ILK_ENOQUORUM.
 *
 * `hosts` is a list of patterns, `hosts=10.0.*,*.example.com`. The client connects
 * only to hosts that match one of them, and to those of the URL, whatever sentinels
 * and nodes announce.
 *
 * `listen` is `host[:port],...`, up to 7 replicas of the server, with the same
 * login and, for `rediss://`, over TLS. The client then receives wake-ups and
 * signals from the server and from each replica, so that none is missed while
 * one of these connections is broken. Commands go to the server only. A URL
 * with sentinels excludes it.
 *
 * @param[out] out  the client, to be freed; NULL when the call fails
 * @param url       see above; may be NULL
 * @param opts      may be NULL for the defaults; the URL's query overrides them
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL for an invalid URL or option; ILK_ECONN; ILK_EAUTH;
 *         ILK_EINTR: a signal came between two attempts
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: at most connect_timeout_ms, or outage_ms if that is longer, and while a
 * server that has accepted the connection logs it in, longer by twice
 * reply_timeout_ms; not at all with ILK_CLIENT_LAZY. Since: 0.1
 */
ILK_API ilk_status ilk_client_open(ilk_client **out, const char *url,
                                   const ilk_client_opts *opts, ilk_error *err);

/**
 * Close the client: waits end with ILK_ECLOSED and leave their wait queues, the
 * holds that it renews are released (locks, semaphores, leaderships, members of
 * groups), connections are closed.
 *
 * The releases are sent in one pipeline. Those without a reply within a second
 * are left to the end of their leases. So are holds without renewal, detached ones,
 * the leadership of a candidate with an identity, which may return and lead on, and
 * reserved messages: nobody knows here whether the work on a message is done.
 *
 * @param client    the client; a second close is harmless
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EFORKED, and nothing is sent: the parent holds
 * Threads: any thread. Blocks: until the keeper has ended, a few ms; where the
 * server does not answer at most 1 s for releases, 200 ms where only waits have
 * ended; up to 5 s for the last user of an embedded server, which it stops.
 * Since: 0.1
 */
ILK_API ilk_status ilk_client_close(ilk_client *client, ilk_error *err);

/**
 * Drop the caller's reference. Each handle has one, too; dropping the last
 * one closes the connections and frees the client. This sends nothing: without
 * ilk_client_close() before, the leases of freed handles expire on the server.
 *
 * @param client  may be NULL
 * Threads: any thread, once. Blocks: as ilk_client_close(), but for releases.
 * Since: 0.1
 */
ILK_API void ilk_client_free(ilk_client *client);

/**
 * Ask whether the server can be reached: send a PING and wait for the reply. Of several
 * servers as many must reply as a client needs to be opened: of a quorum a majority that
 * takes part; of a cluster or a ring one server, whatever keys it has; of etcd and
 * ZooKeeper one that has a leader. In an outage it tries again until timeout_ms are over.
 *
 * @param client      the client
 * @param timeout_ms  milliseconds; -1 for the client's reply_timeout_ms
 * @param[out] err    may be NULL
 * @return ILK_OK; ILK_ECONN (also when no reply came in time), ILK_ENOQUORUM, ILK_EAUTH,
 *         ILK_ECLOSED, ILK_EFORKED
 * Threads: any thread. Blocks: at most timeout_ms. Since: 0.1
 */
ILK_API ilk_status ilk_client_ping(ilk_client *client, int64_t timeout_ms,
                                   ilk_error *err);

/**
 * Start ilk_client_ping().
 *
 * @param[out] out     the operation, to be freed; NULL when the call fails
 * @param client       the client
 * @param timeout_ms   milliseconds; -1 for the client's reply_timeout_ms
 * @param[out] err     may be NULL
 * @return ILK_OK if it was started; otherwise the error that prevented it
 * Ownership: the caller frees *out. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_client_ping_start(ilk_op **out, ilk_client *client,
                                         int64_t timeout_ms, ilk_error *err);

/**
 * End every wait of this client with ILK_EINTR, as a signal would. The waits
 * keep their places in the wait queues, and the same calls resume them. A call that
 * is no wait ends, too, if it pauses because the server is away: with ILK_EINTR if
 * nothing was sent, else with ILK_EUNKNOWN. A release is then left to the keeper.
 *
 * @param client  the client; NULL is ignored
 * Threads: any thread; safe in a signal handler. Blocks: no. Since: 0.1
 */
ILK_API void ilk_client_interrupt(ilk_client *client);

/**
 * Whether the store behind the client's URL can keep something. One Redis or
 * Valkey server keeps everything. A handle of a primitive that the store does not
 * offer is refused with ILK_EUNSUPPORTED, and so are detach and adopt.
 *
 * @param client  the client; NULL offers nothing
 * @param what    ILK_OFFER_…, one or several by OR: all of them are meant
 * @return 1 when it offers all of them, else 0; 0 for an unknown one as well
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API int ilk_client_offers(const ilk_client *client, uint32_t what);

/**
 * Stop waiting: every wait of this client ends with ILK_ECANCELLED and leaves
 * its wait queue, and so does every later call that might wait, until
 * ilk_client_resume(). Unlike ilk_client_interrupt() it cannot come too early.
 *
 * Calls that do not wait still work, so that a program can end in good order:
 * release, extend, acknowledge, inspect, and a try with timeout_ms 0. One that is
 * under way and pauses because the server is away ends as by
 * ilk_client_interrupt(), with ILK_ECANCELLED for ILK_EINTR. Holds stay held and are
 * renewed. A call that is in a round trip is followed to its reply, and an acquire
 * that gets the lock by that reply returns ILK_OK.
 *
 * A stop is for one process: a child of fork() starts without its parent's. A
 * stop in the child before ilk_client_reopen() applies to the reopened client.
 *
 * @param client  the client; NULL is ignored
 * Threads: any thread; safe in a signal handler. Blocks: no. Since: 0.1
 */
ILK_API void ilk_client_stop(ilk_client *client);

/**
 * End the effect of ilk_client_stop(): calls wait again. Waits that have ended
 * do not come back.
 *
 * @param client  the client; NULL is ignored
 * Threads: any thread; safe in a signal handler. Blocks: no. Since: 0.1
 */
ILK_API void ilk_client_resume(ilk_client *client);

/**
 * Whether the client is stopped, see ilk_client_stop().
 *
 * @param client  the client; NULL yields 0
 * @return 1 or 0
 * Threads: any thread; safe in a signal handler. Blocks: no. Since: 0.1
 */
ILK_API int ilk_client_stopped(const ilk_client *client);

/**
 * After fork(), give the child's copy of a client connections and an
 * identity of its own. Holds and waits stay with the parent: a handle through
 * which the parent held or waited stays forked, and returns ILK_EFORKED to the
 * first call after this one; from the second call on it is the child's.
 *
 * @param client    the client
 * @param[out] err  may be NULL
 * @return ILK_OK, also in a process that did not fork; ILK_ENOMEM,
 *         ILK_ESYSTEM; ILK_ECONN when an embedded server does not start. After
 *         a failure reopen again, or free the client.
 * Threads: one thread at a time. Blocks: no; with an embedded server at most
 * connect_timeout_ms. Since: 0.1
 */
ILK_API ilk_status ilk_client_reopen(ilk_client *client, ilk_error *err);

/**
 * Read the client's counters.
 *
 * @param client    the client
 * @param stats     set stats->size to sizeof *stats before the call
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL for a size of 0; ILK_EFORKED
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_client_get_stats(ilk_client *client,
                                        ilk_client_stats *stats,
                                        ilk_error *err);

/**
 * Read the state and the counters of one node, for a client of a quorum. A client
 * of another store has no nodes, and a closed client has none.
 *
 * @param client    the client
 * @param index     0 for the first node in the URL
 * @param stats     set stats->size to sizeof *stats before the call
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EAGAIN when there are no more nodes; ILK_EINVAL for a
 *         size of 0; ILK_EFORKED
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_client_get_node_stats(ilk_client *client, size_t index,
                                             ilk_node_stats *stats,
                                             ilk_error *err);

/**
 * Begin to take a node of a quorum in again that has lost its registers: its disk
 * is new, its data was wiped, or another server has its place. The others go on
 * meanwhile. `adopting` in ilk_client_get_node_stats() is 1 until it has ended;
 * then `registers` is ILK_REGISTERS_KEPT, or `registers_error` says why not. As
 * long as it is 1, the client tries again, for example until enough nodes can
 * be reached: of N nodes, N - M + 1 others must keep registers, where M is the
 * smallest majority.
 *
 * A node that was restored from a backup does not look like one that has lost
 * something: delete its key `ilk:quorum:acceptor` first.
 *
 * @param client    the client
 * @param index     of the node, as in ilk_client_get_node_stats()
 * @param[out] err  may be NULL
 * @return ILK_OK when it has begun; ILK_EAGAIN when there is no such node;
 *         ILK_EUNSUPPORTED for a client of no quorum; ILK_ECLOSED, ILK_EFORKED
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_client_adopt_node(ilk_client *client, size_t index,
                                         ilk_error *err);

/**
 * The client's identity, 16 hexadecimal digits.
 *
 * @param client  the client
 * @return a string; "" for NULL
 * Ownership: borrowed until the client is freed or reopened.
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_client_id(const ilk_client *client);

/**
 * The URL in use, without the password.
 *
 * @param client  the client
 * @return a string; "" for NULL
 * Ownership: borrowed until the client is freed. Threads: any thread.
 * Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_client_url(const ilk_client *client);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif

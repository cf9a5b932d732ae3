/* SPDX-License-Identifier: MIT */
/*
 * etcd_client.h -- an asynchronous client of etcd 3.4 and later.
 *
 *     DOWN --> CONNECTING --> [LOGIN] --> UP --> (lost) DOWN ...
 *
 * It has one connection, to one of the endpoints. When that is lost, has no
 * leader or is silent, the client connects to the next endpoint, after pauses that
 * grow once all have failed. All functions are for one thread, which polls:
 *
 *     count = ilk__etcd_prepare(client, fds, room, &until);
 *     poll(fds, count, until)
 *     ilk__etcd_polled(client, fds, count);
 *
 * A call returns ILK_OK, and then its callback is called exactly once; or
 * ILK_ENOMEM or ILK_EINVAL, and then it is never called. Callbacks are called by
 * ilk__etcd_polled() and ilk__etcd_close() only, never by a call itself, and may
 * call all functions but ilk__etcd_polled() and ilk__etcd_close(). The
 * answer that a callback gets is borrowed until it returns. A call copies its
 * arguments.
 *
 * Before the connection is up calls wait. They fail when all endpoints have been
 * tried in vain, or at their deadline. A call that surely was not executed, because
 * the server refused its stream or never saw it, is sent again over the next
 * connection. With several endpoints so is one that may be repeated, when a quarter of
 * its time has passed without an answer: requests that were with a leader are lost when
 * it fails. Calls are not executed in their order; a caller that needs an order waits
 * for the callback.
 */
#ifndef ILK__ETCD_CLIENT_H
#define ILK__ETCD_CLIENT_H

#include "net/url.h"

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ILK__ETCD_PORT = 2379,
    ILK__ETCD_ENDPOINTS_MOST = 16,
    ILK__ETCD_CONNECT_MS = 2000, /* where the URL gives no timeouts */
    ILK__ETCD_REPLY_MS = 5000
};

typedef struct ilk__etcd ilk__etcd;
typedef struct ilk__etcd_watch ilk__etcd_watch;

/* ---- the client ----------------------------------------------------------- */

/* Whether a backend's scheme means TLS: `etcd+tls` and `etcds` do. */
int ilk__etcd_is_tls(const char *scheme);

/*
 * Make a client of the endpoints url->hosts (`host[:port],...`), with the URL's
 * login. `options` is the URL's query without what belongs to the backend, or
 * NULL: connect_timeout_ms, reply_timeout_ms, noquorum, and ca, cert, key with TLS.
 * The client begins to connect with the first ilk__etcd_prepare(). ILK_EINVAL: err says
 * what is wrong with the URL; ILK_ENOMEM. The URL is not used afterwards.
 */
ilk_status ilk__etcd_open(ilk__etcd **out, const ilk__url *url,
                          const char *options, ilk_error *err);

/* Fail all calls, end all watches (their callbacks are called with ILK_ECONN),
 * and free the client. NULL is ignored. */
void ilk__etcd_close(ilk__etcd *client);
/* In a forked child, instead: close the copies of its descriptors, and leave the
 * rest alone. */
void ilk__etcd_abandon(ilk__etcd *client);

/* Send what was called, fill in what to poll for, and make *until the time by
 * which polled() is due, if that is earlier. Returns how many descriptors it has,
 * at most 1; with no room for it, nothing is filled in. */
size_t ilk__etcd_prepare(ilk__etcd *client, struct pollfd *fds, size_t room,
                         int64_t *until);
void ilk__etcd_polled(ilk__etcd *client, const struct pollfd *fds,
                      size_t count);

typedef struct ilk__etcd_status {
    int up;               /* logged in to an endpoint */
    const char *endpoint; /* `host:port` that is used or tried */
    size_t endpoint_index, endpoint_count;
    const ilk_error *error; /* of the last failure to connect, or why the last
                               connection was lost; empty: there was none */
    int64_t rtt_ms;         /* of the last unary call; -1: none yet */
    int64_t connects;       /* that succeeded */
    int64_t logins;         /* likewise */
    int64_t calls, bytes_in, bytes_out;
} ilk__etcd_status;

/* Borrowed texts. The numbers of endpoints never change; another endpoint's text
 * is ilk__etcd_endpoint(). */
void ilk__etcd_get_status(const ilk__etcd *client, ilk__etcd_status *out);
const char *ilk__etcd_endpoint(const ilk__etcd *client, size_t index);

/* Leave this endpoint for the next, for instance because its answers are wrong.
 * Calls that were sent fail, watches end. */
void ilk__etcd_leave_endpoint(ilk__etcd *client, const char *why);

/* ---- answers -------------------------------------------------------------- */

/* A key, as a range or an event has it. A deleted key has only `key` and
 * mod_revision. With keys_only there is no value. */
typedef struct ilk__etcd_kv {
    ilk__span key, value;
    int64_t create_revision, mod_revision, version, lease;
} ilk__etcd_kv;

typedef enum ilk__etcd_op_kind {
    ILK__ETCD_PUT,
    ILK__ETCD_RANGE,
    ILK__ETCD_DELETE
} ilk__etcd_op_kind;

typedef struct ilk__etcd_op_answer {
    ilk__etcd_op_kind kind;
    const ilk__etcd_kv
        *kvs; /* RANGE: the keys; PUT and DELETE with with_previous:
                                the former ones */
    size_t kv_count;
    int64_t
        count; /* RANGE: in the range, whatever the limit; DELETE: deleted */
    int more;  /* RANGE: the limit has cut some off */
} ilk__etcd_op_answer;

typedef struct ilk__etcd_answer {
    /*
     * ILK_OK, or the status of the error text:
     *
     *     ILKDOWN    ILK_ECONN      no connection, it was lost, or no answer in time
     *     NOQUORUM   ILK_ENOQUORUM  the member has no leader, or could not commit;
     *                    with several endpoints: or no answer came in time
     *     DENIED     ILK_EAUTH      login or rights
     *     BUSY       ILK_ESERVERBUSY  too many requests
     *     OOM        ILK_ESERVERMEMORY  the server's space quota is used up
     *     ILKINVALID ILK_EINVAL     a file of the URL's TLS options is of no use
     *     ERR        ILK_ESERVER    anything else; the server's text is in it
     *     ERR        ILK_EREPLY     the answer makes no sense, or is too long
     *     ERR        ILK_ENOMEM     no memory here for the answer
     */
    ilk_status status;
    const char *error; /* begins with the word, for
                          ilk__gateway_reply_error(); NULL with ILK_OK */
    int may_have_run;  /* after an error: 0 when it surely was not executed */
    int was_repeated;  /* an earlier copy may have been executed, or will be */
    int is_gone; /* error: the server does not know the lease (any more), or
                          the revision is compacted */
    int64_t revision; /* of the store when it answered */
    uint64_t member;  /* that answered */
    int64_t sent_at;  /* local ms, not later than the sending; 0: never sent */

    /* A transaction's. Its ops are those of the branch that was taken. */
    int succeeded;
    const ilk__etcd_op_answer *ops;
    size_t op_count;

    /* A lease's */
    int64_t lease;
    int64_t ttl_s; /* left, or granted; keep-alive and time-to-live: 0 or less
                      when there is no such lease (then the status is ILK_OK) */
    int64_t granted_ttl_s; /* time-to-live only */

    /* The member's */
    const char *version; /* "3.4.23" */
    uint64_t leader;     /* 0: the member has none */
} ilk__etcd_answer;

typedef void (*ilk__etcd_done)(void *owner, const ilk__etcd_answer *answer);

/* ---- calls ----------------------------------------------------------------
 *
 * reply_ms is the time within which the answer must come, counted from the call; 0
 * stands for the URL's reply timeout. */

typedef enum ilk__etcd_target { /* etcd's numbers */
                                ILK__ETCD_VERSION = 0,
                                ILK__ETCD_CREATE_REVISION = 1,
                                ILK__ETCD_MOD_REVISION = 2,
                                ILK__ETCD_VALUE = 3,
                                ILK__ETCD_LEASE = 4
} ilk__etcd_target;

typedef enum ilk__etcd_relation { /* etcd's numbers */
                                  ILK__ETCD_EQUAL = 0,
                                  ILK__ETCD_GREATER = 1,
                                  ILK__ETCD_LESS = 2,
                                  ILK__ETCD_NOT_EQUAL = 3
} ilk__etcd_relation;

/*
 * `target` of the key `relation` number (VALUE: value). With a range_end it holds
 * when it does for all keys in [key, range_end). A key that does not exist has
 * version, revisions and lease 0, but a VALUE comparison with it fails. In an empty
 * range the same one missing key is compared.
 */
typedef struct ilk__etcd_compare {
    ilk__etcd_target target;
    ilk__etcd_relation relation;
    ilk__span key, range_end;
    int64_t number;
    ilk__span value;
} ilk__etcd_compare;

typedef enum ilk__etcd_order { /* of a range */
                               ILK__ETCD_BY_KEY,
                               ILK__ETCD_BY_CREATE_REVISION,
                               ILK__ETCD_BY_CREATE_REVISION_DESCENDING,
                               ILK__ETCD_BY_MOD_REVISION,
                               ILK__ETCD_BY_MOD_REVISION_DESCENDING
} ilk__etcd_order;

/* All members that are not named are zero: one key, no lease, no limit... */
typedef struct ilk__etcd_op {
    ilk__etcd_op_kind kind;
    ilk__span key;
    ilk__span range_end; /* RANGE, DELETE: keys in [key, range_end) */
    int with_previous;   /* PUT, DELETE: answer with the former keys */

    ilk__span value; /* PUT */
    int64_t lease;
    int keeps_value; /* the key's value, or lease, stays; an error if there is */
    int keeps_lease; /* no such key */

    int64_t limit; /* RANGE */
    int64_t at_revision;
    ilk__etcd_order order;
    int keys_only, count_only;
    int serializable; /* from this member, which may lag behind */
    int64_t min_mod_revision, max_mod_revision;
    int64_t min_create_revision, max_create_revision;
} ilk__etcd_op;

typedef struct ilk__etcd_txn {
    const ilk__etcd_compare *compares; /* none: it succeeds */
    size_t compare_count;
    const ilk__etcd_op *then_ops, *else_ops;
    size_t then_count, else_count;
    /* The caller can cope with copies that are executed once more, or late. Without
     * writes that is always so. */
    int may_repeat;
} ilk__etcd_txn;

ilk_status ilk__etcd_commit(ilk__etcd *client, const ilk__etcd_txn *txn,
                            int64_t reply_ms, ilk__etcd_done done, void *owner);

/* lease 0: the server chooses the number. The ttl is in whole seconds, and the
 * server may grant a longer one. */
ilk_status ilk__etcd_grant(ilk__etcd *client, int64_t lease, int64_t ttl_s,
                           int64_t reply_ms, ilk__etcd_done done, void *owner);
/* is_gone: there was no such lease. Its keys are deleted with it. */
ilk_status ilk__etcd_revoke(ilk__etcd *client, int64_t lease, int64_t reply_ms,
                            ilk__etcd_done done, void *owner);
/* All leases share one stream. Calls for the same lease that have not been sent
 * yet are sent once. */
ilk_status ilk__etcd_keep_alive(ilk__etcd *client, int64_t lease,
                                int64_t reply_ms, ilk__etcd_done done,
                                void *owner);
ilk_status ilk__etcd_time_to_live(ilk__etcd *client, int64_t lease,
                                  int64_t reply_ms, ilk__etcd_done done,
                                  void *owner);
/* The member's version and leader. */
ilk_status ilk__etcd_ask_status(ilk__etcd *client, int64_t reply_ms,
                                ilk__etcd_done done, void *owner);

/* ---- watches -------------------------------------------------------------- */

typedef enum ilk__etcd_news_kind {
    ILK__ETCD_CREATED, /* once, first: `revision` is that of the store, and events
                          after it are reported */
    ILK__ETCD_KEY_PUT,
    ILK__ETCD_KEY_DELETED,
    ILK__ETCD_PROGRESS, /* all events up to `revision` were reported */
    ILK__ETCD_ENDED /* once, last: the watch is freed when the callback returns */
} ilk__etcd_news_kind;

typedef struct ilk__etcd_news {
    ilk__etcd_news_kind kind;
    int64_t revision;
    const ilk__etcd_kv *kv; /* KEY_PUT, KEY_DELETED */
    ilk_status status;      /* ENDED: as of an answer, never ILK_OK */
    const char *error;
    int is_gone; /* ENDED: start_revision is compacted, and `revision` is the
                    oldest that is not */
} ilk__etcd_news;

typedef void (*ilk__etcd_on_news)(void *owner, const ilk__etcd_news *news);

typedef struct ilk__etcd_watch_request {
    ilk__span key, range_end;
    int64_t start_revision; /* 0: from now */
    int without_puts, without_deletes;
    int with_progress; /* PROGRESS now and then, where nothing happens */
} ilk__etcd_watch_request;

/*
 * Begin a watch, on a stream that all share. It waits for a connection as calls do;
 * reply_ms is the time for CREATED. ENDED comes when the connection is lost, the
 * member loses its leader, or the server cancels the watch. The client never begins it
 * again by itself, because events in between may have been missed.
 */
ilk_status ilk__etcd_watch_begin(ilk__etcd_watch **out, ilk__etcd *client,
                                 const ilk__etcd_watch_request *request,
                                 int64_t reply_ms, ilk__etcd_on_news on_news,
                                 void *owner);
/* End and free it; its callback is not called any more. Not after ENDED. Also
 * from its own callback, but not from that for ENDED. */
void ilk__etcd_watch_cancel(ilk__etcd_watch *watch);

#endif

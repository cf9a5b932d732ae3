/* SPDX-License-Identifier: MIT */
/* etcd_client_internal.h -- the parts of the client; for etcd_client*.c only. */
#ifndef ILK__ETCD_CLIENT_INTERNAL_H
#define ILK__ETCD_CLIENT_INTERNAL_H

#include "base/timer.h"
#include "etcd_client.h"
#include "etcd_client_messages.h"
#include "grpc_conn.h"
#include "net/tls_store.h"

/* ---- lists ----------------------------------------------------------------- */

/* A link is the first member of its item; a list is a link of its own. */
typedef struct ilk__etcd_link {
    struct ilk__etcd_link *next, *previous;
} ilk__etcd_link;

static inline void ilk__etcd_list_init(ilk__etcd_link *list)
{
    list->next = list->previous = list;
}

static inline int ilk__etcd_list_empty(const ilk__etcd_link *list)
{
    return list->next == list;
}

static inline void ilk__etcd_unlink(ilk__etcd_link *item)
{
    item->next->previous = item->previous;
    item->previous->next = item->next;
    ilk__etcd_list_init(item);
}

/* From the list that has it to the end of another. */
static inline void ilk__etcd_move(ilk__etcd_link *list, ilk__etcd_link *item)
{
    ilk__etcd_unlink(item);
    item->next = list;
    item->previous = list->previous;
    list->previous->next = item;
    list->previous = item;
}

/* ---- failures -------------------------------------------------------------- */

typedef struct ilk__etcd_failure {
    ilk_status status;
    int may_have_run;
    int is_gone;
    int wants_login; /* the token is not valid (any more) */
    int leaderless;  /* another member may do better */
    int64_t revision;
    char text[ILK_ERROR_MAX + 16]; /* begins with the word of the status */
} ilk__etcd_failure;

void ilk__etcd_fail_with(ilk__etcd_failure *out, ilk_status status,
                         int may_have_run, const char *text);
/* A status of gRPC with etcd's text. */
void ilk__etcd_fail_by_code(ilk__etcd_failure *out, int code, const char *text,
                            const char *where);
/* A stream that has ended without an answer. */
void ilk__etcd_fail_by_stream(ilk__etcd_failure *out,
                              const ilk__grpc_stream *stream,
                              const char *where);
/* The reason with which a server cancels a watch. */
void ilk__etcd_fail_by_reason(ilk__etcd_failure *out, ilk__span reason,
                              const char *where);

/* ---- calls, watches, the client -------------------------------------------- */

typedef enum ilk__etcd_call_kind {
    ILK__ETCD_CALL_TXN,
    ILK__ETCD_CALL_DELETE, /* a transaction that is one deletion */
    ILK__ETCD_CALL_GRANT,
    ILK__ETCD_CALL_REVOKE,
    ILK__ETCD_CALL_TIME_TO_LIVE,
    ILK__ETCD_CALL_STATUS,
    ILK__ETCD_CALL_KEEP_ALIVE
} ilk__etcd_call_kind;

/* Kinds of streams; the owner of a UNARY one is a call. */
enum {
    ILK__ETCD_STREAM_UNARY,
    ILK__ETCD_STREAM_LOGIN,
    ILK__ETCD_STREAM_RENEWALS,
    ILK__ETCD_STREAM_WATCHES
};

typedef struct ilk__etcd_call {
    ilk__etcd_link link;
    ilk__timer timer; /* its deadline */
    ilk__etcd *client;
    ilk__etcd_call_kind kind;
    ilk__buf message; /* kept until it ends: it may be sent again */
    int64_t lease;    /* KEEP_ALIVE */
    uint64_t number;  /* KEEP_ALIVE: of the message that stands for it */
    int64_t reply_ms;
    int64_t sent_at;
    int64_t deadline;
    int logins; /* repeated after a login */
    int may_repeat, was_repeated;
    int64_t revision; /* TXN, DELETE: the answer's is no earlier one */
    ilk__grpc_stream *stream;
    ilk__etcd_done done;
    void *owner;
} ilk__etcd_call;

struct ilk__etcd_watch {
    ilk__etcd_link link;
    ilk__timer timer; /* CREATED must have come */
    ilk__etcd *client;
    int64_t id;
    uint64_t number; /* the order of sending */
    ilk__buf message;
    int64_t reply_ms, sent_at;
    int created;
    int logins;
    ilk__grpc_stream *stream; /* NULL: not sent */
    ilk__etcd_on_news on_news;
    void *owner;
};

typedef struct ilk__etcd_endpoint_at {
    char *host;
    int port;
    char text[ILK__SOCKET_WHERE];
} ilk__etcd_endpoint_at;

typedef enum ilk__etcd_login {
    ILK__ETCD_LOGIN_NEEDED,
    ILK__ETCD_LOGIN_RUNS,
    ILK__ETCD_LOGIN_DONE
} ilk__etcd_login;

struct ilk__etcd {
    ilk__url url;    /* login and TLS options */
    ilk__url target; /* the same with the endpoint that is used; borrows */
    ilk__tls_store *tls;
    ilk__etcd_endpoint_at endpoints[ILK__ETCD_ENDPOINTS_MOST];
    size_t count, index;
    int64_t connect_ms, reply_ms;

    ilk__grpc_conn *conn;
    int connected; /* calls can be made, after the login */
    int has_fd;    /* in the last prepare() */
    int64_t connected_at, retry_at;
    int retry_step;
    size_t failures;   /* endpoints in a row that could not be reached */
    int64_t ping_at;   /* of the last ping */
    int awaits_ping;   /* nothing was received since */
    ilk_error error;   /* see ilk__etcd_status */
    int is_lost;       /* to be acted on in polled() */
    ilk_error lost;    /* why */
    int leaves;        /* the endpoint, as soon as nothing else is done */
    ilk_error leaving; /* why */

    ilk__etcd_login login;
    ilk__grpc_stream *login_stream;
    int64_t login_until;
    char *token; /* NULL: none needed, or none yet */

    ilk__timers timers;
    ilk__etcd_link waiting, sent;                   /* calls but KEEP_ALIVE */
    ilk__etcd_link renewals_waiting, renewals_sent; /* KEEP_ALIVE */
    ilk__etcd_link unsendable; /* calls for which there was no memory */
    ilk__grpc_stream *renewals;
    ilk__etcd_link watches;
    ilk__grpc_stream *watch_stream; /* of new watches */
    int64_t revision; /* the latest of an answer over this connection */
    uint64_t number;  /* the last one given */
    int64_t watch_id; /* the last one given */

    int64_t rtt_ms, connects, logins, calls, bytes_in, bytes_out;
};

/* etcd_client.c */
int ilk__etcd_can_send(const ilk__etcd *client);
/* The server refuses the token: log in again. */
void ilk__etcd_renew_login(ilk__etcd *client);
/* An answer says that the member has no leader, or the like. */
void ilk__etcd_note(ilk__etcd *client, const ilk__etcd_failure *failure);
/* How long a call with this reply time waits before something is done about it:
 * with several endpoints not all of it. */
int64_t ilk__etcd_patience(const ilk__etcd *client, int64_t reply_ms);
/* A call that was sent at this time was not answered in time. */
void ilk__etcd_note_silence(ilk__etcd *client, int64_t sent_at,
                            int64_t reply_ms);
/* The messages at the front of a stream. ILK_EAGAIN; ILK_EREPLY. */
ilk_status ilk__etcd_next_message(ilk__grpc_stream *stream, ilk__span *out,
                                  ilk__etcd_failure *failure);
void ilk__etcd_drop_message(ilk__grpc_stream *stream, ilk__span message);

/* etcd_client_calls.c */
void ilk__etcd_send_calls(ilk__etcd *client);
void ilk__etcd_call_ready(ilk__etcd *client, ilk__grpc_stream *stream);
/* Fail those of a list, each with a callback. */
void ilk__etcd_fail_calls(ilk__etcd_link *list,
                          const ilk__etcd_failure *failure);
/* End one: NULL failure stands for success. `answer` may be NULL with one. */
void ilk__etcd_end_call(ilk__etcd_call *call, const ilk__etcd_failure *failure,
                        ilk__etcd_answer *answer);
/* The connection is lost: keep those that surely were not executed, move the rest
 * to `out`. With several endpoints, also keep those that may be repeated. */
void ilk__etcd_split_sent(ilk__etcd *client, ilk__etcd_link *out);

/* etcd_client_renewals.c */
void ilk__etcd_send_renewals(ilk__etcd *client);
void ilk__etcd_renewals_ready(ilk__etcd *client, ilk__grpc_stream *stream);
/* Those that were sent wait again; the stream is gone or is to be freed. */
void ilk__etcd_renewals_again(ilk__etcd *client);

/* etcd_client_watches.c */
void ilk__etcd_send_watches(ilk__etcd *client);
void ilk__etcd_watches_ready(ilk__etcd *client, ilk__grpc_stream *stream);
/* End the watches of a stream; NULL: those that are not sent. */
void ilk__etcd_end_watches(ilk__etcd *client, const ilk__grpc_stream *stream,
                           const ilk__etcd_failure *failure);
/* The connection is lost: move the watches that were sent to `out`. A callback may
 * cancel one of them there. */
void ilk__etcd_split_sent_watches(ilk__etcd *client, ilk__etcd_link *out);
/* End those of a list, each with a callback. */
void ilk__etcd_end_watch_list(ilk__etcd_link *list,
                              const ilk__etcd_failure *failure);

#endif

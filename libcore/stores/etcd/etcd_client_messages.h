/* SPDX-License-Identifier: MIT */
/* etcd_client_messages.h -- encodes etcd's requests and decodes its answers. */
#ifndef ILK__ETCD_CLIENT_MESSAGES_H
#define ILK__ETCD_CLIENT_MESSAGES_H

#include "base/buf.h"
#include "etcd_client.h"

/* ---- requests: each appends one message with its gRPC frame -----------------
 *
 * ILK_ENOMEM; ILK_EINVAL: too long. */

ilk_status ilk__etcd_put_txn(ilk__buf *out, const ilk__etcd_txn *txn,
                             ilk_error *err);
ilk_status ilk__etcd_put_delete(ilk__buf *out, const ilk__etcd_op *op,
                                ilk_error *err);
ilk_status ilk__etcd_put_grant(ilk__buf *out, int64_t lease, int64_t ttl_s,
                               ilk_error *err);
/* LeaseRevoke, LeaseKeepAlive and LeaseTimeToLive begin alike. */
ilk_status ilk__etcd_put_lease(ilk__buf *out, int64_t lease, ilk_error *err);
ilk_status ilk__etcd_put_nothing(ilk__buf *out, ilk_error *err);
ilk_status ilk__etcd_put_login(ilk__buf *out, const char *user,
                               const char *password, ilk_error *err);
ilk_status ilk__etcd_put_watch(ilk__buf *out, int64_t id,
                               const ilk__etcd_watch_request *request,
                               ilk_error *err);
ilk_status ilk__etcd_put_watch_end(ilk__buf *out, int64_t id, ilk_error *err);

/* ---- answers --------------------------------------------------------------- */

enum { ILK__ETCD_LIST_MOST = 128 * 1024 }; /* keys in one answer */

typedef struct ilk__etcd_event {
    int is_delete;
    ilk__etcd_kv kv;
} ilk__etcd_event;

/* A list that grows while an answer is decoded. */
typedef struct ilk__etcd_list {
    void *items;
    size_t count, room;
} ilk__etcd_list;

/* The decoded parts of an answer. Texts point into its message. */
typedef struct ilk__etcd_parts {
    ilk__etcd_list kvs;    /* ilk__etcd_kv */
    ilk__etcd_list ops;    /* ilk__etcd_op_answer */
    ilk__etcd_list events; /* ilk__etcd_event */
    char version[32];
    int no_memory;
} ilk__etcd_parts;

void ilk__etcd_parts_free(ilk__etcd_parts *parts);

typedef struct ilk__etcd_watch_answer {
    int64_t revision, id, compact_revision;
    int created, cancelled;
    ilk__span reason;
    const ilk__etcd_event *events;
    size_t event_count;
} ilk__etcd_watch_answer;

/* Decode into `out`; the caller frees `parts` also after a failure. ILK_EREPLY:
 * the message makes no sense; ILK_ENOMEM. */
ilk_status ilk__etcd_read_txn(ilk__span message, ilk__etcd_parts *parts,
                              ilk__etcd_answer *out);
/* As that of a transaction with this one operation. */
ilk_status ilk__etcd_read_delete(ilk__span message, ilk__etcd_parts *parts,
                                 ilk__etcd_answer *out);
ilk_status ilk__etcd_read_grant(ilk__span message, ilk__etcd_parts *parts,
                                ilk__etcd_answer *out);
ilk_status ilk__etcd_read_revoke(ilk__span message, ilk__etcd_parts *parts,
                                 ilk__etcd_answer *out);
ilk_status ilk__etcd_read_keep_alive(ilk__span message, ilk__etcd_parts *parts,
                                     ilk__etcd_answer *out);
ilk_status ilk__etcd_read_time_to_live(ilk__span message,
                                       ilk__etcd_parts *parts,
                                       ilk__etcd_answer *out);
ilk_status ilk__etcd_read_status(ilk__span message, ilk__etcd_parts *parts,
                                 ilk__etcd_answer *out);
ilk_status ilk__etcd_read_login(ilk__span message, ilk__span *token);
ilk_status ilk__etcd_read_watch(ilk__span message, ilk__etcd_parts *parts,
                                ilk__etcd_watch_answer *out);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * zookeeper_wire.h -- ZooKeeper's encoding (jute), as far as the backend needs it.
 *
 *     frame      length of the rest: int | the rest
 *     request    xid: int | type: int | record
 *     reply      xid: int | zxid: long | code: int | record, if the code is 0
 *     int, long  4 and 8 bytes, the greatest first
 *     bytes      length: int, -1 where there are none | that many bytes
 *     vector     count: int, -1 likewise | that many records
 *
 * The first frame of each side has neither xid nor type: it opens the session. A reader
 * never reads beyond its frame, whatever the lengths inside say; what it cannot read is
 * 0 or empty, and is_bad is set.
 */
#ifndef ILK__ZOOKEEPER_WIRE_H
#define ILK__ZOOKEEPER_WIRE_H

#include "base/buf.h"
#include "net/url_text.h"

#include <stdint.h>

enum {
    /* A longer reply ends the connection; likewise for the other replies of the core. */
    ILK__ZK_FRAME_MOST = 8 * 1024 * 1024,
    ILK__ZK_CHILDREN_MOST = 256 * 1024, /* nodes below one */
    ILK__ZK_ACL_MOST = 1024,            /* entries of an access list */
    ILK__ZK_PASSWORD = 16,              /* bytes, of a session */
    ILK__ZK_HEAD = 16                   /* bytes before the record of a reply */
};

/* The types of requests. */
enum {
    ILK__ZK_TYPE_DELETE = 2,
    ILK__ZK_TYPE_EXISTS = 3,
    ILK__ZK_TYPE_GET = 4,
    ILK__ZK_TYPE_SET = 5,
    ILK__ZK_TYPE_ACL = 6,
    ILK__ZK_TYPE_CHILDREN = 8,
    ILK__ZK_TYPE_SYNC = 9,
    ILK__ZK_TYPE_CREATE = 15,
    ILK__ZK_TYPE_CREATE_CONTAINER = 19,
    ILK__ZK_TYPE_LOGIN = 100,
    ILK__ZK_TYPE_CLOSE = -11
};

/* Numbers of replies that are no request's; others are not negative. */
enum { ILK__ZK_XID_EVENT = -1, ILK__ZK_XID_LOGIN = -4 };

/* How a node is created. */
enum {
    ILK__ZK_PERSISTENT = 0,
    ILK__ZK_EPHEMERAL = 1,
    ILK__ZK_EPHEMERAL_SEQUENTIAL = 3,
    ILK__ZK_CONTAINER = 4
};

/* Of watches. */
typedef enum ilk__zk_event {
    ILK__ZK_NODE_CREATED = 1,
    ILK__ZK_NODE_DELETED = 2,
    ILK__ZK_NODE_CHANGED = 3,
    ILK__ZK_CHILDREN_CHANGED = 4
} ilk__zk_event;

/* Codes of replies. Positive ones are this client's own. */
enum {
    ILK__ZK_OK = 0,
    ILK__ZK_UNIMPLEMENTED = -6,
    ILK__ZK_REFUSAL = -100, /* from here on the server has decided */
    ILK__ZK_NO_NODE = -101,
    ILK__ZK_NO_AUTH = -102,
    ILK__ZK_BAD_VERSION = -103,
    ILK__ZK_NODE_EXISTS = -110,
    ILK__ZK_SESSION_EXPIRED = -112,
    ILK__ZK_AUTH_FAILED = -115,
    ILK__ZK_SESSION_MOVED = -118,
    ILK__ZK_THROTTLED = -127,
    ILK__ZK_CODE_LEAST = -999, /* no server has such a code, or a lower one */

    ILK__ZK_NO_MEMORY = 1,
    ILK__ZK_NOT_CONNECTED = 2,
    ILK__ZK_LOST = 3,   /* the connection, before the answer */
    ILK__ZK_CLOSING = 4 /* this client */
};

/* A text without an end of line, for each number. */
const char *ilk__zk_code_text(int code);

typedef struct ilk__zk_stat {
    int64_t czxid, mzxid, owner;
    int32_t version;
} ilk__zk_stat;

/* ---- reading ------------------------------------------------------------- */

typedef struct ilk__zk_reader {
    const char *at;
    size_t left;
    int is_bad;
} ilk__zk_reader;

int32_t ilk__zk_take_int(ilk__zk_reader *from);
int64_t ilk__zk_take_long(ilk__zk_reader *from);
ilk__span ilk__zk_take_bytes(ilk__zk_reader *from); /* into the frame */
ilk__zk_stat ilk__zk_take_stat(ilk__zk_reader *from);
/* A path: no NUL within, '/' at its beginning. */
ilk__span ilk__zk_take_path(ilk__zk_reader *from);
/* The count of a list of such names, which the rest of the frame can have. */
int32_t ilk__zk_take_node_count(ilk__zk_reader *from);
/* The name of a node below another one: not empty, neither '/' nor NUL within. */
ilk__span ilk__zk_take_node(ilk__zk_reader *from);
/* An access list, whole and still encoded. */
ilk__span ilk__zk_take_acl(ilk__zk_reader *from);

/* ILK_OK and the first frame's rest; ILK_EAGAIN: it is not whole yet; ILK_EREPLY: its
 * length makes no sense. */
ilk_status ilk__zk_first_frame(const ilk__buf *in, ilk__span *out,
                               ilk_error *err);

/* ---- writing ------------------------------------------------------------- */

/* Each returns the place behind what it has written. */
char *ilk__zk_put_int(char *to, int32_t number);
char *ilk__zk_put_long(char *to, int64_t number);
char *ilk__zk_put_bytes(char *to, ilk__span bytes);
char *ilk__zk_put_text(char *to, const char *text);

/* A frame for a record of at most `room` bytes: the first returns where the record
 * begins, or NULL: no memory; the second takes the place behind it. */
char *ilk__zk_begin_frame(ilk__buf *out, size_t room);
void ilk__zk_end_frame(ilk__buf *out, const char *end);

#endif

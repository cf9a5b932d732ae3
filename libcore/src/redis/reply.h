/* SPDX-License-Identifier: MIT */
/*
 * reply.h -- a server's reply, which hiredis parses into our own objects.
 *
 * Our object functions limit a reply's nesting (ILK__REPLY_DEPTH), elements
 * (ILK__REPLY_ELEMENTS) and total bytes (ILK__REPLY_BYTES). A hostile peer thus
 * causes an ILK_EREPLY, but cannot make us run out of memory. Maps and sets
 * become arrays.
 */
#ifndef ILK__REPLY_H
#define ILK__REPLY_H

#include "base/error.h"

enum {
    ILK__REPLY_DEPTH = 8,
    ILK__REPLY_ELEMENTS = 65536,
    ILK__REPLY_BYTES = 8 * 1024 * 1024,
    /* of a command, as a server accepts it */
    ILK__COMMAND_ELEMENTS = 1024 * 1024,
    ILK__COMMAND_BYTES = 512 * 1024 * 1024
};

typedef enum ilk__reply_type {
    ILK__REPLY_NIL,
    ILK__REPLY_INT,   /* num; booleans too */
    ILK__REPLY_STR,   /* str, len: bulk, status, verbatim, double, bignum */
    ILK__REPLY_ERROR, /* str, len */
    ILK__REPLY_ARRAY, /* items, count */
    ILK__REPLY_PUSH   /* items, count: RESP3 push, replies to no command */
} ilk__reply_type;

typedef struct ilk__reply ilk__reply;
struct ilk__reply {
    ilk__reply_type type;
    int is_status; /* a STR that came as a line, `+OK` */
    int64_t num;
    char *str; /* followed by a NUL */
    size_t len;
    ilk__reply **items;
    size_t count;
};

void ilk__reply_free(ilk__reply *reply); /* the root only; NULL is ignored */

/* The first element of an array, else the reply itself: that is where a script's
 * reply has its number. */
const ilk__reply *ilk__reply_first(const ilk__reply *reply);

/* Whether it is a string of exactly these bytes. */
int ilk__reply_is_text(const ilk__reply *reply, const char *text);

/* The reader: a hiredis redisReader with our object functions and limits; one for
 * commands has a server's limits. NULL: no memory. */
struct redisReader;
struct redisReader *ilk__reader_new(void);
struct redisReader *ilk__reader_new_for_commands(void);
void ilk__reader_free(struct redisReader *reader);
ilk_status ilk__reader_feed(struct redisReader *reader, const void *data,
                            size_t len, ilk_error *err);
/* ILK_OK and the next whole reply, which the caller frees; ILK_EAGAIN: feed
 * more bytes; ILK_EREPLY; ILK_ENOMEM. After a failure every call fails. */
ilk_status ilk__reader_next(struct redisReader *reader, ilk__reply **out,
                            ilk_error *err);

/*
 * The status of an error reply, with the server's text in err:
 *
 *     NOAUTH, WRONGPASS, NOPERM, DENIED            ILK_EAUTH
 *     WRONGTYPE                                    ILK_ETYPE
 *     BUSY                                         ILK_ESERVERBUSY
 *     LOADING                                      ILK_ESERVERLOADING
 *     READONLY, MASTERDOWN, NOREPLICAS, MISCONF    ILK_ESERVERREADONLY
 *     OOM                                          ILK_ESERVERMEMORY
 *     MOVED, ASK, TRYAGAIN, CLUSTERDOWN, CROSSSLOT ILK_ECLUSTER
 *     NOQUORUM (from a gateway)                    ILK_ENOQUORUM
 *     ILKINVALID (from a gateway)                  ILK_EINVAL
 *     ILKDIFFERS (from a gateway)                  ILK_EDIFFERS
 *     ILKNONE (from a gateway)                     ILK_EUNSUPPORTED
 *     ILKDOWN (from a gateway)                     ILK_ECONN
 *     UNBLOCKED (no primary any more)              ILK_ECONN
 *     "max number of clients"                      ILK_ECONN
 *     anything else                                ILK_ESERVER
 *
 * Errors that a script raised are recognised as well, although servers before
 * Redis 7 wrap them in an ERR (see reply_error.c).
 */
ilk_status ilk__reply_error(const ilk__reply *reply, ilk_error *err);
int ilk__reply_is_error(const ilk__reply *reply, const char *prefix);

#endif

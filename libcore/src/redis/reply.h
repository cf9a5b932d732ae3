/* SPDX-License-Identifier: MIT */
/*
 * reply.h -- what a server answered, read by hiredis into objects of ours.
 *
 * Our object functions refuse nesting over ILK__REPLY_DEPTH, more elements
 * than ILK__REPLY_ELEMENTS and more bytes than ILK__REPLY_BYTES in all, so a
 * hostile peer costs an ILK_EREPLY and no memory. Maps and sets are arrays.
 */
#ifndef ILK__REPLY_H
#define ILK__REPLY_H

#include "base/error.h"

enum {
    ILK__REPLY_DEPTH = 8,
    ILK__REPLY_ELEMENTS = 65536,
    ILK__REPLY_BYTES = 8 * 1024 * 1024
};

typedef enum ilk__reply_type {
    ILK__REPLY_NIL,
    ILK__REPLY_INT,   /* num; booleans too */
    ILK__REPLY_STR,   /* str, len: bulk, status, verbatim, double, bignum */
    ILK__REPLY_ERROR, /* str, len */
    ILK__REPLY_ARRAY, /* items, count */
    ILK__REPLY_PUSH   /* items, count: out of turn */
} ilk__reply_type;

typedef struct ilk__reply ilk__reply;
struct ilk__reply {
    ilk__reply_type type;
    int64_t num;
    char *str; /* NUL behind it */
    size_t len;
    ilk__reply **items;
    size_t count;
};

void ilk__reply_free(ilk__reply *reply); /* the root only; NULL is fine */

/* The reader: a hiredis redisReader with our object functions and limits. */
struct redisReader;
struct redisReader *ilk__reader_new(void); /* NULL: no memory */
void ilk__reader_free(struct redisReader *reader);
ilk_status ilk__reader_feed(struct redisReader *reader, const void *data,
                            size_t len, ilk_error *err);
/* ILK_OK and the next whole reply; ILK_EAGAIN: not yet; ILK_EREPLY;
 * ILK_ENOMEM. Once failed, a reader fails for good. */
ilk_status ilk__reader_next(struct redisReader *reader, ilk__reply **out,
                            ilk_error *err);

/*
 * The status an error reply stands for, and its text in err: NOAUTH,
 * WRONGPASS, NOPERM, DENIED -> ILK_EAUTH (the missing right named);
 * WRONGTYPE -> ILK_ETYPE; BUSY -> ILK_ESERVERBUSY; LOADING; READONLY,
 * MASTERDOWN, NOREPLICAS, MISCONF; OOM; MOVED, ASK, TRYAGAIN, CLUSTERDOWN,
 * CROSSSLOT -> ILK_ECLUSTER; "max number of clients" -> ILK_ECONN; else
 * ILK_ESERVER. Looks inside "ERR ... script: ..." texts too, as Redis 6.2 and
 * 7 wrap errors raised in a script.
 */
ilk_status ilk__reply_error(const ilk__reply *reply, ilk_error *err);
int ilk__reply_is_error(const ilk__reply *reply, const char *prefix);

#endif

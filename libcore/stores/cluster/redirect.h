/* SPDX-License-Identifier: MIT */
/*
 * redirect.h -- reads the errors by which a node of a cluster refuses a request
 * that it has not executed.
 *
 *     MOVED 3999 10.0.0.1:6381     another node serves the slot
 *     ASK 3999 10.0.0.1:6381       another node has the keys of this request
 *     TRYAGAIN, CLUSTERDOWN, LOADING, MASTERDOWN, READONLY
 *                                  the request may be sent again later
 */
#ifndef ILK__REDIRECT_H
#define ILK__REDIRECT_H

#include "redis/reply.h"

enum { ILK__NODE_HOST = 256 };

typedef enum ilk__redirect_kind {
    ILK__REDIRECT_NONE, /* any other reply */
    ILK__REDIRECT_MOVED,
    ILK__REDIRECT_ASK,
    ILK__REDIRECT_LATER
} ilk__redirect_kind;

typedef struct ilk__redirect {
    ilk__redirect_kind kind;
    int slot;
    char host[ILK__NODE_HOST]; /* "": the host of the node that replied */
    int port;
} ilk__redirect;

/* NONE also for a MOVED or ASK that does not have this form. */
ilk__redirect ilk__redirect_read(const ilk__reply *reply);

/* Whether a node's host is a name or an address, of any protocol. */
int ilk__redirect_is_host(const char *host, size_t len);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * sentinel.h -- asks sentinels for the address of a service's primary, as a
 * state machine that a connection drives (conn.c). It never blocks.
 *
 *     next sentinel -> connect, log in -> SENTINEL GET-MASTER-ADDR-BY-NAME
 *          ^                                    |             |
 *          +--- refused, silent, no address ----+             +--> address
 *
 * The search begins with the sentinel that answered last. Each one has a share
 * of the time that is left, so that one that hangs does not use it up.
 */
#ifndef ILK__SENTINEL_H
#define ILK__SENTINEL_H

#include "net/announced.h"
#include "net/url.h"
#include "reply.h"

#include <stdatomic.h>

typedef struct ilk__target ilk__target;
typedef struct ilk__sentinel_search ilk__sentinel_search;

/*
 * The knowledge about the primary that all connections of a client share; all
 * zero at first. Any thread.
 */
typedef struct ilk__primary {
    _Atomic unsigned sentinel; /* the one that answered last */
    _Atomic uint64_t server;   /* of the last switch, by ilk__server_hash() */
    _Atomic uint32_t switches; /* counts those that were announced */
    _Atomic int64_t epoch;     /* the service's greatest epoch read so far */
    ilk__announced announced;  /* which addresses are believed */
} ilk__primary;

/* Set up which addresses are believed, as the URL says. ILK_ESYSTEM. */
ilk_status ilk__primary_init(ilk__primary *primary, const ilk__url *url,
                             ilk_error *err);

/* Whether to believe a sentinel that names this address: the host of a sentinel, and
 * else as ilk__announced_check(). */
ilk_status ilk__primary_check(ilk__primary *primary, const ilk__url *url,
                              const char *host, int port, ilk_error *err);

/* A sentinel has announced that this server is the primary. */
void ilk__primary_switched(ilk__primary *primary, unsigned sentinel,
                           const char *host, int port);

/* Identifies a server by its address; never 0. */
uint64_t ilk__server_hash(const char *host, int port);

/* Whether the texts are a host and a port as a server may have them. */
int ilk__is_address(const char *host, const char *port, int *out_port);

/* The host in a reply to SENTINEL GET-MASTER-ADDR-BY-NAME, and its port. It points into
 * the reply. NULL: the reply is no address. */
const char *ilk__sentinel_address(const ilk__reply *reply, int *out_port);

/* The settings for connections to one sentinel: those of the URL, except
 * address, login and database. `out` borrows all texts. */
void ilk__sentinel_url(ilk__url *out, const ilk__url *url, size_t sentinel);

/* The target is borrowed as long as the search lives. NULL: no memory. */
ilk__sentinel_search *ilk__sentinel_search_new(const ilk__target *target);
void ilk__sentinel_search_free(ilk__sentinel_search *search); /* or NULL */
/* In a forked child: close the descriptor and leave the rest alone. */
void ilk__sentinel_search_disown(ilk__sentinel_search *search);

/*
 * Go on without blocking. ILK_OK: host and port are known, and the next step
 * begins another search. ILK_EAGAIN: call again when fd reports events, or at
 * `until`. ILK_ECONN: no sentinel knows the address, with the reasons;
 * ILK_EAUTH: each one refused the login; ILK_ENOMEM. After a failure the next
 * step begins anew.
 */
ilk_status ilk__sentinel_search_step(ilk__sentinel_search *search,
                                     int64_t deadline, ilk_error *err);
int ilk__sentinel_search_fd(const ilk__sentinel_search *search);
short ilk__sentinel_search_events(const ilk__sentinel_search *search);
int64_t ilk__sentinel_search_until(const ilk__sentinel_search *search);

/* Valid until the next step. */
const char *ilk__sentinel_search_host(const ilk__sentinel_search *search);
int ilk__sentinel_search_port(const ilk__sentinel_search *search);

/* There is no primary at the address found: ask another sentinel next. */
void ilk__sentinel_search_distrust(ilk__sentinel_search *search);

#endif

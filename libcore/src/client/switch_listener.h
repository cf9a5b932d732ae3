/* SPDX-License-Identifier: MIT */
/*
 * switch_listener.h -- the keeper's subscriber connection to one of the
 * sentinels, on which it announces another primary:
 *
 *     +switch-master    service old-host old-port new-host new-port
 *     +promoted-slave   slave name host port @ service old-host old-port
 *
 * The sentinel that carries out a failover publishes +promoted-slave when the
 * replica has become a primary, and +switch-master at the end, up to some seconds
 * later. The others publish +switch-master as soon as they learn of it.
 *
 * The listener sends a PING to a silent sentinel, and goes to the next one if
 * no reply comes: the host may have failed together with the primary's. A
 * switch may be announced meanwhile. Therefore the listener first asks each
 * sentinel for the service's epoch and primary, which counts as a switch unless
 * the epoch is below the greatest that the client has read. A sentinel with
 * such an epoch has been cut off from the others, perhaps with the former
 * primary, and the listener goes to the next one; so it does if a sentinel does
 * not know the service. After +switch-master it asks anew, to read the new
 * epoch.
 *
 * Only the keeper's thread uses it.
 */
#ifndef ILK__SWITCH_LISTENER_H
#define ILK__SWITCH_LISTENER_H

#include "redis/async_conn.h"

typedef struct ilk__switch_listener ilk__switch_listener;

/* The target is borrowed for the listener's life. NULL: no memory. */
ilk__switch_listener *ilk__switch_listener_new(const ilk__target *target);
void ilk__switch_listener_close(ilk__switch_listener *listener);
void ilk__switch_listener_free(ilk__switch_listener *listener); /* or NULL */
/* In a forked child: close the descriptor and leave the rest alone. */
void ilk__switch_listener_abandon(ilk__switch_listener *listener);

/* As ilk__async_conn_prepare() and the rest; run returns 1 when there was news
 * of a switch, which is in target->primary by then. */
int64_t ilk__switch_listener_prepare(ilk__switch_listener *listener,
                                     struct pollfd *pfd);
void ilk__switch_listener_polled(ilk__switch_listener *listener,
                                 const struct pollfd *pfd);
int ilk__switch_listener_run(ilk__switch_listener *listener);
void ilk__switch_listener_flush(ilk__switch_listener *listener);

const ilk__async_conn *ilk__switch_listener_connection(
    const ilk__switch_listener *listener);

#endif

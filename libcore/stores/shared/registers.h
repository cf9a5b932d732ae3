/* SPDX-License-Identifier: MIT */
/*
 * registers.h -- the registers of one client at a store that is no Redis.
 *
 *   the core's requests          this layer                  the store
 *
 *   register_get               ---------------------- read -->
 *   register_set, _delete      ---------------------- change ->
 *   register_wait              lists the waiter ----- watch, read -->
 *     <- STATE, or QUEUED
 *     <- message: change       <--------------------- has_changed
 *   state_refresh, _cancel     from the list; a refresh when the store has answered
 *
 * A waiter is listed before the store reads, and the store watches from then on. So
 * a change between the reading and the reply wakes the waiter, which leaves the list
 * and sends its request again. A watch goes on for a moment after its last
 * waiter, because a waiter comes back after each change.
 *
 * This layer reads the requests and writes the replies and messages; the store does
 * the I/O. All functions are for the gateway's thread.
 */
#ifndef ILK__REGISTERS_H
#define ILK__REGISTERS_H

#include "gateway/register_replies.h"
#include "state_names.h"

typedef struct ilk__registers ilk__registers;

/* A register with requests or waiters of this client. */
typedef struct ilk__register_name {
    ilk__state_name state; /* first */
    void *at_store;        /* the store's own; forget_name() frees it */
    int is_watched;        /* registers.c only */
} ilk__register_name;

/* The work of a store; `self` is the backend's own. */
typedef struct ilk__register_store {
    /* Ends with ilk__register_was_read(). */
    void (*read)(void *self, ilk__register_name *name,
                 ilk__gateway_request *request);
    /* Ends with was_changed(), was_refused() or change_failed(). */
    void (*change)(void *self, ilk__register_name *name,
                   const ilk__register_change *change,
                   ilk__gateway_request *request);
    /* From now on (or no longer), report each change: has_changed(). One that
     * comes after a read that began later than the watch must be reported, also
     * when the watch was interrupted. ILK_ENOMEM: it has not begun. */
    ilk_status (*watch)(void *self, ilk__register_name *name, int begins);
    /* The name is not used any more; its watch has ended. */
    void (*forget_name)(void *self, ilk__register_name *name);
} ilk__register_store;

/* NULL: no memory. */
ilk__registers *ilk__registers_new(ilk__gateway *gateway,
                                   const ilk__register_store *store,
                                   void *self);
/* When the store works on no request any more. Calls forget_name(), not watch(). */
void ilk__registers_free(ilk__registers *registers);

/* A backend's call(). 0: the request is about something else. */
int ilk__registers_call(ilk__registers *registers,
                        ilk__gateway_request *request);
/* The time of the next timer, and what is due. */
int64_t ilk__registers_due(const ilk__registers *registers);
void ilk__registers_fire(ilk__registers *registers, int64_t now);

/* ---- reports ------------------------------------------------------------- */

/* `error`: NULL, or such as "ILKDOWN no server of etcd answers": its first word
 * decides the status, see redis/reply.h. */
void ilk__register_was_read(ilk__register_name *name,
                            ilk__gateway_request *request,
                            const ilk__register_state *state,
                            const char *error);
void ilk__register_was_changed(ilk__register_name *name,
                               ilk__gateway_request *request, int64_t version,
                               ilk__register_doubt doubt);
/* An earlier copy of the request has changed it, to this version. */
void ilk__register_had_changed(ilk__register_name *name,
                               ilk__gateway_request *request, int64_t version);
/* It has another version, or no value to be deleted. */
void ilk__register_was_refused(ilk__register_name *name,
                               ilk__gateway_request *request,
                               const ilk__register_state *state,
                               ilk__register_doubt doubt);
/* NULL: it may have been executed. */
void ilk__register_change_failed(ilk__register_name *name,
                                 ilk__gateway_request *request,
                                 const char *error);
void ilk__register_has_changed(ilk__register_name *name);

#endif

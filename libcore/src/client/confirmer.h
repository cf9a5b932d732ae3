/* SPDX-License-Identifier: MIT */
/*
 * confirmer.h -- confirms new holds at replicas (min_replicas in the URL).
 *
 * Redis replicates asynchronously, so a hold that only the primary has is lost
 * when the primary is. Here a hold is believed after a write of its own, an
 * extend, and after WAIT has reported enough replicas that have this write. As
 * replicas execute all writes in their order, they have the grant as well.
 *
 *     caller              keeper, on a connection for confirmations alone
 *
 *     begin --- NEW ---> extend --> HELD ---.      WAIT n --> ROLE
 *       |                  |  |             |        |
 *     sleep                |  `-- LOST      |        | enough     fewer
 *       |                  |       |        `--------+------.-------.
 *     woken <--- OVER -----+-------+-------------------- ILK_OK  ILK_ENOQUORUM
 *
 * WAIT blocks its connection until the replicas have answered or WAIT_MS have
 * passed, so nothing but confirmations travels on that connection.
 * It counts for all writes before it on its connection. Therefore one WAIT is
 * under way at a time, for all holds whose extends were sent before it; those
 * that come meanwhile share the next one.
 *
 * A WAIT on a connection that has written nothing counts every replica. So it
 * confirms an extend only if that was answered on the same connection, and sent
 * earlier; if the connection breaks in between, the extend is sent again.
 *
 * The reply to WAIT carries no request number, so a surplus integer reply could
 * be taken for it. Therefore ROLE follows, whose reply is an array: the true
 * reply to WAIT then comes in the place of ROLE's and ends the connection
 * (expected_reply.h). ROLE also shows that the server is still a primary.
 *
 * The shared state's mutex guards all of it but the connection.
 */
#ifndef ILK__CONFIRMER_H
#define ILK__CONFIRMER_H

#include "wait/lease.h"

typedef struct ilk__confirmation ilk__confirmation;

/* ---- for the keeper ----------------------------------------------------- */

/* The target is borrowed for the confirmer's life. NULL: no memory. */
ilk__confirmer *ilk__confirmer_new(ilk__shared *shared,
                                   const ilk__target *target, int replicas,
                                   int64_t reply_timeout_ms);
void ilk__confirmer_close(ilk__confirmer *confirmer);
/* Nobody may wait for a confirmation any more. NULL is ignored. */
void ilk__confirmer_free(ilk__confirmer *confirmer);
/* In a forked child: close the descriptor and leave the rest alone. */
void ilk__confirmer_abandon(ilk__confirmer *confirmer);

/* With the mutex: send what is due. Returns when it must be called again. */
int64_t ilk__confirmer_turn(ilk__confirmer *confirmer, int64_t now);
/* Without it: read what has come. */
void ilk__confirmer_run(ilk__confirmer *confirmer);
ilk__async_conn *ilk__confirmer_connection(ilk__confirmer *confirmer);

/* ---- for a request ------------------------------------------------------ */

typedef struct ilk__confirmed {
    int64_t sent_at, lease_ms; /* of the extend; set if it is confirmed */
    int interrupted; /* an interrupt came, and the operation went on */
} ilk__confirmed;

/*
 * Prepare to confirm the hold of this lease, and to extend it to ttl_ms.
 * `waits`: ilk_client_stop() ends the operation. ILK_ENOMEM.
 */
ilk_status ilk__confirmation_new(ilk__confirmation **out, ilk__shared *shared,
                                 const ilk__lease *lease, int64_t ttl_ms,
                                 int64_t deadline, int waits, ilk_error *err);

/*
 * The operation, whose subject is the confirmation, with the same deadline; its
 * parker is the one below. ILK_OK; ILK_ELOST: the server does not have the hold
 * any more; ILK_ENOQUORUM: too few replicas have it, or there was no answer in
 * time; ILK_ECANCELLED; ILK_ECLOSED; others: the server refuses. Signals do not
 * end it.
 */
extern const ilk__op_type ilk__confirm;
ilk__parker *ilk__confirmation_parker(ilk__confirmation *confirmation);
ilk__confirmed ilk__confirmation_result(const ilk__confirmation *confirmation);

/* End the operation with ILK_ECANCELLED. With the mutex held. */
void ilk__confirmation_cancel(ilk__confirmation *confirmation);

/* The operation is over. The extend may still be under way. */
void ilk__confirmation_free(ilk__confirmation *confirmation);

#endif

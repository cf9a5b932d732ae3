/* SPDX-License-Identifier: MIT */
/* client.h -- the client, which owns lanes, shared state, keeper and loop. */
#ifndef ILK__CLIENT_H
#define ILK__CLIENT_H

#include "embedded/embedded.h"
#include "gateway/gateway.h"
#include "keeper.h"
#include "net/tls_store.h"
#include "net/url.h"
#include "op/shared.h"
#include "pubsub/subscriber.h"
#include "redis/lanes.h"

#include <interlock/client.h>

/* A replica to listen to. Of its URL only the host is its own; the other texts
 * are borrowed from the client's URL. */
typedef struct ilk__replica {
    ilk__url url;
    ilk__target target;
} ilk__replica;

struct ilk_client {
    _Atomic int32_t refs;
    _Atomic int32_t closed;
    _Atomic uint32_t stops;      /* odd while the client is stopped */
    _Atomic uint32_t stopped_in; /* the fork generation of the last stop */
    _Atomic uint32_t raising; /* calls that raise the wake-up without a mutex */
    uint32_t generation;      /* ilk__fork_generation() when it was opened */
    uint32_t
        era; /* counts reopenings: holds of an older era are the parent's */
    ilk_client_opts opts;
    ilk__url url;
    char name[64]; /* its connections' name, for CLIENT SETNAME */
    ilk__target target;
    ilk__primary primary; /* with sentinels */
    ilk__tls_store *tls;
    const ilk__backend *backend;  /* NULL: one Redis server */
    struct ilk__gateway *gateway; /* NULL without a backend */
    ilk__replica replicas[ILK__SUBSCRIBERS_MAX - 1];
    size_t replica_count;
    int is_embedded;         /* written before there are other threads */
    int64_t first_answer_ms; /* of a login; 0: connect_timeout_ms */
    char *embedded_dir;      /* NULL: the user's default */
    ilk__embedded *embedded;
    pthread_mutex_t revival; /* guards `embedded` */
    ilk__lanes *lanes;
    ilk__shared *shared;
    ilk__keeper *keeper;
    struct ilk__loop *loop; /* loop.h */
};

/*
 * To be called first by every public function: ILK_EINVAL for NULL,
 * ILK_EFORKED in a child, ILK_ECLOSED after close. Touches no mutex.
 */
ilk_status ilk__client_enter(const ilk_client *client, ilk_error *err);
/* The same for what only some stores offer (ILK_OFFER_...): ILK_EUNSUPPORTED. */
ilk_status ilk__client_enter_for(const ilk_client *client, uint32_t offer,
                                 ilk_error *err);
/* ILK_EUNSUPPORTED for a name that the client's store cannot keep. */
ilk_status ilk__client_accept_name(const ilk_client *client, const void *name,
                                   size_t len, ilk_error *err);
int ilk__client_is_forked(const ilk_client *client);

/* client_replicas.c. find: parse the replicas in url.listen; the rest of the URL
 * must be complete. listen: pass them to the keeper. */
ilk_status ilk__client_find_replicas(ilk_client *client, ilk_error *err);
void ilk__client_listen(ilk_client *client);
void ilk__client_forget_replicas(ilk_client *client);

ilk_client *ilk__client_ref(ilk_client *client);
void ilk__client_unref(ilk_client *client); /* the last one closes it */

#endif

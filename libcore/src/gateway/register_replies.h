/* SPDX-License-Identifier: MIT */
/*
 * register_replies.h -- requests about registers and their replies, for the backends
 * whose store has no scripts of ours.
 */
#ifndef ILK__REGISTER_REPLIES_H
#define ILK__REGISTER_REPLIES_H

#include "backend.h"

typedef struct ilk__register_state {
    int64_t version; /* 0: nothing on record */
    int has_value;
    ilk__span value;
} ilk__register_state;

/* All of it is valid until the request has its reply. */
typedef struct ilk__register_change {
    ilk__span token; /* a repeated change finds what the first copy did */
    int64_t known;   /* the version to change, -1: any */
    int deletes;     /* refused where there is no value */
    ilk__span value;
} ilk__register_change;

/* Whether an earlier copy of a change may have been executed and forgotten: a store
 * remembers the tokens of the last changes only. */
typedef enum ilk__register_doubt {
    ILK__DOUBT_NONE = 0,
    ILK__DOUBT_IF_RETRIED = 1, /* by the core */
    ILK__DOUBT = 2             /* the backend itself has sent it before */
} ilk__register_doubt;

/* After a change: how many clients are still to be notified, and whether the user may
 * not publish to some. */
typedef struct ilk__register_notice {
    int64_t rest, denied;
} ilk__register_notice;

/* Read register_set or register_delete. 0: an argument is wrong, and the request has its
 * reply. */
int ilk__register_read_change(ilk__register_change *out,
                              ilk__gateway_request *request);
/* Whether the change applies: the state has its version and, for a delete, a value. */
int ilk__register_fits(const ilk__register_change *change,
                       const ilk__register_state *state);

/* register_get, and register_wait when the register has another version than the known
 * one. */
void ilk__register_reply_state(ilk__gateway_request *request,
                               const ilk__register_state *state);
/* register_wait: the register still has the known version; is_listed: the waiter is in
 * the list, and gets a message. */
void ilk__register_reply_waits(ilk__gateway_request *request, int is_listed);
void ilk__register_reply_changed(ilk__gateway_request *request, int64_t version,
                                 ilk__register_doubt doubt,
                                 ilk__register_notice notice);
/* An earlier copy of the request has changed the register, to this version. */
void ilk__register_reply_had_changed(ilk__gateway_request *request,
                                     int64_t version,
                                     ilk__register_notice notice);
void ilk__register_reply_refused(ilk__gateway_request *request,
                                 const ilk__register_state *state,
                                 ilk__register_doubt doubt);
/* For an argument that is not a whole number in its range. */
void ilk__register_reply_misuse(ilk__gateway_request *request);

/* ---- of requests --------------------------------------------------------- */

/* The arguments of register_wait. */
enum {
    ILK__REGISTER_WAIT_ENTRY = 0,
    ILK__REGISTER_WAIT_CLIENT = 1,
    ILK__REGISTER_WAIT_LIVENESS = 2,
    ILK__REGISTER_WAIT_KNOWN = 5
};

#endif

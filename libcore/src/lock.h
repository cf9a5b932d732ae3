/* SPDX-License-Identifier: MIT */
/*
 * lock.h -- the lock's handle and its three kinds: plain, reader, Redisson.
 * They differ in their scripts only; see lock_kinds.c.
 */
#ifndef ILK__LOCK_H
#define ILK__LOCK_H

#include "client.h"
#include "lease.h"
#include "wait.h"

#include <interlock/lock.h>

enum { ILK__LOCK_KEYS = 5 }; /* lock, fence, wait, live, readers */

typedef struct ilk__lock_kind {
    const ilk__op_type *acquire, *refresh, *cancel, *release, *extend;
    char waits_as;   /* kind of its entries in the waiting list */
    int barges;      /* has no order to keep */
    int has_channel; /* others publish releases on a channel */
    size_t extend_keys[3];
    size_t extend_key_count;
} ilk__lock_kind;

extern const ilk__op_type ilk__lock_break_op, ilk__many_release_op,
    ilk__many_give_back_op,
    ilk__many_extend_op; /* subjects: ilk__giving; ilk__extension */
extern const ilk__lock_kind ilk__lock_plain, ilk__lock_reader,
    ilk__lock_redisson;

struct ilk_lock {
    ilk_client *client;
    const ilk__lock_kind *kind;
    ilk_lock_opts opts;
    uint32_t era;         /* the client's, when desk-bound parts were set up */
    _Atomic int32_t busy; /* a verb is at work */
    int depth;            /* nested acquires, with ILK_LOCK_REENTRANT */
    ilk__bytes keys[ILK__LOCK_KEYS];
    ilk__bytes extend_keys[3]; /* borrowed from keys */
    ilk__bytes channel;
    char owner[40]; /* Redisson: the client as a UUID, else empty */
    ilk__line line;
    ilk__waiter waiter;
    ilk__lease lease;
    int64_t id;
};

/* Subject of releasing and breaking operations. */
typedef struct ilk__giving {
    const ilk__line *line;
    const char *token;
    size_t token_len;
    int64_t sure_until; /* the local deadline when it was first asked */
    int more, denied;
} ilk__giving;

ilk_status ilk__lock_new(ilk_lock **out, ilk_client *client,
                         const ilk__lock_kind *kind, const void *name,
                         size_t name_len, const ilk_lock_opts *opts,
                         ilk_error *err);

/* The five keys of a name; freed with ilk__lock_keys_free(). */
ilk_status ilk__lock_keys(ilk__bytes keys[ILK__LOCK_KEYS], const void *name,
                          size_t len, ilk_error *err);
void ilk__lock_keys_free(ilk__bytes keys[ILK__LOCK_KEYS]);

/* Fill in what the options leave open, and check them. */
ilk_status ilk__lock_check_opts(ilk_lock_opts *out, const ilk_lock_opts *in,
                                ilk_error *err);
ilk_status ilk__lock_check_ttl(int64_t ttl_ms, ilk_error *err);

/* Set up what belongs to the client's desk; again after a reopening. */
ilk_status ilk__lock_bind(ilk_lock *lock, ilk_error *err);

/* Begin and end of every verb but free and the getters. */
ilk_status ilk__lock_enter(ilk_lock *lock, ilk_error *err);
void ilk__lock_leave(ilk_lock *lock);

/* Acquire under a given token (NULL: a fresh one) without watching it. */
ilk_status ilk__lock_take(ilk_lock *lock, int64_t deadline, int once,
                          int64_t ttl_ms, ilk_error *err);

/* Hold from now on: renewed, or watched when somebody listens. */
void ilk__lock_keep(ilk_lock *lock, int64_t ttl_ms);

/* Ask a releasing or breaking question, and see the next served. */
ilk_status ilk__lock_give(ilk_client *client, const ilk__op_type *type,
                          ilk__giving *giving, ilk_error *err);

/* Ask the server whether this token holds: ILK_OK and the lease, ILK_ELOST. */
ilk_status ilk__lock_ask_hold(const ilk_lock *lock, const char *token,
                              int64_t *out_lease_ms, ilk_error *err);

/* desk->unclaimed: a grant that nobody waits for goes to the next. */
void ilk__lock_unclaimed(ilk__desk *desk, char kind, const char *token,
                         const char *name, size_t name_len);

#endif

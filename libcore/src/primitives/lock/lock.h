/* SPDX-License-Identifier: MIT */
/*
 * lock.h -- the lock's handle and its three kinds: plain, reader, Redisson.
 * They differ in their scripts only; see lock_kinds.c. All else is hold.h.
 */
#ifndef ILK__LOCK_H
#define ILK__LOCK_H

#include "handle/hold.h"
#include "handle/inspect.h"

#include <interlock/lock.h>

enum { ILK__LOCK_KEYS = 5 }; /* lock, fence, wait, live, readers */

extern const char *const ilk__lock_key_kinds[ILK__LOCK_KEYS];
extern const ilk__op_type ilk__lock_break_op; /* subject: an ilk__release */
extern const ilk__hold_kind ilk__lock_plain, ilk__lock_reader,
    ilk__lock_redisson;

struct ilk_lock {
    ilk__hold hold;
    ilk_lock_opts opts;
    ilk__bytes channel; /* Redisson's, for wait_queue.channel */
    char owner[40];     /* Redisson: the client as a UUID, else empty */
};

ilk_status ilk__lock_new(ilk_lock **out, ilk_client *client,
                         const ilk__hold_kind *kind, const void *name,
                         size_t name_len, const ilk_lock_opts *opts,
                         ilk_error *err);

/* The five keys of a name; freed with ilk__lock_keys_free(). */
ilk_status ilk__lock_keys(ilk__bytes keys[ILK__LOCK_KEYS], const void *name,
                          size_t len, ilk_error *err);
void ilk__lock_keys_free(ilk__bytes keys[ILK__LOCK_KEYS]);

/* Fill in what the options leave open, and check them. */
ilk_status ilk__lock_check_opts(ilk_lock_opts *out, const ilk_lock_opts *in,
                                ilk_error *err);
/* What of them the hold wants to know. */
ilk__hold_opts ilk__lock_hold_opts(const ilk_lock_opts *opts);

/* Redisson's layout: the channel of a name, for the wait queue of its
 * handle. */
ilk_status ilk__lock_set_channel(ilk_lock *lock, ilk_error *err);

/* Look at a lock's name, inside a request. */
void ilk__lock_inspect_ask(ilk__request *request, ilk__inspection *inspecting,
                           ilk__request_then *then);

#endif

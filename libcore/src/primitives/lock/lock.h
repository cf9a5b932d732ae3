/* SPDX-License-Identifier: MIT */
/*
 * lock.h -- the lock's handle and its three kinds: plain, reader, Redisson.
 * The kinds differ only in their scripts; see lock_kinds.c. hold.h does the
 * rest.
 */
#ifndef ILK__LOCK_H
#define ILK__LOCK_H

#include "handle/hold.h"
#include "handle/inspect.h"

#include <interlock/lock.h>

enum { ILK__LOCK_KEYS = 5 }; /* lock, fence, wait, live, readers */

extern const char *const ilk__lock_key_kinds[ILK__LOCK_KEYS];
extern const ilk__op_type ilk__lock_break_op; /* subject: an ilk__release */
extern const ilk__inspect_kind ilk__lock_inspect_kind;
extern const ilk__hold_kind ilk__lock_plain, ilk__lock_reader,
    ilk__lock_redisson, ilk__lock_of_many; /* one name of a lock over many */

struct ilk_lock {
    ilk__hold hold;
    ilk_lock_opts opts;
    ilk__bytes channel; /* Redisson: where releases are published */
    char owner[40];     /* Redisson: the client's id as a UUID; else empty */
};

ilk_status ilk__lock_new(ilk_lock **out, ilk_client *client,
                         const ilk__hold_kind *kind, const void *name,
                         size_t name_len, const ilk_lock_opts *opts,
                         ilk_error *err);

/* Make the five keys of a name; free them with ilk__lock_keys_free(). */
ilk_status ilk__lock_keys(ilk__bytes keys[ILK__LOCK_KEYS], const void *name,
                          size_t len, ilk_error *err);
void ilk__lock_keys_free(ilk__bytes keys[ILK__LOCK_KEYS]);

/* Copy the options, fill in defaults and check them. */
ilk_status ilk__lock_check_opts(ilk_lock_opts *out, const ilk_lock_opts *in,
                                ilk_error *err);
/* The part of the options that hold.h uses. */
ilk__hold_opts ilk__lock_hold_opts(const ilk_lock_opts *opts);

/* Redisson's layout: set the channel in the handle's wait queue. */
ilk_status ilk__lock_set_channel(ilk_lock *lock, ilk_error *err);

/* For a step inside a request: inspect a lock's name. */
void ilk__lock_inspect_ask(ilk__request *request, ilk__inspection *inspection,
                           ilk__request_then *then);

#endif

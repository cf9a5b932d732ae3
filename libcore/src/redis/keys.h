/* SPDX-License-Identifier: MIT */
/*
 * keys.h -- from a user's name to the keys that belong to it.
 *
 * The lock lies at the name itself. Side keys lie in the name's slot where
 * one exists and can never meet a name, since names beginning with "ilk:"
 * are refused:
 *
 *     orders      ilk:lock:fence:{orders}      no '}' in the name
 *     {a}b        ilk:lock:fence={a}b          the name has its own tag
 *     x}y, {}x    ilk:lock:fence~x}y           no tag can be shared
 */
#ifndef ILK__KEYS_H
#define ILK__KEYS_H

#include "base/error.h"

typedef struct ilk__bytes {
    char *data; /* with a NUL behind it, for debuggers */
    size_t len;
} ilk__bytes;

/* Refuse an empty name, one over ILK_NAME_MAX bytes or beginning "ilk:". */
ilk_status ilk__name_check(const void *name, size_t len, const char *what,
                           ilk_error *err);

/* "ilk:<kind>" + separator + name, for example kind "lock:fence". */
ilk_status ilk__side_key(ilk__bytes *out, const char *kind, const void *name,
                         size_t len, ilk_error *err);

/*
 * All keys of a thing: each kind's side key, or the name itself where the
 * kind is NULL. The name is checked. Freed with ilk__keys_free(), also after
 * a failure.
 */
ilk_status ilk__keys_make(ilk__bytes *keys, const char *const *kinds,
                          size_t count, const void *name, size_t len,
                          ilk_error *err);
void ilk__keys_free(ilk__bytes *keys, size_t count);

/* The name inside a side key of this kind; 0 when it is no such key. */
int ilk__side_key_name(const char *key, size_t key_len, const char *kind,
                       const char **out_name, size_t *out_len);

/* 1 when the side keys share the name's slot, 0 for the "~" form. */
int ilk__name_has_slot(const void *name, size_t len);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * keys.h -- makes the keys that belong to a user's name.
 *
 * The key of a lock, like a guarded key, is the name itself. The other keys of
 * a name are side keys. A side key has the hash slot of the name wherever a
 * hash tag allows it, and never equals a user's name, because a name must not
 * begin "ilk:".
 *
 *     name        side key, kind lock:fence
 *     orders      ilk:lock:fence:{orders}      no '}': the name becomes the tag
 *     {a}b        ilk:lock:fence={a}b          the name has a tag of its own
 *     x}y, {}x    ilk:lock:fence~x}y           no tag gives both the same slot
 */
#ifndef ILK__KEYS_H
#define ILK__KEYS_H

#include "base/error.h"

typedef struct ilk__bytes {
    char *data; /* followed by a NUL, for debuggers */
    size_t len;
} ilk__bytes;

/* ILK_EINVAL for a name that is empty, longer than ILK_NAME_MAX bytes, or
 * begins "ilk:". `what` names it in the message. */
ilk_status ilk__name_check(const void *name, size_t len, const char *what,
                           ilk_error *err);

/* Makes the side key of a name, for a kind such as "lock:fence". */
ilk_status ilk__side_key(ilk__bytes *out, const char *kind, const void *name,
                         size_t len, ilk_error *err);

/*
 * Makes all keys of an object: for each kind its side key, or the name itself
 * where the kind is NULL. Checks the name. The caller frees the keys with
 * ilk__keys_free(), also after a failure.
 */
ilk_status ilk__keys_make(ilk__bytes *keys, const char *const *kinds,
                          size_t count, const void *name, size_t len,
                          ilk_error *err);
void ilk__keys_free(ilk__bytes *keys, size_t count);

/*
 * Makes the key of a part of an object, such as a key of a store: `front` is the side key
 * of the object, of this kind. ILK_ENOMEM.
 *
 *     ilk:store:key:{orders}/KEY
 *     ilk:store:key={a}b/KEY/3    with the bytes of KEY, because only braces show where
 *                                 a name ends
 *
 * KEY is written by ilk__key_part().
 */
ilk_status ilk__part_key(ilk__bytes *out, const ilk__bytes *front,
                         const char *kind, const void *part, size_t len,
                         ilk_error *err);

/*
 * Write a part of a key, chosen by a user of the object: "%7b" stands for '{', and "%25"
 * for '%'. So no part has the beginning of another name's hash tag, by which rights on
 * keys are given (docs/trust.md). Returns the length; `out` may be NULL.
 */
size_t ilk__key_part(char *out, const void *part, size_t len);

/* Finds the name inside a side key of this kind; 0 when key is not one. The
 * name points into key. */
int ilk__side_key_name(const char *key, size_t key_len, const char *kind,
                       const char **out_name, size_t *out_len);
/* The same for the key of a part. */
int ilk__part_key_name(const char *key, size_t key_len, const char *kind,
                       const char **out_name, size_t *out_len);

/* The name of an object, from the first of its keys, whose kind is this one. Both
 * results are 0 for NULL; out_len may be NULL. */
const char *ilk__key_name(const ilk__bytes *key, const char *kind,
                          size_t *out_len);

/* 1 when the side keys are in the name's slot, 0 for the "~" form. */
int ilk__name_has_slot(const void *name, size_t len);

#endif

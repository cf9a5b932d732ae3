/* SPDX-License-Identifier: MIT */
/*
 * keys.c -- makes the keys that belong to a user's name.
 *
 * A cluster hashes the hash tag of a key, which is the text between its first
 * '{' and the first '}' after that, if it is not empty; else it hashes the
 * whole key. This gives three forms of a side key:
 *
 * - A name without '}' is hashed as a whole, and becomes the tag of its side
 *   keys.
 * - A name that has a tag keeps it inside its side keys.
 * - Any other name is hashed as a whole, but cannot be put between braces
 *   because it contains a '}'. Its side keys are in other slots.
 */
#include "keys.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

typedef enum form {
    FORM_TAGGED, /* ilk:kind:{name} */
    FORM_OWN,    /* ilk:kind=name   */
    FORM_ALONE   /* ilk:kind~name   */
} form;

static const char *const openers[] = {
    [FORM_TAGGED] = ":{", [FORM_OWN] = "=", [FORM_ALONE] = "~"};

static const char prefix[] = "ilk:";
enum { PREFIX_LEN = sizeof prefix - 1 };

static form form_of(const char *name, size_t len)
{
    const char *open, *close;

    if (memchr(name, '}', len) == NULL)
        return FORM_TAGGED;
    open = memchr(name, '{', len);
    if (open == NULL)
        return FORM_ALONE;
    close = memchr(open, '}', len - (size_t)(open - name));
    return close != NULL && close > open + 1 ? FORM_OWN : FORM_ALONE;
}

ilk_status ilk__name_check(const void *name, size_t len, const char *what,
                           ilk_error *err)
{
    if (name == NULL)
        return ilk__fail(err, ILK_EINVAL, "%s must not be NULL", what);
    if (len == 0 || len > ILK_NAME_MAX)
        return ilk__fail(err, ILK_EINVAL, "%s must have 1 to %d bytes, got %zu",
                         what, ILK_NAME_MAX, len);
    if (len >= PREFIX_LEN && memcmp(name, prefix, PREFIX_LEN) == 0)
        return ilk__fail(err, ILK_EINVAL,
                         "%s must not begin with \"ilk:\", got \"%.*s\"", what,
                         len < 40 ? (int)len : 40, (const char *)name);
    return ILK_OK;
}

ilk_status ilk__side_key(ilk__bytes *out, const char *kind, const void *name,
                         size_t len, ilk_error *err)
{
    form f = form_of(name, len);
    size_t kind_len = strlen(kind), open_len = strlen(openers[f]);
    char *at;

    out->len = PREFIX_LEN + kind_len + open_len + len + (f == FORM_TAGGED);
    out->data = at = ilk__malloc(out->len + 1);
    if (at == NULL) {
        out->len = 0;
        return ilk__fail(err, ILK_ENOMEM, "no memory for a key");
    }
    memcpy(at, prefix, PREFIX_LEN);
    memcpy(at += PREFIX_LEN, kind, kind_len);
    memcpy(at += kind_len, openers[f], open_len);
    memcpy(at += open_len, name, len);
    at += len;
    if (f == FORM_TAGGED)
        *at++ = '}';
    *at = '\0';
    return ILK_OK;
}

size_t ilk__key_part(char *out, const void *part, size_t len)
{
    const char *text = part;
    size_t written = 0;

    for (size_t i = 0; i < len; i++) {
        const char one[] = {text[i], '\0'};
        const char *rest = text[i] == '{'   ? "%7b"
                           : text[i] == '%' ? "%25"
                                            : one;

        do {
            if (out)
                out[written] = *rest;
            written++;
        } while (*++rest);
    }
    return written;
}

ilk_status ilk__part_key(ilk__bytes *out, const ilk__bytes *front,
                         const char *kind, const void *part, size_t len,
                         ilk_error *err)
{
    const char *opener = front->data + PREFIX_LEN + strlen(kind);
    const size_t written = ilk__key_part(NULL, part, len);
    char tail[24] = "";
    char *at;

    if (strncmp(opener, openers[FORM_TAGGED], strlen(openers[FORM_TAGGED]))
        != 0)
        snprintf(tail, sizeof tail, "/%zu", written);
    out->len = front->len + 1 + written + strlen(tail);
    out->data = at = ilk__malloc(out->len + 1);
    if (at == NULL) {
        out->len = 0;
        return ilk__fail(err, ILK_ENOMEM, "no memory for a key");
    }
    memcpy(at, front->data, front->len);
    at[front->len] = '/';
    at += front->len + 1;
    at += ilk__key_part(at, part, len);
    memcpy(at, tail, strlen(tail) + 1);
    return ILK_OK;
}

static ilk_status name_key(ilk__bytes *out, const void *name, size_t len,
                           ilk_error *err)
{
    out->data = ilk__memdup(name, len);
    out->len = len;
    return out->data ? ILK_OK : ilk__fail(err, ILK_ENOMEM, "out of memory");
}

ilk_status ilk__keys_make(ilk__bytes *keys, const char *const *kinds,
                          size_t count, const void *name, size_t len,
                          ilk_error *err)
{
    ilk_status st = ilk__name_check(name, len, "name", err);

    memset(keys, 0, count * sizeof *keys);
    for (size_t i = 0; i < count && st == ILK_OK; i++)
        st = kinds[i] ? ilk__side_key(&keys[i], kinds[i], name, len, err)
                      : name_key(&keys[i], name, len, err);
    return st;
}

void ilk__keys_free(ilk__bytes *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ilk__free(keys[i].data);
        keys[i].data = NULL;
    }
}

/* Skip text if *rest begins with it; 0 if it does not. */
static int skip(const char **rest, size_t *len, const char *text)
{
    size_t n = strlen(text);

    if (*len < n || memcmp(*rest, text, n) != 0)
        return 0;
    *rest += n;
    *len -= n;
    return 1;
}

int ilk__side_key_name(const char *key, size_t key_len, const char *kind,
                       const char **out_name, size_t *out_len)
{
    const char *name = key;
    size_t len = key_len;
    form f = FORM_TAGGED;

    if (!skip(&name, &len, prefix) || !skip(&name, &len, kind))
        return 0;
    while (!skip(&name, &len, openers[f]))
        if (f++ == FORM_ALONE)
            return 0;
    if (f == FORM_TAGGED && (len == 0 || name[--len] != '}'))
        return 0;
    if (len == 0 || form_of(name, len) != f)
        return 0;
    *out_name = name;
    *out_len = len;
    return 1;
}

/* How long the key before the part is; 0: this is not the key of a part. */
static size_t front_len(const char *key, size_t len, size_t opener)
{
    size_t at = len, part = 0, unit = 1;

    if (len > opener && key[opener] == ':') {
        const char *close = memchr(key, '}', len);

        return close && (size_t)(close - key) + 1 < len && close[1] == '/'
                   ? (size_t)(close - key) + 1
                   : 0;
    }
    for (; at > 0 && key[at - 1] >= '0' && key[at - 1] <= '9'; unit *= 10) {
        if (len - at > 9)
            return 0;
        part += (size_t)(key[--at] - '0') * unit;
    }
    if (at == len || at < part + 2 || key[at - 1] != '/'
        || key[at - part - 2] != '/')
        return 0;
    return at - part - 2;
}

int ilk__part_key_name(const char *key, size_t key_len, const char *kind,
                       const char **out_name, size_t *out_len)
{
    size_t front = front_len(key, key_len, PREFIX_LEN + strlen(kind));

    return front && ilk__side_key_name(key, front, kind, out_name, out_len);
}

const char *ilk__key_name(const ilk__bytes *key, const char *kind,
                          size_t *out_len)
{
    const char *name = NULL;
    size_t len = 0;

    if (key != NULL && kind == NULL) {
        name = key->data;
        len = key->len;
    } else if (key != NULL) {
        ilk__side_key_name(key->data, key->len, kind, &name, &len);
    }
    if (out_len != NULL)
        *out_len = len;
    return name;
}

int ilk__name_has_slot(const void *name, size_t len)
{
    return form_of(name, len) != FORM_ALONE;
}

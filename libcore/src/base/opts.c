/* SPDX-License-Identifier: MIT */
/*
 * opts.c -- copies structs that begin with their size, between a caller and a
 * library of different versions.
 *
 * New fields are only ever appended, and zero is the default of each field. The
 * struct of an older caller is shorter: the missing fields become zero. The
 * struct of a newer caller is longer: it is accepted as long as the fields that
 * this library does not know are zero.
 */
#include "opts.h"

#include <string.h>

/* All our structs are much smaller; a larger size was not initialised. */
enum { SIZE_LIMIT = 4096 };

static ilk_status check_size(size_t size, const char *what, ilk_error *err)
{
    if (size >= sizeof(size_t) && size <= SIZE_LIMIT)
        return ILK_OK;
    return ilk__fail(err, ILK_EINVAL,
                     "%s: size must be sizeof the struct, got %zu", what, size);
}

ilk_status ilk__opts_copy(void *out, size_t size, const void *in,
                          const char *what, ilk_error *err)
{
    const unsigned char *bytes = in;
    ilk_status st;
    size_t theirs;

    memset(out, 0, size);
    if (in != NULL) {
        memcpy(&theirs, in, sizeof theirs);
        if ((st = check_size(theirs, what, err)) != ILK_OK)
            return st;
        for (size_t i = size; i < theirs; i++)
            if (bytes[i] != 0)
                return ilk__fail(err, ILK_EINVAL,
                                 "%s: byte %zu of %zu sets an option this "
                                 "version does not know",
                                 what, i, theirs);
        memcpy(out, in, theirs < size ? theirs : size);
    }
    memcpy(out, &size, sizeof size);
    return ILK_OK;
}

ilk_status ilk__opts_fill(void *out, const void *ours, size_t size,
                          const char *what, ilk_error *err)
{
    const size_t head = sizeof(size_t);
    ilk_status st;
    size_t theirs, common;

    if (out == NULL)
        return ilk__fail(err, ILK_EINVAL, "%s must not be NULL", what);
    memcpy(&theirs, out, sizeof theirs);
    if ((st = check_size(theirs, what, err)) != ILK_OK)
        return st;

    common = theirs < size ? theirs : size;
    memcpy((char *)out + head, (const char *)ours + head, common - head);
    memset((char *)out + common, 0, theirs - common);
    return ILK_OK;
}

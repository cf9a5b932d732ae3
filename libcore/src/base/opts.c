/* SPDX-License-Identifier: MIT */
/*
 * opts.c -- the one rule by which structs with a size grow.
 *
 * A struct only ever grows at its end, and zero is the default of each field.
 * So what one side does not know is zero for the other: an old caller's
 * missing tail is filled with zeros, a new caller's unknown tail is accepted
 * as long as it asks for nothing.
 */
#include "opts.h"

#include <string.h>

/* No struct of ours comes near this; more is an uninitialised size. */
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

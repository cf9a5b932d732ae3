/* SPDX-License-Identifier: MIT */
/*
 * fuzz_reply.c -- any bytes at all through the reader, in slices.
 *
 * The first byte sets the size of the slices, so that a fuzzer can look for
 * faults that need a cut in the right place. Whole replies are walked; the
 * limits that reply.h promises are checked and abort when they do not hold.
 */
#include "redis/reply.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What one reply has in all. */
typedef struct totals {
    size_t bytes, elements;
    unsigned sum; /* keeps the reads from being optimised away */
} totals;

static void check(int holds)
{
    if (!holds)
        abort();
}

static void walk(const ilk__reply *reply, int depth, totals *all)
{
    int text = reply->type == ILK__REPLY_STR || reply->type == ILK__REPLY_ERROR;

    check(depth <= ILK__REPLY_DEPTH);
    check(text == (reply->str != NULL));
    for (size_t i = 0; text && i < reply->len; i++)
        all->sum += (unsigned char)reply->str[i];
    check(!text || reply->str[reply->len] == '\0');
    all->bytes += reply->len;
    all->elements += reply->count;
    for (size_t i = 0; i < reply->count; i++)
        walk(reply->items[i], depth + 1, all);
}

static void take_replies(struct redisReader *reader, ilk_status *status)
{
    ilk__reply *reply;
    ilk_error err;

    while (*status == ILK_OK) {
        totals all = {0, 0, 0};

        *status = ilk__reader_next(reader, &reply, &err);
        if (*status != ILK_OK) {
            check(reply == NULL);
            break;
        }
        walk(reply, 0, &all);
        check(all.bytes <= ILK__REPLY_BYTES);
        check(all.elements <= ILK__REPLY_ELEMENTS);
        if (reply->type == ILK__REPLY_ERROR)
            check(ilk__reply_error(reply, &err) != ILK_OK);
        ilk__reply_free(reply);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct redisReader *reader;
    ilk_status status = ILK_EAGAIN;
    size_t slice, len;

    if (size < 2 || (reader = ilk__reader_new()) == NULL)
        return 0;
    slice = data[0] == 0 ? size : data[0];
    for (data++, size--; size > 0 && status == ILK_EAGAIN; size -= len) {
        len = slice < size ? slice : size;
        status = ilk__reader_feed(reader, data, len, NULL);
        take_replies(reader, &status);
        data += len;
    }
    check(status == ILK_EAGAIN || status == ILK_EREPLY);
    ilk__reader_free(reader);
    return 0;
}

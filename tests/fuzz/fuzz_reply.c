/* SPDX-License-Identifier: MIT */
/*
 * fuzz_reply.c -- any bytes at all through the reader, in slices and at once.
 *
 * The first byte sets the size of the slices, so that a fuzzer can look for
 * faults that need a cut in the right place. Whole replies are walked, the
 * limits that reply.h promises are checked, and the reader must find the same
 * replies and the same end however the bytes are cut.
 */
#include "fuzz.h"

#include "redis/reply.h"

/* The sizes of one reply in all. */
typedef struct totals {
    size_t bytes, elements;
    unsigned sum; /* keeps the reads from being optimised away */
} totals;

enum { REPLIES_MOST = 4096 };

typedef struct replies {
    ilk__reply *list[REPLIES_MOST];
    size_t count;
    ilk_status end;
} replies;

static void walk(const ilk__reply *reply, int depth, totals *all)
{
    int text = reply->type == ILK__REPLY_STR || reply->type == ILK__REPLY_ERROR;

    CHECK(depth <= ILK__REPLY_DEPTH);
    CHECK(text == (reply->str != NULL));
    for (size_t i = 0; text && i < reply->len; i++)
        all->sum += (unsigned char)reply->str[i];
    CHECK(!text || reply->str[reply->len] == '\0');
    all->bytes += reply->len;
    all->elements += reply->count;
    for (size_t i = 0; i < reply->count; i++)
        walk(reply->items[i], depth + 1, all);
}

static void check_limits(const ilk__reply *reply)
{
    totals all = {0, 0, 0};
    ilk_error err = {0};
    ilk_status status;

    walk(reply, 0, &all);
    CHECK(all.bytes <= ILK__REPLY_BYTES);
    CHECK(all.elements <= ILK__REPLY_ELEMENTS);
    if (reply->type != ILK__REPLY_ERROR)
        return;
    status = ilk__reply_error(reply, &err);
    CHECK(status != ILK_OK && err.code == status);
    CHECK(memchr(err.msg, '\0', sizeof err.msg) && !strchr(err.msg, '\n'));
}

static int same(const ilk__reply *a, const ilk__reply *b)
{
    if (a->type != b->type || a->num != b->num || a->len != b->len
        || a->count != b->count)
        return 0;
    if (a->len != 0 && memcmp(a->str, b->str, a->len) != 0)
        return 0;
    for (size_t i = 0; i < a->count; i++)
        if (!same(a->items[i], b->items[i]))
            return 0;
    return 1;
}

static void take_replies(struct redisReader *reader, replies *out)
{
    ilk__reply *reply;
    ilk_error err;

    while (out->end == ILK_OK) {
        out->end = ilk__reader_next(reader, &reply, &err);
        CHECK((out->end == ILK_OK) == (reply != NULL));
        if (reply == NULL)
            break;
        check_limits(reply);
        if (out->count < REPLIES_MOST)
            out->list[out->count++] = reply;
        else
            ilk__reply_free(reply);
    }
}

static void read_in_slices(const uint8_t *data, size_t size, size_t slice,
                           replies *out)
{
    struct redisReader *reader = ilk__reader_new();
    size_t len;

    CHECK(reader != NULL);
    out->count = 0;
    out->end = ILK_EAGAIN;
    for (; size > 0 && out->end == ILK_EAGAIN; size -= len, data += len) {
        len = slice < size ? slice : size;
        out->end = ilk__reader_feed(reader, data, len, NULL);
        take_replies(reader, out);
    }
    CHECK(out->end == ILK_EAGAIN || out->end == ILK_EREPLY);
    ilk__reader_free(reader);
}

static void free_replies(replies *all)
{
    for (size_t i = 0; i < all->count; i++)
        ilk__reply_free(all->list[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static replies cut, whole;

    if (size < 2)
        return 0;
    read_in_slices(data + 1, size - 1, data[0] == 0 ? size : data[0], &cut);
    read_in_slices(data + 1, size - 1, size, &whole);
    CHECK(cut.end == whole.end);
    CHECK(cut.count == whole.count);
    for (size_t i = 0; i < cut.count; i++)
        CHECK(same(cut.list[i], whole.list[i]));
    free_replies(&cut);
    free_replies(&whole);
    return 0;
}

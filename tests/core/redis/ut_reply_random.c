/* SPDX-License-Identifier: MIT */
/*
 * ut_reply_random.c -- spoilt streams are read or refused, never more.
 *
 * Valid streams are joined, damaged in a few places and fed in slices. Each
 * reply is walked in full, so that a sanitizer sees every byte of it. The
 * seed is printed; ILK_TEST_SEED sets it.
 */
#include "redis/reply.h"

#include <stdlib.h>
#include <string.h>

#include "dice.h"
#include "test.h"

AROUND_ALL(dice_seed, NULL);

enum { ROUNDS = 30000, STREAM = 2048, MAX_DAMAGE = 4 };

static const char *const samples[] = {
    "*4\r\n:1\r\n:30000\r\n:1700000000000000\r\n:17\r\n",
    "+OK\r\n-ERR unknown\r\n:42\r\n$-1\r\n*-1\r\n",
    "$11\r\nhello world\r\n",
    "*3\r\n$1\r\na\r\n*2\r\n:1\r\n+b\r\n$0\r\n\r\n",
    "%2\r\n+server\r\n$5\r\nredis\r\n+proto\r\n:3\r\n",
    "~2\r\n#t\r\n_\r\n,3.25\r\n",
    ">3\r\n+message\r\n$3\r\nch1\r\n$2\r\nhi\r\n",
    "=8\r\ntxt:four\r\n(123456789012345678901\r\n",
    "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:8\r\n",
    "|1\r\n+ttl\r\n:3600\r\n*2\r\n:1\r\n:2\r\n",
};
static const char alphabet[] = "*%~>|$=+-:,#_(\r\n0123456789tfx\0";

static size_t compose(char *out)
{
    size_t len = 0;

    for (uint32_t parts = 1 + dice(4); parts > 0; parts--) {
        const char *part = samples[dice(sizeof samples / sizeof samples[0])];

        memcpy(out + len, part, strlen(part));
        len += strlen(part);
    }
    return len;
}

/* Overwrite, insert, remove or cut, at random places. */
static size_t damage(char *out, size_t len)
{
    for (uint32_t times = dice(MAX_DAMAGE + 1); times > 0 && len > 1; times--) {
        size_t at = dice((uint32_t)len);

        switch (dice(4)) {
        case 0: out[at] = alphabet[dice(sizeof alphabet - 1)]; break;
        case 1:
            memmove(out + at + 1, out + at, len++ - at);
            out[at] = alphabet[dice(sizeof alphabet - 1)];
            break;
        case 2: memmove(out + at, out + at + 1, --len - at); break;
        default: len = at; break;
        }
    }
    return len;
}

/* The sum only keeps the reads from being optimised away. */
static unsigned walk(const ilk__reply *reply, int depth)
{
    unsigned sum = 0;

    assert_in_range(depth, 0, ILK__REPLY_DEPTH);
    assert_in_range(reply->type, ILK__REPLY_NIL, ILK__REPLY_PUSH);
    if (reply->type == ILK__REPLY_STR || reply->type == ILK__REPLY_ERROR)
        for (size_t i = 0; i <= reply->len; i++)
            sum += (unsigned char)reply->str[i];
    else
        assert_null(reply->str);
    if (reply->type != ILK__REPLY_ARRAY && reply->type != ILK__REPLY_PUSH)
        assert_int_equal(reply->count, 0);
    for (size_t i = 0; i < reply->count; i++)
        sum += walk(reply->items[i], depth + 1);
    return sum;
}

static ilk_status read_all(const char *bytes, size_t len, unsigned *sum)
{
    struct redisReader *reader = ilk__reader_new();
    ilk_status status = ILK_OK;
    size_t at = 0, slice;
    ilk_error err = {0};

    while (at < len && (status == ILK_OK || status == ILK_EAGAIN)) {
        ilk__reply *reply;

        slice = 1 + dice((uint32_t)(len - at));
        status = ilk__reader_feed(reader, bytes + at, slice, &err);
        at += slice;
        while (status == ILK_OK) {
            status = ilk__reader_next(reader, &reply, &err);
            if (status == ILK_OK)
                *sum += walk(reply, 0);
            ilk__reply_free(reply);
        }
    }
    ilk__reader_free(reader);
    return status;
}

TEST(spoilt_streams_are_read_or_refused)
{
    unsigned sum = 0, refused = 0, waiting = 0;
    char bytes[STREAM];

    for (int round = 0; round < ROUNDS; round++) {
        size_t len = damage(bytes, compose(bytes));
        /* Of its own size, so that reading beyond is seen. */
        char *copy = malloc(len + 1);
        ilk_status status;

        assert_non_null(copy);
        memcpy(copy, bytes, len);
        status = read_all(copy, len, &sum);
        free(copy);
        refused += status == ILK_EREPLY;
        waiting += status == ILK_EAGAIN;
        assert_true(status == ILK_EREPLY || status == ILK_EAGAIN
                    || (status == ILK_OK && len == 0));
    }
    print_message("%u refused, %u not, sum %u\n", refused, waiting, sum);
    assert_true(refused > ROUNDS / 10); /* or the damage is too mild */
    assert_true(waiting > ROUNDS / 10);
}

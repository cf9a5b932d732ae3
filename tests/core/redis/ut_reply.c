/* SPDX-License-Identifier: MIT */
/* ut_reply.c -- replies of every type are read, and limits are kept. */
#include "base/alloc.h"
#include "redis/reply.h"

#include <hiredis/alloc.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

#define TEXT_ROOM 4096
/* The hiredis of this build, 110 for 1.1. */
#define VERSION (HIREDIS_MAJOR * 100 + HIREDIS_MINOR * 10)
#define LOCK_REPLY "*4\r\n:1\r\n:30000\r\n:1700000000000000\r\n:17\r\n"

static char *put(char *at, const ilk__reply *reply)
{
    static const char marks[] = {[ILK__REPLY_STR] = '$',
                                 [ILK__REPLY_ERROR] = '-',
                                 [ILK__REPLY_ARRAY] = '[',
                                 [ILK__REPLY_PUSH] = '>'};

    if (reply->type == ILK__REPLY_NIL)
        return at + sprintf(at, "nil ");
    if (reply->type == ILK__REPLY_INT)
        return at + sprintf(at, "%lld ", (long long)reply->num);
    *at++ = marks[reply->type];
    if (reply->str != NULL) {
        assert_int_equal(reply->str[reply->len], '\0');
        return at + sprintf(at, "%zu:%s ", reply->len, reply->str);
    }
    for (size_t i = 0; i < reply->count; i++)
        at = put(at, reply->items[i]);
    return at + sprintf(at, "] ");
}

/* All whole replies of a stream as text, then how it ended; its end. */
static char *drain(struct redisReader *reader, char *at)
{
    ilk_error err = {0};
    ilk__reply *reply;
    ilk_status status;

    while ((status = ilk__reader_next(reader, &reply, &err)) == ILK_OK) {
        at = put(at, reply);
        ilk__reply_free(reply);
    }
    assert_null(reply);
    if (status != ILK_EAGAIN) {
        assert_int_equal(status, ILK_EREPLY);
        assert_int_equal(err.code, ILK_EREPLY);
        assert_true(strlen(err.msg) > 10);
        at += sprintf(at, "refused");
    }
    *at = '\0';
    return at;
}

static const struct stream {
    const char *bytes, *text;
} valid[] = {
    {"+OK\r\n", "$2:OK "},
    {"+\r\n", "$0: "},
    {"-ERR no\r\n", "-6:ERR no "},
    {":-9223372036854775808\r\n", "-9223372036854775808 "},
    {":0\r\n:1\r\n", "0 1 "},
    {"$5\r\nhello\r\n", "$5:hello "},
    {"$0\r\n\r\n", "$0: "},
    {"$2\r\n\r\n\r\n", "$2:\r\n "},
    {"$-1\r\n", "nil "},
    {"*-1\r\n", "nil "},
    {"*0\r\n", "[] "},
    {LOCK_REPLY, "[1 30000 1700000000000000 17 ] "},
    {"*3\r\n:1\r\n$1\r\na\r\n*2\r\n$-1\r\n-ERR in\r\n",
     "[1 $1:a [nil -6:ERR in ] ] "},
    {"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:8\r\n",
     "[[[[[[[[8 ] ] ] ] ] ] ] ] "},
    {"_\r\n", "nil "},
    {"#t\r\n#f\r\n", "1 0 "},
    {",1.5\r\n,inf\r\n", "$3:1.5 $3:inf "},
    {"=7\r\ntxt:abc\r\n", "$3:abc "},
    {"%2\r\n+a\r\n:1\r\n+b\r\n%0\r\n", "[$1:a 1 $1:b [] ] "},
    {"~2\r\n:1\r\n:2\r\n", "[1 2 ] "},
    {">2\r\n+message\r\n$1\r\nx\r\n:7\r\n", ">$7:message $1:x ] 7 "},
#if VERSION >= 110
    {"(1234567890123456789012345\r\n", "$25:1234567890123456789012345 "},
#endif
#if VERSION >= 130
    {"|1\r\n+ttl\r\n:5\r\n:9\r\n", "9 "},
#endif
};

enum { VALID = sizeof valid / sizeof valid[0] };

/* At once, and cut in two at every byte. */
TEST(valid_streams_are_read_however_they_are_cut)
{
    char text[TEXT_ROOM], *at;

    for (size_t i = 0; i < VALID; i++) {
        size_t len = strlen(valid[i].bytes);

        for (size_t cut = 0; cut <= len; cut++) {
            struct redisReader *reader = ilk__reader_new();

            ilk__reader_feed(reader, valid[i].bytes, cut, NULL);
            at = drain(reader, text);
            ilk__reader_feed(reader, valid[i].bytes + cut, len - cut, NULL);
            drain(reader, at);
            assert_string_equal(text, valid[i].text);
            ilk__reader_free(reader);
        }
    }
}

TEST(byte_by_byte_a_reply_is_whole_with_its_last_byte)
{
    struct redisReader *reader = ilk__reader_new();
    ilk__reply *reply;

    for (const char *byte = LOCK_REPLY; *byte != '\0'; byte++) {
        assert_int_equal(ilk__reader_feed(reader, byte, 1, NULL), ILK_OK);
        assert_int_equal(ilk__reader_next(reader, &reply, NULL),
                         byte[1] != '\0' ? ILK_EAGAIN : ILK_OK);
    }
    assert_int_equal(reply->items[3]->num, 17);
    ilk__reply_free(reply);
    ilk__reader_free(reader);
}

TEST(nul_bytes_are_bytes)
{
    struct redisReader *reader = ilk__reader_new();
    ilk__reply *reply;

    ilk__reader_feed(reader, "$3\r\na\0b\r\n", 9, NULL);
    assert_int_equal(ilk__reader_next(reader, &reply, NULL), ILK_OK);
    assert_int_equal(reply->len, 3);
    assert_memory_equal(reply->str, "a\0b", 4);
    ilk__reply_free(reply);
    ilk__reader_free(reader);
}

/* Each must be refused with what is here, waiting for no more. */
static const char *const hostile[] = {
    "HTTP/1.1 200 OK\r\n",
    "\r\n",
    "$-2\r\n",
    "*-2\r\n",
    "%-2\r\n",
    ":9223372036854775808\r\n",
    ":1x\r\n",
    ":\r\n",
#if VERSION >= 110 /* older ones are lax with these */
    "#x\r\n",
    "_x\r\n",
    ",1e999\r\n",
    ",\r\n",
#endif
    "*x\r\n",
    "$x\r\n",
    "*65537\r\n",
    "*100000000\r\n",
    "*4294967295\r\n",
    "*9223372036854775807\r\n",
    "%32769\r\n",
    "%9223372036854775807\r\n",
    "~65537\r\n",
    ">65537\r\n",
    "*2\r\n*65535\r\n",
    "*3\r\n*1\r\n:1\r\n*32768\r\n*65536\r\n",
    "$8388609\r\n",
    "$8388609",
    "$9223372036854775807\r\n",
    "$99999999999999999999999999999999",
    "*1\r\n$8388609\r\n",
    "*2\r\n$1\r\na\r\n$8388608\r\n",
    "*1\r\n$0000000000000000000000",
    "=8388609\r\n",
    "=3\r\nabc\r\n",
    "$4\r\nhello\r\n",
    "$6\r\nhello\r\n:1\r\n",
    "*2\r\n$9\r\nqueue*6\r\n:1\r\n",
    "=8\r\ntxt:hello\r\n",
    "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
    "%1\r\n+a\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n~0\r\n",
    "*2\r\n|1\r\n+a\r\n+b\r\n:1\r\n",
    "*1\r\n>1\r\n+message\r\n",
    ":1\r\n:2\r\n:x\r\n",
};

TEST(hostile_streams_are_refused_at_once)
{
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        struct redisReader *reader = ilk__reader_new();
        char text[TEXT_ROOM];
        ilk__reply *reply;
        ilk_error err;

        assert_int_equal(
            ilk__reader_feed(reader, hostile[i], strlen(hostile[i]), NULL),
            ILK_OK);
        drain(reader, text);
        if (strstr(text, "refused") == NULL)
            fail_msg("not refused: %s", hostile[i]);

        /* And it stays so, whatever comes. */
        assert_int_equal(ilk__reader_feed(reader, "+OK\r\n", 5, &err),
                         ILK_EREPLY);
        assert_int_equal(ilk__reader_next(reader, &reply, &err), ILK_EREPLY);
        assert_null(reply);
        ilk__reader_free(reader);
    }
}

/* Its length is wrong, or bytes were lost: nothing may be delivered. */
TEST(a_string_without_an_end_is_refused)
{
    static const char *const streams[] = {
        "$4\r\nhello\r\n",         "$6\r\nhello\r\n:1\r\n",
        "$9\r\nmessage\r\n:1\r\n", "*2\r\n:1\r\n$9\r\nmess*6\r\n:1\r\n",
        "=8\r\ntxt:hello\r\n",
    };

    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        struct redisReader *reader = ilk__reader_new();
        char text[TEXT_ROOM];

        ilk__reader_feed(reader, streams[i], strlen(streams[i]), NULL);
        drain(reader, text);
        assert_string_equal(text, "refused");
        ilk__reader_free(reader);
    }
}

/* Feed count times the same bytes; the status that ended it. */
static ilk_status feed_many(struct redisReader *reader, const char *bytes,
                            size_t count)
{
    ilk_status status = ILK_OK;
    ilk__reply *reply = NULL;

    for (size_t i = 0; i < count; i++) {
        status = ilk__reader_feed(reader, bytes, strlen(bytes), NULL);
        if (status == ILK_OK)
            status = ilk__reader_next(reader, &reply, NULL);
        if (status != ILK_EAGAIN)
            break;
    }
    ilk__reply_free(reply);
    return status;
}

TEST(a_million_levels_are_no_danger)
{
    struct redisReader *reader = ilk__reader_new();
    char *bytes = test_malloc(4000001);
    ilk__reply *reply;

    for (size_t i = 0; i < 1000000; i++)
        memcpy(bytes + 4 * i, "*1\r\n", 5);
    assert_int_equal(ilk__reader_feed(reader, bytes, 4000000, NULL), ILK_OK);
    assert_int_equal(ilk__reader_next(reader, &reply, NULL), ILK_EREPLY);
    ilk__reader_free(reader);
    test_free(bytes);
}

TEST(endless_lines_and_buffers_are_refused)
{
    static char much[1 << 20];
    struct redisReader *reader = ilk__reader_new();
    ilk_status status = ILK_OK;

    ilk__reader_feed(reader, "+", 1, NULL);
    assert_int_equal(feed_many(reader, "0123456789abcdef", 5000), ILK_EREPLY);
    ilk__reader_free(reader);

    /* A user that never reads replies cannot pile them up without end. */
    reader = ilk__reader_new();
    memset(much, '+', sizeof much);
    for (int i = 0; i < 10 && status == ILK_OK; i++)
        status = ilk__reader_feed(reader, much, sizeof much, NULL);
    assert_int_equal(status, ILK_EREPLY);
    ilk__reader_free(reader);
}

TEST(the_largest_replies_are_read)
{
    struct redisReader *reader = ilk__reader_new();
    size_t size = ILK__REPLY_BYTES;
    char *bytes = test_malloc(size);
    ilk__reply *reply;

    memset(bytes, 'x', size);
    for (int again = 0; again < 2; again++) { /* counts begin anew */
        ilk__reader_feed(reader, "$8388608\r\n", 10, NULL);
        ilk__reader_feed(reader, bytes, size, NULL);
        assert_int_equal(ilk__reader_next(reader, &reply, NULL), ILK_EAGAIN);
        ilk__reader_feed(reader, "\r\n", 2, NULL);
        assert_int_equal(ilk__reader_next(reader, &reply, NULL), ILK_OK);
        assert_int_equal(reply->len, size);
        ilk__reply_free(reply);
    }
    for (int again = 0; again < 2; again++) {
        ilk__reader_feed(reader, "*65536\r\n", 8, NULL);
        assert_int_equal(feed_many(reader, "$3\r\nabc\r\n", 65536), ILK_OK);
    }
    ilk__reader_free(reader);
    test_free(bytes);
}

TEST(a_small_reply_costs_one_allocation)
{
    static const char *const costs[] = {
        LOCK_REPLY,
        "+OK\r\n",
        "$32\r\n0123456789abcdef0123456789abcdef\r\n",
        "*2\r\n:1\r\n$16\r\n0123456789abcdef\r\n",
        "*0\r\n",
        "_\r\n",
    };
    struct redisReader *reader = ilk__reader_new();

    for (size_t i = 0; i < sizeof costs / sizeof costs[0]; i++) {
        const char *bytes = costs[i];
        ilk__reply *reply;

        ilk__alloc_fail_at(0);
        ilk__reader_feed(reader, bytes, strlen(bytes), NULL);
        assert_int_equal(ilk__reader_next(reader, &reply, NULL), ILK_OK);
        assert_int_equal(ilk__alloc_count(), 1);
        ilk__reply_free(reply);
    }
    ilk__reader_free(reader);
}

static ilk_status read_once(const char *bytes)
{
    struct redisReader *reader = ilk__reader_new();
    ilk_status status = ILK_ENOMEM;
    ilk__reply *reply = NULL;
    ilk_error err;

    if (reader == NULL)
        return status;
    status = ilk__reader_feed(reader, bytes, strlen(bytes), &err);
    if (status == ILK_OK)
        status = ilk__reader_next(reader, &reply, &err);
    if (status != ILK_OK) {
        assert_int_equal(err.code, ILK_ENOMEM);
        assert_int_equal(ilk__reader_next(reader, &reply, NULL), ILK_ENOMEM);
        assert_int_equal(ilk__reader_feed(reader, "", 0, NULL), ILK_ENOMEM);
    }
    ilk__reply_free(reply);
    ilk__reader_free(reader);
    return status;
}

/* hiredis' own allocations are failed as well. */
TEST(every_failing_allocation_is_reported)
{
    hiredisAllocFuncs ours = {ilk__malloc, ilk__calloc, ilk__realloc,
                              ilk__strdup, ilk__free};
    static char bytes[40000] = "*3\r\n$20000\r\n";
    ilk_status status = ILK_ENOMEM;
    long number;

    memset(bytes + strlen(bytes), 'x', 20000);
    strcat(bytes, "\r\n*2\r\n+a\r\n*1\r\n:1\r\n$9000\r\n");
    memset(bytes + strlen(bytes), 'y', 9000);
    strcat(bytes, "\r\n");
    hiredisSetAllocators(&ours);
    for (number = 1; status == ILK_ENOMEM; number++) {
        ilk__alloc_fail_at(number);
        status = read_once(bytes);
    }
    ilk__alloc_fail_at(0);
    hiredisResetAllocators();
    assert_int_equal(status, ILK_OK);
    assert_true(number > 10);
}

TEST(nothing_is_freed_harmlessly)
{
    ilk__reply_free(NULL);
    ilk__reader_free(NULL);
}

/* SPDX-License-Identifier: MIT */
/* raw.h -- what the programs on raw hiredis share: words, sent and answered. */
#ifndef BENCH_RAW_H
#define BENCH_RAW_H

#include "bench.h"

#include <hiredis/hiredis.h>
#include <string.h>

enum { WORDS_MAX = 160 };

typedef struct words {
    const char *word[WORDS_MAX];
    size_t len[WORDS_MAX];
    int count;
} words;

static inline void add_bytes(words *w, const char *bytes, size_t len)
{
    w->word[w->count] = bytes;
    w->len[w->count++] = len;
}

static inline void add(words *w, const char *text)
{
    add_bytes(w, text, strlen(text));
}

/* What our client says behind the token of one who tries a lock once. */
static inline void add_acquire(words *w)
{
    static const char *const rest[] = {"30000", "host:1234", "0", "",
                                       "0123456789abcdef"};

    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        add(w, rest[i]);
}

static inline redisContext *dial(const char *host, const char *port)
{
    redisContext *it = redisConnect(host, atoi(port));

    if (!it || it->err)
        die("hiredis", it ? it->errstr : "out of memory");
    return it;
}

/* The last argument of a script is the number of the request, which comes back
 * with the reply. One number is enough here: replies are read in order. */
enum { REQUEST = 1 };

static inline void add_request(words *w)
{
    add(w, "1");
}

static inline void append(redisContext *redis, words *w)
{
    add_request(w);
    if (redisAppendCommandArgv(redis, w->count, (const char **)w->word, w->len))
        die("hiredis", "out of memory");
}

static inline int is_code(const redisReply *reply, long long code)
{
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements > 0)
        reply = reply->element[0];
    return reply->type == REDIS_REPLY_INTEGER
           && reply->integer == REQUEST * 64 + code;
}

/* Read one reply; it must begin with this code. */
static inline redisReply *read_code(redisContext *redis, long long code)
{
    redisReply *reply = NULL;

    if (redisGetReply(redis, (void **)&reply) || !reply)
        die("hiredis", redis->errstr);
    if (!is_code(reply, code))
        die("not the answer that was expected",
            reply->str ? reply->str : "another code");
    return reply;
}

#endif

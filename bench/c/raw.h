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

static inline redisContext *dial(const char *host, const char *port)
{
    redisContext *it = redisConnect(host, atoi(port));

    if (!it || it->err)
        die("hiredis", it ? it->errstr : "out of memory");
    return it;
}

static inline void append(redisContext *redis, const words *w)
{
    if (redisAppendCommandArgv(redis, w->count, (const char **)w->word, w->len))
        die("hiredis", "out of memory");
}

/* Read one reply and insist on the code that our scripts answer first. */
static inline redisReply *read_code(redisContext *redis, long long code)
{
    redisReply *reply = NULL;

    if (redisGetReply(redis, (void **)&reply) || !reply)
        die("hiredis", redis->errstr);
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 1
        || reply->element[0]->integer != code)
        die("not the answer that was expected",
            reply->str ? reply->str : "another code");
    return reply;
}

#endif

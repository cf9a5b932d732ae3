/* SPDX-License-Identifier: MIT */
/*
 * transaction.c -- a commit of three keys beside WATCH and MULTI: transaction URL PORT
 * SECONDS
 *
 * In turns of a few calls each, so that what else the machine does falls on both: three
 * writes and the commit by the library; by hiredis a WATCH of three keys, which is one
 * round trip, and MULTI, three SETs and EXEC, which are another one; a reading by the
 * library, and a PING.
 */
#include "lines.h"
#include "raw.h"

#include <interlock.h>

enum { TURN = 20, KEYS = 3, SIDES = 4 };

static const char *const keys[KEYS] = {"bench:a", "bench:b", "bench:c"};

static ilk_store *store;
static ilk_txn *reader;
static redisContext *redis;
static ilk_error err;

static void check(ilk_status st)
{
    if (st)
        die("transaction", err.msg);
}

static void commits(void)
{
    ilk_txn *txn = NULL;

    check(ilk_txn_begin(&txn, store, 0, &err));
    for (int i = 0; i < KEYS; i++)
        check(ilk_txn_put(txn, keys[i], 7, "value", 5, &err));
    check(ilk_txn_commit(txn, &err));
    ilk_txn_free(txn);
}

static void reply_of(int type)
{
    redisReply *reply = NULL;

    if (redisGetReply(redis, (void **)&reply) != REDIS_OK
        || reply->type != type)
        die("transaction", reply && reply->str ? reply->str : redis->errstr);
    freeReplyObject(reply);
}

static void watches(void)
{
    redisAppendCommand(redis, "WATCH %s %s %s", keys[0], keys[1], keys[2]);
    reply_of(REDIS_REPLY_STATUS);
    redisAppendCommand(redis, "MULTI");
    for (int i = 0; i < KEYS; i++)
        redisAppendCommand(redis, "SET %s value", keys[i]);
    redisAppendCommand(redis, "EXEC");
    for (int i = 0; i <= KEYS; i++)
        reply_of(REDIS_REPLY_STATUS);
    reply_of(REDIS_REPLY_ARRAY);
}

static void reads(void)
{
    check(ilk_txn_get(reader, keys[0], 7, &err));
}

static void pings(void)
{
    redisAppendCommand(redis, "PING");
    reply_of(REDIS_REPLY_STATUS);
}

static void prepare(const char *url, const char *port)
{
    ilk_client *client = NULL;

    check(ilk_client_open(&client, url, NULL, &err));
    check(ilk_store_open(&store, client, "bench", 5, &err));
    redis = dial("127.0.0.1", port);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*call)(void);
    } sides[SIDES] = {{"commit", commits},
                      {"watch", watches},
                      {"read", reads},
                      {"ping", pings}};
    static diary times[SIDES];
    int64_t began, ends;

    if (argc != 4)
        die("usage", "transaction URL PORT SECONDS");
    prepare(argv[1], argv[2]);
    ends = now_ns() + ns_of(argv[3]);
    while (now_ns() < ends) {
        check(ilk_txn_begin(&reader, store, ILK_TXN_SNAPSHOT, &err));
        for (int side = 0; side < SIDES; side++)
            for (int i = 0; i < TURN; i++) {
                if (side == 2 && i == 0)
                    reads(); /* its first one takes a timestamp */
                began = now_ns();
                sides[side].call();
                note(&times[side], now_ns() - began);
            }
        ilk_txn_free(reader);
    }
    for (int side = 0; side < SIDES; side++)
        printf("%s\"%s\": %.2f", side ? ", " : "{", sides[side].name,
               percentile_us(times[side].times, times[side].count, 0.5));
    puts("}");
    return 0;
}

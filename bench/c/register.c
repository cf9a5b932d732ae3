/* SPDX-License-Identifier: MIT */
/*
 * register.c -- a register beside a bare compare-and-set: register URL PORT SECONDS
 *
 * In turns of a few calls each, so that what else the machine does falls on both:
 * a change and a reading by the library, and by hiredis an EVALSHA that compares
 * a version, writes value and version, and returns; a GET; a PING.
 */
#include "lines.h"
#include "raw.h"

#include <interlock.h>

enum { TURN = 20, SIDES = 5 };

static const char bare[] =
    "if redis.call('HGET',KEYS[1],'version')~=ARGV[1] then return 0 end "
    "redis.call('HSET',KEYS[1],'version',ARGV[2],'value',ARGV[3]) return 1";

static ilk_register *handle;
static redisContext *redis;
static char sha[64];
static long long version;
static ilk_error err;

static void check(ilk_status st)
{
    if (st)
        die("register", err.msg);
}

static void changes(void)
{
    check(ilk_register_cas(handle, ilk_register_version(handle), "value", 5,
                           &err));
}

static void reads(void)
{
    check(ilk_register_get(handle, &err));
}

static redisReply *done(redisReply *reply, int type)
{
    if (!reply || reply->type != type)
        die("register", reply && reply->str ? reply->str : redis->errstr);
    return reply;
}

static void evaluates(void)
{
    redisReply *reply =
        done(redisCommand(redis, "EVALSHA %s 1 bench:bare %lld %lld value", sha,
                          version, version + 1),
             REDIS_REPLY_INTEGER);

    if (reply->integer != 1)
        die("register", "the bare script has not changed its key");
    version++;
    freeReplyObject(reply);
}

static void gets(void)
{
    freeReplyObject(
        done(redisCommand(redis, "GET bench:string"), REDIS_REPLY_STRING));
}

static void pings(void)
{
    freeReplyObject(done(redisCommand(redis, "PING"), REDIS_REPLY_STATUS));
}

static void prepare(const char *url, const char *port)
{
    ilk_client *client = NULL;
    redisReply *reply;

    check(ilk_client_open(&client, url, NULL, &err));
    check(ilk_register_open(&handle, client, "bench", 5, &err));
    check(ilk_register_set(handle, "value", 5, &err));
    redis = dial("127.0.0.1", port);
    freeReplyObject(done(redisCommand(redis, "SET bench:string value"),
                         REDIS_REPLY_STATUS));
    freeReplyObject(done(redisCommand(redis, "HSET bench:bare version 0"),
                         REDIS_REPLY_INTEGER));
    reply =
        done(redisCommand(redis, "SCRIPT LOAD %s", bare), REDIS_REPLY_STRING);
    snprintf(sha, sizeof sha, "%s", reply->str);
    freeReplyObject(reply);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*call)(void);
    } sides[SIDES] = {{"change", changes},
                      {"bare", evaluates},
                      {"read", reads},
                      {"get", gets},
                      {"ping", pings}};
    static diary times[SIDES];
    int64_t began, ends;

    if (argc != 4)
        die("usage", "register URL PORT SECONDS");
    prepare(argv[1], argv[2]);
    ends = now_ns() + ns_of(argv[3]);
    while (now_ns() < ends)
        for (int side = 0; side < SIDES; side++)
            for (int i = 0; i < TURN; i++) {
                began = now_ns();
                sides[side].call();
                note(&times[side], now_ns() - began);
            }
    for (int side = 0; side < SIDES; side++)
        printf("%s\"%s\": %.2f", side ? ", " : "{", sides[side].name,
               percentile_us(times[side].times, times[side].count, 0.5));
    puts("}");
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * limit_queue.c -- the limit: hiredis sends what our client sends for a
 * queue, the same scripts with the same words, some calls at once on one
 * connection, and does nothing else: limit_queue HOST PORT PUSH_SHA1
 * RESERVE_SHA1.
 */
#include "lines.h"
#include "raw.h"

enum { BODY = 200, BATCH_MAX = 100, DEPTH = 16, TEXT = 96 };

enum { WRITTEN = 10, EMPTY = 12, JOBS = 13 }; /* include/reply.lua */

/* One of the calls that are under way; a reservation, and the one before. */
typedef struct call {
    char token[33], items[TEXT], once[TEXT];
    size_t count;
} call;

static redisContext *redis;
static const char *push_sha1, *reserve_sha1;
static char body[BODY];
static size_t tokens;

static void make_token(char *token)
{
    snprintf(token, 33, "%032zx", ++tokens);
}

static void begin(words *w, const char *sha1, const char *keys)
{
    w->count = 0;
    add(w, "EVALSHA");
    add(w, sha1);
    add(w, keys);
    add(w, "ilk:queue:{bench}");
    add(w, "ilk:queue:ready:{bench}");
    add(w, "ilk:queue:wait:{bench}");
    add(w, "ilk:queue:live:{bench}");
    add(w, "ilk:queue:delayed:{bench}");
}

static void ask_push(call *it, size_t batch)
{
    char count[16];
    words w;

    make_token(it->token);
    snprintf(it->once, sizeof it->once, "ilk:queue:once:{bench} %s 32",
             it->token);
    snprintf(count, sizeof count, "%zu", batch);
    begin(&w, push_sha1, "6");
    add(&w, it->once);
    add(&w, "fifo");
    add(&w, "60000");
    add(&w, "0");
    add(&w, "6000");
    add(&w, count);
    for (size_t i = 0; i < batch; i++)
        add_bytes(&w, body, BODY);
    append(redis, &w);
}

/* Acknowledge what the same call took before, and take the next ones. */
static void ask_take(call *it, size_t batch)
{
    static const char *const rest[] = {
        "60000", "fifo", "25", "", "0123456789abcdef", "6000", "64", "0"};
    char count[16];
    words w;

    if (it->count)
        snprintf(it->items, sizeof it->items, "a 0 %s 1 %zu %zu 0 ", it->token,
                 it->count, it->count);
    make_token(it->token);
    snprintf(count, sizeof count, "%zu", batch);
    begin(&w, reserve_sha1, "9");
    add(&w, "ilk:queue:leases:{bench}");
    add(&w, "ilk:queue:flight:{bench}");
    add(&w, "ilk:queue:dead:{bench}");
    add(&w, "ilk:queue:died:{bench}");
    add(&w, it->token);
    add(&w, count);
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        add(&w, rest[i]);
    if (it->count)
        add(&w, it->items);
    append(redis, &w);
}

static size_t read_push(call *it, size_t batch)
{
    (void)it;
    freeReplyObject(read_code(redis, WRITTEN));
    return batch;
}

/* How many it took: the elements behind the first five. */
static size_t read_take(call *it, size_t batch)
{
    redisReply *reply = read_code(redis, JOBS);

    it->count = reply->elements - 5;
    if (it->count > batch)
        die("limit_queue", "more messages than asked for");
    freeReplyObject(reply);
    return it->count;
}

/* Nothing is left to take: acknowledge what was taken last. */
static void settle(call *calls)
{
    size_t asked = 0;

    for (int i = 0; i < DEPTH; i++)
        if (calls[i].count) {
            ask_take(&calls[i], 1);
            asked++;
        }
    while (asked--)
        freeReplyObject(read_code(redis, EMPTY));
}

/* Keep some calls under way until all messages are through. */
static void pass(const line *asked, void (*ask)(call *, size_t),
                 size_t (*answered)(call *, size_t))
{
    static const call none;
    call calls[DEPTH];
    size_t batch = (size_t)atol(asked->word[1]);
    size_t messages = (size_t)atol(asked->word[2]), sent = 0, done = 0;
    double cpu = cpu_seconds();
    int64_t began = now_ns();
    unsigned first = 0, next = 0;

    if (batch < 1 || batch > BATCH_MAX || messages % batch)
        die("limit_queue: no such batch", asked->word[1]);
    for (int i = 0; i < DEPTH; i++)
        calls[i] = none;
    while (done < messages) {
        for (; sent < messages && next - first < DEPTH; sent += batch)
            ask(&calls[next++ % DEPTH], batch);
        for (unsigned half = (next - first + 1) / 2; half > 0; half--)
            done += answered(&calls[first++ % DEPTH], batch);
    }
    settle(calls);
    printf("{\"messages\": %zu, \"per_s\": %.1f, \"cpu_us\": %.3f}\n", done,
           (double)done * 1e9 / (double)(now_ns() - began),
           (cpu_seconds() - cpu) * 1e6 / (double)done);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    line asked;

    if (argc != 5)
        die("usage", "limit_queue HOST PORT PUSH_SHA1 RESERVE_SHA1");
    redis = dial(argv[1], argv[2]);
    push_sha1 = argv[3];
    reserve_sha1 = argv[4];
    memset(body, 'x', BODY);
    answer("\"ready\"");
    while (hear(&asked)) {
        if (says(&asked, "push"))
            pass(&asked, ask_push, read_push);
        else if (says(&asked, "take"))
            pass(&asked, ask_take, read_take);
        else
            die("limit_queue: unknown verb", asked.word[0]);
    }
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * limit.c -- the limit: hiredis sends what our client sends for a lock, or
 * for a semaphore of PERMITS, the same scripts with the same words, pipelined
 * on one connection, and does nothing else: limit HOST PORT ACQUIRE_SHA1
 * RELEASE_SHA1 [PERMITS]. Of a crowd's waiters it stands for all; since they
 * enter in the order of their requests, it does not wait for messages. A
 * second connection receives the grants.
 */
#include "lines.h"
#include "raw.h"

#include <pthread.h>
#include <unistd.h>

enum { KEYS = 5, DEPTH = 64, PAIRS_MOST = 256, TEXT = 160 };

enum { HELD = 1, QUEUED = 3, RELEASED = 5 }; /* include/reply.lua */

typedef struct names {
    char key[KEYS][TEXT];
} names;

static redisContext *redis, *inbox;
static const char *acquire_sha1, *release_sha1;
static const char *lease_ms = "30000";
static const char *permits; /* NULL: a lock */
static size_t inside = 1;   /* how many may be in at once */

/* ---- what our client sends ----------------------------------------------- */

static void name_keys(names *it, const char *name)
{
    static const char *const part[KEYS] = {
        "", "fence:", "wait:", "live:", "readers:"};
    const char *kind = permits ? "semaphore" : "lock";

    if (strlen(name) > TEXT / 2)
        die("limit: too long a name", name);
    for (int i = 0; i < KEYS; i++)
        snprintf(it->key[i], TEXT, "ilk:%s:%s{%.90s}", kind, part[i], name);
    if (!permits)
        snprintf(it->key[0], TEXT, "%s", name);
}

static void begin(words *w, const names *of, const char *sha1,
                  const char *token)
{
    int keys = permits ? KEYS - 1 : KEYS;

    w->count = 0;
    add(w, "EVALSHA");
    add(w, sha1);
    add(w, permits ? "4" : "5");
    for (int i = 0; i < keys; i++)
        add(w, of->key[i]);
    add(w, token);
}

/* As waiter `number`, or with a number below 0 as one who tries once. */
static void ask_acquire(const names *of, const char *token, long number)
{
    static const char client[] = "0123456789abcdef";
    static const char *const rest[] = {"0", "6000", "5000", "64"};
    char entry[TEXT] = "";
    words w;

    if (number >= 0)
        snprintf(entry, sizeof entry, "1 %c %s %c%ld %s 30000 1 host:1234",
                 permits ? 'p' : 'x', client, permits ? 'p' : 'x', number,
                 token);
    begin(&w, of, acquire_sha1, token);
    add(&w, lease_ms);
    add(&w, "host:1234");
    add(&w, "0");
    add(&w, entry);
    add(&w, client);
    if (permits) {
        for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
            add(&w, rest[i]);
        add(&w, "1");
        add(&w, permits);
    }
    append(redis, &w);
}

static void ask_release(const names *of, const char *token)
{
    words w;

    begin(&w, of, release_sha1, token);
    if (permits) {
        add(&w, "5000");
        add(&w, "64");
        add(&w, "6000");
        add(&w, "0");
    }
    append(redis, &w);
}

static void expect(long long code)
{
    freeReplyObject(read_code(redis, code));
}

static void make_token(char *token, size_t number)
{
    snprintf(token, 33, "%032zx", number);
}

/* ---- pairs: as many locks at once as there are threads elsewhere -------- */

static void pair_off(const names *of, int depth, size_t number)
{
    char token[PAIRS_MOST][33];

    for (int i = 0; i < depth; i++) {
        make_token(token[i], number + (size_t)i);
        ask_acquire(&of[i], token[i], -1);
    }
    for (int i = 0; i < depth; i++)
        expect(HELD);
    for (int i = 0; i < depth; i++)
        ask_release(&of[i], token[i]);
    for (int i = 0; i < depth; i++)
        expect(RELEASED);
}

static void pairs(const line *asked)
{
    static names of[PAIRS_MOST];
    int depth = atoi(asked->word[2]);
    diary times = {NULL, 0, 0};
    size_t done = 0;
    char name[LINE + 16];
    int64_t start, stop;
    double cpu;

    if (depth < 1 || depth > PAIRS_MOST)
        die("limit: not 1 to 256 at once", asked->word[2]);
    for (int i = 0; i < depth; i++) {
        snprintf(name, sizeof name, "%s-%d", asked->word[1], i);
        name_keys(&of[i], name);
    }
    cpu = cpu_seconds();
    start = now_ns();
    stop = start + ns_of(asked->word[3]);
    for (int64_t began = start, ended; began < stop; began = ended) {
        pair_off(of, depth, done);
        done += (size_t)depth;
        ended = now_ns();
        note(&times, ended - began);
    }
    print_pairs(&times, done, (double)(now_ns() - start) / 1e9,
                cpu_seconds() - cpu);
}

/* ---- crowd: one after the other ------------------------------------------ */

static void *drain(void *arg)
{
    char sink[65536];

    (void)arg;
    while (read(inbox->fd, sink, sizeof sink) > 0)
        continue;
    return NULL;
}

/* Waiter `number` gives back, and asks again. */
static void turn(const names *of, size_t number)
{
    char token[33];

    make_token(token, number);
    ask_release(of, token);
    ask_acquire(of, token, (long)number);
}

/* Read what became of a turn; the next waiter has entered then. */
static void turned(diary *diaries, size_t number, size_t waiters, int64_t since)
{
    int64_t now;

    expect(RELEASED);
    now = now_ns() - since;
    note(&diaries[(number + inside) % waiters], now);
    expect(QUEUED);
    note(&diaries[number], now);
}

/* All stand in line behind those who are in. */
static void line_up(const names *of, diary *diaries, size_t waiters)
{
    char token[33];

    for (size_t done = 0; done < waiters; done += DEPTH) {
        size_t end = done + DEPTH < waiters ? done + DEPTH : waiters;

        for (size_t i = done; i < end; i++) {
            make_token(token, i);
            ask_acquire(of, token, (long)i);
        }
        for (size_t i = done; i < end; i++) {
            expect(i < inside ? HELD : QUEUED);
            note(&diaries[i], 0);
            if (i < inside)
                note(&diaries[i], 0);
        }
    }
}

static void run(const names *of, diary *diaries, size_t waiters,
                int64_t hold_ns, int64_t starts, int64_t ends)
{
    size_t depth = hold_ns ? inside : waiters < DEPTH ? waiters : DEPTH;
    struct timespec stay = {hold_ns / 1000000000, hold_ns % 1000000000};
    size_t sent = 0, read = 0;

    sleep_until(starts);
    while (now_ns() < ends) {
        if (hold_ns)
            nanosleep(&stay, NULL);
        for (; sent < read + depth; sent++)
            turn(of, sent % waiters);
        /* One half, so that the server has the other one meanwhile. */
        for (size_t half = read + (hold_ns ? depth : (depth + 1) / 2);
             read < half; read++)
            turned(diaries, read % waiters, waiters, starts);
    }
    for (; read < sent; read++)
        turned(diaries, read % waiters, waiters, starts);
}

static void crowd(const line *asked)
{
    size_t waiters = (size_t)atol(asked->word[2]);
    int64_t hold_ns = atoll(asked->word[3]) * 1000;
    diary *diaries = calloc(waiters, sizeof *diaries);
    names of;
    line go;

    if (waiters <= inside || !diaries)
        die("limit: nobody would wait", asked->word[2]);
    name_keys(&of, asked->word[1]);
    line_up(&of, diaries, waiters);
    answer("\"standing\"");
    if (!hear(&go) || !says(&go, "go"))
        die("limit", "stands, and was not told to go");
    run(&of, diaries, waiters, hold_ns, ns_of(go.word[1]), ns_of(go.word[2]));
    /* A waiter that sent its request and has not entered was not served. */
    for (size_t i = 0; i < waiters; i++)
        diaries[i].count -= diaries[i].count % 2;
    /* Remove the rest of the wait queue, and the holder. */
    freeReplyObject(redisCommand(redis, "DEL %s %s", of.key[0], of.key[2]));
    print_diaries(diaries, waiters);
    free(diaries);
}

/* ---- much to remember ---------------------------------------------------- */

/* Take that many names for an hour, of a number that no other call took. */
static void fill(const line *asked)
{
    static names of[DEPTH];
    long from = atol(asked->word[2]), to = atol(asked->word[3]);
    char token[33], name[LINE + 32];

    lease_ms = "3600000";
    for (long done = from; done < to; done += DEPTH) {
        long end = done + DEPTH < to ? done + DEPTH : to;

        for (long i = done; i < end; i++) {
            snprintf(name, sizeof name, "%s-%ld", asked->word[1], i);
            name_keys(&of[i - done], name);
            make_token(token, (size_t)i);
            ask_acquire(&of[i - done], token, -1);
        }
        for (long i = done; i < end; i++)
            expect(HELD);
    }
    lease_ms = "30000";
    answer("\"filled\"");
}

/* Line up, and on `turns SECONDS` hand over; on `leave` leave. */
static void stand(const line *asked)
{
    size_t waiters = (size_t)atol(asked->word[2]), turns = 0;
    diary *diaries = calloc(waiters, sizeof *diaries);
    diary times = {NULL, 0, 0};
    names of;
    line next;

    if (waiters <= inside || !diaries)
        die("limit: nobody would wait", asked->word[2]);
    name_keys(&of, asked->word[1]);
    line_up(&of, diaries, waiters);
    for (size_t i = 0; i < waiters; i++)
        free(diaries[i].times);
    free(diaries);
    answer("\"standing\"");
    while (hear(&next) && says(&next, "turns")) {
        double cpu = cpu_seconds();
        int64_t start = now_ns(), began = start, ended;

        do {
            turn(&of, turns++ % waiters);
            expect(RELEASED);
            expect(QUEUED);
            ended = now_ns();
            note(&times, ended - began);
            began = ended;
        } while (began - start < ns_of(next.word[1]));
        print_pairs(&times, times.count, (double)(began - start) / 1e9,
                    cpu_seconds() - cpu);
    }
    freeReplyObject(redisCommand(redis, "DEL %s %s", of.key[0], of.key[2]));
    answer("\"left\"");
}

int main(int argc, char **argv)
{
    pthread_t reader;
    line asked;

    if (argc != 5 && argc != 6)
        die("usage", "limit HOST PORT ACQUIRE_SHA1 RELEASE_SHA1 [PERMITS]");
    permits = argv[5]; /* NULL when it was not given */
    inside = permits ? (size_t)atol(permits) : 1;
    acquire_sha1 = argv[3];
    release_sha1 = argv[4];
    redis = dial(argv[1], argv[2]);
    inbox = dial(argv[1], argv[2]);
    freeReplyObject(
        redisCommand(inbox, "SUBSCRIBE ilk:inbox:0123456789abcdef"));
    if (pthread_create(&reader, NULL, drain, NULL))
        die("limit", "no thread");
    answer("\"ready\"");
    while (hear(&asked)) {
        if (says(&asked, "pairs"))
            pairs(&asked);
        else if (says(&asked, "crowd"))
            crowd(&asked);
        else if (says(&asked, "fill"))
            fill(&asked);
        else if (says(&asked, "stand"))
            stand(&asked);
        else
            die("limit: unknown verb", asked.word[0]);
    }
    return 0;
}

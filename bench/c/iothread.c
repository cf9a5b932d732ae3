/* SPDX-License-Identifier: MIT */
/*
 * iothread.c -- the other way to share a connection: callers leave what they
 * ask with a thread that does all the reading and writing, and are woken by
 * it. iothread HOST PORT SECONDS THREADS ACQUIRE_SHA1 RELEASE_SHA1. It sends
 * the lock's two scripts with the words of our client; hiredis makes and reads
 * them.
 */
#include "raw.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { KEYS = 5, TEXT = 96, THREADS_MAX = 64, SAMPLES = 20000 };

typedef struct caller {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t answered;
    int has_answer;
    long long expected;
    struct caller *next; /* in the order in which answers come */
    char key[KEYS][TEXT];
    int64_t times[SAMPLES];
    size_t pairs;
} caller;

static caller callers[THREADS_MAX];
static const char *acquire_sha1, *release_sha1;
static int64_t ends;

/* Commands that callers passed to the thread and that are not written yet. */
static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER;
static char *out;
static size_t out_len, out_room;
static caller *asked_first, **asked_end = &asked_first;
static int bell;
static _Atomic int asleep, stopping;

/* ---- callers ------------------------------------------------------------- */

static void leave(caller *me, const words *w)
{
    char *command = NULL;
    long long len = redisFormatCommandArgv(&command, w->count,
                                           (const char **)w->word, w->len);

    if (len < 0)
        die("hiredis", "out of memory");
    pthread_mutex_lock(&left);
    if (out_len + (size_t)len > out_room) {
        out_room = 2 * (out_len + (size_t)len);
        out = realloc(out, out_room);
        if (!out)
            die("iothread", "out of memory");
    }
    memcpy(out + out_len, command, (size_t)len);
    out_len += (size_t)len;
    me->next = NULL;
    *asked_end = me;
    asked_end = &me->next;
    pthread_mutex_unlock(&left);
    redisFreeCommand(command);
    if (atomic_exchange(&asleep, 0) && eventfd_write(bell, 1))
        die("iothread", "no bell");
}

static void ask(caller *me, words *w, long long expected)
{
    add_request(w);
    me->expected = expected;
    me->has_answer = 0;
    leave(me, w);
    pthread_mutex_lock(&me->mutex);
    while (!me->has_answer)
        pthread_cond_wait(&me->answered, &me->mutex);
    pthread_mutex_unlock(&me->mutex);
}

static void begin(caller *me, words *w, const char *sha1, const char *token)
{
    w->count = 0;
    add(w, "EVALSHA");
    add(w, sha1);
    add(w, "5");
    for (int i = 0; i < KEYS; i++)
        add(w, me->key[i]);
    add(w, token);
}

static void pair(caller *me)
{
    char token[33];
    words w;

    snprintf(token, sizeof token, "%016zx%016zx", (size_t)(me - callers),
             me->pairs);
    begin(me, &w, acquire_sha1, token);
    add_acquire(&w);
    ask(me, &w, 1);
    begin(me, &w, release_sha1, token);
    ask(me, &w, 5);
}

static void *pair_off(void *arg)
{
    caller *me = arg;
    int64_t began = now_ns(), ended;

    do {
        pair(me);
        ended = now_ns();
        me->times[me->pairs++ % SAMPLES] = ended - began;
        began = ended;
    } while (began < ends);
    return NULL;
}

/* ---- the thread ---------------------------------------------------------- */

static void write_all(int fd, const char *bytes, size_t len)
{
    while (len) {
        ssize_t sent = write(fd, bytes, len);

        if (sent <= 0)
            die("iothread", "the connection broke");
        bytes += sent;
        len -= (size_t)sent;
    }
}

/* Write what was left; those who ask wait for answers in this order. */
static void pass_on(int fd, caller ***waiting_end)
{
    static char *mine;
    static size_t mine_room;
    size_t len = 0;
    char *swap;

    pthread_mutex_lock(&left);
    if (out_len) {
        swap = mine, mine = out, out = swap;
        len = mine_room, mine_room = out_room, out_room = len;
        len = out_len;
        out_len = 0;
        **waiting_end = asked_first;
        *waiting_end = asked_end;
        asked_first = NULL;
        asked_end = &asked_first;
    }
    pthread_mutex_unlock(&left);
    write_all(fd, mine, len);
}

static void tell(caller *it, redisReply *reply)
{
    if (!is_code(reply, it->expected))
        die("not the answer that was expected",
            reply->str ? reply->str : "another code");
    freeReplyObject(reply);
    pthread_mutex_lock(&it->mutex);
    it->has_answer = 1;
    pthread_mutex_unlock(&it->mutex);
    pthread_cond_signal(&it->answered);
}

static void *serve(void *arg)
{
    redisContext *redis = arg;
    struct pollfd fds[] = {{.fd = redis->fd, .events = POLLIN},
                           {.fd = bell, .events = POLLIN}};
    caller *waiting = NULL, **waiting_end = &waiting;
    eventfd_t rung;

    while (!atomic_load(&stopping)) {
        redisReply *reply;

        pass_on(redis->fd, &waiting_end);
        atomic_store(&asleep, 1);
        pass_on(redis->fd, &waiting_end); /* left before it lay down */
        if (poll(fds, 2, 100) < 0)
            die("iothread", "poll");
        atomic_store(&asleep, 0);
        if (fds[1].revents)
            (void)eventfd_read(bell, &rung);
        if (fds[0].revents && redisBufferRead(redis))
            die("hiredis", redis->errstr);
        while (!redisGetReplyFromReader(redis, (void **)&reply) && reply) {
            caller *it = waiting;

            waiting = it->next;
            if (!waiting)
                waiting_end = &waiting;
            tell(it, reply);
        }
    }
    return NULL;
}

/* ---- all ----------------------------------------------------------------- */

static void set_up(caller *me, int number)
{
    static const char *const part[KEYS] = {
        "", "fence:", "wait:", "live:", "readers:"};

    pthread_mutex_init(&me->mutex, NULL);
    pthread_cond_init(&me->answered, NULL);
    snprintf(me->key[0], TEXT, "pairs-%d", number);
    for (int i = 1; i < KEYS; i++)
        snprintf(me->key[i], TEXT, "ilk:lock:%s{pairs-%d}", part[i], number);
}

static void print(int threads, double seconds, double cpu)
{
    static int64_t all[THREADS_MAX * SAMPLES];
    size_t pairs = 0, count = 0;

    for (int i = 0; i < threads; i++) {
        pairs += callers[i].pairs;
        for (size_t k = 0; k < callers[i].pairs && k < SAMPLES; k++)
            all[count++] = callers[i].times[k];
    }
    print_figures(all, count, pairs, seconds, cpu);
}

int main(int argc, char **argv)
{
    redisContext *redis;
    pthread_t server;
    int threads;
    int64_t start;
    double cpu;

    if (argc != 7)
        die("usage", "iothread HOST PORT SECONDS THREADS ACQUIRE RELEASE");
    threads = atoi(argv[4]);
    if (threads < 1 || threads > THREADS_MAX)
        die("iothread: not 1 to 64 threads", argv[4]);
    acquire_sha1 = argv[5];
    release_sha1 = argv[6];
    redis = dial(argv[1], argv[2]);
    bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_create(&server, NULL, serve, redis);
    cpu = cpu_seconds();
    start = now_ns();
    ends = start + (int64_t)(atof(argv[3]) * 1e9);
    for (int i = 0; i < threads; i++) {
        set_up(&callers[i], i);
        if (pthread_create(&callers[i].thread, NULL, pair_off, &callers[i]))
            die("iothread", "no more threads");
    }
    for (int i = 0; i < threads; i++)
        pthread_join(callers[i].thread, NULL);
    print(threads, (double)(now_ns() - start) / 1e9, cpu_seconds() - cpu);
    atomic_store(&stopping, 1);
    pthread_join(server, NULL);
    return 0;
}

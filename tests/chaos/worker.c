/* SPDX-License-Identifier: MIT */
/* worker.c -- a C process of the harness, on the public headers only.
 *
 *     chaos_worker work URL HISTORY NAME SEED THREADS STOP
 *         threads use what there is until the file STOP is there
 *     chaos_worker hold HISTORY OP MILLISECONDS
 *         the program that `interlock lock` runs: says that OP holds, for a while
 *
 * history.py describes the lines; each is one write. */
#include <interlock.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT = 3, READERS = 1000, LINE = 512, MS = 1000000 };
enum { REST_MS = 50, EVENTS_MS = 500 };

static const int64_t leases[] = {200, 200, 200, 600, 1500};
static const int64_t waits[] = {0, 0, 100, 100, 500, 2000, -1};
static const int64_t meetings[] = {100, 500, 1000};

#define ANY(actor, list)                                                       \
    ((list)[(unsigned)rand_r(&(actor)->seed) % (sizeof(list) / sizeof *(list))])

static int history;
static double lateness =
    0.01;                /* of holds that outlast their lease; $CHAOS_LATE */
static int stretch = 1;  /* of the leases; $CHAOS_STRETCH */
static const char *uses; /* what is drawn, $CHAOS_USES; NULL for all */

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void pause_ms(int64_t ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * MS};

    while (nanosleep(&left, &left) != 0)
        ;
}

__attribute__((format(printf, 1, 2))) static void line(const char *format, ...)
{
    char text[LINE];
    int at = snprintf(text, sizeof text, "%lld ", (long long)now_ns());
    va_list args;

    va_start(args, format);
    at += vsnprintf(text + at, sizeof text - (size_t)at - 1, format, args);
    va_end(args);
    text[at++] = '\n';
    if (write(history, text, (size_t)at) != at)
        abort();
}

/* --- One thread, and its operation of the moment. */

typedef struct actor {
    ilk_client *client;
    const char *process;
    int number, count;
    unsigned seed;
    char op[64];
} actor;

static double chance(actor *a)
{
    return rand_r(&a->seed) / (RAND_MAX + 1.0);
}

static void next_op(actor *a)
{
    a->count++;
    snprintf(a->op, sizeof a->op, "%s.%d.%d", a->process, a->number, a->count);
}

static int64_t any_lease(actor *a)
{
    return ANY(a, leases) * stretch;
}

static int may_use(actor *a, uint32_t offer, const char *name)
{
    return ilk_client_offers(a->client, offer) && (!uses || strstr(uses, name));
}

/* The line after a call that succeeds without a value, or fails. */
static int ended(actor *a, ilk_status status)
{
    int no =
        status == ILK_EBUSY || status == ILK_ETIMEOUT || status == ILK_ELOST;

    line("e %s %s", a->op,
         status == ILK_OK ? "ok"
         : no             ? "no"
                          : ilk_status_name(status));
    return status == ILK_OK || no;
}

static void claim(const char *op, int64_t began, int64_t left_ms)
{
    if (left_ms > 0)
        line("s %s until=%lld", op, (long long)(began + left_ms * MS));
}

/* --- A value that rising fences guard. */

static int read_guarded(actor *a, int number, int64_t fence)
{
    ilk_value *value = NULL;
    char key[32];
    size_t len = 0;

    snprintf(key, sizeof key, "guard%d", number);
    next_op(a);
    line("b %s get guard %s fence=%lld", a->op, key, (long long)fence);
    ilk_status st =
        ilk_guard_get(&value, a->client, key, strlen(key), fence, NULL);
    if (st != ILK_OK)
        return ended(a, st);
    const char *data = ilk_value_data(value, &len);
    line("e %s ok data=%.*s seen=%lld", a->op, (int)len, data ? data : "",
         (long long)ilk_value_fence(value));
    ilk_value_free(value);
    return 1;
}

static int look(actor *a)
{
    return read_guarded(a, rand_r(&a->seed) % 4, 0);
}

static void change_guarded(actor *a, int number, int64_t fence)
{
    char key[32];

    read_guarded(a, number, fence);
    snprintf(key, sizeof key, "guard%d", number);
    next_op(a);
    line("b %s put guard %s fence=%lld data=%s", a->op, key, (long long)fence,
         a->op);
    ended(a, ilk_guard_set(a->client, key, strlen(key), fence, a->op,
                           strlen(a->op), NULL));
}

/* --- What locks, semaphores and elections have in common. */

typedef struct hold {
    const char *kind;
    char name[32];
    int units, capacity;
    ilk_lock *lock; /* one of the three */
    ilk_semaphore *semaphore;
    ilk_election *election;
} hold;

static ilk_status hold_acquire(hold *h, int64_t wait)
{
    return h->lock        ? ilk_lock_acquire(h->lock, wait, NULL)
           : h->semaphore ? ilk_semaphore_acquire(h->semaphore, wait, NULL)
                          : ilk_election_campaign(h->election, wait, NULL);
}

static ilk_status hold_extend(hold *h, int64_t ttl)
{
    return h->lock        ? ilk_lock_extend(h->lock, ttl, NULL)
           : h->semaphore ? ilk_semaphore_extend(h->semaphore, ttl, NULL)
                          : ilk_election_renew(h->election, ttl, NULL);
}

static ilk_status hold_release(hold *h)
{
    return h->lock        ? ilk_lock_release(h->lock, NULL)
           : h->semaphore ? ilk_semaphore_release(h->semaphore, NULL)
                          : ilk_election_resign(h->election, NULL);
}

static int64_t hold_remaining_ms(hold *h)
{
    return h->lock        ? ilk_lock_remaining_ms(h->lock)
           : h->semaphore ? ilk_semaphore_remaining_ms(h->semaphore)
                          : ilk_election_remaining_ms(h->election);
}

static int64_t hold_fence(hold *h)
{
    return h->lock        ? ilk_lock_fence(h->lock)
           : h->semaphore ? ilk_semaphore_fence(h->semaphore)
                          : ilk_election_term(h->election);
}

static const char *hold_token(hold *h)
{
    return h->lock        ? ilk_lock_token(h->lock)
           : h->semaphore ? ilk_semaphore_token(h->semaphore)
                          : ilk_election_token(h->election);
}

static void hold_claim(hold *h, const char *op)
{
    int64_t began = now_ns();

    claim(op, began, hold_remaining_ms(h));
}

/* Stay for a while, sometimes beyond the lease; perhaps extend; release. */
static int use_and_release(actor *a, hold *h, int64_t ttl)
{
    char op[sizeof a->op];
    double stay = chance(a);
    int late = chance(a) < lateness;

    memcpy(op, a->op, sizeof op);
    hold_claim(h, op);
    pause_ms(late ? ttl * 13 / 10 : stay < 0.5 ? 0 : (int)(stay * 5));
    hold_claim(h, op);
    int changes = strcmp(h->kind, "lock") == 0 && (late || chance(a) < 0.3);
    if (changes && may_use(a, ILK_OFFER_GUARD, "guard"))
        change_guarded(a, atoi(h->name + strlen("lock")), hold_fence(h));
    if (chance(a) < (late ? 0.7 : 0.3)) {
        int64_t fresh = any_lease(a);

        next_op(a);
        line("b %s extend %s %s hold=%s", a->op, h->kind, h->name, op);
        ilk_status st = hold_extend(h, fresh);
        ended(a, st);
        if (st == ILK_OK) {
            hold_claim(h, op);
            pause_ms(late ? 10 : 0);
            hold_claim(h, op);
        }
    }
    next_op(a);
    line("b %s release %s %s hold=%s", a->op, h->kind, h->name, op);
    return ended(a, hold_release(h));
}

/* Whether no error of the library occurred. */
static int hold_and_release(actor *a, hold *h, int64_t ttl, int renew)
{
    int64_t wait = ANY(a, waits);

    next_op(a);
    line("b %s acquire %s %s wait=%lld ttl=%lld renew=%d units=%d capacity=%d",
         a->op, h->kind, h->name, (long long)wait, (long long)ttl, renew,
         h->units, h->capacity);
    ilk_status st = hold_acquire(h, wait);
    if (st != ILK_OK)
        return ended(a, st);
    line("e %s ok fence=%lld token=%s", a->op, (long long)hold_fence(h),
         hold_token(h));
    return use_and_release(a, h, ttl);
}

static int use_lock(actor *a)
{
    hold h = {.kind = "lock", .units = 1, .capacity = 1};
    ilk_lock_opts opts;
    int renew = chance(a) < 0.6;
    int shared = chance(a) < 0.4 && may_use(a, ILK_OFFER_RWLOCK, "rwlock");
    int writes = shared && chance(a) < 0.4;
    ilk_status st;

    ilk_lock_opts_init(&opts, sizeof opts);
    opts.ttl_ms = any_lease(a);
    opts.flags = renew ? 0 : ILK_LOCK_NO_RENEW;
    if (shared) {
        h.kind = "rw";
        h.capacity = READERS;
        h.units = writes ? READERS : 1;
        snprintf(h.name, sizeof h.name, "rw%d", rand_r(&a->seed) % 2);
        st = (writes ? ilk_rwlock_write_open : ilk_rwlock_read_open)(
            &h.lock, a->client, h.name, strlen(h.name), &opts, NULL);
    } else {
        snprintf(h.name, sizeof h.name, "lock%d", rand_r(&a->seed) % 4);
        st = ilk_lock_open(&h.lock, a->client, h.name, strlen(h.name), &opts,
                           NULL);
    }
    int well = st == ILK_OK && hold_and_release(a, &h, opts.ttl_ms, renew);
    ilk_lock_free(h.lock);
    return well;
}

static int use_semaphore(actor *a)
{
    hold h = {.kind = "semaphore", .name = "sem0", .capacity = LIMIT};
    ilk_semaphore_opts opts;
    int renew = chance(a) < 0.6;

    ilk_semaphore_opts_init(&opts, sizeof opts);
    opts.ttl_ms = any_lease(a);
    opts.permits = h.units = chance(a) < 0.66 ? 1 : 2;
    opts.flags = renew ? 0 : ILK_SEMAPHORE_NO_RENEW;
    int well = ilk_semaphore_open(&h.semaphore, a->client, h.name,
                                  strlen(h.name), LIMIT, &opts, NULL)
                   == ILK_OK
               && hold_and_release(a, &h, opts.ttl_ms, renew);
    ilk_semaphore_free(h.semaphore);
    return well;
}

static int use_election(actor *a)
{
    hold h = {.kind = "election", .name = "elect0", .units = 1, .capacity = 1};
    ilk_election_opts opts;
    int renew = chance(a) < 0.6;

    ilk_election_opts_init(&opts, sizeof opts);
    opts.ttl_ms = any_lease(a);
    opts.flags = renew ? 0 : ILK_ELECTION_NO_RENEW;
    int well = ilk_election_open(&h.election, a->client, h.name, strlen(h.name),
                                 &opts, NULL)
                   == ILK_OK
               && hold_and_release(a, &h, opts.ttl_ms, renew);
    ilk_election_free(h.election);
    return well;
}

/* --- Events, signals and barriers. */

/* An event of its own for each half second; some wait for the next one. */
static int use_event(actor *a)
{
    ilk_event *event = NULL;
    char name[32];
    int sets = chance(a) < 0.4;
    int64_t wait = ANY(a, meetings);

    snprintf(name, sizeof name, "event%lld",
             (long long)(now_ns() / (EVENTS_MS * MS)) + !sets);
    if (ilk_event_open(&event, a->client, name, strlen(name), NULL, NULL)
        != ILK_OK)
        return 0;
    next_op(a);
    line("b %s %s event %s", a->op, sets ? "set" : "wait", name);
    int well = ended(a, sets ? ilk_event_set(event, NULL, 0, NULL)
                             : ilk_event_wait(event, wait, NULL));
    ilk_event_free(event);
    return well;
}

static int notify(actor *a, ilk_signal *signal, const char *name)
{
    int64_t reached = 0;

    next_op(a);
    line("b %s notify signal %s", a->op, name);
    ilk_status st =
        ilk_signal_notify_one(&reached, signal, a->op, strlen(a->op), NULL);
    if (st != ILK_OK)
        return ended(a, st);
    line("e %s ok reached=%lld", a->op, (long long)reached);
    return 1;
}

static int wait_for_signal(actor *a, ilk_signal *signal, const char *name)
{
    ilk_arrival *arrival = NULL;
    char listen[sizeof a->op];
    size_t len = 0;
    int64_t wait = ANY(a, meetings);

    next_op(a);
    memcpy(listen, a->op, sizeof listen);
    line("b %s listen signal %s", listen, name);
    ilk_status st = ilk_signal_listen(signal, NULL);
    if (!ended(a, st))
        return 0;
    next_op(a);
    line("b %s wait signal %s hold=%s ms=%lld", a->op, name, listen,
         (long long)wait);
    st = ilk_signal_wait(&arrival, signal, wait, NULL);
    if (st != ILK_OK)
        return ended(a, st);
    const char *data = ilk_arrival_data(arrival, 0, &len);
    line("e %s ok data=%.*s", a->op, (int)len, data);
    ilk_arrival_free(arrival);
    return 1;
}

static int use_signal(actor *a)
{
    ilk_signal *signal = NULL;
    char name[32];

    snprintf(name, sizeof name, "signal%d", rand_r(&a->seed) % 2);
    int well =
        ilk_signal_open(&signal, a->client, name, strlen(name), NULL, NULL)
            == ILK_OK
        && (chance(a) < 0.4 ? notify : wait_for_signal)(a, signal, name);
    ilk_signal_free(signal);
    return well;
}

/* The name says how many parties there are. */
static int use_barrier(actor *a)
{
    ilk_barrier *barrier = NULL;
    char name[32];
    int parties = 2 + rand_r(&a->seed) % 2;
    int64_t wait = ANY(a, meetings), index = 0;

    snprintf(name, sizeof name, "barrier%d", parties);
    ilk_status st = ilk_barrier_open(&barrier, a->client, name, strlen(name),
                                     parties, NULL, NULL);
    if (st != ILK_OK)
        return 0;
    next_op(a);
    line("b %s wait barrier %s wait=%lld parties=%d", a->op, name,
         (long long)wait, parties);
    st = ilk_barrier_wait(barrier, wait, &index, NULL);
    if (st == ILK_OK)
        line("e %s ok index=%lld", a->op, (long long)index);
    else
        line("e %s %s", a->op, ilk_status_name(st));
    ilk_barrier_free(barrier);
    return st == ILK_OK || st == ILK_EBROKEN || st == ILK_ETIMEOUT;
}

/* --- Queues. */

static int get_register(actor *a, ilk_register *at, const char *name)
{
    const char *value;
    size_t len = 0;

    next_op(a);
    line("b %s get register %s", a->op, name);
    ilk_status st = ilk_register_get(at, NULL);
    if (st != ILK_OK)
        return ended(a, st);
    value = ilk_register_value(at, &len);
    line("e %s ok version=%lld value=%.*s", a->op,
         (long long)ilk_register_version(at), value ? (int)len : 1,
         value ? value : "-");
    return 1;
}

/* Whether it was changed; *well: no error of the library occurred. */
static int cas_register(actor *a, ilk_register *at, const char *name, int *well)
{
    const int64_t known = ilk_register_version(at);

    next_op(a);
    line("b %s cas register %s known=%lld value=%s", a->op, name,
         (long long)known, a->op);
    ilk_status st = ilk_register_cas(at, known, a->op, strlen(a->op), NULL);
    if (st == ILK_OK)
        line("e %s ok version=%lld", a->op,
             (long long)ilk_register_version(at));
    else if (st == ILK_ESTALE)
        line("e %s no", a->op);
    else
        *well = ended(a, st);
    return st == ILK_OK;
}

static int use_register(actor *a)
{
    ilk_register *at = NULL;
    const char *name = "register0";
    int changes = rand_r(&a->seed) % 12;

    if (ilk_register_open(&at, a->client, name, strlen(name), NULL))
        return 0;
    int well = get_register(a, at, name);
    while (well && changes-- > 0 && cas_register(a, at, name, &well))
        ;
    ilk_register_free(at);
    return well;
}

static int push(actor *a, ilk_queue *queue, const char *name)
{
    int64_t id = 0;

    next_op(a);
    line("b %s push queue %s data=%s", a->op, name, a->op);
    return ended(a,
                 ilk_queue_push(&id, queue, a->op, strlen(a->op), NULL, NULL));
}

static int consume(actor *a, ilk_queue *queue, const char *name)
{
    static const int64_t short_waits[] = {0, 100, 500};
    ilk_job *job = NULL;
    char op[sizeof a->op];
    size_t len = 0;

    next_op(a);
    memcpy(op, a->op, sizeof op);
    int64_t wait = ANY(a, short_waits);
    line("b %s reserve queue %s wait=%lld", op, name, (long long)wait);
    ilk_status st = ilk_queue_reserve(&job, queue, wait, any_lease(a), NULL);
    if (st != ILK_OK)
        return ended(a, st);
    const char *data = ilk_job_data(job, &len);
    line("e %s ok data=%.*s attempts=%d", op, (int)len, data,
         (int)ilk_job_attempts(job));
    int64_t began = now_ns();
    claim(op, began, ilk_job_remaining_ms(job));
    if (chance(a) < 0.02)
        pause_ms(300);
    next_op(a);
    line("b %s ack queue %s hold=%s", a->op, name, op);
    int well = ended(a, ilk_job_ack(job, NULL));
    ilk_job_free(job);
    return well;
}

static int use_queue(actor *a)
{
    ilk_queue *queue = NULL;
    ilk_queue_opts opts;
    char name[32];

    ilk_queue_opts_init(&opts, sizeof opts);
    opts.max_attempts = -1;
    snprintf(name, sizeof name, "queue%d", rand_r(&a->seed) % 2);
    int well =
        ilk_queue_open(&queue, a->client, name, strlen(name), &opts, NULL)
            == ILK_OK
        && (chance(a) < 0.5 ? push(a, queue, name) : consume(a, queue, name));
    ilk_queue_free(queue);
    return well;
}

/* --- The programs. */

/* Those that the store offers are drawn by their share of all. */
static const struct {
    double share;
    uint32_t offer;
    const char *name;
    int (*use)(actor *);
} scenarios[] = {
    {0.4, ILK_OFFER_LOCK, "lock", use_lock},
    {0.07, ILK_OFFER_SEMAPHORE, "semaphore", use_semaphore},
    {0.03, ILK_OFFER_ELECTION, "election", use_election},
    {0.03, ILK_OFFER_EVENT, "event", use_event},
    {0.08, ILK_OFFER_REGISTER, "register", use_register},
    {0.1, ILK_OFFER_SIGNAL, "signal", use_signal},
    {0.05, ILK_OFFER_BARRIER, "barrier", use_barrier},
    {0.05, ILK_OFFER_GUARD, "guard", look},
    {1, ILK_OFFER_QUEUE, "queue", use_queue}, /* the rest */
};

static int use_something(actor *a)
{
    for (;;) {
        double what = chance(a);
        int i = 0;

        while (what >= scenarios[i].share)
            what -= scenarios[i++].share;
        if (may_use(a, scenarios[i].offer, scenarios[i].name))
            return scenarios[i].use(a);
    }
}

static const char *stop;

static void *work(void *arg)
{
    actor *a = arg;

    while (access(stop, F_OK) != 0) {
        if (!use_something(a))
            pause_ms(REST_MS);
    }
    return NULL;
}

static int run_work(char **argv)
{
    enum { MOST = 64 };
    int count = atoi(argv[3]);
    actor actors[MOST];
    pthread_t threads[MOST];
    ilk_client *client = NULL;
    ilk_client_opts opts;
    ilk_error err;

    stop = argv[4];
    if (getenv("CHAOS_LATE"))
        lateness = strtod(getenv("CHAOS_LATE"), NULL);
    if (getenv("CHAOS_STRETCH"))
        stretch = atoi(getenv("CHAOS_STRETCH"));
    uses = getenv("CHAOS_USES");
    ilk_client_opts_init(&opts, sizeof opts);
    opts.flags = ILK_CLIENT_LAZY;
    opts.connect_timeout_ms = opts.reply_timeout_ms = 1000;
    if (ilk_client_open(&client, argv[0], &opts, &err) != ILK_OK) {
        fprintf(stderr, "chaos_worker: %s\n", err.msg);
        return 1;
    }
    for (int i = 0; i < count && i < MOST; i++) {
        unsigned seed = (unsigned)atoi(argv[2]) + (unsigned)i;

        actors[i] = (actor){client, argv[1], i, 0, seed, ""};
        if (pthread_create(&threads[i], NULL, work, &actors[i]) != 0)
            abort();
    }
    for (int i = 0; i < count && i < MOST; i++)
        pthread_join(threads[i], NULL);
    ilk_client_free(client);
    return 0;
}

static int run_hold(char **argv)
{
    line("e %s ok fence=%s token=%s", argv[1], getenv("INTERLOCK_FENCE"),
         getenv("INTERLOCK_TOKEN"));
    pause_ms(atoi(argv[2]));
    line("b %s.r release lock %s hold=%s", argv[1], getenv("INTERLOCK_NAME"),
         argv[1]);
    return 0;
}

int main(int argc, char **argv)
{
    int works = argc == 8 && strcmp(argv[1], "work") == 0;

    if (!works && (argc != 5 || strcmp(argv[1], "hold") != 0)) {
        fprintf(stderr, "usage: chaos_worker work|hold ..., see worker.c\n");
        return 64;
    }
    history = open(argv[works ? 3 : 2],
                   O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (history < 0) {
        perror("chaos_worker");
        return 1;
    }
    if (works) {
        argv[3] = argv[2]; /* the URL; the history is open */
        return run_work(argv + 3);
    }
    return run_hold(argv + 2);
}

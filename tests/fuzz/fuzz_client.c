/* SPDX-License-Identifier: MIT */
/* sources: tests/fuzz/client_world.c tests/fuzz/client_server.c */
/* link: -Wl,--wrap=poll,--wrap=__poll_chk,--wrap=ilk__park,--wrap=clock_gettime,--wrap=getrandom,--wrap=ilk__jitter,--wrap=socket,--wrap=connect,--wrap=send,--wrap=recv,--wrap=__recv_chk,--wrap=shutdown,--wrap=close,--wrap=setsockopt,--wrap=getsockopt,--wrap=epoll_ctl,--wrap=pthread_create,--wrap=pthread_join */
/*
 * fuzz_client.c -- a whole client whose server and network the input decides.
 *
 * The input is two sequences of choices. The first byte cuts what the network
 * carries, the second is the length of the program: what is done with the
 * handles. The rest is the server's: what it replies and publishes. All of the
 * client runs, lane, keeper, inbox and loop, in one thread and on a virtual clock
 * (client_world.h).
 *
 * The invariants:
 *
 *     a hold, job or signal is believed only if the server sent the reply with
 *     the number of its request, or a message for it (client_server.h)
 *     ILK_OK has no error text, another status has one
 *     every call ends in its time and PATIENCE_MS, and nothing spins
 *     no descriptor and no memory is left
 */
#include "client_server.h"

#include "client/client.h"
#include "scripts.gen.h"

#include <interlock.h>

enum {
    PATIENCE_MS = 70000, /* contact is lost after 60 s */
    ACTIONS_MOST = 60,
    LOCKS = 3,
    OPS = 6
};

typedef struct started {
    ilk_op *op;
    unsigned verb;
} started;

static ilk_client *client;
static ilk_lock *locks[LOCKS];
static ilk_semaphore *semaphore;
static ilk_election *election;
static ilk_queue *queue;
static ilk_signal *bell;
static ilk_event *event;
static ilk_barrier *barrier;
static ilk_latch *latch;
static ilk_job *job;
static started ops[OPS];
static fuzz_input program;

static void check_status(ilk_status status, const ilk_error *err)
{
    CHECK(err->code == status);
    CHECK((status == ILK_OK) == (err->msg[0] == '\0'));
    CHECK(!strchr(err->msg, '\n') && strlen(err->msg) < sizeof err->msg);
    CHECK(strcmp(ilk_status_name(status), "ILK_?") != 0);
}

/* ---- handles ------------------------------------------------------------- */

static void open_lock(int which)
{
    static const char *const names[] = {"orders", "orders", "bills"};
    const ilk_lock_opts opts = {.size = sizeof opts,
                                .ttl_ms = 3000,
                                .flags = which == 1 ? ILK_LOCK_NO_RENEW : 0};
    ilk_lock **lock = &locks[which];

    CHECK((which == 2 ? ilk_rwlock_read_open : ilk_lock_open)(
              lock, client, names[which], strlen(names[which]), &opts, NULL)
          == ILK_OK);
}

static void open_handles(void)
{
    const ilk_election_opts candidate = {.size = sizeof candidate,
                                         .value = "host",
                                         .value_len = 4,
                                         .identity = "node",
                                         .identity_len = 4};

    for (int i = 0; i < LOCKS; i++)
        open_lock(i);
    CHECK(ilk_semaphore_open(&semaphore, client, "gate", 4, 2, NULL, NULL)
          == ILK_OK);
    CHECK(ilk_election_open(&election, client, "boss", 4, &candidate, NULL)
          == ILK_OK);
    CHECK(ilk_queue_open(&queue, client, "jobs", 4, NULL, NULL) == ILK_OK);
    CHECK(ilk_signal_open(&bell, client, "bell", 4, NULL, NULL) == ILK_OK);
    CHECK(ilk_event_open(&event, client, "flag", 4, NULL, NULL) == ILK_OK);
    CHECK(ilk_barrier_open(&barrier, client, "meet", 4, 2, NULL, NULL)
          == ILK_OK);
    CHECK(ilk_latch_open(&latch, client, "last", 4, 3, NULL, NULL) == ILK_OK);
}

static void open_client(void)
{
    const ilk_client_opts opts = {.size = sizeof opts,
                                  .connect_timeout_ms = 300,
                                  .reply_timeout_ms = 500,
                                  .label = "fuzz",
                                  .flags = ILK_CLIENT_LAZY};

    CHECK(ilk_client_open(&client, "unix:///nowhere", &opts, NULL) == ILK_OK);
    server_client = client->shared;
    open_handles();
}

static void free_handles(void)
{
    for (int i = 0; i < LOCKS; i++)
        ilk_lock_free(locks[i]);
    ilk_semaphore_free(semaphore);
    ilk_election_free(election);
    ilk_job_free(job);
    job = NULL;
    ilk_queue_free(queue);
    ilk_signal_free(bell);
    ilk_event_free(event);
    ilk_barrier_free(barrier);
    ilk_latch_free(latch);
}

/* ---- what is believed ---------------------------------------------------- */

static void check_held(int held, int64_t remaining_ms, const char *token)
{
    if (held && remaining_ms > 0)
        CHECK(token[0] != '\0' && server_granted(token));
}

static void check_beliefs(void)
{
    for (int i = 0; i < LOCKS; i++)
        check_held(ilk_lock_held(locks[i]), ilk_lock_remaining_ms(locks[i]),
                   ilk_lock_token(locks[i]));
    check_held(ilk_semaphore_held(semaphore),
               ilk_semaphore_remaining_ms(semaphore),
               ilk_semaphore_token(semaphore));
    check_held(ilk_election_is_leader(election),
               ilk_election_remaining_ms(election),
               ilk_election_token(election));
    if (job)
        CHECK(server_answered("queue_reserve", ILK__CODE_JOBS));
}

static void check_arrival(const ilk_arrival *arrival)
{
    size_t len;

    CHECK(arrival != NULL && ilk_arrival_count(arrival) > 0);
    CHECK(ilk_arrival_data(arrival, 0, &len) != NULL);
    CHECK(server_published("1 signal ") || server_published("1 notify "));
}

/* ---- verbs --------------------------------------------------------------- */

enum {
    ACQUIRE, /* and the two locks behind it */
    RELEASE = ACQUIRE + LOCKS,
    EXTEND = RELEASE + LOCKS,
    CHECKS = EXTEND + LOCKS,
    PERMIT = CHECKS + LOCKS,
    PERMIT_BACK,
    CAMPAIGN,
    RESIGN,
    PROCLAIM,
    RESERVE,
    PUSH,
    SETTLE,
    WAIT,
    NOTIFY,
    EVENT_WAIT,
    EVENT_SET,
    MEET,
    COUNT_DOWN,
    LATCH_WAIT,
    PING,
    VERBS
};

static ilk_status take_job(ilk_job *reserved, ilk_status status)
{
    CHECK((status == ILK_OK) == (reserved != NULL));
    if (reserved) {
        ilk_job_free(job);
        job = reserved;
    }
    return status;
}

static ilk_status wait_for_signal(int64_t timeout_ms, ilk_error *err)
{
    ilk_arrival *arrival;
    ilk_status status = ilk_signal_wait(&arrival, bell, timeout_ms, err);

    CHECK((status == ILK_OK) == (arrival != NULL));
    if (arrival)
        check_arrival(arrival);
    ilk_arrival_free(arrival);
    return status;
}

static ilk_status settle(ilk_error *err)
{
    if (!job)
        return ilk_client_ping(client, -1, err);
    switch (fuzz_pick(&program, 3)) {
    case 0: return ilk_job_ack(job, err);
    case 1: return ilk_job_nack(job, 100, err);
    default: return ilk_job_extend(job, 5000, err);
    }
}

static ilk_status call_lock(unsigned verb, int64_t timeout_ms, ilk_error *err)
{
    ilk_lock *lock = locks[verb % LOCKS];

    if (verb < RELEASE)
        return ilk_lock_acquire(lock, timeout_ms, err);
    if (verb < EXTEND)
        return ilk_lock_release(lock, err);
    return verb < CHECKS ? ilk_lock_extend(lock, 2000, err)
                         : ilk_lock_check(lock, err);
}

static ilk_status call(unsigned verb, int64_t timeout_ms, ilk_error *err)
{
    ilk_job *reserved = NULL;
    int64_t number;

    switch (verb) {
    case PERMIT: return ilk_semaphore_acquire(semaphore, timeout_ms, err);
    case PERMIT_BACK: return ilk_semaphore_release(semaphore, err);
    case CAMPAIGN: return ilk_election_campaign(election, timeout_ms, err);
    case RESIGN: return ilk_election_resign(election, err);
    case PROCLAIM: return ilk_election_proclaim(election, "new", 3, err);
    case RESERVE:
        number = ilk_queue_reserve(&reserved, queue, timeout_ms, 5000, err);
        return take_job(reserved, (ilk_status)number);
    case PUSH: return ilk_queue_push(&number, queue, "data", 4, NULL, err);
    case SETTLE: return settle(err);
    case WAIT: return wait_for_signal(timeout_ms, err);
    case NOTIFY: return ilk_signal_notify_one(&number, bell, "x", 1, err);
    case EVENT_WAIT: return ilk_event_wait(event, timeout_ms, err);
    case EVENT_SET: return ilk_event_set(event, "on", 2, err);
    case MEET: return ilk_barrier_wait(barrier, timeout_ms, &number, err);
    case COUNT_DOWN: return ilk_latch_count_down(latch, 1, &number, err);
    case LATCH_WAIT: return ilk_latch_wait(latch, timeout_ms, err);
    case PING: return ilk_client_ping(client, timeout_ms, err);
    default: return call_lock(verb, timeout_ms, err);
    }
}

static ilk_status start_lock(ilk_op **out, unsigned verb, int64_t timeout_ms,
                             ilk_error *err)
{
    ilk_lock *lock = locks[verb % LOCKS];

    if (verb < RELEASE)
        return ilk_lock_acquire_start(out, lock, timeout_ms, 0, err);
    if (verb < EXTEND)
        return ilk_lock_release_start(out, lock, err);
    return verb < CHECKS ? ilk_lock_extend_start(out, lock, 2000, err)
                         : ilk_lock_check_start(out, lock, err);
}

static ilk_status start(ilk_op **out, unsigned verb, int64_t timeout_ms,
                        ilk_error *err)
{
    switch (verb) {
    case PERMIT:
        return ilk_semaphore_acquire_start(out, semaphore, timeout_ms, 0, err);
    case PERMIT_BACK: return ilk_semaphore_release_start(out, semaphore, err);
    case CAMPAIGN:
        return ilk_election_campaign_start(out, election, timeout_ms, err);
    case RESIGN: return ilk_election_resign_start(out, election, err);
    case PROCLAIM:
        return ilk_election_proclaim_start(out, election, "new", 3, err);
    case RESERVE:
        return ilk_queue_reserve_start(out, queue, timeout_ms, 5000, err);
    case PUSH: return ilk_queue_push_start(out, queue, "data", 4, NULL, err);
    case WAIT: return ilk_signal_wait_start(out, bell, timeout_ms, err);
    case NOTIFY: return ilk_signal_notify_one_start(out, bell, "x", 1, err);
    case EVENT_WAIT: return ilk_event_wait_start(out, event, timeout_ms, err);
    case EVENT_SET: return ilk_event_set_start(out, event, "on", 2, err);
    case MEET: return ilk_barrier_wait_start(out, barrier, timeout_ms, err);
    case COUNT_DOWN: return ilk_latch_count_down_start(out, latch, 1, err);
    case LATCH_WAIT: return ilk_latch_wait_start(out, latch, timeout_ms, err);
    case SETTLE:
    case PING: return ilk_client_ping_start(out, client, timeout_ms, err);
    default: return start_lock(out, verb, timeout_ms, err);
    }
}

/* ---- actions ------------------------------------------------------------- */

static int64_t choose_timeout(void)
{
    static const int64_t timeouts[] = {1000, 0, 50, 400, 3000, 15000};

    return timeouts[fuzz_pick(&program, 6)];
}

static void run_call(unsigned verb)
{
    int64_t timeout_ms = choose_timeout(), began = world_now;
    ilk_error err = {ILK_EAGAIN, "from the call before"};
    ilk_status status = call(verb, timeout_ms, &err);

    check_status(status, &err);
    CHECK(world_now - began <= timeout_ms + PATIENCE_MS);
}

static void run_start(unsigned verb)
{
    started *free_slot = NULL;
    ilk_error err = {0};
    ilk_status status;

    for (int i = 0; i < OPS; i++)
        if (!ops[i].op)
            free_slot = &ops[i];
    if (!free_slot)
        return;
    free_slot->verb = verb;
    status = start(&free_slot->op, verb, choose_timeout(), &err);
    check_status(status, &err);
    CHECK((status == ILK_OK) == (free_slot->op != NULL));
}

/* A started operation has ended. */
static void finish(started *one, const ilk_notification *news)
{
    ilk_error err = {0};
    ilk_status status = ilk_op_status(one->op, &err);

    CHECK(status != ILK_EAGAIN && news->status == status);
    check_status(status, &err);
    if (status == ILK_OK && one->verb == RESERVE) {
        ilk_job *reserved = ilk_op_job(one->op);

        CHECK(reserved != NULL);
        CHECK(server_answered("queue_reserve", ILK__CODE_JOBS));
    }
    if (status == ILK_OK && one->verb == WAIT)
        check_arrival(ilk_op_arrival(one->op));
    ilk_op_free(one->op);
    one->op = NULL;
}

/* Turns of the application's loop. */
static void run_loop(int64_t ms)
{
    int64_t until = world_now + ms;
    ilk_notification news = {.size = sizeof news};
    ilk_error err;
    ilk_status status;

    do {
        while ((status = ilk_client_next_notification(client, &news, &err))
               == ILK_OK)
            for (int i = 0; i < OPS; i++)
                if (ops[i].op && news.kind == ILK_NOTIFICATION_DONE
                    && ilk_op_id(ops[i].op) == news.id)
                    finish(&ops[i], &news);
        CHECK(status == ILK_EAGAIN);
        check_beliefs();
        world_pass(10);
    } while (world_now < until);
}

static void reopen_lock(void)
{
    int which = (int)fuzz_pick(&program, LOCKS);

    ilk_lock_free(locks[which]);
    open_lock(which);
}

static void cancel_something(void)
{
    started *one = &ops[fuzz_pick(&program, OPS)];

    if (!one->op)
        ilk_client_interrupt(client);
    else if (fuzz_pick(&program, 2))
        CHECK(ilk_op_cancel(one->op, NULL) == ILK_OK);
    else {
        ilk_op_free(one->op);
        one->op = NULL;
    }
}

static void act(void)
{
    switch (fuzz_pick(&program, 8)) {
    case 0:
    case 1: run_call(fuzz_pick(&program, VERBS)); break;
    case 2:
    case 3: run_start(fuzz_pick(&program, VERBS)); break;
    case 4: run_loop(10 + 20 * fuzz_byte(&program)); break;
    case 5: server_disturb(); break;
    case 6: world_refuses = fuzz_byte(&program) >= 200; break;
    default:
        if (fuzz_pick(&program, 2))
            cancel_something();
        else
            reopen_lock();
        break;
    }
    check_beliefs();
}

static int under_way(void)
{
    int count = 0;

    for (int i = 0; i < OPS; i++)
        count += ops[i].op != NULL;
    return count;
}

/* With a healthy server, which an input that is used up makes, all that was
 * started ends. */
static void finish_all(void)
{
    int64_t limit = world_now + PATIENCE_MS + 20000;

    world_refuses = 0;
    world_input.left = 0;
    while (under_way() && world_now < limit)
        run_loop(100);
    CHECK(!under_way());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t cuts[] = {0, 1, 7, 100};
    uint8_t network;
    int ends_early;

    setenv("INTERLOCK_LOG", "off", 1);
    world_begin(data, size);
    network = fuzz_byte(&world_input);
    program.left = fuzz_byte(&world_input);
    if (program.left > world_input.left)
        program.left = world_input.left;
    program.at = world_input.at;
    world_input.at += program.left;
    world_input.left -= program.left;
    world_send_most = cuts[network % 4];
    world_recv_most = cuts[network / 4 % 4];
    ends_early = network >= 200;
    open_client();
    for (int i = 0; i < ACTIONS_MOST && program.left > 0; i++)
        act();
    if (!ends_early)
        finish_all();
    free_handles();
    for (int i = 0; i < OPS; i++) {
        ilk_op_free(ops[i].op);
        ops[i].op = NULL;
    }
    ilk_client_free(client);
    world_end();
    return 0;
}

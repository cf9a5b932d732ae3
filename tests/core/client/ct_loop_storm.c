/* SPDX-License-Identifier: MIT */
/*
 * ct_loop_storm.c -- one client, one event loop, many threads that start,
 * cancel, free and wait at random, and a server that is paused, killed and
 * started again meanwhile.
 *
 * Each operation that was not freed is reported exactly once and ends in time; at
 * the end nobody waits, stands in a wait queue or holds, on the server either.
 * ILK_TEST_SEED repeats a storm as far as threads can; it blows for
 * ILK_TEST_STORM seconds, 3 without it.
 */
#include "many_case.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

AROUND_ALL(server_setup, server_teardown);

enum {
    STARTERS = 4,
    BLOCKERS = 2,
    SLOTS = 24, /* of each starter: a handle and what is under way on it */
    NAMES = 5,
    TTL_MS = 2000,
    TURNS = 1 << 22, /* operations until their numbers come again */
    LATE_MS = 6000,  /* a server that is away is waited for meanwhile */
    END_MS = 20000
};

typedef struct slot {
    ilk_lock *lock;      /* of one name, */
    ilk_lock_many *many; /* or of two */
    ilk_op *op;
    int64_t due; /* when it must have ended; 0: when it is cancelled */
    int cancelled;
} slot;

typedef struct actor {
    pthread_t thread;
    uint64_t dice;
    slot slots[SLOTS];
} actor;

static ilk_client *client;
static actor starters[STARTERS], blockers[BLOCKERS];
static atomic_uchar told[TURNS]; /* how often, by number */
static _Atomic int blowing, looping;
static _Atomic int faults, started, cancelled, freed, ended, got, kills;

/* ---- chance ------------------------------------------------------------- */

static uint64_t roll(uint64_t *dice, uint64_t sides)
{
    *dice ^= *dice << 13;
    *dice ^= *dice >> 7;
    *dice ^= *dice << 17;
    return *dice % sides;
}

static uint64_t seed(void)
{
    const char *wish = getenv("ILK_TEST_SEED");
    uint64_t chosen =
        wish ? strtoull(wish, NULL, 10) : (uint64_t)fixture_now_ms() * 7919 + 1;

    print_message("ILK_TEST_SEED=%llu\n", (unsigned long long)chosen);
    return chosen ? chosen : 1;
}

/* No assertions in threads: the test looks at the end. */
static void fault(const char *what, ilk_status status)
{
    if (atomic_fetch_add(&faults, 1) < 10)
        print_error("%s: %s\n", what, ilk_status_name(status));
}

/* ---- the application's loop --------------------------------------------- */

static void *loop_main(void *context)
{
    struct pollfd pfd = {.events = POLLIN};
    ilk_notification notification = {.size = sizeof notification};

    (void)context;
    if (ilk_client_notification_fd(client, &pfd.fd, NULL))
        fault("no descriptor", ILK_ESYSTEM);
    while (looping) {
        if (poll(&pfd, 1, 1000) <= 0)
            continue; /* it alone says when to fetch */
        while (ilk_client_next_notification(client, &notification, NULL)
               == ILK_OK)
            if (notification.kind == ILK_NOTIFICATION_DONE
                && atomic_fetch_add(&told[notification.id % TURNS], 1))
                fault("told twice", notification.status);
    }
    return NULL;
}

/* ---- who starts --------------------------------------------------------- */

static int64_t some_time(uint64_t *dice)
{
    static const int64_t times[] = {0, 5, 40, 300, -1};

    return times[roll(dice, sizeof times / sizeof *times)];
}

static void open_slot(slot *s, uint64_t *dice)
{
    char name[2] = {(char)('a' + roll(dice, NAMES)), '\0'};
    static const char *const pairs[] = {"ab", "bc", "de"};

    if (roll(dice, 5))
        s->lock = open_lock_with(client, name, TTL_MS,
                                 roll(dice, 3) ? 0 : ILK_LOCK_NO_RENEW);
    else
        s->many = open_many(client, pairs[roll(dice, 3)], TTL_MS);
}

static void close_slot(slot *s)
{
    ilk_lock_free(s->lock);
    ilk_lock_many_free(s->many);
    s->lock = NULL;
    s->many = NULL;
}

static ilk_status acquire(slot *s, int64_t timeout_ms)
{
    if (s->lock)
        return ilk_lock_acquire_start(&s->op, s->lock, timeout_ms, 0, NULL);
    return ilk_lock_many_acquire_start(&s->op, s->many, timeout_ms, NULL);
}

static ilk_status release(slot *s)
{
    if (s->lock)
        return ilk_lock_release_start(&s->op, s->lock, NULL);
    return ilk_lock_many_release_start(&s->op, s->many, NULL);
}

static ilk_status use(slot *s, uint64_t *dice)
{
    if (!s->lock || roll(dice, 4))
        return release(s);
    return roll(dice, 2) ? ilk_lock_extend_start(&s->op, s->lock, 0, NULL)
                         : ilk_lock_check_start(&s->op, s->lock, NULL);
}

static int held(const slot *s)
{
    return s->lock ? ilk_lock_held(s->lock) : ilk_lock_many_held(s->many);
}

static void begin(slot *s, uint64_t *dice)
{
    int64_t timeout_ms = 0;
    ilk_status st;

    if (held(s)) {
        st = use(s, dice);
    } else {
        timeout_ms = some_time(dice);
        st = acquire(s, timeout_ms);
    }
    s->cancelled = 0;
    s->due =
        timeout_ms < 0 ? 0 : fixture_now_ms() + timeout_ms + patience(LATE_MS);
    if (st == ILK_OK)
        atomic_fetch_add(&started, 1);
    else if (st != ILK_ELOST && st != ILK_EBUSY && st != ILK_ENOTOWNER)
        fault("not started", st);
}

static void cancel(slot *s)
{
    (void)ilk_op_cancel(s->op, NULL);
    if (!s->cancelled)
        s->due = fixture_now_ms() + patience(LATE_MS);
    s->cancelled = 1;
    atomic_fetch_add(&cancelled, 1);
}

/* It must not be reported any more; that it just was is no fault. */
static void drop(slot *s)
{
    ilk_op_free(s->op);
    s->op = NULL;
    atomic_fetch_add(&freed, 1);
}

/* 1: it has ended, and the loop had one notification of that. */
static int look(slot *s)
{
    atomic_uchar *times = &told[ilk_op_id(s->op) % TURNS];
    ilk_status st = ilk_op_status(s->op, NULL);

    if (st == ILK_EAGAIN || !atomic_load(times)) {
        if (!s->due || fixture_now_ms() < s->due)
            return 0;
        fault(st == ILK_EAGAIN ? "goes on" : "ended, but nobody was told", st);
    }
    atomic_store(times, 0);
    atomic_fetch_add(st == ILK_OK ? &got : &ended, 1);
    ilk_op_free(s->op);
    s->op = NULL;
    return 1;
}

static void act(slot *s, uint64_t *dice)
{
    uint64_t what = roll(dice, 200);

    if (!s->op && what < 100) {
        begin(s, dice);
    } else if (s->op && what < 3) {
        cancel(s);
    } else if (s->op && what < 4) {
        drop(s);
    } else if (s->op && what < 5 && !held(s)) {
        close_slot(s); /* under way: it ends as cancelled */
        s->due = fixture_now_ms() + patience(LATE_MS);
        open_slot(s, dice);
    } else if (s->op) {
        (void)look(s);
    }
}

/* In calm: everything is cancelled and reported, holds are released. */
static void finish(slot *s)
{
    int64_t limit = fixture_now_ms() + patience(END_MS);

    while (s->op || held(s)) {
        if (fixture_now_ms() > limit) {
            fault("never ends", s->op ? ilk_op_status(s->op, NULL) : ILK_EHELD);
            break;
        }
        if (!s->op)
            started += release(s) == ILK_OK;
        else if (!s->cancelled)
            cancel(s);
        if (s->op && !look(s))
            fixture_sleep_ms(1);
        s->cancelled = s->op != NULL;
    }
    close_slot(s);
}

static void *starter_main(void *context)
{
    actor *self = context;

    while (blowing) {
        for (int i = 0; i < 20; i++)
            act(&self->slots[roll(&self->dice, SLOTS)], &self->dice);
        fixture_sleep_ms(1);
    }
    return NULL;
}

/* ---- who waits, and who interrupts -------------------------------------- */

static void *blocker_main(void *context)
{
    actor *self = context;
    slot *s = &self->slots[0];

    while (blowing) {
        if (ilk_lock_acquire(s->lock, 40, NULL) == ILK_OK) {
            if (roll(&self->dice, 2))
                fixture_sleep_ms(1);
            (void)ilk_lock_release(s->lock, NULL);
        }
        if (roll(&self->dice, 8) == 0)
            ilk_client_interrupt(client);
    }
    (void)ilk_lock_cancel(s->lock, NULL);
    return NULL;
}

/* ---- the storm ---------------------------------------------------------- */

static void torment(uint64_t *dice)
{
    switch (roll(dice, 8)) {
    case 0:
        assert_int_equal(0, fixture_kill(&fx));
        fixture_sleep_ms((int)roll(dice, 60));
        assert_int_equal(0, fixture_restart(&fx));
        kills++;
        break;
    case 1:
    case 2:
        assert_int_equal(0, fixture_pause(&fx));
        fixture_sleep_ms((int)roll(dice, 150));
        assert_int_equal(0, fixture_resume(&fx));
        break;
    case 3: fixture_command(&fx, "CLIENT KILL TYPE normal"); break;
    case 4: fixture_command(&fx, "CLIENT KILL TYPE pubsub"); break;
    case 5: fixture_command(&fx, "SCRIPT FLUSH"); break;
    default: fixture_sleep_ms((int)roll(dice, 200)); break;
    }
}

static void set_up(uint64_t *dice)
{
    client = open_client();
    blowing = looping = 1;
    for (int i = 0; i < STARTERS; i++) {
        starters[i].dice = roll(dice, UINT32_MAX) + 1;
        for (int k = 0; k < SLOTS; k++)
            open_slot(&starters[i].slots[k], &starters[i].dice);
        pthread_create(&starters[i].thread, NULL, starter_main, &starters[i]);
    }
    for (int i = 0; i < BLOCKERS; i++) {
        blockers[i].dice = roll(dice, UINT32_MAX) + 1;
        blockers[i].slots[0].lock = open_lock_with(client, "a", TTL_MS, 0);
        pthread_create(&blockers[i].thread, NULL, blocker_main, &blockers[i]);
    }
}

static void calm_down(void)
{
    blowing = 0;
    for (int i = 0; i < STARTERS; i++)
        join_soon(starters[i].thread, "a starter");
    for (int i = 0; i < BLOCKERS; i++)
        join_soon(blockers[i].thread, "a blocker");
    for (int i = 0; i < STARTERS; i++)
        for (int k = 0; k < SLOTS; k++)
            finish(&starters[i].slots[k]);
    for (int i = 0; i < BLOCKERS; i++)
        close_slot(&blockers[i].slots[0]);
}

/* A handle that is freed as it gets its lease leaves that to run out. */
static void assert_nothing_is_left(void)
{
    for (char name = 'a'; name < 'a' + NAMES; name++) {
        assert_int_equal(0, fixture_await(&fx, "0", (int)patience(4000),
                                          "ZCARD ilk:lock:wait:{%c}", name));
        assert_int_equal(
            0, fixture_await(&fx, "0", (int)patience(8000), "EXISTS %c", name));
    }
}

TEST(nothing_is_lost_in_a_storm)
{
    const char *wish = getenv("ILK_TEST_STORM");
    int64_t end = fixture_now_ms() + (wish ? atoi(wish) : 3) * 1000;
    uint64_t dice = seed();
    pthread_t loop;

    set_up(&dice);
    pthread_create(&loop, NULL, loop_main, NULL);
    while (fixture_now_ms() < end && !faults)
        torment(&dice);
    calm_down();
    assert_nothing_is_left();
    looping = 0;
    join_soon(loop, "the loop");
    ilk_client_free(client);
    print_message("%d started: %d ok, %d otherwise, %d freed, %d cancels, "
                  "%d kills\n",
                  started, got, ended, freed, cancelled, kills);
    assert_int_equal(0, faults);
    assert_in_range(got, 1, INT32_MAX);
    assert_int_equal(started, got + ended + freed);
}

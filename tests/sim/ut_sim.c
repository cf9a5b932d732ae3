/* SPDX-License-Identifier: MIT */
/*
 * ut_sim.c -- fleets under faults, one for each seed.
 *
 *     ut_sim               2000 seeds, as many as 10 s allow; the controls
 *     ut_sim SEED          one of them, printed step by step
 *     ut_sim SEED COUNT    so many from there
 *
 * A control switches one safety measure off and must be found out: that is
 * the test that the simulation can fail.
 */
#include "sim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

enum {
    SEEDS = 2000,
    SEEDS_AT_LEAST = 50,
    SECONDS = 10,
    STORM_MS = 6000, /* so long things go wrong */
    LIMIT_MS = 150 * 1000,
    AFTER_MS = 8000 /* for what is still to be given back */
};

/* ---- faults ------------------------------------------------------------- */

static uint32_t freezes, breaks, kills, losses, signals; /* weights */

static node *any_node(void)
{
    return &nodes[dice(NODES)];
}

static void break_something(node *n)
{
    switch (dice(3)) {
    case 0: node_break(n, &n->lane); break;
    case 1: node_break(n, &n->calls); break;
    default: node_break(n, &n->inbox); break;
    }
}

/* A frozen process stays so: packets that wait for the thaw keep their order. */
static void freeze(node *n)
{
    int64_t until = world_now + 50 + dice(chance(50) ? 500 : 8000);

    if (until <= n->frozen_until)
        return;
    n->frozen_until = until;
    trace("node %d: frozen until %" PRId64, (int)(n - nodes), until);
}

static void lose_data(void)
{
    trace("the server loses all data");
    server_forget();
    check_data_lost();
    for (int i = 0; i < NODES; i++) {
        node_break(&nodes[i], &nodes[i].lane);
        node_break(&nodes[i], &nodes[i].calls);
        node_break(&nodes[i], &nodes[i].inbox);
    }
}

static void signal_somebody(node *n)
{
    if (n->dead || n->frozen_until > world_now)
        return;
    current = n;
    if (n->task_count)
        task_signal(&n->tasks[dice((uint32_t)n->task_count)]);
    node_turn(n);
}

/* One fault of those that this seed knows, then the next one's time. */
static void storm(node *nobody, void *data)
{
    const uint32_t to_break = freezes, to_signal = to_break + breaks;
    const uint32_t to_lose = to_signal + signals, to_kill = to_lose + losses;
    const uint32_t all = to_kill + kills;
    uint32_t lot = dice(all ? all : 1);
    node *n = any_node();

    (void)nobody;
    (void)data;
    if (lot < to_break)
        freeze(n);
    else if (lot < to_signal)
        break_something(n);
    else if (lot < to_lose)
        signal_somebody(n);
    else if (lot < to_kill)
        lose_data();
    else if (lot < all && n != &nodes[0] && !n->dead)
        node_kill(n);
    if (world_now < STORM_MS)
        at(world_now + 20 + dice(400), storm, NULL, NULL);
    else
        loss = lateness = 0;
}

/* Each seed has weather of its own, so that faults come alone and together. */
static void choose_weather(void)
{
    freezes = chance(40) ? dice(10) : 0;
    breaks = chance(40) ? dice(10) : 0;
    signals = chance(30) ? dice(10) : 0;
    kills = chance(20) ? 1 : 0;
    losses = chance(15) ? 1 : 0;
    loss = chance(30) ? dice(40) : 0;
    lateness = chance(30) ? dice(20) : 0;
    at(dice(400), storm, NULL, NULL);
}

/* ---- one seed ----------------------------------------------------------- */

static void first_turn(node *n, void *data)
{
    (void)data;
    node_turn(n);
}

static void open_fleet(void)
{
    static const char *const names[] = {"orders", "bills"};

    for (int i = 0; i < NODES; i++) {
        node *n = &nodes[i];

        node_open(n);
        n->task_count = 1 + dice(TASKS);
        for (size_t k = 0; k < n->task_count; k++)
            task_open(&n->tasks[k], n, names[chance(25)]);
        at(0, first_turn, n, NULL);
    }
}

static void play(uint64_t seed)
{
    int64_t end = LIMIT_MS;

    world_begin(seed);
    check_begin();
    server_forget();
    open_fleet();
    choose_weather();
    while (!fault[0] && world_now < end && world_step()) {
        check_now();
        if (end == LIMIT_MS && check_finished())
            end = world_now + AFTER_MS;
    }
    if (!fault[0])
        check_end();
    world_end();
    for (int i = 0; i < NODES; i++)
        node_close(&nodes[i]);
}

static int asked_for; /* the command line names seeds, however long they take */

/* 0 when one of them went wrong; *out_played when all did well. */
static int play_all(uint64_t first, uint64_t count, uint64_t *out_played)
{
    clock_t begin = clock();
    uint64_t i;

    server_open();
    for (i = 0; i < count && !fault[0]; i++) {
        if (!asked_for && i >= SEEDS_AT_LEAST
            && clock() - begin > SECONDS * CLOCKS_PER_SEC)
            break;
        play(first + i);
        if (fault[0])
            printf("seed %" PRIu64 ": %s\n", first + i, fault);
    }
    server_close();
    *out_played = i;
    return !fault[0];
}

/* ---- all of them -------------------------------------------------------- */

static int is_found_out(control which, const char *what)
{
    uint64_t played;
    int fine;

    fault[0] = '\0';
    control_on = which;
    printf("without %s: ", what);
    fine = play_all(1, SEEDS, &played);
    if (fine)
        printf("nothing went wrong in %" PRIu64 " seeds, FAILED\n", played);
    control_on = CONTROL_NONE;
    return !fine;
}

static int play_some(int argc, char **argv)
{
    uint64_t first = strtoull(argv[1], NULL, 10), played;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;

    tracing = argc == 2;
    asked_for = 1;
    return !play_all(first, count, &played);
}

int main(int argc, char **argv)
{
    uint64_t played;

    setenv("INTERLOCK_LOG", "off", 1);
    if (argc > 1)
        return play_some(argc, argv);
    if (!play_all(1, SEEDS, &played))
        return 1;
    printf("%" PRIu64 " seeds went well\n", played);
    return !is_found_out(CONTROL_NO_PASS_ON, "passing on in cancel")
           || !is_found_out(CONTROL_LATE_GRANTS, "the late-grant check")
           || !is_found_out(CONTROL_RECEIPT, "the server's time of a grant");
}

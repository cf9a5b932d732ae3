/* SPDX-License-Identifier: MIT */
/*
 * ct_election_processes.c -- nine candidates, each a process, of which the
 * leader is killed, frozen, made to resign, and the server restarted.
 *
 * The leader writes to a guarded value under its term, again and again, and
 * reports each write that was accepted with the times before and after. Two
 * leaders whose claims both hold would show as a write that began after one
 * of a greater term had been accepted, or as one term of two processes.
 */
#include "election_case.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CANDIDATES = 9, TTL = 400, MAX_TERMS = 4096 };

typedef struct note {
    char what; /* Leads, Wrote, Out of office */
    pid_t pid;
    int64_t term, before, after;
} note;

static int notes[2]; /* a pipe from all of them */
static pid_t pids[CANDIDATES];
static volatile sig_atomic_t told_to_resign;

/* ---- a candidate's process ---------------------------------------------- */

static void on_usr1(int number)
{
    (void)number;
    told_to_resign = 1;
}

static void tell(char what, int64_t term, int64_t before)
{
    note n = {.what = what,
              .pid = getpid(),
              .term = term,
              .before = before,
              .after = fixture_now_ms()};

    if (write(notes[1], &n, sizeof n) != sizeof n)
        _exit(3);
}

static void lead(ilk_client *client, ilk_election *election)
{
    int64_t term = ilk_election_term(election);

    tell('L', term, 0);
    while (ilk_election_is_leader(election)) {
        int64_t before = fixture_now_ms();

        if (told_to_resign) {
            told_to_resign = 0;
            ilk_election_resign(election, NULL);
            continue;
        }
        if (ilk_guard_set(client, "ledger", 6, term, "x", 1, NULL) == ILK_OK)
            tell('W', term, before);
        fixture_sleep_ms(3);
    }
    tell('O', term, 0);
}

static void candidate_main(void)
{
    struct sigaction action = {.sa_handler = on_usr1};
    ilk_client *client = open_client();
    ilk_election *election = open_candidate(client, "office", TTL, "");

    sigaction(SIGUSR1, &action, NULL);
    for (;;) {
        ilk_status st = ilk_election_campaign(election, -1, NULL);

        if (st == ILK_OK)
            lead(client, election);
        else if (st != ILK_EINTR)
            fixture_sleep_ms(10); /* the server is away */
    }
}

static void start_candidate(int i)
{
    fflush(NULL);
    pids[i] = fork();
    assert_true(pids[i] >= 0);
    if (pids[i] == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(notes[0]);
        candidate_main();
    }
}

static void kill_candidate(int i)
{
    kill(pids[i], SIGKILL);
    while (waitpid(pids[i], NULL, 0) < 0 && errno == EINTR)
        continue;
}

/* ---- the judge ---------------------------------------------------------- */

typedef struct judge {
    struct {
        int64_t term;
        pid_t pid;
    } terms[MAX_TERMS];
    int count;
    int64_t last_term;             /* of whoever was elected last */
    int64_t accepted, accepted_at; /* the greatest term that wrote, and when */
    int64_t led_at;                /* when the last one was elected */
    pid_t leader;
    int writes;
    int64_t worst_ms; /* how late a new one came, see late() */
} judge;

static void see_election(judge *j, const note *n)
{
    for (int i = 0; i < j->count; i++)
        assert_int_not_equal(j->terms[i].term, n->term);
    assert_true(j->count < MAX_TERMS);
    j->terms[j->count].term = n->term;
    j->terms[j->count++].pid = n->pid;
    assert_true(n->term > j->last_term);
    j->last_term = n->term;
    j->leader = n->pid;
    j->led_at = n->after;
}

static void see_write(judge *j, const note *n)
{
    int known = 0;

    for (int i = 0; i < j->count && !known; i++)
        known = j->terms[i].term == n->term && j->terms[i].pid == n->pid;
    assert_true(known);
    j->writes++;
    if (n->term < j->accepted) /* else it was refused, or is a second leader */
        assert_true(n->before <= j->accepted_at);
    if (n->term > j->accepted) {
        j->accepted = n->term;
        j->accepted_at = n->after;
    }
}

/* Read what they report until one of them was elected; 0 when none was. */
static int await_election(judge *j, int64_t timeout_ms)
{
    int64_t deadline = fixture_now_ms() + timeout_ms, left;
    struct pollfd pfd = {.fd = notes[0], .events = POLLIN};
    note n;

    while ((left = deadline - fixture_now_ms()) > 0) {
        if (poll(&pfd, 1, (int)left) != 1)
            continue;
        assert_int_equal(sizeof n, read(notes[0], &n, sizeof n));
        if (n.what == 'W')
            see_write(j, &n);
        if (n.what == 'L') {
            see_election(j, &n);
            return 1;
        }
    }
    return 0;
}

static void rule_for(judge *j, int64_t ms)
{
    int64_t deadline = fixture_now_ms() + ms, left;

    while ((left = deadline - fixture_now_ms()) > 0)
        await_election(j, left);
}

/* The new leader came so long after it could at best. */
static void late(judge *j, int64_t by_ms, int64_t limit_ms)
{
    if (by_ms > j->worst_ms)
        j->worst_ms = by_ms;
    assert_true(by_ms <= patience(limit_ms));
}

static int index_of(pid_t pid)
{
    for (int i = 0; i < CANDIDATES; i++)
        if (pids[i] == pid)
            return i;
    fail_msg("a leader that was killed before");
    return -1;
}

/* ---- what is done to them ----------------------------------------------- */

static judge *start(const char *server_args)
{
    judge *j = calloc(1, sizeof *j);

    assert_int_equal(0, fixture_start(&fx, server_args));
    assert_int_equal(0, pipe(notes));
    for (int i = 0; i < CANDIDATES; i++)
        start_candidate(i);
    assert_true(await_election(j, 10000));
    await_candidates("office", CANDIDATES - 1);
    return j;
}

static void finish(judge *j)
{
    assert_true(j->writes > 20);
    print_message("             %d terms, %d writes, at worst %lld ms late\n",
                  j->count, j->writes, (long long)j->worst_ms);
    for (int i = 0; i < CANDIDATES; i++)
        kill_candidate(i);
    close(notes[0]);
    close(notes[1]);
    free(j);
    fixture_stop(&fx);
}

TEST(killed_leaders_are_followed_within_their_lease)
{
    judge *j = start(NULL);

    for (int i = 0; i < 20; i++) {
        int at = index_of(j->leader);
        int64_t killed_at, left;

        rule_for(j, 30);
        at = index_of(j->leader);
        left = fixture_int(&fx, "PTTL ilk:election:{office}");
        killed_at = fixture_now_ms();
        kill_candidate(at);
        assert_true(await_election(j, 5000));
        late(j, j->led_at - killed_at - left, 100);
        start_candidate(at);
    }
    assert_true(j->count >= 21);
    finish(j);
}

TEST(frozen_leaders_find_out_when_they_thaw)
{
    judge *j = start(NULL);

    for (int i = 0; i < 5; i++) {
        pid_t frozen = j->leader;
        int64_t frozen_at = fixture_now_ms();

        kill(frozen, SIGSTOP);
        assert_true(await_election(j, 5000));
        if (j->leader == frozen) /* had lost it just before */
            continue;
        late(j, j->led_at - frozen_at - TTL, 100);
        rule_for(j, 50);
        kill(frozen, SIGCONT); /* whatever it was about to write is refused */
        rule_for(j, 100);
    }
    finish(j);
}

TEST(resigning_leaders_are_followed_at_once)
{
    judge *j = start(NULL);

    for (int i = 0; i < 20; i++) {
        int64_t told_at;

        rule_for(j, 10);
        told_at = fixture_now_ms();
        kill(j->leader, SIGUSR1);
        assert_true(await_election(j, 5000));
        late(j, j->led_at - told_at, 50);
    }
    finish(j);
}

TEST(server_restarts_with_and_without_its_data)
{
    judge *j = start("--appendonly yes --appendfsync always");
    int64_t term;

    rule_for(j, 200);
    assert_int_equal(0, fixture_kill(&fx));
    assert_int_equal(0, fixture_restart(&fx));
    rule_for(j, 2 * TTL);
    term = j->last_term;
    assert_true(fixture_int(&fx, "EXISTS ilk:election:fence:{office}") == 1);

    fixture_command(&fx, "FLUSHALL");
    assert_int_equal(0, fixture_kill(&fx));
    assert_int_equal(0, fixture_restart(&fx));
    for (int i = 0; i < 200 && j->last_term == term; i++)
        rule_for(j, 50);
    assert_true(j->last_term > term);
    rule_for(j, 2 * TTL);
    finish(j);
}

static int ignore_sigpipe(void)
{
    signal(SIGPIPE, SIG_IGN);
    return 0;
}

AROUND_ALL(ignore_sigpipe, NULL);

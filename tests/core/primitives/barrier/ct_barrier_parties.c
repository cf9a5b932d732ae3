/* SPDX-License-Identifier: MIT */
/* ct_barrier_parties.c -- parties that are processes: many rounds, deaths. */
#include "fork_case.h"
#include "state_case.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

AROUND_ALL(server_setup, server_teardown);

enum { LIVENESS_MS = 6000 };

enum { PARTIES = 5, ROUNDS = 60 };

TEST(every_round_gives_each_party_an_index_of_its_own)
{
    party p[PARTIES];
    int64_t index, began_at;

    for (int i = 0; i < PARTIES; i++)
        p[i] = start_party("rounds", PARTIES, 20000);
    began_at = fixture_now_ms();
    for (int round = 0; round < ROUNDS; round++) {
        int seen = 0;

        for (int i = 0; i < PARTIES; i++)
            tell_party(&p[i], 'w');
        for (int i = 0; i < PARTIES; i++) {
            assert_int_equal('k', hear_party(&p[i], 10000, &index));
            assert_in_range(index, 0, PARTIES - 1);
            seen |= 1 << index;
        }
        assert_int_equal((1 << PARTIES) - 1, seen);
    }
    print_message("%d rounds of %d processes in %d ms\n", ROUNDS, PARTIES,
                  (int)(fixture_now_ms() - began_at));
    for (int i = 0; i < PARTIES; i++)
        end_party(&p[i]);
}

/* Two arrive, one of them is hurt; the other gets that result. */
static void hurt_one(const char *name, int how, party *hurt, int64_t *took_ms)
{
    party well = start_party(name, 3, 60000);
    int64_t hurt_at;

    *hurt = start_party(name, 3, 60000);
    tell_party(&well, 'w');
    await_queue_length("barrier", name, 1);
    tell_party(hurt, 'w');
    await_queue_length("barrier", name, 2);
    kill(hurt->pid, how);
    hurt_at = fixture_now_ms();

    assert_int_equal('b', hear_party(&well, 20000, NULL));

    *took_ms = fixture_now_ms() - hurt_at;
    end_party(&well);
}

TEST(a_killed_party_breaks_the_round_within_its_liveness)
{
    party dead;
    int64_t took_ms;

    hurt_one("killed", SIGKILL, &dead, &took_ms);
    print_message("broken %d ms after the kill\n", (int)took_ms);
    assert_in_range(took_ms, LIVENESS_MS - 2500,
                    LIVENESS_MS + (int)patience(300));
    end_party(&dead);
}

TEST(a_frozen_party_breaks_the_round_and_gets_that_when_thawed)
{
    party frozen;
    int64_t took_ms;

    hurt_one("frozen", SIGSTOP, &frozen, &took_ms);
    assert_in_range(took_ms, LIVENESS_MS - 2500,
                    LIVENESS_MS + (int)patience(300));
    kill(frozen.pid, SIGCONT);
    assert_int_equal('b', hear_party(&frozen, 5000, NULL));
    end_party(&frozen);
}

/* Frozen when the last arrives, within its liveness: it was there. */
TEST(a_party_that_freezes_before_the_last_arrives_has_passed)
{
    party frozen = start_party("there", 2, 60000),
          last = start_party("there", 2, 60000);
    int64_t index = -1;

    tell_party(&frozen, 'w');
    await_queue_length("barrier", "there", 1);
    kill(frozen.pid, SIGSTOP);
    tell_party(&last, 'w');
    assert_int_equal('k', hear_party(&last, 5000, &index));
    assert_int_equal(1, index);
    fixture_sleep_ms(LIVENESS_MS + 500);
    kill(frozen.pid, SIGCONT);

    assert_int_equal('k', hear_party(&frozen, 5000, &index));
    assert_int_equal(0, index);
    end_party(&frozen);
    end_party(&last);
}

enum { DUELS = 150 };

/* The last arrives just when the first gives up: both get the same result. */
TEST(full_or_broken_is_the_same_for_all)
{
    ilk_client *clients[] = {open_client(), open_client()};
    ilk_barrier *a = open_barrier(clients[0], "duel", 2),
                *b = open_barrier(clients[1], "duel", 2);
    ilk_error err = {0};
    int full = 0, broken = 0, unheard = 0;

    assert_status(ILK_ETIMEOUT, ilk_barrier_wait(a, 1, NULL, &err));
    for (int i = 0; i < DUELS; i++) {
        waiting first = {.barrier = a, .timeout_ms = 12};
        ilk_status second;

        start_waiting(&first);
        fixture_sleep_ms(9 + i % 5);
        second = ilk_barrier_wait(b, 0, NULL, &err);
        while (!first.done)
            fixture_sleep_ms(1);
        pthread_join(first.thread, NULL);
        if (strstr(first.err.msg, "no answer")) { /* a busy machine */
            unheard++;
            continue;
        }
        if (second == ILK_OK)
            assert_status(ILK_OK, (err = first.err, first.status));
        else
            assert_status(ILK_ETIMEOUT, (err = first.err, first.status));
        full += second == ILK_OK;
        broken += second == ILK_EBUSY;
    }
    print_message("%d rounds full, %d given up\n", full, broken);
    assert_int_equal(DUELS, full + broken + unheard);
    assert_true(full > 0 && broken > 0);
    ilk_barrier_free(a);
    ilk_barrier_free(b);
    ilk_client_free(clients[0]);
    ilk_client_free(clients[1]);
}

TEST(a_child_is_refused_and_breaks_nothing)
{
    ilk_client *own = open_client();
    waiting w = {.barrier = open_barrier(own, "fork", 2), .timeout_ms = 20000};
    ilk_barrier *last = open_barrier(own, "fork", 2);
    ilk_error err = {0};
    pid_t pid;

    start_waiting(&w);
    await_queue_length("barrier", "fork", 1);
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        demand(ilk_barrier_wait(w.barrier, 0, NULL, &err) == ILK_EFORKED);
        demand(ilk_barrier_wait(last, 0, NULL, &err) == ILK_EFORKED);
        demand(ilk_barrier_reset(last, &err) == ILK_EFORKED);
        ilk_barrier_free(w.barrier);
        ilk_barrier_free(last);
        ilk_client_free(own);
        _exit(0);
    }
    assert_ends_well(pid);

    assert_status(ILK_OK, ilk_barrier_wait(last, 0, NULL, &err));
    assert_waited(ILK_OK, &w);
    ilk_barrier_free(w.barrier);
    ilk_barrier_free(last);
    ilk_client_free(own);
}

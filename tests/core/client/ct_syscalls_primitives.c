/* SPDX-License-Identifier: MIT */
/*
 * ct_syscalls_primitives.c -- a semaphore, a queue, signals, an election and a
 * recipe whose system calls fail, one after another; see ct_syscalls.c.
 */
/* link: @support/syscalls.link */
#include "syscall_case.h"

#include <string.h>

enum {
    SOON_MS = 5000,
    IDLE_MS = 150 /* nothing comes, and a connection is made in this time */
};

/* ---- scenes ------------------------------------------------------------- */

static ilk_status take_a_permit(ilk_error *err)
{
    ilk_semaphore *semaphore = NULL;
    ilk_status st =
        ilk_semaphore_open(&semaphore, client, "s", 1, 2, NULL, err);

    if (st == ILK_OK)
        st = ilk_semaphore_acquire(semaphore, SOON_MS, err);
    if (st == ILK_OK)
        st = ilk_semaphore_release(semaphore, err);
    ilk_semaphore_free(semaphore);
    return st;
}

/* A message is pushed and acknowledged; it may come back if that failed. */
static ilk_status queue_up(ilk_error *err)
{
    ilk_queue *queue = NULL;
    ilk_job *job = NULL;
    ilk_status st = ilk_queue_open(&queue, client, "mail", 4, NULL, err);

    if (st == ILK_OK)
        st = ilk_queue_push(NULL, queue, "x", 1, NULL, err);
    if (st == ILK_OK)
        st = ilk_queue_reserve(&job, queue, SOON_MS, 0, err);
    if (st == ILK_OK)
        st = ilk_job_ack(job, err);
    ilk_job_free(job);
    ilk_queue_free(queue);
    return st;
}

static ilk_status wait_for_a_message(ilk_error *err)
{
    ilk_queue *queue = NULL;
    ilk_job *job = NULL;
    ilk_status st = ilk_queue_open(&queue, client, "mail", 4, NULL, err);

    if (st == ILK_OK)
        st = ilk_queue_reserve(&job, queue, IDLE_MS, 0, err);
    ilk_job_free(job);
    ilk_queue_free(queue);
    return st;
}

/* A signal is of the moment: it may go by while a connection is lost. */
static ilk_status signal_oneself(ilk_error *err)
{
    ilk_signal *signal = NULL, *give = NULL;
    ilk_arrival *arrival = NULL;
    int64_t reached = 0;
    ilk_status st = ilk_signal_open(&signal, client, "go", 2, NULL, err);

    if (st == ILK_OK)
        st = ilk_signal_open(&give, client, "go", 2, NULL, err);
    if (st == ILK_OK)
        st = ilk_signal_listen(signal, err);
    if (st == ILK_OK)
        st = ilk_signal_notify_one(&reached, give, "x", 1, err);
    if (st == ILK_OK && reached)
        st = ilk_signal_wait(&arrival, signal, 200, err);
    ilk_arrival_free(arrival);
    ilk_signal_free(signal);
    ilk_signal_free(give);
    return st;
}

static ilk_status lead(ilk_error *err)
{
    ilk_election_opts opts;
    ilk_election *election = NULL;
    ilk_leader *found = NULL;
    ilk_status st;

    ilk_election_opts_init(&opts, sizeof opts);
    opts.value = "node";
    opts.value_len = 4;
    st = ilk_election_open(&election, client, "e", 1, &opts, err);
    if (st == ILK_OK)
        st = ilk_election_campaign(election, SOON_MS, err);
    if (st == ILK_OK)
        st = ilk_election_leader(&found, election, err);
    ilk_leader_free(found);
    if (st == ILK_OK)
        st = ilk_election_resign(election, err);
    ilk_election_free(election);
    return st;
}

/* On a connection of its own. */
static ilk_status consume(ilk_error *err)
{
    static const void *const names[] = {"a"};
    static const size_t lens[] = {1};
    ilk_consumer *consumer = NULL;
    ilk_items *items = NULL;
    ilk_status st = ilk_consumer_open(&consumer, client, names, lens, 1, err);

    if (st == ILK_OK)
        st = ilk_consumer_pop(&items, consumer, IDLE_MS, err);
    ilk_items_free(items);
    ilk_consumer_free(consumer);
    return st;
}

static const call_scene scenes[] = {
    {"take a permit", NULL, take_a_permit, ILK_OK, 0, 0},
    {"queue up", NULL, queue_up, ILK_OK, 0, 0},
    {"wait for a message", NULL, wait_for_a_message, ILK_ETIMEOUT, 6, 0},
    {"signal oneself", NULL, signal_oneself, ILK_OK, 6, 0},
    {"lead", NULL, lead, ILK_OK, 0, 0},
    {"consume", NULL, consume, ILK_ETIMEOUT, 6, 1},
};

/* ---- before and after --------------------------------------------------- */

static void set(void)
{
    fixture_command(&fx, "FLUSHALL");
    client = open_client();
}

static int64_t length(const char *command, const char *key)
{
    return fixture_int(&fx, "%s ilk:queue:%s{mail}", command, key);
}

/* A message may be given back between the two commands. */
static int leases_fit(void)
{
    return (length("ZCARD", "leases:") > 0) == (length("HLEN", "flight:") > 0);
}

/* Each message lies somewhere, or is finished. */
static void assert_no_message_is_lost(int unharmed)
{
    int64_t pushed = fixture_int(&fx, "HGET ilk:queue:{mail} pushed");
    int fit = leases_fit();
    int64_t there = length("LLEN", "ready:") + length("ZCARD", "delayed:")
                    + length("HLEN", "flight:") + length("HLEN", "dead:");

    if (pushed != INT64_MIN)
        assert_in_range(there, unharmed ? 0 : pushed - 1, pushed - unharmed);
    for (int64_t limit = fixture_now_ms() + patience(2000);
         !fit && fixture_now_ms() < limit; fit = leases_fit())
        fixture_sleep_ms(1);
    assert_true(fit);
}

static void check(const call_scene *s, int unharmed)
{
    ilk_error err = {0};
    ilk_status st;

    assert_no_message_is_lost(unharmed);
    assert_all_keys_end(s->run == consume ? "ilk:recipes:" : "ilk:queue:");
    if (unharmed)
        assert_string_equal("0", fixture_command(&fx, "EXISTS ilk:election:{e} "
                                                      "ilk:semaphore:{s}"));
    fixture_command(&fx, "FLUSHALL");
    /* On a busy machine a connection may take longer than a short wait. */
    for (int64_t limit = fixture_now_ms() + patience(2000);
         (st = s->run(&err)) == ILK_ECONN && fixture_now_ms() < limit;)
        fixture_sleep_ms(1);
    assert_status(s->expected, st);
}

static void clear(void)
{
    ilk_client_free(client);
    client = NULL;
}

AROUND_ALL(server_setup, server_teardown);

int main(void)
{
    static const call_stage stage = {set, check, clear};

    return run_call_scenes(scenes, sizeof scenes / sizeof *scenes, &stage);
}

/* SPDX-License-Identifier: MIT */
/*
 * ct_recipes_consumer.c -- consumers of raw lists: blocked, woken, cut
 * off, interrupted, killed.
 */
#include "lock_case.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

AROUND_ALL(server_setup, server_teardown);

static ilk_client *client;
static ilk_consumer *consumer; /* of "high" and "low" */

static ilk_consumer *open_consumer(ilk_client *of)
{
    static const void *const names[] = {"high", "low"};
    static const size_t lens[] = {4, 3};
    ilk_consumer *made = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_consumer_open(&made, of, names, lens, 2, &err));
    return made;
}

static int begin(void)
{
    fixture_command(&fx, "FLUSHALL");
    client = open_client();
    consumer = open_consumer(client);
    return 0;
}

static int end(void)
{
    ilk_consumer_free(consumer);
    ilk_client_free(client);
    return 0;
}

AROUND_EACH(begin, end);

static void assert_takes(ilk_consumer *by, const char *queue,
                         const char *message, int64_t timeout_ms)
{
    ilk_items *items = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_consumer_pop(&items, by, timeout_ms, &err));
    assert_int_equal(2, ilk_items_count(items));
    assert_string_equal(queue, ilk_items_data(items, 0, NULL));
    assert_string_equal(message, ilk_items_data(items, 1, NULL));
    ilk_items_free(items);
}

static void settle(ilk_consumer *by, int how, ilk_status expected)
{
    ilk_error err = {0};

    assert_status(expected, ilk_consumer_settle(by, how, &err));
}

/* Ask until the answer holds the text. */
static void await_text(const char *command, const char *text)
{
    int64_t until = fixture_now_ms() + 5000;

    while (!strstr(fixture_command(&fx, "%s", command), text)) {
        assert_true(fixture_now_ms() < until);
        fixture_sleep_ms(2);
    }
}

static const char inboxes[] = "PUBSUB CHANNELS ilk:inbox:*";

/* Something that a thread of its own does in a moment. */
typedef struct later {
    pthread_t thread;
    void (*act)(void);
    pthread_t caller;
} later;

static void *do_later(void *arg)
{
    later *self = arg;

    await_text("CLIENT LIST", "cmd=blmove");
    fixture_sleep_ms((int)patience(100)); /* until it sleeps on the answer */
    if (self->act)
        self->act();
    else
        pthread_kill(self->caller, SIGUSR1);
    return NULL;
}

static void start_later(later *self, void (*act)(void))
{
    self->act = act;
    self->caller = pthread_self();
    assert_int_equal(0, pthread_create(&self->thread, NULL, do_later, self));
}

/* ---- taking and settling ------------------------------------------------ */

TEST(urgent_lists_come_first_and_messages_are_settled)
{
    ilk_items *items = NULL;
    ilk_error err = {0};

    fixture_command(&fx, "RPUSH low 1 2");
    fixture_command(&fx, "RPUSH high 3");
    assert_takes(consumer, "high", "3", 0);
    assert_status(ILK_EHELD, ilk_consumer_pop(&items, consumer, 0, &err));
    settle(consumer, ILK_RECIPES_DONE, ILK_OK);
    settle(consumer, ILK_RECIPES_DONE, ILK_ENOTOWNER);
    settle(consumer, 7, ILK_EINVAL);
    assert_takes(consumer, "low", "1", 0);
    settle(consumer, ILK_RECIPES_BACK, ILK_OK);
    assert_takes(consumer, "low", "1", 0);
    settle(consumer, ILK_RECIPES_DEAD, ILK_OK);
    assert_string_equal(
        "1", fixture_command(&fx, "LRANGE ilk:recipes:dead:{low} 0 -1"));
    assert_takes(consumer, "low", "2", -1);
    assert_status(ILK_OK, ilk_consumer_leave(consumer, &err));
    assert_string_equal("2", fixture_command(&fx, "LRANGE low 0 -1"));
    assert_int_equal(0, fixture_int(&fx, "EXISTS ilk:recipes:consumers:{low}"));
}

TEST(nothing_in_time_is_a_timeout)
{
    ilk_consumer *none = NULL;
    ilk_items *items = NULL;
    ilk_error err = {0};
    int64_t began = fixture_now_ms();

    assert_status(ILK_EBUSY, ilk_consumer_pop(&items, consumer, 0, &err));
    assert_status(ILK_ETIMEOUT, ilk_consumer_pop(&items, consumer, 200, &err));
    assert_null(items);
    assert_on_time(fixture_now_ms() - began, 200);
    assert_status(ILK_EINVAL, ilk_consumer_pop(&items, consumer, -2, &err));
    assert_status(ILK_EINVAL, ilk_consumer_pop(NULL, consumer, 0, &err));
    assert_status(ILK_EINVAL, ilk_consumer_pop(&items, NULL, 0, &err));
    assert_status(ILK_EINVAL,
                  ilk_consumer_open(&none, client, NULL, NULL, 0, &err));
    assert_null(none);
}

/* ---- blocked ------------------------------------------------------------ */

static void push_low(void)
{
    fixture_command(&fx, "RPUSH low late");
}

/* A program of another kind pushes, and publishes nothing. */
TEST(a_push_of_others_wakes_it)
{
    int64_t began = fixture_now_ms();
    later other;

    start_later(&other, push_low);
    assert_takes(consumer, "low", "late", 10000);
    pthread_join(other.thread, NULL);
    assert_true(fixture_now_ms() - began < patience(1000));
    settle(consumer, ILK_RECIPES_DONE, ILK_OK);
}

static void cut_and_push(void)
{
    fixture_command(&fx, "CLIENT KILL TYPE normal SKIPME yes");
    fixture_command(&fx, "RPUSH low late");
}

TEST(a_broken_connection_loses_nothing)
{
    later other;

    start_later(&other, cut_and_push);
    assert_takes(consumer, "low", "late", 10000);
    pthread_join(other.thread, NULL);
    settle(consumer, ILK_RECIPES_DONE, ILK_OK);
    assert_int_equal(0, fixture_int(&fx, "EXISTS low"));
}

/* A server that becomes a replica ends what blocks on it by an error. */
static void demote_and_push(void)
{
    fixture_command(&fx, "MULTI"); /* nobody writes to it meanwhile */
    fixture_command(&fx, "REPLICAOF 127.0.0.1 1");
    fixture_command(&fx, "REPLICAOF NO ONE");
    fixture_command(&fx, "EXEC");
    push_low();
}

TEST(a_server_that_was_a_replica_meanwhile_goes_on)
{
    later other;

    start_later(&other, demote_and_push);
    assert_takes(consumer, "low", "late", 10000);
    pthread_join(other.thread, NULL);
    settle(consumer, ILK_RECIPES_DONE, ILK_OK);
}

/* The server moved it, and the answer went nowhere. */
TEST(a_message_whose_move_had_no_reply_is_taken_next)
{
    char keys[256];
    ilk_items *items = NULL;
    ilk_error err = {0};

    fixture_command(&fx, "RPUSH low 1 2");
    assert_takes(consumer, "low", "1", 0);
    snprintf(keys, sizeof keys, "%s",
             fixture_command(&fx, "KEYS ilk:recipes:taken:*:{low}"));
    settle(consumer, ILK_RECIPES_DONE, ILK_OK);
    fixture_command(&fx, "LMOVE low %s LEFT RIGHT", keys);
    fixture_command(&fx, "RPUSH high 3");
    assert_takes(consumer, "low", "2", 0);
    settle(consumer, ILK_RECIPES_DONE, ILK_OK);
    assert_takes(consumer, "high", "3", 0);
    settle(consumer, ILK_RECIPES_DONE, ILK_OK);
    assert_status(ILK_EBUSY, ilk_consumer_pop(&items, consumer, 0, &err));
}

static void on_signal(int number)
{
    (void)number;
}

static void interrupt(void)
{
    ilk_client_interrupt(client);
}

static void close_client(void)
{
    ilk_client_close(client, NULL);
}

/* A message that comes then would go to a consumer that nobody knows. */
TEST(nothing_blocks_for_a_consumer_that_has_left)
{
    later other;
    ilk_items *items = NULL;
    ilk_error err = {0};

    start_later(&other, interrupt);
    assert_status(ILK_EINTR, ilk_consumer_pop(&items, consumer, -1, &err));
    pthread_join(other.thread, NULL);
    assert_status(ILK_OK, ilk_consumer_leave(consumer, &err));
    assert_null(strstr(fixture_command(&fx, "CLIENT LIST"), "cmd=blmove"));
}

TEST(signals_interrupts_and_close_end_it)
{
    struct sigaction action = {.sa_handler = on_signal}, old;
    ilk_items *items = NULL;
    ilk_error err = {0};
    later other;

    sigaction(SIGUSR1, &action, &old);
    start_later(&other, NULL);
    assert_status(ILK_EINTR, ilk_consumer_pop(&items, consumer, -1, &err));
    pthread_join(other.thread, NULL);
    sigaction(SIGUSR1, &old, NULL);
    push_low();
    assert_takes(consumer, "low", "late", 1000);
    settle(consumer, ILK_RECIPES_DONE, ILK_OK);
    start_later(&other, interrupt);
    assert_status(ILK_EINTR, ilk_consumer_pop(&items, consumer, -1, &err));
    pthread_join(other.thread, NULL);
    start_later(&other, close_client);
    assert_status(ILK_ECLOSED, ilk_consumer_pop(&items, consumer, -1, &err));
    pthread_join(other.thread, NULL);
}

/* ---- processes ---------------------------------------------------------- */

/* A process that takes a message and then stands still. */
static pid_t start_taker(void)
{
    int ready[2];
    char byte;
    pid_t pid;

    assert_int_equal(0, pipe(ready));
    pid = fork();
    if (pid == 0) {
        ilk_items *items = NULL;
        ilk_client *own = open_client();
        ilk_consumer *taker = open_consumer(own);
        int bad = ilk_consumer_pop(&items, taker, 5000, NULL) != ILK_OK;

        fixture_hang_up(&fx);
        await_text(inboxes, "ilk:inbox:");
        bad |= write(ready[1], "r", 1) != 1;
        for (;;)
            pause();
        _exit(bad);
    }
    assert_int_equal(1, read(ready[0], &byte, 1));
    close(ready[0]);
    close(ready[1]);
    return pid;
}

/* Its time to show up again is over. */
static void let_it_be_late(void)
{
    fixture_call(&fx, "EVAL",
                 "local k = 'ilk:recipes:consumers:{low}'"
                 "return redis.call('ZADD', k, 0, redis.call('ZRANGE', k, 0, "
                 "0)[1])",
                 "0", (char *)NULL);
}

TEST(a_killed_ones_message_goes_to_others)
{
    ilk_items *items = NULL;
    ilk_error err = {0};
    pid_t taker;

    fixture_command(&fx, "RPUSH low 1");
    taker = start_taker();
    let_it_be_late();
    /* Late, but alive: it may be at work. */
    assert_status(ILK_ETIMEOUT, ilk_consumer_pop(&items, consumer, 100, &err));
    kill(taker, SIGSTOP);
    assert_status(ILK_ETIMEOUT, ilk_consumer_pop(&items, consumer, 100, &err));
    kill(taker, SIGKILL);
    waitpid(taker, NULL, 0);
    let_it_be_late();
    assert_takes(consumer, "low", "1", 8000);
    settle(consumer, ILK_RECIPES_DONE, ILK_OK);
}

TEST(one_taken_for_dead_gets_an_error)
{
    char keys[256];

    fixture_command(&fx, "RPUSH low 1");
    assert_takes(consumer, "low", "1", 0);
    snprintf(keys, sizeof keys, "%s",
             fixture_command(&fx, "KEYS ilk:recipes:taken:*"));
    fixture_command(&fx, "LMOVE %s low RIGHT LEFT", keys);
    settle(consumer, ILK_RECIPES_DONE, ILK_ELOST);
    assert_takes(consumer, "low", "1", 0);
    settle(consumer, ILK_RECIPES_DONE, ILK_OK);
}

static int info_number(const char *section, const char *key)
{
    const char *at = strstr(fixture_command(&fx, "INFO %s", section), key);

    assert_non_null(at);
    return atoi(at + strlen(key));
}

static void *pop_for_ever(void *context)
{
    ilk_items *items = NULL;

    return (void *)(intptr_t)ilk_consumer_pop(&items, context, -1, NULL);
}

/* The server takes no connection more, so there is none to block on. */
TEST(without_a_connection_to_block_on_it_pauses_and_can_be_stopped)
{
    ilk_items *items = NULL;
    ilk_error err = {0};
    int connects;
    pthread_t thread;
    void *status;

    assert_status(ILK_EBUSY, ilk_consumer_pop(&items, consumer, 0, &err));
    await_text("CLIENT LIST TYPE pubsub", "interlock-");
    fixture_command(&fx, "CONFIG SET maxclients %d",
                    info_number("clients", "connected_clients:"));
    fixture_command(&fx, "CONFIG RESETSTAT");
    assert_status(ILK_ETIMEOUT, ilk_consumer_pop(&items, consumer, 500, &err));
    connects = info_number("stats", "rejected_connections:");
    assert_in_range(connects, 1, 40); /* two lists, and a pause of 50 ms */
    assert_int_equal(0, pthread_create(&thread, NULL, pop_for_ever, consumer));
    fixture_sleep_ms(200);
    ilk_client_stop(client);
    assert_int_equal(0, pthread_join(thread, &status));
    assert_int_equal(ILK_ECANCELLED, (ilk_status)(intptr_t)status);
    fixture_command(&fx, "CONFIG SET maxclients 1000");
}

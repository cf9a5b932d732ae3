/* SPDX-License-Identifier: MIT */
/* ct_event_faults.c -- an event on a server and a line that fail. */
#include "fork_case.h"
#include "proxy_case.h"
#include "redis/script.h"
#include "state_case.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static ilk_client *behind; /* behind the proxy */

static int setup(void)
{
    if (client_setup() != 0 || proxy_before_server(&between) != 0)
        return -1;
    behind = open_client_at(between.url);
    return 0;
}

static int teardown(void)
{
    ilk_client_free(behind);
    proxy_close(&between);
    return client_teardown();
}

AROUND_ALL(setup, teardown);

/* ---- answers and messages that are lost --------------------------------- */

TEST(a_set_whose_answer_was_lost_happens_once)
{
    ilk_event *a = open_event(behind, "once"),
              *follower = open_event(client, "once");
    ilk_error err = {0};
    int64_t generation;

    assert_status(ILK_OK, ilk_event_set(a, "warm", 4, &err));
    proxy_cut(&between, ilk__scripts[ILK__SCRIPT_EVENT_SET].sha1, 3);
    assert_status(ILK_OK, ilk_event_set(a, "x", 1, &err));

    assert_int_equal(1, proxy_struck(&between));
    assert_int_equal(2, fixture_int(&fx, "ZCARD ilk:event:once:{once}"));
    assert_status(ILK_OK, ilk_event_read(follower, &err));
    generation = ilk_event_generation(follower);
    assert_int_equal(ilk_event_generation(a), generation);
    ilk_event_free(a);
    ilk_event_free(follower);
}

TEST(a_wait_whose_answer_was_lost_is_queued_once)
{
    ilk_event *a = open_event(behind, "line");
    waiting w = {.event = a, .timeout_ms = 20000};
    ilk_error err = {0};

    assert_status(ILK_EBUSY, ilk_event_wait(a, 0, &err)); /* knows it */
    proxy_cut(&between, ilk__scripts[ILK__SCRIPT_EVENT_WAIT].sha1, 2);
    start_waiting(&w);
    await_queue_length("event", "line", 1);
    fixture_sleep_ms(50);
    await_queue_length("event", "line", 1);

    fixture_call(&fx, "EVAL", ilk__scripts[ILK__SCRIPT_EVENT_SET].text, "4",
                 "ilk:event:{line}", "ilk:event:once:{line}",
                 "ilk:event:wait:{line}", "ilk:event:live:{line}", "token",
                 "data", "0", "64", "1", (char *)NULL);
    assert_waited(ILK_OK, &w);
    ilk_event_free(a);
}

/* The message goes to nobody; the refresh, or the inbox opened anew, sees. */
TEST(a_message_that_was_lost_costs_time_and_no_more)
{
    ilk_event *a = open_event(client, "lost");
    waiting w = {.event = a, .timeout_ms = 20000};

    start_waiting(&w);
    await_queue_length("event", "lost", 1);
    fixture_command(&fx, "HSET ilk:event:{lost} generation 5 set 1 data d");
    fixture_command(&fx, "DEL ilk:event:wait:{lost}");

    assert_waited(ILK_OK, &w);
    assert_in_range(waited_ms(&w), 0, patience(2500));
    assert_string_equal("d", ilk_event_data(a, NULL));
    ilk_event_free(a);
}

TEST(an_inbox_that_broke_misses_nothing)
{
    ilk_event *a = open_event(client, "inbox"),
              *b = open_event(behind, "inbox");
    waiting w = {.event = b, .timeout_ms = 20000};
    ilk_error err = {0};
    int64_t set_at;

    start_waiting(&w);
    await_queue_length("event", "inbox", 1);
    fixture_command(&fx, "CLIENT KILL TYPE pubsub");
    set_at = fixture_now_ms();
    assert_status(ILK_OK, ilk_event_set(a, NULL, 0, &err));

    assert_waited(ILK_OK, &w);
    assert_in_range(w.ended_at - set_at, 0, patience(2500));
    ilk_event_free(a);
    ilk_event_free(b);
}

TEST(a_wait_survives_a_flush_and_a_restart)
{
    ilk_event *a = open_event(client, "flush"),
              *b = open_event(behind, "flush");
    waiting w = {.event = b, .timeout_ms = 30000};
    ilk_error err = {0};

    start_waiting(&w);
    await_queue_length("event", "flush", 1);
    fixture_command(&fx, "FLUSHALL");
    await_queue_length("event", "flush", 1); /* again */
    assert_int_equal(0, fixture_kill(&fx));
    assert_int_equal(0, fixture_restart(&fx));
    await_queue_length("event", "flush", 1);

    assert_status(ILK_OK, ilk_event_set(a, NULL, 0, &err));

    assert_waited(ILK_OK, &w);
    ilk_event_free(a);
    ilk_event_free(b);
}

/* ---- ends that come from outside ---------------------------------------- */

TEST(a_cancelled_wait_leaves_the_queue)
{
    ilk_event *a = open_event(client, "cancel");
    waiting w = {.event = a, .timeout_ms = -1};
    ilk_error err = {0};

    start_waiting(&w);
    await_queue_length("event", "cancel", 1);
    assert_status(ILK_EHELD, ilk_event_read(a, &err)); /* in use */
    assert_status(ILK_OK, ilk_event_cancel(a, &err));

    assert_waited(ILK_ECANCELLED, &w);
    await_queue_length("event", "cancel", 0);
    ilk_event_free(a);
}

TEST(a_signal_ends_a_wait_that_the_next_takes_up)
{
    ilk_event *a = open_event(client, "eintr");
    waiting w = {.event = a, .timeout_ms = -1};
    ilk_error err = {0};

    start_waiting(&w);
    await_queue_length("event", "eintr", 1);
    interrupt_waiting(&w);
    assert_waited(ILK_EINTR, &w);
    await_queue_length("event", "eintr", 1); /* it stays */

    w = (waiting){.event = a, .timeout_ms = 150};
    start_waiting(&w);
    assert_waited(ILK_ETIMEOUT, &w);
    await_queue_length("event", "eintr", 0);

    w = (waiting){.event = a, .timeout_ms = -1};
    start_waiting(&w);
    await_queue_length("event", "eintr", 1);
    interrupt_waiting(&w);
    assert_waited(ILK_EINTR, &w);
    assert_status(ILK_OK, ilk_event_read(a, &err)); /* ends it */
    await_queue_length("event", "eintr", 0);
    ilk_event_free(a);
}

TEST(another_wait_does_not_take_up_the_first)
{
    ilk_event *a = open_event(client, "kinds"),
              *b = open_event(client, "kinds");
    waiting w = {.event = a, .timeout_ms = -1};
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_event_set(b, NULL, 0, &err));
    assert_status(ILK_OK, ilk_event_clear(b, &err));
    start_waiting(&w);
    await_queue_length("event", "kinds", 1);
    interrupt_waiting(&w);
    assert_waited(ILK_EINTR, &w);

    assert_status(ILK_OK, ilk_event_wait_change(a, 1, 5000, &err));

    assert_int_equal(0, ilk_event_is_set(a));
    await_queue_length("event", "kinds", 0);
    ilk_event_free(a);
    ilk_event_free(b);
}

TEST(closing_the_client_ends_its_waits)
{
    ilk_client *own = open_client();
    ilk_event *a = open_event(own, "close");
    waiting w = {.event = a, .timeout_ms = -1};
    ilk_error err = {0};

    start_waiting(&w);
    await_queue_length("event", "close", 1);
    assert_status(ILK_OK, ilk_client_close(own, &err));

    assert_waited(ILK_ECLOSED, &w);
    assert_status(ILK_ECLOSED, ilk_event_set(a, NULL, 0, &err));
    ilk_event_free(a);
    ilk_client_free(own);
}

TEST(a_child_is_refused_until_it_reopens)
{
    ilk_client *own = open_client();
    ilk_event *a = open_event(own, "fork");
    ilk_error err = {0};
    pid_t pid;

    assert_status(ILK_OK, ilk_event_set(a, "parent", 6, &err));
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        demand(ilk_event_read(a, &err) == ILK_EFORKED);
        demand(ilk_event_wait(a, 0, &err) == ILK_EFORKED);
        demand(ilk_event_cancel(a, &err) == ILK_EFORKED);
        demand(strcmp(ilk_event_data(a, NULL), "parent") == 0);
        demand(ilk_client_reopen(own, &err) == ILK_OK);
        demand(ilk_event_clear(a, &err) == ILK_OK);
        demand(ilk_event_wait(a, 0, &err) == ILK_EBUSY);
        ilk_event_free(a);
        ilk_client_free(own);
        _exit(0);
    }
    assert_ends_well(pid);
    assert_status(ILK_EBUSY, ilk_event_wait(a, 0, &err));
    ilk_event_free(a);
    ilk_client_free(own);
}

TEST(a_wait_of_the_parent_is_not_taken_up_in_the_child)
{
    ilk_client *own = open_client();
    ilk_event *a = open_event(own, "suspended");
    waiting w = {.event = a, .timeout_ms = -1};
    ilk_error err = {0};
    pid_t pid;

    start_waiting(&w);
    await_queue_length("event", "suspended", 1);
    interrupt_waiting(&w);
    assert_waited(ILK_EINTR, &w);
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        demand(ilk_client_reopen(own, &err) == ILK_OK);
        demand(ilk_event_wait(a, 0, &err) == ILK_EFORKED);
        demand(strcmp(err.msg, "the event belongs to the parent process") == 0);
        demand(ilk_event_wait(a, 0, &err) == ILK_EBUSY); /* its own now */
        ilk_event_free(a);
        ilk_client_free(own);
        _exit(0);
    }
    assert_ends_well(pid);

    assert_int_equal(1, fixture_int(&fx, "ZCARD ilk:event:wait:{suspended}"));
    ilk_event_free(a);
    ilk_client_free(own);
}

/* ---- bad input ---------------------------------------------------------- */

TEST(bad_input_is_refused_with_its_value)
{
    ilk_event *a = open_event(client, "bad"), *none = (ilk_event *)1;
    ilk_event_opts opts;
    ilk_error err = {0};

    ilk_event_opts_init(&opts, sizeof opts);
    opts.ttl_ms = -5;
    assert_int_equal(ILK_EINVAL,
                     ilk_event_open(&none, client, "x", 1, &opts, &err));
    assert_null(none);
    assert_non_null(strstr(err.msg, "ttl_ms must be 1 to "));
    assert_non_null(strstr(err.msg, "got -5"));
    opts.size = 1;
    assert_int_equal(ILK_EINVAL,
                     ilk_event_open(&none, client, "x", 1, &opts, &err));
    assert_int_equal(ILK_EINVAL,
                     ilk_event_open(NULL, client, "x", 1, NULL, &err));
    assert_int_equal(ILK_EINVAL,
                     ilk_event_open(&none, NULL, "x", 1, NULL, &err));
    assert_int_equal(ILK_EINVAL,
                     ilk_event_open(&none, client, "", 0, NULL, &err));
    assert_int_equal(ILK_EINVAL,
                     ilk_event_open(&none, client, "ilk:x", 5, NULL, &err));
    assert_int_equal(ILK_EINVAL, ilk_event_set(a, NULL, 3, &err));
    assert_int_equal(ILK_EINVAL, ilk_event_wait_change(a, -1, 0, &err));
    assert_non_null(strstr(err.msg, "got -1"));
    assert_int_equal(ILK_EINVAL,
                     ilk_event_wait_change(a, INT64_C(1) << 53, 0, &err));
    ilk_event_free(a);
}

TEST(null_is_refused_everywhere)
{
    ilk_error err = {0};
    size_t len = 1;

    assert_int_equal(ILK_EINVAL, ilk_event_set(NULL, "", 0, &err));
    assert_string_equal("event must not be NULL", err.msg);
    assert_int_equal(ILK_EINVAL, ilk_event_clear(NULL, NULL));
    assert_int_equal(ILK_EINVAL, ilk_event_read(NULL, NULL));
    assert_int_equal(ILK_EINVAL, ilk_event_wait(NULL, 0, NULL));
    assert_int_equal(ILK_EINVAL, ilk_event_wait_change(NULL, 0, 0, NULL));
    assert_int_equal(ILK_EINVAL, ilk_event_cancel(NULL, NULL));
    assert_int_equal(0, ilk_event_is_set(NULL));
    assert_int_equal(0, ilk_event_generation(NULL));
    assert_string_equal("", ilk_event_data(NULL, &len));
    assert_int_equal(0, len);
    ilk_event_opts_init(NULL, 8);
    ilk_event_free(NULL);
}

TEST(a_key_of_another_type_is_refused)
{
    ilk_event *a = open_event(client, "type");
    ilk_error err = {0};

    fixture_command(&fx, "SET ilk:event:{type} x");
    assert_status(ILK_ETYPE, ilk_event_set(a, NULL, 0, &err));
    assert_status(ILK_ETYPE, ilk_event_wait(a, -1, &err));
    ilk_event_free(a);
}

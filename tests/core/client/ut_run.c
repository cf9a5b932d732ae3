/* SPDX-License-Identifier: MIT */
/*
 * ut_run.c -- interrupts and stops of the blocking driver, and threads that cannot
 * be started, with a server that is away.
 */
/* link: -Wl,--wrap=ilk__park,--wrap=ilk__keeper_start */
#include "client/keeper.h"
#include "client/run.h"

#include "base/clock.h"
#include "base/error.h"

#include <interlock.h>
#include <string.h>

#include "test.h"

/* Nobody listens here. */
static const char url[] = "unix:///nowhere/interlock-ut-run.sock";

static ilk_client *client;
static ilk_error err;
static ilk__parker parker;

/* The events of the operation under test. */
static struct {
    int sleeps;     /* all */
    int short_cuts; /* those that the driver ends at once */
    int interrupt;  /* interrupt the client before the n-th sleep, from 1 */
    int stop;       /* and stop it before this one */
    int woken, interrupts, stops, closings, failures;
    int no_keeper; /* it cannot be started */
} seen;

ilk_status __real_ilk__park(ilk__parker *of, int64_t deadline);
ilk_status __wrap_ilk__park(ilk__parker *of, int64_t deadline);

ilk_status __wrap_ilk__park(ilk__parker *of, int64_t deadline)
{
    if (of == &parker) {
        seen.short_cuts += deadline == 0;
        if (++seen.sleeps == seen.interrupt)
            ilk_client_interrupt(client);
        if (seen.sleeps == seen.stop)
            ilk_client_stop(client);
    }
    return __real_ilk__park(of, deadline);
}

ilk_status __real_ilk__keeper_start(ilk__keeper *keeper, ilk_error *to);
ilk_status __wrap_ilk__keeper_start(ilk__keeper *keeper, ilk_error *to);

ilk_status __wrap_ilk__keeper_start(ilk__keeper *keeper, ilk_error *to)
{
    return seen.no_keeper ? ilk__fail(to, ILK_ESYSTEM, "no thread today")
                          : __real_ilk__keeper_start(keeper, to);
}

static int setup(void)
{
    ilk_client_opts opts;

    memset(&seen, 0, sizeof seen);
    ilk_client_opts_init(&opts, sizeof opts);
    opts.flags = ILK_CLIENT_LAZY;
    assert_int_equal(ilk_client_open(&client, url, &opts, &err), ILK_OK);
    assert_int_equal(ilk__parker_init(&parker, &err), ILK_OK);
    return 0;
}

static int teardown(void)
{
    ilk__parker_destroy(&parker);
    ilk_client_free(client);
    return 0;
}

AROUND_EACH(setup, teardown);

/* ---- operations --------------------------------------------------------- */

static void ask_ping(ilk__op *op)
{
    ilk__command_add_str(&op->command, "PING");
}

static ilk__act end(ilk__op *op, const ilk__reply *reply)
{
    (void)reply;
    return ilk__op_done(op, ILK_OK);
}

static ilk__act end_when_interrupted(ilk__op *op, ilk__cause cause)
{
    seen.woken++;
    seen.interrupts += cause == ILK__CAUSE_INTERRUPT;
    seen.stops += cause == ILK__CAUSE_STOPPED;
    if (cause == ILK__CAUSE_NEWS)
        return ilk__op_sleep(op, op->deadline);
    return ilk__op_done(op,
                        cause == ILK__CAUSE_TIME ? ILK_ETIMEOUT : ILK_EINTR);
}

static ilk__act end_when_closed(ilk__op *op, ilk__cause cause)
{
    seen.closings += cause == ILK__CAUSE_CLOSED;
    return ilk__op_done(op, cause == ILK__CAUSE_CLOSED ? ILK_ECLOSED : ILK_OK);
}

static ilk__act sleep_first(ilk__op *op)
{
    return ilk__op_sleep(op, op->deadline);
}

static ilk__act tidy_up(ilk__op *op, ilk_status status)
{
    seen.failures++;
    return ilk__op_done(op, status);
}

static ilk__act sleep_in_spite_of_interrupts(ilk__op *op, ilk__cause cause)
{
    seen.woken++;
    seen.interrupts += cause == ILK__CAUSE_INTERRUPT;
    seen.stops += cause == ILK__CAUSE_STOPPED;
    if (op->now >= op->deadline)
        return ilk__op_done(op, ILK_ETIMEOUT);
    return ilk__op_sleep(op, op->deadline);
}

static ilk__act interrupt_and_sleep(ilk__op *op)
{
    ilk_client_interrupt(client);
    return ilk__op_sleep(op, op->deadline);
}

static const ilk__op_type request = {.name = "request",
                                     .script = ILK__SCRIPT_NONE,
                                     .ask = ask_ping,
                                     .reply = end};
static const ilk__op_type wait = {.name = "wait",
                                  .script = ILK__SCRIPT_NONE,
                                  .ask = ask_ping,
                                  .reply = end,
                                  .wake = end_when_interrupted};
static const ilk__op_type late_wait = {.name = "late wait",
                                       .script = ILK__SCRIPT_NONE,
                                       .ask = ask_ping,
                                       .reply = end,
                                       .start = interrupt_and_sleep,
                                       .wake = end_when_interrupted};
static const ilk__op_type stubborn_wait = {.name = "stubborn wait",
                                           .script = ILK__SCRIPT_NONE,
                                           .ask = ask_ping,
                                           .reply = end,
                                           .start = interrupt_and_sleep,
                                           .wake =
                                               sleep_in_spite_of_interrupts};
static const ilk__op_type closing_wait = {.name = "closing wait",
                                          .script = ILK__SCRIPT_NONE,
                                          .ask = ask_ping,
                                          .reply = end,
                                          .start = sleep_first,
                                          .wake = end_when_closed};
static const ilk__op_type tidy_request = {.name = "tidy request",
                                          .script = ILK__SCRIPT_NONE,
                                          .ask = ask_ping,
                                          .reply = end,
                                          .failed = tidy_up};

static ilk_status run(const ilk__op_type *type, int64_t timeout_ms)
{
    ilk_status st;
    ilk__op op;

    ilk__op_init(&op, type, NULL, ilk__deadline(timeout_ms), &err);
    st = ilk__run(client, &op, &parker);
    ilk__op_free(&op);
    return st;
}

/* ---- tests -------------------------------------------------------------- */

/* One interrupt ends two sleeps at most: it is seen in the counter, and then
 * the keeper wakes all sleepers. */
enum { SLEEPS_OF_AN_INTERRUPT = 2 };

TEST(an_interrupt_in_a_pause_ends_a_request)
{
    seen.interrupt = 2;

    assert_int_equal(run(&request, -1), ILK_EINTR);

    assert_int_equal(seen.sleeps, 2);
}

TEST(a_stop_in_a_pause_ends_a_request)
{
    seen.stop = 2;

    assert_int_equal(run(&request, -1), ILK_ECANCELLED);

    assert_int_equal(seen.sleeps, 2);
}

/* The program's function, which says at its third call that the request is to end. */
static int asked(void *user)
{
    return ++*(int *)user == 3;
}

TEST(a_program_decides_whether_a_tick_ends_a_request)
{
    int times = 0;

    client->opts.flags |= ILK_CLIENT_TICK;
    client->opts.interrupted = asked;
    client->opts.user = &times;

    assert_int_equal(run(&request, -1), ILK_EINTR);

    assert_int_equal(times, 3);
}

TEST(an_interrupt_in_a_pause_ends_a_wait)
{
    seen.interrupt = 2;

    assert_int_equal(run(&wait, -1), ILK_EINTR);

    assert_int_equal(seen.woken, 1);
    assert_int_equal(seen.interrupts, 1);
}

TEST(an_interrupt_before_the_sleep_is_not_lost)
{
    assert_int_equal(run(&late_wait, -1), ILK_EINTR);

    assert_int_equal(seen.interrupts, 1);
}

TEST(an_interrupt_that_a_wait_ignores_is_reported_once)
{
    assert_int_equal(run(&stubborn_wait, 300), ILK_ETIMEOUT);

    assert_int_equal(seen.interrupts, 1);
    assert_in_range(seen.short_cuts, 1, SLEEPS_OF_AN_INTERRUPT);
}

TEST(a_stop_before_the_operation_ends_a_wait)
{
    ilk_client_stop(client);

    assert_int_equal(run(&wait, -1), ILK_EINTR);

    assert_int_equal(seen.stops, 1);
    assert_int_equal(seen.sleeps, 0);
}

TEST(a_stop_in_a_pause_ends_a_wait)
{
    seen.stop = 2;

    assert_int_equal(run(&wait, -1), ILK_EINTR);

    assert_int_equal(seen.woken, 1);
    assert_int_equal(seen.stops, 1);
}

TEST(a_stop_that_a_wait_ignores_is_reported_once)
{
    ilk_client_stop(client);

    assert_int_equal(run(&stubborn_wait, 300), ILK_ETIMEOUT);

    assert_int_equal(seen.stops, 1);
    assert_in_range(seen.short_cuts, 0, 2 * SLEEPS_OF_AN_INTERRUPT);
}

TEST(a_stop_changes_no_request)
{
    ilk_client_stop(client);

    assert_int_equal(run(&request, 600), ILK_ECONN);

    assert_true(seen.sleeps > seen.short_cuts);
}

TEST(a_stop_lasts_until_the_client_is_resumed)
{
    assert_false(ilk_client_stopped(NULL));
    ilk_client_stop(NULL);
    ilk_client_resume(NULL);
    ilk_client_resume(client);
    assert_false(ilk_client_stopped(client));
    ilk_client_stop(client);
    ilk_client_stop(client);
    assert_true(ilk_client_stopped(client));
    ilk_client_resume(client);
    assert_false(ilk_client_stopped(client));

    assert_int_equal(run(&wait, 100), ILK_ECONN);

    assert_int_equal(seen.stops, 0);
    ilk_client_stop(client);
    assert_int_equal(run(&wait, -1), ILK_EINTR);
}

/* They withdraw what they may have on the server. */
TEST(without_a_keeper_sleeps_end_as_in_a_closed_client)
{
    seen.no_keeper = 1;

    assert_int_equal(run(&closing_wait, -1), ILK_ESYSTEM);

    assert_int_equal(seen.closings, 1);
    assert_string_equal(err.msg, "no thread today");
    assert_int_equal(run(&tidy_request, 600), ILK_ESYSTEM);
    assert_int_equal(seen.failures, 1);
    assert_int_equal(seen.sleeps, 0);
}

/* SPDX-License-Identifier: MIT */
/* ct_signal_pattern.c -- listening to all names of a pattern. */
#include "signal_case.h"

#include <signal.h>
#include <string.h>

static ilk_client *client, *giver;
static ilk_signal *jobs, *mail, *print, *other;

static int setup(void)
{
    fixture_wake_on(SIGUSR1);
    return server_setup();
}

AROUND_ALL(setup, server_teardown);

static ilk_signal *open_pattern(ilk_client *of, const char *pattern)
{
    ilk_signal *signal = NULL;
    ilk_signal_opts opts;
    ilk_error err = {0};

    ilk_signal_opts_init(&opts, sizeof opts);
    opts.flags = ILK_SIGNAL_PATTERN;
    assert_status(ILK_OK, ilk_signal_open(&signal, of, pattern, strlen(pattern),
                                          &opts, &err));
    return signal;
}

static int open_all(void)
{
    client = open_client();
    giver = open_client();
    jobs = open_pattern(client, "jobs.*");
    mail = open_signal(giver, "jobs.mail");
    print = open_signal(giver, "jobs.print");
    other = open_signal(giver, "mail.jobs");
    return 0;
}

static int close_all(void)
{
    ilk_signal *all[] = {jobs, mail, print, other};

    for (int i = 0; i < 4; i++)
        ilk_signal_free(all[i]);
    ilk_client_free(client);
    ilk_client_free(giver);
    return 0;
}

AROUND_EACH(open_all, close_all);

static void await_patterns(int n)
{
    assert_int_equal(0,
                     fixture_await(&fx, n ? "1" : "0", 10000, "PUBSUB NUMPAT"));
}

TEST(a_pattern_receives_the_broadcasts_of_its_names)
{
    hearing l;

    start_hearing(&l, LISTEN_ANY, &jobs, 1, 20000);
    await_patterns(1);

    assert_int_equal(0, report_all(other, "not a name of the pattern"));
    assert_int_equal(0, tell_one(mail, "to one who waits for that name"));
    assert_int_equal(1, report_all(print, "to all"));

    assert_heard(ILK_OK, &l);
    assert_string_equal("0 jobs.print=to all;", heard(l.arrival));
    assert_int_equal(1, ilk_arrival_count(l.arrival));
    free_hearing(&l);
    await_patterns(0);
    assert_int_equal(0, report_all(print, "late"));
}

TEST(a_client_that_listens_counts_once_beside_those_who_wait)
{
    ilk_signal *again = open_pattern(client, "jobs.*");
    ilk_signal *waits[2] = {open_signal(client, "jobs.mail"),
                            open_signal(giver, "jobs.mail")};
    hearing l[4];

    start_hearing(&l[0], LISTEN_ANY, &jobs, 1, 20000);
    start_hearing(&l[1], LISTEN_ANY, &again, 1, 20000);
    start_hearing(&l[2], LISTEN_ANY, &waits[0], 1, 20000);
    start_hearing(&l[3], LISTEN_ANY, &waits[1], 1, 20000);
    await_patterns(1);
    await_waits("jobs.mail", 2);
    fixture_sleep_ms(50); /* both listeners */

    assert_int_equal(3, report_all(mail, "x"));

    for (int i = 0; i < 4; i++) {
        assert_heard(ILK_OK, &l[i]);
        assert_string_equal("0 jobs.mail=x;", heard(l[i].arrival));
        free_hearing(&l[i]);
    }
    ilk_signal_free(again);
    ilk_signal_free(waits[0]);
    ilk_signal_free(waits[1]);
}

TEST(listening_ends_on_time)
{
    ilk_arrival *arrival = NULL;
    ilk_error err = {0};
    int64_t began = fixture_now_ms();

    assert_status(ILK_ETIMEOUT, ilk_signal_wait(&arrival, jobs, 300, &err));
    assert_on_time(fixture_now_ms() - began, 300);
    assert_null(arrival);
    await_patterns(0);

    began = fixture_now_ms();
    assert_status(ILK_ETIMEOUT, ilk_signal_wait(&arrival, jobs, 0, &err));
    assert_true(fixture_now_ms() - began < patience(20));
}

TEST(listening_that_was_interrupted_goes_on)
{
    ilk_arrival *arrival = NULL;
    ilk_error err = {0};
    hearing l;

    start_hearing(&l, LISTEN_ANY, &jobs, 1, -1);
    await_patterns(1);
    interrupt_hearing(&l);
    assert_heard(ILK_EINTR, &l);

    assert_int_equal(1, report_all(mail, "meanwhile"));
    fixture_sleep_ms(50);
    assert_status(ILK_OK, ilk_signal_wait(&arrival, jobs, 0, &err));
    assert_string_equal("0 jobs.mail=meanwhile;", heard(arrival));
    ilk_arrival_free(arrival);
    await_patterns(0);

    start_hearing(&l, LISTEN_ANY, &jobs, 1, -1);
    await_patterns(1);
    for (int i = 0; i < 500 && !l.done; i++) {
        ilk_client_interrupt(client); /* it may not be asleep yet */
        fixture_sleep_ms(10);
    }
    assert_heard(ILK_EINTR, &l);
    assert_status(ILK_OK, ilk_signal_cancel(jobs, &err));
    await_patterns(0);
}

TEST(listening_is_ended_by_cancel_and_close)
{
    ilk_error err = {0};
    hearing l;

    start_hearing(&l, LISTEN_ANY, &jobs, 1, -1);
    await_patterns(1);
    assert_status(ILK_OK, ilk_signal_cancel(jobs, &err));
    assert_heard(ILK_ECANCELLED, &l);
    await_patterns(0);

    start_hearing(&l, LISTEN_ANY, &jobs, 1, -1);
    await_patterns(1);
    ilk_client_close(client, NULL);
    assert_heard(ILK_ECLOSED, &l);
}

TEST(a_pattern_is_not_signalled_and_waits_alone)
{
    ilk_signal *set[] = {open_signal(client, "a"), jobs};
    ilk_arrival *arrival = NULL;
    ilk_error err = {0};

    assert_status(ILK_EINVAL, ilk_signal_notify_all(NULL, jobs, "x", 1, &err));
    assert_string_equal("a pattern can be listened to, not signalled", err.msg);
    assert_status(ILK_EINVAL, ilk_signal_notify_one(NULL, jobs, "x", 1, &err));
    assert_status(ILK_EINVAL, ilk_signal_wait_any(&arrival, set, 2, 100, &err));
    assert_string_equal("signal 1 is a pattern, which waits alone", err.msg);
    ilk_signal_free(set[0]);
}

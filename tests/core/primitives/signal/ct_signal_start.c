/* SPDX-License-Identifier: MIT */
/*
 * ct_signal_start.c -- what is special about started operations of signals;
 * ct_started_waits.c and ct_started_requests.c have the rest.
 */
#include "signal_case.h"
#include "started.h"
#include "state_case.h"

#include <stdlib.h>
#include <string.h>

AROUND_ALL(state_setup, state_teardown);

static ilk_op *start_wait(ilk_signal *signal, const char *name, const char *n,
                          ilk_client *of)
{
    ilk_error err = {0};
    ilk_op *op = NULL;

    assert_status(ILK_OK, ilk_signal_wait_start(&op, signal, -1, &err));
    turn_until(of, n, "ZCARD ilk:signal:wait:{%s}", name);
    return op;
}

static void assert_brought_at(const char *expected, ilk_client *of, ilk_op *op,
                              const char *file, int line)
{
    assert_ended_at(ILK_OK, of, op, file, line);
    if (strcmp(heard(ilk_op_arrival(op)), expected) != 0) {
        print_error("brought %s\n", heard(ilk_op_arrival(op)));
        _fail(file, line);
    }
    ilk_op_free(op);
}
#define assert_brought(expected, of, op)                                       \
    assert_brought_at(expected, of, op, __FILE__, __LINE__)

static ilk_signal *open_pattern(ilk_client *of, const char *name)
{
    ilk_signal_opts opts;
    ilk_signal *signal = NULL;
    ilk_error err = {0};

    ilk_signal_opts_init(&opts, sizeof opts);
    opts.flags = ILK_SIGNAL_PATTERN;
    assert_status(
        ILK_OK, ilk_signal_open(&signal, of, name, strlen(name), &opts, &err));
    return signal;
}

TEST(a_wait_brings_its_signal)
{
    ilk_signal *a = open_signal(client, "go"), *b = open_signal(other, "go");
    ilk_op *op = start_wait(a, "go", "1", client);

    assert_null(ilk_op_arrival(op));
    assert_under_way(client, op);

    assert_int_equal(1, tell_one(b, "now"));

    assert_brought("0 go=now;", client, op);
    turn_until(client, "0", "ZCARD ilk:signal:wait:{go}");
    ilk_signal_free(a);
    ilk_signal_free(b);
}

TEST(a_wait_for_any_keeps_only_its_first_handle)
{
    ilk_signal *set[3] = {open_signal(client, "a"), open_signal(client, "b"),
                          open_signal(client, "c")},
               *first = set[0], *b = open_signal(other, "b");
    ilk_error err = {0};
    ilk_op *op = NULL;

    assert_status(ILK_OK, ilk_signal_wait_any_start(&op, set, 3, -1, &err));
    ilk_signal_free(set[1]);
    ilk_signal_free(set[2]);
    memset(set, 0, sizeof set);
    turn_until(client, "1", "ZCARD ilk:signal:wait:{c}");

    assert_int_equal(1, report_all(b, "x"));

    assert_brought("1 b=x;", client, op);
    turn_until(client, "0", "ZCARD ilk:signal:wait:{a}");
    turn_until(client, "0", "ZCARD ilk:signal:wait:{c}");
    ilk_signal_free(first);
    ilk_signal_free(b);
}

TEST(a_wait_for_all_brings_one_of_each)
{
    ilk_signal *set[2] = {open_signal(client, "p"), open_signal(client, "q")},
               *p = open_signal(other, "p"), *q = open_signal(other, "q");
    ilk_error err = {0};
    ilk_op *op = NULL;

    assert_status(ILK_OK, ilk_signal_wait_all_start(&op, set, 2, -1, &err));
    turn_until(client, "1", "ZCARD ilk:signal:wait:{q}");
    assert_int_equal(1, tell_one(q, "2"));
    assert_under_way(client, op);
    assert_int_equal(1, tell_one(p, "1"));

    assert_brought("0 p=1;1 q=2;", client, op);
    for (int i = 0; i < 2; i++)
        ilk_signal_free(set[i]);
    ilk_signal_free(p);
    ilk_signal_free(q);
}

TEST(a_signal_after_listen_is_kept)
{
    ilk_signal *a = open_signal(client, "kept"),
               *b = open_signal(other, "kept");
    ilk_error err = {0};
    ilk_op *op = NULL;

    assert_status(ILK_ETIMEOUT, ilk_signal_wait_start(&op, a, 0, &err));
    assert_null(op);
    for (int i = 0; i < 2; i++) { /* the second finds it begun */
        assert_status(ILK_OK, ilk_signal_listen_start(&op, a, &err));
        assert_ends(ILK_OK, client, op);
    }
    assert_int_equal(1, tell_one(b, "early"));

    assert_status(ILK_OK, ilk_signal_wait_start(&op, a, -1, &err));

    assert_brought("0 kept=early;", client, op);
    ilk_signal_free(a);
    ilk_signal_free(b);
}

TEST(a_pattern_is_awaited)
{
    ilk_signal *jobs = open_pattern(client, "jobs.*"),
               *red = open_signal(other, "jobs.red");
    ilk_error err = {0};
    ilk_op *op = NULL;

    assert_status(ILK_OK, ilk_signal_wait_start(&op, jobs, -1, &err));
    turn_until(client, "1", "PUBSUB NUMPAT");
    assert_int_equal(1, report_all(red, "r"));
    assert_brought("0 jobs.red=r;", client, op);
    turn_until(client, "0", "PUBSUB NUMPAT");

    assert_status(ILK_OK, ilk_signal_listen_start(&op, jobs, &err));
    assert_ends(ILK_OK, client, op);
    assert_int_equal(1, report_all(red, "s"));
    assert_status(ILK_OK, ilk_signal_wait_start(&op, jobs, -1, &err));
    assert_brought("0 jobs.red=s;", client, op);
    assert_status(ILK_OK, ilk_signal_wait_start(&op, jobs, 100, &err));
    assert_ends(ILK_ETIMEOUT, client, op);
    turn_until(client, "0", "PUBSUB NUMPAT");
    ilk_signal_free(jobs);
    ilk_signal_free(red);
}

TEST(signals_are_given_and_counted)
{
    ilk_client *own = open_client();
    ilk_signal *a = open_signal(client, "give"), *b = open_signal(own, "give");
    ilk_op *wait = start_wait(a, "give", "1", client), *op = NULL;
    char *data = strdup("mine");
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_signal_inspect_start(&op, own, "give", 4, &err));
    assert_ended(ILK_OK, own, op);
    assert_int_equal(1, ilk_op_number(op));
    assert_null(ilk_op_arrival(op)); /* of another kind */
    ilk_op_free(op);

    fixture_command(&fx, "SCRIPT FLUSH"); /* so it is sent twice */
    assert_status(ILK_OK, ilk_signal_notify_one_start(&op, b, data, 4, &err));
    memset(data, '?', 4);
    free(data);
    assert_ended(ILK_OK, own, op);
    assert_int_equal(1, ilk_op_number(op));
    ilk_op_free(op);
    assert_brought("0 give=mine;", client, wait);
    assert_status(ILK_OK, ilk_signal_notify_all_start(&op, b, NULL, 0, &err));
    assert_ended(ILK_OK, own, op);
    assert_int_equal(0, ilk_op_number(op));
    ilk_op_free(op);
    ilk_signal_free(a);
    ilk_signal_free(b);
    ilk_client_free(own);
}

TEST(a_signal_that_nobody_has_read_goes_to_the_next)
{
    ilk_signal *a = open_signal(client, "seen"),
               *b = open_signal(other, "seen"),
               *giver = open_signal(other, "seen");
    ilk_op *op = start_wait(a, "seen", "1", client),
           *second = start_wait(b, "seen", "2", other);

    assert_int_equal(1, tell_one(giver, "once"));
    assert_ends(ILK_OK, client, op); /* freed, not looked at */
    assert_brought("0 seen=once;", other, second);

    op = start_wait(a, "seen", "1", client);
    second = start_wait(b, "seen", "2", other);
    assert_int_equal(1, tell_one(giver, "twice"));
    assert_brought("0 seen=twice;", client, op);
    assert_under_way(other, second);
    ilk_op_free(second);
    ilk_signal_free(a);
    ilk_signal_free(b);
    ilk_signal_free(giver);
}

TEST(a_pattern_is_not_signalled)
{
    ilk_signal *jobs = open_pattern(client, "no.*");
    ilk_error err = {0};
    ilk_op *op = (ilk_op *)&err;

    assert_status(ILK_EINVAL,
                  ilk_signal_notify_all_start(&op, jobs, "", 0, &err));
    assert_string_equal("a pattern can be listened to, not signalled", err.msg);
    assert_null(op);
    ilk_signal_free(jobs);
}

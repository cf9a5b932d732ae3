/* SPDX-License-Identifier: MIT */
/* ct_election_start_observe.c -- the next change, waited for by an operation. */
#include "client_case.h"
#include "election_case.h"
#include "started.h"

static ilk_error err;
static ilk_op *op;

/* A leader in a client of its own, and an observer who knows of it. */
static ilk_client *other;
static ilk_election *leads, *here;
static ilk_observer *observer;

static ilk_op *start_next(int64_t timeout_ms)
{
    ilk_op *started = NULL;

    assert_status(
        ILK_OK, ilk_observer_next_start(&started, observer, timeout_ms, &err));
    return started;
}

/* It must end with this value; "-": nobody leads. */
static void assert_told(const char *value)
{
    const char *found;

    assert_ended(ILK_OK, client, op);
    found = ilk_leader_value(ilk_op_leader(op), NULL);
    assert_string_equal(value, found ? found : "-");
    ilk_op_free(op);
}

static void await_observers_of(const char *name, const char *count)
{
    turn_until(client, count, "ZCARD ilk:election:seen:{%s}", name);
}

static void observe(const char *name)
{
    other = open_client();
    leads = open_candidate(other, name, 0, "first");
    here = open_candidate(client, name, 0, "");
    assert_status(ILK_OK, ilk_election_campaign(leads, 0, &err));
    assert_status(ILK_OK, ilk_election_observe(&observer, here,
                                               ILK_OBSERVE_VACANT, &err));
    op = start_next(-1);
    assert_told("first");
}

static void end(void)
{
    ilk_observer_free(observer);
    ilk_election_free(here);
    ilk_election_free(leads);
    ilk_client_free(other);
}

static void each_change_is_told(void **state)
{
    (void)state;
    observe("changes");
    op = start_next(-1);
    await_observers_of("changes", "1");
    assert_under_way(client, op);
    assert_null(ilk_op_leader(op));
    assert_status(ILK_OK, ilk_election_proclaim(leads, "second", 6, &err));
    assert_told("second");
    op = start_next(-1);
    assert_status(ILK_OK, ilk_election_resign(leads, &err));
    assert_told("-");
    assert_status(ILK_OK, ilk_election_campaign(leads, 0, &err));
    op = start_next(-1); /* what was before is told at once */
    assert_told("second");
    end();
}

static void nothing_new_ends_on_time(void **state)
{
    int64_t began;

    (void)state;
    observe("quiet");
    op = start_next(0);
    assert_ended(ILK_EBUSY, client, op);
    assert_null(ilk_op_leader(op));
    ilk_op_free(op);
    began = fixture_now_ms();
    op = start_next(300);
    assert_ends(ILK_ETIMEOUT, client, op);
    assert_on_time(fixture_now_ms() - began, 300);
    await_observers_of("quiet", "0");
    end();
}

static void one_thing_at_a_time(void **state)
{
    ilk_leader *leader;
    ilk_op *second = (ilk_op *)client;

    (void)state;
    observe("single");
    op = start_next(-1);
    assert_status(ILK_EHELD,
                  ilk_observer_next_start(&second, observer, -1, &err));
    assert_null(second);
    assert_status(ILK_EHELD, ilk_observer_next(&leader, observer, 0, &err));
    assert_status(ILK_EINVAL, ilk_observer_next_start(&second, NULL, 0, &err));
    assert_status(ILK_EINVAL, ilk_observer_next_start(NULL, observer, 0, &err));
    assert_under_way(client, op);
    ilk_op_free(op);
    end();
}

static void a_cancelled_wait_leaves_and_misses_nothing(void **state)
{
    (void)state;
    observe("cancelled");
    op = start_next(-1);
    await_observers_of("cancelled", "1");
    assert_status(ILK_OK, ilk_op_cancel(op, &err));
    assert_ends(ILK_ECANCELLED, client, op);
    await_observers_of("cancelled", "0");
    op = start_next(-1);
    await_observers_of("cancelled", "1");
    assert_status(ILK_OK, ilk_observer_cancel(observer, &err));
    assert_ends(ILK_ECANCELLED, client, op);
    await_observers_of("cancelled", "0");
    assert_status(ILK_OK, ilk_election_proclaim(leads, "missed", 6, &err));
    op = start_next(-1);
    assert_told("missed");
    end();
}

/* What woke it and was not looked at is told to the next. */
static void a_freed_wait_misses_nothing(void **state)
{
    (void)state;
    observe("freed");
    op = start_next(-1);
    await_observers_of("freed", "1");
    assert_status(ILK_OK, ilk_election_proclaim(leads, "missed", 6, &err));
    fixture_sleep_ms(50);
    ilk_op_free(op);
    await_observers_of("freed", "0");
    op = start_next(-1);
    assert_told("missed");
    end();
}

static void freeing_the_observer_ends_the_wait(void **state)
{
    (void)state;
    observe("gone");
    op = start_next(-1);
    await_observers_of("gone", "1");
    ilk_observer_free(observer);
    observer = NULL;
    assert_ends(ILK_ECANCELLED, client, op);
    await_observers_of("gone", "0");
    end();
}

static void closing_the_client_ends_the_wait(void **state)
{
    ilk_client *own = open_client();
    ilk_election *theirs = open_candidate(own, "closed", 0, "");

    (void)state;
    assert_status(ILK_OK, ilk_election_observe(&observer, theirs, 0, &err));
    op = start_next(-1);
    turn_until(own, "1", "ZCARD ilk:election:seen:{closed}");
    assert_status(ILK_OK, ilk_client_close(own, &err));
    assert_ended(ILK_ECLOSED, own, op);
    assert_null(ilk_op_leader(op));
    ilk_op_free(op);
    ilk_observer_free(observer);
    ilk_election_free(theirs);
    ilk_client_free(own);
}

static void a_wait_survives_the_server(void **state)
{
    (void)state;
    observe("revived");
    op = start_next(-1);
    await_observers_of("revived", "1");
    assert_int_equal(0, fixture_kill(&fx));
    turn_for(client, 100);
    assert_int_equal(0, fixture_restart(&fx));
    assert_told("-"); /* its memory was empty */
    end();
}

static void hundreds_are_told_together(void **state)
{
    enum { MANY = 300 };
    ilk_observer *observers[MANY];
    ilk_op *ops[MANY];

    (void)state;
    observe("crowd");
    for (int i = 0; i < MANY; i++) {
        assert_status(ILK_OK,
                      ilk_election_observe(&observers[i], here, 0, &err));
        assert_status(ILK_OK,
                      ilk_observer_next_start(&ops[i], observers[i], -1, &err));
    }
    for (int i = 0; i < MANY; i++) {
        assert_ends(ILK_OK, client, ops[i]);
        assert_status(ILK_OK,
                      ilk_observer_next_start(&ops[i], observers[i], -1, &err));
    }
    await_observers_of("crowd", "300");
    assert_status(ILK_OK, ilk_election_proclaim(leads, "all", 3, &err));
    for (int i = 0; i < MANY; i++) {
        op = ops[i];
        assert_told("all");
        ilk_observer_free(observers[i]);
    }
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_change_is_told),
        cmocka_unit_test(nothing_new_ends_on_time),
        cmocka_unit_test(one_thing_at_a_time),
        cmocka_unit_test(a_cancelled_wait_leaves_and_misses_nothing),
        cmocka_unit_test(a_freed_wait_misses_nothing),
        cmocka_unit_test(freeing_the_observer_ends_the_wait),
        cmocka_unit_test(closing_the_client_ends_the_wait),
        cmocka_unit_test(a_wait_survives_the_server),
        cmocka_unit_test(hundreds_are_told_together),
    };

    return cmocka_run_group_tests(tests, client_setup, client_teardown);
}

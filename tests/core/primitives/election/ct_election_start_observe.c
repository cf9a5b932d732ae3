/* SPDX-License-Identifier: MIT */
/*
 * ct_election_start_observe.c -- what is special about an observer's started
 * wait; ct_started_waits.c and ct_started_requests.c have the rest.
 */
#include "client_case.h"
#include "election_case.h"
#include "started.h"

AROUND_ALL(client_setup, client_teardown);

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

TEST(each_change_is_returned)
{
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
    op = start_next(-1); /* an earlier change is the result at once */
    assert_told("second");
    end();
}

TEST(a_cancelled_wait_leaves_and_misses_nothing)
{
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

/* The next one returns the change that woke it and was not read. */
TEST(a_freed_wait_misses_nothing)
{
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

TEST(hundreds_are_woken_together)
{
    enum { MANY = 300 };
    ilk_observer *observers[MANY];
    ilk_op *ops[MANY];

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

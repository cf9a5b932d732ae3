/* SPDX-License-Identifier: MIT */
/*
 * ct_election_start.c -- what is special about started operations of
 * elections; ct_started_waits.c and ct_started_requests.c have the rest.
 */
#include "client_case.h"
#include "election_case.h"
#include "started.h"

#include <string.h>

AROUND_ALL(client_setup, client_teardown);

static ilk_error err;
static ilk_op *op;

static ilk_op *campaign_for(ilk_election *election, int64_t timeout_ms)
{
    ilk_op *started = NULL;

    assert_status(ILK_OK, ilk_election_campaign_start(&started, election,
                                                      timeout_ms, &err));
    return started;
}

static void await_queue_length(const char *name, const char *count)
{
    turn_until(client, count, "ZCARD ilk:election:wait:{%s}", name);
}

/* One leads, the other stands in the wait queue. */
static ilk_election *leads, *waits;

static void start_wait(const char *name)
{
    leads = open_candidate(client, name, 0, "first");
    waits = open_candidate(client, name, 0, "second");
    assert_status(ILK_OK, ilk_election_campaign(leads, 0, &err));
    op = campaign_for(waits, -1);
    await_queue_length(name, "1");
}

/* Nobody stands in the wait queue, or leads once the leader has resigned. */
static void assert_nothing_left(const char *name)
{
    await_queue_length(name, "0");
    assert_status(ILK_OK, ilk_election_resign(leads, &err));
    assert_string_equal("-", published(leads));
    ilk_election_free(leads);
}

TEST(the_handle_shows_what_the_operation_did)
{
    ilk_election *election = open_candidate(client, "chair", 0, "a");
    char value[] = "longer";

    op = campaign_for(election, 0);
    assert_ends(ILK_OK, client, op);
    assert_true(ilk_election_is_leader(election));
    assert_string_equal("a", published(election));
    assert_status(ILK_OK, ilk_election_renew_start(&op, election, 90000, &err));
    assert_ends(ILK_OK, client, op);
    assert_in_range(ilk_election_remaining_ms(election), 80000, 90000);
    assert_status(ILK_OK, ilk_election_check_start(&op, election, &err));
    assert_ends(ILK_OK, client, op);
    assert_status(ILK_OK,
                  ilk_election_proclaim_start(&op, election, value, 6, &err));
    value[0] = 'x'; /* it is copied */
    assert_ends(ILK_OK, client, op);
    assert_string_equal("longer", published(election));
    assert_status(ILK_OK, ilk_election_resign_start(&op, election, &err));
    assert_false(ilk_election_is_leader(election));
    assert_ends(ILK_OK, client, op);
    assert_string_equal("-", published(election));

    /* The value that it proclaimed is published in later terms. */
    op = campaign_for(election, 0);
    assert_ends(ILK_OK, client, op);
    assert_string_equal("longer", published(election));
    ilk_election_free(election);
}

TEST(a_leader_gets_that_at_once)
{
    ilk_election *election = open_candidate(client, "again", 0, "a");
    int64_t term;

    assert_status(ILK_OK, ilk_election_campaign(election, 0, &err));
    term = ilk_election_term(election);
    op = campaign_for(election, -1);
    assert_ends(ILK_OK, client, op);
    assert_int_equal(term, ilk_election_term(election));
    assert_status(ILK_OK, ilk_election_resign(election, &err)); /* one hold */
    assert_string_equal("-", published(election));
    ilk_election_free(election);
}

TEST(leader_leaves_a_finding_in_the_operation)
{
    ilk_leader *leader = NULL;
    ilk_op *look;

    start_wait("looked_at");
    assert_status(ILK_OK, ilk_election_leader_start(&look, leads, &err));
    assert_null(ilk_op_leader(look)); /* too early */
    assert_ended(ILK_OK, client, look);
    assert_string_equal("first", ilk_leader_value(ilk_op_leader(look), NULL));
    assert_int_equal(1, ilk_leader_candidates(ilk_op_leader(look)));
    assert_null(ilk_op_info(look)); /* of another kind */
    ilk_op_free(look);

    /* Its handle is not needed any more. */
    assert_status(ILK_OK, ilk_election_leader_start(&look, waits, &err));
    ilk_election_free(waits);
    assert_ends(ILK_ECANCELLED, client, op);
    assert_ended(ILK_OK, client, look);
    assert_string_equal("first", ilk_leader_value(ilk_op_leader(look), NULL));
    ilk_op_free(look);
    assert_status(ILK_OK, ilk_election_leader(&leader, leads, &err));
    ilk_leader_free(leader);
    assert_nothing_left("looked_at");
}

TEST(a_refused_value_leaves_the_old_one)
{
    ilk_election *election = open_candidate(client, "kept", 0, "old");

    assert_status(ILK_ENOTOWNER,
                  ilk_election_proclaim_start(&op, election, "n", 1, &err));
    assert_null(op);
    assert_status(ILK_OK, ilk_election_campaign(election, 0, &err));
    assert_status(ILK_EINVAL,
                  ilk_election_proclaim_start(
                      &op, election, "n", ILK_ELECTION_VALUE_MAX + 1, &err));
    fixture_command(&fx, "DEL ilk:election:{kept}");
    assert_status(ILK_OK,
                  ilk_election_proclaim_start(&op, election, "n", 1, &err));
    assert_ends(ILK_ELOST, client, op);
    assert_false(ilk_election_is_leader(election));
    assert_status(ILK_OK, ilk_election_campaign(election, 0, &err));
    assert_string_equal("old", published(election));
    ilk_election_free(election);
}

TEST(the_first_in_the_queue_leads_and_is_notified_twice)
{
    ilk_notification notification = {.size = sizeof notification};
    int won = 0, done = 0;
    int64_t limit;

    start_wait("throne");
    assert_under_way(client, op);
    assert_status(ILK_OK, ilk_election_resign(leads, &err));
    limit = fixture_now_ms() + patience(5000);
    while (!(won && done) && fixture_now_ms() < limit) {
        if (ilk_client_next_notification(client, &notification, &err) != ILK_OK)
            fixture_sleep_ms(1);
        else if (notification.kind == ILK_NOTIFICATION_LEADERSHIP_WON)
            won += notification.id == ilk_election_id(waits);
        else if (notification.kind == ILK_NOTIFICATION_DONE)
            done += notification.id == ilk_op_id(op);
    }
    assert_int_equal(1, won);
    assert_int_equal(1, done);
    assert_status(ILK_OK, ilk_op_status(op, &err));
    assert_true(ilk_election_is_leader(waits));
    assert_true(ilk_election_term(waits) > ilk_election_term(leads));
    ilk_op_free(op);
    ilk_election_free(leads);
    ilk_election_free(waits);
}

TEST(one_thing_at_a_time)
{
    ilk_op *second;

    start_wait("single");
    assert_status(ILK_EHELD,
                  ilk_election_campaign_start(&second, waits, -1, &err));
    assert_null(second);
    assert_status(ILK_EHELD,
                  ilk_election_proclaim_start(&second, waits, "n", 1, &err));
    assert_status(ILK_EHELD, ilk_election_campaign(waits, 0, &err));
    assert_under_way(client, op);
    ilk_op_free(op);
    assert_nothing_left("single");
    ilk_election_free(waits);
}

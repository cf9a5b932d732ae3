/* SPDX-License-Identifier: MIT */
/* ct_election_break.c -- an operator takes the lead away. */
#include "client_case.h"
#include "election_case.h"

#include <string.h>

AROUND_ALL(client_setup, client_teardown);
AROUND_EACH(server_flush, NULL);

static ilk_error err;

static ilk_status take_away(const char *token)
{
    return ilk_election_break(client, "e", 1, token, token ? strlen(token) : 0,
                              &err);
}

TEST(the_next_candidate_leads_and_the_leader_learns_it)
{
    ilk_client *other = open_client();
    ilk_election *leader = open_candidate(client, "e", 900, "first");
    ilk_election *next = open_candidate(other, "e", 0, "second");
    ilk_notification note = {.size = sizeof note};
    campaign c;
    int64_t term;
    int fd;

    assert_status(ILK_OK, ilk_client_notification_fd(client, &fd, &err));
    assert_status(ILK_OK, ilk_election_campaign(leader, 0, &err));
    term = ilk_election_term(leader);
    start_campaign(&c, next, -1);
    await_candidates("e", 1);

    assert_status(ILK_OK, take_away(NULL));

    end_campaign(&c, ILK_OK);
    assert_true(ilk_election_term(next) > term);
    assert_string_equal("second", published(next));
    do { /* WON, then LOST at the next renewal */
        fixture_sleep_ms(10);
        memset(&note, 0, sizeof note);
        note.size = sizeof note;
        (void)ilk_client_next_notification(client, &note, NULL);
    } while (note.kind != ILK_NOTIFICATION_LEADERSHIP_LOST);
    assert_status(ILK_ELOST, ilk_election_resign(leader, &err));
    assert_status(ILK_OK, ilk_election_check(next, &err)); /* unharmed */
    assert_status(ILK_OK, ilk_election_resign(next, &err));
    assert_status(ILK_OK, ilk_election_campaign(leader, 0, &err));
    assert_status(ILK_OK, ilk_election_resign(leader, &err));
    ilk_election_free(leader);
    ilk_election_free(next);
    ilk_client_free(other);
}

TEST(only_the_leader_of_that_token_is_broken)
{
    ilk_election *leader = open_candidate(client, "e", 0, "value");

    assert_status(ILK_ENOTOWNER, take_away(NULL));
    assert_string_equal("nobody leads", err.msg);
    assert_status(ILK_OK, ilk_election_campaign(leader, 0, &err));
    assert_status(ILK_ENOTOWNER, take_away("other"));
    assert_string_equal("not led under this token", err.msg);
    assert_status(ILK_OK, ilk_election_check(leader, &err));
    assert_status(ILK_OK, take_away(ilk_election_token(leader)));
    assert_int_equal(0, fixture_int(&fx, "EXISTS ilk:election:{e}"));
    assert_int_equal(0, fixture_int(&fx, "HLEN ilk:election:value:{e}"));
    assert_status(ILK_ELOST, ilk_election_resign(leader, &err));
    ilk_election_free(leader);
}

TEST(an_observer_sees_the_end_of_the_term)
{
    ilk_election *leader = open_candidate(client, "e", 0, "value");
    ilk_observer *observer = NULL;
    ilk_leader *vacant;

    assert_status(ILK_OK, ilk_election_campaign(leader, 0, &err));
    assert_status(ILK_OK, ilk_election_observe(&observer, leader,
                                               ILK_OBSERVE_VACANT, &err));
    expect_state(next_state(observer, 5000), "value");
    assert_status(ILK_OK, take_away(NULL));
    vacant = next_state(observer, 5000);
    assert_null(ilk_leader_value(vacant, NULL));
    ilk_leader_free(vacant);
    ilk_observer_free(observer);
    ilk_election_free(leader);
}

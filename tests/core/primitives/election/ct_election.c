/* SPDX-License-Identifier: MIT */
/* ct_election.c -- campaigning, leading and resigning. */
#include "client_case.h"
#include "election_case.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

AROUND_ALL(client_setup, client_teardown);

static ilk_error err;

/* ---- leading ------------------------------------------------------------ */

TEST(one_leads_and_the_others_receive_that)
{
    ilk_election *a = open_candidate(client, "one", 0, "addr-a");
    ilk_election *b = open_candidate(client, "one", 0, "addr-b");

    assert_string_equal("-", published(b));
    assert_status(ILK_OK, ilk_election_campaign(a, 0, &err));
    assert_int_equal(1, ilk_election_is_leader(a));
    assert_in_range(ilk_election_remaining_ms(a), 15000, 20000);
    assert_true(ilk_election_term(a) > 0);
    assert_status(ILK_EBUSY, ilk_election_campaign(b, 0, &err));
    assert_status(ILK_ETIMEOUT, ilk_election_campaign(b, 30, &err));
    await_candidates("one", 0);
    assert_string_equal("addr-a", published(b));
    assert_status(ILK_OK, ilk_election_resign(a, &err));
    assert_int_equal(0, ilk_election_is_leader(a));
    assert_status(ILK_ENOTOWNER, ilk_election_resign(a, &err));
    assert_string_equal("-", published(a));
    ilk_election_free(a);
    ilk_election_free(b);
}

TEST(campaigning_while_leading_costs_nothing)
{
    ilk_election *a = open_candidate(client, "again", 0, "");
    ilk_client_stats before = {.size = sizeof before}, after = before;
    int64_t term;

    assert_status(ILK_OK, ilk_election_campaign(a, 0, &err));
    term = ilk_election_term(a);
    assert_status(ILK_OK, ilk_client_get_stats(client, &before, &err));
    assert_status(ILK_OK, ilk_election_campaign(a, -1, &err));
    assert_status(ILK_OK, ilk_client_get_stats(client, &after, &err));
    assert_int_equal(before.commands, after.commands);
    assert_int_equal(term, ilk_election_term(a));
    assert_status(ILK_OK, ilk_election_resign(a, &err));
    ilk_election_free(a);
}

TEST(first_in_the_queue_leads_at_once_when_one_resigns)
{
    ilk_election *a = open_candidate(client, "line", 0, "a");
    ilk_election *b = open_candidate(client, "line", 0, "b");
    ilk_election *c = open_candidate(client, "line", 0, "c");
    campaign of_b, of_c;
    int64_t resigned_at;

    assert_status(ILK_OK, ilk_election_campaign(a, 0, &err));
    start_campaign(&of_b, b, -1);
    await_candidates("line", 1);
    start_campaign(&of_c, c, -1);
    await_candidates("line", 2);

    resigned_at = fixture_now_ms();
    assert_status(ILK_OK, ilk_election_resign(a, &err));
    assert_string_equal("b", published(a));
    end_campaign(&of_b, ILK_OK);

    assert_true(of_b.ended_at - resigned_at <= patience(50));
    assert_true(ilk_election_term(b) > ilk_election_term(a));
    assert_status(ILK_OK, ilk_election_resign(b, &err));
    end_campaign(&of_c, ILK_OK);
    assert_string_equal("c", published(a));
    ilk_election_free(a);
    ilk_election_free(b);
    ilk_election_free(c);
}

typedef struct sampler {
    ilk_election *election;
    _Atomic int stop;
    int samples, gaps;
} sampler;

static void *sample(void *context)
{
    sampler *s = context;
    ilk_leader *leader;

    while (!atomic_load(&s->stop)) {
        if (ilk_election_leader(&leader, s->election, NULL))
            continue;
        s->samples++;
        s->gaps += ilk_leader_value(leader, NULL) == NULL;
        ilk_leader_free(leader);
    }
    return NULL;
}

TEST(resigning_leaves_no_gap)
{
    ilk_client *other = open_client();
    ilk_election *two[2] = {open_candidate(client, "gap", 0, "0"),
                            open_candidate(client, "gap", 0, "1")};
    sampler s = {.election = open_candidate(other, "gap", 0, "")};
    pthread_t thread;
    campaign next;

    assert_status(ILK_OK, ilk_election_campaign(two[0], 0, &err));
    assert_int_equal(0, pthread_create(&thread, NULL, sample, &s));
    for (int i = 0; i < 100; i++) {
        start_campaign(&next, two[(i + 1) % 2], -1);
        await_candidates("gap", 1);
        assert_status(ILK_OK, ilk_election_resign(two[i % 2], &err));
        end_campaign(&next, ILK_OK);
    }
    atomic_store(&s.stop, 1);
    pthread_join(thread, NULL);

    assert_true(s.samples > 100);
    assert_int_equal(0, s.gaps);
    ilk_election_free(s.election);
    ilk_election_free(two[0]);
    ilk_election_free(two[1]);
    ilk_client_free(other);
}

TEST(candidates_are_listed_in_their_order)
{
    ilk_election *a = open_candidate(client, "list", 0, "");
    ilk_client *others[2] = {0};
    ilk_election *standby[2];
    campaign c[2];
    ilk_leader *leader = NULL;

    assert_status(ILK_OK, ilk_election_campaign(a, 0, &err));
    for (int i = 0; i < 2; i++) {
        ilk_client_opts opts;

        ilk_client_opts_init(&opts, sizeof opts);
        opts.label = i ? "second-host" : "first-host";
        assert_status(ILK_OK,
                      ilk_client_open(&others[i], fx.unix_url, &opts, &err));
        standby[i] = open_candidate(others[i], "list", 0, "");
        start_campaign(&c[i], standby[i], -1);
        await_candidates("list", i + 1);
    }

    assert_status(ILK_OK, ilk_election_leader(&leader, a, &err));

    assert_int_equal(2, ilk_leader_candidates(leader));
    assert_int_equal(2, ilk_leader_listed(leader));
    assert_string_equal("first-host", ilk_leader_candidate_label(leader, 0));
    assert_string_equal("second-host", ilk_leader_candidate_label(leader, 1));
    assert_string_equal("", ilk_leader_candidate_label(leader, 2));
    assert_int_equal(ilk_election_term(a), ilk_leader_term(leader));
    assert_in_range(ilk_leader_ttl_ms(leader), 15000, 20000);
    assert_true(ilk_leader_since_ms(leader) > 0);
    ilk_leader_free(leader);
    for (int i = 0; i < 2; i++) {
        assert_status(ILK_OK, ilk_election_cancel(standby[i], &err));
        end_campaign(&c[i], ILK_ECANCELLED);
        ilk_election_free(standby[i]);
        ilk_client_free(others[i]);
    }
    await_candidates("list", 0);
    ilk_election_free(a);
}

TEST(terms_rise_when_the_server_forgets_everything)
{
    ilk_election *a = open_candidate(client, "term", 0, "");
    int64_t last = 0;

    for (int i = 0; i < 5; i++) {
        assert_status(ILK_OK, ilk_election_campaign(a, 0, &err));
        assert_true(ilk_election_term(a) > last);
        last = ilk_election_term(a);
        if (i % 2)
            fixture_command(&fx, "FLUSHALL");
        assert_status(i % 2 ? ILK_ELOST : ILK_OK, ilk_election_resign(a, &err));
    }
    ilk_election_free(a);
}

/* ---- publishing --------------------------------------------------------- */

TEST(leader_changes_what_it_publishes)
{
    static char big[ILK_ELECTION_VALUE_MAX + 1];
    ilk_election *a = open_candidate(client, "value", 0, "first");
    ilk_leader *leader = NULL;
    size_t len;

    assert_status(ILK_ENOTOWNER, ilk_election_proclaim(a, "x", 1, &err));
    assert_status(ILK_OK, ilk_election_campaign(a, 0, &err));
    assert_status(ILK_OK, ilk_election_proclaim(a, "second", 6, &err));
    assert_string_equal("second", published(a));
    assert_status(ILK_OK, ilk_election_resign(a, &err));
    assert_status(ILK_OK, ilk_election_campaign(a, 0, &err));
    assert_string_equal("second", published(a));
    assert_status(ILK_EINVAL, ilk_election_proclaim(a, big, sizeof big, &err));
    assert_status(ILK_EINVAL, ilk_election_proclaim(a, NULL, 1, &err));
    memset(big, 'x', sizeof big);
    assert_status(ILK_OK, ilk_election_proclaim(a, big, sizeof big - 1, &err));
    assert_status(ILK_OK, ilk_election_leader(&leader, a, &err));
    assert_memory_equal(big, ilk_leader_value(leader, &len), sizeof big - 1);
    assert_int_equal(sizeof big - 1, len);
    ilk_leader_free(leader);
    assert_status(ILK_OK, ilk_election_proclaim(a, NULL, 0, &err));
    assert_string_equal("", published(a));

    fixture_command(&fx, "DEL ilk:election:{value}");
    assert_status(ILK_ELOST, ilk_election_proclaim(a, "late", 4, &err));
    assert_int_equal(0, ilk_election_is_leader(a));
    assert_string_equal("-", published(a));
    ilk_election_free(a);
}

/* ---- the lease ---------------------------------------------------------- */

/* It steps down some milliseconds early. A poller that looked elsewhere just
 * then looks again. */
TEST(leader_finds_out_before_anybody_else_can_be_elected)
{
    ilk_election_opts opts;
    ilk_election *a;
    int64_t left = 0;

    ilk_election_opts_init(&opts, sizeof opts);
    opts.ttl_ms = 500;
    opts.flags = ILK_ELECTION_NO_RENEW;
    a = open_candidate_with(client, "overrun", &opts);
    for (int i = 0; i < 10 && left <= 0; i++) {
        assert_status(ILK_OK, ilk_election_campaign(a, -1, &err));
        do {
            left = fixture_int(&fx, "PTTL ilk:election:{overrun}");
            if (left <= 0) /* read before the handle, so it knew as well */
                assert_int_equal(0, ilk_election_is_leader(a));
        } while (ilk_election_is_leader(a));
        assert_int_equal(0, ilk_election_remaining_ms(a));
        fixture_command(&fx, "DEL ilk:election:{overrun}");
        assert_status(ILK_ELOST, ilk_election_check(a, &err));
    }
    assert_true(left > 0); /* it stepped down with time to spare */
    ilk_election_free(a);
}

TEST(leader_renews_while_it_lives_or_by_hand)
{
    ilk_election_opts opts;
    ilk_election *a = open_candidate(client, "renews", 1500, ""), *b;
    int64_t term;

    assert_status(ILK_OK, ilk_election_campaign(a, 0, &err));
    term = ilk_election_term(a);
    fixture_sleep_ms(2500);
    assert_status(ILK_OK, ilk_election_check(a, &err));
    assert_int_equal(term, ilk_election_term(a));
    assert_status(ILK_OK, ilk_election_resign(a, &err));

    ilk_election_opts_init(&opts, sizeof opts);
    opts.ttl_ms = 2000;
    opts.flags = ILK_ELECTION_NO_RENEW;
    b = open_candidate_with(client, "renews", &opts);
    assert_status(ILK_OK, ilk_election_campaign(b, 0, &err));
    for (int i = 0; i < 4; i++) {
        fixture_sleep_ms(600);
        assert_status(ILK_OK, ilk_election_renew(b, 0, &err));
    }
    assert_int_equal(1, ilk_election_is_leader(b));
    assert_status(ILK_EINVAL, ilk_election_renew(b, -1, &err));
    assert_status(ILK_EINVAL, ilk_election_renew(b, 2, &err));
    fixture_command(&fx, "DEL ilk:election:{renews}");
    assert_status(ILK_ELOST, ilk_election_renew(b, 0, &err));
    ilk_election_free(a);
    ilk_election_free(b);
}

static ilk_notification next_notification(ilk_client *of)
{
    ilk_notification notification = {.size = sizeof notification};

    for (int i = 0; i < 500; i++) {
        ilk_status st = ilk_client_next_notification(of, &notification, &err);

        if (st == ILK_OK)
            return notification;
        assert_status(ILK_EAGAIN, st);
        fixture_sleep_ms(10);
    }
    fail_msg("no notification");
    return notification;
}

TEST(winning_and_losing_are_notifications)
{
    ilk_client *own = open_client();
    ilk_election *a = open_candidate(own, "news", 1500, "");
    ilk_notification notification;
    int fd;

    assert_status(ILK_OK, ilk_client_notification_fd(own, &fd, &err));
    assert_status(ILK_OK, ilk_election_campaign(a, 0, &err));
    notification = next_notification(own);
    assert_int_equal(ILK_NOTIFICATION_LEADERSHIP_WON, notification.kind);
    assert_int_equal(ilk_election_id(a), notification.id);

    fixture_command(&fx, "DEL ilk:election:{news}");
    notification = next_notification(own);
    assert_int_equal(ILK_NOTIFICATION_LEADERSHIP_LOST, notification.kind);
    assert_int_equal(ILK_ELOST, notification.status);
    assert_int_equal(ilk_election_id(a), notification.id);
    assert_int_equal(0, ilk_election_is_leader(a));
    ilk_election_free(a);
    ilk_client_free(own);
}

/* SPDX-License-Identifier: MIT */
/* election_case.c -- what the tests of elections share. */
#include "election_case.h"

#include <stdio.h>
#include <string.h>

ilk_election *open_candidate_with(ilk_client *client, const char *name,
                                  const ilk_election_opts *opts)
{
    ilk_election *election = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_election_open(&election, client, name,
                                            strlen(name), opts, &err));
    return election;
}

ilk_election *open_candidate(ilk_client *client, const char *name,
                             int64_t ttl_ms, const char *value)
{
    ilk_election_opts opts;

    ilk_election_opts_init(&opts, sizeof opts);
    opts.ttl_ms = ttl_ms;
    opts.value = value;
    opts.value_len = strlen(value);
    return open_candidate_with(client, name, &opts);
}

const char *published(ilk_election *election)
{
    static char text[256];
    ilk_leader *leader = NULL;
    ilk_error err = {0};
    const char *value;

    assert_status(ILK_OK, ilk_election_leader(&leader, election, &err));
    value = ilk_leader_value(leader, NULL);
    snprintf(text, sizeof text, "%s", value ? value : "-");
    ilk_leader_free(leader);
    return text;
}

static void await_queue_length(const char *list, const char *name, int n)
{
    char expected[16];

    snprintf(expected, sizeof expected, "%d", n);
    assert_int_equal(0,
                     fixture_await(&fx, expected, 10000,
                                   "ZCARD ilk:election:%s:{%s}", list, name));
}

void await_candidates(const char *name, int n)
{
    await_queue_length("wait", name, n);
}

void await_observers(const char *name, int n)
{
    await_queue_length("seen", name, n);
}

ilk_leader *next_state(ilk_observer *observer, int64_t timeout_ms)
{
    ilk_leader *state = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK,
                  ilk_observer_next(&state, observer, timeout_ms, &err));
    return state;
}

int64_t expect_state(ilk_leader *state, const char *value)
{
    const char *found = ilk_leader_value(state, NULL);
    int64_t term = ilk_leader_term(state);

    assert_string_equal(value, found ? found : "-");
    ilk_leader_free(state);
    return term;
}

static void *run(void *context)
{
    campaign *c = context;

    c->status = ilk_election_campaign(c->election, c->timeout_ms, &c->err);
    c->ended_at = fixture_now_ms();
    return NULL;
}

void start_campaign(campaign *c, ilk_election *election, int64_t timeout_ms)
{
    *c = (campaign){.election = election, .timeout_ms = timeout_ms};
    assert_int_equal(0, pthread_create(&c->thread, NULL, run, c));
}

void end_campaign(campaign *c, ilk_status expected)
{
    join_soon(c->thread, "campaign");
    assert_status_at(expected, c->status, &c->err, "campaign", __FILE__,
                     __LINE__);
}

/* SPDX-License-Identifier: MIT */
/* ct_election_faults.c -- odd names and identities, wrong arguments and keys,
 * forks, handles freed too early, users without rights. */
#include "client_case.h"
#include "election_case.h"
#include "fork_case.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

AROUND_ALL(client_setup, client_teardown);

static ilk_error err;

/* ---- names and identities ----------------------------------------------- */

typedef struct bytes {
    const char *data;
    size_t len;
} bytes;

#define BYTES(literal)                                                         \
    {                                                                          \
        literal, sizeof(literal) - 1                                           \
    }

static const bytes odd[] = {
    BYTES("a"),    BYTES("a\0"), BYTES("\0"),    BYTES("\r\n"), BYTES("\xff"),
    BYTES("{}"),   BYTES("{}a"), BYTES("x}t"),   BYTES("{a}b"), BYTES("{a}"),
    BYTES("a}"),   BYTES("}"),   BYTES("a b"),   BYTES("=a"),   BYTES("~a"),
    BYTES(":{a}"), BYTES("a:b"), BYTES("a%3Ab"), BYTES("%"),    BYTES("%s%n"),
    BYTES("wait"), BYTES("a:"),  BYTES(":")};

enum { ODD = sizeof odd / sizeof *odd };

TEST(names_of_any_bytes_are_different_elections)
{
    ilk_election *all[ODD], *next[ODD];
    campaign c[ODD];

    for (int i = 0; i < ODD; i++) {
        assert_status(ILK_OK, ilk_election_open(&all[i], client, odd[i].data,
                                                odd[i].len, NULL, &err));
        assert_status(ILK_OK, ilk_election_open(&next[i], client, odd[i].data,
                                                odd[i].len, NULL, &err));
        assert_status(ILK_OK, ilk_election_campaign(all[i], 0, &err));
        start_campaign(&c[i], next[i], 10000);
    }
    for (int i = 0; i < ODD; i++) {
        ilk_leader *leader = NULL;

        for (int tries = 0; tries < 1000; tries++) {
            ilk_leader_free(leader);
            assert_status(ILK_OK, ilk_election_leader(&leader, all[i], &err));
            if (ilk_leader_candidates(leader) == 1)
                break;
            fixture_sleep_ms(2);
        }
        ilk_leader_free(leader);
        assert_status(ILK_OK, ilk_election_resign(all[i], &err));
        end_campaign(&c[i], ILK_OK);
        assert_int_equal(1, ilk_election_is_leader(next[i]));
        ilk_election_free(all[i]);
        ilk_election_free(next[i]);
    }
    fixture_command(&fx, "FLUSHALL");
}

static ilk_election *open_identity(ilk_client *of, const bytes *identity)
{
    ilk_election_opts opts;

    ilk_election_opts_init(&opts, sizeof opts);
    opts.identity = identity->data;
    opts.identity_len = identity->len;
    opts.ttl_ms = 1500;
    return open_candidate_with(of, "identity", &opts);
}

TEST(identities_of_any_bytes_are_distinct)
{
    ilk_client *other = open_client();

    for (int i = 0; i < ODD; i++) {
        ilk_election *first = open_identity(client, &odd[i]), *again;
        int64_t term;

        assert_status(ILK_OK, ilk_election_campaign(first, 0, &err));
        term = ilk_election_term(first);
        for (int j = 0; j < ODD; j++) {
            ilk_election *stranger = open_identity(other, &odd[j]);

            if (i != j)
                assert_status(ILK_EBUSY,
                              ilk_election_campaign(stranger, 0, &err));
            ilk_election_free(stranger);
        }
        again = open_identity(other, &odd[i]);
        assert_status(ILK_OK, ilk_election_campaign(again, 0, &err));
        assert_int_equal(term, ilk_election_term(again));
        assert_status(ILK_ELOST, ilk_election_renew(first, 0, &err));
        assert_status(ILK_OK, ilk_election_resign(again, &err));
        ilk_election_free(first);
        ilk_election_free(again);
    }
    ilk_client_free(other);
}

/* Past those who wait, and in the same term. */
TEST(identity_that_returns_in_time_leads_on)
{
    static const bytes node = BYTES("node-1");
    ilk_client *former = open_client();
    ilk_election *first = open_identity(former, &node), *again;
    ilk_election *standby = open_candidate(client, "identity", 1500, "s");
    campaign c;

    assert_status(ILK_OK, ilk_election_campaign(first, 0, &err));
    start_campaign(&c, standby, -1);
    await_candidates("identity", 1);
    assert_status(ILK_OK, ilk_client_close(former, &err)); /* it stops short */

    again = open_identity(client, &node);
    assert_status(ILK_OK, ilk_election_campaign(again, -1, &err));

    assert_int_equal(ilk_election_term(first), ilk_election_term(again));
    await_candidates("identity", 1);
    assert_status(ILK_OK, ilk_election_resign(again, &err));
    end_campaign(&c, ILK_OK);
    assert_true(ilk_election_term(standby) > ilk_election_term(again));
    ilk_election_free(first);
    ilk_election_free(again);
    ilk_election_free(standby);
    ilk_client_free(former);
}

/* ---- what makes no sense ------------------------------------------------ */

static void refuse(ilk_election_opts opts)
{
    ilk_election *election = (ilk_election *)&fx;

    assert_status(ILK_EINVAL,
                  ilk_election_open(&election, client, "x", 1, &opts, &err));
    assert_null(election);
}

TEST(wrong_arguments_are_refused)
{
    const size_t size = sizeof(ilk_election_opts);
    static char long_name[513];
    ilk_election *e = NULL;
    ilk_observer *o = NULL;
    ilk_leader *l = NULL;

    memset(long_name, 'n', sizeof long_name);
    refuse((ilk_election_opts){.size = size, .ttl_ms = -1});
    refuse((ilk_election_opts){.size = size, .ttl_ms = INT64_MAX});
    refuse((ilk_election_opts){.size = size, .max_hold_ms = -1});
    refuse((ilk_election_opts){.size = size, .flags = 2});
    refuse((ilk_election_opts){.size = size, .value_len = 1});
    refuse((ilk_election_opts){.size = size,
                               .value = long_name,
                               .value_len = ILK_ELECTION_VALUE_MAX + 1});
    refuse((ilk_election_opts){.size = size, .identity_len = 1});
    refuse((ilk_election_opts){
        .size = size, .identity = long_name, .identity_len = 65});
    refuse((ilk_election_opts){.size = size,
                               .identity = "::::::::::::::::::::::",
                               .identity_len = 22});
    refuse((ilk_election_opts){.size = 1});
    assert_status(ILK_EINVAL, ilk_election_open(&e, client, "", 0, NULL, &err));
    assert_status(ILK_EINVAL,
                  ilk_election_open(&e, client, long_name, 513, NULL, &err));
    assert_status(ILK_EINVAL,
                  ilk_election_open(&e, client, "ilk:x", 5, NULL, &err));
    assert_status(ILK_EINVAL,
                  ilk_election_open(NULL, client, "x", 1, NULL, &err));
    assert_status(ILK_EINVAL, ilk_election_open(&e, NULL, "x", 1, NULL, &err));
    assert_status(ILK_OK, ilk_election_open(&e, client, "x", 1, NULL, &err));
    assert_status(ILK_EINVAL, ilk_election_observe(&o, e, 6, &err));
    assert_status(ILK_EINVAL, ilk_election_observe(NULL, e, 0, &err));
    assert_status(ILK_EINVAL, ilk_election_leader(NULL, e, &err));
    ilk_election_free(e);
    assert_status(ILK_EINVAL, ilk_election_campaign(NULL, 0, &err));
    assert_status(ILK_EINVAL, ilk_election_resign(NULL, &err));
    assert_status(ILK_EINVAL, ilk_election_renew(NULL, 0, &err));
    assert_status(ILK_EINVAL, ilk_election_check(NULL, &err));
    assert_status(ILK_EINVAL, ilk_election_cancel(NULL, &err));
    assert_status(ILK_EINVAL, ilk_election_proclaim(NULL, "", 0, &err));
    assert_status(ILK_EINVAL, ilk_election_leader(&l, NULL, &err));
    assert_status(ILK_EINVAL, ilk_election_observe(&o, NULL, 0, &err));
    assert_status(ILK_EINVAL, ilk_observer_next(&l, NULL, 0, &err));
    assert_status(ILK_EINVAL, ilk_observer_cancel(NULL, &err));
    assert_int_equal(0, ilk_election_is_leader(NULL));
    assert_int_equal(0, ilk_election_term(NULL) + ilk_election_id(NULL));
    assert_int_equal(0, ilk_election_remaining_ms(NULL));
    assert_string_equal("", ilk_election_token(NULL));
    assert_null(ilk_leader_value(NULL, NULL));
    assert_int_equal(0, ilk_leader_term(NULL) + ilk_leader_listed(NULL));
    ilk_election_free(NULL);
    ilk_observer_free(NULL);
    ilk_leader_free(NULL);
}

TEST(keys_of_another_type_are_refused)
{
    static const char *const parts[] = {"", ":fence", ":wait", ":value",
                                        ":seen"};
    ilk_election *a = open_candidate(client, "type", 0, "");
    ilk_leader *leader;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        fixture_command(&fx, "FLUSHALL");
        fixture_command(&fx, "SET ilk:election:{type} x PX 60000");
        fixture_command(&fx, "DEL ilk:election%s:{type}", parts[i]);
        fixture_command(&fx, "RPUSH ilk:election%s:{type} x", parts[i]);
        assert_status(ILK_ETYPE, ilk_election_campaign(a, 50, &err));
    }
    fixture_command(&fx, "FLUSHALL");
    fixture_command(&fx, "SET ilk:election:fence:{type} x");
    assert_status(ILK_ETYPE, ilk_election_leader(&leader, a, &err));
    assert_null(leader);
    fixture_command(&fx, "FLUSHALL");
    ilk_election_free(a);
}

/* ---- handles that go away ----------------------------------------------- */

TEST(leadership_for_one_who_is_gone_goes_to_the_next)
{
    ilk_election *b = open_candidate(client, "gone", 0, "b");
    char waiter[64], message[160];
    campaign c;

    fixture_command(&fx, "SET ilk:election:{gone} ghost PX 60000");
    fixture_command(&fx, "HSET ilk:election:fence:{gone} fence 5 token ghost");
    start_campaign(&c, b, 10000);
    await_candidates("gone", 1);
    snprintf(message, sizeof message,
             "1 grant %s ghost 5 60000 1 ilk:election:{gone}",
             fixture_first_waiter(&fx, "ilk:election:wait:{gone}", waiter));
    fixture_call(
        &fx, "PUBLISH",
        strcat(strcpy((char[64]){0}, "ilk:inbox:"), ilk_client_id(client)),
        message, (char *)NULL);

    end_campaign(&c, ILK_OK);

    assert_string_equal("b", published(b));
    ilk_election_free(b);
}

TEST(freed_candidate_leaves_the_queue)
{
    ilk_client *own = open_client();
    ilk_election *a = open_candidate(client, "freed", 0, "a");
    ilk_election *b = open_candidate(own, "freed", 0, "b");
    campaign c;

    assert_status(ILK_OK, ilk_election_campaign(a, 0, &err));
    start_campaign(&c, b, -1);
    await_candidates("freed", 1);
    ilk_client_interrupt(own);
    end_campaign(&c, ILK_EINTR); /* keeps its place, until it is freed */
    await_candidates("freed", 1);
    ilk_election_free(b);
    await_candidates("freed", 0);
    assert_int_equal(0,
                     fixture_int(&fx, "HEXISTS ilk:election:value:{freed} b"));
    assert_int_equal(1, fixture_int(&fx, "HLEN ilk:election:value:{freed}"));
    ilk_election_free(a);
    ilk_client_free(own);
}

TEST(closing_ends_campaigns)
{
    ilk_client *own = open_client();
    ilk_election *a = open_candidate(client, "close", 0, "");
    ilk_election *b = open_candidate(own, "close", 0, "");
    campaign c;

    assert_status(ILK_OK, ilk_election_campaign(a, 0, &err));
    start_campaign(&c, b, -1);
    await_candidates("close", 1);
    assert_status(ILK_EHELD, ilk_election_campaign(b, 0, &err));
    assert_status(ILK_OK, ilk_client_close(own, &err));
    end_campaign(&c, ILK_ECLOSED);
    assert_status(ILK_ECLOSED, ilk_election_campaign(b, 0, &err));
    assert_status(ILK_ECLOSED, ilk_election_proclaim(b, "", 0, &err));
    ilk_election_free(a);
    ilk_election_free(b);
    ilk_client_free(own);
}

TEST(child_is_refused_until_it_reopens)
{
    ilk_client *own = open_client();
    ilk_election *a = open_candidate(own, "fork", 0, "parent");
    ilk_election *b = open_candidate(own, "fork2", 0, "child");
    ilk_observer *o = NULL;
    ilk_leader *leader;
    pid_t pid;

    assert_status(ILK_OK, ilk_election_campaign(a, 0, &err));
    assert_status(ILK_OK, ilk_election_observe(&o, a, 0, &err));
    pid = fork_now();
    if (pid == 0) {
        demand(!ilk_election_is_leader(a) && !ilk_election_remaining_ms(a));
        demand(ilk_election_campaign(a, 0, NULL) == ILK_EFORKED);
        demand(ilk_election_resign(a, NULL) == ILK_EFORKED);
        demand(ilk_election_proclaim(a, "x", 1, NULL) == ILK_EFORKED);
        demand(ilk_election_leader(&leader, a, NULL) == ILK_EFORKED);
        demand(ilk_observer_next(&leader, o, 0, NULL) == ILK_EFORKED);
        demand(ilk_client_reopen(own, NULL) == ILK_OK);
        demand(ilk_election_resign(a, NULL) == ILK_EFORKED); /* once */
        demand(ilk_election_campaign(a, 0, NULL) == ILK_EBUSY);
        demand(ilk_election_campaign(b, 0, NULL) == ILK_OK);
        demand(ilk_observer_next(&leader, o, 1000, NULL) == ILK_OK);
        demand(strcmp(ilk_leader_value(leader, NULL), "parent") == 0);
        _exit(0);
    }
    assert_ends_well(pid);
    assert_status(ILK_OK, ilk_election_check(a, &err));
    assert_status(ILK_OK, ilk_election_resign(a, &err));
    ilk_observer_free(o);
    ilk_election_free(a);
    ilk_election_free(b);
    ilk_client_free(own);
}

/* SPDX-License-Identifier: MIT */
/* ct_inspect_kind.c -- inspecting a name of any kind. */
#include "queue_case.h"
#include "started.h"

#include <interlock.h>

#include <string.h>

AROUND_ALL(server_setup, server_teardown);
AROUND_EACH(queue_begin, queue_end);

static ilk_info *look(int32_t kind, const char *name)
{
    ilk_info *info = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_inspect_kind(&info, client, kind, name,
                                           strlen(name), &err));
    assert_int_equal(kind, ilk_info_kind(info));
    return info;
}

static int64_t number(const ilk_info *info, const char *name)
{
    for (size_t i = 0; i < ilk_info_facts(info); i++)
        if (strcmp(ilk_info_fact_name(info, i), name) == 0)
            return ilk_info_fact_number(info, i);
    fail_msg("no fact %s", name);
    return -1;
}

static void assert_unused(int32_t kind, const char *state)
{
    ilk_info *info = look(kind, "nobody's");

    assert_string_equal(state, ilk_info_state_name(info));
    assert_int_equal(0, ilk_info_in_use(info));
    assert_int_equal(0, ilk_info_holders(info));
    assert_int_equal(0, ilk_info_waiters(info));
    assert_int_equal(0, ilk_info_longest_wait_ms(info));
    ilk_info_free(info);
}

TEST(a_name_without_users_is_not_in_use)
{
    assert_unused(ILK_KIND_LOCK, "free");
    assert_unused(ILK_KIND_SEMAPHORE, "free");
    assert_unused(ILK_KIND_ELECTION, "vacant");
    assert_unused(ILK_KIND_SIGNAL, "idle");
    assert_unused(ILK_KIND_EVENT, "clear");
    assert_unused(ILK_KIND_BARRIER, "idle");
    assert_unused(ILK_KIND_LATCH, "none");
    assert_unused(ILK_KIND_QUEUE, "empty");
    assert_unused(ILK_KIND_GROUP, "empty");
    assert_unused(ILK_KIND_REGISTER, "none");
}

TEST(a_kind_without_a_state_is_refused)
{
    static const int32_t wrong[] = {0, ILK_KIND_STORE, ILK_KIND_KV, 3, -1};
    ilk_info *info = NULL;
    ilk_op *op = NULL;
    ilk_error err = {0};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(ILK_EINVAL, ilk_inspect_kind(&info, client, wrong[i],
                                                      "a", 1, &err));
        assert_null(info);
        assert_int_equal(ILK_EINVAL, ilk_inspect_kind_start(
                                         &op, client, wrong[i], "a", 1, &err));
        assert_null(op);
    }
}

TEST(a_queue_shows_who_has_reserved)
{
    ilk_queue *queue = open_queue("q");
    ilk_job *job;
    ilk_info *info;

    push(queue, "a");
    push(queue, "b");
    job = reserve(queue, 0, 60000);

    info = look(ILK_KIND_QUEUE, "q");

    assert_int_equal(1, ilk_info_in_use(info));
    assert_string_equal("ready", ilk_info_state_name(info));
    assert_int_equal(1, number(info, "ready"));
    assert_int_equal(1, number(info, "taken"));
    assert_int_equal(2, number(info, "pushed"));
    assert_int_equal(0, number(info, "finished"));
    assert_int_equal(1, ilk_info_holders(info));
    assert_string_equal(ilk_client_id(client), ilk_info_holder_client(info, 0));
    assert_int_equal(1, ilk_info_holder_permits(info, 0));
    assert_in_range(ilk_info_holder_ttl_ms(info, 0), 1, 60000);
    ilk_info_free(info);
    ilk_job_free(job);
    ilk_queue_free(queue);
}

TEST(holder_and_waiter_of_one_client_have_its_id)
{
    ilk_election *leader = NULL, *candidate = NULL;
    ilk_op *op = NULL;
    ilk_info *info = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK,
                  ilk_election_open(&leader, client, "e", 1, NULL, &err));
    assert_status(ILK_OK,
                  ilk_election_open(&candidate, client, "e", 1, NULL, &err));
    assert_status(ILK_OK, ilk_election_campaign(leader, 0, &err));
    assert_status(ILK_OK,
                  ilk_election_campaign_start(&op, candidate, -1, &err));
    turn_until(client, "1", "ZCARD ilk:election:wait:{e}");
    info = look(ILK_KIND_ELECTION, "e");

    assert_string_equal("led", ilk_info_state_name(info));
    assert_string_equal(ilk_client_id(client), ilk_info_holder_client(info, 0));
    assert_string_equal(ilk_client_id(client), ilk_info_waiter_client(info, 0));
    assert_string_equal(ilk_info_label(info), ilk_info_waiter_label(info, 0));
    assert_true(ilk_info_holder_since_ms(info, 0) > 0);
    assert_true(ilk_info_waiter_waited_ms(info, 0) >= 0);
    assert_int_equal(number(info, "term"), ilk_election_term(leader));
    ilk_info_free(info);
    ilk_op_free(op);
    ilk_election_free(candidate);
    ilk_election_free(leader);
}

TEST(waiters_of_an_event_are_listed_without_a_secret)
{
    ilk_event *event = NULL;
    ilk_op *op = NULL;
    ilk_info *info = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_event_open(&event, client, "v", 1, NULL, &err));
    assert_status(ILK_OK, ilk_event_wait_start(&op, event, -1, &err));
    turn_until(client, "1", "ZCARD ilk:event:wait:{v}");
    info = look(ILK_KIND_EVENT, "v");

    assert_string_equal("clear", ilk_info_state_name(info));
    assert_string_equal(ilk_client_id(client), ilk_info_waiter_client(info, 0));
    assert_in_range(ilk_info_longest_wait_ms(info), 0, 60000);
    ilk_info_free(info);
    ilk_op_free(op);
    ilk_event_free(event);
}

TEST(a_group_lists_its_members)
{
    ilk_group *group = NULL;
    ilk_member *member = NULL;
    ilk_info *info;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_group_open(&group, client, "g", 1, &err));
    assert_status(ILK_OK,
                  ilk_member_open(&member, group, "one", 3, NULL, &err));
    assert_status(ILK_OK, ilk_member_join(member, "x", 1, &err));

    info = look(ILK_KIND_GROUP, "g");

    assert_string_equal("joined", ilk_info_state_name(info));
    assert_int_equal(1, number(info, "members"));
    assert_string_equal("one", ilk_info_holder_label(info, 0));
    ilk_info_free(info);
    ilk_member_free(member);
    ilk_group_free(group);
}

/* SPDX-License-Identifier: MIT */
/* ct_client_close.c -- what a closed client leaves on the server: nothing that it
 * renewed, and everything else. */
#include "lock_thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

AROUND_ALL(server_setup, server_teardown);

enum { MANY = 10000 };

static void close_now(ilk_client *client)
{
    int64_t began = fixture_now_ms();
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_client_close(client, &err));
    assert_true(fixture_now_ms() - began < patience(1200));
}

static ilk_semaphore *hold_semaphore(ilk_client *client)
{
    ilk_semaphore_opts opts = {.size = sizeof opts, .permits = 2};
    ilk_semaphore *semaphore = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_semaphore_open(&semaphore, client, "permits", 7,
                                             3, &opts, &err));
    assert_status(ILK_OK, ilk_semaphore_acquire(semaphore, 0, &err));
    return semaphore;
}

static ilk_election *lead(ilk_client *client)
{
    ilk_election_opts opts = {
        .size = sizeof opts, .value = "me", .value_len = 2};
    ilk_election *election = NULL;
    ilk_error err = {0};

    assert_status(
        ILK_OK, ilk_election_open(&election, client, "leader", 6, &opts, &err));
    assert_status(ILK_OK, ilk_election_campaign(election, 0, &err));
    return election;
}

static ilk_member *join(ilk_client *client)
{
    ilk_group *group = NULL;
    ilk_member *member = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_group_open(&group, client, "group", 5, &err));
    assert_status(ILK_OK,
                  ilk_member_open(&member, group, "m\0x", 3, NULL, &err));
    assert_status(ILK_OK, ilk_member_join(member, "data", 4, &err));
    ilk_group_free(group);
    return member;
}

static ilk_lock_many *hold_many(ilk_client *client)
{
    const void *names[] = {"many:1", "many:2"};
    const size_t lens[] = {6, 6};
    ilk_lock_many *many = NULL;
    ilk_error err = {0};

    assert_status(
        ILK_OK, ilk_lock_many_open(&many, client, names, lens, 2, NULL, &err));
    assert_status(ILK_OK, ilk_lock_many_acquire(many, 0, &err));
    return many;
}

static ilk_lock *hold_in_layout(ilk_client *client, const char *name,
                                int32_t layout)
{
    ilk_lock_opts opts = {.size = sizeof opts, .layout = layout};
    ilk_lock *lock = NULL;
    ilk_error err = {0};

    assert_status(
        ILK_OK, ilk_lock_open(&lock, client, name, strlen(name), &opts, &err));
    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    return lock;
}

static ilk_lock *read_lock(ilk_client *client)
{
    ilk_lock *lock = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK,
                  ilk_rwlock_read_open(&lock, client, "shared", 6, NULL, &err));
    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    return lock;
}

TEST(every_renewed_hold_is_given_back)
{
    ilk_client *client = open_client();
    ilk_lock *plain = hold_in_layout(client, "plain", ILK_LAYOUT_PLAIN);
    ilk_lock *redisson = hold_in_layout(client, "hash", ILK_LAYOUT_REDISSON);
    ilk_lock *reader = read_lock(client);
    ilk_lock_many *many = hold_many(client);
    ilk_semaphore *semaphore = hold_semaphore(client);
    ilk_election *election = lead(client);
    ilk_member *member = join(client);

    assert_int_equal(
        5, fixture_int(&fx, "EXISTS plain hash shared many:1 many:2"));
    assert_int_equal(2, fixture_int(&fx, "ZCARD ilk:semaphore:{permits}"));
    assert_int_equal(1, fixture_int(&fx, "EXISTS ilk:election:{leader}"));
    assert_int_equal(1, fixture_int(&fx, "ZCARD ilk:group:{group}"));
    close_now(client);
    assert_int_equal(
        0, fixture_int(&fx, "EXISTS plain hash shared many:1 many:2"));
    assert_int_equal(0, fixture_int(&fx, "ZCARD ilk:semaphore:{permits}"));
    assert_int_equal(0, fixture_int(&fx, "EXISTS ilk:election:{leader}"));
    assert_int_equal(0, fixture_int(&fx, "ZCARD ilk:group:{group}"));
    assert_int_equal(0, ilk_lock_held(plain) + ilk_lock_held(reader));
    assert_int_equal(0, ilk_election_is_leader(election));
    assert_int_equal(0, ilk_member_held(member));
    ilk_lock_free(plain);
    ilk_lock_free(redisson);
    ilk_lock_free(reader);
    ilk_lock_many_free(many);
    ilk_semaphore_free(semaphore);
    ilk_election_free(election);
    ilk_member_free(member);
    ilk_client_free(client);
}

TEST(the_next_waiter_gets_it_at_once)
{
    ilk_client *client = open_client(), *other = open_client();
    ilk_lock *lock = open_lock(client, "next"),
             *next = open_lock(other, "next");
    ilk_error err = {0};
    taker t;

    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    start_taker(&t, next, -1);
    await_waiters("next", 1);
    close_now(client);
    assert_took(ILK_OK, &t);
    assert_true(took_ms(&t) < patience(3000));
    ilk_lock_free(next);
    ilk_lock_free(lock);
    ilk_client_free(other);
    ilk_client_free(client);
}

TEST(a_hold_without_renewal_runs_out)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock_with(client, "brief", 60000, ILK_LOCK_NO_RENEW);
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    close_now(client);
    assert_true(fixture_int(&fx, "PTTL brief") > 0);
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(a_hold_that_was_handed_over_stays)
{
    ilk_client *client = open_client(), *other = open_client();
    ilk_lock *lock = open_lock(client, "handed"),
             *heir = open_lock(other, "handed");
    ilk_lock *detached = open_lock(client, "detached");
    ilk_error err = {0};
    char token[128];

    assert_status(ILK_OK, ilk_lock_acquire(detached, 0, &err));
    assert_status(ILK_OK, ilk_lock_detach(detached, &err));
    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    snprintf(token, sizeof token, "%s", ilk_lock_token(lock));
    assert_status(ILK_OK, ilk_lock_detach(lock, &err));
    assert_status(ILK_OK, ilk_lock_adopt(heir, token, strlen(token), &err));
    close_now(client);
    assert_string_equal(token, fixture_command(&fx, "GET handed"));
    assert_true(fixture_int(&fx, "PTTL detached") > 0);
    assert_status(ILK_OK, ilk_lock_release(heir, &err));
    ilk_lock_free(detached);
    ilk_lock_free(lock);
    ilk_lock_free(heir);
    ilk_client_free(other);
    ilk_client_free(client);
}

TEST(freeing_everything_sends_nothing)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock(client, "freed");
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    ilk_client_free(client);
    ilk_lock_free(lock); /* the last reference */
    assert_true(fixture_int(&fx, "PTTL freed") > 0);
}

/* A message is left to its lease: whether the work was done is not known here. */
TEST(a_message_runs_out)
{
    ilk_queue_opts opts = {.size = sizeof opts, .flags = ILK_QUEUE_RENEW};
    ilk_client *client = open_client();
    ilk_queue *queue = NULL;
    ilk_job *job = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK,
                  ilk_queue_open(&queue, client, "work", 4, &opts, &err));
    assert_status(ILK_OK, ilk_queue_push(NULL, queue, "x", 1, NULL, &err));
    assert_status(ILK_OK, ilk_queue_reserve(&job, queue, 0, 60000, &err));
    close_now(client);
    assert_int_equal(1, fixture_int(&fx, "ZCARD ilk:queue:leases:{work}"));
    ilk_job_free(job);
    ilk_queue_free(queue);
    ilk_client_free(client);
}

TEST(ten_thousand_holds_go_in_one_pipeline)
{
    ilk_lock **locks = calloc(MANY, sizeof *locks);
    ilk_client *client = open_client();
    ilk_error err = {0};
    char name[32];
    int count = OFTEN(MANY);
    int64_t began, left = 0;

    assert_non_null(locks);
    fixture_command(&fx, "FLUSHALL");
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "n%d", i);
        locks[i] = open_lock(client, name);
        assert_status(ILK_OK, ilk_lock_acquire(locks[i], 0, &err));
    }
    began = fixture_now_ms();
    close_now(client);
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "EXISTS n%d", i);
        left += fixture_int(&fx, "%s", name);
        ilk_lock_free(locks[i]);
    }
    /* A machine that has too much to do for a second leaves some to their leases. */
    if (fixture_now_ms() - began < 1000 || patience(1) == 1)
        assert_int_equal(0, left);
    assert_true(left < count);
    free(locks);
    ilk_client_free(client);
}

TEST(a_server_that_is_gone_delays_it_by_a_second_at_most)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock(client, "away");
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    assert_int_equal(0, fixture_pause(&fx));
    close_now(client);
    assert_int_equal(0, ilk_lock_held(lock));
    assert_int_equal(0, fixture_resume(&fx));
    ilk_lock_free(lock);
    ilk_client_free(client);
    client = open_client();
    lock = open_lock(client, "killed");
    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    assert_int_equal(0, fixture_kill(&fx));
    close_now(client);
    ilk_lock_free(lock);
    ilk_client_free(client);
    assert_int_equal(0, fixture_restart(&fx));
}

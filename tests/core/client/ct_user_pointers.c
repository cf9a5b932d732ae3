/* SPDX-License-Identifier: MIT */
/* ct_user_pointers.c -- notifications carry the program's pointers. */
#include "client_case.h"

#include <poll.h>
#include <stddef.h>

AROUND_ALL(client_setup, client_teardown);

static ilk_error err;
static int mine, other; /* two things of the program */

/* The next notification. */
static ilk_notification next(void)
{
    ilk_notification note = {.size = sizeof note};
    struct pollfd news = {.events = POLLIN};
    ilk_status st;

    assert_status(ILK_OK, ilk_client_notification_fd(client, &news.fd, &err));
    while ((st = ilk_client_next_notification(client, &note, &err))
           == ILK_EAGAIN)
        assert_int_equal(1, poll(&news, 1, 10000));
    assert_status(ILK_OK, st);
    return note;
}

static void assert_user(ilk_notification_kind kind, int64_t id, void *user)
{
    ilk_notification note = next();

    assert_int_equal(kind, note.kind);
    assert_int_equal(id, note.id);
    assert_ptr_equal(user, note.user);
}

TEST(of_a_lock)
{
    ilk_lock *lock = NULL, *plain = open_lock(client, "lock");
    ilk_lock_opts opts;

    ilk_lock_opts_init(&opts, sizeof opts);
    opts.user = &mine;
    assert_status(ILK_OK, ilk_lock_open(&lock, client, "lock", 4, &opts, &err));
    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    fixture_int(&fx, "DEL lock");
    assert_status(ILK_ELOST, ilk_lock_extend(lock, 0, &err));
    assert_user(ILK_NOTIFICATION_LOCK_LOST, ilk_lock_id(lock), &mine);

    assert_status(ILK_OK, ilk_lock_acquire(plain, 0, &err));
    fixture_int(&fx, "DEL lock");
    assert_status(ILK_ELOST, ilk_lock_extend(plain, 0, &err));
    assert_user(ILK_NOTIFICATION_LOCK_LOST, ilk_lock_id(plain), NULL);
    ilk_lock_free(plain);
    ilk_lock_free(lock);
}

TEST(of_many_locks)
{
    const void *names[] = {"a", "b"};
    const size_t lens[] = {1, 1};
    ilk_lock_many *many = NULL;
    ilk_lock_opts opts;

    ilk_lock_opts_init(&opts, sizeof opts);
    opts.user = &mine;
    assert_status(
        ILK_OK, ilk_lock_many_open(&many, client, names, lens, 2, &opts, &err));
    assert_status(ILK_OK, ilk_lock_many_acquire(many, 0, &err));
    fixture_int(&fx, "DEL a");
    assert_status(ILK_ELOST, ilk_lock_many_extend(many, 0, &err));
    assert_user(ILK_NOTIFICATION_LOCK_LOST, ilk_lock_many_id(many), &mine);
    ilk_lock_many_free(many);
}

TEST(of_a_semaphore)
{
    ilk_semaphore *semaphore = NULL;
    ilk_semaphore_opts opts;

    ilk_semaphore_opts_init(&opts, sizeof opts);
    opts.user = &mine;
    assert_status(
        ILK_OK, ilk_semaphore_open(&semaphore, client, "s", 1, 2, &opts, &err));
    assert_status(ILK_OK, ilk_semaphore_acquire(semaphore, 0, &err));
    fixture_int(&fx, "DEL ilk:semaphore:{s}");
    assert_status(ILK_ELOST, ilk_semaphore_extend(semaphore, 0, &err));
    assert_user(ILK_NOTIFICATION_SEMAPHORE_LOST, ilk_semaphore_id(semaphore),
                &mine);
    ilk_semaphore_free(semaphore);
}

TEST(of_a_candidate)
{
    ilk_election *candidate = NULL;
    ilk_election_opts opts;

    ilk_election_opts_init(&opts, sizeof opts);
    opts.user = &mine;
    assert_status(ILK_OK,
                  ilk_election_open(&candidate, client, "e", 1, &opts, &err));
    assert_status(ILK_OK, ilk_election_campaign(candidate, 0, &err));
    assert_user(ILK_NOTIFICATION_LEADERSHIP_WON, ilk_election_id(candidate),
                &mine);
    fixture_int(&fx, "DEL ilk:election:{e}");
    assert_status(ILK_ELOST, ilk_election_renew(candidate, 0, &err));
    assert_user(ILK_NOTIFICATION_LEADERSHIP_LOST, ilk_election_id(candidate),
                &mine);
    ilk_election_free(candidate);
}

TEST(of_operations)
{
    ilk_op *ops[2] = {NULL, NULL};

    for (int i = 0; i < 2; i++) {
        assert_status(ILK_OK, ilk_client_ping_start(&ops[i], client, -1, &err));
        assert_null(ilk_op_user(ops[i]));
        ilk_op_set_user(ops[i], i == 0 ? &mine : &other);
        assert_ptr_equal(i == 0 ? &mine : &other, ilk_op_user(ops[i]));
    }
    assert_user(ILK_NOTIFICATION_DONE, ilk_op_id(ops[0]), &mine);
    assert_user(ILK_NOTIFICATION_DONE, ilk_op_id(ops[1]), &other);
    ilk_op_free(ops[0]);
    ilk_op_free(ops[1]);
    ilk_op_set_user(NULL, &mine);
    assert_null(ilk_op_user(NULL));
}

/* The struct as it was before it had `user`. */
TEST(an_older_program_gets_none)
{
    ilk_notification older = {.size = offsetof(ilk_notification, user),
                              .user = &other};

    assert_status(ILK_OK, ilk_client_notify_kept(client, 7, &err));
    assert_status(ILK_OK, ilk_client_next_notification(client, &older, &err));
    assert_int_equal(7, older.id);
    assert_ptr_equal(&other, older.user); /* untouched */
}

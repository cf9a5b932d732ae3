/* SPDX-License-Identifier: MIT */
/* ct_semaphore.c -- permits of one handle: acquired, released, lost, reported. */
#include "fork_case.h"
#include "semaphore_case.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

AROUND_ALL(server_setup, server_teardown);
AROUND_EACH(server_flush, NULL);

/* ---- opening ------------------------------------------------------------ */

static ilk_status try_open(ilk_client *client, const char *name, size_t len,
                           int32_t limit, const ilk_semaphore_opts *opts,
                           ilk_error *err)
{
    ilk_semaphore *semaphore = (ilk_semaphore *)&err;
    ilk_status st =
        ilk_semaphore_open(&semaphore, client, name, len, limit, opts, err);

    if (st)
        assert_null(semaphore);
    ilk_semaphore_free(semaphore);
    return st;
}

TEST_WITH(NULL, NULL, names_are_checked_as_those_of_locks)
{
    char longest[ILK_NAME_MAX + 1];
    ilk_client *client = open_client();
    ilk_error err = {0};

    memset(longest, 'n', sizeof longest);
    assert_status(ILK_OK,
                  try_open(client, longest, ILK_NAME_MAX, 1, NULL, &err));
    assert_status(ILK_EINVAL,
                  try_open(client, longest, ILK_NAME_MAX + 1, 1, NULL, &err));
    assert_status(ILK_EINVAL, try_open(client, "", 0, 1, NULL, &err));
    assert_status(ILK_EINVAL, try_open(client, NULL, 1, 1, NULL, &err));
    assert_status(ILK_EINVAL, try_open(client, "ilk:x", 5, 1, NULL, &err));
    assert_status(ILK_OK, try_open(client, "\0\xff{", 3, 1, NULL, &err));
    ilk_client_free(client);
}

TEST_WITH(NULL, NULL, limits_and_permits_are_checked)
{
    static const struct {
        int32_t limit, permits;
        const char *text;
    } bad[] = {
        {0, 0, "limit must be 1 to 1024, got 0"},
        {-1, 0, "limit must be 1 to 1024, got -1"},
        {1025, 0, "limit must be 1 to 1024, got 1025"},
        {3, -1, "permits must be 1 to the limit of 3, got -1"},
        {3, 4, "permits must be 1 to the limit of 3, got 4"},
    };
    ilk_client *client = open_client();
    ilk_semaphore_opts opts = {.size = sizeof opts};
    ilk_error err = {0};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        opts.permits = bad[i].permits;
        assert_status(ILK_EINVAL,
                      try_open(client, "n", 1, bad[i].limit, &opts, &err));
        assert_string_equal(bad[i].text, err.msg);
    }
    opts.permits = 1024;
    assert_status(ILK_OK, try_open(client, "n", 1, 1024, &opts, &err));
    ilk_client_free(client);
}

TEST_WITH(NULL, NULL, options_are_checked)
{
    const ilk_semaphore_opts bad[] = {
        {.size = sizeof *bad, .ttl_ms = -1},
        {.size = sizeof *bad, .ttl_ms = 2},
        {.size = sizeof *bad, .ttl_ms = INT64_MAX},
        {.size = sizeof *bad, .max_hold_ms = -1},
        {.size = sizeof *bad, .flags = 4},
        {.size = 0},
    };
    ilk_client *client = open_client();
    ilk_semaphore *semaphore = NULL;
    ilk_error err = {0};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_status(ILK_EINVAL, try_open(client, "n", 1, 2, &bad[i], &err));
    assert_status(ILK_EINVAL, try_open(NULL, "n", 1, 2, NULL, &err));
    assert_status(ILK_EINVAL,
                  ilk_semaphore_open(NULL, client, "n", 1, 2, NULL, &err));
    assert_status(ILK_EINVAL, ilk_semaphore_acquire(NULL, 0, &err));
    assert_status(ILK_EINVAL, ilk_semaphore_cancel(NULL, &err));
    assert_status(ILK_EINVAL, ilk_semaphore_release(NULL, &err));
    assert_status(ILK_EINVAL, ilk_semaphore_extend(NULL, 0, &err));
    assert_status(ILK_EINVAL, ilk_semaphore_check(NULL, &err));
    assert_status(ILK_EINVAL, ilk_semaphore_detach(NULL, &err));
    assert_status(ILK_EINVAL, ilk_semaphore_adopt(NULL, "t", 1, &err));
    assert_status(ILK_EINVAL, ilk_semaphore_set_limit(NULL, 1, &err));
    semaphore = open_semaphore(client, "n", 2);
    assert_status(ILK_EINVAL,
                  ilk_semaphore_acquire_ttl(semaphore, 0, -5, &err));
    ilk_semaphore_free(semaphore);
    ilk_semaphore_free(NULL);
    ilk_client_free(client);
}

/* ---- taking ------------------------------------------------------------- */

TEST(permits_up_to_the_limit_are_held_at_once)
{
    ilk_client *clients[] = {open_client(), open_client()};
    ilk_semaphore *s[4];
    ilk_error err = {0};
    int64_t last = 0;

    for (int i = 0; i < 4; i++)
        s[i] = open_semaphore(clients[i % 2], "many", 3);
    for (int i = 0; i < 3; i++) {
        assert_status(ILK_OK, ilk_semaphore_acquire(s[i], 0, &err));
        assert_true(ilk_semaphore_fence(s[i]) > last);
        assert_int_equal(1, ilk_semaphore_held(s[i]));
        assert_in_range(ilk_semaphore_remaining_ms(s[i]), 29000, 30000);
        last = ilk_semaphore_fence(s[i]);
    }
    assert_status(ILK_EBUSY, ilk_semaphore_acquire(s[3], 0, &err));
    assert_int_equal(0, ilk_semaphore_held(s[3]));
    assert_status(ILK_EHELD, ilk_semaphore_acquire(s[0], 0, &err));
    assert_status(ILK_OK, ilk_semaphore_release(s[1], &err));
    assert_status(ILK_OK, ilk_semaphore_acquire(s[3], 0, &err));
    assert_true(ilk_semaphore_fence(s[3]) > last);
    assert_string_not_equal(ilk_semaphore_token(s[3]),
                            ilk_semaphore_token(s[0]));
    assert_true(ilk_semaphore_id(s[0]) > 0);
    for (int i = 0; i < 4; i++)
        ilk_semaphore_free(s[i]);
    ilk_client_free(clients[0]);
    ilk_client_free(clients[1]);
}

TEST(several_permits_are_one_hold)
{
    ilk_client *client = open_client();
    ilk_semaphore *two = open_semaphore_with(client, "sev", 3, 2, 0, 0);
    ilk_semaphore *other = open_semaphore_with(client, "sev", 3, 2, 0, 0);
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_semaphore_acquire(two, 0, &err));
    assert_int_equal(2, permits_taken("sev"));
    assert_status(ILK_EBUSY, ilk_semaphore_acquire(other, 0, &err));
    assert_status(ILK_OK, ilk_semaphore_extend(two, 60000, &err));
    assert_true(ilk_semaphore_remaining_ms(two) > 55000);
    assert_int_equal(2, permits_taken("sev"));
    assert_status(ILK_OK, ilk_semaphore_check(two, &err));
    assert_status(ILK_OK, ilk_semaphore_release(two, &err));
    assert_int_equal(0, permits_taken("sev"));
    assert_status(ILK_ENOTOWNER, ilk_semaphore_release(two, &err));
    assert_status(ILK_ENOTOWNER, ilk_semaphore_extend(two, 0, &err));
    ilk_semaphore_free(two);
    ilk_semaphore_free(other);
    ilk_client_free(client);
}

TEST(the_name_itself_is_never_touched)
{
    ilk_client *client = open_client();
    ilk_semaphore *s = open_semaphore(client, "raw", 1);
    ilk_lock *lock = open_lock(client, "raw");
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_semaphore_acquire(s, 0, &err));
    assert_int_equal(0, fixture_int(&fx, "EXISTS raw"));
    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    assert_status(ILK_OK, ilk_semaphore_release(s, &err));
    assert_int_equal(1, ilk_lock_held(lock));
    ilk_semaphore_free(s);
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(wrong_type_at_the_keys_is_refused)
{
    static const char *const kinds[] = {"", "fence:", "wait:", "live:"};
    ilk_client *client = open_client();
    ilk_semaphore *holder, *s;
    ilk_error err = {0};
    char name[16];

    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "type%d", i);
        holder = open_semaphore(client, name, 1);
        s = open_semaphore(client, name, 1);
        if (i >= 2) /* looked at by those who wait only */
            assert_status(ILK_OK, ilk_semaphore_acquire(holder, 0, &err));
        fixture_command(&fx, "SET ilk:semaphore:%s{%s} x", kinds[i], name);
        assert_status(ILK_ETYPE, ilk_semaphore_acquire(s, 500, &err));
        assert_int_equal(0, ilk_semaphore_held(s));
        ilk_semaphore_free(holder);
        ilk_semaphore_free(s);
    }
    ilk_client_free(client);
}

/* ---- leases ------------------------------------------------------------- */

TEST(a_hold_is_renewed_as_long_as_its_owner_lives)
{
    ilk_client *client = open_client();
    ilk_semaphore *s = open_semaphore_with(client, "renew", 2, 2, 1500, 0);
    ilk_semaphore *other = open_semaphore(client, "renew", 2);
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_semaphore_acquire(s, 0, &err));
    for (int i = 0; i < 5; i++) {
        fixture_sleep_ms(500);
        assert_int_equal(1, ilk_semaphore_held(s));
        assert_status(ILK_EBUSY, ilk_semaphore_acquire(other, 0, &err));
    }
    ilk_semaphore_free(s); /* silent: its lease ends by itself */
    assert_int_equal(2, permits_taken("renew"));
    assert_status(ILK_OK, ilk_semaphore_acquire(other, patience(5000), &err));
    ilk_semaphore_free(other);
    ilk_client_free(client);
}

static void assert_loss(ilk_client *client, const ilk_semaphore *s,
                        ilk_status why)
{
    ilk_notification notification = {.size = sizeof notification};
    struct pollfd pfd = {.events = POLLIN};
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_client_notification_fd(client, &pfd.fd, &err));
    assert_int_equal(1, poll(&pfd, 1, 3000));
    assert_status(ILK_OK,
                  ilk_client_next_notification(client, &notification, &err));
    assert_int_equal(ILK_NOTIFICATION_SEMAPHORE_LOST, notification.kind);
    assert_int_equal(ilk_semaphore_id(s), notification.id);
    assert_string_equal(ilk_status_name(why),
                        ilk_status_name(notification.status));
    assert_int_equal(0, ilk_semaphore_held(s));
    assert_status(ILK_EAGAIN,
                  ilk_client_next_notification(client, &notification, &err));
}

TEST(a_lost_hold_is_reported)
{
    ilk_client *client = open_client();
    ilk_semaphore *out =
        open_semaphore_with(client, "out", 2, 0, 250, ILK_SEMAPHORE_NO_RENEW);
    ilk_semaphore *gone = open_semaphore_with(client, "gone", 2, 0, 1500, 0);
    ilk_error err = {0};
    int fd;

    assert_status(ILK_OK, ilk_client_notification_fd(client, &fd, &err));
    assert_status(ILK_OK, ilk_semaphore_acquire(out, 0, &err));
    assert_loss(client, out, ILK_ETIMEOUT);
    assert_status(ILK_ELOST, ilk_semaphore_check(out, &err));
    assert_status(ILK_ELOST, ilk_semaphore_release(out, &err));

    assert_status(ILK_OK, ilk_semaphore_acquire(gone, 0, &err));
    fixture_command(&fx, "DEL ilk:semaphore:{gone}");
    assert_loss(client, gone, ILK_ELOST);
    assert_status(ILK_ELOST, ilk_semaphore_extend(gone, 0, &err));
    assert_status(ILK_ELOST, ilk_semaphore_release(gone, &err));
    assert_status(ILK_OK, ilk_semaphore_acquire(gone, 0, &err));
    ilk_semaphore_free(out);
    ilk_semaphore_free(gone);
    ilk_client_free(client);
}

TEST(a_hold_moves_to_another_handle_by_its_token)
{
    ilk_client *client = open_client();
    ilk_semaphore *donor = open_semaphore_with(client, "move", 3, 2, 1500, 0);
    ilk_semaphore *heir = open_semaphore_with(client, "move", 3, 1, 1500, 0);
    ilk_error err = {0};
    char token[160];
    int64_t fence;

    assert_status(ILK_OK, ilk_semaphore_acquire(donor, 0, &err));
    snprintf(token, sizeof token, "%s", ilk_semaphore_token(donor));
    fence = ilk_semaphore_fence(donor);
    assert_status(ILK_OK, ilk_semaphore_detach(donor, &err));
    assert_status(ILK_OK,
                  ilk_semaphore_adopt(heir, token, strlen(token), &err));
    assert_int_equal(fence, ilk_semaphore_fence(heir));
    fixture_sleep_ms(2500); /* the heir renews both permits */
    assert_int_equal(1, ilk_semaphore_held(heir));
    assert_int_equal(2, permits_taken("move"));
    assert_status(ILK_OK, ilk_semaphore_release(heir, &err));
    assert_int_equal(0, permits_taken("move"));
    assert_status(ILK_ELOST,
                  ilk_semaphore_adopt(donor, token, strlen(token), &err));
    ilk_semaphore_free(donor);
    ilk_semaphore_free(heir);
    ilk_client_free(client);
}

/* ---- fork --------------------------------------------------------------- */

TEST(a_child_cannot_use_its_parents_hold)
{
    ilk_client *client = open_client();
    ilk_semaphore *s = open_semaphore(client, "fork", 2);
    ilk_error err = {0};
    pid_t pid;

    assert_status(ILK_OK, ilk_semaphore_acquire(s, 0, &err));
    pid = fork_now();
    if (pid == 0) {
        demand(ilk_semaphore_release(s, &err) == ILK_EFORKED);
        demand(ilk_semaphore_set_limit(s, 3, &err) == ILK_EFORKED);
        demand(ilk_semaphore_held(s) == 0);
        ilk_semaphore_free(s);
        _exit(0);
    }
    assert_ends_well(pid);
    assert_int_equal(1, permits_taken("fork"));
    assert_status(ILK_OK, ilk_semaphore_release(s, &err));
    ilk_semaphore_free(s);
    ilk_client_free(client);
}

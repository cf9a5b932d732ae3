/* SPDX-License-Identifier: MIT */
/* ct_semaphore_limit.c -- the limit: refused when it differs, raised, lowered. */
#include "semaphore_case.h"

AROUND_ALL(server_setup, server_teardown);
AROUND_EACH(server_flush, NULL);

TEST(another_limit_is_refused_with_both_numbers)
{
    ilk_client *client = open_client();
    ilk_semaphore *s3 = open_semaphore(client, "diff", 3);
    ilk_semaphore *s4 = open_semaphore(client, "diff", 4);
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_semaphore_acquire(s3, 0, &err));
    for (int64_t timeout = 0; timeout <= 1000; timeout += 1000) {
        assert_status(ILK_EDIFFERS, ilk_semaphore_acquire(s4, timeout, &err));
        assert_string_equal("the semaphore has limit 3, this handle has 4",
                            err.msg);
    }
    await_queued("diff", 0);
    assert_status(ILK_OK, ilk_semaphore_release(s3, &err));
    assert_status(ILK_OK, ilk_semaphore_acquire(s4, 0, &err));
    assert_status(ILK_EDIFFERS, ilk_semaphore_acquire(s3, 0, &err));
    ilk_semaphore_free(s3);
    ilk_semaphore_free(s4);
    ilk_client_free(client);
}

TEST(a_raised_limit_wakes_and_a_lowered_one_drains)
{
    ilk_client *client = open_client();
    ilk_semaphore *s[4];
    ilk_error err = {0};
    sem_taker t[4];

    for (int i = 0; i < 4; i++)
        s[i] = open_semaphore(client, "limit", 1);
    assert_status(ILK_OK, ilk_semaphore_acquire(s[0], 0, &err));
    for (int i = 1; i < 4; i++) {
        start_sem_taker(&t[i], s[i], -1);
        await_queued("limit", i);
    }
    assert_status(ILK_OK, ilk_semaphore_set_limit(s[0], 3, &err));
    assert_sem_took(ILK_OK, &t[1]);
    assert_sem_took(ILK_OK, &t[2]);
    assert_still_waits(&t[3]);

    assert_status(ILK_OK, ilk_semaphore_set_limit(s[0], 1, &err));
    assert_int_equal(1, ilk_semaphore_held(s[2]));
    assert_status(ILK_OK, ilk_semaphore_release(s[0], &err));
    assert_status(ILK_OK, ilk_semaphore_release(s[1], &err));
    assert_still_waits(&t[3]);
    assert_status(ILK_OK, ilk_semaphore_release(s[2], &err));
    assert_sem_took(ILK_OK, &t[3]);
    for (int i = 0; i < 4; i++)
        ilk_semaphore_free(s[i]);
    ilk_client_free(client);
}

TEST(a_wait_for_more_than_a_lowered_limit_ends)
{
    ilk_client *client = open_client();
    ilk_semaphore *one = open_semaphore(client, "low", 3);
    ilk_semaphore *big = open_semaphore_with(client, "low", 3, 3, 0, 0);
    ilk_error err = {0};
    sem_taker t;

    assert_status(ILK_OK, ilk_semaphore_acquire(one, 0, &err));
    start_sem_taker(&t, big, -1);
    await_queued("low", 1);
    assert_status(ILK_OK, ilk_semaphore_set_limit(one, 2, &err));
    assert_sem_took(ILK_EDIFFERS, &t);
    assert_string_equal("the semaphore has limit 2 now, this handle asks for "
                        "3 permits",
                        t.err.msg);
    assert_status(ILK_EINVAL, ilk_semaphore_set_limit(big, 2, &err));
    assert_string_equal("limit must be 3 (this handle's permits) to 1024, "
                        "got 2",
                        err.msg);
    assert_status(ILK_EINVAL, ilk_semaphore_set_limit(one, 1025, &err));
    assert_status(ILK_EINVAL, ilk_semaphore_set_limit(one, 0, &err));
    ilk_semaphore_free(one);
    ilk_semaphore_free(big);
    ilk_client_free(client);
}

/* More than one hand-over looks at: it goes on until all are in. */
TEST(a_limit_raised_far_lets_a_long_queue_in)
{
    enum { QUEUED = 150 };
    ilk_client *clients[] = {open_client(), open_client()};
    ilk_semaphore *first = open_semaphore(clients[0], "far", 1), *s[QUEUED];
    static sem_taker t[QUEUED];
    ilk_error err = {0};
    int64_t at;

    assert_status(ILK_OK, ilk_semaphore_acquire(first, 0, &err));
    for (int i = 0; i < QUEUED; i++) {
        s[i] = open_semaphore(clients[i % 2], "far", 1);
        start_sem_taker(&t[i], s[i], -1);
    }
    await_queued("far", QUEUED);

    at = fixture_now_ms();
    assert_status(ILK_OK, ilk_semaphore_set_limit(first, 1024, &err));

    for (int i = 0; i < QUEUED; i++)
        assert_sem_took(ILK_OK, &t[i]);
    assert_true(fixture_now_ms() - at <= patience(1000));
    assert_int_equal(QUEUED + 1, permits_taken("far"));
    for (int i = 0; i < QUEUED; i++)
        ilk_semaphore_free(s[i]);
    ilk_semaphore_free(first);
    ilk_client_free(clients[0]);
    ilk_client_free(clients[1]);
}

TEST(a_limit_set_before_the_first_use_holds)
{
    ilk_client *client = open_client();
    ilk_semaphore *a = open_semaphore(client, "first", 1);
    ilk_semaphore *b = open_semaphore(client, "first", 1);
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_semaphore_set_limit(a, 2, &err));
    assert_status(ILK_OK, ilk_semaphore_acquire(a, 0, &err));
    assert_status(ILK_OK, ilk_semaphore_acquire(b, 0, &err));
    ilk_semaphore_free(a);
    ilk_semaphore_free(b);
    ilk_client_free(client);
}

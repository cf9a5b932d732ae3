/* SPDX-License-Identifier: MIT */
/* ct_semaphore_inspect.c -- looking at a semaphore: who holds, who waits. */
#include "semaphore_case.h"

#include <string.h>

AROUND_ALL(server_setup, server_teardown);

TEST(inspection_lists_holders_and_waiters)
{
    ilk_client_opts labelled = {.size = sizeof labelled, .label = "the-shop"};
    ilk_client *client = NULL;
    ilk_semaphore *two, *one, *big;
    ilk_info *info = NULL;
    ilk_error err = {0};
    sem_taker t;

    assert_status(ILK_OK,
                  ilk_client_open(&client, fx.unix_url, &labelled, &err));
    two = open_semaphore_with(client, "look", 4, 2, 0, 0);
    one = open_semaphore_with(client, "look", 4, 1, 9000, 0);
    big = open_semaphore_with(client, "look", 4, 4, 0, 0);
    assert_status(ILK_OK, ilk_semaphore_acquire(two, 0, &err));
    assert_status(ILK_OK, ilk_semaphore_acquire(one, 0, &err));
    start_sem_taker(&t, big, -1);
    await_queued("look", 1);

    assert_status(ILK_OK,
                  ilk_semaphore_inspect(&info, client, "look", 4, &err));
    assert_int_equal(ILK_INFO_HELD, ilk_info_get_state(info));
    assert_int_equal(4, ilk_info_limit(info));
    assert_int_equal(3, ilk_info_used(info));
    assert_int_equal(2, ilk_info_holders(info));
    assert_int_equal(2, ilk_info_holders_listed(info));
    assert_string_equal(ilk_semaphore_token(two),
                        ilk_info_holder_token(info, 0));
    assert_string_equal("the-shop", ilk_info_holder_label(info, 0));
    assert_int_equal(2, ilk_info_holder_permits(info, 0));
    assert_int_equal(ilk_semaphore_fence(two), ilk_info_holder_fence(info, 0));
    assert_in_range(ilk_info_holder_ttl_ms(info, 1), 5000, 9000);
    assert_true(ilk_info_holder_since_ms(info, 1)
                >= ilk_info_holder_since_ms(info, 0));
    assert_int_equal(ilk_semaphore_fence(one), ilk_info_fence(info));
    assert_string_equal(ilk_semaphore_token(two), ilk_info_holder(info, NULL));
    assert_int_equal(1, ilk_info_waiters(info));
    assert_int_equal(1, ilk_info_listed(info));
    assert_int_equal(4, ilk_info_waiter_permits(info, 0));
    assert_string_equal("the-shop", ilk_info_waiter_label(info, 0));
    assert_string_equal("", ilk_info_holder_token(info, 2));
    assert_int_equal(0, ilk_info_waiter_permits(info, 1));
    ilk_info_free(info);

    assert_status(ILK_OK, ilk_semaphore_cancel(big, &err));
    assert_sem_took(ILK_ECANCELLED, &t);
    ilk_semaphore_free(two);
    ilk_semaphore_free(one);
    ilk_semaphore_free(big);
    ilk_client_free(client);
}

TEST(an_unused_name_is_free)
{
    ilk_client *client = open_client();
    ilk_info *info = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_semaphore_inspect(&info, client, "no", 2, &err));
    assert_int_equal(ILK_INFO_FREE, ilk_info_get_state(info));
    assert_int_equal(0, ilk_info_limit(info));
    assert_int_equal(0, ilk_info_used(info));
    assert_string_equal("", ilk_info_holder(info, NULL));
    assert_string_equal("", ilk_info_label(info));
    ilk_info_free(info);
    ilk_client_free(client);
}

TEST(a_key_that_cannot_be_read_is_an_error)
{
    ilk_client *client = open_client();
    ilk_info *info = (ilk_info *)&client;
    ilk_error err = {0};

    assert_status(ILK_EINVAL,
                  ilk_semaphore_inspect(&info, client, "", 0, &err));
    assert_null(info);
    assert_status(ILK_EINVAL,
                  ilk_semaphore_inspect(NULL, client, "n", 1, &err));
    fixture_command(&fx, "SET ilk:semaphore:{type} x");
    assert_status(ILK_ETYPE,
                  ilk_semaphore_inspect(&info, client, "type", 4, &err));
    assert_null(info);
    ilk_client_free(client);
}

/* More than are listed: the first hundred, and the number of all. */
TEST(a_long_list_is_cut)
{
    ilk_client *client = open_client();
    ilk_semaphore *s[105];
    ilk_info *info = NULL;
    ilk_error err = {0};

    for (int i = 0; i < 105; i++) {
        s[i] = open_semaphore(client, "long", 200);
        assert_status(ILK_OK, ilk_semaphore_acquire(s[i], 0, &err));
    }
    assert_status(ILK_OK,
                  ilk_semaphore_inspect(&info, client, "long", 4, &err));
    assert_int_equal(105, ilk_info_holders(info));
    assert_int_equal(105, ilk_info_used(info));
    assert_int_equal(100, ilk_info_holders_listed(info));
    for (size_t i = 0; i < 100; i++)
        assert_string_equal(ilk_semaphore_token(s[i]),
                            ilk_info_holder_token(info, i));
    ilk_info_free(info);
    for (int i = 0; i < 105; i++)
        ilk_semaphore_free(s[i]);
    ilk_client_free(client);
}

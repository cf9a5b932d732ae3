/* SPDX-License-Identifier: MIT */
/* ct_recipes_listener.c -- listeners on raw channels, and signals to them. */
#include "client_case.h"

#include <string.h>

AROUND_ALL(client_setup, client_teardown);

static ilk_listener *open_listener(const char *channel, const char *id)
{
    ilk_listener *made = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK,
                  ilk_listener_open(&made, client, channel, strlen(channel), id,
                                    id ? strlen(id) : 0, &err));
    return made;
}

static void assert_hears(ilk_listener *by, const char *data)
{
    ilk_items *items = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_listener_wait(&items, by, 5000, &err));
    assert_string_equal(data, ilk_items_data(items, 1, NULL));
    ilk_items_free(items);
}

static void assert_silent(ilk_listener *by)
{
    ilk_items *items = NULL;
    ilk_error err = {0};

    assert_status(ILK_EBUSY, ilk_listener_wait(&items, by, 0, &err));
    assert_null(items);
}

TEST(a_listener_receives_between_its_waits_and_after_a_break)
{
    ilk_listener *listener = open_listener("ch", NULL);
    ilk_items *items = NULL;
    ilk_error err = {0};

    assert_silent(listener);
    assert_int_equal(1, fixture_int(&fx, "PUBLISH ch 1"));
    assert_int_equal(1, fixture_int(&fx, "PUBLISH ch 2"));
    assert_hears(listener, "1");
    assert_hears(listener, "2");
    fixture_command(&fx, "CLIENT KILL TYPE pubsub");
    assert_status(ILK_ETIMEOUT, ilk_listener_wait(&items, listener, 200, &err));
    assert_int_equal(1, fixture_int(&fx, "PUBLISH ch 3"));
    assert_hears(listener, "3");
    assert_status(ILK_OK, ilk_listener_leave(NULL, NULL, listener, 0, &err));
    assert_int_equal(0, fixture_int(&fx, "PUBLISH ch 4"));
    ilk_listener_free(listener);
}

static int64_t signal_one(void)
{
    ilk_error err = {0};
    int64_t heard = -1;

    assert_status(ILK_OK,
                  ilk_recipes_signal(&heard, client, "j:", 2, 1, "x", 1, &err));
    return heard;
}

TEST(one_waiter_is_signalled_once_until_it_waits_again)
{
    ilk_listener *a = open_listener("j:", "a"), *b = open_listener("j:", "b");

    assert_int_equal(0, signal_one());
    assert_silent(a);
    assert_int_equal(1, signal_one());
    assert_int_equal(0, signal_one());
    assert_silent(b);
    assert_int_equal(1, signal_one());
    assert_int_equal(0, signal_one());
    assert_hears(a, "x");
    assert_silent(a);
    assert_int_equal(1, signal_one());
    assert_hears(a, "x");
    assert_hears(b, "x");
    ilk_listener_free(a);
    ilk_listener_free(b);
}

/* Signallers of another kind choose a waiter that has its message already. */
TEST(bytes_behind_the_message_are_passed_on)
{
    ilk_listener *a = open_listener("j:", "a"), *b = open_listener("j:", "b");
    ilk_error err = {0};
    int64_t lost = -1;

    assert_silent(a);
    assert_silent(b);
    for (int i = 1; i <= 3; i++)
        assert_int_equal(1, fixture_int(&fx, "PUBLISH j:a %d", i));
    assert_hears(a, "1");
    assert_status(ILK_OK, ilk_listener_leave(NULL, &lost, a, 0, &err));
    assert_int_equal(1, lost);
    assert_hears(b, "2");
    assert_status(ILK_OK, ilk_listener_leave(NULL, &lost, b, 0, &err));
    assert_int_equal(0, lost);
    ilk_listener_free(a);
    ilk_listener_free(b);
}

/* A wait that times out while its signal is on the way. */
TEST(a_message_of_the_last_moment_can_be_taken)
{
    ilk_listener *a = open_listener("j:", "a"), *b = open_listener("j:", "b");
    ilk_items *items = NULL;
    ilk_error err = {0};
    int64_t lost = -1;

    assert_silent(a);
    assert_silent(b);
    assert_int_equal(1, fixture_int(&fx, "PUBLISH j:a 1"));
    assert_int_equal(1, fixture_int(&fx, "PUBLISH j:a 2"));
    assert_status(ILK_OK, ilk_listener_leave(&items, &lost, a, 1, &err));
    assert_string_equal("1", ilk_items_data(items, 1, NULL));
    assert_int_equal(0, lost);
    ilk_items_free(items);
    assert_hears(b, "2");
    assert_status(ILK_OK, ilk_listener_leave(&items, NULL, b, 1, &err));
    assert_null(items);
    assert_status(ILK_OK, ilk_listener_leave(&items, NULL, b, 1, &err));
    ilk_listener_free(a);
    ilk_listener_free(b);
}

TEST(arguments_without_sense_are_refused)
{
    char name[513];
    ilk_listener *made = NULL;
    ilk_items *items = NULL;
    ilk_error err = {0};

    memset(name, 'n', sizeof name);
#define REFUSED(call) assert_status(ILK_EINVAL, call)
    REFUSED(ilk_listener_open(NULL, client, "c", 1, NULL, 0, &err));
    REFUSED(ilk_listener_open(&made, NULL, "c", 1, NULL, 0, &err));
    REFUSED(ilk_listener_open(&made, client, "", 0, NULL, 0, &err));
    REFUSED(ilk_listener_open(&made, client, name, 513, NULL, 0, &err));
    REFUSED(ilk_listener_open(&made, client, name, 500, name, 13, &err));
    assert_null(made);
    REFUSED(ilk_listener_wait(&items, NULL, 0, &err));
    made = open_listener("c", "");
    REFUSED(ilk_listener_wait(NULL, made, 0, &err));
    REFUSED(ilk_listener_wait(&items, made, -2, &err));
    REFUSED(ilk_listener_leave(NULL, NULL, NULL, 0, &err));
    REFUSED(ilk_listener_leave(NULL, NULL, made, 1, &err));
    assert_status(ILK_OK, ilk_listener_leave(NULL, NULL, made, 0, &err));
    ilk_listener_free(made);
    ilk_listener_free(NULL);
}

/* SPDX-License-Identifier: MIT */
/* ct_signal_refused.c -- what cannot be done with signals, and says so. */
#include "signal_case.h"

#include <stdlib.h>

AROUND_ALL(server_setup, server_teardown);

TEST(more_data_are_refused)
{
    char *much = calloc(1, ILK_SIGNAL_DATA_MAX + 1);
    ilk_client *client = open_client();
    ilk_signal *signal = open_signal(client, "much");
    ilk_error err = {0};
    int64_t reached = 7;

    assert_status(ILK_EINVAL,
                  ilk_signal_notify_one(&reached, signal, much,
                                        ILK_SIGNAL_DATA_MAX + 1, &err));
    assert_string_equal("data must have at most 1048576 bytes, got 1048577",
                        err.msg);
    assert_int_equal(0, reached);
    assert_status(ILK_EINVAL,
                  ilk_signal_notify_all(NULL, signal, NULL, 1, &err));
    free(much);
    ilk_signal_free(signal);
    ilk_client_free(client);
}

TEST(wrong_type_at_the_keys_is_refused)
{
    ilk_client *client = open_client();
    ilk_signal *signal = open_signal(client, "odd");
    ilk_arrival *arrival = NULL;
    ilk_error err = {0};

    fixture_command(&fx, "SET ilk:signal:wait:{odd} x");

    assert_status(ILK_ETYPE, ilk_signal_wait(&arrival, signal, 1000, &err));
    assert_status(ILK_ETYPE, ilk_signal_notify_one(NULL, signal, "x", 1, &err));
    assert_status(ILK_ETYPE, ilk_signal_notify_all(NULL, signal, "x", 1, &err));
    assert_string_equal("x", fixture_command(&fx, "GET ilk:signal:wait:{odd}"));

    fixture_command(&fx, "DEL ilk:signal:wait:{odd}");
    fixture_command(&fx, "SET ilk:signal:live:{odd} x");
    assert_status(ILK_ETYPE, ilk_signal_wait(&arrival, signal, 1000, &err));
    assert_int_equal(0, fixture_int(&fx, "EXISTS ilk:signal:wait:{odd}"));
    ilk_signal_free(signal);
    ilk_client_free(client);
}

TEST(arguments_that_make_no_sense_are_refused)
{
    ilk_client *client = open_client(), *other = open_client();
    ilk_signal *a = open_signal(client, "a"), *b = open_signal(client, "b");
    ilk_signal *twin = open_signal(client, "a"), *far = open_signal(other, "c");
    ilk_signal *made = NULL;
    ilk_arrival *arrival = (ilk_arrival *)&made;
    ilk_signal_opts opts;
    ilk_error err = {0};

    ilk_signal_opts_init(&opts, sizeof opts);
    opts.flags = 2;
    assert_status(ILK_EINVAL,
                  ilk_signal_open(&made, client, "a", 1, &opts, &err));
    assert_string_equal("unknown signal flags 0x2", err.msg);
    assert_status(ILK_EINVAL,
                  ilk_signal_open(&made, client, "", 0, NULL, &err));
    assert_status(ILK_EINVAL,
                  ilk_signal_open(&made, client, "ilk:x", 5, NULL, &err));
    assert_status(ILK_EINVAL,
                  ilk_signal_open(NULL, client, "a", 1, NULL, &err));
    assert_status(ILK_EINVAL, ilk_signal_open(&made, NULL, "a", 1, NULL, &err));
    assert_null(made);

    assert_status(ILK_EINVAL, ilk_signal_wait(&arrival, NULL, 0, &err));
    assert_null(arrival);
    assert_status(ILK_EINVAL, ilk_signal_wait(&arrival, a, -2, &err));
    assert_status(ILK_EINVAL, ilk_signal_wait(NULL, a, 0, &err));
    assert_status(ILK_EINVAL, ilk_signal_wait_any(&arrival, NULL, 1, 0, &err));
    assert_status(ILK_EINVAL, ilk_signal_wait_any(&arrival, &a, 0, 0, &err));
    assert_string_equal("count must be 1 to 64, got 0", err.msg);
    assert_status(ILK_EINVAL, ilk_signal_wait_all(&arrival, &a,
                                                  ILK_SIGNAL_MAX + 1, 0, &err));
    assert_status(ILK_EINVAL,
                  ilk_signal_wait_any(&arrival, (ilk_signal *[]){b, a, twin}, 3,
                                      0, &err));
    assert_string_equal("signals 1 and 2 are of one name", err.msg);
    assert_status(
        ILK_EINVAL,
        ilk_signal_wait_any(&arrival, (ilk_signal *[]){b, far}, 2, 0, &err));
    assert_string_equal("signal 1 is of another client", err.msg);
    assert_status(
        ILK_EINVAL,
        ilk_signal_wait_any(&arrival, (ilk_signal *[]){b, NULL}, 2, 0, &err));
    assert_status(ILK_EINVAL, ilk_signal_notify_one(NULL, NULL, "", 0, &err));
    assert_status(ILK_EINVAL, ilk_signal_cancel(NULL, &err));

    assert_int_equal(0, ilk_arrival_count(NULL));
    assert_int_equal(-1, ilk_arrival_which(NULL, 0));
    assert_null(ilk_arrival_name(NULL, 0, NULL));
    assert_null(ilk_arrival_data(NULL, 0, NULL));
    ilk_arrival_free(NULL);
    ilk_signal_free(NULL);
    ilk_signal_free(a);
    ilk_signal_free(b);
    ilk_signal_free(twin);
    ilk_signal_free(far);
    ilk_client_free(client);
    ilk_client_free(other);
}

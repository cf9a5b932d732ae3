/* SPDX-License-Identifier: MIT */
/*
 * ct_signal_alloc.c -- signals while the n-th allocation and all after it
 * fail, for n = 1, 2, 3 ... until a scene needs no more. Each call ends as it
 * should or without memory, and with memory back all works on. Leaks are
 * found by the address sanitizer.
 */
#include "signal_case.h"

#include "base/alloc.h"

#include <string.h>

AROUND_ALL(server_setup, server_teardown);

enum { MOST = 400 };

/* Without memory it may also be a connection that could not be opened. */
static void assert_excused(ilk_status st)
{
    if (st != ILK_OK && st != ILK_ENOMEM && st != ILK_ETIMEOUT
        && st != ILK_ECONN && st != ILK_EUNKNOWN)
        fail_msg("answers %s", ilk_status_name(st));
}

static ilk_signal *open_some(ilk_client *client, const char *name,
                             uint32_t flags)
{
    ilk_signal *signal = NULL;
    ilk_signal_opts opts;

    ilk_signal_opts_init(&opts, sizeof opts);
    opts.flags = flags;
    assert_excused(
        ilk_signal_open(&signal, client, name, strlen(name), &opts, NULL));
    return signal;
}

static void wait_for(ilk_signal *const *signals, size_t count, int64_t ms)
{
    ilk_arrival *arrival = NULL;

    assert_excused(ilk_signal_wait_any(&arrival, signals, count, ms, NULL));
    ilk_arrival_free(arrival);
}

static void play(ilk_client *client)
{
    ilk_signal *set[] = {open_some(client, "a", 0), open_some(client, "b", 0)};
    ilk_signal *pattern = open_some(client, "a*", ILK_SIGNAL_PATTERN);
    ilk_signal *give = open_some(client, "a", 0);

    if (set[0] && set[1] && pattern && give) {
        wait_for(set, 2, 5);
        assert_excused(ilk_signal_listen(set[0], NULL));
        assert_excused(ilk_signal_listen(pattern, NULL));
        assert_excused(ilk_signal_notify_one(NULL, give, "x", 1, NULL));
        assert_excused(ilk_signal_notify_all(NULL, give, "y", 1, NULL));
        wait_for(set, 1, 20);
        wait_for(&pattern, 1, 20);
    }
    ilk_signal_free(set[0]);
    ilk_signal_free(set[1]);
    ilk_signal_free(pattern);
    ilk_signal_free(give);
}

static void assert_works(ilk_client *client)
{
    ilk_signal *signal = open_signal(client, "again");
    ilk_signal *give = open_signal(client, "again");
    ilk_arrival *arrival = NULL;
    ilk_error err = {0};
    int64_t reached = 0;

    /* The failure may have cost the inbox its connection a moment ago. */
    for (int i = 0; i < 100 && !reached; i++) {
        assert_status(ILK_OK, ilk_signal_listen(signal, &err));
        reached = tell_one(give, "works");
        if (!reached) {
            assert_status(ILK_OK, ilk_signal_cancel(signal, &err));
            fixture_sleep_ms(50);
        }
    }
    assert_int_equal(1, reached);
    assert_status(ILK_OK, ilk_signal_wait(&arrival, signal, 5000, &err));
    assert_string_equal("0 again=works;", heard(arrival));
    ilk_arrival_free(arrival);
    ilk_signal_free(signal);
    ilk_signal_free(give);
}

TEST(no_allocation_is_one_too_many)
{
    long n = 0, used;

    do {
        ilk_client *client = open_client();

        assert_works(client); /* its connections and its keeper are there */
        ilk__alloc_fail_at(++n);
        play(client);
        used = ilk__alloc_count();
        ilk__alloc_fail_at(0);
        assert_works(client);
        ilk_client_free(client);
    } while (used >= n && n < MOST);
    assert_true(n > 20);
    assert_true(n < MOST);
}

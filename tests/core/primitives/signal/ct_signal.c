/* SPDX-License-Identifier: MIT */
/* ct_signal.c -- who waits is signalled: one, or all, with data. */
#include "signal_case.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

AROUND_ALL(server_setup, server_teardown);

TEST(a_signal_to_one_goes_to_who_has_waited_longest)
{
    ilk_client *client = open_client(), *giver = open_client();
    ilk_signal *signals[3], *give = open_signal(giver, "turn");
    hearing l[3];

    for (int i = 0; i < 3; i++) {
        signals[i] = open_signal(client, "turn");
        start_hearing(&l[i], LISTEN_ANY, &signals[i], 1, 20000);
        await_waits("turn", i + 1);
    }

    for (int i = 0; i < 3; i++) {
        char text[2] = {(char)('a' + i), '\0'};

        assert_int_equal(1, tell_one(give, text));
        assert_heard(ILK_OK, &l[i]);
        assert_int_equal(text[0], *ilk_arrival_data(l[i].arrival, 0, NULL));
        free_hearing(&l[i]);
        ilk_signal_free(signals[i]);
    }

    assert_int_equal(0, tell_one(give, "late"));
    ilk_signal_free(give);
    ilk_client_free(client);
    ilk_client_free(giver);
}

TEST(where_nobody_waits_a_signal_is_lost_and_says_so)
{
    ilk_client *client = open_client();
    ilk_signal *signal = open_signal(client, "nobody");
    ilk_arrival *arrival = NULL;
    ilk_error err = {0};

    assert_int_equal(0, tell_one(signal, "x"));
    assert_int_equal(0, report_all(signal, "x"));

    assert_status(ILK_ETIMEOUT, ilk_signal_wait(&arrival, signal, 50, &err));
    assert_null(arrival);
    ilk_signal_free(signal);
    ilk_client_free(client);
}

static int64_t published(void)
{
    const char *info = fixture_command(&fx, "INFO commandstats");
    const char *line = strstr(info, "cmdstat_publish:calls=");

    return line ? strtoll(line + strlen("cmdstat_publish:calls="), NULL, 10)
                : 0;
}

enum { CROWD = 1000 };

TEST(a_broadcast_is_one_message_for_a_thousand_waits)
{
    static hearing l[CROWD];
    static ilk_signal *signals[CROWD];
    ilk_client *client = open_client(), *giver = open_client();
    ilk_signal *give = open_signal(giver, "crowd");
    ilk_client_stats stats = {.size = sizeof stats};
    int64_t before, began;

    for (int i = 0; i < CROWD; i++) {
        signals[i] = open_signal(client, "crowd");
        start_hearing(&l[i], LISTEN_ANY, &signals[i], 1, 60000);
    }
    await_waits("crowd", CROWD);
    before = published();
    began = fixture_now_ms();

    assert_int_equal(CROWD, report_all(give, "all of you"));

    /* To the client's inbox, and to the name's channel. Entries that a refresh did
     * not find yet were sent twice, and such waits end with a message of their own. */
    assert_int_equal(ILK_OK, ilk_client_get_stats(client, &stats, NULL));
    if (stats.refreshes == 0)
        assert_int_equal(before + 2, published());
    for (int i = 0; i < CROWD; i++) {
        assert_heard(ILK_OK, &l[i]);
        assert_string_equal("0 crowd=all of you;", heard(l[i].arrival));
        free_hearing(&l[i]);
        ilk_signal_free(signals[i]);
    }
    assert_true(fixture_now_ms() - began < patience(3000));
    await_waits("crowd", 0);
    ilk_signal_free(give);
    ilk_client_free(client);
    ilk_client_free(giver);
}

TEST(a_broadcast_counts_the_waits_of_all_clients)
{
    ilk_client *clients[3];
    ilk_signal *signals[6], *give;
    hearing l[6];

    for (int i = 0; i < 3; i++)
        clients[i] = open_client();
    for (int i = 0; i < 6; i++) { /* 1, 2 and 3 of them */
        signals[i] = open_signal(clients[i < 1 ? 0 : i < 3 ? 1 : 2], "sum");
        start_hearing(&l[i], LISTEN_ANY, &signals[i], 1, 20000);
    }
    give = open_signal(clients[0], "sum"); /* one of theirs */
    await_waits("sum", 6);

    assert_int_equal(6, report_all(give, "n"));
    for (int i = 0; i < 6; i++) {
        assert_heard(ILK_OK, &l[i]);
        free_hearing(&l[i]);
        ilk_signal_free(signals[i]);
    }
    ilk_signal_free(give);
    for (int i = 0; i < 3; i++)
        ilk_client_free(clients[i]);
}

TEST(a_client_that_waits_may_signal_itself)
{
    ilk_client *client = open_client();
    ilk_signal *signal = open_signal(client, "self");
    ilk_signal *other = open_signal(client, "self");
    hearing l;

    start_hearing(&l, LISTEN_ANY, &signal, 1, 20000);
    await_waits("self", 1);

    assert_int_equal(1, report_all(other, ""));

    assert_heard(ILK_OK, &l);
    assert_string_equal("0 self=;", heard(l.arrival));
    free_hearing(&l);
    ilk_signal_free(signal);
    ilk_signal_free(other);
    ilk_client_free(client);
}

/* ---- data --------------------------------------------------------------- */

static void carries(const void *data, size_t len, int all)
{
    ilk_client *client = open_client();
    ilk_signal *signal = open_signal(client, "data {x} \xff");
    ilk_signal *give = open_signal(client, "data {x} \xff");
    const char *got;
    ilk_error err = {0};
    int64_t reached;
    size_t got_len;
    hearing l;

    start_hearing(&l, LISTEN_ANY, &signal, 1, 20000);
    do /* until it waits: the fixture takes no such names */
        assert_status(ILK_OK,
                      (all ? ilk_signal_notify_all : ilk_signal_notify_one)(
                          &reached, give, data, len, &err));
    while (!reached);
    assert_heard(ILK_OK, &l);
    got = ilk_arrival_data(l.arrival, 0, &got_len);
    assert_int_equal(len, got_len);
    if (len)
        assert_memory_equal(data, got, len);
    assert_int_equal('\0', got[got_len]);
    free_hearing(&l);
    ilk_signal_free(signal);
    ilk_signal_free(give);
    ilk_client_free(client);
}

TEST(data_are_any_bytes_up_to_a_mebibyte)
{
    char *much = malloc(ILK_SIGNAL_DATA_MAX);

    for (size_t i = 0; i < ILK_SIGNAL_DATA_MAX; i++)
        much[i] = (char)(i * 7);
    for (int all = 0; all < 2; all++) {
        carries(NULL, 0, all);
        carries("\0 \r\n\xff", 5, all);
        carries(much, ILK_SIGNAL_DATA_MAX, all);
    }
    free(much);
}

/* ---- times -------------------------------------------------------------- */

TEST(a_wait_ends_on_time_and_leaves_nothing)
{
    ilk_client *client = open_client();
    ilk_signal *signal = open_signal(client, "time");
    ilk_arrival *arrival = NULL;
    ilk_error err = {0};
    int64_t began;

    for (int i = 0; i < 2; i++) { /* with the inbox opened, and open */
        began = fixture_now_ms();
        assert_status(ILK_ETIMEOUT,
                      ilk_signal_wait(&arrival, signal, 300, &err));
        assert_on_time(fixture_now_ms() - began, 300);
    }
    await_waits("time", 0);
    assert_int_equal(0, report_all(signal, "x"));

    began = fixture_now_ms();
    assert_status(ILK_ETIMEOUT, ilk_signal_wait(&arrival, signal, 0, &err));
    assert_true(fixture_now_ms() - began < patience(20));
    ilk_signal_free(signal);
    ilk_client_free(client);
}

typedef struct patient {
    ilk_signal *signal;
    _Atomic int stop, heard, failed;
} patient;

static void *wait_in_bits(void *arg)
{
    patient *self = arg;

    for (int i = 0; !self->stop; i++) {
        ilk_arrival *arrival = NULL;
        ilk_status st =
            ilk_signal_wait(&arrival, self->signal, 1 + i % 3, NULL);

        self->heard += st == ILK_OK;
        self->failed += st != ILK_OK && st != ILK_ETIMEOUT;
        ilk_arrival_free(arrival);
    }
    return NULL;
}

enum { MEETINGS = OFTEN(3000) };

/* There is nobody else to whom it could be passed on. */
TEST(a_signal_that_meets_the_end_of_a_wait_is_returned)
{
    ilk_client *client = open_client(), *giver = open_client();
    ilk_signal *give = open_signal(giver, "meet");
    patient self = {.signal = open_signal(client, "meet")};
    int64_t until = fixture_now_ms() + patience(20000);
    pthread_t thread;
    int reached = 0;

    pthread_create(&thread, NULL, wait_in_bits, &self);
    while (reached < MEETINGS && fixture_now_ms() < until) {
        reached += (int)(reached % 2 ? report_all : tell_one)(give, "x");
        if (reached % 10 == 0)
            usleep((useconds_t)(reached % 7) * 300);
    }
    fixture_sleep_ms(100);
    self.stop = 1;
    pthread_join(thread, NULL);

    assert_int_equal(MEETINGS, reached);
    assert_int_equal(MEETINGS, self.heard);
    assert_int_equal(0, self.failed);
    ilk_signal_free(self.signal);
    ilk_signal_free(give);
    ilk_client_free(client);
    ilk_client_free(giver);
}

TEST(a_wait_outlives_many_refreshes)
{
    ilk_client *client = open_client();
    ilk_signal *signal = open_signal(client, "long");
    ilk_signal *give = open_signal(client, "long");
    hearing l;

    start_hearing(&l, LISTEN_ANY, &signal, 1, -1);
    await_waits("long", 1);
    fixture_sleep_ms(7000); /* longer than an entry lives unrefreshed */

    assert_int_equal(1, tell_one(give, "still there"));

    assert_heard(ILK_OK, &l);
    free_hearing(&l);
    ilk_signal_free(signal);
    ilk_signal_free(give);
    ilk_client_free(client);
}

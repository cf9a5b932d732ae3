/* SPDX-License-Identifier: MIT */
/* ct_lane_tls.c -- a connection over TLS that many threads share. */
#include "certs.h"
#include "lane_case.h"
#include "server_case.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, CALLS = 300, LONG = 40000 };

static certs c;
static int tls_port;
static _Atomic int wrong_answers;

static int open_lane(void)
{
    char text[256];

    snprintf(text, sizeof text, "rediss://localhost:%d?ca=%s", tls_port,
             certs_path(&c, "ca.crt"));
    lane_case_open(text);
    return 0;
}

static int close_lane(void)
{
    lane_case_close();
    return 0;
}

AROUND_EACH(open_lane, close_lane);

/* Every other call carries more than a record of TLS holds. */
static void *count_up(void *context)
{
    static const char large[LONG];
    char words[64], expected[16];

    for (int i = 1; i <= CALLS; i++) {
        asker self = {.words = words, .timeout_ms = 20000};
        int stores = i % 2;

        snprintf(words, sizeof words,
                 stores ? "APPEND key-%d" : "STRLEN key-%d", *(int *)context);
        self.much = stores ? large : NULL;
        self.much_len = LONG;
        asker_run(&self);
        snprintf(expected, sizeof expected, "%d", (i + 1) / 2 * LONG);
        if (self.status || strcmp(self.answer, expected) != 0)
            atomic_fetch_add(&wrong_answers, 1);
    }
    return NULL;
}

TEST(threads_share_a_secret_connection)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];

    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(
            pthread_create(&threads[i], NULL, count_up, &numbers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);

    assert_int_equal(wrong_answers, 0);
    assert_int_equal(lane_case_traffic().connects, 1);
}

TEST(a_call_that_gives_up_leaves_the_others_their_replies)
{
    asker hasty = {.words = "ECHO first", .timeout_ms = 100};
    asker patient = {.words = "ECHO second", .timeout_ms = 5000};

    assert_string_equal(lane_ask("PING"), "PONG");
    fixture_pause(&fx);
    asker_start_in_turn(&hasty);
    asker_start_in_turn(&patient);
    asker_join(&hasty);
    fixture_resume(&fx);
    asker_join(&patient);

    assert_int_equal(hasty.status, ILK_ETIMEOUT);
    assert_in_range(hasty.took_ms, 100, 100 + patience(60));
    assert_string_equal(patient.answer, "second");
    assert_int_equal(lane_case_traffic().connects, 1);
}

TEST(a_broken_connection_is_opened_anew)
{
    assert_string_equal(lane_ask("PING"), "PONG");
    fixture_kill(&fx);
    assert_string_equal(lane_ask("PING"), "ILK_ECONN");
    assert_int_equal(fixture_restart(&fx), 0);

    assert_string_equal(lane_ask("PING"), "PONG");
    assert_int_equal(lane_case_traffic().connects, 2);
}

static int start(void)
{
    int made = certs_serve(&c, &fx, &tls_port);

    if (made == CERTS_SKIP)
        exit(CERTS_SKIP);
    return made;
}

static int stop(void)
{
    certs_remove(&c);
    return fixture_stop(&fx);
}

AROUND_ALL(start, stop);

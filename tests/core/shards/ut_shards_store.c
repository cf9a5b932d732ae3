/* SPDX-License-Identifier: MIT */
/* ut_shards_store.c -- commits over several servers whose replies are lost, in any order. */
/* link: @support/node_calls.link */
#include "shards_case.h"
#include "stores/shards/shards_store_internal.h"

#include <interlock/store.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

#define STORE "ilk:store:{s}"
#define DONE "ilk:store:done:{s}"

enum { ID = 48, KEY = 64 };

static const int64_t minute_us = 60000000;

/* A key on each server, and the id of a transaction that one decides on. */
static char keys[SHARDS_SERVERS][KEY];
static char id[ID];
static ilk__shards_server *home;

static size_t number_of(const char *word)
{
    return ilk__shards_server_of(&shards,
                                 (ilk__bytes){(char *)word, strlen(word)})
        ->number;
}

/* With the next request, or not for a while. */
static void look_for_left(int is_due)
{
    for (size_t i = 0; i < SHARDS_SERVERS * ILK__SHARDS_STORES; i++)
        shards.servers[i % SHARDS_SERVERS].looked_for_left[i / SHARDS_SERVERS] =
            is_due ? 0 : ilk__now_ms();
}

static int open_store(void)
{
    size_t found = 0;

    if (shards_case_open())
        return -1;
    for (int i = 0; found < SHARDS_SERVERS; i++) {
        char key[KEY];

        snprintf(key, sizeof key, "ilk:store:key:{s}/%d", i);
        if (number_of(key) == found)
            memcpy(keys[found++], key, sizeof key);
    }
    for (int i = 0; i == 0 || number_of(id) != 2; i++)
        snprintf(id, sizeof id, "%032x-1234567890123", i);
    home = &shards.servers[2];
    look_for_left(0);
    return 0;
}

AROUND_EACH(open_store, shards_case_close);

/* The keys of the first `count` servers. */
static void commit_at(size_t count, int64_t at)
{
    const char *words[SHARDS_SERVERS + 3] = {STORE, DONE};
    const char *args[SHARDS_SERVERS + 5] = {id, NULL, "", "0"};
    char number[24];

    snprintf(number, sizeof number, "%" PRId64, at);
    args[1] = number;
    for (size_t i = 0; i < count; i++) {
        words[2 + i] = keys[i];
        args[4 + i] = "vx";
    }
    ilk__shards_store(
        &shards, shards_case_request(ILK__SCRIPT_STORE_COMMIT, words, args));
}

static void commit(void)
{
    commit_at(2, ilk__shards_clock_us(&shards));
}

static void prepared(size_t server)
{
    shards_case_answer(&shards.servers[server], ILK__SCRIPT_STORE_PREPARE,
                       ILK__CODE_WRITTEN, "i", ilk__shards_clock_us(&shards));
}

/* The first copy of the request is decided, and its reply is lost. */
static void commit_without_reply(void)
{
    commit();
    prepared(0);
    prepared(1);
    assert_int_equal(1, shards_case_calls_to(home, ILK__SCRIPT_STORE_DECIDE));
    shards_case_miss(home, ILK__SCRIPT_STORE_DECIDE);
    assert_int_equal(1, shards_result.count);
    assert_true(shards_result.is_broken);
}

static void commit_on_one_server_without_reply(void)
{
    commit_at(1, ilk__shards_clock_us(&shards));
    shards_case_miss(&shards.servers[0], ILK__SCRIPT_STORE_COMMIT);
    assert_true(shards_result.is_broken);
}

static void answer_outcome(int64_t outcome)
{
    assert_int_equal(0, shards_case_calls(ILK__SCRIPT_STORE_FINISH));
    assert_int_equal(1, shards_case_calls(ILK__SCRIPT_STORE_OUTCOME));
    shards_case_answer(home, ILK__SCRIPT_STORE_OUTCOME, ILK__CODE_STATE, "i",
                       outcome);
}

static void assert_error(const char *part)
{
    assert_int_equal(-1, shards_result.code);
    assert_false(shards_result.is_broken);
    assert_non_null(strstr(shards_result.error, part));
}

/* ---- a repeated commit --------------------------------------------------- */

TEST(a_commit_of_its_first_copy_is_finished)
{
    commit_without_reply();
    commit();
    prepared(0);
    shards_case_miss(&shards.servers[1], ILK__SCRIPT_STORE_PREPARE);
    assert_int_equal(1, shards_result.count);
    answer_outcome(ILK_TXN_COMMITTED);

    assert_int_equal(2, shards_result.count);
    assert_int_equal(ILK__CODE_WRITTEN, shards_result.code);
    assert_int_equal(2, shards_case_calls(ILK__SCRIPT_STORE_FINISH));
    assert_string_equal("1", shards_case_word(ILK__SCRIPT_STORE_FINISH));
}

TEST(one_that_is_refused_finds_that_too)
{
    commit_without_reply();
    commit();
    prepared(0);
    shards_case_answer(&shards.servers[1], ILK__SCRIPT_STORE_PREPARE,
                       ILK__CODE_GONE, "");
    answer_outcome(ILK_TXN_COMMITTED);
    assert_int_equal(ILK__CODE_WRITTEN, shards_result.code);
    assert_string_equal("1", shards_case_word(ILK__SCRIPT_STORE_FINISH));
}

TEST(without_its_home_it_is_unsure_and_drops_nothing)
{
    commit_without_reply();
    commit();
    prepared(0);
    shards_case_miss(&shards.servers[1], ILK__SCRIPT_STORE_PREPARE);
    shards_case_miss(home, ILK__SCRIPT_STORE_OUTCOME);
    assert_int_equal(2, shards_result.count);
    assert_true(shards_result.is_broken);
    assert_int_equal(0, shards_case_calls(ILK__SCRIPT_STORE_FINISH));
}

TEST(it_is_unsure_while_another_copy_is_under_way)
{
    commit();
    commit();
    prepared(0);
    shards_case_miss(&shards.servers[1], ILK__SCRIPT_STORE_PREPARE);
    shards_case_miss(home, ILK__SCRIPT_STORE_OUTCOME);
    assert_true(shards_result.is_broken);
}

/* ---- a commit that cannot go on ------------------------------------------ */

/* A server has its intent, and the other one has not replied. */
static void commit_with_a_server_missing(void)
{
    commit();
    prepared(0);
    shards_case_miss(&shards.servers[1], ILK__SCRIPT_STORE_PREPARE);
    assert_int_equal(1, shards_result.count);
    assert_error("NOQUORUM 10.0.0.2:6379 cannot be reached");
    assert_int_equal(0, shards_case_calls(ILK__SCRIPT_STORE_OUTCOME));
}

/* As if so many ms had passed. */
static void fire_later(int64_t ms)
{
    ilk__shards_fire_store(&shards, ilk__now_ms() + ms);
}

TEST(a_prepared_write_is_dropped_when_no_copy_comes)
{
    commit_with_a_server_missing();
    fire_later(500);
    assert_int_equal(0, shards_case_calls(ILK__SCRIPT_STORE_OUTCOME));
    assert_true(ilk__shards_store_due(&shards) <= ilk__now_ms() + 1000);
    fire_later(1001);
    answer_outcome(ILK_TXN_ABORTED);
    assert_int_equal(2, shards_case_calls(ILK__SCRIPT_STORE_FINISH));
    assert_string_equal("0", shards_case_word(ILK__SCRIPT_STORE_FINISH));
    assert_int_equal(1, shards_result.count);
}

TEST(it_stays_until_its_home_replies)
{
    commit_with_a_server_missing();
    fire_later(1001);
    shards_case_miss(home, ILK__SCRIPT_STORE_OUTCOME);
    assert_int_equal(0, shards_case_calls(ILK__SCRIPT_STORE_FINISH));
    home->calls.connection.up = 0;
    fire_later(3000);
    home->calls.connection.up = 1;
    fire_later(5000);
    answer_outcome(ILK_TXN_ABORTED);
    assert_int_equal(2, shards_case_calls(ILK__SCRIPT_STORE_FINISH));
}

TEST(after_a_minute_whoever_meets_it_drops_it)
{
    commit_with_a_server_missing();
    shards_case_lose(home);
    fire_later(61000);
    assert_null(shards.store_requests);
}

TEST(a_copy_goes_on_with_what_was_prepared)
{
    commit_with_a_server_missing();
    commit();
    fire_later(1001);
    assert_int_equal(0, shards_case_calls(ILK__SCRIPT_STORE_OUTCOME));
    prepared(0);
    prepared(1);
    shards_case_answer(home, ILK__SCRIPT_STORE_DECIDE, ILK__CODE_WRITTEN, "");
    assert_int_equal(ILK__CODE_WRITTEN, shards_result.code);
}

/* The copy prepares nothing, but the intents of the first one are there. */
TEST(they_are_dropped_after_the_last_copy)
{
    commit_with_a_server_missing();
    shards_case_lose(&shards.servers[1]);
    commit();
    assert_int_equal(2, shards_result.count);
    assert_error("NOQUORUM 10.0.0.2:6379 cannot be reached");
    assert_int_equal(0, shards_case_calls(ILK__SCRIPT_STORE_PREPARE));
    fire_later(1001);
    answer_outcome(ILK_TXN_ABORTED);
    assert_int_equal(
        1, shards_case_calls_to(&shards.servers[0], ILK__SCRIPT_STORE_FINISH));
}

TEST(nothing_is_prepared_while_one_of_its_servers_is_missing)
{
    shards_case_lose(&shards.servers[1]);
    commit();
    assert_error("NOQUORUM 10.0.0.2:6379 cannot be reached");
    assert_int_equal(0, shards_case_calls(ILK__SCRIPT_STORE_PREPARE));
    assert_null(shards.store_requests);
}

TEST(nobody_has_committed_what_was_not_decided)
{
    commit();
    prepared(0);
    shards_case_miss(&shards.servers[1], ILK__SCRIPT_STORE_PREPARE);
    shards_case_lose(home);
    assert_int_equal(1, shards_result.count);
    assert_error("NOQUORUM 10.0.0.2:6379 cannot be reached");
    assert_int_equal(0, shards_case_calls(ILK__SCRIPT_STORE_FINISH));
}

TEST(nothing_is_prepared_without_its_home)
{
    shards_case_lose(home);
    commit();
    assert_int_equal(0, shards_case_calls(ILK__SCRIPT_STORE_PREPARE));
    assert_error("NOQUORUM 10.0.0.3:6379 cannot be reached");
}

TEST(a_home_that_comes_is_waited_for)
{
    home->calls.connection.up = 0;
    home->is_known = 0;
    commit();
    assert_int_equal(0, shards_result.count);
    assert_int_equal(0, shards_case_calls(ILK__SCRIPT_STORE_PREPARE));
    home->calls.connection.up = 1;
    home->is_known = 1;
    ilk__shards_fire_store(&shards, ilk__now_ms());
    assert_int_equal(2, shards_case_calls(ILK__SCRIPT_STORE_PREPARE));
}

TEST(a_conflict_raises_the_next_timestamp)
{
    const int64_t later = ilk__shards_clock_us(&shards) + 5 * minute_us;

    commit();
    prepared(0);
    shards_case_answer(&shards.servers[1], ILK__SCRIPT_STORE_PREPARE,
                       ILK__CODE_STALE, "i", later);
    answer_outcome(ILK_TXN_ABORTED);
    assert_int_equal(ILK__CODE_STALE, shards_result.code);
    assert_int_equal(later, shards_result.numbers[0]);
    assert_int_equal(later, shards.last_timestamp);
}

TEST(a_spoilt_timestamp_stays_with_its_key)
{
    const int64_t spoilt = ILK__SCRIPT_INT_MAX - 1;

    commit_at(1, ilk__shards_clock_us(&shards));
    shards_case_answer(&shards.servers[0], ILK__SCRIPT_STORE_COMMIT,
                       ILK__CODE_STALE, "i", spoilt);
    assert_int_equal(ILK__CODE_STALE, shards_result.code);
    assert_int_equal(spoilt, shards_result.numbers[0]);
    assert_int_equal(0, shards.last_timestamp);
}

/* ---- a commit that is repeated late -------------------------------------- */

TEST(one_that_was_executed_in_time_is_found)
{
    for (size_t count = 1; count <= 2; count++) {
        home = &shards.servers[count == 1 ? 0 : 2];
        commit_at(count, ilk__shards_clock_us(&shards) - 2 * minute_us);
        answer_outcome(ILK_TXN_COMMITTED);
        assert_int_equal(ILK__CODE_WRITTEN, shards_result.code);
    }
    assert_int_equal(2, shards_case_calls(ILK__SCRIPT_STORE_FINISH));
}

TEST(one_that_was_not_is_aborted)
{
    for (size_t count = 1; count <= 2; count++) {
        home = &shards.servers[count == 1 ? 0 : 2];
        commit_at(count, ilk__shards_clock_us(&shards) - 2 * minute_us);
        answer_outcome(ILK_TXN_ABORTED);
        assert_int_equal(ILK__CODE_GONE, shards_result.code);
    }
    assert_int_equal(0, shards_case_calls(ILK__SCRIPT_STORE_FINISH));
}

TEST(without_a_reply_it_is_unsure_if_it_was_sent_in_time)
{
    commit_at(1, ilk__shards_clock_us(&shards) - 2 * minute_us);
    shards_case_miss(&shards.servers[0], ILK__SCRIPT_STORE_OUTCOME);
    assert_int_equal(ILK__CODE_GONE, shards_result.code);

    commit_on_one_server_without_reply();
    commit_at(1, ilk__shards_clock_us(&shards) - 2 * minute_us);
    shards_case_miss(&shards.servers[0], ILK__SCRIPT_STORE_OUTCOME);
    assert_true(shards_result.is_broken);
}

/* ---- on one server ------------------------------------------------------- */

TEST(one_that_was_never_sent_is_not_written)
{
    shards_case_lose(&shards.servers[0]);
    commit_at(1, ilk__shards_clock_us(&shards));
    assert_error("NOQUORUM 10.0.0.1:6379 cannot be reached");
}

TEST(a_copy_that_cannot_be_sent_is_unsure)
{
    commit_on_one_server_without_reply();
    shards_case_lose(&shards.servers[0]);
    commit_at(1, ilk__shards_clock_us(&shards));
    assert_int_equal(2, shards_result.count);
    assert_true(shards_result.is_broken);
}

/* The reply has reached this client, but not the caller. */
TEST(so_is_a_copy_of_one_that_was_written)
{
    const int64_t at = ilk__shards_clock_us(&shards);

    commit_at(1, at);
    shards_case_answer(&shards.servers[0], ILK__SCRIPT_STORE_COMMIT,
                       ILK__CODE_WRITTEN, "i", at);
    assert_int_equal(ILK__CODE_WRITTEN, shards_result.code);
    shards_case_lose(&shards.servers[0]);
    commit_at(1, at);
    assert_true(shards_result.is_broken);
}

TEST(a_copy_whose_server_refuses_it_is_unsure)
{
    commit_on_one_server_without_reply();
    commit_at(1, ilk__shards_clock_us(&shards));
    shards_case_answer_error(&shards.servers[0], ILK__SCRIPT_STORE_COMMIT,
                             "OOM command not allowed");
    assert_true(shards_result.is_broken);
}

TEST(one_that_its_server_refuses_at_once_is_not_written)
{
    commit_at(1, ilk__shards_clock_us(&shards));
    shards_case_answer_error(&shards.servers[0], ILK__SCRIPT_STORE_COMMIT,
                             "OOM command not allowed");
    assert_error("OOM command not allowed");
}

/* It waits for the end of another transaction, and the home of that one is away. */
TEST(a_copy_that_cannot_go_on_is_unsure)
{
    char other[ID];

    for (int i = 0; i == 0 || number_of(other) != 1; i++)
        snprintf(other, sizeof other, "%032x-1234567890124", i);
    for (int was_sent = 0; was_sent < 2; was_sent++) {
        if (was_sent)
            commit_on_one_server_without_reply();
        shards_case_lose(&shards.servers[1]);
        commit_at(1, ilk__shards_clock_us(&shards));
        shards.store_requests->met_at = 1;
        memcpy(shards.store_requests->other, other, sizeof other);
        shards_case_answer(&shards.servers[0], ILK__SCRIPT_STORE_COMMIT,
                           ILK__CODE_BUSY, "isis", INT64_C(1), other,
                           INT64_C(0), "");
        if (was_sent)
            assert_true(shards_result.is_broken);
        else
            assert_error("NOQUORUM 10.0.0.2:6379 cannot be reached");
    }
}

/* ---- another transaction ------------------------------------------------- */

static const char *all_keys(void)
{
    static char text[SHARDS_SERVERS * (KEY + 4) + 1];
    size_t len = 0;

    for (size_t i = 0; i < SHARDS_SERVERS; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%zu:%s",
                                strlen(keys[i]), keys[i]);
    return text;
}

static void read_key(void)
{
    const char *const words[] = {STORE, keys[0], NULL};
    const char *const args[] = {"0", "", "0", NULL};

    ilk__shards_store(&shards,
                      shards_case_request(ILK__SCRIPT_STORE_READ, words, args));
}

static void meet(int64_t ms)
{
    shards_case_answer(&shards.servers[0], ILK__SCRIPT_STORE_READ,
                       ILK__CODE_BUSY, "isis", INT64_C(1), id, ms, all_keys());
}

TEST(an_intent_is_ended_with_its_transaction)
{
    for (int is_committed = 0; is_committed < 2; is_committed++) {
        read_key();
        meet(2000); /* it is old: nothing waits */
        assert_int_equal(1,
                         shards_case_calls_to(home, ILK__SCRIPT_STORE_OUTCOME));
        answer_outcome(is_committed ? ILK_TXN_COMMITTED : ILK_TXN_ABORTED);
        assert_string_equal(is_committed ? "1" : "0",
                            shards_case_word(ILK__SCRIPT_STORE_FINISH));
        for (size_t i = 0; i < SHARDS_SERVERS; i++) {
            assert_int_equal(0, shards_case_calls(ILK__SCRIPT_STORE_READ));
            assert_int_equal(1, shards_case_calls_to(&shards.servers[i],
                                                     ILK__SCRIPT_STORE_FINISH));
            shards_case_answer(&shards.servers[i], ILK__SCRIPT_STORE_FINISH,
                               ILK__CODE_WRITTEN, "i", INT64_C(1));
        }
        assert_int_equal(is_committed,
                         shards_case_calls(ILK__SCRIPT_STORE_FORGET));
        assert_int_equal(1, shards_case_calls(ILK__SCRIPT_STORE_READ));
        shards_case_miss(&shards.servers[0], ILK__SCRIPT_STORE_READ);
    }
    assert_int_equal(2, shards_result.count);
}

/* The home forgets the decision, and says so before the read has its reply. */
TEST(the_message_of_a_forgetful_home_is_no_reply_to_the_read)
{
    read_key();
    meet(2000);
    answer_outcome(ILK_TXN_COMMITTED);
    for (size_t i = 0; i < SHARDS_SERVERS; i++)
        shards_case_answer(&shards.servers[i], ILK__SCRIPT_STORE_FINISH,
                           ILK__CODE_WRITTEN, "i", INT64_C(1));
    shards_case_answer(home, ILK__SCRIPT_STORE_FORGET, ILK__CODE_GONE, "");
    assert_int_equal(0, shards_result.count);
    shards_case_answer(&shards.servers[0], ILK__SCRIPT_STORE_READ,
                       ILK__CODE_STALE, "");
    assert_int_equal(ILK__CODE_STALE, shards_result.code);
}

/* A server is away: its intents stay, and so does the decision. */
TEST(a_server_that_cannot_be_reached_is_left)
{
    shards_case_lose(&shards.servers[1]);
    read_key();
    meet(2000);
    answer_outcome(ILK_TXN_COMMITTED);
    assert_int_equal(2, shards_case_calls(ILK__SCRIPT_STORE_FINISH));
    shards_case_answer(&shards.servers[0], ILK__SCRIPT_STORE_FINISH,
                       ILK__CODE_WRITTEN, "i", INT64_C(1));
    shards_case_answer(&shards.servers[2], ILK__SCRIPT_STORE_FINISH,
                       ILK__CODE_WRITTEN, "i", INT64_C(1));
    assert_int_equal(0, shards_case_calls(ILK__SCRIPT_STORE_FORGET));
    assert_int_equal(1, shards_case_calls(ILK__SCRIPT_STORE_READ));
}

TEST(two_requests_that_meet_it_end_it_once)
{
    for (int i = 0; i < 2; i++) {
        read_key();
        meet(2000);
    }
    assert_int_equal(1, shards_case_calls(ILK__SCRIPT_STORE_OUTCOME));
}

TEST(a_young_one_is_waited_for)
{
    read_key();
    meet(0);
    assert_int_equal(0, shards_case_calls(ILK__SCRIPT_STORE_OUTCOME));
}

TEST(a_commit_that_is_left_is_ended_and_forgotten)
{
    look_for_left(1);
    read_key();
    read_key(); /* no second look */
    assert_int_equal(SHARDS_SERVERS, shards_case_calls(ILK__SCRIPT_STORE_LEFT));
    shards_case_answer(home, ILK__SCRIPT_STORE_LEFT, ILK__CODE_STATE, "ss", id,
                       all_keys());
    assert_string_equal("1", shards_case_word(ILK__SCRIPT_STORE_FINISH));
    for (size_t i = 0; i < SHARDS_SERVERS; i++) {
        assert_int_equal(0, shards_case_calls(ILK__SCRIPT_STORE_FORGET));
        shards_case_answer(&shards.servers[i], ILK__SCRIPT_STORE_FINISH,
                           ILK__CODE_WRITTEN, "i", INT64_C(0));
    }
    assert_int_equal(1, shards_case_calls_to(home, ILK__SCRIPT_STORE_FORGET));
    assert_int_equal(1, shards_case_calls_to(home, ILK__SCRIPT_STORE_LEFT));
    shards_case_answer(home, ILK__SCRIPT_STORE_LEFT, ILK__CODE_STATE, "ss", "",
                       "");
    assert_int_equal(0, shards_case_calls(ILK__SCRIPT_STORE_FINISH));
}

TEST(one_with_a_server_that_is_away_is_kept)
{
    look_for_left(1);
    read_key();
    shards_case_lose(&shards.servers[1]);
    shards_case_answer(home, ILK__SCRIPT_STORE_LEFT, ILK__CODE_STATE, "ss", id,
                       all_keys());
    shards_case_answer(&shards.servers[0], ILK__SCRIPT_STORE_FINISH,
                       ILK__CODE_WRITTEN, "i", INT64_C(0));
    shards_case_answer(home, ILK__SCRIPT_STORE_FINISH, ILK__CODE_WRITTEN, "i",
                       INT64_C(0));
    assert_int_equal(0, shards_case_calls(ILK__SCRIPT_STORE_FORGET));
}

/* ---- time ---------------------------------------------------------------- */

TEST(the_clock_is_that_of_the_fastest_server_and_not_this_one)
{
    const int64_t hour = 60 * minute_us;
    int64_t own;

    for (size_t i = 0; i < SHARDS_SERVERS; i++)
        shards.servers[i].is_known = 0;
    own = ilk__shards_clock_us(&shards);
    shards.servers[0].is_known = shards.servers[1].is_known = 1;
    shards.servers[0].ahead_us = -2 * hour;
    shards.servers[1].ahead_us = -hour;
    assert_true(ilk__shards_clock_us(&shards) >= own - hour);
    assert_true(ilk__shards_clock_us(&shards) < own - hour + minute_us);
}

/* SPDX-License-Identifier: MIT */
/*
 * ct_conformance.c -- the C ABI runs the table in tests/conformance; each case
 * is a test of its own.
 *
 * The directory is $ILK_CONFORMANCE_DIR, or the one beside this source.
 */
#include "conf_group.h"
#include "conf_queue.h"
#include "conf_ring.h"
#include "conf_signal.h"
#include "conf_state.h"
#include "conformance_run.h"
#include "conformance_server.h"
#include "server_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ilk_client *client;
static conf_table table;
static conf_group groups;   /* and groups, members */
static conf_state states;   /* the case's small states */
static conf_queue queues;   /* and its queues and messages */
static conf_signal signals; /* and its signals */
static conf_ring rings;     /* and its rings */

/* key=n of what was found */
static void expect_count(const ilk_info *info, const char *text)
{
    const char *value = strchr(text, '=');
    int64_t n = value ? strtoll(value + 1, NULL, 10) : -1;

    if (strncmp(text, "waiters=", 8) == 0)
        assert_int_equal(n, ilk_info_waiters(info));
    else if (strncmp(text, "used=", 5) == 0)
        assert_int_equal(n, ilk_info_used(info));
    else if (strncmp(text, "limit=", 6) == 0)
        assert_int_equal(n, ilk_info_limit(info));
    else if (strncmp(text, "holders=", 8) == 0)
        assert_int_equal(n, ilk_info_holders(info));
    else
        fail_msg("nothing is counted as \"%s\"", text);
}

/* inspect [semaphore] <name> -> <state> [waiters=n] [used=n] ... */
static void run_inspect(conf_run *r)
{
    static const char *const names[] = {
        [ILK_INFO_FREE] = "free",         [ILK_INFO_HELD] = "held",
        [ILK_INFO_FOREIGN] = "foreign",   [ILK_INFO_READERS] = "readers",
        [ILK_INFO_REDISSON] = "redisson",
    };
    int at = conf_is(r, 2, "->") ? 1 : 2;
    const conf_word *name = &r->words[at];
    ilk_info *info = NULL;
    ilk_status st = ILK_EINVAL;

    assert_true(conf_is(r, at + 1, "->"));
    if (at == 1)
        st = ilk_inspect(&info, client, name->text, name->len, &r->err);
    else if (conf_is(r, 1, "semaphore"))
        st = ilk_semaphore_inspect(&info, client, name->text, name->len,
                                   &r->err);
    else
        fail_msg("cannot inspect a \"%s\"", conf_text(r, 1));
    conf_expect(r, r->count, st);
    assert_string_equal(names[ilk_info_get_state(info)], conf_text(r, at + 2));
    for (int i = at + 3; i < r->count; i++)
        expect_count(info, conf_text(r, i));
    ilk_info_free(info);
}

/* break [election] <name> -> <status> */
static void run_break(conf_run *r)
{
    int of_election = conf_is(r, 1, "election");
    const conf_word *name = &r->words[1 + of_election];
    ilk_status st;

    if (of_election)
        st =
            ilk_election_break(client, name->text, name->len, NULL, 0, &r->err);
    else
        st = ilk_lock_break(client, name->text, name->len, NULL, 0, &r->err);
    conf_expect(r, 2 + of_election, st);
}

/* redis <COMMAND>... [-> <answer as text>] */
static void run_redis(conf_run *r)
{
    const char *argv[CONFORMANCE_WORDS];
    size_t lens[CONFORMANCE_WORDS];
    const char *answer;
    int argc = 0;

    while (argc + 1 < r->count && !conf_is(r, argc + 1, "->")) {
        argv[argc] = r->words[argc + 1].text;
        lens[argc] = r->words[argc + 1].len;
        argc++;
    }
    answer = fixture_argv(&fx, argc, argv, lens);
    if (conf_is(r, argc + 1, "->"))
        assert_string_equal(answer, conf_text(r, argc + 2));
    else if (strncmp(answer, "(error)", 7) == 0)
        fail_msg("%s", answer);
}

static void run_line(conf_run *r)
{
    if (conf_is(r, 1, "=") && conf_is(r, 2, "name")) {
        conf_define(&r->names, conf_text(r, 0), &r->words[3]);
    } else if (conf_state_line(&states, client, r->words, r->count)
               || conf_group_line(&groups, client, r->words, r->count)
               || conf_queue_line(&queues, client, r->words, r->count)
               || conf_signal_line(&signals, client, r->words, r->count)
               || conf_ring_line(&rings, r->words, r->count)) {
        return;
    } else if (conf_is(r, 1, "=")) {
        conf_open(r);
    } else if (conf_is(r, 0, "inspect")) {
        run_inspect(r);
    } else if (conf_is(r, 0, "break")) {
        run_break(r);
    } else if (conf_is(r, 0, "redis")) {
        run_redis(r);
    } else if (conf_is(r, 0, "sleep")) {
        fixture_sleep_ms((int)conf_number(r, 1));
    } else {
        conf_verb(r);
    }
}

static void run_case(void **state)
{
    const conf_case *one = *state;
    conf_run *r = calloc(1, sizeof *r);

    assert_non_null(r);
    assert_true(one->count > 0);
    conf_signal_free(&signals); /* of a case that failed */
    conf_ring_free(&rings);
    r->client = client;
    snprintf(r->names.unique, sizeof r->names.unique, "c%d.%zu.", (int)getpid(),
             (size_t)(one - table.cases));
    for (size_t i = 0; i < one->count; i++) {
        /* a failure's report stands behind the last of these lines */
        print_message("    %d: %s\n", one->lines[i].number, one->lines[i].text);
        r->count = conf_split(r->words, &r->names, one->lines[i].text);
        if (r->count < 1)
            fail_msg("cannot be read");
        run_line(r);
    }
    conf_free_handles(r);
    conf_signal_free(&signals);
    conf_state_free(&states);
    conf_group_free(&groups);
    conf_queue_free(&queues);
    conf_ring_free(&rings);
    free(r);
}

static int setup(void)
{
    ilk_error err = {0, ""};

    if (conformance_server_start(&fx) != 0)
        return -1;
    if (ilk_client_open(&client, fx.unix_url, NULL, &err) != ILK_OK) {
        print_error("%s\n", err.msg);
        return -1;
    }
    return 0;
}

static int teardown(void)
{
    ilk_client_free(client);
    return conformance_server_stop(&fx);
}

AROUND_ALL(setup, teardown);

static const char *directory(char *buf, size_t size)
{
    const char *dir = getenv("ILK_CONFORMANCE_DIR");
    const char *slash = strrchr(__FILE__, '/');

    if (dir != NULL)
        return dir;
    snprintf(buf, size, "%.*s/../../conformance",
             slash == NULL ? 1 : (int)(slash - __FILE__),
             slash == NULL ? "." : __FILE__);
    return buf;
}

int main(void)
{
    char buf[1024];
    struct CMUnitTest *tests;
    int bad;

    if (conf_read(&table, directory(buf, sizeof buf)) != 0) {
        fprintf(stderr, "no table in %s\n", directory(buf, sizeof buf));
        return 1;
    }
    tests = calloc(table.count, sizeof *tests);
    if (tests == NULL)
        return 1;
    for (size_t i = 0; i < table.count; i++) {
        tests[i].name = table.cases[i].title;
        tests[i].test_func = run_case;
        tests[i].initial_state = &table.cases[i];
    }
    bad = test_run_made("conformance", tests, table.count);
    free(tests);
    conf_free(&table);
    return bad;
}

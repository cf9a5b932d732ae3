/* SPDX-License-Identifier: MIT */
/* ct_register_faults.c -- a register on a server and a connection that fail. */
#include "fork_case.h"
#include "proxy_case.h"
#include "redis/script.h"
#include "state_case.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static ilk_client *behind; /* behind the proxy */

static int setup(void)
{
    if (client_setup() != 0 || proxy_before_server(&between) != 0)
        return -1;
    behind = open_client_at(between.url);
    return 0;
}

static int teardown(void)
{
    ilk_client_free(behind);
    proxy_close(&between);
    return client_teardown();
}

AROUND_ALL(setup, teardown);

/* ---- replies that are lost ---------------------------------------------- */

static int64_t version_on_record(const char *name)
{
    return fixture_int(&fx, "HGET ilk:register:{%s} version", name);
}

TEST(a_set_whose_answer_was_lost_happens_once)
{
    ilk_register *a = open_register(behind, "once");
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_register_set(a, "warm", 4, &err));
    proxy_cut(&between, ilk__scripts[ILK__SCRIPT_REGISTER_SET].sha1, 3);
    assert_status(ILK_OK, ilk_register_set(a, "x", 1, &err));

    assert_int_equal(1, proxy_struck(&between));
    assert_int_equal(2, fixture_int(&fx, "ZCARD ilk:register:once:{once}"));
    assert_int_equal(version_on_record("once"), ilk_register_version(a));
    ilk_register_free(a);
}

TEST(a_cas_whose_answer_was_lost_is_found_by_its_token)
{
    ilk_register *a = open_register(behind, "found");
    ilk_error err = {0};
    int64_t known;

    assert_status(ILK_OK, ilk_register_set(a, "warm", 4, &err));
    known = ilk_register_version(a);
    proxy_cut(&between, ilk__scripts[ILK__SCRIPT_REGISTER_SET].sha1, 3);

    assert_status(ILK_OK, ilk_register_cas(a, known, "x", 1, &err));

    assert_int_equal(1, proxy_struck(&between));
    assert_int_equal(version_on_record("found"), ilk_register_version(a));
    assert_string_equal("x", ilk_register_value(a, NULL));
    ilk_register_free(a);
}

TEST(a_delete_whose_answer_was_lost_has_deleted)
{
    ilk_register *a = open_register(behind, "gone");
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_register_set(a, "warm", 4, &err));
    assert_status(ILK_OK, ilk_register_delete(a, ILK_REGISTER_ANY, &err));
    assert_status(ILK_OK, ilk_register_set(a, "warm", 4, &err));
    proxy_cut(&between, ilk__scripts[ILK__SCRIPT_REGISTER_DELETE].sha1, 3);

    assert_status(ILK_OK, ilk_register_delete(a, ILK_REGISTER_ANY, &err));

    assert_int_equal(1, proxy_struck(&between));
    assert_int_equal(version_on_record("gone"), ilk_register_version(a));
    assert_int_equal(0, fixture_int(&fx, "HEXISTS ilk:register:{gone} value"));
    ilk_register_free(a);
}

/* So many other requests came that the server may have forgotten the first
 * copy: then nobody knows whether it was executed. */
static void fill_memory(const char *name)
{
    fixture_call(&fx, "EVAL",
                 "local now = redis.call('TIME')[1] * 1e6 "
                 "for i = 1, 10000 do redis.call('ZADD', KEYS[1], "
                 "string.format('%.0f', now + i), 'o' .. i) end return 1",
                 "1", name, (char *)NULL);
}

TEST(a_retry_that_may_be_forgotten_has_an_unknown_outcome)
{
    ilk_register *a = open_register(behind, "forgot"),
                 *theirs = open_register(client, "forgot");
    const char *set = ilk__scripts[ILK__SCRIPT_REGISTER_SET].sha1;
    ilk_error err = {0};
    int64_t known;

    assert_status(ILK_OK, ilk_register_set(a, "warm", 4, &err));
    assert_status(ILK_OK, ilk_register_delete(a, ILK_REGISTER_ANY, &err));
    known = ilk_register_version(a);
    fill_memory("ilk:register:once:{forgot}");

    /* Without a retry nothing is in doubt. */
    assert_status(ILK_ESTALE, ilk_register_cas(a, known - 1, "x", 1, &err));
    assert_status(ILK_OK, ilk_register_set(a, "x", 1, &err));

    proxy_arm(&between, PROXY_LOSE, set);
    assert_status(ILK_EUNKNOWN, ilk_register_set(a, "y", 1, &err));
    assert_non_null(strstr(err.msg, "perhaps for the second time"));
    proxy_arm(&between, PROXY_LOSE, set);
    assert_status(ILK_EUNKNOWN, ilk_register_cas(a, known, "y", 1, &err));
    assert_non_null(strstr(err.msg, "the first reply is missing"));
    assert_string_equal("y", ilk_register_value(a, NULL)); /* on record */
    proxy_arm(&between, PROXY_LOSE,
              ilk__scripts[ILK__SCRIPT_REGISTER_DELETE].sha1);
    assert_status(ILK_EUNKNOWN, ilk_register_delete(a, known, &err));

    /* One that is found under its token is sure. */
    fixture_command(&fx, "DEL ilk:register:once:{forgot}");
    proxy_cut(&between, set, 3);
    assert_status(ILK_OK, ilk_register_set(a, "z", 1, &err));
    assert_int_equal(1, proxy_struck(&between));
    assert_status(ILK_OK, ilk_register_get(theirs, &err));
    assert_string_equal("z", ilk_register_value(theirs, NULL));
    ilk_register_free(a);
    ilk_register_free(theirs);
}

TEST(a_refused_cas_is_sure_when_nothing_is_forgotten)
{
    ilk_register *a = open_register(behind, "sure");
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_register_set(a, "warm", 4, &err));
    proxy_cut(&between, ilk__scripts[ILK__SCRIPT_REGISTER_SET].sha1, 3);

    assert_status(ILK_ESTALE, ilk_register_cas(a, 5, "x", 1, &err));

    assert_int_equal(1, proxy_struck(&between));
    ilk_register_free(a);
}

TEST(a_wait_whose_answer_was_lost_is_queued_once)
{
    ilk_register *a = open_register(behind, "line"),
                 *theirs = open_register(client, "line");
    waiting w = {.reg = a, .timeout_ms = 20000};
    ilk_error err = {0};

    assert_status(ILK_EBUSY, ilk_register_wait(a, 0, 0, &err)); /* knows it */
    proxy_cut(&between, ilk__scripts[ILK__SCRIPT_REGISTER_WAIT].sha1, 2);
    start_waiting(&w);
    await_queue_length("register", "line", 1);
    fixture_sleep_ms(50);
    await_queue_length("register", "line", 1);

    assert_status(ILK_OK, ilk_register_set(theirs, "x", 1, &err));

    assert_waited(ILK_OK, &w);
    assert_string_equal("x", ilk_register_value(a, NULL));
    ilk_register_free(a);
    ilk_register_free(theirs);
}

/* The message goes to nobody; the refresh, or the inbox opened anew, sees. */
TEST(a_message_that_was_lost_costs_time_and_no_more)
{
    ilk_register *a = open_register(client, "lost");
    waiting w = {.reg = a, .timeout_ms = 20000};

    start_waiting(&w);
    await_queue_length("register", "lost", 1);
    fixture_command(&fx, "HSET ilk:register:{lost} version 5 value v");
    fixture_command(&fx, "DEL ilk:register:wait:{lost}");

    assert_waited(ILK_OK, &w);
    assert_in_range(waited_ms(&w), 0, patience(2500));
    assert_string_equal("v", ilk_register_value(a, NULL));
    ilk_register_free(a);
}

/* ---- replies that make no sense ----------------------------------------- */

TEST(a_hostile_reply_is_refused)
{
    static const struct {
        const char *name;
        int script;
        const char *text;
    } replies[] = {
        {"set's version", ILK__SCRIPT_REGISTER_SET,
         "*5\r\n:15\r\n:0\r\n:0\r\n:0\r\n:0\r\n"},
        {"set's old version", ILK__SCRIPT_REGISTER_SET,
         "*5\r\n:15\r\n:7\r\n:0\r\n:0\r\n:0\r\n"},
        {"set's shape", ILK__SCRIPT_REGISTER_SET,
         "*4\r\n:15\r\n:9\r\n:0\r\n:0\r\n"},
        {"delete's shape", ILK__SCRIPT_REGISTER_DELETE, "*1\r\n:9\r\n"},
        {"get's shape", ILK__SCRIPT_REGISTER_GET,
         "*4\r\n:15\r\n$1\r\n5\r\n:1\r\n$1\r\nx\r\n"},
    };
    ilk_register *a = open_register(behind, "hostile");
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_register_set(a, "x", 1, &err));
    assert_status(ILK_OK, ilk_register_delete(a, ILK_REGISTER_ANY, &err));
    assert_status(ILK_OK, ilk_register_get(a, &err));
    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
        int script = replies[i].script;
        ilk_status st;

        proxy_replace(&between, ilk__scripts[script].sha1, replies[i].text,
                      strlen(replies[i].text));
        st = script == ILK__SCRIPT_REGISTER_SET
                 ? ilk_register_cas(a, 7, "y", 1, &err)
             : script == ILK__SCRIPT_REGISTER_GET
                 ? ilk_register_get(a, &err)
                 : ilk_register_delete(a, ILK_REGISTER_ANY, &err);
        assert_status_at(ILK_EREPLY, st, &err, replies[i].name, __FILE__,
                         __LINE__);
    }
    ilk_register_free(a);
}

TEST(a_refusal_of_a_set_is_refused)
{
    static const char stale[] = "*5\r\n:9\r\n:5\r\n:1\r\n$1\r\nx\r\n:0\r\n";
    ilk_register *a = open_register(behind, "nonsense");
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_register_set(a, "x", 1, &err));
    proxy_replace(&between, ilk__scripts[ILK__SCRIPT_REGISTER_SET].sha1, stale,
                  sizeof stale - 1);

    assert_status(ILK_EREPLY, ilk_register_set(a, "y", 1, &err));

    ilk_register_free(a);
}

TEST(no_version_is_used_twice_when_none_can_rise)
{
    ilk_register *a = open_register(client, "end");
    ilk_error err = {0};

    fixture_command(&fx,
                    "HSET ilk:register:{end} version 9007199254740991 value v");

    assert_status(ILK_ESERVER, ilk_register_set(a, "x", 1, &err));
    assert_non_null(strstr(err.msg, "ILKFENCE no version can rise"));
    ilk_register_free(a);
}

/* ---- ends that come from outside ---------------------------------------- */

TEST(a_signal_ends_a_wait_that_the_next_takes_up)
{
    ilk_register *a = open_register(client, "eintr");
    waiting w = {.reg = a, .timeout_ms = -1};
    ilk_error err = {0};

    start_waiting(&w);
    await_queue_length("register", "eintr", 1);
    interrupt_waiting(&w);
    assert_waited(ILK_EINTR, &w);
    await_queue_length("register", "eintr", 1); /* it stays */

    w = (waiting){.reg = a, .timeout_ms = 150};
    start_waiting(&w);
    assert_waited(ILK_ETIMEOUT, &w);
    await_queue_length("register", "eintr", 0);

    w = (waiting){.reg = a, .timeout_ms = -1};
    start_waiting(&w);
    await_queue_length("register", "eintr", 1);
    interrupt_waiting(&w);
    assert_waited(ILK_EINTR, &w);
    assert_status(ILK_OK, ilk_register_get(a, &err)); /* ends it */
    await_queue_length("register", "eintr", 0);
    ilk_register_free(a);
}

TEST(a_wait_past_another_version_does_not_take_up_the_first)
{
    ilk_register *a = open_register(client, "kinds");
    waiting w = {.reg = a, .timeout_ms = -1};
    ilk_error err = {0};

    start_waiting(&w);
    await_queue_length("register", "kinds", 1);
    interrupt_waiting(&w);
    assert_waited(ILK_EINTR, &w);

    assert_status(ILK_OK, ilk_register_wait(a, 7, 5000, &err));

    assert_int_equal(0, ilk_register_version(a));
    await_queue_length("register", "kinds", 0);
    ilk_register_free(a);
}

TEST(cancelling_and_closing_end_a_wait)
{
    ilk_client *own = open_client();
    ilk_register *a = open_register(own, "ended");
    waiting w = {.reg = a, .timeout_ms = -1};
    ilk_error err = {0};

    start_waiting(&w);
    await_queue_length("register", "ended", 1);
    assert_status(ILK_EHELD, ilk_register_get(a, &err)); /* in use */
    assert_status(ILK_OK, ilk_register_cancel(a, &err));
    assert_waited(ILK_ECANCELLED, &w);
    await_queue_length("register", "ended", 0);

    w = (waiting){.reg = a, .timeout_ms = -1};
    start_waiting(&w);
    await_queue_length("register", "ended", 1);
    assert_status(ILK_OK, ilk_client_close(own, &err));
    assert_waited(ILK_ECLOSED, &w);
    assert_status(ILK_ECLOSED, ilk_register_set(a, NULL, 0, &err));
    ilk_register_free(a);
    ilk_client_free(own);
}

/* Parent and child have read one version: one of them is refused. */
TEST(a_fork_between_get_and_cas_loses_no_change)
{
    ilk_client *own = open_client();
    ilk_register *a = open_register(own, "fork");
    ilk_error err = {0};
    int64_t known;
    pid_t pid;

    assert_status(ILK_OK, ilk_register_set(a, "0", 1, &err));
    assert_status(ILK_OK, ilk_register_get(a, &err));
    known = ilk_register_version(a);
    pid = fork_now();
    if (pid == 0) {
        demand(ilk_register_cas(a, known, "c", 1, &err) == ILK_EFORKED);
        demand(ilk_register_wait(a, known, 0, &err) == ILK_EFORKED);
        demand(ilk_register_cancel(a, &err) == ILK_EFORKED);
        demand(ilk_register_version(a) == known);
        demand(strcmp(ilk_register_value(a, NULL), "0") == 0);
        demand(ilk_client_reopen(own, &err) == ILK_OK);
        demand(ilk_register_cas(a, known, "c", 1, &err) == ILK_OK);
        ilk_register_free(a);
        ilk_client_free(own);
        _exit(0);
    }
    assert_ends_well(pid);

    assert_status(ILK_ESTALE, ilk_register_cas(a, known, "p", 1, &err));

    assert_string_equal("c", ilk_register_value(a, NULL));
    ilk_register_free(a);
    ilk_client_free(own);
}

/* ---- bad input ---------------------------------------------------------- */

TEST(bad_input_is_refused_with_its_value)
{
    ilk_register *a = open_register(client, "bad"), *none = (ilk_register *)1;
    ilk_error err = {0};

    assert_int_equal(ILK_EINVAL, ilk_register_open(NULL, client, "x", 1, &err));
    assert_int_equal(ILK_EINVAL, ilk_register_open(&none, NULL, "x", 1, &err));
    assert_null(none);
    assert_int_equal(ILK_EINVAL, ilk_register_open(&none, client, "", 0, &err));
    assert_int_equal(ILK_EINVAL,
                     ilk_register_open(&none, client, "ilk:x", 5, &err));
    assert_int_equal(ILK_EINVAL, ilk_register_set(a, NULL, 3, &err));
    assert_string_equal("value must not be NULL", err.msg);
    assert_int_equal(ILK_EINVAL, ilk_register_cas(a, -1, "x", 1, &err));
    assert_string_equal("version must be 0 to 2^53 - 1, got -1", err.msg);
    assert_int_equal(ILK_EINVAL,
                     ilk_register_cas(a, INT64_C(1) << 53, "x", 1, &err));
    assert_int_equal(ILK_EINVAL, ilk_register_delete(a, -2, &err));
    assert_int_equal(ILK_EINVAL, ilk_register_wait(a, -1, 0, &err));
    assert_int_equal(ILK_EINVAL, ilk_register_wait(a, 0, -2, &err));
    ilk_register_free(a);
}

TEST(null_is_refused_everywhere)
{
    ilk_error err = {0};
    size_t len = 1;

    assert_int_equal(ILK_EINVAL, ilk_register_set(NULL, "", 0, &err));
    assert_string_equal("register must not be NULL", err.msg);
    assert_int_equal(ILK_EINVAL, ilk_register_cas(NULL, 0, "", 0, NULL));
    assert_int_equal(ILK_EINVAL, ilk_register_get(NULL, NULL));
    assert_int_equal(ILK_EINVAL, ilk_register_delete(NULL, 0, NULL));
    assert_int_equal(ILK_EINVAL, ilk_register_wait(NULL, 0, 0, NULL));
    assert_int_equal(ILK_EINVAL, ilk_register_cancel(NULL, NULL));
    assert_int_equal(0, ilk_register_version(NULL));
    assert_null(ilk_register_value(NULL, &len));
    assert_int_equal(0, len);
    ilk_register_free(NULL);
}

TEST(a_key_of_another_type_is_an_error)
{
    ilk_register *a = open_register(client, "type");
    ilk_error err = {0};

    fixture_command(&fx, "SET ilk:register:{type} x");
    assert_status(ILK_ETYPE, ilk_register_get(a, &err));
    assert_status(ILK_ETYPE, ilk_register_set(a, NULL, 0, &err));
    assert_status(ILK_ETYPE, ilk_register_delete(a, 5, &err));
    assert_status(ILK_ETYPE, ilk_register_wait(a, 0, -1, &err));
    ilk_register_free(a);
}

/* ---- last, because the server starts anew ------------------------------- */

TEST(a_wait_survives_a_flush_and_a_restart)
{
    ilk_register *a = open_register(client, "flush"),
                 *b = open_register(behind, "flush");
    waiting w = {.reg = b, .timeout_ms = 30000};
    ilk_error err = {0};

    start_waiting(&w);
    await_queue_length("register", "flush", 1);
    fixture_command(&fx, "FLUSHALL");
    await_queue_length("register", "flush", 1); /* again */
    assert_int_equal(0, fixture_kill(&fx));
    assert_int_equal(0, fixture_restart(&fx));
    await_queue_length("register", "flush", 1);

    assert_status(ILK_OK, ilk_register_set(a, "x", 1, &err));

    assert_waited(ILK_OK, &w);
    ilk_register_free(a);
    ilk_register_free(b);
}

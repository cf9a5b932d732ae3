/* SPDX-License-Identifier: MIT */
/* ut_confirmer.c -- when replicas are taken to have a hold. */
/* link: -Wl,--wrap=ilk__now_ms,--wrap=ilk__deadline,--wrap=ilk__async_conn_send,--wrap=ilk__async_conn_next */
#include "client/confirmer.h"

#include "op_case.h"
#include "redis/script.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

enum { HOLDS = 3, REPLIES = 16, LEASE_MS = 30000, LIMIT_MS = 5000 };

static ilk__shared shared;
static ilk__target target;
static ilk__confirmer *confirmer;
static ilk__async_conn *connection;

/* The commands sent, a letter each: E an extend, T its script's text, W, R. */
static char sent[64];
static size_t sent_count;
/* The next input: a reply in RESP, or "lost". */
static char incoming[REPLIES][96];
static size_t incoming_first, incoming_end;

static const ilk__op_type extend = {.name = "lock_extend",
                                    .script = ILK__SCRIPT_LOCK_EXTEND,
                                    .ask = ilk__lease_ask,
                                    .reply = ilk__lease_extended};
static const ilk__lease_kind kind = {.noun = "lock", .extend = &extend};
static char orders[] = "orders", fence[] = "fence";
static ilk__bytes keys[] = {{.data = orders, .len = 6},
                            {.data = fence, .len = 5}};
static ilk__lease lease = {.kind = &kind,
                           .keys = keys,
                           .key_count = 2,
                           .token = "token",
                           .token_len = 5};

static ilk__confirmation *confirmations[HOLDS];
static ilk__op ops[HOLDS];
static ilk_error errors[HOLDS];

/* ---- a connection that is none ------------------------------------------ */

ilk_status __wrap_ilk__async_conn_send(ilk__async_conn *to,
                                       const ilk__command *command,
                                       ilk__expected_reply *out);
ilk__async_conn_result __wrap_ilk__async_conn_next(ilk__async_conn *from,
                                                   ilk__reply **out);

ilk_status __wrap_ilk__async_conn_send(ilk__async_conn *to,
                                       const ilk__command *command,
                                       ilk__expected_reply *out)
{
    const char *name = command->argv[0];

    (void)to;
    assert_true(sent_count < sizeof sent - 1);
    if (strcmp(name, "WAIT") == 0) {
        assert_true(command->argc == 3 && command->lens[1] == 1
                    && command->lens[2] == 4);
        assert_memory_equal(command->argv[1], "2", 1);
        assert_memory_equal(command->argv[2], "1000", 4);
    }
    sent[sent_count++] = strcmp(name, "EVAL") == 0 ? 'T' : name[0];
    *out = (ilk__expected_reply){command->replies, (int64_t)sent_count};
    return ILK_OK;
}

ilk__async_conn_result __wrap_ilk__async_conn_next(ilk__async_conn *from,
                                                   ilk__reply **out)
{
    struct redisReader *reader;
    const char *text;

    if (incoming_first == incoming_end)
        return ILK__ASYNC_CONN_NOTHING;
    text = incoming[incoming_first++];
    if (strcmp(text, "lost") == 0) {
        from->up = 0;
        ilk__fail(&from->error, ILK_ECONN, "gone");
        return ILK__ASYNC_CONN_LOST;
    }
    if (strcmp(text, "up") == 0) {
        from->up = 1;
        from->traffic.connects++;
        return ILK__ASYNC_CONN_CAME_UP;
    }
    reader = ilk__reader_new();
    assert_int_equal(ilk__reader_feed(reader, text, strlen(text), NULL),
                     ILK_OK);
    assert_int_equal(ilk__reader_next(reader, out, NULL), ILK_OK);
    ilk__reader_free(reader);
    return ILK__ASYNC_CONN_REPLY;
}

static void comes(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
static void comes(const char *format, ...)
{
    va_list args;

    assert_true(incoming_end < REPLIES);
    va_start(args, format);
    vsnprintf(incoming[incoming_end++], sizeof incoming[0], format, args);
    va_end(args);
}

/* The reply to the command with this number. */
static void held(int number)
{
    comes("*4\r\n:%d\r\n:%d\r\n:17\r\n:5\r\n", 64 * number + ILK__CODE_HELD,
          LEASE_MS);
}

static void is_primary(void)
{
    comes("*3\r\n$6\r\nmaster\r\n:1\r\n*0\r\n");
}

static void turn(void)
{
    ilk__shared_lock(&shared);
    (void)ilk__confirmer_turn(confirmer, local_ms);
    ilk__shared_unlock(&shared);
}

/* Read the replies that have come, and send what follows from them. */
static void receive(void)
{
    while (incoming_first < incoming_end) {
        ilk__confirmer_run(confirmer);
        turn();
    }
    incoming_first = incoming_end = 0;
}

#define assert_sent(letters)                                                   \
    do {                                                                       \
        sent[sent_count] = '\0';                                               \
        assert_string_equal(sent, letters);                                    \
    } while (0)

/* ---- operations --------------------------------------------------------- */

static void begin_as(int number, int waits)
{
    int64_t deadline = local_ms + LIMIT_MS;

    assert_int_equal(ilk__confirmation_new(&confirmations[number], &shared,
                                           &lease, LEASE_MS, deadline, waits,
                                           NULL),
                     ILK_OK);
    errors[number] = (ilk_error){0};
    ilk__op_init(&ops[number], &ilk__confirm, confirmations[number], deadline,
                 &errors[number]);
    assert_int_equal(op_start(&ops[number]), ILK__ACT_SLEEP);
}

static void begin(int number)
{
    begin_as(number, 1);
}

static int is_woken(int number)
{
    return ilk__parker_consume(ilk__confirmation_parker(confirmations[number]));
}

static void end(int number)
{
    ilk__op_free(&ops[number]);
    ilk__confirmation_free(confirmations[number]);
    confirmations[number] = NULL;
}

static void assert_ends_by(int number, ilk__cause cause, ilk_status status)
{
    assert_int_equal(op_wake(&ops[number], cause), ILK__ACT_DONE);
    assert_int_equal(ops[number].status, status);
    if (status)
        assert_int_equal(errors[number].code, status);
    end(number);
}

static void assert_ends(int number, ilk_status status)
{
    assert_true(is_woken(number));
    assert_ends_by(number, ILK__CAUSE_NEWS, status);
}

static void assert_sleeps(int number)
{
    assert_false(is_woken(number));
    assert_int_equal(op_wake(&ops[number], ILK__CAUSE_NEWS), ILK__ACT_SLEEP);
}

static int setup(void)
{
    ilk_error err;

    assert_int_equal(ilk__shared_open(&shared, "test", &err), ILK_OK);
    confirmer = ilk__confirmer_new(&shared, &target, 2, LIMIT_MS);
    assert_non_null(confirmer);
    shared.confirmer = confirmer;
    connection = ilk__confirmer_connection(confirmer);
    connection->carries_commands = 0; /* there is none to replace */
    connection->up = 1;
    connection->traffic.connects = 1;
    memset(sent, 0, sizeof sent);
    sent_count = incoming_first = incoming_end = 0;
    return op_case_setup();
}

static int teardown(void)
{
    for (int i = 0; i < HOLDS; i++)
        if (confirmations[i])
            end(i);
    ilk__confirmer_free(confirmer);
    ilk__shared_close(&shared);
    memset(&shared, 0, sizeof shared);
    return op_case_teardown();
}

AROUND_EACH(setup, teardown);

/* ---- enough replicas, or too few ---------------------------------------- */

TEST(one_wait_is_for_all_extends_before_it)
{
    ilk__confirmed result;

    begin(0);
    begin(1);
    turn();
    assert_sent("EEW");
    begin(2);
    turn();
    assert_sent("EEWE"); /* its WAIT follows when the first one has ended */
    held(1);
    held(2);
    receive();
    comes(":2\r\n");
    receive();
    assert_sent("EEWER");
    assert_sleeps(0);
    held(4);
    is_primary();
    receive();
    assert_sent("EEWERW");
    result = ilk__confirmation_result(confirmations[0]);
    assert_int_equal(result.lease_ms, LEASE_MS);
    assert_int_equal(result.sent_at, local_ms);
    assert_ends(0, ILK_OK);
    assert_ends(1, ILK_OK);
    assert_sleeps(2);
    comes(":3\r\n");
    receive();
    is_primary();
    receive();
    assert_ends(2, ILK_OK);
    assert_sent("EEWERWR");
}

TEST(too_few_replicas_are_a_failure)
{
    begin(0);
    turn();
    held(1);
    comes(":1\r\n");
    receive();
    is_primary();
    receive();
    assert_true(is_woken(0));
    assert_int_equal(op_wake(&ops[0], ILK__CAUSE_NEWS), ILK__ACT_DONE);
    assert_int_equal(ops[0].status, ILK_ENOQUORUM);
    assert_string_equal(errors[0].msg,
                        "replicas with the hold after 1000 ms: 1, "
                        "min_replicas is 2");
    assert_sent("EWR");
}

TEST(a_hold_that_is_gone_is_not_waited_for)
{
    begin(0);
    turn();
    comes("*4\r\n:%d\r\n:0\r\n:0\r\n$1\r\n-\r\n", 64 * 1 + ILK__CODE_LOST);
    receive();
    assert_ends(0, ILK_ELOST);
}

TEST(a_copy_behind_the_wait_needs_another_one)
{
    begin(0);
    turn();
    comes("-NOSCRIPT No matching script.\r\n");
    receive();
    assert_sent("EWT");
    comes(":2\r\n");
    receive();
    held(3);
    is_primary();
    receive();
    assert_sent("EWTRW");
    assert_sleeps(0);
    comes(":0\r\n");
    receive();
    is_primary();
    receive();
    assert_ends(0, ILK_ENOQUORUM);
}

/* ---- broken connections, and replies that belong to nothing ------------- */

TEST(the_extend_goes_with_its_connection)
{
    begin(0);
    turn();
    held(1);
    receive();
    comes("lost");
    comes("up");
    receive();
    assert_sent("EWEW");
    comes(":2\r\n"); /* in the place of the extend's reply */
    comes("up");
    receive();
    assert_sent("EWEWEW");
    held(5);
    comes(":2\r\n");
    receive();
    is_primary();
    receive();
    assert_ends(0, ILK_OK);
}

TEST(the_connection_breaks_before_role)
{
    begin(0);
    turn();
    held(1);
    comes(":2\r\n");
    receive();
    assert_sent("EWR");
    comes("lost");
    comes("up");
    receive();
    assert_sent("EWREW");
    assert_sleeps(0);
}

/* The number is delivered when the connection is gone: ROLE cannot follow. */
TEST(a_number_from_a_lost_connection_says_nothing)
{
    begin(0);
    turn();
    held(1);
    comes(":2\r\n");
    comes("lost");
    comes("up");
    receive();
    assert_sent("EWEW");
    assert_sleeps(0);
}

TEST(a_surplus_number_is_not_believed)
{
    begin(0);
    turn();
    held(1);
    comes(":2\r\n");
    receive();
    comes(":0\r\n"); /* the true one */
    receive();
    assert_int_equal(connection->up, 0);
    assert_sleeps(0);
}

TEST(a_server_that_is_no_primary_is_left)
{
    begin(0);
    turn();
    held(1);
    comes(":2\r\n");
    receive();
    comes("*5\r\n$5\r\nslave\r\n$1\r\nh\r\n:1\r\n$9\r\nconnected\r\n:5\r\n");
    receive();
    assert_int_equal(connection->up, 0);
    assert_sleeps(0);
    comes("up");
    receive();
    assert_sent("EWREW");
}

TEST(a_primary_that_becomes_a_replica_is_left)
{
    begin(0);
    turn();
    held(1);
    comes("-UNBLOCKED force unblock from blocking operation\r\n");
    receive();
    assert_int_equal(connection->up, 0);
    assert_sleeps(0);
    comes("up");
    receive();
    assert_sent("EWEW");
}

TEST(a_refused_wait_is_a_failure)
{
    begin(0);
    turn();
    held(1);
    comes("-NOPERM User app has no permissions to run the 'wait' command\r\n");
    receive();
    assert_ends(0, ILK_EAUTH);
    assert_sent("EW");
}

TEST(a_refused_extend_is_a_failure)
{
    begin(0);
    turn();
    comes("-READONLY You can't write against a read only replica.\r\n");
    receive();
    assert_ends(0, ILK_ESERVERREADONLY);
}

/* No WAIT is sent while its extend pauses. */
TEST(no_connection_can_be_opened)
{
    connection->up = 0;
    begin(0);
    turn();
    assert_sent("");
    comes("lost");
    receive();
    assert_sleeps(0);
    for (int i = 0; i < 100 && !is_woken(0); i++) {
        local_ms += 100;
        comes("lost");
        receive();
    }
    assert_sent("");
    assert_ends_by(0, ILK__CAUSE_NEWS, ILK_ENOQUORUM);
}

/* ---- the end of the operation ------------------------------------------- */

TEST(no_answer_is_a_failure)
{
    begin(0);
    turn();
    held(1);
    receive();
    local_ms += LIMIT_MS;
    assert_ends_by(0, ILK__CAUSE_TIME, ILK_ENOQUORUM);
    begin(1); /* a silent server is left in the end */
    turn();
    local_ms += LIMIT_MS + 2000;
    turn();
    assert_int_equal(connection->up, 0);
    assert_ends(1, ILK_ENOQUORUM);
}

TEST(it_ends_by_cancel_stop_and_close)
{
    begin(0);
    begin(1);
    begin_as(2, 0);
    turn();
    assert_int_equal(op_wake(&ops[0], ILK__CAUSE_INTERRUPT), ILK__ACT_SLEEP);
    assert_true(ilk__confirmation_result(confirmations[0]).interrupted);
    assert_false(ilk__confirmation_result(confirmations[1]).interrupted);
    ilk__shared_lock(&shared);
    ilk__confirmation_cancel(confirmations[0]);
    ilk__shared_unlock(&shared);
    assert_ends(0, ILK_ECANCELLED);
    assert_int_equal(op_wake(&ops[2], ILK__CAUSE_STOPPED), ILK__ACT_SLEEP);
    assert_ends_by(1, ILK__CAUSE_STOPPED, ILK_ECANCELLED);
    assert_ends_by(2, ILK__CAUSE_CLOSED, ILK_ECLOSED);
    held(1); /* freed with the replies to their extends */
    held(2);
    held(3);
    receive();
}

TEST(it_may_end_before_the_keeper_turns)
{
    begin(0);
    begin(1);
    end(1);
    assert_ends_by(0, ILK__CAUSE_CLOSED, ILK_ECLOSED);
    turn();
    assert_sent("");
}

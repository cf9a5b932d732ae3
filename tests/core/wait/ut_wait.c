/* SPDX-License-Identifier: MIT */
/* ut_wait.c -- standing in the wait queue: from the first try to the grant. */
/* link: -Wl,--wrap=ilk__now_ms -Wl,--wrap=ilk__deadline */
#include "shared_case.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

/* The thing that most tests wait for. */
static taker me;

static int setup(void)
{
    int failed = shared_case_setup();

    taker_open(&me, "orders", &ilk__lock_plain);
    return failed;
}

static int teardown(void)
{
    taker_close(&me);
    return shared_case_teardown();
}

AROUND_EACH(setup, teardown);

/* ---- into the wait queue ------------------------------------------------ */

TEST(a_free_lock_is_taken_by_the_first_question)
{
    assert_int_equal(taker_acquire(&me, 0), ILK__ACT_SEND);
    assert_string_equal(op_says(&me.op), taker_asks(&me, 0));

    local_ms += 3;
    assert_int_equal(op_answer(&me.op, "%d 30000 17 1000000", ILK__CODE_HELD),
                     ILK__ACT_DONE);

    assert_int_equal(me.op.status, ILK_OK);
    assert_int_equal(me.waiter.fence, 17);
    assert_int_equal(me.waiter.granted_ms, 30000);
    assert_int_equal(me.waiter.began, OP_CASE_BEGIN_MS);
    assert_null(me.waiter.refresher);
    assert_int_equal(shared.stats.waits, 0);
}

TEST(who_tries_once_is_not_queued)
{
    assert_int_equal(taker_acquire(&me, 0), ILK__ACT_SEND);

    assert_int_equal(op_answer(&me.op, "%d 9000 1000000 1", ILK__CODE_BUSY),
                     ILK__ACT_DONE);

    assert_int_equal(me.op.status, ILK_EBUSY);
    assert_int_equal(me.err.code, ILK_EBUSY);
    assert_int_equal(shared.last_id, 0);
}

TEST(the_first_wait_of_a_client_opens_its_inbox)
{
    shared.inbox = ILK__INBOX_NONE;
    assert_int_equal(taker_acquire(&me, 8000), ILK__ACT_SEND);
    assert_string_equal(op_says(&me.op), taker_asks(&me, 0));
    assert_int_equal(shared.inbox, ILK__INBOX_NONE); /* it may be free */

    assert_int_equal(op_answer(&me.op, "%d 9000 1000000 1", ILK__CODE_BUSY),
                     ILK__ACT_SLEEP);
    assert_int_equal(shared.inbox, ILK__INBOX_WANTED);
    assert_int_equal(shared.plan, 0); /* the keeper was woken */
    assert_in_range(me.op.wake_at, local_ms + 1, me.op.deadline);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_SLEEP);

    shared.inbox = ILK__INBOX_READY;
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_SEND);
    assert_int_equal(me.waiter.id, 1);
    assert_string_equal(op_says(&me.op), taker_asks(&me, 1));
    assert_int_equal(op_answer(&me.op, "%d 9000 1000000 1", ILK__CODE_QUEUED),
                     ILK__ACT_SLEEP);
    assert_in_range(me.op.wake_at, local_ms + 1, me.op.deadline);
    assert_int_equal(shared.stats.waits, 1);
    assert_int_equal(shared.stats.waiting, 1);

    inbox_grants(&me, 18, 5000, 1000000);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_DONE);
    assert_int_equal(me.op.status, ILK_OK);
    assert_int_equal(me.waiter.fence, 18);
    assert_int_equal(me.waiter.granted_ms, 5000);
    assert_int_equal(shared.stats.waiting, 0);
}

TEST(with_an_inbox_the_first_question_enqueues)
{
    char entry[256], secret[ILK__SECRET_LEN + 1];

    assert_int_equal(taker_acquire(&me, 8000), ILK__ACT_SEND);

    assert_string_equal(op_says(&me.op), taker_asks(&me, 1));
    ilk__secret_of_waiter(secret, &shared, 'x', 1, "orders", 6);
    snprintf(entry, sizeof entry, "1 x %s x1.%s %s 30000 1 me",
             shared.client_id, secret, me.waiter.token);
    assert_string_equal(me.waiter.entry, entry);
    assert_int_equal(me.op.persist_ms, ILK__FOREVER);
}

TEST(an_entry_says_how_many_permits_it_wants)
{
    me.waiter.permits = 3;

    assert_int_equal(taker_acquire(&me, 8000), ILK__ACT_SEND);

    assert_non_null(strstr(me.waiter.entry, " 30000 3 me"));
}

TEST(an_enqueuing_question_may_find_it_free)
{
    assert_int_equal(taker_acquire(&me, 8000), ILK__ACT_SEND);

    assert_int_equal(op_answer(&me.op, "%d 30000 17 1000000", ILK__CODE_HELD),
                     ILK__ACT_DONE);

    assert_int_equal(me.op.status, ILK_OK);
    assert_null(me.waiter.refresher);
    assert_int_equal(shared.stats.waiting, 0);
}

TEST(each_acquire_has_a_token_and_a_place_of_its_own)
{
    char token[sizeof me.waiter.token];

    taker_queue(&me, 8000);
    memcpy(token, me.waiter.token, sizeof token);
    inbox_grants(&me, 17, 5000, 1000000);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_DONE);

    me.waiter.floor = 17;
    taker_queue(&me, 8000);

    assert_string_not_equal(token, me.waiter.token);
    assert_int_equal(me.waiter.id, 2);
    assert_string_equal(op_says(&me.op), taker_asks(&me, 1));
}

TEST(a_fixed_token_stays)
{
    char words[64];

    snprintf(words, sizeof words, " uuid:7 30000 %s me 0 1 x ",
             shared.client_id);
    me.waiter.fixed_token = "uuid:7";

    assert_int_equal(taker_acquire(&me, 8000), ILK__ACT_SEND);

    assert_non_null(strstr(op_says(&me.op), words));
    assert_non_null(strstr(me.waiter.entry, " uuid:7 30000 1 me"));
}

/* ---- the inbox does not come -------------------------------------------- */

TEST(a_refused_inbox_tells_why)
{
    shared.inbox = ILK__INBOX_NONE;
    assert_int_equal(taker_acquire(&me, 8000), ILK__ACT_SEND);
    assert_int_equal(op_answer(&me.op, "%d 9000 1000000 1", ILK__CODE_BUSY),
                     ILK__ACT_SLEEP);

    inbox_subscribes(&inbox_subscriber);
    inbox_receives_raw("-NOPERM no right to channels ilk:inbox:1\r\n");
    assert_int_equal(shared.inbox, ILK__INBOX_REFUSED);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_DONE);

    assert_int_equal(me.op.status, ILK_EAUTH);
    assert_int_equal(me.err.code, ILK_EAUTH);
    assert_non_null(strstr(me.err.msg, "ilk:inbox"));
    assert_int_equal(me.waiter.stage, ILK__STAGE_IDLE);
}

TEST(a_refused_inbox_is_asked_for_by_the_next_wait_again)
{
    shared.inbox = ILK__INBOX_REFUSED;

    assert_int_equal(taker_acquire(&me, 8000), ILK__ACT_SEND);
    assert_int_equal(op_answer(&me.op, "%d 9000 1000000 1", ILK__CODE_BUSY),
                     ILK__ACT_SLEEP);

    assert_int_equal(shared.inbox, ILK__INBOX_WANTED);
}

TEST(an_inbox_that_does_not_come_in_time_is_a_timeout)
{
    shared.inbox = ILK__INBOX_NONE;
    assert_int_equal(taker_acquire(&me, 8000), ILK__ACT_SEND);
    assert_int_equal(op_answer(&me.op, "%d 9000 1000000 1", ILK__CODE_BUSY),
                     ILK__ACT_SLEEP);

    local_ms = me.op.wake_at;
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_TIME), ILK__ACT_DONE);

    assert_int_equal(me.op.status, ILK_ETIMEOUT);
    assert_int_equal(me.waiter.stage, ILK__STAGE_IDLE);
}

TEST(an_endless_wait_gives_the_inbox_60_seconds)
{
    shared.inbox = ILK__INBOX_NONE;
    assert_int_equal(taker_acquire(&me, -1), ILK__ACT_SEND);
    local_ms += 100;
    assert_int_equal(op_answer(&me.op, "%d 9000 1000000 1", ILK__CODE_BUSY),
                     ILK__ACT_SLEEP);
    ilk__fail(&shared.inbox_error, ILK_ECONN, "nobody listens");

    local_ms += 30000;
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_SLEEP);
    local_ms = me.op.wake_at;
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_TIME), ILK__ACT_DONE);

    assert_int_equal(local_ms, OP_CASE_BEGIN_MS + 100 + ILK__CONTACT_LOST_MS);
    assert_int_equal(me.op.status, ILK_ECONN);
    assert_non_null(strstr(me.err.msg, "nobody listens"));
}

/* ---- news in the wait queue --------------------------------------------- */

TEST(a_grant_may_come_before_the_answer_that_queued)
{
    assert_int_equal(taker_acquire(&me, 8000), ILK__ACT_SEND);

    local_ms += 5;
    inbox_grants(&me, 18, 5000, 1002000);
    local_ms += 5;
    assert_int_equal(op_answer(&me.op, "%d 9000 1000000 1", ILK__CODE_QUEUED),
                     ILK__ACT_DONE);

    assert_int_equal(me.op.status, ILK_OK);
    assert_int_equal(me.waiter.fence, 18);
    assert_int_equal(me.waiter.began, OP_CASE_BEGIN_MS + 2);
}

TEST(whom_the_server_forgot_enqueues_again_as_before)
{
    char words[1024];

    taker_queue(&me, 8000);
    snprintf(words, sizeof words, "%s", taker_asks(&me, 1));

    ilk__waiter_report(&me.waiter, ILK__REPORT_GONE);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_SEND);

    assert_string_equal(op_says(&me.op), words);
    assert_int_equal(op_answer(&me.op, "%d 9000 1000000 1", ILK__CODE_QUEUED),
                     ILK__ACT_SLEEP);
    assert_int_equal(shared.stats.waiting, 1);
}

/* With outage=0, too, which leaves other requests one attempt. */
TEST(a_wait_that_the_server_has_forgotten_outlasts_an_outage)
{
    taker_queue(&me, 8000);
    me.op.persist_ms = 0;

    ilk__waiter_report(&me.waiter, ILK__REPORT_GONE);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_SEND);
    assert_int_equal(op_no_answer(&me.op, ILK_ECONN, 0), ILK__ACT_SLEEP);
    local_ms = me.op.wake_at;
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_TIME), ILK__ACT_SEND);

    assert_int_equal(op_answer(&me.op, "%d 9000 1000000 1", ILK__CODE_QUEUED),
                     ILK__ACT_SLEEP);
    assert_int_equal(shared.stats.waiting, 1);
}

TEST(whoever_is_woken_tries_and_stays_queued)
{
    taker_queue(&me, 8000);

    inbox_receives("1 wake x%d orders", (int)me.waiter.id);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_SEND);

    assert_string_equal(op_says(&me.op), taker_asks(&me, 1));
    assert_int_equal(op_answer(&me.op, "%d 100 17 1000000", ILK__CODE_HELD),
                     ILK__ACT_DONE);
    assert_int_equal(shared.stats.waiting, 0);
}

TEST(a_wake_for_nothing_changes_nothing)
{
    taker_queue(&me, 8000);

    assert_int_equal(op_wake(&me.op, ILK__CAUSE_NEWS), ILK__ACT_SLEEP);
    assert_in_range(me.op.wake_at, local_ms + 1, me.op.deadline);
    assert_int_equal(op_wake(&me.op, ILK__CAUSE_TIME), ILK__ACT_SLEEP);
}

/* SPDX-License-Identifier: MIT */
/*
 * ut_contention.c -- contenders against a store that replies at once, late, never, or
 * with a failure; and many of two clients against the list store with faults.
 *
 * The gateway's functions for backends are this file's: they note each reply.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "gateway/resp.h"
#include "list_store.h"
#include "redis/expected_reply.h"
#include "redis/script.h"
#include "stores/shared/contention.h"
#include "test.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WORDS = 16, WORD = 200, ERROR = -1, BROKEN = -2, NUMBER = 7 };

/* ---- requests and their replies ------------------------------------------ */

typedef struct call {
    ilk__gateway_request request; /* the first member */
    ilk__reply words[WORDS];
    ilk__reply *pointers[WORDS];
    char texts[WORDS][WORD];
    int replies, code;
    int64_t numbers[4]; /* behind the code */
    char text[2048];    /* an error, or the whole of a long reply */
} call;

static char message[512]; /* the last one */
static int message_count;
static void *message_gateway;

/* key, then its arguments, up to NULL. */
static void prepare_call(call *c, int script, const char *key, va_list args)
{
    const char *word = key;
    size_t count = 0;

    memset(c, 0, sizeof *c);
    for (; word; word = va_arg(args, const char *)) {
        snprintf(c->texts[count], WORD, "%s", word);
        c->words[count] = (ilk__reply){.type = ILK__REPLY_STR,
                                       .str = c->texts[count],
                                       .len = strlen(c->texts[count])};
        c->pointers[count] = &c->words[count];
        count++;
    }
    c->request = (ilk__gateway_request){.script = script,
                                        .keys = c->pointers,
                                        .key_count = 1,
                                        .args = c->pointers + 1,
                                        .arg_count = count - 1,
                                        .number = NUMBER};
}

void ilk__gateway_reply(ilk__gateway_request *request, int code,
                        const char *types, ...)
{
    call *c = (call *)request;
    va_list args;

    va_start(args, types);
    c->replies++;
    c->code = code;
    for (size_t i = 0; types[i]; i++)
        c->numbers[i] = va_arg(args, int64_t);
    va_end(args);
}

/* The first numbers of a reply, and all of it. */
void ilk__gateway_reply_text(ilk__gateway_request *request, const void *text,
                             size_t len)
{
    call *c = (call *)request;

    c->replies++;
    assert_true(len < sizeof c->text);
    memcpy(c->text, text, len);
    c->code = (int)(strtoll(strchr(c->text, ':') + 1, NULL, 10)
                    - ilk__reply_head(NUMBER, 0));
}

void ilk__gateway_reply_error(ilk__gateway_request *request, const char *text)
{
    call *c = (call *)request;

    c->replies++;
    c->code = ERROR;
    snprintf(c->text, sizeof c->text, "%s", text);
}

void ilk__gateway_break(ilk__gateway_request *request)
{
    call *c = (call *)request;

    c->replies++;
    c->code = BROKEN;
}

static void deliver(void *gateway, const char *text);

size_t ilk__gateway_publish(ilk__gateway *gateway, ilk__span pattern,
                            ilk__span channel, ilk__span data)
{
    assert_null(pattern.at);
    assert_int_equal(0, strncmp(channel.at, "ilk:inbox:", 10));
    assert_true(data.len < sizeof message);
    memcpy(message, data.at, data.len);
    message[data.len] = '\0';
    message_count++;
    message_gateway = gateway;
    deliver(gateway, message);
    return 1;
}

void ilk__gateway_wake(ilk__gateway *gateway)
{
    (void)gateway;
}

/* ---- a store that does what a test says ---------------------------------- */

static ilk__contention *contention;
static ilk__contender *joined, *renewed, *left, *proclaimed;
static ilk__gateway_request *checked, *inspected, *broken;
static ilk__contended *named;
static int joins, leaves, checks, forgotten, observed;
static enum { LATE, GRANTS, QUEUES, FAILS } joining;

static void join(void *self, ilk__contender *c)
{
    (void)self;
    joined = c;
    named = c->of;
    joins++;
    if (joining == GRANTS)
        ilk__contender_granted(c, 5, INT64_MAX);
    else if (joining == QUEUES)
        ilk__contender_queued(c, -1, 1);
    else if (joining == FAILS)
        ilk__contender_failed(c, "ILKDOWN the store is down");
}

static void renew(void *self, ilk__contender *c)
{
    (void)self;
    renewed = c;
}

static void leave(void *self, ilk__contender *c)
{
    (void)self;
    left = c;
    leaves++;
}

static void forget(void *self, ilk__contender *c)
{
    (void)self;
    (void)c;
    forgotten++;
}

static void forget_name(void *self, ilk__contended *name)
{
    (void)self;
    (void)name;
    named = NULL;
}

static void check(void *self, ilk__contended *name,
                  ilk__gateway_request *request)
{
    (void)self;
    named = name;
    checked = request;
    checks++;
}

static void inspect(void *self, ilk__contended *name, int64_t most,
                    ilk__gateway_request *request)
{
    (void)self;
    (void)most;
    named = name;
    inspected = request;
}

static void break_hold(void *self, ilk__contended *name, ilk__span token,
                       ilk__gateway_request *request)
{
    (void)self;
    (void)token;
    named = name;
    broken = request;
}

static void proclaim(void *self, ilk__contender *c)
{
    (void)self;
    proclaimed = c;
}

static void observe(void *self, ilk__contended *name, int begins)
{
    (void)self;
    (void)name;
    observed = begins;
}

static void set_limit(void *self, ilk__contended *name, int64_t limit,
                      int64_t base, ilk__gateway_request *request)
{
    (void)self;
    (void)base;
    ilk__contention_limit_set(name, request, limit + 1, NULL);
}

static const ilk__contention_store store = {.name = "the test store",
                                            .join = join,
                                            .renew = renew,
                                            .leave = leave,
                                            .forget = forget,
                                            .forget_name = forget_name,
                                            .check = check,
                                            .inspect = inspect,
                                            .break_hold = break_hold,
                                            .proclaim = proclaim,
                                            .observe = observe,
                                            .set_limit = set_limit,
                                            .has_readers = 1};

static int setup(void)
{
    joining = LATE;
    joins = leaves = checks = forgotten = observed = message_count = 0;
    contention = ilk__contention_new(NULL, &store, NULL);
    return contention ? 0 : -1;
}

static int teardown(void)
{
    ilk__contention_free(contention);
    return 0;
}

AROUND_EACH(setup, teardown);

static void send(call *c, int script, const char *key, ...)
{
    va_list args;

    va_start(args, key);
    prepare_call(c, script, key, args);
    va_end(args);
    ilk__contention_call(contention, &c->request);
}

static const char *floor_word = "0";

static void acquire(call *c, const char *token, int waits)
{
    char entry[WORD];

    snprintf(entry, sizeof entry, "1 x me x1.secret %s 30000 1 label", token);
    send(c, ILK__SCRIPT_LOCK_ACQUIRE, "orders", token, "30000", "label",
         floor_word, waits ? entry : "", "me", "0", "5000", "2000", "100",
         NULL);
}

static void release(call *c, const char *token)
{
    send(c, ILK__SCRIPT_LOCK_RELEASE, "orders", token, NULL);
}

static void extend(call *c, const char *token)
{
    send(c, ILK__SCRIPT_LOCK_EXTEND, "orders", token, "30000", "0", NULL);
}

static void cancel(call *c, const char *token)
{
    send(c, ILK__SCRIPT_LOCK_CANCEL, "orders", "", token, "2000", "100", "0",
         "5000", NULL);
}

static void refresh(call *c, const char *token)
{
    char entry[WORD];

    snprintf(entry, sizeof entry, "1 x me x1.secret %s 30000 1 label", token);
    send(c, ILK__SCRIPT_LOCK_REFRESH, "orders", "me", "5000", "2000", "100",
         "1", entry, NULL);
}

static void expect(const call *c, int code)
{
    if (c->replies != 1 || c->code != code)
        print_error("%d replies, code %d, \"%s\"\n", c->replies, c->code,
                    c->text);
    assert_int_equal(1, c->replies);
    assert_int_equal(code, c->code);
}

static void expect_none(const call *c)
{
    assert_int_equal(0, c->replies);
}

/* The state of the only entry of a refresh. */
static void expect_refreshed(const call *c, int code)
{
    char expected[32];
    const char *at = c->text;

    expect(c, ILK__CODE_BUSY);
    for (int i = 0; i < 5; i++)
        at = strchr(at, ':') + 1;
    snprintf(expected, sizeof expected, "%d\r\n", code);
    assert_int_equal(0, strncmp(at, expected, strlen(expected)));
}

static void fire_after(int64_t ms)
{
    ilk__contention_fire(contention, ilk__now_ms() + ms);
}

/* ---- one contender ------------------------------------------------------- */

TEST(a_hold_is_released_once)
{
    call a, b, c, d, e;

    acquire(&a, "t1", 1);
    expect_none(&a);
    ilk__contender_granted(joined, 17, ilk__now_ms() + 30000);
    expect(&a, ILK__CODE_HELD);
    assert_int_equal(17, a.numbers[1]);
    assert_in_range(a.numbers[0], 29000, 30000);
    extend(&b, "t1");
    expect_none(&b);
    ilk__contender_granted(renewed, 17, ilk__now_ms() + 20000);
    expect(&b, ILK__CODE_HELD);
    assert_in_range(b.numbers[0], 19000, 20000);
    release(&c, "t1");
    expect_none(&c);
    ilk__contender_left(left, ILK__LEFT_ITS_HOLD);
    expect(&c, ILK__CODE_RELEASED);
    release(&d, "t1");
    expect(&d, ILK__CODE_RELEASED);
    acquire(&e, "t1", 1);
    expect(&e, ERROR);
    assert_int_equal(1, joins);
}

TEST(usual_limits_need_not_be_sent)
{
    static const char *const barges[] = {NULL, "0"};

    joining = GRANTS;
    for (size_t i = 0; i < sizeof barges / sizeof *barges; i++) {
        call a, b;

        send(&a, ILK__SCRIPT_LOCK_ACQUIRE, "orders", i ? "t2" : "t1", "30000",
             "label", "0", "", "me", barges[i], NULL);
        expect(&a, ILK__CODE_HELD);
        assert_int_equal(6000, joined->liveness_ms);
        assert_int_equal(5000, joined->grant_ms);
        release(&b, i ? "t2" : "t1");
        expect_none(&b);
        ilk__contender_left(left, ILK__LEFT_ITS_HOLD);
        expect(&b, ILK__CODE_RELEASED);
    }
}

TEST(a_waiter_is_granted_for_a_short_time)
{
    call a, b, c, d;

    acquire(&a, "t1", 1);
    ilk__contender_queued(joined, 900, 1);
    expect(&a, ILK__CODE_QUEUED);
    assert_int_equal(900, a.numbers[0]);
    ilk__contender_granted(joined, 9, ilk__now_ms() + 30000);
    assert_int_equal(1, message_count);
    assert_int_equal(0, strncmp(message, "1 grant x1.secret t1 9 ", 23));
    assert_in_range(strtoll(message + 23, NULL, 10), 1900, 2000);
    refresh(&b, "t1");
    ilk__contention_checked(named, checked, NULL);
    expect_refreshed(&b, ILK__CODE_HELD);
    fire_after(1500);
    assert_int_equal(0, leaves);
    fire_after(2100);
    assert_int_equal(1, leaves);
    extend(&c, "t1");
    expect(&c, ILK__CODE_LOST);
    release(&d, "t1");
    expect(&d, ILK__CODE_LOST);
    assert_int_equal(-1, d.numbers[1]);
    ilk__contender_left(left, ILK__LEFT_ITS_HOLD);
}

TEST(an_extension_makes_a_grant_whole)
{
    call a, b;

    joining = QUEUES;
    acquire(&a, "t1", 1);
    ilk__contender_granted(joined, 9, ilk__now_ms() + 30000);
    extend(&b, "t1");
    fire_after(3000); /* while the store works on it */
    assert_int_equal(0, leaves);
    ilk__contender_granted(renewed, 9, ilk__now_ms() + 30000);
    expect(&b, ILK__CODE_HELD);
    fire_after(10000);
    assert_int_equal(0, leaves);
}

TEST(a_try_leaves_nothing)
{
    call a, b;

    acquire(&a, "t1", 0);
    assert_int_equal(0, joined->waiter.len);
    ilk__contender_busy(joined, -1, 1);
    expect_none(&a);
    assert_int_equal(1, leaves);
    ilk__contender_left(left, ILK__LEFT_NO_HOLD);
    expect(&a, ILK__CODE_BUSY);
    acquire(&b, "t1", 1);
    assert_int_equal(2, joins);
    assert_int_equal(9, joined->waiter.len);
    ilk__contender_queued(joined, -1, 1);
    expect(&b, ILK__CODE_QUEUED);
}

TEST(a_failed_join_is_repeated_or_left)
{
    call a, b, c;

    joining = FAILS;
    acquire(&a, "t1", 1);
    expect(&a, ERROR);
    assert_non_null(strstr(a.text, "ILKDOWN"));
    acquire(&b, "t1", 1);
    expect(&b, ERROR);
    assert_int_equal(2, joins);
    fire_after(4000);
    assert_int_equal(0, leaves);
    fire_after(5100);
    assert_int_equal(1, leaves);
    joining = GRANTS;
    acquire(&c, "t1", 1); /* begins anew when the store has removed it */
    expect_none(&c);
    ilk__contender_left(left, ILK__LEFT_NO_HOLD);
    expect(&c, ILK__CODE_HELD);
}

TEST(a_loss_is_said)
{
    call a, b, c, d, e;

    joining = QUEUES;
    acquire(&a, "t1", 1);
    ilk__contender_lost(joined);
    assert_string_equal("1 wake x1.secret orders", message);
    refresh(&b, "t1");
    ilk__contention_checked(named, checked, NULL);
    expect_refreshed(&b, ILK__CODE_GONE);
    joining = GRANTS;
    acquire(&c, "t1", 1);
    expect(&c, ILK__CODE_HELD);
    extend(&d, "t1");
    ilk__contender_lost(renewed);
    expect(&d, ILK__CODE_LOST);
    release(&e, "t1");
    expect(&e, ILK__CODE_LOST);
    assert_int_equal(-1, e.numbers[1]);
    assert_int_equal(2, forgotten);
}

TEST(a_place_that_is_lost_while_joining)
{
    call a, b;

    acquire(&a, "t1", 1);
    ilk__contender_lost(joined);
    expect(&a, ILK__CODE_QUEUED);
    assert_int_equal(1, message_count);
    acquire(&b, "t2", 0);
    ilk__contender_lost(joined);
    expect(&b, ILK__CODE_BUSY);
    assert_int_equal(1, message_count);
}

TEST(a_cancel_is_final)
{
    call a, b, c, d, e;

    joining = QUEUES;
    acquire(&a, "t1", 1);
    cancel(&b, "t1");
    expect_none(&b);
    assert_int_equal(1, leaves);
    acquire(&c, "t1", 1);
    expect(&c, ERROR);
    ilk__contender_left(left, ILK__LEFT_NO_HOLD);
    expect(&b, ILK__CODE_GONE);
    cancel(&d, "t2"); /* overtakes its acquire */
    expect(&d, ILK__CODE_GONE);
    acquire(&e, "t2", 1);
    expect(&e, ERROR);
    assert_int_equal(1, joins);
}

TEST(a_silent_client_leaves)
{
    call a, b;

    joining = QUEUES;
    acquire(&a, "t1", 1);
    fire_after(4900);
    refresh(&b, "t1");
    ilk__contention_checked(named, checked, NULL);
    expect_refreshed(&b, ILK__CODE_QUEUED);
    assert_int_equal(0, leaves);
    fire_after(5100);
    assert_int_equal(1, leaves);
    ilk__contender_left(left, ILK__LEFT_NO_HOLD);
}

TEST(a_fence_that_does_not_rise_is_refused)
{
    call a, b, c;

    joining = GRANTS;
    acquire(&a, "t1", 1);
    expect(&a, ILK__CODE_HELD);
    release(&b, "t1");
    ilk__contender_left(left, ILK__LEFT_ITS_HOLD);
    floor_word = "1000000";
    acquire(&c, "t2", 1);
    floor_word = "0";
    expect(&c, ERROR);
    assert_non_null(strstr(c.text, "ILKFENCE"));
    assert_int_equal(2, leaves);
    ilk__contender_left(left, ILK__LEFT_ITS_HOLD);
}

static void expect_evidence(const call *c, int64_t born, int64_t fence)
{
    expect(c, ILK__CODE_LOST);
    assert_int_equal(born, c->numbers[0]);
    assert_int_equal(fence, c->numbers[1]);
}

TEST(a_release_says_how_sure_it_is)
{
    call a, b, c, d, e;

    joining = GRANTS;
    acquire(&a, "t1", 1);
    release(&b, "t1");
    ilk__contender_left(left, ILK__LEFT_NO_HOLD);
    expect_evidence(&b, 0, -1);
    acquire(&c, "t2", 1);
    release(&d, "t2");
    ilk__contender_left(left, ILK__LEFT_EITHER_WAY);
    expect_evidence(&d, -1, 0);
    release(&e, "t2");
    expect_evidence(&e, -1, 0);
}

TEST(a_release_that_fails_gets_a_reply)
{
    call a, b, c;

    joining = GRANTS;
    acquire(&a, "t1", 1);
    release(&b, "t1");
    ilk__contender_failed(left, "ILKDOWN the store is down");
    expect(&b, ERROR);
    release(&c, "t1");
    expect_none(&c);
    ilk__contender_left(left, ILK__LEFT_ITS_HOLD);
    expect(&c, ILK__CODE_RELEASED);
    assert_int_equal(1, leaves);
}

TEST(a_store_that_never_replies_to_leave)
{
    call a, b;

    joining = GRANTS;
    acquire(&a, "t1", 1);
    release(&b, "t1");
    fire_after(60000);
    expect(&b, ERROR);
    ilk__contender_left(left, ILK__LEFT_ITS_HOLD);
    assert_int_equal(1, b.replies);
}

TEST(ended_ones_are_forgotten)
{
    call a, b, c;

    joining = GRANTS;
    acquire(&a, "t1", 1);
    release(&b, "t1");
    ilk__contender_left(left, ILK__LEFT_ITS_HOLD);
    fire_after(61000);
    release(&c, "t1");
    expect(&c, ILK__CODE_LOST);
    assert_true(ilk__contention_due(contention) == ILK__FOREVER);
}

/* ---- names --------------------------------------------------------------- */

TEST(refreshes_share_a_check)
{
    call a, b, c;

    refresh(&a, "t1");
    refresh(&b, "t1");
    refresh(&c, "t1");
    assert_int_equal(1, checks);
    ilk__contention_checked(named, checked, NULL);
    expect(&a, ILK__CODE_BUSY);
    expect_none(&b);
    assert_int_equal(2, checks);
    ilk__contention_checked(named, checked, "ILKDOWN the store is down");
    expect(&b, ERROR);
    expect(&c, ERROR);
    assert_int_equal(2, checks);
}

TEST(an_inspection_lists_all)
{
    const ilk__contended_entry entries[] = {
        {.kind = 'x',
         .token = {"t1", 2},
         .who = {"me", 2},
         .fence = 8,
         .since_ms = 99,
         .lease_ms = 777},
        {.kind = 'x', .token = {"t2", 2}, .who = {"you and I", 9}}};
    const ilk__contended_state found = {
        .holders = 1, .waiters = 1, .entries = entries};
    call a, b;

    send(&a, ILK__SCRIPT_LOCK_INSPECT, "orders", "16", NULL);
    ilk__contention_inspected(named, inspected, &found, NULL);
    expect(&a, ILK__CODE_HELD);
    assert_non_null(strstr(a.text, "$2\r\nt1\r\n:777\r\n"));
    assert_non_null(strstr(a.text, "1 x - x0.- t2 0 1 you and I\r\n"));
    send(&b, ILK__SCRIPT_LOCK_INSPECT, "orders", "16", NULL);
    ilk__contention_inspected(named, inspected, NULL, "ILKDOWN it is down");
    expect(&b, ERROR);
}

TEST(a_repeated_break_breaks_once)
{
    call a, b, c;

    send(&a, ILK__SCRIPT_LOCK_BREAK, "orders", "", "2000", "100", "5000", "id1",
         NULL);
    ilk__contention_broken(named, broken, 1, NULL);
    expect(&a, ILK__CODE_RELEASED);
    send(&b, ILK__SCRIPT_LOCK_BREAK, "orders", "", "2000", "100", "5000", "id1",
         NULL);
    expect(&b, ILK__CODE_RELEASED);
    send(&c, ILK__SCRIPT_LOCK_BREAK, "orders", "", "2000", "100", "5000", "id2",
         NULL);
    ilk__contention_broken(named, broken, 0, NULL);
    expect(&c, ILK__CODE_LOST);
}

/* By its first copy perhaps, and the next one would break the next hold. */
TEST(an_unsure_break_is_not_repeated)
{
    call a, b, c;

    send(&a, ILK__SCRIPT_LOCK_BREAK, "orders", "", "2000", "100", "5000", "id1",
         NULL);
    ilk__contention_break_unsure(named, broken);
    expect(&a, BROKEN);
    broken = NULL;
    send(&b, ILK__SCRIPT_LOCK_BREAK, "orders", "", "2000", "100", "5000", "id1",
         NULL);
    assert_null(broken);
    expect(&b, ILK__CODE_LOST);
    send(&c, ILK__SCRIPT_LOCK_BREAK, "orders", "", "2000", "100", "5000", "id2",
         NULL);
    ilk__contention_broken(named, broken, 1, NULL);
    expect(&c, ILK__CODE_RELEASED);
}

/* The core repeats a request that the store may have executed. */
TEST(an_unsure_extend_breaks_its_connection)
{
    call a, b;

    acquire(&a, "t1", 0);
    ilk__contender_granted(joined, 7, ilk__deadline(30000));
    extend(&b, "t1");
    ilk__contender_failed(renewed, NULL);
    expect(&b, BROKEN);
}

#define KEY "ilk:election:{e}"

static void observe_election(call *c, const char *known)
{
    send(c, ILK__SCRIPT_ELECTION_OBSERVE, KEY, known, "0",
         "1 o me o4.secret t 1 1 label", "me", "5000", "", NULL);
}

TEST(observers_are_woken)
{
    const ilk__contended_entry leader = {
        .kind = 'e', .token = {"t1", 2}, .who = {"me", 2}, .fence = 8};
    const ilk__contended_state led = {
        .holders = 1, .entries = &leader, .version = 3, .value = {"v", 1}};
    const ilk__contended_state nobody = {0};
    call a, b, c;

    observe_election(&a, "");
    assert_int_equal(1, observed);
    ilk__contention_inspected(named, inspected, &nobody, NULL);
    expect(&a, ILK__CODE_QUEUED);
    ilk__contention_election_changed(named);
    assert_string_equal("1 wake o4.secret " KEY, message);
    observe_election(&b, "");
    ilk__contention_inspected(named, inspected, &led, NULL);
    expect(&b, ILK__CODE_STATE);
    observe_election(&c, "8 3");
    ilk__contention_inspected(named, inspected, &led, NULL);
    expect(&c, ILK__CODE_QUEUED);
    fire_after(7000); /* its client is silent */
    fire_after(7000);
    assert_int_equal(0, observed);
    assert_null(named);
}

TEST(kinds_that_are_not_kept_are_refused)
{
    call a, b, c, d;

    send(&a, ILK__SCRIPT_LOCK_ACQUIRE, "orders", "t", "30000", "label", "0", "",
         "me", "1", NULL);
    expect(&a, ERROR);
    assert_int_equal(0, strncmp(a.text, "ILKNONE the test store", 22));
    send(&b, ILK__SCRIPT_ELECTION_CAMPAIGN, KEY, "t", "30000", "label", "0", "",
         "me", "", "5000", "2000", "100", "value", "node-1", NULL);
    expect(&b, ERROR);
    assert_int_equal(0, strncmp(b.text, "ILKNONE the test store", 22));
    send(&c, ILK__SCRIPT_QUEUE_PUSH, "jobs", NULL);
    expect(&c, ERROR);
    assert_int_equal(0, strncmp(c.text, "ILKNONE the test store", 22));
    send(&d, ILK__SCRIPT_LOCK_ACQUIRE, "orders", "t", "soon", "label", "0", "",
         "me", NULL);
    expect(&d, ERROR);
    assert_int_equal(0, strncmp(d.text, "ERR ", 4));
    assert_int_equal(0, joins);
}

TEST(the_end_breaks_what_waits)
{
    call a, b, c, d;

    acquire(&a, "t1", 1);
    refresh(&b, "t1");
    refresh(&c, "t1");
    observe_election(&d, "");
    ilk__contention_free(contention);
    expect(&a, BROKEN);
    expect(&b, BROKEN);
    expect(&c, BROKEN);
    expect(&d, BROKEN);
    assert_int_equal(1, forgotten);
    assert_int_equal(0, leaves);
    setup();
}

/* ---- adopting, proclaiming, limits --------------------------------------- */

static ilk__contender *adopted;

static void adopt(void *self, ilk__contender *c)
{
    (void)self;
    adopted = c;
}

static void begin_with_adoption(void)
{
    static ilk__contention_store adopts;

    ilk__contention_free(contention);
    adopts = store;
    adopts.adopt = adopt;
    contention = ilk__contention_new(NULL, &adopts, NULL);
    assert_non_null(contention);
}

TEST(another_clients_hold_is_adopted)
{
    call a, b, c, d, e;

    begin_with_adoption();
    extend(&a, "t1");
    ilk__contender_failed(adopted, "ILKDOWN the store is down");
    expect(&a, ERROR);
    fire_after(60000);
    assert_int_equal(0, leaves); /* it is another's */
    extend(&b, "t1");
    ilk__contender_lost(adopted);
    expect(&b, ILK__CODE_LOST);
    extend(&c, "t1");
    ilk__contender_granted(adopted, 4, ilk__now_ms() + 30000);
    expect(&c, ILK__CODE_HELD);
    assert_int_equal(4, c.numbers[1]);
    release(&d, "t1");
    ilk__contender_left(left, ILK__LEFT_ITS_HOLD);
    expect(&d, ILK__CODE_RELEASED);
    release(&e, "t2"); /* of a token that is not known here */
    assert_int_equal(2, leaves);
    ilk__contender_left(left, ILK__LEFT_ITS_HOLD);
    expect(&e, ILK__CODE_RELEASED);
}

TEST(an_unknown_token_is_lost)
{
    call a, b;

    extend(&a, "t1");
    expect(&a, ILK__CODE_LOST);
    release(&b, "t1");
    expect(&b, ILK__CODE_LOST);
}

static void send_value(call *c, const char *value)
{
    send(c, ILK__SCRIPT_ELECTION_PROCLAIM, KEY, "t1", value, "100", NULL);
}

TEST(a_leader_proclaims)
{
    call a, b, c, d, e;

    joining = GRANTS;
    send(&a, ILK__SCRIPT_ELECTION_CAMPAIGN, KEY, "t1", "30000", "label", "0",
         "", "me", "", "5000", "2000", "100", "first", "", NULL);
    expect(&a, ILK__CODE_HELD);
    assert_int_equal(1, named->name.len);
    send_value(&b, "first");
    expect(&b, ILK__CODE_WRITTEN);
    send_value(&c, "second");
    ilk__contender_failed(proclaimed, "ILKDOWN the store is down");
    expect(&c, ERROR);
    send_value(&d, "second"); /* it may not be written */
    expect_none(&d);
    assert_int_equal(0, memcmp("second", proclaimed->value.data, 6));
    ilk__contender_granted(proclaimed, 5, INT64_MAX);
    expect(&d, ILK__CODE_WRITTEN);
    send_value(&e, "third");
    ilk__contender_lost(proclaimed);
    expect(&e, ILK__CODE_LOST);
}

TEST(limits_differ)
{
    call a, b;

    send(&a, ILK__SCRIPT_SEMAPHORE_ACQUIRE, "ilk:semaphore:{s}", "t1", "30000",
         "label", "0", "", "me", "0", "5000", "2000", "100", "2", "3", NULL);
    assert_int_equal(2, joined->permits);
    assert_int_equal(3, joined->limit);
    ilk__contender_differs(joined, 7, 8);
    expect(&a, ILK__CODE_DIFFERS);
    assert_int_equal(7, a.numbers[0]);
    fire_after(1);
    assert_int_equal(1, leaves);
    ilk__contender_left(left, ILK__LEFT_NO_HOLD);
    send(&b, ILK__SCRIPT_SEMAPHORE_LIMIT, "ilk:semaphore:{s}", "4", "3", "2000",
         "100", "5000", NULL);
    expect(&b, ILK__CODE_WRITTEN);
    assert_int_equal(5, b.numbers[0]);
}

/* All contenders of a name, of which every second one is lost on the way. */
TEST(a_list_of_all_survives_losses)
{
    enum { MANY = 10000 };
    ilk__contender *one = NULL;
    int count = 0;

    joining = QUEUES;
    for (int i = 0; i < MANY; i++) {
        char token[32];
        call c;

        snprintf(token, sizeof token, "t%d", i);
        acquire(&c, token, 1);
        expect(&c, ILK__CODE_QUEUED);
    }
    while ((one = ilk__contention_next(contention, NULL, one)))
        if (++count % 2)
            ilk__contender_lost(one);
    assert_int_equal(MANY, count);
    assert_int_equal(MANY / 2, forgotten);
    fire_after(6000);
    assert_int_equal(MANY / 2, leaves);
}

/* Each allocation in turn fails, with all after it. */
TEST(memory_runs_out)
{
    int failed = 1;

    joining = GRANTS;
    for (long at = 1; failed; at++) {
        const ilk__contended_state nobody = {0};
        char token[32];
        call a, b, c, d;

        assert_true(at < 200);
        snprintf(token, sizeof token, "t%ld", at);
        inspected = checked = NULL;
        ilk__alloc_fail_at(at);
        acquire(&a, token, 1);
        refresh(&b, token);
        if (checked)
            ilk__contention_checked(named, checked, NULL);
        observe_election(&c, "");
        if (inspected)
            ilk__contention_inspected(named, inspected, &nobody, NULL);
        release(&d, token);
        if (d.replies == 0)
            ilk__contender_left(left, ILK__LEFT_ITS_HOLD);
        failed = ilk__alloc_count() >= at;
        ilk__alloc_fail_at(0);
        assert_int_equal(1, a.replies);
        assert_int_equal(1, b.replies);
        assert_int_equal(1, c.replies);
        assert_int_equal(1, d.replies);
        assert_true(a.code == BROKEN || a.code == ILK__CODE_HELD);
        assert_int_equal(a.code == BROKEN ? ILK__CODE_LOST : ILK__CODE_RELEASED,
                         d.code);
        fire_after(100000);
        fire_after(100000);
    }
}

/* ---- many, over the list store ------------------------------------------- */

enum { CLIENTS = 2, PARTIES = 8, STEPS = 6000 };

/* The scripts of a primitive whose holds are contended for. */
typedef struct primitive {
    char kind;
    int acquire, release, cancel, extend, refresh, inspect;
} primitive;

static const primitive lock = {'x',
                               ILK__SCRIPT_LOCK_ACQUIRE,
                               ILK__SCRIPT_LOCK_RELEASE,
                               ILK__SCRIPT_LOCK_CANCEL,
                               ILK__SCRIPT_LOCK_EXTEND,
                               ILK__SCRIPT_LOCK_REFRESH,
                               ILK__SCRIPT_LOCK_INSPECT};
static const primitive semaphore = {'p',
                                    ILK__SCRIPT_SEMAPHORE_ACQUIRE,
                                    ILK__SCRIPT_SEMAPHORE_RELEASE,
                                    ILK__SCRIPT_SEMAPHORE_CANCEL,
                                    ILK__SCRIPT_SEMAPHORE_EXTEND,
                                    ILK__SCRIPT_SEMAPHORE_REFRESH,
                                    ILK__SCRIPT_SEMAPHORE_INSPECT};

typedef enum party_state {
    IDLE,
    JOINING,
    WAITING,
    HOLDING,
    ENDING
} party_state;

typedef struct party {
    party_state state;
    int is_under_way, is_refresh, extends, is_woken;
    int64_t sent_at, deadline;
    int64_t fence;
    long number;
    char token[32], entry[WORD], permits[8];
    call request;
} party;

static struct {
    void *store[CLIENTS];
    party parties[CLIENTS][PARTIES];
    const primitive *of;
    unsigned dice;
    int64_t last_fence;
    long tokens, holds, errors, wrong;
    int is_ending;
} crowd;

static void post(int client, party *p, int script, ...)
{
    va_list args;

    va_start(args, script);
    prepare_call(&p->request, script, "orders", args);
    va_end(args);
    p->is_under_way = 1;
    p->sent_at = ilk__now_ms();
    list_backend.call(crowd.store[client], &p->request.request);
}

static void check_alone(const party *one)
{
    for (int i = 0; i < CLIENTS; i++)
        for (int j = 0; j < PARTIES; j++) {
            const party *p = &crowd.parties[i][j];

            if (p != one && p->state == HOLDING && ilk__now_ms() < p->deadline)
                crowd.wrong++;
        }
}

static void hold(party *p, int64_t fence, int64_t lease)
{
    p->deadline = p->sent_at + lease;
    if (p->state == HOLDING)
        return;
    p->state = HOLDING;
    if (crowd.of == &lock) {
        check_alone(p);
        crowd.wrong += fence <= crowd.last_fence; /* first come, first served */
    }
    crowd.last_fence = fence;
    p->fence = fence;
    p->extends = 1;
    crowd.holds++;
}

static void ask(int client, party *p)
{
    p->state = JOINING;
    p->is_woken = 0;
    post(client, p, crowd.of->acquire, p->token, "20000", "label", "0",
         p->entry, "me", "0", "3000", "1000", "100", p->permits, "3", NULL);
}

static void begin(int client, party *p)
{
    int permits;

    p->number = ++crowd.tokens;
    snprintf(p->token, sizeof p->token, "t%ld", p->number);
    permits = 1 + rand_r(&crowd.dice) % 3;
    snprintf(p->permits, sizeof p->permits, "%d", permits);
    snprintf(p->entry, sizeof p->entry, "1 %c me %c%ld.s t%ld 20000 %d label",
             crowd.of->kind, crowd.of->kind, p->number, p->number, permits);
    if (rand_r(&crowd.dice) % 4 == 0)
        p->entry[0] = '\0';
    ask(client, p);
}

static void withdraw(int client, party *p)
{
    p->state = ENDING;
    post(client, p, crowd.of->cancel, p->entry, p->token, "1000", "100", "0",
         "3000", NULL);
}

static void give_up(int client, party *p)
{
    p->state = ENDING;
    post(client, p, crowd.of->release, p->token, "1000", "100", "0", "3000",
         NULL);
}

/* A grant is a message; its lease counts from its arrival. */
static void deliver(void *gateway, const char *text)
{
    long number;
    int64_t fence, lease;
    int client = (int)(intptr_t)gateway - 1;
    party *p = NULL;

    if (client < 0)
        return;
    if (sscanf(text, "1 %*s %*1s%ld.s", &number) != 1)
        abort();
    for (int i = 0; i < PARTIES; i++)
        if (crowd.parties[client][i].number == number)
            p = &crowd.parties[client][i];
    if (!p || (p->state != WAITING && p->state != JOINING))
        return;
    if (strncmp(text, "1 wake", 6) == 0) {
        p->is_woken = 1;
    } else if (sscanf(text, "1 grant %*s %*s %" SCNd64 " %" SCNd64, &fence,
                      &lease)
                   == 2
               && p->state == WAITING) {
        p->sent_at = ilk__now_ms();
        hold(p, fence, lease);
    }
}

static void take_refresh(party *p)
{
    int64_t numbers[7] = {0};
    const char *at = p->request.text;

    p->is_refresh = 0;
    if (p->request.code == ERROR || p->state != WAITING)
        return;
    for (int i = 0; i < 7; i++) {
        at = strchr(at, ':') + 1;
        numbers[i] = strtoll(at, NULL, 10);
    }
    if (numbers[4] == ILK__CODE_HELD)
        hold(p, numbers[6], numbers[5]);
    else if (numbers[4] == ILK__CODE_GONE)
        p->is_woken = 1;
}

static void take_reply(int client, party *p)
{
    const call *c = &p->request;

    assert_int_equal(1, c->replies);
    p->is_under_way = 0;
    crowd.errors += c->code == ERROR;
    if (p->is_refresh) {
        take_refresh(p);
    } else if (p->state == JOINING && c->code == ERROR) {
        if (rand_r(&crowd.dice) % 2)
            ask(client, p);
        else
            withdraw(client, p);
    } else if (p->state == JOINING && c->code == ILK__CODE_HELD) {
        hold(p, c->numbers[1], c->numbers[0]);
        p->extends = 0;
    } else if (p->state == JOINING) {
        p->state = c->code == ILK__CODE_QUEUED ? WAITING : IDLE;
    } else if (p->state == HOLDING && c->code == ILK__CODE_HELD) {
        hold(p, c->numbers[1], c->numbers[0]);
        p->extends = 0;
    } else if (p->state == HOLDING && c->code == ILK__CODE_LOST) {
        give_up(client, p);
    } else if (p->state == ENDING) {
        if (c->code == ERROR)
            give_up(client, p);
        else
            p->state = IDLE;
    }
}

static void act(int client, party *p)
{
    unsigned dice = (unsigned)rand_r(&crowd.dice) % 100;

    if (p->is_under_way) {
        if (p->request.replies)
            take_reply(client, p);
        return;
    }
    if (p->state == IDLE && !crowd.is_ending && dice < 20) {
        begin(client, p);
    } else if (p->state == WAITING && p->is_woken) {
        ask(client, p);
    } else if (p->state == WAITING && dice < 2) {
        withdraw(client, p);
    } else if (p->state == WAITING && dice < 12) {
        p->is_refresh = 1;
        post(client, p, crowd.of->refresh, "me", "3000", "1000", "100", "1",
             p->entry, NULL);
    } else if (p->state == HOLDING && p->extends) {
        post(client, p, crowd.of->extend, p->token, "20000", "1", NULL);
    } else if (p->state == HOLDING && dice < 30) {
        give_up(client, p);
    }
}

static int is_quiet(void)
{
    for (int i = 0; i < CLIENTS; i++)
        for (int j = 0; j < PARTIES; j++)
            if (crowd.parties[i][j].state != IDLE
                || crowd.parties[i][j].is_under_way)
                return 0;
    return 1;
}

static void step(void)
{
    const struct timespec pause = {.tv_nsec = 200000};

    for (int i = 0; i < CLIENTS; i++) {
        list_backend.polled(crowd.store[i], NULL, 0);
        for (int j = 0; j < PARTIES; j++)
            act(i, &crowd.parties[i][j]);
    }
    nanosleep(&pause, NULL);
}

/* A failed one is repeated. */
static void inspect_first(call *c, ...)
{
    va_list args;

    do {
        va_start(args, c);
        prepare_call(c, crowd.of->inspect, "orders", args);
        va_end(args);
        list_backend.call(crowd.store[0], &c->request);
        while (!c->replies)
            step();
    } while (c->code == ERROR);
}

static void contend(const primitive *of)
{
    const unsigned seed = (unsigned)time(NULL);
    char options[80];
    ilk__url url = {.options = options};
    call c;
    int steps = 0;

    print_message("seed %u\n", seed);
    memset(&crowd, 0, sizeof crowd);
    crowd.of = of;
    crowd.dice = seed;
    for (int i = 0; i < CLIENTS; i++) {
        snprintf(options, sizeof options, "late=40&fail=10&lose=10&seed=%u",
                 seed + (unsigned)i + 1);
        assert_int_equal(ILK_OK,
                         list_backend.open(&crowd.store[i],
                                           (ilk__gateway *)(intptr_t)(i + 1),
                                           &url, NULL));
    }
    for (int i = 0; i < STEPS; i++)
        step();
    crowd.is_ending = 1;
    while (!is_quiet() && steps++ < 60000)
        step();
    assert_true(is_quiet());
    for (int i = 0; i < 500; i++)
        step();
    print_message("%ld attempts, %ld holds, %ld errors\n", crowd.tokens,
                  crowd.holds, crowd.errors);
    assert_int_equal(0, crowd.wrong);
    assert_int_equal(0, list_store_overlaps());
    assert_true(crowd.holds > 20);
    assert_true(crowd.errors > 20);
    inspect_first(&c, "16", NULL);
    expect(&c, ILK__CODE_FREE);
    for (int i = 0; i < CLIENTS; i++)
        list_backend.close(crowd.store[i]);
    list_store_reset();
}

TEST_WITH(NULL, NULL, two_clients_contend_for_a_lock)
{
    contend(&lock);
}

TEST_WITH(NULL, NULL, two_clients_contend_for_permits)
{
    contend(&semaphore);
}

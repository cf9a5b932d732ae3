/* SPDX-License-Identifier: MIT */
/* ut_registers.c -- registers against a store that reports when a test says so. */
#include "base/alloc.h"
#include "base/clock.h"
#include "noted_calls.h"
#include "redis/expected_reply.h"
#include "redis/script.h"
#include "stores/shared/registers.h"
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- a store ------------------------------------------------------------- */

static ilk__registers *registers;
static ilk__register_name *named;
static ilk__gateway_request *asked; /* the last one, without a report */
static ilk__register_change changed;
static int reads, changes, watches, forgotten;
static ilk_status watching;

static void read_it(void *self, ilk__register_name *name,
                    ilk__gateway_request *request)
{
    (void)self;
    named = name;
    asked = request;
    reads++;
}

static void change_it(void *self, ilk__register_name *name,
                      const ilk__register_change *change,
                      ilk__gateway_request *request)
{
    (void)self;
    named = name;
    asked = request;
    changed = *change;
    changes++;
}

static ilk_status watch_it(void *self, ilk__register_name *name, int begins)
{
    (void)self;
    named = name;
    if (begins && watching)
        return watching;
    watches += begins ? 1 : -1;
    return ILK_OK;
}

static void forget_it(void *self, ilk__register_name *name)
{
    (void)self;
    (void)name;
    named = NULL;
    forgotten++;
}

static const ilk__register_store store = {.read = read_it,
                                          .change = change_it,
                                          .watch = watch_it,
                                          .forget_name = forget_it};

static int setup(void)
{
    message[0] = '\0';
    reads = changes = watches = forgotten = message_count = 0;
    watching = ILK_OK;
    registers = ilk__registers_new(NULL, &store, NULL);
    return registers ? 0 : -1;
}

static int teardown(void)
{
    ilk__registers_free(registers);
    return 0;
}

AROUND_EACH(setup, teardown);

static const char *const keys[] = {"r", "once", "wait", "live", NULL};

/* Arguments up to NULL. */
#define ask(c, script, ...)                                                    \
    (make_call((c), (script), keys, __VA_ARGS__),                              \
     assert_int_equal(1, ilk__registers_call(registers, &(c)->request)))

static void ask_wait(call *c, const char *entry, const char *known)
{
    ask(c, ILK__SCRIPT_REGISTER_WAIT, entry, "me.5ec", "6000", "64", "t", known,
        (char *)NULL);
}

static void answer(int64_t version, const char *value)
{
    const ilk__register_state state = {
        .version = version,
        .has_value = value != NULL,
        .value = {value ? value : "", value ? strlen(value) : 0}};

    ilk__register_was_read(named, asked, &state, NULL);
}

static void assert_text(const call *c, int code, const char *rest)
{
    char text[512];

    snprintf(text, sizeof text, "*%d\r\n:%" PRId64 "\r\n%s",
             c->request.script == ILK__SCRIPT_REGISTER_SET ? 5 : 4,
             ilk__reply_head(NUMBER, code), rest);
    assert_int_equal(1, c->replies);
    assert_string_equal(text, c->text);
}

/* Whether a refresh finds the entry. */
static int is_listed(const char *entry)
{
    call c;
    char queued[32];

    snprintf(queued, sizeof queued, "\r\n:%d\r\n:0\r\n:0\r\n",
             ILK__CODE_QUEUED);
    ask(&c, ILK__SCRIPT_STATE_REFRESH, "me.5ec", "6000", "5000", "64", "1",
        entry, (char *)NULL);
    assert_int_equal(ILK__CODE_BUSY, c.code);
    return strstr(c.text, queued) != NULL;
}

/* ---- tests --------------------------------------------------------------- */

TEST(a_value_is_read_and_so_is_none)
{
    call c;

    ask(&c, ILK__SCRIPT_REGISTER_GET, (char *)NULL);
    answer(9, "value");
    assert_text(&c, ILK__CODE_STATE, ":9\r\n:1\r\n$5\r\nvalue\r\n");
    ask(&c, ILK__SCRIPT_REGISTER_GET, (char *)NULL);
    answer(10, NULL);
    assert_text(&c, ILK__CODE_STATE, ":10\r\n:0\r\n$0\r\n\r\n");
    ask(&c, ILK__SCRIPT_REGISTER_GET, (char *)NULL);
    ilk__register_was_read(named, asked, NULL, "ILKDOWN away");
    assert_int_equal(ERROR, c.code);
    assert_string_equal("ILKDOWN away", c.text);
}

TEST(a_change_is_passed_on_and_its_end_replied)
{
    const ilk__register_state there = {
        .version = 8, .has_value = 1, .value = {"x", 1}};
    call c;

    ask(&c, ILK__SCRIPT_REGISTER_SET, "tok", "7", "new", "256", (char *)NULL);
    assert_int_equal(7, changed.known);
    assert_int_equal(0, changed.deletes);
    assert_memory_equal("tok", changed.token.at, 3);
    assert_memory_equal("new", changed.value.at, 3);
    ilk__register_had_changed(named, asked, 12);
    assert_int_equal(ILK__CODE_STATE, c.code);
    assert_int_equal(12, c.numbers[0]);
    assert_int_equal(1, c.numbers[1]);

    ask(&c, ILK__SCRIPT_REGISTER_SET, "tok", "7", "new", "256", (char *)NULL);
    ilk__register_was_refused(named, asked, &there, ILK__DOUBT_NONE);
    assert_text(&c, ILK__CODE_STALE, ":8\r\n:1\r\n$1\r\nx\r\n:0\r\n");
    ask(&c, ILK__SCRIPT_REGISTER_SET, "tok", "7", "new", "256", (char *)NULL);
    ilk__register_was_refused(named, asked, &there, ILK__DOUBT_IF_RETRIED);
    assert_text(&c, ILK__CODE_STALE, ":8\r\n:1\r\n$1\r\nx\r\n:1\r\n");

    ask(&c, ILK__SCRIPT_REGISTER_SET, "tok", "", "new", "256", (char *)NULL);
    ilk__register_was_changed(named, asked, 12, ILK__DOUBT);
    assert_int_equal(-2, c.numbers[1]);

    ask(&c, ILK__SCRIPT_REGISTER_DELETE, "tok", "", "256", (char *)NULL);
    assert_int_equal(-1, changed.known);
    assert_int_equal(1, changed.deletes);
    ilk__register_change_failed(named, asked, NULL);
    assert_int_equal(BROKEN, c.code);
    ask(&c, ILK__SCRIPT_REGISTER_DELETE, "tok", "", "256", (char *)NULL);
    ilk__register_change_failed(named, asked, "ILKDOWN away");
    assert_int_equal(ERROR, c.code);
}

TEST(a_waiter_is_listed_until_a_change_wakes_it)
{
    call c;

    ask_wait(&c, "entry", "5");
    assert_int_equal(1, watches);
    answer(5, "same");
    assert_int_equal(ILK__CODE_QUEUED, c.code);
    assert_true(is_listed("entry"));

    ilk__register_has_changed(named);

    assert_int_equal(1, message_count);
    assert_string_equal("ilk:inbox:me 1 change 5ec wait", message);
    assert_false(is_listed("entry"));
    ask_wait(&c, "entry", "5");
    answer(6, "new");
    assert_int_equal(ILK__CODE_STATE, c.code);
    assert_false(is_listed("entry"));
    assert_int_equal(1, watches); /* still the same */
}

TEST(a_change_before_the_reply_wakes_too)
{
    call c;

    ask_wait(&c, "entry", "5");
    ilk__register_has_changed(named);
    assert_int_equal(1, message_count);
    answer(5, "same"); /* it was read before */
    assert_int_equal(ILK__CODE_QUEUED, c.code);
    assert_false(is_listed("entry")); /* so the refresh says GONE */
}

TEST(waiters_of_one_client_get_one_message)
{
    call c;

    for (int i = 0; i < 3; i++) {
        char entry[16];

        snprintf(entry, sizeof entry, "entry%d", i);
        ask_wait(&c, entry, "5");
        answer(5, "same");
    }
    ilk__register_has_changed(named);
    assert_int_equal(1, message_count);
    assert_false(is_listed("entry0") || is_listed("entry2"));
}

TEST(a_look_is_not_listed)
{
    call c;

    ask_wait(&c, "", "5");
    answer(5, "same");
    assert_int_equal(ILK__CODE_BUSY, c.code);
    assert_int_equal(0, watches);
}

TEST(a_cancelled_or_silent_waiter_leaves_and_the_watch_ends)
{
    const int64_t now = ilk__now_ms();
    call c;

    ask_wait(&c, "one", "5");
    answer(5, "same");
    ask_wait(&c, "two", "5");
    answer(5, "same");
    ask(&c, ILK__SCRIPT_STATE_CANCEL, "one", "t", (char *)NULL);
    assert_int_equal(ILK__CODE_GONE, c.code);
    assert_false(is_listed("one"));
    ilk__registers_fire(registers, now + 3000);
    assert_int_equal(1, watches);

    ilk__registers_fire(registers, now + 9000); /* "two" was not refreshed */
    ilk__registers_fire(registers, ilk__now_ms() + 3000);

    assert_false(is_listed("two"));
    assert_int_equal(0, watches);
    assert_int_equal(1, forgotten);
    assert_int_equal(0, message_count);
}

TEST(a_name_in_use_is_not_forgotten)
{
    call c;

    ask(&c, ILK__SCRIPT_REGISTER_GET, (char *)NULL);
    ilk__registers_fire(registers, ilk__now_ms() + 60000);
    assert_int_equal(0, forgotten);
    answer(1, "x");
    ilk__registers_fire(registers, ilk__now_ms() + 60000);
    assert_int_equal(1, forgotten);
}

TEST(senseless_requests_are_refused)
{
    call c;

    ask(&c, ILK__SCRIPT_REGISTER_SET, "", "", "v", "1", (char *)NULL);
    assert_int_equal(ERROR, c.code);
    ask(&c, ILK__SCRIPT_REGISTER_SET, "t", "-1", "v", "1", (char *)NULL);
    assert_int_equal(ERROR, c.code);
    ask_wait(&c, "entry", "x");
    assert_int_equal(ERROR, c.code);
    ask(&c, ILK__SCRIPT_STATE_REFRESH, "me", "0", "5000", "64", "0",
        (char *)NULL);
    assert_int_equal(ERROR, c.code);
    assert_int_equal(0, reads + changes);
}

TEST(without_memory_the_connection_breaks)
{
    call c;

    watching = ILK_ENOMEM;
    ask_wait(&c, "entry", "5");
    assert_int_equal(BROKEN, c.code);
    assert_false(is_listed("entry"));
    watching = ILK_OK;
    for (long at = 1; at < 20; at++) {
        ask(&c, ILK__SCRIPT_STATE_CANCEL, "entry", "t", (char *)NULL);
        ilk__alloc_fail_at(at);
        ask_wait(&c, "entry", "5");
        if (!c.replies)
            answer(5, "same");
        ilk__alloc_fail_at(0);
        assert_int_equal(1, c.replies);
        assert_true(c.code == BROKEN || c.code == ILK__CODE_QUEUED);
    }
    assert_int_equal(ILK__CODE_QUEUED, c.code);
}

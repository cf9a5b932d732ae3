/* SPDX-License-Identifier: MIT */
/* ut_groups.c -- groups against a store that reports when a test says so. */
#include "base/alloc.h"
#include "base/clock.h"
#include "noted_calls.h"
#include "redis/expected_reply.h"
#include "redis/script.h"
#include "stores/shared/groups.h"
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a store ------------------------------------------------------------- */

static ilk__groups *groups;
static ilk__group_name *named;
static ilk__gateway_request *asked; /* the last one about a member */
static ilk__group_member member;
static int joins, renewals, updates, leaves, lists, watched, forgotten;

#define ABOUT_MEMBER(verb, count)                                              \
    static void verb(void *self, ilk__group_name *name,                        \
                     const ilk__group_member *about,                           \
                     ilk__gateway_request *request)                            \
    {                                                                          \
        (void)self;                                                            \
        named = name;                                                          \
        asked = request;                                                       \
        member = *about;                                                       \
        (count)++;                                                             \
    }

ABOUT_MEMBER(join, joins)
ABOUT_MEMBER(renew, renewals)
ABOUT_MEMBER(update, updates)
ABOUT_MEMBER(leave, leaves)

static void list(void *self, ilk__group_name *name, int watches)
{
    (void)self;
    named = name;
    watched = watches;
    lists++;
}

static void forget(void *self, ilk__group_name *name)
{
    (void)self;
    (void)name;
    named = NULL;
    forgotten++;
}

static const ilk__group_store store = {.join = join,
                                       .renew = renew,
                                       .update = update,
                                       .leave = leave,
                                       .list = list,
                                       .forget_name = forget};

static int setup(void)
{
    message[0] = '\0';
    message_count = joins = renewals = updates = leaves = lists = 0;
    watched = forgotten = 0;
    groups = ilk__groups_new(NULL, &store, NULL);
    return groups ? 0 : -1;
}

static int teardown(void)
{
    ilk__groups_free(groups);
    return 0;
}

AROUND_EACH(setup, teardown);

static const char *const keys[] = {"g",       "data", "wait", "live",
                                   "changed", "gone", NULL};

/* Arguments up to NULL. */
#define ask(c, script, ...)                                                    \
    (make_call((c), (script), keys, __VA_ARGS__),                              \
     assert_int_equal(1, ilk__groups_call(groups, &(c)->request)))

/* A reader's place. */
static int64_t cursor, base;

static void ask_page(call *c, const char *count)
{
    char from[24], known[24];

    snprintf(from, sizeof from, "%" PRId64, cursor);
    snprintf(known, sizeof known, "%" PRId64, base);
    ask(c, ILK__SCRIPT_GROUP_READ, from, known, count, "256", (char *)NULL);
}

static void ask_watch(call *c, const char *entry)
{
    char from[24], known[24];

    snprintf(from, sizeof from, "%" PRId64, cursor);
    snprintf(known, sizeof known, "%" PRId64, base);
    ask(c, ILK__SCRIPT_GROUP_WATCH, entry, "me.5ec", "6000", "64", "t", from,
        known, "1000", "256", (char *)NULL);
}

static ilk__span span(const char *text)
{
    return (ilk__span){text, strlen(text)};
}

static void has(const char *id, const char *data, int64_t revision)
{
    char value[64];

    snprintf(value, sizeof value, "1 tok %s", data);
    ilk__group_has(named, span(id), span(value), revision);
}

/* A list with one letter for each id, whose data is the same letter. */
static void report_list(const char *ids, int64_t revision)
{
    ilk__group_list_begins(named);
    for (; *ids; ids++)
        has((char[]){*ids, '\0'}, (char[]){*ids, '\0'}, revision);
    ilk__group_list_ends(named, revision);
}

static void answer_list(const char *ids, int64_t revision)
{
    report_list(ids, revision);
    ilk__group_was_listed(named, NULL);
}

static void next_text(char **from, char to[64])
{
    const size_t len = (size_t)strtol(strchr(*from, '$') + 1, from, 10);

    assert_true(len < 64);
    memcpy(to, *from + 2, len);
    to[len] = '\0';
    *from += 2 + len;
}

static int64_t next_number(char **from)
{
    return strtoll(strchr(*from, ':') + 1, from, 10);
}

/* The reply is a page: `a=1 b=2 -c`; the reader takes its place behind it. */
static void assert_page(call *c, int is_full, int more, const char *expected)
{
    char found[512] = "", ids[8][64], text[64], *at = c->text;
    size_t len = 0;
    long elements;
    int count;

    assert_int_equal(1, c->replies);
    assert_int_equal(ILK__CODE_STATE, c->code);
    elements = strtol(at + 1, NULL, 10);
    (void)next_number(&at);
    assert_int_equal(is_full, next_number(&at));
    base = next_number(&at);
    cursor = next_number(&at);
    assert_int_equal(more, next_number(&at));
    if (!more)
        base = cursor;
    count = (int)next_number(&at);
    for (int i = 0; i < count; i++)
        next_text(&at, ids[i]);
    for (int i = 0; i < count; i++) {
        next_text(&at, text);
        len += (size_t)snprintf(found + len, sizeof found - len, "%s=%s ",
                                ids[i], strrchr(text, ' ') + 1);
    }
    for (long i = 6 + 2 * count; i < elements; i++) {
        next_text(&at, text);
        len += (size_t)snprintf(found + len, sizeof found - len, "-%s ", text);
    }
    assert_string_equal(expected, found);
    assert_string_equal("\r\n", at);
}

/* The reader knows all of a group with these members. */
static void know(call *c, const char *ids, int64_t revision)
{
    cursor = 0;
    base = -1;
    ask_watch(c, "entry");
    answer_list(ids, revision);
    assert_int_equal(ILK__CODE_STATE, c->code);
    base = cursor = strtoll(strstr(c->text, "\r\n:1\r\n:") + 7, NULL, 10);
}

static int is_listed(const char *entry)
{
    call c;
    char queued[32];

    snprintf(queued, sizeof queued, "\r\n:%d\r\n:0\r\n:0\r\n",
             ILK__CODE_QUEUED);
    ask(&c, ILK__SCRIPT_GROUP_REFRESH, "me.5ec", "6000", "5000", "64", "1",
        entry, (char *)NULL);
    assert_int_equal(ILK__CODE_BUSY, c.code);
    return strstr(c.text, queued) != NULL;
}

/* ---- members ------------------------------------------------------------- */

TEST(a_request_is_passed_on_and_its_end_replied)
{
    call c;

    ask(&c, ILK__SCRIPT_GROUP_JOIN, "id", "tok", "data", "9000", "256",
        (char *)NULL);
    assert_memory_equal("id", member.id.at, 2);
    assert_memory_equal("tok", member.token.at, 3);
    assert_memory_equal("data", member.data.at, 4);
    assert_int_equal(9000, member.lease_ms);
    ilk__group_held(named, asked, 8990);
    assert_int_equal(ILK__CODE_HELD, c.code);
    assert_int_equal(8990, c.numbers[0]);
    assert_int_equal(0, c.numbers[1] + c.numbers[2]);

    ask(&c, ILK__SCRIPT_GROUP_JOIN, "id", "tok2", "", "9000", "256",
        (char *)NULL);
    ilk__group_refused(named, asked);
    assert_int_equal(ILK__CODE_BUSY, c.code);

    ask(&c, ILK__SCRIPT_GROUP_RENEW, "id", "tok", "9000", "1", (char *)NULL);
    assert_int_equal(9000, member.lease_ms);
    ilk__group_held(named, asked, 8990);
    assert_int_equal(ILK__CODE_HELD, c.code);
    assert_true(c.numbers[2] > 0);

    ask(&c, ILK__SCRIPT_GROUP_UPDATE, "id", "tok", "new", "256", (char *)NULL);
    assert_memory_equal("new", member.data.at, 3);
    ilk__group_done(named, asked);
    assert_int_equal(ILK__CODE_WRITTEN, c.code);

    ask(&c, ILK__SCRIPT_GROUP_LEAVE, "id", "tok", "256", (char *)NULL);
    ilk__group_done(named, asked);
    assert_int_equal(ILK__CODE_RELEASED, c.code);
    ask(&c, ILK__SCRIPT_GROUP_LEAVE, "id", "tok", "256", (char *)NULL);
    ilk__group_lost(named, asked);
    assert_int_equal(ILK__CODE_LOST, c.code);
    ask(&c, ILK__SCRIPT_GROUP_LEAVE, "id", "tok", "256", (char *)NULL);
    ilk__group_failed(named, asked, NULL);
    assert_int_equal(BROKEN, c.code);
    ask(&c, ILK__SCRIPT_GROUP_LEAVE, "id", "tok", "256", (char *)NULL);
    ilk__group_failed(named, asked, "ILKDOWN away");
    assert_int_equal(ERROR, c.code);
    assert_int_equal(0, lists);
}

TEST(a_join_that_comes_after_its_leave_is_refused)
{
    call c;

    ask(&c, ILK__SCRIPT_GROUP_LEAVE, "id", "tok", "256", (char *)NULL);
    ilk__group_lost(named, asked);
    ask(&c, ILK__SCRIPT_GROUP_JOIN, "id", "tok", "", "9000", "256",
        (char *)NULL);
    assert_int_equal(ERROR, c.code);
    assert_int_equal(0, joins);
    ask(&c, ILK__SCRIPT_GROUP_JOIN, "id", "tok2", "", "9000", "256",
        (char *)NULL);
    assert_int_equal(1, joins);
    ilk__group_held(named, asked, 1);
}

TEST(a_value_has_its_token)
{
    const ilk__group_member about = {.token = span("tok"), .data = span("x y")};
    ilk__bytes value;

    assert_int_equal(ILK_OK, ilk__group_value(&value, &about));
    assert_int_equal(9, value.len);
    assert_memory_equal("1 tok x y", value.data, 9);
    assert_true(ilk__group_is_value((ilk__span){value.data, value.len}));
    ilk__free(value.data);
    assert_true(ilk__group_has_token(span("1 tok "), span("tok")));
    assert_false(ilk__group_has_token(span("1 toks "), span("tok")));
    assert_false(ilk__group_has_token(span("1 tok"), span("tok")));
    assert_false(ilk__group_is_value(span("2 tok x")));
    assert_false(ilk__group_is_value(span("1  x")));
    assert_false(ilk__group_is_value(span("1 tok")));
}

/* ---- reading ------------------------------------------------------------- */

TEST(members_are_read_by_pages_of_one_list)
{
    call c;

    cursor = 0;
    base = -1;
    ask_page(&c, "2");
    assert_int_equal(1, lists);
    assert_false(watched);
    assert_int_equal(0, c.replies);
    answer_list("abc", 5);
    assert_page(&c, 1, 1, "a=a b=b ");
    ask_page(&c, "2");
    assert_page(&c, 0, 0, "c=c ");
    assert_int_equal(1, lists);

    ask_page(&c, "2"); /* from the start: another list */
    assert_int_equal(2, lists);
    ilk__group_was_listed(named, "ILKDOWN away");
    assert_int_equal(ERROR, c.code);
    assert_string_equal("ILKDOWN away", c.text);
}

TEST(nobody_is_a_whole_page)
{
    call c;

    know(&c, "", 5);
    ask_watch(&c, "");
    assert_int_equal(2, lists);
    answer_list("", 6);
    assert_int_equal(ILK__CODE_BUSY, c.code);
}

TEST(a_read_shows_what_was_done_before_it_came)
{
    call first, second, third;

    cursor = 0;
    base = -1;
    ask_page(&first, "9");
    ask_page(&second, "9");
    ask_page(&third, "9");
    assert_int_equal(1, lists);
    answer_list("a", 5);
    assert_page(&first, 1, 0, "a=a ");
    assert_int_equal(0, second.replies + third.replies);
    assert_int_equal(2, lists); /* for both */
    answer_list("ab", 6);
    assert_page(&second, 1, 0, "a=a b=b ");
    assert_page(&third, 1, 0, "a=a b=b ");
    assert_int_equal(2, lists);
}

TEST(changes_come_once_and_those_who_left_with_them)
{
    call c;

    know(&c, "abc", 5);
    has("b", "2", 6);
    ilk__group_has_left(named, span("a"), 7);
    has("d", "d", 8);
    ask_watch(&c, "entry");
    ilk__group_was_listed(named, NULL);
    assert_page(&c, 0, 0, "b=2 d=d -a ");
    has("a", "1", 9);
    ask_watch(&c, "entry");
    ilk__group_was_listed(named, NULL);
    assert_page(&c, 0, 0, "a=1 ");
    has("a", "1", 10); /* the same again */
    ask_watch(&c, "entry");
    ilk__group_was_listed(named, NULL);
    assert_int_equal(ILK__CODE_QUEUED, c.code);
}

TEST(an_older_report_is_ignored)
{
    call c;

    know(&c, "a", 5);
    has("a", "9", 9);
    ilk__group_has_left(named, span("b"), 9); /* nobody knew it */
    has("c", "c", 9);
    ask_page(&c, "9");
    ilk__group_list_begins(named); /* as of revision 8 */
    has("a", "8", 8);
    has("b", "b", 8);
    ilk__group_list_ends(named, 8);
    ilk__group_was_listed(named, NULL);
    assert_page(&c, 0, 0, "a=9 c=c -b ");
    ask_page(&c, "9");
    answer_list("", 10);
    assert_page(&c, 0, 0, "-a -c ");
}

TEST(a_text_that_is_no_value_is_nobody)
{
    call c;

    know(&c, "ab", 5);
    ilk__group_has(named, span("a"), span("strange"), 6);
    ilk__group_has(named, span("x"), span("strange"), 6);
    ask_watch(&c, "entry");
    ilk__group_was_listed(named, NULL);
    assert_page(&c, 0, 0, "-a -x ");
}

TEST(a_reader_behind_too_many_departures_begins_again)
{
    enum { MOST = 10000 };
    char id[16];
    call c;

    know(&c, "a", 5);
    for (int i = 0; i <= MOST; i++) {
        snprintf(id, sizeof id, "id%d", i);
        has(id, "", 6);
        ilk__group_has_left(named, span(id), 7);
    }
    ask_watch(&c, "entry");
    ilk__group_was_listed(named, NULL);
    assert_page(&c, 1, 0, "a=a ");
}

TEST(a_reader_of_a_view_that_was_dropped_begins_again)
{
    call c;

    know(&c, "ab", 5);
    ilk__groups_fire(groups, ilk__now_ms() + 60000);
    assert_int_equal(1, forgotten);
    ask_watch(&c, "entry");
    assert_int_equal(2, lists);
    answer_list("a", 6);
    assert_page(&c, 1, 0, "a=a ");
}

/* ---- waiting ------------------------------------------------------------- */

TEST(a_waiter_is_listed_until_a_change_wakes_it)
{
    call c;

    know(&c, "a", 5);
    assert_true(watched);
    ask_watch(&c, "entry");
    answer_list("a", 5);
    assert_int_equal(ILK__CODE_QUEUED, c.code);
    assert_true(is_listed("entry"));

    has("b", "b", 6);

    assert_int_equal(1, message_count);
    assert_string_equal("ilk:inbox:me 1 change 5ec wait", message);
    assert_false(is_listed("entry"));
    ask_watch(&c, "entry");
    answer_list("ab", 6);
    assert_page(&c, 0, 0, "b=b ");
}

TEST(a_look_asks_the_store_and_is_not_listed)
{
    call c;

    know(&c, "a", 5);
    ask_watch(&c, "");
    assert_int_equal(2, lists);
    answer_list("a", 6);
    assert_int_equal(ILK__CODE_BUSY, c.code);
    ask_watch(&c, "");
    answer_list("ab", 7);
    assert_page(&c, 0, 0, "b=b ");
}

TEST(an_interruption_lists_again_and_wakes_for_a_change)
{
    call c;

    know(&c, "ab", 5);
    ask_watch(&c, "entry");
    answer_list("ab", 5);
    ilk__group_interrupted(named);
    assert_int_equal(2, lists);
    ilk__groups_fire(groups, ilk__now_ms() + 1000);
    assert_int_equal(3, lists);
    ilk__group_was_listed(named, "ILKDOWN away"); /* so it is repeated */
    ilk__groups_fire(groups, ilk__now_ms() + 1000);
    assert_int_equal(4, lists);
    answer_list("ab", 6);
    assert_int_equal(0, message_count);
    assert_true(is_listed("entry"));

    ilk__group_interrupted(named);
    ilk__groups_fire(groups, ilk__now_ms() + 1000);
    answer_list("a", 7);
    assert_int_equal(1, message_count);
    ask_watch(&c, "entry");
    answer_list("a", 7);
    assert_page(&c, 0, 0, "-b ");
}

TEST(an_interruption_of_a_list_is_noticed)
{
    call c;

    know(&c, "a", 5);
    ilk__group_interrupted(named);
    ask_watch(&c, "entry");
    assert_int_equal(2, lists);
    ilk__group_interrupted(named);
    answer_list("a", 6);
    assert_int_equal(ILK__CODE_QUEUED, c.code);
    ilk__groups_fire(groups, ilk__now_ms() + 1000);
    assert_int_equal(3, lists);
    answer_list("", 7);
    assert_int_equal(1, message_count);
}

TEST(a_cancelled_waiter_leaves_and_the_group_is_forgotten)
{
    call c;

    know(&c, "a", 5);
    ask_watch(&c, "entry");
    answer_list("a", 5);
    make_call(&c, ILK__SCRIPT_STATE_CANCEL, keys, "other", "t", (char *)NULL);
    assert_int_equal(0, ilk__groups_call(groups, &c.request));
    ask(&c, ILK__SCRIPT_STATE_CANCEL, "entry", "t", (char *)NULL);
    assert_int_equal(ILK__CODE_GONE, c.code);
    assert_false(is_listed("entry"));
    ilk__groups_fire(groups, ilk__now_ms() + 3000);
    assert_int_equal(1, forgotten);
    assert_int_equal(0, message_count);
}

TEST(a_group_in_use_is_not_forgotten)
{
    call c;

    cursor = 0;
    base = -1;
    ask_page(&c, "9");
    ilk__groups_fire(groups, ilk__now_ms() + 60000);
    assert_int_equal(0, forgotten);
    answer_list("", 1);
    ilk__groups_fire(groups, ilk__now_ms() + 60000);
    assert_int_equal(1, forgotten);
}

/* ---- faults -------------------------------------------------------------- */

TEST(senseless_requests_are_refused)
{
    call c;

    ask(&c, ILK__SCRIPT_GROUP_JOIN, "", "t", "", "9000", "256", (char *)NULL);
    assert_int_equal(ERROR, c.code);
    ask(&c, ILK__SCRIPT_GROUP_JOIN, "id", "a t", "", "9000", "256",
        (char *)NULL);
    assert_int_equal(ERROR, c.code);
    ask(&c, ILK__SCRIPT_GROUP_JOIN, "id", "t", "", "0", "256", (char *)NULL);
    assert_int_equal(ERROR, c.code);
    ask(&c, ILK__SCRIPT_GROUP_LEAVE, "id", "", "256", (char *)NULL);
    assert_int_equal(ERROR, c.code);
    ask(&c, ILK__SCRIPT_GROUP_READ, "x", "-1", "9", "256", (char *)NULL);
    assert_int_equal(ERROR, c.code);
    ask(&c, ILK__SCRIPT_GROUP_READ, "0", "-1", "0", "256", (char *)NULL);
    assert_int_equal(ERROR, c.code);
    assert_int_equal(0, joins + leaves + lists);
}

TEST(without_memory_no_page_lacks_a_member)
{
    call c;
    long at = 1;

    for (; at < 80; at++) {
        const int before = lists;

        ilk__groups_free(groups);
        groups = ilk__groups_new(NULL, &store, NULL);
        assert_non_null(groups);
        cursor = 0;
        base = -1;
        ilk__alloc_fail_at(at);
        ask_watch(&c, "entry");
        if (lists > before)
            report_list("abc", 5);
        if (at % 2) /* there is memory again, or not yet */
            ilk__alloc_fail_at(0);
        if (lists > before)
            ilk__group_was_listed(named, NULL);
        ilk__alloc_fail_at(0);
        assert_int_equal(1, c.replies);
        if (c.code == ILK__CODE_STATE)
            assert_page(&c, 1, 0, "a=a b=b c=c ");
        else
            assert_true(c.code == BROKEN || c.code == ERROR);
    }
    assert_int_equal(ILK__CODE_STATE, c.code);
}

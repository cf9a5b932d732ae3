/* SPDX-License-Identifier: MIT */
/* ut_cluster_split.c -- requests whose names are in several slots: their parts, and
 * the reply that those of the parts make. No slot has a node here, so all commands
 * wait in the list `paused`, where the test takes them. */
#include "stores/cluster/cluster_internal.h"
#include "stores/cluster/cluster_split_internal.h"

#include "base/alloc.h"
#include "gateway/gateway_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

enum { WORDS = 64, TEXT = 2048, NUMBER = 7, SIGNAL = 4, QUEUE = 9, LOCK = 5 };

/* The slots of the names: b 3300, c 7365, a 15495. */

static ilk__cluster *cluster;
static ilk__session session;
static ilk__session_request request;
static ilk__reply words[WORDS], *pointers[WORDS];
static char bytes[WORDS][64];
static char said[TEXT];

static int set_up(void)
{
    cluster = calloc(1, sizeof *cluster);
    assert_non_null(cluster);
    for (size_t i = 0; i < ILK__SLOTS; i++)
        cluster->owner[i] = -1;
    cluster->patience_ms = 3000;
    return 0;
}

static int tear_down(void)
{
    ilk__alloc_fail_at(0);
    ilk__cluster_end_all(cluster);
    ilk__buf_free(&request.reply);
    ilk__free(cluster->tried);
    free(cluster);
    return 0;
}

AROUND_EACH(set_up, tear_down);

/* ---- the request --------------------------------------------------------- */

static size_t word_count;

static void add_word(const char *text)
{
    size_t i = word_count++;

    assert_true(i < WORDS);
    snprintf(bytes[i], sizeof bytes[i], "%s", text);
    words[i] = (ilk__reply){
        .type = ILK__REPLY_STR, .str = bytes[i], .len = strlen(bytes[i])};
    pointers[i] = &words[i];
}

/* Each name has so many keys, `0:{name}` and so on. In `args` a `''` is empty, and a
 * `_` a space. */
static void set_request(int script, int keys, const char *names,
                        const char *args)
{
    char copy[512], key[64], *rest = copy;

    word_count = 0;
    snprintf(copy, sizeof copy, "%s", names);
    for (char *name; (name = strtok_r(rest, " ", &rest));)
        for (int i = 0; i < keys; i++) {
            snprintf(key, sizeof key, *name == '{' ? "%d:%s" : "%d:{%s}", i,
                     name);
            add_word(key);
        }
    ilk__buf_free(&request.reply);
    session = (ilk__session){.first = NULL};
    request = (ilk__session_request){.call = {.script = script,
                                              .keys = pointers,
                                              .key_count = word_count,
                                              .args = pointers + word_count,
                                              .number = NUMBER},
                                     .session = &session,
                                     .state = ILK__REQUEST_BEGUN};
    rest = copy;
    snprintf(copy, sizeof copy, "%s", args);
    for (char *arg; (arg = strtok_r(rest, " ", &rest));) {
        add_word(strcmp(arg, "''") == 0 ? "" : arg);
        for (char *at = bytes[word_count - 1]; *at; at++)
            *at = *at == '_' ? ' ' : *at;
    }
    request.call.arg_count = word_count - request.call.key_count;
}

static void begin(int script, int keys, const char *names, const char *args)
{
    set_request(script, keys, names, args);
    assert_true(ilk__cluster_try_split(cluster, &request.call));
}

/* ---- the parts ----------------------------------------------------------- */

/* The next command as "script names: arguments". NULL: there is none. */
static ilk__cluster_work *next_part(int keys)
{
    ilk__cluster_work *work = ilk__cluster_take(&cluster->paused);
    size_t len;

    *said = '\0';
    if (!work)
        return NULL;
    len = (size_t)snprintf(said, sizeof said, "%s",
                           ilk__scripts[work->request->script].name);
    for (size_t i = 0; i < work->request->key_count; i += (size_t)keys)
        len += (size_t)snprintf(said + len, sizeof said - len, " %s",
                                strchr(work->request->keys[i]->str, ':') + 1);
    len += (size_t)snprintf(said + len, sizeof said - len, ":");
    for (size_t i = 0; i < work->request->arg_count; i++)
        len += (size_t)snprintf(said + len, sizeof said - len, " %s",
                                work->request->args[i]->str);
    return work;
}

static ilk__cluster_work *expect_part(int keys, const char *what)
{
    ilk__cluster_work *work = next_part(keys);

    assert_non_null(work);
    assert_string_equal(said, what);
    return work;
}

static ilk__reply *parsed(const char *text)
{
    struct redisReader *reader = ilk__reader_new();
    ilk__reply *reply;

    assert_int_equal(ilk__reader_feed(reader, text, strlen(text), NULL),
                     ILK_OK);
    assert_int_equal(ilk__reader_next(reader, &reply, NULL), ILK_OK);
    ilk__reader_free(reader);
    return reply;
}

/* Writes "12 -3 'x_y" as an array of two numbers and the string "x y" behind the
 * code. */
static const char *array(int code, const char *items)
{
    static char text[TEXT];
    char copy[512], body[TEXT - 48], *rest = copy;
    size_t len = 0, count = 1;

    snprintf(copy, sizeof copy, "%s", items);
    *body = '\0';
    for (char *item; (item = strtok_r(rest, " ", &rest)); count++)
        if (*item == '\'')
            len +=
                (size_t)snprintf(body + len, sizeof body - len,
                                 "$%zu\r\n%s\r\n", strlen(item + 1), item + 1);
        else
            len += (size_t)snprintf(body + len, sizeof body - len, ":%s\r\n",
                                    item);
    for (char *at = body; *at; at++)
        *at = *at == '_' ? ' ' : *at;
    snprintf(text, sizeof text, "*%zu\r\n:%d\r\n%s", count, NUMBER * 64 + code,
             body);
    return text;
}

static void answer(ilk__cluster_work *work, int code, const char *items)
{
    ilk__reply *reply = parsed(array(code, items));

    ilk__cluster_part_replied(work, reply);
    ilk__reply_free(reply);
}

static void assert_replied(const char *text)
{
    assert_int_equal(request.state, ILK__REQUEST_REPLIED);
    assert_false(session.broken);
    assert_int_equal(ilk__buf_len(&request.reply), strlen(text));
    assert_memory_equal(ilk__buf_data(&request.reply), text, strlen(text));
}

static void assert_open(void)
{
    assert_int_equal(request.state, ILK__REQUEST_BEGUN);
}

/* ---- all kinds ----------------------------------------------------------- */

TEST(only_some_scripts_can_be_split)
{
    set_request(ILK__SCRIPT_RECIPES_PARK, 1, "a b c", "t 1");
    assert_false(ilk__cluster_try_split(cluster, &request.call));
    set_request(ILK__SCRIPT_SIGNAL_WAIT, 3, "a b", "e c 1 1");
    assert_false(ilk__cluster_try_split(cluster, &request.call));
}

TEST(an_error_of_one_part_is_the_reply)
{
    ilk__cluster_work *a, *b;

    begin(ILK__SCRIPT_QUEUE_CANCEL, QUEUE, "a b", "e t 1 2 3");
    a = expect_part(QUEUE, "queue_cancel {a}: e t 1 2 3");
    b = expect_part(QUEUE, "queue_cancel {b}: e t 1 2 3");
    ilk__cluster_part_refused(a, "ILKDOWN nobody serves the slot");
    assert_open();
    answer(b, ILK__CODE_GONE, "");
    assert_replied("-ILKDOWN nobody serves the slot\r\n");
}

TEST(a_reply_that_got_lost_breaks_the_request)
{
    ilk__cluster_work *a, *b;

    begin(ILK__SCRIPT_QUEUE_CANCEL, QUEUE, "a b", "e t 1 2 3");
    a = next_part(QUEUE);
    b = next_part(QUEUE);
    ilk__cluster_part_broken(a);
    assert_open();
    ilk__cluster_part_refused(b, "ILKDOWN nobody serves the slot");
    assert_int_equal(request.state, ILK__REQUEST_REPLIED);
    assert_true(session.broken);
}

TEST(a_reply_of_a_wrong_shape_is_an_error)
{
    begin(ILK__SCRIPT_MANY_EXTEND, LOCK, "a b", "t 1000 1 0");
    answer(next_part(LOCK), ILK__CODE_HELD, "1000 5");
    answer(next_part(LOCK), ILK__CODE_HELD, "1000 5 9");
    assert_replied("-ERR many_extend: a reply of a wrong shape\r\n");
}

/* ---- signals ------------------------------------------------------------- */

TEST(a_wait_has_the_tickets_of_all_names)
{
    ilk__cluster_work *a, *b;

    begin(ILK__SCRIPT_SIGNAL_WAIT, SIGNAL, "a b {a}2", "e c 60 64 s1 s2 s3");
    a = expect_part(SIGNAL, "signal_wait {a} {a}2: e c 60 64 s1 s3");
    b = expect_part(SIGNAL, "signal_wait {b}: e c 60 64 s2");
    answer(b, ILK__CODE_QUEUED, "900 22");
    answer(a, ILK__CODE_QUEUED, "901 11 33");
    assert_replied(array(ILK__CODE_QUEUED, "901 11 22 33"));
}

TEST(a_refresh_sends_each_entry_everywhere)
{
    begin(ILK__SCRIPT_SIGNAL_REFRESH, SIGNAL, "a b", "c 60 0 64 a b 2 e1 e2");
    answer(expect_part(SIGNAL, "signal_refresh {a}: c 60 0 64 a 2 e1 e2"),
           ILK__CODE_FREE, "-1 900 1 1 0 0 1 0 0");
    answer(expect_part(SIGNAL, "signal_refresh {b}: c 60 0 64 b 2 e1 e2"),
           ILK__CODE_FREE, "-1 901 1 1 0 0 1 0 0");
    snprintf(said, sizeof said, "-1 901 1 %d 0 0 %d 0 0", ILK__CODE_QUEUED,
             ILK__CODE_QUEUED);
    assert_replied(array(ILK__CODE_FREE, said));
}

TEST(the_last_words_of_all_nodes_are_counted)
{
    begin(ILK__SCRIPT_SIGNAL_CANCEL, SIGNAL, "a b c", "e ask 64");
    answer(expect_part(SIGNAL, "signal_cancel {a}: e ask 64"), ILK__CODE_GONE,
           "1");
    answer(expect_part(SIGNAL, "signal_cancel {b}: e ask 64"),
           ILK__CODE_RELEASED, "");
    answer(expect_part(SIGNAL, "signal_cancel {c}: e ask 64"), ILK__CODE_GONE,
           "1");
    assert_replied(array(ILK__CODE_GONE, "2"));
}

TEST(each_part_gets_the_digits_of_its_names)
{
    begin(ILK__SCRIPT_SIGNAL_CANCEL, SIGNAL, "a b {a}2", "e 011 64");
    answer(expect_part(SIGNAL, "signal_cancel {a} {a}2: e 01 64"),
           ILK__CODE_RELEASED, "");
    answer(expect_part(SIGNAL, "signal_cancel {b}: e 1 64"), ILK__CODE_RELEASED,
           "");
    assert_replied(array(ILK__CODE_RELEASED, ""));
}

/* ---- queues -------------------------------------------------------------- */

#define RESERVE "t 1 30000 fifo 0 e c 6000 64 0"

TEST(queues_are_tried_in_their_order)
{
    begin(ILK__SCRIPT_QUEUE_RESERVE, QUEUE, "a b {b}2 {a}2", RESERVE);
    answer(expect_part(QUEUE, "queue_reserve {a}: " RESERVE), ILK__CODE_EMPTY,
           "' 500 900");
    answer(expect_part(QUEUE, "queue_reserve {b} {b}2: " RESERVE),
           ILK__CODE_EMPTY, "' -1 901");
    assert_open();
    answer(expect_part(QUEUE, "queue_reserve {a}2: " RESERVE), ILK__CODE_EMPTY,
           "' 700 902");
    assert_replied(array(ILK__CODE_EMPTY, "' 500 902"));
}

/* The rest may not see the request: it was replied to. */
TEST(the_entry_leaves_the_queues_that_had_nothing)
{
    begin(ILK__SCRIPT_QUEUE_RESERVE, QUEUE, "a b {b}2 c", RESERVE);
    answer(next_part(QUEUE), ILK__CODE_EMPTY, "' -1 900");
    answer(next_part(QUEUE), ILK__CODE_JOBS, "' 1 30000 901 '1_x");
    assert_replied(array(ILK__CODE_JOBS, "' 2 30000 901 '1_x"));
    answer(expect_part(QUEUE, "queue_cancel {a}: e - 5000 64 6000"),
           ILK__CODE_GONE, "");
    assert_null(next_part(QUEUE));
}

TEST(the_entry_leaves_all_queues_that_had_it_before)
{
    begin(ILK__SCRIPT_QUEUE_RESERVE, QUEUE, "a b c",
          "t 1 0 fifo 0 e c 6000 64 1");
    answer(next_part(QUEUE), ILK__CODE_EMPTY, "' -1 900");
    answer(next_part(QUEUE), ILK__CODE_JOBS, "' 0 0 901 '1_x");
    assert_replied(array(ILK__CODE_JOBS, "' 1 0 901 '1_x"));
    ilk__cluster_part_broken(
        expect_part(QUEUE, "queue_cancel {a}: e - 5000 64 6000"));
    ilk__cluster_part_refused(
        expect_part(QUEUE, "queue_cancel {c}: e - 5000 64 6000"), "ILKDOWN");
    assert_null(next_part(QUEUE));
}

TEST(a_repeated_reserve_begins_where_the_first_ended)
{
    begin(ILK__SCRIPT_QUEUE_RESERVE, QUEUE, "a b c", RESERVE);
    answer(next_part(QUEUE), ILK__CODE_EMPTY, "' -1 900");
    ilk__cluster_part_broken(next_part(QUEUE));
    assert_true(session.broken);

    begin(ILK__SCRIPT_QUEUE_RESERVE, QUEUE, "a b c", RESERVE);
    ilk__cluster_part_refused(expect_part(QUEUE, "queue_reserve {b}: " RESERVE),
                              "ILKDOWN");
    begin(ILK__SCRIPT_QUEUE_RESERVE, QUEUE, "a b c", RESERVE);
    answer(expect_part(QUEUE, "queue_reserve {b}: " RESERVE), ILK__CODE_EMPTY,
           "' -1 900");
    answer(expect_part(QUEUE, "queue_reserve {a}: " RESERVE), ILK__CODE_EMPTY,
           "' -1 900");
    answer(expect_part(QUEUE, "queue_reserve {c}: " RESERVE), ILK__CODE_EMPTY,
           "' -1 900");
    assert_replied(array(ILK__CODE_EMPTY, "' -1 900"));

    begin(ILK__SCRIPT_QUEUE_RESERVE, QUEUE, "a b c", RESERVE);
    answer(expect_part(QUEUE, "queue_reserve {a}: " RESERVE), ILK__CODE_JOBS,
           "' 0 30000 901 '1_x");
}

TEST(settlements_go_to_their_queues_first)
{
    begin(ILK__SCRIPT_QUEUE_RESERVE, QUEUE, "a b {a}2",
          "t 1 30000 fifo 3 '' c 6000 64 0 a_2_x_1_1_1_0_ n_1_y_1_1_1_0_why "
          "a_0_z_1_2_0_0_");
    answer(expect_part(QUEUE, "job_settle {a}: fifo 3 6000 a 0 z 1 2 0 0 "),
           ILK__CODE_RELEASED, "'2");
    answer(expect_part(QUEUE, "job_settle {b}: fifo 3 6000 n 0 y 1 1 1 0 why"),
           ILK__CODE_RELEASED, "'-1");
    answer(expect_part(QUEUE, "job_settle {a}2: fifo 3 6000 a 0 x 1 1 1 0 "),
           ILK__CODE_RELEASED, "'1");
    ilk__cluster_part_refused(
        expect_part(QUEUE, "queue_reserve {a}: t 1 30000 fifo 3  c 6000 64 0"),
        "OOM no memory");
    assert_replied(array(ILK__CODE_REFUSED, "'1_-1_2 'OOM_no_memory"));
}

/* The next copy finds none of those messages, and the core has to know why. */
TEST(settlements_of_one_slot_are_no_error)
{
    ilk__cluster_work *a, *b;

    for (int copy = 0; copy < 2; copy++) {
        begin(ILK__SCRIPT_JOB_SETTLE, QUEUE, "a b",
              "fifo 3 6000 a_0_x_1_1_1_0_ a_1_y_1_1_1_0_");
        a = next_part(QUEUE);
        b = next_part(QUEUE);
        answer(a, ILK__CODE_RELEASED, copy == 0 ? "'1" : "'0");
        ilk__cluster_part_refused(b, "ILKDOWN nobody serves the slot");
        assert_int_equal(request.state, ILK__REQUEST_REPLIED);
        assert_int_equal(session.broken, copy == 0);
    }
    assert_replied("-ILKDOWN nobody serves the slot\r\n");
    begin(ILK__SCRIPT_QUEUE_RESERVE, QUEUE, "a b",
          RESERVE " a_0_x_1_1_1_0_ a_1_y_1_1_1_0_");
    answer(next_part(QUEUE), ILK__CODE_RELEASED, "'1");
    ilk__cluster_part_refused(next_part(QUEUE), "ILKDOWN nobody");
    assert_true(session.broken);
    assert_null(next_part(QUEUE));
}

TEST(an_entry_that_one_slot_lacks_is_gone)
{
    char items[64];

    begin(ILK__SCRIPT_QUEUE_REFRESH, QUEUE, "a b", "c 6000 5000 64 2 e1 e2");
    snprintf(items, sizeof items, "800 900 1 %d 0 0 %d 0 0", ILK__CODE_QUEUED,
             ILK__CODE_QUEUED);
    answer(next_part(QUEUE), ILK__CODE_BUSY, items);
    snprintf(items, sizeof items, "-1 901 1 %d 0 0 %d 0 0", ILK__CODE_QUEUED,
             ILK__CODE_GONE);
    answer(next_part(QUEUE), ILK__CODE_BUSY, items);
    snprintf(items, sizeof items, "800 901 1 %d 0 0 %d 0 0", ILK__CODE_QUEUED,
             ILK__CODE_GONE);
    assert_replied(array(ILK__CODE_BUSY, items));
}

/* ---- locks --------------------------------------------------------------- */

TEST(names_are_acquired_by_slot_and_share_a_fence)
{
    begin(ILK__SCRIPT_MANY_ACQUIRE, LOCK, "a b c", "t 9000 me 5");
    answer(expect_part(LOCK, "many_acquire {b}: t 9000 me 5"), ILK__CODE_HELD,
           "9000 20 900");
    answer(expect_part(LOCK, "many_acquire {c}: t 9000 me 20"), ILK__CODE_HELD,
           "8000 21 901");
    answer(expect_part(LOCK, "many_acquire {a}: t 9000 me 21"), ILK__CODE_HELD,
           "9000 30 902");
    assert_open();
    answer(expect_part(LOCK, "many_extend {b}: t 9000 1 30"), ILK__CODE_HELD,
           "9000 30 903");
    answer(expect_part(LOCK, "many_extend {c}: t 9000 1 30"), ILK__CODE_HELD,
           "9000 30 903");
    assert_replied(array(ILK__CODE_HELD, "8000 30 902"));
}

TEST(a_busy_name_has_those_before_it_released)
{
    begin(ILK__SCRIPT_MANY_ACQUIRE, LOCK, "a b c {c}2", "t 9000 me 5");
    answer(next_part(LOCK), ILK__CODE_HELD, "9000 20 900");
    answer(expect_part(LOCK, "many_acquire {c} {c}2: t 9000 me 20"),
           ILK__CODE_BUSY, "1 77 901 1");
    assert_open();
    answer(expect_part(LOCK, "many_release {b}: t 5000 64 6000"),
           ILK__CODE_RELEASED, "0 0");
    assert_replied(array(ILK__CODE_BUSY, "3 77 901 1"));
    assert_null(next_part(LOCK));
}

/* The names above may be held since the first copy: the core, which knows that it
 * has repeated the request, gives everything back (lock_many_acquire.c). */
TEST(a_repeat_that_is_busy_releases_nothing_above)
{
    begin(ILK__SCRIPT_MANY_ACQUIRE, LOCK, "a b", "t 9000 me 5");
    answer(next_part(LOCK), ILK__CODE_HELD, "9000 20 900");
    ilk__cluster_part_broken(
        expect_part(LOCK, "many_acquire {a}: t 9000 me 20"));
    assert_true(session.broken);
    assert_null(next_part(LOCK));

    begin(ILK__SCRIPT_MANY_ACQUIRE, LOCK, "a b", "t 9000 me 5");
    answer(expect_part(LOCK, "many_acquire {b}: t 9000 me 5"), ILK__CODE_BUSY,
           "0 77 901 0");
    assert_replied(array(ILK__CODE_BUSY, "1 77 901 0"));
    assert_null(next_part(LOCK));

    begin(ILK__SCRIPT_MANY_RELEASE, LOCK, "a b", "t 1 2 3");
    answer(expect_part(LOCK, "many_release {a}: t 1 2 3"), ILK__CODE_RELEASED,
           "0 0");
    answer(expect_part(LOCK, "many_release {b}: t 1 2 3"), ILK__CODE_LOST,
           "1 2 1 0");
    assert_replied(array(ILK__CODE_LOST, "1 2 1 0"));
}

TEST(a_lease_that_ends_meanwhile_is_a_busy_name)
{
    begin(ILK__SCRIPT_MANY_ACQUIRE, LOCK, "a b", "t 9000 me 5");
    answer(next_part(LOCK), ILK__CODE_HELD, "9000 20 900");
    answer(next_part(LOCK), ILK__CODE_HELD, "9000 30 900");
    answer(expect_part(LOCK, "many_extend {b}: t 9000 1 30"), ILK__CODE_LOST,
           "40 0 '");
    answer(expect_part(LOCK, "many_release {a}: t 5000 64 6000"),
           ILK__CODE_RELEASED, "0 0");
    answer(expect_part(LOCK, "many_release {b}: t 5000 64 6000"),
           ILK__CODE_LOST, "1 2 1 0");
    assert_replied(array(ILK__CODE_BUSY, "1 0 900 0"));
}

TEST(one_lost_name_makes_a_renewal_lost)
{
    begin(ILK__SCRIPT_MANY_EXTEND, LOCK, "a b", "t 9000 1 30");
    answer(next_part(LOCK), ILK__CODE_HELD, "9000 30 900");
    answer(next_part(LOCK), ILK__CODE_LOST, "40 -1 'web-1:4312");
    assert_replied(array(ILK__CODE_LOST, "40 -1 'web-1:4312"));
    begin(ILK__SCRIPT_MANY_EXTEND, LOCK, "a b", "t 9000 1 30");
    answer(next_part(LOCK), ILK__CODE_LOST, "40 31 'web-1:4312");
    answer(next_part(LOCK), ILK__CODE_LOST, "0 0 '");
    assert_replied(array(ILK__CODE_LOST, "40 31 'web-1:4312"));
    begin(ILK__SCRIPT_MANY_EXTEND, LOCK, "a b", "t 9000 1 30");
    answer(next_part(LOCK), ILK__CODE_HELD, "9000 30 900");
    answer(next_part(LOCK), ILK__CODE_HELD, "8000 31 900");
    assert_replied(array(ILK__CODE_HELD, "8000 31 900"));
}

/* To the next copy these names are lost, and the core has to know why. */
TEST(a_release_of_some_slots_is_no_error)
{
    static const struct {
        int code;
        const char *items;
        int broken;
    } first[] = {{ILK__CODE_RELEASED, "0 0", 1},
                 {ILK__CODE_LOST, "40 0 1 0", 1}, /* one of two */
                 {ILK__CODE_LOST, "40 0 2 0", 0}};
    ilk__cluster_work *a, *b;

    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        begin(ILK__SCRIPT_MANY_RELEASE, LOCK, "a {a}2 b", "t 1 2 3");
        a = next_part(LOCK);
        b = next_part(LOCK);
        answer(a, first[i].code, first[i].items);
        ilk__cluster_part_refused(b, "ILKDOWN nobody serves the slot");
        assert_int_equal(request.state, ILK__REQUEST_REPLIED);
        assert_int_equal(session.broken, first[i].broken);
    }
    assert_replied("-ILKDOWN nobody serves the slot\r\n");
}

TEST(the_evidence_of_lost_names_is_united)
{
    begin(ILK__SCRIPT_MANY_RELEASE, LOCK, "a b c", "t 1 2 3");
    answer(next_part(LOCK), ILK__CODE_LOST, "40 0 2 0");
    answer(next_part(LOCK), ILK__CODE_RELEASED, "3 0");
    answer(next_part(LOCK), ILK__CODE_LOST, "50 7 1 1");
    assert_replied(array(ILK__CODE_LOST, "50 7 3 3"));
    begin(ILK__SCRIPT_MANY_RELEASE, LOCK, "a b c", "t 1 2 3");
    answer(next_part(LOCK), ILK__CODE_LOST, "40 -1 1 0");
    answer(next_part(LOCK), ILK__CODE_LOST, "0 9 1 0");
    answer(next_part(LOCK), ILK__CODE_LOST, "50 7 1 0");
    assert_replied(array(ILK__CODE_LOST, "0 -1 3 0"));
    begin(ILK__SCRIPT_MANY_RELEASE, LOCK, "a b", "t 1 2 3");
    answer(next_part(LOCK), ILK__CODE_RELEASED, "1 0");
    answer(next_part(LOCK), ILK__CODE_RELEASED, "0 4");
    assert_replied(array(ILK__CODE_RELEASED, "1 4"));
}

/* ---- memory and the end -------------------------------------------------- */

static long left; /* allocations, until they fail */

static void allow(void)
{
    ilk__alloc_fail_at(left);
}

/* From now on the test's own succeed. */
static void allow_all(void)
{
    left -= ilk__alloc_count();
    if (left < 1)
        left = 1;
    ilk__alloc_fail_at(0);
}

/* Answers with nothing to take, or with a grant. */
static void answer_without_memory(ilk__cluster_work *work)
{
    int script = work->request->script;
    ilk__reply *reply = parsed(script == ILK__SCRIPT_QUEUE_RESERVE
                                   ? array(ILK__CODE_EMPTY, "' -1 900")
                               : script == ILK__SCRIPT_JOB_SETTLE
                                   ? array(ILK__CODE_RELEASED, "'1")
                                   : array(ILK__CODE_HELD, "9000 30 900"));

    allow();
    ilk__cluster_part_replied(work, reply);
    allow_all();
    ilk__reply_free(reply);
}

/* How many allocations of the request can fail. */
static long fail_each(int script, int keys, const char *names, const char *args)
{
    ilk__cluster_work *work;
    long number = 0;

    do {
        ilk__free(cluster->tried);
        cluster->tried = NULL;
        set_request(script, keys, names, args);
        left = ++number;
        allow();
        assert_true(ilk__cluster_try_split(cluster, &request.call));
        allow_all();
        while ((work = next_part(keys)))
            answer_without_memory(work);
        assert_int_equal(request.state, ILK__REQUEST_REPLIED);
    } while (session.broken && number < 100);
    return number - 1;
}

TEST(without_memory_a_request_is_broken)
{
    assert_true(fail_each(ILK__SCRIPT_QUEUE_RESERVE, QUEUE, "a b c",
                          "t 1 30000 fifo 3 e c 6000 64 0 a_1_x_1_1_1_0_")
                > 8);
    assert_true(
        fail_each(ILK__SCRIPT_MANY_ACQUIRE, LOCK, "a b c", "t 9000 me 5") > 7);
}

TEST(a_client_that_closes_ends_all_parts)
{
    begin(ILK__SCRIPT_SIGNAL_CANCEL, SIGNAL, "a b c", "e ask 64");
    ilk__cluster_end_all(cluster);
    assert_int_equal(request.state, ILK__REQUEST_REPLIED);
    assert_true(session.broken);
    assert_null(next_part(SIGNAL));
}

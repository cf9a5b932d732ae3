/* SPDX-License-Identifier: MIT */
/* ut_quorum_registers.c -- ballots, beside a node whose number is spoilt. */
/* link: @support/node_calls.link */
#include "stores/quorum/quorum_internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

enum { NODES = 3, CALLS = 64, WORDS = 4, COUNTER_AT = 6 };

/* None can rise above it in one step from a number of every day. */
static const int64_t spoilt = INT64_C(1) << 50;

/* A call of a script about registers, with its ballot. */
typedef struct sent_call {
    ilk__node_call call;
    ilk__quorum_node *node;
    int is_open;
    int64_t counter, proposer;
} sent_call;

static ilk__quorum quorum;
static sent_call calls[CALLS];
static size_t call_count;
static int replies, code;
static char error[ILK_ERROR_MAX];

/* ---- what the quorum calls ----------------------------------------------- */

ilk__node_call *__wrap_ilk__node_calls_send(ilk__node_calls *to,
                                            ilk__command *command, int script,
                                            ilk__node_call_ended *ended,
                                            void *owner);
void __wrap_ilk__gateway_reply(ilk__gateway_request *request, int with,
                               const char *types, ...);
void __wrap_ilk__gateway_reply_error(ilk__gateway_request *request,
                                     const char *text);
void __wrap_ilk__gateway_break(ilk__gateway_request *request);

static int64_t number_of(const ilk__command *command, size_t index)
{
    char text[24];

    snprintf(text, sizeof text, "%.*s", (int)command->lens[index],
             command->argv[index]);
    return strtoll(text, NULL, 10);
}

/* The ballots of an accept are behind two more keys. */
ilk__node_call *__wrap_ilk__node_calls_send(ilk__node_calls *to,
                                            ilk__command *command, int script,
                                            ilk__node_call_ended *ended,
                                            void *owner)
{
    const size_t at =
        COUNTER_AT + (script == ILK__SCRIPT_QUORUM_REGISTER_ACCEPT ? 2 : 0);
    sent_call *one = &calls[call_count++];

    assert_true(call_count < CALLS);
    *one = (sent_call){.node = to->node,
                       .is_open = 1,
                       .counter = number_of(command, at),
                       .proposer = number_of(command, at + 1)};
    one->call.script = script;
    one->call.ended = ended;
    one->call.owner = owner;
    ilk__command_free(command);
    return &one->call;
}

void __wrap_ilk__gateway_reply(ilk__gateway_request *request, int with,
                               const char *types, ...)
{
    (void)request;
    (void)types;
    replies++;
    code = with;
}

void __wrap_ilk__gateway_reply_error(ilk__gateway_request *request,
                                     const char *text)
{
    (void)request;
    replies++;
    code = -1;
    snprintf(error, sizeof error, "%s", text);
}

void __wrap_ilk__gateway_break(ilk__gateway_request *request)
{
    __wrap_ilk__gateway_reply_error(request, "no reply");
}

/* ---- the nodes ----------------------------------------------------------- */

static int open_nodes(void)
{
    static const char *const hosts[NODES] = {"10.0.0.1", "10.0.0.2",
                                             "10.0.0.3"};

    memset(&quorum, 0, sizeof quorum);
    call_count = 0;
    replies = 0;
    quorum.patience_ms = 3000;
    for (size_t i = 0; i < NODES; i++)
        if (ilk__quorum_add_node(&quorum,
                                 (ilk__span){hosts[i], strlen(hosts[i])}, NULL))
            return -1;
    ilk__members_begin(&quorum.members, NODES);
    for (size_t i = 0; i < NODES; i++) {
        ilk__quorum_node *node = &quorum.nodes[i];

        node->calls.connection.up = 1;
        quorum.members.nodes[i].known = 1;
        snprintf(quorum.members.nodes[i].nonce, 2, "%zu", i);
        node->acceptor.is = ILK__ACCEPTOR_READY;
        node->acceptor.is_checked = 1;
        memset(node->acceptor.text, '0',
               ILK__ACCEPTOR_EDITION + NODES * (ILK__ACCEPTOR_NUMBER + 1));
    }
    return 0;
}

static sent_call *find(size_t node, int script)
{
    for (size_t i = 0; i < call_count; i++)
        if (calls[i].is_open && calls[i].node->number == node
            && calls[i].call.script == script)
            return &calls[i];
    return NULL;
}

static void finish(sent_call *one, ilk__reply *reply)
{
    one->is_open = 0;
    if (!one->call.ended(one->node, one->call.owner, &one->call, reply))
        ilk__reply_free(reply);
}

static int close_nodes(void)
{
    for (size_t i = 0; i < NODES; i++)
        quorum.nodes[i].calls.connection.up = 0;
    for (size_t i = 0; i < call_count; i++)
        if (calls[i].is_open)
            finish(&calls[i], NULL);
    ilk__proposals_free(&quorum);
    ilk__quorum_close_nodes(&quorum);
    return 0;
}

AROUND_EACH(open_nodes, close_nodes);

static void answer(size_t node, int script, const char *text)
{
    struct redisReader *reader = ilk__reader_new();
    ilk__reply *reply = NULL;
    sent_call *one = find(node, script);

    assert_non_null(one);
    assert_non_null(reader);
    assert_int_equal(ilk__reader_feed(reader, text, strlen(text), NULL),
                     ILK_OK);
    assert_int_equal(ilk__reader_next(reader, &reply, NULL), ILK_OK);
    ilk__reader_free(reader);
    finish(one, reply);
}

static int64_t asked(size_t node)
{
    const sent_call *one = find(node, ILK__SCRIPT_QUORUM_REGISTER_PREPARE);

    assert_non_null(one);
    return one->counter;
}

/* It has promised this counter to somebody. */
static void is_late(size_t node, int64_t counter)
{
    char text[64];

    snprintf(text, sizeof text, "*3\r\n:%d\r\n:%" PRId64 "\r\n:1\r\n",
             ILK__CODE_STALE, counter);
    answer(node, ILK__SCRIPT_QUORUM_REGISTER_PREPARE, text);
}

/* It has accepted nothing yet. */
static void promises(size_t node)
{
    char text[96];

    snprintf(text, sizeof text,
             "*8\r\n:%d\r\n:0\r\n:0\r\n:0\r\n:0\r\n$0\r\n\r\n$0\r\n\r\n:1\r\n",
             ILK__CODE_STATE);
    answer(node, ILK__SCRIPT_QUORUM_REGISTER_PREPARE, text);
}

static void accepts(size_t node)
{
    char text[32];

    snprintf(text, sizeof text, "*3\r\n:%d\r\n:0\r\n:0\r\n", ILK__CODE_WRITTEN);
    answer(node, ILK__SCRIPT_QUORUM_REGISTER_ACCEPT, text);
}

static void set(const char *name)
{
    static char words[WORDS][64];
    static ilk__reply key, args[WORDS];
    static ilk__reply *key_list[] = {&key},
                      *arg_list[] = {&args[0], &args[1], &args[2], &args[3]};
    static ilk__gateway_request request;
    const char *const texts[WORDS] = {"token", "", "value", "16"};

    snprintf(words[0], sizeof words[0], "ilk:register:{%s}", name);
    key = (ilk__reply){
        .type = ILK__REPLY_STR, .str = words[0], .len = strlen(words[0])};
    for (size_t i = 0; i < WORDS; i++)
        args[i] = (ilk__reply){.type = ILK__REPLY_STR,
                               .str = (char *)texts[i],
                               .len = strlen(texts[i])};
    request = (ilk__gateway_request){.script = ILK__SCRIPT_REGISTER_SET,
                                     .keys = key_list,
                                     .key_count = 1,
                                     .args = arg_list,
                                     .arg_count = WORDS};
    ilk__quorum_propose(&quorum, &request);
}

/* ---- tests --------------------------------------------------------------- */

TEST(a_majority_goes_on_without_a_node_whose_number_is_spoilt)
{
    int64_t first;

    set("a");
    first = asked(1);
    is_late(0, spoilt);
    is_late(1, first + 5);
    assert_true(asked(0) > first + 5);
    assert_true(asked(0) < first + 1000);

    is_late(0, spoilt);
    finish(find(2, ILK__SCRIPT_QUORUM_REGISTER_PREPARE), NULL); /* the first */
    promises(1);
    promises(2);
    accepts(1);
    accepts(2);
    assert_int_equal(1, replies);
    assert_int_equal(ILK__CODE_STATE, code);
}

TEST(a_register_with_great_numbers_does_not_raise_the_others)
{
    set("a");
    for (size_t i = 0; i < 2; i++)
        is_late(i, spoilt + (int64_t)i);
    assert_true(asked(0) > spoilt + 1);
    promises(0);
    promises(1);
    accepts(0);
    accepts(1);
    assert_int_equal(ILK__CODE_STATE, code);

    set("b");
    for (size_t i = 0; i < NODES; i++)
        if (find(i, ILK__SCRIPT_QUORUM_REGISTER_ACCEPT))
            finish(find(i, ILK__SCRIPT_QUORUM_REGISTER_ACCEPT), NULL);
    assert_true(asked(0) < 1000);
}

TEST(numbers_of_every_day_are_remembered)
{
    set("a");
    is_late(0, 70);
    is_late(1, 90);
    assert_true(asked(0) > 90);
    set("b");
    assert_true(calls[call_count - 1].counter > 90);
}

TEST(no_two_proposals_have_a_ballot_in_common)
{
    int64_t counter, proposer;

    set("a");
    counter = calls[0].counter;
    proposer = calls[0].proposer;
    is_late(0, 70);
    is_late(1, 90);
    assert_true(calls[call_count - 1].counter > counter);
    assert_int_equal(proposer, calls[call_count - 1].proposer);
    set("a");
    assert_int_not_equal(proposer, calls[call_count - 1].proposer);
}

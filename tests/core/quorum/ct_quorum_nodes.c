/* SPDX-License-Identifier: MIT */
/*
 * ct_quorum_nodes.c -- the scripts of a quorum at real servers, driven by the
 * decisions of quorum_votes.c and quorum_members.c. One thread plays all clients and
 * sends one command at a time.
 */
#include "redis/script.h"
#include "stores/quorum/quorum_members.h"

#include "fixture.h"
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    NODES = 4,
    CLIENTS = 3,
    LONGEST_MS = 1500,
    LEASE_MS = 60000,
    TEXT = 512,
    ELEMENTS = 8,
    NONCE_AT = 4
};

static const char *const lock_keys[] = {
    "orders",
    "ilk:lock:fence:{orders}",
    "ilk:lock:wait:{orders}",
    "ilk:lock:live:{orders}",
    "ilk:lock:readers:{orders}",
    "ilk:quorum:node",
    "ilk:quorum:max",
};
static const char *const confirm_keys[] = {"orders", "ilk:lock:fence:{orders}",
                                           "ilk:quorum:node", "ilk:quorum:max"};
static const char *const join_keys[] = {"ilk:quorum:node", "ilk:quorum:max"};

static fixture nodes[NODES];
static size_t count; /* of nodes in this test */
static int is_down[NODES];

typedef struct client {
    char name[16], token[32], entry[TEXT], stamp[24];
    int inboxes[NODES];
    ilk__votes votes;
} client;

static client clients[CLIENTS];
static ilk__members members;

/* ---- scripts ------------------------------------------------------------- */

typedef struct answer {
    int code;
    int64_t numbers[ELEMENTS]; /* index 0 follows the code */
    char nonce[TEXT];          /* of quorum_join */
} answer;

/* An argument list ends with NULL. */
static answer run(size_t node, int script, const char *const *keys,
                  const char *const *args)
{
    const char *argv[32] = {"EVAL", ilk__scripts[script].text};
    size_t lens[32];
    char key_count[8];
    answer out = {.code = 0};
    char *line, *rest = NULL;
    int argc = 3;

    snprintf(key_count, sizeof key_count, "%d", ilk__scripts[script].keys);
    argv[2] = key_count;
    for (int i = 0; i < ilk__scripts[script].keys; i++)
        argv[argc++] = keys[i];
    for (; *args; args++)
        argv[argc++] = *args;
    argv[argc++] = "1"; /* the number of the request */
    for (int i = 0; i < argc; i++)
        lens[i] = strlen(argv[i]);
    fixture_argv(&nodes[node], argc, argv, lens);
    if (nodes[node].reply[0] == '(')
        fail_msg("%s: %s", ilk__scripts[script].name, nodes[node].reply);
    line = strtok_r(nodes[node].reply, "\n", &rest);
    out.code = atoi(line) - 64;
    for (int i = 0; i < ELEMENTS && (line = strtok_r(NULL, "\n", &rest)); i++) {
        out.numbers[i] = strtoll(line, NULL, 10);
        if (i == NONCE_AT)
            snprintf(out.nonce, sizeof out.nonce, "%s", line);
    }
    return out;
}

static const char *text_of(char out[24], int64_t number)
{
    snprintf(out, 24, "%" PRId64, number);
    return out;
}

/* ---- members --------------------------------------------------------------- */

static void join(const ilk__join *call)
{
    char longest[24], number[24], floor[24], fresh[24];
    static int64_t nonces;
    answer got = run(call->node, call->script, join_keys,
                     (const char *[]){text_of(fresh, ++nonces),
                                      text_of(number, (int64_t)count),
                                      text_of(longest, LONGEST_MS), call->nonce,
                                      text_of(floor, call->floor),
                                      call->first ? "1" : "0",
                                      call->is_known ? "1" : "0", NULL});
    ilk__join_reply reply = {.is_member = got.numbers[0] == 1,
                             .is_late = got.numbers[0] == -1,
                             .wait_ms = got.numbers[1],
                             .early_ms = got.numbers[2],
                             .most = got.numbers[3],
                             .nonce = got.nonce};

    assert_int_equal(got.code, ILK__CODE_STATE);
    assert_true(
        ilk__members_reply(&members, call->node, &reply, fixture_now_ms()));
}

static int all_vote(void)
{
    for (size_t i = 0; i < count; i++)
        if (!is_down[i] && !ilk__members_may_vote(&members, i))
            return 0;
    return 1;
}

static void take_all_in(void)
{
    int64_t until = fixture_now_ms() + patience(20000);
    ilk__join call;

    while (!all_vote()) {
        assert_true(fixture_now_ms() < until);
        if (ilk__members_next(&members, fixture_now_ms(), &call))
            join(&call);
        else
            fixture_sleep_ms(5);
    }
}

/* ---- clients --------------------------------------------------------------- */

static void begin_attempt(client *one, int waits)
{
    static int attempts;

    snprintf(one->token, sizeof one->token, "t%d", ++attempts);
    snprintf(one->entry, sizeof one->entry, "1 x %s x1.s %s %d 1 host",
             one->name, one->token, LEASE_MS);
    /* Half of them reserve. */
    ilk__votes_begin(&one->votes, count, waits, attempts % 2);
    for (size_t i = 0; i < count; i++)
        if (is_down[i])
            ilk__votes_silent(&one->votes, i);
}

static void perform(client *one, const ilk__vote_command *command)
{
    char given[24], fence[24], lease[24], mark[24];
    size_t node = command->node;
    ilk__vote_reply reply;
    answer got;

    text_of(lease, LEASE_MS);
    if (command->script == ILK__SCRIPT_QUORUM_ACQUIRE)
        got = run(node, command->script, lock_keys,
                  (const char *[]){
                      one->token, lease, "host", "0",
                      one->votes.waits && command->mark != ILK__MARK_CONFIRMED
                          ? one->entry
                          : "",
                      one->name, "60000", one->stamp,
                      text_of(mark, command->mark), lease, "16", NULL});
    else if (command->script == ILK__SCRIPT_QUORUM_CONFIRM)
        got = run(node, command->script, confirm_keys,
                  (const char *[]){one->token, lease, "1",
                                   text_of(given, command->given),
                                   text_of(fence, command->fence), NULL});
    else
        got = run(node, command->script, lock_keys,
                  (const char *[]){one->token, one->entry, one->name, "60000",
                                   one->stamp, lease, "16", NULL});
    reply = (ilk__vote_reply){.code = got.code,
                              .lease_ms = got.numbers[0],
                              .fence = got.numbers[1],
                              .stamp = got.numbers[3]};
    ilk__votes_reply(&one->votes, node, &reply);
}

/* Grants on this client's inboxes. */
static void listen_to_all(client *one)
{
    char text[4096], token[TEXT];
    int64_t fence, lease;

    for (size_t i = 0; i < count; i++) {
        ssize_t n = recv(one->inboxes[i], text, sizeof text - 1, MSG_DONTWAIT);
        const char *at = text;

        text[n > 0 ? n : 0] = '\0';
        while ((at = strstr(at, "1 grant ")) != NULL) {
            if (sscanf(at, "1 grant %*s %511s %" SCNd64 " %" SCNd64, token,
                       &fence, &lease)
                    == 3
                && strcmp(token, one->token) == 0)
                ilk__votes_granted(&one->votes, i, fence, lease,
                                   fixture_now_ms());
            at++;
        }
    }
}

static ilk__decision turn(client *one)
{
    ilk__vote_command command;

    listen_to_all(one);
    if (ilk__votes_next(&one->votes, fixture_now_ms(), &command))
        perform(one, &command);
    return ilk__votes_decide(&one->votes, fixture_now_ms());
}

static void await(client *one, ilk__decision expected)
{
    int64_t until = fixture_now_ms() + patience(10000);
    ilk__decision decision;

    while ((decision = turn(one)) != expected) {
        assert_int_equal(decision, ILK__DECISION_NONE);
        assert_true(fixture_now_ms() < until);
    }
}

static void hold(client *one)
{
    begin_attempt(one, 1);
    await(one, ILK__DECISION_HELD);
}

/* Ask every node once, and act on nothing. */
static void stand_in_all_queues(client *one)
{
    begin_attempt(one, 1);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(turn(one), ILK__DECISION_NONE);
}

static void extend(client *one, ilk__decision expected)
{
    ilk__votes_extend(&one->votes);
    await(one, expected);
}

/* A cancel also gives a vote up. */
static void leave_everywhere(client *one)
{
    for (size_t i = 0; i < count; i++)
        if (!is_down[i])
            (void)run(i, ILK__SCRIPT_LOCK_CANCEL, lock_keys,
                      (const char *[]){one->entry, one->token, "60000", "16",
                                       "0", "60000", NULL});
}

/* ---- servers --------------------------------------------------------------- */

static int open_inbox(const char *path, const char *name)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    char text[64];
    ssize_t len =
        snprintf(text, sizeof text, "SUBSCRIBE ilk:inbox:%s\r\n", name);

    snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(send(fd, text, (size_t)len, 0), len);
    assert_true(recv(fd, text, sizeof text, 0) > 0);
    return fd;
}

static void open_clients(void)
{
    for (int c = 0; c < CLIENTS; c++) {
        client *one = &clients[c];

        snprintf(one->name, sizeof one->name, "c%d", c);
        snprintf(one->stamp, sizeof one->stamp, "%d", 100 + c);
        for (size_t i = 0; i < count; i++)
            one->inboxes[i] = open_inbox(nodes[i].socket, one->name);
    }
}

static int start(size_t number)
{
    count = number;
    ilk__members_begin(&members, count);
    for (size_t i = 0; i < count; i++) {
        is_down[i] = 0;
        if (fixture_start(&nodes[i], NULL))
            return -1;
        ilk__members_connected(&members, i);
    }
    open_clients();
    take_all_in();
    return 0;
}

static int three(void)
{
    return start(3);
}

static int four(void)
{
    return start(4);
}

static int stop(void)
{
    int failed = 0;

    for (size_t i = 0; i < count; i++) {
        for (int c = 0; c < CLIENTS; c++)
            close(clients[c].inboxes[i]);
        failed |= fixture_stop(&nodes[i]);
    }
    return failed;
}

AROUND_EACH(three, stop);

static void end_node(size_t node)
{
    assert_int_equal(fixture_kill(&nodes[node]), 0);
    is_down[node] = 1;
    ilk__members_lost(&members, node);
    for (int c = 0; c < CLIENTS; c++)
        ilk__votes_silent(&clients[c].votes, node);
}

/* ---- tests ------------------------------------------------------------------ */

TEST(one_holds_and_another_is_refused_at_once)
{
    hold(&clients[0]);
    begin_attempt(&clients[1], 0);
    await(&clients[1], ILK__DECISION_BUSY);
}

TEST(a_release_grants_to_the_earliest_by_messages_alone)
{
    hold(&clients[0]);
    stand_in_all_queues(&clients[2]);
    stand_in_all_queues(&clients[1]);
    leave_everywhere(&clients[0]);

    await(&clients[1], ILK__DECISION_HELD);
    assert_true(clients[1].votes.fence > clients[0].votes.fence);
    assert_int_equal(turn(&clients[2]), ILK__DECISION_NONE);
    leave_everywhere(&clients[1]);
    await(&clients[2], ILK__DECISION_HELD);
    assert_true(clients[2].votes.fence > clients[1].votes.fence);
}

/* Both ask all four nodes at once, each in its own order. */
TEST_WITH(four, stop, divided_votes_go_to_the_earlier_one)
{
    client *first = &clients[0], *second = &clients[1];
    int64_t until = fixture_now_ms() + patience(10000);

    begin_attempt(first, 1);
    begin_attempt(second, 1);
    turn(first);
    turn(first);
    for (int i = 0; i < 4; i++)
        turn(second);
    turn(first);
    turn(first);

    while (turn(first) != ILK__DECISION_HELD) {
        assert_int_equal(turn(second), ILK__DECISION_NONE);
        assert_true(fixture_now_ms() < until);
    }
    for (int i = 0; i < 50; i++)
        assert_int_equal(turn(second), ILK__DECISION_NONE);
    leave_everywhere(first);
    await(second, ILK__DECISION_HELD);
}

TEST(a_minority_that_ends_does_not_matter_and_a_majority_does)
{
    hold(&clients[0]);
    end_node(2);
    extend(&clients[0], ILK__DECISION_HELD);
    begin_attempt(&clients[1], 0);
    await(&clients[1], ILK__DECISION_BUSY);

    end_node(1);
    ilk__votes_extend(&clients[0].votes);
    ilk__votes_silent(&clients[0].votes, 1);
    ilk__votes_silent(&clients[0].votes, 2);
    await(&clients[0], ILK__DECISION_NOQUORUM);
    begin_attempt(&clients[1], 0);
    await(&clients[1], ILK__DECISION_NOQUORUM);
}

TEST(a_wiped_node_does_not_vote_until_it_is_taken_in)
{
    int64_t floor = 0;

    hold(&clients[0]);
    fixture_command(&nodes[0], "FLUSHALL");
    extend(&clients[0], ILK__DECISION_HELD);

    begin_attempt(&clients[1], 0);
    while (clients[1].votes.nodes[0].state != ILK__VOTE_REFUSED)
        turn(&clients[1]);
    ilk__members_refused(&members, 0);
    take_all_in();
    floor = fixture_int(&nodes[0], "GET ilk:quorum:max");
    assert_int_equal(floor, clients[0].votes.fence);
    assert_int_equal(fixture_int(&nodes[0], "HGET ilk:quorum:node base"),
                     floor);

    /* The holder takes it again, and so nobody else has it. */
    ilk__votes_reachable(&clients[0].votes, 0);
    extend(&clients[0], ILK__DECISION_HELD);
    for (int i = 0; i < 4; i++)
        turn(&clients[0]);
    assert_string_equal(fixture_command(&nodes[0], "GET orders"),
                        clients[0].token);
}

TEST(a_restarted_node_is_recognised)
{
    hold(&clients[0]);
    end_node(1);
    assert_int_equal(fixture_restart(&nodes[1]), 0);
    is_down[1] = 0;
    ilk__members_connected(&members, 1);
    begin_attempt(&clients[1], 0);
    await(&clients[1], ILK__DECISION_BUSY);
    assert_int_equal(clients[1].votes.nodes[1].state, ILK__VOTE_REFUSED);

    take_all_in();
    assert_int_equal(fixture_int(&nodes[1], "GET ilk:quorum:max"),
                     clients[0].votes.fence);
}

/* As redsync, node-redlock and redis-py do: SET name value NX PX. */
TEST(redlock_excludes_us_and_we_exclude_it)
{
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(
            fixture_command(&nodes[i], "SET orders redlock NX PX 60000"), "OK");
    begin_attempt(&clients[0], 0);
    await(&clients[0], ILK__DECISION_BUSY);
    leave_everywhere(&clients[0]);
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(fixture_command(&nodes[i], "GET orders"),
                            "redlock");

    for (size_t i = 0; i < 2; i++)
        fixture_command(&nodes[i], "DEL orders");
    hold(&clients[0]);
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(
            fixture_command(&nodes[i], "SET orders redlock NX PX 60000"),
            "(nil)");
}

/* SPDX-License-Identifier: MIT */
/*
 * quorum_registers.c -- registers over the nodes of a quorum, by CASPaxos: Rystsov,
 * "CASPaxos: Replicated State Machines without logs", 2018. The rules are those of
 * tests/model/quorum_register.pml.
 *
 *     read      one round. A state that a majority has accepted under one ballot is
 *               chosen, and is the answer. Otherwise it is decided by a change that
 *               changes nothing
 *     change    prepare  a majority promises to accept nothing under a lesser ballot,
 *                        and says what it has accepted: the greatest ballot's state
 *                        is the present one
 *               accept   a majority accepts the next state under the same ballot:
 *                        then it is chosen
 *
 *     PAUSES --> READS ----------------------> answered
 *       ^          |                               ^
 *       |          v                               |
 *       +------ PREPARES --> ACCEPTS --------------+
 *       +----------------------+      a greater ballot was promised
 *
 * Each ballot is prepared once, and never used again: its counter rises with each one
 * of the proposal, and its second number is the proposal's alone. So what one register's
 * nodes have promised is of no matter for the others: a node whose number is spoilt is
 * away for its register, and nothing else. A proposal without
 * enough replies begins again under another ballot, and finds itself in the history
 * of the state if it was chosen before. So does one whose nodes have another edition of
 * their list since they promised: a promise that was lost does not count in the next one
 * (quorum_adoption.c).
 *
 * A waiter is in the list of each node, and sends its request again when one of them has
 * accepted another version.
 */
#include "quorum_internal.h"

#include "base/alloc.h"
#include "base/token.h"
#include "gateway/change_history.h"
#include "gateway/register_replies.h"

#include <stdio.h>
#include <string.h>

enum {
    GRACE_MS = 10,  /* for the replies of the others, when a majority differs */
    READS_MOST = 4, /* rounds that differ, before it is decided by a ballot */
    LEAPS_MOST = 4, /* ballots that came too late, before a pause */
    LEAP = 16,
    PAUSE_FIRST_MS = 2,
    PAUSE_MOST_MS = 16,
    NODES_MS = 20 /* between two looks for enough nodes */
};

#define MEMORY_US (INT64_C(60) * 1000000)
/* The most that scripts/quorum/quorum_register_prepare.lua lets a counter rise by. Half of
 * it is enough for all steps of one proposal. */
#define COUNTER_STEP (INT64_C(1) << 32)
#define VERSIONS_END (ILK__SCRIPT_INT_MAX - 1)

/* The acceptors' hash, and the lists of those who wait. */
enum { KEY_REGISTER, KEY_WAIT, KEY_LIVE, KEYS };

typedef enum phase { PAUSES, READS, PREPARES, ACCEPTS } phase;

/* How the request ends when the state is accepted. */
typedef enum outcome {
    IS_READ,    /* the state is the answer */
    IS_CHANGED, /* it has the change */
    HAD_CHANGED,
    IS_REFUSED
} outcome;

struct ilk__proposal {
    ilk__proposal *next, *previous;
    ilk__quorum *quorum;
    ilk__gateway_request *request; /* NULL: it has its reply */
    ilk__register_change change;   /* without a token: it reads */
    ilk__buf keys[KEYS];
    phase is;
    int64_t began, until;
    int64_t at; /* of the end of a pause, or of the grace; ILK__FOREVER */
    int pause_ms;
    int reads, leaps;                  /* since it began, or paused */
    int64_t seen;                      /* the greatest counter of a promise */
    int64_t counter, proposer;         /* of the ballot; 0: none yet */
    char list[ILK__ACCEPTOR_LIST + 1]; /* of the nodes that promise */
    int is_unsure; /* the change was sent, and may be chosen */
    int64_t base;  /* the version on which it was made first */

    size_t calls[ILK__QUORUM_MOST]; /* without a reply */
    int asked[ILK__QUORUM_MOST];    /* in this round */
    ilk__reply *replies[ILK__QUORUM_MOST];
    char why[ILK_ERROR_MAX]; /* a node's error */

    /* ACCEPTS */
    outcome outcome;
    int64_t version, done; /* of the state; of the change that was found */
    int has_value;
    ilk__buf value, history;
    ilk__register_doubt doubt;
};

/* ---- their lives --------------------------------------------------------- */

static void clear_round(ilk__proposal *one)
{
    for (size_t i = 0; i < one->quorum->count; i++) {
        ilk__reply_free(one->replies[i]);
        one->replies[i] = NULL;
        one->asked[i] = 0;
    }
}

static void dispose(ilk__proposal *one)
{
    *(one->previous ? &one->previous->next : &one->quorum->proposals) =
        one->next;
    if (one->next)
        one->next->previous = one->previous;
    clear_round(one);
    for (size_t i = 0; i < KEYS; i++)
        ilk__buf_free(&one->keys[i]);
    ilk__buf_free(&one->value);
    ilk__buf_free(&one->history);
    ilk__free(one);
}

static int is_idle(const ilk__proposal *one)
{
    for (size_t i = 0; i < one->quorum->count; i++)
        if (one->calls[i])
            return 0;
    return 1;
}

/* The request has its reply; the calls that have none keep the proposal. */
static void end(ilk__proposal *one)
{
    one->request = NULL;
    one->is = PAUSES;
    one->at = ILK__FOREVER;
}

static void end_with(ilk__proposal *one, const char *error)
{
    if (one->is_unsure) /* the core repeats it, under the same token */
        ilk__gateway_break(one->request);
    else
        ilk__gateway_reply_error(one->request, error);
    end(one);
}

static void end_without_memory(ilk__proposal *one)
{
    ilk__gateway_break(one->request);
    end(one);
}

/* ---- rounds -------------------------------------------------------------- */

static void go_on(ilk__proposal *one);

static int answered(void *at, void *owner, const ilk__node_call *call,
                    ilk__reply *reply)
{
    ilk__quorum_node *node = at;
    ilk__proposal *one = owner;
    const size_t i = node->number;
    const int is_current = --one->calls[i] == 0 && one->asked[i];
    int keeps = 0;

    (void)call;
    if (reply && reply->type == ILK__REPLY_ERROR)
        snprintf(one->why, sizeof one->why, "%s", reply->str);
    else if (reply && ilk__script_code(reply) == ILK__CODE_REFUSED)
        ilk__acceptor_refused(node);
    else
        keeps = reply && is_current && one->request;
    if (keeps)
        one->replies[i] = reply;
    else if (is_current)
        one->asked[i] = 0;
    if (one->request && is_current)
        go_on(one);
    if (!one->request && is_idle(one))
        dispose(one);
    return keeps;
}

static void begin_round(ilk__proposal *one, phase next)
{
    clear_round(one);
    one->is = next;
    one->at = ILK__FOREVER;
    one->why[0] = '\0';
}

static void send_to(ilk__proposal *one, ilk__quorum_node *node,
                    ilk__command *command, int script)
{
    if (ilk__quorum_send(node, command, script, answered, one)) {
        one->calls[node->number]++;
        one->asked[node->number] = 1;
    }
}

/* The keys are borrowed until the command is sent; the last is the same for all. */
static void begin_command(const ilk__proposal *one, ilk__command *command,
                          int script, ilk__bytes *keys, size_t key_count)
{
    for (size_t i = 0; i + 1 < key_count; i++)
        keys[i] = (ilk__bytes){(char *)ilk__buf_data(&one->keys[i]),
                               ilk__buf_len(&one->keys[i])};
    keys[key_count - 1] = ilk__quorum_acceptor_key;
    ilk__command_init(command);
    ilk__script_begin(command, script, keys, key_count);
    ilk__command_add_str(command, one->list);
}

static void add_bytes(ilk__command *command, ilk__bytes bytes)
{
    ilk__command_add(command, bytes.data, bytes.len);
}

static void add_buf(ilk__command *command, const ilk__buf *buf)
{
    const size_t len = ilk__buf_len(buf);

    ilk__command_add(command, len ? ilk__buf_data(buf) : "", len);
}

static int waits(const ilk__proposal *one)
{
    return one->request->script == ILK__SCRIPT_REGISTER_WAIT;
}

static void send_read(const ilk__proposal *one, ilk__command *command,
                      ilk__bytes *keys)
{
    const ilk__gateway_request *request = one->request;

    begin_command(one, command, ILK__SCRIPT_QUORUM_REGISTER_READ, keys, 4);
    if (!waits(one)) {
        ilk__command_add_str(command, "");
        ilk__command_add_str(command, "");
        ilk__command_add_str(command, "0");
        ilk__command_add_str(command, "0");
        return;
    }
    add_bytes(command, ilk__gateway_arg(request, ILK__REGISTER_WAIT_ENTRY));
    add_bytes(command, ilk__gateway_arg(request, ILK__REGISTER_WAIT_CLIENT));
    add_bytes(command, ilk__gateway_arg(request, ILK__REGISTER_WAIT_LIVENESS));
    add_bytes(command, ilk__gateway_arg(request, ILK__REGISTER_WAIT_KNOWN));
}

static void send_prepare(const ilk__proposal *one, ilk__command *command,
                         ilk__bytes *keys)
{
    begin_command(one, command, ILK__SCRIPT_QUORUM_REGISTER_PREPARE, keys, 2);
    ilk__command_add_int(command, one->counter);
    ilk__command_add_int(command, one->proposer);
}

/* Those who watch are notified by a state that has another version. */
static void send_accept(const ilk__proposal *one, ilk__command *command,
                        ilk__bytes *keys)
{
    enum { NOTIFY = 256 };

    begin_command(one, command, ILK__SCRIPT_QUORUM_REGISTER_ACCEPT, keys, 4);
    ilk__command_add_int(command, one->counter);
    ilk__command_add_int(command, one->proposer);
    ilk__command_add_int(command, one->version);
    ilk__command_add_int(command, one->has_value);
    add_buf(command, &one->value);
    add_buf(command, &one->history);
    ilk__command_add_int(command, NOTIFY);
    ilk__command_add_int(command, one->outcome == HAD_CHANGED);
}

/* One script to all acceptors. */
static void send_round(ilk__proposal *one, int script,
                       void (*compose)(const ilk__proposal *, ilk__command *,
                                       ilk__bytes *))
{
    for (size_t i = 0; i < one->quorum->count; i++) {
        ilk__quorum_node *node = &one->quorum->nodes[i];
        ilk__bytes keys[4];
        ilk__command command;

        if (!ilk__acceptor_is_fit(node))
            continue;
        compose(one, &command, keys);
        send_to(one, node, &command, script);
    }
    go_on(one);
}

static void choose_list(ilk__proposal *one)
{
    memcpy(one->list, one->quorum->acceptor_list, sizeof one->list);
}

static void read_nodes(ilk__proposal *one)
{
    choose_list(one);
    begin_round(one, READS);
    send_round(one, ILK__SCRIPT_QUORUM_REGISTER_READ, send_read);
}

/* A number that no other proposal has. 0: there is none. */
static int choose_proposer(ilk__proposal *one)
{
    uint64_t random;

    if (!one->proposer && ilk__random(&random, sizeof random, NULL) == ILK_OK)
        one->proposer = 1 + (int64_t)(random >> 16);
    return one->proposer != 0;
}

/* The client's last counter is where proposals begin, so that they are seldom too small. A
 * register that nobody has written yet must be able to rise to it. */
static int64_t next_counter(const ilk__proposal *one)
{
    ilk__quorum *quorum = one->quorum;
    int64_t counter = one->counter > one->seen ? one->counter : one->seen;

    if (counter < quorum->last_counter)
        counter = quorum->last_counter;
    /* Others go on meanwhile: a ballot that was late would be late again. */
    counter += 1 + (int64_t)ilk__jitter(1 + LEAP * (uint32_t)one->leaps);
    if (counter < COUNTER_STEP / 2)
        quorum->last_counter = counter;
    return counter;
}

static void prepare(ilk__proposal *one)
{
    if (!choose_proposer(one)) {
        end_without_memory(one);
        return;
    }
    one->counter = next_counter(one);
    choose_list(one);
    begin_round(one, PREPARES);
    send_round(one, ILK__SCRIPT_QUORUM_REGISTER_PREPARE, send_prepare);
}

static void begin_again(ilk__proposal *one);

static void accept_state(ilk__proposal *one)
{
    if (strcmp(one->list, one->quorum->acceptor_list) != 0) {
        begin_again(one);
        return;
    }
    one->is_unsure |= one->outcome == IS_CHANGED;
    begin_round(one, ACCEPTS);
    send_round(one, ILK__SCRIPT_QUORUM_REGISTER_ACCEPT, send_accept);
}

/* ---- counting ------------------------------------------------------------ */

static size_t count(const ilk__proposal *one, int code)
{
    size_t number = 0;

    for (size_t i = 0; i < one->quorum->count; i++)
        number += one->replies[i] && ilk__script_code(one->replies[i]) == code;
    return number;
}

static size_t count_open(const ilk__proposal *one)
{
    size_t number = 0;

    for (size_t i = 0; i < one->quorum->count; i++)
        number += one->asked[i] && !one->replies[i];
    return number;
}

static int is_stale(const ilk__reply *reply)
{
    return reply && ilk__script_code(reply) == ILK__CODE_STALE;
}

/* A majority of the nodes has promised no greater counter than this, as far as their
 * replies say; one whose reply has yet to come may have promised nothing. */
static int64_t promise_of_majority(const ilk__proposal *one)
{
    const size_t majority = ilk__quorum_majority(one->quorum);
    int64_t promises[ILK__QUORUM_MOST];
    size_t number = 0;

    for (size_t i = 0; i < one->quorum->count; i++) {
        const ilk__reply *reply = one->replies[i];

        if (is_stale(reply))
            promises[number++] = ilk__script_int(reply, 0);
        else if (one->asked[i])
            promises[number++] = reply ? one->counter : 0;
    }
    if (number == 0)
        return 0;
    return ilk__nth_greatest(
        promises, number, number < majority ? number : number - majority + 1);
}

/* Another proposer has a greater ballot: the next one is above that, unless a majority
 * would refuse so great a step. Then the node's number is spoilt, and the others go on. */
static void note_promises(ilk__proposal *one)
{
    const int64_t most = promise_of_majority(one) + COUNTER_STEP / 2;

    for (size_t i = 0; i < one->quorum->count; i++) {
        const ilk__reply *reply = one->replies[i];

        if (is_stale(reply) && ilk__script_int(reply, 0) > one->seen
            && ilk__script_int(reply, 0) <= most)
            one->seen = ilk__script_int(reply, 0);
    }
}

/* The ballot of what a node has accepted, from READS and PREPARES. */
enum {
    AT_COUNTER,
    AT_PROPOSER,
    AT_VERSION,
    AT_HAS,
    AT_VALUE,
    AT_HISTORY,
    AT_NOW
};

static int is_state(const ilk__reply *reply)
{
    return reply && ilk__script_code(reply) == ILK__CODE_STATE;
}

static int is_greater(const ilk__reply *a, const ilk__reply *b)
{
    const int64_t left = ilk__script_int(a, AT_COUNTER),
                  right = ilk__script_int(b, AT_COUNTER);

    return left != right ? left > right
                         : ilk__script_int(a, AT_PROPOSER)
                               > ilk__script_int(b, AT_PROPOSER);
}

static int is_same(const ilk__reply *a, const ilk__reply *b)
{
    return ilk__script_int(a, AT_COUNTER) == ilk__script_int(b, AT_COUNTER)
           && ilk__script_int(a, AT_PROPOSER)
                  == ilk__script_int(b, AT_PROPOSER);
}

static const ilk__reply *find_greatest(const ilk__proposal *one)
{
    const ilk__reply *best = NULL;

    for (size_t i = 0; i < one->quorum->count; i++)
        if (is_state(one->replies[i])
            && (!best || is_greater(one->replies[i], best)))
            best = one->replies[i];
    return best;
}

/* Whether a majority has accepted it under its ballot: it is chosen. */
static int is_chosen(const ilk__proposal *one, const ilk__reply *best)
{
    size_t same = 0;

    for (size_t i = 0; i < one->quorum->count; i++)
        same += is_state(one->replies[i]) && is_same(one->replies[i], best);
    return same >= ilk__quorum_majority(one->quorum);
}

/* The state that a majority has accepted under one ballot, or NULL. */
static const ilk__reply *find_chosen(const ilk__proposal *one)
{
    for (size_t i = 0; i < one->quorum->count; i++)
        if (is_state(one->replies[i]) && is_chosen(one, one->replies[i]))
            return one->replies[i];
    return NULL;
}

/* A ballot has one state. Two are the work of a broken node. */
static int is_contradicted(const ilk__proposal *one, const ilk__reply *best)
{
    for (size_t i = 0; i < one->quorum->count; i++)
        if (is_state(one->replies[i]) && is_same(one->replies[i], best)
            && ilk__script_int(one->replies[i], AT_VERSION)
                   != ilk__script_int(best, AT_VERSION))
            return 1;
    return 0;
}

static ilk__register_state state_of(const ilk__reply *reply)
{
    const ilk__reply *value = ilk__script_item(reply, AT_VALUE);

    return (ilk__register_state){.version = ilk__script_int(reply, AT_VERSION),
                                 .has_value =
                                     ilk__script_int(reply, AT_HAS) == 1,
                                 .value = {value->str, value->len}};
}

/* ---- pauses -------------------------------------------------------------- */

static void pause_for(ilk__proposal *one, int64_t ms)
{
    begin_round(one, PAUSES);
    one->at = ilk__now_ms() + ms;
}

/* Another one has come between. Two that began again at once would go on for ever. */
static void begin_again(ilk__proposal *one)
{
    note_promises(one);
    one->leaps = one->reads = 0;
    one->pause_ms = one->pause_ms ? 2 * one->pause_ms : PAUSE_FIRST_MS;
    if (one->pause_ms > PAUSE_MOST_MS)
        one->pause_ms = PAUSE_MOST_MS;
    pause_for(one, 1 + (int64_t)ilk__jitter((uint32_t)one->pause_ms));
}

static void give_up(ilk__proposal *one)
{
    char text[ILK_ERROR_MAX];

    ilk__acceptors_write_why(one->quorum, text);
    end_with(one, one->why[0] ? one->why : text);
}

/* The ballot was too small from the beginning: nobody is disturbed by a greater one. */
static void leap(ilk__proposal *one)
{
    note_promises(one);
    if (one->leaps++ < LEAPS_MOST)
        prepare(one);
    else
        begin_again(one);
}

/* Whether enough nodes may come before it has to end. */
static int has_hope(const ilk__proposal *one, int64_t now)
{
    if (now >= one->until)
        return 0;
    return one->is_unsure || now < one->began + ILK__QUORUM_COMING_MS
           || ilk__acceptors_count(one->quorum)
                  >= ilk__quorum_majority(one->quorum);
}

static void start(ilk__proposal *one)
{
    const int64_t now = ilk__now_ms();
    const ilk__quorum *quorum = one->quorum;
    const int are_enough =
        ilk__acceptors_count(quorum) >= ilk__quorum_majority(quorum);

    if (!has_hope(one, now)
        || (!are_enough && !one->is_unsure && !ilk__acceptors_may_come(quorum)))
        give_up(one);
    else if (!are_enough)
        pause_for(one, NODES_MS);
    else if (one->change.token.len)
        prepare(one);
    else
        read_nodes(one);
}

/* A round has too few replies, and no more come. */
static void lack(ilk__proposal *one)
{
    if (one->why[0] && !one->is_unsure)
        give_up(one);
    else
        pause_for(one, NODES_MS);
}

/* ---- reading ------------------------------------------------------------- */

static void reply_read(ilk__proposal *one, const ilk__register_state *state)
{
    ilk__gateway_request *request = one->request;

    if (waits(one)
        && state->version
               == ilk__gateway_number_arg(request, ILK__REGISTER_WAIT_KNOWN))
        ilk__register_reply_waits(
            request,
            ilk__gateway_arg(request, ILK__REGISTER_WAIT_ENTRY).len != 0);
    else
        ilk__register_reply_state(request, state);
    end(one);
}

static void decide_read(ilk__proposal *one)
{
    const ilk__reply *chosen = find_chosen(one);
    ilk__register_state state;

    if (chosen) {
        state = state_of(chosen);
        reply_read(one, &state);
    } else if (count(one, ILK__CODE_STATE)
               < ilk__quorum_majority(one->quorum)) {
        if (!count_open(one))
            lack(one);
    } else if (!count_open(one)) {
        if (++one->reads < READS_MOST)
            read_nodes(one);
        else
            prepare(one);
    } else if (one->at == ILK__FOREVER) {
        one->at = ilk__now_ms() + GRACE_MS;
    }
}

/* ---- preparing ----------------------------------------------------------- */

/* 0: no memory. */
static int copy_state(ilk__proposal *one, const ilk__reply *from)
{
    const ilk__register_state state = state_of(from);
    const ilk__reply *history = ilk__script_item(from, AT_HISTORY);

    ilk__buf_free(&one->value);
    ilk__buf_free(&one->history);
    one->version = state.version;
    one->has_value = state.has_value;
    return !ilk__buf_add(&one->value, state.value.at, state.value.len)
           && !ilk__buf_add(&one->history, history->str, history->len);
}

/* The change on top of the state that was copied. 0: no memory. */
static int apply_change(ilk__proposal *one, const char *id, int64_t version)
{
    const ilk__span before = {ilk__buf_data(&one->history),
                              ilk__buf_len(&one->history)};
    ilk__buf history = {0};

    if (ilk__changes_add(&history, id, version, before, ILK__CHANGES_MOST)) {
        ilk__buf_free(&history);
        return 0;
    }
    ilk__buf_free(&one->history);
    ilk__buf_free(&one->value);
    one->history = history;
    one->version = version;
    one->has_value = !one->change.deletes;
    return !ilk__buf_add(&one->value, one->change.value.at,
                         one->change.value.len);
}

/* The time of the nodes: no more than a minority may be ahead of it. */
static int64_t now_of_nodes(const ilk__proposal *one)
{
    int64_t numbers[ILK__QUORUM_MOST];
    size_t number = 0;

    for (size_t i = 0; i < one->quorum->count; i++)
        if (is_state(one->replies[i]))
            numbers[number++] = ilk__script_int(one->replies[i], AT_NOW);
    return ilk__nth_greatest(numbers, number,
                             ilk__quorum_majority(one->quorum));
}

/* Whether an earlier copy of the change may have left the history, in which it is not
 * found: one of this proposal, which was made on the version `base`, or, where the core
 * has sent the request before, one that nobody here knows. A copy that a single node has
 * accepted may still be chosen, by another proposer, until a greater ballot is: so the
 * proposal remains unsure until it has its reply. */
static ilk__register_doubt doubt_of(const ilk__proposal *one, ilk__span history,
                                    int64_t now_us)
{
    const int64_t oldest = ilk__changes_oldest(history, ILK__CHANGES_MOST);

    if (one->is_unsure && oldest > one->base)
        return ILK__DOUBT;
    return oldest > now_us - MEMORY_US ? ILK__DOUBT_IF_RETRIED
                                       : ILK__DOUBT_NONE;
}

static void accept_as(ilk__proposal *one, const ilk__reply *state, outcome how)
{
    one->outcome = how;
    if (copy_state(one, state))
        accept_state(one);
    else
        end_without_memory(one);
}

static void accept_change(ilk__proposal *one, const ilk__reply *state,
                          const char *id, int64_t now_us)
{
    const int64_t last = ilk__script_int(state, AT_VERSION),
                  version = last < now_us ? now_us : last + 1;

    one->outcome = IS_CHANGED;
    if (!one->is_unsure)
        one->base = last;
    if (version >= VERSIONS_END)
        end_with(one, "ILKFENCE no version can rise above the one on record");
    else if (copy_state(one, state) && apply_change(one, id, version))
        accept_state(one);
    else
        end_without_memory(one);
}

static void refuse(ilk__proposal *one, const ilk__register_state *state)
{
    ilk__register_reply_refused(one->request, state, one->doubt);
    end(one);
}

/* A majority has promised; `best` is the present state. */
static void decide_change(ilk__proposal *one, const ilk__reply *best)
{
    const ilk__reply *text = ilk__script_item(best, AT_HISTORY);
    const ilk__span history = {text->str, text->len};
    const ilk__register_state state = state_of(best);
    const int64_t now_us = now_of_nodes(one);
    char id[ILK__CHANGE_ID + 1];

    if (!ilk__changes_are_valid(history, ILK__CHANGES_MOST)) {
        end_with(one, "ERR the history of a register makes no sense");
        return;
    }
    one->doubt = doubt_of(one, history, now_us);
    ilk__change_id(id, one->change.token);
    one->done = ilk__changes_find(history, id);
    if (one->done)
        accept_as(one, best, HAD_CHANGED);
    else if (ilk__register_fits(&one->change, &state))
        accept_change(one, best, id, now_us);
    else if (is_chosen(one, best))
        refuse(one, &state);
    else
        accept_as(one, best, IS_REFUSED);
}

static void decide_prepare(ilk__proposal *one)
{
    const size_t majority = ilk__quorum_majority(one->quorum),
                 promises = count(one, ILK__CODE_STATE),
                 stale = count(one, ILK__CODE_STALE);
    const ilk__reply *best = find_greatest(one);

    if (promises < majority) {
        if (stale && promises + count_open(one) < majority)
            leap(one);
        else if (!count_open(one))
            lack(one);
    } else if (is_contradicted(one, best)) {
        end_with(one, "ERR two nodes have accepted different states of a "
                      "register under one ballot");
    } else if (one->change.token.len) {
        decide_change(one, best);
    } else {
        accept_as(one, best, IS_READ);
    }
}

/* ---- accepting ----------------------------------------------------------- */

static ilk__register_notice notice_of(const ilk__proposal *one)
{
    ilk__register_notice notice = {0, 0};

    for (size_t i = 0; i < one->quorum->count; i++) {
        const ilk__reply *reply = one->replies[i];

        if (!reply || ilk__script_code(reply) != ILK__CODE_WRITTEN)
            continue;
        if (ilk__script_int(reply, 0) > notice.rest)
            notice.rest = ilk__script_int(reply, 0);
        notice.denied |= ilk__script_int(reply, 1) == 1;
    }
    return notice;
}

static void end_accepted(ilk__proposal *one)
{
    const ilk__register_state state = {
        .version = one->version,
        .has_value = one->has_value,
        .value = {ilk__buf_len(&one->value) ? ilk__buf_data(&one->value) : "",
                  ilk__buf_len(&one->value)}};

    switch (one->outcome) {
    case IS_CHANGED:
        ilk__register_reply_changed(one->request, one->version,
                                    one->change.known < 0 ? one->doubt
                                                          : ILK__DOUBT_NONE,
                                    notice_of(one));
        end(one);
        break;
    case HAD_CHANGED:
        ilk__register_reply_had_changed(one->request, one->done,
                                        notice_of(one));
        end(one);
        break;
    case IS_REFUSED: refuse(one, &state); break;
    case IS_READ:
        if (waits(one))
            read_nodes(one); /* it is in the lists of those that agree */
        else
            reply_read(one, &state);
        break;
    }
}

static void decide_accept(ilk__proposal *one)
{
    const size_t majority = ilk__quorum_majority(one->quorum),
                 written = count(one, ILK__CODE_WRITTEN);

    if (written >= majority)
        end_accepted(one);
    else if (count(one, ILK__CODE_STALE)
             && written + count_open(one) < majority)
        begin_again(one);
    else if (!count_open(one))
        lack(one);
}

static void go_on(ilk__proposal *one)
{
    switch (one->is) {
    case PAUSES: break;
    case READS: decide_read(one); break;
    case PREPARES: decide_prepare(one); break;
    case ACCEPTS: decide_accept(one); break;
    }
}

/* ---- requests ------------------------------------------------------------ */

/* Of `ilk:register:{limit}`. The acceptors' key is another: one server alone must not
 * take their hash for its register. 0: no memory. */
static int make_keys(ilk__proposal *one, ilk__bytes key)
{
    static const char *const fronts[KEYS] = {
        "ilk:quorum:register", "ilk:register:wait", "ilk:register:live"};
    const size_t front = strlen("ilk:register");

    for (size_t i = 0; i < KEYS; i++)
        if (key.len <= front
            || ilk__buf_add(&one->keys[i], fronts[i], strlen(fronts[i]))
            || ilk__buf_add(&one->keys[i], key.data + front, key.len - front))
            return 0;
    return 1;
}

static ilk__proposal *new_proposal(ilk__quorum *quorum,
                                   ilk__gateway_request *request)
{
    ilk__proposal *one = ilk__calloc(1, sizeof *one);

    if (!one)
        return NULL;
    one->quorum = quorum;
    one->request = request;
    one->began = ilk__now_ms();
    one->until = one->began + quorum->patience_ms;
    one->at = ILK__FOREVER;
    one->next = quorum->proposals;
    if (one->next)
        one->next->previous = one;
    quorum->proposals = one;
    if (make_keys(one, ilk__gateway_word(request->keys[0])))
        return one;
    dispose(one);
    return NULL;
}

void ilk__quorum_propose(ilk__quorum *quorum, ilk__gateway_request *request)
{
    const int changes = request->script == ILK__SCRIPT_REGISTER_SET
                        || request->script == ILK__SCRIPT_REGISTER_DELETE;
    ilk__register_change change = {.known = -1};
    ilk__proposal *one;

    if (changes && !ilk__register_read_change(&change, request))
        return;
    if (request->script == ILK__SCRIPT_REGISTER_WAIT
        && ilk__gateway_number_arg(request, ILK__REGISTER_WAIT_KNOWN) < 0) {
        ilk__register_reply_misuse(request);
        return;
    }
    quorum->keeps_registers = 1;
    one = new_proposal(quorum, request);
    if (!one) {
        ilk__gateway_break(request);
        return;
    }
    one->change = change;
    ilk__acceptors_fire(quorum, one->began);
    start(one);
    if (!one->request && is_idle(one))
        dispose(one);
}

/* ---- time ---------------------------------------------------------------- */

static void fire(ilk__proposal *one, int64_t now)
{
    if (!one->request)
        return;
    if (now >= one->until) {
        give_up(one);
    } else if (one->at <= now) {
        if (one->is == READS)
            prepare(one);
        else
            start(one);
    }
}

void ilk__proposals_fire(ilk__quorum *quorum, int64_t now)
{
    ilk__proposal *next;

    for (ilk__proposal *one = quorum->proposals; one; one = next) {
        next = one->next;
        fire(one, now);
        if (!one->request && is_idle(one))
            dispose(one);
    }
}

int64_t ilk__proposals_due(const ilk__quorum *quorum)
{
    int64_t until = ILK__FOREVER;

    for (const ilk__proposal *one = quorum->proposals; one; one = one->next)
        if (one->request)
            until = ilk__sooner(until, ilk__sooner(one->at, one->until));
    return until;
}

/* The nodes are closed: no call is left. */
void ilk__proposals_free(ilk__quorum *quorum)
{
    while (quorum->proposals) {
        if (quorum->proposals->request)
            ilk__gateway_break(quorum->proposals->request);
        dispose(quorum->proposals);
    }
}

/* SPDX-License-Identifier: MIT */
/* quorum_rounds.c -- one script at all nodes that take part, whose replies are
 * compared. */
#include "quorum_internal.h"

#include "base/alloc.h"

#include <stdio.h>

static void dispose(ilk__round *round)
{
    for (size_t i = 0; i < round->quorum->count; i++)
        ilk__reply_free(round->replies[i]);
    ilk__free(round->sent);
    ilk__free(round);
}

void ilk__round_break(ilk__round *round)
{
    ilk__gateway_break(round->request);
    dispose(round);
}

/* ---- beginning ----------------------------------------------------------- */

static int waits(const ilk__round *round, int64_t now)
{
    const ilk__quorum *quorum = round->quorum;

    return ilk__quorum_count_votes(quorum) < ilk__quorum_majority(quorum)
           && ilk__quorum_may_any_come(quorum)
           && now < round->began + ILK__QUORUM_COMING_MS;
}

void ilk__round_begin(ilk__quorum *quorum, ilk__gateway_request *request,
                      void (*send)(ilk__round *),
                      void (*decide)(ilk__round *, int))
{
    ilk__round *round = ilk__calloc(1, sizeof *round);

    if (!round) {
        ilk__gateway_break(request);
        return;
    }
    round->quorum = quorum;
    round->request = request;
    round->began = ilk__now_ms();
    round->send = send;
    round->decide = decide;
    if (waits(round, round->began)) {
        round->next = quorum->rounds;
        quorum->rounds = round;
    } else {
        send(round);
    }
}

void ilk__rounds_fire(ilk__quorum *quorum, int64_t now)
{
    ilk__round *rounds = quorum->rounds, *round;

    quorum->rounds = NULL;
    while ((round = rounds)) {
        rounds = round->next;
        if (waits(round, now)) {
            round->next = quorum->rounds;
            quorum->rounds = round;
        } else {
            round->send(round);
        }
    }
}

int64_t ilk__rounds_due(const ilk__quorum *quorum)
{
    int64_t until = ILK__FOREVER;

    for (const ilk__round *one = quorum->rounds; one; one = one->next)
        until = ilk__sooner(until, one->began + ILK__QUORUM_COMING_MS);
    return until;
}

void ilk__rounds_free(ilk__quorum *quorum)
{
    ilk__round *round;

    while ((round = quorum->rounds)) {
        quorum->rounds = round->next;
        ilk__round_break(round);
    }
}

/* ---- sending ------------------------------------------------------------- */

static void fail(ilk__round *round)
{
    char text[ILK_ERROR_MAX];

    ilk__quorum_write_why(round->quorum, "NOQUORUM", text);
    ilk__gateway_reply_error(round->request, round->why[0] ? round->why : text);
    round->request = NULL;
}

void ilk__round_go_on(ilk__round *round)
{
    if (round->request)
        round->decide(round, round->calls == 0);
    if (round->request && round->calls == 0)
        fail(round);
    if (round->calls == 0)
        dispose(round);
}

static int answered(void *at, void *owner, const ilk__node_call *call,
                    ilk__reply *reply)
{
    ilk__quorum_node *node = at;
    ilk__round *round = owner;
    int keeps = reply && reply->type != ILK__REPLY_ERROR;

    round->calls--;
    if (keeps)
        round->replies[node->number] = reply;
    else if (reply)
        snprintf(round->why, sizeof round->why, "%s", reply->str);
    if (keeps && call->script != ILK__SCRIPT_NONE
        && ilk__script_code(reply) == ILK__CODE_REFUSED)
        ilk__members_refused(&round->quorum->members, node->number);
    ilk__round_go_on(round);
    return keeps;
}

void ilk__round_send(ilk__round *round, int script, const ilk__bytes *keys,
                     size_t key_count, const ilk__bytes *args, size_t arg_count)
{
    round->calls++; /* it is not over before all are sent */
    for (size_t i = 0; i < round->quorum->count; i++) {
        ilk__quorum_node *node = &round->quorum->nodes[i];
        ilk__command command;

        if (!ilk__quorum_takes_part(node))
            continue;
        ilk__command_init(&command);
        ilk__script_begin(&command, script, keys, key_count);
        for (size_t j = 0; j < arg_count; j++)
            ilk__command_add(&command, args[j].data, args[j].len);
        round->calls +=
            (size_t)ilk__quorum_send(node, &command, script, answered, round);
    }
    round->calls--;
    ilk__round_go_on(round);
}

int ilk__round_ask(ilk__round *round, ilk__quorum_node *node,
                   ilk__command *command)
{
    const int is_sent =
        ilk__quorum_send(node, command, ILK__SCRIPT_NONE, answered, round);

    round->calls += (size_t)is_sent;
    return is_sent;
}

void ilk__round_pass_on(ilk__round *round)
{
    const ilk__gateway_request *request = round->request;
    ilk__bytes *words =
        ilk__calloc(request->key_count + request->arg_count, sizeof *words);

    if (!words) {
        ilk__round_break(round);
        return;
    }
    for (size_t i = 0; i < request->key_count; i++)
        words[i] = ilk__gateway_word(request->keys[i]);
    for (size_t i = 0; i < request->arg_count; i++)
        words[request->key_count + i] = ilk__gateway_word(request->args[i]);
    ilk__round_send(round, request->script, words, request->key_count,
                    words + request->key_count, request->arg_count);
    ilk__free(words);
}

/* ---- comparing ----------------------------------------------------------- */

size_t ilk__round_replies(const ilk__round *round)
{
    size_t count = 0;

    for (size_t i = 0; i < round->quorum->count; i++)
        count += round->replies[i] != NULL;
    return count;
}

size_t ilk__round_count(const ilk__round *round, int code)
{
    size_t count = 0;

    for (size_t i = 0; i < round->quorum->count; i++)
        count +=
            round->replies[i] && ilk__script_code(round->replies[i]) == code;
    return count;
}

int64_t ilk__round_number(const ilk__round *round, size_t index,
                          int (*counts)(const ilk__round *, const ilk__reply *))
{
    int64_t numbers[ILK__QUORUM_MOST];
    size_t count = 0;

    for (size_t i = 0; i < round->quorum->count; i++)
        if (round->replies[i] && counts(round, round->replies[i]))
            numbers[count++] = ilk__script_int(round->replies[i], index);
    return ilk__nth_greatest(numbers, count,
                             ilk__quorum_majority(round->quorum));
}

int ilk__round_is_held(const ilk__round *round, const ilk__reply *reply)
{
    (void)round;
    return ilk__script_code(reply) == ILK__CODE_HELD;
}

/* ---- rounds that agree on a code ------------------------------------------ */

/* So many nodes have replied LOST that the others cannot be a majority. */
static int is_lost(const ilk__round *round)
{
    return ilk__round_count(round, ILK__CODE_LOST)
           > round->quorum->count - ilk__quorum_majority(round->quorum);
}

void ilk__round_decide_break(ilk__round *round, int is_last)
{
    (void)is_last;
    if (ilk__round_count(round, ILK__CODE_RELEASED)
        >= ilk__quorum_majority(round->quorum))
        ilk__gateway_reply(round->request, ILK__CODE_RELEASED, "ii", (int64_t)0,
                           (int64_t)0);
    else if (is_lost(round))
        ilk__gateway_reply_lost(round->request);
    else
        return;
    round->request = NULL;
}

/* The fence is the greatest that a majority has reached: the next holder needs a vote of
 * one of these nodes, and gets a greater fence there. All replies are awaited: a vote that
 * came after the hold was confirmed may have another fence. */
void ilk__round_decide_extension(ilk__round *round, int is_last)
{
    if (is_last
        && ilk__round_count(round, ILK__CODE_HELD)
               >= ilk__quorum_majority(round->quorum))
        ilk__gateway_reply(round->request, ILK__CODE_HELD, "iii",
                           ilk__round_number(round, 0, ilk__round_is_held),
                           ilk__round_number(round, 1, ilk__round_is_held),
                           ilk__quorum_now_us());
    else if (is_lost(round))
        ilk__gateway_reply_lost(round->request);
    else
        return;
    round->request = NULL;
}

/* ---- whether it can be reached -------------------------------------------- */

/* TIME: every user of locks may send it. */
static void ask_time(ilk__round *round)
{
    round->calls++; /* it is not over before all are sent */
    for (size_t i = 0; i < round->quorum->count; i++) {
        ilk__quorum_node *node = &round->quorum->nodes[i];
        ilk__command command;

        if (!ilk__quorum_takes_part(node))
            continue;
        ilk__command_init(&command);
        ilk__command_add_str(&command, "TIME");
        (void)ilk__round_ask(round, node, &command);
    }
    round->calls--;
    ilk__round_go_on(round);
}

static void decide_ping(ilk__round *round, int is_last)
{
    (void)is_last;
    if (ilk__round_replies(round) < ilk__quorum_majority(round->quorum))
        return;
    ilk__gateway_contact_made(round->request);
    round->request = NULL;
}

void ilk__quorum_ping(void *self, ilk__gateway_request *request)
{
    ilk__round_begin(self, request, ask_time, decide_ping);
}

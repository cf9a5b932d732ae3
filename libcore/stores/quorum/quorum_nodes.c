/* SPDX-License-Identifier: MIT */
/* quorum_nodes.c -- the nodes of a quorum: their connections, the calls that have no
 * reply yet, and which of them take part. */
#include "quorum_internal.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/token.h"

#include <stdio.h>
#include <string.h>

const ilk__bytes ilk__quorum_node_key = {(char *)"ilk:quorum:node", 15},
                 ilk__quorum_most_key = {(char *)"ilk:quorum:max", 14};

/* ---- opening and closing ------------------------------------------------- */

ilk_status ilk__quorum_add_node(ilk__quorum *quorum, ilk__span text,
                                ilk_error *err)
{
    ilk__quorum_node *node = &quorum->nodes[quorum->count];
    ilk__url at = {.port = 0};
    ilk_status st = ilk__url_parse_host(&at, text, "URL", err);

    if (st) {
        ilk__url_free(&at);
        return st;
    }
    node->quorum = quorum;
    node->number = quorum->count++;
    node->url = quorum->url;
    node->url.host = at.host;
    node->url.port = at.port;
    ilk__node_stats_begin(&node->stats, &node->url);
    node->target = (ilk__target){.url = &node->url,
                                 .name = quorum->name,
                                 .connect_timeout_ms = quorum->connect_ms};
    ilk__node_calls_init(&node->calls, quorum->gateway, &node->target, node);
    ilk__node_messages_init(&node->messages, &node->target, &quorum->channels);
    return ILK_OK;
}

static void end_calls(ilk__quorum_node *node)
{
    ilk__node_calls_end_all(&node->calls);
    node->stats.in_flight = 0;
}

void ilk__quorum_close_nodes(ilk__quorum *quorum)
{
    for (size_t i = 0; i < quorum->count; i++) {
        ilk__quorum_node *node = &quorum->nodes[i];

        ilk__async_conn_close(&node->calls.connection);
        ilk__async_conn_close(&node->messages.connection);
        node->has_failed = 1;
    }
    /* A call that ends may write why too few nodes vote, with the host of any node: so
     * the hosts are freed last. */
    for (size_t i = 0; i < quorum->count; i++)
        end_calls(&quorum->nodes[i]);
    for (size_t i = 0; i < quorum->count; i++)
        ilk__free(quorum->nodes[i].url.host);
}

/* ---- taking part --------------------------------------------------------- */

size_t ilk__quorum_majority(const ilk__quorum *quorum)
{
    return quorum->count / 2 + 1;
}

int ilk__quorum_takes_part(const ilk__quorum_node *node)
{
    return node->calls.connection.up
           && ilk__members_may_vote(&node->quorum->members, node->number)
           && ilk__node_messages_are_subscribed(&node->messages)
           && !node->quorum->twice[0];
}

/* A member that takes no part has yet to confirm a subscription. */
static int is_coming(const ilk__quorum_node *node)
{
    const ilk__members *members = &node->quorum->members;

    return !node->has_failed && !node->quorum->twice[0]
           && (ilk__members_may_vote(members, node->number)
               || ilk__members_is_joining(members, node->number,
                                          ilk__now_ms()));
}

/* Once in a turn: the attempts go on with the node, or without it. */
static void note_part(ilk__quorum_node *node)
{
    int takes_part = ilk__quorum_takes_part(node);

    if (takes_part && !node->took_part) {
        node->has_failed = 0;
        node->took_part = 1;
        ilk__attempts_reach(node);
    } else if (!takes_part && node->took_part) {
        node->took_part = 0;
        ilk__attempts_miss(node);
    }
}

int ilk__quorum_may_any_come(const ilk__quorum *quorum)
{
    for (size_t i = 0; i < quorum->count; i++)
        if (!ilk__quorum_takes_part(&quorum->nodes[i])
            && is_coming(&quorum->nodes[i]))
            return 1;
    return 0;
}

size_t ilk__quorum_count_votes(const ilk__quorum *quorum)
{
    size_t count = 0;

    for (size_t i = 0; i < quorum->count; i++)
        count += (size_t)ilk__quorum_takes_part(&quorum->nodes[i]);
    return count;
}

static void write_reason(const ilk__quorum_node *node, char *out, size_t room)
{
    const int64_t left = ilk__quorum_votes_at(node) - ilk__now_ms();

    if (ilk__quorum_state_of(node) == ILK_NODE_WAITING)
        snprintf(out, room,
                 "it was started or wiped, and votes in %lld s, when all "
                 "earlier leases have ended",
                 left > 0 ? (long long)(left + 999) / 1000 : 1LL);
    else
        snprintf(out, room, "%s",
                 node->why.code ? node->why.msg
                                : "it has not been reached yet");
}

/* A node that takes no part, if possible one that has failed. */
static const ilk__quorum_node *find_missing(const ilk__quorum *quorum)
{
    const ilk__quorum_node *found = NULL;

    for (size_t i = 0; i < quorum->count; i++) {
        const ilk__quorum_node *node = &quorum->nodes[i];

        if (ilk__quorum_state_of(node) == ILK_NODE_FAILED)
            return node;
        if (!found && !ilk__quorum_takes_part(node))
            found = node;
    }
    return found;
}

void ilk__quorum_write_why(const ilk__quorum *quorum, const char *word,
                           char out[ILK_ERROR_MAX])
{
    const ilk__quorum_node *missing = find_missing(quorum);
    char reason[ILK_ERROR_MAX];
    int len;

    if (quorum->twice[0]) {
        snprintf(out, ILK_ERROR_MAX, "%s %s", word, quorum->twice);
        return;
    }
    len =
        snprintf(out, ILK_ERROR_MAX, "%s %zu of %zu nodes vote, and %zu must; ",
                 word, ilk__quorum_count_votes(quorum), quorum->count,
                 ilk__quorum_majority(quorum));
    if (missing) {
        write_reason(missing, reason, sizeof reason);
        snprintf(out + len, ILK_ERROR_MAX - (size_t)len, "%.60s:%d: %.120s",
                 missing->url.host, missing->url.port, reason);
    } else {
        snprintf(out + len, ILK_ERROR_MAX - (size_t)len,
                 "too few of them replied to this request");
    }
}

/* ---- calls --------------------------------------------------------------- */

int ilk__quorum_send(ilk__quorum_node *node, ilk__command *command, int script,
                     ilk__node_call_ended *ended, void *owner)
{
    if (!ilk__node_calls_send(&node->calls, command, script, ended, owner))
        return 0;
    ilk__quorum_count_call(node);
    return 1;
}

/* A connection that was up may come up again at once: `has_failed` is 0 then. */
static void lose(ilk__quorum_node *node, int has_failed)
{
    node->has_failed |= has_failed;
    node->why = node->calls.connection.error;
    ilk__log(ILK__LOG_INFO, "quorum: %s:%d: %s", node->url.host, node->url.port,
             node->why.msg);
    ilk__members_lost(&node->quorum->members, node->number);
    end_calls(node);
    ilk__acceptor_lost(node);
    node->took_part = 0;
    ilk__attempts_miss(node);
}

static void break_off(ilk__quorum_node *node, const char *why)
{
    ilk__async_conn_break(&node->calls.connection, why);
    lose(node, 1);
}

static void take_reply(ilk__quorum_node *node, ilk__node_call *call,
                       ilk__reply *reply)
{
    if (reply->type == ILK__REPLY_ERROR
        && call->ended != ilk__acceptor_answered)
        (void)ilk__reply_error(reply, &node->why);
    ilk__quorum_count_reply(node, call, reply);
    ilk__node_call_end(&node->calls, call, reply);
}

void ilk__quorum_read_replies(ilk__quorum_node *node)
{
    ilk__node_calls_event event;
    ilk__node_call *call;
    ilk__reply *reply;

    do {
        event = ilk__node_calls_next(&node->calls, &call, &reply);
        switch (event) {
        case ILK__NODE_CALLS_REPLY: take_reply(node, call, reply); break;
        case ILK__NODE_CALLS_CAME_UP:
            ilk__members_connected(&node->quorum->members, node->number);
            break;
        case ILK__NODE_CALLS_LOST: lose(node, 0); break;
        case ILK__NODE_CALLS_FAILED: lose(node, 1); break;
        case ILK__NODE_CALLS_NOTHING: break;
        }
    } while (event != ILK__NODE_CALLS_NOTHING);
}

/* ---- members ------------------------------------------------------------- */

/* A nonce belongs to one server, and to one loss of its memory. */
static int are_twins(const ilk__quorum *quorum, size_t i, size_t j)
{
    const ilk__member *members = quorum->members.nodes;

    return members[i].known && members[j].known
           && strcmp(members[i].nonce, members[j].nonce) == 0;
}

static void note_twins(ilk__quorum *quorum, size_t i, size_t j)
{
    snprintf(quorum->twice, sizeof quorum->twice,
             "%.60s:%d and %.60s:%d are one server", quorum->nodes[i].url.host,
             quorum->nodes[i].url.port, quorum->nodes[j].url.host,
             quorum->nodes[j].url.port);
    quorum->twins[0] = i;
    quorum->twins[1] = j;
}

/* Two nodes that were one server count as one until both have replied with different
 * nonces: while one of them is away, a hold could count the same server's vote as two. */
static void look_for_twins(ilk__quorum *quorum)
{
    const ilk__member *members = quorum->members.nodes;

    if (quorum->twice[0] && members[quorum->twins[0]].known
        && members[quorum->twins[1]].known)
        quorum->twice[0] = '\0';
    for (size_t i = 0; i < quorum->count; i++)
        for (size_t j = i + 1; j < quorum->count; j++)
            if (are_twins(quorum, i, j))
                note_twins(quorum, i, j);
}

/* The next connection tries again. */
static void refuse(ilk__quorum_node *node, ilk_error why)
{
    break_off(node, why.msg);
    node->why = why;
}

static void take_joined(ilk__quorum_node *node, const ilk__reply *reply)
{
    ilk__quorum *quorum = node->quorum;
    ilk_error why;

    if (reply->type == ILK__REPLY_ERROR) {
        (void)ilk__reply_error(reply, &why);
        refuse(node, why);
    } else if (ilk__script_code(reply) == ILK__CODE_DIFFERS) {
        ilk__fail(&why, ILK_ENOQUORUM,
                  "others use it in a quorum of %lld with a longest lease of "
                  "%lld ms",
                  (long long)ilk__script_int(reply, 0),
                  (long long)ilk__script_int(reply, 1));
        refuse(node, why);
    } else {
        const ilk__join_reply joined = {
            .is_member = ilk__script_int(reply, 0) == 1,
            .is_late = ilk__script_int(reply, 0) == -1,
            .wait_ms = ilk__script_int(reply, 1),
            .early_ms = ilk__script_int(reply, 2),
            .most = ilk__script_int(reply, 3),
            .nonce = ilk__script_item(reply, 4)->str};

        if (ilk__members_reply(&quorum->members, node->number, &joined,
                               ilk__now_ms()))
            look_for_twins(quorum);
        else
            break_off(node, "a node's state makes no sense");
    }
}

static int joined(void *at, void *owner, const ilk__node_call *call,
                  ilk__reply *reply)
{
    (void)owner;
    (void)call;
    if (reply)
        take_joined(at, reply);
    return 0;
}

static void join(ilk__quorum *quorum, const ilk__join *call)
{
    const ilk__bytes keys[] = {ilk__quorum_node_key, ilk__quorum_most_key};
    ilk__quorum_node *node = &quorum->nodes[call->node];
    char nonce[ILK__CLIENT_ID_LEN + 1];
    ilk__command command;

    ilk__command_init(&command);
    if (ilk__token(nonce, ILK__CLIENT_ID_LEN, NULL))
        command.failed = 1;
    ilk__script_begin(&command, call->script, keys, 2);
    ilk__command_add_str(&command, nonce);
    ilk__command_add_int(&command, (int64_t)quorum->count);
    ilk__command_add_int(&command, quorum->longest_ms);
    ilk__command_add_str(&command, call->nonce);
    ilk__command_add_int(&command, call->floor);
    ilk__command_add_int(&command, call->first);
    ilk__command_add_int(&command, call->is_known);
    if (!ilk__quorum_send(node, &command, call->script, joined, NULL))
        break_off(node, "no memory for a call");
}

/* ---- logins of the core -------------------------------------------------- */

enum { OTHERS_MS = 250 };

void ilk__quorum_contact(void *self, ilk__gateway_request *request)
{
    ilk__quorum *quorum = self;

    if (quorum->was_reached) {
        ilk__gateway_contact_made(request);
        return;
    }
    if (quorum->contact_count == ILK__QUORUM_CONTACTS) {
        ilk__gateway_break(request);
        return;
    }
    quorum->contacts[quorum->contact_count] = request;
    quorum->contact_at[quorum->contact_count++] = ilk__now_ms();
    ilk__quorum_answer_contacts(quorum);
}

/* A majority can be reached, and votes or has to wait. The others have had a little time
 * to come: one of them may be a node of this majority under another name. */
static int is_reached(const ilk__quorum *quorum, int64_t since)
{
    size_t reached = 0, open = 0;

    for (size_t i = 0; i < quorum->count; i++) {
        const ilk__quorum_node *node = &quorum->nodes[i];

        if (!ilk__members_is_joining(&quorum->members, i, ilk__now_ms()))
            reached++;
        else
            open += (size_t)!node->has_failed;
    }
    return reached >= ilk__quorum_majority(quorum)
           && (open == 0 || since + OTHERS_MS <= ilk__now_ms());
}

static int may_be_reached(const ilk__quorum *quorum)
{
    size_t failed = 0;

    for (size_t i = 0; i < quorum->count; i++)
        failed += (size_t)quorum->nodes[i].has_failed;
    return failed <= quorum->count - ilk__quorum_majority(quorum);
}

static void refuse_contact(const ilk__quorum *quorum,
                           ilk__gateway_request *request)
{
    char text[ILK_ERROR_MAX];

    for (size_t i = 0; i < quorum->count; i++)
        if (quorum->nodes[i].why.code == ILK_EAUTH) {
            snprintf(text, sizeof text, "NOAUTH %s:%d: %.150s",
                     quorum->nodes[i].url.host, quorum->nodes[i].url.port,
                     quorum->nodes[i].why.msg);
            ilk__gateway_reply_error(request, text);
            return;
        }
    ilk__quorum_write_why(quorum, "NOQUORUM", text);
    ilk__gateway_reply_error(request, text);
}

static int64_t end_of_contact(const ilk__quorum *quorum, size_t index)
{
    return quorum->contact_at[index] + quorum->connect_ms * 3 / 4;
}

void ilk__quorum_answer_contacts(ilk__quorum *quorum)
{
    const int64_t now = ilk__now_ms();
    size_t left = 0;

    for (size_t i = 0; i < quorum->contact_count; i++)
        if (!quorum->twice[0] && is_reached(quorum, quorum->contact_at[i])) {
            quorum->was_reached = 1;
            ilk__gateway_contact_made(quorum->contacts[i]);
        } else if (quorum->twice[0] || !may_be_reached(quorum)
                   || end_of_contact(quorum, i) <= now) {
            refuse_contact(quorum, quorum->contacts[i]);
        } else {
            quorum->contact_at[left] = quorum->contact_at[i];
            quorum->contacts[left++] = quorum->contacts[i];
        }
    quorum->contact_count = left;
}

static int64_t contact_due(const ilk__quorum *quorum, size_t index)
{
    const int64_t others = quorum->contact_at[index] + OTHERS_MS;

    return others > ilk__now_ms() ? others : end_of_contact(quorum, index);
}

/* ---- time ---------------------------------------------------------------- */

static int64_t silence_due(const ilk__quorum_node *node)
{
    return ilk__node_calls_silent_at(&node->calls, node->quorum->patience_ms);
}

void ilk__quorum_fire_nodes(ilk__quorum *quorum, int64_t now)
{
    ilk__join call;

    for (size_t i = 0; i < quorum->count; i++) {
        if (silence_due(&quorum->nodes[i]) <= now)
            break_off(&quorum->nodes[i], "the node does not answer");
        ilk__quorum_check_messages(&quorum->nodes[i], now);
    }
    while (ilk__members_next(&quorum->members, now, &call))
        join(quorum, &call);
    for (size_t i = 0; i < quorum->count; i++)
        note_part(&quorum->nodes[i]);
    ilk__quorum_answer_contacts(quorum);
}

int64_t ilk__quorum_nodes_due(const ilk__quorum *quorum)
{
    int64_t until = ilk__members_wake_at(&quorum->members, ilk__now_ms());

    for (size_t i = 0; i < quorum->count; i++) {
        until = ilk__sooner(until, silence_due(&quorum->nodes[i]));
        until = ilk__sooner(until,
                            ilk__node_messages_due(&quorum->nodes[i].messages,
                                                   quorum->patience_ms));
    }
    for (size_t i = 0; i < quorum->contact_count; i++)
        until = ilk__sooner(until, contact_due(quorum, i));
    return until;
}

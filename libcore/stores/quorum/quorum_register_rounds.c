/* SPDX-License-Identifier: MIT */
/*
 * quorum_register_rounds.c -- a round of a proposal: one script at all nodes
 * that keep registers, and their replies.
 *
 * Replies to an earlier round may still come, and do not count. A node replies
 * in the order of its calls, so the reply to the last of them is that of the
 * present round.
 */
#include "quorum_registers_internal.h"

#include <stdio.h>

void ilk__proposal_clear_round(ilk__proposal *one)
{
    for (size_t i = 0; i < one->quorum->count; i++) {
        ilk__reply_free(one->replies[i]);
        one->replies[i] = NULL;
        one->asked[i] = 0;
    }
}

void ilk__proposal_begin_round(ilk__proposal *one, ilk__proposal_phase next)
{
    ilk__proposal_clear_round(one);
    one->is = next;
    one->at = ILK__FOREVER;
    one->why[0] = '\0';
}

/* ---- sending ------------------------------------------------------------- */

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
        ilk__proposal_go_on(one);
    ilk__proposal_dispose_idle(one);
    return keeps;
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

static void compose_read(const ilk__proposal *one, ilk__command *command,
                         ilk__bytes *keys)
{
    const ilk__gateway_request *request = one->request;

    begin_command(one, command, ILK__SCRIPT_QUORUM_REGISTER_READ, keys, 4);
    if (!ilk__proposal_waits(one)) {
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

static void compose_prepare(const ilk__proposal *one, ilk__command *command,
                            ilk__bytes *keys)
{
    begin_command(one, command, ILK__SCRIPT_QUORUM_REGISTER_PREPARE, keys, 2);
    ilk__command_add_int(command, one->counter);
    ilk__command_add_int(command, one->proposer);
}

/* A node that accepts another version notifies the waiters. */
static void compose_accept(const ilk__proposal *one, ilk__command *command,
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
    ilk__command_add_int(command, one->outcome == ILK__OUTCOME_HAD_CHANGED);
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
    ilk__proposal_go_on(one);
}

void ilk__proposal_send_read(ilk__proposal *one)
{
    ilk__proposal_begin_round(one, ILK__PROPOSAL_READS);
    send_round(one, ILK__SCRIPT_QUORUM_REGISTER_READ, compose_read);
}

void ilk__proposal_send_prepare(ilk__proposal *one)
{
    ilk__proposal_begin_round(one, ILK__PROPOSAL_PREPARES);
    send_round(one, ILK__SCRIPT_QUORUM_REGISTER_PREPARE, compose_prepare);
}

void ilk__proposal_send_accept(ilk__proposal *one)
{
    ilk__proposal_begin_round(one, ILK__PROPOSAL_ACCEPTS);
    send_round(one, ILK__SCRIPT_QUORUM_REGISTER_ACCEPT, compose_accept);
}

/* ---- counting ------------------------------------------------------------ */

size_t ilk__proposal_count(const ilk__proposal *one, int code)
{
    size_t number = 0;

    for (size_t i = 0; i < one->quorum->count; i++)
        number += one->replies[i] && ilk__script_code(one->replies[i]) == code;
    return number;
}

size_t ilk__proposal_count_open(const ilk__proposal *one)
{
    size_t number = 0;

    for (size_t i = 0; i < one->quorum->count; i++)
        number += one->asked[i] && !one->replies[i];
    return number;
}

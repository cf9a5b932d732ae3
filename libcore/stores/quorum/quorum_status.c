/* SPDX-License-Identifier: MIT */
/*
 * quorum_status.c -- the nodes' states and numbers, for ilk_client_get_node_stats().
 *
 * The gateway's thread counts in each node, and copies all of it under a mutex: before
 * the replies of a turn leave, so that a caller that has one finds it counted, and before it
 * sleeps. Other threads read the copy.
 */
#include "quorum_internal.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t clock_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* ---- counting ------------------------------------------------------------ */

void ilk__quorum_count_call(ilk__quorum_node *node)
{
    ilk__node_stats_call(&node->stats);
}

static void count_vote(ilk_node_stats *stats, int script, int code)
{
    int confirms = script == ILK__SCRIPT_QUORUM_CONFIRM
                   || script == ILK__SCRIPT_QUORUM_CONFIRM_LEADER;

    if (!confirms && script != ILK__SCRIPT_QUORUM_ACQUIRE)
        return;
    if (code == ILK__CODE_HELD && confirms)
        stats->confirmed++;
    else if (code == ILK__CODE_HELD)
        stats->granted++;
    else if (code == ILK__CODE_REFUSED)
        stats->refused++;
    else if (code == ILK__CODE_LOST)
        stats->lost++;
}

/* The node's clock in a reply; 0: there is none. */
static int64_t now_in(int script, const ilk__reply *reply)
{
    const int code = ilk__script_code(reply);

    switch (script) {
    case ILK__SCRIPT_QUORUM_JOIN:
        return code == ILK__CODE_STATE ? ilk__script_int(reply, 5) : 0;
    case ILK__SCRIPT_QUORUM_ACQUIRE:
    case ILK__SCRIPT_QUORUM_CONFIRM:
    case ILK__SCRIPT_QUORUM_CONFIRM_LEADER:
    case ILK__SCRIPT_QUORUM_YIELD:
        if (code == ILK__CODE_HELD)
            return ilk__script_int(reply, 2);
        return code == ILK__CODE_QUEUED || code == ILK__CODE_BUSY
                   ? ilk__script_int(reply, 1)
                   : 0;
    default: return 0;
    }
}

void ilk__quorum_count_reply(ilk__quorum_node *node, const ilk__node_call *call,
                             const ilk__reply *reply)
{
    const int64_t trip_us = ilk__node_stats_reply(&node->stats, call);
    int64_t now_us;

    if (reply->type == ILK__REPLY_ERROR || call->script == ILK__SCRIPT_NONE)
        return;
    count_vote(&node->stats, call->script, ilk__script_code(reply));
    now_us = now_in(call->script, reply);
    /* The script ran half a round trip ago, as far as anybody knows. */
    if (now_us)
        node->stats.clock_offset_us = now_us - (clock_us() - trip_us / 2);
}

/* ---- publishing ---------------------------------------------------------- */

static int waits(const ilk__quorum_node *node)
{
    const ilk__member *member = &node->quorum->members.nodes[node->number];

    return node->calls.connection.up && member->known && !member->is_member;
}

int64_t ilk__quorum_votes_at(const ilk__quorum_node *node)
{
    const ilk__member *member = &node->quorum->members.nodes[node->number];

    return member->is_first ? member->first_at : member->from;
}

ilk_node_state ilk__quorum_state_of(const ilk__quorum_node *node)
{
    if (ilk__quorum_takes_part(node))
        return ILK_NODE_VOTING;
    if (node->quorum->twice[0])
        return ILK_NODE_FAILED;
    if (waits(node))
        return ILK_NODE_WAITING;
    return node->has_failed ? ILK_NODE_FAILED : ILK_NODE_CONNECTING;
}

/* While a reply is missing, the state stays as it was. */
static void publish_registers(ilk_node_stats *stats,
                              const ilk__quorum_node *node)
{
    const ilk__quorum *quorum = node->quorum;
    const unsigned bit = 1U << node->number;
    const char *why = node->adoption_why;

    if (node->acceptor.is != ILK__ACCEPTOR_COMES)
        stats->registers = (int32_t)ilk__acceptor_registers(node);
    stats->adopting = (atomic_load(&quorum->to_adopt) & bit) != 0;
    if (!*why && node->acceptor.is != ILK__ACCEPTOR_COMES
        && stats->registers != ILK_REGISTERS_KEPT
        && stats->registers != ILK_REGISTERS_UNKNOWN)
        why = ilk__acceptor_why(node);
    snprintf(stats->registers_error, sizeof stats->registers_error, "%s",
             stats->registers == ILK_REGISTERS_KEPT ? "" : why);
}

static void publish_node(ilk__quorum_status *status, ilk__quorum_node *node)
{
    const ilk__quorum *quorum = node->quorum;
    ilk_node_stats *out = &status->nodes[node->number];

    publish_registers(&node->stats, node);
    *out = node->stats;
    out->state = (int32_t)ilk__quorum_state_of(node);
    out->connects = node->calls.connection.traffic.connects
                    + node->messages.connection.traffic.connects;
    status->votes_at[node->number] = ilk__quorum_votes_at(node);
    if (quorum->twice[0])
        snprintf(out->error, sizeof out->error, "%s", quorum->twice);
    else if (node->why.code)
        memcpy(out->error, node->why.msg, sizeof out->error);
}

void ilk__quorum_publish(ilk__quorum *quorum)
{
    pthread_mutex_lock(&quorum->status.mutex);
    for (size_t i = 0; i < quorum->count; i++)
        publish_node(&quorum->status, &quorum->nodes[i]);
    pthread_mutex_unlock(&quorum->status.mutex);
}

ilk_status ilk__quorum_node_stats(void *self, size_t index, ilk_node_stats *out)
{
    ilk__quorum *quorum = self;
    ilk__quorum_status *status = &quorum->status;
    int64_t left_ms;

    if (index >= quorum->count)
        return ILK_EAGAIN;
    pthread_mutex_lock(&status->mutex);
    *out = status->nodes[index];
    if (atomic_load(&quorum->to_adopt) & (1U << index))
        out->adopting = 1;
    left_ms = status->votes_at[index] - ilk__now_ms();
    pthread_mutex_unlock(&status->mutex);
    if (out->state == ILK_NODE_WAITING && left_ms > 0)
        out->wait_ms = left_ms;
    return ILK_OK;
}

/* SPDX-License-Identifier: MIT */
/* node_calls.c -- the scripts that were sent to a node, and have no reply yet. */
#include "node_calls.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <string.h>
#include <time.h>

void ilk__node_calls_init(ilk__node_calls *calls, ilk__gateway *gateway,
                          const ilk__target *target, void *node)
{
    *calls = (ilk__node_calls){.gateway = gateway, .node = node};
    ilk__async_conn_init(&calls->connection, target);
    calls->connection.carries_commands = 1;
    calls->connection.wanted = 1;
}

/* ---- sending ------------------------------------------------------------- */

static int64_t clock_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* A node gets the source of a script once, and its hash afterwards. */
static int write_command(ilk__node_calls *calls, ilk__command *command,
                         int script, ilk__expected_reply *out_expected)
{
    command->replies =
        script == ILK__SCRIPT_NONE ? ILK__REPLIES_ARRAY : ILK__REPLIES_NUMBERED;
    if (script != ILK__SCRIPT_NONE && !calls->knows[script])
        (void)ilk__script_use_source(command, script);
    if (ilk__async_conn_send(&calls->connection, command, out_expected))
        return 0;
    if (script != ILK__SCRIPT_NONE)
        calls->knows[script] = 1;
    return 1;
}

ilk__node_call *ilk__node_calls_send(ilk__node_calls *calls,
                                     ilk__command *command, int script,
                                     ilk__node_call_ended *ended, void *owner)
{
    ilk__node_call *call = ilk__calloc(1, sizeof *call);
    const int sent = call && calls->connection.up
                     && write_command(calls, command, script, &call->expected);

    ilk__command_free(command);
    if (!sent) {
        ilk__free(call);
        return NULL;
    }
    call->script = script;
    call->sent_at = ilk__now_ms();
    call->sent_us = clock_us();
    call->ended = ended;
    call->owner = owner;
    *(calls->last ? &calls->last->next : &calls->first) = call;
    calls->last = call;
    return call;
}

/* ---- replies ------------------------------------------------------------- */

static ilk__node_call *take_first(ilk__node_calls *calls)
{
    ilk__node_call *call = calls->first;

    calls->first = call->next;
    if (!calls->first)
        calls->last = NULL;
    return call;
}

/* An error has no number. If it belongs to another call, the next reply shows that;
 * its only effect before is that this call has failed. */
static int fits(const ilk__node_call *call, ilk__reply *reply)
{
    if (!call || ilk__match_reply(&call->expected, reply) == ILK__MATCH_FOREIGN
        || ilk__reply_is_error(reply, "NOSCRIPT"))
        return 0;
    return reply->type == ILK__REPLY_ERROR || call->script == ILK__SCRIPT_NONE
           || ilk__script_check(call->script, reply, NULL) == ILK_OK;
}

/* A node that still loads its data counts as one that cannot be reached: it is
 * connected to again, after pauses that grow. */
static ilk__node_calls_event take_reply(ilk__node_calls *calls,
                                        ilk__node_call **out_call,
                                        ilk__reply *reply)
{
    const int is_loading = ilk__reply_is_error(reply, "LOADING");

    if (is_loading || !fits(calls->first, reply)) {
        ilk__reply_free(reply);
        ilk__async_conn_break(
            &calls->connection,
            is_loading ? "the server is loading its data"
                       : "a reply that belongs to no call, or a lost script");
        return ILK__NODE_CALLS_FAILED;
    }
    *out_call = take_first(calls);
    return ILK__NODE_CALLS_REPLY;
}

ilk__node_calls_event ilk__node_calls_next(ilk__node_calls *calls,
                                           ilk__node_call **out_call,
                                           ilk__reply **out_reply)
{
    for (;;) {
        const int was_up = calls->connection.up;

        switch (ilk__async_conn_next(&calls->connection, out_reply)) {
        case ILK__ASYNC_CONN_NOTHING: return ILK__NODE_CALLS_NOTHING;
        case ILK__ASYNC_CONN_CAME_UP:
            if (calls->connection.left_open)
                ilk__gateway_left_open(calls->gateway);
            return ILK__NODE_CALLS_CAME_UP;
        case ILK__ASYNC_CONN_LOST:
            return was_up ? ILK__NODE_CALLS_LOST : ILK__NODE_CALLS_FAILED;
        case ILK__ASYNC_CONN_REPLY:
            if ((*out_reply)->type != ILK__REPLY_PUSH)
                return take_reply(calls, out_call, *out_reply);
            ilk__reply_free(*out_reply);
            break;
        }
    }
}

void ilk__node_call_end(ilk__node_calls *calls, ilk__node_call *call,
                        ilk__reply *reply)
{
    const int kept = call->ended(calls->node, call->owner, call, reply);

    ilk__free(call);
    if (!kept)
        ilk__reply_free(reply);
}

void ilk__node_calls_end_all(ilk__node_calls *calls)
{
    memset(calls->knows, 0, sizeof calls->knows);
    while (calls->first)
        ilk__node_call_end(calls, take_first(calls), NULL);
}

int64_t ilk__node_call_trip_us(const ilk__node_call *call)
{
    return clock_us() - call->sent_us;
}

int64_t ilk__node_calls_silent_at(const ilk__node_calls *calls,
                                  int64_t patience_ms)
{
    return calls->first ? calls->first->sent_at + patience_ms : ILK__FOREVER;
}

/* SPDX-License-Identifier: MIT */
/* quorum_commands.c -- writes the scripts that attempts call at the nodes. */
#include "quorum_internal.h"

#include "wait/limits.h"

#include <string.h>

enum {
    VOTE_KEYS = 5, /* of a lock; an election's fifth is not touched by votes */
    NODE_KEYS = 2
};

const ilk__quorum_kind ilk__quorum_lock = {.key_count = 5,
                                           .confirm =
                                               ILK__SCRIPT_QUORUM_CONFIRM,
                                           .confirm_keys = 2,
                                           .cancel = ILK__SCRIPT_LOCK_CANCEL,
                                           .barges = 1};
const ilk__quorum_kind ilk__quorum_election = {
    .key_count = 6,
    .confirm = ILK__SCRIPT_QUORUM_CONFIRM_LEADER,
    .confirm_keys = 6,
    .cancel = ILK__SCRIPT_ELECTION_CANCEL};

static void add(ilk__command *command, const ilk__bytes *word)
{
    ilk__command_add(command, word->data, word->len);
}

/* With the first `count` keys of the name, and with the node's own if it has to be
 * a member. */
static void begin(ilk__command *command, const ilk__attempt *attempt,
                  int script, size_t count, int for_members)
{
    ilk__bytes keys[ILK__NAME_KEYS + NODE_KEYS];

    memcpy(keys, attempt->words.keys, count * sizeof *keys);
    if (for_members) {
        keys[count++] = ilk__quorum_node_key;
        keys[count++] = ilk__quorum_most_key;
    }
    ilk__command_init(command);
    ilk__script_begin(command, script, keys, count);
}

static void compose_acquire(ilk__command *command, const ilk__attempt *attempt,
                            const ilk__vote_command *what)
{
    int queues = attempt->waits && what->mark != ILK__MARK_CONFIRMED;

    begin(command, attempt, ILK__SCRIPT_QUORUM_ACQUIRE, VOTE_KEYS, 1);
    add(command, &attempt->inner);
    ilk__command_add_int(command, attempt->lease_ms);
    add(command, &attempt->words.who);
    ilk__command_add_int(command, attempt->floor);
    ilk__command_add(command, attempt->inner_entry.data,
                     queues ? attempt->inner_entry.len : 0);
    add(command, &attempt->words.client);
    ilk__command_add_int(command, ILK__LIVENESS_MS);
    ilk__command_add_int(command, attempt->stamp);
    ilk__command_add_int(command, what->mark);
    ilk__command_add_int(command, ILK__GRANT_MS);
    ilk__command_add_int(command, ILK__GRANT_LIMIT);
}

/* A lease of 1 ms that never shortens leaves the lease as it is. */
static void compose_confirm(ilk__command *command, const ilk__attempt *attempt,
                            const ilk__vote_command *what)
{
    const ilk__quorum_kind *kind = attempt->words.kind;
    int keeps = attempt->votes.keeps_leases;

    begin(command, attempt, kind->confirm, kind->confirm_keys, 1);
    add(command, &attempt->inner);
    ilk__command_add_int(command, keeps ? 1 : attempt->lease_ms);
    ilk__command_add_int(command, attempt->state != ILK__ATTEMPT_HOLDS
                                      || attempt->renews || keeps);
    ilk__command_add_int(command, what->given);
    ilk__command_add_int(command, what->fence);
    if (kind == &ilk__quorum_election) {
        ilk__command_add_int(command, attempt->version);
        add(command, &attempt->value);
        ilk__command_add_int(command, ILK__GRANT_LIMIT);
    }
}

static void compose_yield(ilk__command *command, const ilk__attempt *attempt)
{
    begin(command, attempt, ILK__SCRIPT_QUORUM_YIELD, VOTE_KEYS, 0);
    add(command, &attempt->inner);
    add(command, &attempt->inner_entry);
    add(command, &attempt->words.client);
    ilk__command_add_int(command, ILK__LIVENESS_MS);
    ilk__command_add_int(command, attempt->stamp);
    ilk__command_add_int(command, ILK__GRANT_MS);
    ilk__command_add_int(command, ILK__GRANT_LIMIT);
}

int ilk__attempt_send(ilk__attempt *attempt, const ilk__vote_command *what,
                      ilk__node_call_ended *ended)
{
    ilk__quorum_node *node = &attempt->quorum->nodes[what->node];
    int script = what->script;
    ilk__command command;

    if (!ilk__quorum_takes_part(node))
        return 0;
    if (script == ILK__SCRIPT_QUORUM_ACQUIRE) {
        compose_acquire(&command, attempt, what);
    } else if (script == ILK__SCRIPT_QUORUM_CONFIRM) {
        script = attempt->words.kind->confirm;
        compose_confirm(&command, attempt, what);
    } else {
        compose_yield(&command, attempt);
    }
    return ilk__quorum_send(node, &command, script, ended, attempt);
}

int ilk__attempt_send_cancel(ilk__attempt *attempt, ilk__quorum_node *node,
                             ilk__node_call_ended *ended)
{
    const ilk__quorum_kind *kind = attempt->words.kind;
    ilk__command command;

    begin(&command, attempt, kind->cancel, kind->key_count, 0);
    add(&command, &attempt->inner_entry);
    add(&command, &attempt->inner);
    ilk__command_add_int(&command, ILK__GRANT_MS);
    ilk__command_add_int(&command, ILK__GRANT_LIMIT);
    if (kind->barges)
        ilk__command_add_int(&command, 0);
    ilk__command_add_int(&command, ILK__LIVENESS_MS);
    return ilk__quorum_send(node, &command, kind->cancel, ended, attempt);
}

/* SPDX-License-Identifier: MIT */
/* inspect_states.c -- the operations that read the state of one kind, and fill in an
 * ilk_info. */
#include "inspect_states.h"

#include "primitives/election/election.h"
#include "primitives/group/group.h"
#include "primitives/queue/queue.h"

#include <interlock/list.h>

#include <string.h>

static ilk_info *info_of(const ilk__op *op)
{
    return ((ilk__state_reading *)op->subject)->at.info;
}

static void begin(ilk__op *op, size_t keys)
{
    const ilk__state_reading *self = op->subject;

    ilk__script_begin(&op->command, op->type->script, self->at.keys, keys);
}

static ilk__act no_memory(ilk__op *op)
{
    return ilk__op_fail(op, ILK_ENOMEM, "out of memory");
}

static void set_state(ilk_info *info, const char *name, int in_use)
{
    info->state_name = name;
    info->in_use = in_use;
}

/* ---- election ------------------------------------------------------------ */

static void ask_election(ilk__op *op)
{
    begin(op, ILK__ELECTION_KEYS);
    ilk__command_add_int(&op->command, ILK__LISTED_MAX);
}

static int add_leader(ilk_info *info, const ilk__reply *reply)
{
    const ilk__reply *value = ilk__script_item(reply, ILK__ELECTION_AT_VALUE);
    ilk__info_entry *leader = ilk__info_add_holder(
        info, ilk__script_item(reply, ILK__ELECTION_AT_TOKEN),
        ilk__script_item(reply, ILK__ELECTION_AT_WHO));

    if (!leader)
        return 0;
    leader->permits = 1;
    leader->fence = info->fence;
    leader->since_ms = ilk__script_int(reply, ILK__ELECTION_AT_SINCE);
    leader->ttl_ms = info->ttl_ms =
        ilk__script_int(reply, ILK__ELECTION_AT_PTTL);
    info->state = ILK_INFO_HELD;
    info->holders = 1;
    return ilk__info_text(info, "value", value->str, value->len);
}

static ilk__act see_election(ilk__op *op, const ilk__reply *reply)
{
    ilk_info *info = info_of(op);
    int leads = ilk__script_int(reply, ILK__ELECTION_AT_LEADS) == 1;

    info->fence = ilk__script_int(reply, ILK__ELECTION_AT_TERM);
    info->waiters = ilk__script_int(reply, ILK__ELECTION_AT_CANDIDATES);
    set_state(info, leads ? "led" : "vacant",
              leads || info->fence > 0 || info->waiters > 0);
    ilk__info_number(info, "term", info->fence);
    if ((leads && !add_leader(info, reply))
        || !ilk__info_list(info, reply, ILK__ELECTION_AT_ENTRIES))
        return no_memory(op);
    return ilk__op_done(op, ILK_OK);
}

const ilk__op_type ilk__read_election = {.name = "election_inspect",
                                         .script = ILK__SCRIPT_ELECTION_INSPECT,
                                         .reply_is_optional = 1,
                                         .ask = ask_election,
                                         .reply = see_election};

/* ---- event, latch, barrier, register ------------------------------------- */

static void ask_one_key(ilk__op *op)
{
    begin(op, 1);
}

/* 0 accepts each number that its users may have agreed on. */
static void ask_any_count(ilk__op *op)
{
    begin(op, 1);
    ilk__command_add_int(&op->command, 0);
}

static ilk__act see_event(ilk__op *op, const ilk__reply *reply)
{
    ilk_info *info = info_of(op);
    int64_t generation = ilk__script_int(reply, 0);
    int is_set = ilk__script_int(reply, 1) == 1;
    const ilk__reply *data = ilk__script_item(reply, 3);

    set_state(info, is_set ? "set" : "clear", generation > 0);
    if (is_set)
        info->ttl_ms = ilk__script_int(reply, 2);
    ilk__info_number(info, "generation", generation);
    if (!ilk__info_text(info, "data", data->str, data->len))
        return no_memory(op);
    return ilk__op_done(op, ILK_OK);
}

static ilk__act see_latch(ilk__op *op, const ilk__reply *reply)
{
    ilk_info *info = info_of(op);
    int64_t left, count;

    if (ilk__script_code(reply) != ILK__CODE_STATE)
        return ilk__op_fail(op, ILK_EREPLY, "inspect: a wrong shape");
    left = ilk__script_int(reply, 0);
    count = ilk__script_int(reply, 1);
    set_state(info,
              count == 0 ? "none"
              : left > 0 ? "closed"
                         : "open",
              count > 0);
    ilk__info_number(info, "count", count);
    ilk__info_number(info, "left", left);
    return ilk__op_done(op, ILK_OK);
}

static ilk__act see_barrier(ilk__op *op, const ilk__reply *reply)
{
    ilk_info *info = info_of(op);
    int64_t parties, waiting;

    if (ilk__script_code(reply) != ILK__CODE_STATE)
        return ilk__op_fail(op, ILK_EREPLY, "inspect: a wrong shape");
    waiting = ilk__script_int(reply, 0);
    parties = ilk__script_int(reply, 1);
    set_state(info, waiting > 0 ? "waiting" : "idle", parties > 0);
    ilk__info_number(info, "parties", parties);
    return ilk__op_done(op, ILK_OK);
}

static ilk__act see_register(ilk__op *op, const ilk__reply *reply)
{
    ilk_info *info = info_of(op);
    int64_t version = ilk__script_int(reply, 0);
    int has_value = ilk__script_int(reply, 1) == 1;
    const ilk__reply *value = ilk__script_item(reply, 2);

    set_state(info, has_value ? "set" : "none", version > 0);
    ilk__info_number(info, "version", version);
    if (has_value && !ilk__info_text(info, "value", value->str, value->len))
        return no_memory(op);
    return ilk__op_done(op, ILK_OK);
}

#define READING(verb, script_, ask_, see_)                                     \
    {                                                                          \
        .name = #verb, .script = ILK__SCRIPT_##script_,                        \
        .reply_is_optional = 1, .ask = (ask_), .reply = (see_)                 \
    }

const ilk__op_type ilk__read_event =
    READING(event_read, EVENT_READ, ask_one_key, see_event);
const ilk__op_type ilk__read_latch =
    READING(latch_read, LATCH_READ, ask_any_count, see_latch);
const ilk__op_type ilk__read_barrier =
    READING(barrier_read, BARRIER_READ, ask_any_count, see_barrier);
const ilk__op_type ilk__read_register =
    READING(register_get, REGISTER_GET, ask_one_key, see_register);

/* ---- queue --------------------------------------------------------------- */

/* The elements of queue_inspect's reply that follow the code. */
static const char *const queue_facts[] = {
    "ready",  "due",     "delayed",  "taken",  "dead",   "waiting",
    "pushed", "expired", "returned", "buried", "purged", "oldest_ms"};

enum {
    QUEUE_READY,
    QUEUE_DUE,
    QUEUE_DELAYED,
    QUEUE_TAKEN,
    QUEUE_DEAD,
    QUEUE_WAITING,
    QUEUE_PUSHED,
    QUEUE_EXPIRED,
    QUEUE_RETURNED,
    QUEUE_BURIED,
    QUEUE_PURGED,
    QUEUE_OLDEST,
    QUEUE_ORDER,
    QUEUE_HOLDERS,
    QUEUE_LISTED,
    QUEUE_FIRST
};

enum { QUEUE_FACTS = sizeof queue_facts / sizeof *queue_facts };

/* The elements of each reservation, from QUEUE_FIRST on. */
enum { OF_TOKEN, OF_MESSAGES, OF_LEFT, OF_ALL };

static void ask_queue(ilk__op *op)
{
    begin(op, ILK__QUEUE_KEYS);
    ilk__command_add_int(&op->command, ILK__LISTED_MAX);
}

/* The token of a delivery begins with the id of the client that took it. */
static int add_consumer(ilk_info *info, const ilk__reply *reply, size_t at)
{
    char who[ILK__CLIENT_ID_LEN + 2] = "";
    const ilk__reply *token = ilk__script_item(reply, at + OF_TOKEN),
                     *messages = ilk__script_item(reply, at + OF_MESSAGES),
                     *left = ilk__script_item(reply, at + OF_LEFT);
    ilk__reply by = {.type = ILK__REPLY_STR, .str = who};
    ilk__info_entry *one;

    if (token->type != ILK__REPLY_STR || messages->type != ILK__REPLY_INT
        || left->type != ILK__REPLY_INT)
        return 0;
    if (token->len == ILK__TOKEN_LEN) {
        memcpy(who, token->str, ILK__CLIENT_ID_LEN);
        who[ILK__CLIENT_ID_LEN] = ' ';
        by.len = ILK__CLIENT_ID_LEN + 1;
    }
    one = ilk__info_add_holder(info, token, &by);
    if (!one)
        return 0;
    one->permits = messages->num;
    one->ttl_ms = left->num;
    return 1;
}

static int add_consumers(ilk_info *info, const ilk__reply *reply)
{
    int64_t listed = ilk__script_int(reply, QUEUE_LISTED);

    if (listed < 0 || listed > ILK__LISTED_MAX
        || reply->count < 1 + QUEUE_FIRST + (size_t)listed * OF_ALL)
        return 0;
    for (size_t i = 0; i < (size_t)listed; i++)
        if (!add_consumer(info, reply, QUEUE_FIRST + i * OF_ALL))
            return 0;
    if (listed > 0)
        info->ttl_ms = info->holding[0].ttl_ms;
    info->holders = ilk__script_int(reply, QUEUE_HOLDERS);
    info->state = info->holders > 0 ? ILK_INFO_HELD : ILK_INFO_FREE;
    return 1;
}

/* A message that was pushed and is nowhere is finished. */
static int64_t finished(const ilk__reply *reply)
{
    static const size_t places[] = {QUEUE_READY, QUEUE_DELAYED, QUEUE_TAKEN,
                                    QUEUE_DEAD, QUEUE_PURGED};
    int64_t rest = ilk__script_int(reply, QUEUE_PUSHED);

    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        rest -= ilk__script_int(reply, places[i]);
    return rest > 0 ? rest : 0;
}

static ilk__act see_queue(ilk__op *op, const ilk__reply *reply)
{
    ilk_info *info = info_of(op);
    const ilk__reply *order = ilk__script_item(reply, QUEUE_ORDER);
    int64_t ready =
        ilk__script_int(reply, QUEUE_READY) + ilk__script_int(reply, QUEUE_DUE);

    set_state(info, ready > 0 ? "ready" : "empty",
              order->len > 0 || ilk__script_int(reply, QUEUE_PUSHED) > 0
                  || ilk__script_int(reply, QUEUE_WAITING) > 0);
    for (size_t i = 0; i < QUEUE_FACTS; i++)
        if (i != QUEUE_DUE && i != QUEUE_WAITING)
            ilk__info_number(info, queue_facts[i], ilk__script_int(reply, i));
    ilk__info_number(info, "finished", finished(reply));
    if (!ilk__info_text(info, "order", order->str, order->len)
        || !add_consumers(info, reply))
        return no_memory(op);
    return ilk__op_done(op, ILK_OK);
}

const ilk__op_type ilk__read_queue =
    READING(queue_inspect, QUEUE_INSPECT, ask_queue, see_queue);

/* ---- group --------------------------------------------------------------- */

static void ask_group(ilk__op *op)
{
    const ilk__state_reading *self = op->subject;

    begin(op, ILK__GROUP_KEYS);
    ilk__command_add_int(&op->command, self->members.cursor);
    ilk__command_add_int(&op->command, self->members.base);
    ilk__command_add_int(&op->command, ILK__GROUP_PAGE);
    ilk__command_add_int(&op->command, ILK__GROUP_PAGE);
}

static ilk_status list_members(ilk_info *info, ilk__known *known,
                               ilk_error *err)
{
    ilk_members *members;
    ilk_status st = ilk__known_report(&members, known, err);

    if (st)
        return st;
    info->holders = (int64_t)ilk_members_count(members);
    info->state = info->holders > 0 ? ILK_INFO_HELD : ILK_INFO_FREE;
    set_state(info, info->holders > 0 ? "joined" : "empty", info->holders > 0);
    ilk__info_number(info, "members", info->holders);
    for (size_t i = 0; i < (size_t)info->holders && i < ILK__LISTED_MAX; i++) {
        size_t len;
        const char *id = ilk_members_id(members, i, &len);

        if (!ilk__info_add_labelled(info, id, len))
            st = ilk__fail(err, ILK_ENOMEM, "out of memory");
    }
    ilk_members_free(members);
    return st;
}

static ilk__act see_group(ilk__op *op, const ilk__reply *reply)
{
    ilk__state_reading *self = op->subject;
    ilk_status st = ilk__known_apply(&self->members, reply, op->err);

    if (st == ILK_OK && !self->members.more)
        st = list_members(self->at.info, &self->members, op->err);
    return ilk__op_done(op, st);
}

const ilk__op_type ilk__read_group =
    READING(group_read, GROUP_READ, ask_group, see_group);

/* ---- waiters ------------------------------------------------------------- */

static void ask_waiters(ilk__op *op)
{
    const ilk__state_reading *self = op->subject;

    ilk__script_begin(&op->command, op->type->script,
                      &self->at.keys[self->waiters_at], 1);
    ilk__command_add_int(&op->command, ILK__LISTED_MAX);
}

static ilk__act see_waiters(ilk__op *op, const ilk__reply *reply)
{
    ilk_info *info = info_of(op);

    info->waiters = ilk__script_int(reply, 0);
    info->in_use = info->in_use || info->waiters > 0;
    if (info->kind == ILK_KIND_SIGNAL)
        info->state_name = info->waiters > 0 ? "awaited" : "idle";
    if (!ilk__info_list(info, reply, 1))
        return no_memory(op);
    return ilk__op_done(op, ILK_OK);
}

const ilk__op_type ilk__read_waiters =
    READING(state_inspect, STATE_INSPECT, ask_waiters, see_waiters);

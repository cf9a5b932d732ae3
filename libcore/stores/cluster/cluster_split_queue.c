/* SPDX-License-Identifier: MIT */
/*
 * cluster_split_queue.c -- several queues by priority, in several slots.
 *
 * The queues are tried in their order: neighbours in one slot with one command, the
 * next ones when the first have nothing. A command that finds nothing leaves the
 * consumer's entry in the wait queues of its queues, so a message that is pushed
 * behind it wakes the consumer. So at most one command reserves something:
 *
 *     queue_reserve  a b c             all are in slots of their own
 *       step 1     a: EMPTY, entered
 *       step 2     b: JOBS             c is not tried
 *       reply      {JOBS, ... 1 ...}   the entry leaves the wait queue of a, and
 *                                      that of c if it was there before
 *
 * A repeated request must find the messages of its first copy before it takes others.
 * The copy reserved them where it tried last, so the cluster keeps that place for a
 * token until the reply says that there is nothing (tried_last).
 */
#include "cluster_split_internal.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "gateway/resp.h"
#include "wait/wait_queue.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    QUEUE_KEYS = 9,
    /* the arguments of queue_reserve */
    TOKEN = 0,
    LEASE = 2,
    ORDER = 3,
    MOST = 4,
    ENTRY = 5,
    LIVENESS = 7,
    QUEUED = 9,
    SETTLEMENTS = 10,
    /* of job_settle */
    ALONE = 3,
    /* of queue_refresh */
    ENTRIES = 5,

    TRIED_WAYS = 8
};

/* ---- queue_cancel -------------------------------------------------------- */

static void cancelled(ilk__cluster_part *part, const ilk__reply *reply)
{
    if (ilk__script_code(reply) == ILK__CODE_RELEASED)
        part->split->sum += ilk__script_int(reply, 0);
}

static void all_cancelled(ilk__cluster_split *split)
{
    if (split->sum > 0)
        ilk__cluster_split_reply(split, ILK__CODE_RELEASED, "i", split->sum);
    else
        ilk__cluster_split_reply(split, ILK__CODE_GONE, "");
}

static void begin_cancel(ilk__cluster_split *split)
{
    ilk__cluster_split_all(split, ilk__cluster_part_same, cancelled,
                           all_cancelled);
}

/* ---- queue_refresh ------------------------------------------------------- */

static void note_due(ilk__cluster_split *split, int64_t due)
{
    if (due >= 0 && (split->least < 0 || due < split->least))
        split->least = due;
}

static size_t entries_of(const ilk__cluster_split *split)
{
    size_t count = split->request->arg_count;

    return count > ENTRIES ? count - ENTRIES : 0;
}

/* An entry that one part lacks was woken there. */
static void refreshed(ilk__cluster_part *part, const ilk__reply *reply)
{
    ilk__cluster_split *split = part->split;

    note_due(split, ilk__script_int(reply, 0));
    split->now = ilk__script_int(reply, 1);
    for (size_t i = 0; i < entries_of(split) && 4 + 3 * i < reply->count; i++)
        if (reply->items[4 + 3 * i]->num != ILK__CODE_QUEUED)
            split->values[i] = 1;
}

static void all_refreshed(ilk__cluster_split *split)
{
    const size_t entries = entries_of(split);
    ilk__buf out = {0};
    ilk_status st =
        ilk__cluster_split_head(split, &out, 4 + 3 * entries, ILK__CODE_BUSY);

    if (st == ILK_OK)
        st = ilk__resp_add(&out, ":%" PRId64 "\r\n:%" PRId64 "\r\n:1\r\n",
                           split->least, split->now);
    for (size_t i = 0; i < entries && st == ILK_OK; i++)
        st =
            ilk__resp_add(&out, ":%d\r\n:0\r\n:0\r\n",
                          split->values[i] ? ILK__CODE_GONE : ILK__CODE_QUEUED);
    ilk__cluster_split_end(split, &out, st);
}

static void begin_refresh(ilk__cluster_split *split)
{
    split->least = -1;
    ilk__cluster_split_all(split, ilk__cluster_part_same, refreshed,
                           all_refreshed);
}

/* ---- settlements --------------------------------------------------------- */

/* The settlements begin at this argument. */
static size_t first_of(const ilk__cluster_split *split)
{
    return split->request->script == ILK__SCRIPT_JOB_SETTLE ? ALONE
                                                            : SETTLEMENTS;
}

/* `<kind> <queue> ...`: the number of its queue, and the text behind it. */
static size_t queue_of(const ilk__cluster_split *split, const ilk__reply *text,
                       const char **rest)
{
    char *end = text->str;
    size_t queue = SIZE_MAX;

    if (text->len > 2 && text->str[1] == ' ')
        queue = strtoul(text->str + 2, &end, 10);
    *rest = end;
    return queue < split->name_count ? queue : SIZE_MAX;
}

/* How many queues of its part come before this one. */
static size_t place_of(const ilk__cluster_split *split, size_t queue)
{
    size_t before = 0;

    for (size_t i = 0; i < queue; i++)
        if (split->part_of[i] == split->part_of[queue])
            before++;
    return before;
}

static void add_settlement(ilk__cluster_part *part, const ilk__reply *text,
                           size_t place, const char *rest)
{
    const size_t len = text->len - (size_t)(rest - text->str);
    ilk__buf out = {0};
    ilk_status st = ilk__resp_add(&out, "%c %zu", *text->str, place);

    if (st == ILK_OK)
        st = ilk__buf_add(&out, rest, len);
    if (st)
        part->split->is_broken = 1;
    else
        ilk__cluster_part_word(part, ilk__buf_data(&out), ilk__buf_len(&out));
    ilk__buf_free(&out);
}

/* NULL: there are none for this part. */
static ilk__cluster_part *settlements_of(ilk__cluster_split *split,
                                         size_t number)
{
    const ilk__gateway_request *request = split->request;
    const int alone = first_of(split) == ALONE;
    ilk__cluster_part *part = NULL;
    const char *rest;

    for (size_t i = first_of(split); i < request->arg_count; i++) {
        size_t queue = queue_of(split, request->args[i], &rest);

        if (queue == SIZE_MAX || split->part_of[queue] != number)
            continue;
        if (!part) {
            part = ilk__cluster_part_new(split, number, ILK__SCRIPT_JOB_SETTLE);
            if (!part)
                return NULL;
            ilk__cluster_part_args(part, alone ? 0 : ORDER,
                                   alone ? 2 : MOST + 1);
            ilk__cluster_part_args(part, alone ? 2 : LIVENESS,
                                   (alone ? 2 : LIVENESS) + 1);
        }
        add_settlement(part, request->args[i], place_of(split, queue), rest);
    }
    return part;
}

/* The numbers of a part, in the order of its settlements. */
static void settled(ilk__cluster_part *part, const ilk__reply *reply)
{
    ilk__cluster_split *split = part->split;
    const ilk__gateway_request *request = split->request;
    char *at = ilk__script_item(reply, 0)->str;
    const char *rest;

    for (size_t i = first_of(split); i < request->arg_count; i++) {
        size_t queue = queue_of(split, request->args[i], &rest);

        if (queue == SIZE_MAX || split->part_of[queue] != part->number)
            continue;
        split->values[i] = strtoll(at, &at, 10);
        split->is_changed |= split->values[i] > 0;
    }
}

static ilk_status add_number(ilk__buf *text, int64_t number)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%s%" PRId64,
                       ilk__buf_len(text) ? " " : "", number);

    return ilk__buf_add(text, digits, (size_t)len);
}

/* All numbers as one text; NULL: no memory. */
static char *done_of(const ilk__cluster_split *split)
{
    ilk__buf text = {0};
    ilk_status st = ILK_OK;
    char *done;

    for (size_t i = first_of(split);
         i < split->request->arg_count && st == ILK_OK; i++)
        st = add_number(&text, split->values[i]);
    if (st == ILK_OK)
        st = ilk__buf_add(&text, "", 1);
    done = st ? NULL : ilk__strdup(ilk__buf_data(&text));
    ilk__buf_free(&text);
    return done;
}

static void settle(ilk__cluster_split *split, ilk__cluster_split_then *then)
{
    split->failed = ilk__cluster_split_fail_in_part;
    ilk__cluster_split_begin(split, settled, then);
    for (size_t i = 0; i < split->part_count; i++)
        ilk__cluster_part_send(settlements_of(split, i));
    ilk__cluster_split_sent(split);
}

static void all_settled(ilk__cluster_split *split)
{
    split->done = done_of(split);
    if (split->done)
        ilk__cluster_split_reply(split, ILK__CODE_RELEASED, "s", split->done);
    else
        ilk__cluster_split_end(split, &(ilk__buf){0}, ILK_ENOMEM);
}

static void begin_settle(ilk__cluster_split *split)
{
    settle(split, all_settled);
}

/* ---- where a token was tried last ---------------------------------------- */

static uint64_t mark_of(const ilk__cluster_split *split)
{
    const ilk__reply *token = split->request->args[TOKEN];

    return ilk__hash(ILK__HASH_START, token->str, token->len);
}

/* The places of some marks, of which one may be this token's. NULL: none yet. */
static ilk__cluster_tried *places_of(const ilk__cluster_split *split)
{
    const size_t sets = ILK__CLUSTER_TRIED / TRIED_WAYS;
    ilk__cluster_tried *all = split->cluster->tried;

    return all ? all + mark_of(split) % sets * TRIED_WAYS : NULL;
}

static ilk__cluster_tried *tried_last(const ilk__cluster_split *split)
{
    ilk__cluster_tried *places = places_of(split);

    for (size_t i = 0; places && i < TRIED_WAYS; i++)
        if (places[i].turn && places[i].mark == mark_of(split))
            return &places[i];
    return NULL;
}

/* The oldest of the set gives way. Without memory there is no command, either. */
static int keep_place(const ilk__cluster_split *split, size_t part)
{
    ilk__cluster *cluster = split->cluster;
    ilk__cluster_tried *place = tried_last(split), *places;

    if (!cluster->tried)
        cluster->tried =
            ilk__calloc(ILK__CLUSTER_TRIED, sizeof *cluster->tried);
    places = places_of(split);
    if (!places)
        return 0;
    if (!place) {
        place = &places[0];
        for (size_t i = 1; i < TRIED_WAYS; i++)
            if (places[i].turn < place->turn)
                place = &places[i];
    }
    *place = (ilk__cluster_tried){mark_of(split), part, ++cluster->tried_turn};
    return 1;
}

static void forget_place(const ilk__cluster_split *split)
{
    ilk__cluster_tried *place = tried_last(split);

    if (place)
        place->turn = 0;
}

/* ---- queue_reserve ------------------------------------------------------- */

/* The parts in the order in which they are tried: their own, but for the first one of
 * a repeated request. */
static size_t part_at(const ilk__cluster_split *split, size_t index)
{
    if (index == 0)
        return split->first;
    return index <= split->first ? index - 1 : index;
}

/* The entry leaves the wait queues of the parts that were tried without success, and of
 * those in which it was before. A wake-up that the entry has got there is passed on. The
 * token "-" is nobody's, so this cannot return the messages that were reserved. An entry
 * that stays, because a command got lost, is woken once, and the core passes that on. */
static void leave_others(ilk__cluster_split *split)
{
    const ilk__reply *entry = split->request->args[ENTRY];

    for (size_t i = 0; entry->len && i < split->part_count; i++) {
        ilk__cluster_part *part;

        if (i == split->tried || (i > split->tried && !split->is_elsewhere))
            continue;
        part = ilk__cluster_part_new(split, part_at(split, i),
                                     ILK__SCRIPT_QUEUE_CANCEL);
        ilk__cluster_part_word(part, entry->str, entry->len);
        ilk__cluster_part_word(part, "-", 1);
        ilk__cluster_part_int(part, ILK__GRANT_MS);
        ilk__cluster_part_int(part, ILK__GRANT_LIMIT);
        ilk__cluster_part_args(part, LIVENESS, LIVENESS + 1);
        ilk__cluster_part_send_alone(part);
    }
    split->is_broken = 0; /* without memory for a command */
}

static void reply_jobs(ilk__cluster_split *split, const ilk__reply *reply)
{
    const size_t part = part_at(split, split->tried);
    const size_t queue =
        ilk__cluster_part_name(split, part, (size_t)ilk__script_int(reply, 1));
    ilk_status st = ilk__cluster_split_head(split, &split->out, reply->count,
                                            ilk__script_code(reply));

    if (st == ILK_OK)
        st = ilk__resp_add_bytes(&split->out,
                                 (ilk__span){split->done, strlen(split->done)});
    if (st == ILK_OK)
        st = ilk__resp_add(&split->out, ":%" PRId64 "\r\n",
                           queue == SIZE_MAX ? -1 : (int64_t)queue);
    for (size_t i = 3; i < reply->count && st == ILK_OK; i++)
        st = ilk__resp_add_reply(&split->out, reply->items[i]);
    split->is_broken |= st != ILK_OK;
}

static void tried(ilk__cluster_part *part, const ilk__reply *reply)
{
    ilk__cluster_split *split = part->split;
    const int code = ilk__script_code(reply);

    split->is_refused = code != ILK__CODE_EMPTY;
    if (code == ILK__CODE_EMPTY) {
        note_due(split, ilk__script_int(reply, 1));
        split->now = ilk__script_int(reply, 2);
        return;
    }
    reply_jobs(split, reply);
    if (code == ILK__CODE_JOBS && !split->is_broken)
        leave_others(split);
}

static void try_next(ilk__cluster_split *split);

static void next(ilk__cluster_split *split)
{
    ilk__buf out = split->out;

    if (split->is_refused) {
        split->out = (ilk__buf){0};
        ilk__cluster_split_end(split, &out, ILK_OK);
    } else if (++split->tried < split->part_count) {
        try_next(split);
    } else {
        forget_place(split);
        ilk__cluster_split_reply(split, ILK__CODE_EMPTY, "sii", split->done,
                                 split->least, split->now);
    }
}

/* A pop leaves nothing behind that a repeated request could find. */
static void try_next(ilk__cluster_split *split)
{
    const size_t number = part_at(split, split->tried);
    ilk__cluster_part *part;

    ilk__cluster_split_begin(split, tried, next);
    if (ilk__cluster_split_arg(split, LEASE) && !keep_place(split, number)) {
        split->is_broken = 1;
        ilk__cluster_split_sent(split);
        return;
    }
    part = ilk__cluster_part_new(split, number, ILK__SCRIPT_QUEUE_RESERVE);
    ilk__cluster_part_args(part, 0, SETTLEMENTS);
    ilk__cluster_part_send(part);
    ilk__cluster_split_sent(split);
}

/* The settlements are done, so their numbers are part of the reply all the same. */
static void refused(ilk__cluster_split *split)
{
    if (*split->done)
        ilk__cluster_split_reply(split, ILK__CODE_REFUSED, "ss", split->done,
                                 split->error);
    else
        ilk__cluster_split_fail(split);
}

static void try_first(ilk__cluster_split *split)
{
    const ilk__cluster_tried *place = tried_last(split);

    split->done = done_of(split);
    if (!split->done) {
        ilk__cluster_split_end(split, &(ilk__buf){0}, ILK_ENOMEM);
        return;
    }
    split->is_elsewhere =
        place != NULL || ilk__cluster_split_arg(split, QUEUED) == 1;
    split->first = place && place->part < split->part_count ? place->part : 0;
    split->failed = refused;
    try_next(split);
}

static void begin_reserve(ilk__cluster_split *split)
{
    split->least = -1;
    if (split->request->arg_count < SETTLEMENTS) {
        snprintf(split->error, sizeof split->error,
                 "ILKARG queue_reserve: too few arguments");
        ilk__cluster_split_fail(split);
    } else {
        settle(split, try_first);
    }
}

const ilk__cluster_split_kind
    ilk__cluster_queue_reserve = {.script = ILK__SCRIPT_QUEUE_RESERVE,
                                  .keys = QUEUE_KEYS,
                                  .in_order = 1,
                                  .begin = begin_reserve},
    ilk__cluster_queue_refresh = {.script = ILK__SCRIPT_QUEUE_REFRESH,
                                  .keys = QUEUE_KEYS,
                                  .begin = begin_refresh},
    ilk__cluster_queue_cancel = {.script = ILK__SCRIPT_QUEUE_CANCEL,
                                 .keys = QUEUE_KEYS,
                                 .begin = begin_cancel},
    ilk__cluster_job_settle = {.script = ILK__SCRIPT_JOB_SETTLE,
                               .keys = QUEUE_KEYS,
                               .begin = begin_settle};

/* SPDX-License-Identifier: MIT */
/*
 * cluster_split_signal.c -- waits for signals of names in several slots. Each list
 * gives its signals by itself, so the parts are independent: one command to each
 * slot, all at the same time.
 */
#include "cluster_split_internal.h"

#include "gateway/resp.h"

#include <interlock/signal.h>

#include <inttypes.h>

enum { LISTS = 4 /* of one name: wait, live, crowd, given */ };

/* ---- signal_wait --------------------------------------------------------- */

enum { WAIT_SECRETS = 4 /* the first argument that stands for a name */ };

static void add_wait(ilk__cluster_part *part)
{
    ilk__cluster_part_args(part, 0, WAIT_SECRETS);
    ilk__cluster_part_own_args(part, WAIT_SECRETS);
}

static void placed(ilk__cluster_part *part, const ilk__reply *reply)
{
    ilk__cluster_split *split = part->split;

    if (ilk__script_code(reply) != ILK__CODE_QUEUED) {
        split->is_refused = 1;
        return;
    }
    split->now = ilk__script_int(reply, 0);
    for (size_t i = 1; i < reply->count - 1; i++) {
        size_t name = ilk__cluster_part_name(split, part->number, i - 1);

        if (name < split->name_count)
            split->values[name] = ilk__script_int(reply, i);
    }
}

static void all_placed(ilk__cluster_split *split)
{
    ilk__buf out = {0};
    ilk_status st;

    if (split->is_refused) {
        ilk__cluster_split_reply(split, ILK__CODE_BUSY, "");
        return;
    }
    st = ilk__cluster_split_head(split, &out, 2 + split->name_count,
                                 ILK__CODE_QUEUED);
    if (st == ILK_OK)
        st = ilk__resp_add(&out, ":%" PRId64 "\r\n", split->now);
    for (size_t i = 0; i < split->name_count && st == ILK_OK; i++)
        st = ilk__resp_add(&out, ":%" PRId64 "\r\n", split->values[i]);
    ilk__cluster_split_end(split, &out, st);
}

static void begin_wait(ilk__cluster_split *split)
{
    ilk__cluster_split_all(split, add_wait, placed, all_placed);
}

/* ---- signal_refresh ------------------------------------------------------ */

enum { REFRESH_NAMES = 4 };

static void add_refresh(ilk__cluster_part *part)
{
    ilk__cluster_part_args(part, 0, REFRESH_NAMES);
    ilk__cluster_part_own_args(part, REFRESH_NAMES);
    if (part)
        ilk__cluster_part_args(part, REFRESH_NAMES + part->split->name_count,
                               SIZE_MAX);
}

/* All replies are the same but for the time. */
static void refreshed(ilk__cluster_part *part, const ilk__reply *reply)
{
    part->split->now = ilk__script_int(reply, 1);
}

static void all_refreshed(ilk__cluster_split *split)
{
    const size_t first = REFRESH_NAMES + split->name_count + 1;
    const size_t entries = split->request->arg_count > first
                               ? split->request->arg_count - first
                               : 0;
    ilk__buf out = {0};
    ilk_status st =
        ilk__cluster_split_head(split, &out, 4 + 3 * entries, ILK__CODE_FREE);

    if (st == ILK_OK)
        st = ilk__resp_add(&out, ":-1\r\n:%" PRId64 "\r\n:1\r\n", split->now);
    for (size_t i = 0; i < entries && st == ILK_OK; i++)
        st = ilk__resp_add(&out, ":%d\r\n:0\r\n:0\r\n", ILK__CODE_QUEUED);
    ilk__cluster_split_end(split, &out, st);
}

static void begin_refresh(ilk__cluster_split *split)
{
    ilk__cluster_split_all(split, add_refresh, refreshed, all_refreshed);
}

/* ---- signal_cancel ------------------------------------------------------- */

/* `ask`, or the digits of the part's names. */
static void add_what(ilk__cluster_part *part)
{
    const ilk__cluster_split *split = part->split;
    const ilk__reply *what = split->request->args[1];
    char digits[ILK_SIGNAL_MAX];
    size_t count = 0;

    if (what->len != split->name_count || *what->str == 'a') {
        ilk__cluster_part_args(part, 1, 2);
        return;
    }
    for (size_t i = 0; i < split->name_count && count < sizeof digits; i++)
        if (split->part_of[i] == part->number)
            digits[count++] = what->str[i];
    ilk__cluster_part_word(part, digits, count);
}

static void add_cancel(ilk__cluster_part *part)
{
    ilk__cluster_part_args(part, 0, 1);
    if (part && part->split->request->arg_count > 1)
        add_what(part);
    ilk__cluster_part_args(part, 2, SIZE_MAX);
}

static void cancelled(ilk__cluster_part *part, const ilk__reply *reply)
{
    if (ilk__script_code(reply) != ILK__CODE_GONE)
        return;
    part->split->is_refused = 1;
    part->split->sum += ilk__script_int(reply, 0);
}

/* The sum is the number of wake-ups without a name that will come: each is the last
 * message of its node, and the nodes' messages come in any order. */
static void all_cancelled(ilk__cluster_split *split)
{
    if (split->is_refused)
        ilk__cluster_split_reply(split, ILK__CODE_GONE, "i", split->sum);
    else
        ilk__cluster_split_reply(split, ILK__CODE_RELEASED, "");
}

static void begin_cancel(ilk__cluster_split *split)
{
    ilk__cluster_split_all(split, add_cancel, cancelled, all_cancelled);
}

const ilk__cluster_split_kind
    ilk__cluster_signal_wait = {.script = ILK__SCRIPT_SIGNAL_WAIT,
                                .keys = LISTS,
                                .begin = begin_wait},
    ilk__cluster_signal_refresh = {.script = ILK__SCRIPT_SIGNAL_REFRESH,
                                   .keys = LISTS,
                                   .begin = begin_refresh},
    ilk__cluster_signal_cancel = {.script = ILK__SCRIPT_SIGNAL_CANCEL,
                                  .keys = LISTS,
                                  .begin = begin_cancel};

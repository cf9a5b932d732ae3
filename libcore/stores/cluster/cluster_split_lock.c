/* SPDX-License-Identifier: MIT */
/*
 * cluster_split_lock.c -- one lock over many names, in several slots.
 *
 * many_acquire takes the names of one slot after those of another, by the number
 * of the slot, and waits for nobody:
 *
 *     step 1..n  many_acquire of a slot  --- BUSY ---> many_release of those before,
 *          | HELD                                      then the reply BUSY
 *     step n+1   many_extend of all but the last: the fence of the last one, which
 *          | HELD                                      is the greatest
 *     reply      HELD
 *
 * So of several callers that try at the same time one always succeeds: the one that
 * has come to the highest slot. A caller that waits takes the names one by one, in the
 * order of their bytes whatever their slots are (lock_many_acquire.c), so two of them
 * cannot wait for each other.
 *
 * Renewals and releases go to all slots at the same time. A name that was lost makes the
 * whole lock lost, as on one server.
 */
#include "cluster_split_internal.h"

#include "wait/wait_queue.h"

enum {
    LOCK_KEYS = 5,
    /* the arguments of many_acquire */
    TOKEN = 0,
    LEASE = 1,
    FLOOR = 3
};

/* ---- many_extend --------------------------------------------------------- */

static void extended(ilk__cluster_part *part, const ilk__reply *reply)
{
    ilk__cluster_split *split = part->split;

    if (ilk__script_code(reply) != ILK__CODE_HELD) {
        if (!split->is_refused)
            ilk__evidence_read(&split->evidence, reply);
        split->is_refused = 1;
        return;
    }
    split->least = ilk__sooner(split->least, ilk__script_int(reply, 0));
    if (ilk__script_int(reply, 1) > split->most)
        split->most = ilk__script_int(reply, 1);
    split->now = ilk__script_int(reply, 2);
}

static void all_extended(ilk__cluster_split *split)
{
    if (split->is_refused)
        ilk__cluster_split_reply(split, ILK__CODE_LOST, "iis",
                                 split->evidence.born, split->evidence.broken,
                                 split->evidence.by);
    else
        ilk__cluster_split_reply(split, ILK__CODE_HELD, "iii", split->least,
                                 split->most, split->now);
}

static void begin_extend(ilk__cluster_split *split)
{
    split->least = INT64_MAX;
    ilk__cluster_split_all(split, ilk__cluster_part_same, extended,
                           all_extended);
}

/* ---- many_release -------------------------------------------------------- */

/* The evidence of all slots as one, as many_release.lua makes it of names. */
static void lost(ilk__cluster_split *split, const ilk__reply *reply)
{
    const int64_t born = ilk__script_int(reply, 0);
    const int64_t broken = ilk__script_int(reply, 1);
    struct ilk__cluster_lost *all = &split->lost;

    if (all->names == 0)
        all->born = born;
    else
        all->born = all->born > 0 && born > 0
                        ? (born > all->born ? born : all->born)
                        : 0;
    if (all->broken < 0 || broken < 0)
        all->broken = -1;
    else if (broken > all->broken)
        all->broken = broken;
    all->names += ilk__script_int(reply, 2);
}

static void note_most(int64_t *most, int64_t value)
{
    if (value > *most)
        *most = value;
}

static void released(ilk__cluster_part *part, const ilk__reply *reply)
{
    ilk__cluster_split *split = part->split;
    const int64_t names = (int64_t)(part->request.key_count / LOCK_KEYS);

    if (ilk__script_code(reply) == ILK__CODE_RELEASED) {
        split->is_changed = 1;
        note_most(&split->most, ilk__script_int(reply, 0));
        note_most(&split->sum, ilk__script_int(reply, 1));
    } else {
        split->is_changed |= ilk__script_int(reply, 2) < names;
        lost(split, reply);
        note_most(&split->most, ilk__script_int(reply, 3));
    }
}

static void all_released(ilk__cluster_split *split)
{
    const struct ilk__cluster_lost *all = &split->lost;

    if (all->names > 0)
        ilk__cluster_split_reply(split, ILK__CODE_LOST, "iiii", all->born,
                                 all->broken, all->names, split->most);
    else
        ilk__cluster_split_reply(split, ILK__CODE_RELEASED, "ii", split->most,
                                 split->sum);
}

static void begin_release(ilk__cluster_split *split)
{
    split->failed = ilk__cluster_split_fail_in_part;
    ilk__cluster_split_all(split, ilk__cluster_part_same, released,
                           all_released);
}

/* ---- many_acquire -------------------------------------------------------- */

/* The part of the lowest slot above this one. part_count: there is none. */
static size_t next_part(const ilk__cluster_split *split, int above)
{
    size_t found = split->part_count;

    for (size_t i = 0; i < split->part_count; i++)
        if (split->slots[i] > above
            && (found == split->part_count
                || split->slots[i] < split->slots[found]))
            found = i;
    return found;
}

static void forget(ilk__cluster_part *part, const ilk__reply *reply)
{
    (void)part;
    (void)reply;
}

static void reply_busy(ilk__cluster_split *split)
{
    ilk__cluster_split_reply(split, ILK__CODE_BUSY, "iiii", split->busy.name,
                             split->busy.pttl, split->now, split->busy.ours);
}

/* The parts below this slot have been acquired, and are released before the reply. */
static void give_back(ilk__cluster_split *split, int below)
{
    ilk__cluster_split_begin(split, forget, reply_busy);
    for (size_t i = 0; i < split->part_count; i++) {
        ilk__cluster_part *part;

        if (split->slots[i] >= below)
            continue;
        part = ilk__cluster_part_new(split, i, ILK__SCRIPT_MANY_RELEASE);
        ilk__cluster_part_args(part, TOKEN, TOKEN + 1);
        ilk__cluster_part_int(part, ILK__GRANT_MS);
        ilk__cluster_part_int(part, ILK__GRANT_LIMIT);
        ilk__cluster_part_int(part, ILK__LIVENESS_MS);
        ilk__cluster_part_send(part);
    }
    ilk__cluster_split_sent(split);
}

static void raised(ilk__cluster_part *part, const ilk__reply *reply)
{
    ilk__cluster_split *split = part->split;

    if (ilk__script_code(reply) == ILK__CODE_HELD || split->is_refused)
        return;
    split->is_refused = 1;
    split->busy.name = (int64_t)ilk__cluster_part_name(split, part->number, 0);
}

/* A name whose lease ended meanwhile counts as busy. */
static void all_raised(ilk__cluster_split *split)
{
    if (split->is_refused)
        give_back(split, ILK__SLOTS);
    else
        ilk__cluster_split_reply(split, ILK__CODE_HELD, "iii", split->least,
                                 split->most, split->now);
}

/* No record may stay below the fence of the lock. */
static void raise_fences(ilk__cluster_split *split)
{
    ilk__cluster_split_begin(split, raised, all_raised);
    for (size_t i = 0; i < split->part_count; i++) {
        ilk__cluster_part *part;

        if (split->values[i] == split->most)
            continue;
        part = ilk__cluster_part_new(split, i, ILK__SCRIPT_MANY_EXTEND);
        ilk__cluster_part_args(part, TOKEN, LEASE + 1);
        ilk__cluster_part_int(part, 1);
        ilk__cluster_part_int(part, split->most);
        ilk__cluster_part_send(part);
    }
    ilk__cluster_split_sent(split);
}

static void acquired(ilk__cluster_part *part, const ilk__reply *reply)
{
    ilk__cluster_split *split = part->split;

    if (ilk__script_code(reply) == ILK__CODE_HELD) {
        split->least = ilk__sooner(split->least, ilk__script_int(reply, 0));
        split->values[part->number] = ilk__script_int(reply, 1);
        note_most(&split->most, ilk__script_int(reply, 1));
        split->now = ilk__script_int(reply, 2);
        return;
    }
    split->is_refused = 1;
    split->busy.name = (int64_t)ilk__cluster_part_name(
        split, part->number, (size_t)ilk__script_int(reply, 0));
    split->busy.pttl = ilk__script_int(reply, 1);
    split->now = ilk__script_int(reply, 2);
    split->busy.ours = ilk__script_int(reply, 3);
}

static void acquire_next(ilk__cluster_split *split);

static void one_acquired(ilk__cluster_split *split)
{
    if (split->is_refused)
        give_back(split, split->slots[split->tried]);
    else if (next_part(split, split->slots[split->tried]) < split->part_count)
        acquire_next(split);
    else
        raise_fences(split);
}

/* The greatest fence so far is the floor for the next part. */
static void acquire_next(ilk__cluster_split *split)
{
    const int last =
        split->tried < split->part_count ? split->slots[split->tried] : -1;
    ilk__cluster_part *part;

    split->tried = next_part(split, last);
    ilk__cluster_split_begin(split, acquired, one_acquired);
    part = ilk__cluster_part_new(split, split->tried, ILK__SCRIPT_MANY_ACQUIRE);
    ilk__cluster_part_args(part, TOKEN, FLOOR);
    ilk__cluster_part_int(part, split->most);
    ilk__cluster_part_send(part);
    ilk__cluster_split_sent(split);
}

static void begin_acquire(ilk__cluster_split *split)
{
    split->least = INT64_MAX;
    split->most = ilk__cluster_split_arg(split, FLOOR);
    split->tried = split->part_count;
    acquire_next(split);
}

const ilk__cluster_split_kind
    ilk__cluster_many_acquire = {.script = ILK__SCRIPT_MANY_ACQUIRE,
                                 .keys = LOCK_KEYS,
                                 .begin = begin_acquire},
    ilk__cluster_many_extend = {.script = ILK__SCRIPT_MANY_EXTEND,
                                .keys = LOCK_KEYS,
                                .begin = begin_extend},
    ilk__cluster_many_release = {.script = ILK__SCRIPT_MANY_RELEASE,
                                 .keys = LOCK_KEYS,
                                 .begin = begin_release};

/* SPDX-License-Identifier: MIT */
/* lane_slot.c -- finishes the slots of a lane, and wakes their callers when the
 * mutex is unlocked. */
#include "lane_internal.h"

#include "base/alloc.h"
#include "base/clock.h"

void ilk__lane_answered(_Atomic uint32_t *group)
{
    if (group)
        atomic_fetch_sub(group, 1);
}

void ilk__lane_set_abandoned(ilk__lane *lane, ilk__lane_slot *slot)
{
    slot->abandoned = 1;
    if (lane->abandoned++ == 0)
        atomic_store(&lane->unread_since, ilk__now_ms());
}

static void finish_abandoned(ilk__lane *lane, ilk__lane_slot *slot,
                             ilk_status status)
{
    ilk__ensured *ensured = slot->ensured;

    if (--lane->abandoned == 0)
        atomic_store(&lane->unread_since, 0);
    if (ensured) {
        if (slot->reply)
            status = ilk__ensured_judge(ensured, slot->reply);
        ensured->status = status;
        ensured->next = lane->ended;
        lane->ended = ensured;
    }
    ilk__reply_free(slot->reply);
    ilk__free(slot);
}

/*
 * Finish a slot. A parked caller returns without locking the mutex again, and
 * its slot is on its stack, so the slot must not be touched once the caller is
 * woken. The slot therefore moves to `owed`, and ilk__lane_unlock() unparks it
 * as its last access.
 */
void ilk__lane_finish(ilk__lane *lane, ilk__lane_slot *slot, ilk_status status)
{
    ilk__lane_answered(slot->group);
    if (slot->abandoned) {
        finish_abandoned(lane, slot, status);
        return;
    }
    slot->status = status;
    slot->done = 1;
    if (!slot->parked)
        return; /* the caller is awake and checks `done` under the mutex */
    slot->next = NULL;
    *lane->owed_end = slot;
    lane->owed_end = &slot->next;
}

void ilk__lane_unlock(ilk__lane *lane)
{
    ilk__lane_slot *owed = lane->owed, *next;
    ilk__ensured *ended = lane->ended;

    lane->ended = NULL;
    lane->owed = NULL;
    lane->owed_end = &lane->owed;
    pthread_mutex_unlock(&lane->mutex);
    for (; owed; owed = next) {
        next = owed->next;
        ilk__unpark(&owed->parker);
    }
    ilk__lane_end_ensured(ended);
}

void ilk__lane_end_ensured(ilk__ensured *ended)
{
    for (ilk__ensured *next; ended; ended = next) {
        next = ended->next;
        ended->ended(ended, ended->status);
    }
}

void ilk__lane_finish_all(ilk__lane *lane, ilk_status status)
{
    ilk__lane_slot *next;

    for (ilk__lane_slot *p = lane->first; p; p = next) {
        next = p->next;
        ilk__lane_finish(lane, p, status);
    }
    lane->first = lane->last = NULL;
}

/* SPDX-License-Identifier: MIT */
/* lane.c -- calls over one connection that any number of threads share. */
#include "lane_internal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/descriptor.h"

#include <unistd.h>

/* How long a reply that nobody waits for may stay unread while others call. */
enum { OVERDUE_MS = 20 };

ilk__lane *ilk__lane_new(const ilk__target *target)
{
    ilk__lane *lane = ilk__calloc(1, sizeof *lane);

    if (!lane)
        return NULL;
    pthread_mutex_init(&lane->mutex, NULL);
    lane->target = target;
    lane->owed_end = &lane->owed;
    lane->next_number = ilk__first_request_number();
    return lane;
}

/* ---- calling ------------------------------------------------------------ */

/* Replace the slot of a call that gives up, which is on the caller's stack, by
 * an abandoned one in the same position. */
static void abandon_slot(ilk__lane *lane, ilk__lane_slot *p)
{
    ilk__lane_slot *slot = ilk__malloc(sizeof *slot);
    ilk__lane_slot **link;

    if (!slot) { /* replies could not be matched any more: break it */
        ilk__lane_break(lane, ILK_ECONN, ILK__LANE_BROKEN);
        return;
    }
    *slot = *p;
    ilk__lane_set_abandoned(lane, slot);
    slot->parked = 0;
    for (link = &lane->first; *link != p;)
        link = &(*link)->next;
    *link = slot;
    if (lane->last == p)
        lane->last = slot;
}

/* A call's time is up: abandon its slot. Once the server's patience has passed,
 * it is taken for dead, and the connection is closed as well. */
static ilk_status give_up(ilk__lane *lane, ilk__lane_slot *p,
                          ilk__lane_call *call, ilk_error *err)
{
    int dead = ilk__now_ms() >= call->patience;

    /* If it is not sent yet, it stays in `pending`, and the next call sends it. */
    call->may_have_run = 1;
    abandon_slot(lane, p);
    if (!lane->has_leader) /* resign() may have chosen this caller to lead */
        ilk__lane_resign(lane);
    if (dead) {
        ilk__lane_break(lane, ILK_ECONN, ILK__LANE_BROKEN);
        return ilk__fail(err, ILK_ETIMEOUT, "the server does not reply");
    }
    return ilk__fail(err, ILK_ETIMEOUT, "no reply in time");
}

/* Sleep until the reply comes or this caller is to lead, limit at most. 1: the
 * slot is done, and the mutex is not held any more. 0: the mutex is held. */
static int sleep_for_reply(ilk__lane *lane, ilk__lane_slot *p, int64_t limit)
{
    p->parked = 1;
    ilk__lane_unlock(lane);
    if (ilk__park(&p->parker, limit) == ILK_OK && p->parked)
        return 1;
    pthread_mutex_lock(&lane->mutex);
    if (p->done && p->parked) { /* another thread's unlock() will unpark us */
        ilk__lane_unlock(lane);
        while (ilk__park(&p->parker, ILK__FOREVER))
            continue;
        return 1;
    }
    p->parked = 0;
    (void)ilk__parker_consume(&p->parker); /* one that came too late */
    return 0;
}

static void lead(ilk__lane *lane, ilk__lane_slot *p, int64_t limit,
                 ilk_error *err)
{
    lane->has_leader = 1;
    while (!p->done && ilk__now_ms() < limit)
        ilk__lane_lead_once(lane, limit, err);
    ilk__lane_resign(lane);
}

/* Lead or sleep until the reply has come. Returns without the mutex. */
static ilk_status await_reply(ilk__lane *lane, ilk__lane_slot *p,
                              ilk__lane_call *call, ilk_error *err)
{
    int64_t limit = ilk__sooner(call->deadline, call->patience);
    ilk_status st = ILK_OK;
    int held = 1;

    while (held && !p->done && st == ILK_OK) {
        if (ilk__now_ms() >= limit)
            st = give_up(lane, p, call, err);
        else if (!lane->has_leader)
            lead(lane, p, limit, err);
        else if (sleep_for_reply(lane, p, limit))
            held = 0;
    }
    if (held)
        ilk__lane_unlock(lane);
    return st;
}

/* The result of a call whose slot is done. */
static ilk_status outcome(ilk__lane_slot *p, ilk__lane_call *call,
                          ilk_error *err)
{
    if (p->status == ILK_OK) {
        ilk__error_clear(err); /* as the leader it may have met a fault */
        return ILK_OK;
    }
    call->may_have_run = 1;
    if (err && err->code == 0)
        ilk__fail(err, p->status, "the connection to the server broke");
    return p->status;
}

static ilk_status come_up(ilk__lane *lane, ilk__lane_call *call, ilk_error *err)
{
    ilk_status st;
    int64_t before;

    if (lane->state == ILK__LANE_UP)
        return ILK_OK;
    before = ilk__now_ms();
    st = ilk__lane_come_up(lane, call->deadline, call->pauses_until,
                           call->sleep, err);
    call->patience += ilk__now_ms() - before;
    return st;
}

ilk_status ilk__lane_call_run(ilk__lane *lane, ilk__lane_call *call,
                              ilk_error *err)
{
    ilk__lane_slot self = {0};
    ilk_status st = ilk__parker_init(&self.parker, err);

    if (st) {
        ilk__lane_answered(call->group);
        return st;
    }
    call->reply = NULL;
    call->may_have_run = 0;
    self.group = call->group;
    pthread_mutex_lock(&lane->mutex);
    st = come_up(lane, call, err);
    if (st == ILK_OK)
        st = ilk__lane_append(lane, &self, call->command, err);
    if (st == ILK_OK) {
        ilk__lane_flush(lane, 0, err);
        st = await_reply(lane, &self, call, err);
        if (st == ILK_OK)
            st = outcome(&self, call, err);
    } else {
        ilk__lane_answered(call->group);
        ilk__lane_unlock(lane);
    }
    ilk__parker_destroy(&self.parker);
    call->reply = self.reply;
    return st;
}

static int has_unsent(const ilk__lane *lane)
{
    return ilk__buf_len(&lane->writing) > 0 || ilk__buf_len(&lane->pending) > 0
           || ilk__conn_unsent(lane->conn);
}

/*
 * Read the replies that have already arrived, and write as much as the socket
 * accepts, unless there is a leader. No thread waits for a reply, so the next
 * call writes the rest.
 */
static void drain(ilk__lane *lane)
{
    if (lane->has_leader || lane->state != ILK__LANE_UP)
        return;
    lane->has_leader = 1;
    while (ilk__lane_lead_once(lane, 0, NULL) && lane->state == ILK__LANE_UP
           && has_unsent(lane))
        ilk__lane_flush(lane, 1, NULL);
    ilk__lane_resign(lane);
}

ilk_status ilk__lane_send_only(ilk__lane *lane, const ilk__command *command,
                               ilk__ensured *ensured, _Atomic uint32_t *group)
{
    ilk__lane_slot *slot = ilk__calloc(1, sizeof *slot);
    ilk_status st = ILK_ECONN;
    int64_t connects;

    if (!slot) {
        ilk__lane_answered(group);
        if (ensured)
            ensured->ended(ensured, ILK_ENOMEM);
        return ILK_ENOMEM;
    }
    slot->ensured = ensured;
    slot->group = group;
    pthread_mutex_lock(&lane->mutex);
    ilk__lane_set_abandoned(lane, slot);
    connects = lane->traffic.connects;
    if (lane->state == ILK__LANE_UP)
        st = ilk__lane_append(lane, slot, command, NULL);
    if (st == ILK_OK) {
        ilk__lane_flush(lane, 1, NULL);
        drain(lane);
        if (lane->state != ILK__LANE_UP || lane->traffic.connects != connects)
            st = ILK_ECONN; /* the connection turned out to be broken */
    } else {
        ilk__lane_finish(lane, slot,
                         lane->state == ILK__LANE_SHUT ? ILK_ECLOSED : st);
    }
    ilk__lane_unlock(lane);
    return st;
}

void ilk__lane_read_overdue(ilk__lane *lane)
{
    const int64_t since = atomic_load(&lane->unread_since);

    if (!since || ilk__now_ms() - since < OVERDUE_MS)
        return;
    pthread_mutex_lock(&lane->mutex);
    drain(lane);
    if (lane->abandoned) /* not at each call */
        atomic_store(&lane->unread_since, ilk__now_ms());
    ilk__lane_unlock(lane);
}

ilk_status ilk__lane_connect(ilk__lane *lane, int64_t deadline,
                             int64_t pauses_until, ilk__lane_sleep *sleep,
                             ilk_error *err)
{
    ilk_status st;

    pthread_mutex_lock(&lane->mutex);
    st = ilk__lane_come_up(lane, deadline, pauses_until, sleep, err);
    ilk__lane_unlock(lane);
    return st;
}

void ilk__lane_distrust(ilk__lane *lane)
{
    pthread_mutex_lock(&lane->mutex);
    ilk__lane_break(lane, ILK_ECONN, ILK__LANE_BROKEN);
    ilk__lane_unlock(lane);
}

void ilk__lane_break_if_idle(ilk__lane *lane)
{
    pthread_mutex_lock(&lane->mutex);
    if (!lane->first)
        ilk__lane_break(lane, ILK_ECONN, ILK__LANE_BROKEN);
    ilk__lane_unlock(lane);
}

void ilk__lane_leave_old(ilk__lane *lane)
{
    pthread_mutex_lock(&lane->mutex);
    lane->retry_at = 0;
    if (lane->state == ILK__LANE_UP && ilk__conn_is_outdated(lane->conn))
        ilk__lane_break(lane, ILK_ECONN, ILK__LANE_BROKEN);
    ilk__lane_wake_newcomers(lane);
    ilk__lane_unlock(lane);
}

int ilk__lane_is_up(const ilk__lane *lane)
{
    return atomic_load(&lane->is_up);
}

int ilk__lane_is_unsettled(const ilk__lane *lane)
{
    return atomic_load(&lane->is_unsettled);
}

int ilk__lane_in_order(const ilk__lane *lane)
{
    return !atomic_load(&lane->left_open);
}

void ilk__lane_add_traffic(ilk__lane *lane, ilk__traffic *sum)
{
    pthread_mutex_lock(&lane->mutex);
    ilk__traffic_add(sum, &lane->traffic);
    ilk__lane_unlock(lane);
}

void ilk__lane_shut(ilk__lane *lane)
{
    pthread_mutex_lock(&lane->mutex);
    if (lane->state == ILK__LANE_UP)
        ilk__lane_break(lane, ILK_ECLOSED, ILK__LANE_SHUT);
    lane->state = ILK__LANE_SHUT;
    ilk__lane_close_if_unused(lane);
    ilk__lane_wake_newcomers(lane);
    ilk__lane_unlock(lane);
}

void ilk__lane_free(ilk__lane *lane)
{
    if (!lane)
        return;
    ilk__conn_close(lane->conn);
    ilk__lane_finish_all(lane, ILK_ECLOSED);
    ilk__lane_end_ensured(lane->ended);
    ilk__buf_free(&lane->pending);
    ilk__buf_free(&lane->writing);
    pthread_mutex_destroy(&lane->mutex);
    ilk__free(lane);
}

void ilk__lane_abandon(ilk__lane *lane)
{
    if (lane->conn)
        ilk__descriptor_close(ilk__conn_fd(lane->conn));
}

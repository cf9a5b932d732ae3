/* SPDX-License-Identifier: MIT */
/* task.c -- one who takes a lock, holds it for a while and gives it back. */
#include "sim.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

int64_t __real_ilk__lease_deadline(int64_t began, int64_t lease_ms);

static int64_t local_now(const task *t)
{
    return local_of(t->node, world_now);
}

static int number(const task *t)
{
    return (int)(t->node - nodes) * 10 + (int)(t - t->node->tasks);
}

void task_open(task *t, node *n, const char *name)
{
    const ilk__hold_kind *kind = &ilk__lock_plain;

    current = n;
    t->node = n;
    t->rounds = 1 + (int)dice(3);
    t->until = local_now(t) + dice(500);
    snprintf(t->name, sizeof t->name, "%s", name);
    if (ilk__lock_keys(t->keys, name, strlen(name), NULL))
        abort();
    t->wait_queue = (ilk__wait_queue){.keys = t->keys,
                                      .key_count = ILK__LOCK_KEYS,
                                      .acquire = kind->acquire,
                                      .refresh = kind->refresh,
                                      .cancel = kind->cancel,
                                      .kind = 'x',
                                      .orphaned = kind->orphaned,
                                      .foreign_poll_ms = ILK__FOREIGN_POLL_MS};
    t->extend_keys[0] = t->keys[0];
    t->extend_keys[1] = t->keys[1];
    if (ilk__waiter_init(&t->waiter, &n->shared, &t->wait_queue, NULL)
        || ilk__lease_init(&t->lease, &n->shared, &kind->lease, t->extend_keys,
                           2, ilk__shared_new_id(&n->shared), NULL))
        abort();
    ilk__op_init(&t->op, kind->acquire, &t->waiter, 0, &t->err);
    current = NULL;
}

void task_close(task *t)
{
    ilk__waiter_destroy(&t->waiter);
    ilk__lease_destroy(&t->lease);
    ilk__op_free(&t->op);
    ilk__lock_keys_free(t->keys);
}

int task_holds(const task *t, int64_t when)
{
    return !t->node->dead && t->lease.state == ILK__LEASE_HELD
           && local_of(t->node, when) < t->lease.deadline;
}

/* ---- running its operation ---------------------------------------------- */

static void finished(task *t);

static ilk__act step(task *t, ilk__input *input)
{
    input->now = local_now(t);
    return ilk__op_step(&t->op, input);
}

static void obey(task *t, ilk__act act)
{
    wire *lane = &t->node->lane;

    while (act == ILK__ACT_SEND_ONLY) {
        ilk__input input = {.kind = ILK__INPUT_SENT,
                            .status = lane->up ? ILK_OK : ILK_ECONN};

        trace("task %d: takes back", number(t));
        if (lane->up)
            wire_send(t->node, lane, &t->op.command, NULL);
        act = step(t, &input);
    }
    if (act == ILK__ACT_SEND) {
        lane->up = 1;
        t->awaited = ++t->calls;
        t->life = lane->life;
        wire_send(t->node, lane, &t->op.command, t);
    } else if (act == ILK__ACT_SLEEP) {
        t->asleep = 1;
        t->wakes = t->node->shared.wakes;
    } else {
        finished(t);
    }
}

static void start(task *t, const ilk__op_type *type, void *subject,
                  int64_t deadline)
{
    ilk__input input = {.kind = ILK__INPUT_START};

    ilk__op_free(&t->op);
    memset(&t->err, 0, sizeof t->err);
    ilk__op_init(&t->op, type, subject, deadline, &t->err);
    obey(t, step(t, &input));
}

static void wake(task *t, ilk__cause cause)
{
    ilk__input input = {.kind = ILK__INPUT_WAKE, .cause = cause};

    t->asleep = 0;
    obey(t, step(t, &input));
}

void task_answer(task *t, unsigned of, const ilk__reply *reply)
{
    ilk__input input = {.kind = ILK__INPUT_REPLY, .reply = reply};

    if (of != t->awaited)
        return; /* it gave up: the reply is a ghost's */
    t->awaited = 0;
    obey(t, step(t, &input));
}

static void go_without(task *t, ilk_status status)
{
    ilk__input input = {
        .kind = ILK__INPUT_NO_REPLY, .status = status, .may_have_run = 1};

    t->awaited = 0;
    obey(t, step(t, &input));
}

void task_no_answer(task *t)
{
    if (t->awaited && t->life != t->node->lane.life)
        go_without(t, ILK_ECONN);
}

void task_signal(task *t)
{
    if (t->state == ACQUIRING && t->asleep) {
        trace("task %d: a signal", number(t));
        wake(t, ILK__CAUSE_INTERRUPT);
    }
}

/* ---- its life ----------------------------------------------------------- */

static void acquire(task *t)
{
    t->state = ACQUIRING;
    t->waiter.floor = t->lease.fence;
    start(t, t->wait_queue.acquire, &t->waiter, t->wait_until);
}

static void begin(task *t)
{
    int64_t now = local_now(t);

    ilk__lease_end(&t->lease);
    t->began = world_now;
    t->waiter.lease_ms = 200 + dice(3500);
    t->waiter.once = chance(10);
    t->wait_until = chance(50) ? ILK__FOREVER : now + 20 + dice(3000);
    trace("task %d: acquires %s for %lld ms", number(t), t->name,
          (long long)t->waiter.lease_ms);
    acquire(t);
}

static void hold(task *t)
{
    int64_t deadline =
        __real_ilk__lease_deadline(t->waiter.began, t->waiter.granted_ms);
    const char *token = ilk__waiter_token(&t->waiter);

    trace("task %d: holds %s, fence %lld, sure for %lld ms", number(t), t->name,
          (long long)t->waiter.fence, (long long)(deadline - local_now(t)));
    t->state = HOLDING;
    snprintf(t->lease.token, sizeof t->lease.token, "%s", token);
    t->lease.token_len = strlen(token);
    ilk__lease_begin(&t->lease, t->waiter.fence, deadline,
                     t->waiter.granted_ms);
    check_took(t);
    ilk__lease_watch(&t->lease, t->waiter.lease_ms, chance(70), ILK__FOREVER);
    t->until = local_now(t) + dice(800);
}

static void rest(task *t)
{
    t->state = --t->rounds > 0 ? IDLE : FINISHED;
    t->until = local_now(t) + dice(300);
}

/* After a signal: acquire again soon, or late, or never. */
static void park(task *t)
{
    t->state = PARKED;
    t->until = local_now(t) + (chance(20) ? 9000 : dice(500));
    if (chance(20)) {
        ilk__waiter_cancel(&t->waiter);
        rest(t);
    }
}

static void release(task *t)
{
    t->release = (ilk__release){.kind = &ilk__lock_plain,
                                .at = {.wait_queue = &t->wait_queue},
                                .token = t->lease.token,
                                .token_len = t->lease.token_len,
                                .sure_until = t->lease.deadline};
    trace("task %d: releases %s%s", number(t), t->name,
          t->lease.state == ILK__LEASE_LOST ? ", which was lost" : "");
    t->state = RELEASING;
    ilk__lease_end(&t->lease);
    start(t, ilk__lock_plain.release, &t->release, local_now(t) + 5000);
}

static void finished(task *t)
{
    ilk_status status = t->op.status;

    trace("task %d: %s", number(t), ilk_status_name(status));
    if (t->state == ACQUIRING && status == ILK_OK) {
        hold(t);
    } else if (t->state == ACQUIRING && status == ILK_EINTR) {
        park(t);
    } else {
        if (t->state == ACQUIRING && status == ILK_ECONN)
            t->rounds++; /* it did not get to ask: not counted */
        rest(t);
    }
}

int64_t task_due(const task *t)
{
    switch (t->state) {
    case IDLE:
    case PARKED:
    case HOLDING: return t->until;
    case FINISHED: return ILK__FOREVER;
    default: return t->asleep ? t->op.wake_at : t->op.deadline;
    }
}

static void look(task *t)
{
    int news = ilk__park(&t->waiter.parker, 0) == ILK_OK
               || t->wakes != t->node->shared.wakes;

    if (news || local_now(t) >= t->op.wake_at)
        wake(t, news ? ILK__CAUSE_NEWS : ILK__CAUSE_TIME);
}

void task_turn(task *t)
{
    int due = local_now(t) >= task_due(t);

    if (t->state == IDLE && due)
        begin(t);
    else if (t->state == PARKED && due)
        acquire(t);
    else if (t->state == HOLDING && (due || t->lease.state == ILK__LEASE_LOST))
        release(t);
    else if (t->asleep)
        look(t);
    else if (t->awaited && due)
        go_without(t, ILK_ETIMEOUT);
}

/* SPDX-License-Identifier: MIT */
/* lease.c -- the lease of a handle: its deadline, its renewal, its loss. */
#include "lease.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { CLOSE_TICK_MS = 100 }; /* how often detach checks for a closed client */

/* A renewal in flight has copies of all it needs, so the handle may be freed
 * before the reply comes. */
struct ilk__renewal {
    ilk__inflight inflight;
    ilk__extension extension;
    ilk__lease *lease; /* NULL once that hold is over */
    int64_t least_ms; /* the shortest extend in flight at the same time, or 0 */
    ilk__parker *waiting; /* of ilk__lease_detach(); or NULL */
    ilk__bytes keys[];    /* then the keys' bytes and the token's */
};

static void fire(ilk__timer *timer, void *context);

/* A lease from a reply, limited to the valid range. */
static int64_t bounded(int64_t lease_ms)
{
    if (lease_ms < 0)
        return 0;
    return ilk__sooner(lease_ms, ILK__LEASE_MAX_MS);
}

ilk_status ilk__lease_check_ms(const char *field, int64_t lease_ms,
                               ilk_error *err)
{
    if (lease_ms >= ILK_LEASE_MIN_MS && lease_ms <= ILK__LEASE_MAX_MS)
        return ILK_OK;
    return ilk__fail(err, ILK_EINVAL,
                     "%s must be %d to %lld (0: the default), got %lld", field,
                     ILK_LEASE_MIN_MS, (long long)ILK__LEASE_MAX_MS,
                     (long long)lease_ms);
}

int64_t ilk__lease_deadline(int64_t began, int64_t lease_ms)
{
    lease_ms = bounded(lease_ms);
    return began + lease_ms - lease_ms / 100 - ILK__DRIFT_MS;
}

ilk_status ilk__lease_init(ilk__lease *lease, ilk__shared *shared,
                           const ilk__lease_kind *kind, const ilk__bytes *keys,
                           size_t key_count, int64_t id, ilk_error *err)
{
    ilk_status st;

    lease->shared = shared;
    lease->kind = kind;
    lease->keys = keys;
    lease->key_count = key_count;
    lease->id = id;
    lease->timer.fire = fire;
    ilk__shared_lock(shared);
    st = ilk__timers_reserve(&shared->timers, err);
    ilk__shared_unlock(shared);
    return st;
}

static void put_in_list(ilk__lease *lease)
{
    if (lease->link)
        return;
    lease->link = &lease->shared->renewed;
    lease->next = *lease->link;
    if (lease->next)
        lease->next->link = &lease->next;
    *lease->link = lease;
}

static void remove_from_list(ilk__lease *lease)
{
    if (!lease->link)
        return;
    *lease->link = lease->next;
    if (lease->next)
        lease->next->link = lease->link;
    lease->link = NULL;
}

static void stop_watching(ilk__lease *lease)
{
    if (!lease->watched)
        return;
    lease->watched = 0;
    remove_from_list(lease);
    lease->shared->stats.held--;
    ilk__timer_clear(&lease->shared->timers, &lease->timer);
}

/* The keeper stops watching the lease and ignores the reply to a renewal that
 * is in flight. */
static void unwatch(ilk__lease *lease)
{
    if (lease->renewal)
        lease->renewal->lease = NULL;
    lease->renewal = NULL;
    stop_watching(lease);
}

void ilk__lease_destroy(ilk__lease *lease)
{
    ilk__shared *shared = lease->shared;

    ilk__shared_lock(shared);
    unwatch(lease);
    ilk__notifications_forget(&shared->notifications, lease->id);
    ilk__timers_unreserve(&shared->timers);
    ilk__shared_unlock(shared);
}

void ilk__lease_begin(ilk__lease *lease, int64_t fence, int64_t deadline,
                      int64_t span_ms)
{
    ilk__shared_lock(lease->shared);
    lease->span_ms = bounded(span_ms);
    memset(lease->doubt_ms, 0, sizeof lease->doubt_ms);
    lease->changing_ms = lease->changes = lease->overlapped = 0;
    lease->unanswered = 0;
    memset(&lease->loss, 0, sizeof lease->loss);
    atomic_store(&lease->fence, fence);
    atomic_store(&lease->deadline, deadline);
    atomic_store(&lease->state, ILK__LEASE_HELD);
    lease->shared->stats.acquires++;
    ilk__shared_unlock(lease->shared);
}

static void leave(ilk__lease *lease, ilk__lease_state state)
{
    unwatch(lease);
    atomic_store(&lease->state, state);
    atomic_store(&lease->deadline, 0);
}

int64_t ilk__lease_withhold(ilk__lease *lease)
{
    int64_t deadline;

    ilk__shared_lock(lease->shared);
    deadline = atomic_load(&lease->deadline);
    lease->shared->stats.acquires--;
    leave(lease, ILK__LEASE_FREE);
    ilk__shared_unlock(lease->shared);
    return deadline;
}

/* Whether the lease reaches hold_end, so that it needs no more renewals. */
static int is_last_at(const ilk__lease *lease, int64_t deadline)
{
    return deadline >= ilk__lease_deadline(lease->hold_end - lease->span_ms,
                                           lease->span_ms);
}

static int is_last(const ilk__lease *lease)
{
    return is_last_at(lease, atomic_load(&lease->deadline));
}

/* After a third of the lease; where less than two thirds are left, because a reply
 * came late, after a third of that. */
static int64_t next_probe(const ilk__lease *lease, int64_t now)
{
    const int64_t third = lease->span_ms / 3;
    const int64_t deadline = atomic_load(&lease->deadline);

    if (!lease->renews || is_last(lease))
        return deadline;
    return now + (deadline - now > 2 * third ? third : (deadline - now) / 3);
}

void ilk__lease_watch(ilk__lease *lease, int64_t ttl_ms, int renews,
                      int64_t hold_end)
{
    ilk__shared *shared = lease->shared;

    ilk__shared_lock(shared);
    lease->ttl_ms = ttl_ms;
    lease->renews = renews;
    lease->hold_end = hold_end;
    if (!lease->watched)
        shared->stats.held++;
    lease->watched = 1;
    if (renews)
        put_in_list(lease);
    else
        remove_from_list(lease);
    ilk__shared_set_timer(shared, &lease->timer,
                          next_probe(lease, ilk__now_ms()));
    ilk__shared_unlock(shared);
}

/* Wait until no renewal is in flight. Meanwhile the renewal sends no further
 * command, not even a copy after NOSCRIPT; only the reply to the last one is
 * awaited. The mutex is held, and released while waiting. When the client is
 * closed, the keeper may end before the renewal does: ILK_ECLOSED. */
static ilk_status await_renewal(ilk__lease *lease, ilk__parker *parker,
                                ilk_error *err)
{
    ilk__shared *shared = lease->shared;
    ilk__renewal *renewal = lease->renewal;

    if (!renewal)
        return ILK_OK;
    renewal->inflight.closed = 1;
    renewal->waiting = parker;
    while (lease->renewal && !shared->closed) {
        ilk__shared_unlock(shared);
        (void)ilk__park(parker, ilk__deadline(CLOSE_TICK_MS));
        ilk__shared_lock(shared);
    }
    if (!lease->renewal)
        return ILK_OK;
    renewal->waiting = NULL;
    return ilk__fail(err, ILK_ECLOSED, "the client is closed");
}

ilk_status ilk__lease_detach(ilk__lease *lease, ilk_error *err)
{
    ilk__parker parker;
    int lost = 0;
    ilk_status st = ilk__parker_init(&parker, err);

    if (st)
        return st;
    ilk__shared_lock(lease->shared);
    stop_watching(lease);
    st = await_renewal(lease, &parker, err);
    if (st == ILK_OK && atomic_load(&lease->state) == ILK__LEASE_HELD)
        leave(lease, ILK__LEASE_FREE);
    else if (st == ILK_OK)
        lost = 1;
    ilk__shared_unlock(lease->shared);
    if (lost)
        st = ilk__lease_check(lease, err);
    ilk__parker_destroy(&parker);
    return st;
}

int ilk__lease_in_doubt(const ilk__lease *lease, ilk__lease_way way)
{
    return lease->doubt_ms[way] != 0;
}

void ilk__lease_end(ilk__lease *lease)
{
    ilk__shared_lock(lease->shared);
    leave(lease, ILK__LEASE_FREE);
    ilk__shared_unlock(lease->shared);
}

/* Each lease ends here before the server can execute its release and let somebody
 * else in. */
size_t ilk__leases_give_back(ilk__shared *shared)
{
    size_t count = 0;
    ilk__lease *lease;

    while ((lease = shared->renewed) != NULL) {
        leave(lease, ILK__LEASE_FREE);
        if (!lease->give_back)
            continue;
        lease->give_back(lease);
        count++;
    }
    return count;
}

/* ---- losing ------------------------------------------------------------- */

enum { NAME_SHOWN = 64 }; /* bytes of a name in texts */

const char *ilk__lease_describe(const ilk__lease *lease,
                                char to[ILK__LEASE_TEXT])
{
    const size_t room = ILK__LEASE_TEXT;
    const int len =
        lease->name_len > NAME_SHOWN ? NAME_SHOWN : (int)lease->name_len;
    size_t at = (size_t)snprintf(to, room, "%s", lease->kind->noun);

    if (lease->name)
        at += (size_t)snprintf(to + at, room - at, " \"%.*s%s\"", len,
                               lease->name,
                               (size_t)len < lease->name_len ? "..." : "");
    if (lease->others)
        snprintf(to + at, room - at, " and %zu more", lease->others);
    return to;
}

/* The last reply that confirmed the lease came after the time of which this is the
 * wall clock's. */
static int64_t confirmed_at(int64_t deadline, int64_t span_ms, int64_t now)
{
    struct timespec wall;

    clock_gettime(CLOCK_REALTIME, &wall);
    return (int64_t)wall.tv_sec * 1000 + wall.tv_nsec / 1000000
           - (now - (deadline - (ilk__lease_deadline(0, span_ms))));
}

/* With the mutex held, before the lease is left. `deadline` is its last one. */
static void judge(ilk__lease *lease, const ilk__evidence *evidence,
                  int64_t deadline)
{
    ilk__loss *loss = &lease->loss;
    const int64_t now = ilk__now_ms();

    ilk__loss_judge(loss, evidence, atomic_load(&lease->fence));
    if (loss->cause == ILK_LOSS_BROKEN || now < deadline)
        return;
    if (!lease->renews || is_last_at(lease, deadline))
        loss->cause = ILK_LOSS_ENDED;
    else if (!lease->unanswered)
        loss->cause = ILK_LOSS_EXPIRED;
    else {
        loss->cause = ILK_LOSS_UNREACHABLE;
        loss->since_ms = confirmed_at(deadline, lease->span_ms, now);
    }
}

/* With the mutex held. */
static void lose(ilk__lease *lease, const ilk__evidence *evidence,
                 ilk_status why)
{
    char what[ILK__LEASE_TEXT], text[ILK__LOSS_TEXT];

    judge(lease, evidence, atomic_load(&lease->deadline));
    lease->loss.is_vague &= why != ILK_ETYPE;
    leave(lease, ILK__LEASE_LOST);
    lease->shared->stats.losses++;
    if (lease->kind->lost_notification != ILK_NOTIFICATION_NONE)
        ilk__notifications_push(&lease->shared->notifications,
                                lease->kind->lost_notification, lease->id,
                                lease->user, why, lease->loss.cause);
    ilk__log(ILK__LOG_WARN, "%s is lost: %s", ilk__lease_describe(lease, what),
             ilk__loss_text(&lease->loss, text));
}

void ilk__lease_lose(ilk__lease *lease, const ilk__evidence *evidence)
{
    ilk__shared_lock(lease->shared);
    if (atomic_load(&lease->state) == ILK__LEASE_HELD)
        lose(lease, evidence, ILK_ELOST);
    ilk__shared_unlock(lease->shared);
}

void ilk__lease_was_lost(ilk__lease *lease, const ilk__evidence *evidence,
                         int64_t deadline)
{
    ilk__shared_lock(lease->shared);
    judge(lease, evidence, deadline);
    ilk__shared_unlock(lease->shared);
}

ilk_status ilk__lease_fail_lost(const ilk__lease *lease, const char *what,
                                ilk_error *err)
{
    char lost[ILK__LEASE_TEXT], text[ILK__LOSS_TEXT];
    ilk__loss loss;

    ilk__shared_lock(lease->shared);
    loss = lease->loss;
    ilk__shared_unlock(lease->shared);
    return ilk__fail(err, ILK_ELOST, "the %s was lost%s: %s",
                     ilk__lease_describe(lease, lost), what,
                     ilk__loss_text(&loss, text));
}

ilk_status ilk__lease_check(const ilk__lease *lease, ilk_error *err)
{
    switch (atomic_load(&lease->state)) {
    case ILK__LEASE_HELD: return ILK_OK;
    case ILK__LEASE_LOST: return ilk__lease_fail_lost(lease, "", err);
    default: return ilk__fail(err, ILK_ENOTOWNER, "the handle holds nothing");
    }
}

int64_t ilk__lease_remaining(const ilk__lease *lease)
{
    int64_t left;

    if (atomic_load(&lease->state) != ILK__LEASE_HELD)
        return 0;
    left = atomic_load(&lease->deadline) - ilk__now_ms();
    return left > 0 ? left : 0;
}

/* ---- asking ------------------------------------------------------------- */

void ilk__lease_extension(const ilk__lease *lease, ilk__extension *out,
                          int64_t ttl_ms, int renews)
{
    out->kind = lease->kind;
    out->keys = lease->keys;
    out->key_count = lease->key_count;
    out->token = lease->token;
    out->token_len = lease->token_len;
    out->ttl_ms = ttl_ms;
    out->renews = renews;
    out->fence = 0;
    memset(&out->evidence, 0, sizeof out->evidence);
}

size_t ilk__lease_copy_room(const ilk__lease *lease)
{
    size_t room = lease->key_count * sizeof *lease->keys + lease->token_len;

    for (size_t i = 0; i < lease->key_count; i++)
        room += lease->keys[i].len;
    return room;
}

void ilk__lease_extension_copy(const ilk__lease *lease, ilk__extension *out,
                               ilk__bytes *room, int64_t ttl_ms, int renews)
{
    char *to = (char *)(room + lease->key_count);

    ilk__lease_extension(lease, out, ttl_ms, renews);
    for (size_t i = 0; i < lease->key_count; i++) {
        room[i] = (ilk__bytes){.data = to, .len = lease->keys[i].len};
        memcpy(to, lease->keys[i].data, lease->keys[i].len);
        to += lease->keys[i].len;
    }
    memcpy(to, lease->token, lease->token_len);
    out->keys = room;
    out->token = to;
}

void ilk__lease_ask(ilk__op *op)
{
    const ilk__extension *extension = op->subject;

    ilk__script_begin(&op->command, op->type->script, extension->keys,
                      extension->key_count);
    ilk__command_add(&op->command, extension->token, extension->token_len);
    ilk__command_add_int(&op->command, extension->ttl_ms);
    ilk__command_add_int(&op->command, extension->renews);
    if (extension->kind->sends_fence)
        ilk__command_add_int(&op->command, extension->fence);
}

int ilk__fence_is_valid(int64_t fence)
{
    return fence > 0 && fence < ILK__SCRIPT_INT_MAX;
}

ilk__act ilk__lease_extended(ilk__op *op, const ilk__reply *reply)
{
    ilk__extension *extension = op->subject;

    if (ilk__script_code(reply) != ILK__CODE_HELD) {
        ilk__evidence_read(&extension->evidence, reply);
        return ilk__op_fail(op, ILK_ELOST, "the %s is no longer ours",
                            extension->kind->noun);
    }
    extension->ttl_ms = ilk__script_int(reply, 0);
    extension->fence = ilk__script_int(reply, 1);
    if (extension->fence && !ilk__fence_is_valid(extension->fence))
        return ilk__op_fail(op, ILK_EREPLY, "%s: fence %lld", op->type->name,
                            (long long)extension->fence);
    return ilk__op_done(op, ILK_OK);
}

/* ---- the deadline ------------------------------------------------------- */

/* The shorter of two spans, where 0 means that there is none. */
static int64_t shorter(int64_t a, int64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/* The shortest lease that the server may yet set, by an extend without a reply;
 * 0 when there is none. */
static int64_t doubt_of(const ilk__lease *lease)
{
    return shorter(lease->changing_ms,
                   shorter(lease->doubt_ms[ILK__LEASE_BY_CALLER],
                           lease->doubt_ms[ILK__LEASE_BY_LOOP]));
}

static void set_timer(ilk__lease *lease)
{
    if (lease->watched)
        ilk__shared_set_timer(lease->shared, &lease->timer,
                              next_probe(lease, ilk__now_ms()));
}

static void set_deadline(ilk__lease *lease, int64_t deadline, int64_t span_ms)
{
    lease->span_ms = bounded(span_ms);
    atomic_store(&lease->deadline, deadline);
    set_timer(lease);
}

/*
 * A reply says that `lease_ms` were left; `least_ms` is the shortest extend
 * that was in flight at the same time, or 0. Replies come over several
 * connections, so this one may be older than the one that set the deadline. It
 * therefore moves the deadline to a later time only, with one exception: no
 * extend was in flight, and the lease in the reply, even if it began now, ends
 * before our deadline. Then another process has shortened the lease.
 */
static int prolong(ilk__lease *lease, int64_t sent_at, int64_t lease_ms,
                   int64_t least_ms)
{
    int64_t left = lease_ms > 0 ? lease_ms : 1;
    int64_t span = shorter(left, shorter(least_ms, doubt_of(lease)));
    int64_t deadline = ilk__lease_deadline(sent_at, span);
    int64_t before = atomic_load(&lease->deadline);

    if (atomic_load(&lease->state) != ILK__LEASE_HELD)
        return 0;
    if (deadline > before
        || (!least_ms && before > ilk__lease_deadline(ilk__now_ms(), left)))
        set_deadline(lease, deadline, span);
    else
        set_timer(lease);
    return 1;
}

int ilk__lease_prolong(ilk__lease *lease, int64_t sent_at, int64_t lease_ms)
{
    int is_held;

    ilk__shared_lock(lease->shared);
    is_held = prolong(lease, sent_at, lease_ms, 0);
    ilk__shared_unlock(lease->shared);
    return is_held;
}

void ilk__lease_change_begin(ilk__lease *lease, ilk__lease_change *change,
                             ilk__lease_way way, int64_t ttl_ms)
{
    int64_t deadline;

    ilk__shared_lock(lease->shared);
    *change = (ilk__lease_change){.way = way,
                                  .sent_at = ilk__now_ms(),
                                  .ttl_ms = ttl_ms,
                                  .deadline = atomic_load(&lease->deadline),
                                  .span_ms = lease->span_ms};
    lease->overlapped |= lease->changes > 0;
    lease->changes++;
    lease->changing_ms = shorter(lease->changing_ms, ttl_ms);
    if (lease->renewal)
        lease->renewal->least_ms = shorter(lease->renewal->least_ms, ttl_ms);
    deadline = ilk__lease_deadline(change->sent_at, ttl_ms);
    if (deadline < change->deadline)
        set_deadline(lease, deadline, ttl_ms);
    ilk__shared_unlock(lease->shared);
}

/* Update the doubt after an extend; return how long its lease surely lasts. */
static int64_t settle(ilk__lease *lease, const ilk__lease_change *change,
                      const ilk__lease_outcome *outcome)
{
    int64_t *doubt = &lease->doubt_ms[change->way];
    int64_t span = outcome->lease_ms > 0 ? outcome->lease_ms : 1;
    int is_last = outcome->status == ILK_OK && outcome->in_order;

    if (lease->overlapped) /* the order of execution is unknown */
        span = shorter(span, lease->changing_ms);
    else if (is_last)
        *doubt = 0;
    if (!is_last && outcome->may_have_run)
        *doubt = shorter(*doubt, change->ttl_ms);
    if (--lease->changes == 0)
        lease->changing_ms = lease->overlapped = 0;
    return shorter(span, doubt_of(lease));
}

/* With the mutex held. Returns 0 if the lease has ended meanwhile. */
static int change_end(ilk__lease *lease, const ilk__lease_change *change,
                      const ilk__lease_outcome *outcome)
{
    int was_alone = !lease->overlapped;
    int64_t before = atomic_load(&lease->deadline);
    int64_t span = settle(lease, change, outcome);
    int64_t deadline = ilk__lease_deadline(change->sent_at, span);

    if (atomic_load(&lease->state) != ILK__LEASE_HELD)
        return 0;
    if (outcome->status == ILK_OK) {
        /* A renewal with a reply meanwhile may have set a later deadline. */
        if (deadline > before || outcome->lease_ms < change->ttl_ms)
            set_deadline(lease, deadline, span);
    } else if (!outcome->may_have_run && was_alone && !doubt_of(lease)
               && change->deadline > before) {
        set_deadline(lease, change->deadline, change->span_ms);
    }
    return 1;
}

ilk_status ilk__lease_change_end(ilk__lease *lease,
                                 const ilk__lease_change *change,
                                 const ilk__lease_outcome *outcome,
                                 ilk_error *err)
{
    int is_held;

    if (outcome->status == ILK_ELOST) {
        ilk__lease_lose(lease, outcome->evidence);
        return ilk__lease_fail_lost(lease, "", err);
    }
    ilk__shared_lock(lease->shared);
    is_held = change_end(lease, change, outcome);
    ilk__shared_unlock(lease->shared);
    if (outcome->status == ILK_OK && !is_held)
        return ilk__fail(err, ILK_ELOST, "the %s ended before the reply came",
                         lease->kind->noun);
    return outcome->status;
}

/* ---- renewal ------------------------------------------------------------ */

/* The renewing operation is done. The mutex is held. */
static void renewed(ilk__inflight *inflight)
{
    ilk__renewal *renewal = (ilk__renewal *)inflight;
    ilk__lease *lease = renewal->lease;
    ilk_status status = inflight->op.status;

    if (lease) {
        lease->renewal = NULL;
        lease->unanswered &= status != ILK_OK;
        if (status == ILK_OK) {
            prolong(lease, inflight->op.sent_at, renewal->extension.ttl_ms,
                    renewal->least_ms);
            inflight->shared->stats.renewals++;
        } else if (status == ILK_ELOST || status == ILK_ETYPE) {
            lose(lease, &renewal->extension.evidence, status);
        }
        /* else fire() tries again until the deadline */
    }
    if (renewal->waiting)
        ilk__unpark(renewal->waiting);
    ilk__timers_unreserve(&inflight->shared->timers);
    ilk__op_free(&inflight->op);
    ilk__free(renewal);
}

static ilk__renewal *renewal_of(ilk__lease *lease)
{
    ilk__renewal *renewal =
        ilk__malloc(sizeof *renewal + ilk__lease_copy_room(lease));

    if (!renewal)
        return NULL;
    ilk__lease_extension_copy(lease, &renewal->extension, renewal->keys,
                              lease->ttl_ms, 1);
    renewal->lease = lease;
    renewal->least_ms = doubt_of(lease);
    renewal->waiting = NULL;
    return renewal;
}

static void renew(ilk__lease *lease, int64_t now)
{
    ilk__renewal *renewal = renewal_of(lease);

    if (!renewal)
        return; /* fire() tries again soon */
    if (ilk__timers_reserve(&lease->shared->timers, NULL)) {
        ilk__free(renewal);
        return;
    }
    if (lease->hold_end - now < renewal->extension.ttl_ms)
        renewal->extension.ttl_ms = lease->hold_end - now;
    ilk__inflight_init(&renewal->inflight, lease->shared, lease->kind->extend,
                       &renewal->extension);
    renewal->inflight.op.deadline = atomic_load(&lease->deadline);
    renewal->inflight.finished = renewed;
    lease->renewal = renewal;
    lease->unanswered = 1;
    ilk__shared_post(lease->shared, &renewal->inflight);
}

/* The timer: renew the lease, or end it at its deadline. The mutex is held. */
static void fire(ilk__timer *timer, void *context)
{
    ilk__lease *lease =
        (ilk__lease *)((char *)timer - offsetof(ilk__lease, timer));
    int64_t now = ilk__now_ms();
    int64_t deadline = atomic_load(&lease->deadline);
    int64_t again = now + lease->span_ms / 10 + 1;

    (void)context;
    if (now >= deadline) {
        lose(lease, NULL,
             lease->renews && !is_last(lease) ? ILK_EUNKNOWN : ILK_ETIMEOUT);
        return;
    }
    if (!lease->renews || is_last(lease))
        again = deadline;
    else if (!lease->renewal)
        renew(lease, now);
    ilk__shared_set_timer(lease->shared, &lease->timer,
                          ilk__sooner(again, deadline));
}

/* SPDX-License-Identifier: MIT */
/* lanes.c -- which lane a call takes, and when one more lane is opened. */
#include "lanes.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "slot.h"

#include <pthread.h>

enum {
    GROUPS = 256, /* of slots; two slots of one group also share a lane */
    /* calls that find all lanes taken before one more is opened */
    CROWDED = 16,
    MANY = 12, /* calls on the first lane that make a pipeline */
    LANE_SHIFT = 24
};

static const uint32_t COUNT_MASK = (UINT32_C(1) << LANE_SHIFT) - 1;

/* A lane that is being opened. */
typedef struct opening {
    pthread_mutex_t mutex; /* calls use trylock and never wait; shut() waits */
    ilk__conn *conn;       /* NULL: no lane is being opened */
    size_t at;             /* its lane */
    ilk__conn_identity replaces;
    _Atomic int under_way; /* conn is not NULL */
    int64_t retry_at;
    int retry_ms;
    int shut;
} opening;

struct ilk__lanes {
    const ilk__target *target;
    ilk__lane *all[ILK__LANES];
    size_t count;
    _Atomic int32_t calls[ILK__LANES]; /* under way on each */
    _Atomic int32_t crowded;
    /* For each group of slots: how many of its commands have no reply, and above
     * LANE_SHIFT the lane that they took. */
    _Atomic uint32_t groups[GROUPS];
    opening opening;
};

ilk__lanes *ilk__lanes_new(const ilk__target *target)
{
    ilk__lanes *lanes = ilk__calloc(1, sizeof *lanes);

    if (!lanes)
        return NULL;
    pthread_mutex_init(&lanes->opening.mutex, NULL);
    lanes->target = target;
    lanes->count = target->connect ? 1 : ILK__LANES;
    for (size_t i = 0; i < lanes->count; i++)
        if (!(lanes->all[i] = ilk__lane_new(target))) {
            ilk__lanes_free(lanes);
            return NULL;
        }
    return lanes;
}

/* ---- one more lane ------------------------------------------------------ */

/* Begin to open the first lane that is down. The opening's mutex is held. */
static void begin_opening(ilk__lanes *lanes)
{
    opening *next = &lanes->opening;

    if (next->shut || ilk__now_ms() < next->retry_at)
        return;
    for (next->at = 0; next->at < lanes->count; next->at++)
        if (ilk__lane_is_down(lanes->all[next->at], &next->replaces))
            break;
    if (next->at < lanes->count)
        (void)ilk__conn_start(&next->conn, lanes->target, &next->replaces,
                              ILK__FOREVER, NULL);
    atomic_store(&next->under_way, next->conn != NULL);
}

/* One step of the opening. The opening's mutex is held. */
static void go_on_opening(ilk__lanes *lanes)
{
    opening *next = &lanes->opening;
    ilk__conn *conn = next->conn;
    ilk_status st = ilk__conn_step(conn, NULL);

    if (st == ILK_EAGAIN)
        return;
    next->conn = NULL; /* first: a child of a fork closes what is here */
    atomic_store(&next->under_way, 0);
    if (st == ILK_OK) {
        ilk__lane_adopt(lanes->all[next->at], conn, &next->replaces);
        next->retry_ms = 0;
        atomic_store(&lanes->crowded, 0);
    } else {
        ilk__conn_close(conn);
        next->retry_at =
            ilk__now_ms()
            + ilk__conn_pause_ms(lanes->target, &next->retry_ms, st);
    }
}

static void open_one_more(ilk__lanes *lanes)
{
    opening *next = &lanes->opening;

    if (pthread_mutex_trylock(&next->mutex))
        return;
    if (!next->conn)
        begin_opening(lanes);
    if (next->conn)
        go_on_opening(lanes);
    pthread_mutex_unlock(&next->mutex);
}

/* A call has found all lanes taken. */
static void note_crowded(ilk__lanes *lanes)
{
    for (size_t i = 0; i < lanes->count; i++)
        if (!ilk__lane_is_up(lanes->all[i])) {
            if (atomic_load(&lanes->crowded) < CROWDED)
                atomic_fetch_add(&lanes->crowded, 1);
            else
                open_one_more(lanes);
            return;
        }
}

/* ---- the lane of a call ------------------------------------------------- */

/* The count of the command's group. NULL for a command without a name, and where one
 * lane keeps the order of all. */
static _Atomic uint32_t *group_of(ilk__lanes *lanes, const ilk__command *c)
{
    enum { KEY = 3 }; /* EVALSHA sha1 key_count key ... */
    ilk__span key = {c->order_key, c->order_key_len};

    if (lanes->count == 1 || c->replies != ILK__REPLIES_NUMBERED
        || c->argc <= KEY)
        return NULL;
    if (!key.at)
        key = (ilk__span){c->argv[KEY], c->lens[KEY]};
    return &lanes->groups[ilk__slot_of(key) % GROUPS];
}

/* Count one more command of the group. Returns its lane: `idle`, unless others of
 * the group have no reply. */
static size_t join_group(_Atomic uint32_t *group, size_t idle)
{
    uint32_t seen = atomic_load(group), next;

    do {
        next =
            seen & COUNT_MASK ? seen + 1 : ((uint32_t)idle << LANE_SHIFT) + 1;
    } while (!atomic_compare_exchange_weak(group, &seen, next));
    return next >> LANE_SHIFT;
}

/* Choose the first lane that is up and has no call, and count the call there.
 * But if the first lane that is up has many calls, they are a pipeline: join
 * it. If all lanes that are up have calls, choose the first of them and note
 * that, as a reason to open one more. If no lane is up, choose the first lane
 * of all. */
static size_t choose_lane(ilk__lanes *lanes)
{
    size_t first = lanes->count;
    int is_pipeline = 0;

    for (size_t i = 0; i < lanes->count && !is_pipeline; i++) {
        int32_t none = 0;

        if (!ilk__lane_is_up(lanes->all[i]))
            continue;
        if (atomic_compare_exchange_strong(&lanes->calls[i], &none, 1))
            return i;
        if (first == lanes->count) {
            first = i;
            is_pipeline = atomic_load(&lanes->calls[i]) >= MANY;
        }
    }
    if (first == lanes->count)
        first = 0;
    else if (!is_pipeline)
        note_crowded(lanes);
    atomic_fetch_add(&lanes->calls[first], 1);
    return first;
}

/* Take the lane for a command of this group (NULL: of none), which is counted. */
static size_t take_lane(ilk__lanes *lanes, _Atomic uint32_t *group)
{
    const size_t chosen = choose_lane(lanes);
    const size_t at = group ? join_group(group, chosen) : chosen;

    if (at != chosen) {
        atomic_fetch_add(&lanes->calls[at], 1);
        atomic_fetch_sub(&lanes->calls[chosen], 1);
    }
    return at;
}

/*
 * When one connection has broken, the others often have, too: with the server or the
 * path to it. A lane without a command loses nothing when it is opened anew,
 * while a call that finds its lane broken fails.
 */
static void leave_lane(ilk__lanes *lanes, size_t at)
{
    atomic_fetch_sub(&lanes->calls[at], 1);
    if (ilk__lane_is_up(lanes->all[at]))
        return;
    for (size_t i = 0; i < lanes->count; i++)
        if (i != at)
            ilk__lane_break_if_idle(lanes->all[i]);
}

/* Go on with what no caller waits for: an opening, and replies on the other lanes. */
static void tend_others(ilk__lanes *lanes, size_t at)
{
    if (atomic_load(&lanes->opening.under_way))
        open_one_more(lanes);
    for (size_t i = 0; i < lanes->count; i++)
        if (i != at)
            ilk__lane_read_overdue(lanes->all[i]);
}

/* A lane besides this one that broke with commands that had no reply, which the server
 * may still execute; NULL: there is none. */
static ilk__lane *find_unsettled(const ilk__lanes *lanes, size_t at)
{
    for (size_t i = 0; i < lanes->count; i++)
        if (i != at && ilk__lane_is_unsettled(lanes->all[i]))
            return lanes->all[i];
    return NULL;
}

static ilk_status settle_others(ilk__lanes *lanes, size_t at,
                                ilk__lane_call *call, ilk_error *err)
{
    ilk_status st = ILK_OK;
    ilk__lane *other;

    while (st == ILK_OK && (other = find_unsettled(lanes, at))) {
        const int64_t before = ilk__now_ms();

        st = ilk__lane_connect(other, call->deadline, call->pauses_until,
                               call->sleep, err);
        call->patience += ilk__now_ms() - before;
    }
    return st;
}

ilk_status ilk__lanes_call(ilk__lanes *lanes, ilk__lane_call *call,
                           ilk_error *err)
{
    _Atomic uint32_t *group = group_of(lanes, call->command);
    const size_t at = take_lane(lanes, group);
    ilk_status st;

    call->lane = lanes->all[at];
    call->group = group;
    tend_others(lanes, at);
    /* After the group was joined: a lane that breaks is marked before its commands
     * leave their groups. */
    st = settle_others(lanes, at, call, err);
    if (st == ILK_OK) {
        st = ilk__lane_call_run(call->lane, call, err);
    } else {
        call->reply = NULL;
        call->may_have_run = 0;
        ilk__lane_answered(group);
    }
    leave_lane(lanes, at);
    return st;
}

ilk_status ilk__lanes_send_only(ilk__lanes *lanes, const ilk__command *command,
                                ilk__ensured *ensured)
{
    _Atomic uint32_t *group = group_of(lanes, command);
    const size_t at = take_lane(lanes, group);
    ilk_status st = ILK_ECONN;

    if (!find_unsettled(lanes, at)) {
        st = ilk__lane_send_only(lanes->all[at], command, ensured, group);
    } else {
        ilk__lane_answered(group);
        if (ensured)
            ensured->ended(ensured, st);
    }
    leave_lane(lanes, at);
    return st;
}

/* ---- all lanes ---------------------------------------------------------- */

ilk_status ilk__lanes_connect(ilk__lanes *lanes, int64_t deadline,
                              ilk_error *err)
{
    return ilk__lane_connect(lanes->all[0], deadline, 0, NULL, err);
}

void ilk__lanes_leave_old(ilk__lanes *lanes)
{
    for (size_t i = 0; i < lanes->count; i++)
        ilk__lane_leave_old(lanes->all[i]);
}

int ilk__lanes_in_order(const ilk__lanes *lanes)
{
    for (size_t i = 0; i < lanes->count; i++)
        if (!ilk__lane_in_order(lanes->all[i]))
            return 0;
    return 1;
}

void ilk__lanes_add_traffic(ilk__lanes *lanes, ilk__traffic *sum)
{
    for (size_t i = 0; i < lanes->count; i++)
        ilk__lane_add_traffic(lanes->all[i], sum);
}

void ilk__lanes_shut(ilk__lanes *lanes)
{
    opening *next = &lanes->opening;
    ilk__conn *conn;

    pthread_mutex_lock(&next->mutex);
    next->shut = 1;
    conn = next->conn;
    next->conn = NULL;
    atomic_store(&next->under_way, 0);
    pthread_mutex_unlock(&next->mutex);
    ilk__conn_close(conn);
    for (size_t i = 0; i < lanes->count; i++)
        ilk__lane_shut(lanes->all[i]);
}

void ilk__lanes_free(ilk__lanes *lanes)
{
    if (!lanes)
        return;
    for (size_t i = 0; i < lanes->count; i++)
        ilk__lane_free(lanes->all[i]);
    ilk__conn_close(lanes->opening.conn);
    pthread_mutex_destroy(&lanes->opening.mutex);
    ilk__free(lanes);
}

void ilk__lanes_abandon(ilk__lanes *lanes)
{
    for (size_t i = 0; i < lanes->count; i++)
        ilk__lane_abandon(lanes->all[i]);
    ilk__conn_close(lanes->opening.conn);
    lanes->opening.conn = NULL;
}

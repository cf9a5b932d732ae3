/* SPDX-License-Identifier: MIT */
/* started_wait.c -- the table of all waits that can be started. */
#include "started_wait.h"

#include "election_case.h"
#include "queue_case.h"
#include "semaphore_case.h"
#include "signal_case.h"
#include "started_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what all rows need ------------------------------------------------- */

#define START_PARAMETERS                                                       \
    ilk_op **out, void *handle, int64_t timeout_ms, ilk_error *err

/* cancel_<noun>() and free_<noun>() */
#define HANDLE(noun)                                                           \
    static ilk_status cancel_##noun(void *handle, ilk_error *err)              \
    {                                                                          \
        return ilk_##noun##_cancel(handle, err);                               \
    }                                                                          \
    ROW_FREE(noun)
#define HANDLES(noun) .cancel = cancel_##noun, .free = free_##noun

HANDLE(lock)
HANDLE(lock_many)
HANDLE(semaphore)
HANDLE(election)
HANDLE(observer)
HANDLE(event)
HANDLE(latch)
HANDLE(barrier)
HANDLE(group)
HANDLE(register)
HANDLE(signal)
HANDLE(queue)

/* ---- locks -------------------------------------------------------------- */

START(lock, ilk_lock_acquire_start, out, handle, timeout_ms, 0, err)
START_WRONG(lock, ilk_lock_acquire_start, out, handle, -1, -5, err)

static void *open_plain(ilk_client *of, const char *name)
{
    return open_lock(of, name);
}

static void *open_redisson(ilk_client *of, const char *name)
{
    ilk_lock_opts opts;
    ilk_lock *lock = NULL;
    ilk_error err = {0};

    ilk_lock_opts_init(&opts, sizeof opts);
    opts.layout = ILK_LAYOUT_REDISSON;
    assert_status(ILK_OK,
                  ilk_lock_open(&lock, of, name, strlen(name), &opts, &err));
    return lock;
}

static void *open_reader(ilk_client *of, const char *name)
{
    ilk_lock *lock = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_rwlock_read_open(&lock, of, name, strlen(name),
                                               NULL, &err));
    return lock;
}

static void *open_writer(ilk_client *of, const char *name)
{
    ilk_lock *lock = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_rwlock_write_open(&lock, of, name, strlen(name),
                                                NULL, &err));
    return lock;
}

static ilk_status release_lock(void *handle, ilk_error *err)
{
    return ilk_lock_release(handle, err);
}

static void *held(ilk_lock *lock)
{
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    return lock;
}

static void *hold_plain(ilk_client *of, const char *name)
{
    return held(open_plain(of, name));
}

static void *hold_redisson(ilk_client *of, const char *name)
{
    return held(open_redisson(of, name));
}

static void *hold_reader(ilk_client *of, const char *name)
{
    return held(open_reader(of, name));
}

static void *hold_writer(ilk_client *of, const char *name)
{
    return held(open_writer(of, name));
}

static void grant_lock(void *theirs)
{
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_release(theirs, &err));
}

/* ---- several locks ------------------------------------------------------ */

/* The other client holds the second name. The first wait holds the first name
 * meanwhile, where those behind it wait. */
START(lock_many, ilk_lock_many_acquire_start, out, handle, timeout_ms, err)

#define WAITING_FOR_BOTH                                                       \
    "EVAL return(redis.call('ZCARD',KEYS[1])+redis.call('ZCARD',KEYS[2])) 2 "  \
    "ilk:lock:wait:{first.@} ilk:lock:wait:{@}"

static ilk_status release_lock_many(void *handle, ilk_error *err)
{
    return ilk_lock_many_release(handle, err);
}

/* ---- semaphore ---------------------------------------------------------- */

START(semaphore, ilk_semaphore_acquire_start, out, handle, timeout_ms, 0, err)
START_WRONG(semaphore, ilk_semaphore_acquire_start, out, handle, -1, -5, err)

static void *open_permit(ilk_client *of, const char *name)
{
    return open_semaphore(of, name, 1);
}

static ilk_status release_semaphore(void *handle, ilk_error *err)
{
    return ilk_semaphore_release(handle, err);
}

static void *hold_permit(ilk_client *of, const char *name)
{
    ilk_semaphore *semaphore = open_permit(of, name);
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_semaphore_acquire(semaphore, 0, &err));
    return semaphore;
}

static void grant_permit(void *theirs)
{
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_semaphore_release(theirs, &err));
}

/* ---- election ----------------------------------------------------------- */

START(election, ilk_election_campaign_start, out, handle, timeout_ms, err)
START(observer, ilk_observer_next_start, out, handle, timeout_ms, err)

static void *open_one_candidate(ilk_client *of, const char *name)
{
    return open_candidate(of, name, 0, "candidate");
}

static ilk_status resign(void *handle, ilk_error *err)
{
    return ilk_election_resign(handle, err);
}

static void *lead(ilk_client *of, const char *name)
{
    ilk_election *election = open_candidate(of, name, 0, "leader");
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_election_campaign(election, 0, &err));
    return election;
}

static void grant_leadership(void *theirs)
{
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_election_resign(theirs, &err));
}

/* One who has seen the leader that there is. */
static void *open_observer(ilk_client *of, const char *name)
{
    ilk_election *election = open_candidate(of, name, 0, "");
    ilk_observer *observer = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_election_observe(&observer, election,
                                               ILK_OBSERVE_VACANT, &err));
    ilk_election_free(election);
    (void)expect_state(next_state(observer, 0), "leader");
    return observer;
}

static void proclaim(void *theirs)
{
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_election_proclaim(theirs, "news", 4, &err));
}

/* ---- events, latches, barriers, registers ------------------------------- */

START(event, ilk_event_wait_start, out, handle, timeout_ms, err)
START(change, ilk_event_wait_change_start, out, handle, 0, timeout_ms, err)
START_WRONG(change, ilk_event_wait_change_start, out, handle, -2, -1, err)
START(latch, ilk_latch_wait_start, out, handle, timeout_ms, err)
START(barrier, ilk_barrier_wait_start, out, handle, timeout_ms, err)
START(group, ilk_group_watch_start, out, handle, timeout_ms, err)
START(register, ilk_register_wait_start, out, handle, 0, timeout_ms, err)
START_WRONG(register, ilk_register_wait_start, out, handle, -2, -1, err)

static void *open_flag(ilk_client *of, const char *name)
{
    return open_event(of, name);
}

static void *open_count(ilk_client *of, const char *name)
{
    return open_latch(of, name, 1);
}

static void *open_pair(ilk_client *of, const char *name)
{
    return open_barrier(of, name, 2);
}

/* One who has seen all members that there are. */
static void *open_watcher(ilk_client *of, const char *name)
{
    ilk_group *group = open_group(of, name);
    ilk_members *members = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_group_watch(&members, group, 0, &err));
    ilk_members_free(members);
    return group;
}

static void *hold_membership(ilk_client *of, const char *name)
{
    return join_group(of, name, "blocks", 90000);
}

static void update_member(void *theirs)
{
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_member_update(theirs, "x", 1, &err));
}

static void free_member(void *theirs)
{
    ilk_member_free(theirs);
}

static void *open_value(ilk_client *of, const char *name)
{
    return open_register(of, name);
}

static void set_value(void *theirs)
{
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_register_set(theirs, "x", 1, &err));
}

static void set_event(void *theirs)
{
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_event_set(theirs, "x", 1, &err));
}

static void count_down(void *theirs)
{
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_latch_count_down(theirs, 1, NULL, &err));
}

static void arrive_last(void *theirs)
{
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_barrier_wait(theirs, 0, NULL, &err));
}

/* ---- signals ------------------------------------------------------------ */

/* Handles of two names; the operation runs on the first. */
typedef struct two_signals {
    ilk_signal *at[2];
} two_signals;

static ilk_signal *const *both(const void *handle)
{
    return handle ? ((const two_signals *)handle)->at : NULL;
}

START(signal, ilk_signal_wait_start, out, handle, timeout_ms, err)
START(any, ilk_signal_wait_any_start, out, both(handle), 2, timeout_ms, err)
START_WRONG(any, ilk_signal_wait_any_start, out, both(handle), 0, -1, err)
START(all, ilk_signal_wait_all_start, out, both(handle), 2, timeout_ms, err)
START_WRONG(all, ilk_signal_wait_all_start, out, both(handle), 0, -1, err)

static void *open_one_signal(ilk_client *of, const char *name)
{
    return open_signal(of, name);
}

static void *open_pattern(ilk_client *of, const char *name)
{
    char pattern[80];
    ilk_signal_opts opts;
    ilk_signal *signal = NULL;
    ilk_error err = {0};

    snprintf(pattern, sizeof pattern, "%s*", name);
    ilk_signal_opts_init(&opts, sizeof opts);
    opts.flags = ILK_SIGNAL_PATTERN;
    assert_status(ILK_OK, ilk_signal_open(&signal, of, pattern, strlen(pattern),
                                          &opts, &err));
    return signal;
}

static void *open_two_signals(ilk_client *of, const char *name)
{
    two_signals *two = malloc(sizeof *two);
    char first[80];

    assert_non_null(two);
    snprintf(first, sizeof first, "first.%s", name);
    two->at[0] = open_signal(of, first);
    two->at[1] = open_signal(of, name);
    return two;
}

static ilk_status cancel_two_signals(void *handle, ilk_error *err)
{
    return ilk_signal_cancel(both(handle)[0], err);
}

static void free_two_signals(void *handle)
{
    two_signals *two = handle;

    ilk_signal_free(two->at[0]);
    ilk_signal_free(two->at[1]);
    free(two);
}

static void notify_one(void *theirs)
{
    (void)tell_one(theirs, "x");
}

static void notify_all(void *theirs)
{
    (void)report_all(theirs, "x");
}

static void notify_second(void *theirs)
{
    (void)tell_one(both(theirs)[1], "x");
}

static void notify_both(void *theirs)
{
    (void)tell_one(both(theirs)[0], "x");
    (void)tell_one(both(theirs)[1], "x");
}

/* ---- queues ------------------------------------------------------------- */

START(message, ilk_queue_reserve_start, out, handle, timeout_ms, 0, err)
START_WRONG(message, ilk_queue_reserve_start, out, handle, -1, -5, err)
START(batch, ilk_queue_reserve_many_start, out, handle, 2, timeout_ms, 0, NULL,
      err)
START_WRONG(batch, ilk_queue_reserve_many_start, out, handle, 0, -1, 0, NULL,
            err)
START(pop, ilk_queue_pop_start, out, handle, timeout_ms, err)

static void *open_fifo(ilk_client *of, const char *name)
{
    return open_queue_at(of, name, ILK_QUEUE_FIFO, 0, 0);
}

static void push_one(void *theirs)
{
    (void)push(theirs, "x");
}

/* ---- the table ---------------------------------------------------------- */

#define LONG_LEASE "PEXPIRE @ 600000"
#define LONG_SCORE(key)                                                        \
    "redis.call('ZADD'," key ",'CH',9e15,redis.call('ZRANGE'," key ",0,0)[1])"

#define HOLD (WAIT_EXCLUSIVE | WAIT_GRANT_STANDS | WAIT_NEEDS_MEMORY)
#define SIGNAL (WAIT_EXCLUSIVE | WAIT_GRANT_STANDS | WAIT_REFUSES_TO_TRY)
#define MESSAGE (WAIT_EXCLUSIVE | WAIT_SHARES_HANDLE)

const wait_row wait_rows[] = {
    {"lock", STARTS(lock), HANDLES(lock), .noun = "lock", .traits = HOLD,
     .waiting = "ZCARD ilk:lock:wait:{@}", .spare = "EXISTS @",
     .spare_answer = "0", .open = open_plain, REFUSES(lock),
     .give_back = release_lock, .prolong = LONG_LEASE, .block = hold_plain,
     .grant = grant_lock, .unblock = free_lock},
    {"Redisson's lock", STARTS(lock), HANDLES(lock), .noun = "lock",
     .traits = (HOLD & ~WAIT_GRANT_STANDS) | WAIT_UNORDERED,
     .waiting = "ZCARD ilk:lock:wait:{@}", .spare = "EXISTS @",
     .spare_answer = "0", .open = open_redisson, .give_back = release_lock,
     .block = hold_redisson, .grant = grant_lock, .unblock = free_lock},
    {"writer", STARTS(lock), HANDLES(lock), .noun = "lock", .traits = HOLD,
     .waiting = "ZCARD ilk:lock:wait:{@}",
     .spare = "EXISTS @ ilk:lock:readers:{@}", .spare_answer = "0",
     .open = open_writer, .give_back = release_lock, .prolong = LONG_LEASE,
     .block = hold_reader, .grant = grant_lock, .unblock = free_lock},
    {"reader", STARTS(lock), HANDLES(lock), .noun = "lock",
     .traits = HOLD & ~WAIT_EXCLUSIVE, .waiting = "ZCARD ilk:lock:wait:{@}",
     .spare = "EXISTS @ ilk:lock:readers:{@}", .spare_answer = "0",
     .open = open_reader, .give_back = release_lock,
     .prolong = "EVAL redis.call('PEXPIRE',KEYS[1],600000)return(" LONG_SCORE(
         "KEYS[2]") ") 2 @ ilk:lock:readers:{@}",
     .block = hold_writer, .grant = grant_lock, .unblock = free_lock},
    {"several locks", STARTS(lock_many), HANDLES(lock_many), .noun = "many",
     .traits = HOLD, .waiting = WAITING_FOR_BOTH, .spare = "EXISTS @ first.@",
     .spare_answer = "0", .open = open_two_locks,
     .give_back = release_lock_many, .prolong = LONG_LEASE, .block = hold_plain,
     .grant = grant_lock, .unblock = free_lock},
    {"semaphore", STARTS(semaphore), HANDLES(semaphore), .noun = "semaphore",
     .traits = HOLD, .waiting = "ZCARD ilk:semaphore:wait:{@}",
     .spare = "ZCARD ilk:semaphore:{@}", .spare_answer = "0",
     .open = open_permit, REFUSES(semaphore), .give_back = release_semaphore,
     .prolong = "EVAL return(" LONG_SCORE("KEYS[1]") ") 1 ilk:semaphore:{@}",
     .block = hold_permit, .grant = grant_permit, .unblock = free_semaphore},
    {"election", STARTS(election), HANDLES(election), .noun = "election",
     .traits = HOLD, .waiting = "ZCARD ilk:election:wait:{@}",
     .spare = "EXISTS ilk:election:{@}", .spare_answer = "0",
     .open = open_one_candidate, .give_back = resign,
     .prolong = "PEXPIRE ilk:election:{@} 600000", .block = lead,
     .grant = grant_leadership, .unblock = free_election},
    {"observer", STARTS(observer), HANDLES(observer), .noun = "observer",
     .traits = WAIT_NEEDS_MEMORY, .result = RESULT_LEADER,
     .waiting = "ZCARD ilk:election:seen:{@}", .open = open_observer,
     .block = lead, .grant = proclaim, .unblock = free_election},
    {"event", STARTS(event), HANDLES(event), .noun = "event",
     .waiting = "ZCARD ilk:event:wait:{@}", .open = open_flag,
     .block = open_flag, .grant = set_event, .unblock = free_event},
    {"event's change", STARTS(change), HANDLES(event), .noun = "event",
     .waiting = "ZCARD ilk:event:wait:{@}", .open = open_flag, REFUSES(change),
     .block = open_flag, .grant = set_event, .unblock = free_event},
    {"latch", STARTS(latch), HANDLES(latch), .noun = "latch",
     .waiting = "ZCARD ilk:latch:wait:{@}", .open = open_count,
     .block = open_count, .grant = count_down, .unblock = free_latch},
    {"register", STARTS(register), HANDLES(register), .noun = "register",
     .waiting = "ZCARD ilk:register:wait:{@}", .open = open_value,
     REFUSES(register), .block = open_value, .grant = set_value,
     .unblock = free_register},
    /* The first of a round has the number 0. */
    {"barrier", STARTS(barrier), HANDLES(barrier), .noun = "barrier",
     .traits = WAIT_IN_ROUNDS | WAIT_GRANT_STANDS,
     .waiting = "ZCARD ilk:barrier:wait:{@}", .open = open_pair,
     .block = open_pair, .grant = arrive_last, .unblock = free_barrier},
    {"group", STARTS(group), HANDLES(group), .noun = "group",
     .traits = WAIT_NEEDS_MEMORY, .result = RESULT_MEMBERS,
     .waiting = "ZCARD ilk:group:wait:{@}", .open = open_watcher,
     .block = hold_membership, .grant = update_member, .unblock = free_member},
    {"signal", STARTS(signal), HANDLES(signal), .noun = "signal",
     .traits = SIGNAL, .result = RESULT_ARRIVAL,
     .waiting = "ZCARD ilk:signal:wait:{@}", .open = open_one_signal,
     .block = open_one_signal, .grant = notify_one, .unblock = free_signal},
    {"pattern", STARTS(signal), HANDLES(signal), .noun = "signal",
     .traits = WAIT_GRANT_STANDS | WAIT_ONE_A_CLIENT | WAIT_REFUSES_TO_TRY
               | WAIT_SENDS_NO_REQUEST,
     .result = RESULT_ARRIVAL, .waiting = "PUBSUB NUMPAT", .open = open_pattern,
     .block = open_one_signal, .grant = notify_all, .unblock = free_signal},
    {"any signal", STARTS(any), .noun = "signals", .traits = SIGNAL,
     .result = RESULT_ARRIVAL, .waiting = "ZCARD ilk:signal:wait:{@}",
     .open = open_two_signals, REFUSES(any), .cancel = cancel_two_signals,
     .free = free_two_signals, .block = open_two_signals,
     .grant = notify_second, .unblock = free_two_signals},
    {"all signals", STARTS(all), .noun = "signals", .traits = SIGNAL,
     .result = RESULT_ARRIVAL, .waiting = "ZCARD ilk:signal:wait:{@}",
     .open = open_two_signals, REFUSES(all), .cancel = cancel_two_signals,
     .free = free_two_signals, .block = open_two_signals, .grant = notify_both,
     .unblock = free_two_signals},
    {"message", STARTS(message), HANDLES(queue), .noun = "queue",
     .traits = MESSAGE, .result = RESULT_BATCH,
     .waiting = "ZCARD ilk:queue:wait:{@}", .spare = "LLEN ilk:queue:ready:{@}",
     .spare_answer = "1", .open = open_fifo, REFUSES(message),
     .block = open_fifo, .grant = push_one, .unblock = free_queue},
    {"batch", STARTS(batch), HANDLES(queue), .noun = "queue", .traits = MESSAGE,
     .result = RESULT_BATCH, .waiting = "ZCARD ilk:queue:wait:{@}",
     .spare = "LLEN ilk:queue:ready:{@}", .spare_answer = "1",
     .open = open_fifo, REFUSES(batch), .block = open_fifo, .grant = push_one,
     .unblock = free_queue},
    {"message for good", STARTS(pop), HANDLES(queue), .noun = "queue",
     .traits = MESSAGE, .result = RESULT_BATCH,
     .waiting = "ZCARD ilk:queue:wait:{@}", .spare = "LLEN ilk:queue:ready:{@}",
     .spare_answer = "1", .open = open_fifo, .block = open_fifo,
     .grant = push_one, .unblock = free_queue},
};
const size_t wait_row_count = sizeof wait_rows / sizeof *wait_rows;

/* SPDX-License-Identifier: MIT */
/* started_request.c -- the table of all requests that can be started. */
#include "started_request.h"

#include "election_case.h"
#include "queue_case.h"
#include "semaphore_case.h"
#include "signal_case.h"
#include "started_rows.h"

#include <stdio.h>
#include <string.h>

/* ---- what all rows need ------------------------------------------------- */

#define UNUSED __attribute__((unused))
#define START_PARAMETERS                                                       \
    ilk_op **out, void *handle, UNUSED const char *name,                       \
        UNUSED const char *data, ilk_error *err

#define NAME name, strlen(name)
#define DATA data, strlen(data)

ROW_FREE(lock)
ROW_FREE(lock_many)
ROW_FREE(semaphore)
ROW_FREE(election)
ROW_FREE(event)
ROW_FREE(latch)
ROW_FREE(barrier)
ROW_FREE(group)
ROW_FREE(member)
ROW_FREE(register)
ROW_FREE(store)
ROW_FREE(txn)
ROW_FREE(kv)
ROW_FREE(signal)
ROW_FREE(queue)
ROW_FREE(job)
ROW_FREE(batch)

enum { LONG_MS = 90000 };

/* 1 when the lease of a key is a long one. */
#define LONG_LEASE(key)                                                        \
    "EVAL return(redis.call('PTTL',KEYS[1])>80000)and(1)or(0) 1 " key
#define LONG_SCORE(key, unit)                                                  \
    "EVAL return(redis.call('ZRANGE',KEYS[1],0,0,'WITHSCORES')[2]/" unit       \
    "-redis.call('TIME')[1]*1000>80000)and(1)or(0) 1 " key

static void open_client_only(request *r)
{
    r->handle = r->client;
}

/* ---- the client, any name ----------------------------------------------- */

START(ping, ilk_client_ping_start, out, handle, -1, err)
START(inspect, ilk_inspect_start, out, handle, NAME, err)
START_WRONG(inspect, ilk_inspect_start, out, handle, "", 0, err)
START(inspect_kind, ilk_inspect_kind_start, out, handle, ILK_KIND_QUEUE, NAME,
      err)
START_WRONG(inspect_kind, ilk_inspect_kind_start, out, handle, ILK_KIND_KV, "a",
            1, err)
START(list, ilk_list_open_start, out, handle, 0, NAME, err)
START_WRONG(list, ilk_list_open_start, out, handle, 1 << 30, NULL, 0, err)

/* ---- locks -------------------------------------------------------------- */

START(lock_release, ilk_lock_release_start, out, handle, err)
START(lock_extend, ilk_lock_extend_start, out, handle, LONG_MS, err)
START_WRONG(lock_extend, ilk_lock_extend_start, out, handle, -1, err)
START(lock_check, ilk_lock_check_start, out, handle, err)
START(lock_adopt, ilk_lock_adopt_start, out, handle, DATA, err)
START_WRONG(lock_adopt, ilk_lock_adopt_start, out, handle, "", 0, err)
START(lock_break, ilk_lock_break_start, out, handle, NAME, DATA, err)
START_WRONG(lock_break, ilk_lock_break_start, out, handle, "", 0, NULL, 0, err)

static void *idle_lock(ilk_client *of, const char *name)
{
    return open_lock(of, name);
}

static void open_held_lock(request *r)
{
    ilk_error err = {0};

    r->handle = open_lock(r->client, r->name);
    assert_status(ILK_OK, ilk_lock_acquire(r->handle, 0, &err));
}

/* A hold that another client has detached. */
static void open_heir(request *r)
{
    ilk_lock *donor = open_lock(other, r->name);
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(donor, 0, &err));
    snprintf(r->data, sizeof r->data, "%s", ilk_lock_token(donor));
    assert_status(ILK_OK, ilk_lock_detach(donor, &err));
    ilk_lock_free(donor);
    r->handle = open_lock_with(r->client, r->name, LONG_MS, 0);
}

static void open_broken(request *r)
{
    ilk_error err = {0};

    r->handle = r->client;
    r->second = open_lock(other, r->name);
    r->free_second = free_lock;
    assert_status(ILK_OK, ilk_lock_acquire(r->second, 0, &err));
    snprintf(r->data, sizeof r->data, "%s", ilk_lock_token(r->second));
}

START(election_break, ilk_election_break_start, out, handle, NAME, DATA, err)
START_WRONG(election_break, ilk_election_break_start, out, handle, "", 0, NULL,
            0, err)

static void free_leader(void *election)
{
    ilk_election_free(election);
}

static void open_led(request *r)
{
    ilk_error err = {0};

    r->handle = r->client;
    r->second = open_candidate(other, r->name, 0, "leader");
    r->free_second = free_leader;
    assert_status(ILK_OK, ilk_election_campaign(r->second, 0, &err));
    snprintf(r->data, sizeof r->data, "%s", ilk_election_token(r->second));
}

/* ---- several locks ------------------------------------------------------ */

START(many_release, ilk_lock_many_release_start, out, handle, err)
START(many_extend, ilk_lock_many_extend_start, out, handle, LONG_MS, err)
START_WRONG(many_extend, ilk_lock_many_extend_start, out, handle, -1, err)
START(many_check, ilk_lock_many_check_start, out, handle, err)

static void open_held_many(request *r)
{
    ilk_error err = {0};

    r->handle = open_two_locks(r->client, r->name);
    assert_status(ILK_OK, ilk_lock_many_acquire(r->handle, 0, &err));
}

/* ---- semaphores --------------------------------------------------------- */

START(semaphore_release, ilk_semaphore_release_start, out, handle, err)
START(semaphore_extend, ilk_semaphore_extend_start, out, handle, LONG_MS, err)
START_WRONG(semaphore_extend, ilk_semaphore_extend_start, out, handle, -1, err)
START(semaphore_check, ilk_semaphore_check_start, out, handle, err)
START(semaphore_adopt, ilk_semaphore_adopt_start, out, handle, DATA, err)
START_WRONG(semaphore_adopt, ilk_semaphore_adopt_start, out, handle, "", 0, err)
START(set_limit, ilk_semaphore_set_limit_start, out, handle, 5, err)
START_WRONG(set_limit, ilk_semaphore_set_limit_start, out, handle, 0, err)
START(semaphore_inspect, ilk_semaphore_inspect_start, out, handle, NAME, err)
START_WRONG(semaphore_inspect, ilk_semaphore_inspect_start, out, handle, "", 0,
            err)

static void *idle_semaphore(ilk_client *of, const char *name)
{
    return open_semaphore(of, name, 1);
}

static void open_held_semaphore(request *r)
{
    ilk_error err = {0};

    r->handle = open_semaphore(r->client, r->name, 1);
    assert_status(ILK_OK, ilk_semaphore_acquire(r->handle, 0, &err));
}

static void open_semaphore_heir(request *r)
{
    ilk_semaphore *donor = open_semaphore(other, r->name, 1);
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_semaphore_acquire(donor, 0, &err));
    snprintf(r->data, sizeof r->data, "%s", ilk_semaphore_token(donor));
    assert_status(ILK_OK, ilk_semaphore_detach(donor, &err));
    ilk_semaphore_free(donor);
    r->handle = open_semaphore_with(r->client, r->name, 1, 0, LONG_MS, 0);
}

/* ---- elections ---------------------------------------------------------- */

START(resign, ilk_election_resign_start, out, handle, err)
START(renew, ilk_election_renew_start, out, handle, LONG_MS, err)
START_WRONG(renew, ilk_election_renew_start, out, handle, -1, err)
START(election_check, ilk_election_check_start, out, handle, err)
START(proclaim, ilk_election_proclaim_start, out, handle, DATA, err)
START_WRONG(proclaim, ilk_election_proclaim_start, out, handle, "x",
            ILK_ELECTION_VALUE_MAX + 1, err)
START(leader, ilk_election_leader_start, out, handle, err)

static void *idle_candidate(ilk_client *of, const char *name)
{
    return open_candidate(of, name, 0, "candidate");
}

static void open_leader(request *r)
{
    ilk_error err = {0};

    r->handle = idle_candidate(r->client, r->name);
    assert_status(ILK_OK, ilk_election_campaign(r->handle, 0, &err));
}

/* ---- events, latches, barriers, registers ------------------------------- */

START(event_set, ilk_event_set_start, out, handle, DATA, err)
START_WRONG(event_set, ilk_event_set_start, out, handle, NULL, 1, err)
START(event_clear, ilk_event_clear_start, out, handle, err)
START(event_read, ilk_event_read_start, out, handle, err)
START(count_down, ilk_latch_count_down_start, out, handle, 2, err)
START_WRONG(count_down, ilk_latch_count_down_start, out, handle, 0, err)
START(latch_count, ilk_latch_count_start, out, handle, err)
START(latch_reset, ilk_latch_reset_start, out, handle, err)
START(latch_inspect, ilk_latch_inspect_start, out, handle, NAME, err)
START_WRONG(latch_inspect, ilk_latch_inspect_start, out, handle, "", 0, err)
START(register_get, ilk_register_get_start, out, handle, err)
START(register_set, ilk_register_set_start, out, handle, DATA, err)
START_WRONG(register_set, ilk_register_set_start, out, handle, NULL, 1, err)
START(register_cas, ilk_register_cas_start, out, handle,
      ilk_register_version(handle), DATA, err)
START_WRONG(register_cas, ilk_register_cas_start, out, handle, -2, "", 0, err)
START(register_delete, ilk_register_delete_start, out, handle, ILK_REGISTER_ANY,
      err)
START_WRONG(register_delete, ilk_register_delete_start, out, handle, -2, err)
START(store_outcome, ilk_store_outcome_start, out, handle,
      "0123456789abcdef0123456789abcdef-9999999999999", err)
START_WRONG(store_outcome, ilk_store_outcome_start, out, handle, "", err)
START(txn_get, ilk_txn_get_start, out, handle, "key", 3, err)
START_WRONG(txn_get, ilk_txn_get_start, out, handle, "", 0, err)
START(txn_commit, ilk_txn_commit_start, out, handle, err)
START(barrier_waiting, ilk_barrier_waiting_start, out, handle, err)
START(barrier_reset, ilk_barrier_reset_start, out, handle, err)
START(barrier_inspect, ilk_barrier_inspect_start, out, handle, NAME, err)
START_WRONG(barrier_inspect, ilk_barrier_inspect_start, out, handle, "", 0, err)

static void open_one_event(request *r)
{
    r->handle = open_event(r->client, r->name);
}

static void open_set_event(request *r)
{
    ilk_error err = {0};

    r->handle = open_event(r->client, r->name);
    assert_status(ILK_OK, ilk_event_set(r->handle, "x", 1, &err));
}

static void open_one_register(request *r)
{
    r->handle = open_register(r->client, r->name);
}

static void open_set_register(request *r)
{
    ilk_error err = {0};

    r->handle = open_register(r->client, r->name);
    assert_status(ILK_OK, ilk_register_set(r->handle, "x", 1, &err));
}

static void open_one_store(request *r)
{
    ilk_error err = {0};
    ilk_store *store = NULL;

    assert_status(ILK_OK, ilk_store_open(&store, r->client, r->name,
                                         strlen(r->name), &err));
    r->handle = store;
}

/* It has written `key`, and not committed. */
static void open_transaction(request *r)
{
    ilk_error err = {0};
    ilk_store *store = NULL;
    ilk_txn *txn = NULL;

    assert_status(ILK_OK, ilk_store_open(&store, r->client, r->name,
                                         strlen(r->name), &err));
    assert_status(ILK_OK, ilk_txn_begin(&txn, store, 0, &err));
    assert_status(ILK_OK, ilk_txn_put(txn, "written", 7, "data", 4, &err));
    ilk_store_free(store);
    r->handle = txn;
}

/* 5 - 1 */
static void open_counted_latch(request *r)
{
    ilk_error err = {0};

    r->handle = open_latch(r->client, r->name, 5);
    assert_status(ILK_OK, ilk_latch_count_down(r->handle, 1, NULL, &err));
}

static void open_counted_name(request *r)
{
    open_counted_latch(r);
    ilk_latch_free(r->handle);
    r->handle = r->client;
}

/* One of three parties is there. */
static void open_awaited_barrier(request *r)
{
    ilk_error err = {0};

    r->handle = open_barrier(r->client, r->name, 3);
    r->second = open_barrier(other, r->name, 3);
    r->free_second = free_barrier;
    assert_status(ILK_OK,
                  ilk_barrier_wait_start(&r->wait, r->second, -1, &err));
    turn_until(other, "1", "ZCARD ilk:barrier:wait:{%s}", r->name);
}

static void open_awaited_name(request *r)
{
    open_awaited_barrier(r);
    ilk_barrier_free(r->handle);
    r->handle = r->client;
}

/* ---- groups ------------------------------------------------------------- */

START(members, ilk_group_members_start, out, handle, err)
START(join, ilk_member_join_start, out, handle, DATA, err)
START_WRONG(join, ilk_member_join_start, out, handle, NULL, 1, err)
START(update, ilk_member_update_start, out, handle, DATA, err)
START_WRONG(update, ilk_member_update_start, out, handle, NULL, 1, err)
START(leave, ilk_member_leave_start, out, handle, err)

static void open_one_group(request *r)
{
    r->handle = open_group(r->client, r->name);
}

static void *idle_member(ilk_client *of, const char *name)
{
    return open_member(of, name, "m", LONG_MS);
}

static void open_idle_member(request *r)
{
    r->handle = idle_member(r->client, r->name);
}

static void open_joined_member(request *r)
{
    r->handle = join_group(r->client, r->name, "m", LONG_MS);
}

/* ---- signals ------------------------------------------------------------ */

START(listen, ilk_signal_listen_start, out, handle, err)
START(notify_one, ilk_signal_notify_one_start, out, handle, DATA, err)
START_WRONG(notify_one, ilk_signal_notify_one_start, out, handle, NULL, 1, err)
START(notify_all, ilk_signal_notify_all_start, out, handle, DATA, err)
START_WRONG(notify_all, ilk_signal_notify_all_start, out, handle, NULL, 1, err)
START(signal_inspect, ilk_signal_inspect_start, out, handle, NAME, err)
START_WRONG(signal_inspect, ilk_signal_inspect_start, out, handle, "", 0, err)

static void open_one_signal(request *r)
{
    r->handle = open_signal(r->client, r->name);
}

static void open_awaited_signal(request *r)
{
    ilk_error err = {0};

    r->handle = open_signal(r->client, r->name);
    r->second = open_signal(other, r->name);
    r->free_second = free_signal;
    assert_status(ILK_OK, ilk_signal_wait_start(&r->wait, r->second, -1, &err));
    turn_until(other, "1", "ZCARD ilk:signal:wait:{%s}", r->name);
}

static void open_signal_name(request *r)
{
    open_awaited_signal(r);
    ilk_signal_free(r->handle);
    r->handle = r->client;
}

/* ---- replicated values -------------------------------------------------- */

static const ilk_kv_progress moved = {.size = sizeof moved, .is_done = 1};

START(kv_get, ilk_kv_get_start, out, handle, "key", 3, err)
START_WRONG(kv_get, ilk_kv_get_start, out, handle, "", 0, err)
START(kv_put, ilk_kv_put_start, out, handle, "key", 3, DATA, 0, err)
START_WRONG(kv_put, ilk_kv_put_start, out, handle, "key", 3, NULL, 1, 0, err)
START(kv_delete, ilk_kv_delete_start, out, handle, "key", 3, ILK_KV_FAST, err)
START_WRONG(kv_delete, ilk_kv_delete_start, out, handle, "key", 3, 2, err)
START(kv_move, ilk_kv_move_start, out, handle, NULL, err)
START_WRONG(kv_move, ilk_kv_move_start, out, handle, &moved, err)

#define FAR_VERSION INT64_C(8000000000000000)

/* The key has a version beyond the clock, so that the next one is known. */
static void open_one_kv(request *r)
{
    ilk_error err = {0};
    ilk_kv *kv = NULL;

    assert_status(ILK_OK,
                  ilk_kv_open(&kv, r->client, r->name, strlen(r->name), &err));
    fixture_command(&fx,
                    "HSET ilk:kv:{%s}/key version %lld token t value before",
                    r->name, (long long)FAR_VERSION);
    r->handle = kv;
}

/* ---- guarded values ----------------------------------------------------- */

START(guard_set, ilk_guard_set_start, out, handle, NAME, 7, DATA, err)
START_WRONG(guard_set, ilk_guard_set_start, out, handle, "k", 1, -1, "v", 1,
            err)
START(guard_get, ilk_guard_get_start, out, handle, NAME, 7, err)
START_WRONG(guard_get, ilk_guard_get_start, out, handle, "", 0, 7, err)
START(guard_remove, ilk_guard_remove_start, out, handle, NAME, err)
START_WRONG(guard_remove, ilk_guard_remove_start, out, handle, "", 0, err)

static void open_guarded(request *r)
{
    ilk_error err = {0};

    r->handle = r->client;
    assert_status(ILK_OK, ilk_guard_set(r->client, r->name, strlen(r->name), 3,
                                        "v", 1, &err));
}

/* ---- queues ------------------------------------------------------------- */

START(push, ilk_queue_push_start, out, handle, DATA, NULL, err)
START_WRONG(push, ilk_queue_push_start, out, handle, NULL, 1, NULL, err)
START(push_many, ilk_queue_push_many_start, out, handle,
      (const void *[]){data, data}, (const size_t[]){1, 2}, 2, NULL, err)
START_WRONG(push_many, ilk_queue_push_many_start, out, handle, NULL, NULL, 2,
            NULL, err)
START(size, ilk_queue_size_start, out, handle, err)
START(peek, ilk_queue_peek_start, out, handle, ILK_QUEUE_READY, 0, 5, err)
START_WRONG(peek, ilk_queue_peek_start, out, handle, 3, 0, 1, err)
START(purge, ilk_queue_purge_start, out, handle, ILK_QUEUE_READY, err)
START_WRONG(purge, ilk_queue_purge_start, out, handle, 8, err)
START(requeue, ilk_queue_requeue_start, out, handle, 0, 0, err)
START_WRONG(requeue, ilk_queue_requeue_start, out, handle, -1, 0, err)
START(queue_inspect, ilk_queue_inspect_start, out, handle, err)

/* Two messages are ready, one is dead. */
static void open_full_queue(request *r)
{
    ilk_queue *queue = open_queue_at(r->client, r->name, ILK_QUEUE_FIFO, 0, 0);
    ilk_job *job;
    ilk_error err = {0};

    for (int i = 0; i < 3; i++)
        (void)push(queue, "x");
    job = reserve(queue, 0, 0);
    assert_status(ILK_OK, ilk_job_bury(job, NULL, 0, &err));
    ilk_job_free(job);
    r->handle = queue;
}

/* ---- messages ----------------------------------------------------------- */

START(job_ack, ilk_job_ack_start, out, handle, err)
START(job_nack, ilk_job_nack_start, out, handle, 0, err)
START_WRONG(job_nack, ilk_job_nack_start, out, handle, -1, err)
START(job_bury, ilk_job_bury_start, out, handle, DATA, err)
START_WRONG(job_bury, ilk_job_bury_start, out, handle, NULL, 1, err)
START(job_extend, ilk_job_extend_start, out, handle, LONG_MS, err)
START_WRONG(job_extend, ilk_job_extend_start, out, handle, -2, err)
START(batch_ack, ilk_batch_ack_start, out, handle, err)

/* Its queue's handle is freed. */
static void open_job(request *r)
{
    ilk_queue *queue = open_queue_at(r->client, r->name, ILK_QUEUE_FIFO, 0, 0);

    (void)push(queue, "x");
    r->handle = reserve(queue, 0, 0);
    ilk_queue_free(queue);
}

static void open_batch(request *r)
{
    ilk_queue *queue = open_queue_at(r->client, r->name, ILK_QUEUE_FIFO, 0, 0);
    ilk_batch *batch = NULL;
    ilk_error err = {0};

    (void)push(queue, "x");
    (void)push(queue, "y");
    assert_status(ILK_OK,
                  ilk_queue_reserve_many(&batch, queue, 2, 0, 0, NULL, &err));
    r->handle = batch;
    ilk_queue_free(queue);
}

/* ---- the table ---------------------------------------------------------- */

#define BY_CLIENT .noun = "client", .traits = REQUEST_BY_NAME
#define HANDLE(type, text) .noun = text, .free = free_##type
#define EFFECT(answer, command) .effect_answer = answer, .effect = command
#define NUMBER(n) .result = RESULT_NUMBER, .number = n
#define ALONE .second = ILK_EHELD

const request_row request_rows[] = {
    {"ping", STARTS(ping), BY_CLIENT, .open = open_client_only, .word = "PING"},
    {"inspect", STARTS(inspect), REFUSES(inspect), BY_CLIENT,
     .result = RESULT_INFO, .open = open_client_only},
    {"inspect of a kind", STARTS(inspect_kind), REFUSES(inspect_kind),
     BY_CLIENT, .result = RESULT_INFO, .open = open_client_only},
    {"list", STARTS(list), REFUSES(list), BY_CLIENT, .result = RESULT_LIST,
     .open = open_client_only, .word = "SCAN"},

    {"lock's release", STARTS(lock_release), HANDLE(lock, "lock"), ALONE,
     EFFECT("0", "EXISTS @"), .traits = REQUEST_PATIENT, .open = open_held_lock,
     .open_idle = idle_lock, .forgotten = ILK_ELOST, .repeated = ILK_EUNKNOWN},
    {"lock's extend", STARTS(lock_extend), REFUSES(lock_extend),
     HANDLE(lock, "lock"), ALONE, EFFECT("1", LONG_LEASE("@")),
     .open = open_held_lock, .open_idle = idle_lock, .repeated = ILK_ELOST},
    {"lock's check", STARTS(lock_check), HANDLE(lock, "lock"),
     .traits = REQUEST_IS_LOCAL, .open = open_held_lock,
     .open_idle = idle_lock},
    {"lock's adopt", STARTS(lock_adopt), REFUSES(lock_adopt),
     HANDLE(lock, "lock"), ALONE, EFFECT("1", LONG_LEASE("@")),
     .open = open_heir, .repeated = ILK_ELOST},
    {"break", STARTS(lock_break), REFUSES(lock_break), .noun = "client",
     .traits = REQUEST_BY_NAME | REQUEST_PATIENT, EFFECT("0", "EXISTS @"),
     .open = open_broken, .forgotten = ILK_ENOTOWNER, .repeated = ILK_EUNKNOWN},

    {"break of an election", STARTS(election_break), REFUSES(election_break),
     .noun = "client", .traits = REQUEST_BY_NAME | REQUEST_PATIENT,
     EFFECT("0", "EXISTS ilk:election:{@}"), .open = open_led,
     .forgotten = ILK_ENOTOWNER, .repeated = ILK_EUNKNOWN},

    {"release of several", STARTS(many_release), HANDLE(lock_many, "many"),
     ALONE, EFFECT("0", "EXISTS @ first.@"), .traits = REQUEST_PATIENT,
     .open = open_held_many, .open_idle = open_two_locks,
     .forgotten = ILK_ELOST, .repeated = ILK_EUNKNOWN},
    {"extend of several", STARTS(many_extend), REFUSES(many_extend),
     HANDLE(lock_many, "many"), ALONE, EFFECT("1", LONG_LEASE("first.@")),
     .open = open_held_many, .open_idle = open_two_locks,
     .repeated = ILK_ELOST},
    {"check of several", STARTS(many_check), HANDLE(lock_many, "many"),
     .traits = REQUEST_IS_LOCAL, .open = open_held_many,
     .open_idle = open_two_locks},

    {"semaphore's release", STARTS(semaphore_release),
     HANDLE(semaphore, "semaphore"), ALONE,
     EFFECT("0", "ZCARD ilk:semaphore:{@}"), .traits = REQUEST_PATIENT,
     .open = open_held_semaphore, .open_idle = idle_semaphore,
     .forgotten = ILK_ELOST, .repeated = ILK_EUNKNOWN},
    {"semaphore's extend", STARTS(semaphore_extend), REFUSES(semaphore_extend),
     HANDLE(semaphore, "semaphore"), ALONE,
     EFFECT("1", LONG_SCORE("ilk:semaphore:{@}", "1")),
     .open = open_held_semaphore, .open_idle = idle_semaphore,
     .repeated = ILK_ELOST},
    {"semaphore's check", STARTS(semaphore_check),
     HANDLE(semaphore, "semaphore"), .traits = REQUEST_IS_LOCAL,
     .open = open_held_semaphore, .open_idle = idle_semaphore},
    {"semaphore's adopt", STARTS(semaphore_adopt), REFUSES(semaphore_adopt),
     HANDLE(semaphore, "semaphore"), ALONE,
     EFFECT("1", LONG_SCORE("ilk:semaphore:{@}", "1")),
     .open = open_semaphore_heir, .repeated = ILK_ELOST},
    {"limit", STARTS(set_limit), REFUSES(set_limit),
     HANDLE(semaphore, "semaphore"), ALONE,
     EFFECT("5", "HGET ilk:semaphore:fence:{@} limit"),
     .traits = REQUEST_PATIENT, .open = open_held_semaphore},
    {"semaphore's inspect", STARTS(semaphore_inspect),
     REFUSES(semaphore_inspect), BY_CLIENT, .result = RESULT_INFO,
     .open = open_client_only},

    {"resign", STARTS(resign), HANDLE(election, "election"), ALONE,
     EFFECT("0", "EXISTS ilk:election:{@}"), .traits = REQUEST_PATIENT,
     .open = open_leader, .open_idle = idle_candidate, .forgotten = ILK_ELOST,
     .repeated = ILK_EUNKNOWN},
    {"renew", STARTS(renew), REFUSES(renew), HANDLE(election, "election"),
     ALONE, EFFECT("1", LONG_LEASE("ilk:election:{@}")), .open = open_leader,
     .open_idle = idle_candidate, .repeated = ILK_ELOST},
    {"election's check", STARTS(election_check), HANDLE(election, "election"),
     .traits = REQUEST_IS_LOCAL, .open = open_leader,
     .open_idle = idle_candidate},
    {"proclaim", STARTS(proclaim), REFUSES(proclaim),
     HANDLE(election, "election"), ALONE,
     EFFECT("data", "HVALS ilk:election:value:{@}"), .open = open_leader,
     .open_idle = idle_candidate, .repeated = ILK_ELOST},
    {"leader", STARTS(leader), HANDLE(election, "election"),
     .traits = REQUEST_OUTLIVES_HANDLE, .result = RESULT_LEADER,
     .open = open_leader},

    {"set", STARTS(event_set), REFUSES(event_set), HANDLE(event, "event"),
     ALONE, EFFECT("data", "HGET ilk:event:{@} data"),
     .traits = REQUEST_PATIENT, .open = open_one_event},
    {"clear", STARTS(event_clear), HANDLE(event, "event"), ALONE,
     EFFECT("0", "HGET ilk:event:{@} set"), .traits = REQUEST_PATIENT,
     .open = open_set_event},
    {"read", STARTS(event_read), HANDLE(event, "event"), ALONE,
     .open = open_set_event},

    {"register's get", STARTS(register_get), HANDLE(register, "register"),
     ALONE, .open = open_set_register},
    {"register's set", STARTS(register_set), REFUSES(register_set),
     HANDLE(register, "register"), ALONE,
     EFFECT("data", "HGET ilk:register:{@} value"), .traits = REQUEST_PATIENT,
     .open = open_one_register},
    {"register's cas", STARTS(register_cas), REFUSES(register_cas),
     HANDLE(register, "register"), ALONE,
     EFFECT("data", "HGET ilk:register:{@} value"), .traits = REQUEST_PATIENT,
     .open = open_set_register, .forgotten = ILK_ESTALE,
     .repeated = ILK_ESTALE},
    {"register's delete", STARTS(register_delete), REFUSES(register_delete),
     HANDLE(register, "register"), ALONE,
     EFFECT("0", "HEXISTS ilk:register:{@} value"), .traits = REQUEST_PATIENT,
     .open = open_set_register, .forgotten = ILK_ESTALE,
     .repeated = ILK_ESTALE},

    {"store's outcome", STARTS(store_outcome), REFUSES(store_outcome),
     HANDLE(store, "store"), .traits = REQUEST_OUTLIVES_HANDLE,
     .result = RESULT_NUMBER, .number = ILK_TXN_ABORTED,
     .open = open_one_store},
    {"transaction's get", STARTS(txn_get), REFUSES(txn_get),
     HANDLE(txn, "transaction"), ALONE, .open = open_transaction},
    {"commit", STARTS(txn_commit), HANDLE(txn, "transaction"), ALONE,
     EFFECT("vdata",
            "EVAL "
            "return(redis.call('HGET',KEYS[1],(redis.call('HGET',KEYS[1],"
            "'versions'))or('x'))) 1 ilk:store:key:{@}/written"),
     .traits = REQUEST_PATIENT, .open = open_transaction},

    {"count down", STARTS(count_down), REFUSES(count_down),
     HANDLE(latch, "latch"), ALONE, NUMBER(2),
     EFFECT("2", "HGET ilk:latch:{@} left"), .traits = REQUEST_PATIENT,
     .open = open_counted_latch},
    {"count", STARTS(latch_count), HANDLE(latch, "latch"), ALONE, NUMBER(4),
     .open = open_counted_latch},
    {"latch's reset", STARTS(latch_reset), HANDLE(latch, "latch"), ALONE,
     EFFECT("5", "HGET ilk:latch:{@} left"), .traits = REQUEST_PATIENT,
     .open = open_counted_latch},
    {"latch's inspect", STARTS(latch_inspect), REFUSES(latch_inspect),
     BY_CLIENT, .result = RESULT_LATCH, .open = open_counted_name},

    {"waiting", STARTS(barrier_waiting), HANDLE(barrier, "barrier"), ALONE,
     NUMBER(1), .open = open_awaited_barrier},
    {"barrier's reset", STARTS(barrier_reset), HANDLE(barrier, "barrier"),
     ALONE, EFFECT("0", "ZCARD ilk:barrier:wait:{@}"),
     .traits = REQUEST_PATIENT, .open = open_awaited_barrier},
    {"barrier's inspect", STARTS(barrier_inspect), REFUSES(barrier_inspect),
     BY_CLIENT, .result = RESULT_BARRIER, .open = open_awaited_name},

    {"members", STARTS(members), HANDLE(group, "group"), ALONE,
     .result = RESULT_MEMBERS, .open = open_one_group},
    {"join", STARTS(join), REFUSES(join), HANDLE(member, "member"), ALONE,
     EFFECT("1", "ZCARD ilk:group:{@}"), .traits = REQUEST_PATIENT,
     .open = open_idle_member},
    {"update", STARTS(update), REFUSES(update), HANDLE(member, "member"), ALONE,
     EFFECT("1", "EVAL return(redis.call('HGET',KEYS[1],'m'):sub(-4)=='data')"
                 "and(1)or(0) 1 ilk:group:data:{@}"),
     .traits = REQUEST_PATIENT, .open = open_joined_member,
     .open_idle = idle_member, .forgotten = ILK_ELOST, .repeated = ILK_ELOST},
    {"leave", STARTS(leave), HANDLE(member, "member"), ALONE,
     EFFECT("0", "ZCARD ilk:group:{@}"), .traits = REQUEST_PATIENT,
     .open = open_joined_member, .open_idle = idle_member,
     .forgotten = ILK_ELOST},

    {"listen", STARTS(listen), HANDLE(signal, "signal"), ALONE,
     .traits = REQUEST_REGISTERS, EFFECT("1", "ZCARD ilk:signal:wait:{@}"),
     .open = open_one_signal},
    {"notify one", STARTS(notify_one), REFUSES(notify_one),
     HANDLE(signal, "signal"), ALONE, NUMBER(1),
     EFFECT("0", "ZCARD ilk:signal:wait:{@}"), .open = open_awaited_signal},
    {"notify all", STARTS(notify_all), REFUSES(notify_all),
     HANDLE(signal, "signal"), ALONE, NUMBER(1),
     EFFECT("0", "ZCARD ilk:signal:wait:{@}"), .open = open_awaited_signal},
    {"signal's inspect", STARTS(signal_inspect), REFUSES(signal_inspect),
     BY_CLIENT, NUMBER(1), .open = open_signal_name},

    {"kv's get", STARTS(kv_get), REFUSES(kv_get), HANDLE(kv, "kv"),
     .traits = REQUEST_OUTLIVES_HANDLE, .result = RESULT_KV_ENTRY,
     .open = open_one_kv},
    {"kv's put", STARTS(kv_put), REFUSES(kv_put), HANDLE(kv, "kv"),
     NUMBER(FAR_VERSION + 1), EFFECT("data", "HGET ilk:kv:{@}/key value"),
     .traits = REQUEST_OUTLIVES_HANDLE, .open = open_one_kv},
    {"kv's delete", STARTS(kv_delete), REFUSES(kv_delete), HANDLE(kv, "kv"),
     NUMBER(FAR_VERSION + 1), EFFECT("0", "HEXISTS ilk:kv:{@}/key value"),
     .traits = REQUEST_OUTLIVES_HANDLE, .open = open_one_kv},
    {"move", STARTS(kv_move), REFUSES(kv_move), BY_CLIENT,
     .result = RESULT_KV_PROGRESS, .open = open_client_only,
     .word = "ilk:kv:node"},

    {"guarded set", STARTS(guard_set), REFUSES(guard_set), BY_CLIENT,
     EFFECT("data", "GET @"), .open = open_guarded},
    {"guarded get", STARTS(guard_get), REFUSES(guard_get), BY_CLIENT,
     .result = RESULT_VALUE, .open = open_guarded},
    {"guarded remove", STARTS(guard_remove), REFUSES(guard_remove), BY_CLIENT,
     EFFECT("0", "EXISTS @ ilk:guard:{@}"), .open = open_guarded},

    {"push", STARTS(push), REFUSES(push), HANDLE(queue, "queue"), NUMBER(4),
     EFFECT("3", "LLEN ilk:queue:ready:{@}"), .open = open_full_queue},
    {"push of several", STARTS(push_many), REFUSES(push_many),
     HANDLE(queue, "queue"), NUMBER(4), EFFECT("4", "LLEN ilk:queue:ready:{@}"),
     .open = open_full_queue},
    {"size", STARTS(size), HANDLE(queue, "queue"), NUMBER(2),
     .open = open_full_queue},
    {"peek", STARTS(peek), REFUSES(peek), HANDLE(queue, "queue"),
     .result = RESULT_BATCH, .open = open_full_queue},
    {"purge", STARTS(purge), REFUSES(purge), HANDLE(queue, "queue"), NUMBER(2),
     EFFECT("0", "LLEN ilk:queue:ready:{@}"), .open = open_full_queue},
    {"requeue", STARTS(requeue), REFUSES(requeue), HANDLE(queue, "queue"),
     NUMBER(1), EFFECT("3", "LLEN ilk:queue:ready:{@}"),
     .open = open_full_queue},
    {"queue's inspect", STARTS(queue_inspect), HANDLE(queue, "queue"),
     .result = RESULT_QUEUE_INFO, .open = open_full_queue},

    {"ack", STARTS(job_ack), HANDLE(job, "job"),
     .traits = REQUEST_PATIENT | REQUEST_OUTLIVES_HANDLE,
     EFFECT("0", "HLEN ilk:queue:flight:{@}"), .open = open_job,
     .second = ILK_ENOTOWNER, .forgotten = ILK_ELOST},
    {"nack", STARTS(job_nack), REFUSES(job_nack), HANDLE(job, "job"),
     .traits = REQUEST_PATIENT | REQUEST_OUTLIVES_HANDLE,
     EFFECT("1", "LLEN ilk:queue:ready:{@}"), .open = open_job,
     .second = ILK_ENOTOWNER, .forgotten = ILK_ELOST},
    {"bury", STARTS(job_bury), REFUSES(job_bury), HANDLE(job, "job"),
     .traits = REQUEST_PATIENT | REQUEST_OUTLIVES_HANDLE,
     EFFECT("1", "HLEN ilk:queue:dead:{@}"), .open = open_job,
     .second = ILK_ENOTOWNER, .forgotten = ILK_ELOST},
    {"message's extend", STARTS(job_extend), REFUSES(job_extend),
     HANDLE(job, "job"), .traits = REQUEST_OUTLIVES_HANDLE,
     EFFECT("1", LONG_SCORE("ilk:queue:leases:{@}", "512")), .open = open_job,
     .repeated = ILK_ELOST},
    {"batch's ack", STARTS(batch_ack), HANDLE(batch, "batch"),
     .traits = REQUEST_PATIENT | REQUEST_OUTLIVES_HANDLE,
     EFFECT("0", "HLEN ilk:queue:flight:{@}"), .open = open_batch,
     .forgotten = ILK_ELOST},
};
const size_t request_row_count = sizeof request_rows / sizeof *request_rows;

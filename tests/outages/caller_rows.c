/* SPDX-License-Identifier: MIT */
/* caller_rows.c -- each verb of the headers: prepared, called, started, served. */
#include "caller.h"

#include <stdio.h>
#include <string.h>

#define NAME c->name, strlen(c->name)
#define TOKEN c->token, strlen(c->token)
#define LIMIT c->limit_ms
#define TEXT "x", 1
#define OTHER_MS 20000 /* of the other client, which has time */

/* A verb that blocks, and the same started. */
#define CALL(verb, ...)                                                        \
    static ilk_status call_##verb(caller_cell *c, ilk_error *err)              \
    {                                                                          \
        return ilk_##verb(__VA_ARGS__);                                        \
    }
#define START(verb, ...)                                                       \
    static ilk_status start_##verb(ilk_op **out, caller_cell *c,               \
                                   ilk_error *err)                             \
    {                                                                          \
        return ilk_##verb##_start(out, __VA_ARGS__);                           \
    }
/* Results that an operation keeps for the started form. */
#define OUT(type)                                                              \
    &(type *)                                                                  \
    {                                                                          \
        NULL                                                                   \
    }

#define ROW(of, ...)                                                           \
    {                                                                          \
        .verb = "ilk_" #of, .call = call_##of, .start = start_##of,            \
        __VA_ARGS__                                                            \
    }
#define ROW_BLOCKING(of, ...)                                                  \
    {                                                                          \
        .verb = "ilk_" #of, .call = call_##of, __VA_ARGS__                     \
    }

static ilk_status nothing(caller_cell *c, ilk_error *err)
{
    (void)c;
    (void)err;
    return ILK_OK;
}

/* ---- locks -------------------------------------------------------------- */

static ilk_status new_lock(ilk_lock **out, ilk_client *client, caller_cell *c,
                           ilk_error *err)
{
    ilk_lock_opts opts;

    ilk_lock_opts_init(&opts, sizeof opts);
    opts.ttl_ms = caller_lease_ms;
    return ilk_lock_open(out, client, NAME, &opts, err);
}

static ilk_status make_lock(caller_cell *c, ilk_error *err)
{
    return new_lock((ilk_lock **)&c->handle, c->client, c, err);
}

static ilk_status make_held_lock(caller_cell *c, ilk_error *err)
{
    ilk_status st = make_lock(c, err);

    return st ? st : ilk_lock_acquire(c->handle, OTHER_MS, err);
}

static ilk_status block_lock(caller_cell *c, ilk_error *err)
{
    ilk_status st = new_lock((ilk_lock **)&c->blocker, c->other, c, err);

    return st ? st : ilk_lock_acquire(c->blocker, OTHER_MS, err);
}

static ilk_status serve_lock(caller_cell *c, ilk_error *err)
{
    return c->blocker && ilk_lock_held(c->blocker)
               ? ilk_lock_release(c->blocker, err)
               : ILK_OK;
}

/* Another client holds it. */
static ilk_status make_name_of_lock(caller_cell *c, ilk_error *err)
{
    ilk_status st = block_lock(c, err);

    if (st == ILK_OK)
        snprintf(c->token, sizeof c->token, "%s", ilk_lock_token(c->blocker));
    return st;
}

static ilk_status make_heir_of_lock(caller_cell *c, ilk_error *err)
{
    ilk_status st = make_name_of_lock(c, err);

    if (st == ILK_OK)
        st = ilk_lock_detach(c->blocker, err);
    return st ? st : make_lock(c, err);
}

CALL(lock_acquire, c->handle, LIMIT, err)
START(lock_acquire, c->handle, LIMIT, 0, err)
CALL(lock_acquire_ttl, c->handle, LIMIT, caller_lease_ms, err)
CALL(lock_release, c->handle, err)
START(lock_release, c->handle, err)
CALL(lock_extend, c->handle, caller_lease_ms, err)
START(lock_extend, c->handle, caller_lease_ms, err)
CALL(lock_check, c->handle, err)
START(lock_check, c->handle, err)
CALL(lock_detach, c->handle, err)
CALL(lock_adopt, c->handle, TOKEN, err)
START(lock_adopt, c->handle, TOKEN, err)
CALL(lock_break, c->client, NAME, TOKEN, err)
START(lock_break, c->client, NAME, TOKEN, err)
CALL(inspect, OUT(ilk_info), c->client, NAME, err)
START(inspect, c->client, NAME, err)
CALL(inspect_kind, OUT(ilk_info), c->client, ILK_KIND_LOCK, NAME, err)
START(inspect_kind, c->client, ILK_KIND_LOCK, NAME, err)

static ilk_status new_many(ilk_lock_many **out, ilk_client *client,
                           caller_cell *c, ilk_error *err)
{
    char second[CALLER_NAME_MAX + 4];
    const void *names[] = {c->name, second};
    size_t lens[] = {strlen(c->name), 0};
    ilk_lock_opts opts;

    lens[1] = (size_t)snprintf(second, sizeof second, "%s:2", c->name);
    ilk_lock_opts_init(&opts, sizeof opts);
    opts.ttl_ms = caller_lease_ms;
    return ilk_lock_many_open(out, client, names, lens, 2, &opts, err);
}

static ilk_status make_many(caller_cell *c, ilk_error *err)
{
    return new_many((ilk_lock_many **)&c->handle, c->client, c, err);
}

static ilk_status make_held_many(caller_cell *c, ilk_error *err)
{
    ilk_status st = make_many(c, err);

    return st ? st : ilk_lock_many_acquire(c->handle, OTHER_MS, err);
}

static ilk_status block_many(caller_cell *c, ilk_error *err)
{
    ilk_status st = new_many((ilk_lock_many **)&c->blocker, c->other, c, err);

    return st ? st : ilk_lock_many_acquire(c->blocker, OTHER_MS, err);
}

static ilk_status serve_many(caller_cell *c, ilk_error *err)
{
    return c->blocker && ilk_lock_many_held(c->blocker)
               ? ilk_lock_many_release(c->blocker, err)
               : ILK_OK;
}

CALL(lock_many_acquire, c->handle, LIMIT, err)
START(lock_many_acquire, c->handle, LIMIT, err)
CALL(lock_many_release, c->handle, err)
START(lock_many_release, c->handle, err)
CALL(lock_many_extend, c->handle, caller_lease_ms, err)
START(lock_many_extend, c->handle, caller_lease_ms, err)
CALL(lock_many_check, c->handle, err)
START(lock_many_check, c->handle, err)

/* ---- semaphores --------------------------------------------------------- */

static ilk_status new_semaphore(ilk_semaphore **out, ilk_client *client,
                                caller_cell *c, ilk_error *err)
{
    ilk_semaphore_opts opts;

    ilk_semaphore_opts_init(&opts, sizeof opts);
    opts.ttl_ms = caller_lease_ms;
    return ilk_semaphore_open(out, client, NAME, 1, &opts, err);
}

static ilk_status make_semaphore(caller_cell *c, ilk_error *err)
{
    return new_semaphore((ilk_semaphore **)&c->handle, c->client, c, err);
}

static ilk_status make_held_semaphore(caller_cell *c, ilk_error *err)
{
    ilk_status st = make_semaphore(c, err);

    return st ? st : ilk_semaphore_acquire(c->handle, OTHER_MS, err);
}

static ilk_status block_semaphore(caller_cell *c, ilk_error *err)
{
    ilk_status st =
        new_semaphore((ilk_semaphore **)&c->blocker, c->other, c, err);

    return st ? st : ilk_semaphore_acquire(c->blocker, OTHER_MS, err);
}

static ilk_status serve_semaphore(caller_cell *c, ilk_error *err)
{
    return c->blocker && ilk_semaphore_held(c->blocker)
               ? ilk_semaphore_release(c->blocker, err)
               : ILK_OK;
}

static ilk_status make_heir_of_semaphore(caller_cell *c, ilk_error *err)
{
    ilk_status st = block_semaphore(c, err);

    if (st == ILK_OK) {
        snprintf(c->token, sizeof c->token, "%s",
                 ilk_semaphore_token(c->blocker));
        st = ilk_semaphore_detach(c->blocker, err);
    }
    return st ? st : make_semaphore(c, err);
}

CALL(semaphore_acquire, c->handle, LIMIT, err)
START(semaphore_acquire, c->handle, LIMIT, 0, err)
CALL(semaphore_acquire_ttl, c->handle, LIMIT, caller_lease_ms, err)
CALL(semaphore_release, c->handle, err)
START(semaphore_release, c->handle, err)
CALL(semaphore_extend, c->handle, caller_lease_ms, err)
START(semaphore_extend, c->handle, caller_lease_ms, err)
CALL(semaphore_check, c->handle, err)
START(semaphore_check, c->handle, err)
CALL(semaphore_detach, c->handle, err)
CALL(semaphore_adopt, c->handle, TOKEN, err)
START(semaphore_adopt, c->handle, TOKEN, err)
CALL(semaphore_set_limit, c->handle, 2, err)
START(semaphore_set_limit, c->handle, 2, err)
CALL(semaphore_inspect, OUT(ilk_info), c->client, NAME, err)
START(semaphore_inspect, c->client, NAME, err)

/* ---- elections ---------------------------------------------------------- */

static ilk_status new_election(ilk_election **out, ilk_client *client,
                               caller_cell *c, ilk_error *err)
{
    ilk_election_opts opts;

    ilk_election_opts_init(&opts, sizeof opts);
    opts.ttl_ms = caller_lease_ms;
    opts.value = "me";
    opts.value_len = 2;
    return ilk_election_open(out, client, NAME, &opts, err);
}

static ilk_status make_election(caller_cell *c, ilk_error *err)
{
    return new_election((ilk_election **)&c->handle, c->client, c, err);
}

static ilk_status make_leader(caller_cell *c, ilk_error *err)
{
    ilk_status st = make_election(c, err);

    return st ? st : ilk_election_campaign(c->handle, OTHER_MS, err);
}

static ilk_status block_election(caller_cell *c, ilk_error *err)
{
    ilk_status st =
        new_election((ilk_election **)&c->blocker, c->other, c, err);

    return st ? st : ilk_election_campaign(c->blocker, OTHER_MS, err);
}

static ilk_status serve_election(caller_cell *c, ilk_error *err)
{
    return c->blocker && ilk_election_is_leader(c->blocker)
               ? ilk_election_resign(c->blocker, err)
               : ILK_OK;
}

static ilk_status make_led(caller_cell *c, ilk_error *err)
{
    ilk_status st = block_election(c, err);

    if (st == ILK_OK)
        snprintf(c->token, sizeof c->token, "%s",
                 ilk_election_token(c->blocker));
    return st;
}

static ilk_status make_observer(caller_cell *c, ilk_error *err)
{
    ilk_status st =
        new_election((ilk_election **)&c->second, c->client, c, err);

    return st ? st
              : ilk_election_observe((ilk_observer **)&c->handle, c->second, 0,
                                     err);
}

/* Somebody leads. */
static ilk_status serve_observer(caller_cell *c, ilk_error *err)
{
    ilk_status st = ILK_OK;

    if (!c->blocker)
        st = new_election((ilk_election **)&c->blocker, c->other, c, err);
    if (st == ILK_OK && !ilk_election_is_leader(c->blocker))
        st = ilk_election_campaign(c->blocker, 5000, err);
    return st;
}

CALL(election_campaign, c->handle, LIMIT, err)
START(election_campaign, c->handle, LIMIT, err)
CALL(election_resign, c->handle, err)
START(election_resign, c->handle, err)
CALL(election_renew, c->handle, caller_lease_ms, err)
START(election_renew, c->handle, caller_lease_ms, err)
CALL(election_check, c->handle, err)
START(election_check, c->handle, err)
CALL(election_proclaim, c->handle, TEXT, err)
START(election_proclaim, c->handle, TEXT, err)
CALL(election_break, c->client, NAME, TOKEN, err)
START(election_break, c->client, NAME, TOKEN, err)
CALL(election_leader, OUT(ilk_leader), c->handle, err)
START(election_leader, c->handle, err)
CALL(observer_next, OUT(ilk_leader), c->handle, LIMIT, err)
START(observer_next, c->handle, LIMIT, err)

/* ---- small states ------------------------------------------------------- */

static ilk_status make_event(caller_cell *c, ilk_error *err)
{
    return ilk_event_open((ilk_event **)&c->handle, c->client, NAME, NULL, err);
}

static ilk_status serve_event(caller_cell *c, ilk_error *err)
{
    ilk_event *event = NULL;
    ilk_status st = ilk_event_open(&event, c->other, NAME, NULL, err);

    if (st == ILK_OK)
        st = ilk_event_set(event, TEXT, err);
    ilk_event_free(event);
    return st;
}

CALL(event_set, c->handle, TEXT, err)
START(event_set, c->handle, TEXT, err)
CALL(event_clear, c->handle, err)
START(event_clear, c->handle, err)
CALL(event_read, c->handle, err)
START(event_read, c->handle, err)
CALL(event_wait, c->handle, LIMIT, err)
START(event_wait, c->handle, LIMIT, err)
CALL(event_wait_change, c->handle, 0, LIMIT, err)
START(event_wait_change, c->handle, 0, LIMIT, err)

static ilk_status make_latch(caller_cell *c, ilk_error *err)
{
    return ilk_latch_open((ilk_latch **)&c->handle, c->client, NAME, 1, NULL,
                          err);
}

static ilk_status serve_latch(caller_cell *c, ilk_error *err)
{
    ilk_latch *latch = NULL;
    ilk_status st = ilk_latch_open(&latch, c->other, NAME, 1, NULL, err);
    int64_t left;

    if (st == ILK_OK)
        st = ilk_latch_count_down(latch, 1, &left, err);
    ilk_latch_free(latch);
    return st;
}

CALL(latch_count_down, c->handle, 1, &c->number_out, err)
START(latch_count_down, c->handle, 1, err)
CALL(latch_count, c->handle, &c->number_out, err)
START(latch_count, c->handle, err)
CALL(latch_reset, c->handle, err)
START(latch_reset, c->handle, err)
CALL(latch_wait, c->handle, LIMIT, err)
START(latch_wait, c->handle, LIMIT, err)
CALL(latch_inspect, c->client, NAME, &c->number_out, &c->number_out, err)
START(latch_inspect, c->client, NAME, err)

static ilk_status make_barrier(caller_cell *c, ilk_error *err)
{
    return ilk_barrier_open((ilk_barrier **)&c->handle, c->client, NAME, 2,
                            NULL, err);
}

static ilk_status serve_barrier(caller_cell *c, ilk_error *err)
{
    ilk_barrier *barrier = NULL;
    ilk_status st = ilk_barrier_open(&barrier, c->other, NAME, 2, NULL, err);
    int64_t index;

    if (st == ILK_OK)
        st = ilk_barrier_wait(barrier, 2000, &index, err);
    ilk_barrier_free(barrier);
    return st;
}

CALL(barrier_wait, c->handle, LIMIT, &c->number_out, err)
START(barrier_wait, c->handle, LIMIT, err)
CALL(barrier_waiting, c->handle, &c->number_out, err)
START(barrier_waiting, c->handle, err)
CALL(barrier_reset, c->handle, err)
START(barrier_reset, c->handle, err)
CALL(barrier_inspect, c->client, NAME, &c->number_out, &c->number_out, err)
START(barrier_inspect, c->client, NAME, err)

/* ---- groups, registers, values, guarded values -------------------------- */

static ilk_status make_group(caller_cell *c, ilk_error *err)
{
    return ilk_group_open((ilk_group **)&c->handle, c->client, NAME, err);
}

static ilk_status make_watched_group(caller_cell *c, ilk_error *err)
{
    ilk_members *members = NULL;
    ilk_status st = make_group(c, err);

    if (st == ILK_OK)
        st = ilk_group_watch(&members, c->handle, OTHER_MS, err);
    ilk_members_free(members);
    return st;
}

static ilk_status new_member(ilk_member **out, ilk_client *client,
                             caller_cell *c, const char *id, ilk_error *err)
{
    ilk_group *group = NULL;
    ilk_member_opts opts;
    ilk_status st = ilk_group_open(&group, client, NAME, err);

    ilk_member_opts_init(&opts, sizeof opts);
    opts.ttl_ms = caller_lease_ms;
    if (st == ILK_OK)
        st = ilk_member_open(out, group, id, strlen(id), &opts, err);
    ilk_group_free(group);
    return st;
}

static ilk_status make_member(caller_cell *c, ilk_error *err)
{
    return new_member((ilk_member **)&c->handle, c->client, c, "me", err);
}

static ilk_status make_joined(caller_cell *c, ilk_error *err)
{
    ilk_status st = make_member(c, err);

    return st ? st : ilk_member_join(c->handle, TEXT, err);
}

static ilk_status serve_group(caller_cell *c, ilk_error *err)
{
    ilk_status st = ILK_OK;

    if (!c->blocker)
        st = new_member((ilk_member **)&c->blocker, c->other, c, "you", err);
    if (st == ILK_OK && !ilk_member_held(c->blocker))
        st = ilk_member_join(c->blocker, TEXT, err);
    return st == ILK_EHELD ? ILK_OK : st;
}

CALL(group_members, OUT(ilk_members), c->handle, err)
START(group_members, c->handle, err)
CALL(group_watch, OUT(ilk_members), c->handle, LIMIT, err)
START(group_watch, c->handle, LIMIT, err)
CALL(member_join, c->handle, TEXT, err)
START(member_join, c->handle, TEXT, err)
CALL(member_update, c->handle, TEXT, err)
START(member_update, c->handle, TEXT, err)
CALL(member_leave, c->handle, err)
START(member_leave, c->handle, err)

static ilk_status make_register(caller_cell *c, ilk_error *err)
{
    return ilk_register_open((ilk_register **)&c->handle, c->client, NAME, err);
}

static ilk_status serve_register(caller_cell *c, ilk_error *err)
{
    ilk_register *handle = NULL;
    ilk_status st = ilk_register_open(&handle, c->other, NAME, err);

    if (st == ILK_OK)
        st = ilk_register_set(handle, TEXT, err);
    ilk_register_free(handle);
    return st;
}

CALL(register_get, c->handle, err)
START(register_get, c->handle, err)
CALL(register_set, c->handle, TEXT, err)
START(register_set, c->handle, TEXT, err)
CALL(register_cas, c->handle, 0, TEXT, err)
START(register_cas, c->handle, 0, TEXT, err)
CALL(register_delete, c->handle, 0, err)
START(register_delete, c->handle, 0, err)
CALL(register_wait, c->handle, 0, LIMIT, err)
START(register_wait, c->handle, 0, LIMIT, err)

static ilk_status make_kv(caller_cell *c, ilk_error *err)
{
    return ilk_kv_open((ilk_kv **)&c->handle, c->client, NAME, err);
}

CALL(kv_get, OUT(ilk_kv_entry), c->handle, TEXT, err)
START(kv_get, c->handle, TEXT, err)
CALL(kv_put, c->handle, TEXT, TEXT, 0, &c->number_out, err)
START(kv_put, c->handle, TEXT, TEXT, 0, err)
CALL(kv_delete, c->handle, TEXT, 0, &c->number_out, err)
START(kv_delete, c->handle, TEXT, 0, err)
CALL(kv_move, c->client, &(ilk_kv_progress){.size = sizeof(ilk_kv_progress)},
     err)
START(kv_move, c->client, NULL, err)

static ilk_status make_txn(caller_cell *c, ilk_error *err)
{
    ilk_status st =
        ilk_store_open((ilk_store **)&c->second, c->client, NAME, err);

    return st ? st : ilk_txn_begin((ilk_txn **)&c->handle, c->second, 0, err);
}

static ilk_status make_written(caller_cell *c, ilk_error *err)
{
    ilk_status st = make_txn(c, err);

    return st ? st : ilk_txn_put(c->handle, TEXT, TEXT, err);
}

static ilk_status make_committed(caller_cell *c, ilk_error *err)
{
    ilk_status st = make_written(c, err);

    if (st == ILK_OK)
        st = ilk_txn_commit(c->handle, err);
    if (st == ILK_OK)
        snprintf(c->token, sizeof c->token, "%s", ilk_txn_id(c->handle));
    return st;
}

CALL(txn_get, c->handle, TEXT, err)
START(txn_get, c->handle, TEXT, err)
CALL(txn_commit, c->handle, err)
START(txn_commit, c->handle, err)
CALL(store_outcome, c->second, c->token, &(int32_t){0}, err)
START(store_outcome, c->second, c->token, err)

CALL(guard_set, c->client, NAME, 1, TEXT, err)
START(guard_set, c->client, NAME, 1, TEXT, err)
CALL(guard_get, OUT(ilk_value), c->client, NAME, 0, err)
START(guard_get, c->client, NAME, 0, err)
CALL(guard_remove, c->client, NAME, err)
START(guard_remove, c->client, NAME, err)

/* ---- queues ------------------------------------------------------------- */

static ilk_status make_queue(caller_cell *c, ilk_error *err)
{
    return ilk_queue_open((ilk_queue **)&c->handle, c->client, NAME, NULL, err);
}

static ilk_status make_filled(caller_cell *c, ilk_error *err)
{
    ilk_status st = make_queue(c, err);

    return st ? st : ilk_queue_push(&c->number_out, c->handle, TEXT, NULL, err);
}

static ilk_status make_job(caller_cell *c, ilk_error *err)
{
    ilk_status st = make_filled(c, err);

    c->second = c->handle;
    return st ? st
              : ilk_queue_reserve((ilk_job **)&c->handle, c->second, OTHER_MS,
                                  caller_lease_ms, err);
}

static ilk_status make_batch(caller_cell *c, ilk_error *err)
{
    ilk_status st = make_filled(c, err);

    c->second = c->handle;
    return st ? st
              : ilk_queue_reserve_many((ilk_batch **)&c->handle, c->second, 2,
                                       OTHER_MS, caller_lease_ms, NULL, err);
}

static ilk_status serve_queue(caller_cell *c, ilk_error *err)
{
    ilk_queue *queue = NULL;
    ilk_status st = ilk_queue_open(&queue, c->other, NAME, NULL, err);
    int64_t id;

    if (st == ILK_OK)
        st = ilk_queue_push(&id, queue, TEXT, NULL, err);
    ilk_queue_free(queue);
    return st;
}

static ilk_status make_worker(caller_cell *c, ilk_error *err)
{
    const void *names[] = {c->name};
    size_t lens[] = {strlen(c->name)};

    return ilk_worker_open((ilk_worker **)&c->handle, c->client, names, lens, 1,
                           NULL, NULL, err);
}

/* A worker that has a result to send. */
static ilk_status make_working(caller_cell *c, ilk_error *err)
{
    ilk_job *job = NULL;
    ilk_status st = make_filled(c, err);

    if (st == ILK_OK)
        st = make_worker(c, err);
    if (st == ILK_OK)
        st = ilk_worker_next(&job, c->handle, OTHER_MS, err);
    if (st == ILK_OK)
        st = ilk_worker_done(c->handle, err);
    ilk_job_free(job);
    return st;
}

static const void *const two_texts[] = {"x", "y"};
static const size_t two_lengths[] = {1, 1};

CALL(queue_push, &c->number_out, c->handle, TEXT, NULL, err)
START(queue_push, c->handle, TEXT, NULL, err)
CALL(queue_push_many, &c->number_out, c->handle, two_texts, two_lengths, 2,
     NULL, err)
START(queue_push_many, c->handle, two_texts, two_lengths, 2, NULL, err)
CALL(queue_pop, OUT(ilk_job), c->handle, LIMIT, err)
START(queue_pop, c->handle, LIMIT, err)
CALL(queue_reserve, OUT(ilk_job), c->handle, LIMIT, caller_lease_ms, err)
START(queue_reserve, c->handle, LIMIT, caller_lease_ms, err)
CALL(queue_reserve_many, OUT(ilk_batch), c->handle, 2, LIMIT, caller_lease_ms,
     NULL, err)
START(queue_reserve_many, c->handle, 2, LIMIT, caller_lease_ms, NULL, err)
CALL(queue_size, &c->number_out, c->handle, err)
START(queue_size, c->handle, err)
CALL(queue_peek, OUT(ilk_batch), c->handle, ILK_QUEUE_READY, 0, 1, err)
START(queue_peek, c->handle, ILK_QUEUE_READY, 0, 1, err)
CALL(queue_purge, &c->number_out, c->handle, ILK_QUEUE_READY, err)
START(queue_purge, c->handle, ILK_QUEUE_READY, err)
CALL(queue_requeue, &c->number_out, c->handle, 0, 1, err)
START(queue_requeue, c->handle, 0, 1, err)
CALL(queue_inspect, OUT(ilk_queue_info), c->handle, err)
START(queue_inspect, c->handle, err)
CALL(job_ack, c->handle, err)
START(job_ack, c->handle, err)
CALL(job_nack, c->handle, 0, err)
START(job_nack, c->handle, 0, err)
CALL(job_bury, c->handle, TEXT, err)
START(job_bury, c->handle, TEXT, err)
CALL(job_extend, c->handle, caller_lease_ms, err)
START(job_extend, c->handle, caller_lease_ms, err)
CALL(batch_ack, c->handle, err)
START(batch_ack, c->handle, err)
CALL(worker_next, OUT(ilk_job), c->handle, LIMIT, err)
CALL(worker_finish, c->handle, err)

/* ---- signals ------------------------------------------------------------ */

static ilk_status make_signal(caller_cell *c, ilk_error *err)
{
    return ilk_signal_open((ilk_signal **)&c->handle, c->client, NAME, NULL,
                           err);
}

static ilk_status make_two_signals(caller_cell *c, ilk_error *err)
{
    char second[CALLER_NAME_MAX + 4];
    ilk_status st = make_signal(c, err);

    snprintf(second, sizeof second, "%s:2", c->name);
    return st ? st
              : ilk_signal_open((ilk_signal **)&c->second, c->client, second,
                                strlen(second), NULL, err);
}

static ilk_status notify(ilk_client *client, const char *name, ilk_error *err)
{
    ilk_signal *signal = NULL;
    ilk_status st =
        ilk_signal_open(&signal, client, name, strlen(name), NULL, err);
    int64_t reached;

    if (st == ILK_OK)
        st = ilk_signal_notify_all(&reached, signal, TEXT, err);
    ilk_signal_free(signal);
    return st;
}

static ilk_status serve_signal(caller_cell *c, ilk_error *err)
{
    char second[CALLER_NAME_MAX + 4];
    ilk_status st = notify(c->other, c->name, err);

    snprintf(second, sizeof second, "%s:2", c->name);
    return st || !c->second ? st : notify(c->other, second, err);
}

#define BOTH (ilk_signal *const[]){c->handle, c->second}, 2

CALL(signal_wait, OUT(ilk_arrival), c->handle, LIMIT, err)
START(signal_wait, c->handle, LIMIT, err)
CALL(signal_wait_any, OUT(ilk_arrival), BOTH, LIMIT, err)
START(signal_wait_any, BOTH, LIMIT, err)
CALL(signal_wait_all, OUT(ilk_arrival), BOTH, LIMIT, err)
START(signal_wait_all, BOTH, LIMIT, err)
CALL(signal_listen, c->handle, err)
START(signal_listen, c->handle, err)
CALL(signal_notify_one, &c->number_out, c->handle, TEXT, err)
START(signal_notify_one, c->handle, TEXT, err)
CALL(signal_notify_all, &c->number_out, c->handle, TEXT, err)
START(signal_notify_all, c->handle, TEXT, err)
CALL(signal_inspect, c->client, NAME, &c->number_out, err)
START(signal_inspect, c->client, NAME, err)

/* ---- recipes ------------------------------------------------------------ */

/* A key beside the name, in its slot. */
static ilk_status make_cache(caller_cell *c, ilk_error *err)
{
    (void)err;
    snprintf(c->token, sizeof c->token, "%s:cache", c->name);
    return ILK_OK;
}

#define CACHE c->token, strlen(c->token)

static ilk_status make_permit(caller_cell *c, ilk_error *err)
{
    ilk_items *items = NULL;
    ilk_status st =
        ilk_recipes_permit(&items, c->client, NAME, 1, caller_lease_ms, err);

    if (st == ILK_OK)
        snprintf(c->token, sizeof c->token, "id");
    ilk_items_free(items);
    return st;
}

static ilk_status make_consumer(caller_cell *c, ilk_error *err)
{
    const void *names[] = {c->name};
    size_t lens[] = {strlen(c->name)};

    return ilk_consumer_open((ilk_consumer **)&c->handle, c->client, names,
                             lens, 1, err);
}

static ilk_status push_value(caller_cell *c, ilk_client *client, ilk_error *err)
{
    return ilk_recipes_push(&c->number_out, client, NAME, ILK_RECIPES_TAIL,
                            TEXT, err);
}

static ilk_status serve_consumer(caller_cell *c, ilk_error *err)
{
    return push_value(c, c->other, err);
}

/* A consumer with a message in its own list. */
static ilk_status make_consuming(caller_cell *c, ilk_error *err)
{
    ilk_items *items = NULL;
    ilk_status st = push_value(c, c->client, err);

    if (st == ILK_OK)
        st = make_consumer(c, err);
    if (st == ILK_OK)
        st = ilk_consumer_pop(&items, c->handle, OTHER_MS, err);
    ilk_items_free(items);
    return st;
}

static ilk_status make_listener(caller_cell *c, ilk_error *err)
{
    return ilk_listener_open((ilk_listener **)&c->handle, c->client, NAME, NULL,
                             0, err);
}

/* It is subscribed. */
static ilk_status make_listening(caller_cell *c, ilk_error *err)
{
    ilk_items *items = NULL;
    ilk_status st = make_listener(c, err);

    if (st == ILK_OK)
        st = ilk_listener_wait(&items, c->handle, 1, err);
    ilk_items_free(items);
    return st == ILK_ETIMEOUT ? ILK_OK : st;
}

static ilk_status serve_listener(caller_cell *c, ilk_error *err)
{
    int64_t receivers;

    return ilk_recipes_signal(&receivers, c->other, NAME, 0, TEXT, err);
}

CALL(recipes_push, &c->number_out, c->client, NAME, ILK_RECIPES_TAIL, TEXT, err)
CALL(recipes_pop, OUT(ilk_items), c->client, NAME, ILK_RECIPES_HEAD, err)
CALL(recipes_park, OUT(ilk_items), c->client, NAME, CACHE, err)
CALL(recipes_unpark, c->client, CACHE, "token", 5, err)
CALL(recipes_restore, &c->number_out, c->client, NAME, CACHE, err)
CALL(recipes_delay, c->client, NAME, 1000, TEXT, err)
CALL(recipes_due, OUT(ilk_items), &(int){0}, c->client, NAME, err)
CALL(recipes_permit, OUT(ilk_items), c->client, NAME, 1, caller_lease_ms, err)
CALL(recipes_permit_release, c->client, NAME, TOKEN, err)
CALL(recipes_permit_refresh, c->client, NAME, TOKEN, err)
CALL(recipes_master, &c->number_out, c->client, NAME, "me", 2, 0,
     caller_lease_ms, err)
CALL(recipes_signal, &c->number_out, c->client, NAME, 0, TEXT, err)
CALL(listener_wait, OUT(ilk_items), c->handle, LIMIT, err)
CALL(listener_leave, OUT(ilk_items), &c->number_out, c->handle, 0, err)
CALL(consumer_pop, OUT(ilk_items), c->handle, LIMIT, err)
CALL(consumer_settle, c->handle, ILK_RECIPES_DONE, err)
CALL(consumer_leave, c->handle, err)

/* ---- all else ----------------------------------------------------------- */

CALL(client_ping, c->client, LIMIT, err)
START(client_ping, c->client, LIMIT, err)
CALL(list_open, OUT(ilk_list), c->client, "test*", 5, err)
CALL(list_open_kinds, OUT(ilk_list), c->client, 0, "test*", 5, err)
static ilk_status start_list_open_kinds(ilk_op **out, caller_cell *c,
                                        ilk_error *err)
{
    return ilk_list_open_start(out, c->client, 0, "test*", 5, err);
}

#define WAITS(noun) .make = make_##noun, .block = nothing, .serve = serve_##noun

const caller_row caller_rows[] = {
    ROW(lock_acquire, .make = make_lock, .block = block_lock,
        .serve = serve_lock),
    ROW_BLOCKING(lock_acquire_ttl, .make = make_lock, .block = block_lock,
                 .serve = serve_lock),
    ROW(lock_release, .make = make_held_lock),
    ROW(lock_extend, .make = make_held_lock),
    ROW(lock_check, .make = make_held_lock),
    ROW_BLOCKING(lock_detach, .make = make_held_lock),
    ROW(lock_adopt, .make = make_heir_of_lock),
    ROW(lock_break, .make = make_name_of_lock),
    ROW(inspect, .make = make_name_of_lock),
    ROW(inspect_kind, .make = make_name_of_lock),
    ROW(lock_many_acquire, .make = make_many, .block = block_many,
        .serve = serve_many),
    ROW(lock_many_release, .make = make_held_many),
    ROW(lock_many_extend, .make = make_held_many),
    ROW(lock_many_check, .make = make_held_many),
    ROW(semaphore_acquire, .make = make_semaphore, .block = block_semaphore,
        .serve = serve_semaphore),
    ROW_BLOCKING(semaphore_acquire_ttl, .make = make_semaphore,
                 .block = block_semaphore, .serve = serve_semaphore),
    ROW(semaphore_release, .make = make_held_semaphore),
    ROW(semaphore_extend, .make = make_held_semaphore),
    ROW(semaphore_check, .make = make_held_semaphore),
    ROW_BLOCKING(semaphore_detach, .make = make_held_semaphore),
    ROW(semaphore_adopt, .make = make_heir_of_semaphore),
    ROW(semaphore_set_limit, .make = make_held_semaphore),
    ROW(semaphore_inspect, .make = make_held_semaphore),
    ROW(election_campaign, .make = make_election, .block = block_election,
        .serve = serve_election),
    ROW(election_resign, .make = make_leader),
    ROW(election_renew, .make = make_leader),
    ROW(election_check, .make = make_leader),
    ROW(election_proclaim, .make = make_leader),
    ROW(election_break, .make = make_led),
    ROW(election_leader, .make = make_election),
    ROW(observer_next, WAITS(observer)),
    ROW(event_set, .make = make_event),
    ROW(event_clear, .make = make_event),
    ROW(event_read, .make = make_event),
    ROW(event_wait, WAITS(event)),
    ROW(event_wait_change, WAITS(event)),
    ROW(latch_count_down, .make = make_latch),
    ROW(latch_count, .make = make_latch),
    ROW(latch_reset, .make = make_latch),
    ROW(latch_wait, WAITS(latch)),
    ROW(latch_inspect, .make = nothing),
    ROW(barrier_wait, WAITS(barrier)),
    ROW(barrier_waiting, .make = make_barrier),
    ROW(barrier_reset, .make = make_barrier),
    ROW(barrier_inspect, .make = nothing),
    ROW(group_members, .make = make_group),
    ROW(group_watch, .make = make_watched_group, .block = nothing,
        .serve = serve_group),
    ROW(member_join, .make = make_member),
    ROW(member_update, .make = make_joined),
    ROW(member_leave, .make = make_joined),
    ROW(register_get, .make = make_register),
    ROW(register_set, .make = make_register),
    ROW(register_cas, .make = make_register),
    ROW(register_delete, .make = make_register),
    ROW(register_wait, WAITS(register)),
    ROW(kv_get, .make = make_kv),
    ROW(kv_put, .make = make_kv),
    ROW(kv_delete, .make = make_kv),
    ROW(kv_move, .make = nothing),
    ROW(txn_get, .make = make_txn),
    ROW(txn_commit, .make = make_written),
    ROW(store_outcome, .make = make_committed),
    ROW(guard_set, .make = nothing),
    ROW(guard_get, .make = nothing),
    ROW(guard_remove, .make = nothing),
    ROW(queue_push, .make = make_queue),
    ROW(queue_push_many, .make = make_queue),
    ROW(queue_pop, WAITS(queue)),
    ROW(queue_reserve, WAITS(queue)),
    ROW(queue_reserve_many, WAITS(queue)),
    ROW(queue_size, .make = make_filled),
    ROW(queue_peek, .make = make_filled),
    ROW(queue_purge, .make = make_filled),
    ROW(queue_requeue, .make = make_filled),
    ROW(queue_inspect, .make = make_filled),
    ROW(job_ack, .make = make_job),
    ROW(job_nack, .make = make_job),
    ROW(job_bury, .make = make_job),
    ROW(job_extend, .make = make_job),
    ROW(batch_ack, .make = make_batch),
    ROW_BLOCKING(worker_next, .make = make_worker, .block = nothing,
                 .serve = serve_queue),
    ROW_BLOCKING(worker_finish, .make = make_working),
    ROW(signal_wait, WAITS(signal)),
    ROW(signal_wait_any, .make = make_two_signals, .block = nothing,
        .serve = serve_signal),
    ROW(signal_wait_all, .make = make_two_signals, .block = nothing,
        .serve = serve_signal),
    ROW(signal_listen, .make = make_signal),
    ROW(signal_notify_one, .make = make_signal),
    ROW(signal_notify_all, .make = make_signal),
    ROW(signal_inspect, .make = nothing),
    ROW_BLOCKING(recipes_push, .make = nothing),
    ROW_BLOCKING(recipes_pop, .make = nothing),
    ROW_BLOCKING(recipes_park, .make = make_cache),
    ROW_BLOCKING(recipes_unpark, .make = make_cache),
    ROW_BLOCKING(recipes_restore, .make = make_cache),
    ROW_BLOCKING(recipes_delay, .make = nothing),
    ROW_BLOCKING(recipes_due, .make = nothing),
    ROW_BLOCKING(recipes_permit, .make = nothing),
    ROW_BLOCKING(recipes_permit_release, .make = make_permit),
    ROW_BLOCKING(recipes_permit_refresh, .make = make_permit),
    ROW_BLOCKING(recipes_master, .make = nothing),
    ROW_BLOCKING(recipes_signal, .make = nothing),
    ROW_BLOCKING(listener_wait, WAITS(listener)),
    ROW_BLOCKING(listener_leave, .make = make_listening),
    ROW_BLOCKING(consumer_pop, WAITS(consumer)),
    ROW_BLOCKING(consumer_settle, .make = make_consuming),
    ROW_BLOCKING(consumer_leave, .make = make_consuming),
    ROW(client_ping, .make = nothing),
    ROW_BLOCKING(list_open, .make = nothing),
    ROW(list_open_kinds, .make = nothing),
    {0},
};

/* SPDX-License-Identifier: MIT */
/*
 * ct_gateway.c -- clients over the gateway, and a store in memory that replies
 * late, out of order, or not at all. ct_gateway_wire.c has its bytes.
 */
#include "client/client.h"
#include "gateway/gateway.h"

#include "memory_backend.h"

#include "fixture.h"
#include "fork_case.h"

#include <interlock.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "test.h"

static ilk_client *open_client(const char *url)
{
    ilk_client_opts opts = {.size = sizeof opts, .connect_timeout_ms = 30000};
    ilk_error err = {0};
    ilk_client *client;

    if (ilk_client_open(&client, url, &opts, &err))
        fail_msg("%s: %s", url, err.msg);
    return client;
}

static ilk_lock *open_lock(ilk_client *client, const char *name)
{
    ilk_error err = {0};
    ilk_lock *lock;

    if (ilk_lock_open(&lock, client, name, strlen(name), NULL, &err))
        fail_msg("%s: %s", name, err.msg);
    return lock;
}

static void assert_ok(ilk_status status, const ilk_error *err)
{
    if (status)
        fail_msg("%s: %s", ilk_status_name(status), err->msg);
}

/* Nobody holds the name, though what was given back may still be on its way. */
static void assert_becomes_free(const char *name)
{
    ilk_client *client = open_client("memory://");
    ilk_lock *lock = open_lock(client, name);
    ilk_error err = {0};

    assert_ok(ilk_lock_acquire(lock, patience(2000), &err), &err);
    assert_ok(ilk_lock_release(lock, &err), &err);
    ilk_lock_free(lock);
    ilk_client_free(client);
}

/* ---- exclusion ----------------------------------------------------------- */

enum { TURNS = 40, THREADS = 4 };

typedef struct crowd {
    const char *url;
    _Atomic int inside, overlaps, turns, unclear;
    _Atomic int64_t last_fence, fences_back;
} crowd;

/* A reply that is lost may leave the outcome of one call open, but no more. */
static void take_turns(crowd *self, ilk_lock *lock)
{
    ilk_error err;

    while (atomic_load(&self->turns) < TURNS) {
        ilk_status st = ilk_lock_acquire(lock, 20000, &err);

        if (st) {
            atomic_fetch_add(&self->unclear, 1);
            continue;
        }
        if (atomic_fetch_add(&self->inside, 1))
            atomic_fetch_add(&self->overlaps, 1);
        if (ilk_lock_fence(lock) <= atomic_load(&self->last_fence))
            atomic_fetch_add(&self->fences_back, 1);
        atomic_store(&self->last_fence, ilk_lock_fence(lock));
        atomic_fetch_sub(&self->inside, 1);
        atomic_fetch_add(&self->turns, 1);
        st = ilk_lock_release(lock, &err);
        if (st)
            atomic_fetch_add(&self->unclear, 1);
    }
}

static void *crowd_main(void *context)
{
    crowd *self = context;
    ilk_client *client = open_client(self->url);
    const ilk_lock_opts opts = {.size = sizeof opts, .ttl_ms = 2000};
    ilk_error err = {0};
    ilk_lock *lock;

    assert_ok(ilk_lock_open(&lock, client, "crowd", 5, &opts, &err), &err);
    take_turns(self, lock);
    ilk_lock_free(lock);
    ilk_client_free(client);
    return NULL;
}

static void run_crowd(const char *url)
{
    crowd self = {.url = url};
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(0,
                         pthread_create(&threads[i], NULL, crowd_main, &self));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(self.overlaps, 0);
    assert_int_equal(self.fences_back, 0);
    assert_true(self.turns >= TURNS);
    assert_becomes_free("crowd");
}

TEST(a_crowd_excludes_each_other)
{
    run_crowd("memory://");
}

TEST(a_crowd_excludes_each_other_when_replies_are_late)
{
    run_crowd("memory://?late=50&seed=1");
}

/* Late copies of commands are possible then, and the core has to reckon with them. */
TEST(a_store_that_closes_no_connection_leaves_no_order)
{
    ilk_client *client = open_client("memory://?leave=1");
    ilk_lock *lock = open_lock(client, "left");
    ilk_error err = {0};

    assert_true(ilk__lanes_in_order(client->lanes));
    assert_ok(ilk_lock_acquire(lock, patience(2000), &err), &err);
    assert_ok(ilk_lock_release(lock, &err), &err);
    assert_false(ilk__lanes_in_order(client->lanes));
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(a_crowd_excludes_each_other_when_work_is_reordered)
{
    run_crowd("memory://?slow=50&seed=2");
}

TEST(a_crowd_excludes_each_other_when_work_is_repeated)
{
    run_crowd("memory://?repeat=50&slow=20&seed=3");
}

TEST(a_crowd_excludes_each_other_when_replies_are_lost)
{
    run_crowd("memory://?lose=10&slow=20&late=20&seed=4");
}

/* ---- order --------------------------------------------------------------- */

/* The acquire is executed up to MEMORY_SLOW_MS after its call, and the cancel
 * behind it: a grant must not come after it. */
TEST(a_cancel_behind_an_unanswered_acquire_follows_it)
{
    ilk_client *client = open_client("memory://?slow=100&seed=5");

    for (int i = 0; i < 20; i++) {
        ilk_lock *lock = open_lock(client, "cancelled");
        ilk_error err = {0};
        ilk_op *op;

        assert_ok(ilk_lock_acquire_start(&op, lock, 60000, 0, &err), &err);
        assert_ok(ilk_op_cancel(op, &err), &err);
        ilk_op_free(op);
        ilk_lock_free(lock);
    }
    assert_becomes_free("cancelled");
    ilk_client_free(client);
}

/* An acquire is sent behind a release whose reply nobody waits for. */
TEST(an_unconfirmed_release_comes_before_the_next_acquire)
{
    ilk_client *client = open_client("memory://?slow=100&seed=6");
    ilk_lock *a = open_lock(client, "next"), *b = open_lock(client, "next");
    ilk_error err = {0};

    for (int i = 0; i < 10; i++) {
        assert_ok(ilk_lock_acquire(a, 0, &err), &err);
        assert_ok(ilk_lock_release_unconfirmed(a, &err), &err);
        assert_ok(ilk_lock_acquire(b, 0, &err), &err);
        assert_ok(ilk_lock_release(b, &err), &err);
    }
    ilk_lock_free(a);
    ilk_lock_free(b);
    ilk_client_free(client);
}

/* ---- the process around it ------------------------------------------------ */

static double cpu_seconds(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
           + 1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

TEST(an_idle_gateway_uses_no_processor)
{
    ilk_client *client = open_client("memory://");
    double before;

    before = cpu_seconds();
    fixture_sleep_ms(1000);
    assert_true(cpu_seconds() - before < 0.05);
    ilk_client_free(client);
}

static void assert_works(ilk_client *client, const char *name)
{
    ilk_lock *lock = open_lock(client, name);
    ilk_error err = {0};

    assert_ok(ilk_lock_acquire(lock, patience(5000), &err), &err);
    assert_ok(ilk_lock_release(lock, &err), &err);
    ilk_lock_free(lock);
}

/* The child has a store of its own: its copy of the parent's memory. */
TEST(a_child_gets_a_gateway_of_its_own)
{
    ilk_error err = {0};
    ilk_client *client;
    ilk_lock *held;
    pid_t child;

#ifdef __SANITIZE_THREAD__
    skip_because("ThreadSanitizer lets no child of threads start a thread");
#endif
    client = open_client("memory://");
    held = open_lock(client, "parent");
    assert_ok(ilk_lock_acquire(held, 0, &err), &err);
    child = fork_now();
    if (child == 0) {
        demand(ilk_lock_release(held, &err) == ILK_EFORKED);
        demand(ilk_client_reopen(client, &err) == ILK_OK);
        assert_works(client, "child");
        ilk_lock_free(held);
        ilk_client_free(client);
        _exit(0);
    }
    assert_ends_well(child);
    assert_ok(ilk_lock_release(held, &err), &err);
    ilk_lock_free(held);
    ilk_client_free(client);
}

TEST(a_close_with_work_under_way_ends)
{
    for (unsigned i = 0; i < 20; i++) {
        ilk_client *client = open_client("memory://?slow=50&late=50&seed=8");
        ilk_lock *lock = open_lock(client, "closed");
        ilk_error err = {0};
        ilk_op *ops[8];

        for (int j = 0; j < 8; j++)
            assert_ok(ilk_client_ping_start(&ops[j], client, -1, &err), &err);
        assert_ok(ilk_lock_acquire(lock, 20000, &err), &err);
        assert_ok(ilk_client_close(client, &err), &err);
        for (int j = 0; j < 8; j++)
            ilk_op_free(ops[j]);
        ilk_lock_free(lock);
        ilk_client_free(client);
        memory_backend_reset(); /* nobody has released the lock */
    }
}

/* ---- what a store does not offer ------------------------------------------ */

static ilk__backend modest;

TEST(a_kind_that_is_not_offered_is_refused_when_it_is_opened)
{
    ilk_client *client = open_client("modest://");
    ilk_error err = {0};
    ilk_queue *queue;
    ilk_lock *lock;
    ilk_event *event;

    assert_int_equal(ilk_client_offers(client, ILK_OFFER_LOCK), 1);
    assert_int_equal(ilk_client_offers(client, ILK_OFFER_QUEUE), 0);
    assert_int_equal(
        ilk_client_offers(client, ILK_OFFER_LOCK | ILK_OFFER_QUEUE), 0);
    assert_int_equal(ilk_client_offers(client, UINT32_C(1) << 31), 0);
    assert_int_equal(ilk_client_offers(NULL, ILK_OFFER_LOCK), 0);
    assert_int_equal(ilk_queue_open(&queue, client, "q", 1, NULL, &err),
                     ILK_EUNSUPPORTED);
    assert_null(queue);
    assert_string_equal(err.msg, "the modest store offers no queue; one Redis "
                                 "or Valkey server does");
    assert_int_equal(ilk_event_open(&event, client, "e", 1, NULL, &err),
                     ILK_EUNSUPPORTED);
    assert_int_equal(ilk_rwlock_read_open(&lock, client, "l", 1, NULL, &err),
                     ILK_EUNSUPPORTED);
    assert_null(lock);
    assert_string_equal(err.msg, "the modest store offers no read/write lock; "
                                 "one Redis or Valkey server does");
    assert_works(client, "modest");
    ilk_client_free(client);
}

TEST(a_hold_that_ends_with_its_client_is_not_detached)
{
    ilk_client *client = open_client("modest://");
    ilk_error err = {0};
    ilk_lock *lock, *heir;
    ilk_op *op;

    assert_int_equal(ilk_client_offers(client, ILK_OFFER_DETACH), 0);
    assert_int_equal(ilk_lock_open(&lock, client, "d", 1, NULL, &err), 0);
    assert_int_equal(ilk_lock_open(&heir, client, "d", 1, NULL, &err), 0);
    assert_int_equal(ilk_lock_acquire(lock, 0, &err), 0);
    assert_int_equal(ilk_lock_detach(lock, &err), ILK_EUNSUPPORTED);
    assert_string_equal(
        err.msg,
        "the modest store keeps no detached holds: they end with their client");
    assert_int_equal(ilk_lock_held(lock), 1);
    assert_int_equal(ilk_lock_check(lock, &err), 0);

    assert_int_equal(ilk_lock_adopt(heir, ilk_lock_token(lock),
                                    strlen(ilk_lock_token(lock)), &err),
                     ILK_EUNSUPPORTED);
    assert_int_equal(ilk_lock_held(heir), 0);
    assert_int_equal(
        ilk_lock_adopt_start(&op, heir, "0123456789abcdef", 16, &err),
        ILK_EUNSUPPORTED);
    assert_null(op);

    assert_int_equal(ilk_lock_release(lock, &err), 0);
    assert_int_equal(ilk_lock_acquire(heir, 0, &err), 0);
    assert_int_equal(ilk_lock_release(heir, &err), 0);
    ilk_lock_free(heir);
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(a_url_of_no_backend_is_refused)
{
    ilk_error err = {0};
    ilk_client *client;

    assert_int_equal(ilk_client_open(&client, "memories://", NULL, &err),
                     ILK_EINVAL);
}

static int register_stores(void)
{
    modest = memory_backend;
    modest.scheme = "modest";
    modest.store = "the modest store";
    modest.offers = ILK_OFFER_LOCK;
    ilk__backend_register(&memory_backend);
    ilk__backend_register(&modest);
    return 0;
}

AROUND_ALL(register_stores, NULL);

/* SPDX-License-Identifier: MIT */
/* ct_lock_conditions.c -- a server that cannot at the moment: busy, loading,
 * out of memory, read-only, full; or that is meddled with all the time. */
#include "lock_thread.h"

#include <poll.h>
#include <stdatomic.h>
#include <string.h>

static int setup(void)
{
    /* Loading takes 0.2 ms a key, and commands are looked at meanwhile. */
    return fixture_start(&fx, "--lua-time-limit 50 --key-load-delay 4000 "
                              "--loading-process-events-interval-bytes 1024 "
                              "--rdbcompression no");
}

AROUND_ALL(setup, server_teardown);

/* Something done to the server again and again by a thread of its own. */
typedef struct meddler {
    fixture own; /* a copy with a connection of its own */
    const char *commands[2];
    int pause_ms;
    _Atomic int stop, rounds;
    pthread_t thread;
} meddler;

static void *meddle(void *arg)
{
    meddler *m = arg;

    while (!atomic_load(&m->stop)) {
        for (int i = 0; i < 2 && m->commands[i]; i++)
            fixture_command(&m->own, "%s", m->commands[i]);
        atomic_fetch_add(&m->rounds, 1);
        fixture_sleep_ms(m->pause_ms);
    }
    fixture_hang_up(&m->own);
    return NULL;
}

static void start_meddler(meddler *m, const char *first, const char *second,
                          int pause_ms)
{
    memset(m, 0, sizeof *m);
    m->own = fx;
    m->own.fd = -1;
    m->commands[0] = first;
    m->commands[1] = second;
    m->pause_ms = pause_ms;
    assert_int_equal(0, pthread_create(&m->thread, NULL, meddle, m));
}

static void stop_meddler(meddler *m, int least_rounds)
{
    atomic_store(&m->stop, 1);
    pthread_join(m->thread, NULL);
    fixture_hang_up(&fx); /* ours may be dead, too */
    assert_true(m->rounds >= least_rounds);
}

/* ---- meddled with ------------------------------------------------------- */

TEST(scripts_flushed_all_the_time_are_sent_again)
{
    static meddler m;
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock(client, "scripts");
    ilk_error err = {0};

    start_meddler(&m, "SCRIPT FLUSH", NULL, 0);
    for (int i = 0; i < 200; i++) {
        assert_status(ILK_OK, ilk_lock_acquire(lock, patience(5000), &err));
        assert_status(ILK_OK, ilk_lock_extend(lock, 0, &err));
        assert_status(ILK_OK, ilk_lock_release(lock, &err));
    }
    stop_meddler(&m, 20);
    ilk_lock_free(lock);
    ilk_client_free(client);
}

enum { RIVALS = 4, RIVALRY_MS = 1500 };

typedef struct rival {
    ilk_client *client;
    pthread_t thread;
    _Atomic int64_t *inside, *last_fence;
    int64_t until, late;
    int turns, overlaps, disorders, failures;
    ilk_error err;
} rival;

static void *compete(void *arg)
{
    rival *r = arg;
    ilk_lock *lock = NULL;

    if (ilk_lock_open(&lock, r->client, "rivals", 6, NULL, &r->err))
        return NULL;
    while (fixture_now_ms() < (r->turns < 10 ? r->late : r->until)) {
        ilk_status st = ilk_lock_acquire(lock, 20000, &r->err);

        if (st == ILK_ECONN) /* killed again and again before its first reply */
            continue;
        if (st) {
            r->failures++;
            break;
        }
        r->overlaps += atomic_fetch_add(r->inside, 1) != 0;
        r->disorders += atomic_load(r->last_fence) >= ilk_lock_fence(lock);
        atomic_store(r->last_fence, ilk_lock_fence(lock));
        atomic_fetch_sub(r->inside, 1);
        r->failures += ilk_lock_release(lock, &r->err) != ILK_OK;
        r->turns++;
    }
    ilk_lock_free(lock);
    return NULL;
}

TEST(connections_killed_all_the_time_break_no_exclusion)
{
    static meddler m;
    ilk_client *clients[] = {open_client(), open_client()};
    _Atomic int64_t inside = 0, last_fence = 0;
    rival rivals[RIVALS] = {{0}};

    start_meddler(&m, "CLIENT KILL TYPE normal SKIPME yes",
                  "CLIENT KILL TYPE pubsub", 10);
    for (int i = 0; i < RIVALS; i++) {
        rivals[i].client = clients[i % 2];
        rivals[i].until = fixture_now_ms() + RIVALRY_MS;
        rivals[i].late = rivals[i].until + 30000;
        rivals[i].inside = &inside;
        rivals[i].last_fence = &last_fence;
        pthread_create(&rivals[i].thread, NULL, compete, &rivals[i]);
    }
    for (int i = 0; i < RIVALS; i++) {
        pthread_join(rivals[i].thread, NULL);
        if (rivals[i].failures)
            print_error("rival %d: %s\n", i, rivals[i].err.msg);
        assert_int_equal(0, rivals[i].failures);
        assert_true(rivals[i].turns >= 10);
        assert_int_equal(0, rivals[i].overlaps);
        assert_int_equal(0, rivals[i].disorders);
    }
    stop_meddler(&m, 20);
    for (int i = 0; i < 2; i++)
        ilk_client_free(clients[i]);
}

/* ---- not now ------------------------------------------------------------ */

static void *spin(void *arg)
{
    fixture *own = arg;

    fixture_call(own, "EVAL", "while true do end", "0", (char *)NULL);
    fixture_hang_up(own);
    return NULL;
}

TEST(server_busy_with_a_script)
{
    static fixture own;
    ilk_client *client = open_client();
    ilk_lock *a = open_lock(client, "busy"), *b = open_lock(client, "other");
    ilk_error err = {0};
    pthread_t spinner;
    taker t;

    assert_status(ILK_OK, ilk_lock_acquire(a, 0, &err));
    own = fx;
    own.fd = -1;
    pthread_create(&spinner, NULL, spin, &own);
    fixture_sleep_ms(150);
    assert_status(ILK_ESERVERBUSY, ilk_lock_acquire(b, 0, &err));
    assert_status(ILK_ESERVERBUSY, ilk_lock_acquire(b, 1000, &err));
    assert_status(ILK_ESERVERBUSY, ilk_client_ping(client, -1, &err));
    start_taker(&t, b, 1000);
    assert_took(ILK_ESERVERBUSY, &t);
    assert_string_equal("OK", fixture_command(&fx, "SCRIPT KILL"));
    pthread_join(spinner, NULL);
    assert_status(ILK_OK, ilk_lock_acquire(b, patience(1000), &err));
    assert_status(ILK_OK, ilk_lock_release(b, &err));
    assert_status(ILK_OK, ilk_lock_release(a, &err));
    ilk_lock_free(a);
    ilk_lock_free(b);
    ilk_client_free(client);
}

static void *kill_script_soon(void *arg)
{
    fixture_sleep_ms(400);
    fixture_command(arg, "SCRIPT KILL");
    fixture_hang_up(arg);
    return NULL;
}

TEST(release_outwaits_a_busy_server)
{
    static fixture spins, kills;
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock(client, "patient");
    ilk_error err = {0};
    pthread_t spinner, killer;

    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    spins = kills = fx;
    spins.fd = kills.fd = -1;
    pthread_create(&spinner, NULL, spin, &spins);
    fixture_sleep_ms(150);
    pthread_create(&killer, NULL, kill_script_soon, &kills);
    assert_status(ILK_OK, ilk_lock_release(lock, &err));
    assert_int_equal(0, fixture_int(&fx, "EXISTS patient"));
    pthread_join(spinner, NULL);
    pthread_join(killer, NULL);
    ilk_lock_free(lock);
    ilk_client_free(client);
}

typedef struct visitor {
    ilk_lock *held, *new;
    ilk_status probed, released;
    ilk_error err;
    pthread_t thread;
} visitor;

/* Refused at first, then loading; then a release, which waits for its end. */
static void *visit(void *arg)
{
    visitor *v = arg;
    int64_t deadline = fixture_now_ms() + 5000;

    do
        v->probed = ilk_lock_acquire(v->new, 0, &v->err);
    while ((v->probed == ILK_ECONN || v->probed == ILK_ETIMEOUT)
           && fixture_now_ms() < deadline);
    v->released = ilk_lock_release(v->held, NULL);
    return NULL;
}

TEST(server_that_loads_its_data)
{
    ilk_client *client = open_client();
    ilk_lock *waits = open_lock(client, "kept");
    ilk_error err = {0};
    visitor v = {.held = open_lock_with(client, "kept", 60000, 0),
                 .new = open_lock(client, "new")};
    taker t;

    /* It sleeps 4 ms for each key, and answers after each KiB. */
    fixture_call(&fx, "EVAL",
                 "local kib = string.rep('x', 1024) "
                 "for i = 1, 250 do redis.call('SET', 'k' .. i, kib) end",
                 "0", (char *)NULL);
    assert_status(ILK_OK, ilk_lock_acquire(v.held, 0, &err));
    start_taker(&t, waits, -1);
    await_waiters("kept", 1);
    assert_string_equal("OK", fixture_command(&fx, "SAVE"));
    assert_int_equal(0, fixture_kill(&fx));
    pthread_create(&v.thread, NULL, visit, &v);
    assert_int_equal(0, fixture_restart(&fx)); /* in 1 s, when it is loaded */
    pthread_join(v.thread, NULL);

    assert_string_equal("ILK_ESERVERLOADING", ilk_status_name(v.probed));
    assert_non_null(strstr(v.err.msg, "LOADING"));
    assert_string_equal("ILK_OK", ilk_status_name(v.released));
    assert_took(ILK_OK, &t);
    assert_status(ILK_OK, ilk_lock_release(waits, &err));
    fixture_command(&fx, "FLUSHALL");
    ilk_lock_free(v.held);
    ilk_lock_free(waits);
    ilk_lock_free(v.new);
    ilk_client_free(client);
}

/* ---- cannot ------------------------------------------------------------- */

TEST(server_out_of_memory_takes_releases)
{
    ilk_client *client = open_client();
    ilk_lock *a = open_lock(client, "full"), *b = open_lock(client, "full");
    ilk_lock *c = open_lock(client, "empty");
    ilk_error err = {0};
    taker t;

    assert_status(ILK_OK, ilk_lock_acquire(a, 0, &err));
    start_taker(&t, b, -1);
    await_waiters("full", 1);
    fixture_command(&fx, "CONFIG SET maxmemory 1");
    assert_status(ILK_ESERVERMEMORY, ilk_lock_acquire(c, 0, &err));
    assert_status(ILK_ESERVERMEMORY, ilk_lock_acquire(c, 1000, &err));
    assert_non_null(strstr(err.msg, "OOM"));
    assert_status(ILK_OK, ilk_lock_extend(a, 0, &err));
    assert_status(ILK_OK, ilk_lock_release(a, &err));
    /* A server may refuse the hand-over, then that waits for memory. */
    assert_string_not_equal(ilk_lock_token(a),
                            fixture_command(&fx, "GET full"));
    fixture_command(&fx, "CONFIG SET maxmemory 0");
    assert_took(ILK_OK, &t);
    ilk_lock_free(a);
    ilk_lock_free(b);
    ilk_lock_free(c);
    ilk_client_free(client);
}

static void assert_read_only(const char *stale)
{
    ilk_client *client = open_client();
    ilk_lock *held = open_lock_with(client, "ro", 1500, 0);
    ilk_lock *waits = open_lock(client, "ro"), *other = open_lock(client, "x");
    ilk_notification notification = {.size = sizeof notification};
    ilk_error err = {0};
    struct pollfd news = {.events = POLLIN};
    taker t;

    fixture_command(&fx, "FLUSHALL");
    assert_status(ILK_OK, ilk_client_notification_fd(client, &news.fd, &err));
    assert_status(ILK_OK, ilk_lock_acquire(held, 0, &err));
    start_taker(&t, waits, -1);
    await_waiters("ro", 1);
    fixture_command(&fx, "CONFIG SET replica-serve-stale-data %s", stale);
    fixture_command(&fx, "REPLICAOF 127.0.0.1 1");
    assert_status(ILK_ESERVERREADONLY, ilk_lock_acquire(other, 0, &err));
    assert_status(ILK_ESERVERREADONLY, ilk_lock_acquire(other, 1000, &err));
    assert_took(ILK_ESERVERREADONLY, &t);
    assert_true(took_ms(&t) < 4000);
    for (int i = 0; i < 5000 && ilk_lock_held(held); i++)
        fixture_sleep_ms(1);
    assert_int_equal(1, poll(&news, 1, (int)patience(1000)));
    assert_status(ILK_OK,
                  ilk_client_next_notification(client, &notification, &err));
    assert_int_equal(ILK_EUNKNOWN, notification.status);
    fixture_command(&fx, "REPLICAOF NO ONE");
    fixture_command(&fx, "CONFIG SET replica-serve-stale-data yes");
    assert_status(ILK_OK, ilk_lock_acquire(other, 0, &err));
    ilk_lock_free(held);
    ilk_lock_free(waits);
    ilk_lock_free(other);
    ilk_client_free(client);
}

TEST(read_only_replica)
{
    assert_read_only("yes");
    assert_read_only("no");
}

TEST(server_that_takes_no_more_connections)
{
    ilk_client *client = open_client(), *late = NULL;
    ilk_lock *a = open_lock(client, "max"), *b = open_lock(client, "max");
    ilk_error err = {0};
    int64_t began;

    assert_status(ILK_OK,
                  ilk_lock_acquire_ttl(a, 0, 60000, &err)); /* and a keeper's */
    fixture_command(&fx, "CONFIG SET maxclients 2");
    assert_status(ILK_ECONN, ilk_client_open(&late, fx.unix_url, NULL, &err));
    assert_non_null(strstr(err.msg, "max number of clients"));
    began = fixture_now_ms();
    assert_status(ILK_ECONN, ilk_lock_acquire(b, 300, &err)); /* no inbox */
    assert_on_time(fixture_now_ms() - began, 300);
    fixture_command(&fx, "CONFIG SET maxclients 1000");
    assert_status(ILK_OK, ilk_lock_release(a, &err));
    assert_status(ILK_OK, ilk_lock_acquire(b, patience(5000), &err));
    ilk_lock_free(a);
    ilk_lock_free(b);
    ilk_client_free(client);
}

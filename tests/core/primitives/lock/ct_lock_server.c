/* SPDX-License-Identifier: MIT */
/* ct_lock_server.c -- a server that is not there, hangs, freezes, dies and
 * comes back, or forgets. */
#include "lock_thread.h"
#include "peer.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

AROUND_ALL(server_setup, server_teardown);

/* With patience of so many ms for connecting and for replies. */
static ilk_client *open_lazy(const char *url, int64_t patience_ms)
{
    ilk_client *client = NULL;
    ilk_client_opts opts;
    ilk_error err = {0};

    ilk_client_opts_init(&opts, sizeof opts);
    opts.flags = ILK_CLIENT_LAZY;
    opts.connect_timeout_ms = opts.reply_timeout_ms = patience_ms;
    assert_status(ILK_OK, ilk_client_open(&client, url, &opts, &err));
    return client;
}

/* ---- not there ---------------------------------------------------------- */

static void assert_nobody_at(const char *url, const char *address)
{
    static const int64_t timeouts[] = {0, 500};
    ilk_client *client = NULL;
    ilk_error err = {0};
    ilk_lock *lock;
    int64_t began = fixture_now_ms();

    assert_status(ILK_ECONN, ilk_client_open(&client, url, NULL, &err));
    assert_on_time(fixture_now_ms() - began, 0);
    assert_non_null(strstr(err.msg, address));
    client = open_lazy(url, 2000);
    lock = open_lock(client, "nobody");
    for (int i = 0; i < 2; i++) {
        began = fixture_now_ms();
        assert_status(ILK_ECONN, ilk_lock_acquire(lock, timeouts[i], &err));
        assert_on_time(fixture_now_ms() - began, timeouts[i]);
        assert_non_null(strstr(err.msg, address));
    }
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(no_server_is_reported_in_time_with_its_address)
{
    char url[128], address[64];
    peer p;

    assert_int_equal(0, peer_open(&p));
    snprintf(address, sizeof address, "127.0.0.1:%d", p.port);
    snprintf(url, sizeof url, "redis://%s", address);
    peer_close(&p); /* nobody listens on this port any more */
    assert_nobody_at(url, address);
    assert_nobody_at("unix:///nowhere/ilk.socket", "/nowhere/ilk.socket");
}

TEST(server_that_hangs_after_accept_is_left_in_time)
{
    ilk_client *client;
    ilk_error err = {0};
    ilk_lock *lock;
    int64_t began;
    char url[64];
    peer p;

    assert_int_equal(0, peer_open(&p));
    snprintf(url, sizeof url, "redis://127.0.0.1:%d", p.port);
    client = open_lazy(url, 900);
    lock = open_lock(client, "hangs");
    began = fixture_now_ms();
    assert_true(ilk_lock_acquire(lock, 500, &err) < 0);
    assert_on_time(fixture_now_ms() - began, 500);
    began = fixture_now_ms();
    assert_status(ILK_ECONN, ilk_lock_acquire(lock, 0, &err));
    assert_on_time(fixture_now_ms() - began, 900);
    assert_non_null(strstr(err.msg, url + 8));
    ilk_lock_free(lock);
    ilk_client_free(client);
    peer_close(&p);
}

TEST(server_that_hangs_after_the_login_is_left_in_time)
{
    static const char *const says[] = {"%1\r\n+proto\r\n:3\r\n", NULL};
    ilk_client *client;
    ilk_error err = {0};
    ilk_lock *lock;
    int64_t began;
    char url[64];
    peer p;

    assert_int_equal(0, peer_open(&p));
    assert_int_equal(0, peer_serve(&p, says));
    snprintf(url, sizeof url, "redis://127.0.0.1:%d", p.port);
    client = open_lazy(url, 300);
    lock = open_lock(client, "mute");
    began = fixture_now_ms();
    assert_status(ILK_ECONN, ilk_lock_acquire(lock, 600, &err));
    assert_on_time(fixture_now_ms() - began, 600);
    began = fixture_now_ms();
    assert_status(ILK_ECONN, ilk_lock_acquire(lock, 0, &err));
    assert_in_range(fixture_now_ms() - began, 100,
                    500 + patience(200)); /* reply, connect */
    ilk_lock_free(lock);
    ilk_client_free(client);
    peer_close(&p);
}

/* ---- frozen ------------------------------------------------------------- */

TEST(frozen_server_costs_no_deadline_and_leaves_nothing)
{
    static const int64_t timeouts[] = {0, 500, 700};
    ilk_client *client = open_lazy(fx.unix_url, 600);
    ilk_lock *lock = open_lock(client, "ghost");
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_client_ping(client, -1, &err));
    for (int i = 0; i < 3; i++) {
        int64_t began, limit = timeouts[i];

        assert_int_equal(0, fixture_pause(&fx));
        began = fixture_now_ms();
        assert_true(ilk_lock_acquire(lock, limit, &err) < 0);
        if (limit) /* a try ends with the patience for replies */
            assert_on_time(fixture_now_ms() - began, limit);
        assert_true(fixture_now_ms() - began < patience(1500));
        assert_int_equal(0, ilk_lock_held(lock));
        assert_int_equal(0, fixture_resume(&fx));
        fixture_sleep_ms(50); /* what was sent is granted, and taken back */
        assert_int_equal(0, fixture_await(&fx, "0", 2000, "EXISTS ghost"));
        assert_int_equal(0, fixture_int(&fx, "EXISTS ilk:lock:wait:{ghost}"));
        assert_status(ILK_OK, ilk_lock_acquire(lock, patience(5000), &err));
        assert_status(ILK_OK, ilk_lock_release(lock, &err));
    }
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(wait_on_a_frozen_server_ends_in_time_and_leaves_the_queue)
{
    ilk_client *client = open_lazy(fx.unix_url, 300);
    ilk_lock *a = open_lock(client, "ice"), *b = open_lock(client, "ice");
    ilk_error err = {0};
    taker t;

    assert_status(ILK_OK, ilk_lock_acquire(a, 0, &err));
    start_taker(&t, b, 3500);
    await_waiters("ice", 1);
    assert_int_equal(0, fixture_pause(&fx));
    assert_took(ILK_ECONN, &t);
    assert_on_time(took_ms(&t), 3500);
    assert_int_equal(0, fixture_resume(&fx));
    await_waiters("ice", 0);
    assert_status(ILK_OK, ilk_lock_release(a, &err));
    ilk_lock_free(a);
    ilk_lock_free(b);
    ilk_client_free(client);
}

TEST(holder_on_a_frozen_server_knows_when_it_ends)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock_with(client, "cold", 1500, 0);
    ilk_notification notification = {.size = sizeof notification};
    ilk_error err = {0};
    struct pollfd news = {.events = POLLIN};
    int64_t left;

    assert_status(ILK_OK, ilk_client_notification_fd(client, &news.fd, &err));
    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    fixture_sleep_ms(700);
    assert_int_equal(0, fixture_pause(&fx));
    left = ilk_lock_remaining_ms(lock);
    fixture_sleep_ms((int)left + 20);
    assert_int_equal(0, ilk_lock_held(lock));
    assert_int_equal(1, poll(&news, 1, (int)patience(1000)));
    assert_status(ILK_OK,
                  ilk_client_next_notification(client, &notification, &err));
    assert_int_equal(ILK_EUNKNOWN, notification.status);
    assert_int_equal(0, fixture_resume(&fx));
    assert_status(ILK_ELOST, ilk_lock_release(lock, &err));
    assert_int_equal(0, fixture_await(&fx, "0", 1000, "EXISTS cold"));
    ilk_lock_free(lock);
    ilk_client_free(client);
}

/* ---- dies, forgets ------------------------------------------------------ */

enum { CROWD = 6 };

typedef struct crowd {
    ilk_client *clients[2];
    ilk_lock *holder, *locks[CROWD];
    taker takers[CROWD];
} crowd;

/* One holds, the others wait, of two clients in turn. */
static void gather(crowd *c, const char *name)
{
    ilk_error err = {0};

    for (int i = 0; i < 2; i++)
        c->clients[i] = open_client();
    c->holder = open_lock(c->clients[0], name);
    assert_status(ILK_OK, ilk_lock_acquire(c->holder, 0, &err));
    for (int i = 0; i < CROWD; i++) {
        c->locks[i] = open_lock(c->clients[i % 2], name);
        start_taker(&c->takers[i], c->locks[i], -1);
        await_waiters(name, i + 1);
    }
}

/* Each is served, one at a time, and lets the next in. */
static void serve_all(crowd *c)
{
    int64_t deadline = fixture_now_ms() + 15000, fence = 0;
    ilk_error err = {0};

    for (int served = 0; served < CROWD;) {
        assert_true(fixture_now_ms() < deadline);
        fixture_sleep_ms(1);
        for (int i = 0; i < CROWD; i++) {
            if (!c->takers[i].lock || !atomic_load(&c->takers[i].done))
                continue;
            assert_took(ILK_OK, &c->takers[i]);
            assert_true(ilk_lock_fence(c->locks[i]) > fence);
            fence = ilk_lock_fence(c->locks[i]);
            assert_status(ILK_OK, ilk_lock_release(c->locks[i], &err));
            c->takers[i].lock = NULL;
            served++;
        }
    }
}

static void disperse(crowd *c)
{
    for (int i = 0; i < CROWD; i++)
        ilk_lock_free(c->locks[i]);
    ilk_lock_free(c->holder);
    for (int i = 0; i < 2; i++)
        ilk_client_free(c->clients[i]);
}

TEST(waiters_outlast_a_server_that_is_killed_and_restarted)
{
    ilk_error err = {0};
    crowd c;

    gather(&c, "killed");
    assert_int_equal(0, fixture_kill(&fx));
    assert_int_equal(0, fixture_restart(&fx));
    serve_all(&c); /* the order died with the server */
    assert_status(ILK_ELOST, ilk_lock_release(c.holder, &err));
    disperse(&c);
}

static void *detach(void *context)
{
    ilk_error err = {0};

    return (void *)(intptr_t)ilk_lock_detach(context, &err);
}

/* A detach waits for the renewal in flight, which the close leaves without an end. */
TEST(a_detach_on_a_frozen_server_ends_with_its_client)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock_with(client, "detach", 6000, 0);
    ilk_error err = {0};
    pthread_t thread;
    void *status;

    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    assert_int_equal(0, fixture_pause(&fx));
    fixture_sleep_ms(2300); /* the renewal is due after 2000 */
    assert_int_equal(0, pthread_create(&thread, NULL, detach, lock));
    fixture_sleep_ms(200);
    assert_status(ILK_OK, ilk_client_close(client, &err));
    assert_int_equal(0, pthread_join(thread, &status));
    assert_int_equal(ILK_ECLOSED, (ilk_status)(intptr_t)status);
    assert_int_equal(0, fixture_resume(&fx));
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(waiters_outlast_a_flush)
{
    ilk_error err = {0};
    crowd c;

    gather(&c, "flushed");
    fixture_command(&fx, "FLUSHALL");
    serve_all(&c);
    assert_status(ILK_ELOST, ilk_lock_release(c.holder, &err));
    disperse(&c);
}

TEST(waiters_outlast_the_loss_of_the_waiting_list)
{
    ilk_error err = {0};
    crowd c;

    gather(&c, "list");
    fixture_command(&fx, "DEL ilk:lock:wait:{list} ilk:lock:live:{list}");
    await_waiters("list", CROWD); /* they are back by themselves */
    assert_status(ILK_OK, ilk_lock_release(c.holder, &err));
    serve_all(&c);
    disperse(&c);
}

static void assert_outlast_loss_of(const char *type)
{
    ilk_error err = {0};
    crowd c;

    gather(&c, type);
    fixture_command(&fx, "CLIENT KILL SKIPME yes TYPE %s", type);
    assert_status(ILK_OK, ilk_lock_release(c.holder, &err));
    serve_all(&c);
    disperse(&c);
}

TEST(waiters_outlast_the_loss_of_their_connections)
{
    /* the inbox, then the others */
    assert_outlast_loss_of("pubsub");
    assert_outlast_loss_of("normal");
}

/* Its last words on a connection that is dead already go another way. */
TEST(wait_that_ends_on_a_dead_connection_leaves_the_queue)
{
    ilk_client *client = open_client(), *other = open_client();
    ilk_lock *a = open_lock(other, "w"), *b = open_lock(client, "w");
    ilk_lock *stays = open_lock(client, "w");
    ilk_error err = {0};
    taker t, u;

    assert_status(ILK_OK, ilk_lock_acquire(a, 0, &err));
    start_taker(&t, b, 3500);
    start_taker(&u, stays, -1); /* keeps the client alive in the wait queue */
    await_waiters("w", 2);
    fixture_command(&fx, "CLIENT KILL TYPE normal SKIPME yes");
    assert_took(ILK_ETIMEOUT, &t);
    await_waiters("w", 1);
    assert_true(fixture_now_ms() - t.ended_at < patience(1000));
    assert_status(ILK_OK, ilk_lock_release(a, &err));
    assert_took(ILK_OK, &u);
    ilk_lock_free(a);
    ilk_lock_free(b);
    ilk_lock_free(stays);
    ilk_client_free(client);
    ilk_client_free(other);
}

TEST(many_that_end_on_a_dead_connection_are_given_back)
{
    const void *names[] = {"many:a", "many:b"};
    const size_t lens[] = {6, 6};
    ilk_client *client = open_client(), *other = open_client();
    ilk_lock *b = open_lock(other, "many:b");
    ilk_lock_many *many = NULL;
    ilk_error err = {0};
    many_taker t;

    assert_status(
        ILK_OK, ilk_lock_many_open(&many, client, names, lens, 2, NULL, &err));
    assert_status(ILK_OK, ilk_lock_acquire(b, 0, &err));
    start_many_taker(&t, many, 2500);
    await_waiters("many:b", 1);
    assert_int_equal(1, fixture_int(&fx, "EXISTS many:a"));
    fixture_command(&fx, "CLIENT KILL TYPE normal SKIPME yes");
    assert_took_many(ILK_ETIMEOUT, &t);
    assert_int_equal(0, fixture_await(&fx, "0", 1000, "EXISTS many:a"));
    assert_status(ILK_OK, ilk_lock_release(b, &err));
    ilk_lock_free(b);
    ilk_lock_many_free(many);
    ilk_client_free(client);
    ilk_client_free(other);
}

/* SPDX-License-Identifier: MIT */
/*
 * ct_zookeeper.c -- what is special about locks and elections in ZooKeeper: nodes and
 * their order, the session and its end, requests without an answer.
 */
#include "lock_thread.h"
#include "started.h"
#include "zookeeper_server.h"

#include <zookeeper/zookeeper.h>

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static zookeeper_server zk;
static ilk_error err;

static int start_server(void)
{
    int st;

    setenv("INTERLOCK_BACKENDS", ILK_TEST_OBJECTS, 1);
    st = zookeeper_server_start(&zk);
    if (st == ZOOKEEPER_SERVER_SKIP) {
        fprintf(stderr, "SKIPPED, ALL OF IT: ct_zookeeper needs java and "
                        "ZooKeeper's jar (Debian: zookeeper)\n");
        exit(77);
    }
    return st;
}

static int stop_server(void)
{
    zookeeper_server_stop(&zk);
    return 0;
}

AROUND_ALL(start_server, stop_server);

static ilk_client *open_zk(void)
{
    char url[96];

    snprintf(url, sizeof url, "zookeeper://127.0.0.1:%d/test/ilk", zk.port);
    return open_client_at(url);
}

static ilk_client *open_with(int port, const char *option, int64_t value)
{
    char url[160];

    snprintf(url, sizeof url, "zookeeper://127.0.0.1:%d/test/ilk?%s=%lld", port,
             option, (long long)value);
    return open_client_at(url);
}

/* Over a proxy, with a short session. */
static ilk_client *open_over(const zookeeper_proxy *proxy, int session_ms)
{
    return open_with(zookeeper_proxy_port(proxy), "session_timeout_ms",
                     session_ms);
}

static const char *path_of(const char *name)
{
    static char path[128];

    snprintf(path, sizeof path, "/test/ilk/%s", name);
    return path;
}

static void take(ilk_lock *lock, int64_t timeout_ms)
{
    assert_status(ILK_OK, ilk_lock_acquire(lock, timeout_ms, &err));
}

static void give(ilk_lock *lock)
{
    assert_status(ILK_OK, ilk_lock_release(lock, &err));
}

/* The first wait of a client begins with a try, whose node is there for a moment. */
static void await_nodes(const char *name, int count)
{
    assert_int_equal(0, zookeeper_await(&zk, path_of(name), count));
    usleep(100000);
    assert_int_equal(0, zookeeper_await(&zk, path_of(name), count));
}

static void delete_first(const char *name)
{
    char node[256], path[400];

    assert_true(zookeeper_children(&zk, path_of(name), node) > 0);
    snprintf(path, sizeof path, "%s/%s", path_of(name), node);
    assert_int_equal(ZOK, zookeeper_delete(&zk, path));
}

static void await_loss(ilk_lock *lock, int64_t most_ms)
{
    const int64_t until = fixture_now_ms() + most_ms;
    ilk_status st;

    do {
        usleep(50000);
        st = ilk_lock_check(lock, &err);
    } while (st == ILK_OK && fixture_now_ms() < until);
    assert_status(ILK_ELOST, st);
}

/* ---- holding ------------------------------------------------------------- */

TEST(two_clients_exclude_each_other)
{
    ilk_client *a = open_zk(), *b = open_zk();
    ilk_lock *one = open_lock(a, "orders"), *two = open_lock(b, "orders");
    char node[256];
    int64_t fence;

    take(one, 0);
    fence = ilk_lock_fence(one);
    assert_int_equal(1, zookeeper_children(&zk, path_of("orders"), node));
    assert_int_equal(0, strncmp(node, "_c_", 3));
    assert_non_null(strstr(node, "-lock-0000000000"));
    assert_status(ILK_EBUSY, ilk_lock_acquire(two, 0, &err));
    assert_int_equal(1, zookeeper_children(&zk, path_of("orders"), NULL));
    assert_status(ILK_OK, ilk_lock_check(one, &err));
    assert_status(ILK_OK, ilk_lock_extend(one, 60000, &err));
    give(one);
    assert_int_equal(0, zookeeper_children(&zk, path_of("orders"), NULL));
    take(two, 0);
    assert_true(ilk_lock_fence(two) > fence);
    give(two);
    ilk_lock_free(one);
    ilk_lock_free(two);
    ilk_client_free(a);
    ilk_client_free(b);
}

TEST(names_have_any_bytes)
{
    static const char *const names[] = {
        ".", "..", "a/b", "a%2Fb", "a", "zookeeper", "\xff\xfe\x01", " x "};
    static const char zeros[] = "a\0/";
    enum { COUNT = sizeof names / sizeof *names };
    ilk_client *a = open_zk(), *b = open_zk();
    ilk_lock *locks[COUNT], *zero = NULL, *other;

    for (int i = 0; i < COUNT; i++) {
        locks[i] = open_lock(a, names[i]);
        take(locks[i], 0);
    }
    assert_status(ILK_OK,
                  ilk_lock_open(&zero, a, zeros, sizeof zeros, NULL, &err));
    take(zero, 0);
    for (int i = 0; i < COUNT; i++) {
        other = open_lock(b, names[i]);
        assert_status(ILK_EBUSY, ilk_lock_acquire(other, 0, &err));
        give(locks[i]);
        take(other, 0);
        give(other);
        ilk_lock_free(other);
        ilk_lock_free(locks[i]);
    }
    give(zero);
    ilk_lock_free(zero);
    ilk_client_free(a);
    ilk_client_free(b);
}

TEST(a_hold_outlasts_its_session_timeout)
{
    ilk_client *a = open_with(zk.port, "session_timeout_ms", 1500);
    ilk_lock *one = open_lock_with(a, "long", 60000, 0);
    int64_t until = fixture_now_ms() + 5000;

    take(one, 0);
    while (fixture_now_ms() < until) {
        usleep(100000);
        assert_true(ilk_lock_remaining_ms(one) > 0);
    }
    assert_status(ILK_OK, ilk_lock_check(one, &err));
    give(one);
    ilk_lock_free(one);
    ilk_client_free(a);
}

TEST(a_lease_that_ends_frees_the_node)
{
    ilk_client *a = open_zk(), *b = open_zk();
    ilk_lock *one = open_lock_with(a, "lease", 400, ILK_LOCK_NO_RENEW),
             *two = open_lock(b, "lease");
    int64_t began = fixture_now_ms(), took;

    take(one, 0);
    take(two, patience(10000));
    took = fixture_now_ms() - began;
    assert_in_range(took, 380, 400 + patience(500));
    assert_status(ILK_ELOST, ilk_lock_release(one, &err));
    give(two);
    ilk_lock_free(one);
    ilk_lock_free(two);
    ilk_client_free(a);
    ilk_client_free(b);
}

static ilk_member *open_member(ilk_client *client, const char *name,
                               int64_t ttl_ms)
{
    ilk_member_opts opts;
    ilk_member *member;
    ilk_group *group;

    ilk_member_opts_init(&opts, sizeof opts);
    opts.ttl_ms = ttl_ms;
    assert_status(ILK_OK,
                  ilk_group_open(&group, client, name, strlen(name), &err));
    assert_status(ILK_OK,
                  ilk_member_open(&member, group, "me", 2, &opts, &err));
    ilk_group_free(group);
    return member;
}

/* A handle that is freed leaves nobody to renew, and the session goes on. */
TEST(a_member_that_is_not_renewed_is_removed_by_its_client)
{
    ilk_client *a = open_zk();
    ilk_member *left = open_member(a, "lapse", 400),
               *stays = open_member(a, "stay", 400);
    int64_t began;

    assert_status(ILK_OK, ilk_member_join(stays, "", 0, &err));
    began = fixture_now_ms();
    assert_status(ILK_OK, ilk_member_join(left, "", 0, &err));
    ilk_member_free(left);
    assert_int_equal(
        1, zookeeper_children(&zk, path_of("ilk:group:{lapse}"), NULL));
    assert_int_equal(0, zookeeper_await(&zk, path_of("ilk:group:{lapse}"), 0));
    assert_in_range(fixture_now_ms() - began, 380, 400 + patience(500));
    usleep(1000000);
    assert_status(ILK_OK, ilk_member_check(stays, &err));
    assert_int_equal(
        1, zookeeper_children(&zk, path_of("ilk:group:{stay}"), NULL));
    assert_status(ILK_OK, ilk_member_leave(stays, &err));
    ilk_member_free(stays);
    ilk_client_free(a);
}

/* ---- order --------------------------------------------------------------- */

enum { WAITERS = 5 };

TEST(clients_are_served_in_their_order)
{
    ilk_client *holder = open_zk(), *clients[WAITERS];
    ilk_lock *held = open_lock(holder, "order"), *locks[WAITERS];
    taker takers[WAITERS];

    take(held, 0);
    for (int i = 0; i < WAITERS; i++) {
        clients[i] = open_zk();
        locks[i] = open_lock(clients[i], "order");
        start_taker(&takers[i], locks[i], patience(30000));
        await_nodes("order", i + 2);
    }
    give(held);
    for (int i = 0; i < WAITERS; i++) {
        assert_took(ILK_OK, &takers[i]);
        for (int k = i + 1; k < WAITERS; k++)
            assert_false(takers[k].done);
        give(locks[i]);
    }
    for (int i = 0; i < WAITERS; i++) {
        ilk_lock_free(locks[i]);
        ilk_client_free(clients[i]);
    }
    ilk_lock_free(held);
    ilk_client_free(holder);
}

TEST(a_waiter_that_goes_wakes_nobody)
{
    ilk_client *a = open_zk(), *b = open_zk(), *c = open_zk();
    ilk_lock *one = open_lock(a, "middle"), *two = open_lock(b, "middle"),
             *three = open_lock(c, "middle");
    taker second, third;

    take(one, 0);
    start_taker(&second, two, patience(800));
    await_nodes("middle", 2);
    start_taker(&third, three, patience(30000));
    await_nodes("middle", 3);
    assert_took(ILK_ETIMEOUT, &second);
    await_nodes("middle", 2);
    usleep(200000);
    assert_false(third.done);
    give(one);
    assert_took(ILK_OK, &third);
    give(three);
    ilk_lock_free(one);
    ilk_lock_free(two);
    ilk_lock_free(three);
    ilk_client_free(a);
    ilk_client_free(b);
    ilk_client_free(c);
}

TEST(others_with_their_layouts_exclude_us)
{
    static const char *const nodes[] = {"_c_0-lock-0000000000",
                                        "abc__lock__0000000000",
                                        "_c_0-__WRIT__0000000000"};
    ilk_client *a = open_zk();
    ilk_lock *one = open_lock(a, "peers");
    char path[300];
    taker waiter;

    take(one, 0);
    give(one);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", path_of("peers"), nodes[i]);
        assert_int_equal(ZOK, zookeeper_create(&zk, path, "", ZOO_PERSISTENT));
        assert_status(ILK_EBUSY, ilk_lock_acquire(one, 0, &err));
        start_taker(&waiter, one, patience(30000));
        await_nodes("peers", 2);
        assert_int_equal(ZOK, zookeeper_delete(&zk, path));
        assert_took(ILK_OK, &waiter);
        give(one);
    }
    ilk_lock_free(one);
    ilk_client_free(a);
}

enum { MANY = 1000 }; /* hand-overs: delete, list, watch */

static int await_any(ilk_client *client, ilk_op *const *ops, int count)
{
    int64_t until = fixture_now_ms() + patience(10000);

    while (fixture_now_ms() < until) {
        for (int i = 0; i < count; i++) {
            ilk_status st = ops[i] ? ilk_op_status(ops[i], &err) : ILK_EAGAIN;

            if (st != ILK_EAGAIN) {
                assert_status(ILK_OK, st);
                return i;
            }
        }
        (void)turn(client, 100);
    }
    fail_msg("none of the waits has ended");
    return -1;
}

TEST(a_thousand_waits_share_one_connection)
{
    ilk_client *holder = open_zk(), *client = open_zk();
    ilk_lock *held = open_lock(holder, "many"), **locks;
    int64_t began, until;
    ilk_op **ops;
    long requests;

    locks = calloc(MANY, sizeof *locks);
    ops = calloc(MANY, sizeof(ilk_op *));
    take(held, 0);
    for (int i = 0; i < MANY; i++) {
        locks[i] = open_lock(client, "many");
        assert_status(ILK_OK,
                      ilk_lock_acquire_start(&ops[i], locks[i], -1, 0, &err));
    }
    until = fixture_now_ms() + patience(60000);
    while (zookeeper_children(&zk, path_of("many"), NULL) != MANY + 1
           && fixture_now_ms() < until)
        turn_for(client, 100);
    assert_int_equal(MANY + 1, zookeeper_children(&zk, path_of("many"), NULL));
    requests = zookeeper_requests(&zk);
    began = fixture_now_ms();
    give(held);
    for (int served = 0; served < MANY; served++) {
        int next = await_any(client, ops, MANY);

        ilk_op_free(ops[next]);
        ops[next] = NULL;
        give(locks[next]);
    }
    requests = zookeeper_requests(&zk) - requests;
    print_message("%d hand-overs in %lld ms with %ld requests\n", MANY,
                  (long long)(fixture_now_ms() - began), requests);
    assert_in_range(requests, 3 * MANY, 4 * MANY);
    for (int i = 0; i < MANY; i++)
        ilk_lock_free(locks[i]);
    free(ops);
    free(locks);
    ilk_lock_free(held);
    ilk_client_free(client);
    ilk_client_free(holder);
}

/* ---- losses -------------------------------------------------------------- */

TEST(a_deleted_node_is_a_lost_hold)
{
    ilk_client *a = open_zk(), *b = open_zk();
    ilk_lock *one = open_lock_with(a, "deleted", 3000, 0),
             *two = open_lock(b, "deleted");
    taker waiter;

    take(one, 0);
    start_taker(&waiter, two, patience(30000));
    await_nodes("deleted", 2);
    delete_first("deleted");
    assert_took(ILK_OK, &waiter);
    await_loss(one, patience(3000));
    give(two);
    ilk_lock_free(one);
    ilk_lock_free(two);
    ilk_client_free(a);
    ilk_client_free(b);
}

TEST(an_expired_session_loses_holds_and_waits_go_on)
{
    zookeeper_proxy *proxy = zookeeper_proxy_open(&zk);
    ilk_client *a = open_over(proxy, 1500), *b = open_zk();
    ilk_lock *held = open_lock_with(a, "expired", 60000, 0),
             *waits = open_lock(a, "expired2"),
             *other = open_lock(b, "expired2"), *next = open_lock(b, "expired");
    taker waiter;

    take(held, 0);
    take(other, 0);
    start_taker(&waiter, waits, patience(60000));
    await_nodes("expired2", 2);
    zookeeper_proxy_block(proxy, 1);
    take(next, patience(20000)); /* by the end of the session */
    await_nodes("expired2", 1);
    assert_true(ilk_lock_remaining_ms(held) <= 0);
    zookeeper_proxy_block(proxy, 0);
    await_nodes("expired2", 2); /* it waits again */
    assert_status(ILK_ELOST, ilk_lock_check(held, &err));
    assert_false(waiter.done);
    give(other);
    assert_took(ILK_OK, &waiter);
    give(waits);
    give(next);
    ilk_lock_free(held);
    ilk_lock_free(waits);
    ilk_lock_free(other);
    ilk_lock_free(next);
    ilk_client_free(a);
    ilk_client_free(b);
    zookeeper_proxy_close(proxy);
}

TEST(holds_and_waits_outlive_a_restart)
{
    ilk_client *a = open_zk(), *b = open_zk();
    ilk_lock *one = open_lock_with(a, "restart", 30000, 0),
             *two = open_lock(b, "restart");
    taker waiter;

    take(one, 0);
    start_taker(&waiter, two, patience(60000));
    await_nodes("restart", 2);
    zookeeper_server_kill(&zk);
    assert_int_equal(0, zookeeper_server_restart(&zk));
    assert_false(waiter.done);
    assert_status(ILK_OK, ilk_lock_extend(one, 30000, &err));
    give(one);
    assert_took(ILK_OK, &waiter);
    give(two);
    ilk_lock_free(one);
    ilk_lock_free(two);
    ilk_client_free(a);
    ilk_client_free(b);
}

TEST(a_dead_server_is_an_error_in_time)
{
    ilk_client *a = open_with(zk.port, "reply_timeout_ms", 3000);
    ilk_lock *one = open_lock(a, "dead");
    int64_t took;
    int status;
    ilk_status st;

    take(one, 0);
    give(one);
    kill(zk.pid, SIGSTOP);
    waitpid(zk.pid, &status, WUNTRACED); /* until all of its threads stand */
    took = fixture_now_ms();
    st = ilk_lock_acquire(one, 0, &err);
    took = fixture_now_ms() - took;
    kill(zk.pid, SIGCONT); /* the next tests need it, whatever came out */
    assert_status(ILK_ECONN, st);
    assert_true(took < patience(8000));
    take(one, patience(20000));
    give(one);
    await_nodes("dead", 0);
    ilk_lock_free(one);
    ilk_client_free(a);
}

static int port_of(int fd, int (*name)(int, struct sockaddr *, socklen_t *))
{
    struct sockaddr_in at = {0};
    socklen_t len = sizeof at;

    return name(fd, (struct sockaddr *)&at, &len) || at.sin_family != AF_INET
               ? 0
               : ntohs(at.sin_port);
}

static int find_connection(int port)
{
    for (int fd = 3; fd < 1024; fd++)
        if (port_of(fd, getpeername) == port)
            return fd;
    fail_msg("there is no connection to port %d", port);
    return -1;
}

/* The program closes all descriptors, and opens a file of its own. */
TEST(a_descriptor_of_the_program_is_left_alone)
{
    zookeeper_proxy *proxy = zookeeper_proxy_open(&zk);
    ilk_client *a = open_over(proxy, 10000);
    ilk_lock *held = open_lock_with(a, "taken", 60000, 0),
             *next = open_lock(a, "taken2");
    int pair[2], fd;
    char byte;

    take(held, 0);
    assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    fd = find_connection(zookeeper_proxy_port(proxy));
    assert_int_equal(fd, dup2(pair[0], fd));
    close(pair[0]);
    take(next, patience(10000));
    give(next);
    assert_status(ILK_OK, ilk_lock_check(held, &err)); /* the same session */
    give(held);
    assert_int_equal(-1, recv(pair[1], &byte, 1, MSG_DONTWAIT));
    assert_int_equal(EAGAIN, errno);
    ilk_lock_free(held);
    ilk_lock_free(next);
    ilk_client_free(a);
    assert_int_equal(0, close(fd));
    close(pair[1]);
    zookeeper_proxy_close(proxy);
}

enum { BURST = 60, PIECE = 100 };

/* The last answer comes later than a silent server is given up, the others before. */
TEST(answers_that_stream_in_are_no_silence)
{
    const int64_t reply_ms = patience(4000);
    zookeeper_proxy *proxy = zookeeper_proxy_open(&zk);
    ilk_client *a =
        open_with(zookeeper_proxy_port(proxy), "reply_timeout_ms", reply_ms);
    ilk_lock *locks[BURST];
    ilk_op *ops[BURST];
    char name[32];
    int accepted;

    for (int i = 0; i < BURST; i++) {
        snprintf(name, sizeof name, "stream%d", i);
        locks[i] = open_lock(a, name);
        take(locks[i], 0);
        give(locks[i]);
    }
    accepted = zookeeper_proxy_accepted(proxy);
    zookeeper_proxy_pace(proxy, PIECE, (int)(reply_ms / 160));
    for (int i = 0; i < BURST; i++)
        assert_status(ILK_OK,
                      ilk_lock_acquire_start(&ops[i], locks[i], 0, 0, &err));
    turn_for(a, reply_ms * 5 / 8);
    assert_status(ILK_EAGAIN, ilk_op_status(ops[BURST - 1], &err));
    assert_int_equal(accepted, zookeeper_proxy_accepted(proxy));
    zookeeper_proxy_pace(proxy, 0, 0);
    for (int i = 0; i < BURST; i++) {
        ilk_op_free(ops[i]);
        ilk_lock_free(locks[i]);
    }
    ilk_client_free(a);
    zookeeper_proxy_close(proxy);
}

/* ---- requests without an answer ------------------------------------------ */

TEST(a_create_whose_answer_is_lost_is_found)
{
    zookeeper_proxy *proxy = zookeeper_proxy_open(&zk);
    ilk_client *a = open_over(proxy, 10000);
    ilk_lock *one = open_lock(a, "found");

    take(one, 0);
    give(one);
    zookeeper_proxy_arm(proxy, "-lock-");
    take(one, patience(20000));
    assert_true(zookeeper_proxy_struck(proxy));
    assert_int_equal(1, zookeeper_children(&zk, path_of("found"), NULL));
    give(one);
    assert_int_equal(0, zookeeper_children(&zk, path_of("found"), NULL));
    /* The same for a try. */
    zookeeper_proxy_arm(proxy, "-lock-");
    take(one, 0);
    assert_true(zookeeper_proxy_struck(proxy));
    assert_int_equal(1, zookeeper_children(&zk, path_of("found"), NULL));
    give(one);
    ilk_lock_free(one);
    ilk_client_free(a);
    zookeeper_proxy_close(proxy);
}

TEST(a_release_whose_answer_is_lost_has_released)
{
    zookeeper_proxy *proxy = zookeeper_proxy_open(&zk);
    ilk_client *a = open_over(proxy, 10000);
    ilk_lock *one = open_lock(a, "unsaid");

    take(one, 0);
    zookeeper_proxy_arm(proxy, "-lock-");
    give(one);
    assert_true(zookeeper_proxy_struck(proxy));
    assert_int_equal(0, zookeeper_children(&zk, path_of("unsaid"), NULL));
    ilk_lock_free(one);
    ilk_client_free(a);
    zookeeper_proxy_close(proxy);
}

TEST(a_join_or_leave_whose_answer_is_lost_is_made_once)
{
    zookeeper_proxy *proxy = zookeeper_proxy_open(&zk);
    ilk_client *a = open_over(proxy, 10000);
    ilk_member *one = open_member(a, "found", 20000);
    const char *path = path_of("ilk:group:{found}");

    assert_status(ILK_OK, ilk_member_join(one, "x", 1, &err));
    assert_status(ILK_OK, ilk_member_leave(one, &err));
    zookeeper_proxy_arm(proxy, "ilk:group");
    assert_status(ILK_OK, ilk_member_join(one, "x", 1, &err));
    assert_true(zookeeper_proxy_struck(proxy));
    assert_int_equal(1, zookeeper_children(&zk, path, NULL));
    zookeeper_proxy_arm(proxy, "ilk:group");
    assert_status(ILK_OK, ilk_member_leave(one, &err));
    assert_true(zookeeper_proxy_struck(proxy));
    assert_int_equal(0, zookeeper_children(&zk, path, NULL));
    ilk_member_free(one);
    ilk_client_free(a);
    zookeeper_proxy_close(proxy);
}

/* ---- the other primitives ------------------------------------------------ */

TEST(readers_share_and_writers_wait)
{
    ilk_client *a = open_zk(), *b = open_zk();
    ilk_lock *one = NULL, *two = NULL, *writer = NULL;
    taker waiter;

    assert_status(ILK_OK, ilk_rwlock_read_open(&one, a, "rw", 2, NULL, &err));
    assert_status(ILK_OK, ilk_rwlock_read_open(&two, b, "rw", 2, NULL, &err));
    assert_status(ILK_OK,
                  ilk_rwlock_write_open(&writer, b, "rw", 2, NULL, &err));
    take(one, 0);
    take(two, 0);
    start_taker(&waiter, writer, patience(30000));
    await_nodes("rw", 3);
    give(one);
    assert_status(ILK_EBUSY, ilk_lock_acquire(one, 0, &err));
    assert_false(waiter.done);
    give(two);
    assert_took(ILK_OK, &waiter);
    give(writer);
    ilk_lock_free(one);
    ilk_lock_free(two);
    ilk_lock_free(writer);
    ilk_client_free(a);
    ilk_client_free(b);
}

static ilk_semaphore *open_permits(ilk_client *client, int32_t limit)
{
    ilk_semaphore *semaphore = NULL;

    assert_status(ILK_OK, ilk_semaphore_open(&semaphore, client, "sem", 3,
                                             limit, NULL, &err));
    return semaphore;
}

/* As await_nodes(), with an operation that only the turns of its client send. */
static void turn_until_nodes(ilk_client *client, const char *name, int count)
{
    const int64_t until = fixture_now_ms() + patience(30000);
    int seen = 0;

    while (seen < 2) {
        assert_true(fixture_now_ms() < until);
        turn_for(client, 100);
        seen = zookeeper_children(&zk, path_of(name), NULL) == count ? seen + 1
                                                                     : 0;
    }
}

TEST(permits_are_limited)
{
    ilk_client *a = open_zk(), *b = open_zk();
    ilk_semaphore *held[3], *other = open_permits(b, 3);
    ilk_op *op = NULL;

    for (int i = 0; i < 3; i++) {
        held[i] = open_permits(a, 3);
        assert_status(ILK_OK, ilk_semaphore_acquire(held[i], 0, &err));
    }
    assert_status(ILK_EBUSY, ilk_semaphore_acquire(other, 0, &err));
    assert_status(ILK_OK, ilk_semaphore_acquire_start(
                              &op, other, patience(30000), 0, &err));
    turn_until_nodes(b, "ilk:semaphore:{sem}", 4);
    assert_status(ILK_OK, ilk_semaphore_release(held[1], &err));
    assert_ends(ILK_OK, b, op);
    assert_status(ILK_OK, ilk_semaphore_release(other, &err));
    for (int i = 0; i < 3; i += 2)
        assert_status(ILK_OK, ilk_semaphore_release(held[i], &err));
    for (int i = 0; i < 3; i++)
        ilk_semaphore_free(held[i]);
    ilk_semaphore_free(other);
    ilk_client_free(a);
    ilk_client_free(b);
}

static ilk_election *open_candidate(ilk_client *client, const char *value)
{
    ilk_election_opts opts;
    ilk_election *one = NULL;

    ilk_election_opts_init(&opts, sizeof opts);
    opts.value = value;
    opts.value_len = strlen(value);
    assert_status(ILK_OK,
                  ilk_election_open(&one, client, "chief", 5, &opts, &err));
    return one;
}

static void assert_leads(ilk_observer *observer, const char *value)
{
    ilk_leader *leader = NULL;
    size_t len = 0;
    const char *text;

    assert_status(ILK_OK,
                  ilk_observer_next(&leader, observer, patience(5000), &err));
    text = ilk_leader_value(leader, &len);
    assert_int_equal(strlen(value), len);
    assert_memory_equal(value, text, len);
    ilk_leader_free(leader);
}

TEST(leaders_are_elected_and_observed)
{
    ilk_client *a = open_zk(), *b = open_zk(), *c = open_zk();
    ilk_election *one = open_candidate(a, "first"),
                 *two = open_candidate(b, "second"),
                 *watcher = open_candidate(c, "nobody");
    ilk_observer *observer = NULL;
    ilk_op *op = NULL;
    int64_t term;

    assert_status(ILK_OK, ilk_election_campaign(one, 0, &err));
    term = ilk_election_term(one);
    assert_status(ILK_OK, ilk_election_observe(&observer, watcher, 0, &err));
    assert_leads(observer, "first");
    assert_status(ILK_OK,
                  ilk_election_campaign_start(&op, two, patience(30000), &err));
    turn_until_nodes(b, "ilk:election:{chief}", 2);
    assert_status(ILK_OK, ilk_election_proclaim(one, "changed", 7, &err));
    assert_leads(observer, "changed");
    assert_status(ILK_OK, ilk_election_resign(one, &err));
    assert_ends(ILK_OK, b, op);
    assert_true(ilk_election_term(two) > term);
    assert_leads(observer, "second");
    assert_status(ILK_OK, ilk_election_resign(two, &err));
    ilk_observer_free(observer);
    ilk_election_free(one);
    ilk_election_free(two);
    ilk_election_free(watcher);
    ilk_client_free(a);
    ilk_client_free(b);
    ilk_client_free(c);
}

/* ---- URLs ---------------------------------------------------------------- */

static void assert_refused(ilk_status expected, const char *url,
                           const char *why)
{
    ilk_client *client = NULL;
    ilk_lock *lock = NULL;
    ilk_status st = ilk_client_open(&client, url, NULL, &err);

    if (st == ILK_OK) {
        lock = open_lock(client, "x");
        st = ilk_lock_acquire(lock, 0, &err);
    }
    assert_status(expected, st);
    if (!strstr(err.msg, why))
        fail_msg("\"%s\" lacks \"%s\"", err.msg, why);
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(urls_are_checked)
{
    assert_refused(ILK_EINVAL, "zookeeper://127.0.0.1/x?colour=red", "colour");
    assert_refused(ILK_EINVAL, "zookeeper://127.0.0.1/x//y", "empty");
    assert_refused(ILK_EINVAL, "zookeeper://127.0.0.1/../x", "..");
    assert_refused(ILK_EINVAL, "zookeeper://127.0.0.1/x?session_timeout_ms=1",
                   "session_timeout_ms");
    assert_refused(ILK_EINVAL, "zookeeper://127.0.0.1/x?ca=/x", "ca");
    assert_refused(ILK_ECONN, "zookeeper://127.0.0.1:1/x", "");
}

TEST(a_login_owns_its_path)
{
    char owner[128], other[128];
    ilk_client *a;
    ilk_lock *one;

    snprintf(owner, sizeof owner, "zookeeper://u:secret@127.0.0.1:%d/owned",
             zk.port);
    snprintf(other, sizeof other, "zookeeper://u:wrong@127.0.0.1:%d/owned",
             zk.port);
    a = open_client_at(owner);
    one = open_lock(a, "mine");
    take(one, 0);
    assert_refused(ILK_EAUTH, other, "ZooKeeper");
    assert_null(strstr(err.msg, "wrong"));
    give(one);
    ilk_lock_free(one);
    ilk_client_free(a);
}

/* ---- speed --------------------------------------------------------------- */

enum { PAIRS = 400, HAND_OVERS = 100 };

static int64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int by_size(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

typedef struct relay {
    ilk_lock *lock;
    int64_t got_at;
    ilk_status status;
} relay;

static void *wait_and_note(void *arg)
{
    relay *one = arg;

    one->status = ilk_lock_acquire(one->lock, patience(30000), NULL);
    one->got_at = now_us();
    return NULL;
}

TEST(hand_overs_need_no_polling)
{
    ilk_client *clients[2] = {open_zk(), open_zk()};
    ilk_lock *locks[2] = {open_lock(clients[0], "relay"),
                          open_lock(clients[1], "relay")};
    int64_t took[HAND_OVERS], began;
    pthread_t thread;
    relay next;

    take(locks[0], 0);
    for (int i = 0; i < HAND_OVERS; i++) {
        next = (relay){.lock = locks[(i + 1) % 2]};
        assert_int_equal(0,
                         pthread_create(&thread, NULL, wait_and_note, &next));
        await_nodes("relay", 2);
        began = now_us();
        give(locks[i % 2]);
        join_soon(thread, "the next holder");
        assert_int_equal(ILK_OK, next.status);
        took[i] = next.got_at - began;
    }
    qsort(took, HAND_OVERS, sizeof took[0], by_size);
    print_message("hand-over: median %lld us, 90 %% %lld us\n",
                  (long long)took[HAND_OVERS / 2],
                  (long long)took[HAND_OVERS * 9 / 10]);
    assert_true(took[HAND_OVERS / 2] < 1000 * patience(50));
    give(locks[HAND_OVERS % 2]);
    for (int i = 0; i < 2; i++) {
        ilk_lock_free(locks[i]);
        ilk_client_free(clients[i]);
    }
}

TEST(pairs_take_two_round_trips)
{
    ilk_client *a = open_zk();
    ilk_lock *lock = open_lock(a, "pairs");
    int64_t began;

    take(lock, 0);
    give(lock);
    began = now_us();
    for (int i = 0; i < PAIRS; i++) {
        take(lock, 0);
        give(lock);
    }
    began = now_us() - began;
    print_message("pairs/s: %.0f\n", PAIRS * 1e6 / (double)began);
    assert_true(began < 1000000LL * patience(20));
    ilk_lock_free(lock);
    ilk_client_free(a);
}

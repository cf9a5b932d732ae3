/* SPDX-License-Identifier: MIT */
/*
 * ct_started_waits.c -- every scenario of a started wait, with every wait that
 * can be started (started_wait.c). All rows are under way at the same time in
 * one event loop, so that a scenario takes as long as its slowest row. The client
 * `other` blocks and grants.
 */
#include "fork_case.h"
#include "started_rows.h"
#include "started_wait.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

AROUND_ALL(server_setup, server_teardown);
AROUND_EACH(rows_setup, rows_teardown);

enum { ROWS = 32, CROWD = 20, ROUNDS = 10, CONNECTING_TURNS = 8 };

/* One row being played. */
typedef struct played {
    const wait_row *row;
    char name[32];
    ilk_client *client;
    void *handle;
    void *theirs;
    ilk_op *op;
    ilk_op *next; /* of a second handle, in the wait queue behind op */
    void *next_handle;
} played;

static played all[ROWS];
static ilk_error err;

#define EACH(p)                                                                \
    played *p = all;                                                           \
    (size_t)(p - all) < wait_row_count && (row_name = p->row->name);           \
    p++

/* ---- one row ------------------------------------------------------------ */

static int is(const played *p, int trait)
{
    return (p->row->traits & trait) != 0;
}

static void await_waiting(const played *p, int n)
{
    char expected[16];

    snprintf(expected, sizeof expected, "%d", n);
    turn_until(p->client, expected, "%s", filled(p->row->waiting, p->name));
}

static void block(played *p)
{
    p->theirs = p->row->block(other, p->name);
}

static void open_one(played *p, ilk_client *of)
{
    p->client = of;
    p->handle = p->row->open(of, p->name);
}

static void start(played *p, int64_t timeout_ms)
{
    assert_status(ILK_OK, p->row->start(&p->op, p->handle, timeout_ms, &err));
    assert_non_null(p->op);
}

static void close_one(played *p)
{
    if (p->handle)
        p->row->free(p->handle);
    if (p->theirs)
        p->row->unblock(p->theirs);
    p->handle = p->theirs = NULL;
}

/* The wait ended without what it waited for: nothing is left of it, and what
 * others get is there. */
static void assert_nothing_left(played *p)
{
    await_waiting(p, 0);
    if (!p->row->spare)
        return;
    p->row->grant(p->theirs);
    turn_until(p->client, p->row->spare_answer, "%s",
               filled(p->row->spare, p->name));
}

/* A waiter gives back what it got, if that is to be given back. */
static void give_back(const played *p, void *handle)
{
    if (p->row->give_back)
        assert_status(ILK_OK, p->row->give_back(handle, &err));
}

/* It may have got what it waited for, or not: both are right. */
static void end_either_way(played *p)
{
    int got = await_op_end(p->client, p->op) == ILK_OK;

    if (got)
        give_back(p, p->handle);
    assert_ends(got ? ILK_OK : ILK_ECANCELLED, p->client, p->op);
}

/* ---- all rows ----------------------------------------------------------- */

static void prepare_all(void)
{
    assert_in_range(wait_row_count, 1, ROWS);
    for (size_t i = 0; i < wait_row_count; i++) {
        all[i] = (played){.row = &wait_rows[i]};
        snprintf(all[i].name, sizeof all[i].name, "n%zu", i);
    }
}

/* Blocked and open, and nothing is started. */
static void open_all(ilk_client *of)
{
    prepare_all();
    for (EACH(p)) {
        block(p);
        open_one(p, of);
    }
}

/* The server has answered all that was sent before, and nothing has ended. */
static void assert_all_under_way(ilk_client *of)
{
    ping_loop(of);
    for (EACH(p))
        assert_status(ILK_EAGAIN, ilk_op_status(p->op, &err));
}

/* Each is in its wait queue, and its client knows. */
static void start_all(ilk_client *of)
{
    for (EACH(p))
        start(p, -1);
    for (EACH(p))
        await_waiting(p, 1);
    assert_all_under_way(of);
}

static void wait_all(ilk_client *of)
{
    open_all(of);
    start_all(of);
}

static void close_all(void)
{
    for (EACH(p))
        close_one(p);
}

/* ---- to the end --------------------------------------------------------- */

TEST(a_wait_gets_what_it_waits_for)
{
    wait_all(client);
    assert_all_under_way(client);
    for (EACH(p)) {
        assert_true(ilk_op_id(p->op) > 0);
        assert_result(RESULT_NONE, p->op);
    }
    for (EACH(p))
        p->row->grant(p->theirs);

    for (EACH(p)) {
        assert_ended(ILK_OK, client, p->op);
        assert_result(p->row->result, p->op);
        assert_status(ILK_OK, ilk_op_status(p->op, &err));
        ilk_op_free(p->op);
        give_back(p, p->handle);
        await_waiting(p, 0);
    }
    close_all();
}

TEST(a_wait_ends_when_its_time_is_over)
{
    int64_t began = fixture_now_ms(), limit = patience(150);

    open_all(client);
    for (EACH(p))
        start(p, limit);

    for (EACH(p)) {
        assert_ended(ILK_ETIMEOUT, client, p->op);
        assert_result(RESULT_NONE, p->op);
        assert_true(fixture_now_ms() - began >= limit);
        ilk_op_free(p->op);
        assert_nothing_left(p);
    }
    close_all();
}

TEST(a_wait_without_time_tries_once)
{
    open_all(client);
    for (EACH(p))
        if (is(p, WAIT_REFUSES_TO_TRY)) {
            p->op = (ilk_op *)&err;
            assert_status(ILK_ETIMEOUT,
                          p->row->start(&p->op, p->handle, 0, &err));
            assert_null(p->op);
        } else {
            start(p, 0);
        }

    for (EACH(p)) {
        if (p->op)
            assert_ends(ILK_EBUSY, client, p->op);
        assert_nothing_left(p);
    }
    close_all();
}

TEST(two_waits_share_no_handle)
{
    wait_all(client);
    for (EACH(p)) {
        ilk_op *second = (ilk_op *)&err;

        if (is(p, WAIT_SHARES_HANDLE)) {
            assert_status(ILK_OK, p->row->start(&second, p->handle, -1, &err));
            ilk_op_free(second);
            continue;
        }
        assert_status(ILK_EHELD, p->row->start(&second, p->handle, -1, &err));
        assert_null(second);
    }
    assert_all_under_way(client);
    for (EACH(p))
        p->row->grant(p->theirs);

    for (EACH(p)) {
        assert_ends(ILK_OK, client, p->op);
        give_back(p, p->handle);
    }
    close_all();
}

/* An interrupt is for threads that block. */
TEST(an_interrupt_is_not_for_started_waits)
{
    wait_all(client);

    ilk_client_interrupt(client);

    assert_all_under_way(client);
    for (EACH(p)) {
        p->row->grant(p->theirs);
        assert_ends(ILK_OK, client, p->op);
    }
    close_all();
}

TEST(a_stop_ends_started_waits)
{
    wait_all(client);

    ilk_client_stop(client);

    for (EACH(p)) {
        assert_ended(ILK_ECANCELLED, client, p->op);
        assert_status(ILK_ECANCELLED, ilk_op_status(p->op, &err));
        assert_string_equal("the client is stopped", err.msg);
        ilk_op_free(p->op);
        assert_nothing_left(p);
    }
    close_all();
}

/* Not even those that would not have to wait. */
TEST(a_stopped_client_starts_no_wait)
{
    open_all(client);
    for (EACH(p))
        if (p->row->spare)
            p->row->grant(p->theirs);
    ilk_client_stop(client);
    for (EACH(p)) {
        start(p, -1);
        assert_ends(ILK_ECANCELLED, client, p->op);
    }
    for (EACH(p))
        await_waiting(p, 0);

    ilk_client_resume(client);
    for (EACH(p)) {
        start(p, -1);
        if (!p->row->spare) {
            await_waiting(p, 1);
            p->row->grant(p->theirs);
        }
        assert_ends(ILK_OK, client, p->op);
        give_back(p, p->handle);
    }
    close_all();
}

TEST(a_stopped_client_still_tries)
{
    open_all(client);
    ilk_client_stop(client);
    for (EACH(p))
        if (!is(p, WAIT_REFUSES_TO_TRY)) {
            start(p, 0);
            assert_ends(ILK_EBUSY, client, p->op);
        }
    for (EACH(p))
        assert_nothing_left(p);
    close_all();
}

/* The one that has ended, where there is no order. */
static int await_any(ilk_op **ops)
{
    int64_t limit = fixture_now_ms() + patience(10000);

    while (fixture_now_ms() < limit) {
        for (int i = 0; i < CROWD; i++)
            if (ops[i] && ilk_op_status(ops[i], NULL) != ILK_EAGAIN)
                return i;
        (void)turn(client, 20);
    }
    return 0; /* goes on, which the caller finds */
}

/* Waits of one row, in the order in which they were started. */
static void serve_crowd(played *p, void *const *handles, ilk_op **ops)
{
    int chain = is(p, WAIT_EXCLUSIVE) && p->row->give_back;
    int grants = is(p, WAIT_EXCLUSIVE) && !chain ? CROWD : 1;

    for (int i = 0; i < grants; i++)
        p->row->grant(p->theirs);
    for (int i = 0; i < CROWD; i++) {
        int at = is(p, WAIT_UNORDERED) ? await_any(ops) : i;

        assert_ends(ILK_OK, client, ops[at]);
        for (int k = 0; chain && k < CROWD; k++)
            if (ops[k])
                assert_status(ILK_EAGAIN, ilk_op_status(ops[k], &err));
        give_back(p, handles[at]);
        p->row->free(handles[at]);
    }
    await_waiting(p, 0);
}

TEST(a_crowd_in_one_loop_is_served)
{
    void *handles[CROWD];
    ilk_op *ops[CROWD];

    /* Waits that are started before the client's inbox is open may pass each
     * other: one wait opens it. */
    wait_all(client);
    for (EACH(p))
        ilk_op_free(p->op);
    for (EACH(p))
        await_waiting(p, 0);
    for (EACH(p)) {
        if (is(p, WAIT_IN_ROUNDS))
            continue;
        for (int i = 0; i < CROWD; i++) {
            ops[i] = NULL;
            handles[i] = p->row->open(client, p->name);
            /* The server shows one for all: that each has begun, it does not. */
            if (is(p, WAIT_ONE_A_CLIENT))
                assert_status(ILK_OK, ilk_signal_listen(handles[i], &err));
            assert_status(ILK_OK, p->row->start(&ops[i], handles[i], -1, &err));
        }
        await_waiting(p, is(p, WAIT_ONE_A_CLIENT) ? 1 : CROWD);
        serve_crowd(p, handles, ops);
    }
    close_all();
}

/* ---- ended early -------------------------------------------------------- */

enum { BY_OPERATION, BY_HANDLE, FREED_OPERATION, FREED_HANDLE, WAYS };

/* A pointer to a freed object is NULL afterwards. */
static void end_early(played *p, int way)
{
    switch (way) {
    case BY_OPERATION: assert_status(ILK_OK, ilk_op_cancel(p->op, &err)); break;
    case BY_HANDLE:
        assert_status(ILK_OK, p->row->cancel(p->handle, &err));
        break;
    case FREED_OPERATION:
        ilk_op_free(p->op);
        p->op = NULL;
        break;
    default: p->row->free(p->handle); p->handle = NULL;
    }
}

TEST(a_cancelled_wait_says_so)
{
    wait_all(client);
    for (EACH(p)) {
        assert_status(ILK_OK, ilk_op_cancel(p->op, &err));
        assert_status(ILK_OK, ilk_op_cancel(p->op, &err)); /* no difference */
    }

    for (EACH(p)) {
        assert_ended(ILK_ECANCELLED, client, p->op);
        assert_result(RESULT_NONE, p->op);
        assert_status(ILK_OK, ilk_op_cancel(p->op, &err)); /* has ended */
        assert_int_equal(ILK_ECANCELLED, ilk_op_status(p->op, &err));
        assert_non_null(strstr(err.msg, "cancel"));
        ilk_op_free(p->op);
    }
    close_all();
}

/* The handle, when it is left, can wait again. */
TEST(a_wait_that_ends_early_leaves_nothing)
{
    for (int way = 0; way < WAYS; way++) {
        wait_all(client);
        for (EACH(p))
            end_early(p, way);

        for (EACH(p)) {
            if (p->op)
                assert_ends(ILK_ECANCELLED, client, p->op);
            await_waiting(p, 0);
            if (!p->handle)
                continue;
            start(p, -1);
            await_waiting(p, 1);
            p->row->grant(p->theirs);
            assert_ends(ILK_OK, client, p->op);
            give_back(p, p->handle);
        }
        close_all();
        assert_int_equal(0, server_flush());
    }
}

TEST(a_wait_that_ended_early_leaves_its_object_there)
{
    for (int way = 0; way < WAYS; way++) {
        wait_all(client);
        for (EACH(p))
            end_early(p, way);

        for (EACH(p)) {
            if (p->op)
                assert_ends(ILK_ECANCELLED, client, p->op);
            assert_nothing_left(p);
        }
        close_all();
        assert_int_equal(0, server_flush());
    }
}

/* The command is not sent yet, or has no reply; the client may not even be
 * connected. */
TEST(a_wait_may_end_before_it_is_in_the_queue)
{
    for (int turns = 0; turns < CONNECTING_TURNS; turns++)
        for (int way = 0; way < WAYS; way++) {
            ilk_client *own = open_client();

            open_all(own);
            for (EACH(p))
                start(p, -1);
            for (int i = 0; i < turns; i++)
                (void)turn(own, 1);
            for (EACH(p))
                end_early(p, way);
            for (EACH(p)) {
                if (p->op)
                    assert_ends(ILK_ECANCELLED, own, p->op);
                assert_nothing_left(p);
            }
            close_all();
            ilk_client_free(own);
            assert_int_equal(0, server_flush());
        }
}

/* Nobody has it, so the server grants at once. */
TEST(a_grant_at_once_is_given_back)
{
    open_all(client);
    for (EACH(p))
        if (p->row->give_back) {
            p->row->grant(p->theirs);
            for (int i = 0; i < ROUNDS; i++) {
                start(p, i % 2 ? -1 : 0);
                end_early(p, i % 3);
                if (p->op)
                    end_either_way(p);
                turn_until(client, p->row->spare_answer, "%s",
                           filled(p->row->spare, p->name));
            }
        }
    close_all();
}

/* ---- granted, and the loop has not fetched yet -------------------------- */

static void await_readable(int fd)
{
    struct pollfd pfd = {.fd = fd, .events = POLLIN};

    assert_int_equal(1, poll(&pfd, 1, (int)patience(5000)));
}

/* Turn until there is nothing to fetch. */
static void drain(int fd)
{
    struct pollfd pfd = {.fd = fd, .events = POLLIN};

    do
        (void)turn(client, 0);
    while (poll(&pfd, 1, 0) == 1);
}

/* A wait of the other client is behind it, where there is an order. */
static void start_next(played *p)
{
    p->next = NULL;
    if (!is(p, WAIT_EXCLUSIVE))
        return;
    p->next_handle = p->row->open(other, p->name);
    assert_status(ILK_OK, p->row->start(&p->next, p->next_handle, -1, &err));
    turn_until(other, "2", "%s", filled(p->row->waiting, p->name));
}

static void assert_next_gets_it(played *p)
{
    if (!p->next)
        return;
    assert_ended(ILK_OK, other, p->next);
    assert_result(p->row->result, p->next);
    ilk_op_free(p->next);
    give_back(p, p->next_handle);
    p->row->free(p->next_handle);
}

/* Its grant has not been fetched. Answers whether it got it all the same. */
static int end_late(played *p, int way)
{
    int got;

    end_early(p, way);
    if (!p->op)
        return 0;
    got = way <= BY_HANDLE && await_op_end(p->client, p->op) == ILK_OK;
    if (got)
        give_back(p, p->handle);
    assert_ends(got ? ILK_OK : ILK_ECANCELLED, client, p->op);
    return got;
}

/* The next waiter gets what is granted to a wait that ends before its loop has
 * fetched that, and not because the grant's lease ends. Answers end_late(). */
static int play_late(played *p, int way, int fd)
{
    static int plays;
    int had;

    /* The client may not have read the last grant yet, which is not for this
     * wait: it has a name of its own. */
    snprintf(p->name, sizeof p->name, "late%d.", plays++);
    block(p);
    open_one(p, client);
    start(p, -1);
    await_waiting(p, 1);
    start_next(p);
    drain(fd);
    p->row->grant(p->theirs);
    await_readable(fd);
    if (p->row->prolong)
        assert_string_equal(
            "1", fixture_command(&fx, "%s", filled(p->row->prolong, p->name)));

    had = end_late(p, way);

    assert_next_gets_it(p);
    await_waiting(p, 0);
    if (p->row->give_back)
        turn_until(client, p->row->spare_answer, "%s",
                   filled(p->row->spare, p->name));
    close_one(p);
    return had;
}

/* A cancel is too late for a grant that stands. The descriptor may have been
 * readable for another reason, so that the cancel comes before it: once in a
 * few rounds it does not. */
TEST(a_grant_that_nobody_fetched_is_passed_on)
{
    int fd;

    assert_status(ILK_OK, ilk_client_notification_fd(client, &fd, &err));
    for (int way = 0; way < WAYS; way++) {
        prepare_all();
        for (EACH(p)) {
            int stands = way <= BY_HANDLE && is(p, WAIT_GRANT_STANDS);
            int had = 0, rounds = 0;

            do
                had = play_late(p, way, fd);
            while (stands && !had && ++rounds < ROUNDS);
            assert_int_equal(stands, had);
        }
        assert_int_equal(0, server_flush());
    }
}

TEST(a_cancel_just_after_the_grant_loses_nothing)
{
    for (int i = 0; i < ROUNDS; i++) {
        wait_all(client);
        for (EACH(p)) {
            if (!is(p, WAIT_EXCLUSIVE))
                continue;
            start_next(p);
            p->row->grant(p->theirs);
            assert_status(ILK_OK, ilk_op_cancel(p->op, &err));
            end_either_way(p);
            assert_next_gets_it(p);
        }
        for (EACH(p))
            ilk_op_free(is(p, WAIT_EXCLUSIVE) ? NULL : p->op);
        for (EACH(p))
            await_waiting(p, 0);
        close_all();
        assert_int_equal(0, server_flush());
    }
}

/* ---- threads, processes, clients ---------------------------------------- */

static void *free_all_handles(void *arg)
{
    for (size_t i = 0; i < wait_row_count; i++)
        all[i].row->free(all[i].handle);
    return arg;
}

TEST(cancel_and_free_may_meet)
{
    pthread_t thread;

    for (int i = 0; i < ROUNDS; i++) {
        wait_all(client);
        assert_int_equal(0,
                         pthread_create(&thread, NULL, free_all_handles, NULL));
        for (EACH(p))
            assert_status(ILK_OK, ilk_op_cancel(p->op, &err));
        for (EACH(p))
            assert_ends(ILK_ECANCELLED, client, p->op);
        pthread_join(thread, NULL);
        for (EACH(p)) {
            p->handle = NULL;
            assert_nothing_left(p);
        }
        close_all();
        assert_int_equal(0, server_flush());
    }
}

static void demand_forked(const played *p)
{
    ilk_op *mine = (ilk_op *)&err;

    demand_op_forked(p->op);
    demand(p->row->start(&mine, p->handle, -1, NULL) == ILK_EFORKED);
    demand(mine == NULL);
}

TEST(a_child_leaves_its_parents_waits_alone)
{
    pid_t pid;

    wait_all(client);
    pid = fork_now();
    if (pid == 0) {
        for (EACH(p)) {
            demand_forked(p);
            ilk_op_free(p->op);
            p->row->free(p->handle);
        }
        _exit(0);
    }
    assert_ends_well(pid);

    assert_all_under_way(client);
    for (EACH(p)) {
        await_waiting(p, 1);
        p->row->grant(p->theirs);
        assert_ends(ILK_OK, client, p->op);
        give_back(p, p->handle);
    }
    close_all();
}

TEST(a_closed_client_ends_its_waits)
{
    ilk_notification notification = {.size = sizeof notification};
    ilk_client *own = open_client();

    wait_all(own);
    assert_status(ILK_OK, ilk_client_close(own, &err));

    for (EACH(p)) {
        assert_ended(ILK_ECLOSED, own, p->op);
        assert_result(RESULT_NONE, p->op);
        ilk_op_free(p->op);
        assert_status(ILK_ECLOSED, p->row->start(&p->op, p->handle, -1, &err));
        assert_null(p->op);
    }
    assert_status(ILK_ECLOSED,
                  ilk_client_next_notification(own, &notification, &err));
    close_all();
    ilk_client_free(own);
}

/* The client, the handles and the operations, beginning with each of them. */
TEST(all_may_be_freed_in_any_order)
{
    for (int first = 0; first < 3; first++) {
        ilk_client *own = open_client();

        wait_all(own);
        for (int i = 0; i < 3; i++)
            for (EACH(p))
                switch ((first + i) % 3) {
                case 0:
                    ilk_client_free(own);
                    own = NULL;
                    break;
                case 1:
                    p->row->free(p->handle);
                    p->handle = NULL;
                    break;
                default: ilk_op_free(p->op);
                }
        for (EACH(p))
            if (first != 0) /* a closed client's entries live a moment */
                assert_int_equal(
                    0, fixture_await(&fx, "0", (int)patience(10000), "%s",
                                     filled(p->row->waiting, p->name)));
        close_all();
        assert_int_equal(0, server_flush());
    }
}

/* The operation keeps its client alive. */
TEST(an_operation_outlives_handle_and_client)
{
    ilk_client *own = open_client();

    wait_all(own);
    for (EACH(p)) {
        p->row->free(p->handle);
        p->handle = NULL;
    }
    ilk_client_free(own);

    for (EACH(p)) {
        assert_int_equal(ILK_ECANCELLED, ilk_op_status(p->op, &err));
        assert_int_equal(0, fixture_await(&fx, "0", (int)patience(10000), "%s",
                                          filled(p->row->waiting, p->name)));
    }
    for (EACH(p))
        ilk_op_free(p->op);
    close_all();
}

/* ---- the server goes, and comes back ------------------------------------ */

TEST(a_wait_outlives_the_server)
{
    wait_all(client);
    assert_int_equal(0, fixture_kill(&fx));
    await_loss(client);
    for (EACH(p))
        assert_status(ILK_EAGAIN, ilk_op_status(p->op, &err));
    assert_int_equal(0, fixture_restart(&fx));

    for (EACH(p)) {
        if (!is(p, WAIT_NEEDS_MEMORY)) {
            await_waiting(p, 1);
            p->row->grant(p->theirs);
        }
        assert_ended(ILK_OK, client, p->op);
        assert_result(p->row->result, p->op);
        ilk_op_free(p->op);
        give_back(p, p->handle);
    }
    close_all();
}

/* One wait was under way, one was started without a server. */
TEST(a_wait_ends_while_the_server_is_away)
{
    wait_all(client);
    assert_int_equal(0, fixture_kill(&fx));
    await_loss(client);
    for (EACH(p))
        assert_status(ILK_OK, ilk_op_cancel(p->op, &err));
    for (EACH(p))
        assert_ends(ILK_ECANCELLED, client, p->op);
    for (EACH(p))
        start(p, 2000);
    await_loss(client);
    for (EACH(p))
        if (is(p, WAIT_SENDS_NO_REQUEST))
            ilk_op_free(p->op);
        else
            assert_ends(ILK_ECONN, client, p->op);
    assert_int_equal(0, fixture_restart(&fx));

    ping_loop(client);
    for (EACH(p)) {
        await_waiting(p, 0);
        if (p->row->give_back)
            turn_until(client, "0", "%s", filled(p->row->spare, p->name));
    }
    close_all();
}

TEST(a_stop_ends_waits_while_the_server_is_away)
{
    wait_all(client);
    assert_int_equal(0, fixture_kill(&fx));
    await_loss(client);

    ilk_client_stop(client);

    for (EACH(p))
        assert_ends(ILK_ECANCELLED, client, p->op);
    assert_int_equal(0, fixture_restart(&fx));
    for (EACH(p))
        await_waiting(p, 0);
    close_all();
}

/* ---- refused at once ---------------------------------------------------- */

TEST(wrong_arguments_start_nothing)
{
    open_all(client);
    for (EACH(p)) {
        p->op = (ilk_op *)&err;
        assert_status(ILK_EINVAL, p->row->start(&p->op, NULL, -1, &err));
        assert_null(p->op);
        assert_handle_refused(&err, p->row->noun);
        assert_status(ILK_EINVAL, p->row->start(NULL, p->handle, -1, &err));
        assert_out_refused(&err);
        if (p->row->start_wrong) {
            p->op = (ilk_op *)&err;
            assert_status(ILK_EINVAL,
                          p->row->start_wrong(&p->op, p->handle, &err));
            assert_null(p->op);
        }
        start(p, -1); /* the handle is free */
        await_waiting(p, 1);
        ilk_op_free(p->op);
    }
    close_all();
}

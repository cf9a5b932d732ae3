/* SPDX-License-Identifier: MIT */
/* ct_loop.c -- the event loop's driver: what is sent when, who is woken. */
#include "fork_case.h"
#include "started_case.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

AROUND_ALL(client_setup, client_teardown);

enum { PINGS = 2000, SOON_MS = 1000 };

/* How long it takes until so many have ended, seen by the descriptor alone. */
static int64_t time_to_end(ilk_client *of, int count)
{
    int64_t began = fixture_now_ms();

    while (count > 0 && fixture_now_ms() < began + patience(10000))
        count -= turn(of, (int)patience(10000));
    assert_int_equal(count, 0);
    return fixture_now_ms() - began;
}

static ilk_op *start_ping(ilk_client *of)
{
    ilk_error err = {0};
    ilk_op *op;

    assert_status(ILK_OK, ilk_client_ping_start(&op, of, -1, &err));
    return op;
}

/* ---- commands are written ----------------------------------------------- */

/* The one that finds the connection open sends all that was held. */
TEST(operations_started_while_it_connects_are_sent)
{
    static ilk_op *ops[PINGS];
    ilk_client *fresh = open_client();
    int count = 0;
    ilk_client_stats stats = {.size = sizeof stats};

    do {
        ops[count++] = start_ping(fresh);
        (void)ilk_client_get_stats(fresh, &stats, NULL);
        fixture_sleep_ms(1);
    } while (stats.connections < 2 && count < PINGS); /* lane and loop */
    assert_in_range(count, 1, PINGS - 1);

    assert_true(time_to_end(fresh, count) < patience(SOON_MS));
    for (int i = 0; i < count; i++)
        ilk_op_free(ops[i]);
    ilk_client_free(fresh);
}

/* A pop is never sent again, so a connection that is given up costs its message. */
TEST(a_reply_that_came_while_the_program_stood_still_is_read)
{
    ilk_client_opts opts;
    ilk_queue *queue;
    ilk_client *own;
    ilk_error err = {0};
    ilk_op *op;

    ilk_client_opts_init(&opts, sizeof opts);
    opts.reply_timeout_ms = 300;
    assert_status(ILK_OK, ilk_client_open(&own, fx.unix_url, &opts, &err));
    assert_status(ILK_OK, ilk_queue_open(&queue, own, "still", 5, NULL, &err));
    assert_status(ILK_OK, ilk_queue_push(NULL, queue, "x", 1, NULL, &err));
    op = start_ping(own);
    assert_ends(ILK_OK, own, op);
    assert_status(ILK_OK, ilk_queue_pop_start(&op, queue, 0, &err));
    fixture_sleep_ms(700);
    assert_ends(ILK_OK, own, op);
    ilk_queue_free(queue);
    ilk_client_free(own);
}

/* ---- deadlines ---------------------------------------------------------- */

TEST(a_deadline_is_kept_behind_what_is_not_answered)
{
    ilk_lock *lock = open_lock(client, "late");
    ilk_op *first = start_ping(client), *second, *late;
    int64_t took;

    assert_ends(ILK_OK, client, first);
    fixture_pause(&fx);
    first = start_ping(client);
    second = start_ping(client);
    late = start_acquire(lock, 100);

    took = time_to_end(client, 1);
    fixture_resume(&fx);

    assert_in_range(took, 99, 100 + patience(400));
    assert_ends(ILK_ECONN, client, late);
    assert_ends(ILK_OK, client, first);
    assert_ends(ILK_OK, client, second);
    ilk_lock_free(lock);
    turn_until(client, "0", "EXISTS late");
}

/* Nothing but the time that is over. */
TEST(a_deadline_in_the_queue_wakes_the_loop)
{
    ilk_lock *held = hold_elsewhere("over");
    ilk_lock *lock = open_lock(client, "over");
    ilk_op *op = start_acquire(lock, 200);

    assert_in_range(time_to_end(client, 1), 150, 200 + patience(400));
    assert_ends(ILK_ETIMEOUT, client, op);
    assert_nothing_left("over", held);
    ilk_lock_free(lock);
}

/* ---- news, and nothing else, wake the loop ------------------------------ */

static ilk_op *start_queued(ilk_lock *lock, const char *name)
{
    ilk_op *op = start_acquire(lock, -1);

    await_lock_queue(name, "1");
    turn_for(client, 50); /* it knows, and nothing is on its way */
    return op;
}

TEST(a_grant_wakes_the_loop)
{
    ilk_lock *held = hold_elsewhere("granted");
    ilk_lock *lock = open_lock(client, "granted");
    ilk_op *op = start_queued(lock, "granted");
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_release(held, &err));
    assert_true(time_to_end(client, 1) < patience(SOON_MS));
    assert_ends(ILK_OK, client, op);
    assert_status(ILK_OK, ilk_lock_release(lock, &err));
    free_elsewhere(held);
    ilk_lock_free(lock);
}

TEST(a_cancel_by_the_handle_wakes_the_loop)
{
    ilk_lock *held = hold_elsewhere("ended");
    ilk_lock *lock = open_lock(client, "ended");
    ilk_op *op = start_queued(lock, "ended");
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_cancel(lock, &err));
    assert_true(time_to_end(client, 1) < patience(SOON_MS));
    assert_ends(ILK_ECANCELLED, client, op);
    assert_nothing_left("ended", held);
    ilk_lock_free(lock);
}

/* The first wait of a client sleeps until the keeper listens. */
TEST(an_inbox_that_opens_wakes_the_loop)
{
    ilk_lock *held = hold_elsewhere("first");
    ilk_client *fresh = open_client();
    ilk_lock *lock = open_lock(fresh, "first");
    ilk_op *op = start_acquire(lock, -1);
    ilk_error err = {0};
    int64_t limit = fixture_now_ms() + patience(SOON_MS);

    do {
        (void)turn(fresh, (int)patience(10000));
        assert_true(fixture_now_ms() < limit);
    } while (fixture_int(&fx, "ZCARD ilk:lock:wait:{first}") != 1);
    assert_status(ILK_OK, ilk_op_cancel(op, &err));
    assert_ends(ILK_ECANCELLED, fresh, op);
    assert_nothing_left("first", held);
    ilk_lock_free(lock);
    ilk_client_free(fresh);
}

/* ---- descriptors -------------------------------------------------------- */

/* Half a second of an application's loop: how often it was woken. */
static int wakings(ilk_client *of)
{
    struct pollfd pfd = {.events = POLLIN};
    int64_t end = fixture_now_ms() + 500;
    int woken = 0;

    assert_int_equal(ILK_OK, ilk_client_notification_fd(of, &pfd.fd, NULL));
    while (fixture_now_ms() < end) {
        woken += poll(&pfd, 1, 10) > 0;
        (void)turn(of, 0);
    }
    return woken;
}

/* A child that has it open, too, keeps a closed connection alive. */
TEST(a_childs_copy_of_a_lost_connection_wakes_nobody)
{
    ilk_op *op = start_ping(client);
    pid_t copy;

    assert_ends(ILK_OK, client, op);
    copy = fork_now();
    if (copy == 0) {
        fixture_sleep_ms(20000);
        _exit(0);
    }
    fixture_kill(&fx);
    assert_int_equal(0, fixture_restart(&fx));
    op = start_ping(client);
    (void)time_to_end(client, 1);
    ilk_op_free(op);

    assert_in_range(wakings(client), 0, 20);
    kill(copy, SIGKILL);
    assert_true(waitpid(copy, NULL, 0) == copy);
}

/* ---- a grant that is lost before it is ours ----------------------------- */

/* Granted, and about to ask for the lease that it wants. */
static ilk_op *start_granted(ilk_lock *lock, const char *name)
{
    ilk_lock *held = hold_elsewhere(name);
    ilk_error err = {0};
    ilk_op *op = start_acquire(lock, -1);

    await_lock_queue(name, "1");
    assert_status(ILK_OK, ilk_lock_release(held, &err));
    free_elsewhere(held);
    return op;
}

TEST(a_cancel_outlives_the_loss_of_a_grant)
{
    ilk_lock *lock = open_lock_with(client, "snatched", 0, ILK_LOCK_NO_RENEW);
    ilk_op *op = start_granted(lock, "snatched");
    ilk_error err = {0};

    fixture_command(&fx, "SET snatched another");
    (void)turn(client, 5000); /* asks for its lease */
    assert_status(ILK_EAGAIN, ilk_op_status(op, &err));
    assert_status(ILK_OK, ilk_op_cancel(op, &err));

    assert_ends(ILK_ECANCELLED, client, op);
    turn_until(client, "0", "ZCARD ilk:lock:wait:{snatched}");
    fixture_command(&fx, "DEL snatched");
    ilk_lock_free(lock);
}

TEST(a_handle_freed_before_the_lease_is_there_holds_nothing)
{
    ilk_lock *lock = open_lock_with(client, "dropped", 0, ILK_LOCK_NO_RENEW);
    ilk_op *op = start_granted(lock, "dropped");
    ilk_error err = {0};

    (void)turn(client, 5000);
    assert_status(ILK_EAGAIN, ilk_op_status(op, &err));
    ilk_op_free(op);

    assert_false(ilk_lock_held(lock));
    turn_until(client, "0", "EXISTS dropped");
    ilk_lock_free(lock);
}

/* The inbox opens for a wait, and all sleeping operations are woken. */
TEST(a_loop_without_operations_is_woken_for_notifications_alone)
{
    ilk_client *plain = open_client();
    ilk_lock *held = open_lock(client, "plain"),
             *lock = open_lock(plain, "plain");
    struct pollfd news = {.events = POLLIN};
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(held, 0, &err));
    assert_status(ILK_OK, ilk_client_notification_fd(plain, &news.fd, &err));
    assert_status(ILK_ETIMEOUT, ilk_lock_acquire(lock, 100, &err));
    ilk_client_interrupt(plain);
    assert_int_equal(poll(&news, 1, 100), 0);

    assert_status(ILK_OK, ilk_lock_release(held, &err));
    assert_status(ILK_OK, ilk_lock_acquire(lock, patience(1000), &err));
    assert_status(ILK_OK, ilk_lock_break(client, "plain", 5, NULL, 0, &err));
    assert_status(ILK_ELOST, ilk_lock_extend(lock, 0, &err));
    assert_int_equal(poll(&news, 1, 0), 1);
    ilk_lock_free(lock);
    ilk_lock_free(held);
    ilk_client_free(plain);
}

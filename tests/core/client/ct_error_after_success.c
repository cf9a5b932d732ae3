/* SPDX-License-Identifier: MIT */
/* ct_error_after_success.c -- a call that succeeds leaves no error of a call
 * before it. */
#include "election_case.h"
#include "queue_case.h"

#include <string.h>

AROUND_ALL(client_setup, client_teardown);

static ilk_error err;

/* The caller's error, as an earlier call left it. */
static ilk_error *stale(void)
{
    err.code = ILK_ELOST;
    strcpy(err.msg, "of an earlier call");
    return &err;
}

static void assert_cleared(ilk_status st)
{
    assert_status(ILK_OK, st);
    assert_int_equal(ILK_OK, err.code);
    assert_string_equal("", err.msg);
}

TEST(of_a_client)
{
    ilk_client *mine = NULL;
    ilk_client_stats stats = {.size = sizeof stats};
    int fd;

    assert_cleared(ilk_client_open(&mine, fx.unix_url, NULL, stale()));
    assert_cleared(ilk_client_ping(mine, -1, stale()));
    assert_cleared(ilk_client_notification_fd(mine, &fd, stale()));
    assert_cleared(ilk_client_notify_kept(mine, 1, stale()));
    assert_cleared(ilk_client_reopen(mine, stale()));
    assert_cleared(ilk_client_get_stats(mine, &stats, stale()));
    assert_cleared(ilk_client_close(mine, stale()));
    assert_cleared(ilk_client_close(mine, stale()));
    assert_cleared(ilk_client_get_stats(mine, &stats, stale()));
    ilk_client_free(mine);
    assert_cleared(ilk_log_set_callback(NULL, NULL, ILK_LOG_WARN, stale()));
}

TEST(of_holds)
{
    ilk_lock *lock = open_lock(client, "lock");
    ilk_election *candidate = open_candidate(client, "election", 0, "value");
    ilk_leader *leader = NULL;
    ilk_op *op = NULL;

    assert_cleared(ilk_lock_acquire_ttl(lock, 0, 5000, stale()));
    assert_cleared(ilk_lock_check(lock, stale()));
    assert_cleared(ilk_lock_extend(lock, 9000, stale()));
    assert_cleared(ilk_lock_release_unconfirmed(lock, stale()));
    assert_cleared(ilk_lock_cancel(lock, stale()));
    assert_cleared(ilk_election_leader(&leader, candidate, stale())); /* none */
    ilk_leader_free(leader);
    assert_cleared(ilk_election_campaign(candidate, 0, stale()));
    assert_cleared(ilk_election_leader(&leader, candidate, stale()));
    ilk_leader_free(leader);
    assert_cleared(ilk_election_resign_start(&op, candidate, stale()));
    assert_cleared(ilk_op_cancel(op, stale()));
    while (ilk_op_status(op, stale()) == ILK_EAGAIN) {
        ilk_notification note = {.size = sizeof note};

        (void)ilk_client_next_notification(client, &note, NULL);
    }
    assert_cleared(ilk_op_status(op, stale()));
    ilk_op_free(op);
    ilk_election_free(candidate);
    ilk_lock_free(lock);
}

TEST(of_queues_and_lists)
{
    ilk_queue *queue = open_queue("mail");
    ilk_batch *batch = NULL;
    ilk_job *job = NULL;
    ilk_list *names = NULL;

    push(queue, "one");
    assert_cleared(
        ilk_queue_reserve_many(&batch, queue, 2, 0, 0, NULL, stale()));
    assert_cleared(ilk_batch_job(&job, batch, 0, stale()));
    assert_cleared(ilk_batch_ack(batch, stale()));
    assert_cleared(ilk_queue_leave(queue, stale()));
    assert_cleared(ilk_list_walk(&names, client, 0, NULL, 0, stale()));
    assert_cleared(ilk_list_next(names, stale()));
    ilk_list_free(names);
    ilk_job_free(job);
    ilk_batch_free(batch);
    ilk_queue_free(queue);
}

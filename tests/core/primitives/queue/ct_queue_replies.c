/* SPDX-License-Identifier: MIT */
/* ct_queue_replies.c -- replies that make no sense deliver nothing. */
#include "proxy_case.h"
#include "queue_case.h"

#include "redis/script.h"

#include <stdio.h>
#include <string.h>

AROUND_ALL(proxy_setup, proxy_teardown);
AROUND_EACH(server_flush, NULL);

/* {JOBS, done, index of the queue, lease left, now us, messages}. The client is a new
 * one, which has nothing else to send. */
static void refuse(int elements, const char *rest)
{
    ilk_client *own = open_client_at(between.url);
    ilk_queue *queue = open_queue_at(own, "odd", 0, 0, 0);
    ilk_error err = {0};
    ilk_job *job = NULL;
    ilk_status st;
    char text[128];

    snprintf(text, sizeof text, "*%d\r\n:%d\r\n$0\r\n\r\n%s", elements,
             ILK__CODE_JOBS, rest);
    proxy_replace(&between, "{odd}", text, strlen(text));
    st = ilk_queue_pop(&job, queue, 0, &err);
    if (st != ILK_EREPLY && st != ILK_EUNKNOWN) /* a message may be gone */
        fail_msg("%s: %s: %s", rest, ilk_status_name(st), err.msg);
    assert_null(job);
    ilk_queue_free(queue);
    ilk_client_free(own);
}

TEST(senseless_batches_are_refused)
{
    refuse(5, ":0\r\n:0\r\n:1\r\n");
    refuse(6, ":1\r\n:0\r\n:1\r\n$9\r\n1 2 0 3 x\r\n");
    refuse(6, ":0\r\n:0\r\n:1\r\n:7\r\n");
    refuse(6, ":0\r\n:0\r\n:1\r\n$3\r\n1 2\r\n");
}

/* The reply to the first request came too late, so the second one found a lease of which
 * little was left. The renewals are as long as the caller wants all the same. */
TEST(a_batch_is_renewed_for_its_own_lease)
{
    ilk_client_stats stats = {.size = sizeof stats};
    ilk_client_opts opts;
    ilk_queue *queue;
    ilk_client *own;
    ilk_error err = {0};
    ilk_job *job = NULL;

    ilk_client_opts_init(&opts, sizeof opts);
    opts.reply_timeout_ms = 2000;
    assert_status(ILK_OK, ilk_client_open(&own, between.url, &opts, &err));
    queue = open_queue_at(own, "late", 0, 0, ILK_QUEUE_RENEW);
    push(queue, "a");
    assert_status(ILK_OK, ilk_queue_reserve(&job, queue, 0, 6000, &err));
    assert_status(ILK_OK,
                  ilk_job_ack(job, &err)); /* the server has the script */
    ilk_job_free(job);
    push(queue, "b");
    proxy_delay(&between, ilk__scripts[ILK__SCRIPT_QUEUE_RESERVE].sha1, 2500);
    assert_status(ILK_OK, ilk_queue_reserve(&job, queue, 20000, 6000, &err));
    assert_true(ilk_job_remaining_ms(job) < 4100);
    do {
        fixture_sleep_ms(20);
        ilk_client_get_stats(own, &stats, NULL);
    } while (stats.renewals == 0 && ilk_job_remaining_ms(job) > 0);
    assert_true(ilk_job_remaining_ms(job) > 4100);
    ilk_job_free(job);
    ilk_queue_free(queue);
    ilk_client_free(own);
}

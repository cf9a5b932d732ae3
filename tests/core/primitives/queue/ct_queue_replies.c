/* SPDX-License-Identifier: MIT */
/* ct_queue_replies.c -- replies that make no sense deliver nothing. */
#include "proxy_case.h"
#include "queue_case.h"

#include "redis/script.h"

#include <stdio.h>
#include <string.h>

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

static void senseless_batches_are_refused(void **state)
{
    (void)state;
    refuse(5, ":0\r\n:0\r\n:1\r\n");
    refuse(6, ":1\r\n:0\r\n:1\r\n$9\r\n1 2 0 3 x\r\n");
    refuse(6, ":0\r\n:0\r\n:1\r\n:7\r\n");
    refuse(6, ":0\r\n:0\r\n:1\r\n$3\r\n1 2\r\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(senseless_batches_are_refused, server_flush),
    };

    return cmocka_run_group_tests(tests, proxy_setup, proxy_teardown);
}

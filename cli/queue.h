/* SPDX-License-Identifier: MIT */
/* queue.h -- what the two files of `interlock queue` share. */
#ifndef INTERLOCK_CLI_QUEUE_H
#define INTERLOCK_CLI_QUEUE_H

#include "signals.h"

struct cli_queue {
    struct cli_args *args;
    const char *verb;
    struct cli_bytes name;
    const char *word; /* behind NAME; NULL for none */
    const char *reason;
    int64_t timeout_ms, lease_ms, count;
    ilk_queue_opts opts;
    ilk_push_opts push;
    ilk_client *client;
    ilk_queue *queue;
};

/* queue_print.c. Each answers an exit status. */
int cli_queue_take(struct cli_queue *with); /* pop, reserve */
int cli_queue_peek(struct cli_queue *with); /* peek, dead */
int cli_queue_show(struct cli_queue *with);

#endif

/* SPDX-License-Identifier: MIT */
/* queue.h -- what the files of `interlock queue` share. */
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
    int64_t jobs, backoff_ms, kill_after_ms; /* work */
    int waits;                               /* --timeout was given */
    int alone;                               /* --no-descendants */
    int lines;                               /* push */
    char *const *argv;                       /* work: CMD */
    ilk_queue_opts opts;
    ilk_push_opts push;
    ilk_client *client;
    ilk_queue *queue;
};

/* queue_print.c. Each returns an exit status. */
int cli_queue_take(struct cli_queue *with); /* pop, reserve */
int cli_queue_peek(struct cli_queue *with); /* peek, dead */
int cli_queue_show(struct cli_queue *with);

/* queue_push.c. */
int cli_queue_push(struct cli_queue *with);
int cli_queue_push_lines(struct cli_queue *with);

/* queue_work.c. A CMD per message, until a signal or --timeout. */
int cli_queue_work(struct cli_queue *with);

#endif

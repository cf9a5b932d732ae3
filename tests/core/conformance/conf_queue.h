/* SPDX-License-Identifier: MIT */
/*
 * conf_queue.h -- the statements of the conformance table about queues.
 *
 *     q = queue <name> [order=filo] [max_attempts=n] | queues <name>...
 *     q push <data> [delay=<ms>] [once=<id>]    -> STATUS
 *     q pop <ms> <data>                   q pop <ms> -> STATUS
 *     q reserve <job> <ms> <lease ms>           -> STATUS
 *     q size -> <n> | STATUS     q count <what> -> <n>
 *     q requeue -> <n>           q purge -> <n>
 *     j ack | nack <ms> | bury <reason> | extend <ms>   -> STATUS
 *     j data -> <data>           j attempts -> <n>
 */
#ifndef ILK__CONF_QUEUE_H
#define ILK__CONF_QUEUE_H

#include "conformance.h"

#include <interlock.h>

enum { CONF_QUEUE_HANDLES = 8 };

typedef struct conf_queue_handle {
    char word[64];
    ilk_queue *queue;
    ilk_job *job;
} conf_queue_handle;

typedef struct conf_queue {
    conf_queue_handle handles[CONF_QUEUE_HANDLES];
    size_t count;
} conf_queue;

/* Run a line; 0 when it is about something else. A failure fails the test. */
int conf_queue_line(conf_queue *self, ilk_client *client,
                    const conf_word *words, int count);
void conf_queue_free(conf_queue *self);

#endif

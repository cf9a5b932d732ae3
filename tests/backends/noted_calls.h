/* SPDX-License-Identifier: MIT */
/*
 * noted_calls.h -- requests of the core for the shared parts of backends, without a
 * gateway: its functions for backends are here, and note each reply and message.
 */
#ifndef NOTED_CALLS_H
#define NOTED_CALLS_H

#include "gateway/backend.h"

enum { WORDS = 16, WORD = 100, ERROR = -1, BROKEN = -2, NUMBER = 7 };

typedef struct call {
    ilk__gateway_request request; /* the first member */
    ilk__reply words[WORDS];
    ilk__reply *pointers[WORDS];
    char texts[WORDS][WORD];
    int replies, code;
    int64_t numbers[4]; /* behind the code */
    char text[2048];    /* an error, or the whole of a long reply */
} call;

extern char message[512]; /* the last one: channel, space, data */
extern int message_count;

/* Arguments up to NULL, behind the keys, which end with NULL, too. */
void make_call(call *c, int script, const char *const *keys, ...);

#endif

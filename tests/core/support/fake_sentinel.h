/* SPDX-License-Identifier: MIT */
/*
 * fake_sentinel.h -- a thread that answers as a sentinel does, and says what
 * the test wants: which server is the primary, and that it is another one now.
 */
#ifndef ILK__FAKE_SENTINEL_H
#define ILK__FAKE_SENTINEL_H

#include <pthread.h>
#include <stdatomic.h>

typedef struct fake_sentinel {
    int listener, port;
    int pipe[2]; /* ends the thread, or has it publish */
    pthread_t thread;
    _Atomic int primary; /* the port that it names */
    _Atomic int former;  /* not 0: it carries out a failover from this port */
    _Atomic int epoch;   /* of the service */
    _Atomic int forgot;  /* it does not know the service any more */
    _Atomic int subscribers; /* connections that have subscribed */
    _Atomic int states;      /* how many requests for the state came */
    _Atomic int questions;   /* how many requests for the address came */
} fake_sentinel;

int fake_sentinel_open(fake_sentinel *s, int primary); /* 0, or -1 */
/* From now on name this port; publish `channel`, NULL for nothing. */
void fake_sentinel_switch(fake_sentinel *s, int primary, const char *channel);
void fake_sentinel_close(fake_sentinel *s);

#endif

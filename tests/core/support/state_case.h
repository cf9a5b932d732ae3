/* SPDX-License-Identifier: MIT */
/*
 * state_case.h -- what the tests of events, latches, barriers, groups and registers
 * share: handles that must open, waits in threads of their own, parties that are
 * processes.
 *
 *     waiting w = {.barrier = barrier, .timeout_ms = 5000};
 *     start_waiting(&w);
 *     ...
 *     assert_waited(ILK_OK, &w);
 */
#ifndef ILK__STATE_CASE_H
#define ILK__STATE_CASE_H

#include "client_case.h"

#include <stdatomic.h>

extern ilk_client *other;

int state_setup(void); /* a server, `client` and `other` */
int state_teardown(void);

ilk_event *open_event(ilk_client *of, const char *name);
ilk_latch *open_latch(ilk_client *of, const char *name, int64_t count);
ilk_barrier *open_barrier(ilk_client *of, const char *name, int64_t parties);
ilk_group *open_group(ilk_client *of, const char *name);
/* ttl_ms 0: the default. The second one has joined, with its id as data. */
ilk_member *open_member(ilk_client *of, const char *name, const char *id,
                        int64_t ttl_ms);
ilk_member *join_group(ilk_client *of, const char *name, const char *id,
                       int64_t ttl_ms);
ilk_register *open_register(ilk_client *of, const char *name);

/* The server has so many in the wait queue of this kind and name, at last. */
void await_queue_length(const char *kind, const char *name, int n);

/* A wait in a thread of its own, on the handle that is not NULL. */
typedef struct waiting {
    ilk_event *event;
    ilk_latch *latch;
    ilk_barrier *barrier;
    ilk_register *reg;
    int64_t version; /* of a register: wait for another */
    int64_t timeout_ms;
    int64_t generation; /* of an event: wait for a later one; 0: to be set */
    int stubborn;       /* goes on after ILK_EINTR */
    pthread_t thread;
    int64_t began_at, ended_at; /* as fixture_now_ms() */
    int64_t index;              /* of a barrier */
    int interrupted;
    ilk_status status;
    ilk_error err;
    _Atomic int done;
} waiting;

void start_waiting(waiting *w);

/* Wait for its end, at most 30 s, and see how it ended. */
#define assert_waited(expected, w)                                             \
    assert_waited_at(expected, w, __FILE__, __LINE__)
void assert_waited_at(ilk_status expected, waiting *w, const char *file,
                      int line);
int64_t waited_ms(const waiting *w);

/* Signals, until one of them has ended the wait: who is not asleep yet misses
 * one. */
void interrupt_waiting(waiting *w);

/*
 * A party of a barrier or a waiter of an event that is a process: it opens a
 * client and, after 'w', waits for at most timeout_ms. Reports are a char and
 * 8 bytes: 'o' open, 'k' and the index, 'b' broken, 't' not in time, 'e' an
 * error of another kind.
 */
typedef struct party {
    pid_t pid;
    int reports, orders;
} party;

party start_party(const char *barrier, int64_t parties, int64_t timeout_ms);
party start_listener(const char *event, int64_t timeout_ms);
void tell_party(party *p, char what);
/* The next report, '?' when there is none in time. */
char hear_party(party *p, int timeout_ms, int64_t *out_number);
void end_party(party *p); /* SIGKILL, and reaped */

#endif

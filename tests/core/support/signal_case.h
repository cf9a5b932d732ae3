/* SPDX-License-Identifier: MIT */
/*
 * signal_case.h -- what the tests of signals share: handles that must open,
 * waits in threads of their own.
 *
 *     hearing l;
 *     start_hearing(&l, LISTEN_ANY, signals, 2, 5000);
 *     await_waits("go", 1);
 *     ...
 *     assert_heard(ILK_OK, &l);
 */
#ifndef ILK__SIGNAL_CASE_H
#define ILK__SIGNAL_CASE_H

#include "lock_case.h"

typedef enum listen_mode { LISTEN_ANY, LISTEN_ALL } listen_mode;

typedef struct hearing {
    listen_mode mode;
    ilk_signal *const *signals;
    size_t count;
    int64_t timeout_ms;
    pthread_t thread;
    ilk_arrival *arrival;
    ilk_status status;
    ilk_error err;
    _Atomic int done;
} hearing;

ilk_signal *open_signal(ilk_client *client, const char *name);

/* Those who wait for a name, on the server; waits until they are n. */
void await_waits(const char *name, int n);

void start_hearing(hearing *l, listen_mode mode, ilk_signal *const *signals,
                   size_t count, int64_t timeout_ms);
/* Wait for its end, at most 30 s, and see how it ended. */
#define assert_heard(expected, l)                                              \
    assert_heard_at(expected, l, __FILE__, __LINE__)
void assert_heard_at(ilk_status expected, hearing *l, const char *file,
                     int line);
/* SIGUSR1, which the test has a handler for, until it is over: one signal may
   come when the thread is not asleep yet. */
void interrupt_hearing(hearing *l);
void free_hearing(hearing *l); /* and what it received */

/* "<which> <name>=<data>;" for each that came; valid until the next call. */
const char *heard(const ilk_arrival *arrival);

/* Give a signal of text; answers how many it reached. */
int64_t tell_one(ilk_signal *signal, const char *text);
int64_t report_all(ilk_signal *signal, const char *text);

#endif

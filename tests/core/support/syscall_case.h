/* SPDX-License-Identifier: MIT */
/*
 * syscall_case.h -- whole scenes in which the n-th system call of one kind
 * fails, for each kind, each way to fail and n = 1, 2, 3 ... until a scene
 * makes no more calls of that kind.
 *
 * Each run ends as it should or with a status and a text that name the cause,
 * and leaves no descriptor and no thread behind. A fault that is `hidden`, such
 * as EINTR, changes nothing; but a signal ends a wait that sleeps. Under
 * sanitizers a share of the calls fails.
 */
#ifndef ILK__SYSCALL_CASE_H
#define ILK__SYSCALL_CASE_H

#include "client_case.h"
#include "syscalls.h"

typedef struct call_scene {
    const char *name;
    void (*before)(void); /* no call fails yet; may be NULL */
    ilk_status (*run)(ilk_error *err);
    ilk_status expected; /* without a fault */
    int most;            /* of each kind only so many calls; 0: all */
    int sleeps_in_poll;  /* a signal ends its wait there */
} call_scene;

/* Common to a program's scenes, while no call fails. */
typedef struct call_stage {
    void (*set)(void); /* before the run, such as to open `client` */
    /* Nothing is left behind, and all works. `unharmed`: the run ended as
     * without a fault. */
    void (*check)(const call_scene *scene, int unharmed);
    void (*clear)(void); /* free what `set` opened */
} call_stage;

/* How many tests failed; what main() returns. AROUND_ALL is called around them. */
int run_call_scenes(const call_scene *scenes, size_t count,
                    const call_stage *stage);

/* How many more there are in this process than before the run. */
int descriptors_left(void);

/* On the server each key has a time to live, but those that begin like this. */
void assert_all_keys_end(const char *but);

#endif

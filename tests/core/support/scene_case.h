/* SPDX-License-Identifier: MIT */
/*
 * scene_case.h -- whole scenes in which the n-th allocation and all after it
 * fail, for n = 1, 2, 3 ... until a scene needs no more. Each is a test.
 *
 * Each ends as it should or with ILK_ENOMEM. Leaks are found by the address
 * sanitizer. The keeper allocates, too, so that n is not the same allocation
 * in every run.
 */
#ifndef ILK__SCENE_CASE_H
#define ILK__SCENE_CASE_H

#include "client_case.h"

typedef struct scene {
    const char *name;
    void (*before)(void); /* with memory; may be NULL */
    ilk_status (*run)(ilk_error *err);
    ilk_status expected; /* with memory */
    ilk_status instead;  /* also allowed without; 0: only ILK_ENOMEM */
} scene;

/* Common to a program's scenes, all with memory. */
typedef struct stage {
    void (*set)(void); /* an empty server, a new `client`; may be NULL */
    void (*check)(const scene *s); /* what was left behind; that all works */
    long least;                    /* allocations of a scene */
} stage;

/* How many failed; what main() returns. */
int run_scenes(const scene *scenes, size_t count, const stage *common);

#endif

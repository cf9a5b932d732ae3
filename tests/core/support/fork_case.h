/* SPDX-License-Identifier: MIT */
/*
 * fork_case.h -- what a test demands of a child process of its own.
 *
 *     pid = fork_now();
 *     if (pid == 0) {
 *         demand(ilk_lock_check(lock, NULL) == ILK_EFORKED);
 *         _exit(0);
 *     }
 *     assert_ends_well(pid);
 */
#ifndef ILK__FORK_CASE_H
#define ILK__FORK_CASE_H

#include "test.h"

#include <sys/types.h>
#include <unistd.h>

/* In a child: no assertions, the exit status says which line failed. */
#define demand(condition)                                                      \
    do {                                                                       \
        if (!(condition))                                                      \
            _exit(1 + __LINE__ % 250);                                         \
    } while (0)

pid_t fork_now(void); /* with nothing left in a buffer to be written twice */

/* Wait for its end; it must have left by _exit(0). */
#define assert_ends_well(pid) assert_ends_well_at(pid, __FILE__, __LINE__)
void assert_ends_well_at(pid_t pid, const char *file, int line);

#endif

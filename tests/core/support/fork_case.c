/* SPDX-License-Identifier: MIT */
/* fork_case.c -- what a test demands of a child process of its own. */
#include "fork_case.h"

#include <stdio.h>
#include <sys/wait.h>

pid_t fork_now(void)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    return pid;
}

void assert_ends_well_at(pid_t pid, const char *file, int line)
{
    int ended_as = -1;

    if (waitpid(pid, &ended_as, 0) != pid)
        print_error("the child cannot be waited for\n");
    else if (!WIFEXITED(ended_as))
        print_error("the child was ended by signal %d\n", WTERMSIG(ended_as));
    else if (WEXITSTATUS(ended_as) != 0)
        print_error("demand of line %d (modulo 250)\n",
                    WEXITSTATUS(ended_as) - 1);
    else
        return;
    _fail(file, line);
}

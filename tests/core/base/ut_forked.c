/* SPDX-License-Identifier: MIT */
/* ut_forked.c -- every child has a number of its own. */
#include "base/forked.h"

#include "fork_case.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { DEPTH = 3, THREADS = 8 };

static pid_t fork_by_clone(void)
{
#ifdef SYS_clone
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#else
    return fork();
#endif
}

/* Each generation differs from all before, also when one does not look. */
static void descend(pid_t (*fork_it)(void), uint32_t parents, int depth)
{
    pid_t pid = fork_it();
    int status;

    if (pid != 0) {
        demand(waitpid(pid, &status, 0) == pid && status == 0);
        return;
    }
    if (depth > 1) {
        uint32_t own = ilk__fork_generation();

        demand(own > parents && own == ilk__fork_generation());
        descend(fork_it, own, depth - 1);
    }
    _exit(0);
}

TEST(each_child_has_a_number_of_its_own)
{
    pid_t (*const forks[])(void) = {fork, fork_by_clone};
    uint32_t own = ilk__fork_generation();

    for (int i = 0; i < 2; i++) {
        pid_t pid = fork_now();

        if (pid == 0) {
            descend(forks[i], own, DEPTH);
            _exit(0);
        }
        assert_ends_well(pid);
    }
    assert_int_equal(own, ilk__fork_generation());
}

static void *read_generation(void *arg)
{
    *(uint32_t *)arg = ilk__fork_generation();
    return NULL;
}

TEST(threads_of_a_child_agree)
{
    uint32_t own = ilk__fork_generation(), seen[THREADS];
    pthread_t threads[THREADS];
    pid_t pid;

#ifdef __SANITIZE_THREAD__
    skip_because("ThreadSanitizer lets no child of threads start a thread");
#endif
    if ((pid = fork_now()) == 0) {
        for (int i = 0; i < THREADS; i++)
            demand(pthread_create(&threads[i], NULL, read_generation, &seen[i])
                   == 0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        for (int i = 0; i < THREADS; i++)
            demand(seen[i] != own && seen[i] == seen[0]);
        _exit(0);
    }
    assert_ends_well(pid);
}

static int setup(void)
{
    ilk__fork_watch();
    return 0;
}

AROUND_ALL(setup, NULL);

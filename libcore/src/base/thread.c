/* SPDX-License-Identifier: MIT */
/* thread.c -- starts the library's own threads. */
#include "thread.h"

#include <limits.h>
#include <signal.h>

int ilk__thread_start(pthread_t *out, const pthread_attr_t *attr,
                      void *(*run)(void *context), void *context)
{
    sigset_t all, before;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(out, attr, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

int ilk__thread_start_detached(size_t stack_bytes, void *(*run)(void *context),
                               void *context)
{
    pthread_attr_t attr;
    pthread_t thread;
    int error = pthread_attr_init(&attr);

    if (error != 0)
        return error;
#ifdef PTHREAD_STACK_MIN
    if (stack_bytes < (size_t)PTHREAD_STACK_MIN)
        stack_bytes = (size_t)PTHREAD_STACK_MIN;
#endif
    pthread_attr_setstacksize(&attr, stack_bytes);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    error = ilk__thread_start(&thread, &attr, run, context);
    pthread_attr_destroy(&attr);
    return error;
}

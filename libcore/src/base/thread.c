/* SPDX-License-Identifier: MIT */
#include "thread.h"

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

/* SPDX-License-Identifier: MIT */
/*
 * cancel.h -- no function of the library is a cancellation point.
 *
 * pthread_cancel() would end a thread inside of poll() or send(), while it
 * leads the lane or holds a mutex, and the whole client would stop. And since
 * glibc 2.41 it sends a signal to a thread in which cancellation is enabled, which
 * ends whatever system call the thread sleeps in. So each call of a function that
 * POSIX names a cancellation point, and each one that sleeps, is guarded:
 *
 *     int cancelling = ilk__cancel_disable();
 *
 *     n = poll(...);
 *     ilk__cancel_restore(cancelling);
 *
 * A cancellation then takes effect at the application's next cancellation
 * point. Both keep errno. close() has ilk__descriptor_close().
 */
#ifndef ILK__CANCEL_H
#define ILK__CANCEL_H

#include <pthread.h>

static inline int ilk__cancel_disable(void)
{
    int before = 0;

#ifdef PTHREAD_CANCEL_DISABLE /* Android's threads cannot be cancelled */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
#endif
    return before;
}

static inline void ilk__cancel_restore(int before)
{
#ifdef PTHREAD_CANCEL_DISABLE
    pthread_setcancelstate(before, NULL);
#else
    (void)before;
#endif
}

#endif

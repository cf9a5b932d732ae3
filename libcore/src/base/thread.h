/* SPDX-License-Identifier: MIT */
/* thread.h -- starts the library's own threads. */
#ifndef ILK__THREAD_H
#define ILK__THREAD_H

#include <pthread.h>
#include <stddef.h>

/* As pthread_create(), but all OS signals are blocked in the thread, so that the
 * program's threads get them. */
int ilk__thread_start(pthread_t *out, const pthread_attr_t *attr,
                      void *(*run)(void *context), void *context);

/* The same for a detached thread with a stack of at least so many bytes, for work that
 * may block and that its caller does not wait for. Returns 0 or an error number. */
int ilk__thread_start_detached(size_t stack_bytes, void *(*run)(void *context),
                               void *context);

#endif

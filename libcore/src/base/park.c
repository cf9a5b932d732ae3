/* SPDX-License-Identifier: MIT */
/*
 * park.c -- one thread sleeps, another wakes it, and a signal ends the sleep.
 *
 *     unpark: permit 0 -> 1, then wake       park: permit 1 -> 0, else sleep
 *
 * Only the permit decides whether park() returns ILK_OK; the futex or the pipe
 * merely ends the sleep. The permit is set, or with a pipe announced, before the
 * wake-up is sent, so no wake-up is lost. A late wake-up, whose permit has been
 * consumed, only makes park() check the permit once more.
 */
#include "park.h"

#include "cancel.h"
#include "clock.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/syscall.h>
#endif

#if defined(SYS_futex) && !defined(ILK_PARK_PIPE)
#include <limits.h>
#include <linux/futex.h>
#else
#define ILK__PIPE 1
#include "descriptor.h"

#include <poll.h>
#endif

enum {
    NO_PERMIT,
    PERMIT,
    WRITING /* where a pipe wakes: a permit soon, once the byte is written */
};

/* 0: there is one already. */
static int set_permit(ilk__parker *parker)
{
    return atomic_exchange_explicit(&parker->permit, PERMIT,
                                    memory_order_release)
           == NO_PERMIT;
}

#ifndef ILK__PIPE

ilk_status ilk__parker_init(ilk__parker *parker, ilk_error *err)
{
    (void)err;
    atomic_init(&parker->permit, 0);
    parker->fds[0] = parker->fds[1] = -1;
    parker->wake = NULL;
    return ILK_OK;
}

void ilk__parker_destroy(ilk__parker *parker)
{
    (void)parker;
}

/*
 * Sleep while there is no permit. 0: check the permit again; else an errno.
 * There is always a timeout: the kernel restarts a futex wait without one after
 * a handler that was installed with SA_RESTART, and nobody would notice the
 * signal. Cancellation is disabled, although this is no cancellation point: since
 * glibc 2.41 pthread_cancel() sends a thread in which it is enabled a signal, which
 * would end the wait.
 */
static int await_wakeup(ilk__parker *parker, int64_t deadline)
{
    int given_ms = ilk__poll_timeout(deadline);
    int wait_ms = given_ms < 0 ? INT_MAX : given_ms;
    struct {
        long sec, nsec; /* as SYS_futex reads it, also if time_t has 64 bits */
    } left = {wait_ms / 1000, wait_ms % 1000 * 1000000L};
    int cancelling = ilk__cancel_disable();
    long rc = syscall(SYS_futex, &parker->permit, FUTEX_WAIT_PRIVATE, 0, &left,
                      NULL, 0);

    ilk__cancel_restore(cancelling);
    return rc == 0 || errno == EAGAIN ? 0 : errno;
}

/* Once the permit is set, the owner may return and its parker may be gone. The
 * kernel then only gets an address at which nobody waits. */
static void wake_thread(ilk__parker *parker)
{
    if (set_permit(parker))
        syscall(SYS_futex, &parker->permit, FUTEX_WAKE_PRIVATE, 1, NULL, NULL,
                0);
}

#else

ilk_status ilk__parker_init(ilk__parker *parker, ilk_error *err)
{
    atomic_init(&parker->permit, 0);
    parker->wake = NULL;
    if (ilk__descriptor_pipe(parker->fds) == 0)
        return ILK_OK;
    return ilk__fail(err, ILK_ESYSTEM, "pipe: %s", strerror(errno));
}

void ilk__parker_destroy(ilk__parker *parker)
{
    for (int i = 0; i < 2; i++) {
        if (parker->fds[i] >= 0)
            ilk__descriptor_close(parker->fds[i]);
        parker->fds[i] = -1;
    }
}

static int await_wakeup(ilk__parker *parker, int64_t deadline)
{
    struct pollfd pfd = {.fd = parker->fds[0], .events = POLLIN};
    char bytes[64];
    int cancelling = ilk__cancel_disable(), error = 0;
    int n = poll(&pfd, 1, ilk__poll_timeout(deadline));

    if (n < 0)
        error = errno;
    else if (n == 0)
        error = ETIMEDOUT;
    while (n > 0 && read(parker->fds[0], bytes, sizeof bytes) == sizeof bytes)
        continue;
    ilk__cancel_restore(cancelling);
    return error;
}

/* The descriptor must not be closed before it is written to, so until then the
 * owner waits for the permit (ilk__parker_consume()). Setting it is the last use
 * of the parker here. */
static void wake_thread(ilk__parker *parker)
{
    uint32_t none = NO_PERMIT;
    int cancelling;
    ssize_t sent;

    if (!atomic_compare_exchange_strong(&parker->permit, &none, WRITING))
        return;
    cancelling = ilk__cancel_disable();
    sent = write(parker->fds[1], "", 1);
    (void)sent; /* if the pipe is full, it is readable anyway */
    ilk__cancel_restore(cancelling);
    atomic_store_explicit(&parker->permit, PERMIT, memory_order_release);
}

#endif

int ilk__parker_consume(ilk__parker *parker)
{
    uint32_t permit = PERMIT;

    while (!atomic_compare_exchange_weak_explicit(
               &parker->permit, &permit, NO_PERMIT, memory_order_acquire,
               memory_order_relaxed)
           && permit != NO_PERMIT) {
        if (permit == WRITING)
            sched_yield();
        permit = PERMIT;
    }
    return permit == PERMIT;
}

ilk_status ilk__park(ilk__parker *parker, int64_t deadline)
{
    int error = 0;

    for (;;) {
        if (ilk__parker_consume(parker))
            return ILK_OK;
        if (error == EINTR)
            return ILK_EINTR;
        if (error == ETIMEDOUT && ilk__poll_timeout(deadline) == 0)
            return ILK_ETIMEOUT;
        error = await_wakeup(parker, deadline);
    }
}

/* Once the permit is set, the owner may return and its parker may be gone: wake
 * is read before. */
void ilk__unpark(ilk__parker *parker)
{
    ilk__wake *wake = parker->wake;
    int saved = errno;

    if (!wake)
        wake_thread(parker);
    else if (set_permit(parker))
        wake->call(wake);
    errno = saved;
}

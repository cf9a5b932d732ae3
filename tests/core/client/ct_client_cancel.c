/* SPDX-License-Identifier: MIT */
/* ct_client_cancel.c -- pthread_cancel() in and between calls of the library.
 */
/* link: -Wl,--wrap=poll,--wrap=read,--wrap=write,--wrap=send,--wrap=recv,--wrap=connect,--wrap=close,--wrap=getrandom,--wrap=open,--wrap=openat,--wrap=nanosleep,--wrap=waitpid,--wrap=pthread_join,--wrap=syscall */
#include "lock_thread.h"
#include "started.h"

#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

AROUND_ALL(server_setup, server_teardown);

enum { FOLLOWERS = 4 };

/* ---- no cancellation point is reached ----------------------------------- */

static _Thread_local int watched; /* this thread is in a call of the library */
static atomic_int reached;
static const char *where;

static void meet(const char *name)
{
    int before;

    if (!watched)
        return;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    if (before != PTHREAD_CANCEL_DISABLE) {
        where = name;
        atomic_fetch_add(&reached, 1);
    }
    pthread_setcancelstate(before, NULL);
}

#define WRAP(type, name, declared, passed)                                     \
    type __real_##name declared;                                               \
    type __wrap_##name declared;                                               \
    type __wrap_##name declared                                                \
    {                                                                          \
        meet(#name);                                                           \
        return __real_##name passed;                                           \
    }

WRAP(int, poll, (struct pollfd * fds, nfds_t n, int ms), (fds, n, ms))
WRAP(ssize_t, read, (int fd, void *buf, size_t len), (fd, buf, len))
WRAP(ssize_t, write, (int fd, const void *buf, size_t len), (fd, buf, len))
WRAP(ssize_t, send, (int fd, const void *buf, size_t len, int flags),
     (fd, buf, len, flags))
WRAP(ssize_t, recv, (int fd, void *buf, size_t len, int flags),
     (fd, buf, len, flags))
WRAP(int, connect, (int fd, const struct sockaddr *to, socklen_t len),
     (fd, to, len))
WRAP(int, close, (int fd), (fd))
WRAP(ssize_t, getrandom, (void *buf, size_t len, unsigned flags),
     (buf, len, flags))
WRAP(int, open, (const char *path, int flags, mode_t mode), (path, flags, mode))
WRAP(int, openat, (int at, const char *path, int flags, mode_t mode),
     (at, path, flags, mode))
WRAP(int, nanosleep, (const struct timespec *pause, struct timespec *left),
     (pause, left))
WRAP(pid_t, waitpid, (pid_t pid, int *status, int flags), (pid, status, flags))
WRAP(int, pthread_join, (pthread_t thread, void **out), (thread, out))

#ifdef __linux__

/* Since glibc 2.41 a futex, too, is left where cancelling is enabled. */
long __real_syscall(long number, long a, long b, long c, long d, long e,
                    long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e,
                    long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    if (number == SYS_futex && (b & FUTEX_CMD_MASK) == FUTEX_WAIT)
        meet("futex");
    return __real_syscall(number, a, b, c, d, e, f);
}

#endif

/* Call it, watched. */
static void call(ilk_status expected, ilk_status got)
{
    watched = 0;
    assert_int_equal(expected, got);
    if (atomic_load(&reached))
        fail_msg("%s() was called and cancelling was enabled", where);
}
#define CALL(expected, expression) (watched = 1, call(expected, expression))

static void use_all(const char *url)
{
    ilk_client *client;
    ilk_lock *held, *waiting;
    ilk_signal *signal;
    ilk_notification note = {.size = sizeof note};
    ilk_op *op;
    int fd;

    CALL(ILK_OK, ilk_client_open(&client, url, NULL, NULL));
    CALL(ILK_OK, ilk_lock_open(&held, client, "n", 1, NULL, NULL));
    CALL(ILK_OK, ilk_lock_open(&waiting, client, "n", 1, NULL, NULL));
    CALL(ILK_OK, ilk_signal_open(&signal, client, "s", 1, NULL, NULL));
    CALL(ILK_OK, ilk_lock_acquire(held, 0, NULL));
    CALL(ILK_ETIMEOUT, ilk_lock_acquire(waiting, 50, NULL));
    CALL(ILK_OK, ilk_client_notification_fd(client, &fd, NULL));
    CALL(ILK_OK, ilk_lock_acquire_start(&op, waiting, 50, 0, NULL));
    while (ilk_op_status(op, NULL) == ILK_EAGAIN) {
        struct pollfd pfd = {.fd = fd, .events = POLLIN};

        poll(&pfd, 1, 100);
        watched = 1;
        while (ilk_client_next_notification(client, &note, NULL) == ILK_OK)
            continue;
        watched = 0;
    }
    CALL(ILK_ETIMEOUT, ilk_op_status(op, NULL));
    watched = 1;
    ilk_op_free(op);
    CALL(ILK_OK, ilk_lock_acquire_start(&op, waiting, -1, 0, NULL));
    CALL(ILK_OK, ilk_op_cancel(op, NULL));
    watched = 1;
    ilk_op_free(op);
    ilk_client_interrupt(client);
    ilk_signal_free(signal);
    ilk_lock_free(waiting);
    CALL(ILK_OK, ilk_lock_release(held, NULL));
    watched = 1;
    ilk_lock_free(held);
    ilk_client_free(client);
    CALL(ILK_OK, ILK_OK);
}

TEST(no_call_is_a_cancellation_point)
{
    use_all(fx.unix_url);
    use_all(fx.tcp_url);
    CALL(ILK_ECONN, ilk_client_open(&(ilk_client *){NULL},
                                    "redis://127.0.0.1:1", NULL, NULL));
}

TEST(nor_is_one_that_starts_a_server)
{
    ilk_server_info info = {.size = sizeof info};
    char dir[] = "/tmp/ilk-cancel-XXXXXX";
    char url[64];

    assert_non_null(mkdtemp(dir));
    snprintf(url, sizeof url, "embedded://%s/own", dir);
    use_all(url);
    CALL(ILK_OK, ilk_server_status(url, &info, NULL));
    CALL(ILK_OK, ilk_server_stop(url, 1000, NULL));
    fixture_remove(dir);
}

/* ---- cancelled threads leave the client whole --------------------------- */

typedef struct worker {
    ilk_lock *lock;
    int64_t timeout_ms;
    pthread_t thread;
    atomic_int status; /* -1: the call has not returned */
} worker;

static void *acquire_and_release(void *arg)
{
    worker *w = arg;

    atomic_store(&w->status, ilk_lock_acquire(w->lock, w->timeout_ms, NULL));
    ilk_lock_release(w->lock, NULL);
    pthread_testcancel();
    return NULL;
}

static void start_worker(worker *w, ilk_lock *lock, int64_t timeout_ms)
{
    w->lock = lock;
    w->timeout_ms = timeout_ms;
    atomic_init(&w->status, -1);
    assert_int_equal(pthread_create(&w->thread, NULL, acquire_and_release, w),
                     0);
}

/* It has been cancelled, and not before the call returned. */
static void assert_cancelled(worker *w, ilk_status expected)
{
    void *result = NULL;

    for (int64_t end = fixture_now_ms() + 30000;
         atomic_load(&w->status) < 0 && fixture_now_ms() < end;)
        fixture_sleep_ms(1);
    assert_int_equal(atomic_load(&w->status), expected);
    assert_int_equal(pthread_join(w->thread, &result), 0);
    assert_ptr_equal(result, PTHREAD_CANCELED);
}

TEST(a_cancelled_waiter_takes_its_turn_and_passes_it_on)
{
    ilk_client *client = open_client();
    ilk_lock *held = open_lock(client, "turn"), *locks[FOLLOWERS];
    worker workers[FOLLOWERS];
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire(held, 0, &err));
    for (int i = 0; i < FOLLOWERS; i++) {
        locks[i] = open_lock(client, "turn");
        start_worker(&workers[i], locks[i], -1);
        await_waiters("turn", i + 1);
    }
    for (int i = 0; i < FOLLOWERS; i++)
        assert_int_equal(pthread_cancel(workers[i].thread), 0);
    assert_status(ILK_OK, ilk_lock_release(held, &err));
    for (int i = 0; i < FOLLOWERS; i++) {
        assert_cancelled(&workers[i], ILK_OK);
        ilk_lock_free(locks[i]);
    }
    assert_status(ILK_OK, ilk_lock_acquire(held, patience(5000), &err));
    ilk_lock_free(held);
    ilk_client_free(client);
}

/* All wait for a reply of a server that stands still; one of them reads for
 * all. */
TEST(a_cancelled_leader_reads_on_for_the_others)
{
    ilk_client *client = open_client();
    ilk_lock *locks[FOLLOWERS], *after;
    worker workers[FOLLOWERS];
    ilk_error err = {0};
    char name[16];

    for (int i = 0; i < FOLLOWERS; i++) {
        snprintf(name, sizeof name, "own%d", i);
        locks[i] = open_lock(client, name);
    }
    assert_int_equal(fixture_pause(&fx), 0);
    for (int i = 0; i < FOLLOWERS; i++) {
        start_worker(&workers[i], locks[i], 0);
        fixture_sleep_ms(5); /* the first of them leads */
    }
    for (int i = 0; i < FOLLOWERS; i++)
        assert_int_equal(pthread_cancel(workers[i].thread), 0);
    assert_int_equal(fixture_resume(&fx), 0);
    for (int i = 0; i < FOLLOWERS; i++) {
        assert_cancelled(&workers[i], ILK_OK);
        ilk_lock_free(locks[i]);
    }
    after = open_lock(client, "own0");
    assert_status(ILK_OK, ilk_lock_acquire(after, patience(5000), &err));
    ilk_lock_free(after);
    ilk_client_free(client);
}

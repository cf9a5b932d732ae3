/* SPDX-License-Identifier: MIT */
/*
 * embedded_watcher.c -- a process that stops the server when its users ended
 * without detaching.
 *
 *     wait until `users` can be locked exclusively, and unlock it
 *     lock | a user? wait again : SHUTDOWN, until dead, release `watch` | unlock
 *
 * The kernel releases a user's lock on `users` in whatever way the user ends.
 * The watcher decides under `lock`. So a process that attaches meanwhile has either
 * joined before, and the watcher waits again, or it starts a new server afterwards.
 * Under `lock`, a locked file `watch` means that a watcher runs and will not
 * end before its server.
 *
 * The watcher is forked twice and never executes a program, because there is
 * none that every installation has. The parent may have had other threads, so
 * only async-signal-safe functions are called after the fork: no memory is
 * allocated, nothing is formatted, no mutex is locked.
 */
#include "embedded_watcher.h"

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "embedded_stop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 34)
#define ILK__GLIBC_2_34 1
#endif
#endif

enum {
    HOME_FD = 3, /* in the watcher; it has no other descriptors */
    WATCH_FD = 4,
    HIGH_FD = 16,
    STOP_MS = 5000,
    PAUSE_MS = 5000,
    SIGNALS = 65
};

/* ---- the watcher's process ---------------------------------------------- */

/* The path still leads to the directory that this watcher opened. Somebody may
 * have removed it, and the path may lead to the directory of a new server. */
static int is_in_place(const ilk__home *home)
{
    struct stat opened, named;

    return fstat(home->fd, &opened) == 0 && stat(home->path, &named) == 0
           && opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/* Open a file of the directory and wait for its exclusive lock. Exits when the
 * directory is gone. */
static int await_lock(const ilk__home *home, const char *file)
{
    int fd;

    do
        fd = openat(home->fd, file, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        _exit(1);
    while (flock(fd, LOCK_EX) != 0)
        if (errno != EINTR)
            _exit(1);
    return fd;
}

/* 1: the server has ended; 0: it does not stop. */
static int end_server(const ilk__home *home)
{
    char line[128];

    if (!is_in_place(home))
        return 1;
    return ilk__embedded_shutdown(home, ilk__deadline(STOP_MS), line,
                                  sizeof line)
           == 0;
}

static void watch(const ilk__home *home)
{
    for (;;) {
        int lock, everybody, ended = 0;

        ilk__descriptor_close(await_lock(home, "users"));
        lock = await_lock(home, "lock");
        everybody = ilk__home_try(home, "users", LOCK_EX);
        if (everybody >= 0) {
            ended = end_server(home);
            if (ended)
                ilk__descriptor_close(WATCH_FD);
            ilk__descriptor_close(everybody);
        }
        ilk__descriptor_close(lock);
        if (ended)
            return;
        if (everybody >= 0)
            poll(NULL, 0, PAUSE_MS); /* the server cannot save its data */
    }
}

/* The signal handlers are the program's. Called with all signals blocked. */
static void reset_signals(void)
{
    struct sigaction usual;
    sigset_t none;

    memset(&usual, 0, sizeof usual);
    usual.sa_handler = SIG_DFL;
    for (int number = 1; number < SIGNALS; number++)
        sigaction(number, &usual, NULL);
    usual.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &usual, NULL);
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
}

/* Close the program's descriptors, among them copies of its locks on `users`
 * and `lock`, and keep the two of the watcher. */
static void keep_two(int home_fd, int watch_fd)
{
    int nothing = open("/dev/null", O_RDWR);

    home_fd = fcntl(home_fd, F_DUPFD, HIGH_FD);
    watch_fd = fcntl(watch_fd, F_DUPFD, HIGH_FD);
    if (nothing < 0 || home_fd < 0 || watch_fd < 0)
        _exit(1);
    for (int fd = 0; fd < HOME_FD; fd++)
        dup2(nothing, fd);
    dup2(home_fd, HOME_FD);
    dup2(watch_fd, WATCH_FD);
#ifdef ILK__GLIBC_2_34
    closefrom(WATCH_FD + 1);
#else
    for (int fd = (int)sysconf(_SC_OPEN_MAX); --fd > WATCH_FD;)
        ilk__descriptor_close(fd);
#endif
}

static void watcher_main(const ilk__home *parents, int watch_fd)
{
    ilk__home home = *parents;

    keep_two(parents->fd, watch_fd);
    home.fd = HOME_FD;
    reset_signals();
    if (chdir("/") != 0) /* keep no file system busy */
        _exit(1);
#ifdef __linux__
    prctl(PR_SET_NAME, "interlock-watch");
#endif
    watch(&home);
    _exit(0);
}

/* ---- its start ---------------------------------------------------------- */

/* Fork without the program's atfork handlers, if the C library has such a function. */
static pid_t fork_quietly(void)
{
#ifdef ILK__GLIBC_2_34
    return _Fork();
#else
    return fork();
#endif
}

/* Write the watcher's process id into `watch`, for ilk__watcher_pid(). */
static int write_pid(int watch_fd, pid_t pid)
{
    char text[24];
    size_t at = sizeof text;

    text[--at] = '\n';
    for (; pid > 0; pid /= 10)
        text[--at] = (char)('0' + pid % 10);
    if (ftruncate(watch_fd, 0) != 0
        || pwrite(watch_fd, text + at, sizeof text - at, 0) < 0)
        return errno;
    return 0;
}

/* The first child ends at once, so that the watcher is no child of the
 * program's. Returns 0 or an errno. */
static int spawn(const ilk__home *home, int watch_fd)
{
    int status = 0;
    pid_t child = fork_quietly(), got;

    if (child < 0)
        return errno;
    if (child == 0) {
        pid_t watcher;

        setsid();
        watcher = fork_quietly();
        if (watcher == 0)
            watcher_main(home, watch_fd);
        _exit(watcher < 0 ? errno : write_pid(watch_fd, watcher));
    }
    do
        got = waitpid(child, &status, 0);
    while (got < 0 && errno == EINTR);
    return got == child && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

void ilk__watcher_start(const ilk__home *home)
{
    int fd = ilk__home_try(home, "watch", LOCK_EX);
    sigset_t all, before;
    int error;

    if (fd < 0 && errno == EWOULDBLOCK)
        return;
    error = errno;
    if (fd >= 0) {
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        error = spawn(home, fd);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (error != 0)
            ilk__home_unlock(fd);
        else
            ilk__descriptor_close(fd); /* the watcher's copy keeps the lock */
    }
    if (error != 0)
        ilk__log(ILK__LOG_WARN,
                 "embedded: no watcher for the server in %s: %s; it may "
                 "outlive its users",
                 home->path, strerror(error));
}

pid_t ilk__watcher_pid(const ilk__home *home)
{
    int fd = ilk__home_try(home, "watch", LOCK_SH);

    if (fd >= 0)
        ilk__home_unlock(fd);
    return fd < 0 && errno == EWOULDBLOCK ? ilk__home_pid(home, "watch") : 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * embedded.c -- a private server, started by the first process that needs it
 * and stopped by the last.
 *
 *     attach:  lock | join users | a watcher? else fork one
 *              | alive? else spawn | PING ... PONG | unlock
 *     detach:  lock | the last user? SHUTDOWN, until dead | leave users | unlock
 *
 * Every attachment opens `users` itself and holds a shared flock() on it, so
 * two attachments of the same process count as two. A forked child has a copy
 * of its parent's descriptor, and both refer to the same lock: the child only
 * closes its copy, and the parent's unlock releases the lock for both. The watcher
 * stops the server of users that end without detaching (embedded_watcher.h).
 */
#include "embedded.h"

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "embedded_command.h"
#include "embedded_orphans.h"
#include "embedded_spawn.h"
#include "embedded_stop.h"
#include "embedded_watcher.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DETACH_MS = 5000, REAP_MS = 1000, PROBE_MS = 1000 };

struct ilk__embedded {
    ilk__home home;
    int users;
    pid_t owner;
};

/* The process that we start: it makes the server a daemon, and ends. */
typedef struct starter {
    pid_t pid;   /* 0: not started, or reaped */
    int started; /* this attachment started a server */
    int status;  /* of waitpid() */
} starter;

/* Reap the starter if it has ended. ECHILD: the program itself reaped it. */
static void reap(starter *s)
{
    pid_t got;

    if (s->pid == 0)
        return;
    got = waitpid(s->pid, &s->status, WNOHANG);
    if (got == s->pid || (got < 0 && errno == ECHILD))
        s->pid = 0;
}

/* The starter ends as soon as the daemon runs. Wait for it, so that it does not
 * stay a zombie. */
static void await_starter(starter *s)
{
    int64_t deadline = ilk__deadline(REAP_MS);

    while (reap(s), s->pid != 0 && ilk__poll_timeout(deadline) != 0)
        ilk__home_nap();
}

/* Attaching failed: a starter that still runs did not become a daemon, and is
 * perhaps no server program at all. */
static void kill_starter(starter *s)
{
    reap(s);
    if (s->pid == 0)
        return;
    kill(s->pid, SIGKILL);
    while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    s->pid = 0;
}

static ilk_status start_failed(const ilk__home *home, const starter *s,
                               ilk_error *err)
{
    if (WIFEXITED(s->status) && WEXITSTATUS(s->status) != 0)
        return ilk__fail(err, ILK_ECONN,
                         "embedded: the server ended with status %d; see "
                         "%s/log",
                         WEXITSTATUS(s->status), home->path);
    return ilk__fail(err, ILK_ECONN,
                     "embedded: the server ended at once; see %s/log",
                     home->path);
}

/* A server that runs although `alive` can be locked: somebody has removed the file. A
 * second server would give away what the first one's users hold. */
static int is_there(const ilk__home *home, int64_t deadline)
{
    char line[8];
    const int error =
        ilk__embedded_command(home->socket, "PING", line, sizeof line,
                              ilk__sooner(deadline, ilk__deadline(PROBE_MS)));

    return error == 0 || error == ETIMEDOUT;
}

/* Start a server unless one is alive. Called repeatedly, until the server
 * replies. If `alive` can be locked, no server runs; if this attachment has started
 * one before, that one has ended, which is the failure. */
static ilk_status ensure(const ilk__home *home, starter *s, int64_t deadline,
                         ilk_error *err)
{
    ilk_status st;
    int alive;

    reap(s);
    alive = ilk__home_try(home, "alive", LOCK_EX);
    if (alive < 0 && errno == EWOULDBLOCK)
        return ILK_OK;
    if (alive < 0)
        return ilk__fail(err, ILK_ESYSTEM, "embedded: %s/alive: %s", home->path,
                         strerror(errno));
    if (s->started) {
        await_starter(s); /* an ending process first releases its locks */
        st = start_failed(home, s, err);
    } else if (is_there(home, deadline)) {
        st = ILK_OK;
    } else {
        /* The server would follow a symbolic link when it writes `pid`. */
        unlinkat(home->fd, "pid", 0);
        unlinkat(home->fd, "socket", 0);
        st = ilk__program_spawn(home, alive, &s->pid, err);
        s->started = st == ILK_OK;
        if (s->started) { /* the server has a copy of the lock */
            ilk__descriptor_close(alive);
            return st;
        }
    }
    ilk__home_unlock(alive);
    return st;
}

static ilk_status bring_up(const ilk__home *home, starter *s, int64_t deadline,
                           ilk_error *err)
{
    char line[128];
    ilk_status st;
    int error;

    for (;;) {
        if ((st = ensure(home, s, deadline, err)) != ILK_OK)
            return st;
        error = ilk__embedded_command(home->socket, "PING", line, sizeof line,
                                      deadline);
        if (error == 0 && strcmp(line, "+PONG") == 0)
            return ILK_OK;
        if (error == 0 && line[0] != '\0' && strncmp(line, "-LOADING", 8) != 0)
            return ilk__fail(err, ILK_ECONN,
                             "embedded: the server in %s answers \"%.60s\"",
                             home->path, line);
        if (error == ILK__ERROR_FOREIGN)
            return ilk__fail(err, ILK_ECONN,
                             "embedded: the server in %s runs as another user",
                             home->path);
        if (ilk__poll_timeout(deadline) == 0)
            return ilk__fail(
                err, ILK_ECONN,
                "embedded: the server in %s does not answer: %s", home->path,
                error == 0 ? "it is loading its data" : strerror(error));
        ilk__home_nap();
    }
}

/* The watcher locks `users` exclusively, for a moment, when it finds no user. */
static ilk_status join_users(ilk__embedded *embedded, int64_t deadline,
                             ilk_error *err)
{
    for (;;) {
        embedded->users = ilk__home_try(&embedded->home, "users", LOCK_SH);
        if (embedded->users >= 0)
            return ILK_OK;
        if (errno != EWOULDBLOCK || ilk__poll_timeout(deadline) == 0)
            return ilk__fail(err, ILK_ESYSTEM, "embedded: %s/users: %s",
                             embedded->home.path, strerror(errno));
        ilk__home_nap();
    }
}

/* The server has loaded what its last user saved. If it crashes, its successor must not
 * load that again: it has messages that are done, and locks that were released. */
static void forget_saved(const ilk__home *home)
{
    if (!home->persistent)
        unlinkat(home->fd, "dump.rdb", 0);
}

static ilk_status join(ilk__embedded *embedded, int64_t deadline,
                       ilk_error *err)
{
    starter s = {.pid = 0};
    ilk_status st;
    int lock;

    if ((st = ilk__home_lock(&embedded->home, deadline, &lock, err)) != ILK_OK)
        return st;
    st = join_users(embedded, deadline, err);
    if (st == ILK_OK) {
        ilk__watcher_start(&embedded->home);
        st = bring_up(&embedded->home, &s, deadline, err);
    }
    if (st == ILK_OK)
        await_starter(&s);
    else
        kill_starter(&s);
    ilk__orphans_reap();
    if (st == ILK_OK) {
        forget_saved(&embedded->home);
        ilk__orphans_add(ilk__home_pid(&embedded->home, "pid"));
        ilk__orphans_add(ilk__watcher_pid(&embedded->home));
    }
    ilk__home_unlock(lock);
    return st;
}

ilk_status ilk__embedded_attach(ilk__embedded **out, const char *dir,
                                int64_t deadline, ilk_error *err)
{
    ilk__embedded *embedded = ilk__calloc(1, sizeof *embedded);
    ilk_status st;
    int cancelling;

    *out = NULL;
    if (embedded == NULL)
        return ilk__fail(err, ILK_ENOMEM, "no memory for an embedded server");
    embedded->users = -1;
    embedded->owner = getpid();
    cancelling = ilk__cancel_disable();
    st = ilk__home_open(&embedded->home, dir, 1, err);
    if (st == ILK_OK)
        st = join(embedded, deadline, err);
    ilk__cancel_restore(cancelling);
    if (st == ILK_OK)
        *out = embedded;
    else
        ilk__embedded_abandon(embedded);
    return st;
}

const char *ilk__embedded_socket(const ilk__embedded *embedded)
{
    return embedded->home.socket;
}

/*
 * Reap a process that has just ended, or is about to. Server and watcher have lost
 * their parents, so process 1 or a subreaper reaps them, which this process may be.
 * If it is neither, the result is ECHILD at once. A process that takes longer is
 * reaped later.
 */
static void reap_orphan(pid_t pid)
{
    int64_t deadline = ilk__deadline(REAP_MS);

    while (pid > 0 && waitpid(pid, NULL, WNOHANG) == 0) {
        if (ilk__poll_timeout(deadline) == 0) {
            ilk__orphans_add(pid);
            return;
        }
        ilk__home_nap();
    }
}

/*
 * Whether this is the last user; `users` is locked exclusively then. Called under
 * `lock`. flock() converts a shared lock by releasing it first, so the watcher, which
 * waits for the exclusive lock, may get it in between. It releases it at once, and
 * then waits for `lock`: so only other users can make the second attempt fail.
 */
static int is_last(int users, int64_t deadline)
{
    while (flock(users, LOCK_EX | LOCK_NB) != 0) {
        if (flock(users, LOCK_SH | LOCK_NB) == 0)
            return flock(users, LOCK_EX | LOCK_NB) == 0;
        if (ilk__poll_timeout(deadline) == 0)
            return 0;
        ilk__home_nap();
    }
    return 1;
}

/* The last user stops the server, before another can attach. */
static void leave(ilk__embedded *embedded)
{
    const ilk__home *home = &embedded->home;
    ilk_error err = {.msg = ""};
    int64_t deadline = ilk__deadline(DETACH_MS);
    pid_t server = 0, watcher = 0;
    int lock;

    if (ilk__home_lock(home, deadline, &lock, &err) != ILK_OK) {
        ilk__log(ILK__LOG_WARN, "%s", err.msg);
        lock = -1;
    } else if (is_last(embedded->users, deadline)) {
        server = ilk__home_alive(home) ? ilk__home_pid(home, "pid") : 0;
        watcher = ilk__watcher_pid(home);
        if (ilk__embedded_stop(home, deadline, &err) != ILK_OK) {
            ilk__log(ILK__LOG_WARN, "%s", err.msg);
            server = watcher = 0;
        }
    }
    flock(embedded->users, LOCK_UN); /* also releases a forked child's copy */
    if (lock >= 0)
        ilk__home_unlock(lock);
    reap_orphan(server);
    reap_orphan(watcher);
    ilk__orphans_reap();
}

void ilk__embedded_detach(ilk__embedded *embedded)
{
    int cancelling;

    if (embedded == NULL)
        return;
    cancelling = ilk__cancel_disable();
    if (embedded->owner == getpid())
        leave(embedded);
    ilk__cancel_restore(cancelling);
    ilk__embedded_abandon(embedded);
}

void ilk__embedded_abandon(ilk__embedded *embedded)
{
    if (embedded == NULL)
        return;
    if (embedded->users >= 0)
        ilk__descriptor_close(embedded->users);
    ilk__home_close(&embedded->home);
    ilk__free(embedded);
}

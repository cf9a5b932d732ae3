/* SPDX-License-Identifier: MIT */
/*
 * embedded.c -- a private server, started by the first process that needs it
 * and stopped by the last.
 *
 *     attach:  lock | join users | alive? else spawn | PING ... PONG | unlock
 *     detach:  lock | leave users | no user left? SHUTDOWN, until dead | unlock
 *
 * Every attachment opens `users` itself and holds a shared flock() on it, so
 * two attachments of the same process count as two. A forked child has a copy
 * of its parent's descriptor, and both refer to the same lock: the child only
 * closes its copy, and the parent's unlock releases the lock for both.
 */
#include "embedded.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "embedded_spawn.h"
#include "embedded_stop.h"
#include "embedded_talk.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DETACH_MS = 5000, REAP_MS = 1000 };

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

/* Start a server unless one is alive. Called repeatedly, until the server
 * answers. Being able to lock `alive` means that no server runs: if we have
 * started one before, it ended, and that is the failure. */
static ilk_status ensure(const ilk__home *home, starter *s, ilk_error *err)
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
    } else {
        unlink(home->socket);
        st = ilk__program_spawn(home, alive, &s->pid, err);
        s->started = st == ILK_OK;
    }
    close(alive);
    return st;
}

static ilk_status bring_up(const ilk__home *home, starter *s, int64_t deadline,
                           ilk_error *err)
{
    char line[128];
    ilk_status st;
    int error;

    for (;;) {
        if ((st = ensure(home, s, err)) != ILK_OK)
            return st;
        error = ilk__talk(home->socket, "PING", line, sizeof line, deadline);
        if (error == 0 && strcmp(line, "+PONG") == 0)
            return ILK_OK;
        if (error == 0 && line[0] != '\0' && strncmp(line, "-LOADING", 8) != 0)
            return ilk__fail(err, ILK_ECONN,
                             "embedded: the server in %s answers \"%.60s\"",
                             home->path, line);
        if (ilk__poll_timeout(deadline) == 0)
            return ilk__fail(
                err, ILK_ECONN, "embedded: the server in %s does not answer%s",
                home->path, error == 0 ? ", it is loading its data" : "");
        ilk__home_nap();
    }
}

static ilk_status join(ilk__embedded *embedded, int64_t deadline,
                       ilk_error *err)
{
    starter s = {.pid = 0};
    ilk_status st;
    int lock;

    if ((st = ilk__home_lock(&embedded->home, deadline, &lock, err)) != ILK_OK)
        return st;
    embedded->users = ilk__home_try(&embedded->home, "users", LOCK_SH);
    if (embedded->users < 0)
        st = ilk__fail(err, ILK_ESYSTEM, "embedded: %s/users: %s",
                       embedded->home.path, strerror(errno));
    else
        st = bring_up(&embedded->home, &s, deadline, err);
    if (st == ILK_OK)
        await_starter(&s);
    else
        kill_starter(&s);
    close(lock);
    return st;
}

ilk_status ilk__embedded_attach(ilk__embedded **out, const char *dir,
                                int64_t deadline, ilk_error *err)
{
    ilk__embedded *embedded = ilk__calloc(1, sizeof *embedded);
    ilk_status st;

    *out = NULL;
    if (embedded == NULL)
        return ilk__fail(err, ILK_ENOMEM, "no memory for an embedded server");
    embedded->users = -1;
    embedded->owner = getpid();
    st = ilk__home_open(&embedded->home, dir, 1, err);
    if (st == ILK_OK)
        st = join(embedded, deadline, err);
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

static void leave(ilk__embedded *embedded)
{
    ilk_error err = {.msg = ""};
    int64_t deadline = ilk__deadline(DETACH_MS);
    int lock, everybody;

    if (ilk__home_lock(&embedded->home, deadline, &lock, &err) != ILK_OK) {
        ilk__log(ILK__LOG_WARN, "%s", err.msg);
        lock = -1;
    }
    flock(embedded->users, LOCK_UN); /* also releases a forked child's copy */
    if (lock < 0)
        return;
    everybody = ilk__home_try(&embedded->home, "users", LOCK_EX);
    if (everybody >= 0) {
        if (ilk__embedded_stop(&embedded->home, deadline, &err) != ILK_OK)
            ilk__log(ILK__LOG_WARN, "%s", err.msg);
        close(everybody);
    }
    close(lock);
}

void ilk__embedded_detach(ilk__embedded *embedded)
{
    if (embedded == NULL)
        return;
    if (embedded->owner == getpid())
        leave(embedded);
    ilk__embedded_abandon(embedded);
}

void ilk__embedded_abandon(ilk__embedded *embedded)
{
    if (embedded == NULL)
        return;
    if (embedded->users >= 0)
        close(embedded->users);
    ilk__home_close(&embedded->home);
    ilk__free(embedded);
}

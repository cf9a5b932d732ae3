/* SPDX-License-Identifier: MIT */
/* embedded_spawn.c -- finds a server program and starts it. */
#include "embedded_spawn.h"

#include "base/descriptor.h"
#include "base/environment.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __APPLE__ /* shared libraries there cannot link to environ */
#include <crt_externs.h>
#define environ (*_NSGetEnviron())
#else
extern char **environ;
#endif

#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 34)
#define ILK__CLOSEFROM 1
#endif
#endif

enum { ALIVE_FD = 3, HIGH_FD = 16, FDS_MAX = 1024 };

static int is_program(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode)
           && access(path, X_OK) == 0;
}

/* Look for name in PATH; a name with a slash is used as it is. */
static int find(char out[ILK__PROGRAM_MAX], const char *name)
{
    const char *at = ilk__environment("PATH");
    size_t len;
    int n;

    if (strchr(name, '/') != NULL) {
        n = snprintf(out, ILK__PROGRAM_MAX, "%s", name);
        return n < ILK__PROGRAM_MAX && is_program(out);
    }
    if (at == NULL)
        at = "/usr/local/bin:/usr/bin:/bin";
    for (; *at != '\0'; at += len + (at[len] == ':')) {
        len = strcspn(at, ":");
        n = snprintf(out, ILK__PROGRAM_MAX, "%.*s/%s", (int)len, at, name);
        if (*at == '/' && n < ILK__PROGRAM_MAX && is_program(out))
            return 1;
    }
    return 0;
}

ilk_status ilk__program_find(char out[ILK__PROGRAM_MAX], ilk_error *err)
{
    const char *chosen = ilk__environment("INTERLOCK_SERVER");

    if (chosen != NULL && *chosen != '\0') {
        if (find(out, chosen))
            return ILK_OK;
        out[0] = '\0';
        return ilk__fail(err, ILK_ECONN,
                         "embedded: INTERLOCK_SERVER names no program: %s",
                         chosen);
    }
    if (find(out, "redis-server") || find(out, "valkey-server"))
        return ILK_OK;
    out[0] = '\0';
    return ilk__fail(err, ILK_ECONN,
                     "embedded: neither redis-server nor valkey-server is in "
                     "PATH; install one, or set INTERLOCK_URL");
}

/* Do not let the server inherit the program's other descriptors. */
static int close_others(posix_spawn_file_actions_t *actions)
{
#ifdef ILK__CLOSEFROM
    return posix_spawn_file_actions_addclosefrom_np(actions, ALIVE_FD + 1);
#else
    int error = 0;

    for (int fd = ALIVE_FD + 1; fd < FDS_MAX && error == 0; fd++) {
        int flags = fcntl(fd, F_GETFD);

        if (flags >= 0 && (flags & FD_CLOEXEC) == 0)
            error = posix_spawn_file_actions_addclose(actions, fd);
    }
    return error;
#endif
}

static int set_files(posix_spawn_file_actions_t *actions, const char *log,
                     int alive_fd)
{
    const int log_flags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW;
    int error;

    error =
        posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    if (error == 0)
        error =
            posix_spawn_file_actions_addopen(actions, 1, log, log_flags, 0600);
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(actions, 1, 2);
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(actions, alive_fd, ALIVE_FD);
    return error == 0 ? close_others(actions) : error;
}

/* Block no signals in the server, and reset the dispositions that it would
 * inherit from the program. */
static int set_signals(posix_spawnattr_t *attr)
{
    static const int usual[] = {SIGCHLD, SIGHUP,  SIGINT,  SIGTERM,
                                SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2};
    sigset_t none, defaults;
    int error;

    sigemptyset(&none);
    sigemptyset(&defaults);
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
        sigaddset(&defaults, usual[i]);
    error = posix_spawnattr_setsigmask(attr, &none);
    if (error == 0)
        error = posix_spawnattr_setsigdefault(attr, &defaults);
    if (error == 0)
        error = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK
                                                   | POSIX_SPAWN_SETSIGDEF);
    return error;
}

static int spawn(pid_t *out_pid, const char *program, const char *const *argv,
                 const char *log, int alive_fd)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    int error;

    if ((error = posix_spawn_file_actions_init(&actions)) != 0)
        return error;
    if ((error = posix_spawnattr_init(&attr)) == 0) {
        error = set_files(&actions, log, alive_fd);
        if (error == 0)
            error = set_signals(&attr);
        if (error == 0) /* posix_spawn() does not write to argv */
            error = posix_spawn(out_pid, program, &actions, &attr,
                                (char *const *)(uintptr_t)argv, environ);
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

ilk_status ilk__program_spawn(const ilk__home *home, int alive_fd,
                              pid_t *out_pid, ilk_error *err)
{
    char program[ILK__PROGRAM_MAX];
    char log[ILK__SOCKET_MAX + 8], pid[ILK__SOCKET_MAX + 8];
    /* Without --pidfile a daemon would write the system's pid file. */
    const char *argv[] = {program,
                          "--port",
                          "0",
                          "--unixsocket",
                          home->socket,
                          "--unixsocketperm",
                          "700",
                          "--dir",
                          home->path,
                          "--logfile",
                          log,
                          "--pidfile",
                          pid,
                          "--daemonize",
                          "yes",
                          "--save",
                          "",
                          "--appendonly",
                          home->persistent ? "yes" : "no",
                          NULL};
    ilk_status st;
    int high, error;

    if ((st = ilk__program_find(program, err)) != ILK_OK)
        return st;
    snprintf(log, sizeof log, "%s/log", home->path);
    snprintf(pid, sizeof pid, "%s/pid", home->path);

    /* Not 0 to 3, which the file actions overwrite in the new process. */
    high = fcntl(alive_fd, F_DUPFD_CLOEXEC, HIGH_FD);
    if (high < 0)
        return ilk__fail(err, ILK_ESYSTEM, "embedded: %s", strerror(errno));
    error = spawn(out_pid, program, argv, log, high);
    ilk__descriptor_close(high);
    if (error != 0)
        return ilk__fail(err, ILK_ECONN, "embedded: cannot start %s: %s",
                         program, strerror(error));
    ilk__log(ILK__LOG_INFO, "embedded: started %s in %s", program, home->path);
    return ILK_OK;
}

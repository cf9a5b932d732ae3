/* SPDX-License-Identifier: MIT */
/*
 * descendants.c -- find the processes below this one in /proc, and signal them.
 *
 * The list of processes is read once: the pid and the parent of each. A process
 * is a descendant if the way from parent to parent leads here. One that starts
 * while the list is read is missed, so callers that must reach all of them
 * repeat the call until none is left.
 */
#include "descendants.h"

#ifdef __linux__

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NAME_MAX_LEN = 32, DEPTH_MAX = 10000 };

/* The watcher of an embedded server, by the name that the library gives it. It
 * belongs to all users of the server, not to the CMD that needed it first. */
static const char WATCHER[] = "interlock-watch";

struct process {
    pid_t pid, parent;
};

struct processes {
    struct process *all;
    size_t count, room;
};

int cli_descendants_adopt(void)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
}

/* ---- reading ------------------------------------------------------------ */

/*
 * The stat file of a process begins "pid (name) state parent", and the name may
 * contain anything. Returns the state, 0 if the process is gone.
 */
static char read_stat(int dir, char name[NAME_MAX_LEN], pid_t *out_parent)
{
    char text[512], *from, *to;
    int fd = openat(dir, "stat", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

    if (fd >= 0)
        close(fd);
    if (got <= 0)
        return 0;
    text[got] = '\0';
    from = strchr(text, '(');
    to = strrchr(text, ')');
    if (!from || !to || strlen(to) < sizeof ") S 1" - 1)
        return 0;
    *to = '\0';
    snprintf(name, NAME_MAX_LEN, "%s", from + 1);
    *out_parent = (pid_t)strtol(to + sizeof ") S" - 1, NULL, 10);
    return to[2];
}

static int add(struct processes *list, pid_t pid, pid_t parent)
{
    if (list->count == list->room) {
        size_t room = list->room ? list->room * 2 : 256;
        void *all = realloc(list->all, room * sizeof *list->all);

        if (!all)
            return 0;
        list->all = all;
        list->room = room;
    }
    list->all[list->count++] = (struct process){pid, parent};
    return 1;
}

static int by_pid(const void *a, const void *b)
{
    const struct process *x = a, *y = b;

    return (x->pid > y->pid) - (x->pid < y->pid);
}

static int open_process(int proc, const char *pid)
{
    return openat(proc, pid, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void read_all(struct processes *list, DIR *proc, int at)
{
    struct dirent *entry;
    char name[NAME_MAX_LEN];
    pid_t parent;
    int dir;

    while ((entry = readdir(proc)) != NULL) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        dir = open_process(at, entry->d_name);
        if (dir < 0)
            continue;
        if (read_stat(dir, name, &parent) && strcmp(name, WATCHER) != 0
            && !add(list, (pid_t)strtol(entry->d_name, NULL, 10), parent))
            cli_say("out of memory");
        close(dir);
    }
    if (list->count)
        qsort(list->all, list->count, sizeof *list->all, by_pid);
}

/* The list is no snapshot, so a circle of parents is possible, and is no way. */
static int is_below(const struct processes *list, pid_t pid, pid_t self,
                    pid_t spared)
{
    for (int depth = 0; depth < DEPTH_MAX && pid != spared; depth++) {
        struct process key = {pid, 0}, *found;

        if (pid == self)
            return depth > 0;
        if (pid <= 1 || !list->count)
            return 0;
        found =
            bsearch(&key, list->all, list->count, sizeof *list->all, by_pid);
        if (!found)
            return 0;
        pid = found->parent;
    }
    return 0;
}

/* ---- signalling --------------------------------------------------------- */

/* A descriptor of /proc/PID stands for that process even after its pid was
   given to another one; kernels without this system call get the pid. */
static int send_to(int dir, pid_t pid, int number)
{
#ifdef SYS_pidfd_send_signal
    if (syscall(SYS_pidfd_send_signal, dir, number, NULL, 0) == 0)
        return 0;
    if (errno == ESRCH)
        return -1;
#endif
    (void)dir;
    return kill(pid, number);
}

static void signal_one(struct cli_sweep *sweep, int proc, pid_t pid, int number)
{
    char text[16], name[NAME_MAX_LEN], state;
    pid_t parent;
    int dir;

    snprintf(text, sizeof text, "%d", (int)pid);
    dir = open_process(proc, text);
    if (dir < 0)
        return;
    state = read_stat(dir, name, &parent);
    if (state && state != 'Z' && state != 'X') {
        sweep->found++;
        if (send_to(dir, pid, number) != 0 && errno == EPERM) {
            sweep->not_signalled++;
            if (sweep->names)
                cli_say("process %d (%s) may not be ended", (int)pid, name);
        }
    }
    close(dir);
}

void cli_descendants_signal(struct cli_sweep *sweep, int number)
{
    struct processes list = {NULL, 0, 0};
    DIR *proc = opendir("/proc");
    int at = proc ? dirfd(proc) : -1;
    pid_t self = getpid();

    sweep->found = sweep->not_signalled = 0;
    if (at >= 0)
        read_all(&list, proc, at);
    for (size_t i = 0; i < list.count; i++) {
        pid_t pid = list.all[i].pid;

        if (is_below(&list, pid, self, sweep->spared)
            && !(sweep->skips_group && getpgid(pid) == getpgrp()))
            signal_one(sweep, at, pid, number);
    }
    free(list.all);
    if (proc)
        closedir(proc);
}

#else

int cli_descendants_adopt(void)
{
    return 0;
}

void cli_descendants_signal(struct cli_sweep *sweep, int number)
{
    (void)number;
    sweep->found = sweep->not_signalled = 0;
}

#endif

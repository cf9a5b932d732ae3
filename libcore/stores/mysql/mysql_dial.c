/* SPDX-License-Identifier: MIT */
/* mysql_dial.c -- connects and logs in over TLS, in a thread of its own. */
#include "mysql_dial.h"
#include "mysql_reads.h"

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/pollable.h"
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STACK_BYTES = 512 * 1024 };

struct ilk__mysql_dial {
    atomic_int owners; /* 1 or 2: the caller, and the thread while it runs */
    atomic_int done;   /* the thread sets it last; then the result is final */
    pid_t pid;         /* of the process in which the thread runs */
    ilk__pollable wakeup;
    MYSQL *mysql; /* NULL: the caller has it */
    ilk__mysql_frames frames;
    atomic_int socket; /* a second descriptor for it, -1: none yet */
    int is_connected;
    int64_t until;
    char *host, *user, *password, *database;
    int port;
};

/* Of the thread that connects; the library's hook has no argument for it. */
static _Thread_local ilk__mysql_dial *dialling;

static void unref(ilk__mysql_dial *dial)
{
    if (atomic_fetch_sub(&dial->owners, 1) > 1)
        return;
    if (dial->mysql)
        mysql_close(dial->mysql);
    if (dial->password)
        ilk__wipe(dial->password, strlen(dial->password));
    ilk__free(dial->password);
    ilk__free(dial->host);
    ilk__free(dial->user);
    ilk__free(dial->database);
    if (atomic_load(&dial->socket) >= 0)
        close(atomic_load(&dial->socket));
    ilk__pollable_close(&dial->wakeup);
    ilk__free(dial);
}

/* The handshake waits in recv() for each piece of it, so a server that sends it byte by
 * byte could keep the thread. The caller shuts the socket down by this descriptor. */
static void note_socket(my_socket fd, int is_next)
{
    const int noted = atomic_load(&dialling->socket);

    if (noted < 0)
        atomic_store(&dialling->socket, fcntl(fd, F_DUPFD_CLOEXEC, 0));
    else if (is_next && dup2(fd, noted) >= 0) /* of the next address */
        (void)fcntl(noted, F_SETFD, FD_CLOEXEC);
}

/* The library's hook, in place of a poll() that may have no end. */
static int wait_for_socket(my_socket fd, my_bool is_read, int timeout_ms)
{
    struct pollfd one = {.fd = fd, .events = is_read ? POLLIN : POLLOUT};
    int64_t left;
    int ready;

    (void)timeout_ms;
    note_socket(fd, !is_read);
    do {
        left = dialling->until - ilk__now_ms();
        if (left <= 0) {
            errno = ETIMEDOUT;
            return 0;
        }
        ready = poll(&one, 1, left < INT_MAX ? (int)left : INT_MAX);
    } while (ready == 0 || (ready < 0 && errno == EINTR));
    return ready;
}

static void set_hook(MYSQL *mysql, int (*hook)(my_socket, my_bool, int))
{
    mysql_options(mysql, MARIADB_OPT_IO_WAIT, (const void *)(uintptr_t)hook);
}

static void *thread_main(void *arg)
{
    ilk__mysql_dial *dial = arg;
    int cancelling = ilk__cancel_disable();

    dialling = dial;
    set_hook(dial->mysql, wait_for_socket);
    ilk__mysql_reads_check(dial->mysql, &dial->frames, dial->until);
    dial->is_connected =
        mysql_real_connect(dial->mysql, dial->host, dial->user, dial->password,
                           dial->database, (unsigned)dial->port, NULL,
                           CLIENT_FOUND_ROWS)
        != NULL;
    ilk__mysql_reads_left();
    set_hook(dial->mysql, NULL);
    ilk__cancel_restore(cancelling);
    atomic_store(&dial->done, 1);
    ilk__pollable_raise(&dial->wakeup);
    unref(dial);
    return NULL;
}

static ilk_status copy_target(ilk__mysql_dial *dial,
                              const ilk__mysql_target *target, ilk_error *err)
{
    dial->host = ilk__strdup(target->host);
    dial->user = ilk__strdup(target->user);
    dial->password = ilk__strdup(target->password);
    dial->database = ilk__strdup(target->database);
    dial->port = target->port;
    return dial->host && dial->user && dial->password && dial->database
               ? ILK_OK
               : ilk__fail(err, ILK_ENOMEM, "out of memory");
}

ilk_status ilk__mysql_dial_start(ilk__mysql_dial **out, MYSQL *mysql,
                                 const ilk__mysql_target *target, int64_t until,
                                 ilk_error *err)
{
    ilk__mysql_dial *dial = ilk__calloc(1, sizeof *dial);
    ilk_status st;
    int error;

    *out = NULL;
    if (!dial) {
        mysql_close(mysql);
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    }
    dial->mysql = mysql;
    dial->until = until;
    ilk__mysql_frames_begin(&dial->frames, target->methods);
    atomic_init(&dial->socket, -1);
    dial->wakeup.fds[0] = dial->wakeup.fds[1] = -1;
    dial->pid = getpid();
    atomic_init(&dial->owners, 1);
    atomic_init(&dial->done, 0);
    st = copy_target(dial, target, err);
    if (st == ILK_OK)
        st = ilk__pollable_open(&dial->wakeup, err);
    if (st == ILK_OK) {
        atomic_store(&dial->owners, 2);
        error = ilk__thread_start_detached(STACK_BYTES, thread_main, dial);
        if (!error) {
            *out = dial;
            return ILK_OK;
        }
        atomic_store(&dial->owners, 1);
        st = ilk__fail(err, ILK_ESYSTEM,
                       "cannot start a thread to connect to %s: %s",
                       target->host, strerror(error));
    }
    unref(dial);
    return st;
}

int ilk__mysql_dial_fd(const ilk__mysql_dial *dial)
{
    return ilk__pollable_fd(&dial->wakeup);
}

MYSQL *ilk__mysql_dial_result(ilk__mysql_dial *dial, int *connected,
                              ilk__mysql_frames *frames)
{
    MYSQL *mysql = dial->mysql;

    if (!atomic_load(&dial->done))
        return NULL;
    *connected = dial->is_connected;
    *frames = dial->frames;
    dial->mysql = NULL;
    return mysql;
}

/* In a forked child there is no thread. Its connection, which it shares with the
 * parent, is left as it is. */
void ilk__mysql_dial_free(ilk__mysql_dial *dial)
{
    if (!dial)
        return;
    if (dial->pid != getpid()) {
        atomic_store(&dial->owners, 1);
        dial->mysql = NULL;
    } else if (!atomic_load(&dial->done) && atomic_load(&dial->socket) >= 0) {
        (void)shutdown(atomic_load(&dial->socket), SHUT_RDWR);
    }
    unref(dial);
}

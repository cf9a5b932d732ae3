/* SPDX-License-Identifier: MIT */
/* resolve.c -- looks up the addresses of a host name without blocking. */
#include "resolve.h"

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/pollable.h"
#include "base/thread.h"

#include <errno.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STACK_BYTES = 256 * 1024, PORT_BYTES = 8 };

struct ilk__resolve {
    atomic_int owners; /* 1 or 2: the caller, and the thread while it runs */
    atomic_int done;   /* the thread sets it last; then the result is final */
    pid_t pid;         /* of the process in which the thread runs */
    ilk__pollable wakeup;
    struct addrinfo *list;
    int error; /* of getaddrinfo(); for EAI_SYSTEM see os_error */
    int os_error;
    char port[PORT_BYTES];
    char host[];
};

static void unref(ilk__resolve *resolve)
{
    if (atomic_fetch_sub(&resolve->owners, 1) > 1)
        return;
    if (resolve->list != NULL)
        freeaddrinfo(resolve->list);
    ilk__pollable_close(&resolve->wakeup);
    ilk__free(resolve);
}

static void look_up(ilk__resolve *resolve, int flags)
{
    int cancelling = ilk__cancel_disable();
    struct addrinfo hints;

    memset(&hints, 0, sizeof hints);
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | flags;
    resolve->error =
        getaddrinfo(resolve->host, resolve->port, &hints, &resolve->list);
    resolve->os_error = errno;
    ilk__cancel_restore(cancelling);
    if (resolve->error != 0)
        resolve->list = NULL;
}

static void *thread_main(void *arg)
{
    ilk__resolve *resolve = arg;

    look_up(resolve, 0);
    atomic_store(&resolve->done, 1);
    ilk__pollable_raise(&resolve->wakeup);
    unref(resolve);
    return NULL;
}

static ilk_status start_beside(ilk__resolve *resolve, ilk_error *err)
{
    ilk_status status = ilk__pollable_open(&resolve->wakeup, err);
    int error;

    if (status != ILK_OK)
        return status;
    atomic_store(&resolve->done, 0);
    atomic_store(&resolve->owners, 2);
    error = ilk__thread_start_detached(STACK_BYTES, thread_main, resolve);
    if (error == 0)
        return ILK_OK;
    atomic_store(&resolve->owners, 1);
    return ilk__fail(err, ILK_ESYSTEM,
                     "cannot start a thread to look up %s: %s", resolve->host,
                     strerror(error));
}

ilk_status ilk__resolve_start(ilk__resolve **out, const char *host, int port,
                              ilk_error *err)
{
    size_t size = strlen(host) + 1;
    ilk__resolve *resolve = ilk__calloc(1, sizeof *resolve + size);
    ilk_status status;

    *out = NULL;
    if (resolve == NULL)
        return ilk__fail(err, ILK_ENOMEM, "no memory to look up %s", host);
    memcpy(resolve->host, host, size);
    snprintf(resolve->port, sizeof resolve->port, "%d", port);
    resolve->wakeup.fds[0] = resolve->wakeup.fds[1] = -1;
    resolve->pid = getpid();
    atomic_init(&resolve->owners, 1);
    atomic_init(&resolve->done, 1);
    /* This does not block. EAI_NONAME: the host is not a numeric address. */
    look_up(resolve, AI_NUMERICHOST);
    if (resolve->error == EAI_NONAME) {
        status = start_beside(resolve, err);
        if (status != ILK_OK) {
            unref(resolve);
            return status;
        }
    }
    *out = resolve;
    return ILK_OK;
}

int ilk__resolve_fd(const ilk__resolve *resolve)
{
    return ilk__pollable_fd(&resolve->wakeup);
}

ilk_status ilk__resolve_result(const ilk__resolve *resolve,
                               const struct addrinfo **out, ilk_error *err)
{
    const char *text;

    *out = NULL;
    if (!atomic_load(&resolve->done))
        return ILK_EAGAIN;
    if (resolve->error == 0) {
        *out = resolve->list;
        return ILK_OK;
    }
    if (resolve->error == EAI_MEMORY)
        return ilk__fail(err, ILK_ENOMEM, "no memory to look up %s",
                         resolve->host);
    text = resolve->error == EAI_SYSTEM ? strerror(resolve->os_error)
                                        : gai_strerror(resolve->error);
    return ilk__fail(err, ILK_ECONN, "cannot find the address of %s: %s",
                     resolve->host, text);
}

void ilk__resolve_free(ilk__resolve *resolve)
{
    if (resolve == NULL)
        return;
    if (resolve->pid != getpid())
        atomic_store(&resolve->owners, 1);
    unref(resolve);
}

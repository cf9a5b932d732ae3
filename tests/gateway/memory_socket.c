/* SPDX-License-Identifier: MIT */
/* memory_socket.c -- plain commands to the store in memory, over a unix socket: a
 * test in another language looks at the store as it does at a server. */
#include "memory_backend.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 64, RECEIVE = 64 * 1024 };

static int send_all(int fd, const ilk__buf *reply)
{
    const char *at = ilk__buf_data(reply), *end = at + ilk__buf_len(reply);

    while (at < end) {
        ssize_t n = send(fd, at, (size_t)(end - at), MSG_NOSIGNAL);

        if (n <= 0)
            return 0;
        at += n;
    }
    return 1;
}

/* MEMORY LIE faults, MEMORY LIES: no server has these. */
static void control(const ilk__reply *command, ilk__buf *reply)
{
    char text[128] = "+";

    if (command->count > 2)
        memory_backend_lie(atoi(command->items[2]->str));
    memory_backend_lies(text + 1, sizeof text - 3);
    strcat(text, "\r\n");
    (void)ilk__buf_add(reply, text, strlen(text));
}

static int answer(int fd, const ilk__reply *command)
{
    const ilk__reply *word = command->items[0];
    ilk__buf reply = {0};
    int sent;

    if (ilk__reply_is_text(word, "AUTH") || ilk__reply_is_text(word, "SELECT"))
        (void)ilk__buf_add(&reply, "+OK\r\n", 5);
    else if (ilk__reply_is_text(word, "MEMORY"))
        control(command, &reply);
    else
        memory_backend_command(command->items, command->count, &reply);
    sent = ilk__buf_len(&reply) && send_all(fd, &reply);
    ilk__buf_free(&reply);
    return sent;
}

static void *serve_one(void *context)
{
    int fd = (int)(intptr_t)context;
    struct redisReader *reader = ilk__reader_new_for_commands();
    static _Thread_local char received[RECEIVE];
    ilk__reply *command;
    ilk_status st = ILK_EAGAIN;
    ssize_t n;

    while (st == ILK_EAGAIN
           && (n = recv(fd, received, sizeof received, 0)) > 0) {
        if (ilk__reader_feed(reader, received, (size_t)n, NULL))
            break;
        while ((st = ilk__reader_next(reader, &command, NULL)) == ILK_OK) {
            int good = command->count && answer(fd, command);

            ilk__reply_free(command);
            if (!good) {
                st = ILK_ECONN;
                break;
            }
        }
    }
    ilk__reader_free(reader);
    close(fd);
    return NULL;
}

static void *serve(void *context)
{
    int listening = (int)(intptr_t)context, fd;
    pthread_t thread;

    while ((fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC)) >= 0)
        if (pthread_create(&thread, NULL, serve_one, (void *)(intptr_t)fd))
            close(fd);
        else
            pthread_detach(thread);
    return NULL;
}

ilk_status memory_socket_serve(const char *path, ilk_error *err)
{
    static atomic_flag begun = ATOMIC_FLAG_INIT;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    pthread_t thread;
    int fd;

    if (atomic_flag_test_and_set(&begun))
        return ILK_OK;
    if (strlen(path) >= sizeof address.sun_path)
        return ilk__fail(err, ILK_EINVAL, "the path is too long");
    strcpy(address.sun_path, path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address)
        || listen(fd, BACKLOG)
        || pthread_create(&thread, NULL, serve, (void *)(intptr_t)fd))
        return ilk__fail(err, ILK_ESYSTEM, "cannot serve %s: %s", path,
                         strerror(errno));
    pthread_detach(thread);
    return ILK_OK;
}

/* SPDX-License-Identifier: MIT */
/* session.c -- one connection to the gateway: commands in, replies out in their
 * order, however long each of them takes. */
#include "gateway_internal.h"

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "net/dial.h"
#include "redis/script.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sys/socket.h>

enum { RECEIVE = 64 * 1024 };

ilk__session *ilk__session_new(ilk__gateway *gateway, int fd)
{
    ilk__session *session = ilk__calloc(1, sizeof *session);

    if (!session)
        return NULL;
    session->gateway = gateway;
    session->fd = fd;
    session->identity = ilk__descriptor_identity(fd);
    session->since = ilk__now_ms();
    session->protocol = 2;
    session->reader = ilk__reader_new_for_commands();
    if (session->reader)
        return session;
    ilk__free(session);
    return NULL;
}

static int is_own_descriptor(const ilk__session *session)
{
    return ilk__descriptor_identity(session->fd) == session->identity;
}

/* shutdown(): a forked child may have copies of the descriptor, and the client
 * must see the end all the same. */
static void hang_up(const ilk__session *session)
{
    if (!is_own_descriptor(session))
        return;
    shutdown(session->fd, SHUT_RDWR);
    ilk__descriptor_close(session->fd);
}

void ilk__session_free(ilk__session *session)
{
    ilk__session_request_orphan_all(session->first);
    ilk__session_unsubscribe_all(session);
    hang_up(session);
    ilk__reader_free(session->reader);
    ilk__buf_free(&session->out);
    ilk__free(session);
}

/* ---- commands ----------------------------------------------------------- */

static int find_script(const ilk__reply *command)
{
    const ilk__reply *what = command->items[1];
    int by_text = command->items[0]->len == 4; /* EVAL, not EVALSHA */

    for (int i = 0; i < ILK__SCRIPT_COUNT; i++) {
        const ilk__script *script = &ilk__scripts[i];

        if (by_text ? what->len == script->text_len
                          && memcmp(what->str, script->text, what->len) == 0
                    : ilk__reply_is_text(what, script->sha1))
            return i;
    }
    return ILK__SCRIPT_NONE;
}

/* Backends need not check this. */
static int fits(const ilk__script *script, size_t keys, size_t args)
{
    size_t declared = (size_t)script->keys;

    if (script->keys_multiple ? keys == 0 || keys % declared : keys != declared)
        return 0;
    return args >= (size_t)script->args && args <= (size_t)script->args_most;
}

/* EVALSHA sha1 <number of keys> key ... argument ... <number of the request> */
static int read_call(ilk__gateway_request *request, const ilk__reply *command)
{
    size_t keys, head = 3;

    request->script = find_script(command);
    keys = strtoul(command->items[2]->str, NULL, 10);
    if (request->script == ILK__SCRIPT_NONE || command->count - head <= keys
        || !fits(&ilk__scripts[request->script], keys,
                 command->count - head - keys - 1))
        return 0;
    request->keys = command->items + head;
    request->key_count = keys;
    request->args = command->items + head + keys;
    request->arg_count = command->count - head - keys - 1;
    request->number =
        strtoll(command->items[command->count - 1]->str, NULL, 10);
    return 1;
}

static int is_call(const ilk__reply *command)
{
    return command->count > 3
           && (ilk__reply_is_text(command->items[0], "EVALSHA")
               || ilk__reply_is_text(command->items[0], "EVAL"));
}

static int is_command(const ilk__reply *command)
{
    if (command->type != ILK__REPLY_ARRAY || command->count == 0)
        return 0;
    for (size_t i = 0; i < command->count; i++)
        if (command->items[i]->type != ILK__REPLY_STR)
            return 0;
    return 1;
}

static void append(ilk__session *session, ilk__session_request *request)
{
    if (session->last)
        session->last->next = request;
    else
        session->first = request;
    session->last = request;
    session->request_count++;
}

/* Takes over the command, also on failure. */
static void take_command(ilk__session *session, ilk__reply *command)
{
    ilk__session_request *request = ilk__calloc(1, sizeof *request);

    if (!request || !is_command(command)) {
        ilk__free(request);
        ilk__reply_free(command);
        session->broken = 1;
        return;
    }
    request->gateway = session->gateway;
    request->session = session;
    request->command = command;
    append(session, request);
    if (!is_call(command))
        ilk__session_command(request);
    else if (read_call(&request->call, command))
        ilk__session_request_begin(request);
    else
        ilk__gateway_reply_error(
            &request->call, "ERR this is no call of the library's scripts");
}

static int has_room(const ilk__session *session)
{
    return session->request_count < ILK__SESSION_REQUESTS
           && ilk__buf_len(&session->out) < ILK__SESSION_UNSENT;
}

static void take_commands(ilk__session *session)
{
    ilk__reply *command;

    while (!session->broken && has_room(session)) {
        ilk_status st = ilk__reader_next(session->reader, &command, NULL);

        if (st == ILK_EAGAIN)
            return;
        if (st)
            session->broken = 1;
        else
            take_command(session, command);
    }
}

/* A program that closes all descriptors closes both ends: then this number may
 * already be that of another file, which must not be read. */
void ilk__session_receive(ilk__session *session, short revents)
{
    char received[RECEIVE];
    int cancelling;
    ssize_t n;

    if ((revents & (POLLHUP | POLLERR | POLLNVAL))
        && !is_own_descriptor(session)) {
        session->broken = 1;
        return;
    }
    cancelling = ilk__cancel_disable();
    n = recv(session->fd, received, sizeof received, MSG_DONTWAIT);
    ilk__cancel_restore(cancelling);
    if (n > 0 && !ilk__reader_feed(session->reader, received, (size_t)n, NULL))
        take_commands(session);
    else if (n >= 0 || (errno != EAGAIN && errno != EINTR))
        session->broken = 1;
}

/* ---- replies ------------------------------------------------------------ */

short ilk__session_events(const ilk__session *session)
{
    short events = has_room(session) ? POLLIN : 0;

    return ilk__buf_len(&session->out) ? (short)(events | POLLOUT) : events;
}

/* Replies leave in the order of the commands: one that is ready waits for those
 * before it. A full session then takes the commands that it has received. */
void ilk__session_collect(ilk__session *session)
{
    ilk__session_request *first;

    while ((first = session->first) && first->state == ILK__REQUEST_REPLIED) {
        int was_full = !has_room(session);

        if (ilk__buf_add(&session->out, ilk__buf_data(&first->reply),
                         ilk__buf_len(&first->reply)))
            session->broken = 1;
        session->first = first->next;
        if (!session->first)
            session->last = NULL;
        session->request_count--;
        ilk__session_request_free(first);
        if (was_full)
            take_commands(session);
    }
}

static void send_some(ilk__session *session)
{
    while (!session->broken && ilk__buf_len(&session->out)) {
        int cancelling = ilk__cancel_disable();
        ssize_t n =
            send(session->fd, ilk__buf_data(&session->out),
                 ilk__buf_len(&session->out), MSG_DONTWAIT | MSG_NOSIGNAL);

        ilk__cancel_restore(cancelling);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n < 0)
            session->broken = 1;
        else
            ilk__buf_drop(&session->out, (size_t)n);
    }
}

int ilk__session_send(ilk__session *session)
{
    int was_full = !has_room(session);
    size_t before;

    send_some(session);
    before = session->request_count;
    if (was_full)
        take_commands(session);
    return session->request_count > before;
}

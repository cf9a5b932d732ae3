/* SPDX-License-Identifier: MIT */
/* subscriber.c -- a connection on which a client's inbox receives. */
#include "subscriber.h"

#include "base/hash.h"

#include <string.h>

void ilk__subscriber_init(ilk__subscriber *subscriber, unsigned number,
                          const ilk__target *target)
{
    memset(subscriber, 0, sizeof *subscriber);
    subscriber->number = number;
    ilk__async_conn_init(&subscriber->connection, target);
}

void ilk__subscriber_close(ilk__subscriber *subscriber)
{
    ilk__async_conn_close(&subscriber->connection);
    ilk__buf_free(&subscriber->calls);
}

/* The command's length stands for the command: the four commands differ in it,
 * and a confirmation has the command in lower case. */
static uint64_t mark_of(const char *command_name, const void *name, size_t len)
{
    size_t command_len = strlen(command_name);
    uint64_t hash =
        ilk__hash(ILK__HASH_START, &command_len, sizeof command_len);

    return ilk__hash(hash, name, len);
}

void ilk__subscriber_call(ilk__subscriber *subscriber, const char *command_name,
                          const void *name, size_t len,
                          ilk__subscribe_call call)
{
    ilk__command command;
    ilk_status st;

    call.mark = mark_of(command_name, name, len);
    ilk__command_init(&command);
    ilk__command_add_str(&command, command_name);
    ilk__command_add(&command, name, len);
    st = ilk__buf_add(&subscriber->calls, &call, sizeof call);
    if (st == ILK_OK)
        st = ilk__async_conn_send(&subscriber->connection, &command, NULL);
    ilk__command_free(&command);
    if (st)
        ilk__async_conn_break(&subscriber->connection, "out of memory");
}

int ilk__subscriber_refused(ilk__subscriber *subscriber,
                            ilk__subscribe_call *out)
{
    if (!ilk__buf_len(&subscriber->calls))
        return 0;
    memcpy(out, ilk__buf_data(&subscriber->calls), sizeof *out);
    ilk__buf_drop(&subscriber->calls, sizeof *out);
    return 1;
}

int ilk__subscriber_confirmed(ilk__subscriber *subscriber,
                              const char *command_name, const void *name,
                              size_t len, ilk__subscribe_call *out)
{
    return ilk__subscriber_refused(subscriber, out)
           && out->mark == mark_of(command_name, name, len);
}

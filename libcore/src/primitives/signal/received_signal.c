/* SPDX-License-Identifier: MIT */
/* received_signal.c -- received signals: the result of a wait for signals. */
#include "base/alloc.h"
#include "signal_wait.h"

size_t ilk_arrival_count(const ilk_arrival *received)
{
    return received ? received->count : 0;
}

static const ilk__message *message_at(const ilk_arrival *received, size_t index)
{
    if (index >= ilk_arrival_count(received))
        return NULL;
    return received->message ? &received->message->parsed
                             : received->delivered[index]->message;
}

int32_t ilk_arrival_which(const ilk_arrival *received, size_t index)
{
    if (index >= ilk_arrival_count(received))
        return -1;
    return received->message ? 0 : (int32_t)received->delivered[index]->index;
}

const char *ilk_arrival_name(const ilk_arrival *received, size_t index,
                             size_t *out_len)
{
    const ilk__message *message = message_at(received, index);

    if (out_len)
        *out_len = message ? message->name_len : 0;
    return message ? message->name : NULL;
}

const char *ilk_arrival_data(const ilk_arrival *received, size_t index,
                             size_t *out_len)
{
    const ilk__message *message = message_at(received, index);

    if (out_len)
        *out_len = message ? message->data_len : 0;
    return message ? message->data : NULL;
}

void ilk_arrival_free(ilk_arrival *received)
{
    if (!received)
        return;
    for (size_t i = 0; i < received->count; i++)
        ilk__delivered_signal_free(received->delivered[i]);
    ilk__channel_message_free(received->message);
    ilk__free(received);
}

static int is_lost(const ilk_arrival *received)
{
    const ilk_client *client = received->client;

    return ilk__client_is_forked(client) || client->era != received->era
           || client->closed;
}

/* Signals that were sent to one waiter go to the next; broadcasts do not. */
static void pass_on(const ilk_arrival *received)
{
    ilk__shared *shared = received->client->shared;

    ilk__shared_lock(shared);
    for (size_t i = 0; i < received->count; i++) {
        const ilk__delivered_signal *delivered = received->delivered[i];

        if (delivered && delivered->message->type == ILK__MESSAGE_SIGNAL)
            ilk__signal_pass_on(shared, delivered->message);
    }
    ilk__shared_unlock(shared);
}

void ilk__received_signal_dispose(void *object)
{
    ilk_arrival *received = object;

    if (!received->seen && !is_lost(received))
        pass_on(received);
    ilk_arrival_free(received);
}

const ilk_arrival *ilk_op_arrival(ilk_op *op)
{
    ilk_arrival *received =
        ilk__started_object(op, ilk__received_signal_dispose);

    if (received)
        received->seen = 1;
    return received;
}

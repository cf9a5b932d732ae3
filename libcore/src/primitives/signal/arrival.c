/* SPDX-License-Identifier: MIT */
/* arrival.c -- what a wait for signals has brought. */
#include "base/alloc.h"
#include "signal_wait.h"

size_t ilk_arrival_count(const ilk_arrival *arrival)
{
    return arrival ? arrival->count : 0;
}

static const ilk__message *message_at(const ilk_arrival *arrival, size_t index)
{
    if (index >= ilk_arrival_count(arrival))
        return NULL;
    return arrival->message ? &arrival->message->parsed
                            : arrival->delivered[index]->message;
}

int32_t ilk_arrival_which(const ilk_arrival *arrival, size_t index)
{
    if (index >= ilk_arrival_count(arrival))
        return -1;
    return arrival->message ? 0 : (int32_t)arrival->delivered[index]->index;
}

const char *ilk_arrival_name(const ilk_arrival *arrival, size_t index,
                             size_t *out_len)
{
    const ilk__message *message = message_at(arrival, index);

    if (out_len)
        *out_len = message ? message->name_len : 0;
    return message ? message->name : NULL;
}

const char *ilk_arrival_data(const ilk_arrival *arrival, size_t index,
                             size_t *out_len)
{
    const ilk__message *message = message_at(arrival, index);

    if (out_len)
        *out_len = message ? message->data_len : 0;
    return message ? message->data : NULL;
}

void ilk_arrival_free(ilk_arrival *arrival)
{
    if (!arrival)
        return;
    for (size_t i = 0; i < arrival->count; i++)
        ilk__delivered_signal_free(arrival->delivered[i]);
    ilk__channel_message_free(arrival->message);
    ilk__free(arrival);
}

static int is_lost(const ilk_arrival *arrival)
{
    const ilk_client *client = arrival->client;

    return ilk__client_is_forked(client) || client->era != arrival->era
           || client->closed;
}

/* The wait is over, and nobody has asked what it brought. */
static void pass_on(const ilk_arrival *arrival)
{
    ilk__shared *shared = arrival->client->shared;

    ilk__shared_lock(shared);
    for (size_t i = 0; i < arrival->count; i++) {
        const ilk__delivered_signal *delivered = arrival->delivered[i];

        if (delivered && delivered->message->type == ILK__MESSAGE_SIGNAL)
            ilk__wait_unclaimed(shared, delivered->message);
    }
    ilk__shared_unlock(shared);
}

void ilk__arrival_dispose(void *object)
{
    ilk_arrival *arrival = object;

    if (!arrival->seen && !is_lost(arrival))
        pass_on(arrival);
    ilk_arrival_free(arrival);
}

const ilk_arrival *ilk_op_arrival(ilk_op *op)
{
    ilk_arrival *arrival = ilk__op_object(op, ilk__arrival_dispose);

    if (arrival)
        arrival->seen = 1;
    return arrival;
}

/* SPDX-License-Identifier: MIT */
/* wait_queue.c -- how a client is named in a wait queue, and what is granted. */
#include "wait_queue.h"

#include <string.h>

void ilk__wait_queue_address(char out[ILK__ADDRESS_LEN + 1],
                             const ilk__shared *shared,
                             const ilk__wait_queue *wait_queue)
{
    const ilk__bytes *list = &wait_queue->keys[ILK__LIST_KEY];

    if (wait_queue->gets_changes)
        ilk__secret_address(out, shared, list->data, list->len);
    else
        memcpy(out, shared->client_id, sizeof shared->client_id);
}

int ilk__wait_queue_grants(const ilk__wait_queue *wait_queue)
{
    return strchr("xrpew", wait_queue->kind) != NULL;
}

/* SPDX-License-Identifier: MIT */
/* queue_give_back.c -- returning entries, wake-ups and messages whose consumer
 * here is gone. */
#include "queue.h"

const ilk__op_type ilk__queue_cancel_op = {.name = "queue_cancel",
                                           .script = ILK__SCRIPT_QUEUE_CANCEL,
                                           .ask = ilk__give_back_ask,
                                           .reply = ilk__give_back_done,
                                           .wake = ilk__give_back_wake};

/* The name in the message is the queue's first key, ILK__QUEUE_KEY_META. */
void ilk__queue_orphaned(ilk__shared *shared, const ilk__message *message)
{
    ilk__wait_queue wait_queue = {.key_count = ILK__QUEUE_KEYS,
                                  .cancel = &ilk__queue_cancel_op};
    const char *name;
    ilk__queue_keys *queue_keys;
    size_t len;

    if (message->type != ILK__MESSAGE_WAKE
        || !ilk__side_key_name(message->name, message->name_len, "queue", &name,
                               &len)
        || ilk__queue_keys_new(&queue_keys, name, len, NULL))
        return;
    wait_queue.keys = queue_keys->keys;
    ilk__give_back_token(shared, &wait_queue, "-");
    ilk__queue_keys_unref(queue_keys);
}

/* SPDX-License-Identifier: MIT */
/*
 * fuzz_message.c -- any bytes at all as a message on a client's own channel.
 *
 * What message.h promises of a message is checked and aborts when it does not
 * hold; the copy is exactly as long as the message, so that a sanitizer sees
 * a read past its end.
 */
#include "pubsub/message.h"

#include <interlock/base.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
    if (!holds)
        abort();
}

static int lies_in(const char *at, size_t len, const char *text, size_t size)
{
    return at >= text && len <= size && at + len <= text + size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    ilk__message message;

    check(text != NULL);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    if (ilk__message_read(&message, text, size)) {
        check(message.waiter >= 0 && message.ticket >= 0 && message.fence >= 0
              && message.lease_ms >= 0 && message.server_us >= 0);
        check(message.name != NULL);
        check(message.name_len == 0
              || lies_in(message.name, message.name_len, text, size));
        check((message.token != NULL) == (message.type == ILK__MESSAGE_GRANT));
        check((message.signal != NULL)
              == (message.type >= ILK__MESSAGE_SIGNAL));
        if (message.signal) {
            check(message.signal[0] != '\0');
            check(message.name_len > 0 && message.name_len <= ILK_NAME_MAX);
            check(message.data_len <= ILK__DATA_MAX);
            check(lies_in(message.data, message.data_len, text, size));
            check(ilk__message_mark(&message) == ilk__message_mark(&message));
        }
    }
    free(text);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * fuzz_letter.c -- any bytes at all as a message on a client's own channel.
 *
 * What letter.h promises of a letter is checked and aborts when it does not
 * hold; the copy is exactly as long as the message, so that a sanitizer sees
 * a read past its end.
 */
#include "pubsub/letter.h"

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
    ilk__letter letter;

    check(text != NULL);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    if (ilk__letter_read(&letter, text, size)) {
        check(letter.waiter >= 0 && letter.ticket >= 0 && letter.fence >= 0
              && letter.lease_ms >= 0 && letter.server_us >= 0);
        check(letter.name != NULL);
        check(letter.name_len == 0
              || lies_in(letter.name, letter.name_len, text, size));
        check((letter.token != NULL) == (letter.verb == ILK__LETTER_GRANT));
        check((letter.signal != NULL) == (letter.verb >= ILK__LETTER_SIGNAL));
        if (letter.signal) {
            check(letter.signal[0] != '\0');
            check(letter.name_len > 0 && letter.name_len <= ILK_NAME_MAX);
            check(letter.data_len <= ILK__DATA_MAX);
            check(lies_in(letter.data, letter.data_len, text, size));
            check(ilk__letter_mark(&letter) == ilk__letter_mark(&letter));
        }
    }
    free(text);
    return 0;
}

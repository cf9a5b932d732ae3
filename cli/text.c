/* SPDX-License-Identifier: MIT */
/*
 * text.c -- bytes that may be anything, shown on a terminal.
 *
 * Printable UTF-8 stays as it is. Control characters, C1 controls and stray
 * bytes become \xNN and the backslash is doubled, so that the text shows the
 * exact bytes and a name cannot control the terminal.
 */
#include "cli.h"

#include <stdlib.h>

static int follows(const char *data, size_t len, size_t count)
{
    size_t i;

    if (count >= len)
        return 0;
    for (i = 1; i <= count; i++) {
        if (((unsigned char)data[i] & 0xC0) != 0x80)
            return 0;
    }
    return 1;
}

size_t cli_utf8(const char *data, size_t len)
{
    unsigned char first = (unsigned char)data[0];
    unsigned char second = len > 1 ? (unsigned char)data[1] : 0;

    if (first < 0x80)
        return 1;
    if (first >= 0xC2 && first <= 0xDF)
        return follows(data, len, 1) ? 2 : 0;
    if (first == 0xE0 && second < 0xA0) /* longer than needed */
        return 0;
    if (first == 0xED && second >= 0xA0) /* half of a pair of UTF-16 */
        return 0;
    if (first >= 0xE0 && first <= 0xEF)
        return follows(data, len, 2) ? 3 : 0;
    if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second >= 0x90))
        return 0;
    if (first >= 0xF0 && first <= 0xF4)
        return follows(data, len, 3) ? 4 : 0;
    return 0;
}

static int is_control(const char *data, size_t char_len)
{
    unsigned char first = (unsigned char)data[0];

    if (char_len == 1)
        return first < 0x20 || first == 0x7F;
    return char_len == 2 && first == 0xC2 && (unsigned char)data[1] < 0xA0;
}

void cli_put_text(FILE *file, const char *data, size_t len)
{
    size_t i, n, hex;

    for (i = 0; i < len; i += n) {
        n = cli_utf8(data + i, len - i);
        if (n > 0 && !is_control(data + i, n)) {
            if (data[i] == '\\')
                fputc('\\', file);
            fwrite(data + i, 1, n, file);
            continue;
        }
        if (n == 0)
            n = 1;
        for (hex = 0; hex < n; hex++)
            fprintf(file, "\\x%02x", (unsigned)(unsigned char)data[i + hex]);
    }
}

char *cli_text(const char *data, size_t len)
{
    char *out = NULL;
    size_t out_len;
    FILE *file = open_memstream(&out, &out_len);

    if (!file)
        return NULL;
    cli_put_text(file, data, len);
    if (fclose(file) != 0) {
        free(out);
        return NULL;
    }
    return out;
}

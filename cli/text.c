/* SPDX-License-Identifier: MIT */
/*
 * text.c -- bytes that may be anything, shown on a terminal.
 *
 * Printable UTF-8 stays as it is. Control characters, C1 controls, characters that are
 * invisible or change the direction of what follows, and stray bytes become \xNN and the
 * backslash is doubled, so that the text shows the exact bytes and a name cannot control
 * the terminal. In a message the backslash stays as it is: what the message quotes may
 * have been escaped before.
 */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

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

static uint32_t code_point(const char *data, size_t len)
{
    uint32_t c = (unsigned char)data[0];
    size_t i;

    if (len > 1)
        c &= 0x7Fu >> len;
    for (i = 1; i < len; i++)
        c = c << 6 | ((unsigned char)data[i] & 0x3Fu);
    return c;
}

uint32_t cli_hidden(const char *data, size_t char_len)
{
    static const uint32_t hidden[][2] = {
        {0x01, 0x1F},     {0x7F, 0x9F},      {0xAD, 0xAD},     {0x61C, 0x61C},
        {0x200B, 0x200F}, {0x2028, 0x202E},  {0x2060, 0x206F}, {0xFEFF, 0xFEFF},
        {0xFFF9, 0xFFFB}, {0xE0000, 0xE0FFF}};
    uint32_t c = code_point(data, char_len);
    size_t i;

    for (i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
        if (c >= hidden[i][0] && c <= hidden[i][1])
            return c;
    }
    return 0;
}

static int is_shown(const char *data, size_t char_len)
{
    return char_len > 0 && data[0] != '\0' && !cli_hidden(data, char_len);
}

static void put(FILE *file, const char *data, size_t len, const char *backslash)
{
    size_t i, n, hex;

    for (i = 0; i < len; i += n) {
        n = cli_utf8(data + i, len - i);
        if (is_shown(data + i, n)) {
            if (data[i] == '\\')
                fputs(backslash, file);
            fwrite(data + i, 1, n, file);
            continue;
        }
        if (n == 0)
            n = 1;
        for (hex = 0; hex < n; hex++)
            fprintf(file, "\\x%02x", (unsigned)(unsigned char)data[i + hex]);
    }
}

void cli_put_text(FILE *file, const char *data, size_t len)
{
    put(file, data, len, "\\");
}

static char *text(const char *data, size_t len, const char *backslash)
{
    char *out = NULL;
    size_t out_len;
    FILE *file = open_memstream(&out, &out_len);

    if (!file)
        return NULL;
    put(file, data, len, backslash);
    if (fclose(file) != 0) {
        free(out);
        return NULL;
    }
    return out;
}

char *cli_text(const char *data, size_t len)
{
    return text(data, len, "\\");
}

char *cli_message(const char *line)
{
    return text(line, strlen(line), "");
}

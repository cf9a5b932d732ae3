/* SPDX-License-Identifier: MIT */
/* printable.c -- texts of others, such as a server's, that steer no terminal. */
#include "printable.h"

#include <stdint.h>

/* The character at `text` and its bytes; 0: it is none. A NUL ends the text. */
static size_t read_character(const unsigned char *text, uint32_t *out)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char first = text[0];
    const size_t len = first < 0x80             ? 1
                       : (first & 0xe0) == 0xc0 ? 2
                       : (first & 0xf0) == 0xe0 ? 3
                       : (first & 0xf8) == 0xf0 ? 4
                                                : 0;

    if (len < 2) {
        *out = first;
        return len;
    }
    *out = first & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        *out = *out << 6 | (text[i] & 0x3fu);
    }
    if (*out < least[len] || *out > 0x10ffff
        || (*out >= 0xd800 && *out <= 0xdfff))
        return 0;
    return len;
}

static int is_printable(uint32_t c)
{
    static const uint32_t hidden[][2] = {
        {0x00, 0x1f},     {0x7f, 0x9f},      {0xad, 0xad},     {0x61c, 0x61c},
        {0x200b, 0x200f}, {0x2028, 0x202e},  {0x2060, 0x206f}, {0xfeff, 0xfeff},
        {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}};

    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        if (c >= hidden[i][0] && c <= hidden[i][1])
            return 0;
    return 1;
}

void ilk__make_printable(char *text)
{
    size_t len;

    for (char *at = text; *at != '\0'; at += len) {
        uint32_t c = 0;

        len = read_character((const unsigned char *)at, &c);
        if (len && is_printable(c))
            continue;
        len += !len;
        for (size_t i = 0; i < len; i++)
            at[i] = '?';
    }
}

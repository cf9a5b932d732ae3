/* SPDX-License-Identifier: MIT */
/* slot.c -- CRC16 as in the cluster's specification: polynomial 0x1021, from 0,
 * highest bit first. */
#include "slot.h"

#include <stdint.h>
#include <string.h>

ilk__span ilk__slot_tag(ilk__span key)
{
    const char *open = key.len ? memchr(key.at, '{', key.len) : NULL;
    const char *close;
    size_t rest;

    if (!open)
        return key;
    rest = key.len - (size_t)(open + 1 - key.at);
    close = rest ? memchr(open + 1, '}', rest) : NULL;
    if (!close || close == open + 1)
        return key;
    return (ilk__span){open + 1, (size_t)(close - open - 1)};
}

/* The CRC of four bits. */
static const uint16_t crc_of_digit[16] = {
    0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7,
    0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef};

static unsigned add_digit(unsigned crc, unsigned digit)
{
    return ((crc << 4) & 0xffff) ^ crc_of_digit[(crc >> 12) ^ digit];
}

int ilk__slot_of(ilk__span key)
{
    const ilk__span tag = ilk__slot_tag(key);
    unsigned crc = 0;

    for (size_t i = 0; i < tag.len; i++) {
        const unsigned byte = (unsigned char)tag.at[i];

        crc = add_digit(crc, byte >> 4);
        crc = add_digit(crc, byte & 15);
    }
    return (int)(crc % ILK__SLOTS);
}

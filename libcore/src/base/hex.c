/* SPDX-License-Identifier: MIT */
/* hex.c -- hexadecimal digits, in lower case. */
#include "hex.h"

char *ilk__hex(char *out, unsigned char byte)
{
    static const char digits[] = "0123456789abcdef";

    *out++ = digits[byte >> 4];
    *out++ = digits[byte & 15];
    return out;
}

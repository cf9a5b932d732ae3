/* SPDX-License-Identifier: MIT */
/* hash.c -- FNV-1a. */
#include "hash.h"

uint64_t ilk__hash(uint64_t before, const void *data, size_t len)
{
    const unsigned char *byte = data;
    uint64_t hash = before;

    while (len--)
        hash = (hash ^ *byte++) * UINT64_C(1099511628211);
    return hash;
}

/* SPDX-License-Identifier: MIT */
/* hash.h -- FNV-1a, a hash without a secret seed. Its last step mixes the low
 * bits well enough for our tables. */
#ifndef ILK__HASH_H
#define ILK__HASH_H

#include <stddef.h>
#include <stdint.h>

#define ILK__HASH_START UINT64_C(14695981039346656037)

/* The hash of what was hashed before, followed by these bytes. */
uint64_t ilk__hash(uint64_t before, const void *data, size_t len);

#endif

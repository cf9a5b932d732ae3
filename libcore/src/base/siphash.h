/* SPDX-License-Identifier: MIT */
/*
 * siphash.h -- a keyed hash, by which a short text proves that it comes from
 * somebody who knows the key. The algorithm is SipHash-2-4: Aumasson and
 * Bernstein, "SipHash: a fast short-input PRF", 2012.
 */
#ifndef ILK__SIPHASH_H
#define ILK__SIPHASH_H

#include <stddef.h>
#include <stdint.h>

enum { ILK__SIPHASH_KEY = 16 };

uint64_t ilk__siphash(const unsigned char key[ILK__SIPHASH_KEY],
                      const void *data, size_t len);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * md5.h -- the hash MD5 (RFC 1321), on which the layouts of hash rings are
 * built. It protects nothing here. OpenSSL's is not used: the library may be
 * built without it, and in its FIPS mode it refuses MD5.
 */
#ifndef ILK__MD5_H
#define ILK__MD5_H

#include <stddef.h>
#include <stdint.h>

enum { ILK__MD5_SIZE = 16, ILK__MD5_BLOCK = 64 };

typedef struct ilk__md5 {
    uint32_t state[4];
    uint64_t len;                        /* bytes that were added */
    unsigned char block[ILK__MD5_BLOCK]; /* the last len % 64 of them */
} ilk__md5;

void ilk__md5_begin(ilk__md5 *md5);
void ilk__md5_add(ilk__md5 *md5, const void *data, size_t len);
/* The hash of all bytes so far; more may be added afterwards. */
void ilk__md5_hash(unsigned char out[ILK__MD5_SIZE], const ilk__md5 *md5);

#endif

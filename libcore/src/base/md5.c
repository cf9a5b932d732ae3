/* SPDX-License-Identifier: MIT */
/* md5.c -- MD5, with the names of RFC 1321. */
#include "md5.h"

#include <string.h>

/* The integer part of 2^32 x |sin(i + 1)|, i in radians. */
static const uint32_t sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a,
    0xa8304613, 0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be,
    0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340,
    0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8,
    0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c,
    0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa,
    0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92,
    0xffeff47d, 0x85845dd1, 0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1,
    0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

/* x is the result of the step before. The terms without x stand apart, so that
 * the processor can compute them before it has x. The two terms of G have no
 * bit in common: + is |. */
#define F(x, y, z) ((z) ^ ((x) & ((y) ^ (z))))
#define G(x, y, z) (((y) & ~(z)) + ((x) & (z)))
#define H(x, y, z) ((x) ^ ((y) ^ (z)))
#define I(x, y, z) ((y) ^ ((x) | ~(z)))

#define STEP(f, a, b, c, d, k, i, s)                                           \
    ((a) += words[(k) % 16] + sines[i], (a) += f((b), (c), (d)),               \
     (a) = ((a) << (s) | (a) >> (32 - (s))) + (b))

/* Four steps, after which a, b, c and d have their places again. Step i of a
 * round takes the word `first + stride * i`. */
#define FOUR(f, i, first, stride, s1, s2, s3, s4)                              \
    do {                                                                       \
        STEP(f, a, b, c, d, (first) + (stride) * (i), i, s1);                  \
        STEP(f, d, a, b, c, (first) + (stride) * ((i) + 1), (i) + 1, s2);      \
        STEP(f, c, d, a, b, (first) + (stride) * ((i) + 2), (i) + 2, s3);      \
        STEP(f, b, c, d, a, (first) + (stride) * ((i) + 3), (i) + 3, s4);      \
    } while (0)

static uint32_t word_at(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8
           | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void absorb(uint32_t state[4], const unsigned char *block)
{
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t words[16];

    for (int i = 0; i < 16; i++)
        words[i] = word_at(block + (size_t)i * 4);
    for (int i = 0; i < 16; i += 4)
        FOUR(F, i, 0, 1, 7, 12, 17, 22);
    for (int i = 16; i < 32; i += 4)
        FOUR(G, i, 1, 5, 5, 9, 14, 20);
    for (int i = 32; i < 48; i += 4)
        FOUR(H, i, 5, 3, 4, 11, 16, 23);
    for (int i = 48; i < 64; i += 4)
        FOUR(I, i, 0, 7, 6, 10, 15, 21);
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

void ilk__md5_begin(ilk__md5 *md5)
{
    md5->state[0] = 0x67452301;
    md5->state[1] = 0xefcdab89;
    md5->state[2] = 0x98badcfe;
    md5->state[3] = 0x10325476;
    md5->len = 0;
}

void ilk__md5_add(ilk__md5 *md5, const void *data, size_t len)
{
    const unsigned char *bytes = data;
    size_t used = md5->len % ILK__MD5_BLOCK;

    if (len == 0)
        return;
    md5->len += len;
    if (used != 0 && len >= ILK__MD5_BLOCK - used) {
        memcpy(md5->block + used, bytes, ILK__MD5_BLOCK - used);
        absorb(md5->state, md5->block);
        bytes += ILK__MD5_BLOCK - used;
        len -= ILK__MD5_BLOCK - used;
        used = 0;
    }
    for (; len >= ILK__MD5_BLOCK; len -= ILK__MD5_BLOCK) {
        absorb(md5->state, bytes);
        bytes += ILK__MD5_BLOCK;
    }
    memcpy(md5->block + used, bytes, len);
}

static void put_words(unsigned char *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        out[i] = (unsigned char)(value >> (8 * i));
}

/* A one bit, zeros, and the number of bits in the last 8 bytes of a block. */
void ilk__md5_hash(unsigned char out[ILK__MD5_SIZE], const ilk__md5 *md5)
{
    enum { LENGTH_AT = ILK__MD5_BLOCK - 8 };
    unsigned char last[ILK__MD5_BLOCK] = {0};
    uint32_t state[4];
    size_t used = md5->len % ILK__MD5_BLOCK;

    memcpy(state, md5->state, sizeof state);
    memcpy(last, md5->block, used);
    last[used] = 0x80;
    if (used >= LENGTH_AT) {
        absorb(state, last);
        memset(last, 0, sizeof last);
    }
    put_words(last + LENGTH_AT, md5->len * 8, 8);
    absorb(state, last);
    for (int i = 0; i < 4; i++)
        put_words(out + (size_t)i * 4, state[i], 4);
}

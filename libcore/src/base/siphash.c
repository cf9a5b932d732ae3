/* SPDX-License-Identifier: MIT */
/* siphash.c -- SipHash-2-4. */
#include "siphash.h"

typedef struct state {
    uint64_t v0, v1, v2, v3;
} state;

static uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static uint64_t little_endian(const unsigned char *bytes, size_t len)
{
    uint64_t word = 0;

    while (len-- > 0)
        word = word << 8 | bytes[len];
    return word;
}

static void rounds(state *s, int count)
{
    while (count-- > 0) {
        s->v0 += s->v1;
        s->v2 += s->v3;
        s->v1 = rotate(s->v1, 13) ^ s->v0;
        s->v3 = rotate(s->v3, 16) ^ s->v2;
        s->v0 = rotate(s->v0, 32);
        s->v2 += s->v1;
        s->v0 += s->v3;
        s->v1 = rotate(s->v1, 17) ^ s->v2;
        s->v3 = rotate(s->v3, 21) ^ s->v0;
        s->v2 = rotate(s->v2, 32);
    }
}

static void absorb(state *s, uint64_t word)
{
    s->v3 ^= word;
    rounds(s, 2);
    s->v0 ^= word;
}

uint64_t ilk__siphash(const unsigned char key[ILK__SIPHASH_KEY],
                      const void *data, size_t len)
{
    const unsigned char *bytes = data;
    uint64_t k0 = little_endian(key, 8), k1 = little_endian(key + 8, 8);
    state s = {.v0 = k0 ^ UINT64_C(0x736f6d6570736575),
               .v1 = k1 ^ UINT64_C(0x646f72616e646f6d),
               .v2 = k0 ^ UINT64_C(0x6c7967656e657261),
               .v3 = k1 ^ UINT64_C(0x7465646279746573)};
    size_t rest = len;

    for (; rest >= 8; rest -= 8, bytes += 8)
        absorb(&s, little_endian(bytes, 8));
    absorb(&s, (uint64_t)len << 56 | little_endian(bytes, rest));
    s.v2 ^= 0xff;
    rounds(&s, 4);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

/* SPDX-License-Identifier: MIT */
/*
 * fuzz.h -- what the fuzz targets share: the check of a property, and the input
 * as a sequence of choices.
 */
#ifndef ILK__FUZZ_H
#define ILK__FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_broken(const char *property, const char *file, int line)
{
    fprintf(stderr, "%s:%d: this does not hold: %s\n", file, line, property);
    abort();
}

#define CHECK(property)                                                        \
    do {                                                                       \
        if (!(property))                                                       \
            fuzz_broken(#property, __FILE__, __LINE__);                        \
    } while (0)

/* The rest of the input. When it is used up, every choice is 0. */
typedef struct fuzz_input {
    const uint8_t *at;
    size_t left;
} fuzz_input;

static inline uint8_t fuzz_byte(fuzz_input *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->at++;
}

/* 0 .. sides - 1 */
static inline unsigned fuzz_pick(fuzz_input *in, unsigned sides)
{
    return fuzz_byte(in) % sides;
}

/*
 * A number of the kind that parsers and sums stumble over. Small ones take one
 * byte of the input.
 */
static inline int64_t fuzz_number(fuzz_input *in)
{
    static const int64_t edges[] = {INT64_MAX,
                                    INT64_MIN,
                                    INT64_C(1) << 53,
                                    (INT64_C(1) << 53) + 1,
                                    -(INT64_C(1) << 53),
                                    INT32_MAX,
                                    INT32_MIN,
                                    UINT32_MAX,
                                    65536,
                                    30000,
                                    -1,
                                    -2};
    uint8_t choice = fuzz_byte(in);
    uint64_t value = 0;

    if (choice < 200)
        return choice;
    if (choice < 200 + sizeof edges / sizeof edges[0])
        return edges[choice - 200];
    for (int i = 0; i < choice - 240 && i < 8; i++)
        value = value << 8 | fuzz_byte(in);
    return (int64_t)value;
}

/* A copy of `len` bytes of the input and a NUL, of its own size: a sanitizer
 * sees a read past its end. The caller frees it. */
static inline char *fuzz_copy(const void *data, size_t len)
{
    char *copy = malloc(len + 1);

    if (copy == NULL)
        abort();
    if (len != 0)
        memcpy(copy, data, len);
    copy[len] = '\0';
    return copy;
}

/* Take up to `most` bytes of the input as such a copy. */
static inline char *fuzz_text(fuzz_input *in, size_t most, size_t *out_len)
{
    size_t len = fuzz_byte(in);
    char *copy;

    len = len < most ? len : most;
    len = len < in->left ? len : in->left;
    copy = fuzz_copy(in->at, len);
    in->at += len;
    in->left -= len;
    *out_len = len;
    return copy;
}

#endif

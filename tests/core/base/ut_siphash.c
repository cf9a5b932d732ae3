/* SPDX-License-Identifier: MIT */
/* ut_siphash.c -- SipHash-2-4 against the vectors of its authors. */
#include "base/siphash.h"

#include "test.h"

/* Key 00 01 ... 0f, message 00 01 ... of this length: the paper's appendix A
 * (15 bytes) and the reference implementation's table. */
static const struct {
    size_t len;
    uint64_t hash;
} vectors[] = {
    {0, UINT64_C(0x726fdb47dd0e0e31)},  {1, UINT64_C(0x74f839c593dc67fd)},
    {7, UINT64_C(0xab0200f58b01d137)},  {8, UINT64_C(0x93f5f5799a932462)},
    {15, UINT64_C(0xa129ca6149be45e5)}, {63, UINT64_C(0x958a324ceb064572)}};

TEST(the_vectors_are_met)
{
    unsigned char key[ILK__SIPHASH_KEY], message[64];

    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (unsigned char)i;
    for (size_t i = 0; i < sizeof message; i++)
        message[i] = (unsigned char)i;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        assert_true(ilk__siphash(key, message, vectors[i].len)
                    == vectors[i].hash);
}

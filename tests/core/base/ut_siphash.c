/* SPDX-License-Identifier: MIT */
/* ut_siphash.c -- SipHash-2-4 against the vectors of its authors. */
#include "base/siphash.h"

#include "cmocka_all.h"

/* Key 00 01 ... 0f, message 00 01 ... of this length: the paper's appendix A
 * (15 bytes) and the reference implementation's table. */
static const struct {
    size_t len;
    uint64_t hash;
} vectors[] = {
    {0, UINT64_C(0x726fdb47dd0e0e31)},  {1, UINT64_C(0x74f839c593dc67fd)},
    {7, UINT64_C(0xab0200f58b01d137)},  {8, UINT64_C(0x93f5f5799a932462)},
    {15, UINT64_C(0xa129ca6149be45e5)}, {63, UINT64_C(0x958a324ceb064572)}};

static void the_vectors_are_met(void **state)
{
    unsigned char key[ILK__SIPHASH_KEY], message[64];

    (void)state;
    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (unsigned char)i;
    for (size_t i = 0; i < sizeof message; i++)
        message[i] = (unsigned char)i;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        assert_true(ilk__siphash(key, message, vectors[i].len)
                    == vectors[i].hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_vectors_are_met)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

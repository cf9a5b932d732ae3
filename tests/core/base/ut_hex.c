/* SPDX-License-Identifier: MIT */
/* ut_hex.c -- hexadecimal digits. */
#include "base/hex.h"

#include <stdio.h>

#include "test.h"

TEST(each_byte_has_two_digits)
{
    for (int byte = 0; byte < 256; byte++) {
        char expected[3], got[3] = "";

        snprintf(expected, sizeof expected, "%02x", (unsigned)byte);
        assert_ptr_equal(got + 2, ilk__hex(got, (unsigned char)byte));
        assert_string_equal(expected, got);
    }
}

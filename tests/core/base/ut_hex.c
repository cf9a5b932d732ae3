/* SPDX-License-Identifier: MIT */
/* ut_hex.c -- hexadecimal digits. */
#include "base/hex.h"

#include <stdio.h>

#include "cmocka_all.h"

static void each_byte_has_two_digits(void **state)
{
    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        char expected[3], got[3] = "";

        snprintf(expected, sizeof expected, "%02x", (unsigned)byte);
        assert_ptr_equal(got + 2, ilk__hex(got, (unsigned char)byte));
        assert_string_equal(expected, got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_byte_has_two_digits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

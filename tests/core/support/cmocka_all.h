/* SPDX-License-Identifier: MIT */
/* cmocka_all.h -- cmocka with what it wants included before it. */
#ifndef ILK__CMOCKA_ALL_H
#define ILK__CMOCKA_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Leave the test out that this stands in, and say so and why. */
#define skip_because(why)                                                      \
    do {                                                                       \
        print_error("SKIPPED: %s: %s\n", __func__, why);                       \
        skip();                                                                \
    } while (0)

#endif

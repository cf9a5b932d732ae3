/* SPDX-License-Identifier: MIT */
/* dice.c -- random numbers for a test, from a seed that can be given again. */
#include "dice.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static uint64_t seed; /* never 0 */

int dice_seed(void)
{
    const char *given = getenv("ILK_TEST_SEED");

    seed = given ? strtoull(given, NULL, 10) : (uint64_t)getpid() * 7919 + 1;
    seed += seed == 0;
    printf("ILK_TEST_SEED=%llu\n", (unsigned long long)seed);
    return 0;
}

/* xorshift64* */
uint32_t dice(uint32_t sides)
{
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return (uint32_t)((seed * 2685821657736338717u) >> 33) % sides;
}

/* SPDX-License-Identifier: MIT */
/* dice.h -- random numbers for a test, from a seed that can be given again. */
#ifndef ILK__DICE_H
#define ILK__DICE_H

#include <stdint.h>

/* Take the seed of ILK_TEST_SEED, or another one in each process; print it. 0, for
 * it is the set-up of programs. */
int dice_seed(void);

/* A number below `sides`. */
uint32_t dice(uint32_t sides);

#endif

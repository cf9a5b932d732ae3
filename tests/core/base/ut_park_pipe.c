/* SPDX-License-Identifier: MIT */
/* ut_park_pipe.c -- ut_park.c once more, where there is no futex. */
#define ILK_PARK_PIPE 1
#define ilk__parker_init pipe_parker_init
#define ilk__parker_destroy pipe_parker_destroy
#define ilk__park pipe_park
#define ilk__unpark pipe_unpark

#include "base/park.c"

#include "ut_park.c"

/* SPDX-License-Identifier: MIT */
/* ut_pollable_pipe.c -- ut_pollable.c once more, where there is no eventfd. */
#define ILK_POLLABLE_PIPE 1
#define ilk__pollable_open pipe_pollable_open
#define ilk__pollable_close pipe_pollable_close
#define ilk__pollable_fd pipe_pollable_fd
#define ilk__pollable_raise pipe_pollable_raise
#define ilk__pollable_clear pipe_pollable_clear
#define ilk__pollable_polled pipe_pollable_polled

#include "base/pollable.c"

#include "ut_pollable.c"

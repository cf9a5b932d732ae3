/* SPDX-License-Identifier: MIT */
/* ut_forked_process.c -- ut_forked.c once more, where the kernel wipes no page.
 */
#include <sys/mman.h>
#undef MADV_WIPEONFORK

#define ilk__fork_watch process_fork_watch
#define ilk__fork_generation process_fork_generation

#include "base/forked.c"

#include "ut_forked.c"

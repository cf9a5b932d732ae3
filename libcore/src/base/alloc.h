/* SPDX-License-Identifier: MIT */
/* alloc.h -- all allocations, in one place so that a test can fail the Nth. */
#ifndef ILK__ALLOC_H
#define ILK__ALLOC_H

#include <stddef.h>

void *ilk__malloc(size_t size);
void *ilk__calloc(size_t count, size_t size);
void *ilk__realloc(void *ptr, size_t size);
void ilk__free(void *ptr);

/* Allocated copies. NULL when there is no memory; a NULL text gives NULL. */
char *ilk__strdup(const char *text);
void *ilk__memdup(const void *data, size_t len); /* appends a NUL */

/* Overwrite a secret; the compiler cannot optimise this away. */
void ilk__wipe(void *data, size_t len);

/*
 * Tests only: the allocation with this number (1 is the next one) and all after
 * it fail; 0 lets all succeed. All threads share the count.
 */
void ilk__alloc_fail_at(long number);
long ilk__alloc_count(void); /* allocations since the last fail_at */

#endif

/* SPDX-License-Identifier: MIT */
/* alloc.h -- memory, through one door so that a test can fail the Nth. */
#ifndef ILK__ALLOC_H
#define ILK__ALLOC_H

#include <stddef.h>

void *ilk__malloc(size_t size);
void *ilk__calloc(size_t count, size_t size);
void *ilk__realloc(void *ptr, size_t size);
void ilk__free(void *ptr);

/* Copies; NULL when there is no memory, or for a NULL string. */
char *ilk__strdup(const char *text);
void *ilk__memdup(const void *data, size_t len); /* adds a NUL behind it */

/* Overwrite len bytes in a way that the compiler keeps, for secrets. */
void ilk__wipe(void *data, size_t len);

/*
 * Tests only: the allocation with this number from now (1 is the next) and
 * all after it fail; 0 lets all succeed. Counts are shared by all threads.
 */
void ilk__alloc_fail_at(long number);
long ilk__alloc_count(void); /* allocations since the last fail_at */

#endif

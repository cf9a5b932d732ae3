/* SPDX-License-Identifier: MIT */
/* alloc.c -- all allocations, in one place so that a test can fail the Nth. */
#include "alloc.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * Counting begins with the first ilk__alloc_fail_at(). Outside of tests an
 * allocation therefore only loads `counting`, whose cache line is never
 * written.
 */
static atomic_int counting;
static atomic_long made;    /* allocations since the last fail_at */
static atomic_long fail_at; /* 0: none */

static int must_fail(void)
{
    long number, limit;

    if (!atomic_load_explicit(&counting, memory_order_relaxed))
        return 0;
    number = atomic_fetch_add(&made, 1) + 1;
    limit = atomic_load(&fail_at);
    return limit != 0 && number >= limit;
}

void ilk__alloc_fail_at(long number)
{
    atomic_store(&fail_at, number);
    atomic_store(&made, 0);
    atomic_store(&counting, 1);
}

long ilk__alloc_count(void)
{
    return atomic_load(&made);
}

/* Zero bytes are allocated as one, so that NULL always means no memory. */

void *ilk__malloc(size_t size)
{
    return must_fail() ? NULL : malloc(size != 0 ? size : 1);
}

void *ilk__calloc(size_t count, size_t size)
{
    if (must_fail() || (size != 0 && count > SIZE_MAX / size))
        return NULL;
    return count != 0 && size != 0 ? calloc(count, size) : calloc(1, 1);
}

void *ilk__realloc(void *ptr, size_t size)
{
    return must_fail() ? NULL : realloc(ptr, size != 0 ? size : 1);
}

void ilk__free(void *ptr)
{
    free(ptr);
}

char *ilk__strdup(const char *text)
{
    return text != NULL ? ilk__memdup(text, strlen(text)) : NULL;
}

void *ilk__memdup(const void *data, size_t len)
{
    char *copy;

    if (len == SIZE_MAX || (copy = ilk__malloc(len + 1)) == NULL)
        return NULL;
    if (len != 0)
        memcpy(copy, data, len);
    copy[len] = '\0';
    return copy;
}

void ilk__wipe(void *data, size_t len)
{
    if (data == NULL || len == 0)
        return;
    memset(data, 0, len);
    /* Makes the compiler assume that the bytes are read, so that it keeps the
     * stores. */
    __asm__ __volatile__("" : : "r"(data) : "memory");
}

/* SPDX-License-Identifier: MIT */
/*
 * forked.c -- a number that differs between a process and its forked children.
 *
 * Linux zeroes a page marked MADV_WIPEONFORK in each child, also after _Fork()
 * and clone(), which run no atfork handlers. The generation is kept there, and
 * a second time in ordinary memory, from which a child continues to count.
 *
 * Elsewhere an atfork handler counts, and the process id is compared for
 * children that ran no handler.
 */
#include "forked.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_uint latest = 1;
static atomic_uint *page; /* 0 in a child; NULL: the kernel wipes no page */
static atomic_int process;

static void in_child(void)
{
    atomic_store(&process, (int)getpid());
    atomic_fetch_add(&latest, 1);
}

static void *map_page(void)
{
#ifdef MADV_WIPEONFORK
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *got = mmap(NULL, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (got == MAP_FAILED)
        return NULL;
    if (madvise(got, size, MADV_WIPEONFORK) == 0)
        return got;
    munmap(got, size); /* a kernel before 4.14, or an emulated one */
#endif
    return NULL;
}

static void watch(void)
{
    page = map_page();
    if (page != NULL) {
        atomic_init(page, atomic_load(&latest));
        return;
    }
    atomic_store(&process, (int)getpid());
    pthread_atfork(NULL, NULL, in_child);
}

void ilk__fork_watch(void)
{
    pthread_once(&once, watch);
}

/* The first call in a child. Several threads may come here: one of them sets
 * the page, and all return its number. */
static uint32_t start_generation(void)
{
    unsigned seen = 0, next = atomic_load(&latest) + 1;

    atomic_store(&latest, next);
    return atomic_compare_exchange_strong(page, &seen, next) ? next : seen;
}

uint32_t ilk__fork_generation(void)
{
    uint32_t generation;
    int now;

    if (page != NULL) {
        generation = atomic_load_explicit(page, memory_order_relaxed);
        return generation != 0 ? generation : start_generation();
    }
    now = (int)getpid();
    if (atomic_exchange(&process, now) != now)
        atomic_fetch_add(&latest, 1);
    return atomic_load(&latest);
}

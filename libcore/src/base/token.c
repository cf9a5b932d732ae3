/* SPDX-License-Identifier: MIT */
/* token.c -- random numbers: for identities (secure) and jitter (weak). */
#include "token.h"

#include "alloc.h"
#include "cancel.h"
#include "hex.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = 32 }; /* random bytes per request */

#ifdef __linux__
static int read_random(unsigned char *out, size_t len)
{
    while (len > 0) {
        ssize_t got = getrandom(out, len, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return -1;
        out += got;
        len -= (size_t)got;
    }
    return 0;
}
#else
static int read_random(unsigned char *out, size_t len)
{
    int rc;

    do
        rc = getentropy(out, len);
    while (rc != 0 && errno == EINTR);
    return rc;
}
#endif

static int fill_random(unsigned char *out, size_t len)
{
    int cancelling = ilk__cancel_disable();
    int rc = read_random(out, len);

    ilk__cancel_restore(cancelling);
    return rc;
}

ilk_status ilk__random(void *out, size_t len, ilk_error *err)
{
    if (fill_random(out, len) == 0)
        return ILK_OK;
    return ilk__fail(err, ILK_ESYSTEM, "no random numbers: %s",
                     strerror(errno));
}

ilk_status ilk__token(char *out, size_t digits, ilk_error *err)
{
    unsigned char bytes[CHUNK];
    size_t left = digits / 2, n;
    ilk_status st;

    for (; left > 0; left -= n) {
        n = left < sizeof bytes ? left : sizeof bytes;
        st = ilk__random(bytes, n, err);
        if (st) {
            *out = '\0';
            return st;
        }
        for (size_t i = 0; i < n; i++)
            out = ilk__hex(out, bytes[i]);
    }
    *out = '\0';
    ilk__wipe(bytes, sizeof bytes);
    return ILK_OK;
}

/*
 * Time, process id and a counter, mixed by the finalizer of SplitMix64. The
 * process id separates a child from its parent, the counter two calls in the
 * same nanosecond.
 */
uint32_t ilk__jitter(uint32_t bound)
{
    static atomic_uint counter;
    struct timespec now;
    uint64_t x;

    clock_gettime(CLOCK_MONOTONIC, &now);
    x = (uint64_t)now.tv_nsec ^ ((uint64_t)now.tv_sec << 30);
    x ^= (uint64_t)getpid() << 40;
    x += (uint64_t)atomic_fetch_add(&counter, 1) * 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    x ^= x >> 31;
    return (uint32_t)(((x >> 32) * bound) >> 32);
}

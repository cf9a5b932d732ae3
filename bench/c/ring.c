/* SPDX-License-Identifier: MIT */
/* ring.c -- lookups on a ring: ring NODES SECONDS. Prints the CPU time
 * of one in us. */
#include "bench.h"

#include <interlock.h>
#include <string.h>

enum { KEYS = 20000, KEY_MAX = 16 };

static char keys[KEYS][KEY_MAX];
static size_t lens[KEYS];

static ilk_ring *ring_of(int nodes)
{
    ilk_ring *ring;
    ilk_error err;

    if (ilk_ring_new(&ring, NULL, &err))
        die("ring", err.msg);
    for (int i = 0; i < nodes; i++) {
        char name[32];
        int len =
            snprintf(name, sizeof name, "10.0.%d.%d:11211", i / 256, i % 256);

        if (ilk_ring_add(ring, name, (size_t)len, 1, &err))
            die("ring", err.msg);
    }
    return ring;
}

int main(int argc, char **argv)
{
    double began, seconds;
    int64_t count = 0;
    ilk_ring *ring;

    if (argc != 3)
        die("usage", "ring NODES SECONDS");
    ring = ring_of(atoi(argv[1]));
    for (int i = 0; i < KEYS; i++)
        lens[i] = (size_t)snprintf(keys[i], KEY_MAX, "key:%d", i);
    seconds = atof(argv[2]);
    began = cpu_seconds();
    while (cpu_seconds() < began + seconds) {
        for (int i = 0; i < KEYS; i++)
            if (ilk_ring_get(ring, keys[i], lens[i]) < 0)
                die("ring", "no node");
        count += KEYS;
    }
    printf("{\"us\": %.4f}\n", (cpu_seconds() - began) * 1e6 / (double)count);
    ilk_ring_free(ring);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* Print the two caches that have each key.
 *
 *   cc ring.c -o ring $(pkg-config --cflags --libs interlock)
 *   ./ring user:7 user:8         the same in every language, at any time */
#include <interlock.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    static const void *const caches[] = {"cache1", "cache2", "cache3"};
    static const size_t lens[] = {6, 6, 6};
    ilk_ring *ring = NULL;
    ilk_error err;
    int32_t found[2];
    ilk_status st = ilk_ring_new(&ring, NULL, &err);

    if (st == ILK_OK)
        st = ilk_ring_add_many(ring, caches, lens, 3, NULL, &err);
    for (int i = 1; i < argc && st == ILK_OK; i++) {
        st = ilk_ring_get_n(found, 2, ring, argv[i], strlen(argv[i]), &err);
        if (st == ILK_OK)
            printf("%s %s %s\n", argv[i], ilk_ring_node(ring, found[0], NULL),
                   ilk_ring_node(ring, found[1], NULL));
    }
    if (st != ILK_OK)
        fprintf(stderr, "%s: %s\n", ilk_status_name(st), err.msg);
    ilk_ring_free(ring);
    return st == ILK_OK ? 0 : 1;
}

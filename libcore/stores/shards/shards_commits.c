/* SPDX-License-Identifier: MIT */
/* shards_commits.c -- the transactions of this client that are committed or may be: a copy of
 * their commit that cannot be executed must not say that nothing was written. */
#include "shards_internal.h"

#include "base/hash.h"

#include <string.h>

enum {
    COMMITTED_MS = 60000
}; /* by then the core repeats no request any more */

typedef struct bit_pair {
    size_t first, second;
} bit_pair;

static bit_pair bits_of(const char *id)
{
    const uint64_t hash = ilk__hash(ILK__HASH_START, id, strlen(id));

    return (bit_pair){(size_t)(hash % ILK__SHARDS_COMMITS),
                      (size_t)((hash >> 32) % ILK__SHARDS_COMMITS)};
}

static void set_bit(uint8_t *set, size_t bit)
{
    set[bit / 8] |= (uint8_t)(1 << bit % 8);
}

static int has_bit(const uint8_t *set, size_t bit)
{
    return set[bit / 8] >> bit % 8 & 1;
}

void ilk__shards_note_commit(ilk__shards *shards, const char *id)
{
    ilk__shards_commits *commits = &shards->commits;
    const int64_t now = ilk__now_ms(),
                  turn = 4 * shards->patience_ms > COMMITTED_MS
                             ? 4 * shards->patience_ms
                             : COMMITTED_MS;
    const bit_pair bits = bits_of(id);

    if (now >= commits->since + turn) {
        commits->newer = !commits->newer;
        commits->since = now;
        memset(commits->sets[commits->newer], 0, sizeof commits->sets[0]);
    }
    set_bit(commits->sets[commits->newer], bits.first);
    set_bit(commits->sets[commits->newer], bits.second);
}

int ilk__shards_may_have_committed(const ilk__shards_commits *commits,
                                   const char *id)
{
    const bit_pair bits = bits_of(id);

    for (size_t i = 0; i < 2; i++)
        if (has_bit(commits->sets[i], bits.first)
            && has_bit(commits->sets[i], bits.second))
            return 1;
    return 0;
}

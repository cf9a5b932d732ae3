/* SPDX-License-Identifier: MIT */
/* ring_decisions.c -- the transactions of which this client has sent the decision. */
#include "ring_internal.h"

#include "base/hash.h"

#include <string.h>

enum { DECIDED_MS = 60000 }; /* by then the core repeats no request any more */

static size_t bit_of(const char *id)
{
    return (size_t)(ilk__hash(ILK__HASH_START, id, strlen(id))
                    % ILK__RING_DECIDED);
}

void ilk__ring_note_decision(ilk__ring_gateway *ring, const char *id)
{
    ilk__ring_decisions *decisions = &ring->decisions;
    const int64_t now = ilk__now_ms(), turn = 4 * ring->patience_ms > DECIDED_MS
                                                  ? 4 * ring->patience_ms
                                                  : DECIDED_MS;
    const size_t bit = bit_of(id);

    if (now >= decisions->since + turn) {
        decisions->newer = !decisions->newer;
        decisions->since = now;
        memset(decisions->sets[decisions->newer], 0, sizeof decisions->sets[0]);
    }
    decisions->sets[decisions->newer][bit / 8] |= (uint8_t)(1 << bit % 8);
}

int ilk__ring_may_have_decided(const ilk__ring_decisions *decisions,
                               const char *id)
{
    const size_t bit = bit_of(id);
    const uint8_t mask = (uint8_t)(1 << bit % 8);

    return ((decisions->sets[0][bit / 8] | decisions->sets[1][bit / 8]) & mask)
           != 0;
}

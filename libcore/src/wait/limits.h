/* SPDX-License-Identifier: MIT */
/* limits.h -- numbers that are the same for all wait queues of all clients.
 * scripts/include/limits.lua has them as well, for scripts that are called
 * without them. */
#ifndef ILK__LIMITS_H
#define ILK__LIMITS_H

enum {
    ILK__LIVENESS_MS = 6000, /* how long an entry lives without refresh */
    ILK__GRANT_MS = 5000,    /* the lease of a grant until its first renewal */
    ILK__GRANT_LIMIT = 64    /* entries that one script call may visit */
};

#endif

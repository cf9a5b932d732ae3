/* SPDX-License-Identifier: MIT */
/*
 * backoff.h -- the pause before another try, for everything that tries again,
 * and all numbers of it.
 *
 * A pause that grows doubles up to a limit; a random half of it (jitter) keeps
 * clients that failed together from coming back together.
 */
#ifndef ILK__BACKOFF_H
#define ILK__BACKOFF_H

#include <stdint.h>

enum {
    /* A connection that was refused or broke is opened again. */
    ILK__CONNECT_PAUSE_FIRST_MS = 2,
    ILK__CONNECT_PAUSE_MOST_MS = 500,
    /* A request is sent again to a server that is away, busy or loading. */
    ILK__REQUEST_PAUSE_FIRST_MS = 4,
    ILK__REQUEST_PAUSE_MOST_MS = 250,
    /* A unix socket whose queue of connections is full is dialled again. */
    ILK__SOCKET_BUSY_PAUSE_MS = 5,
    /* A refresh that failed is repeated. */
    ILK__REFRESH_PAUSE_MS = 50,
    /* A recipe's listener connects again. */
    ILK__LISTENER_PAUSE_MS = 50,
    /* A worker's message is delivered again, unless the options say else. */
    ILK__DELIVERY_PAUSE_FIRST_MS = 1000,
    ILK__DELIVERY_PAUSE_MOST_MS = 10 * 60 * 1000
};

/* The next pause. *step_ms belongs to the caller; 0 begins anew. */
int64_t ilk__connect_pause_ms(int *step_ms);
int64_t ilk__request_pause_ms(int *step_ms);

/* The pause after the n-th failure (from 1) of something that counts them. */
int64_t ilk__attempt_pause_ms(int64_t first_ms, int64_t most_ms, int64_t n);

#endif

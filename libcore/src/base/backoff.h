/* SPDX-License-Identifier: MIT */
/*
 * backoff.h -- the pauses before an attempt, a request or a delivery is
 * repeated, and their lengths.
 *
 * A growing pause doubles up to a limit. Half of each pause is random (jitter),
 * so that clients which failed at the same time do not retry at the same time.
 * After a connection that was not made in time all of it is random, and it is
 * longer: the server may have more clients than it can log in.
 *
 * Pauses that concern one file or folder are defined there: of a failed
 * renewal, a tenth of the lease (wait/lease.c); of the embedded server's files
 * and socket, which other processes change (embedded/); of the stores
 * (libcore/stores); and of Python's transactions and asynchronous worker.
 * docs/connections.md lists all except those of stores in shared objects.
 */
#ifndef ILK__BACKOFF_H
#define ILK__BACKOFF_H

#include "error.h"

#include <stdint.h>

enum {
    /* Before the next question to sentinels, when there was no primary at the
     * address that one of them gave. */
    ILK__PRIMARY_PAUSE_MS = 100,
    /* Before a connection that was refused or broke is opened again. */
    ILK__CONNECT_PAUSE_FIRST_MS = 2,
    ILK__CONNECT_PAUSE_MOST_MS = 500,
    /* The same after an attempt that has timed out. */
    ILK__CROWD_PAUSE_FIRST_MS = 500,
    ILK__CROWD_PAUSE_MOST_MS = 10 * 1000,
    /* Before a request is sent again, when the server is unreachable, busy or
     * loading. */
    ILK__REQUEST_PAUSE_FIRST_MS = 4,
    ILK__REQUEST_PAUSE_MOST_MS = 250,
    /* Before the next connect() to a unix socket whose backlog is full. */
    ILK__SOCKET_BUSY_PAUSE_MS = 5,
    /* Before a failed refresh is repeated. */
    ILK__REFRESH_PAUSE_MS = 50,
    /* Before the keeper sends a cancel a second time: by then the server has
     * read what a broken connection had left. */
    ILK__SECOND_CANCEL_PAUSE_MS = 100,
    /* Before a recipe's listener connects again. */
    ILK__LISTENER_PAUSE_MS = 50,
    /* Before a worker's message is delivered again; defaults of options. */
    ILK__DELIVERY_PAUSE_FIRST_MS = 1000,
    ILK__DELIVERY_PAUSE_MOST_MS = 10 * 60 * 1000
};

/* The next pause. The caller keeps *step_ms and sets it to 0 on success. `why` the
 * attempt has failed: ILK_ETIMEOUT, or anything else. */
int64_t ilk__connect_pause_ms(int *step_ms, ilk_status why);
int64_t ilk__request_pause_ms(int *step_ms);

/* The pause after the n-th failure, n from 1, where the caller counts them. */
int64_t ilk__failure_pause_ms(int64_t first_ms, int64_t most_ms, int64_t n);

#endif

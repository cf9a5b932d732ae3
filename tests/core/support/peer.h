/* SPDX-License-Identifier: MIT */
/*
 * peer.h -- the other end of a connection, as badly behaved as wanted.
 *
 * A listening socket on 127.0.0.1 and, once peer_serve() was called, a thread
 * that accepts one connection, sends what it is given and records what it
 * receives. Without the thread connections are made by the kernel alone and
 * nobody ever answers.
 */
#ifndef ILK__PEER_H
#define ILK__PEER_H

#include <pthread.h>
#include <stddef.h>

enum { PEER_HEARD = 8192 };

typedef struct peer {
    int listener, port;
    int fd; /* the accepted connection; -1 */
    pthread_t thread;
    int serving;
    const char *const *says; /* NULL at the end; "" closes, see below */
    int delay_ms;            /* before each byte it says */
    int deaf;                /* reads no more after its last line */
    char heard[PEER_HEARD];  /* NUL-terminated */
    size_t heard_len;
} peer;

int peer_open(peer *p); /* 0, or -1 */
int peer_open_path(peer *p, const char *path, int backlog);

/*
 * Accept one connection. For each line of says: read until something came,
 * then send the line. The line "" sends nothing and closes; a line that
 * begins with '!' is sent without reading first. After the last line all is
 * read until the other side closes.
 */
int peer_serve(peer *p, const char *const *says);

void peer_wait(peer *p);  /* until the thread has ended */
void peer_close(peer *p); /* everything */

#endif

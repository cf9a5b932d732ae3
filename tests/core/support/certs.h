/* SPDX-License-Identifier: MIT */
/*
 * certs.h -- certificates of a test's own, made by the openssl command.
 *
 *     ca.crt             the authority that signed all but other.crt
 *     server.crt .key    for localhost and 127.0.0.1
 *     elsewhere.crt .key for elsewhere.example only
 *     client.crt .key    for a client
 *     other.crt          an authority that signed nothing
 */
#ifndef ILK__CERTS_H
#define ILK__CERTS_H

#include "fixture.h"

enum { CERTS_SKIP = 77 }; /* exit status of a test without what it needs */

typedef struct certs {
    char dir[64];
} certs;

/* 0; CERTS_SKIP when there is no openssl command; -1. */
int certs_make(certs *c);
void certs_remove(certs *c);

/*
 * Make them and start a server that speaks TLS on a port of its own: 0;
 * CERTS_SKIP, with nothing left behind, where openssl or the server's TLS is
 * missing; -1.
 */
int certs_serve(certs *c, fixture *fx, int *out_port);

/* The path of a file of dir, in one of a few static buffers. */
const char *certs_path(const certs *c, const char *file);

#endif

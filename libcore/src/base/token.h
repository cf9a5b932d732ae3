/* SPDX-License-Identifier: MIT */
/* token.h -- random numbers: for identities (secure) and jitter (weak). */
#ifndef ILK__TOKEN_H
#define ILK__TOKEN_H

#include "error.h"

enum { ILK__TOKEN_LEN = 32, ILK__CLIENT_ID_LEN = 16 };

/*
 * Write `digits` (even) random hexadecimal digits and a NUL. ILK_ESYSTEM when
 * the system has no randomness; there is no weaker fallback.
 */
ilk_status ilk__token(char *out, size_t digits, ilk_error *err);

/* Fill with random bytes. ILK_ESYSTEM, as above. */
ilk_status ilk__random(void *out, size_t len, ilk_error *err);

/* A random number below bound. Weak: for jitter only, never for identities. */
uint32_t ilk__jitter(uint32_t bound);

#endif

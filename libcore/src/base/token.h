/* SPDX-License-Identifier: MIT */
/* token.h -- chance: identities from the operating system, and jitter. */
#ifndef ILK__TOKEN_H
#define ILK__TOKEN_H

#include "error.h"

enum { ILK__TOKEN_LEN = 32, ILK__CLIENT_ID_LEN = 16 };

/*
 * Write `digits` (even) hexadecimal digits and a NUL. ILK_ESYSTEM when the
 * system gives no randomness: an identity is refused rather than weakened.
 */
ilk_status ilk__token(char *out, size_t digits, ilk_error *err);

/* A number below bound for jitter; may be weak, never for identities. */
uint32_t ilk__jitter(uint32_t bound);

#endif

/* SPDX-License-Identifier: MIT */
/* printable.h -- texts of others, such as a server's, that steer no terminal. */
#ifndef ILK__PRINTABLE_H
#define ILK__PRINTABLE_H

#include <stddef.h>

/* Put a '?' in place of each byte that belongs to no printable character of UTF-8: of
 * controls (C0, DEL, C1), of characters that are invisible or change the direction of
 * what follows, and of no character at all. */
void ilk__make_printable(char *text);

#endif

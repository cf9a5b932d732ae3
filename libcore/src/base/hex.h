/* SPDX-License-Identifier: MIT */
/* hex.h -- hexadecimal digits, in lower case. */
#ifndef ILK__HEX_H
#define ILK__HEX_H

/* Write the two digits of a byte; returns where the next ones go. No NUL. */
char *ilk__hex(char *out, unsigned char byte);

#endif

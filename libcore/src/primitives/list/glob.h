/* SPDX-License-Identifier: MIT */
/* glob.h -- patterns as Redis' KEYS takes them. */
#ifndef ILK__GLOB_H
#define ILK__GLOB_H

#include <stddef.h>

/*
 * Whether the whole text matches the pattern: `*` any bytes, `?` one byte,
 * `[a-z]` one of these bytes, `[^a-z]` one byte that is none of these; a
 * backslash takes the next byte as it is. A `[` without an end reaches to the
 * end of the pattern.
 */
int ilk__glob_matches(const char *pattern, size_t pattern_len, const char *text,
                      size_t text_len);

#endif

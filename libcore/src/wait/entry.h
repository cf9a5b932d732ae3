/* SPDX-License-Identifier: MIT */
/*
 * entry.h -- the text that stands for one waiter in a wait queue on the server.
 *
 *     1 <kind> <client> <kind><waiter>.<secret> <token> <lease ms> <permits> <who>
 *
 * The first word is the version; a signal's waiter has 2. `who` is the rest of
 * the text and may contain spaces, the other words may not. Scripts read the
 * same text in scripts/include/entry.lua and signal_entry.lua.
 */
#ifndef ILK__ENTRY_H
#define ILK__ENTRY_H

#include "base/error.h"

enum { ILK__ENTRY_MAX = 512 };

typedef struct ilk__entry {
    char kind; /* see scripts/README.md */
    const char *client;
    int64_t waiter;     /* its id within the client */
    const char *secret; /* of the waiter, see secret.h */
    const char *token;
    int64_t lease_ms, permits;
    const char *who;
} ilk__entry;

/* Write the text and a NUL; returns the length. A long `who` is truncated. */
size_t ilk__entry_write(char out[ILK__ENTRY_MAX], const ilk__entry *entry);

/* Whose a hold or a wait is. The texts are parts of the one that was read. */
typedef struct ilk__who {
    const char *client; /* its id */
    size_t client_len;  /* 0: not known */
    const char *label;
    size_t label_len;
} ilk__who;

/* Read the `<client> <label>` of a record. An earlier version wrote the label alone. */
ilk__who ilk__who_read(const char *text, size_t len);

/* The parts of an entry that inspection needs; they point into its text. */
typedef struct ilk__entry_text {
    const char *token;
    size_t token_len;
    int64_t permits;
    ilk__who who;
} ilk__entry_text;

/* Returns 0 when the text is not an entry of this version. */
int ilk__entry_read(ilk__entry_text *out, const char *text, size_t len);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * command.h -- a command as arguments with lengths, then as bytes.
 *
 * Arguments are borrowed until the command is formatted; numbers are copied.
 * The first argument allocates, so that an operation without a command stays
 * small. A failed allocation sets `failed`, and ilk__command_format() returns
 * ILK_ENOMEM: callers that add arguments need no checks.
 */
#ifndef ILK__COMMAND_H
#define ILK__COMMAND_H

#include "base/buf.h"

enum { ILK__COMMAND_WORDS = 24, ILK__COMMAND_NUMBERS = 12 };

/* Room for the arguments of most commands, in one allocation. */
typedef struct ilk__words {
    const char *argv[ILK__COMMAND_WORDS];
    size_t lens[ILK__COMMAND_WORDS];
    char numbers[ILK__COMMAND_NUMBERS][24];
} ilk__words;

typedef struct ilk__command {
    ilk__words *words; /* NULL: empty */
    const char **argv; /* inside words, or a longer array of its own */
    size_t *lens;
    size_t argc, room, number_count;
    int failed;
} ilk__command;

void ilk__command_init(ilk__command *command);
void ilk__command_free(ilk__command *command); /* leaves it usable, empty */
void ilk__command_add(ilk__command *command, const void *data, size_t len);
void ilk__command_add_str(ilk__command *command, const char *text);
/* At most ILK__COMMAND_NUMBERS of these in a command. */
void ilk__command_add_int(ilk__command *command, int64_t number);

/* Append the RESP form to out. ILK_ENOMEM. */
ilk_status ilk__command_format(const ilk__command *command, ilk__buf *out,
                               ilk_error *err);

#endif

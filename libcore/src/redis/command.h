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

enum { ILK__COMMAND_ARGS = 24, ILK__COMMAND_NUMBERS = 12 };

/* Room for the arguments of most commands, in one allocation. */
typedef struct ilk__command_store {
    const char *argv[ILK__COMMAND_ARGS];
    size_t lens[ILK__COMMAND_ARGS];
    char numbers[ILK__COMMAND_NUMBERS][24];
} ilk__command_store;

/* The reply of a command, if it is no error; see expected_reply.h. */
typedef enum ilk__reply_kind {
    ILK__REPLIES_ANY,
    ILK__REPLIES_NUMBERED, /* a script: with the request's number */
    ILK__REPLIES_INT,
    ILK__REPLIES_STR,
    ILK__REPLIES_ARRAY
} ilk__reply_kind;

typedef struct ilk__command {
    ilk__command_store *store; /* NULL: empty */
    const char **argv;         /* inside store, or a longer array of its own */
    size_t *lens;
    size_t argc, room, number_count;
    ilk__reply_kind replies;
    int failed;
    const char *order_key; /* borrowed: the key whose commands keep their order
                              (lanes.h); NULL: the first key */
    size_t order_key_len;
} ilk__command;

void ilk__command_init(ilk__command *command);
void ilk__command_free(ilk__command *command); /* leaves it usable, empty */
void ilk__command_add(ilk__command *command, const void *data, size_t len);
void ilk__command_add_str(ilk__command *command, const char *text);
/* At most ILK__COMMAND_NUMBERS of these in a command. */
void ilk__command_add_int(ilk__command *command, int64_t number);

/* Append the RESP form to out; a script call gets the number of the request as
 * its last argument. ILK_ENOMEM. */
ilk_status ilk__command_format(const ilk__command *command, int64_t number,
                               ilk__buf *out, ilk_error *err);

#endif

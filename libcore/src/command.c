/* SPDX-License-Identifier: MIT */
/* command.c -- a command as arguments with lengths, then as bytes. */
#include "command.h"

#include "alloc.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

void ilk__command_init(ilk__command *command)
{
    command->argv = command->inline_argv;
    command->lens = command->inline_lens;
    command->argc = 0;
    command->room = ILK__COMMAND_INLINE;
    command->failed = 0;
    command->number_count = 0;
}

void ilk__command_free(ilk__command *command)
{
    if (command->argv != command->inline_argv)
        ilk__free(command->argv);
    if (command->lens != command->inline_lens)
        ilk__free(command->lens);
    ilk__command_init(command);
}

/* Move to arrays of twice the size; on failure the old ones stay. */
static int grow(ilk__command *command)
{
    size_t room = command->room * 2;
    const char **argv = ilk__malloc(room * sizeof *argv);
    size_t *lens = ilk__malloc(room * sizeof *lens);

    if (argv == NULL || lens == NULL) {
        ilk__free(argv);
        ilk__free(lens);
        return -1;
    }
    memcpy(argv, command->argv, command->argc * sizeof *argv);
    memcpy(lens, command->lens, command->argc * sizeof *lens);
    if (command->argv != command->inline_argv) {
        ilk__free(command->argv);
        ilk__free(command->lens);
    }
    command->argv = argv;
    command->lens = lens;
    command->room = room;
    return 0;
}

void ilk__command_add(ilk__command *command, const void *data, size_t len)
{
    if (command->argc == command->room && grow(command) != 0) {
        command->failed = 1;
        return;
    }
    command->argv[command->argc] = data;
    command->lens[command->argc] = len;
    command->argc++;
}

void ilk__command_add_str(ilk__command *command, const char *text)
{
    ilk__command_add(command, text, strlen(text));
}

void ilk__command_add_int(ilk__command *command, int64_t number)
{
    char *text;
    int len;

    assert(command->number_count < ILK__COMMAND_NUMBERS);
    text = command->numbers[command->number_count++];
    len = snprintf(text, sizeof command->numbers[0], "%" PRId64, number);
    ilk__command_add(command, text, (size_t)len);
}

ilk_status ilk__command_format(const ilk__command *command, ilk__buf *out,
                               ilk_error *err)
{
    ilk_status st = ILK_ENOMEM;
    char *text = NULL;
    long long len;

    if (!command->failed && command->argc <= INT_MAX) {
        len = redisFormatCommandArgv(&text, (int)command->argc, command->argv,
                                     command->lens);
        if (len >= 0)
            st = ilk__buf_add(out, text, (size_t)len);
        redisFreeCommand(text);
    }
    if (st != ILK_OK)
        ilk__fail(err, st, "no memory for a command");
    return st;
}

/* SPDX-License-Identifier: MIT */
/* command.c -- a command as arguments with lengths, then as bytes. */
#include "command.h"

#include "base/alloc.h"

#include <assert.h>
#include <string.h>

enum {
    HEADER_MOST = 1 + 20 + 2, /* type, digits of a size_t, CR LF */
    NUMBER_MOST = 24          /* digits of a number, CR LF */
};

void ilk__command_init(ilk__command *command)
{
    memset(command, 0, sizeof *command);
}

static int has_longer(const ilk__command *command)
{
    return command->store && command->argv != command->store->argv;
}

void ilk__command_free(ilk__command *command)
{
    if (has_longer(command)) {
        ilk__free(command->argv);
        ilk__free(command->lens);
    }
    ilk__free(command->store);
    ilk__command_init(command);
}

static int begin(ilk__command *command)
{
    command->store = ilk__malloc(sizeof *command->store);
    if (command->store == NULL)
        return -1;
    command->argv = command->store->argv;
    command->lens = command->store->lens;
    command->room = ILK__COMMAND_ARGS;
    return 0;
}

/* Move to arrays of twice the size; on failure the old ones stay valid. */
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
    if (has_longer(command)) {
        ilk__free(command->argv);
        ilk__free(command->lens);
    }
    command->argv = argv;
    command->lens = lens;
    command->room = room;
    return 0;
}

/* 0 when there is no memory for one more argument. */
static int make_room(ilk__command *command)
{
    if (command->argc < command->room)
        return 1;
    if ((command->store ? grow(command) : begin(command)) == 0)
        return 1;
    command->failed = 1;
    return 0;
}

void ilk__command_add(ilk__command *command, const void *data, size_t len)
{
    if (!make_room(command))
        return;
    command->argv[command->argc] = data;
    command->lens[command->argc] = len;
    command->argc++;
}

void ilk__command_add_str(ilk__command *command, const char *text)
{
    ilk__command_add(command, text, strlen(text));
}

/* Write a number's decimal digits so that they end before `end`; returns the
 * first one. */
static char *digits(char *end, uint64_t number)
{
    do
        *--end = (char)('0' + number % 10);
    while (number /= 10);
    return end;
}

void ilk__command_add_int(ilk__command *command, int64_t number)
{
    char *text, *end;

    assert(command->number_count < ILK__COMMAND_NUMBERS);
    if (!make_room(command))
        return;
    text = command->store->numbers[command->number_count++];
    end = text + sizeof command->store->numbers[0];
    text = digits(end, number < 0 ? -(uint64_t)number : (uint64_t)number);
    if (number < 0)
        *--text = '-';
    ilk__command_add(command, text, (size_t)(end - text));
}

/* A RESP header: `*` and a count or `$` and a length, then CR LF. Most numbers have
 * one digit or two, and these headers were a tenth of all instructions of an acquire
 * and release. */
static char *put_header(char *to, char type, size_t number)
{
    *to++ = type;
    if (number < 100) {
        if (number >= 10)
            *to++ = (char)('0' + number / 10);
        *to++ = (char)('0' + number % 10);
    } else {
        char text[24], *end = text + sizeof text, *from = digits(end, number);

        memcpy(to, from, (size_t)(end - from));
        to += end - from;
    }
    *to++ = '\r';
    *to++ = '\n';
    return to;
}

static char *put_argument(char *to, const char *data, size_t len)
{
    to = put_header(to, '$', len);
    if (len)
        memcpy(to, data, len);
    to += len;
    *to++ = '\r';
    *to++ = '\n';
    return to;
}

/*
 * Writes straight into the buffer. hiredis' formatter calls sprintf for each
 * length, which was more than half of all instructions of an acquire and
 * release.
 */
ilk_status ilk__command_format(const ilk__command *command, int64_t number,
                               ilk__buf *out, ilk_error *err)
{
    int is_numbered = command->replies == ILK__REPLIES_NUMBERED;
    size_t most = 2 * HEADER_MOST + NUMBER_MOST;
    char text[NUMBER_MOST], *end = text + sizeof text, *begin = NULL, *to;

    for (size_t i = 0; i < command->argc; i++)
        most += command->lens[i] + HEADER_MOST + 2;
    if (!command->failed)
        begin = ilk__buf_reserve(out, most);
    if (!begin)
        return ilk__fail(err, ILK_ENOMEM, "no memory for a command");
    to = put_header(begin, '*', command->argc + (size_t)is_numbered);
    for (size_t i = 0; i < command->argc; i++)
        to = put_argument(to, command->argv[i], command->lens[i]);
    if (is_numbered) {
        const char *first = digits(end, (uint64_t)number);

        to = put_argument(to, first, (size_t)(end - first));
    }
    ilk__buf_grew(out, (size_t)(to - begin));
    return ILK_OK;
}

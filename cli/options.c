/* SPDX-License-Identifier: MIT */
/*
 * options.c -- getopt_long over a command's own table of options.
 *
 * getopt's permutation is left to it, except where another command line
 * follows (`lock NAME CMD ...`): there `+` makes it stop at the first word.
 */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { URL_MAX = 4096 };
enum { OPTIONS_MAX = 32, LETTERS_MAX = 2 + 2 * OPTIONS_MAX + 1 };

struct table {
    struct option longs[OPTIONS_MAX + 1];
    char letters[LETTERS_MAX];
};

static void build(struct table *table, const struct cli_command *command)
{
    const struct cli_option *option;
    size_t n = 0, at = 0;

    memset(table, 0, sizeof *table);
    if (command->in_order)
        table->letters[at++] = '+';
    table->letters[at++] = ':';
    for (option = command->options; option->name && n < OPTIONS_MAX; option++) {
        table->longs[n].name = option->name;
        table->longs[n].has_arg = option->arg ? required_argument : no_argument;
        table->longs[n++].val = option->key;
        if (option->letter)
            table->letters[at++] = option->letter;
        if (option->letter && option->arg)
            table->letters[at++] = ':';
    }
}

static const struct cli_option *by_key(const struct cli_command *command,
                                       int key)
{
    const struct cli_option *option;

    for (option = command->options; option->name; option++) {
        if (option->key == key || (option->letter && option->letter == key))
            return option;
    }
    return NULL;
}

static const struct cli_option *near_options; /* of the command at fault */

static const char *near_option(size_t index)
{
    return near_options[index].name; /* the end of the table has NULL */
}

/* getopt has stopped at something: say what it was. */
static int complain(const struct cli_args *args, int answer)
{
    const struct cli_option *option = by_key(args->command, optopt);
    const char *word = args->argv[optind - 1];
    const char *near;
    size_t len;

    if (answer == ':')
        return cli_usage(args, "--%s needs a value: %s", option->name,
                         option->arg);
    if (optopt && option)
        return cli_usage(args, "--%s takes no value", option->name);
    if (optopt)
        return cli_usage(args, "unknown option '-%c'", optopt);
    len = strcspn(word, "=");
    near_options = args->command->options;
    near = len > 2 ? cli_nearest(word + 2, near_option) : NULL;
    if (near)
        return cli_usage(args, "unknown option '%.*s'; did you mean '--%s'?",
                         (int)len, word, near);
    return cli_usage(args, "unknown option '%.*s'", (int)len, word);
}

/* The first line of a descriptor. It is read byte by byte, because what follows
   on standard input may be for the command. -1 with errno, or the length. */
static int read_line(int fd, char *line, size_t room)
{
    size_t len = 0;
    ssize_t got;

    while (len + 1 < room) {
        got = read(fd, line + len, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0 || line[len] == '\n')
            break;
        len++;
    }
    line[len] = '\0';
    return (int)len;
}

/* Arguments are visible to every user of the machine, a file need not be. */
static int take_url_file(struct cli_args *args, const char *path)
{
    static char url[URL_MAX];
    int is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    int len = fd < 0 ? -1 : read_line(fd, url, sizeof url);
    int error = errno;

    if (fd >= 0 && !is_stdin)
        close(fd);
    if (len < 0)
        return cli_usage(args, "--url-file: cannot read '%s': %s", path,
                         strerror(error));
    if (len == 0)
        return cli_usage(args, "--url-file: '%s' has no URL in its first line",
                         path);
    args->url = url;
    return CLI_OK;
}

/* 1 when the option is one that all commands treat alike. */
static int take_common(struct cli_args *args, int key)
{
    switch (key) {
    case CLI_KEY_URL: args->url = optarg; return 1;
    case CLI_KEY_URL_FILE:
        args->status = take_url_file(args, optarg);
        return args->status == CLI_OK;
    case CLI_KEY_JSON: args->json = 1; return 1;
    case CLI_KEY_HEX: args->hex = 1; return 1;
    case CLI_KEY_QUIET: cli_be_quiet(); return 1;
    default: return 0;
    }
}

int cli_args_next(struct cli_args *args, const char **out_value)
{
    const struct cli_option *option;
    struct table table;
    int answer;

    build(&table, args->command);
    opterr = 0;
    do {
        answer = getopt_long(args->argc, args->argv, table.letters, table.longs,
                             NULL);
        if (answer == -1)
            return 0;
        if (answer == '?' || answer == ':') {
            args->status = complain(args, answer);
            return -1;
        }
        option = by_key(args->command, answer);
    } while (take_common(args, option->key));
    if (option->key == CLI_KEY_URL_FILE)
        return -1; /* it could not be read */
    if (option->key == CLI_KEY_HELP) {
        if (args->command->name)
            cli_help(stdout, args->command);
        args->status = CLI_OK;
        return -1;
    }
    *out_value = optarg;
    return option->key;
}

/* getopt settles at its first call how it treats words among options. Here
   it begins anew, with the command in the place of the program's name. */
void cli_args_command(struct cli_args *args, const struct cli_command *command)
{
    args->command = command;
    args->argv += optind - 1;
    args->argc -= optind - 1;
#if defined(__APPLE__) || defined(__FreeBSD__)
    optreset = 1;
    optind = 1;
#else
    optind = 0;
#endif
}

char *cli_args_word(struct cli_args *args)
{
    return optind < args->argc ? args->argv[optind++] : NULL;
}

char *const *cli_args_rest(struct cli_args *args)
{
    return optind < args->argc ? args->argv + optind : NULL;
}

int cli_args_ended(const struct cli_args *args)
{
    return optind > 1 && strcmp(args->argv[optind - 1], "--") == 0;
}

int cli_args_done(struct cli_args *args)
{
    const char *word = cli_args_word(args);

    args->status =
        word ? cli_usage(args, "one word too many: '%s'", word) : CLI_OK;
    return args->status;
}

static int digit(char c)
{
    const char *all = "0123456789abcdef";
    const char *at = strchr(all, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);

    return c && at ? (int)(at - all) : -1;
}

/* Turn hexadecimal into bytes, in place; the number of bytes or -1. */
static int64_t unhex(char *text)
{
    size_t i, len = strlen(text);

    if (len % 2 != 0)
        return -1;
    for (i = 0; i < len; i += 2) {
        int high = digit(text[i]), low = digit(text[i + 1]);

        if (high < 0 || low < 0)
            return -1;
        text[i / 2] = (char)(high * 16 + low);
    }
    return (int64_t)(len / 2);
}

int cli_args_bytes(struct cli_args *args, char *word, const char *what,
                   struct cli_bytes *out)
{
    int64_t len;

    args->status = CLI_OK;
    out->data = word;
    if (!word)
        args->status = cli_usage(args, "%s is missing", what);
    else
        out->len = strlen(word);
    if (!word || !args->hex)
        return args->status;
    len = unhex(word);
    out->len = (size_t)len;
    if (len < 0)
        args->status = cli_usage(args, "%s is not hexadecimal", what);
    return args->status;
}

int cli_args_name(struct cli_args *args, char *word, struct cli_bytes *out)
{
    return cli_args_bytes(args, word, "NAME", out);
}

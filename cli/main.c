/* SPDX-License-Identifier: MIT */
/* main.c -- the table of commands, and the way from argv to one of them. */
#include "signals.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const struct cli_command *const commands[] = {
    &cli_lock,   &cli_semaphore, &cli_elect,       &cli_wait_for,
    &cli_signal, &cli_event,     &cli_group,       &cli_register,
    &cli_kv,     &cli_queue,     &cli_inspect,     &cli_ls,
    &cli_break,  &cli_demo,      &cli_server,      &cli_quorum,
    &cli_ring,   &cli_version,   &cli_demo_seller, &cli_supervise,
};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

static const struct cli_option options[] = {
    CLI_OPTION_URL,
    {"version", NULL, "show the version", CLI_KEY, 'V'},
    CLI_OPTION_HELP,
    CLI_OPTION_END,
};

/* The options before the command, parsed like a command's own. */
static const struct cli_command program = {
    .name = NULL,
    .synopsis = "COMMAND [ARG...]",
    .summary = "Many processes act as one, through Redis or another store.",
    .options = options,
    .in_order = 1,
};

static const char *command_name(size_t index)
{
    size_t i, shown = 0;

    for (i = 0; i < COMMANDS; i++) {
        if (!commands[i]->hidden && shown++ == index)
            return commands[i]->name;
    }
    return index == shown ? "help" : NULL;
}

static const struct cli_command *find(const char *name)
{
    size_t i;

    for (i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    }
    return NULL;
}

static int unknown(const struct cli_args *args, const char *name)
{
    const char *near = cli_nearest(name, command_name);

    if (near)
        return cli_usage(args, "unknown command '%s'; did you mean '%s'?", name,
                         near);
    return cli_usage(args, "unknown command '%s'", name);
}

static void overview(FILE *file)
{
    size_t i;

    cli_help(file, &program);
    fputs("\ncommands:\n", file);
    for (i = 0; i < COMMANDS; i++) {
        if (!commands[i]->hidden)
            fprintf(file, "  %-10s %s\n", commands[i]->name,
                    commands[i]->summary);
    }
    fputs("  help       Show this text, or that of a command.\n"
          "\nTimes are written 10, 10s, 250ms, 2m, 1h or 1d.\n"
          "Exit statuses: 0 done, 1 no, 64 usage, 65 other data at that key,\n"
          "69 server unreachable, 70 internal, 71 system, 74 output;\n"
          "'interlock lock' has more, see its help.\n",
          file);
}

static int help(struct cli_args *args)
{
    const char *name = cli_args_word(args);
    const struct cli_command *command = name ? find(name) : NULL;

    if (name && strcmp(name, "help") != 0 && !command)
        return unknown(args, name);
    if (cli_args_done(args))
        return args->status;
    if (command)
        cli_help(stdout, command);
    else
        overview(stdout);
    return CLI_OK;
}

static int dispatch(struct cli_args *args)
{
    const char *name = cli_args_word(args);
    const struct cli_command *command;

    if (!name)
        return cli_usage(args, "which command? 'interlock help' lists them");
    if (strcmp(name, "help") == 0)
        return help(args);
    command = find(name);
    if (!command)
        return unknown(args, name);
    cli_args_command(args, command);
    return command->run(args);
}

/* A standard descriptor that is closed would become that of a connection or of a
   pipe. A placeholder takes its number: reading finds the end, writing fails,
   and CMD finds it closed. */
static void hold_standard_descriptors(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv)
{
    struct cli_args args = {.command = &program, .argc = argc, .argv = argv};
    const char *value;
    int key;

    hold_standard_descriptors();
    key = cli_args_next(&args, &value);
    if (key == CLI_KEY) {
        args.command = &cli_version;
        args.status = cli_version.run(&args);
    } else if (key == 0) {
        args.status = dispatch(&args);
    } else if (args.status == CLI_OK) {
        overview(stdout);
    }
    return cli_signals_exit(cli_print_done(args.status));
}

/* SPDX-License-Identifier: MIT */
/* say.c -- messages on standard error, and the exit status of an ilk_status. */
#include "signals.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void put_line(const char *format, va_list list) CLI_PRINTF(1, 0);

/* One write, so that the lines of several processes do not mix. */
static void put_line(const char *format, va_list list)
{
    char line[1024], *shown;

    if (vsnprintf(line, sizeof line, format, list) < 0)
        return;
    shown = cli_message(line);
    fprintf(stderr, "interlock: %s\n", shown ? shown : "out of memory");
    free(shown);
}

void cli_say(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    put_line(format, list);
    va_end(list);
}

static int is_quiet;

void cli_be_quiet(void)
{
    is_quiet = 1;
}

int cli_is_quiet(void)
{
    return is_quiet;
}

void cli_note(const char *format, ...)
{
    va_list list;

    if (is_quiet)
        return;
    va_start(list, format);
    put_line(format, list);
    va_end(list);
}

int cli_usage(const struct cli_args *args, const char *format, ...)
{
    const char *name = args->command->name;
    va_list list;

    va_start(list, format);
    put_line(format, list);
    va_end(list);
    if (name)
        cli_say("try 'interlock %s --help'", name);
    else
        cli_say("try 'interlock --help'");
    return CLI_USAGE;
}

int cli_exit_status(ilk_status status)
{
    switch (status) {
    case ILK_OK: return CLI_OK;
    case ILK_EINVAL:
    case ILK_EUNSUPPORTED: return CLI_USAGE;
    case ILK_EDIFFERS:
    case ILK_ETYPE: return CLI_DATA;
    case ILK_ENOMEM:
    case ILK_ESYSTEM: return CLI_SYSTEM;
    case ILK_EBUSY:
    case ILK_ETIMEOUT: return CLI_NOT_ACQUIRED;
    case ILK_ELOST: return CLI_LOST;
    case ILK_ENOTOWNER:
    case ILK_ESTALE:
    case ILK_ECONFLICT: return CLI_FAILED;
    case ILK_ECONN:
    case ILK_EUNKNOWN:
    case ILK_EAUTH:
    case ILK_ENOQUORUM:
    case ILK_ESERVERBUSY:
    case ILK_ESERVERLOADING:
    case ILK_ESERVERREADONLY:
    case ILK_ESERVERMEMORY:
    case ILK_ESERVER:
    case ILK_ECLUSTER: return CLI_UNREACHABLE;
    default: return CLI_SOFTWARE;
    }
}

int cli_fail(ilk_status status, const ilk_error *err)
{
    int exit_status = cli_exit_status(status);
    const char *text = err->msg[0] ? err->msg : ilk_strerror(status);

    if (status == ILK_EINTR && cli_signals_ending())
        return cli_signals_status(cli_signals_ending());
    if (exit_status == CLI_NOT_ACQUIRED || exit_status == CLI_LOST
        || exit_status == CLI_FAILED)
        cli_note("%s", text);
    else
        cli_say("%s", text);
    return exit_status;
}

int cli_connect(const struct cli_args *args, ilk_client **out)
{
    return cli_connect_to_wait(args, 0, out);
}

int cli_connect_to_wait(const struct cli_args *args, int64_t wait_ms,
                        ilk_client **out)
{
    ilk_error err = {0, ""};
    ilk_client_opts opts;
    ilk_status st;

    ilk_client_opts_init(&opts, sizeof opts);
    opts.flags = ILK_CLIENT_TICK; /* a signal just before a wait is seen */
    /* CMD, and what it starts, is on the same server without saying so again. */
    if (args->url && setenv("INTERLOCK_URL", args->url, 1) != 0) {
        cli_say("setenv: %s", strerror(errno));
        return CLI_SYSTEM;
    }
    if (wait_ms > 0)
        opts.flags |= ILK_CLIENT_LAZY;
    st = ilk_client_open(out, args->url, &opts, &err);

    /* A server that does not answer in time is one we cannot reach. */
    if (st == ILK_ETIMEOUT) {
        cli_fail(st, &err);
        return CLI_UNREACHABLE;
    }
    return st == ILK_OK ? CLI_OK : cli_fail(st, &err);
}

int cli_print_done(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    cli_say("cannot write standard output: %s", strerror(errno));
    return status == CLI_OK ? CLI_OUTPUT : status;
}

int64_t cli_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* SPDX-License-Identifier: MIT */
/* waiting.c -- waits of the library that signals interrupt or end. */
#include "signals.h"

#include <string.h>

int cli_take_wait(const struct cli_args *args, const char *option,
                  const char *value, int64_t *out_ms)
{
    if (strcmp(value, "forever") != 0)
        return cli_take_duration(args, option, value, 0, out_ms);
    *out_ms = -1;
    return CLI_OK;
}

/* The rest of the time to wait. 0 would be a first try, so a wait that was
   interrupted at its very end gets another millisecond. */
static int64_t left_ms(int64_t wait_ms, int64_t began)
{
    int64_t spent = cli_now_ms() - began;

    if (wait_ms <= 0)
        return wait_ms;
    return spent < wait_ms ? wait_ms - spent : 1;
}

/* A signal that does not end the command, such as SIGWINCH, only interrupts:
   the wait keeps its place in the wait queue. */
ilk_status cli_wait(ilk_client *client,
                    ilk_status (*wait)(void *with, int64_t timeout_ms,
                                       ilk_error *err),
                    void *with, int64_t wait_ms, ilk_error *err)
{
    int64_t began = cli_now_ms();
    ilk_status st = ILK_EINTR;

    cli_signals_interrupt(client);
    while (st == ILK_EINTR && !cli_signals_ending()) {
        cli_signals_drain();
        st = wait(with, left_ms(wait_ms, began), err);
    }
    cli_signals_interrupt(NULL);
    return st;
}

/* SPDX-License-Identifier: MIT */
/* waiting.c -- waits of the library that signals interrupt or end. */
#include "signals.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/time.h>

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
int64_t cli_left_ms(int64_t wait_ms, int64_t began)
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
        st = wait(with, cli_left_ms(wait_ms, began), err);
    }
    cli_signals_interrupt(NULL);
    return st;
}

static _Atomic(ilk_client *) timed;

static void on_alarm(int number)
{
    ilk_client *client = atomic_load(&timed);

    (void)number;
    if (client)
        ilk_client_interrupt(client);
}

void cli_signals_interrupt_after(ilk_client *client, int64_t ms)
{
    static struct sigaction before;
    struct itimerval timer = {{0, 0}, {ms / 1000, ms % 1000 * 1000}};
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    sigfillset(&action.sa_mask);
    atomic_store(&timed, client);
    if (client)
        sigaction(SIGALRM, &action, &before);
    setitimer(ITIMER_REAL, &timer, NULL);
    if (!client)
        sigaction(SIGALRM, &before, NULL);
}

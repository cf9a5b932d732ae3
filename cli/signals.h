/* SPDX-License-Identifier: MIT */
/* signals.h -- signals as data: caught, and read from a descriptor. */
#ifndef INTERLOCK_CLI_SIGNALS_H
#define INTERLOCK_CLI_SIGNALS_H

#include "cli.h"

/* One signal that came. */
struct cli_signal {
    int number;
    int from_kernel; /* the terminal sent it, to our whole process group */
};

/* Catch the signals of the table in signals.c, but for those that this
   process was started to ignore. 0, or an exit status, with a message. */
int cli_signals_open(void);
/* Readable when a signal has come. */
int cli_signals_fd(void);
/* The next signal; 0 when none is left. */
int cli_signals_next(struct cli_signal *out);
/* Take all that have come: only Ctrl-Z needs an action at once. */
void cli_signals_drain(void);
/* The first signal that asks to end, 0 for none. It stays to be read. */
int cli_signals_ending(void);
/* A CMD that runs has got this signal. HUP, USR1 and USR2 were for the CMD alone then,
   which may live on. */
void cli_signals_passed_on(int number);
/* Sleep, unless a signal that asks to end has come or comes. */
void cli_signals_pause(int64_t ms);
/* Have this client's waits interrupted by every ending signal; NULL: none. */
void cli_signals_interrupt(ilk_client *client);
/* waiting.c. Have this client's waits interrupted once, after so long; NULL: not any
   more. Any other use of the timer of setitimer(2) is excluded meanwhile. */
void cli_signals_interrupt_after(ilk_client *client, int64_t ms);
/* waiting.c. The rest of a time to wait, for another call; at least 1 ms of one that ends. */
int64_t cli_left_ms(int64_t wait_ms, int64_t began);
/* waiting.c. Wait by a function of the library, again and again when signals
   only interrupt; ILK_EINTR: one that ends has come. wait_ms is -1 for ever,
   0 once. */
ilk_status cli_wait(ilk_client *client,
                    ilk_status (*wait)(void *with, int64_t timeout_ms,
                                       ilk_error *err),
                    void *with, int64_t wait_ms, ilk_error *err);
/* The status after signal n ended CMD or a wait: 128+n, or CLI_DIES_BY+n where
   a shell must see that it was the signal, to leave its own loop as well. */
int cli_signals_status(int number);
/* The result of main(). Does not return for CLI_DIES_BY. */
int cli_signals_exit(int status);
/* Stop as SIGTSTP does by itself, until SIGCONT. */
void cli_signals_stop(void);
/* Between fork and exec: the dispositions this process was started with. */
void cli_signals_restore(void);

#endif

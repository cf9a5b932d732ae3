/* SPDX-License-Identifier: MIT */
/*
 * hold.h -- CMD runs while something is held: a lock, a permit, leadership.
 *
 * take.c waits for it and gives it up, hold.c looks after CMD in between, or
 * idle.c waits where there is no CMD.
 */
#ifndef INTERLOCK_CLI_HOLD_H
#define INTERLOCK_CLI_HOLD_H

#include "cli.h"

/* A kind of hold, and the functions of the library for it. */
struct cli_hold_kind {
    const char *name; /* of the kind, as in --kind */
    const char *noun; /* as in "the lock 'x' was lost" */
    int32_t kind;     /* ILK_KIND_LOCK, _SEMAPHORE, _ELECTION or _GROUP */
    int32_t lost_notification; /* an ilk_notification_kind */
    ilk_status (*acquire)(void *handle, int64_t timeout_ms, ilk_error *err);
    ilk_status (*cancel)(void *handle, ilk_error *err);
    ilk_status (*release)(void *handle, ilk_error *err);
    ilk_status (*check)(void *handle, ilk_error *err);
    int64_t (*remaining_ms)(const void *handle);
    int64_t (*fence)(const void *handle); /* NULL: it has none */
    const char *(*token)(const void *handle);
    int64_t (*id)(const void *handle);
};

/* The row of a type whose functions all begin alike; `take` and `give` are
   the names of acquiring and releasing, `fence` that of the fence. */
#define CLI_HOLD_KIND(what, take, give, fence_of)                              \
    static ilk_status what##_take(void *handle, int64_t ms, ilk_error *err)    \
    {                                                                          \
        return ilk_##what##_##take(handle, ms, err);                           \
    }                                                                          \
    static ilk_status what##_cancel(void *handle, ilk_error *err)              \
    {                                                                          \
        return ilk_##what##_cancel(handle, err);                               \
    }                                                                          \
    static ilk_status what##_give(void *handle, ilk_error *err)                \
    {                                                                          \
        return ilk_##what##_##give(handle, err);                               \
    }                                                                          \
    static ilk_status what##_check(void *handle, ilk_error *err)               \
    {                                                                          \
        return ilk_##what##_check(handle, err);                                \
    }                                                                          \
    static int64_t what##_left(const void *handle)                             \
    {                                                                          \
        return ilk_##what##_remaining_ms(handle);                              \
    }                                                                          \
    static int64_t what##_fence(const void *handle)                            \
    {                                                                          \
        return ilk_##what##_##fence_of(handle);                                \
    }                                                                          \
    static const char *what##_token(const void *handle)                        \
    {                                                                          \
        return ilk_##what##_token(handle);                                     \
    }                                                                          \
    static int64_t what##_id(const void *handle)                               \
    {                                                                          \
        return ilk_##what##_id(handle);                                        \
    }

#define CLI_HOLD_FUNCTIONS(what)                                               \
    .acquire = what##_take, .cancel = what##_cancel, .release = what##_give,   \
    .check = what##_check, .remaining_ms = what##_left, .fence = what##_fence, \
    .token = what##_token, .id = what##_id

struct cli_hold {
    const struct cli_hold_kind *kind;
    struct cli_bytes name;
    int64_t wait_ms;       /* -1 for ever */
    int64_t kill_after_ms; /* from SIGTERM to SIGKILL, after a loss */
    int64_t conflict;      /* exit status when not acquired in time */
    int alone;             /* the descendants of CMD do not matter */
    char *const *argv;     /* NULL: hold without a command */
    int as_json;
    ilk_client *client;
    void *handle;
    int notification_fd; /* of the client */
};

/* Keys of the options that all kinds have; a command's own begin behind. */
enum {
    CLI_HOLD_WAIT = CLI_KEY,
    CLI_HOLD_CONFLICT,
    CLI_HOLD_KILL,
    CLI_HOLD_ALONE,
    CLI_HOLD_KEY
};

#define CLI_HOLD_OPTIONS                                                       \
    {"wait", "TIME", "wait so long; default 'forever', 0 tries once",          \
     CLI_HOLD_WAIT, 0},                                                        \
        {"conflict-exit-code", "N", "exit with N instead of 75",               \
         CLI_HOLD_CONFLICT, 0},                                                \
        {"kill-after", "TIME", "from TERM to KILL when lost; default 5s",      \
         CLI_HOLD_KILL, 0},                                                    \
        {"no-descendants", NULL, "only for CMD, not for what it starts",       \
         CLI_HOLD_ALONE, 0},                                                   \
        CLI_OPTION_JSON, CLI_OPTION_HEX, CLI_OPTION_QUIET, CLI_OPTION_URL,     \
        CLI_OPTION_HELP, CLI_OPTION_END

/*
 * take.c. Parse `[OPTION...] NAME [OPTION...] [[--] CMD [ARG...]]`. `own` takes
 * the options of the command itself, into `into`. 0; or -1 to leave with
 * args->status, after any message was printed.
 */
int cli_hold_args(struct cli_args *args, struct cli_hold *hold,
                  int (*own)(struct cli_args *args, void *into, int key,
                             const char *value),
                  void *into);
/* Open the client; what is to be held is opened by the caller then. */
int cli_hold_connect(const struct cli_args *args, struct cli_hold *hold);
/* Wait for it, run argv while it is held, give it up: the exit status. */
int cli_hold_take(const struct cli_hold *hold);

/* holder.c. Write who holds it, as in "lock 'x' is held by host:pid since ...", and with
   `with_waiters` how many wait for it. A failure: it is not known. */
ilk_status cli_holder_put(FILE *file, const struct cli_hold *hold,
                          int with_waiters, ilk_error *err);

/* hold.c. Run argv to its end. Its exit status, CLI_LOST, or why not. */
int cli_hold_run(const struct cli_hold *hold);
/* Whether it is lost by now; reads the notifications of the client. *why: an ilk_loss,
   unless it is NONE for a lease that ran out unnoticed. */
int cli_hold_is_lost(const struct cli_hold *hold, int32_t *why);
void cli_hold_say_lost(const struct cli_hold *hold, int32_t why);

/* idle.c. Print token and fence, and wait for the end of standard input. CLI_OK,
   CLI_LOST, the status of a signal, or why not. */
int cli_hold_idle(const struct cli_hold *hold);

#endif

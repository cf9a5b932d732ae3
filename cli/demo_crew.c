/* SPDX-License-Identifier: MIT */
/*
 * demo_crew.c -- the sellers as processes: start, kill, freeze, thaw, bury.
 *
 * A seller is this program, executed anew; nothing of our client survives
 * into it. The URL travels in the environment, for it may hold a password
 * and everybody can read an argv.
 */
#include "demo.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { ARGS = 11, ARG_MAX_LEN = 80 };

static void fill_args(char text[ARGS][ARG_MAX_LEN],
                      const struct demo_plan *plan,
                      const struct demo_seller *seller, int number)
{
    const int64_t numbers[] = {number,
                               plan->items,
                               plan->think_ms,
                               plan->lease_ms,
                               plan->locked,
                               (int64_t)seller->fault,
                               seller->fault_item};
    size_t i;

    snprintf(text[0], ARG_MAX_LEN, "interlock");
    snprintf(text[1], ARG_MAX_LEN, "%s", cli_demo_seller.name);
    snprintf(text[2], ARG_MAX_LEN, "%s", plan->lock);
    snprintf(text[3], ARG_MAX_LEN, "%s", plan->stock);
    for (i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        snprintf(text[4 + i], ARG_MAX_LEN, "%" PRId64, numbers[i]);
}

/* An errno. Descriptors that are not named here close themselves. */
static int spawn(struct demo_seller *seller, const char *path, char **argv,
                 int input, int words)
{
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);

    if (error)
        return error;
    error = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    if (!error)
        error =
            posix_spawn_file_actions_adddup2(&actions, words, STDOUT_FILENO);
    if (!error)
        error = posix_spawn(&seller->pid, path, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static int open_pipe(int fds[2])
{
    if (pipe(fds) != 0)
        return errno;
    fcntl(fds[0], F_SETFD, FD_CLOEXEC);
    fcntl(fds[1], F_SETFD, FD_CLOEXEC);
    return 0;
}

static int start_one(struct demo_crew *crew, const struct demo_plan *plan,
                     int number, const char *path, int words)
{
    struct demo_seller *seller = &crew->sellers[number];
    char text[ARGS][ARG_MAX_LEN];
    char *argv[ARGS + 1] = {NULL};
    int fds[2], error, i;

    fill_args(text, plan, seller, number);
    for (i = 0; i < ARGS; i++)
        argv[i] = text[i];
    error = open_pipe(fds);
    if (error)
        return error;
    error = spawn(seller, path, argv, fds[0], words);
    close(fds[0]);
    seller->input = fds[1];
    if (error) {
        close(fds[1]);
        return error;
    }
    crew->count = number;
    crew->alive++;
    return 0;
}

/* The victims are the first ones, each a fifth of the stock later. */
static void assign_faults(struct demo_crew *crew, const struct demo_plan *plan)
{
    static const enum demo_fault faults[DEMO_FAULTS] = {
        DEMO_KILL_BEFORE, DEMO_KILL_AFTER, DEMO_FREEZE};
    int i;

    for (i = 0; i < DEMO_FAULTS && plan->faults; i++) {
        crew->sellers[i + 1].fault = faults[i];
        crew->sellers[i + 1].fault_item = plan->items * (i + 1) / 5 + 1;
    }
}

int demo_crew_start(struct demo_crew *crew, const struct demo_plan *plan,
                    const char *url)
{
    char path[CLI_PATH_MAX];
    int words[2], number, error;

    memset(crew, 0, sizeof *crew);
    crew->words = -1;
    if (!cli_own_path(path, sizeof path)) {
        cli_say("cannot find the path of this program");
        return CLI_SYSTEM;
    }
    assign_faults(crew, plan);
    error = url && setenv("INTERLOCK_URL", url, 1) ? errno : 0;
    if (!error)
        error = open_pipe(words);
    if (!error) {
        crew->words = words[0];
        fcntl(words[0], F_SETFL, O_NONBLOCK);
        for (number = 1; number <= plan->sellers && !error; number++)
            error = start_one(crew, plan, number, path, words[1]);
        close(words[1]);
    }
    if (!error)
        return CLI_OK;
    cli_say("cannot start the sellers: %s", strerror(error));
    return CLI_SYSTEM;
}

void demo_crew_go(struct demo_crew *crew, int seller)
{
    ssize_t n;

    do /* SIGPIPE is caught: a seller that is gone is no matter here */
        n = write(crew->sellers[seller].input, "g", 1);
    while (n < 0 && errno == EINTR);
}

static void close_input(struct demo_seller *seller)
{
    if (seller->input >= 0)
        close(seller->input);
    seller->input = -1;
}

void demo_crew_kill(struct demo_crew *crew, int seller)
{
    struct demo_seller *one = &crew->sellers[seller];

    if (one->state != DEMO_RUNNING && one->state != DEMO_FROZEN)
        return;
    kill(one->pid, SIGKILL);
    while (waitpid(one->pid, &one->status, 0) < 0 && errno == EINTR)
        continue;
    one->state = DEMO_KILLED;
    close_input(one);
    crew->alive--;
}

/* SIGSTOP takes effect a little later than kill() returns: wait for it. */
int demo_crew_freeze(struct demo_crew *crew, int seller)
{
    struct demo_seller *one = &crew->sellers[seller];
    int status = 0;
    pid_t got;

    kill(one->pid, SIGSTOP);
    do
        got = waitpid(one->pid, &status, WUNTRACED);
    while (got < 0 && errno == EINTR);
    if (got != one->pid || !WIFSTOPPED(status))
        return 0;
    one->state = DEMO_FROZEN;
    return 1;
}

void demo_crew_thaw(struct demo_crew *crew, int seller)
{
    crew->sellers[seller].state = DEMO_RUNNING;
    demo_crew_go(crew, seller);
    kill(crew->sellers[seller].pid, SIGCONT);
}

static void bury_one(struct demo_crew *crew, struct demo_seller *one, int flags)
{
    int status;
    pid_t got;

    if (one->state != DEMO_RUNNING)
        return;
    do
        got = waitpid(one->pid, &status, flags);
    while (got < 0 && errno == EINTR);
    if (got != one->pid)
        return;
    one->status = status;
    one->state =
        WIFEXITED(status) && WEXITSTATUS(status) == 0 ? DEMO_DONE : DEMO_DIED;
    close_input(one);
    crew->alive--;
}

void demo_crew_bury(struct demo_crew *crew, int wait)
{
    int i;

    for (i = 1; i <= crew->count; i++)
        bury_one(crew, &crew->sellers[i], wait ? 0 : WNOHANG);
}

void demo_crew_stop(struct demo_crew *crew)
{
    int i;

    for (i = 1; i <= crew->count; i++)
        demo_crew_kill(crew, i);
    if (crew->words >= 0)
        close(crew->words);
    crew->words = -1;
}

/* SPDX-License-Identifier: MIT */
/*
 * queue_work.c -- `interlock queue work`: a CMD for each message.
 *
 * One loop sleeps on signals and on the notifications of the client. While fewer
 * CMDs run than may, one reservation is started; its message gets a slot:
 *
 *     reserve --got--> CMD runs --exit 0--> ack
 *        ^                |  |
 *        |                |  +--exit n, signal--> nack, dead at the last attempt
 *        |                +--lease lost--> SIGTERM, then nothing is sent
 *        +------------------ the slot is free
 *
 * The message is in a file without a name, so that CMD may read it or not, and
 * nothing here waits for that.
 */
#include "queue.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { BACKOFF_MAX_MS = 10 * 60 * 1000, LOOK_AGAIN_MS = 250 };

struct slot {
    ilk_op *op; /* the reservation, which has the message; NULL: free */
    ilk_job *job;
    pid_t pid; /* of the supervisor */
    int is_lost;
};

struct work {
    struct cli_queue *with;
    char path[CLI_PATH_MAX]; /* of this program */
    char **argv;             /* of the supervisor */
    struct slot *slots;
    int running;
    ilk_op *reserving; /* or NULL */
    int stops;         /* no more messages */
    int is_asked;      /* to stop, by a signal */
    int terminates;    /* the CMDs that run got SIGTERM */
    int status;        /* why it stops */
};

/* ---- starting a CMD ----------------------------------------------------- */

static int make_argv(struct work *work)
{
    const struct cli_queue *with = work->with;
    static char kill_after[32], parent[32];
    size_t count = 0, n = 0;

    while (with->argv[count])
        count++;
    work->argv = calloc(count + 6, sizeof *work->argv);
    if (!work->argv) {
        cli_say("out of memory");
        return CLI_SYSTEM;
    }
    snprintf(kill_after, sizeof kill_after, "--kill-after=%" PRId64 "ms",
             with->kill_after_ms);
    work->argv[n++] = (char *)"interlock";
    work->argv[n++] = (char *)cli_supervise.name;
    snprintf(parent, sizeof parent, "--parent=%d", (int)getpid());
    work->argv[n++] = kill_after;
    work->argv[n++] = parent;
    if (with->alone)
        work->argv[n++] = (char *)"--no-descendants";
    work->argv[n++] = (char *)"--";
    memcpy(work->argv + n, with->argv, count * sizeof *work->argv);
    return CLI_OK;
}

/* A file with the message, to be read from its beginning; -1 with errno. */
static int file_with(const char *data, size_t len)
{
    FILE *file = tmpfile();
    int fd = -1;

    if (!file)
        return -1;
    if (fwrite(data, 1, len, file) == len && fflush(file) == 0
        && fseek(file, 0, SEEK_SET) == 0)
        fd = fcntl(fileno(file), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    fclose(file);
    return fd;
}

static int set_environment(const struct cli_queue *with, const ilk_job *job)
{
    char *name = strndup(with->name.data, with->name.len);
    char id[24], attempt[16];
    int rc;

    snprintf(id, sizeof id, "%" PRId64, ilk_job_id(job));
    snprintf(attempt, sizeof attempt, "%d", (int)ilk_job_attempts(job));
    rc = !name || setenv("INTERLOCK_NAME", name, 1)
         || setenv("INTERLOCK_TOKEN", ilk_job_token(job), 1)
         || setenv("INTERLOCK_ID", id, 1)
         || setenv("INTERLOCK_ATTEMPT", attempt, 1);
    free(name);
    return rc ? ENOMEM : 0;
}

/* An errno. */
static int spawn(struct work *work, struct slot *slot, int input)
{
    posix_spawn_file_actions_t actions;
    int error = set_environment(work->with, slot->job);

    if (!error)
        error = posix_spawn_file_actions_init(&actions);
    if (error)
        return error;
    error = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    if (!error)
        error = posix_spawn(&slot->pid, work->path, &actions, NULL, work->argv,
                            environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static void free_slot(struct slot *slot)
{
    ilk_op_free(slot->op);
    *slot = (struct slot){NULL, NULL, 0, 0};
}

static void stop(struct work *work, int status)
{
    if (!work->stops)
        work->status = status;
    work->stops = 1;
    if (work->reserving)
        ilk_op_cancel(work->reserving, NULL);
}

/* A message whose CMD cannot be started goes back, and so will all others. */
static void start(struct work *work, ilk_op *op)
{
    struct slot *slot = work->slots;
    size_t len;
    const char *data;
    int input, error;

    while (slot->op)
        slot++;
    slot->op = op;
    slot->job = ilk_op_job(op);
    data = ilk_job_data(slot->job, &len);
    input = file_with(data, len);
    error = input < 0 ? errno : spawn(work, slot, input);
    if (input >= 0)
        close(input);
    if (!error) {
        work->running++;
        return;
    }
    cli_say("cannot start a process: %s", strerror(error));
    ilk_job_nack(slot->job, 0, NULL);
    free_slot(slot);
    stop(work, CLI_SYSTEM);
}

/* ---- reserving ---------------------------------------------------------- */

static void reserve(struct work *work)
{
    struct cli_queue *with = work->with;
    ilk_error err = {0, ""};
    ilk_status st = ilk_queue_reserve_start(&work->reserving, with->queue,
                                            with->waits ? with->timeout_ms : -1,
                                            with->lease_ms, &err);

    if (st != ILK_OK)
        stop(work, cli_fail(st, &err));
}

/* The reservation has ended. One that was cancelled too late has a message, and
   that is worked on, too. */
static void reserved(struct work *work)
{
    ilk_op *op = work->reserving;
    ilk_error err = {0, ""};
    ilk_status st = ilk_op_status(op, &err);

    work->reserving = NULL;
    if (st == ILK_OK) {
        start(work, op);
        return;
    }
    ilk_op_free(op);
    if (st == ILK_EBUSY || st == ILK_ETIMEOUT)
        stop(work, CLI_OK);
    else if (st != ILK_ECANCELLED)
        stop(work, cli_fail(st, &err));
}

static void take_notifications(struct work *work)
{
    ilk_notification notification;

    memset(&notification, 0, sizeof notification);
    notification.size = sizeof notification;
    while (ilk_client_next_notification(work->with->client, &notification, NULL)
           == ILK_OK)
        continue;
    /* The notification of the operation may have been one that was dropped. */
    if (work->reserving && ilk_op_status(work->reserving, NULL) != ILK_EAGAIN)
        reserved(work);
}

/* ---- the end of a CMD --------------------------------------------------- */

/* Up to half of a pause is taken off at random, so that messages which failed
   together do not return together. */
static int64_t with_jitter(int64_t pause)
{
    uint32_t random;

    if (getentropy(&random, sizeof random) != 0)
        random = (uint32_t)cli_now_ms() * 2654435761U ^ (uint32_t)getpid();
    return pause - (int64_t)(random % (uint64_t)(pause / 2 + 1));
}

static int64_t pause_after(const struct work *work, int attempts)
{
    int64_t pause = work->with->backoff_ms;

    for (int i = 1; i < attempts && pause < BACKOFF_MAX_MS; i++)
        pause *= 2;
    return with_jitter(pause < BACKOFF_MAX_MS ? pause : BACKOFF_MAX_MS);
}

static int attempts_max(const struct work *work)
{
    return work->with->opts.max_attempts ? work->with->opts.max_attempts : 25;
}

static ilk_status fail_job(struct work *work, ilk_job *job, int wait_status,
                           ilk_error *err)
{
    int attempts = (int)ilk_job_attempts(job);
    int64_t pause = pause_after(work, attempts);
    int is_signal = WIFSIGNALED(wait_status);
    char reason[64];

    snprintf(reason, sizeof reason, "%s %d",
             is_signal ? "signal" : "exit status",
             is_signal ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status));
    if (attempts >= attempts_max(work)) {
        cli_note("message %" PRId64 " is dead after attempt %d: %s",
                 ilk_job_id(job), attempts, reason);
        return ilk_job_bury(job, reason, strlen(reason), err);
    }
    cli_note("message %" PRId64 " failed in attempt %d: %s; again in %" PRId64
             " ms",
             ilk_job_id(job), attempts, reason, pause);
    return ilk_job_nack(job, pause, err);
}

static void settle(struct work *work, struct slot *slot, int wait_status)
{
    ilk_error err = {0, ""};
    ilk_status st = ILK_OK;

    if (!slot->is_lost)
        st = wait_status == 0 ? ilk_job_ack(slot->job, &err)
                              : fail_job(work, slot->job, wait_status, &err);
    if (st == ILK_ELOST)
        cli_note("message %" PRId64 " had gone to another consumer",
                 ilk_job_id(slot->job));
    else if (st != ILK_OK)
        stop(work, cli_fail(st, &err));
    free_slot(slot);
    work->running--;
}

static void look(struct work *work)
{
    for (int64_t i = 0; i < work->with->jobs; i++) {
        struct slot *slot = &work->slots[i];
        int wait_status;

        if (!slot->op)
            continue;
        if (waitpid(slot->pid, &wait_status, WNOHANG) == slot->pid) {
            settle(work, slot, wait_status);
        } else if (!slot->is_lost && ilk_job_remaining_ms(slot->job) == 0) {
            slot->is_lost = 1;
            cli_note("message %" PRId64 " was lost; ending '%s'",
                     ilk_job_id(slot->job), work->with->argv[0]);
            kill(slot->pid, SIGTERM);
            kill(slot->pid, SIGCONT);
        }
    }
}

/* ---- the loop ----------------------------------------------------------- */

static void send_to_all(const struct work *work, int number)
{
    for (int64_t i = 0; i < work->with->jobs; i++)
        if (work->slots[i].op)
            kill(work->slots[i].pid, number);
}

/* The first signal that asks to end lets the CMDs finish, unless the terminal
   has sent it to them as well; the second one ends them. */
static void take_signal(struct work *work, const struct cli_signal *came)
{
    switch (came->number) {
    case SIGCHLD:
    case SIGPIPE:
    case SIGWINCH: return;
    case SIGTSTP:
        send_to_all(work, SIGTSTP);
        cli_signals_stop();
        return;
    case SIGCONT: send_to_all(work, SIGCONT); return;
    default: break;
    }
    work->terminates |= work->is_asked;
    work->is_asked = 1;
    stop(work,
         came->number == SIGTERM ? CLI_OK : cli_signals_status(came->number));
    if (work->terminates)
        send_to_all(work, SIGTERM);
}

static int sleep_ms(const struct work *work)
{
    return work->running ? LOOK_AGAIN_MS : -1;
}

static int loop(struct work *work)
{
    struct pollfd fds[2] = {{.fd = cli_signals_fd(), .events = POLLIN},
                            {.events = POLLIN}};
    ilk_error err = {0, ""};
    struct cli_signal came;
    ilk_status st =
        ilk_client_notification_fd(work->with->client, &fds[1].fd, &err);

    if (st != ILK_OK)
        return cli_fail(st, &err);
    while (!work->stops || work->running || work->reserving) {
        if (!work->stops && !work->reserving
            && work->running < work->with->jobs)
            reserve(work);
        if (poll(fds, 2, sleep_ms(work)) < 0 && errno != EINTR) {
            cli_say("poll: %s", strerror(errno));
            return CLI_SYSTEM;
        }
        while (cli_signals_next(&came))
            take_signal(work, &came);
        look(work);
        take_notifications(work);
    }
    return work->status;
}

int cli_queue_work(struct cli_queue *with)
{
    struct work work = {.with = with};
    int status = make_argv(&work);

    if (status == CLI_OK && !cli_own_path(work.path, sizeof work.path)) {
        cli_say("cannot find the path of this program");
        status = CLI_SYSTEM;
    }
    work.slots = calloc((size_t)with->jobs, sizeof *work.slots);
    if (status == CLI_OK && work.slots)
        status = loop(&work);
    ilk_op_free(work.reserving);
    free(work.slots);
    free(work.argv);
    return status;
}

/* SPDX-License-Identifier: MIT */
/*
 * demo_run.c -- the loop from the first seller to the last.
 *
 * The run is over when the pipe has no writer left. The order of the lines is
 * that of the sales: a seller reports a sale before it releases the lock, so
 * the lines after it are of later holders.
 */
#include "demo.h"

#include "signals.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { TICK_MS = 100, SILENCE_MS = 30000, READ_ROOM = 8192 };

/* The pipe's bytes, of which the last line may not be whole yet. */
struct reader {
    char data[READ_ROOM];
    size_t len;
    int at_end;
    int64_t last_ms; /* when something came */
};

static struct demo_event *event_of(struct demo_run *run, int seller)
{
    int i;

    for (i = 0; i < DEMO_FAULTS; i++) {
        if (run->events[i].at_ms && run->events[i].seller == seller)
            return &run->events[i];
    }
    return NULL;
}

/* A word of a holder: how long did it take after each fault? */
static void note_holder(struct demo_run *run, const struct demo_word *word)
{
    int64_t now = cli_now_ms();
    int i;

    for (i = 0; i < DEMO_FAULTS; i++) {
        struct demo_event *event = &run->events[i];

        if (!event->at_ms || event->seller == word->seller)
            continue;
        if (word->kind == DEMO_SALE)
            event->overtaken = 1;
        if (event->gap_ms >= 0)
            continue;
        event->gap_ms = now - event->at_ms;
        if (run->plan->locked)
            demo_view_note("the next one holds %" PRId64 " ms later",
                           event->gap_ms);
    }
}

static void kill_victim(struct demo_run *run, const struct demo_event *event)
{
    demo_crew_kill(&run->crew, event->seller);
    demo_view_note("seller %d is killed at item %" PRId64 ", %s writing%s",
                   event->seller, event->item,
                   event->fault == DEMO_KILL_BEFORE ? "before" : "after",
                   run->plan->locked ? ", holding the lock" : "");
}

static void freeze_victim(struct demo_run *run, const struct demo_event *event)
{
    if (!demo_crew_freeze(&run->crew, event->seller))
        snprintf(run->error, sizeof run->error, "seller %d did not stop",
                 event->seller);
    demo_view_note("seller %d is frozen at item %" PRId64 ", before writing%s",
                   event->seller, event->item,
                   run->plan->locked ? ", holding the lock" : "");
}

/* A victim holds the lock and waits for its fate. */
static void strike(struct demo_run *run, const struct demo_word *word)
{
    struct demo_seller *seller = &run->crew.sellers[word->seller];
    struct demo_event *event = &run->events[word->seller - 1];

    note_holder(run, word);
    if (word->seller > DEMO_FAULTS || event->at_ms)
        return;
    event->fault = seller->fault;
    event->seller = word->seller;
    event->pid = seller->pid;
    event->item = word->n[0];
    event->fence = word->n[1];
    event->gap_ms = -1;
    event->at_ms = cli_now_ms();
    if (event->fault == DEMO_FREEZE)
        freeze_victim(run, event);
    else
        kill_victim(run, event);
}

static void take_late(struct demo_run *run, const struct demo_word *word)
{
    struct demo_event *event = event_of(run, word->seller);

    if (!event)
        return;
    event->late = 1;
    event->write = (int)word->n[2];
    event->check = (int)word->n[3];
    event->notified = (int)word->n[4];
    demo_view_note("seller %d's late write: %s", event->seller,
                   event->write == ILK_OK ? "accepted"
                                          : ilk_strerror(event->write));
}

static void take_error(struct demo_run *run, const struct demo_word *word)
{
    if (!run->error[0])
        snprintf(run->error, sizeof run->error, "seller %d: %.200s",
                 word->seller, word->text);
}

static void take_ready(struct demo_run *run)
{
    int number;

    if (++run->ready < run->crew.count)
        return;
    run->began_ms = cli_now_ms();
    for (number = 1; number <= run->crew.count; number++)
        demo_crew_go(&run->crew, number);
}

static void take_word(struct demo_run *run, const char *line)
{
    struct demo_word word;

    if (!demo_word_get(&word, line))
        return;
    switch (word.kind) {
    case DEMO_READY: take_ready(run); break;
    case DEMO_STALL: strike(run, &word); break;
    case DEMO_SALE:
        note_holder(run, &word);
        demo_ledger_add(&run->ledger, &word);
        break;
    case DEMO_LATE: take_late(run, &word); break;
    case DEMO_MISS: run->misses++; break;
    case DEMO_ERROR: take_error(run, &word); break;
    default: break;
    }
}

/* Take the whole lines, keep the rest. */
static void take_lines(struct demo_run *run, struct reader *reader)
{
    char *line = reader->data, *end;
    size_t left = reader->len;

    while ((end = memchr(line, '\n', left)) != NULL) {
        *end = '\0';
        take_word(run, line);
        left -= (size_t)(end + 1 - line);
        line = end + 1;
    }
    memmove(reader->data, line, left);
    reader->len = left;
}

static void read_words(struct demo_run *run, struct reader *reader)
{
    ssize_t n;

    for (;;) {
        n = read(run->crew.words, reader->data + reader->len,
                 sizeof reader->data - reader->len);
        if (n <= 0)
            break;
        reader->len += (size_t)n;
        reader->last_ms = cli_now_ms();
        take_lines(run, reader);
        if (reader->len == sizeof reader->data) /* no line is so long */
            reader->len = 0;
    }
    reader->at_end = n == 0;
}

/* Thaw who was frozen beyond its lease, once somebody else has sold. */
static void thaw(struct demo_run *run)
{
    struct demo_event *event = &run->events[DEMO_FAULTS - 1];
    int64_t slept = cli_now_ms() - event->at_ms;

    if (!event->at_ms || event->frozen_ms
        || slept < run->plan->lease_ms * 5 / 4)
        return;
    if (!event->overtaken && run->crew.alive > 1)
        return;
    event->frozen_ms = slept;
    demo_view_note("seller %d thaws after %" PRId64 " ms", event->seller,
                   slept);
    demo_crew_thaw(&run->crew, event->seller);
}

/* Find out who ended; one that died by itself ends the run. */
static void bury(struct demo_run *run, int wait)
{
    int i;

    demo_crew_bury(&run->crew, wait);
    for (i = 1; i <= run->crew.count; i++) {
        if (run->crew.sellers[i].state == DEMO_DIED && !run->error[0])
            snprintf(run->error, sizeof run->error,
                     "seller %d ended with wait status %#x", i,
                     (unsigned)run->crew.sellers[i].status);
    }
}

static void take_signals(void)
{
    struct cli_signal came;

    while (cli_signals_next(&came)) {
        if (came.number == SIGTSTP)
            cli_signals_stop();
    }
}

static int loop(struct demo_run *run)
{
    struct pollfd fds[2] = {{.fd = run->crew.words, .events = POLLIN},
                            {.fd = cli_signals_fd(), .events = POLLIN}};
    struct reader reader = {.len = 0, .last_ms = cli_now_ms()};

    while (!reader.at_end) {
        if (poll(fds, 2, TICK_MS) < 0 && errno != EINTR)
            return CLI_SYSTEM;
        take_signals();
        if (cli_signals_ending())
            return cli_signals_status(cli_signals_ending());
        read_words(run, &reader);
        thaw(run);
        bury(run, reader.at_end);
        demo_view_tick(run);
        if (cli_now_ms() - reader.last_ms > SILENCE_MS)
            snprintf(run->error, sizeof run->error, "nothing happened for %d s",
                     SILENCE_MS / 1000);
        if (run->error[0]) {
            cli_say("%s", run->error);
            return CLI_FAILED;
        }
    }
    return CLI_OK;
}

static ilk_status set_up(struct demo_run *run, ilk_error *err)
{
    struct demo_stock stock = {run->plan->items, 0, 0, 0};
    char text[DEMO_WORD_MAX];
    size_t len = demo_stock_put(text, sizeof text, &stock);

    return ilk_guard_set(run->client, run->plan->stock,
                         strlen(run->plan->stock), 0, text, len, err);
}

/* The sellers have gone: what does the stock say, and is the ledger whole? */
static ilk_status settle(struct demo_run *run, ilk_error *err)
{
    ilk_status st =
        demo_stock_read(&run->stock, run->client, run->plan->stock, 0, err);

    if (st == ILK_OK && run->plan->locked)
        demo_ledger_close(&run->ledger, &run->stock);
    return st;
}

int demo_run(struct demo_run *run, const char *url, int quiet)
{
    ilk_error err = {0, ""};
    ilk_status st = set_up(run, &err);
    int status;

    if (st != ILK_OK)
        return cli_fail(st, &err);
    if (!demo_ledger_open(&run->ledger, run->plan->items)) {
        cli_say("out of memory");
        return CLI_SYSTEM;
    }
    demo_view_open(run, quiet);
    status = demo_crew_start(&run->crew, run->plan, url);
    if (status == CLI_OK)
        status = loop(run);
    demo_crew_stop(&run->crew);
    run->ended_ms = cli_now_ms();
    if (status == CLI_OK)
        st = settle(run, &err);
    demo_view_close(run);
    return st == ILK_OK ? status : cli_fail(st, &err);
}

void demo_run_free(struct demo_run *run)
{
    ilk_guard_remove(run->client, run->plan->stock, strlen(run->plan->stock),
                     NULL);
    demo_ledger_free(&run->ledger);
}

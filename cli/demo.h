/* SPDX-License-Identifier: MIT */
/*
 * demo.h -- what the files of the demonstration share.
 *
 * One stock, many sellers. A seller is this program again, run with a hidden
 * command; it gets its orders by argv and, once, by its standard input, and
 * reports its steps in lines on one pipe that all sellers share.
 *
 *     demo.c        the options
 *     demo_run.c    parent: the loop, from the first seller to the last
 *     demo_crew.c   parent: processes: start, kill, freeze, thaw, bury
 *     demo_word.c   both: the lines on the pipe, and the stock's value
 *     demo_ledger.c parent: which item was sold by whom under which fence
 *     demo_view.c   parent: progress
 *     demo_verdict.c parent: what is proved, as text and as JSON
 *     demo_seller.c child
 */
#ifndef INTERLOCK_CLI_DEMO_H
#define INTERLOCK_CLI_DEMO_H

#include "cli.h"

#include <sys/types.h>

enum {
    DEMO_SELLERS_MAX = 64,
    DEMO_ITEMS_MAX = 100000,
    DEMO_NAME_MAX = 64,
    DEMO_WORD_MAX = 256,
    DEMO_FAULTS = 3
};

/* The fault of a seller, always while it holds the lock. */
enum demo_fault {
    DEMO_NONE,
    DEMO_KILL_BEFORE, /* SIGKILL between its reading and its writing */
    DEMO_KILL_AFTER,  /* SIGKILL between its writing and its report */
    DEMO_FREEZE       /* SIGSTOP between its reading and its writing */
};

struct demo_plan {
    int sellers;
    int64_t items, think_ms, lease_ms;
    int locked; /* 0: no lock and no fence */
    int faults; /* 0: too few sellers or items for them */
    char lock[DEMO_NAME_MAX], stock[DEMO_NAME_MAX];
};

/* The value of the stock: what is left, and who took the last item. */
struct demo_stock {
    int64_t left, seller, item, fence;
};

/* Kinds of lines on the pipe, and what their numbers mean. */
enum demo_kind {
    DEMO_READY = 'R', /* */
    DEMO_STALL = 'H', /* item, fence: holding, waiting for its fate */
    DEMO_SALE = 'S',  /* item, fence; before: seller, item, fence */
    DEMO_LATE = 'L',  /* item, fence, write, check: statuses; notified: 0, 1 */
    DEMO_MISS = 'M',  /* item or 0, fence: lost the lock, sold nothing */
    DEMO_END = 'E',   /* */
    DEMO_ERROR = 'X'  /* status; text */
};

struct demo_word {
    char kind;
    int seller;
    int64_t n[5];
    char text[DEMO_WORD_MAX];
};

/* demo_word.c. */
size_t demo_word_put(char *line, size_t room, const struct demo_word *word);
int demo_word_get(struct demo_word *out, const char *line); /* 1: it is one */
size_t demo_stock_put(char *text, size_t room, const struct demo_stock *stock);
int demo_stock_get(struct demo_stock *out, const char *text);
/* Read the stock from the server; under a fence of 0 just look at it. */
ilk_status demo_stock_read(struct demo_stock *out, ilk_client *client,
                           const char *key, int64_t fence, ilk_error *err);

/* demo_ledger.c. One entry for each item, by its number from 1. */
struct demo_entry {
    int64_t fence, before_fence;
    int count; /* how often it was sold */
    int seller, before_seller;
    int from_store; /* not reported by its seller, but found in the stock */
};

struct demo_ledger {
    struct demo_entry *entries; /* items + 1; entry 0 is the beginning */
    int64_t items;
    int64_t sales;   /* reported, and found at the end */
    int64_t highest; /* greatest item number sold */
    int64_t sales_of[DEMO_SELLERS_MAX + 1];
    int64_t top_fence;
};

struct demo_count {
    int64_t sold; /* sales in all */
    int64_t items_sold, sold_twice, missing, from_store;
    int64_t unlinked; /* sales that do not follow on the one before */
    int fences_rise;
    int64_t first_fence, last_fence;
};

int demo_ledger_open(struct demo_ledger *ledger, int64_t items); /* 1: yes */
void demo_ledger_add(struct demo_ledger *ledger, const struct demo_word *sale);
/* Enter the sales that killed sellers did not report: each sale names the one
   before it, and the stock names the last. */
void demo_ledger_close(struct demo_ledger *ledger,
                       const struct demo_stock *stock);
void demo_ledger_count(const struct demo_ledger *ledger,
                       struct demo_count *out);
void demo_ledger_free(struct demo_ledger *ledger);

/* demo_crew.c. */
enum demo_state {
    DEMO_RUNNING,
    DEMO_FROZEN,
    DEMO_KILLED, /* by us */
    DEMO_DONE,
    DEMO_DIED /* by itself */
};

struct demo_seller {
    pid_t pid;
    int input; /* write end of its standard input; -1 when closed */
    enum demo_state state;
    enum demo_fault fault;
    int64_t fault_item; /* from which item on */
    int status;         /* its exit status */
};

struct demo_crew {
    struct demo_seller sellers[DEMO_SELLERS_MAX + 1]; /* from 1 */
    int count, alive;
    int words; /* read end of the pipe they all write */
};

int demo_crew_start(struct demo_crew *crew, const struct demo_plan *plan,
                    const char *url);                  /* 0 or an exit status */
void demo_crew_go(struct demo_crew *crew, int seller); /* let it go on */
void demo_crew_kill(struct demo_crew *crew, int seller);
int demo_crew_freeze(struct demo_crew *crew, int seller); /* 1: it stopped */
void demo_crew_thaw(struct demo_crew *crew, int seller);
/* Reap those that ended; with `wait`, those that are about to, too. */
void demo_crew_bury(struct demo_crew *crew, int wait);
void demo_crew_stop(struct demo_crew *crew); /* end all that live */

/* demo_run.c. The fault of one victim, and its consequences. */
struct demo_event {
    enum demo_fault fault;
    int seller;
    pid_t pid;
    int64_t item, fence;
    int64_t at_ms;     /* of cli_now_ms(); 0: it did not happen */
    int64_t gap_ms;    /* until another one held; -1: nobody did */
    int overtaken;     /* another one has written since */
    int64_t frozen_ms; /* how long it was stopped */
    int notified;      /* a notification reported that the lock was lost */
    int write, check;  /* ilk_status of the late write and of the check */
    int late;          /* it has reported how its late write ended */
};

struct demo_run {
    const struct demo_plan *plan;
    ilk_client *client;
    struct demo_crew crew;
    struct demo_ledger ledger;
    struct demo_event events[DEMO_FAULTS];
    struct demo_stock stock; /* at the end */
    int ready;
    int64_t misses; /* leases lost without our doing */
    int64_t began_ms, ended_ms;
    char error[DEMO_WORD_MAX]; /* of a seller; "" for none */
};

/* Run to the end: 0 or an exit status, with a message. */
int demo_run(struct demo_run *run, const char *url, int quiet);
void demo_run_free(struct demo_run *run);

/* demo_view.c. */
void demo_view_open(const struct demo_run *run, int quiet);
void demo_view_note(const char *format, ...) CLI_PRINTF(1, 2);
void demo_view_tick(const struct demo_run *run); /* from time to time */
void demo_view_close(const struct demo_run *run);

/* demo_verdict.c. Print it; 1 when all of it holds. */
int demo_verdict(const struct demo_run *run, int as_json);

#endif

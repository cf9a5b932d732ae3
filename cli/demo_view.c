/* SPDX-License-Identifier: MIT */
/*
 * demo_view.c -- progress: redrawn on a terminal, plain lines elsewhere.
 *
 * On a terminal a block of lines is drawn over itself ten times a second;
 * notes scroll above it. Elsewhere a line comes every second.
 */
#include "demo.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { BAR = 40, RATE_TICKS = 10, PLAIN_MS = 1000, DRAW_MS = 100 };

static struct view {
    int quiet, terminal;
    int lines; /* of the block on the screen */
    int width;
    int64_t drawn_ms;
    int64_t sold[RATE_TICKS], at_ms[RATE_TICKS]; /* rings, for the rate */
    int tick;
} view;

/* The findings of the inspection at this tick. */
struct glance {
    char holder[40];
    int64_t fence, waiters;
};

static int terminal_width(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20)
        return size.ws_col - 1;
    return 79;
}

void demo_view_open(const struct demo_run *run, int quiet)
{
    const struct demo_plan *plan = run->plan;
    const char *term = getenv("TERM");

    memset(&view, 0, sizeof view);
    view.quiet = quiet;
    view.terminal = isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0;
    view.width = terminal_width();
    view.drawn_ms = view.terminal ? 0 : cli_now_ms();
    if (quiet)
        return;
    printf("%" PRId64 " items, %d sellers, %s, on %s\n", plan->items,
           plan->sellers, plan->locked ? "one lock" : "no lock",
           ilk_client_url(run->client));
    if (!plan->faults)
        puts("too few sellers or items for faults: nobody is killed or "
             "frozen");
    fflush(stdout);
}

static void erase(void)
{
    if (view.lines > 0)
        printf("\033[%dA\033[J", view.lines);
    view.lines = 0;
}

void demo_view_note(const char *format, ...)
{
    va_list list;

    if (view.quiet)
        return;
    erase();
    va_start(list, format);
    fputs("  ", stdout);
    vprintf(format, list);
    va_end(list);
    putchar('\n');
    fflush(stdout);
    if (view.terminal)
        view.drawn_ms = 0; /* draw the block again soon */
}

/* Who sells under this label? The default label ends in the process id. */
static int seller_of(const struct demo_run *run, const char *label)
{
    const char *colon = strrchr(label, ':');
    pid_t pid = colon ? (pid_t)strtol(colon + 1, NULL, 10) : 0;
    int i;

    for (i = 1; i <= run->crew.count && pid > 0; i++) {
        if (run->crew.sellers[i].pid == pid)
            return i;
    }
    return 0;
}

static void look(const struct demo_run *run, struct glance *out)
{
    ilk_info *info = NULL;
    const char *name = run->plan->lock;
    int seller;

    memset(out, 0, sizeof *out);
    snprintf(out->holder, sizeof out->holder, "nobody");
    if (!run->plan->locked
        || ilk_inspect(&info, run->client, name, strlen(name), NULL) != ILK_OK)
        return;
    seller = seller_of(run, ilk_info_label(info));
    if (ilk_info_get_state(info) != ILK_INFO_FREE && seller > 0)
        snprintf(out->holder, sizeof out->holder, "seller %d", seller);
    out->fence = ilk_info_fence(info);
    out->waiters = ilk_info_waiters(info);
    ilk_info_free(info);
}

/* Sales per second over about the last second: ten ticks on a terminal, one
   elsewhere. */
static int64_t rate(const struct demo_run *run)
{
    int slot = view.terminal ? view.tick++ % RATE_TICKS : 0;
    int64_t now = cli_now_ms();
    int64_t ms = now - view.at_ms[slot];
    int64_t sold = run->ledger.sales - view.sold[slot];

    if (view.at_ms[slot] == 0) {
        ms = now - run->began_ms;
        sold = run->ledger.sales;
    }
    view.at_ms[slot] = now;
    view.sold[slot] = run->ledger.sales;
    return ms > 0 ? sold * 1000 / ms : 0;
}

/* One line of the block, cut where the screen ends. */
static void block_line(const char *format, ...) CLI_PRINTF(1, 2);

static void block_line(const char *format, ...)
{
    char line[DEMO_WORD_MAX];
    va_list list;

    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    printf("%.*s\n", view.width, line);
    view.lines++;
}

static void bar(char out[BAR + 1], int64_t part, int64_t whole)
{
    int64_t full = whole > 0 ? part * BAR / whole : 0;
    int i;

    for (i = 0; i < BAR; i++)
        out[i] = i < full ? '#' : '.';
    out[BAR] = '\0';
}

static char state_letter(enum demo_state state)
{
    static const char letters[] = {[DEMO_RUNNING] = ' ',
                                   [DEMO_FROZEN] = '*',
                                   [DEMO_KILLED] = 'x',
                                   [DEMO_DONE] = ' ',
                                   [DEMO_DIED] = '!'};

    return letters[state];
}

static void draw_sellers(const struct demo_run *run)
{
    char line[DEMO_WORD_MAX] = "";
    size_t at = 0;
    int i, n;

    for (i = 1; i <= run->crew.count && at + 16 < sizeof line; i++) {
        n = snprintf(line + at, sizeof line - at, " %d:%" PRId64 "%c", i,
                     run->ledger.sales_of[i],
                     state_letter(run->crew.sellers[i].state));
        at += n > 0 ? (size_t)n : 0;
    }
    block_line("  sellers%s   (x killed, * frozen)", line);
}

static void draw(const struct demo_run *run, const struct glance *glance,
                 int64_t per_second)
{
    char done[BAR + 1];

    erase();
    bar(done, run->ledger.highest, run->plan->items);
    block_line("  sold     [%s] %" PRId64 " of %" PRId64, done,
               run->ledger.sales, run->plan->items);
    if (run->plan->locked)
        block_line("  holder   %-10s fence %" PRId64 "   waiting %" PRId64
                   "   hand-overs %" PRId64 "/s",
                   glance->holder, glance->fence, glance->waiters, per_second);
    else
        block_line("  no lock  sales %" PRId64 "/s", per_second);
    draw_sellers(run);
}

static void plain(const struct demo_run *run, const struct glance *glance,
                  int64_t per_second)
{
    printf("sold %" PRId64 " of %" PRId64, run->ledger.sales, run->plan->items);
    if (run->plan->locked)
        printf(", held by %s, fence %" PRId64 ", waiting %" PRId64
               ", hand-overs %" PRId64 "/s\n",
               glance->holder, glance->fence, glance->waiters, per_second);
    else
        printf(", sales %" PRId64 "/s\n", per_second);
}

void demo_view_tick(const struct demo_run *run)
{
    int64_t now = cli_now_ms();
    struct glance glance;

    if (view.quiet || run->began_ms == 0
        || now - view.drawn_ms < (view.terminal ? DRAW_MS : PLAIN_MS))
        return;
    view.drawn_ms = now;
    look(run, &glance);
    if (view.terminal)
        draw(run, &glance, rate(run));
    else
        plain(run, &glance, rate(run));
    fflush(stdout);
}

void demo_view_close(const struct demo_run *run)
{
    view.drawn_ms = 0;
    demo_view_tick(run);
}

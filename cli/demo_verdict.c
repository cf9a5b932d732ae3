/* SPDX-License-Identifier: MIT */
/*
 * demo_verdict.c -- what the run has proved, as text and as JSON.
 *
 * With the lock every check must hold. Without it the run is to show what
 * goes wrong, so there the check is that it did.
 */
#include "demo.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

enum { CHECKS_MAX = 12, TEXT_MAX = 160 };

struct check {
    const char *name;
    int ok;
    char text[TEXT_MAX];
};

struct verdict {
    const struct demo_run *run;
    struct demo_count count;
    struct check checks[CHECKS_MAX];
    size_t checked;
    int ok;
};

static void check(struct verdict *verdict, const char *name, int ok,
                  const char *format, ...) CLI_PRINTF(4, 5);

static void check(struct verdict *verdict, const char *name, int ok,
                  const char *format, ...)
{
    struct check *one = &verdict->checks[verdict->checked];
    va_list list;

    if (verdict->checked == CHECKS_MAX)
        return;
    verdict->checked++;
    one->name = name;
    one->ok = ok;
    va_start(list, format);
    vsnprintf(one->text, sizeof one->text, format, list);
    va_end(list);
    if (!ok)
        verdict->ok = 0;
}

static void check_sales(struct verdict *verdict)
{
    const struct demo_run *run = verdict->run;
    const struct demo_count *count = &verdict->count;
    int64_t items = run->plan->items;

    check(verdict, "all_sold",
          count->sold == items && count->missing == 0 && run->stock.left == 0,
          "%" PRId64 " of %" PRId64 " items sold, %" PRId64 " left",
          count->sold, items, run->stock.left);
    check(verdict, "none_twice", count->sold_twice == 0,
          count->sold_twice ? "%" PRId64 " items were sold twice"
                            : "nothing sold twice",
          count->sold_twice);
    check(verdict, "chain_whole", count->unlinked == 0,
          count->unlinked ? "%" PRId64 " sales do not follow on the one before"
                          : "every sale follows on the one before it",
          count->unlinked);
    check(verdict, "fences_rise", count->fences_rise,
          "fences %s, from %" PRId64 " to %" PRId64,
          count->fences_rise ? "strictly rising" : "NOT STRICTLY RISING",
          count->first_fence, count->last_fence);
}

/* Was the sale that the victim did not report found in the stock, as its own? */
static int is_recovered(const struct demo_run *run,
                        const struct demo_event *event)
{
    const struct demo_entry *entry = &run->ledger.entries[event->item];

    return entry->from_store && entry->seller == event->seller
           && entry->fence == event->fence;
}

static void check_killed(struct verdict *verdict,
                         const struct demo_event *event, int number, int after)
{
    const char *name = after ? "killed_after_write" : "killed_before_write";

    if (!event->at_ms) {
        check(verdict, name, 0, "seller %d was to be killed and was not",
              number);
        return;
    }
    check(verdict, name, event->gap_ms >= 0,
          "seller %d killed holding the lock, %s writing; next holder after "
          "%" PRId64 " ms",
          number, after ? "after" : "before", event->gap_ms);
    if (after)
        check(verdict, "unreported_sale_found",
              is_recovered(verdict->run, event)
                  && verdict->count.from_store == 1,
              "item %" PRId64 ", which it sold without reporting it, is in "
              "the stock",
              event->item);
}

static void check_frozen(struct verdict *verdict,
                         const struct demo_event *event)
{
    if (!event->frozen_ms || !event->late) {
        check(verdict, "frozen_notified", 0,
              "seller %d was to be frozen and thawed and was not", DEMO_FAULTS);
        return;
    }
    check(verdict, "frozen_notified",
          event->notified && event->check == ILK_ELOST,
          "seller %d frozen for %" PRId64
          " ms: %snotified that it lost the lock (%s)",
          event->seller, event->frozen_ms, event->notified ? "" : "not ",
          ilk_status_name(event->check));
    check(verdict, "late_write_refused", event->write == ILK_ESTALE,
          "its late write under fence %" PRId64 " was %s (%s)", event->fence,
          event->write == ILK_OK ? "accepted" : "refused",
          ilk_status_name(event->write));
}

static void judge_locked(struct verdict *verdict)
{
    const struct demo_event *events = verdict->run->events;

    check_sales(verdict);
    if (!verdict->run->plan->faults)
        return;
    check_killed(verdict, &events[0], 1, 0);
    check_killed(verdict, &events[1], 2, 1);
    check_frozen(verdict, &events[2]);
}

static void judge_unlocked(struct verdict *verdict)
{
    const struct demo_count *count = &verdict->count;
    const struct demo_event *frozen = &verdict->run->events[2];
    int64_t items = verdict->run->plan->items;

    check(verdict, "oversold", count->sold > items,
          "%" PRId64 " sales of %" PRId64 " items: %" PRId64 " too many",
          count->sold, items, count->sold - items);
    check(verdict, "sold_twice", count->sold_twice > 0,
          "%" PRId64 " items were sold more than once", count->sold_twice);
    if (frozen->late)
        check(verdict, "late_write_accepted", frozen->write == ILK_OK,
              "the late write of the frozen seller %d was %s", frozen->seller,
              frozen->write == ILK_OK ? "accepted" : "refused");
}

static void print_text(const struct verdict *verdict)
{
    const struct demo_run *run = verdict->run;
    int64_t ms = run->ended_ms - run->began_ms;
    size_t i;

    puts(run->plan->locked ? "\nverdict" : "\nverdict, without a lock");
    for (i = 0; i < verdict->checked; i++)
        printf("  %-4s %s\n", verdict->checks[i].ok ? "ok" : "FAIL",
               verdict->checks[i].text);
    if (run->misses > 0)
        printf("  note %" PRId64 " leases ran out under sellers that were "
               "too slow; they sold nothing\n",
               run->misses);
    printf("  %" PRId64 " sales by %d sellers in ", verdict->count.sold,
           run->plan->sellers);
    cli_put_duration(stdout, ms);
    putchar('\n');
    if (run->plan->locked)
        puts(verdict->ok ? "The lock held."
                         : "THE LOCK DID NOT HOLD, or proof is missing.");
    else
        puts(verdict->ok ? "Oversold, as expected without the lock."
                         : "No overselling this time; try more sellers.");
}

static void json_event(struct cli_json *json, const struct demo_event *event)
{
    cli_json_open(json, NULL, '{');
    cli_json_int(json, "seller", event->seller);
    cli_json_int(json, "pid", event->pid);
    cli_json_text(json, "signal",
                  event->fault == DEMO_FREEZE ? "SIGSTOP" : "SIGKILL");
    cli_json_text(json, "moment",
                  event->fault == DEMO_KILL_AFTER ? "after its write"
                                                  : "before its write");
    cli_json_int(json, "item", event->item);
    cli_json_int(json, "fence", event->fence);
    if (event->gap_ms >= 0)
        cli_json_int(json, "next_holder_after_ms", event->gap_ms);
    else
        cli_json_null(json, "next_holder_after_ms");
    if (event->late) {
        cli_json_int(json, "frozen_ms", event->frozen_ms);
        cli_json_bool(json, "notified", event->notified);
        cli_json_text(json, "check", ilk_status_name(event->check));
        cli_json_text(json, "late_write", ilk_status_name(event->write));
    }
    cli_json_close(json, '}');
}

static void json_lists(struct cli_json *json, const struct verdict *verdict)
{
    const struct demo_run *run = verdict->run;
    size_t i;

    cli_json_open(json, "faults", '[');
    for (i = 0; i < DEMO_FAULTS; i++) {
        if (run->events[i].at_ms)
            json_event(json, &run->events[i]);
    }
    cli_json_close(json, ']');
    cli_json_open(json, "sales_of", '[');
    for (i = 1; i <= (size_t)run->plan->sellers; i++)
        cli_json_int(json, NULL, run->ledger.sales_of[i]);
    cli_json_close(json, ']');
    cli_json_open(json, "checks", '[');
    for (i = 0; i < verdict->checked; i++) {
        cli_json_open(json, NULL, '{');
        cli_json_text(json, "name", verdict->checks[i].name);
        cli_json_bool(json, "ok", verdict->checks[i].ok);
        cli_json_text(json, "text", verdict->checks[i].text);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

static void print_json(const struct verdict *verdict)
{
    const struct demo_run *run = verdict->run;
    const struct demo_count *count = &verdict->count;
    int64_t ms = run->ended_ms - run->began_ms;
    struct cli_json json;

    cli_json_begin(&json, "demo", NULL);
    cli_json_bool(&json, "ok", verdict->ok);
    cli_json_bool(&json, "lock", run->plan->locked);
    cli_json_int(&json, "processes", run->plan->sellers);
    cli_json_int(&json, "items", run->plan->items);
    cli_json_int(&json, "lease_ms", run->plan->lease_ms);
    cli_json_int(&json, "sold", count->sold);
    cli_json_int(&json, "items_sold", count->items_sold);
    cli_json_int(&json, "sold_twice", count->sold_twice);
    cli_json_int(&json, "left", run->stock.left);
    cli_json_int(&json, "found_in_store", count->from_store);
    cli_json_int(&json, "missed", run->misses);
    cli_json_int(&json, "first_fence", count->first_fence);
    cli_json_int(&json, "last_fence", count->last_fence);
    cli_json_real(&json, "seconds", (double)ms / 1000);
    cli_json_real(&json, "sales_per_second",
                  ms > 0 ? (double)count->sold * 1000 / (double)ms : 0);
    json_lists(&json, verdict);
    cli_json_end(&json);
}

int demo_verdict(const struct demo_run *run, int as_json)
{
    struct verdict verdict = {.run = run, .ok = 1};

    demo_ledger_count(&run->ledger, &verdict.count);
    if (run->plan->locked)
        judge_locked(&verdict);
    else
        judge_unlocked(&verdict);
    if (as_json)
        print_json(&verdict);
    else
        print_text(&verdict);
    return verdict.ok;
}

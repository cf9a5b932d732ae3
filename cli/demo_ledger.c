/* SPDX-License-Identifier: MIT */
/*
 * demo_ledger.c -- which item was sold by whom under which fence.
 *
 * Sellers report a sale after it is written, so a seller that dies in between
 * leaves a sale unreported. None is lost: the stock names the seller of the last
 * sale, and the next seller reads that and reports it with its own sale.
 *
 *     item        k-1            k              k+1
 *     reported  2 under 70   (2 was killed)   5 under 93, before: 2 under 81
 *                                 ^---------------------------------'
 */
#include "demo.h"

#include <stdlib.h>
#include <string.h>

int demo_ledger_open(struct demo_ledger *ledger, int64_t items)
{
    memset(ledger, 0, sizeof *ledger);
    ledger->items = items;
    ledger->entries = calloc((size_t)items + 1, sizeof *ledger->entries);
    return ledger->entries != NULL;
}

void demo_ledger_free(struct demo_ledger *ledger)
{
    free(ledger->entries);
    ledger->entries = NULL;
}

void demo_ledger_add(struct demo_ledger *ledger, const struct demo_word *sale)
{
    int64_t item = sale->n[0];
    struct demo_entry *entry;

    if (item < 1 || item > ledger->items)
        return;
    entry = &ledger->entries[item];
    entry->count++;
    entry->seller = sale->seller;
    entry->fence = sale->n[1];
    entry->before_seller = sale->n[3] == item - 1 ? (int)sale->n[2] : -1;
    entry->before_fence = sale->n[4];
    ledger->sales++;
    ledger->sales_of[sale->seller]++;
    if (item > ledger->highest)
        ledger->highest = item;
    if (sale->n[1] > ledger->top_fence)
        ledger->top_fence = sale->n[1];
}

static void enter_unreported(struct demo_ledger *ledger, int64_t item,
                             int seller, int64_t fence)
{
    struct demo_entry *entry = &ledger->entries[item];

    if (item < 1 || entry->count > 0)
        return;
    entry->count = 1;
    entry->seller = seller;
    entry->fence = fence;
    entry->from_store = 1;
    ledger->sales++;
    if (seller >= 1 && seller <= DEMO_SELLERS_MAX)
        ledger->sales_of[seller]++;
}

void demo_ledger_close(struct demo_ledger *ledger,
                       const struct demo_stock *stock)
{
    int64_t item;

    if (stock->item >= 1 && stock->item <= ledger->items)
        enter_unreported(ledger, stock->item, (int)stock->seller, stock->fence);
    for (item = ledger->items; item > 1; item--) {
        const struct demo_entry *entry = &ledger->entries[item];

        if (entry->count == 1 && !entry->from_store)
            enter_unreported(ledger, item - 1, entry->before_seller,
                             entry->before_fence);
    }
}

/* Whether a sale names the one before it. One from the store names none. */
static int is_linked(const struct demo_entry *entry,
                     const struct demo_entry *before)
{
    return entry->from_store
           || (entry->before_seller == before->seller
               && entry->before_fence == before->fence);
}

static void count_one(struct demo_count *out, const struct demo_entry *entry,
                      const struct demo_entry *before)
{
    out->sold += entry->count;
    out->missing += entry->count == 0;
    out->items_sold += entry->count > 0;
    out->sold_twice += entry->count > 1;
    out->from_store += entry->from_store;
    if (entry->count == 0)
        return;
    if (entry->fence <= out->last_fence)
        out->fences_rise = 0;
    if (!is_linked(entry, before))
        out->unlinked++;
    if (out->first_fence == 0)
        out->first_fence = entry->fence;
    out->last_fence = entry->fence;
}

void demo_ledger_count(const struct demo_ledger *ledger, struct demo_count *out)
{
    int64_t item;

    memset(out, 0, sizeof *out);
    out->fences_rise = 1;
    for (item = 1; item <= ledger->items; item++)
        count_one(out, &ledger->entries[item], &ledger->entries[item - 1]);
}

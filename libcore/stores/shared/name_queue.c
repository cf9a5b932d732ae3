/* SPDX-License-Identifier: MIT */
/* name_queue.c -- the order of a name's contenders, as a list of entries. */
#include "name_queue.h"

/* The entries before the one that is looked at. */
typedef struct entries_before {
    int some, exclusive;
    int64_t permits; /* at most INT64_MAX */
} entries_before;

static int64_t permits_of(const ilk__queue_entry *entry)
{
    return entry->permits > 0 ? entry->permits : 1;
}

static int fits(const entries_before *before, const ilk__queue_entry *entry,
                int64_t limit)
{
    switch (entry->kind) {
    case ILK__CONTENDER_READER: return !before->exclusive;
    case ILK__CONTENDER_PERMITS:
        return !before->exclusive && before->permits <= limit
               && permits_of(entry) <= limit - before->permits;
    case ILK__CONTENDER_EXCLUSIVE:
    case ILK__CONTENDER_CANDIDATE: break;
    }
    return !before->some;
}

static void pass(entries_before *before, const ilk__queue_entry *entry)
{
    int64_t permits = permits_of(entry);

    before->some = 1;
    if (entry->kind == ILK__CONTENDER_EXCLUSIVE
        || entry->kind == ILK__CONTENDER_CANDIDATE)
        before->exclusive = 1;
    before->permits = permits > INT64_MAX - before->permits
                          ? INT64_MAX
                          : before->permits + permits;
}

int ilk__name_queue_holds(const ilk__queue_entry *entries, size_t count,
                          size_t at, int64_t limit)
{
    entries_before before = {0};

    if (at >= count)
        return 0;
    for (size_t i = 0; i < at; i++)
        pass(&before, &entries[i]);
    return fits(&before, &entries[at], limit);
}

/* An entry that a contender uses no more is removed soon. */
static int is_in_use(const ilk__queue_entry *entry)
{
    return entry->own
           && (entry->own->state == ILK__CONTENDER_JOINS
               || entry->own->state == ILK__CONTENDER_WAITS);
}

static ptrdiff_t watch_for(const ilk__queue_entry *entries, size_t at)
{
    switch (entries[at].kind) {
    case ILK__CONTENDER_READER:
        while (entries[at - 1].kind != ILK__CONTENDER_EXCLUSIVE
               && entries[at - 1].kind != ILK__CONTENDER_CANDIDATE)
            at--;
        return (ptrdiff_t)at - 1;
    case ILK__CONTENDER_PERMITS: return at == 1 ? 0 : ILK__QUEUE_WATCH_ALL;
    case ILK__CONTENDER_EXCLUSIVE:
    case ILK__CONTENDER_CANDIDATE: break;
    }
    return (ptrdiff_t)at - 1;
}

/* Permits that are more than the limit wait for another limit. */
ptrdiff_t ilk__name_queue_watch(const ilk__queue_entry *entries, size_t count,
                                int64_t limit)
{
    entries_before before = {0};

    for (size_t i = 0; i < count; i++) {
        if (is_in_use(&entries[i]) && !fits(&before, &entries[i], limit))
            return i ? watch_for(entries, i) : ILK__QUEUE_WATCH_ALL;
        pass(&before, &entries[i]);
    }
    return ILK__QUEUE_WATCH_NONE;
}

/* ---- what a list says ---------------------------------------------------- */

static void mark_listed(const ilk__contended *name,
                        const ilk__queue_entry *entries, size_t count)
{
    for (ilk__contender *one = name->first; one; one = one->next)
        one->is_listed = 0;
    for (size_t i = 0; i < count; i++)
        if (entries[i].own)
            entries[i].own->is_listed = 1;
}

static int is_missing(const ilk__contender *contender,
                      int (*is_known)(const ilk__contender *contender))
{
    return !contender->is_listed
           && (contender->state == ILK__CONTENDER_WAITS
               || contender->state == ILK__CONTENDER_HOLDS)
           && (!is_known || is_known(contender));
}

static void report_missing(const ilk__contended *name,
                           int (*is_known)(const ilk__contender *contender))
{
    for (ilk__contender *next, *one = name->first; one; one = next) {
        next = one->next; /* lost() frees it */
        if (is_missing(one, is_known))
            ilk__contender_lost(one);
    }
}

static void report_waiting(ilk__contender *contender)
{
    if (contender->state != ILK__CONTENDER_JOINS)
        return;
    if (contender->waiter.len)
        ilk__contender_queued(contender, -1, 1);
    else
        ilk__contender_busy(contender, -1, 1);
}

void ilk__name_queue_report(ilk__contended *name,
                            const ilk__queue_entry *entries, size_t count,
                            int64_t limit, int64_t ends,
                            int (*is_known)(const ilk__contender *contender))
{
    entries_before before = {0};

    mark_listed(name, entries, count);
    report_missing(name, is_known);
    for (size_t i = 0; i < count; i++) {
        if (is_in_use(&entries[i])) {
            if (fits(&before, &entries[i], limit))
                ilk__contender_granted(entries[i].own, entries[i].number, ends);
            else
                report_waiting(entries[i].own);
        }
        pass(&before, &entries[i]);
    }
}

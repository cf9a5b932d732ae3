/* SPDX-License-Identifier: MIT */
/*
 * contention_observers.c -- observers of an election.
 *
 * An observer is listed before the store reads the election, so a change between the
 * reading and the reply wakes it. All are woken by a change, leave the list, and ask
 * again.
 */
#include "contention_internal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "redis/script.h"

#include <stddef.h>
#include <string.h>

enum {
    OBSERVE_KNOWN,
    OBSERVE_VACANT,
    OBSERVE_ENTRY,
    OBSERVE_CLIENT,
    OBSERVE_LIVENESS
};

static ilk__observer *find(const ilk__contention *contention, ilk__bytes waiter)
{
    ilk__node *node =
        ilk__table_find(&contention->observers, waiter.data, waiter.len);

    return node ? (ilk__observer *)((char *)node
                                    - offsetof(ilk__observer, by_waiter))
                : NULL;
}

static void remove_observer(ilk__observer *observer)
{
    ilk__name_record *name = observer->of;
    ilk__contention *contention = name->seen.contention;

    *(observer->previous ? &observer->previous->next : &name->first_observer) =
        observer->next;
    *(observer->next ? &observer->next->previous : &name->last_observer) =
        observer->previous;
    name->seen.observers--;
    contention->observer_count--;
    ilk__table_remove(&contention->observers, &observer->by_waiter);
    ilk__timer_clear(&contention->timers, &observer->timer);
    ilk__timers_unreserve(&contention->timers);
    ilk__free(observer);
}

static void fire(ilk__timer *timer, void *context)
{
    ilk__observer *observer =
        (ilk__observer *)((char *)timer - offsetof(ilk__observer, timer));
    ilk__name_record *name = observer->of;

    (void)context;
    remove_observer(observer);
    ilk__name_settle(name);
}

static ilk__observer *new_observer(ilk__name_record *name, ilk__bytes waiter,
                                   ilk__bytes client)
{
    ilk__contention *contention = name->seen.contention;
    ilk__observer *one =
        ilk__calloc(1, sizeof *one + waiter.len + client.len + 1);

    if (!one)
        return NULL;
    one->of = name;
    one->timer.fire = fire;
    one->waiter = (ilk__bytes){one->text, waiter.len};
    one->client = (ilk__bytes){one->text + waiter.len, client.len};
    memcpy(one->waiter.data, waiter.data, waiter.len);
    memcpy(one->client.data, client.data, client.len);
    if (ilk__timers_reserve(&contention->timers, NULL)) {
        ilk__free(one);
        return NULL;
    }
    if (ilk__table_add(&contention->observers, &one->by_waiter,
                       one->waiter.data, waiter.len)) {
        ilk__timers_unreserve(&contention->timers);
        ilk__free(one);
        return NULL;
    }
    return one;
}

static void link_observer(ilk__observer *one)
{
    ilk__name_record *name = one->of;

    one->previous = name->last_observer;
    *(name->last_observer ? &name->last_observer->next
                          : &name->first_observer) = one;
    name->last_observer = one;
    name->seen.observers++;
    name->seen.contention->observer_count++;
}

void ilk__name_free_observers(ilk__name_record *name)
{
    while (name->first_observer)
        remove_observer(name->first_observer);
}

/* ---- observe ------------------------------------------------------------- */

static ilk__bytes waiter_of(const ilk__gateway_request *request)
{
    return ilk__request_entry_word(ilk__gateway_arg(request, OBSERVE_ENTRY),
                                   ILK__ENTRY_WAITER);
}

static int waits(const ilk__gateway_request *request)
{
    return ilk__gateway_arg(request, OBSERVE_ENTRY).len != 0;
}

static void begin_observing(ilk__name_record *name)
{
    const ilk__contention *contention = name->seen.contention;

    if (!name->seen.observers || name->is_observed)
        return;
    name->is_observed = 1;
    contention->store->observe(contention->self, &name->seen, 1);
}

/* 0 after a reply. */
static int list(ilk__name_record *name, ilk__gateway_request *request)
{
    ilk__contention *contention = name->seen.contention;
    const ilk__bytes waiter = waiter_of(request);
    int64_t liveness_ms = ilk__request_number(request, OBSERVE_LIVENESS, 1);
    ilk__observer *one = find(contention, waiter);

    if (liveness_ms < 0 || !waiter.len || (one && one->of != name)) {
        ilk__gateway_reply_error(request, "ERR this is no observer");
        return 0;
    }
    if (!one && contention->observer_count >= ILK__OBSERVERS_MOST) {
        ilk__gateway_reply_error(request, "OOM this client has too many "
                                          "observers");
        return 0;
    }
    if (!one) {
        one = new_observer(name, waiter,
                           ilk__gateway_arg(request, OBSERVE_CLIENT));
        if (!one) {
            ilk__gateway_break(request);
            return 0;
        }
        link_observer(one);
    }
    ilk__timer_set(&contention->timers, &one->timer,
                   ilk__now_ms() + liveness_ms);
    return 1;
}

static void unlist(ilk__name_record *name, const ilk__gateway_request *request)
{
    ilk__observer *one =
        waits(request) ? find(name->seen.contention, waiter_of(request)) : NULL;

    if (one && one->of == name)
        remove_observer(one);
}

void ilk__name_observe(ilk__name_record *name, ilk__gateway_request *request)
{
    const ilk__contention *contention = name->seen.contention;

    if (waits(request) && !list(name, request))
        return;
    if (!ilk__name_keep_request(name, request)) {
        ilk__name_settle(name);
        return;
    }
    begin_observing(name);
    contention->store->inspect(contention->self, &name->seen, 1, request);
}

int64_t ilk__name_note_term(ilk__name_record *name,
                            const ilk__contended_state *state)
{
    if (state->holders && state->entries[0].fence > name->term)
        name->term = state->entries[0].fence;
    return state->holders ? state->entries[0].fence : name->term;
}

/* `known` is `term version`, `term -` for a term whose leader is gone, or ''. */
static int is_news(const ilk__gateway_request *request,
                   const ilk__contended_state *state)
{
    const ilk__bytes known = ilk__gateway_arg(request, OBSERVE_KNOWN);
    ilk__span version = {known.data, known.len},
              term = ilk__text_cut(&version, ' ', NULL);
    const int64_t known_term = ilk__text_number(term, ILK__SCRIPT_INT_MAX);
    int was_gone = ilk__text_equals(version, "-");

    if (!state->holders)
        return !was_gone
               && ilk__request_number(request, OBSERVE_VACANT, 0) == 1;
    if (state->entries[0].fence != known_term)
        return state->entries[0].fence > known_term;
    return was_gone
           || ilk__text_number(version, ILK__SCRIPT_INT_MAX) != state->version;
}

void ilk__name_observed(ilk__name_record *name, ilk__gateway_request *request,
                        const ilk__contended_state *state, const char *error)
{
    if (error) {
        unlist(name, request);
        ilk__gateway_reply_error(request, error);
    } else if (is_news(request, state)) {
        unlist(name, request);
        ilk__reply_election_state(request, ilk__name_note_term(name, state),
                                  state, 1, 0);
    } else {
        (void)ilk__name_note_term(name, state);
        ilk__gateway_reply(
            request, waits(request) ? ILK__CODE_QUEUED : ILK__CODE_BUSY, "iii",
            (int64_t)-1, ilk__contention_now_us(), (int64_t)1);
    }
}

/* ---- changes, refresh, cancel -------------------------------------------- */

void ilk__contention_election_changed(ilk__contended *seen)
{
    ilk__name_record *name = (ilk__name_record *)seen;

    while (name->first_observer) {
        ilk__observer *one = name->first_observer;

        ilk__send_wake(seen->contention, one->client, one->waiter, seen->key);
        remove_observer(one);
    }
    ilk__name_settle(name);
}

void ilk__observers_refresh(ilk__name_record *name,
                            ilk__gateway_request *request)
{
    ilk__contention *contention = name->seen.contention;
    int64_t liveness_ms = ilk__request_number(request, 1, 1);

    if (liveness_ms < 0 || request->arg_count < ILK__REFRESH_ENTRIES) {
        ilk__gateway_reply_error(request,
                                 "ERR a number of the refresh is not valid");
        return;
    }
    for (size_t i = ILK__REFRESH_ENTRIES; i < request->arg_count; i++) {
        ilk__observer *one = find(
            contention, ilk__request_entry_word(ilk__gateway_arg(request, i),
                                                ILK__ENTRY_WAITER));

        if (one)
            ilk__timer_set(&contention->timers, &one->timer,
                           ilk__now_ms() + liveness_ms);
    }
    ilk__reply_observers_refreshed(contention, request);
}

void ilk__observer_cancel(ilk__name_record *name, ilk__gateway_request *request)
{
    ilk__observer *one =
        find(name->seen.contention,
             ilk__request_entry_word(ilk__gateway_arg(request, 0),
                                     ILK__ENTRY_WAITER));

    if (one && one->of == name)
        remove_observer(one);
    ilk__gateway_reply(request, ILK__CODE_GONE, "");
}

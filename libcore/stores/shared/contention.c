/* SPDX-License-Identifier: MIT */
/* contention.c -- names and contenders: how they are made, found, and forgotten when
 * their time is over. */
#include "contention_internal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"

#include <stddef.h>
#include <string.h>

static ilk__bytes keep(char **to, ilk__bytes from)
{
    ilk__bytes here = {.data = *to, .len = from.len};

    if (from.len)
        memcpy(here.data, from.data, from.len);
    here.data[from.len] = '\0';
    *to += from.len + 1;
    return here;
}

/* ---- names --------------------------------------------------------------- */

static ilk__contended *contended_of(ilk__node *node)
{
    return (ilk__contended *)((char *)node - offsetof(ilk__contended, by_key));
}

static int is_unused(const ilk__name_record *name)
{
    return !name->seen.first && !name->seen.observers && !name->requests;
}

void ilk__name_settle(ilk__name_record *name)
{
    ilk__timers *timers = &name->seen.contention->timers;

    if (name->is_observed && !name->seen.observers)
        ilk__timer_set(timers, &name->timer,
                       ilk__now_ms() + ILK__OBSERVE_ON_MS);
    else if (is_unused(name))
        ilk__timer_set(timers, &name->timer, ilk__now_ms());
    else
        ilk__timer_clear(timers, &name->timer);
}

static void free_name(ilk__name_record *name)
{
    ilk__contention *contention = name->seen.contention;

    contention->store->forget_name(contention->self, &name->seen);
    ilk__timer_clear(&contention->timers, &name->timer);
    ilk__timers_unreserve(&contention->timers);
    ilk__table_remove(&contention->names, &name->seen.by_key);
    ilk__free(name);
}

static void fire_name(ilk__timer *timer, void *context)
{
    ilk__name_record *name =
        (ilk__name_record *)((char *)timer - offsetof(ilk__name_record, timer));
    ilk__contention *contention = context;

    if (name->is_observed && !name->seen.observers) {
        name->is_observed = 0;
        contention->store->observe(contention->self, &name->seen, 0);
    }
    if (is_unused(name))
        free_name(name);
}

/* The user's name is all of a lock's key. */
static ilk__span name_in(const ilk__bytes *key, ilk__contended_kind kind)
{
    ilk__span name = {key->data, key->len};

    if (kind == ILK__CONTENDED_ELECTION)
        (void)ilk__side_key_name(key->data, key->len, "election", &name.at,
                                 &name.len);
    else if (kind == ILK__CONTENDED_SEMAPHORE)
        (void)ilk__side_key_name(key->data, key->len, "semaphore", &name.at,
                                 &name.len);
    return name;
}

static ilk__name_record *new_name(ilk__contention *contention, ilk__bytes key,
                                  ilk__contended_kind kind)
{
    ilk__name_record *name = ilk__calloc(1, sizeof *name + key.len + 1);
    char *to;

    if (!name)
        return NULL;
    to = name->text;
    name->seen.contention = contention;
    name->seen.kind = kind;
    name->seen.key = keep(&to, key);
    name->seen.name = name_in(&name->seen.key, kind);
    name->timer.fire = fire_name;
    if (ilk__timers_reserve(&contention->timers, NULL)) {
        ilk__free(name);
        return NULL;
    }
    if (ilk__table_add(&contention->names, &name->seen.by_key,
                       name->seen.key.data, key.len)) {
        ilk__timers_unreserve(&contention->timers);
        ilk__free(name);
        return NULL;
    }
    return name;
}

ilk__name_record *ilk__name_of(ilk__contention *contention, ilk__bytes key,
                               ilk__contended_kind kind)
{
    ilk__node *node = ilk__table_find(&contention->names, key.data, key.len);

    if (node)
        return (ilk__name_record *)contended_of(node);
    return new_name(contention, key, kind);
}

/* ---- tokens that are over ------------------------------------------------ */

static uint64_t mark_of(ilk__bytes token)
{
    return ilk__hash(ILK__HASH_START, token.data, token.len);
}

void ilk__token_note_over(ilk__contention *contention, ilk__bytes token)
{
    (void)ilk__recent_seen(&contention->over, mark_of(token));
}

int ilk__token_is_over(const ilk__contention *contention, ilk__bytes token)
{
    return ilk__recent_has(&contention->over, mark_of(token));
}

/* ---- contenders ---------------------------------------------------------- */

static void link_contender(ilk__contender_record *record)
{
    ilk__contender *one = &record->seen;
    ilk__contention *contention = one->of->contention;

    one->previous = one->of->last;
    *(one->of->last ? &one->of->last->next : &one->of->first) = one;
    one->of->last = one;
    record->previous = contention->last;
    *(contention->last ? &contention->last->next : &contention->first) = record;
    contention->last = record;
}

static void unlink_contender(ilk__contender_record *record)
{
    ilk__contender *one = &record->seen;
    ilk__contended *name = one->of;
    ilk__contention *contention = name->contention;

    *(one->previous ? &one->previous->next : &name->first) = one->next;
    *(one->next ? &one->next->previous : &name->last) = one->previous;
    one->next = one->previous = NULL;
    *(record->previous ? &record->previous->next : &contention->first) =
        record->next;
    *(record->next ? &record->next->previous : &contention->last) =
        record->previous;
    if (contention->cursor == record)
        contention->cursor = record->next;
    record->next = record->previous = NULL;
    ilk__name_settle((ilk__name_record *)name);
}

static char *keep_words(ilk__contender *contender,
                        const ilk__contender_words *words)
{
    char *text = ilk__malloc(words->token.len + words->who.len
                             + words->client.len + words->waiter.len + 4);
    char *to = text;

    if (!text)
        return NULL;
    contender->token = keep(&to, words->token);
    contender->who = keep(&to, words->who);
    contender->client = keep(&to, words->client);
    contender->waiter = keep(&to, words->waiter);
    return text;
}

int ilk__contender_set_value(ilk__contender *contender, ilk__bytes value)
{
    char *copy = ilk__memdup(value.data, value.len);

    if (!copy)
        return 0;
    ilk__free(contender->value.data);
    contender->value = (ilk__bytes){copy, value.len};
    return 1;
}

static void fire_contender(ilk__timer *timer, void *context);

static int enter(ilk__contender_record *record)
{
    ilk__contender *one = &record->seen;
    ilk__contention *contention = one->of->contention;

    if (ilk__timers_reserve(&contention->timers, NULL))
        return 0;
    if (ilk__table_add(&contention->tokens, &one->by_token, one->token.data,
                       one->token.len)) {
        ilk__timers_unreserve(&contention->timers);
        return 0;
    }
    link_contender(record);
    ilk__name_settle((ilk__name_record *)one->of);
    return 1;
}

ilk__contender *ilk__contender_new(ilk__name_record *name,
                                   ilk__contender_kind kind,
                                   const ilk__contender_words *words)
{
    ilk__contender_record *record = ilk__calloc(1, sizeof *record);

    if (!record)
        return NULL;
    record->seen.of = &name->seen;
    record->seen.kind = kind;
    record->seen.permits = record->seen.limit = 1;
    record->timer.fire = fire_contender;
    record->text = keep_words(&record->seen, words);
    if (!record->text || !ilk__contender_set_value(&record->seen, words->value)
        || !enter(record)) {
        ilk__free(record->seen.value.data);
        ilk__free(record->text);
        ilk__free(record);
        return NULL;
    }
    return &record->seen;
}

int ilk__contender_rewrite(ilk__contender *contender,
                           const ilk__contender_words *words)
{
    ilk__contender_record *record = ilk__record_of(contender);
    ilk__contention *contention = contender->of->contention;
    char *before = record->text, *text = keep_words(contender, words);

    if (!text)
        return 0;
    ilk__table_remove(&contention->tokens, &contender->by_token);
    record->text = text;
    (void)ilk__table_add(&contention->tokens, &contender->by_token,
                         contender->token.data, contender->token.len);
    ilk__free(before);
    return 1;
}

ilk__contender *ilk__contender_find(const ilk__contention *contention,
                                    ilk__bytes token)
{
    ilk__node *node =
        ilk__table_find(&contention->tokens, token.data, token.len);

    return node ? (ilk__contender *)((char *)node
                                     - offsetof(ilk__contender, by_token))
                : NULL;
}

/* ---- their ends ---------------------------------------------------------- */

static void dispose(ilk__contention *contention, ilk__contender *contender)
{
    ilk__contender_record *record = ilk__record_of(contender);

    ilk__timer_clear(&contention->timers, &record->timer);
    ilk__timers_unreserve(&contention->timers);
    ilk__table_remove(&contention->tokens, &contender->by_token);
    ilk__free(contender->value.data);
    ilk__free(record->text);
    ilk__free(record);
}

static void forget(ilk__contender *contender)
{
    const ilk__contention *contention = contender->of->contention;

    contention->store->forget(contention->self, contender);
    unlink_contender(ilk__record_of(contender));
}

void ilk__contender_free(ilk__contender *contender)
{
    ilk__contention *contention = contender->of->contention;

    forget(contender);
    dispose(contention, contender);
}

static void free_ended(ilk__contention *contention, ilk__contender *contender)
{
    *(contender->previous ? &contender->previous->next
                          : &contention->first_ended) = contender->next;
    *(contender->next ? &contender->next->previous : &contention->last_ended) =
        contender->previous;
    contention->ended_count--;
    dispose(contention, contender);
}

static void remember(ilk__contention *contention, ilk__contender *contender)
{
    contender->previous = contention->last_ended;
    *(contention->last_ended ? &contention->last_ended->next
                             : &contention->first_ended) = contender;
    contention->last_ended = contender;
    if (++contention->ended_count > ILK__ENDED_MOST)
        free_ended(contention, contention->first_ended);
}

/* One that has only lapsed may be acquired again, with the same token. */
void ilk__contender_end(ilk__contender *contender, ilk__left left)
{
    ilk__contender_record *record = ilk__record_of(contender);
    ilk__contention *contention = contender->of->contention;

    if (!record->is_over) {
        ilk__contender_free(contender);
        return;
    }
    forget(contender);
    contender->of = NULL;
    contender->at_store = NULL;
    contender->state = ILK__CONTENDER_ENDED;
    contender->left = left;
    contender->until = ilk__now_ms() + ILK__ENDED_MS;
    ilk__timer_set(&contention->timers, &record->timer, contender->until);
    remember(contention, contender);
}

void ilk__contender_leave(ilk__contender *contender)
{
    const ilk__contention *contention = contender->of->contention;

    contender->state = ILK__CONTENDER_LEAVES;
    contender->until = ilk__now_ms() + ILK__LEAVE_MS;
    ilk__contender_plan(contender);
    contention->store->leave(contention->self, contender);
}

/* ---- timers -------------------------------------------------------------- */

/* While the store works on a request, its report decides. */
static int64_t due_of(const ilk__contender *contender)
{
    switch (contender->state) {
    case ILK__CONTENDER_HOLDS:
        return contender->request ? ILK__FOREVER : contender->ends;
    case ILK__CONTENDER_LEAVES:
        return contender->request ? contender->until : ILK__FOREVER;
    case ILK__CONTENDER_JOINS:
    case ILK__CONTENDER_WAITS:
    case ILK__CONTENDER_ENDED: break;
    }
    return contender->request ? ILK__FOREVER : contender->until;
}

void ilk__contender_plan(ilk__contender *contender)
{
    ilk__timers *timers = &contender->of->contention->timers;
    int64_t due = due_of(contender);

    if (due == ILK__FOREVER)
        ilk__timer_clear(timers, &ilk__record_of(contender)->timer);
    else
        ilk__timer_set(timers, &ilk__record_of(contender)->timer, due);
}

static void fire_contender(ilk__timer *timer, void *context)
{
    ilk__contender_record *record =
        (ilk__contender_record *)((char *)timer
                                  - offsetof(ilk__contender_record, timer));
    ilk__contender *contender = &record->seen;

    if (contender->state == ILK__CONTENDER_ENDED) {
        free_ended(context, contender);
    } else if (record->is_busy) {
        ilk__reply_busy(contender);
    } else if (contender->state == ILK__CONTENDER_LEAVES) {
        ilk__reply_refusal(context, contender->request,
                           "ILKDOWN %s has not yet removed an earlier hold");
        contender->request = NULL;
    } else {
        record->has_lapsed = 1;
        ilk__contender_leave(contender);
    }
}

int64_t ilk__contention_due(const ilk__contention *contention)
{
    return ilk__timers_next(&contention->timers);
}

void ilk__contention_fire(ilk__contention *contention, int64_t now)
{
    ilk__timer *timer;

    while ((timer = ilk__timers_pop(&contention->timers, now)))
        timer->fire(timer, contention);
}

/* ---- the whole ----------------------------------------------------------- */

/* The sets of marks are there from now on, so nothing is forgotten for want of
 * memory. */
static int make_sets(ilk__contention *contention)
{
    (void)ilk__recent_seen(&contention->over, 0);
    (void)ilk__recent_seen(&contention->breaks, 0);
    (void)ilk__recent_seen(&contention->unsure_breaks, 0);
    return contention->over.sets && contention->breaks.sets
           && contention->unsure_breaks.sets;
}

ilk__contention *ilk__contention_new(ilk__gateway *gateway,
                                     const ilk__contention_store *store,
                                     void *self)
{
    ilk__contention *contention = ilk__calloc(1, sizeof *contention);

    if (!contention)
        return NULL;
    contention->gateway = gateway;
    contention->store = store;
    contention->self = self;
    if (make_sets(contention))
        return contention;
    ilk__contention_free(contention);
    return NULL;
}

static void break_request(ilk__contender *contender)
{
    if (contender->request)
        ilk__gateway_break(contender->request);
    contender->request = NULL;
}

static void free_names(ilk__contention *contention)
{
    size_t cursor = 0;
    ilk__node *node;

    while ((node = ilk__table_bucket(&contention->names, &cursor)))
        for (ilk__node *next; node; node = next) {
            ilk__name_record *name = (ilk__name_record *)contended_of(node);

            next = node->next;
            ilk__name_break_requests(name);
            ilk__name_free_observers(name);
            free_name(name);
        }
}

void ilk__contention_free(ilk__contention *contention)
{
    if (!contention)
        return;
    while (contention->first) {
        break_request(&contention->first->seen);
        ilk__contender_free(&contention->first->seen);
    }
    while (contention->first_ended)
        free_ended(contention, contention->first_ended);
    free_names(contention);
    ilk__table_free(&contention->names);
    ilk__table_free(&contention->tokens);
    ilk__table_free(&contention->observers);
    ilk__timers_free(&contention->timers);
    ilk__recent_free(&contention->over);
    ilk__recent_free(&contention->breaks);
    ilk__recent_free(&contention->unsure_breaks);
    ilk__free(contention);
}

ilk__contender *ilk__contention_next(ilk__contention *contention,
                                     ilk__contended **name,
                                     ilk__contender *previous)
{
    ilk__contender_record *record =
        previous ? contention->cursor : contention->first;

    contention->cursor = record ? record->next : NULL;
    if (!record)
        return NULL;
    if (name)
        *name = record->seen.of;
    return &record->seen;
}

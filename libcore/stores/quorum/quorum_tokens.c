/* SPDX-License-Identifier: MIT */
/*
 * quorum_tokens.c -- attempts by their tokens: how one is made, found, kept in a list
 * and forgotten.
 */
#include "quorum_internal.h"

#include "base/alloc.h"
#include "base/hash.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { INNER_MORE = 24 };

/* ---- lists --------------------------------------------------------------- */

void ilk__attempt_put(ilk__attempt_list *list, ilk__attempt *attempt)
{
    attempt->next = NULL;
    attempt->previous = list->last;
    *(list->last ? &list->last->next : &list->first) = attempt;
    list->last = attempt;
    list->count++;
}

void ilk__attempt_take_out(ilk__attempt_list *list, ilk__attempt *attempt)
{
    *(attempt->previous ? &attempt->previous->next : &list->first) =
        attempt->next;
    *(attempt->next ? &attempt->next->previous : &list->last) =
        attempt->previous;
    list->count--;
}

/* ---- making and finding -------------------------------------------------- */

static ilk__bytes keep(char **to, ilk__bytes from)
{
    ilk__bytes here = {.data = *to, .len = from.len};

    if (from.len)
        memcpy(here.data, from.data, from.len);
    *to += from.len;
    *(*to)++ = '\0';
    return here;
}

static size_t size_of(const ilk__hold_words *words)
{
    size_t size = 0;

    for (size_t i = 0; i < ILK__NAME_KEYS; i++)
        size += words->keys[i].len + 1;
    return size + 2 * words->token.len + words->who.len + 2 * words->entry.len
           + words->client.len + words->waiter.len + 2 * (size_t)INNER_MORE + 7;
}

/* `1 <kind> <client> <waiter> <token> ...` with the inner token. */
static ilk__bytes keep_entry(char **to, const ilk__attempt *attempt)
{
    const ilk__bytes *entry = &attempt->words.entry;
    ilk__span rest = {entry->data, entry->len};
    ilk__bytes here = {.data = *to};
    size_t head;

    if (!entry->len)
        return keep(to, (ilk__bytes){NULL, 0});
    for (int i = 0; i < 4; i++)
        (void)ilk__text_cut(&rest, ' ', NULL);
    head = (size_t)(rest.at - entry->data);
    (void)ilk__text_cut(&rest, ' ', NULL);
    memcpy(*to, entry->data, head);
    *to += head;
    memcpy(*to, attempt->inner.data, attempt->inner.len);
    *to += attempt->inner.len;
    *(*to)++ = ' ';
    memcpy(*to, rest.at, rest.len);
    *to += rest.len;
    here.len = (size_t)(*to - here.data);
    *(*to)++ = '\0';
    return here;
}

/* The attempt has ended, and each node that knows it was sent its cancel, on a connection
 * that is up: the node executes what is sent now after that. */
static int is_out_of_the_way(const ilk__attempt *attempt)
{
    size_t open = 0;

    for (size_t i = 0; i < attempt->quorum->count; i++)
        open += (size_t)attempt->unsettled[i];
    return attempt->state == ILK__ATTEMPT_ENDED && attempt->calls >= open
           && !attempt->was_cut;
}

/* The next attempt takes the token over, and its cancel is for both. */
static void supersede(ilk__attempt *attempt)
{
    attempt->is_superseded = 1;
    ilk__table_remove(&attempt->quorum->by_inner, &attempt->by_inner);
}

/* The core's token, or one that no node has seen yet. */
static ilk__bytes keep_inner(char **to, ilk__attempt *attempt)
{
    const ilk__bytes *token = &attempt->words.token;
    ilk__quorum *quorum = attempt->quorum;
    ilk__attempt *other = ilk__attempt_of_node(quorum, token->data, token->len);
    ilk__bytes here = {.data = *to};

    if (!attempt->pause_ms && (!other || is_out_of_the_way(other))) {
        if (other)
            supersede(other);
        return keep(to, *token);
    }
    memcpy(*to, token->data, token->len);
    here.len = token->len
               + (size_t)snprintf(*to + token->len, INNER_MORE, "~%" PRId64,
                                  ++quorum->last_try);
    *to += here.len + 1;
    return here;
}

static void keep_words(ilk__attempt *attempt, const ilk__hold_words *words)
{
    ilk__hold_words *own = &attempt->words;
    char *to = attempt->text;

    own->kind = words->kind;
    for (size_t i = 0; i < ILK__NAME_KEYS; i++)
        own->keys[i] = keep(&to, words->keys[i]);
    own->token = keep(&to, words->token);
    own->who = keep(&to, words->who);
    own->entry = keep(&to, words->entry);
    own->client = keep(&to, words->client);
    own->waiter = keep(&to, words->waiter);
    attempt->inner = keep_inner(&to, attempt);
    attempt->inner_entry = keep_entry(&to, attempt);
}

void ilk__attempt_forget_token(ilk__attempt *attempt)
{
    if (attempt->is_known)
        ilk__table_remove(&attempt->quorum->by_token, &attempt->by_token);
    attempt->is_known = 0;
}

static int enter(ilk__attempt *attempt)
{
    ilk__quorum *quorum = attempt->quorum;
    const ilk__bytes *token = &attempt->words.token, *inner = &attempt->inner;

    if (ilk__table_add(&quorum->by_inner, &attempt->by_inner, inner->data,
                       inner->len))
        return 0;
    if (ilk__table_add(&quorum->by_token, &attempt->by_token, token->data,
                       token->len)) {
        ilk__table_remove(&quorum->by_inner, &attempt->by_inner);
        return 0;
    }
    attempt->is_known = 1;
    ilk__attempt_put(&quorum->live, attempt);
    return 1;
}

ilk__attempt *ilk__attempt_new(ilk__quorum *quorum,
                               const ilk__hold_words *words, int pause_ms)
{
    ilk__attempt *attempt = ilk__calloc(1, sizeof *attempt);

    if (!attempt)
        return NULL;
    attempt->quorum = quorum;
    attempt->pause_ms = pause_ms;
    attempt->text = ilk__malloc(size_of(words));
    if (attempt->text)
        keep_words(attempt, words);
    if (!attempt->text || !enter(attempt)) {
        ilk__free(attempt->text);
        ilk__free(attempt);
        return NULL;
    }
    for (size_t i = 0; i < quorum->count; i++) {
        attempt->holder_ends[i] = ILK__FOREVER;
        attempt->ours[i] = 1;
    }
    return attempt;
}

ilk__attempt *ilk__attempt_find(const ilk__quorum *quorum, const void *token,
                                size_t len)
{
    ilk__node *node = ilk__table_find(&quorum->by_token, token, len);

    return node ? (ilk__attempt *)((char *)node
                                   - offsetof(ilk__attempt, by_token))
                : NULL;
}

ilk__attempt *ilk__attempt_of_node(const ilk__quorum *quorum, const void *inner,
                                   size_t len)
{
    ilk__node *node = ilk__table_find(&quorum->by_inner, inner, len);

    return node ? (ilk__attempt *)((char *)node
                                   - offsetof(ilk__attempt, by_inner))
                : NULL;
}

static uint64_t hash_of(const void *token, size_t len)
{
    return ilk__hash(ILK__HASH_START, token, len);
}

void ilk__attempt_note_over(const ilk__attempt *attempt)
{
    ilk__quorum *quorum = attempt->quorum;
    const ilk__bytes *token = &attempt->words.token;

    quorum->over[quorum->over_at++ % ILK__OVER_TOKENS] =
        hash_of(token->data, token->len);
}

int ilk__attempt_is_over(const ilk__quorum *quorum, const void *token,
                         size_t len)
{
    const uint64_t hash = hash_of(token, len);

    for (size_t i = 0; i < ILK__OVER_TOKENS; i++)
        if (quorum->over[i] == hash)
            return 1;
    return 0;
}

/* One that is in no list. */
void ilk__attempt_dispose(ilk__attempt *attempt)
{
    ilk__attempt_forget_token(attempt);
    if (!attempt->is_superseded)
        ilk__table_remove(&attempt->quorum->by_inner, &attempt->by_inner);
    ilk__free(attempt->value.data);
    ilk__free(attempt->text);
    ilk__free(attempt);
}

void ilk__attempt_free(ilk__attempt *attempt)
{
    if (!attempt)
        return;
    ilk__attempt_take_out(&attempt->quorum->live, attempt);
    ilk__attempt_dispose(attempt);
}

int ilk__attempt_set_value(ilk__attempt *attempt, ilk__bytes value)
{
    char *copy;

    if (attempt->value.data && attempt->value.len == value.len
        && memcmp(attempt->value.data, value.data, value.len) == 0)
        return 1;
    copy = ilk__memdup(value.data, value.len);
    if (!copy)
        return 0;
    ilk__free(attempt->value.data);
    attempt->value = (ilk__bytes){copy, value.len};
    attempt->version++;
    return 1;
}

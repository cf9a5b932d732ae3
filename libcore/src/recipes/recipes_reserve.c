/* SPDX-License-Identifier: MIT */
/* recipes_reserve.c -- a consumer reserves a message, and recovers those of
 * consumers that died. */
#include "recipes_consumer.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>

/* SHOWS_UP_MS: a consumer reserves again at least after each round of blocking,
 * which is shorter; one that does not may be dead. */
enum {
    SHOWS_UP_MS = 15000,
    LAST_MS = 500, /* for the reply to the request at the deadline */
    RECOVER_AT_ONCE = 1000,
    GONE_MOST = 16
};

typedef struct reserve_query {
    ilk_consumer *consumer;
    ilk_items *found;
    size_t gone_from[GONE_MOST];
    char gone[GONE_MOST][ILK__CONSUMER_ID];
    size_t gone_count;
} reserve_query;

static void reserve_ask(ilk__op *op)
{
    const reserve_query *self = op->subject;
    const ilk_consumer *consumer = self->consumer;

    ilk__script_begin(&op->command, op->type->script, consumer->keys,
                      consumer->count * ILK__CONSUMER_KEYS);
    ilk__command_add_str(&op->command, consumer->id);
    ilk__command_add_int(&op->command, SHOWS_UP_MS);
    ilk__command_add_int(&op->command, ILK_RECIPES_VALUE_MAX);
}

/* Checks an id from the server, where any program may have written it. */
static int is_id(const ilk__reply *item)
{
    return item->type == ILK__REPLY_STR && item->len > 0
           && item->len < ILK__CONSUMER_ID
           && strspn(item->str, "0123456789abcdef.") == item->len;
}

/* Stores the pairs of a list's index and a consumer's id; invalid ones are
 * ignored. */
static void note_gone(reserve_query *self, const ilk__reply *reply,
                      size_t first)
{
    for (size_t i = first; i + 1 < reply->count; i += 2) {
        const ilk__reply *list = reply->items[i], *id = reply->items[i + 1];

        if (self->gone_count == GONE_MOST || list->type != ILK__REPLY_INT
            || (uint64_t)list->num >= self->consumer->count || !is_id(id))
            continue;
        self->gone_from[self->gone_count] = (size_t)list->num;
        memcpy(self->gone[self->gone_count++], id->str, id->len + 1);
    }
}

static ilk_items *both(const ilk__bytes *queue, const ilk__reply *value)
{
    ilk_items *items = ilk__items_new(2);

    if (items && ilk__items_set(items, 0, queue->data, queue->len)
        && ilk__items_set(items, 1, value->str, value->len))
        return items;
    ilk_items_free(items);
    return NULL;
}

/* Copies the message for settling it, and for the caller. */
static ilk_status keep(reserve_query *self, size_t list,
                       const ilk__reply *value)
{
    ilk_consumer *consumer = self->consumer;

    self->found = both(&consumer->keys[list * ILK__CONSUMER_KEYS], value);
    consumer->taken.data = ilk__memdup(value->str, value->len);
    consumer->taken.len = value->len;
    if (!self->found || !consumer->taken.data) {
        ilk__free(consumer->taken.data);
        consumer->taken.data = NULL;
        ilk_items_free(self->found);
        self->found = NULL;
        return ILK_ENOMEM;
    }
    consumer->taken_from = list;
    consumer->holds = 1;
    return ILK_OK;
}

static ilk__act reserve_reply(ilk__op *op, const ilk__reply *reply)
{
    reserve_query *self = op->subject;
    int64_t list;

    self->consumer->known = 1;
    if (ilk__script_code(reply) == ILK__CODE_EMPTY) {
        note_gone(self, reply, 1);
        return ilk__op_done(op, ILK_OK);
    }
    list = ilk__script_int(reply, 0);
    if (list < 0 || (uint64_t)list >= self->consumer->count)
        return ilk__op_fail(op, ILK_EREPLY, "recipes_reserve: no list %lld",
                            (long long)list);
    note_gone(self, reply, 3);
    if (keep(self, (size_t)list, ilk__script_item(reply, 1)))
        return ilk__op_fail(op, ILK_ENOMEM, "out of memory");
    return ilk__op_done(op, ILK_OK);
}

static ilk__act reserve_wake(ilk__op *op, ilk__cause cause)
{
    if (cause == ILK__CAUSE_CLOSED)
        return ilk__op_fail(op, ILK_ECLOSED, "the client is closed");
    if (cause == ILK__CAUSE_STOPPED)
        return ilk__op_fail(op, ILK_ECANCELLED, "the client is stopped");
    return ilk__op_fail(op, ILK_EINTR, "interrupted");
}

/* `reads`, although it moves a message: a missing reply can be ignored, because
 * the next reserve finds that message in the taken list. */
static const ilk__op_type reserve = {.name = "recipes_reserve",
                                     .script = ILK__SCRIPT_RECIPES_RESERVE,
                                     .reply_is_optional = 1,
                                     .ask = reserve_ask,
                                     .reply = reserve_reply,
                                     .wake = reserve_wake};

/* As ilk__ask(), but with the caller's limit. */
static ilk_status ask_patiently(ilk_client *client, reserve_query *self,
                                int64_t deadline, ilk_error *err)
{
    ilk__parker parker;
    ilk_error own = {0};
    ilk__op op;
    ilk_status st = ilk__parker_init(&parker, err);

    if (st)
        return st;
    /* The last one at the deadline is awaited as well. */
    if (deadline < ilk__deadline(LAST_MS))
        deadline = ilk__deadline(LAST_MS);
    ilk__op_init(&op, &reserve, self, deadline, err ? err : &own);
    op.outage = &client->shared->outage;
    op.persist_ms = op.outage->cap_ms;
    st = ilk__run(client, &op, &parker);
    ilk__op_free(&op);
    ilk__parker_destroy(&parker);
    return st;
}

ilk_status ilk__consumer_reserve(ilk_items **out, ilk_consumer *consumer,
                                 int64_t deadline, ilk_error *err)
{
    reserve_query self = {.consumer = consumer};
    ilk_status st =
        ask_patiently(consumer->handle.client, &self, deadline, err);

    if (st)
        return st;
    *out = self.found;
    /* A failure can be ignored: the next reserve finds the dead consumers again. */
    for (size_t i = 0; i < self.gone_count; i++)
        (void)ilk__consumer_recover(consumer, self.gone_from[i], self.gone[i],
                                    NULL);
    return ILK_OK;
}

/* ---- recovering --------------------------------------------------------- */

ILK__RECIPE_TYPE(recover, ILK__SCRIPT_RECIPES_RECOVER, ilk__recipe_counted);

ilk_status ilk__consumer_recover(ilk_consumer *consumer, size_t list,
                                 const char *id, ilk_error *err)
{
    const ilk__bytes *queue = &consumer->keys[list * ILK__CONSUMER_KEYS];
    char kind[ILK__CONSUMER_ID + 32];
    ilk__recipe self;
    ilk_status st;

    snprintf(kind, sizeof kind, "recipes:taken:%s", id);
    do {
        ilk__recipe_begin(&self, consumer->handle.client, err);
        ilk__recipe_key(&self, queue->data, queue->len, "list");
        ilk__recipe_side(&self, kind, queue->data, queue->len);
        ilk__recipe_side(&self, "recipes:consumers", queue->data, queue->len);
        ilk__recipe_text(&self, id, strlen(id));
        ilk__recipe_number(&self, RECOVER_AT_ONCE);
        ilk__recipe_number(&self, strcmp(id, consumer->id) == 0);
        st = ilk__recipe_run(&self, &recover);
    } while (!st && self.code == ILK__CODE_MORE);
    return st;
}

/* SPDX-License-Identifier: MIT */
/* recipes.c -- one script call on plain keys, and its result. */
#include "recipes.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

/* ---- items -------------------------------------------------------------- */

ilk_items *ilk__items_new(size_t count)
{
    ilk_items *items =
        ilk__calloc(1, sizeof *items + count * sizeof items->items[0]);

    if (items)
        items->count = count;
    return items;
}

int ilk__items_set(ilk_items *items, size_t index, const void *data, size_t len)
{
    items->items[index].data = ilk__memdup(data, len);
    items->items[index].len = len;
    return items->items[index].data != NULL;
}

size_t ilk_items_count(const ilk_items *items)
{
    return items ? items->count : 0;
}

const char *ilk_items_data(const ilk_items *items, size_t index,
                           size_t *out_len)
{
    int is_there = index < ilk_items_count(items);

    if (out_len)
        *out_len = is_there ? items->items[index].len : 0;
    return is_there ? items->items[index].data : NULL;
}

void ilk_items_free(ilk_items *items)
{
    for (size_t i = 0; i < ilk_items_count(items); i++)
        ilk__free(items->items[i].data);
    ilk__free(items);
}

/* ---- asking ------------------------------------------------------------- */

/*
 * A thread has one request at a time, so one key per thread is enough for the
 * last answer.
 */
static uint32_t thread_number(void)
{
    static _Atomic uint32_t last;
    static _Thread_local uint32_t own;

    if (!own)
        own = atomic_fetch_add(&last, 1) + 1;
    return own;
}

void ilk__recipe_fail(ilk__recipe *self, ilk_status status)
{
    if (!self->st)
        self->st = status;
}

void ilk__recipe_begin(ilk__recipe *self, ilk_client *client, ilk_error *err)
{
    memset(self, 0, sizeof *self);
    self->client = client;
    self->err = err;
    self->st = ilk__client_enter_for(client, ILK_OFFER_RECIPES, err);
    if (!self->st)
        self->st = ilk__token(self->token, ILK__TOKEN_LEN, err);
}

static void no_memory(ilk__recipe *self)
{
    ilk__recipe_fail(self, ilk__fail(self->err, ILK_ENOMEM, "out of memory"));
}

void ilk__recipe_key(ilk__recipe *self, const void *key, size_t len,
                     const char *what)
{
    ilk__bytes *out = &self->keys[self->key_count];

    if (!self->st)
        self->st = ilk__name_check(key, len, what, self->err);
    if (self->st)
        return;
    out->data = ilk__memdup(key, len);
    out->len = len;
    self->key_count++;
    if (!out->data)
        no_memory(self);
}

void ilk__recipe_key_tail(ilk__recipe *self, const void *key, size_t len,
                          const char *tail)
{
    char whole[ILK_NAME_MAX];
    size_t tail_len = strlen(tail);

    if (self->st)
        return;
    if (len + tail_len > sizeof whole) {
        self->st = ilk__fail(self->err, ILK_EINVAL,
                             "key must have at most %d bytes, got %zu",
                             ILK_NAME_MAX - (int)tail_len, len);
        return;
    }
    memcpy(whole, key, len);
    for (size_t i = 0; i < tail_len; i++)
        whole[len + i] = tail[i];
    ilk__recipe_key(self, whole, len + tail_len, "key");
}

void ilk__recipe_side(ilk__recipe *self, const char *kind, const void *key,
                      size_t len)
{
    if (self->st)
        return;
    self->st =
        ilk__side_key(&self->keys[self->key_count], kind, key, len, self->err);
    self->key_count += !self->st;
}

void ilk__recipe_once(ilk__recipe *self, const char *what, const void *key,
                      size_t len)
{
    char kind[64];

    if (self->st)
        return;
    snprintf(kind, sizeof kind, "recipes:%s:%s.%u", what,
             self->client->shared->client_id, (unsigned)thread_number());
    ilk__recipe_side(self, kind, key, len);
}

void ilk__recipe_text(ilk__recipe *self, const void *data, size_t len)
{
    self->args[self->arg_count++] =
        (ilk__recipe_arg){.data = data ? data : "", .len = len};
}

void ilk__recipe_number(ilk__recipe *self, int64_t number)
{
    self->args[self->arg_count++] = (ilk__recipe_arg){.number = number};
}

void ilk__recipe_value(ilk__recipe *self, const void *value, size_t len)
{
    if (!self->st && len > ILK_RECIPES_VALUE_MAX)
        self->st = ilk__fail(self->err, ILK_EINVAL,
                             "value must have at most %d bytes, got %zu",
                             ILK_RECIPES_VALUE_MAX, len);
    if (!self->st && !value && len)
        self->st = ilk__fail(self->err, ILK_EINVAL, "value must not be NULL");
    ilk__recipe_text(self, value, len);
}

ilk_status ilk__recipe_run(ilk__recipe *self, const ilk__op_type *type)
{
    if (!self->st)
        self->st =
            ilk__ask(self->client, type, self,
                     ilk__outage_patience(&self->client->shared->outage,
                                          self->client->opts.reply_timeout_ms),
                     self->err);
    for (size_t i = 0; i < self->key_count; i++)
        ilk__free(self->keys[i].data);
    if (self->st) {
        ilk_items_free(self->found);
        self->found = NULL;
    }
    return self->st;
}

/* ---- functions of the operations' types --------------------------------- */

void ilk__recipe_ask(ilk__op *op)
{
    const ilk__recipe *self = op->subject;

    ilk__script_begin(&op->command, op->type->script, self->keys,
                      self->key_count);
    for (size_t i = 0; i < self->arg_count; i++) {
        const ilk__recipe_arg *arg = &self->args[i];

        if (arg->data)
            ilk__command_add(&op->command, arg->data, arg->len);
        else
            ilk__command_add_int(&op->command, arg->number);
    }
}

ilk__act ilk__recipe_done(ilk__op *op, const ilk__reply *reply)
{
    ilk__recipe *self = op->subject;

    self->code = ilk__script_code(reply);
    if (self->code == ILK__CODE_LOST)
        return ilk__op_fail(op, ILK_ELOST, "it is no longer there");
    return ilk__op_done(op, ILK_OK);
}

ilk__act ilk__recipe_counted(ilk__op *op, const ilk__reply *reply)
{
    ilk__recipe *self = op->subject;

    if (reply->count > 1)
        self->number = ilk__script_int(reply, 0);
    return ilk__recipe_done(op, reply);
}

ilk__act ilk__recipe_found(ilk__op *op, const ilk__reply *reply)
{
    ilk__recipe *self = op->subject;

    self->found = ilk__items_new(reply->count ? reply->count - 1 : 0);
    if (!self->found)
        return ilk__op_fail(op, ILK_ENOMEM, "out of memory");
    for (size_t i = 1; i < reply->count; i++) {
        const ilk__reply *item = reply->items[i];

        if (item->type != ILK__REPLY_STR)
            return ilk__op_fail(op, ILK_EREPLY, "%s: item %zu is no string",
                                op->type->name, i - 1);
        if (!ilk__items_set(self->found, i - 1, item->str, item->len))
            return ilk__op_fail(op, ILK_ENOMEM, "out of memory");
    }
    return ilk__recipe_done(op, reply);
}

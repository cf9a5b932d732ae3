/* SPDX-License-Identifier: MIT */
/* recipes_list.c -- raw lists: queues, stacks, and the safe queue's cache. */
#include "recipes.h"

#include "base/alloc.h"

#include <string.h>

enum { RESTORE_AT_ONCE = 1000 };

ILK__RECIPE_TYPE(push, ILK__SCRIPT_RECIPES_PUSH, ilk__recipe_counted);
ILK__RECIPE_TYPE(pop, ILK__SCRIPT_RECIPES_POP, ilk__recipe_found);
ILK__RECIPE_TYPE(park, ILK__SCRIPT_RECIPES_PARK, ilk__recipe_found);
ILK__RECIPE_TYPE(unpark, ILK__SCRIPT_RECIPES_UNPARK, ilk__recipe_done);
ILK__RECIPE_TYPE(restore, ILK__SCRIPT_RECIPES_RESTORE, ilk__recipe_counted);

static void add_end(ilk__recipe *self, int end)
{
    if (!self->st && end != ILK_RECIPES_HEAD && end != ILK_RECIPES_TAIL)
        self->st =
            ilk__fail(self->err, ILK_EINVAL,
                      "end must be ILK_RECIPES_HEAD or _TAIL, got %d", end);
    ilk__recipe_text(self, end == ILK_RECIPES_HEAD ? "L" : "R", 1);
}

/* Most calls begin with the key, the `once` key and the token. */
static void begin_once(ilk__recipe *self, ilk_client *client, const void *key,
                       size_t key_len, ilk_error *err)
{
    ilk__recipe_begin(self, client, err);
    ilk__recipe_key(self, key, key_len, "key");
    ilk__recipe_once(self, "once", key, key_len);
    ilk__recipe_text(self, self->token, ILK__TOKEN_LEN);
}

ilk_status ilk_recipes_push(int64_t *out_length, ilk_client *client,
                            const void *key, size_t key_len, int end,
                            const void *value, size_t value_len, ilk_error *err)
{
    ilk__recipe self;
    ilk_status st;

    begin_once(&self, client, key, key_len, err);
    add_end(&self, end);
    ilk__recipe_value(&self, value, value_len);
    st = ilk__recipe_run(&self, &push);
    if (out_length)
        *out_length = self.number;
    return st;
}

ilk_status ilk_recipes_pop(ilk_items **out, ilk_client *client, const void *key,
                           size_t key_len, int end, ilk_error *err)
{
    ilk__recipe self;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    begin_once(&self, client, key, key_len, err);
    add_end(&self, end);
    ilk__recipe_number(&self, ILK_RECIPES_VALUE_MAX);
    st = ilk__recipe_run(&self, &pop);
    *out = self.found;
    return st;
}

/* The result of `park` is the value and the token under which the value was parked. */
static ilk_status add_token(ilk__recipe *self)
{
    ilk_items *both;

    if (self->st || !self->found->count)
        return self->st;
    both = ilk__items_new(2);
    if (!both || !ilk__items_set(both, 1, self->token, ILK__TOKEN_LEN)) {
        ilk_items_free(both);
        ilk_items_free(self->found);
        self->found = NULL;
        return ilk__fail(self->err, ILK_ENOMEM, "out of memory");
    }
    both->items[0] = self->found->items[0];
    self->found->count = 0;
    ilk_items_free(self->found);
    self->found = both;
    return ILK_OK;
}

ilk_status ilk_recipes_park(ilk_items **out, ilk_client *client,
                            const void *key, size_t key_len, const void *cache,
                            size_t cache_len, ilk_error *err)
{
    ilk__recipe self;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    ilk__recipe_begin(&self, client, err);
    ilk__recipe_key(&self, key, key_len, "key");
    ilk__recipe_key(&self, cache, cache_len, "cache");
    ilk__recipe_side(&self, "recipes:parked", cache, cache_len);
    ilk__recipe_text(&self, self.token, ILK__TOKEN_LEN);
    ilk__recipe_number(&self, ILK_RECIPES_VALUE_MAX);
    (void)ilk__recipe_run(&self, &park);
    st = add_token(&self);
    *out = self.found;
    return st;
}

ilk_status ilk_recipes_unpark(ilk_client *client, const void *cache,
                              size_t cache_len, const void *token,
                              size_t token_len, ilk_error *err)
{
    ilk__recipe self;

    ilk__recipe_begin(&self, client, err);
    ilk__recipe_key(&self, cache, cache_len, "cache");
    ilk__recipe_side(&self, "recipes:parked", cache, cache_len);
    ilk__recipe_once(&self, "once", cache, cache_len);
    ilk__recipe_text(&self, self.token, ILK__TOKEN_LEN);
    ilk__recipe_value(&self, token, token_len);
    return ilk__recipe_run(&self, &unpark);
}

ilk_status ilk_recipes_restore(int64_t *out_moved, ilk_client *client,
                               const void *key, size_t key_len,
                               const void *cache, size_t cache_len,
                               ilk_error *err)
{
    ilk__recipe self;
    int64_t moved = 0;
    ilk_status st;

    do {
        ilk__recipe_begin(&self, client, err);
        ilk__recipe_key(&self, key, key_len, "key");
        ilk__recipe_key(&self, cache, cache_len, "cache");
        ilk__recipe_side(&self, "recipes:parked", cache, cache_len);
        ilk__recipe_number(&self, RESTORE_AT_ONCE);
        if (!self.st && key_len == cache_len && !memcmp(key, cache, key_len))
            ilk__recipe_fail(&self, ilk__fail(err, ILK_EINVAL,
                                              "cache must not be the list"));
        st = ilk__recipe_run(&self, &restore);
        moved += self.number;
    } while (!st && self.code == ILK__CODE_MORE);
    if (out_moved)
        *out_moved = moved;
    return st;
}

/* SPDX-License-Identifier: MIT */
/* recipes_signal.c -- signals on raw channels: to all, or to one. */
#include "recipes.h"

enum { CANDIDATES = 128 };

ILK__RECIPE_TYPE(publish, ILK__SCRIPT_RECIPES_PUBLISH, ilk__recipe_counted);
ILK__RECIPE_TYPE(single, ILK__SCRIPT_RECIPES_SINGLE, ilk__recipe_counted);

ilk_status ilk_recipes_signal(int64_t *out_receivers, ilk_client *client,
                              const void *key, size_t key_len, int to_one,
                              const void *value, size_t value_len,
                              ilk_error *err)
{
    ilk__recipe self;
    ilk_status st;

    ilk__recipe_begin(&self, client, err);
    if (!self.st)
        self.st = ilk__name_check(key, key_len, "channel", err);
    ilk__recipe_once(&self, "once", key, key_len);
    if (to_one)
        ilk__recipe_side(&self, "recipes:signalled", key, key_len);
    ilk__recipe_text(&self, self.token, ILK__TOKEN_LEN);
    ilk__recipe_text(&self, key, key_len);
    if (to_one) {
        ilk__recipe_number(&self, (int64_t)ilk__jitter(1u << 16));
        ilk__recipe_number(&self, CANDIDATES);
    }
    ilk__recipe_value(&self, value, value_len);
    st = ilk__recipe_run(&self, to_one ? &single : &publish);
    if (out_receivers)
        *out_receivers = self.number;
    return st;
}

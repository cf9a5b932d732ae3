/* SPDX-License-Identifier: MIT */
/*
 * recipes_time.c -- recipes with times, all by the server's clock: delayed
 * tasks, permits of the fair semaphore, the master's tenure.
 */
#include "recipes.h"

#include <string.h>

enum {
    DUE_AT_ONCE = 1000,
    TENURE_LEAST_MS = 1000,
    CANDIDATE_MOST = 64,
    UUID_LEN = 36
};

/* The scripts multiply times by 1000, and Lua's numbers are exact below 2^53. */
#define TIME_MOST (INT64_C(1) << 42)
#define NUMBER_MOST (ILK__SCRIPT_INT_MAX - 1)

static ilk__act was_permitted(ilk__op *op, const ilk__reply *reply)
{
    if (ilk__script_code(reply) == ILK__CODE_BUSY)
        return ilk__op_fail(op, ILK_EBUSY, "all permits are taken");
    return ilk__recipe_done(op, reply);
}

ILK__RECIPE_TYPE(delay, ILK__SCRIPT_RECIPES_DELAY, ilk__recipe_done);
ILK__RECIPE_TYPE(due, ILK__SCRIPT_RECIPES_DUE, ilk__recipe_found);
ILK__RECIPE_TYPE(permit, ILK__SCRIPT_RECIPES_PERMIT, was_permitted);
ILK__RECIPE_TYPE(release, ILK__SCRIPT_RECIPES_PERMIT_BACK, ilk__recipe_done);
ILK__RECIPE_TYPE(refresh, ILK__SCRIPT_RECIPES_PERMIT_RENEW, ilk__recipe_done);
ILK__RECIPE_TYPE(master, ILK__SCRIPT_RECIPES_MASTER, ilk__recipe_counted);

/* Checks and adds a number. */
static void add_number(ilk__recipe *self, const char *what, int64_t number,
                       int64_t least, int64_t most)
{
    if (number < least || number > most)
        ilk__recipe_fail(self,
                         ilk__fail(self->err, ILK_EINVAL,
                                   "%s must be from %lld to %lld, got %lld",
                                   what, (long long)least, (long long)most,
                                   (long long)number));
    ilk__recipe_number(self, number);
}

/* ---- delayed tasks ------------------------------------------------------ */

ilk_status ilk_recipes_delay(ilk_client *client, const void *key,
                             size_t key_len, int64_t delay_ms,
                             const void *value, size_t value_len,
                             ilk_error *err)
{
    ilk__recipe self;

    ilk__recipe_begin(&self, client, err);
    ilk__recipe_key(&self, key, key_len, "key");
    add_number(&self, "delay_ms", delay_ms, -TIME_MOST, TIME_MOST);
    ilk__recipe_value(&self, value, value_len);
    return ilk__recipe_run(&self, &delay);
}

ilk_status ilk_recipes_due(ilk_items **out, int *out_more, ilk_client *client,
                           const void *key, size_t key_len, ilk_error *err)
{
    ilk__recipe self;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    ilk__recipe_begin(&self, client, err);
    ilk__recipe_key(&self, key, key_len, "key");
    ilk__recipe_once(&self, "due", key, key_len);
    ilk__recipe_text(&self, self.token, ILK__TOKEN_LEN);
    ilk__recipe_number(&self, DUE_AT_ONCE);
    ilk__recipe_number(&self, ILK_RECIPES_VALUE_MAX);
    st = ilk__recipe_run(&self, &due);
    *out = self.found;
    if (out_more)
        *out_more = self.code == ILK__CODE_MORE;
    return st;
}

/* ---- the fair semaphore ------------------------------------------------- */

/* Formats random hexadecimal digits as a version 4 UUID. */
static void write_uuid(char *out, const char *digits)
{
    static const char variants[] = "89ab";

    for (int i = 0; i < UUID_LEN; i++) {
        int is_dash = i == 8 || i == 13 || i == 18 || i == 23;

        out[i] = is_dash ? '-' : *digits++;
    }
    out[14] = '4';
    out[19] = variants[out[19] % 4];
    out[UUID_LEN] = '\0';
}

ilk_status ilk_recipes_permit(ilk_items **out, ilk_client *client,
                              const void *key, size_t key_len, int64_t limit,
                              int64_t timeout_ms, ilk_error *err)
{
    char identifier[UUID_LEN + 1];
    ilk_items *found;
    ilk__recipe self;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    ilk__recipe_begin(&self, client, err);
    write_uuid(identifier, self.token);
    found = ilk__items_new(1);
    if (!found || !ilk__items_set(found, 0, identifier, UUID_LEN))
        ilk__recipe_fail(&self, ilk__fail(err, ILK_ENOMEM, "out of memory"));
    ilk__recipe_key(&self, key, key_len, "key");
    ilk__recipe_key_tail(&self, key, key_len, ":owner");
    ilk__recipe_key_tail(&self, key, key_len, ":counter");
    ilk__recipe_text(&self, identifier, UUID_LEN);
    add_number(&self, "limit", limit, 1, NUMBER_MOST);
    add_number(&self, "timeout_ms", timeout_ms, 0, TIME_MOST);
    st = ilk__recipe_run(&self, &permit);
    if (st)
        ilk_items_free(found);
    else
        *out = found;
    return st;
}

ilk_status ilk_recipes_permit_release(ilk_client *client, const void *key,
                                      size_t key_len, const void *token,
                                      size_t token_len, ilk_error *err)
{
    ilk__recipe self;

    ilk__recipe_begin(&self, client, err);
    ilk__recipe_key(&self, key, key_len, "key");
    ilk__recipe_key_tail(&self, key, key_len, ":owner");
    ilk__recipe_once(&self, "once", key, key_len);
    ilk__recipe_text(&self, self.token, ILK__TOKEN_LEN);
    ilk__recipe_value(&self, token, token_len);
    return ilk__recipe_run(&self, &release);
}

ilk_status ilk_recipes_permit_refresh(ilk_client *client, const void *key,
                                      size_t key_len, const void *token,
                                      size_t token_len, ilk_error *err)
{
    ilk__recipe self;

    ilk__recipe_begin(&self, client, err);
    ilk__recipe_key(&self, key, key_len, "key");
    ilk__recipe_key_tail(&self, key, key_len, ":owner");
    ilk__recipe_value(&self, token, token_len);
    return ilk__recipe_run(&self, &refresh);
}

/* ---- the master --------------------------------------------------------- */

ilk_status ilk_recipes_master(int64_t *out_selector, ilk_client *client,
                              const void *key, size_t key_len, const void *id,
                              size_t id_len, int64_t selector,
                              int64_t tenure_ms, ilk_error *err)
{
    ilk__recipe self;
    ilk_status st;

    if (!out_selector)
        return ilk__fail(err, ILK_EINVAL, "out_selector must not be NULL");
    *out_selector = 0;
    ilk__recipe_begin(&self, client, err);
    if (self.st)
        return self.st;
    ilk__recipe_key(&self, key, key_len, "key");
    ilk__recipe_side(&self, "recipes:master", key, key_len);
    if (id && (id_len < 1 || id_len > CANDIDATE_MOST))
        ilk__recipe_fail(&self, ilk__fail(err, ILK_EINVAL,
                                          "id must have 1 to %d bytes, got %zu",
                                          CANDIDATE_MOST, id_len));
    ilk__recipe_text(&self, id ? id : client->shared->client_id,
                     id ? id_len : ILK__CLIENT_ID_LEN);
    ilk__recipe_text(&self, self.token, ILK__TOKEN_LEN);
    add_number(&self, "selector", selector, 0, NUMBER_MOST);
    add_number(&self, "tenure_ms", tenure_ms, TENURE_LEAST_MS, TIME_MOST);
    st = ilk__recipe_run(&self, &master);
    if (st == ILK_OK)
        *out_selector = self.number;
    return st;
}

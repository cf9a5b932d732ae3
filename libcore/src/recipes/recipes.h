/* SPDX-License-Identifier: MIT */
/*
 * recipes.h -- one script call on plain keys, and its result.
 *
 *     ilk__recipe self;
 *
 *     ilk__recipe_begin(&self, client, err);
 *     ilk__recipe_key(&self, key, key_len, "list");
 *     ilk__recipe_once(&self, "once", key, key_len);
 *     ilk__recipe_text(&self, self.token, ILK__TOKEN_LEN);
 *     st = ilk__recipe_run(&self, &type);
 *
 * The first failure on the way is kept, and ilk__recipe_run() returns it. It
 * also frees the keys; the caller owns `found`.
 */
#ifndef ILK__RECIPES_H
#define ILK__RECIPES_H

#include "base/token.h"
#include "client/run.h"
#include "redis/keys.h"

#include <interlock/recipes.h>

enum { ILK__RECIPE_KEYS = 4, ILK__RECIPE_ARGS = 6 };

struct ilk_items {
    size_t count;
    ilk__bytes items[];
};

ilk_items *ilk__items_new(size_t count); /* empty items; NULL: no memory */
/* Copies bytes into an item. Returns 0 without memory. */
int ilk__items_set(ilk_items *items, size_t index, const void *data,
                   size_t len);

/* Bytes, or a number when data is NULL. */
typedef struct ilk__recipe_arg {
    const void *data;
    size_t len;
    int64_t number;
} ilk__recipe_arg;

typedef struct ilk__recipe {
    ilk_client *client;
    ilk_error *err;
    ilk_status st;                     /* the first failure */
    char token[ILK__TOKEN_LEN + 1];    /* of this request */
    ilk__bytes keys[ILK__RECIPE_KEYS]; /* owned */
    size_t key_count;
    ilk__recipe_arg args[ILK__RECIPE_ARGS]; /* borrowed */
    size_t arg_count;
    ilk_items *found; /* out */
    int64_t number;   /* out */
    int code;         /* out: the reply's code */
} ilk__recipe;

void ilk__recipe_begin(ilk__recipe *self, ilk_client *client, ilk_error *err);
void ilk__recipe_key(ilk__recipe *self, const void *key, size_t len,
                     const char *what);
/* Adds the key with a suffix, such as ":owner". */
void ilk__recipe_key_tail(ilk__recipe *self, const void *key, size_t len,
                          const char *tail);
void ilk__recipe_side(ilk__recipe *self, const char *kind, const void *key,
                      size_t len);
/* Adds the key in which the server keeps the last answer to this thread; what:
 * "once" for one value, "due" for a list. */
void ilk__recipe_once(ilk__recipe *self, const char *what, const void *key,
                      size_t len);
void ilk__recipe_text(ilk__recipe *self, const void *data, size_t len);
void ilk__recipe_number(ilk__recipe *self, int64_t number);
/* Checks and adds a value from the caller; NULL is the empty value. */
void ilk__recipe_value(ilk__recipe *self, const void *value, size_t len);
void ilk__recipe_fail(ilk__recipe *self, ilk_status status);

ilk_status ilk__recipe_run(ilk__recipe *self, const ilk__op_type *type);

/* The functions of the operations' types. All types have the same `ask`. All three reply
 * functions store the code: ilk__recipe_done() stores nothing else, ilk__recipe_counted()
 * the number behind it, if any, ilk__recipe_found() all items behind it. */
void ilk__recipe_ask(ilk__op *op);
ilk__act ilk__recipe_done(ilk__op *op, const ilk__reply *reply);
ilk__act ilk__recipe_counted(ilk__op *op, const ilk__reply *reply);
ilk__act ilk__recipe_found(ilk__op *op, const ilk__reply *reply);

#define ILK__RECIPE_TYPE(function, script_id, on_reply)                        \
    static const ilk__op_type function = {.name = "recipes_" #function,        \
                                          .script = (script_id),               \
                                          .ask = ilk__recipe_ask,              \
                                          .reply = (on_reply)}

#endif

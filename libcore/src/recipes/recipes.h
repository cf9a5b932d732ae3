/* SPDX-License-Identifier: MIT */
/*
 * recipes.h -- a question about plain keys, and what it found.
 *
 *     ilk__recipe self;
 *
 *     ilk__recipe_begin(&self, client, err);
 *     ilk__recipe_key(&self, key, key_len, "list");
 *     ilk__recipe_once(&self, "once", key, key_len);
 *     ilk__recipe_text(&self, self.token, ILK__TOKEN_LEN);
 *     st = ilk__recipe_run(&self, &type);
 *
 * What fails on the way is kept and answered by ilk__recipe_run(), which also
 * frees the keys; what was found is then the caller's.
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

ilk_items *ilk__items_new(size_t count); /* empty ones; NULL: no memory */
/* Copy bytes in. 0 when there is no memory. */
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
    int code;         /* out: of the answer */
} ilk__recipe;

void ilk__recipe_begin(ilk__recipe *self, ilk_client *client, ilk_error *err);
void ilk__recipe_key(ilk__recipe *self, const void *key, size_t len,
                     const char *what);
/* The key with a tail behind it, such as ":owner". */
void ilk__recipe_key_tail(ilk__recipe *self, const void *key, size_t len,
                          const char *tail);
void ilk__recipe_side(ilk__recipe *self, const char *kind, const void *key,
                      size_t len);
/* Where the last answer to this thread is kept: "once", one; "due", many. */
void ilk__recipe_once(ilk__recipe *self, const char *what, const void *key,
                      size_t len);
void ilk__recipe_text(ilk__recipe *self, const void *data, size_t len);
void ilk__recipe_number(ilk__recipe *self, int64_t number);
/* A value of the caller's: checked, NULL being none. */
void ilk__recipe_value(ilk__recipe *self, const void *value, size_t len);
void ilk__recipe_fail(ilk__recipe *self, ilk_status status);

ilk_status ilk__recipe_run(ilk__recipe *self, const ilk__op_type *type);

/* For the types: all ask alike, and keep the code; then ... */
void ilk__recipe_ask(ilk__op *op);
ilk__act ilk__recipe_done(ilk__op *op, const ilk__reply *reply);
/* ... the number behind it, if any; or all that is behind it. */
ilk__act ilk__recipe_counted(ilk__op *op, const ilk__reply *reply);
ilk__act ilk__recipe_found(ilk__op *op, const ilk__reply *reply);

#define ILK__RECIPE_TYPE(function, script_id, on_reply)                        \
    static const ilk__op_type function = {.name = "recipes_" #function,        \
                                          .script = (script_id),               \
                                          .ask = ilk__recipe_ask,              \
                                          .reply = (on_reply)}

#endif

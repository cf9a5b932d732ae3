/* SPDX-License-Identifier: MIT */
/* info.h -- ilk_info: who holds a name and who waits for it. Each primitive's
   inspect operation fills it in. */
#ifndef ILK__INFO_H
#define ILK__INFO_H

#include "op/op.h"

#include <interlock/inspect.h>

enum { ILK__LISTED_MAX = 100, ILK__FACTS_MAX = 16 };

/* One holder or waiter. */
typedef struct ilk__info_entry {
    char *label, *token, *client;
    size_t token_len;
    int64_t permits, fence, since_ms, ttl_ms;
    int64_t waited_ms; /* of a waiter; -1: not known */
} ilk__info_entry;

/* A number or a text that only this kind has. */
typedef struct ilk__info_fact {
    const char *name;
    char *text; /* NULL: a number */
    size_t text_len;
    int64_t number;
} ilk__info_fact;

struct ilk_info {
    int32_t kind;
    ilk_info_state state;
    const char *state_name;
    int in_use;
    int64_t ttl_ms, fence, readers, waiters;
    int64_t limit, used, holders;
    ilk__info_entry waiting[ILK__LISTED_MAX], holding[ILK__LISTED_MAX];
    size_t waiting_count, holding_count;
    ilk__info_fact facts[ILK__FACTS_MAX];
    size_t fact_count;
};

/* Read the reply's elements after `at` as entries of the wait queue, each followed by the
   ms that it has waited. 0: out of memory, or an element is of another type. */
int ilk__info_list(ilk_info *info, const ilk__reply *reply, size_t at);

/* List one more holder; `who` is a record's. At most ILK__LISTED_MAX. NULL: out of
   memory. */
ilk__info_entry *ilk__info_add_holder(ilk_info *info, const ilk__reply *token,
                                      const ilk__reply *who);

/* The same for a holder that a `who` does not describe. 0: out of memory. */
int ilk__info_add_labelled(ilk_info *info, const char *label, size_t label_len);

/* The name of a fact is a literal. The second returns 0 when it is out of memory. */
void ilk__info_number(ilk_info *info, const char *name, int64_t number);
int ilk__info_text(ilk_info *info, const char *name, const char *text,
                   size_t text_len);

void ilk__info_dispose(void *info); /* ilk_info_free() */

#endif

/* SPDX-License-Identifier: MIT */
/*
 * conformance_run.h -- running a line of the table: its words, its handles.
 *
 * Anything that is acquired and released is a conf_hold, whichever primitive it is
 * of; conformance_hold.c has them all. A line that no conf_hold understands is a
 * statement of ct_conformance.c.
 */
#ifndef ILK__CONFORMANCE_RUN_H
#define ILK__CONFORMANCE_RUN_H

#include "conformance.h"

#include <interlock.h>

enum { CONFORMANCE_HANDLES = 16 };

typedef struct conf_run conf_run;

/* The words behind the kind of a handle. */
typedef struct conf_options {
    int first, last; /* the words that are names */
    int64_t ttl_ms, max_hold_ms;
    int32_t limit, permits, layout;
    int no_renew, barge, reentrant;
    const char *value, *identity;
} conf_options;

/* The verbs of a primitive's handle; NULL for what it has not. */
typedef struct conf_hold {
    ilk_status (*acquire)(void *, int64_t, ilk_error *);
    ilk_status (*release)(void *, ilk_error *);
    ilk_status (*extend)(void *, int64_t, ilk_error *);
    ilk_status (*check)(void *, ilk_error *);
    ilk_status (*detach)(void *, ilk_error *);
    ilk_status (*adopt)(void *, const void *, size_t, ilk_error *);
    ilk_status (*set_limit)(void *, int32_t, ilk_error *);
    int32_t (*held)(const void *);
    int64_t (*fence)(const void *);
    int64_t (*remaining_ms)(const void *);
    const char *(*token)(const void *);
    void (*free)(void *);
    /* runs a line that only this kind understands; 0: it is none */
    int (*more)(conf_run *r, void *self);
} conf_hold;

extern const conf_hold conf_election_verbs;

/* A word of the case that stands for a handle. */
typedef struct conf_handle {
    char word[64];
    const conf_hold *verbs;
    void *self; /* NULL: it could not be opened, as expected */
} conf_handle;

/* The line that runs. */
struct conf_run {
    ilk_client *client;
    conf_names names;
    conf_handle handles[CONFORMANCE_HANDLES];
    size_t handle_count;
    conf_word words[CONFORMANCE_WORDS];
    int count;
    ilk_error err;
};

conf_handle *conf_find(conf_run *r, const char *name);
ilk_status conf_open_election(conf_run *r, conf_handle *h,
                              const conf_options *o);

int conf_is(const conf_run *r, int index, const char *text);
const char *conf_text(const conf_run *r, int index); /* "" beyond the end */
int64_t conf_number(const conf_run *r, int index);
/* The words from index on say "-> STATUS", or nothing, which is ILK_OK. */
void conf_expect(const conf_run *r, int index, ilk_status st);

/* <h> = <kind> <name>... [key=value...] [-> STATUS] */
void conf_open(conf_run *r);
/* <h> <verb> ... */
void conf_verb(conf_run *r);
void conf_free_handles(conf_run *r);

#endif

/* SPDX-License-Identifier: MIT */
/* conformance_election.c -- the table's candidates: a handle, and an observer
 * of its own from the first line `next` on. */
#include "conformance_run.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

typedef struct candidate {
    ilk_election *election;
    ilk_observer *observer;
} candidate;

/* ---- what all handles can ----------------------------------------------- */

static ilk_status do_campaign(void *h, int64_t ms, ilk_error *err)
{
    return ilk_election_campaign(((candidate *)h)->election, ms, err);
}

static ilk_status do_resign(void *h, ilk_error *err)
{
    return ilk_election_resign(((candidate *)h)->election, err);
}

static ilk_status do_renew(void *h, int64_t ms, ilk_error *err)
{
    return ilk_election_renew(((candidate *)h)->election, ms, err);
}

static ilk_status do_check(void *h, ilk_error *err)
{
    return ilk_election_check(((candidate *)h)->election, err);
}

static int32_t is_leader(const void *h)
{
    return ilk_election_is_leader(((const candidate *)h)->election);
}

static int64_t term_of(const void *h)
{
    return ilk_election_term(((const candidate *)h)->election);
}

static int64_t remaining_of(const void *h)
{
    return ilk_election_remaining_ms(((const candidate *)h)->election);
}

static const char *token_of(const void *h)
{
    return ilk_election_token(((const candidate *)h)->election);
}

static void free_candidate(void *h)
{
    candidate *c = h;

    if (c == NULL)
        return;
    ilk_observer_free(c->observer);
    ilk_election_free(c->election);
    free(c);
}

/* ---- what only a candidate can ------------------------------------------ */

/* The words from index on say `is <value>`, or `is nobody`. */
static void expect_published(const conf_run *r, int index,
                             const ilk_leader *found)
{
    const conf_word *wanted = &r->words[index + 1];
    size_t len;
    const char *value = ilk_leader_value(found, &len);

    assert_true(conf_is(r, index, "is") && r->count > index + 1);
    if (value == NULL) {
        assert_string_equal("nobody", wanted->text);
        return;
    }
    assert_int_equal(wanted->len, len);
    assert_memory_equal(wanted->text, value, len);
}

/* <h> next <timeout> is <value> | -> STATUS */
static void run_next(conf_run *r, candidate *c)
{
    ilk_leader *found = NULL;
    ilk_status st = ILK_OK;

    if (c->observer == NULL)
        st = ilk_election_observe(&c->observer, c->election, 0, &r->err);
    if (st == ILK_OK)
        st = ilk_observer_next(&found, c->observer, conf_number(r, 2), &r->err);
    if (conf_is(r, 3, "->"))
        conf_expect(r, 3, st);
    else
        expect_published(r, 3, found);
    ilk_leader_free(found);
}

/* <h> leader is <value> */
static void run_leader(conf_run *r, candidate *c)
{
    ilk_leader *found = NULL;

    conf_expect(r, r->count, ilk_election_leader(&found, c->election, &r->err));
    expect_published(r, 2, found);
    ilk_leader_free(found);
}

static int more(conf_run *r, void *self)
{
    candidate *c = self;

    if (conf_is(r, 1, "next")) {
        run_next(r, c);
    } else if (conf_is(r, 1, "leader")) {
        run_leader(r, c);
    } else if (conf_is(r, 1, "proclaim")) {
        conf_expect(r, 3,
                    ilk_election_proclaim(c->election, r->words[2].text,
                                          r->words[2].len, &r->err));
    } else if (conf_is(r, 1, "term") && conf_is(r, 2, "=")) {
        const conf_handle *of = conf_find(r, conf_text(r, 3));

        assert_int_equal(of->verbs->fence(of->self), term_of(self));
    } else {
        return 0;
    }
    return 1;
}

const conf_hold conf_election_verbs = {
    .acquire = do_campaign,
    .release = do_resign,
    .extend = do_renew,
    .check = do_check,
    .held = is_leader,
    .fence = term_of,
    .remaining_ms = remaining_of,
    .token = token_of,
    .free = free_candidate,
    .more = more,
};

ilk_status conf_open_election(conf_run *r, conf_handle *h,
                              const conf_options *o)
{
    const conf_word *name = &r->words[o->first];
    candidate *c = calloc(1, sizeof *c);
    ilk_election_opts opts;
    ilk_status st;

    assert_non_null(c);
    ilk_election_opts_init(&opts, sizeof opts);
    opts.ttl_ms = o->ttl_ms;
    opts.max_hold_ms = o->max_hold_ms;
    opts.flags = o->no_renew ? ILK_ELECTION_NO_RENEW : 0;
    opts.value = o->value;
    opts.value_len = o->value ? strlen(o->value) : 0;
    opts.identity = o->identity;
    opts.identity_len = o->identity ? strlen(o->identity) : 0;
    st = ilk_election_open(&c->election, r->client, name->text, name->len,
                           &opts, &r->err);
    h->self = c;
    return st;
}

/* SPDX-License-Identifier: MIT */
/* conformance_hold.c -- the table's handles: how each kind is opened, and
 * what can be done with all of them. */
#include "conformance_run.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- words -------------------------------------------------------------- */

int conf_is(const conf_run *r, int index, const char *text)
{
    return index < r->count && strcmp(r->words[index].text, text) == 0;
}

const char *conf_text(const conf_run *r, int index)
{
    return index < r->count ? r->words[index].text : "";
}

int64_t conf_number(const conf_run *r, int index)
{
    char *end = NULL;
    int64_t value = strtoll(conf_text(r, index), &end, 10);

    if (end == conf_text(r, index) || *end != '\0')
        fail_msg("\"%s\" is no number", conf_text(r, index));
    return value;
}

void conf_expect(const conf_run *r, int index, ilk_status st)
{
    const char *wanted = "ILK_OK";

    if (index < r->count) {
        assert_true(conf_is(r, index, "->"));
        wanted = conf_text(r, index + 1);
    }
    if (strcmp(ilk_status_name(st), wanted) != 0)
        fail_msg("answers %s (%s)", ilk_status_name(st), r->err.msg);
}

/* ---- the verbs of each primitive ---------------------------------------- */

#define VERBS(noun)                                                            \
    static ilk_status noun##_acquire(void *h, int64_t ms, ilk_error *err)      \
    {                                                                          \
        return ilk_##noun##_acquire(h, ms, err);                               \
    }                                                                          \
    static ilk_status noun##_release(void *h, ilk_error *err)                  \
    {                                                                          \
        return ilk_##noun##_release(h, err);                                   \
    }                                                                          \
    static ilk_status noun##_extend(void *h, int64_t ms, ilk_error *err)       \
    {                                                                          \
        return ilk_##noun##_extend(h, ms, err);                                \
    }                                                                          \
    static ilk_status noun##_check(void *h, ilk_error *err)                    \
    {                                                                          \
        return ilk_##noun##_check(h, err);                                     \
    }                                                                          \
    static int32_t noun##_held(const void *h)                                  \
    {                                                                          \
        return ilk_##noun##_held(h);                                           \
    }                                                                          \
    static int64_t noun##_fence(const void *h)                                 \
    {                                                                          \
        return ilk_##noun##_fence(h);                                          \
    }                                                                          \
    static int64_t noun##_remaining_ms(const void *h)                          \
    {                                                                          \
        return ilk_##noun##_remaining_ms(h);                                   \
    }                                                                          \
    static const char *noun##_token(const void *h)                             \
    {                                                                          \
        return ilk_##noun##_token(h);                                          \
    }                                                                          \
    static void noun##_free(void *h)                                           \
    {                                                                          \
        ilk_##noun##_free(h);                                                  \
    }

/* The verbs of those that can be handed to another process. */
#define HAND_OVER(noun)                                                        \
    static ilk_status noun##_detach(void *h, ilk_error *err)                   \
    {                                                                          \
        return ilk_##noun##_detach(h, err);                                    \
    }                                                                          \
    static ilk_status noun##_adopt(void *h, const void *token, size_t len,     \
                                   ilk_error *err)                             \
    {                                                                          \
        return ilk_##noun##_adopt(h, token, len, err);                         \
    }

#define COMMON(noun)                                                           \
    .acquire = noun##_acquire, .release = noun##_release,                      \
    .extend = noun##_extend, .check = noun##_check, .held = noun##_held,       \
    .fence = noun##_fence, .remaining_ms = noun##_remaining_ms,                \
    .token = noun##_token, .free = noun##_free

VERBS(lock)
HAND_OVER(lock)
VERBS(lock_many)
VERBS(semaphore)
HAND_OVER(semaphore)

static ilk_status semaphore_set_limit(void *h, int32_t limit, ilk_error *err)
{
    return ilk_semaphore_set_limit(h, limit, err);
}

static const conf_hold lock_verbs = {COMMON(lock), .detach = lock_detach,
                                     .adopt = lock_adopt},
                       many_verbs = {COMMON(lock_many)},
                       semaphore_verbs = {COMMON(semaphore),
                                          .detach = semaphore_detach,
                                          .adopt = semaphore_adopt,
                                          .set_limit = semaphore_set_limit};

/* ---- options ------------------------------------------------------------ */

/* key=value; answers 0 for a word that is none. */
static int read_option(conf_options *o, const char *text)
{
    const char *value = strchr(text, '=');
    size_t len = value == NULL ? 0 : (size_t)(value - text);
    int64_t n = value == NULL ? 0 : strtoll(value + 1, NULL, 10);

#define KEY(name) (len == sizeof(name) - 1 && memcmp(text, (name), len) == 0)
    if (value == NULL)
        return 0;
    if (KEY("ttl_ms"))
        o->ttl_ms = n;
    else if (KEY("max_hold_ms"))
        o->max_hold_ms = n;
    else if (KEY("renew"))
        o->no_renew = n == 0;
    else if (KEY("barge"))
        o->barge = n != 0;
    else if (KEY("reentrant"))
        o->reentrant = n != 0;
    else if (KEY("limit"))
        o->limit = (int32_t)n;
    else if (KEY("permits"))
        o->permits = (int32_t)n;
    else if (KEY("value"))
        o->value = value + 1;
    else if (KEY("identity"))
        o->identity = value + 1;
    else if (KEY("layout"))
        o->layout = strcmp(value, "=redisson") == 0 ? ILK_LAYOUT_REDISSON
                                                    : ILK_LAYOUT_PLAIN;
    else
        return 0;
#undef KEY
    return 1;
}

/* ---- opening ------------------------------------------------------------ */

static ilk_lock_opts lock_opts(const conf_options *o)
{
    ilk_lock_opts opts;

    ilk_lock_opts_init(&opts, sizeof opts);
    opts.ttl_ms = o->ttl_ms;
    opts.max_hold_ms = o->max_hold_ms;
    opts.layout = o->layout;
    opts.flags = (o->no_renew ? ILK_LOCK_NO_RENEW : 0)
                 | (o->barge ? ILK_LOCK_BARGE : 0)
                 | (o->reentrant ? ILK_LOCK_REENTRANT : 0);
    return opts;
}

static ilk_status open_lock(conf_run *r, conf_handle *h, const conf_options *o)
{
    const conf_word *name = &r->words[o->first];
    ilk_lock_opts opts = lock_opts(o);
    ilk_lock *lock = NULL;
    ilk_status st;

    if (conf_is(r, 2, "read"))
        st = ilk_rwlock_read_open(&lock, r->client, name->text, name->len,
                                  &opts, &r->err);
    else if (conf_is(r, 2, "write"))
        st = ilk_rwlock_write_open(&lock, r->client, name->text, name->len,
                                   &opts, &r->err);
    else
        st = ilk_lock_open(&lock, r->client, name->text, name->len, &opts,
                           &r->err);
    h->self = lock;
    return st;
}

static ilk_status open_many(conf_run *r, conf_handle *h, const conf_options *o)
{
    const void *names[CONFORMANCE_WORDS];
    size_t lens[CONFORMANCE_WORDS];
    ilk_lock_opts opts = lock_opts(o);
    ilk_lock_many *many = NULL;
    ilk_status st;

    for (int i = o->first; i < o->last; i++) {
        names[i - o->first] = r->words[i].text;
        lens[i - o->first] = r->words[i].len;
    }
    st = ilk_lock_many_open(&many, r->client, names, lens,
                            (size_t)(o->last - o->first), &opts, &r->err);
    h->self = many;
    return st;
}

static ilk_status open_semaphore(conf_run *r, conf_handle *h,
                                 const conf_options *o)
{
    const conf_word *name = &r->words[o->first];
    ilk_semaphore *semaphore = NULL;
    ilk_semaphore_opts opts;
    ilk_status st;

    ilk_semaphore_opts_init(&opts, sizeof opts);
    opts.ttl_ms = o->ttl_ms;
    opts.max_hold_ms = o->max_hold_ms;
    opts.permits = o->permits;
    opts.flags = (o->no_renew ? ILK_SEMAPHORE_NO_RENEW : 0)
                 | (o->barge ? ILK_SEMAPHORE_BARGE : 0);
    st = ilk_semaphore_open(&semaphore, r->client, name->text, name->len,
                            o->limit, &opts, &r->err);
    h->self = semaphore;
    return st;
}

static const struct {
    const char *word;
    const conf_hold *verbs;
    ilk_status (*open)(conf_run *r, conf_handle *h, const conf_options *o);
} kinds[] = {
    {"lock", &lock_verbs, open_lock},
    {"read", &lock_verbs, open_lock},
    {"write", &lock_verbs, open_lock},
    {"many", &many_verbs, open_many},
    {"semaphore", &semaphore_verbs, open_semaphore},
    {"election", &conf_election_verbs, conf_open_election},
};

void conf_open(conf_run *r)
{
    conf_handle *h = &r->handles[r->handle_count++];
    conf_options o = {.first = 3, .last = 3};
    int arrow;

    assert_true(r->handle_count <= CONFORMANCE_HANDLES && r->count > 3);
    snprintf(h->word, sizeof h->word, "%.63s", conf_text(r, 0));
    for (arrow = 3; arrow < r->count && !conf_is(r, arrow, "->"); arrow++)
        if (!read_option(&o, conf_text(r, arrow)))
            o.last = arrow + 1;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (conf_is(r, 2, kinds[i].word)) {
            h->verbs = kinds[i].verbs;
            conf_expect(r, arrow, kinds[i].open(r, h, &o));
            return;
        }
    fail_msg("cannot make a \"%s\"", conf_text(r, 2));
}

void conf_free_handles(conf_run *r)
{
    for (size_t i = 0; i < r->handle_count; i++)
        r->handles[i].verbs->free(r->handles[i].self);
}

/* ---- verbs -------------------------------------------------------------- */

conf_handle *conf_find(conf_run *r, const char *name)
{
    for (size_t i = 0; i < r->handle_count; i++)
        if (strcmp(r->handles[i].word, name) == 0)
            return &r->handles[i];
    fail_msg("no handle is called \"%s\"", name);
    return NULL;
}

/* adopt @<other handle>, or a token as it is */
static ilk_status adopt(conf_run *r, conf_handle *h)
{
    const char *token = conf_text(r, 2);

    if (token[0] == '@') {
        const conf_handle *of = conf_find(r, token + 1);

        token = of->verbs->token(of->self);
    }
    return h->verbs->adopt(h->self, token, strlen(token), &r->err);
}

static void query(conf_run *r, conf_handle *h)
{
    const conf_hold *verbs = h->verbs;

    if (conf_is(r, 1, "held")) {
        assert_int_equal(verbs->held(h->self), conf_number(r, 3));
    } else if (conf_is(r, 1, "fence")) {
        const conf_handle *of = conf_find(r, conf_text(r, 3));

        assert_true(conf_is(r, 2, ">"));
        assert_true(verbs->fence(h->self) > of->verbs->fence(of->self));
    } else if (conf_is(r, 1, "remaining")) {
        int64_t left = verbs->remaining_ms(h->self);

        assert_true(conf_is(r, 2, "between"));
        assert_in_range(left, conf_number(r, 3), conf_number(r, 4));
    } else {
        fail_msg("a handle cannot \"%s\"", conf_text(r, 1));
    }
}

void conf_verb(conf_run *r)
{
    conf_handle *h = conf_find(r, conf_text(r, 0));
    const conf_hold *verbs = h->verbs;
    ilk_error *err = &r->err;

    if (conf_is(r, 1, "acquire"))
        conf_expect(r, 3, verbs->acquire(h->self, conf_number(r, 2), err));
    else if (conf_is(r, 1, "release"))
        conf_expect(r, 2, verbs->release(h->self, err));
    else if (conf_is(r, 1, "extend"))
        conf_expect(r, 3, verbs->extend(h->self, conf_number(r, 2), err));
    else if (conf_is(r, 1, "check"))
        conf_expect(r, 2, verbs->check(h->self, err));
    else if (conf_is(r, 1, "detach") && verbs->detach)
        conf_expect(r, 2, verbs->detach(h->self, err));
    else if (conf_is(r, 1, "adopt") && verbs->adopt)
        conf_expect(r, 3, adopt(r, h));
    else if (conf_is(r, 1, "limit") && verbs->set_limit)
        conf_expect(r, 3,
                    verbs->set_limit(h->self, (int32_t)conf_number(r, 2), err));
    else if (!verbs->more || !verbs->more(r, h->self))
        query(r, h);
}

/* SPDX-License-Identifier: MIT */
/* conf_group.c -- the conformance table's statements about groups. */
#include "conf_group.h"

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ilk_error err;

static int is(const conf_word *word, const char *text)
{
    return strcmp(word->text, text) == 0;
}

/* The word behind "->"; the default when there is none. */
static const conf_word *answer(const conf_word *words, int count)
{
    static const conf_word ok = {.len = 6, .text = "ILK_OK"};

    return count > 2 && is(&words[count - 2], "->") ? &words[count - 1] : &ok;
}

static void expect(const conf_word *words, int count, ilk_status st)
{
    if (!is(answer(words, count), ilk_status_name(st)))
        fail_msg("answers %s (%s)", ilk_status_name(st), err.msg);
}

static conf_group_handle *find(conf_group *self, const char *word)
{
    for (size_t i = 0; i < self->count; i++)
        if (strcmp(self->handles[i].word, word) == 0)
            return &self->handles[i];
    return NULL;
}

/* ---- making ------------------------------------------------------------- */

static ilk_status join(conf_group_handle *h, ilk_client *client,
                       const conf_word *words, int count)
{
    const conf_word *name = &words[3], *id = &words[4], *data = &words[5];
    ilk_member_opts opts;
    ilk_status st;

    assert_true(count > 5);
    ilk_member_opts_init(&opts, sizeof opts);
    if (count > 6 && strncmp(words[6].text, "ttl_ms=", 7) == 0)
        opts.ttl_ms = atoll(words[6].text + 7);
    st = ilk_group_open(&h->group, client, name->text, name->len, &err);
    if (st == ILK_OK)
        st = ilk_member_open(&h->member, h->group, id->text, id->len, &opts,
                             &err);
    if (st == ILK_OK)
        st = ilk_member_join(h->member, data->text, data->len, &err);
    return st;
}

static int open_handle(conf_group *self, ilk_client *client,
                       const conf_word *words, int count)
{
    conf_group_handle *h = &self->handles[self->count];
    ilk_status st;

    assert_true(self->count < CONF_GROUP_HANDLES);
    if (is(&words[2], "group"))
        st = ilk_group_open(&h->group, client, words[3].text, words[3].len,
                            &err);
    else if (is(&words[2], "join"))
        st = join(h, client, words, count);
    else
        return 0;
    snprintf(h->word, sizeof h->word, "%.63s", words[0].text);
    self->count++;
    expect(words, count, st);
    return 1;
}

/* ---- entries ------------------------------------------------------------ */

typedef struct text {
    size_t len;
    char bytes[1200];
} text;

static void append(text *to, const char *bytes, size_t len)
{
    assert_true(to->len + len <= sizeof to->bytes);
    if (len)
        memcpy(to->bytes + to->len, bytes, len);
    to->len += len;
}

static int in_byte_order(const void *a, const void *b)
{
    const text *f = a, *g = b;
    int order = memcmp(f->bytes, g->bytes, f->len < g->len ? f->len : g->len);

    return order ? order : (f->len > g->len) - (f->len < g->len);
}

static text entry_of(const ilk_members *members, size_t index, int is_change)
{
    static const char *const signs[] = {"", "+", "-", "!"};
    int32_t change = ilk_members_change(members, index);
    const char *bytes;
    text entry = {0};
    size_t len;

    if (is_change)
        append(&entry, signs[change], 1);
    bytes = ilk_members_id(members, index, &len);
    append(&entry, bytes, len);
    if (change == ILK_MEMBER_LEFT)
        return entry;
    append(&entry, "=", 1);
    bytes = ilk_members_data(members, index, &len);
    append(&entry, bytes, len);
    return entry;
}

static void expect_entries(const conf_word *words, int count, ilk_status st,
                           ilk_members *members, int is_change)
{
    const conf_word *wanted = answer(words, count);
    size_t n = ilk_members_count(members);
    text *entries = calloc(n + 1, sizeof *entries);
    text all = {0};

    assert_non_null(entries);
    for (size_t i = 0; i < n; i++)
        entries[i] = entry_of(members, i, is_change);
    ilk_members_free(members);
    qsort(entries, n, sizeof *entries, in_byte_order);
    for (size_t i = 0; i < n; i++) {
        append(&all, " ", i > 0);
        append(&all, entries[i].bytes, entries[i].len);
    }
    free(entries);
    if (st || strncmp(wanted->text, "ILK_", 4) == 0) {
        expect(words, count, st);
        return;
    }
    assert_int_equal(wanted->len, all.len);
    assert_memory_equal(wanted->text, all.bytes, all.len);
}

/* ---- verbs -------------------------------------------------------------- */

static void run_group(ilk_group *group, const conf_word *words, int count)
{
    ilk_members *members = NULL;
    ilk_status st;

    if (is(&words[1], "members")) {
        st = ilk_group_members(&members, group, &err);
        expect_entries(words, count, st, members, 0);
    } else {
        assert_true(is(&words[1], "watch"));
        st = ilk_group_watch(&members, group, atoll(words[2].text), &err);
        expect_entries(words, count, st, members, 1);
    }
}

static void run_member(ilk_member *member, const conf_word *words, int count)
{
    const conf_word *verb = &words[1], *data = &words[2];

    if (is(verb, "update")) {
        expect(words, count,
               ilk_member_update(member, data->text, data->len, &err));
    } else if (is(verb, "leave")) {
        expect(words, count, ilk_member_leave(member, &err));
    } else {
        assert_true(is(verb, "held"));
        assert_int_equal(atoi(answer(words, count)->text),
                         ilk_member_held(member));
    }
}

int conf_group_line(conf_group *self, ilk_client *client,
                    const conf_word *words, int count)
{
    conf_group_handle *h;

    if (count > 3 && is(&words[1], "="))
        return open_handle(self, client, words, count);
    h = find(self, words[0].text);
    if (!h || count < 2)
        return 0;
    if (h->member)
        run_member(h->member, words, count);
    else
        run_group(h->group, words, count);
    return 1;
}

void conf_group_free(conf_group *self)
{
    for (size_t i = 0; i < self->count; i++) {
        ilk_member_free(self->handles[i].member);
        ilk_group_free(self->handles[i].group);
    }
    memset(self, 0, sizeof *self);
}

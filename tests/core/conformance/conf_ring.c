/* SPDX-License-Identifier: MIT */
/* conf_ring.c -- the conformance table's rings. */
#include "conf_ring.h"

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 16 };

static ilk_error err;

static int is(const conf_word *word, const char *text)
{
    return strcmp(word->text, text) == 0;
}

/* Where "->" is; the number of words when it is missing. */
static int arrow(const conf_word *words, int count)
{
    int at = 0;

    while (at < count && !is(&words[at], "->"))
        at++;
    return at;
}

static void expect(const conf_word *words, int count, ilk_status st)
{
    int at = arrow(words, count);
    const char *wanted = at < count ? words[at + 1].text : "ILK_OK";

    if (strcmp(wanted, ilk_status_name(st)) != 0)
        fail_msg("answers %s (%s)", ilk_status_name(st), err.msg);
}

static void expect_nodes(const ilk_ring *ring, const conf_word *words,
                         int count, ilk_status st, const int32_t *nodes,
                         size_t node_count)
{
    const conf_word *wanted = &words[arrow(words, count) + 1];
    size_t len;

    if (st != ILK_OK) {
        expect(words, count, st);
        return;
    }
    assert_int_equal(node_count, &words[count] - wanted);
    for (size_t i = 0; i < node_count; i++) {
        const char *name = ilk_ring_node(ring, nodes[i], &len);

        assert_int_equal(wanted[i].len, len);
        assert_memory_equal(wanted[i].text, name, len);
    }
}

static int make(conf_ring *self, const conf_word *words, int count)
{
    ilk_ring_opts opts;

    if (!is(&words[2], "ring"))
        return 0;
    assert_true(self->count < CONF_RING_HANDLES && count == 4);
    ilk_ring_opts_init(&opts, sizeof opts);
    if (is(&words[3], "tooz"))
        opts.layout = ILK_RING_TOOZ;
    else if (is(&words[3], "shares"))
        opts.flags = ILK_RING_SHARES;
    else
        assert_true(is(&words[3], "ketama"));
    assert_int_equal(ILK_OK,
                     ilk_ring_new(&self->rings[self->count], &opts, &err));
    snprintf(self->words[self->count++], sizeof self->words[0], "%.63s",
             words[0].text);
    return 1;
}

static int change(ilk_ring *ring, const conf_word *words, int count)
{
    const conf_word *verb = &words[1], *node = &words[2];
    int64_t weight =
        arrow(words, count) > 3 ? strtoll(words[3].text, NULL, 10) : 1;
    ilk_status st;

    if (is(verb, "add"))
        st = ilk_ring_add(ring, node->text, node->len, weight, &err);
    else if (is(verb, "remove"))
        st = ilk_ring_remove(ring, node->text, node->len, &err);
    else if (is(verb, "weight"))
        st = ilk_ring_set_weight(ring, node->text, node->len, weight, &err);
    else
        return 0;
    expect(words, count, st);
    return 1;
}

static void find(const ilk_ring *ring, const conf_word *words, int count)
{
    const conf_word *verb = &words[1];
    int64_t loads[NODES];
    int32_t nodes[NODES] = {0};
    size_t n = 1;
    ilk_status st = ILK_OK;

    if (is(verb, "get")) {
        nodes[0] = ilk_ring_get(ring, words[2].text, words[2].len);
        if (nodes[0] < 0)
            st = (ilk_status)nodes[0];
    } else if (is(verb, "get_n")) {
        n = strtoul(words[2].text, NULL, 10);
        assert_true(n <= NODES);
        st = ilk_ring_get_n(nodes, n, ring, words[3].text, words[3].len, &err);
    } else {
        size_t load_count = 0;

        assert_true(is(verb, "bounded"));
        for (int i = 4; i < arrow(words, count); i++)
            loads[load_count++] = strtoll(words[i].text, NULL, 10);
        st = ilk_ring_get_bounded(nodes, ring, words[3].text, words[3].len,
                                  loads, load_count,
                                  strtod(words[2].text, NULL), &err);
    }
    expect_nodes(ring, words, count, st, nodes, n);
}

int conf_ring_line(conf_ring *self, const conf_word *words, int count)
{
    if (count > 3 && is(&words[1], "="))
        return make(self, words, count);
    for (size_t i = 0; i < self->count; i++) {
        if (strcmp(self->words[i], words[0].text) != 0)
            continue;
        assert_true(count > 2);
        if (!change(self->rings[i], words, count))
            find(self->rings[i], words, count);
        return 1;
    }
    return 0;
}

void conf_ring_free(conf_ring *self)
{
    for (size_t i = 0; i < self->count; i++)
        ilk_ring_free(self->rings[i]);
    memset(self, 0, sizeof *self);
}

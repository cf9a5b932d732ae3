/* SPDX-License-Identifier: MIT */
/*
 * demo_word.c -- the lines that sellers write, and the value of the stock.
 *
 * A line is a letter, the seller, five numbers and a text. It is shorter
 * than PIPE_BUF, so the lines of several writers never mix and one that is
 * killed leaves no half of a line.
 */
#include "demo.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

size_t demo_word_put(char *line, size_t room, const struct demo_word *word)
{
    int n = snprintf(line, room,
                     "%c %d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
                     " %" PRId64 " %s\n",
                     word->kind, word->seller, word->n[0], word->n[1],
                     word->n[2], word->n[3], word->n[4], word->text);

    return n > 0 && (size_t)n < room ? (size_t)n : 0;
}

/* The next number of a line; `at` moves behind it, or becomes NULL. */
static int64_t number(const char **at)
{
    char *end;
    int64_t value;

    if (!*at)
        return 0;
    value = strtoll(*at, &end, 10);
    *at = end == *at ? NULL : end;
    return value;
}

int demo_word_get(struct demo_word *out, const char *line)
{
    const char *at = line[0] ? line + 1 : NULL;
    size_t i;

    memset(out, 0, sizeof *out);
    out->kind = line[0];
    out->seller = (int)number(&at);
    for (i = 0; i < 5; i++)
        out->n[i] = number(&at);
    if (!at || out->seller < 1 || out->seller > DEMO_SELLERS_MAX)
        return 0;
    snprintf(out->text, sizeof out->text, "%s", *at == ' ' ? at + 1 : at);
    return 1;
}

size_t demo_stock_put(char *text, size_t room, const struct demo_stock *stock)
{
    int n = snprintf(text, room,
                     "%" PRId64 " left, last sold by %" PRId64 ": %" PRId64
                     " under %" PRId64,
                     stock->left, stock->seller, stock->item, stock->fence);

    return n > 0 && (size_t)n < room ? (size_t)n : 0;
}

/* Go over a word that has to be there; else `at` becomes NULL. */
static void expect(const char **at, const char *word)
{
    size_t len = strlen(word);

    if (*at && strncmp(*at, word, len) == 0)
        *at += len;
    else
        *at = NULL;
}

int demo_stock_get(struct demo_stock *out, const char *text)
{
    out->left = number(&text);
    expect(&text, " left, last sold by");
    out->seller = number(&text);
    expect(&text, ":");
    out->item = number(&text);
    expect(&text, " under");
    out->fence = number(&text);
    return text && *text == '\0';
}

ilk_status demo_stock_read(struct demo_stock *out, ilk_client *client,
                           const char *key, int64_t fence, ilk_error *err)
{
    ilk_value *value = NULL;
    ilk_status st = ilk_guard_get(&value, client, key, strlen(key), fence, err);
    const char *text;

    if (st != ILK_OK)
        return st;
    text = ilk_value_data(value, NULL);
    if (!text || !demo_stock_get(out, text)) {
        err->code = st = ILK_EREPLY;
        snprintf(err->msg, sizeof err->msg, "the stock at '%s' is %s", key,
                 text ? "not what was written" : "gone");
    }
    ilk_value_free(value);
    return st;
}

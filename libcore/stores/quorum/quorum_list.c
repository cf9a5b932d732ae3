/* SPDX-License-Identifier: MIT */
/*
 * quorum_list.c -- the names that the nodes have: SCAN at one node after another.
 *
 * A cursor is `2/17`: 17 at the third node; without a node's number it is that of the first
 * one. Nodes that take no part, or do not reply, are left out: while a majority does, each
 * hold is at one of the others. A name that a minority has is listed as well, and free when it
 * is looked at. The core leaves out what it has had before.
 */
#include "quorum_internal.h"

#include "base/alloc.h"
#include "gateway/resp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The keys of acceptors, which are no registers of one server. */
static const char own[] = "ilk:quorum:register", listed[] = "ilk:register";

static const char no_more[] = "*2\r\n$1\r\n0\r\n*0\r\n";

enum { PATTERN = 512 };

/* ---- the cursor ---------------------------------------------------------- */

static size_t node_in(ilk__bytes cursor)
{
    return memchr(cursor.data, '/', cursor.len)
               ? (size_t)strtoul(cursor.data, NULL, 10)
               : 0;
}

static ilk__bytes rest_of(ilk__bytes cursor)
{
    char *slash = memchr(cursor.data, '/', cursor.len);

    return slash ? (ilk__bytes){slash + 1,
                                cursor.len - (size_t)(slash + 1 - cursor.data)}
                 : cursor;
}

/* The first node that takes part, from this one on; the number of nodes: none does.
 * tried: these are left out; or NULL. */
static size_t find_node(const ilk__quorum *quorum, size_t from,
                        const uint8_t *tried)
{
    while (from < quorum->count
           && (!ilk__quorum_takes_part(&quorum->nodes[from])
               || (tried && tried[from])))
        from++;
    return from < quorum->count ? from : quorum->count;
}

/* ---- a step -------------------------------------------------------------- */

/* The words of the request, with the cursor of the node. The pattern of a single kind may
 * be that of registers: then it is the acceptors' one. */
static void compose(ilk__command *command, const ilk__gateway_request *request,
                    ilk__bytes cursor)
{
    char pattern[PATTERN + sizeof own];

    ilk__command_init(command);
    for (size_t i = 0; i < request->arg_count; i++) {
        const ilk__bytes word = i == 1 ? cursor : ilk__gateway_arg(request, i);
        const size_t front = sizeof listed - 1;

        if (i == 3 && word.len >= front && word.len < PATTERN
            && memcmp(word.data, listed, front) == 0) {
            snprintf(pattern, sizeof pattern, "%s", own);
            memcpy(pattern + sizeof own - 1, word.data + front,
                   word.len - front);
            ilk__command_add(command, pattern,
                             sizeof own - 1 + word.len - front);
        } else {
            ilk__command_add(command, word.data, word.len);
        }
    }
}

/* Send it to the next node that was not tried for this step; when there is none left, the
 * walk is over. Without a majority nothing happens, and the round fails. */
static void ask_next(ilk__round *round)
{
    ilk__quorum *quorum = round->quorum;
    const ilk__bytes cursor = ilk__gateway_arg(round->request, 1);
    const size_t from = node_in(cursor);
    ilk__command command;
    size_t at;

    if (ilk__quorum_count_votes(quorum) < ilk__quorum_majority(quorum))
        return;
    while ((at = find_node(quorum, from, round->sent)) < quorum->count) {
        round->sent[at] = 1;
        compose(&command, round->request,
                at == from ? rest_of(cursor) : (ilk__bytes){(char *)"0", 1});
        if (ilk__round_ask(round, &quorum->nodes[at], &command))
            return;
    }
    ilk__gateway_reply_text(round->request, no_more, sizeof no_more - 1);
    round->request = NULL;
}

static void send_scan(ilk__round *round)
{
    round->sent = ilk__calloc(round->quorum->count, sizeof *round->sent);
    if (!round->sent) {
        ilk__round_break(round);
        return;
    }
    ask_next(round);
    if (!round->calls)
        ilk__round_go_on(round);
}

static ilk_status add_key(ilk__buf *out, const ilk__reply *key)
{
    const size_t front = sizeof own - 1;
    ilk_status st;

    if (key->type != ILK__REPLY_STR || key->len < front
        || memcmp(key->str, own, front) != 0)
        return ilk__resp_add_reply(out, key);
    st = ilk__resp_add(out, "$%zu\r\n%s", key->len - front + sizeof listed - 1,
                       listed);
    if (st == ILK_OK)
        st = ilk__buf_add(out, key->str + front, key->len - front);
    return st == ILK_OK ? ilk__buf_add(out, "\r\n", 2) : st;
}

static ilk_status write_page(ilk__buf *out, const ilk__quorum *quorum,
                             size_t node, const ilk__reply *reply)
{
    const ilk__reply *cursor = reply->items[0], *keys = reply->items[1];
    const int is_over = strcmp(cursor->str, "0") == 0;
    const size_t next = is_over ? find_node(quorum, node + 1, NULL) : node;
    char text[64] = "0";
    ilk_status st;

    if (next < quorum->count)
        snprintf(text, sizeof text, "%zu/%.32s", next, cursor->str);
    st = ilk__resp_add(out, "*2\r\n$%zu\r\n%s\r\n*%zu\r\n", strlen(text), text,
                       keys->count);
    for (size_t i = 0; i < keys->count && st == ILK_OK; i++)
        st = add_key(out, keys->items[i]);
    return st;
}

static int is_page(const ilk__reply *reply)
{
    return reply->type == ILK__REPLY_ARRAY && reply->count == 2
           && reply->items[0]->type == ILK__REPLY_STR
           && reply->items[1]->type == ILK__REPLY_ARRAY;
}

static void pass_page(ilk__round *round, int is_last)
{
    ilk__quorum *quorum = round->quorum;
    ilk__buf text = {0};
    size_t node = 0;

    while (node < quorum->count && !round->replies[node])
        node++;
    if (node == quorum->count) {
        if (is_last && !round->why[0]) /* the node was lost */
            ask_next(round);
        return;
    }
    if (!is_page(round->replies[node])
        || write_page(&text, quorum, node, round->replies[node]))
        ilk__gateway_break(round->request);
    else
        ilk__gateway_reply_text(round->request, ilk__buf_data(&text),
                                ilk__buf_len(&text));
    round->request = NULL;
    ilk__buf_free(&text);
}

void ilk__quorum_command(void *self, ilk__gateway_request *request)
{
    if (strcmp(ilk__gateway_arg(request, 0).data, "SCAN") == 0)
        ilk__round_begin(self, request, send_scan, pass_page);
    else
        ilk__gateway_reply_error(request,
                                 "ILKNONE a quorum lists names, and has no "
                                 "other command");
}

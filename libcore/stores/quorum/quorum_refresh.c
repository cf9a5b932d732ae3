/* SPDX-License-Identifier: MIT */
/* quorum_refresh.c -- the core's refreshes of its waits: a round to all nodes, whose
 * replies let attempts ask again. */
#include "quorum_internal.h"

#include "base/alloc.h"
#include "gateway/resp.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The attempt of an entry as the core sent it, or NULL. */
static ilk__attempt *attempt_of(const ilk__quorum *quorum, ilk__bytes entry)
{
    const ilk__bytes token = ilk__quorum_token_of(&entry);

    return ilk__attempt_find(quorum, token.data, token.len);
}

/* A grant whose message was missed, and a place that is gone, are found when the
 * attempt asks the node once more. */
static void note_states(ilk__round *round, size_t node)
{
    const ilk__reply *reply = round->replies[node];
    const ilk__gateway_request *request = round->request;
    size_t at = 3;

    for (size_t i = ILK__REFRESH_HEAD; i < request->arg_count; i++) {
        ilk__attempt *attempt =
            attempt_of(round->quorum, ilk__gateway_arg(request, i));
        int64_t code;

        if (!round->sent[i])
            continue;
        if (reply->count < at + 4)
            return;
        code = ilk__script_int(reply, at);
        at += 3;
        if (!attempt)
            continue;
        ilk__attempt_note_holder(attempt, node, round->began,
                                 ilk__script_int(reply, 0),
                                 (int)ilk__script_int(reply, 2));
        if (code == ILK__CODE_HELD || code == ILK__CODE_GONE)
            ilk__votes_gone(&attempt->votes, node);
    }
}

static void add_state(ilk__buf *text, const ilk__attempt *attempt,
                      int64_t began)
{
    int64_t code = ILK__CODE_GONE, lease = 0, fence = 0;

    if (attempt && attempt->state == ILK__ATTEMPT_HOLDS) {
        code = ILK__CODE_HELD;
        lease = ilk__attempt_lease(attempt, began);
        fence = attempt->votes.fence;
    } else if (attempt) {
        code = ILK__CODE_QUEUED;
    }
    (void)ilk__resp_add(text,
                        ":%" PRId64 "\r\n:%" PRId64 "\r\n:%" PRId64 "\r\n",
                        code, lease, fence);
}

/* The earliest end of a lease at any node: one free vote may make a majority. */
static void read_holder(const ilk__round *round, int64_t *out_ms, int *out_ours)
{
    for (size_t i = 0; i < round->quorum->count; i++) {
        const ilk__reply *reply = round->replies[i];
        int64_t ms = reply ? ilk__script_int(reply, 0) : -2;

        if (!reply)
            continue;
        if (ilk__script_int(reply, 2) != 1)
            *out_ours = 0;
        if (ms >= 0)
            *out_ms = *out_ms < 0 ? ms : ilk__sooner(*out_ms, ms);
        else if (ms == -1 && *out_ms == -2)
            *out_ms = -1;
    }
}

static void say_refreshed(ilk__round *round)
{
    ilk__gateway_request *request = round->request;
    int64_t holder_ms = -2;
    int ours = 1;
    ilk__buf text = {0};

    read_holder(round, &holder_ms, &ours);
    (void)ilk__resp_add(&text,
                        "*%zu\r\n:%" PRId64 "\r\n:%" PRId64 "\r\n:%" PRId64
                        "\r\n:%d\r\n",
                        4 + 3 * (request->arg_count - ILK__REFRESH_HEAD),
                        ilk__reply_head(request->number, ILK__CODE_BUSY),
                        holder_ms, ilk__quorum_now_us(), ours);
    for (size_t i = ILK__REFRESH_HEAD; i < request->arg_count; i++)
        add_state(&text,
                  attempt_of(round->quorum, ilk__gateway_arg(request, i)),
                  round->began);
    ilk__gateway_reply_text(request, ilk__buf_data(&text), ilk__buf_len(&text));
    ilk__buf_free(&text);
    round->request = NULL;
}

static void go_on_with_attempts(ilk__round *round)
{
    for (size_t i = ILK__REFRESH_HEAD; i < round->request->arg_count; i++) {
        ilk__attempt *attempt =
            attempt_of(round->quorum, ilk__gateway_arg(round->request, i));

        if (!attempt || attempt->state != ILK__ATTEMPT_TRIES)
            continue;
        ilk__attempt_reach_all(attempt);
        ilk__attempt_go_on(attempt);
    }
}

/* A majority suffices. The others are refreshed as well, and their replies are not
 * read. Without a majority the round fails, so that waits take it for an outage. */
static void decide_refresh(ilk__round *round, int is_last)
{
    const int has_majority =
        ilk__round_replies(round) >= ilk__quorum_majority(round->quorum);

    if (!is_last && !has_majority)
        return;
    for (size_t i = 0; i < round->quorum->count; i++)
        if (round->replies[i])
            note_states(round, i);
    go_on_with_attempts(round);
    if (has_majority)
        say_refreshed(round);
}

static size_t keep_keys(ilk__bytes *keys, const ilk__gateway_request *request)
{
    for (size_t i = 0; i < request->key_count; i++)
        keys[i] = ilk__gateway_word(request->keys[i]);
    return request->key_count;
}

/* The entries have the nodes' tokens; one without an attempt is gone. */
static size_t keep_args(ilk__round *round, ilk__bytes *args, char number[24])
{
    const ilk__gateway_request *request = round->request;
    size_t count = ILK__REFRESH_HEAD;

    for (size_t i = 0; i < ILK__REFRESH_HEAD; i++)
        args[i] = ilk__gateway_arg(request, i);
    for (size_t i = ILK__REFRESH_HEAD; i < request->arg_count; i++) {
        const ilk__attempt *attempt =
            attempt_of(round->quorum, ilk__gateway_arg(request, i));

        round->sent[i] = attempt && attempt->state != ILK__ATTEMPT_PAUSES;
        if (round->sent[i])
            args[count++] = attempt->inner_entry;
    }
    snprintf(number, 24, "%zu", count - ILK__REFRESH_HEAD);
    args[ILK__REFRESH_HEAD - 1] = (ilk__bytes){number, strlen(number)};
    return count;
}

static void send(ilk__round *round)
{
    const ilk__gateway_request *request = round->request;
    ilk__bytes *words =
        ilk__calloc(request->key_count + request->arg_count, sizeof *words);
    size_t keys, args;
    char number[24];

    round->sent = ilk__calloc(request->arg_count, 1);
    if (words && round->sent) {
        keys = keep_keys(words, request);
        args = keep_args(round, words + keys, number);
        ilk__round_send(round, request->script, words, keys, words + keys,
                        args);
    } else {
        ilk__round_break(round);
    }
    ilk__free(words);
}

void ilk__quorum_refresh(ilk__quorum *quorum, ilk__gateway_request *request)
{
    ilk__round_begin(quorum, request, send, decide_refresh);
}

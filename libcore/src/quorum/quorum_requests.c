/* SPDX-License-Identifier: MIT */
/*
 * quorum_requests.c -- the core's requests: those of an attempt go to it, all others
 * to all nodes in one round, whose replies are compared.
 */
#include "quorum_internal.h"

#include "base/alloc.h"
#include "gateway/resp.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CODES = 64 /* see scripts/include/reply.lua */ };

/* ---- words --------------------------------------------------------------- */

static ilk__bytes bytes_of(const ilk__reply *word)
{
    return (ilk__bytes){word->str, word->len};
}

static ilk__bytes arg_of(const ilk__gateway_request *request, size_t index)
{
    return bytes_of(request->args[index]);
}

static int64_t number_of(const ilk__gateway_request *request, size_t index)
{
    const ilk__bytes word = arg_of(request, index);

    return ilk__text_number((ilk__span){word.data, word.len},
                            ILK__SCRIPT_INT_MAX);
}

/* The word of an entry, `1 <kind> <client> <waiter> <token> ...`, or nothing. */
static ilk__bytes word_of_entry(const ilk__bytes *entry, int index)
{
    ilk__span rest = {entry->data, entry->len}, word = {entry->data, 0};

    for (int i = 0; i <= index; i++)
        word = ilk__text_cut(&rest, ' ', NULL);
    return (ilk__bytes){(char *)word.at, word.len};
}

static void take_keys(ilk__lock_words *words,
                      const ilk__gateway_request *request)
{
    for (size_t i = 0; i < ILK__LOCK_KEYS; i++)
        words->keys[i] = i < request->key_count ? bytes_of(request->keys[i])
                                                : (ilk__bytes){(char *)"", 0};
}

static ilk__lock_words words_of(const ilk__gateway_request *request,
                                ilk__bytes token, ilk__bytes entry)
{
    const ilk__bytes nothing = {(char *)"", 0};
    ilk__lock_words words = {.token = token,
                             .entry = entry,
                             .who = nothing,
                             .client = nothing,
                             .waiter = nothing};

    take_keys(&words, request);
    if (entry.len)
        words.waiter = word_of_entry(&entry, 3);
    return words;
}

static ilk__attempt *find(const ilk__quorum *quorum, ilk__bytes token)
{
    return ilk__attempt_find(quorum, token.data, token.len);
}

static int has_known_lease(const ilk__quorum *quorum,
                           ilk__gateway_request *request, int64_t lease_ms)
{
    char text[200];

    if (lease_ms <= quorum->longest_ms)
        return 1;
    snprintf(text, sizeof text,
             "ILKINVALID a lease of %" PRId64 " ms: the longest of this quorum "
             "is %" PRId64 " ms; see longest_lease_ms",
             lease_ms, quorum->longest_ms);
    ilk__gateway_reply_error(request, text);
    return 0;
}

/* ---- acquire ------------------------------------------------------------- */

enum {
    ACQUIRE_TOKEN,
    ACQUIRE_LEASE,
    ACQUIRE_WHO,
    ACQUIRE_FLOOR,
    ACQUIRE_ENTRY,
    ACQUIRE_CLIENT,
    ACQUIRE_LIVENESS,
    ACQUIRE_BARGE,
    ACQUIRE_GRANT,
    ACQUIRE_LIMIT
};

/* A repeated request: the attempt goes on, and this one has its reply. */
static void ask_once_more(ilk__attempt *attempt, ilk__gateway_request *request)
{
    attempt->request = request;
    attempt->request_at = ilk__now_ms();
    if (attempt->state == ILK__ATTEMPT_HOLDS) {
        ilk__attempt_extend(attempt, request);
        return;
    }
    ilk__attempt_reach_all(attempt);
    ilk__attempt_go_on(attempt);
}

static void try_new(ilk__quorum *quorum, ilk__gateway_request *request)
{
    const ilk__bytes token = arg_of(request, ACQUIRE_TOKEN);
    ilk__lock_words words =
        words_of(request, token, arg_of(request, ACQUIRE_ENTRY));
    ilk__attempt *attempt;

    words.who = arg_of(request, ACQUIRE_WHO);
    words.client = arg_of(request, ACQUIRE_CLIENT);
    attempt = ilk__attempt_new(quorum, &words);
    if (!attempt) {
        ilk__gateway_break(request);
        return;
    }
    attempt->lease_ms = number_of(request, ACQUIRE_LEASE);
    attempt->floor = number_of(request, ACQUIRE_FLOOR);
    attempt->liveness_ms = number_of(request, ACQUIRE_LIVENESS);
    attempt->grant_ms = number_of(request, ACQUIRE_GRANT);
    attempt->limit = number_of(request, ACQUIRE_LIMIT);
    attempt->waits = words.entry.len != 0;
    ilk__attempt_begin(attempt, request);
}

static void acquire(ilk__quorum *quorum, ilk__gateway_request *request)
{
    const ilk__bytes token = arg_of(request, ACQUIRE_TOKEN),
                     entry = arg_of(request, ACQUIRE_ENTRY);
    ilk__attempt *attempt = find(quorum, token);

    if (number_of(request, ACQUIRE_BARGE) == 1)
        ilk__gateway_reply_error(
            request, "ILKNONE a quorum has no locks that barge: its waits are "
                     "served in one order at all nodes");
    else if (ilk__attempt_is_over(quorum, token.data, token.len))
        ilk__gateway_reply_error(request,
                                 "ERR this attempt was cancelled before");
    else if (!has_known_lease(quorum, request,
                              number_of(request, ACQUIRE_LEASE)))
        return;
    else if (entry.len && !word_of_entry(&entry, 4).len)
        ilk__gateway_reply_error(request, "ERR this is no entry");
    else if (attempt
             && (attempt->state == ILK__ATTEMPT_HOLDS
                 || attempt->waits == (entry.len != 0)))
        ask_once_more(attempt, request);
    else if (attempt)
        ilk__gateway_reply_error(request, "ERR another attempt has this token");
    else
        try_new(quorum, request);
}

/* ---- release and cancel -------------------------------------------------- */

/* A token that is not known here, such as an adopted one's, is given up at all
 * nodes. */
static ilk__attempt *stranger(ilk__quorum *quorum,
                              ilk__gateway_request *request, ilk__bytes token,
                              ilk__bytes entry, size_t first_number)
{
    const ilk__lock_words words = words_of(request, token, entry);
    ilk__attempt *attempt = ilk__attempt_new(quorum, &words);

    if (!attempt)
        return NULL;
    attempt->grant_ms = number_of(request, first_number);
    attempt->limit = number_of(request, first_number + 1);
    attempt->liveness_ms = number_of(request, first_number + 3);
    attempt->lease_ms = quorum->longest_ms;
    for (size_t i = 0; i < quorum->count; i++)
        attempt->asked[i] = 1;
    return attempt;
}

/* token, grant ms, limit, barge, liveness */
static void release(ilk__quorum *quorum, ilk__gateway_request *request)
{
    const ilk__bytes token = arg_of(request, 0), nothing = {(char *)"", 0};
    ilk__attempt *attempt = find(quorum, token);

    if (!attempt)
        attempt = stranger(quorum, request, token, nothing, 1);
    if (attempt)
        ilk__attempt_release(attempt, request);
    else
        ilk__gateway_break(request);
}

/* entry, token, grant ms, limit, barge, liveness. Nobody waits for what the nodes
 * say. */
static void cancel(ilk__quorum *quorum, ilk__gateway_request *request)
{
    const ilk__bytes entry = arg_of(request, 0), token = arg_of(request, 1);
    ilk__attempt *attempt = find(quorum, token);

    if (!attempt)
        attempt = stranger(quorum, request, token, entry, 2);
    if (!attempt) {
        ilk__gateway_break(request);
        return;
    }
    ilk__attempt_release(attempt, NULL);
    ilk__gateway_reply(request, ILK__CODE_GONE, "");
}

/* ---- rounds -------------------------------------------------------------- */

/* One script at all nodes that can be reached. */
typedef struct quorum_round quorum_round;
struct quorum_round {
    ilk__quorum *quorum;
    ilk__gateway_request *request; /* NULL: it has its reply */
    size_t calls;
    size_t failed; /* nodes without a reply */
    ilk__reply *replies[ILK__QUORUM_MOST];
    int64_t began;
    uint8_t *sent;           /* a refresh: which of the request's entries */
    char why[ILK_ERROR_MAX]; /* a node's error */
    /* Reply if the replies that are there suffice; `is_last`: no others come. */
    void (*decide)(quorum_round *round, int is_last);
};

static void free_round(quorum_round *round)
{
    for (size_t i = 0; i < round->quorum->count; i++)
        ilk__reply_free(round->replies[i]);
    ilk__free(round->sent);
    ilk__free(round);
}

static size_t count_code(const quorum_round *round, int code)
{
    size_t count = 0;

    for (size_t i = 0; i < round->quorum->count; i++)
        count +=
            round->replies[i] && ilk__script_code(round->replies[i]) == code;
    return count;
}

static void fail_round(quorum_round *round)
{
    char text[ILK_ERROR_MAX];

    ilk__quorum_write_why(round->quorum, "NOQUORUM", text);
    ilk__gateway_reply_error(round->request, round->why[0] ? round->why : text);
    round->request = NULL;
}

static void go_on(quorum_round *round)
{
    if (round->request)
        round->decide(round, round->calls == 0);
    if (round->request && round->calls == 0)
        fail_round(round);
    if (round->calls == 0)
        free_round(round);
}

static int answered(ilk__quorum_node *node, void *owner,
                    const ilk__node_call *call, ilk__reply *reply)
{
    quorum_round *round = owner;
    int keeps = reply && reply->type != ILK__REPLY_ERROR;

    (void)call;
    round->calls--;
    if (keeps)
        round->replies[node->number] = reply;
    else if (reply)
        snprintf(round->why, sizeof round->why, "%s", reply->str);
    round->failed += (size_t)!keeps;
    go_on(round);
    return keeps;
}

/* 0: no memory, and the request has its end. */
static quorum_round *new_round(ilk__quorum *quorum,
                               ilk__gateway_request *request,
                               void (*decide)(quorum_round *, int))
{
    quorum_round *round = ilk__calloc(1, sizeof *round);

    if (!round) {
        ilk__gateway_break(request);
        return NULL;
    }
    round->quorum = quorum;
    round->request = request;
    round->began = ilk__now_ms();
    round->decide = decide;
    return round;
}

/* `args` replaces the request's arguments if it is not NULL. */
static void send_round(quorum_round *round, const ilk__bytes *args,
                       size_t arg_count)
{
    const ilk__gateway_request *request = round->request;
    const int script = request->script;

    round->calls++; /* it is not over before all are sent */
    for (size_t i = 0; i < round->quorum->count; i++) {
        ilk__quorum_node *node = &round->quorum->nodes[i];
        ilk__lock_words words;
        ilk__command command;

        if (!ilk__quorum_takes_part(node)) {
            round->failed++;
            continue;
        }
        take_keys(&words, request);
        ilk__command_init(&command);
        ilk__script_begin(&command, script, words.keys, request->key_count);
        for (size_t j = 0; j < (args ? arg_count : request->arg_count); j++) {
            const ilk__bytes word = args ? args[j] : arg_of(request, j);

            ilk__command_add(&command, word.data, word.len);
        }
        if (ilk__quorum_send(node, &command, script, answered, round))
            round->calls++;
        else
            round->failed++;
    }
    round->calls--;
    go_on(round);
}

/* ---- break --------------------------------------------------------------- */

static void decide_break(quorum_round *round, int is_last)
{
    const size_t majority = ilk__quorum_majority(round->quorum);

    (void)is_last;
    if (count_code(round, ILK__CODE_RELEASED) >= majority)
        ilk__gateway_reply(round->request, ILK__CODE_RELEASED, "ii", (int64_t)0,
                           (int64_t)0);
    else if (count_code(round, ILK__CODE_LOST)
             > round->quorum->count - majority)
        ilk__gateway_reply(round->request, ILK__CODE_LOST, "");
    else
        return;
    round->request = NULL;
}

/* ---- extending a hold that began elsewhere ------------------------------- */

/* The majority-th greatest element of the replies that are HELD; 0: too few are. The
 * next holder has a vote of one of these nodes, where its fence is greater. */
static int64_t of_majority(const quorum_round *round, size_t index,
                           int (*counts)(const quorum_round *,
                                         const ilk__reply *))
{
    int64_t numbers[ILK__QUORUM_MOST];
    size_t count = 0;

    for (size_t i = 0; i < round->quorum->count; i++) {
        const ilk__reply *reply = round->replies[i];
        size_t place = count;
        int64_t number;

        if (!reply || ilk__script_code(reply) != ILK__CODE_HELD
            || (counts && !counts(round, reply)))
            continue;
        number = ilk__script_int(reply, index);
        for (; place && numbers[place - 1] < number; place--)
            numbers[place] = numbers[place - 1];
        numbers[place] = number;
        count++;
    }
    return count < ilk__quorum_majority(round->quorum)
               ? 0
               : numbers[ilk__quorum_majority(round->quorum) - 1];
}

/* All replies are awaited: a vote that came after the hold was confirmed may have
 * another fence. */
static void decide_extension(quorum_round *round, int is_last)
{
    const size_t majority = ilk__quorum_majority(round->quorum);

    if (is_last && count_code(round, ILK__CODE_HELD) >= majority)
        ilk__gateway_reply(round->request, ILK__CODE_HELD, "iii",
                           of_majority(round, 0, NULL),
                           of_majority(round, 1, NULL), ilk__quorum_now_us());
    else if (count_code(round, ILK__CODE_LOST)
             > round->quorum->count - majority)
        ilk__gateway_reply(round->request, ILK__CODE_LOST, "");
    else
        return;
    round->request = NULL;
}

/* token, lease ms, renewal 0|1 */
static void extend(ilk__quorum *quorum, ilk__gateway_request *request)
{
    ilk__attempt *attempt = find(quorum, arg_of(request, 0));
    quorum_round *round;

    if (!has_known_lease(quorum, request, number_of(request, 1)))
        return;
    if (attempt && attempt->state == ILK__ATTEMPT_HOLDS
        && ilk__votes_until(&attempt->votes) > ilk__now_ms()) {
        attempt->lease_ms = number_of(request, 1);
        attempt->renews = number_of(request, 2) == 1;
        ilk__attempt_extend(attempt, request);
        return;
    }
    round = new_round(quorum, request, decide_extension);
    if (round)
        send_round(round, NULL, 0);
}

/* ---- inspect ------------------------------------------------------------- */

static const ilk__reply *item(const ilk__reply *reply, size_t index)
{
    return reply->items[index + 1]; /* behind the code */
}

enum {
    INSPECT_TYPE,
    INSPECT_VALUE,
    INSPECT_PTTL,
    INSPECT_NOW,
    INSPECT_FENCE,
    INSPECT_TOKEN,
    INSPECT_SINCE,
    INSPECT_WHO,
    INSPECT_WAITERS
};

static int has_value_of(const ilk__reply *reply, const ilk__reply *other)
{
    const ilk__reply *a = item(reply, INSPECT_VALUE),
                     *b = item(other, INSPECT_VALUE);

    return ilk__script_code(other) == ILK__CODE_HELD && a->len == b->len
           && memcmp(a->str, b->str, a->len) == 0;
}

/* Whether a majority says the same of the holder. */
static int is_of_majority(const quorum_round *round, const ilk__reply *reply)
{
    size_t count = 0;

    for (size_t i = 0; i < round->quorum->count; i++)
        count += (size_t)(round->replies[i]
                          && has_value_of(reply, round->replies[i]));
    return count >= ilk__quorum_majority(round->quorum);
}

/* A reply with the holder of a majority; of nobody's, that with the greatest
 * fence. */
static ilk__reply *best_of(const quorum_round *round, int held)
{
    ilk__reply *best = NULL;

    for (size_t i = 0; i < round->quorum->count; i++) {
        ilk__reply *one = round->replies[i];

        if (!one
            || (held
                && (ilk__script_code(one) != ILK__CODE_HELD
                    || !is_of_majority(round, one))))
            continue;
        if (!best
            || item(one, INSPECT_FENCE)->num > item(best, INSPECT_FENCE)->num)
            best = one;
    }
    return best;
}

static void send_on(quorum_round *round, ilk__reply *reply, int code)
{
    ilk__buf text = {0};

    reply->items[0]->num = round->request->number * CODES + code;
    if (ilk__resp_add_reply(&text, reply))
        ilk__gateway_break(round->request);
    else
        ilk__gateway_reply_text(round->request, ilk__buf_data(&text),
                                ilk__buf_len(&text));
    ilk__buf_free(&text);
    round->request = NULL;
}

static void say_nobody(ilk__reply *reply)
{
    ilk__reply *value = reply->items[1 + INSPECT_VALUE],
               *type = reply->items[1 + INSPECT_TYPE];

    value->len = 0;
    if (type->len >= 4) {
        memcpy(type->str, "none", 5);
        type->len = 4;
    }
    reply->items[1 + INSPECT_PTTL]->num = -2;
}

/* A name is held by the token that a majority has. Votes that are divided are
 * nobody's yet. */
static void decide_inspection(quorum_round *round, int is_last)
{
    ilk__reply *best = best_of(round, 1);
    int is_held = best != NULL;
    int64_t waiters = 0;

    if (!is_last
        || round->failed
               > round->quorum->count - ilk__quorum_majority(round->quorum))
        return;
    for (size_t i = 0; i < round->quorum->count; i++)
        if (round->replies[i]
            && item(round->replies[i], INSPECT_WAITERS)->num > waiters)
            waiters = item(round->replies[i], INSPECT_WAITERS)->num;
    if (is_held)
        best->items[1 + INSPECT_FENCE]->num =
            of_majority(round, INSPECT_FENCE, is_of_majority);
    else
        best = best_of(round, 0);
    if (!is_held && ilk__script_code(best) == ILK__CODE_HELD)
        say_nobody(best);
    best->items[1 + INSPECT_WAITERS]->num = waiters;
    send_on(round, best, is_held ? ILK__CODE_HELD : ILK__CODE_FREE);
}

/* ---- refresh ------------------------------------------------------------- */

enum { REFRESH_HEAD = 5 /* client, liveness ms, grant ms, limit, n */ };

/* The attempt of an entry as the core sent it, or NULL. */
static ilk__attempt *attempt_of(const ilk__quorum *quorum, ilk__bytes entry)
{
    return find(quorum, word_of_entry(&entry, 4));
}

/* A grant whose message was missed, and a place that is gone, are found when the
 * attempt asks the node once more. */
static void note_states(quorum_round *round, size_t node)
{
    const ilk__reply *reply = round->replies[node];
    const ilk__gateway_request *request = round->request;
    size_t at = 3;

    for (size_t i = REFRESH_HEAD; i < request->arg_count; i++) {
        ilk__attempt *attempt = attempt_of(round->quorum, arg_of(request, i));
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

/* The first vote that comes free is worth a look. */
static void read_holder(const quorum_round *round, int64_t *out_ms,
                        int *out_ours)
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

static void say_refreshed(quorum_round *round)
{
    ilk__gateway_request *request = round->request;
    int64_t holder_ms = -2;
    int ours = 1;
    ilk__buf text = {0};

    read_holder(round, &holder_ms, &ours);
    (void)ilk__resp_add(&text,
                        "*%zu\r\n:%" PRId64 "\r\n:%" PRId64 "\r\n:%" PRId64
                        "\r\n:%d\r\n",
                        4 + 3 * (request->arg_count - REFRESH_HEAD),
                        request->number * CODES + ILK__CODE_BUSY, holder_ms,
                        ilk__quorum_now_us(), ours);
    for (size_t i = REFRESH_HEAD; i < request->arg_count; i++)
        add_state(&text, attempt_of(round->quorum, arg_of(request, i)),
                  round->began);
    ilk__gateway_reply_text(request, ilk__buf_data(&text), ilk__buf_len(&text));
    ilk__buf_free(&text);
    round->request = NULL;
}

static void go_on_with_attempts(quorum_round *round)
{
    for (size_t i = REFRESH_HEAD; i < round->request->arg_count; i++) {
        ilk__attempt *attempt =
            attempt_of(round->quorum, arg_of(round->request, i));

        if (!attempt || attempt->state != ILK__ATTEMPT_TRIES)
            continue;
        ilk__attempt_reach_all(attempt);
        ilk__attempt_go_on(attempt);
    }
}

/* A majority suffices. The others are refreshed as well, and their replies are not
 * read. */
static void decide_refresh(quorum_round *round, int is_last)
{
    size_t replies = 0;

    for (size_t i = 0; i < round->quorum->count; i++)
        replies += round->replies[i] != NULL;
    if (!is_last && replies < ilk__quorum_majority(round->quorum))
        return;
    for (size_t i = 0; i < round->quorum->count; i++)
        if (round->replies[i])
            note_states(round, i);
    go_on_with_attempts(round);
    say_refreshed(round);
}

/* The entries have the nodes' tokens; one without an attempt is gone. */
static void refresh(ilk__quorum *quorum, ilk__gateway_request *request)
{
    quorum_round *round = new_round(quorum, request, decide_refresh);
    ilk__bytes *args;
    size_t count = REFRESH_HEAD;
    char number[24];

    if (!round)
        return;
    args = ilk__calloc(request->arg_count, sizeof *args);
    round->sent = ilk__calloc(request->arg_count, 1);
    if (!args || !round->sent) {
        ilk__free(args);
        ilk__gateway_break(request);
        free_round(round);
        return;
    }
    for (size_t i = 0; i < REFRESH_HEAD; i++)
        args[i] = arg_of(request, i);
    for (size_t i = REFRESH_HEAD; i < request->arg_count; i++) {
        const ilk__attempt *attempt = attempt_of(quorum, arg_of(request, i));

        round->sent[i] = attempt && attempt->state != ILK__ATTEMPT_PAUSES;
        if (round->sent[i])
            args[count++] = attempt->inner_entry;
    }
    snprintf(number, sizeof number, "%zu", count - REFRESH_HEAD);
    args[REFRESH_HEAD - 1] = (ilk__bytes){number, strlen(number)};
    send_round(round, args, count);
    ilk__free(args);
}

/* ---- all requests -------------------------------------------------------- */

static void inspect(ilk__quorum *quorum, ilk__gateway_request *request)
{
    quorum_round *round = new_round(quorum, request, decide_inspection);

    if (round)
        send_round(round, NULL, 0);
}

static void break_hold(ilk__quorum *quorum, ilk__gateway_request *request)
{
    quorum_round *round = new_round(quorum, request, decide_break);

    if (round)
        send_round(round, NULL, 0);
}

void ilk__quorum_call(void *self, ilk__gateway_request *request)
{
    ilk__quorum *quorum = self;

    switch (request->script) {
    case ILK__SCRIPT_LOCK_ACQUIRE: acquire(quorum, request); break;
    case ILK__SCRIPT_LOCK_EXTEND: extend(quorum, request); break;
    case ILK__SCRIPT_LOCK_RELEASE: release(quorum, request); break;
    case ILK__SCRIPT_LOCK_CANCEL: cancel(quorum, request); break;
    case ILK__SCRIPT_LOCK_REFRESH: refresh(quorum, request); break;
    case ILK__SCRIPT_LOCK_INSPECT: inspect(quorum, request); break;
    case ILK__SCRIPT_LOCK_BREAK: break_hold(quorum, request); break;
    default:
        ilk__gateway_reply_error(request,
                                 "ILKNONE a quorum keeps locks and nothing "
                                 "else");
    }
}

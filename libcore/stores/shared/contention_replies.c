/* SPDX-License-Identifier: MIT */
/* contention_replies.c -- the replies to the core, and its messages. */
#include "contention_internal.h"

#include "base/clock.h"
#include "gateway/resp.h"
#include "redis/expected_reply.h"
#include "redis/script.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int64_t ilk__contention_now_us(void)
{
    return ilk__now_ms() * 1000;
}

static ilk__gateway_request *take_request(ilk__contender *contender)
{
    ilk__gateway_request *request = contender->request;

    contender->request = NULL;
    return request;
}

static int64_t lease_left(const ilk__contender *contender)
{
    int64_t left = contender->ends - ilk__now_ms();

    return left > 0 ? left : 0;
}

/* ---- about a contender --------------------------------------------------- */

void ilk__reply_held(ilk__contender *contender)
{
    ilk__gateway_reply(take_request(contender), ILK__CODE_HELD, "iii",
                       lease_left(contender), contender->fence,
                       ilk__contention_now_us());
}

void ilk__reply_waiting(ilk__contender *contender, int code, int64_t holder_ms,
                        int ours)
{
    ilk__gateway_reply(take_request(contender), code, "iii", holder_ms,
                       ilk__contention_now_us(), (int64_t)(ours != 0));
}

void ilk__reply_busy(ilk__contender *contender)
{
    ilk__contender_record *record = ilk__record_of(contender);

    record->is_busy = 0;
    ilk__reply_waiting(contender, ILK__CODE_BUSY, record->holder_ms,
                       record->is_holder_ours);
}

void ilk__reply_failure(ilk__contender *contender, const char *text)
{
    ilk__gateway_request *request = take_request(contender);

    if (text)
        ilk__gateway_reply_error(request, text);
    else
        ilk__gateway_break(request);
}

/* LOST has two numbers of evidence (scripts/include/evidence.lua). The second is -1 when
 * this very hold was taken away, 0 when no break is known. The first is 0, because there
 * is no record; or -1, which no script returns: the backend has repeated the release, so
 * an earlier copy may have ended the hold. */
void ilk__reply_left(ilk__gateway_request *request, ilk__left left)
{
    const int64_t nothing = 0, taken_away = -1, unknown = -1;

    if (ilk__request_is_cancel(request))
        ilk__gateway_reply(request, ILK__CODE_GONE, "");
    else if (left == ILK__LEFT_ITS_HOLD)
        ilk__gateway_reply(request, ILK__CODE_RELEASED, "ii", nothing, nothing);
    else
        ilk__gateway_reply(request, ILK__CODE_LOST, "iis",
                           left == ILK__LEFT_NO_HOLD ? nothing : unknown,
                           left == ILK__LEFT_NO_HOLD ? taken_away : nothing,
                           ILK__NO_RECORD);
}

void ilk__reply_refusal(const ilk__contention *contention,
                        ilk__gateway_request *request, const char *format)
{
    const char *name = strstr(format, "%s");
    char text[200];

    snprintf(text, sizeof text, "%.*s%s%s", (int)(name - format), format,
             contention->store->name, name + 2);
    ilk__gateway_reply_error(request, text);
}

/* ---- longer replies ------------------------------------------------------ */

typedef struct long_reply {
    ilk__gateway_request *request;
    ilk__buf text;
    int is_cut; /* for want of memory */
} long_reply;

static void add_int(long_reply *reply, int64_t number)
{
    if (ilk__resp_add(&reply->text, ":%" PRId64 "\r\n", number))
        reply->is_cut = 1;
}

static void add_text(long_reply *reply, ilk__span bytes)
{
    if (!bytes.at)
        bytes = (ilk__span){"", 0};
    if (ilk__resp_add_bytes(&reply->text, bytes))
        reply->is_cut = 1;
}

static long_reply begin(ilk__gateway_request *request, int code,
                        size_t elements)
{
    long_reply reply = {.request = request};

    if (ilk__resp_add(&reply.text, "*%zu\r\n", elements + 1))
        reply.is_cut = 1;
    add_int(&reply, ilk__reply_head(request->number, code));
    return reply;
}

static void send(long_reply *reply)
{
    if (reply->is_cut)
        ilk__gateway_break(reply->request);
    else
        ilk__gateway_reply_text(reply->request, ilk__buf_data(&reply->text),
                                ilk__buf_len(&reply->text));
    ilk__buf_free(&reply->text);
}

/* ---- refreshes ----------------------------------------------------------- */

static void add_state(long_reply *reply, const ilk__contender *contender)
{
    int64_t code = ILK__CODE_GONE, left = 0, fence = 0;

    if (contender && contender->state == ILK__CONTENDER_HOLDS) {
        left = lease_left(contender);
        code = left > 0 ? ILK__CODE_HELD : ILK__CODE_GONE;
        fence = left > 0 ? contender->fence : 0;
    } else if (contender
               && (contender->state == ILK__CONTENDER_JOINS
                   || contender->state == ILK__CONTENDER_WAITS)) {
        code = ILK__CODE_QUEUED;
    }
    add_int(reply, code);
    add_int(reply, left);
    add_int(reply, fence);
}

static long_reply begin_refreshed(ilk__gateway_request *request)
{
    long_reply reply =
        begin(request, ILK__CODE_BUSY,
              3 + 3 * (request->arg_count - ILK__REFRESH_ENTRIES));

    add_int(&reply, -1);
    add_int(&reply, ilk__contention_now_us());
    add_int(&reply, 1);
    return reply;
}

void ilk__reply_refreshed(const ilk__contention *contention,
                          ilk__gateway_request *request)
{
    long_reply reply = begin_refreshed(request);

    for (size_t i = ILK__REFRESH_ENTRIES; i < request->arg_count; i++)
        add_state(&reply, ilk__contender_find(contention,
                                              ilk__request_entry_word(
                                                  ilk__gateway_arg(request, i),
                                                  ILK__ENTRY_TOKEN)));
    send(&reply);
}

void ilk__reply_observers_refreshed(const ilk__contention *contention,
                                    ilk__gateway_request *request)
{
    long_reply reply = begin_refreshed(request);

    for (size_t i = ILK__REFRESH_ENTRIES; i < request->arg_count; i++) {
        const ilk__bytes waiter = ilk__request_entry_word(
            ilk__gateway_arg(request, i), ILK__ENTRY_WAITER);

        add_int(&reply,
                ilk__table_find(&contention->observers, waiter.data, waiter.len)
                    ? ILK__CODE_QUEUED
                    : ILK__CODE_GONE);
        add_int(&reply, 0);
        add_int(&reply, 0);
    }
    send(&reply);
}

/* ---- inspections --------------------------------------------------------- */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many of them the state lists. */
static size_t listed_holders(const ilk__contended_state *state, size_t most)
{
    return smaller(state->holders, most);
}

static size_t listed_waiters(const ilk__contended_state *state, size_t most)
{
    return smaller(state->waiters, most - listed_holders(state, most));
}

/* A word of an entry is not empty and has no spaces. */
static ilk__span as_word(ilk__span text)
{
    if (!text.len || memchr(text.at, ' ', text.len))
        return (ilk__span){"-", 1};
    return text;
}

/* `1 <kind> <client> <waiter> <token> <lease ms> <permits> <who>`, without client and
 * secret: an inspection sends nothing to the waiter. */
static void add_entry(long_reply *reply, const ilk__contended_entry *entry)
{
    const ilk__span token = as_word(entry->token);
    char head[32], tail[32];
    size_t head_len = (size_t)snprintf(head, sizeof head, "1 %c - %c0.- ",
                                       entry->kind, entry->kind),
           tail_len = (size_t)snprintf(tail, sizeof tail, " 0 %" PRId64 " ",
                                       entry->permits > 0 ? entry->permits
                                                          : (int64_t)1);

    if (ilk__resp_add(&reply->text, "$%zu\r\n",
                      head_len + token.len + tail_len + entry->who.len)
        || ilk__buf_add(&reply->text, head, head_len)
        || ilk__buf_add(&reply->text, token.at, token.len)
        || ilk__buf_add(&reply->text, tail, tail_len)
        || ilk__buf_add(&reply->text, entry->who.at, entry->who.len)
        || ilk__buf_add(&reply->text, "\r\n", 2))
        reply->is_cut = 1;
}

/* Each is followed by -1: the stores do not say how long it has waited. */
static void add_waiters(long_reply *reply, const ilk__contended_state *state,
                        size_t most, size_t count)
{
    const ilk__contended_entry *first =
        state->entries ? state->entries + listed_holders(state, most) : NULL;

    for (size_t i = 0; i < count; i++) {
        add_entry(reply, &first[i]);
        add_int(reply, -1);
    }
}

static void add_reader(long_reply *reply, const ilk__contended_entry *reader)
{
    add_text(reply, reader->token);
    add_text(reply, reader->who);
    add_int(reply, reader->fence);
    add_int(reply, reader->since_ms);
    add_int(reply, reader->lease_ms);
}

/* See lock_inspect.lua. Readers have the value that no token has. */
void ilk__reply_lock_state(ilk__gateway_request *request,
                           const ilk__contended_state *state, size_t most)
{
    static const ilk__contended_entry nobody = {.lease_ms = -2};
    static const ilk__span marker = {"ilk:readers", 11};
    int is_held = state->holders > 0;
    const ilk__contended_entry *holder = is_held ? state->entries : &nobody;
    int reads = is_held && holder->kind == ILK__CONTENDER_READER;
    size_t readers = reads ? smaller(state->holders, most - 1) : 0,
           waiters = listed_waiters(state, most);
    long_reply reply = begin(request, is_held ? ILK__CODE_HELD : ILK__CODE_FREE,
                             12 + 5 * readers + 2 * waiters);
    const ilk__span value = reads ? marker : holder->token;

    add_text(&reply,
             is_held ? (ilk__span){"string", 6} : (ilk__span){"none", 4});
    add_text(&reply, value);
    add_int(&reply, holder->lease_ms);
    add_int(&reply, ilk__contention_now_us());
    add_int(&reply, holder->fence);
    add_text(&reply, value);
    add_int(&reply, holder->since_ms);
    add_text(&reply, holder->who);
    add_int(&reply, (int64_t)state->waiters);
    add_int(&reply, reads ? (int64_t)state->holders : 0);
    add_text(&reply, (ilk__span){"", 0});
    add_int(&reply, (int64_t)readers);
    for (size_t i = 0; i < readers; i++)
        add_reader(&reply, &state->entries[i]);
    add_waiters(&reply, state, most, waiters);
    send(&reply);
}

static void add_holder(long_reply *reply, const ilk__contended_entry *holder)
{
    add_text(reply, holder->token);
    add_text(reply, holder->who);
    add_int(reply, holder->permits);
    add_int(reply, holder->fence);
    add_int(reply, holder->since_ms);
    add_int(reply, holder->lease_ms);
}

/* See semaphore_inspect.lua. More than `most` were read, to add up the permits. */
void ilk__reply_semaphore_state(ilk__gateway_request *request,
                                const ilk__contended_state *state, size_t read,
                                size_t most)
{
    size_t known = listed_holders(state, read), holders = smaller(known, most),
           waiters = smaller(listed_waiters(state, read), most);
    int64_t used = 0, fence = 0;
    long_reply reply =
        begin(request, state->holders ? ILK__CODE_HELD : ILK__CODE_FREE,
              7 + 6 * holders + 2 * waiters);

    for (size_t i = 0; i < known; i++) {
        const ilk__contended_entry *one = &state->entries[i];

        used += one->permits < INT64_MAX - used ? one->permits : 0;
        if (one->fence > fence)
            fence = one->fence;
    }
    add_int(&reply, state->limit);
    add_int(&reply, used);
    add_int(&reply, ilk__contention_now_us());
    add_int(&reply, fence);
    add_int(&reply, (int64_t)state->waiters);
    add_int(&reply, (int64_t)state->holders);
    add_int(&reply, (int64_t)holders);
    for (size_t i = 0; i < holders; i++)
        add_holder(&reply, &state->entries[i]);
    add_waiters(&reply, state, read, waiters);
    send(&reply);
}

/* See election_inspect.lua; without candidates as election_observe.lua. */
void ilk__reply_election_state(ilk__gateway_request *request, int64_t term,
                               const ilk__contended_state *state, size_t most,
                               int has_candidates)
{
    static const ilk__contended_entry nobody = {0};
    int leads = state->holders > 0;
    const ilk__contended_entry *leader = leads ? state->entries : &nobody;
    size_t waiters = has_candidates ? listed_waiters(state, most) : 0;
    long_reply reply =
        begin(request, ILK__CODE_STATE, has_candidates ? 9 + 2 * waiters : 8);

    add_int(&reply, term);
    add_int(&reply, leads ? state->version : 0);
    add_int(&reply, leads);
    add_int(&reply, leader->lease_ms);
    add_int(&reply, leader->since_ms);
    add_text(&reply, leader->token);
    add_text(&reply, leader->who);
    add_text(&reply, leads ? state->value : (ilk__span){"", 0});
    if (has_candidates)
        add_int(&reply, (int64_t)state->waiters);
    add_waiters(&reply, state, most, waiters);
    send(&reply);
}

/* ---- messages ------------------------------------------------------------ */

static int add(ilk__buf *buf, ilk__bytes bytes)
{
    return !ilk__buf_add(buf, bytes.data, bytes.len);
}

static int add_words(ilk__buf *buf, const char *words)
{
    return !ilk__buf_add(buf, words, strlen(words));
}

/* Without memory no message is sent: the next refresh shows the new state. */
static void publish(const ilk__contention *contention, ilk__bytes client,
                    const ilk__buf *message)
{
    ilk__buf channel = {0};

    if (add_words(&channel, "ilk:inbox:") && add(&channel, client))
        (void)ilk__gateway_publish(
            contention->gateway, (ilk__span){NULL, 0},
            (ilk__span){ilk__buf_data(&channel), ilk__buf_len(&channel)},
            (ilk__span){ilk__buf_data(message), ilk__buf_len(message)});
    ilk__buf_free(&channel);
}

void ilk__send_grant(const ilk__contender *contender)
{
    char numbers[96];
    ilk__buf message = {0};

    snprintf(numbers, sizeof numbers, " %" PRId64 " %" PRId64 " %" PRId64 " ",
             contender->fence, lease_left(contender), ilk__contention_now_us());
    if (add_words(&message, "1 grant ") && add(&message, contender->waiter)
        && add_words(&message, " ") && add(&message, contender->token)
        && add_words(&message, numbers) && add(&message, contender->of->key))
        publish(contender->of->contention, contender->client, &message);
    ilk__buf_free(&message);
}

void ilk__send_wake(const ilk__contention *contention, ilk__bytes client,
                    ilk__bytes waiter, ilk__bytes key)
{
    ilk__buf message = {0};

    if (add_words(&message, "1 wake ") && add(&message, waiter)
        && add_words(&message, " ") && add(&message, key))
        publish(contention, client, &message);
    ilk__buf_free(&message);
}

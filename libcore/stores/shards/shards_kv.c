/* SPDX-License-Identifier: MIT */
/*
 * shards_kv.c -- to get and to put a replicated value: Gifford, "Weighted Voting for
 * Replicated Data", 1979, with the read repair of Attiya, Bar-Noy and Dolev, "Sharing
 * Memory Robustly in Message-Passing Systems", 1995. The rules are those of
 * tests/model/replicated_value.pml.
 *
 *     get   READS    kv_read to all servers of the key. When `read` have replied, the
 *                    newest copy is the answer
 *           REPAIRS  unless some of these have an older one: they get it first
 *     put   READS    as above, to choose a greater version (not with `fast`)
 *           WRITES   all servers of the key get it. When `write` have it, or a newer
 *                    one, it is done
 *
 *     WAITS <-> READS --> REPAIRS --> ENDED
 *       |         +-----> WRITES -------^
 *       +-- fast ---------^
 *
 * Replies that come later still count for repairs: a server that had an older copy gets
 * the newest one. The reply of a server that returns (shards_marks.c) is no answer, but the
 * server gets what it lacks.
 */
#include "shards_internal.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "gateway/register_replies.h"
#include "redis/script.h"

#include <stdio.h>
#include <string.h>

/* The arguments of kv_put, and what its reply says about an earlier copy. */
enum { PUT_TOKEN, PUT_TEXT, PUT_FAST };
enum { MAY_HAVE_WRITTEN = -1, HAD_NOT_WRITTEN = 0, HAD_WRITTEN = 1 };

typedef enum phase { WAITS, READS, REPAIRS, WRITES, ENDED } phase;

/* A server of the key, as far as this request knows. */
typedef enum copy_state {
    IS_NOT_ASKED,
    IS_ASKED,
    HAS_REPLIED,
    HAS_FAILED,
    GETS_NEWEST, /* it had an older one */
    HAS_NEWEST
} copy_state;

struct ilk__value_request {
    ilk__value_request *next, *previous;
    ilk__shards *shards;
    ilk__gateway_request *request; /* NULL: it has its reply */
    phase is;
    int is_put, is_fast;
    int64_t began;
    /* copies, which outlive the request */
    ilk__buf record; /* its key */
    ilk__buf token;  /* of a delete */
    size_t count;    /* of copies */
    ilk__shards_server *servers[ILK__SHARDS_COPIES];
    copy_state states[ILK__SHARDS_COPIES];
    ilk__reply *replies[ILK__SHARDS_COPIES]; /* of kv_read */
    size_t calls;                            /* without a reply */
    int newest;                              /* of the copies; -1: not chosen */
    int64_t version;                         /* of a put */
    int64_t how;             /* of a put: MAY_HAVE_WRITTEN ... */
    char why[ILK_ERROR_MAX]; /* a server's error */
};

/* ---- their lives --------------------------------------------------------- */

static void dispose(ilk__value_request *one)
{
    *(one->previous ? &one->previous->next : &one->shards->values) = one->next;
    if (one->next)
        one->next->previous = one->previous;
    for (size_t i = 0; i < one->count; i++)
        ilk__reply_free(one->replies[i]);
    ilk__buf_free(&one->record);
    ilk__buf_free(&one->token);
    ilk__free(one);
}

static void dispose_if_idle(ilk__value_request *one)
{
    if (!one->request && !one->calls)
        dispose(one);
}

static void end(ilk__value_request *one)
{
    one->request = NULL;
    one->is = ENDED;
}

static void end_with(ilk__value_request *one, const char *error)
{
    ilk__gateway_reply_error(one->request, error);
    end(one);
}

static ilk__bytes record_of(const ilk__value_request *one)
{
    return (ilk__bytes){(char *)ilk__buf_data(&one->record),
                        ilk__buf_len(&one->record)};
}

static ilk__span arg_of(const ilk__value_request *one, size_t index)
{
    const ilk__bytes word = ilk__gateway_arg(one->request, index);

    return (ilk__span){word.data, word.len};
}

static size_t count(const ilk__value_request *one, copy_state state)
{
    size_t number = 0;

    for (size_t i = 0; i < one->count; i++)
        number += one->states[i] == state;
    return number;
}

/* ---- errors -------------------------------------------------------------- */

/* A server of the key that is missing, or -1. */
static int find_missing(const ilk__value_request *one)
{
    for (size_t i = 0; i < one->count; i++)
        if (!ilk__shards_is_up(one->servers[i])
            || ilk__shards_returns(one->servers[i]))
            return (int)i;
    return -1;
}

static void add_reason(const ilk__value_request *one, char text[ILK_ERROR_MAX],
                       int len)
{
    const int missing = find_missing(one);
    const size_t room = ILK_ERROR_MAX - (size_t)len;

    if (one->why[0])
        snprintf(text + len, room, "; %.120s", one->why);
    else if (missing >= 0)
        snprintf(text + len, room, "; %.60s: %.120s",
                 ilk__shards_address(one->servers[missing]),
                 ilk__shards_why(one->servers[missing]));
}

static void lack_replies(ilk__value_request *one, size_t counted)
{
    char text[ILK_ERROR_MAX];
    const int len =
        snprintf(text, sizeof text,
                 "NOQUORUM %zu of %zu copies could be read, and %d must be",
                 counted, one->count, (int)one->shards->read);

    add_reason(one, text, len);
    end_with(one, text);
}

/* A server without a reply may have the value all the same. */
static void lack_copies(ilk__value_request *one, size_t have, size_t needed)
{
    char text[ILK_ERROR_MAX];
    const int len = snprintf(text, sizeof text,
                             "NOQUORUM the value is on %zu of %zu servers, and "
                             "must be on %zu; it may "
                             "be on %zu",
                             have, one->count, needed,
                             one->count - count(one, IS_NOT_ASKED));

    add_reason(one, text, len);
    end_with(one, text);
}

/* ---- calls --------------------------------------------------------------- */

static void go_on(ilk__value_request *one);
static ilk__node_call_ended answered;

static void send_reads(ilk__value_request *one)
{
    one->is = READS;
    for (size_t i = 0; i < one->count; i++)
        if (ilk__shards_is_up(one->servers[i])
            && ilk__shards_copy_send_read(one->servers[i], record_of(one),
                                          answered, one)) {
            one->states[i] = IS_ASKED;
            one->calls++;
        }
    go_on(one);
}

static void send_writes(ilk__value_request *one)
{
    one->is = WRITES;
    for (size_t i = 0; i < one->count; i++) {
        one->states[i] = IS_NOT_ASKED;
        if (ilk__shards_is_up(one->servers[i])
            && ilk__shards_copy_send_write(
                one->servers[i], record_of(one), one->version,
                arg_of(one, PUT_TOKEN), arg_of(one, PUT_TEXT), answered, one)) {
            one->states[i] = IS_ASKED;
            one->calls++;
        }
    }
    go_on(one);
}

/* All servers have the record that the key was deleted: it may end there. Where a reply
 * is missing, it stays until a pass of ilk_kv_move(). */
static void settle_if_everywhere(ilk__value_request *one)
{
    const ilk__span token = {ilk__buf_data(&one->token),
                             ilk__buf_len(&one->token)};

    if (!token.len || one->is < WRITES || count(one, HAS_NEWEST) < one->count)
        return;
    for (size_t i = 0; i < one->count; i++)
        one->calls += (size_t)ilk__shards_copy_send_settle(
            one->servers[i], record_of(one), one->version, token, answered,
            one);
    ilk__buf_free(&one->token);
}

/* Give the newest copy to a server that has replied with an older one. */
static void repair(ilk__value_request *one, size_t i)
{
    const ilk__shards_copy newest =
                               ilk__shards_copy_of(one->replies[one->newest]),
                           there = ilk__shards_copy_of(one->replies[i]);

    if (!ilk__shards_copy_is_lacking(&there, &newest)) {
        one->states[i] = HAS_NEWEST;
        return;
    }
    one->states[i] = HAS_FAILED;
    if (ilk__shards_copy_send(one->servers[i], record_of(one), &newest,
                              answered, one)) {
        one->states[i] = GETS_NEWEST;
        one->calls++;
    }
}

/* ---- replies ------------------------------------------------------------- */

static size_t index_of(const ilk__value_request *one,
                       const ilk__shards_server *server)
{
    size_t i = 0;

    while (one->servers[i] != server)
        i++;
    return i;
}

/* Returns 1 when it keeps the reply. */
static int take_read(ilk__value_request *one, size_t i, ilk__reply *reply)
{
    if (!reply || reply->type == ILK__REPLY_ERROR) {
        if (one->is == READS || one->is == REPAIRS)
            one->states[i] = HAS_FAILED;
        return 0;
    }
    if (one->is == WRITES || (one->is == ENDED && one->newest < 0))
        return 0; /* a put has gone on without it */
    one->replies[i] = reply;
    one->states[i] = HAS_REPLIED;
    if (one->newest >= 0)
        repair(one, i);
    return 1;
}

static int answered(void *at, void *owner, const ilk__node_call *call,
                    ilk__reply *reply)
{
    ilk__value_request *one = owner;
    const size_t i = index_of(one, at);
    int keeps = 0;

    one->calls--;
    if (reply && reply->type == ILK__REPLY_ERROR)
        snprintf(one->why, sizeof one->why, "%s", reply->str);
    if (call->script == ILK__SCRIPT_KV_READ)
        keeps = take_read(one, i, reply);
    else if (call->script == ILK__SCRIPT_KV_WRITE)
        one->states[i] =
            reply && reply->type != ILK__REPLY_ERROR ? HAS_NEWEST : HAS_FAILED;
    if (one->request)
        go_on(one);
    settle_if_everywhere(one);
    dispose_if_idle(one);
    return keeps;
}

/* ---- reading ------------------------------------------------------------- */

static int counts(const ilk__value_request *one, size_t i)
{
    return one->states[i] == HAS_REPLIED
           && !ilk__shards_returns(one->servers[i]);
}

static size_t count_replies(const ilk__value_request *one)
{
    size_t number = 0;

    for (size_t i = 0; i < one->count; i++)
        number += (size_t)counts(one, i);
    return number;
}

static int find_newest(const ilk__value_request *one)
{
    ilk__shards_copy best, copy;
    int found = -1;

    for (size_t i = 0; i < one->count; i++) {
        if (!counts(one, i))
            continue;
        copy = ilk__shards_copy_of(one->replies[i]);
        if (found < 0 || ilk__shards_copy_is_newer(&copy, &best)) {
            best = copy;
            found = (int)i;
        }
    }
    return found;
}

static void reply_value(ilk__value_request *one)
{
    const ilk__shards_copy copy =
        ilk__shards_copy_of(one->replies[one->newest]);
    const ilk__register_state state = {.version = copy.version,
                                       .has_value = copy.has_value,
                                       .value = copy.value};

    ilk__register_reply_state(one->request, &state);
    end(one);
}

/* A greater version than all that were found. A put whose first copy was read goes on
 * under that copy's version. Where another value was read, or nothing, a first copy may
 * have been written and overwritten: only the core knows whether it has sent one. 0: no
 * version is left. */
static void choose_version(ilk__value_request *one)
{
    const ilk__span token = arg_of(one, PUT_TOKEN);
    int64_t above = 0;

    for (size_t i = 0; i < one->count; i++) {
        const ilk__shards_copy copy = one->replies[i]
                                          ? ilk__shards_copy_of(one->replies[i])
                                          : (ilk__shards_copy){.version = 0};

        if (copy.version && copy.token.len == token.len
            && memcmp(copy.token.at, token.at, token.len) == 0) {
            one->version = copy.version;
            one->how = HAD_WRITTEN;
            return;
        }
        if (copy.version > above)
            above = copy.version;
    }
    one->how = above || one->is_fast ? MAY_HAVE_WRITTEN : HAD_NOT_WRITTEN;
    one->version = ilk__shards_next_version(one->shards, above);
}

static void begin_writes(ilk__value_request *one)
{
    choose_version(one);
    if (one->version)
        send_writes(one);
    else
        end_with(one, "ILKFENCE no version can rise above the one on record");
}

/* Servers that have replied with an older copy get the newest one before the answer: else
 * a later get, with the replies of others, could find the older one again. */
static void begin_repairs(ilk__value_request *one)
{
    one->newest = find_newest(one);
    one->is = REPAIRS;
    for (size_t i = 0; i < one->count; i++)
        if (one->states[i] == HAS_REPLIED)
            repair(one, i);
    go_on(one);
}

/* Servers that the request needs are still connecting. In a new ring it needs all of
 * them: one that comes after the first put counts as wiped. */
static int must_wait(const ilk__value_request *one, int64_t now)
{
    const ilk__shards *shards = one->shards;
    size_t up = 0, coming = 0;

    for (size_t i = 0; i < one->count; i++) {
        const ilk__shards_server *server = one->servers[i];

        if (server->is_doubted || ilk__shards_may_come(server))
            coming++;
        else
            up += (size_t)ilk__shards_is_up(server);
    }
    if (now >= one->began + shards->coming_ms)
        return 0;
    return ilk__shards_gathers(shards)
           || (coming
               && (up < (size_t)shards->read || up < (size_t)shards->write));
}

/* Too few replies count, but the mark of another server is on its way. */
static void read_again(ilk__value_request *one)
{
    one->is = WAITS;
    for (size_t i = 0; i < one->count; i++) {
        ilk__reply_free(one->replies[i]);
        one->replies[i] = NULL;
        one->states[i] = IS_NOT_ASKED;
    }
}

static void decide_reads(ilk__value_request *one)
{
    const size_t counted = count_replies(one);

    if (counted >= (size_t)one->shards->read && one->is_put)
        begin_writes(one);
    else if (counted >= (size_t)one->shards->read)
        begin_repairs(one);
    else if (!count(one, IS_ASKED) && must_wait(one, ilk__now_ms()))
        read_again(one);
    else if (!count(one, IS_ASKED))
        lack_replies(one, counted);
}

/* So many servers must have it that a later get reads one of them. With a small `read`
 * that would be most of them: then `read` servers suffice. */
static void decide_repairs(ilk__value_request *one)
{
    const ilk__shards *shards = one->shards;
    const int64_t met = shards->copies - shards->read + 1,
                  needed = met < shards->read ? met : shards->read;
    size_t have = 0, open = 0;

    for (size_t i = 0; i < one->count; i++) {
        if (ilk__shards_returns(one->servers[i]))
            continue;
        have += one->states[i] == HAS_NEWEST;
        open += one->states[i] == GETS_NEWEST || one->states[i] == IS_ASKED;
    }
    if (have >= (size_t)needed)
        reply_value(one);
    else if (!open)
        lack_copies(one, have, (size_t)needed);
}

static void decide_writes(ilk__value_request *one)
{
    const size_t have = count(one, HAS_NEWEST),
                 needed = (size_t)one->shards->write;

    if (have >= needed) {
        ilk__gateway_reply(one->request, ILK__CODE_WRITTEN, "ii", one->version,
                           one->how);
        end(one);
    } else if (!count(one, IS_ASKED)) {
        lack_copies(one, have, needed);
    }
}

static void go_on(ilk__value_request *one)
{
    switch (one->is) {
    case READS: decide_reads(one); break;
    case REPAIRS: decide_repairs(one); break;
    case WRITES: decide_writes(one); break;
    case WAITS:
    case ENDED: break;
    }
}

/* ---- beginning ----------------------------------------------------------- */

static void start(ilk__value_request *one, int64_t now)
{
    if (must_wait(one, now))
        return;
    if (one->is_fast)
        begin_writes(one);
    else
        send_reads(one);
}

/* Of a delete, for settle_if_everywhere(). 0: no memory. */
static int copy_token(ilk__value_request *one)
{
    const ilk__span token =
        one->is_put ? arg_of(one, PUT_TOKEN) : (ilk__span){NULL, 0};

    if (!one->is_put || !ilk__text_equals(arg_of(one, PUT_TEXT), "d"))
        return 1;
    return !ilk__buf_add(&one->token, token.at, token.len);
}

static ilk__value_request *new_request(ilk__shards *shards,
                                       ilk__gateway_request *request)
{
    const ilk__bytes record = ilk__gateway_word(request->keys[0]);
    ilk__value_request *one = ilk__calloc(1, sizeof *one);

    if (!one)
        return NULL;
    one->shards = shards;
    one->request = request;
    one->began = ilk__now_ms();
    one->newest = -1;
    one->is_put = request->script == ILK__SCRIPT_KV_PUT;
    one->is_fast =
        one->is_put && ilk__gateway_number_arg(request, PUT_FAST) == 1;
    one->count = ilk__shards_servers_of(shards, record, one->servers);
    one->next = shards->values;
    if (one->next)
        one->next->previous = one;
    shards->values = one;
    if (one->count && !ilk__buf_add(&one->record, record.data, record.len)
        && copy_token(one))
        return one;
    dispose(one);
    return NULL;
}

void ilk__shards_value(ilk__shards *shards, ilk__gateway_request *request)
{
    ilk__value_request *one = new_request(shards, request);

    if (!one) {
        ilk__gateway_break(request);
        return;
    }
    ilk__shards_look(shards);
    start(one, one->began);
    dispose_if_idle(one);
}

/* ---- time ---------------------------------------------------------------- */

void ilk__shards_fire_values(ilk__shards *shards, int64_t now)
{
    ilk__value_request *next;

    for (ilk__value_request *one = shards->values; one; one = next) {
        next = one->next;
        if (one->is == WAITS)
            start(one, now);
        dispose_if_idle(one);
    }
}

int64_t ilk__shards_values_due(const ilk__shards *shards)
{
    int64_t until = ILK__FOREVER;

    for (const ilk__value_request *one = shards->values; one; one = one->next)
        if (one->is == WAITS)
            until = ilk__sooner(until, one->began + one->shards->coming_ms);
    return until;
}

/* The servers are closed: no call is left. */
void ilk__shards_free_values(ilk__shards *shards)
{
    while (shards->values) {
        if (shards->values->request)
            ilk__gateway_break(shards->values->request);
        dispose(shards->values);
    }
}

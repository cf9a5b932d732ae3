/* SPDX-License-Identifier: MIT */
/*
 * shards_store.c -- a store over the servers of a ring: each key is on the one that the ring
 * gives it. Reads go there. A transaction that writes on one server is committed there in
 * one step; one that writes on several in two phases: Gray, "Notes on Data Base Operating
 * Systems", 1978. The rules are those of tests/model/two_phase.pml.
 *
 *     PREPARES   each server writes an intent for each of its keys, or refuses
 *     DECIDES    the server to which the ring gives the transaction's id notes down that
 *                it is committed, unless somebody has aborted it there
 *     FINISHES   each server turns its intents into versions. The caller has its reply
 *
 * A transaction that a server refuses is aborted on the server that decides on it, its
 * home: unless it is committed there, by an earlier copy of the request whose reply was
 * lost. No intent is dropped before the home has replied.
 *
 * One that a server misses stays as it is, because the core sends a copy of its request
 * while the outage lasts. Without a copy it is aborted as well, LEFT_MS later.
 *
 * A request that meets an intent waits a little for its end. After that it asks the home
 * for the decision, which aborts a transaction that has none, and finishes the intent. So
 * no intent ends by time, and none stays when a client has died.
 *
 * A transaction waits only for the intents of earlier ones, and is refused where a later
 * one has an intent: so no two wait for each other.
 *
 * Timestamps follow the fastest of the servers' clocks, as far as this client knows them,
 * so that a server whose clock is behind gives none that are old elsewhere. Each server
 * gives numbers of its own (scripts/include/store_timestamp.lua).
 */
#include "shards_store_internal.h"

#include "base/alloc.h"
#include "base/token.h"
#include "gateway/register_replies.h"
#include "redis/script.h"

#include <interlock/store.h>

#include <stdio.h>
#include <string.h>

enum {
    /* How long a request waits for the end of another transaction; at most half of its
     * own time, so that the rest is left to end that transaction. */
    OTHERS_MS = 1500,
    LEFT_MS = 1000, /* over the longest pause of the core's before a copy */
    LEFT_MOST_MS = 60000,
    PAUSE_FIRST_MS = 1,
    PAUSE_MOST_MS = 16
};

/* As long as scripts/include/store.lua keeps former versions. */
#define KEPT_US (INT64_C(1000000) * 60)

/* ---- their lives --------------------------------------------------------- */

static void dispose(ilk__shards_store_request *one)
{
    *(one->previous ? &one->previous->next : &one->shards->store_requests) =
        one->next;
    if (one->next)
        one->next->previous = one->previous;
    ilk__shards_store_free_words(one);
    ilk__free(one);
}

static void dispose_if_idle(ilk__shards_store_request *one)
{
    if (!one->request && !one->calls && one->is != ILK__STORE_LEFT)
        dispose(one);
}

static void end(ilk__shards_store_request *one)
{
    one->request = NULL;
    if (one->is != ILK__STORE_FINISHES)
        one->is = ILK__STORE_ENDED;
}

static void end_with(ilk__shards_store_request *one, const char *error)
{
    ilk__gateway_reply_error(one->request, error);
    end(one);
}

static void write_missing(const ilk__shards_store_request *one,
                          const ilk__shards_server *server,
                          char out[ILK_ERROR_MAX])
{
    if (one->why[0])
        memcpy(out, one->why, ILK_ERROR_MAX);
    else
        snprintf(out, ILK_ERROR_MAX, "NOQUORUM %.60s cannot be reached: %.140s",
                 ilk__shards_address(server),
                 server->why.code ? server->why.msg : "it does not answer");
}

static void end_with_code(ilk__shards_store_request *one, int code)
{
    ilk__gateway_reply(one->request, code, "");
    end(one);
}

static void end_refused(ilk__shards_store_request *one)
{
    if (one->refusal == ILK__CODE_STALE) {
        ilk__gateway_reply(one->request, ILK__CODE_STALE, "i", one->later);
        end(one);
    } else {
        end_with_code(one, one->refusal);
    }
}

static void end_aborted(ilk__shards_store_request *one)
{
    if (one->error[0])
        end_with(one, one->error);
    else
        end_refused(one);
}

/* ---- commits that may have been executed --------------------------------- */

/* Whether a copy of the request may have committed it: an earlier one, whose reply was lost
 * on its way to this client or to the caller, or one that is under way. */
static int may_be_committed(const ilk__shards_store_request *one)
{
    if (ilk__shards_may_have_committed(&one->shards->commits, one->id))
        return 1;
    for (const ilk__shards_store_request *other = one->shards->store_requests;
         other; other = other->next)
        if (other != one && other->request
            && other->script == ILK__SCRIPT_STORE_COMMIT
            && strcmp(other->id, one->id) == 0)
            return 1;
    return 0;
}

static void reply_written(ilk__shards_store_request *one)
{
    ilk__shards_note_commit(one->shards, one->id);
    ilk__gateway_reply(one->request, ILK__CODE_WRITTEN, "i", one->at);
    end(one);
}

/* The core repeats it under its id, and gets the result. */
static void end_unsure(ilk__shards_store_request *one)
{
    ilk__gateway_break(one->request);
    end(one);
}

/* This copy was not executed: with `error`, or the refusal, the caller learns that nothing
 * was written. */
static void end_not_executed(ilk__shards_store_request *one)
{
    if (may_be_committed(one))
        end_unsure(one);
    else
        end_aborted(one);
}

/* The request cannot go on, for the reason in `error`. */
static void end_failed(ilk__shards_store_request *one)
{
    if (one->script == ILK__SCRIPT_STORE_COMMIT)
        end_not_executed(one);
    else
        end_with(one, one->error);
}

static void end_at(ilk__shards_store_request *one,
                   const ilk__shards_server *server)
{
    write_missing(one, server, one->error);
    end_failed(one);
}

/* A commit, or its decision, has no reply, or a server's error. */
static void end_unanswered(ilk__shards_store_request *one)
{
    if (one->why[0]) {
        memcpy(one->error, one->why, sizeof one->error);
        end_not_executed(one);
    } else {
        ilk__shards_note_commit(one->shards, one->id);
        end_unsure(one);
    }
}

/* ---- time ---------------------------------------------------------------- */

static int is_too_old(const ilk__shards_store_request *one)
{
    return one->at && one->at < ilk__shards_clock_us(one->shards) - KEPT_US;
}

static void note_timestamp(ilk__shards_store_request *one, int64_t at)
{
    one->at = at;
    if (one->shards->last_timestamp < at)
        one->shards->last_timestamp = at;
}

/* The next transaction gets a timestamp above the one that was in the way. A faulty record
 * is left out: it must not raise all timestamps of this client. */
static void note_refusal(ilk__shards_store_request *one,
                         const ilk__reply *reply)
{
    one->refusal = ilk__script_code(reply);
    if (one->refusal != ILK__CODE_STALE)
        return;
    one->later = ilk__script_int(reply, 0);
    if (one->shards->last_timestamp < one->later
        && one->later
               < ilk__shards_clock_us(one->shards) + ILK__SHARDS_AHEAD_US)
        one->shards->last_timestamp = one->later;
}

/* ---- pauses, and other transactions -------------------------------------- */

static void start(ilk__shards_store_request *one, int64_t now);
static void abort_all(ilk__shards_store_request *one);
static void fail_preparing(ilk__shards_store_request *one);
static void fail_at(ilk__shards_store_request *one,
                    const ilk__shards_server *server);

/* 0: it is tried again in each turn. */
static void pause_until(ilk__shards_store_request *one, int64_t retry_at)
{
    one->was = one->is;
    one->is = ILK__STORE_WAITS;
    one->retry_at = retry_at;
}

/* An intent of another transaction is in the way: note it for wait_for_other(), which waits
 * for its end, and after a while ends it. `met_at` stays that of the first one, because
 * several clients may have died: after so long a wait, further ones are ended at once. */
static void meet(ilk__shards_store_request *one, ilk__shards_store_part *at,
                 const ilk__reply *reply)
{
    const ilk__reply *id = ilk__script_item(reply, 1),
                     *keys = ilk__script_item(reply, 3);
    const int64_t now = ilk__now_ms();

    if (id->len > ILK__STORE_ID_MOST || strlen(id->str) != id->len) {
        snprintf(one->error, sizeof one->error,
                 "ERR an intent of no transaction");
        end_failed(one);
        return;
    }
    one->met = at;
    ilk__buf_drop(&one->other_keys, ilk__buf_len(&one->other_keys));
    (void)ilk__buf_add(&one->other_keys, keys->str, keys->len);
    if (!one->other[0]) {
        one->met_at = now - ilk__script_int(reply, 2);
        one->pause_ms = PAUSE_FIRST_MS;
    }
    memcpy(one->other, id->str, id->len + 1);
}

/* Another request of this client ends it already. */
static int is_recovered_by_another(const ilk__shards_store_request *one)
{
    for (const ilk__shards_store_request *other = one->shards->store_requests;
         other; other = other->next)
        if (other != one && other->is == ILK__STORE_RECOVERS
            && strcmp(other->other, one->other) == 0)
            return 1;
    return 0;
}

static void recover(ilk__shards_store_request *one)
{
    ilk__shards_server *home =
        ilk__shards_store_home_of(one->shards, one->other);

    one->was = one->is;
    one->is = ILK__STORE_RECOVERS;
    if (!ilk__shards_store_send_outcome(one, home, one->other, 0))
        fail_at(one, home);
}

/* The other transaction is undecided, and no time is left. */
static void give_up(ilk__shards_store_request *one)
{
    snprintf(
        one->error, sizeof one->error,
        "NOQUORUM another transaction that has written a key is undecided, "
        "and %.60s knows whether it is committed",
        ilk__shards_address(
            ilk__shards_store_home_of(one->shards, one->other)));
    if (one->is == ILK__STORE_PREPARES)
        fail_preparing(one);
    else
        end_failed(one);
}

static void wait_for_other(ilk__shards_store_request *one)
{
    const int64_t now = ilk__now_ms();

    if (now >= one->until) {
        give_up(one);
        return;
    }
    if (now >= one->met_at
                   + ilk__sooner(OTHERS_MS, one->shards->patience_ms / 2)
        && !is_recovered_by_another(one)) {
        recover(one);
        return;
    }
    pause_until(one, now + 1 + (int64_t)ilk__jitter((uint32_t)one->pause_ms));
    one->pause_ms =
        2 * one->pause_ms < PAUSE_MOST_MS ? 2 * one->pause_ms : PAUSE_MOST_MS;
}

static void take_recovery(ilk__shards_store_request *one,
                          const ilk__reply *reply)
{
    one->is_committed = ilk__script_int(reply, 0) == ILK_TXN_COMMITTED;
    if (!ilk__shards_store_settle(one))
        fail_at(one, one->met->server);
}

/* A server has ended the other transaction's intents, or cannot be reached. With the last
 * one this request goes on, and the home may forget a commit that all have ended. */
static void take_settled(ilk__shards_store_request *one,
                         const ilk__shards_server *server, int is_done)
{
    if (!ilk__shards_store_is_settled(one, server, is_done))
        return;
    if (one->is_met_left) {
        fail_at(one, one->met->server);
        return;
    }
    if (one->is_committed && !one->is_left)
        ilk__shards_store_send_forget(one, one->other);
    one->is = one->was;
    start(one, ilk__now_ms());
}

/* ---- reading ------------------------------------------------------------- */

static void take_state(ilk__shards_store_request *one, const ilk__reply *reply)
{
    const ilk__reply *value = ilk__script_item(reply, 2);
    const ilk__register_state state = {.version = ilk__script_int(reply, 0),
                                       .has_value =
                                           ilk__script_int(reply, 1) == 1,
                                       .value = {value->str, value->len}};

    note_timestamp(one, state.version);
    ilk__register_reply_state(one->request, &state);
    end(one);
}

static void take_read(ilk__shards_store_request *one, const ilk__reply *reply)
{
    switch (ilk__script_code(reply)) {
    case ILK__CODE_STATE: take_state(one, reply); break;
    case ILK__CODE_BUSY:
        meet(one, &one->parts[0], reply);
        if (one->request)
            wait_for_other(one);
        break;
    default: end_with_code(one, ilk__script_code(reply));
    }
}

/* ---- committing ---------------------------------------------------------- */

static size_t count(const ilk__shards_store_request *one, ilk__part_state state)
{
    size_t number = 0;

    for (size_t i = 0; i < one->part_count; i++)
        number += one->parts[i].is == state;
    return number;
}

/* The decision is known: each server with intents gets it. An intent that remains is
 * finished by a request that meets it. */
static void finish_all(ilk__shards_store_request *one, int is_committed)
{
    one->is = ILK__STORE_FINISHES;
    for (size_t i = 0; i < one->part_count; i++) {
        ilk__shards_store_part *at = &one->parts[i];

        if (is_committed)
            at->is = ilk__shards_store_send_finish(one, at, one->id, 1)
                         ? ILK__PART_ASKED
                         : ILK__PART_LOST;
        else if (at->is != ILK__PART_NEW || one->had_intents)
            (void)ilk__shards_store_send_finish(one, at, one->id, 0);
    }
}

/* Abort it, unless it is committed. Nothing is dropped before the home has replied or, if
 * it writes on one server only, that server. The caller then gets `error`, or the
 * refusal. */
static void abort_all(ilk__shards_store_request *one)
{
    ilk__shards_server *knows =
        one->part_count > 1 ? ilk__shards_store_home_of(one->shards, one->id)
                            : one->parts[0].server;

    one->is = ILK__STORE_ABORTS;
    if (!ilk__shards_store_send_outcome(one, knows, one->id, 0))
        end_not_executed(one); /* and intents stay until a request meets them */
}

static void take_abort(ilk__shards_store_request *one, const ilk__reply *reply)
{
    const int64_t outcome = ilk__script_int(reply, 0);

    if (outcome != ILK_TXN_COMMITTED && outcome != ILK_TXN_ABORTED) {
        end_not_executed(one);
        return;
    }
    if (one->part_count > 1)
        finish_all(one, outcome == ILK_TXN_COMMITTED);
    if (outcome == ILK_TXN_COMMITTED)
        reply_written(one);
    else
        end_aborted(one);
}

static int may_have_intents(const ilk__shards_store_request *one)
{
    return one->had_intents || count(one, ILK__PART_NEW) < one->part_count;
}

/* For the reason in `error`. The caller learns that nothing is written; a copy of the
 * request goes on with the intents. */
static void fail_preparing(ilk__shards_store_request *one)
{
    if (one->why[0] || may_be_committed(one)) {
        abort_all(one);
        return;
    }
    end_aborted(one);
    if (may_have_intents(one)) {
        one->is = ILK__STORE_LEFT;
        one->retry_at = ilk__now_ms() + LEFT_MS;
    }
}

/* Of the same transaction: nothing drops its intents while this copy is under way. */
static void take_over(ilk__shards_store_request *one)
{
    ilk__shards_store_request *next;

    for (ilk__shards_store_request *left = one->shards->store_requests; left;
         left = next) {
        next = left->next;
        if (left->is != ILK__STORE_LEFT || strcmp(left->id, one->id) != 0)
            continue;
        one->had_intents = 1;
        left->is = ILK__STORE_ENDED;
        dispose_if_idle(left);
    }
}

/* The home does not reply. In the end the intents stay for a request that meets them. */
static void leave_longer(ilk__shards_store_request *one, int64_t now)
{
    one->is =
        now < one->began + LEFT_MOST_MS ? ILK__STORE_LEFT : ILK__STORE_ENDED;
    one->retry_at = now + LEFT_MS;
}

static void drop_left(ilk__shards_store_request *one, int64_t now)
{
    one->is = ILK__STORE_DROPS;
    if (!ilk__shards_store_send_outcome(
            one, ilk__shards_store_home_of(one->shards, one->id), one->id, 0))
        leave_longer(one, now);
}

static void take_drop(ilk__shards_store_request *one, const ilk__reply *reply)
{
    one->is = ILK__STORE_ENDED;
    if (!reply)
        leave_longer(one, ilk__now_ms());
    else if (ilk__script_int(reply, 0) == ILK_TXN_ABORTED)
        finish_all(one, 0);
}

/* A server cannot be reached. */
static void fail_at(ilk__shards_store_request *one,
                    const ilk__shards_server *server)
{
    if (one->is != ILK__STORE_PREPARES
        && (one->is != ILK__STORE_RECOVERS
            || one->was != ILK__STORE_PREPARES)) {
        end_at(one, server);
        return;
    }
    write_missing(one, server, one->error);
    fail_preparing(one);
}

static void send_prepares(ilk__shards_store_request *one)
{
    one->is = ILK__STORE_PREPARES;
    for (size_t i = 0; i < one->part_count; i++) {
        ilk__shards_store_part *at = &one->parts[i];

        if (at->is == ILK__PART_READY)
            continue;
        (void)ilk__shards_store_send_versions(one, at,
                                              ILK__SCRIPT_STORE_PREPARE);
        if (!one->at)
            break; /* the first one gives the timestamp */
    }
}

static void go_on_preparing(ilk__shards_store_request *one);

static void decide(ilk__shards_store_request *one)
{
    if (ilk__shards_store_send_decision(one))
        one->is = ILK__STORE_DECIDES;
    else
        fail_at(one, ilk__shards_store_home_of(one->shards, one->id));
}

static ilk__shards_store_part *find_part(ilk__shards_store_request *one,
                                         ilk__part_state state)
{
    for (size_t i = 0; i < one->part_count; i++)
        if (one->parts[i].is == state)
            return &one->parts[i];
    return NULL;
}

/* Called again until all servers have replied, or cannot. */
static void go_on_preparing(ilk__shards_store_request *one)
{
    if (count(one, ILK__PART_ASKED))
        return;
    if (one->refusal) {
        abort_all(one);
    } else if (count(one, ILK__PART_LOST)) {
        fail_at(one, find_part(one, ILK__PART_LOST)->server);
    } else if (count(one, ILK__PART_BUSY)) {
        wait_for_other(one);
    } else if (count(one, ILK__PART_NEW)) {
        send_prepares(one); /* the timestamp is known now */
        go_on_preparing(one);
    } else {
        decide(one);
    }
}

static void take_prepared(ilk__shards_store_request *one,
                          ilk__shards_store_part *at, const ilk__reply *reply)
{
    switch (ilk__script_code(reply)) {
    case ILK__CODE_WRITTEN:
        at->is = ILK__PART_READY;
        if (!one->at)
            note_timestamp(one, ilk__script_int(reply, 0));
        break;
    case ILK__CODE_BUSY:
        at->is = ILK__PART_BUSY;
        meet(one, at, reply);
        break;
    default: at->is = ILK__PART_READY; note_refusal(one, reply);
    }
    if (one->request)
        go_on_preparing(one);
}

static void take_decision(ilk__shards_store_request *one,
                          const ilk__reply *reply)
{
    const int is_committed = ilk__script_code(reply) == ILK__CODE_WRITTEN;

    finish_all(one, is_committed);
    if (is_committed)
        reply_written(one);
    else
        end_with_code(one, ILK__CODE_REFUSED);
}

/* The home may forget the decision when all servers have finished. */
static void take_finished(ilk__shards_store_request *one,
                          ilk__shards_store_part *at, int is_done)
{
    if (!at || at->is != ILK__PART_ASKED)
        return;
    at->is = is_done ? ILK__PART_READY : ILK__PART_LOST;
    if (count(one, ILK__PART_READY) == one->part_count)
        ilk__shards_store_send_forget(one, one->id);
}

static void take_commit(ilk__shards_store_request *one, const ilk__reply *reply)
{
    switch (ilk__script_code(reply)) {
    case ILK__CODE_WRITTEN:
        note_timestamp(one, ilk__script_int(reply, 0));
        reply_written(one);
        break;
    case ILK__CODE_BUSY:
        meet(one, &one->parts[0], reply);
        if (one->request)
            wait_for_other(one);
        break;
    default: note_refusal(one, reply); end_refused(one);
    }
}

/* ---- outcomes ------------------------------------------------------------ */

/* A transaction that wrote on one server only is known there, and the request does not
 * name that server. So the call goes to all, after the home, which decides on those of
 * several. */
static void ask_others(ilk__shards_store_request *one)
{
    const ilk__shards_server *home =
        ilk__shards_store_home_of(one->shards, one->id);

    for (size_t i = 0; i < one->shards->ring_count && one->request; i++) {
        ilk__shards_server *server = &one->shards->servers[i];

        if (server != home
            && !ilk__shards_store_send_outcome(one, server, one->id,
                                               one->age_ms))
            end_at(one, server);
    }
}

static void take_outcome(ilk__shards_store_request *one,
                         const ilk__shards_server *server,
                         const ilk__reply *reply)
{
    const int64_t outcome = ilk__script_int(reply, 0);

    if (outcome == ILK_TXN_COMMITTED) {
        one->outcome = outcome;
    } else if (server == ilk__shards_store_home_of(one->shards, one->id)) {
        one->outcome = outcome;
        ask_others(one);
    } else if (outcome != ILK_TXN_ABORTED
               && one->outcome != ILK_TXN_COMMITTED) {
        one->outcome = outcome;
    }
    if (!one->request || (one->calls && one->outcome != ILK_TXN_COMMITTED))
        return;
    ilk__gateway_reply(one->request, ILK__CODE_STATE, "i", one->outcome);
    end(one);
}

/* ---- replies ------------------------------------------------------------- */

/* A reply that is an error, or missing. */
static void miss(ilk__shards_store_request *one, ilk__shards_server *server)
{
    ilk__shards_store_part *at = ilk__shards_store_part_of(one, server);

    switch (one->is) {
    case ILK__STORE_PREPARES:
        at->is = ILK__PART_LOST;
        go_on_preparing(one);
        break;
    case ILK__STORE_COMMITS:
    case ILK__STORE_DECIDES: end_unanswered(one); break;
    case ILK__STORE_ABORTS: end_not_executed(one); break;
    case ILK__STORE_RECOVERS: fail_at(one, server); break;
    case ILK__STORE_READS:
    case ILK__STORE_OUTCOMES: end_at(one, server); break;
    case ILK__STORE_FINISHES:
    case ILK__STORE_WAITS:
    case ILK__STORE_LEFT:
    case ILK__STORE_DROPS:
    case ILK__STORE_LOOKS:
    case ILK__STORE_ENDED: break;
    }
}

static void take(ilk__shards_store_request *one, ilk__shards_server *server,
                 const ilk__reply *reply)
{
    switch (one->is) {
    case ILK__STORE_READS: take_read(one, reply); break;
    case ILK__STORE_COMMITS: take_commit(one, reply); break;
    case ILK__STORE_PREPARES:
        take_prepared(one, ilk__shards_store_part_of(one, server), reply);
        break;
    case ILK__STORE_DECIDES: take_decision(one, reply); break;
    case ILK__STORE_ABORTS: take_abort(one, reply); break;
    case ILK__STORE_OUTCOMES: take_outcome(one, server, reply); break;
    case ILK__STORE_RECOVERS: take_recovery(one, reply); break;
    case ILK__STORE_FINISHES:
    case ILK__STORE_WAITS:
    case ILK__STORE_LEFT:
    case ILK__STORE_DROPS:
    case ILK__STORE_LOOKS:
    case ILK__STORE_ENDED: break;
    }
}

/* The reply of a home that has forgotten a decision means nothing to the request, which
 * waits for another one. */
int ilk__shards_store_answered(void *at, void *owner,
                               const ilk__node_call *call, ilk__reply *reply)
{
    ilk__shards_store_request *one = owner;
    const int is_error = reply && reply->type == ILK__REPLY_ERROR;

    one->calls--;
    if (is_error)
        snprintf(one->why, sizeof one->why, "%s", reply->str);
    if (one->is == ILK__STORE_LOOKS)
        ilk__shards_store_looked(one, at, call, is_error ? NULL : reply);
    else if (one->is == ILK__STORE_DROPS)
        take_drop(one, is_error ? NULL : reply);
    else if (one->is == ILK__STORE_FINISHES
             && call->script == ILK__SCRIPT_STORE_FINISH)
        take_finished(one, ilk__shards_store_part_of(one, at),
                      reply && !is_error);
    else if (one->request && one->is == ILK__STORE_RECOVERS
             && call->script == ILK__SCRIPT_STORE_FINISH)
        take_settled(one, at, reply && !is_error);
    else if (one->request && call->script != ILK__SCRIPT_STORE_FORGET) {
        if (reply && !is_error)
            take(one, at, reply);
        else
            miss(one, at);
    }
    dispose_if_idle(one);
    return 0;
}

/* ---- beginning ----------------------------------------------------------- */

/* A server that the request needs is still connecting. */
static int must_wait(const ilk__shards_store_request *one, int64_t now)
{
    if (now >= one->began + one->shards->coming_ms)
        return 0;
    for (size_t i = 0; i < one->part_count; i++)
        if (ilk__shards_may_come(one->parts[i].server))
            return 1;
    return (one->script == ILK__SCRIPT_STORE_OUTCOME || one->part_count > 1)
           && ilk__shards_may_come(
               ilk__shards_store_home_of(one->shards, one->id));
}

/* Of those that the transaction needs: without its home nobody could end the intents. */
static const ilk__shards_server *find_missing(
    const ilk__shards_store_request *one)
{
    const ilk__shards_server *home =
        ilk__shards_store_home_of(one->shards, one->id);

    if (!home->calls.connection.up)
        return home;
    for (size_t i = 0; i < one->part_count; i++)
        if (!one->parts[i].server->calls.connection.up)
            return one->parts[i].server;
    return NULL;
}

/* With a server missing no intents are written, which would be in the way of others. */
static void begin_phases(ilk__shards_store_request *one)
{
    const ilk__shards_server *missing = find_missing(one);

    one->is = ILK__STORE_PREPARES;
    if (missing) {
        fail_at(one, missing);
        return;
    }
    send_prepares(one);
    go_on_preparing(one);
}

static void begin_commit(ilk__shards_store_request *one)
{
    if (one->part_count > 1) {
        begin_phases(one);
        return;
    }
    one->is = ILK__STORE_COMMITS;
    if (!ilk__shards_store_send_versions(one, &one->parts[0],
                                         ILK__SCRIPT_STORE_COMMIT))
        end_at(one, one->parts[0].server);
}

static void begin_read(ilk__shards_store_request *one)
{
    one->is = ILK__STORE_READS;
    if (!ilk__shards_store_send_read(one))
        end_at(one, one->parts[0].server);
}

static void begin_outcome(ilk__shards_store_request *one)
{
    ilk__shards_server *home = ilk__shards_store_home_of(one->shards, one->id);

    one->is = ILK__STORE_OUTCOMES;
    if (!ilk__shards_store_send_outcome(one, home, one->id, one->age_ms))
        end_at(one, home);
}

/* It is not only refused: the first copy of a late commit may have been executed in time,
 * and only the home has the outcome. */
static void abort_as(ilk__shards_store_request *one, int refusal)
{
    one->refusal = refusal;
    abort_all(one);
}

static void start(ilk__shards_store_request *one, int64_t now)
{
    if (must_wait(one, now)) {
        pause_until(one, 0);
    } else if (one->script == ILK__SCRIPT_STORE_OUTCOME) {
        begin_outcome(one);
    } else if (one->script == ILK__SCRIPT_STORE_COMMIT) {
        if (is_too_old(one))
            abort_as(one, ILK__CODE_GONE);
        else
            begin_commit(one);
    } else if (is_too_old(one)) {
        end_with_code(one, ILK__CODE_GONE);
    } else {
        begin_read(one);
    }
}

static ilk__shards_store_request *add_request(ilk__shards *shards)
{
    ilk__shards_store_request *one = ilk__calloc(1, sizeof *one);

    if (!one)
        return NULL;
    one->shards = shards;
    one->next = shards->store_requests;
    if (one->next)
        one->next->previous = one;
    shards->store_requests = one;
    return one;
}

static ilk__shards_store_request *new_request(ilk__shards *shards,
                                              ilk__gateway_request *request)
{
    ilk__shards_store_request *one = add_request(shards);

    if (!one)
        return NULL;
    one->request = request;
    one->script = request->script;
    one->began = ilk__now_ms();
    one->until = one->began + shards->patience_ms;
    if (!ilk__shards_store_read_words(one)) {
        dispose(one);
        return NULL;
    }
    if (one->script == ILK__SCRIPT_STORE_COMMIT)
        take_over(one);
    return one;
}

static int copy_buf(ilk__buf *out, const ilk__buf *from)
{
    return !ilk__buf_add(out, ilk__buf_data(from), ilk__buf_len(from));
}

/* Clients that have died leave commits that nobody may forget before all servers have ended
 * them. Each server that is up gets a call, which finds its own. */
static void look_for_left(const ilk__shards_store_request *request)
{
    ilk__shards *shards = request->shards;

    for (size_t i = 0; i < shards->ring_count; i++) {
        ilk__shards_store_request *one;

        if (!ilk__shards_store_is_look_due(&shards->servers[i], request))
            continue;
        one = add_request(shards);
        if (!one)
            return;
        one->is = ILK__STORE_LOOKS;
        one->met = &one->parts[0];
        one->met->server = &shards->servers[i];
        if (copy_buf(&one->store, &request->store)
            && copy_buf(&one->done, &request->done))
            (void)ilk__shards_store_send_left(one, one->met->server);
        dispose_if_idle(one);
    }
}

void ilk__shards_store(ilk__shards *shards, ilk__gateway_request *request)
{
    ilk__shards_store_request *one = new_request(shards, request);

    if (!one) {
        ilk__gateway_break(request);
        return;
    }
    ilk__shards_look(shards);
    start(one, one->began);
    look_for_left(one);
    dispose_if_idle(one);
}

/* ---- the loop ------------------------------------------------------------ */

static void fire(ilk__shards_store_request *one, int64_t now)
{
    if (one->retry_at > now)
        return;
    if (one->is == ILK__STORE_LEFT) {
        drop_left(one, now);
    } else if (one->is == ILK__STORE_WAITS) {
        one->is = one->was;
        start(one, now);
    }
}

void ilk__shards_fire_store(ilk__shards *shards, int64_t now)
{
    ilk__shards_store_request *next;

    for (ilk__shards_store_request *one = shards->store_requests; one;
         one = next) {
        next = one->next;
        fire(one, now);
        dispose_if_idle(one);
    }
}

int64_t ilk__shards_store_due(const ilk__shards *shards)
{
    int64_t until = ILK__FOREVER;

    for (const ilk__shards_store_request *one = shards->store_requests; one;
         one = one->next)
        if (one->is == ILK__STORE_LEFT)
            until = ilk__sooner(until, one->retry_at);
        else if (one->is == ILK__STORE_WAITS)
            until = ilk__sooner(
                until, one->retry_at ? one->retry_at
                                     : one->began + one->shards->coming_ms);
    return until;
}

/* The servers are closed: no call is left. */
void ilk__shards_free_store(ilk__shards *shards)
{
    while (shards->store_requests) {
        if (shards->store_requests->request)
            ilk__gateway_break(shards->store_requests->request);
        dispose(shards->store_requests);
    }
}

/* SPDX-License-Identifier: MIT */
/*
 * ring_store.c -- a store over the servers of a ring: each key is on the one that the ring
 * gives it. Reads go there. A transaction that writes on one server is committed there in
 * one step; one that writes on several in two phases: Gray, "Notes on Data Base Operating
 * Systems", 1978. The rules are those of tests/model/two_phase.pml.
 *
 *     PREPARES   each server writes an intent for each of its keys, or refuses
 *     DECIDES    the server to which the ring gives the transaction's id notes down that
 *                it is committed, unless somebody has aborted it there
 *     FINISHES   each server makes its intents versions. The caller goes on meanwhile
 *
 * A transaction that a server refuses, or that cannot go on, is aborted in the same place,
 * its home: unless it is committed there, by an earlier copy of the request, of which only
 * the reply was lost. Nothing is dropped before the home has said so.
 *
 * Anybody who meets an intent waits a little for its end. After that it asks for the
 * decision, which aborts a transaction that has none, and does what was decided. So no
 * intent ends by time, and none stays when a client has died.
 *
 * A transaction waits for the intents of earlier ones only, and is refused where a later
 * one is: so no two wait for each other.
 *
 * Timestamps follow the fastest of the servers' clocks, as far as this client knows them,
 * so that a server whose clock is behind gives none that are old elsewhere. Each server
 * gives numbers of its own (scripts/include/store_timestamp.lua).
 */
#include "ring_internal.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/token.h"
#include "gateway/register_replies.h"
#include "redis/script.h"

#include <interlock/store.h>

#include <stdio.h>
#include <string.h>

enum {
    /* How long the end of another transaction is waited for; at most half of what there
     * is, so that time is left to bring it about. */
    OTHERS_MS = 1500,
    PAUSE_FIRST_MS = 1,
    PAUSE_MOST_MS = 16,
    ID_MOST = 64
};

/* As long as scripts/include/store.lua keeps former versions. */
#define KEPT_US (INT64_C(1000000) * 60)

/* The keys and arguments of requests, and the first argument of a version. */
enum { READ_STORE, READ_KEY };
enum { READ_AT };
enum { COMMIT_STORE, COMMIT_DONE, COMMIT_KEYS };
enum { COMMIT_ID, COMMIT_AT, COMMIT_PLACE, COMMIT_ABOVE, COMMIT_VERSIONS };
enum { OUTCOME_DONE, OUTCOME_STORE };
enum { OUTCOME_ID, OUTCOME_AGE };

typedef enum phase {
    WAITS, /* for servers that come, or for the end of another transaction */
    READS,
    COMMITS, /* on one server */
    PREPARES,
    DECIDES,
    ABORTS,   /* unless it is committed already: its home says */
    OUTCOMES, /* of this request's transaction */
    RECOVERS, /* of another transaction: its outcome, and its end */
    FINISHES,
    ENDED
} phase;

typedef enum part_state {
    IS_NEW,
    IS_ASKED,
    IS_READY,
    IS_BUSY,
    IS_LOST
} part_state;

/* A server, and those keys of the transaction that it has. */
typedef struct part {
    ilk__ring_server *server;
    part_state is;
    size_t count;
} part;

struct ilk__store_request {
    ilk__store_request *next, *previous;
    ilk__ring_gateway *ring;
    ilk__gateway_request *request; /* NULL: it has its reply */
    int script;
    phase is, was; /* `was`: what is repeated after WAITS and RECOVERS */
    int64_t began, until, retry_at;
    int pause_ms;
    size_t calls; /* without a reply */

    /* Copies: a transaction is finished after its reply. */
    ilk__buf store, done;
    char id[ID_MOST + 1];
    int64_t at; /* its timestamp; 0: none yet */
    ilk__buf *keys;
    size_t key_count;
    part parts[ILK__RING_SERVERS];
    size_t part_count;
    part **owners; /* of the keys */

    /* Another transaction, whose intent is in the way. */
    char other[ID_MOST + 1];
    int64_t met_at; /* the first one */
    part *met;      /* where */

    int64_t outcome, age_ms; /* of OUTCOMES */
    int refusal;             /* the code of a part that refuses; 0: none does */
    int64_t later;           /* of STALE: the timestamp in the way */
    char why[ILK_ERROR_MAX]; /* a server's error */
    /* ABORTS: what the caller gets; "": the refusal */
    char error[ILK_ERROR_MAX];
};

/* ---- their lives --------------------------------------------------------- */

static void dispose(ilk__store_request *one)
{
    *(one->previous ? &one->previous->next : &one->ring->store_requests) =
        one->next;
    if (one->next)
        one->next->previous = one->previous;
    for (size_t i = 0; one->keys && i < one->key_count; i++)
        ilk__buf_free(&one->keys[i]);
    ilk__free(one->keys);
    ilk__free(one->owners);
    ilk__buf_free(&one->store);
    ilk__buf_free(&one->done);
    ilk__free(one);
}

static void dispose_if_idle(ilk__store_request *one)
{
    if (!one->request && !one->calls)
        dispose(one);
}

static ilk__bytes bytes_of(const ilk__buf *buf)
{
    return (ilk__bytes){(char *)ilk__buf_data(buf), ilk__buf_len(buf)};
}

static void end(ilk__store_request *one)
{
    one->request = NULL;
    if (one->is != FINISHES)
        one->is = ENDED;
}

static void end_with(ilk__store_request *one, const char *error)
{
    ilk__gateway_reply_error(one->request, error);
    end(one);
}

static void write_missing(const ilk__store_request *one,
                          const ilk__ring_server *server,
                          char out[ILK_ERROR_MAX])
{
    if (one->why[0])
        memcpy(out, one->why, ILK_ERROR_MAX);
    else
        snprintf(out, ILK_ERROR_MAX, "NOQUORUM %.60s cannot be reached: %.140s",
                 ilk__ring_address(server),
                 server->why.code ? server->why.msg : "it does not answer");
}

static void end_at(ilk__store_request *one, const ilk__ring_server *server)
{
    char text[ILK_ERROR_MAX];

    write_missing(one, server, text);
    end_with(one, text);
}

/* It may have been executed: the core repeats it under its id, and finds that. */
static void end_unsure(ilk__store_request *one)
{
    if (one->why[0])
        ilk__gateway_reply_error(one->request, one->why);
    else
        ilk__gateway_break(one->request);
    end(one);
}

static void end_with_code(ilk__store_request *one, int code)
{
    ilk__gateway_reply(one->request, code, "");
    end(one);
}

static void end_refused(ilk__store_request *one)
{
    if (one->refusal == ILK__CODE_STALE) {
        ilk__gateway_reply(one->request, ILK__CODE_STALE, "i", one->later);
        end(one);
    } else {
        end_with_code(one, one->refusal);
    }
}

/* ---- time ---------------------------------------------------------------- */

static int is_too_old(const ilk__store_request *one)
{
    return one->at && one->at < ilk__ring_clock_us(one->ring) - KEPT_US;
}

static void note_timestamp(ilk__store_request *one, int64_t at)
{
    one->at = at;
    if (one->ring->last_timestamp < at)
        one->ring->last_timestamp = at;
}

/* The transaction that begins instead gets a timestamp above that of whoever was in the
 * way; but one record that is spoilt does not take this client's timestamps with it. */
static void note_refusal(ilk__store_request *one, const ilk__reply *reply)
{
    one->refusal = ilk__script_code(reply);
    if (one->refusal != ILK__CODE_STALE)
        return;
    one->later = ilk__script_int(reply, 0);
    if (one->ring->last_timestamp < one->later
        && one->later < ilk__ring_clock_us(one->ring) + ILK__RING_AHEAD_US)
        one->ring->last_timestamp = one->later;
}

/* The next timestamp rises above this. */
static int64_t above(const ilk__ring_gateway *ring)
{
    const int64_t clock = ilk__ring_clock_us(ring);

    return ring->last_timestamp > clock ? ring->last_timestamp : clock;
}

/* ---- calls --------------------------------------------------------------- */

static ilk__node_call_ended answered;

/* 0: there will be no reply. */
static int send(ilk__store_request *one, ilk__ring_server *server,
                ilk__command *command, int script)
{
    if (!ilk__ring_send(server, command, script, answered, one))
        return 0;
    one->calls++;
    return 1;
}

static void add_place(ilk__command *command, const ilk__ring_server *server)
{
    ilk__command_add_str(command, server->place);
    ilk__command_add_int(command, above(server->gateway));
}

static int send_read(ilk__store_request *one)
{
    const ilk__bytes keys[] = {bytes_of(&one->store), bytes_of(&one->keys[0])};
    ilk__command command;

    ilk__command_init(&command);
    ilk__script_begin(&command, ILK__SCRIPT_STORE_READ, keys, 2);
    ilk__command_add_int(&command, one->at);
    add_place(&command, one->parts[0].server);
    return send(one, one->parts[0].server, &command, ILK__SCRIPT_STORE_READ);
}

/* The keys of a part, behind those of the store; to be freed. NULL: no memory. */
static ilk__bytes *keys_of(const ilk__store_request *one, const part *at)
{
    ilk__bytes *keys = ilk__malloc((COMMIT_KEYS + at->count) * sizeof *keys);
    size_t count = COMMIT_KEYS;

    if (!keys)
        return NULL;
    keys[COMMIT_STORE] = bytes_of(&one->store);
    keys[COMMIT_DONE] = bytes_of(&one->done);
    for (size_t i = 0; i < one->key_count; i++)
        if (one->owners[i] == at)
            keys[count++] = bytes_of(&one->keys[i]);
    return keys;
}

/* store_commit or store_prepare, which have the same words. */
static int send_versions(ilk__store_request *one, part *at, int script)
{
    ilk__bytes *keys = keys_of(one, at);
    ilk__command command;
    int sent;

    at->is = IS_LOST;
    if (!keys)
        return 0;
    ilk__command_init(&command);
    ilk__script_begin(&command, script, keys, COMMIT_KEYS + at->count);
    ilk__command_add_str(&command, one->id);
    ilk__command_add_int(&command, one->at);
    add_place(&command, at->server);
    for (size_t i = 0; i < one->key_count; i++) {
        const ilk__bytes version =
            ilk__gateway_arg(one->request, COMMIT_VERSIONS + i);

        if (one->owners[i] == at)
            ilk__command_add(&command, version.data, version.len);
    }
    sent = send(one, at->server, &command, script);
    ilk__free(keys);
    if (sent)
        at->is = IS_ASKED;
    return sent;
}

static int send_finish(ilk__store_request *one, part *at, const char *id,
                       int is_committed)
{
    ilk__bytes *keys = keys_of(one, at);
    ilk__command command;
    int sent;

    if (!keys)
        return 0;
    ilk__command_init(&command);
    ilk__script_begin(&command, ILK__SCRIPT_STORE_FINISH, keys,
                      COMMIT_KEYS + at->count);
    ilk__command_add_str(&command, id);
    ilk__command_add_str(&command, is_committed ? "1" : "0");
    sent = send(one, at->server, &command, ILK__SCRIPT_STORE_FINISH);
    ilk__free(keys);
    return sent;
}

static int send_outcome(ilk__store_request *one, ilk__ring_server *server,
                        const char *id, int64_t age_ms)
{
    const ilk__bytes keys[] = {bytes_of(&one->done), bytes_of(&one->store)};
    ilk__command command;

    ilk__command_init(&command);
    ilk__script_begin(&command, ILK__SCRIPT_STORE_OUTCOME, keys, 2);
    ilk__command_add_str(&command, id);
    ilk__command_add_int(&command, age_ms);
    return send(one, server, &command, ILK__SCRIPT_STORE_OUTCOME);
}

/* The server that decides on a transaction. */
static ilk__ring_server *home_of(const ilk__ring_gateway *ring, const char *id)
{
    return ilk__ring_server_of(ring, (ilk__bytes){(char *)id, strlen(id)});
}

/* By this copy of the request or an earlier one, whose reply may have been lost on its way
 * to the caller; or by one that is under way, for which nobody waits any more. */
static int may_be_committed(const ilk__store_request *one)
{
    if (one->part_count == 1
        || ilk__ring_may_have_decided(&one->ring->decisions, one->id))
        return 1;
    for (const ilk__store_request *other = one->ring->store_requests; other;
         other = other->next)
        if (other != one && other->request
            && other->script == ILK__SCRIPT_STORE_COMMIT
            && strcmp(other->id, one->id) == 0)
            return 1;
    return 0;
}

static int send_decision(ilk__store_request *one)
{
    const ilk__bytes keys[] = {bytes_of(&one->done), bytes_of(&one->store)};
    ilk__ring_server *home = home_of(one->ring, one->id);
    ilk__command command;

    ilk__command_init(&command);
    ilk__script_begin(&command, ILK__SCRIPT_STORE_DECIDE, keys, 2);
    ilk__command_add_str(&command, one->id);
    ilk__command_add_int(&command, one->at);
    ilk__command_add_str(&command, home->place);
    if (!send(one, home, &command, ILK__SCRIPT_STORE_DECIDE))
        return 0;
    ilk__ring_note_decision(one->ring, one->id);
    return 1;
}

static void send_forget(ilk__store_request *one)
{
    const ilk__bytes store = bytes_of(&one->store);
    ilk__command command;

    ilk__command_init(&command);
    ilk__script_begin(&command, ILK__SCRIPT_STORE_FORGET, &store, 1);
    ilk__command_add_str(&command, one->id);
    (void)send(one, home_of(one->ring, one->id), &command,
               ILK__SCRIPT_STORE_FORGET);
}

/* ---- pauses, and other transactions -------------------------------------- */

static void start(ilk__store_request *one, int64_t now);
static void abort_all(ilk__store_request *one);
static void fail_at(ilk__store_request *one, const ilk__ring_server *server);

/* 0: it is tried again in each turn. */
static void pause_until(ilk__store_request *one, int64_t retry_at)
{
    one->was = one->is;
    one->is = WAITS;
    one->retry_at = retry_at;
}

/* An intent of another transaction is in the way. Its end is waited for, and after a
 * while brought about. One that has waited for so long waits for no further ones: several
 * clients may have died. */
static void meet(ilk__store_request *one, part *at, const ilk__reply *reply)
{
    const ilk__reply *id = ilk__script_item(reply, 1);
    const int64_t now = ilk__now_ms();

    if (id->len > ID_MOST || strlen(id->str) != id->len) {
        end_with(one, "ERR an intent of no transaction");
        return;
    }
    one->met = at;
    if (!one->other[0]) {
        one->met_at = now;
        one->pause_ms = PAUSE_FIRST_MS;
    }
    memcpy(one->other, id->str, id->len + 1);
}

static void recover(ilk__store_request *one)
{
    ilk__ring_server *home = home_of(one->ring, one->other);

    one->was = one->is;
    one->is = RECOVERS;
    if (!send_outcome(one, home, one->other, 0))
        fail_at(one, home);
}

/* Nothing of it is decided, and too little time is left. */
static void give_up(ilk__store_request *one)
{
    snprintf(
        one->error, sizeof one->error,
        "NOQUORUM another transaction that has written a key is undecided, "
        "and %.60s knows whether it is committed",
        ilk__ring_address(home_of(one->ring, one->other)));
    if (one->is == PREPARES)
        abort_all(one);
    else
        end_with(one, one->error);
}

static void wait_for_other(ilk__store_request *one)
{
    const int64_t now = ilk__now_ms();

    if (now >= one->until) {
        give_up(one);
        return;
    }
    if (now
        >= one->met_at + ilk__sooner(OTHERS_MS, one->ring->patience_ms / 2)) {
        recover(one);
        return;
    }
    pause_until(one, now + 1 + (int64_t)ilk__jitter((uint32_t)one->pause_ms));
    one->pause_ms =
        2 * one->pause_ms < PAUSE_MOST_MS ? 2 * one->pause_ms : PAUSE_MOST_MS;
}

static void take_recovery(ilk__store_request *one, const ilk__node_call *call,
                          const ilk__reply *reply)
{
    if (call->script == ILK__SCRIPT_STORE_OUTCOME) {
        if (!send_finish(one, one->met, one->other,
                         ilk__script_int(reply, 0) == ILK_TXN_COMMITTED))
            fail_at(one, one->met->server);
    } else if (call->script == ILK__SCRIPT_STORE_FINISH) {
        one->is = one->was;
        start(one, ilk__now_ms());
    }
}

/* ---- reading ------------------------------------------------------------- */

static void take_state(ilk__store_request *one, const ilk__reply *reply)
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

static void take_read(ilk__store_request *one, const ilk__reply *reply)
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

static size_t count(const ilk__store_request *one, part_state state)
{
    size_t number = 0;

    for (size_t i = 0; i < one->part_count; i++)
        number += one->parts[i].is == state;
    return number;
}

static part *part_of(ilk__store_request *one, const ilk__ring_server *server)
{
    for (size_t i = 0; i < one->part_count; i++)
        if (one->parts[i].server == server)
            return &one->parts[i];
    return NULL;
}

/* The decision is known: whoever has intents gets it. Those who meet the others do the
 * rest. */
static void finish_all(ilk__store_request *one, int is_committed)
{
    one->is = FINISHES;
    for (size_t i = 0; i < one->part_count; i++) {
        part *at = &one->parts[i];

        if (is_committed)
            at->is = send_finish(one, at, one->id, 1) ? IS_ASKED : IS_LOST;
        else if (at->is != IS_NEW)
            (void)send_finish(one, at, one->id, 0);
    }
}

static void reply_written(ilk__store_request *one)
{
    ilk__gateway_reply(one->request, ILK__CODE_WRITTEN, "i", one->at);
    end(one);
}

static void end_aborted(ilk__store_request *one)
{
    if (one->error[0])
        end_with(one, one->error);
    else
        end_refused(one);
}

/* Its home does not say. Without a decision of this client's nobody commits it; with one
 * the core repeats the request. Intents stay, and whoever meets them asks again. */
static void end_undecided(ilk__store_request *one)
{
    if (!may_be_committed(one)) {
        end_aborted(one);
        return;
    }
    ilk__gateway_break(one->request);
    end(one);
}

/* It shall not be committed, if it is not yet. Nothing is dropped before the home has
 * replied, or, where it writes on one server, that one. The caller gets `error` then, or
 * the refusal. */
static void abort_all(ilk__store_request *one)
{
    ilk__ring_server *knows = one->part_count > 1 ? home_of(one->ring, one->id)
                                                  : one->parts[0].server;

    one->is = ABORTS;
    if (!send_outcome(one, knows, one->id, 0))
        end_undecided(one);
}

static void take_abort(ilk__store_request *one, const ilk__reply *reply)
{
    const int64_t outcome = ilk__script_int(reply, 0);

    if (outcome != ILK_TXN_COMMITTED && outcome != ILK_TXN_ABORTED) {
        end_undecided(one);
        return;
    }
    if (one->part_count > 1)
        finish_all(one, outcome == ILK_TXN_COMMITTED);
    if (outcome == ILK_TXN_COMMITTED)
        reply_written(one);
    else
        end_aborted(one);
}

/* A server is missing. */
static void fail_at(ilk__store_request *one, const ilk__ring_server *server)
{
    if (one->is != PREPARES && (one->is != RECOVERS || one->was != PREPARES)) {
        end_at(one, server);
        return;
    }
    write_missing(one, server, one->error);
    abort_all(one);
}

static void send_prepares(ilk__store_request *one)
{
    one->is = PREPARES;
    for (size_t i = 0; i < one->part_count; i++) {
        part *at = &one->parts[i];

        if (at->is == IS_READY)
            continue;
        (void)send_versions(one, at, ILK__SCRIPT_STORE_PREPARE);
        if (!one->at)
            break; /* the first one gives the timestamp */
    }
}

static void go_on_preparing(ilk__store_request *one);

static void decide(ilk__store_request *one)
{
    if (send_decision(one))
        one->is = DECIDES;
    else
        fail_at(one, home_of(one->ring, one->id));
}

static part *find_part(ilk__store_request *one, part_state state)
{
    for (size_t i = 0; i < one->part_count; i++)
        if (one->parts[i].is == state)
            return &one->parts[i];
    return NULL;
}

/* All have replied, or cannot. */
static void go_on_preparing(ilk__store_request *one)
{
    if (count(one, IS_ASKED))
        return;
    if (one->refusal) {
        abort_all(one);
    } else if (count(one, IS_LOST)) {
        fail_at(one, find_part(one, IS_LOST)->server);
    } else if (count(one, IS_BUSY)) {
        wait_for_other(one);
    } else if (count(one, IS_NEW)) {
        send_prepares(one); /* the timestamp is known now */
        go_on_preparing(one);
    } else {
        decide(one);
    }
}

static void take_prepared(ilk__store_request *one, part *at,
                          const ilk__reply *reply)
{
    switch (ilk__script_code(reply)) {
    case ILK__CODE_WRITTEN:
        at->is = IS_READY;
        if (!one->at)
            note_timestamp(one, ilk__script_int(reply, 0));
        break;
    case ILK__CODE_BUSY:
        at->is = IS_BUSY;
        meet(one, at, reply);
        break;
    default: at->is = IS_READY; note_refusal(one, reply);
    }
    if (one->request)
        go_on_preparing(one);
}

static void take_decision(ilk__store_request *one, const ilk__reply *reply)
{
    const int is_committed = ilk__script_code(reply) == ILK__CODE_WRITTEN;

    finish_all(one, is_committed);
    if (is_committed)
        reply_written(one);
    else
        end_with_code(one, ILK__CODE_REFUSED);
}

/* Only when all servers know the decision may it be forgotten. */
static void take_finished(ilk__store_request *one, part *at, int is_done)
{
    if (!at || at->is != IS_ASKED)
        return;
    at->is = is_done ? IS_READY : IS_LOST;
    if (count(one, IS_READY) == one->part_count)
        send_forget(one);
}

static void take_commit(ilk__store_request *one, const ilk__reply *reply)
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

/* A transaction that wrote on one server only is known there, and nobody knows which one
 * that is: so all get the question, after the one that decides on those of several. */
static void ask_others(ilk__store_request *one)
{
    const ilk__ring_server *home = home_of(one->ring, one->id);

    for (size_t i = 0; i < one->ring->ring_count && one->request; i++) {
        ilk__ring_server *server = &one->ring->servers[i];

        if (server != home && !send_outcome(one, server, one->id, one->age_ms))
            end_at(one, server);
    }
}

static void take_outcome(ilk__store_request *one,
                         const ilk__ring_server *server,
                         const ilk__reply *reply)
{
    const int64_t outcome = ilk__script_int(reply, 0);

    if (outcome == ILK_TXN_COMMITTED) {
        one->outcome = outcome;
    } else if (server == home_of(one->ring, one->id)) {
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
static void miss(ilk__store_request *one, ilk__ring_server *server)
{
    part *at = part_of(one, server);

    switch (one->is) {
    case PREPARES:
        at->is = IS_LOST;
        go_on_preparing(one);
        break;
    case COMMITS:
    case DECIDES: end_unsure(one); break;
    case ABORTS: end_undecided(one); break;
    case RECOVERS: fail_at(one, server); break;
    case READS:
    case OUTCOMES: end_at(one, server); break;
    case FINISHES:
    case WAITS:
    case ENDED: break;
    }
}

static void take(ilk__store_request *one, ilk__ring_server *server,
                 const ilk__node_call *call, const ilk__reply *reply)
{
    switch (one->is) {
    case READS: take_read(one, reply); break;
    case COMMITS: take_commit(one, reply); break;
    case PREPARES: take_prepared(one, part_of(one, server), reply); break;
    case DECIDES: take_decision(one, reply); break;
    case ABORTS: take_abort(one, reply); break;
    case OUTCOMES: take_outcome(one, server, reply); break;
    case RECOVERS: take_recovery(one, call, reply); break;
    case FINISHES:
    case WAITS:
    case ENDED: break;
    }
}

static int answered(void *at, void *owner, const ilk__node_call *call,
                    ilk__reply *reply)
{
    ilk__store_request *one = owner;
    const int is_error = reply && reply->type == ILK__REPLY_ERROR;

    one->calls--;
    if (is_error)
        snprintf(one->why, sizeof one->why, "%s", reply->str);
    if (one->is == FINISHES && call->script == ILK__SCRIPT_STORE_FINISH)
        take_finished(one, part_of(one, at), reply && !is_error);
    else if (one->request && reply && !is_error)
        take(one, at, call, reply);
    else if (one->request)
        miss(one, at);
    dispose_if_idle(one);
    return 0;
}

/* ---- beginning ----------------------------------------------------------- */

/* A server of the transaction that is connecting. */
static int must_wait(const ilk__store_request *one, int64_t now)
{
    if (now >= one->began + one->ring->coming_ms)
        return 0;
    for (size_t i = 0; i < one->part_count; i++)
        if (ilk__ring_may_come(one->parts[i].server))
            return 1;
    return (one->script == ILK__SCRIPT_STORE_OUTCOME || one->part_count > 1)
           && ilk__ring_may_come(home_of(one->ring, one->id));
}

/* Without its home nobody could end the intents. */
static void begin_phases(ilk__store_request *one)
{
    const ilk__ring_server *home = home_of(one->ring, one->id);

    one->is = PREPARES;
    if (!home->calls.connection.up) {
        fail_at(one, home);
        return;
    }
    send_prepares(one);
    go_on_preparing(one);
}

static void begin_commit(ilk__store_request *one)
{
    if (one->part_count > 1) {
        begin_phases(one);
        return;
    }
    one->is = COMMITS;
    if (!send_versions(one, &one->parts[0], ILK__SCRIPT_STORE_COMMIT))
        end_at(one, one->parts[0].server);
}

static void begin_read(ilk__store_request *one)
{
    one->is = READS;
    if (!send_read(one))
        end_at(one, one->parts[0].server);
}

static void begin_outcome(ilk__store_request *one)
{
    ilk__ring_server *home = home_of(one->ring, one->id);

    one->is = OUTCOMES;
    if (!send_outcome(one, home, one->id, one->age_ms))
        end_at(one, home);
}

/* A commit that is repeated late may have been executed in time. */
static void abort_as(ilk__store_request *one, int refusal)
{
    one->refusal = refusal;
    abort_all(one);
}

static void start(ilk__store_request *one, int64_t now)
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

static int copy_word(ilk__buf *out, ilk__bytes word)
{
    return !ilk__buf_add(out, word.data, word.len);
}

/* `ilk:store:done:{name}` of `ilk:store:{name}`. */
static int derive_done(ilk__store_request *one, ilk__bytes store)
{
    static const char front[] = "ilk:store", more[] = ":done";
    const size_t len = sizeof front - 1;

    return store.len > len && !ilk__buf_add(&one->done, store.data, len)
           && !ilk__buf_add(&one->done, more, sizeof more - 1)
           && !ilk__buf_add(&one->done, store.data + len, store.len - len);
}

static int copy_id(ilk__store_request *one, ilk__bytes id)
{
    if (id.len == 0 || id.len > ID_MOST)
        return 0;
    memcpy(one->id, id.data, id.len);
    one->id[id.len] = '\0';
    return strlen(one->id) == id.len;
}

static int copy_keys(ilk__store_request *one, size_t first)
{
    const ilk__gateway_request *request = one->request;
    const size_t count = request->key_count - first;

    one->keys = ilk__calloc(count, sizeof *one->keys);
    one->owners = ilk__calloc(count, sizeof *one->owners);
    if (!one->keys || !one->owners)
        return 0;
    for (one->key_count = 0; one->key_count < count; one->key_count++)
        if (!copy_word(
                &one->keys[one->key_count],
                ilk__gateway_word(request->keys[first + one->key_count])))
            return 0;
    return 1;
}

/* Which server has which keys. */
static void divide(ilk__store_request *one)
{
    for (size_t i = 0; i < one->key_count; i++) {
        ilk__ring_server *server =
            ilk__ring_server_of(one->ring, bytes_of(&one->keys[i]));
        part *at = part_of(one, server);

        if (!at) {
            at = &one->parts[one->part_count++];
            at->server = server;
        }
        at->count++;
        one->owners[i] = at;
    }
}

/* 0: no memory, or it makes no sense. */
static int read_request(ilk__store_request *one)
{
    const ilk__gateway_request *request = one->request;
    const ilk__bytes first = ilk__gateway_word(request->keys[0]);

    switch (one->script) {
    case ILK__SCRIPT_STORE_READ:
        one->at = ilk__gateway_number_arg(request, READ_AT);
        return one->at >= 0 && copy_word(&one->store, first)
               && derive_done(one, first) && copy_keys(one, READ_KEY);
    case ILK__SCRIPT_STORE_COMMIT:
        one->at = ilk__gateway_number_arg(request, COMMIT_AT);
        return one->at >= 0 && request->key_count > COMMIT_KEYS
               && request->arg_count
                      == COMMIT_VERSIONS + request->key_count - COMMIT_KEYS
               && copy_word(&one->store, first)
               && copy_word(&one->done,
                            ilk__gateway_word(request->keys[COMMIT_DONE]))
               && copy_id(one, ilk__gateway_arg(request, COMMIT_ID))
               && copy_keys(one, COMMIT_KEYS);
    default:
        one->age_ms = ilk__gateway_number_arg(request, OUTCOME_AGE);
        return one->age_ms >= 0 && copy_word(&one->done, first)
               && copy_word(&one->store,
                            ilk__gateway_word(request->keys[OUTCOME_STORE]))
               && copy_id(one, ilk__gateway_arg(request, OUTCOME_ID));
    }
}

static ilk__store_request *new_request(ilk__ring_gateway *ring,
                                       ilk__gateway_request *request)
{
    ilk__store_request *one = ilk__calloc(1, sizeof *one);

    if (!one)
        return NULL;
    one->ring = ring;
    one->request = request;
    one->script = request->script;
    one->began = ilk__now_ms();
    one->until = one->began + ring->patience_ms;
    one->next = ring->store_requests;
    if (one->next)
        one->next->previous = one;
    ring->store_requests = one;
    if (read_request(one)) {
        divide(one);
        return one;
    }
    dispose(one);
    return NULL;
}

void ilk__ring_store(ilk__ring_gateway *ring, ilk__gateway_request *request)
{
    ilk__store_request *one = new_request(ring, request);

    if (!one) {
        ilk__gateway_break(request);
        return;
    }
    ilk__ring_look(ring);
    start(one, one->began);
    dispose_if_idle(one);
}

/* ---- the loop ------------------------------------------------------------ */

static void fire(ilk__store_request *one, int64_t now)
{
    if (one->is != WAITS || one->retry_at > now)
        return;
    one->is = one->was;
    start(one, now);
}

void ilk__ring_fire_store(ilk__ring_gateway *ring, int64_t now)
{
    ilk__store_request *next;

    for (ilk__store_request *one = ring->store_requests; one; one = next) {
        next = one->next;
        fire(one, now);
        dispose_if_idle(one);
    }
}

int64_t ilk__ring_store_due(const ilk__ring_gateway *ring)
{
    int64_t until = ILK__FOREVER;

    for (const ilk__store_request *one = ring->store_requests; one;
         one = one->next)
        if (one->is == WAITS)
            until = ilk__sooner(until, one->retry_at
                                           ? one->retry_at
                                           : one->began + one->ring->coming_ms);
    return until;
}

/* The servers are closed: no call is left. */
void ilk__ring_free_store(ilk__ring_gateway *ring)
{
    while (ring->store_requests) {
        if (ring->store_requests->request)
            ilk__gateway_break(ring->store_requests->request);
        dispose(ring->store_requests);
    }
}

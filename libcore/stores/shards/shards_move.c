/* SPDX-License-Identifier: MIT */
/*
 * shards_move.c -- puts values where they belong, a page of one server's records at a time.
 *
 *     WAITS    for servers that are connecting
 *     BEGINS   the pass gets a name, which each server notes down
 *     LISTS    some records of the server
 *     MOVES    each record at once:
 *                  read    it here, and at all servers that should have it
 *                  copy    the newest one to those that lack it
 *                  remove  it here, if this is none of them
 *     ENDS     behind the last record of the last server: servers that still have the
 *              pass's name have all that the others have, and count from now on
 *
 * All servers must be up, and an error ends the step: it may be repeated, because what was
 * done before is not done again. Nothing is removed before all servers of a record have it.
 */
#include "shards_internal.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/token.h"
#include "redis/script.h"

#include <stdio.h>
#include <string.h>

enum { CURSOR = 24, PASS = 16, AT_ONCE_MOST = 1000 };

/* The arguments of kv_move. */
enum { MOVE_SERVER, MOVE_CURSOR, MOVE_PASS, MOVE_COUNT };

typedef enum phase { WAITS, BEGINS, LISTS, MOVES, ENDS, ENDED } phase;

typedef struct moved_record {
    ilk__move_step *step;
    ilk__buf key;
    size_t count; /* of the servers that should have it */
    ilk__shards_server
        *servers[ILK__SHARDS_COPIES + 1]; /* and behind them step->from,
                                           unless it is one of them */
    ilk__reply *replies[ILK__SHARDS_COPIES + 1];
    size_t asked; /* of `servers`: count, or one more */
    size_t calls; /* without a reply */
    int is_copied;
} moved_record;

struct ilk__move_step {
    ilk__move_step *next, *previous;
    ilk__shards *shards;
    ilk__gateway_request *request; /* NULL: it has its reply */
    phase is;
    int64_t began;
    ilk__shards_server *from;
    size_t calls; /* of the step itself, without a reply */
    size_t open;  /* records that are not done */
    moved_record *records;
    size_t record_count;
    char cursor[CURSOR], pass[PASS + 1];
    int64_t looked, copied, removed;
};

/* ---- their lives --------------------------------------------------------- */

static void dispose(ilk__move_step *step)
{
    *(step->previous ? &step->previous->next : &step->shards->steps) =
        step->next;
    if (step->next)
        step->next->previous = step->previous;
    for (size_t i = 0; i < step->record_count; i++) {
        for (size_t j = 0; j < step->records[i].asked; j++)
            ilk__reply_free(step->records[i].replies[j]);
        ilk__buf_free(&step->records[i].key);
    }
    ilk__free(step->records);
    ilk__free(step);
}

static int has_calls(const ilk__move_step *step)
{
    size_t calls = step->calls;

    for (size_t i = 0; i < step->record_count; i++)
        calls += step->records[i].calls;
    return calls != 0;
}

static void dispose_if_idle(ilk__move_step *step)
{
    if (!step->request && !has_calls(step))
        dispose(step);
}

static void end_with(ilk__move_step *step, const char *error)
{
    if (step->request)
        ilk__gateway_reply_error(step->request, error);
    step->request = NULL;
    step->is = ENDED;
}

static void end_at(ilk__move_step *step, const ilk__shards_server *server)
{
    char text[ILK_ERROR_MAX];

    snprintf(text, sizeof text, "NOQUORUM %.60s cannot be reached: %.140s",
             ilk__shards_address(server),
             server->why.code ? server->why.msg : "it does not answer");
    end_with(step, text);
}

/* 0: the reply is an error or missing, and has ended the step. */
static int is_good(ilk__move_step *step, const ilk__shards_server *server,
                   const ilk__reply *reply)
{
    if (reply && reply->type != ILK__REPLY_ERROR)
        return step->request != NULL;
    if (reply)
        end_with(step, reply->str);
    else
        end_at(step, server);
    return 0;
}

static void end_without_memory(ilk__move_step *step)
{
    if (step->request)
        ilk__gateway_break(step->request);
    step->request = NULL;
    step->is = ENDED;
}

/* ---- the end of a step --------------------------------------------------- */

static int is_page_last(const ilk__move_step *step)
{
    return strcmp(step->cursor, "0") == 0;
}

static int is_pass_over(const ilk__move_step *step)
{
    return is_page_last(step) && step->from->number + 1 == step->shards->count;
}

static void reply_progress(ilk__move_step *step)
{
    const int is_last = is_page_last(step);

    ilk__gateway_reply(
        step->request, ILK__CODE_STATE, "iissiii", (int64_t)step->shards->count,
        (int64_t)step->from->number + is_last, is_last ? "" : step->cursor,
        step->pass, step->looked, step->copied, step->removed);
    step->request = NULL;
    step->is = ENDED;
}

static int was_told(void *at, void *owner, const ilk__node_call *call,
                    ilk__reply *reply);

/* The name of the pass, and at its end a mark, to all servers of the ring. */
static void tell_servers(ilk__move_step *step, phase next, int64_t version)
{
    ilk__shards *shards = step->shards;

    step->is = next;
    step->calls++; /* it is not over before all are sent */
    for (size_t i = 0; i < shards->ring_count && step->request; i++)
        if (ilk__shards_send_node(&shards->servers[i], version, step->pass,
                                  was_told, step))
            step->calls++;
        else
            end_at(step, &shards->servers[i]);
    step->calls--;
}

static void go_on(ilk__move_step *step);

static void end_page(ilk__move_step *step)
{
    if (is_pass_over(step))
        tell_servers(step, ENDS, ilk__shards_next_version(step->shards, 0));
    else
        reply_progress(step);
}

/* ---- records ------------------------------------------------------------- */

static ilk__bytes key_of(const moved_record *record)
{
    return (ilk__bytes){(char *)ilk__buf_data(&record->key),
                        ilk__buf_len(&record->key)};
}

/* The place of step->from among the servers: one of the record's, or the last. */
static size_t place_of_from(const moved_record *record)
{
    size_t i = 0;

    while (record->servers[i] != record->step->from)
        i++;
    return i;
}

static int is_misplaced(const moved_record *record)
{
    return place_of_from(record) == record->count;
}

/* Its copy counts: the server has missed nothing, or it has left the ring. */
static int counts(const ilk__shards_server *server)
{
    return server->is_former || !ilk__shards_returns(server);
}

/* Only a server that was away has it, from before, and enough of the others have no
 * record of it: a put that succeeded would be on one of them, unless it was deleted. */
static int was_deleted(const moved_record *record)
{
    const ilk__shards_server *from = record->step->from;
    const ilk__shards_copy here =
        ilk__shards_copy_of(record->replies[place_of_from(record)]);
    const ilk__shards *shards = record->step->shards;
    size_t without = 0;

    if (counts(from) || here.version > from->mark)
        return 0;
    for (size_t i = 0; i < record->count; i++) {
        if (!counts(record->servers[i]))
            continue;
        if (ilk__shards_copy_of(record->replies[i]).version)
            return 0;
        without++;
    }
    return without > (size_t)(shards->copies - shards->write);
}

static size_t find_newest(const moved_record *record)
{
    size_t newest = place_of_from(record);

    for (size_t i = 0; i < record->asked; i++) {
        const ilk__shards_copy copy = ilk__shards_copy_of(record->replies[i]),
                               best =
                                   ilk__shards_copy_of(record->replies[newest]);

        if (counts(record->servers[i])
            && ilk__shards_copy_is_newer(&copy, &best))
            newest = i;
    }
    return newest;
}

static void record_done(moved_record *record)
{
    record->step->open--;
}

static ilk__node_call_ended answered;

static void remove_here(moved_record *record)
{
    const ilk__shards_copy here =
        ilk__shards_copy_of(record->replies[place_of_from(record)]);

    if (ilk__shards_copy_send_remove(record->step->from, key_of(record), &here,
                                     answered, record))
        record->calls++;
    else
        end_at(record->step, record->step->from);
}

/* All of its servers have it. */
static void was_copied(moved_record *record)
{
    if (is_misplaced(record))
        remove_here(record);
    else
        record_done(record);
}

/* All servers of the key have the record that it was deleted: nothing has to be copied. */
static int is_settled(const moved_record *record,
                      const ilk__shards_copy *newest)
{
    if (newest->has_value || is_misplaced(record))
        return 0;
    for (size_t i = 0; i < record->count; i++) {
        const ilk__shards_copy copy = ilk__shards_copy_of(record->replies[i]);

        if (ilk__shards_copy_is_newer(newest, &copy))
            return 0;
    }
    return 1;
}

static void send_copies(moved_record *record)
{
    const ilk__shards_copy newest =
        ilk__shards_copy_of(record->replies[find_newest(record)]);
    const int is_deleted = is_settled(record, &newest);

    record->is_copied = 1;
    for (size_t i = 0; i < record->count && record->step->request; i++) {
        const ilk__shards_copy there = ilk__shards_copy_of(record->replies[i]);
        int sent = 1;

        if (is_deleted)
            sent = ilk__shards_copy_send_settle(record->servers[i],
                                                key_of(record), newest.version,
                                                newest.token, answered, record);
        else if (ilk__shards_copy_is_lacking(&there, &newest))
            sent = ilk__shards_copy_send(record->servers[i], key_of(record),
                                         &newest, answered, record);
        else
            continue;
        record->calls += (size_t)sent;
        record->step->copied += sent && !is_deleted;
        if (!sent)
            end_at(record->step, record->servers[i]);
    }
    if (!record->calls && record->step->request)
        was_copied(record);
}

/* All replies of its first round are there, or of its copies. */
static void decide(moved_record *record)
{
    const size_t here = place_of_from(record);

    if (record->is_copied)
        was_copied(record);
    else if (!ilk__shards_copy_of(record->replies[here]).version)
        record_done(record); /* it has gone since it was listed */
    else if (was_deleted(record))
        remove_here(record);
    else
        send_copies(record);
}

static int answered(void *at, void *owner, const ilk__node_call *call,
                    ilk__reply *reply)
{
    moved_record *record = owner;
    ilk__move_step *step = record->step;
    int keeps = 0;

    record->calls--;
    if (is_good(step, at, reply)) {
        for (size_t i = 0;
             call->script == ILK__SCRIPT_KV_READ && i < record->asked; i++)
            if (record->servers[i] == at) {
                record->replies[i] = reply;
                keeps = 1;
            }
        if (call->script == ILK__SCRIPT_KV_REMOVE) {
            step->removed += ilk__script_code(reply) == ILK__CODE_GONE;
            record_done(record);
        } else if (!record->calls) {
            decide(record);
        }
        go_on(step);
    }
    dispose_if_idle(step);
    return keeps;
}

static void send_reads(moved_record *record)
{
    for (size_t i = 0; i < record->asked && record->step->request; i++)
        if (ilk__shards_copy_send_read(record->servers[i], key_of(record),
                                       answered, record))
            record->calls++;
        else
            end_at(record->step, record->servers[i]);
}

/* 0: no memory. */
static int take_record(moved_record *record, ilk__move_step *step,
                       const ilk__reply *key)
{
    const ilk__bytes bytes = ilk__gateway_word(key);
    size_t i = 0;

    record->step = step;
    record->count =
        ilk__shards_servers_of(step->shards, bytes, record->servers);
    record->asked = record->count;
    while (i < record->count && record->servers[i] != step->from)
        i++;
    if (i == record->count)
        record->servers[record->asked++] = step->from;
    return record->count && !ilk__buf_add(&record->key, bytes.data, bytes.len);
}

/* ---- the page ------------------------------------------------------------ */

/* 0: no memory. */
static int take_page(ilk__move_step *step, const ilk__reply *reply)
{
    enum { AT_CURSOR, AT_KEYS };
    const ilk__reply *cursor = ilk__script_item(reply, AT_CURSOR);
    const size_t count = reply->count - 1 - AT_KEYS;

    snprintf(step->cursor, sizeof step->cursor, "%s", cursor->str);
    step->records = ilk__calloc(count ? count : 1, sizeof *step->records);
    if (!step->records)
        return 0;
    for (size_t i = 0; i < count; i++) {
        step->record_count++;
        if (!take_record(&step->records[i], step,
                         ilk__script_item(reply, AT_KEYS + i)))
            return 0;
    }
    step->looked = (int64_t)count;
    return 1;
}

static int was_listed(void *at, void *owner, const ilk__node_call *call,
                      ilk__reply *reply)
{
    ilk__move_step *step = owner;

    (void)call;
    step->calls--;
    if (is_good(step, at, reply)) {
        if (!take_page(step, reply)) {
            end_without_memory(step);
        } else {
            step->is = MOVES;
            step->open = step->record_count;
            for (size_t i = 0; i < step->record_count && step->request; i++)
                send_reads(&step->records[i]);
            go_on(step);
        }
    }
    dispose_if_idle(step);
    return 0;
}

static void list(ilk__move_step *step)
{
    const ilk__bytes cursor = ilk__gateway_arg(step->request, MOVE_CURSOR);
    ilk__command command;

    step->is = LISTS;
    ilk__command_init(&command);
    ilk__script_begin(&command, ILK__SCRIPT_KV_LIST, &ilk__shards_node_key, 1);
    ilk__command_add(&command, cursor.len ? cursor.data : "0",
                     cursor.len ? cursor.len : 1);
    ilk__command_add_int(&command,
                         ilk__gateway_number_arg(step->request, MOVE_COUNT));
    if (ilk__shards_send(step->from, &command, ILK__SCRIPT_KV_LIST, was_listed,
                         step))
        step->calls++;
    else
        end_at(step, step->from);
}

static int was_told(void *at, void *owner, const ilk__node_call *call,
                    ilk__reply *reply)
{
    ilk__move_step *step = owner;
    ilk__shards_server *server = at;

    (void)call;
    step->calls--;
    if (is_good(step, at, reply)) {
        server->mark = ilk__script_int(reply, 0);
        if (!step->calls)
            go_on(step);
    }
    dispose_if_idle(step);
    return 0;
}

static void go_on(ilk__move_step *step)
{
    if (!step->request)
        return;
    switch (step->is) {
    case BEGINS: list(step); break;
    case MOVES:
        if (!step->open)
            end_page(step);
        break;
    case ENDS: reply_progress(step); break;
    case WAITS:
    case LISTS:
    case ENDED: break;
    }
}

/* ---- beginning ----------------------------------------------------------- */

static const ilk__shards_server *find_missing(const ilk__shards *shards)
{
    for (size_t i = 0; i < shards->count; i++)
        if (!ilk__shards_is_up(&shards->servers[i]))
            return &shards->servers[i];
    return NULL;
}

static ilk__move_step *new_step(ilk__shards *shards,
                                ilk__gateway_request *request, size_t server)
{
    ilk__move_step *step = ilk__calloc(1, sizeof *step);

    if (!step)
        return NULL;
    step->shards = shards;
    step->request = request;
    step->began = ilk__now_ms();
    step->from = &shards->servers[server];
    step->next = shards->steps;
    if (step->next)
        step->next->previous = step;
    shards->steps = step;
    return step;
}

static void start(ilk__move_step *step)
{
    const ilk__bytes pass = ilk__gateway_arg(step->request, MOVE_PASS);
    const ilk__shards_server *missing = find_missing(step->shards);

    if (missing && ilk__shards_may_come(missing)
        && ilk__now_ms() < step->began + step->shards->coming_ms)
        return;
    if (missing) {
        end_at(step, missing);
    } else if (pass.len) {
        snprintf(step->pass, sizeof step->pass, "%.*s", (int)pass.len,
                 pass.data);
        list(step);
    } else if (ilk__token(step->pass, PASS, NULL)) {
        end_without_memory(step);
    } else {
        tell_servers(step, BEGINS, 0);
    }
}

static int makes_sense(const ilk__shards *shards,
                       const ilk__gateway_request *request)
{
    const int64_t server = ilk__gateway_number_arg(request, MOVE_SERVER),
                  at_once = ilk__gateway_number_arg(request, MOVE_COUNT);
    const size_t pass = ilk__gateway_arg(request, MOVE_PASS).len;

    return server >= 0 && server < (int64_t)shards->count && at_once > 0
           && at_once <= AT_ONCE_MOST && pass <= PASS
           && (pass > 0 || server == 0);
}

void ilk__shards_move(ilk__shards *shards, ilk__gateway_request *request)
{
    ilk__move_step *step;

    if (!makes_sense(shards, request)) {
        ilk__gateway_reply_error(
            request, "ILKARG this progress was made with other servers");
        return;
    }
    step = new_step(shards, request,
                    (size_t)ilk__gateway_number_arg(request, MOVE_SERVER));
    if (!step) {
        ilk__gateway_break(request);
        return;
    }
    start(step);
    dispose_if_idle(step);
}

void ilk__shards_fire_steps(ilk__shards *shards)
{
    ilk__move_step *next;

    for (ilk__move_step *step = shards->steps; step; step = next) {
        next = step->next;
        if (step->is == WAITS)
            start(step);
        dispose_if_idle(step);
    }
}

int64_t ilk__shards_steps_due(const ilk__shards *shards)
{
    int64_t until = ILK__FOREVER;

    for (const ilk__move_step *step = shards->steps; step; step = step->next)
        if (step->is == WAITS)
            until = ilk__sooner(until, step->began + step->shards->coming_ms);
    return until;
}

/* The servers are closed: no call is left. */
void ilk__shards_free_steps(ilk__shards *shards)
{
    while (shards->steps) {
        if (shards->steps->request)
            ilk__gateway_break(shards->steps->request);
        dispose(shards->steps);
    }
}

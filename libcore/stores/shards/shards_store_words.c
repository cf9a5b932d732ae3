/* SPDX-License-Identifier: MIT */
/* shards_store_words.c -- the keys and arguments of requests about a store: reads those of
 * the core, divides the keys among the servers, and sends the calls to them. */
#include "shards_store_internal.h"

#include "base/alloc.h"
#include "redis/script.h"

#include <stdio.h>
#include <string.h>

/* The keys and arguments of requests, and the first argument of a version. */
enum { READ_STORE, READ_KEY };
enum { READ_AT };
enum { COMMIT_STORE = 0, COMMIT_DONE = 1, COMMIT_KEYS = ILK__STORE_FIRST_KEYS };
enum { COMMIT_ID, COMMIT_AT, COMMIT_PLACE, COMMIT_ABOVE, COMMIT_VERSIONS };
enum { OUTCOME_DONE, OUTCOME_STORE };
enum { OUTCOME_ID, OUTCOME_AGE };

static ilk__bytes bytes_of(const ilk__buf *buf)
{
    return (ilk__bytes){(char *)ilk__buf_data(buf), ilk__buf_len(buf)};
}

/* ---- places -------------------------------------------------------------- */

ilk__shards_server *ilk__shards_store_home_of(const ilk__shards *shards,
                                              const char *id)
{
    return ilk__shards_server_of(shards, (ilk__bytes){(char *)id, strlen(id)});
}

ilk__shards_store_part *ilk__shards_store_part_of(
    ilk__shards_store_request *one, const ilk__shards_server *server)
{
    for (size_t i = 0; i < one->part_count; i++)
        if (one->parts[i].server == server)
            return &one->parts[i];
    return NULL;
}

/* ---- the core's request -------------------------------------------------- */

static int copy_word(ilk__buf *out, ilk__bytes word)
{
    return !ilk__buf_add(out, word.data, word.len);
}

/* `ilk:store:done:{name}` of `ilk:store:{name}`. */
static int derive_done(ilk__shards_store_request *one, ilk__bytes store)
{
    static const char front[] = "ilk:store", more[] = ":done";
    const size_t len = sizeof front - 1;

    return store.len > len && !ilk__buf_add(&one->done, store.data, len)
           && !ilk__buf_add(&one->done, more, sizeof more - 1)
           && !ilk__buf_add(&one->done, store.data + len, store.len - len);
}

static int copy_id(ilk__shards_store_request *one, ilk__bytes id)
{
    if (id.len == 0 || id.len > ILK__STORE_ID_MOST)
        return 0;
    memcpy(one->id, id.data, id.len);
    one->id[id.len] = '\0';
    return strlen(one->id) == id.len;
}

static int copy_keys(ilk__shards_store_request *one, size_t first)
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

/* Make a part for each server that has one of the keys. */
static void divide(ilk__shards_store_request *one)
{
    for (size_t i = 0; i < one->key_count; i++) {
        ilk__shards_server *server =
            ilk__shards_server_of(one->shards, bytes_of(&one->keys[i]));
        ilk__shards_store_part *at = ilk__shards_store_part_of(one, server);

        if (!at) {
            at = &one->parts[one->part_count++];
            at->server = server;
        }
        at->count++;
        one->owners[i] = at;
    }
}

/* 0: no memory, or it makes no sense. */
static int read_request(ilk__shards_store_request *one)
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

int ilk__shards_store_read_words(ilk__shards_store_request *one)
{
    if (!read_request(one))
        return 0;
    divide(one);
    return 1;
}

void ilk__shards_store_free_words(ilk__shards_store_request *one)
{
    for (size_t i = 0; one->keys && i < one->key_count; i++)
        ilk__buf_free(&one->keys[i]);
    ilk__free(one->keys);
    ilk__free(one->owners);
    ilk__buf_free(&one->other_keys);
    ilk__buf_free(&one->all_keys);
    ilk__buf_free(&one->store);
    ilk__buf_free(&one->done);
}

/* ---- calls --------------------------------------------------------------- */

/* 0: there will be no reply. */
static int send(ilk__shards_store_request *one, ilk__shards_server *server,
                ilk__command *command, int script)
{
    if (!ilk__shards_send(server, command, script, ilk__shards_store_answered,
                          one))
        return 0;
    one->calls++;
    return 1;
}

/* The next timestamp rises above this. */
static int64_t above(const ilk__shards *shards)
{
    const int64_t clock = ilk__shards_clock_us(shards);

    return shards->last_timestamp > clock ? shards->last_timestamp : clock;
}

static void add_place(ilk__command *command, const ilk__shards_server *server)
{
    ilk__command_add_str(command, server->place);
    ilk__command_add_int(command, above(server->gateway));
}

int ilk__shards_store_send_read(ilk__shards_store_request *one)
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
static ilk__bytes *keys_of(const ilk__shards_store_request *one,
                           const ilk__shards_store_part *at)
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

/* Add them as scripts/include/store.lua has them. The command refers to the text, which
 * the request keeps. */
static void add_all_keys(ilk__command *command, ilk__shards_store_request *one)
{
    ilk__buf *text = &one->all_keys;
    int failed = 0;

    ilk__buf_free(text);
    for (size_t i = 0; i < one->key_count; i++) {
        const ilk__bytes key = bytes_of(&one->keys[i]);
        char number[24];
        const int len = snprintf(number, sizeof number, "%zu:", key.len);

        failed |= ilk__buf_add(text, number, (size_t)len)
                  || ilk__buf_add(text, key.data, key.len);
    }
    if (failed)
        ilk__command_add_str(command, ""); /* each key is then ended alone */
    else
        ilk__command_add(command, ilk__buf_data(text), ilk__buf_len(text));
}

int ilk__shards_store_send_versions(ilk__shards_store_request *one,
                                    ilk__shards_store_part *at, int script)
{
    ilk__bytes *keys = keys_of(one, at);
    ilk__command command;
    int sent;

    at->is = ILK__PART_LOST;
    if (!keys)
        return 0;
    ilk__command_init(&command);
    ilk__script_begin(&command, script, keys, COMMIT_KEYS + at->count);
    ilk__command_add_str(&command, one->id);
    ilk__command_add_int(&command, one->at);
    add_place(&command, at->server);
    if (script == ILK__SCRIPT_STORE_PREPARE)
        add_all_keys(&command, one);
    for (size_t i = 0; i < one->key_count; i++) {
        const ilk__bytes version =
            ilk__gateway_arg(one->request, COMMIT_VERSIONS + i);

        if (one->owners[i] == at)
            ilk__command_add(&command, version.data, version.len);
    }
    sent = send(one, at->server, &command, script);
    ilk__free(keys);
    if (sent)
        at->is = ILK__PART_ASKED;
    return sent;
}

int ilk__shards_store_send_end(ilk__shards_store_request *one,
                               ilk__shards_server *server, ilk__bytes *keys,
                               size_t count, const char *id, int is_committed)
{
    ilk__command command;

    keys[COMMIT_STORE] = bytes_of(&one->store);
    keys[COMMIT_DONE] = bytes_of(&one->done);
    ilk__command_init(&command);
    ilk__script_begin(&command, ILK__SCRIPT_STORE_FINISH, keys,
                      COMMIT_KEYS + count);
    ilk__command_add_str(&command, id);
    ilk__command_add_str(&command, is_committed ? "1" : "0");
    return send(one, server, &command, ILK__SCRIPT_STORE_FINISH);
}

int ilk__shards_store_send_finish(ilk__shards_store_request *one,
                                  ilk__shards_store_part *at, const char *id,
                                  int is_committed)
{
    ilk__bytes *keys = keys_of(one, at);
    int sent;

    if (!keys)
        return 0;
    sent = ilk__shards_store_send_end(one, at->server, keys, at->count, id,
                                      is_committed);
    ilk__free(keys);
    return sent;
}

int ilk__shards_store_send_outcome(ilk__shards_store_request *one,
                                   ilk__shards_server *server, const char *id,
                                   int64_t age_ms)
{
    const ilk__bytes keys[] = {bytes_of(&one->done), bytes_of(&one->store)};
    ilk__command command;

    ilk__command_init(&command);
    ilk__script_begin(&command, ILK__SCRIPT_STORE_OUTCOME, keys, 2);
    ilk__command_add_str(&command, id);
    ilk__command_add_int(&command, age_ms);
    return send(one, server, &command, ILK__SCRIPT_STORE_OUTCOME);
}

int ilk__shards_store_send_left(ilk__shards_store_request *one,
                                ilk__shards_server *server)
{
    const ilk__bytes store = bytes_of(&one->store);
    ilk__command command;

    ilk__command_init(&command);
    ilk__script_begin(&command, ILK__SCRIPT_STORE_LEFT, &store, 1);
    return send(one, server, &command, ILK__SCRIPT_STORE_LEFT);
}

int ilk__shards_store_send_decision(ilk__shards_store_request *one)
{
    const ilk__bytes keys[] = {bytes_of(&one->done), bytes_of(&one->store)};
    ilk__shards_server *home = ilk__shards_store_home_of(one->shards, one->id);
    ilk__command command;

    ilk__command_init(&command);
    ilk__script_begin(&command, ILK__SCRIPT_STORE_DECIDE, keys, 2);
    ilk__command_add_str(&command, one->id);
    ilk__command_add_int(&command, one->at);
    ilk__command_add_str(&command, home->place);
    add_all_keys(&command, one);
    return send(one, home, &command, ILK__SCRIPT_STORE_DECIDE);
}

void ilk__shards_store_send_forget(ilk__shards_store_request *one,
                                   const char *id)
{
    const ilk__bytes store = bytes_of(&one->store);
    ilk__command command;

    ilk__command_init(&command);
    ilk__script_begin(&command, ILK__SCRIPT_STORE_FORGET, &store, 1);
    ilk__command_add_str(&command, id);
    (void)send(one, ilk__shards_store_home_of(one->shards, id), &command,
               ILK__SCRIPT_STORE_FORGET);
}

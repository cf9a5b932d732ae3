/* SPDX-License-Identifier: MIT */
/* shards_store_settle.c -- the end of another transaction: all its intents, on all servers, in
 * one round. Each server has the list of all its keys (scripts/include/store.lua). */
#include "shards_store_internal.h"

#include "base/alloc.h"

#include "base/hash.h"
#include "redis/script.h"

#include <interlock/store.h>

#include <string.h>

enum { LOOK_FOR_LEFT_MS = 60000 };

/* The next key of the list, which is `<bytes>:<key>...`. 0: the list has ended, or it makes
 * no sense. */
static int next_key(ilk__bytes *out, ilk__span *list)
{
    size_t len = 0, i = 0;

    while (i < list->len && i < 6 && list->at[i] >= '0' && list->at[i] <= '9')
        len = 10 * len + (size_t)(list->at[i++] - '0');
    if (i == 0 || i == list->len || list->at[i] != ':'
        || len > list->len - i - 1)
        return 0;
    *out = (ilk__bytes){(char *)list->at + i + 1, len};
    list->at += i + 1 + len;
    list->len -= i + 1 + len;
    return 1;
}

/* The keys that the ring gives to this server, behind the room for those of the store. */
static size_t keys_at(ilk__bytes *out, const ilk__shards_store_request *one,
                      const ilk__shards_server *server)
{
    ilk__span list = {(const char *)ilk__buf_data(&one->other_keys),
                      ilk__buf_len(&one->other_keys)};
    ilk__bytes key;
    size_t count = 0;

    while (count < ILK_TXN_WRITES_MAX && next_key(&key, &list))
        if (ilk__shards_server_of(one->shards, key) == server)
            out[ILK__STORE_FIRST_KEYS + count++] = key;
    return count;
}

static void note_sent(ilk__shards_store_request *one,
                      const ilk__shards_server *server, int sent)
{
    one->settling += (size_t)sent;
    one->is_left |= !sent;
    if (server == one->met->server)
        one->is_met_left = !sent;
}

int ilk__shards_store_settle(ilk__shards_store_request *one)
{
    ilk__bytes *keys = ilk__malloc((ILK__STORE_FIRST_KEYS + ILK_TXN_WRITES_MAX)
                                   * sizeof *keys);

    one->settling = 0;
    one->is_left = 0;
    one->is_met_left = 1;
    for (size_t i = 0; keys && i < one->shards->ring_count; i++) {
        ilk__shards_server *server = &one->shards->servers[i];
        const size_t count = keys_at(keys, one, server);

        if (count)
            note_sent(one, server,
                      ilk__shards_store_send_end(one, server, keys, count,
                                                 one->other,
                                                 one->is_committed));
    }
    ilk__free(keys);
    if (one->is_met_left && !one->settling) { /* the list is unknown */
        one->is_left = 1;
        one->is_met_left = !ilk__shards_store_send_finish(
            one, one->met, one->other, one->is_committed);
        one->settling += (size_t)!one->is_met_left;
    }
    return one->settling > 0;
}

int ilk__shards_store_is_settled(ilk__shards_store_request *one,
                                 const ilk__shards_server *server, int is_done)
{
    one->settling--;
    one->is_left |= !is_done;
    if (server == one->met->server)
        one->is_met_left = !is_done;
    return one->settling == 0;
}

/* ---- commits that are left ----------------------------------------------- */

static void take_left(ilk__shards_store_request *one, const ilk__reply *reply)
{
    const ilk__reply *id = ilk__script_item(reply, 0),
                     *keys = ilk__script_item(reply, 1);

    one->is = ILK__STORE_ENDED;
    if (id->len == 0 || id->len > ILK__STORE_ID_MOST
        || strlen(id->str) != id->len)
        return;
    memcpy(one->other, id->str, id->len + 1);
    ilk__buf_drop(&one->other_keys, ilk__buf_len(&one->other_keys));
    one->is_committed = 1;
    if (!ilk__buf_add(&one->other_keys, keys->str, keys->len)
        && ilk__shards_store_settle(one))
        one->is = ILK__STORE_LOOKS;
}

/* One that could not be ended is met again by the next look, a minute later. */
void ilk__shards_store_looked(ilk__shards_store_request *one,
                              ilk__shards_server *server,
                              const ilk__node_call *call,
                              const ilk__reply *reply)
{
    if (call->script == ILK__SCRIPT_STORE_LEFT) {
        if (reply)
            take_left(one, reply);
    } else if (call->script == ILK__SCRIPT_STORE_FINISH
               && ilk__shards_store_is_settled(one, server, reply != NULL)
               && !one->is_left) {
        ilk__shards_store_send_forget(one, one->other);
        (void)ilk__shards_store_send_left(one, one->met->server);
    }
}

int ilk__shards_store_is_look_due(ilk__shards_server *server,
                                  const ilk__shards_store_request *request)
{
    const uint64_t hash =
        ilk__hash(ILK__HASH_START, ilk__buf_data(&request->store),
                  ilk__buf_len(&request->store));
    int64_t *at = &server->looked_for_left[hash % ILK__SHARDS_STORES];
    const int64_t now = ilk__now_ms();

    if (!server->calls.connection.up || (*at && now < *at + LOOK_FOR_LEFT_MS))
        return 0;
    *at = now;
    return 1;
}

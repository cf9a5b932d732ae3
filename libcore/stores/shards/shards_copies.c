/* SPDX-License-Identifier: MIT */
/* shards_copies.c -- the copies of a value: which is newer, and the calls that read and
 * write one. */
#include "shards_internal.h"

#include "base/buf.h"
#include "redis/script.h"

#include <string.h>

/* The reply of kv_read. */
enum { AT_VERSION, AT_TOKEN, AT_HAS, AT_VALUE, AT_NOW };

ilk__shards_copy ilk__shards_copy_of(const ilk__reply *reply)
{
    const ilk__reply *token = ilk__script_item(reply, AT_TOKEN),
                     *value = ilk__script_item(reply, AT_VALUE);

    return (ilk__shards_copy){.version = ilk__script_int(reply, AT_VERSION),
                              .token = {token->str, token->len},
                              .value = {value->str, value->len},
                              .has_value = ilk__script_int(reply, AT_HAS) == 1,
                              .read_us = ilk__script_int(reply, AT_NOW)};
}

static int compare(ilk__span a, ilk__span b)
{
    const size_t len = a.len < b.len ? a.len : b.len;
    const int order = len ? memcmp(a.at, b.at, len) : 0;

    return order ? order : (a.len > b.len) - (a.len < b.len);
}

int ilk__shards_copy_is_newer(const ilk__shards_copy *a,
                              const ilk__shards_copy *b)
{
    return a->version != b->version ? a->version > b->version
                                    : compare(a->token, b->token) > 0;
}

/* A deleted key's version ends at one server before it ends at the next. If the servers
 * got it from each other again and again, it would never end. */
int ilk__shards_copy_is_lacking(const ilk__shards_copy *there,
                                const ilk__shards_copy *newest)
{
    if (!ilk__shards_copy_is_newer(newest, there))
        return 0;
    return newest->has_value || there->version > 0
           || newest->version > there->read_us - ILK__SHARDS_DELETED_US / 2;
}

/* ---- calls --------------------------------------------------------------- */

int ilk__shards_copy_send_read(ilk__shards_server *server, ilk__bytes record,
                               ilk__node_call_ended *ended, void *owner)
{
    ilk__command command;

    ilk__command_init(&command);
    ilk__script_begin(&command, ILK__SCRIPT_KV_READ, &record, 1);
    return ilk__shards_send(server, &command, ILK__SCRIPT_KV_READ, ended,
                            owner);
}

int ilk__shards_copy_send_write(ilk__shards_server *server, ilk__bytes record,
                                int64_t version, ilk__span token,
                                ilk__span text, ilk__node_call_ended *ended,
                                void *owner)
{
    const ilk__bytes keys[] = {record, ilk__shards_node_key};
    ilk__command command;

    ilk__command_init(&command);
    ilk__script_begin(&command, ILK__SCRIPT_KV_WRITE, keys, 2);
    ilk__command_add_int(&command, version);
    ilk__command_add(&command, token.at, token.len);
    ilk__command_add(&command, text.at, text.len);
    ilk__command_add_str(&command, ilk__shards_returns(server) ? "0" : "1");
    return ilk__shards_send(server, &command, ILK__SCRIPT_KV_WRITE, ended,
                            owner);
}

static int send_version(ilk__shards_server *server, int script,
                        ilk__bytes record, int64_t version, ilk__span token,
                        ilk__node_call_ended *ended, void *owner)
{
    ilk__command command;

    ilk__command_init(&command);
    ilk__script_begin(&command, script, &record, 1);
    ilk__command_add_int(&command, version);
    ilk__command_add(&command, token.at, token.len);
    return ilk__shards_send(server, &command, script, ended, owner);
}

int ilk__shards_copy_send_settle(ilk__shards_server *server, ilk__bytes record,
                                 int64_t version, ilk__span token,
                                 ilk__node_call_ended *ended, void *owner)
{
    return send_version(server, ILK__SCRIPT_KV_SETTLE, record, version, token,
                        ended, owner);
}

int ilk__shards_copy_send_remove(ilk__shards_server *server, ilk__bytes record,
                                 const ilk__shards_copy *copy,
                                 ilk__node_call_ended *ended, void *owner)
{
    return send_version(server, ILK__SCRIPT_KV_REMOVE, record, copy->version,
                        copy->token, ended, owner);
}

int ilk__shards_copy_send(ilk__shards_server *server, ilk__bytes record,
                          const ilk__shards_copy *copy,
                          ilk__node_call_ended *ended, void *owner)
{
    ilk__buf text = {0};
    int sent = 0;

    if (!ilk__buf_add(&text, copy->has_value ? "v" : "d", 1)
        && (!copy->has_value
            || !ilk__buf_add(&text, copy->value.at, copy->value.len)))
        sent = ilk__shards_copy_send_write(
            server, record, copy->version, copy->token,
            (ilk__span){ilk__buf_data(&text), ilk__buf_len(&text)}, ended,
            owner);
    ilk__buf_free(&text);
    return sent;
}

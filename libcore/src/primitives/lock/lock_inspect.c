/* SPDX-License-Identifier: MIT */
/* lock_inspect.c -- inspecting a lock: who holds it and who waits. */
#include "base/alloc.h"
#include "lock.h"

#include <string.h>

/* The elements of lock_inspect's reply that follow the code. */
enum {
    AT_TYPE,
    AT_VALUE,
    AT_PTTL,
    AT_NOW,
    AT_FENCE,
    AT_TOKEN,
    AT_SINCE,
    AT_WHO,
    AT_WAITERS,
    AT_READERS,
    AT_OWNER,
    AT_ENTRIES
};

static void ask(ilk__op *op)
{
    const ilk__inspection *self = op->subject;

    ilk__script_begin(&op->command, op->type->script, self->keys,
                      ILK__LOCK_KEYS);
    ilk__command_add_int(&op->command, ILK__LISTED_MAX);
}

static char *copy(const ilk__reply *reply)
{
    return ilk__memdup(reply->str, reply->len);
}

static int is(const ilk__reply *reply, const char *text)
{
    return reply->len == strlen(text)
           && memcmp(reply->str, text, reply->len) == 0;
}

static int same(const ilk__reply *a, const ilk__reply *b)
{
    return a->len == b->len && memcmp(a->str, b->str, a->len) == 0;
}

static ilk_info_state state_of(const ilk__reply *reply)
{
    const ilk__reply *value = ilk__script_item(reply, AT_VALUE);

    if (ilk__script_code(reply) == ILK__CODE_FREE)
        return ILK_INFO_FREE;
    if (is(ilk__script_item(reply, AT_TYPE), "hash"))
        return ILK_INFO_REDISSON;
    if (is(value, "ilk:readers"))
        return ILK_INFO_READERS;
    return same(value, ilk__script_item(reply, AT_TOKEN)) ? ILK_INFO_HELD
                                                          : ILK_INFO_FOREIGN;
}

static ilk__act inspected(ilk__op *op, const ilk__reply *reply)
{
    ilk__inspection *self = op->subject;
    ilk_info *info = self->info;
    const ilk__reply *type = ilk__script_item(reply, AT_TYPE);
    const ilk__reply *holder;
    int known, reads;

    if (!is(type, "none") && !is(type, "string")
        && !(is(type, "hash") && ilk__script_item(reply, AT_OWNER)->len))
        return ilk__op_fail(op, ILK_ETYPE, "the key is a %s, not a lock",
                            type->str);
    info->state = state_of(reply);
    reads = info->state == ILK_INFO_READERS || info->state == ILK_INFO_REDISSON;
    holder = ilk__script_item(reply, reads ? AT_OWNER : AT_VALUE);
    known = info->state == ILK_INFO_HELD || info->state == ILK_INFO_READERS
            || (info->state == ILK_INFO_REDISSON
                && same(holder, ilk__script_item(reply, AT_TOKEN)));
    info->ttl_ms = ilk__script_int(reply, AT_PTTL);
    if (info->state == ILK_INFO_FREE)
        info->ttl_ms = 0;
    info->fence = ilk__script_int(reply, AT_FENCE);
    info->since_ms = known ? ilk__script_int(reply, AT_SINCE) : 0;
    info->waiters = ilk__script_int(reply, AT_WAITERS);
    info->readers = ilk__script_int(reply, AT_READERS);
    info->holder = copy(holder);
    info->holder_len = holder->len;
    info->label =
        known ? copy(ilk__script_item(reply, AT_WHO)) : ilk__memdup("", 0);
    if (!info->holder || !info->label
        || !ilk__info_list(info, reply, AT_ENTRIES))
        return ilk__op_fail(op, ILK_ENOMEM, "out of memory");
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type lock_inspect = {.name = "inspect",
                                          .script = ILK__SCRIPT_LOCK_INSPECT,
                                          .reads = 1,
                                          .ask = ask,
                                          .reply = inspected};

void ilk__lock_inspect_ask(ilk__request *request, ilk__inspection *self,
                           ilk__request_then *then)
{
    ilk__request_ask(request, &lock_inspect, self,
                     ilk__request_patience(request), then);
}

static const ilk__inspect_kind kind = {.key_kinds = ilk__lock_key_kinds,
                                       .key_count = ILK__LOCK_KEYS,
                                       .inspect = &lock_inspect};

ilk_status ilk_inspect(ilk_info **out, ilk_client *client, const void *name,
                       size_t name_len, ilk_error *err)
{
    return ilk__inspect(out, client, &kind, name, name_len, err);
}

ilk_status ilk_inspect_start(ilk_op **out, ilk_client *client, const void *name,
                             size_t name_len, ilk_error *err)
{
    return ilk__inspect_start(out, client, &kind, name, name_len, err);
}

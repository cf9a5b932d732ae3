/* SPDX-License-Identifier: MIT */
/* lock_inspect.c -- inspecting a lock: who holds it and who waits. */
#include "lock.h"

#include <interlock/list.h>

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
    AT_LISTED,
    AT_FIRST
};

/* The elements of each reader, from AT_FIRST on. */
enum { OF_TOKEN, OF_WHO, OF_FENCE, OF_SINCE, OF_TTL, OF_ALL };

static void ask(ilk__op *op)
{
    const ilk__inspection *self = op->subject;

    ilk__script_begin(&op->command, op->type->script, self->keys,
                      ILK__LOCK_KEYS);
    ilk__command_add_int(&op->command, ILK__LISTED_MAX);
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

static const char *state_name(ilk_info_state state)
{
    switch (state) {
    case ILK_INFO_FREE: return "free";
    case ILK_INFO_HELD: return "held";
    case ILK_INFO_FOREIGN: return "foreign";
    case ILK_INFO_READERS: return "readers";
    case ILK_INFO_REDISSON: return "redisson";
    }
    return "";
}

/* The declared shape covers only the fixed part: check the readers here. */
static int is_well_formed(const ilk__reply *reply)
{
    int64_t listed = ilk__script_int(reply, AT_LISTED);

    if (listed < 0 || listed > ILK__LISTED_MAX
        || reply->count < 1 + AT_FIRST + (size_t)listed * OF_ALL)
        return 0;
    for (size_t i = 0; i < (size_t)listed * OF_ALL; i++)
        if (ilk__script_item(reply, AT_FIRST + i)->type
            != (i % OF_ALL <= OF_WHO ? ILK__REPLY_STR : ILK__REPLY_INT))
            return 0;
    return 1;
}

/* `known`: the record is this holder's. */
static int add_only_holder(ilk_info *info, const ilk__reply *reply, int known)
{
    static const ilk__reply nobody = {.type = ILK__REPLY_STR,
                                      .str = (char *)""};
    int redisson = info->state == ILK_INFO_REDISSON;
    ilk__info_entry *one = ilk__info_add_holder(
        info, ilk__script_item(reply, redisson ? AT_OWNER : AT_VALUE),
        known ? ilk__script_item(reply, AT_WHO) : &nobody);

    info->holders = 1;
    if (!one)
        return 0;
    one->permits = 1;
    one->fence = known ? info->fence : 0;
    one->since_ms = known ? ilk__script_int(reply, AT_SINCE) : 0;
    one->ttl_ms = info->ttl_ms;
    return 1;
}

static int add_readers(ilk_info *info, const ilk__reply *reply)
{
    size_t listed = (size_t)ilk__script_int(reply, AT_LISTED);

    info->holders = info->readers;
    for (size_t i = 0; i < listed; i++) {
        size_t at = AT_FIRST + i * OF_ALL;
        ilk__info_entry *one =
            ilk__info_add_holder(info, ilk__script_item(reply, at + OF_TOKEN),
                                 ilk__script_item(reply, at + OF_WHO));

        if (!one)
            return 0;
        one->permits = 1;
        one->fence = ilk__script_int(reply, at + OF_FENCE);
        one->since_ms = ilk__script_int(reply, at + OF_SINCE);
        one->ttl_ms = ilk__script_int(reply, at + OF_TTL);
    }
    return 1;
}

static int add_holders(ilk_info *info, const ilk__reply *reply)
{
    const ilk__reply *token = ilk__script_item(reply, AT_TOKEN);

    switch (info->state) {
    case ILK_INFO_FREE: return 1;
    case ILK_INFO_READERS: return add_readers(info, reply);
    case ILK_INFO_REDISSON:
        return add_only_holder(info, reply,
                               same(ilk__script_item(reply, AT_OWNER), token));
    default: return add_only_holder(info, reply, info->state == ILK_INFO_HELD);
    }
}

static ilk__act inspected(ilk__op *op, const ilk__reply *reply)
{
    ilk__inspection *self = op->subject;
    ilk_info *info = self->info;
    const ilk__reply *type = ilk__script_item(reply, AT_TYPE);

    if (!is_well_formed(reply))
        return ilk__op_fail(op, ILK_EREPLY, "inspect: a wrong shape");
    if (!is(type, "none") && !is(type, "string")
        && !(is(type, "hash") && ilk__script_item(reply, AT_OWNER)->len))
        return ilk__op_fail(op, ILK_ETYPE, "the key is a %s, not a lock",
                            type->str);
    info->state = state_of(reply);
    info->ttl_ms =
        info->state == ILK_INFO_FREE ? 0 : ilk__script_int(reply, AT_PTTL);
    info->fence = ilk__script_int(reply, AT_FENCE);
    info->waiters = ilk__script_int(reply, AT_WAITERS);
    info->readers = ilk__script_int(reply, AT_READERS);
    info->kind = ILK_KIND_LOCK;
    info->state_name = state_name(info->state);
    info->in_use =
        info->state != ILK_INFO_FREE || info->waiters > 0 || info->fence > 0;
    if (!add_holders(info, reply)
        || !ilk__info_list(
            info, reply,
            AT_FIRST + (size_t)ilk__script_int(reply, AT_LISTED) * OF_ALL))
        return ilk__op_fail(op, ILK_ENOMEM, "out of memory");
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type lock_inspect = {.name = "inspect",
                                          .script = ILK__SCRIPT_LOCK_INSPECT,
                                          .reply_is_optional = 1,
                                          .ask = ask,
                                          .reply = inspected};

void ilk__lock_inspect_ask(ilk__request *request, ilk__inspection *self,
                           ilk__request_then *then)
{
    ilk__request_ask(request, &lock_inspect, self,
                     ilk__request_patience(request), then);
}

const ilk__inspect_kind ilk__lock_inspect_kind = {.key_kinds =
                                                      ilk__lock_key_kinds,
                                                  .key_count = ILK__LOCK_KEYS,
                                                  .inspect = &lock_inspect};

ilk_status ilk_inspect(ilk_info **out, ilk_client *client, const void *name,
                       size_t name_len, ilk_error *err)
{
    return ilk__inspect(out, client, &ilk__lock_inspect_kind, name, name_len,
                        err);
}

ilk_status ilk_inspect_start(ilk_op **out, ilk_client *client, const void *name,
                             size_t name_len, ilk_error *err)
{
    return ilk__inspect_start(out, client, &ilk__lock_inspect_kind, name,
                              name_len, err);
}

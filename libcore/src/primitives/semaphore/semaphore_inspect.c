/* SPDX-License-Identifier: MIT */
/* semaphore_inspect.c -- inspecting a semaphore: who holds, who waits. */
#include "semaphore.h"

#include <interlock/list.h>

#include <string.h>

/* The elements of semaphore_inspect's reply that follow the code. */
enum {
    AT_LIMIT,
    AT_USED,
    AT_NOW,
    AT_FENCE,
    AT_WAITERS,
    AT_HOLDERS,
    AT_LISTED,
    AT_FIRST
};

/* The elements of each holder, from AT_FIRST on. */
enum { OF_TOKEN, OF_WHO, OF_PERMITS, OF_FENCE, OF_SINCE, OF_TTL, OF_ALL };

static void ask(ilk__op *op)
{
    const ilk__inspection *self = op->subject;

    ilk__script_begin(&op->command, op->type->script, self->keys,
                      ILK__SEMAPHORE_KEYS);
    ilk__command_add_int(&op->command, ILK__LISTED_MAX);
}

/* The declared shape covers only the fixed part: check the holders here. */
static int is_well_formed(const ilk__reply *reply)
{
    int64_t listed = ilk__script_int(reply, AT_LISTED);

    if (listed < 0 || listed > ILK__LISTED_MAX
        || reply->count < 1 + AT_FIRST + (size_t)listed * OF_ALL)
        return 0;
    for (size_t i = 0; i < (size_t)listed * OF_ALL; i++) {
        int is_text = i % OF_ALL == OF_TOKEN || i % OF_ALL == OF_WHO;

        if (ilk__script_item(reply, AT_FIRST + i)->type
            != (is_text ? ILK__REPLY_STR : ILK__REPLY_INT))
            return 0;
    }
    return 1;
}

static int copy_lists(ilk_info *info, const ilk__reply *reply)
{
    size_t listed = (size_t)ilk__script_int(reply, AT_LISTED);

    for (size_t i = 0; i < listed; i++) {
        size_t at = AT_FIRST + i * OF_ALL;
        ilk__info_entry *one =
            ilk__info_add_holder(info, ilk__script_item(reply, at + OF_TOKEN),
                                 ilk__script_item(reply, at + OF_WHO));

        if (!one)
            return 0;
        one->permits = ilk__script_int(reply, at + OF_PERMITS);
        one->fence = ilk__script_int(reply, at + OF_FENCE);
        one->since_ms = ilk__script_int(reply, at + OF_SINCE);
        one->ttl_ms = ilk__script_int(reply, at + OF_TTL);
    }
    /* Getters for a single holder return the one who was served first. */
    if (listed > 0)
        info->ttl_ms = info->holding[0].ttl_ms;
    return ilk__info_list(info, reply, AT_FIRST + listed * OF_ALL);
}

static ilk__act inspected(ilk__op *op, const ilk__reply *reply)
{
    ilk__inspection *self = op->subject;
    ilk_info *info = self->info;

    if (!is_well_formed(reply))
        return ilk__op_fail(op, ILK_EREPLY, "inspect: a wrong shape");
    info->state = ilk__script_code(reply) == ILK__CODE_HELD ? ILK_INFO_HELD
                                                            : ILK_INFO_FREE;
    info->limit = ilk__script_int(reply, AT_LIMIT);
    info->used = ilk__script_int(reply, AT_USED);
    info->fence = ilk__script_int(reply, AT_FENCE);
    info->waiters = ilk__script_int(reply, AT_WAITERS);
    info->holders = ilk__script_int(reply, AT_HOLDERS);
    info->kind = ILK_KIND_SEMAPHORE;
    info->state_name = info->state == ILK_INFO_HELD ? "held" : "free";
    info->in_use = info->limit > 0 || info->used > 0 || info->waiters > 0;
    ilk__info_number(info, "limit", info->limit);
    ilk__info_number(info, "used", info->used);
    if (!copy_lists(info, reply))
        return ilk__op_fail(op, ILK_ENOMEM, "out of memory");
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type semaphore_inspect = {
    .name = "inspect",
    .script = ILK__SCRIPT_SEMAPHORE_INSPECT,
    .reply_is_optional = 1,
    .ask = ask,
    .reply = inspected};

const ilk__inspect_kind ilk__semaphore_inspect_kind = {
    .key_kinds = ilk__semaphore_key_kinds,
    .key_count = ILK__SEMAPHORE_KEYS,
    .inspect = &semaphore_inspect};

ilk_status ilk_semaphore_inspect(ilk_info **out, ilk_client *client,
                                 const void *name, size_t name_len,
                                 ilk_error *err)
{
    return ilk__inspect(out, client, &ilk__semaphore_inspect_kind, name,
                        name_len, err);
}

ilk_status ilk_semaphore_inspect_start(ilk_op **out, ilk_client *client,
                                       const void *name, size_t name_len,
                                       ilk_error *err)
{
    return ilk__inspect_start(out, client, &ilk__semaphore_inspect_kind, name,
                              name_len, err);
}

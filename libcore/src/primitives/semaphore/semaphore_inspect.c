/* SPDX-License-Identifier: MIT */
/* semaphore_inspect.c -- inspecting a semaphore: who holds, who waits. */
#include "base/alloc.h"
#include "handle/inspect.h"
#include "semaphore.h"

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

static int copy_text(char **out, const ilk__reply *reply, size_t at)
{
    const ilk__reply *item = ilk__script_item(reply, at);

    *out = ilk__memdup(item->str, item->len);
    return *out != NULL;
}

static int copy_holder(ilk__info_entry *one, const ilk__reply *reply, size_t at)
{
    one->permits = ilk__script_int(reply, at + OF_PERMITS);
    one->fence = ilk__script_int(reply, at + OF_FENCE);
    one->since_ms = ilk__script_int(reply, at + OF_SINCE);
    one->ttl_ms = ilk__script_int(reply, at + OF_TTL);
    return copy_text(&one->token, reply, at + OF_TOKEN)
           && copy_text(&one->label, reply, at + OF_WHO);
}

/* Getters for a single holder return the one who was served first. */
static int copy_first(ilk_info *info)
{
    const ilk__info_entry *first = info->holding;
    int some = info->holding_count > 0;

    info->since_ms = some ? first->since_ms : 0;
    info->ttl_ms = some ? first->ttl_ms : 0;
    info->holder_len = some ? strlen(first->token) : 0;
    info->holder = ilk__memdup(some ? first->token : "", info->holder_len);
    info->label =
        ilk__memdup(some ? first->label : "", some ? strlen(first->label) : 0);
    return info->holder && info->label;
}

static int copy_lists(ilk_info *info, const ilk__reply *reply)
{
    size_t listed = (size_t)ilk__script_int(reply, AT_LISTED);

    for (size_t i = 0; i < listed; i++) {
        size_t at = AT_FIRST + i * OF_ALL;

        if (!copy_holder(&info->holding[info->holding_count++], reply, at))
            return 0;
    }
    return copy_first(info)
           && ilk__info_list(info, reply, AT_FIRST + listed * OF_ALL);
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
    if (!copy_lists(info, reply))
        return ilk__op_fail(op, ILK_ENOMEM, "out of memory");
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type semaphore_inspect = {
    .name = "inspect",
    .script = ILK__SCRIPT_SEMAPHORE_INSPECT,
    .reads = 1,
    .ask = ask,
    .reply = inspected};

static const ilk__inspect_kind kind = {.key_kinds = ilk__semaphore_key_kinds,
                                       .key_count = ILK__SEMAPHORE_KEYS,
                                       .inspect = &semaphore_inspect};

ilk_status ilk_semaphore_inspect(ilk_info **out, ilk_client *client,
                                 const void *name, size_t name_len,
                                 ilk_error *err)
{
    return ilk__inspect(out, client, &kind, name, name_len, err);
}

ilk_status ilk_semaphore_inspect_start(ilk_op **out, ilk_client *client,
                                       const void *name, size_t name_len,
                                       ilk_error *err)
{
    return ilk__inspect_start(out, client, &kind, name, name_len, err);
}

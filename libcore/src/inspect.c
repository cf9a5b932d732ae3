/* SPDX-License-Identifier: MIT */
/* inspect.c -- looking at a name: who holds it and who waits. */
#include "alloc.h"
#include "lock.h"
#include "run.h"

#include <interlock/inspect.h>

#include <string.h>

enum { LISTED_MAX = 100 };

/* Where lock_inspect's answer has what, behind its code. */
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

typedef struct listed {
    char *label, *token;
} listed;

struct ilk_info {
    ilk_info_state state;
    char *holder, *label;
    size_t holder_len;
    int64_t since_ms, ttl_ms, fence, readers, waiters;
    listed listed[LISTED_MAX];
    size_t listed_count;
};

typedef struct inspecting {
    ilk__bytes keys[ILK__LOCK_KEYS];
    ilk_info *info;
} inspecting;

static void ask(ilk__op *op)
{
    const inspecting *self = op->subject;

    ilk__script_begin(&op->command, op->type->script, self->keys,
                      ILK__LOCK_KEYS);
    ilk__command_add_int(&op->command, LISTED_MAX);
}

static char *copy(const ilk__reply *reply)
{
    return ilk__memdup(reply->str, reply->len);
}

/* The n-th word of an entry, `1 kind client waiter token lease permits who`. */
static char *entry_word(const ilk__reply *entry, int n)
{
    const char *at = entry->str, *end = at + entry->len, *space;

    while (n-- > 0) {
        space = memchr(at, ' ', (size_t)(end - at));
        at = space ? space + 1 : end;
    }
    space = memchr(at, ' ', (size_t)(end - at));
    return ilk__memdup(at, (size_t)((space ? space : end) - at));
}

static int copy_entries(ilk_info *info, const ilk__reply *reply)
{
    for (size_t i = AT_ENTRIES + 1;
         i < reply->count && info->listed_count < LISTED_MAX; i++) {
        listed *one = &info->listed[info->listed_count++];

        if (reply->items[i]->type != ILK__REPLY_STR)
            return 0;
        one->token = entry_word(reply->items[i], 4);
        one->label = entry_word(reply->items[i], 7);
        if (!one->token || !one->label)
            return 0;
    }
    return 1;
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
    inspecting *self = op->subject;
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
    if (!info->holder || !info->label || !copy_entries(info, reply))
        return ilk__op_fail(op, ILK_ENOMEM, "out of memory");
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type lock_inspect = {.name = "inspect",
                                          .script = ILK__SCRIPT_LOCK_INSPECT,
                                          .reads = 1,
                                          .ask = ask,
                                          .reply = inspected};

ilk_status ilk_inspect(ilk_info **out, ilk_client *client, const void *name,
                       size_t name_len, ilk_error *err)
{
    inspecting self = {0};
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__client_enter(client, err);
    if (st == ILK_OK)
        st = ilk__lock_keys(self.keys, name, name_len, err);
    if (st)
        return st;
    self.info = ilk__calloc(1, sizeof *self.info);
    if (!self.info)
        st = ilk__fail(err, ILK_ENOMEM, "out of memory");
    else
        st = ilk__ask(client, &lock_inspect, &self,
                      client->opts.reply_timeout_ms, err);
    ilk__lock_keys_free(self.keys);
    if (st)
        ilk_info_free(self.info);
    else
        *out = self.info;
    return st;
}

/* ---- getters ------------------------------------------------------------ */

int32_t ilk_info_get_state(const ilk_info *info)
{
    return info ? (int32_t)info->state : ILK_INFO_FREE;
}

const char *ilk_info_holder(const ilk_info *info, size_t *out_len)
{
    if (out_len)
        *out_len = info ? info->holder_len : 0;
    return info ? info->holder : "";
}

const char *ilk_info_label(const ilk_info *info)
{
    return info ? info->label : "";
}

int64_t ilk_info_since_ms(const ilk_info *info)
{
    return info ? info->since_ms : 0;
}

int64_t ilk_info_ttl_ms(const ilk_info *info)
{
    return info ? info->ttl_ms : 0;
}

int64_t ilk_info_fence(const ilk_info *info)
{
    return info ? info->fence : 0;
}

int64_t ilk_info_readers(const ilk_info *info)
{
    return info ? info->readers : 0;
}

int64_t ilk_info_waiters(const ilk_info *info)
{
    return info ? info->waiters : 0;
}

int64_t ilk_info_listed(const ilk_info *info)
{
    return info ? (int64_t)info->listed_count : 0;
}

const char *ilk_info_waiter_label(const ilk_info *info, size_t index)
{
    return info && index < info->listed_count ? info->listed[index].label : "";
}

const char *ilk_info_waiter_token(const ilk_info *info, size_t index)
{
    return info && index < info->listed_count ? info->listed[index].token : "";
}

void ilk_info_free(ilk_info *info)
{
    if (!info)
        return;
    for (size_t i = 0; i < info->listed_count; i++) {
        ilk__free(info->listed[i].label);
        ilk__free(info->listed[i].token);
    }
    ilk__free(info->holder);
    ilk__free(info->label);
    ilk__free(info);
}

/* SPDX-License-Identifier: MIT */
/* info.c -- ilk_info, the result of inspecting a name: making and getters. */
#include "info.h"

#include "base/alloc.h"
#include "wait/entry.h"

#include <stdlib.h>
#include <string.h>

/* ---- making ------------------------------------------------------------- */

/* An entry that cannot be parsed is listed without token and label. */
static int set_waiter(ilk__info_entry *one, const ilk__reply *reply)
{
    ilk__entry_text entry = {.token = "", .who = ""};

    (void)ilk__entry_read(&entry, reply->str, reply->len);
    one->permits = entry.permits;
    one->token = ilk__memdup(entry.token, entry.token_len);
    one->label = ilk__memdup(entry.who, entry.who_len);
    return one->token && one->label;
}

int ilk__info_list(ilk_info *info, const ilk__reply *reply, size_t at)
{
    for (size_t i = at + 1;
         i < reply->count && info->waiting_count < ILK__LISTED_MAX; i++) {
        if (reply->items[i]->type != ILK__REPLY_STR
            || !set_waiter(&info->waiting[info->waiting_count++],
                           reply->items[i]))
            return 0;
    }
    return 1;
}

static void free_listed(ilk__info_entry *listed, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ilk__free(listed[i].label);
        ilk__free(listed[i].token);
    }
}

void ilk_info_free(ilk_info *info)
{
    if (!info)
        return;
    free_listed(info->waiting, info->waiting_count);
    free_listed(info->holding, info->holding_count);
    ilk__free(info->holder);
    ilk__free(info->label);
    ilk__free(info);
}

void ilk__info_dispose(void *info)
{
    ilk_info_free(info);
}

/* ---- getters of the name ------------------------------------------------ */

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

int64_t ilk_info_limit(const ilk_info *info)
{
    return info ? info->limit : 0;
}

int64_t ilk_info_used(const ilk_info *info)
{
    return info ? info->used : 0;
}

int64_t ilk_info_holders(const ilk_info *info)
{
    return info ? info->holders : 0;
}

/* ---- getters of listed waiters and holders ------------------------------ */

static char nothing[] = "";
static const ilk__info_entry nobody = {.label = nothing, .token = nothing};

static const ilk__info_entry *waiter(const ilk_info *info, size_t index)
{
    return info && index < info->waiting_count ? &info->waiting[index]
                                               : &nobody;
}

static const ilk__info_entry *holder(const ilk_info *info, size_t index)
{
    return info && index < info->holding_count ? &info->holding[index]
                                               : &nobody;
}

int64_t ilk_info_listed(const ilk_info *info)
{
    return info ? (int64_t)info->waiting_count : 0;
}

const char *ilk_info_waiter_label(const ilk_info *info, size_t index)
{
    return waiter(info, index)->label;
}

const char *ilk_info_waiter_token(const ilk_info *info, size_t index)
{
    return waiter(info, index)->token;
}

int64_t ilk_info_waiter_permits(const ilk_info *info, size_t index)
{
    return waiter(info, index)->permits;
}

int64_t ilk_info_holders_listed(const ilk_info *info)
{
    return info ? (int64_t)info->holding_count : 0;
}

const char *ilk_info_holder_label(const ilk_info *info, size_t index)
{
    return holder(info, index)->label;
}

const char *ilk_info_holder_token(const ilk_info *info, size_t index)
{
    return holder(info, index)->token;
}

int64_t ilk_info_holder_permits(const ilk_info *info, size_t index)
{
    return holder(info, index)->permits;
}

int64_t ilk_info_holder_fence(const ilk_info *info, size_t index)
{
    return holder(info, index)->fence;
}

int64_t ilk_info_holder_since_ms(const ilk_info *info, size_t index)
{
    return holder(info, index)->since_ms;
}

int64_t ilk_info_holder_ttl_ms(const ilk_info *info, size_t index)
{
    return holder(info, index)->ttl_ms;
}

/* SPDX-License-Identifier: MIT */
/* info.c -- ilk_info, the result of inspecting a name: making and getters. */
#include "info.h"

#include "base/alloc.h"
#include "wait/entry.h"

#include <stdlib.h>
#include <string.h>

/* ---- making ------------------------------------------------------------- */

static int set_texts(ilk__info_entry *one, const char *token, size_t token_len,
                     const ilk__who *who)
{
    one->token = ilk__memdup(token, token_len);
    one->token_len = token_len;
    one->label = ilk__memdup(who->label, who->label_len);
    one->client = ilk__memdup(who->client, who->client_len);
    return one->token && one->label && one->client;
}

/* An entry that cannot be parsed is listed without token and label. */
static int set_waiter(ilk__info_entry *one, const ilk__reply *text,
                      const ilk__reply *waited)
{
    ilk__entry_text entry = {.token = "", .who = {.client = "", .label = ""}};

    (void)ilk__entry_read(&entry, text->str, text->len);
    one->permits = entry.permits;
    one->waited_ms = waited->num < 0 ? -1 : waited->num;
    return set_texts(one, entry.token, entry.token_len, &entry.who);
}

int ilk__info_list(ilk_info *info, const ilk__reply *reply, size_t at)
{
    for (size_t i = at + 1;
         i + 1 < reply->count && info->waiting_count < ILK__LISTED_MAX;
         i += 2) {
        if (reply->items[i]->type != ILK__REPLY_STR
            || reply->items[i + 1]->type != ILK__REPLY_INT
            || !set_waiter(&info->waiting[info->waiting_count++],
                           reply->items[i], reply->items[i + 1]))
            return 0;
    }
    return 1;
}

ilk__info_entry *ilk__info_add_holder(ilk_info *info, const ilk__reply *token,
                                      const ilk__reply *who)
{
    ilk__info_entry *one = &info->holding[info->holding_count++];
    const ilk__who of = ilk__who_read(who->str, who->len);

    return set_texts(one, token->str, token->len, &of) ? one : NULL;
}

int ilk__info_add_labelled(ilk_info *info, const char *label, size_t label_len)
{
    const ilk__who who = {.client = "", .label = label, .label_len = label_len};

    return set_texts(&info->holding[info->holding_count++], "", 0, &who);
}

void ilk__info_number(ilk_info *info, const char *name, int64_t number)
{
    info->facts[info->fact_count++] =
        (ilk__info_fact){.name = name, .number = number};
}

int ilk__info_text(ilk_info *info, const char *name, const char *text,
                   size_t text_len)
{
    ilk__info_fact *fact = &info->facts[info->fact_count];

    *fact = (ilk__info_fact){.name = name,
                             .text = ilk__memdup(text, text_len),
                             .text_len = text_len};
    info->fact_count += fact->text != NULL;
    return fact->text != NULL;
}

static void free_listed(ilk__info_entry *listed, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ilk__free(listed[i].label);
        ilk__free(listed[i].token);
        ilk__free(listed[i].client);
    }
}

void ilk_info_free(ilk_info *info)
{
    if (!info)
        return;
    free_listed(info->waiting, info->waiting_count);
    free_listed(info->holding, info->holding_count);
    for (size_t i = 0; i < info->fact_count; i++)
        ilk__free(info->facts[i].text);
    ilk__free(info);
}

void ilk__info_dispose(void *info)
{
    ilk_info_free(info);
}

/* ---- getters of the name ------------------------------------------------ */

static char nothing[] = "";
static const ilk__info_entry nobody = {
    .label = nothing, .token = nothing, .client = nothing, .waited_ms = -1};

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

int32_t ilk_info_get_state(const ilk_info *info)
{
    return info ? (int32_t)info->state : ILK_INFO_FREE;
}

int32_t ilk_info_kind(const ilk_info *info)
{
    return info ? info->kind : 0;
}

const char *ilk_info_state_name(const ilk_info *info)
{
    return info ? info->state_name : "";
}

int32_t ilk_info_in_use(const ilk_info *info)
{
    return info ? info->in_use : 0;
}

const char *ilk_info_holder(const ilk_info *info, size_t *out_len)
{
    if (out_len)
        *out_len = holder(info, 0)->token_len;
    return holder(info, 0)->token;
}

const char *ilk_info_label(const ilk_info *info)
{
    return holder(info, 0)->label;
}

int64_t ilk_info_since_ms(const ilk_info *info)
{
    return holder(info, 0)->since_ms;
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

int64_t ilk_info_longest_wait_ms(const ilk_info *info)
{
    int64_t longest = 0;

    if (!info || info->waiters < 0
        || (info->waiters > 0 && !info->waiting_count))
        return -1;
    for (size_t i = 0; i < info->waiting_count; i++) {
        int64_t waited = info->waiting[i].waited_ms;

        if (waited < 0)
            return -1;
        longest = waited > longest ? waited : longest;
    }
    return longest;
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

const char *ilk_info_waiter_client(const ilk_info *info, size_t index)
{
    return waiter(info, index)->client;
}

int64_t ilk_info_waiter_waited_ms(const ilk_info *info, size_t index)
{
    return waiter(info, index)->waited_ms;
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

const char *ilk_info_holder_client(const ilk_info *info, size_t index)
{
    return holder(info, index)->client;
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

/* ---- facts --------------------------------------------------------------- */

static const ilk__info_fact *fact(const ilk_info *info, size_t index)
{
    return info && index < info->fact_count ? &info->facts[index] : NULL;
}

size_t ilk_info_facts(const ilk_info *info)
{
    return info ? info->fact_count : 0;
}

const char *ilk_info_fact_name(const ilk_info *info, size_t index)
{
    const ilk__info_fact *one = fact(info, index);

    return one ? one->name : "";
}

int64_t ilk_info_fact_number(const ilk_info *info, size_t index)
{
    const ilk__info_fact *one = fact(info, index);

    return one ? one->number : 0;
}

const char *ilk_info_fact_text(const ilk_info *info, size_t index,
                               size_t *out_len)
{
    const ilk__info_fact *one = fact(info, index);

    if (out_len)
        *out_len = one && one->text ? one->text_len : 0;
    return one ? one->text : NULL;
}

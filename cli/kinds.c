/* SPDX-License-Identifier: MIT */
/* kinds.c -- the kinds of names, as --kind takes them. */
#include "info.h"

#include <string.h>

static const struct cli_kind kinds[] = {
    {ILK_KIND_LOCK, ILK_OFFER_LOCK},
    {ILK_KIND_SEMAPHORE, ILK_OFFER_SEMAPHORE},
    {ILK_KIND_ELECTION, ILK_OFFER_ELECTION},
    {ILK_KIND_SIGNAL, ILK_OFFER_SIGNAL},
    {ILK_KIND_EVENT, ILK_OFFER_EVENT},
    {ILK_KIND_BARRIER, ILK_OFFER_BARRIER},
    {ILK_KIND_LATCH, ILK_OFFER_LATCH},
    {ILK_KIND_QUEUE, ILK_OFFER_QUEUE},
    {ILK_KIND_GROUP, ILK_OFFER_GROUP},
    {ILK_KIND_REGISTER, ILK_OFFER_REGISTER},
    {ILK_KIND_STORE, 0},
    {ILK_KIND_KV, 0},
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

const struct cli_kind *cli_kind_at(size_t index)
{
    return index < KINDS ? &kinds[index] : NULL;
}

const struct cli_kind *cli_kind_of(int32_t bit)
{
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].bit == bit)
            return &kinds[i];
    return NULL;
}

const struct cli_kind *cli_take_kind(struct cli_args *args, const char *value)
{
    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(ilk_kind_name(kinds[i].bit), value) == 0)
            return &kinds[i];
    args->status = cli_usage(args, "no kind '%s'", value);
    return NULL;
}

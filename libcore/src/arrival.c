/* SPDX-License-Identifier: MIT */
/* arrival.c -- what a wait for signals has brought. */
#include "alloc.h"
#include "signal_wait.h"

size_t ilk_arrival_count(const ilk_arrival *arrival)
{
    return arrival ? arrival->count : 0;
}

static const ilk__letter *letter_at(const ilk_arrival *arrival, size_t index)
{
    if (index >= ilk_arrival_count(arrival))
        return NULL;
    return arrival->heard ? &arrival->heard->letter
                          : arrival->parcels[index]->letter;
}

int32_t ilk_arrival_which(const ilk_arrival *arrival, size_t index)
{
    if (index >= ilk_arrival_count(arrival))
        return -1;
    return arrival->heard ? 0 : (int32_t)arrival->parcels[index]->index;
}

const char *ilk_arrival_name(const ilk_arrival *arrival, size_t index,
                             size_t *out_len)
{
    const ilk__letter *letter = letter_at(arrival, index);

    if (out_len)
        *out_len = letter ? letter->name_len : 0;
    return letter ? letter->name : NULL;
}

const char *ilk_arrival_data(const ilk_arrival *arrival, size_t index,
                             size_t *out_len)
{
    const ilk__letter *letter = letter_at(arrival, index);

    if (out_len)
        *out_len = letter ? letter->data_len : 0;
    return letter ? letter->data : NULL;
}

void ilk_arrival_free(ilk_arrival *arrival)
{
    if (!arrival)
        return;
    for (size_t i = 0; i < arrival->count; i++)
        ilk__parcel_free(arrival->parcels[i]);
    ilk__heard_free(arrival->heard);
    ilk__free(arrival);
}

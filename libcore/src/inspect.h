/* SPDX-License-Identifier: MIT */
/* inspect.h -- looking at a lock's name, as a part of a verb. */
#ifndef ILK__INSPECT_H
#define ILK__INSPECT_H

#include "info.h"
#include "lock.h"

typedef struct ilk__inspecting {
    ilk__bytes keys[ILK__LOCK_KEYS]; /* the caller's */
    ilk_info *info;                  /* found; to be freed, whatever came out */
} ilk__inspecting;

void ilk__inspect_ask(ilk__verb *verb, ilk__inspecting *inspecting,
                      ilk__verb_then *then);

#endif

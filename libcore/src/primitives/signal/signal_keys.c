/* SPDX-License-Identifier: MIT */
/* signal_keys.c -- the keys of one name's lists of waits for signals. */
#include "signal_wait.h"

#include "base/alloc.h"

#include <string.h>

static const char *const list_kinds[ILK__SIGNAL_LISTS] = {
    "signal:wait", "signal:live", "signal:crowd", "signal:given"};

ilk_status ilk__signal_keys(ilk__bytes keys[ILK__SIGNAL_LISTS],
                            const void *name, size_t len, ilk_error *err)
{
    ilk_status st = ilk__name_check(name, len, "name", err);

    memset(keys, 0, ILK__SIGNAL_LISTS * sizeof *keys);
    for (int i = 0; i < ILK__SIGNAL_LISTS && st == ILK_OK; i++)
        st = ilk__side_key(&keys[i], list_kinds[i], name, len, err);
    if (st)
        ilk__signal_keys_free(keys);
    return st;
}

void ilk__signal_keys_free(ilk__bytes keys[ILK__SIGNAL_LISTS])
{
    for (int i = 0; i < ILK__SIGNAL_LISTS; i++) {
        ilk__free(keys[i].data);
        keys[i].data = NULL;
    }
}

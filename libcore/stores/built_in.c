/* SPDX-License-Identifier: MIT */
#include "built_in.h"

#include "stores/cluster/cluster.h"
#include "stores/quorum/quorum.h"
#include "stores/shards/shards.h"

#include <stdatomic.h>

static const ilk__backend *const stores[] = {
    &ilk__cluster_backend,
    &ilk__quorum_backend,
    &ilk__shards_backend,
};

ilk_status ilk__built_in_stores_register(ilk_error *err)
{
    static atomic_int registered;

    if (atomic_load(&registered))
        return ILK_OK;
    for (size_t i = 0; i < sizeof stores / sizeof stores[0]; i++)
        if (ilk__backend_register(stores[i]))
            return ilk__fail(err, ILK_ENOMEM, "out of memory");
    atomic_store(&registered, 1);
    return ILK_OK;
}

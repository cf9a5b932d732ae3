/* SPDX-License-Identifier: MIT */
/* fuzz_zookeeper_options.c -- any text as a URL of zookeeper://, see fuzz_store_url.h. */
#include "../fuzz_store_url.h"

extern const ilk__backend ilk__zk_backend;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const schemes[] = {"zookeeper", "zookeeper+tls"};

    return fuzz_store_url(&ilk__zk_backend, schemes,
                          sizeof schemes / sizeof schemes[0], data, size);
}

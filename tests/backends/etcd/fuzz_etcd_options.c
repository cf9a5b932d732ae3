/* SPDX-License-Identifier: MIT */
/* fuzz_etcd_options.c -- any text as a URL of etcd://, see fuzz_store_url.h. */
#include "../fuzz_store_url.h"

extern const ilk__backend ilk__etcd_backend;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const schemes[] = {"etcd", "etcd+tls"};

    return fuzz_store_url(&ilk__etcd_backend, schemes,
                          sizeof schemes / sizeof schemes[0], data, size);
}

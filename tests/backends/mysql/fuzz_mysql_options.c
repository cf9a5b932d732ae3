/* SPDX-License-Identifier: MIT */
/* fuzz_mysql_options.c -- any text as a URL of mysql://, see fuzz_store_url.h. */
#include "../fuzz_store_url.h"

extern const ilk__backend ilk__mysql_backend;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const schemes[] = {"mysql", "mysql+tls", "mariadb",
                                          "mariadb+tls"};

    return fuzz_store_url(&ilk__mysql_backend, schemes,
                          sizeof schemes / sizeof schemes[0], data, size);
}

/* SPDX-License-Identifier: MIT */
/* many_case.c -- what the tests of many names share. */
#include "many_case.h"

#include <string.h>

ilk_lock_many *open_many_with(ilk_client *client, const char *names,
                              int64_t ttl_ms, uint32_t flags)
{
    const void *at[ILK_MANY_MAX];
    size_t lens[ILK_MANY_MAX], count = strlen(names);
    ilk_lock_opts opts;
    ilk_lock_many *many = NULL;
    ilk_error err = {0};

    for (size_t i = 0; i < count; i++) {
        at[i] = names + i;
        lens[i] = 1;
    }
    ilk_lock_opts_init(&opts, sizeof opts);
    opts.ttl_ms = ttl_ms;
    opts.flags = flags;
    assert_status(ILK_OK, ilk_lock_many_open(&many, client, at, lens, count,
                                             &opts, &err));
    return many;
}

ilk_lock_many *open_many(ilk_client *client, const char *names, int64_t ttl_ms)
{
    return open_many_with(client, names, ttl_ms, 0);
}

void assert_all(const char *names, const char *value)
{
    for (; *names; names++)
        assert_string_equal(value, fixture_command(&fx, "GET %c", *names));
}

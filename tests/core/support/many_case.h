/* SPDX-License-Identifier: MIT */
/* many_case.h -- what the tests of many names share, beside lock_case.h. */
#ifndef ILK__MANY_CASE_H
#define ILK__MANY_CASE_H

#include "lock_case.h"

/* names: one letter each. */
ilk_lock_many *open_many(ilk_client *client, const char *names, int64_t ttl_ms);
ilk_lock_many *open_many_with(ilk_client *client, const char *names,
                              int64_t ttl_ms, uint32_t flags);

/* The server has this value for each of them. */
void assert_all(const char *names, const char *value);

#endif

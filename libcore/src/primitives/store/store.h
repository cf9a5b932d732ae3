/* SPDX-License-Identifier: MIT */
/* store.h -- the handles of stores and transactions. */
#ifndef ILK__STORE_H
#define ILK__STORE_H

#include "client/client.h"
#include "redis/keys.h"

#include <interlock/store.h>

enum {
    ILK__STORE_KEYS = 3,      /* store, done, the front of the users' keys */
    ILK__TXN_TOKEN = 32,      /* digits */
    ILK__TXN_ID = 32 + 1 + 13 /* the token, '-' and the time in ms */
};

extern const char *const ilk__store_key_kinds[ILK__STORE_KEYS];

struct ilk_store {
    ilk_client *client; /* a counted reference */
    ilk__bytes keys[ILK__STORE_KEYS];
};

/* Milliseconds since 1970, by the clock of this machine. */
int64_t ilk__store_time_ms(void);

#endif

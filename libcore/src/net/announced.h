/* SPDX-License-Identifier: MIT */
/*
 * announced.h -- which of the addresses that servers announce a client connects to.
 *
 * Sentinels name the primary, and nodes of a cluster name each other; the client logs
 * in there. So a sentinel or a node that lies could collect the password at any
 * address. Two rules bound that: the patterns of the URL's query key `hosts`, if it is
 * given, and else a number of new addresses in a time.
 */
#ifndef ILK__ANNOUNCED_H
#define ILK__ANNOUNCED_H

#include "base/error.h"
#include "base/siphash.h"

#include <stdatomic.h>

enum { ILK__ANNOUNCED_KNOWN = 16 };

/* All zero: all addresses are allowed. Any thread, once it is set up. */
typedef struct ilk__announced {
    const char *patterns; /* of the URL, borrowed; NULL: there are none */
    int64_t at_once;      /* so many new addresses, 0: without a limit */
    int64_t each_ms;      /* and then one in this time */
    unsigned char key[ILK__SIPHASH_KEY];          /* of the marks */
    _Atomic uint64_t known[ILK__ANNOUNCED_KNOWN]; /* marks of the newest */
    _Atomic unsigned turn;                        /* the next place */
    _Atomic int64_t taken_until; /* each address taken moves it by each_ms */
} ilk__announced;

/* Draw the key. ILK_ESYSTEM. */
ilk_status ilk__announced_init(ilk__announced *announced, const char *patterns,
                               int64_t at_once, int64_t each_ms,
                               ilk_error *err);

/* ILK_OK: connect to it. ILK_ECONN: no pattern matches the host, or there were
 * too many new addresses. */
ilk_status ilk__announced_check(ilk__announced *announced, const char *host,
                                int port, ilk_error *err);

/* Whether the text is patterns of hosts: `10.0.*,*.example.com`. ILK_EINVAL. */
ilk_status ilk__announced_check_patterns(const char *patterns, ilk_error *err);

/* Whether one of the patterns matches the host. '*' stands for any characters, and
 * capitals do not count. */
int ilk__announced_matches(const char *patterns, const char *host);

#endif

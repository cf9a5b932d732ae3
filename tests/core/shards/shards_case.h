/* SPDX-License-Identifier: MIT */
/*
 * ring_case.h -- a ring without servers: the test reads what is sent to them, and makes
 * their replies. A test that uses this has a comment line with its linker options:
 *     link: @support/node_calls.link
 */
#ifndef ILK__RING_CASE_H
#define ILK__RING_CASE_H

#include "stores/shards/shards_internal.h"

enum { RING_SERVERS = 3 };

/* All servers are up. */
extern ilk__ring_gateway ring;

/* The replies that the core got to the last request. */
extern struct ring_result {
    int count; /* of replies */
    int code;  /* -1: an error, or `is_broken` */
    int is_broken;
    int64_t numbers[2];
    char error[ILK_ERROR_MAX];
} ring_result;

int ring_case_open(void);
int ring_case_close(void);

/* It is unreachable, and calls that have no reply yet will have none. */
void ring_case_lose(ilk__ring_server *server);

/* A request of the core's with these words, of which a list ends with NULL. */
ilk__gateway_request *ring_case_request(int script, const char *const *keys,
                                        const char *const *args);

/* The calls of a script without a reply: how many, to all servers or one. */
size_t ring_case_calls(int script);
size_t ring_case_calls_to(const ilk__ring_server *server, int script);
/* The last argument of the first one. */
const char *ring_case_word(int script);

/* Reply to the first call of the script at the server: a code, and a letter for each
 * element as ilk__gateway_reply() has them. */
void ring_case_answer(ilk__ring_server *server, int script, int code,
                      const char *types, ...);
void ring_case_answer_error(ilk__ring_server *server, int script,
                            const char *text);
/* There is no reply. */
void ring_case_miss(ilk__ring_server *server, int script);

#endif

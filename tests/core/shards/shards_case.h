/* SPDX-License-Identifier: MIT */
/*
 * shards_case.h -- a ring without servers: the test reads what is sent to them, and makes
 * their replies. A test that uses this has a comment line with its linker options:
 *     link: @support/node_calls.link
 */
#ifndef ILK__SHARDS_CASE_H
#define ILK__SHARDS_CASE_H

#include "stores/shards/shards_internal.h"

enum { SHARDS_SERVERS = 3 };

/* All servers are up. */
extern ilk__shards shards;

/* The replies that the core got to the last request. */
extern struct shards_result {
    int count; /* of replies */
    int code;  /* -1: an error, or `is_broken` */
    int is_broken;
    int64_t numbers[2];
    char error[ILK_ERROR_MAX];
} shards_result;

int shards_case_open(void);
int shards_case_close(void);

/* It is unreachable, and calls that have no reply yet will have none. */
void shards_case_lose(ilk__shards_server *server);

/* A request of the core's with these words, of which a list ends with NULL. */
ilk__gateway_request *shards_case_request(int script, const char *const *keys,
                                          const char *const *args);

/* The calls of a script without a reply: how many, to all servers or one. */
size_t shards_case_calls(int script);
size_t shards_case_calls_to(const ilk__shards_server *server, int script);
/* The last argument of the first one. */
const char *shards_case_word(int script);

/* Reply to the first call of the script at the server: a code, and a letter for each
 * element as ilk__gateway_reply() has them. */
void shards_case_answer(ilk__shards_server *server, int script, int code,
                        const char *types, ...);
void shards_case_answer_error(ilk__shards_server *server, int script,
                              const char *text);
/* There is no reply. */
void shards_case_miss(ilk__shards_server *server, int script);

#endif

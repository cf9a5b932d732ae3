/* SPDX-License-Identifier: MIT */
/*
 * expected_reply.h -- decides whether a reply belongs to the command whose turn
 * it is.
 *
 * Replies come in the order of the commands, but a faulty server, proxy or
 * network may add, drop, repeat or swap them. Position alone therefore proves
 * nothing. A script call carries a number as its last argument, a different one
 * for each copy that is sent, and its reply begins with that number, or is that
 * number (see scripts/include/reply.lua). Error replies and the replies of other
 * commands carry no number: only their type can be compared.
 *
 *     command ... 4711 -->
 *                  <-- *4 :301507 ...       301507 = 64 * 4711 + the code 3
 */
#ifndef ILK__EXPECTED_REPLY_H
#define ILK__EXPECTED_REPLY_H

#include "command.h"
#include "reply.h"

typedef struct ilk__expected_reply {
    ilk__reply_kind kind; /* of the command */
    int64_t number;       /* of the request, if kind is NUMBERED */
} ilk__expected_reply;

typedef enum ilk__match {
    ILK__MATCH_PROVEN,   /* the number is right */
    ILK__MATCH_POSSIBLE, /* the type is right; there is no number */
    ILK__MATCH_FOREIGN   /* it belongs to no request, or to another one */
} ilk__match;

/* Why a connection ends at a reply that does not match. */
#define ILK__FOREIGN_REPLY "the server sent a reply that belongs to no request"

/* The first element of a reply, or all of it; scripts/include/reply.lua makes it
 * of its call's number and a code below ILK__CODE_LIMIT. */
enum { ILK__CODE_LIMIT = 64 };
int64_t ilk__reply_head(int64_t number, int code);

/* The first number of a connection; the next ones count up. It is random, so
 * that the replies of an earlier connection do not match, and so great that the
 * reply of a script is no number that another command returns. */
int64_t ilk__first_request_number(void);

/* Call this once for a reply: it removes the number, so that the first element,
 * or the reply itself, is the code alone. */
ilk__match ilk__match_reply(const ilk__expected_reply *expected,
                            ilk__reply *reply);

#endif

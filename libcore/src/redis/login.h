/* SPDX-License-Identifier: MIT */
/*
 * login.h -- what a new connection says first, as a machine without I/O.
 *
 *     round 1   HELLO 3 [AUTH user password] SETNAME name | SELECT db
 *     round 2   [AUTH ...] | CLIENT SETNAME name | CLIENT ID | SELECT db
 *     round 3   CLIENT LIST ID n
 *     round 4   CLIENT KILL ID n
 *
 * A round is one write. Round 2 is for servers that know no HELLO, and for
 * URLs that ask for RESP2. A name that the server refuses is no failure.
 *
 * Rounds 3 and 4 are for a connection that replaces one which broke. Commands
 * of the broken one may lie in a buffer on their way and be executed later,
 * after their second copies and after whatever has been decided since. So the
 * new connection closes the old one on the server before it carries a command:
 * what arrives there later fails. n is the number that the server gave to the
 * old connection. A server that was started anew counts from the beginning,
 * so round 4 is left out unless the connection n has our name and is old
 * enough. A server that refuses either command (a missing right) is no failure:
 * the connection is then marked as one that left another open, the log warns
 * once, and docs/safety.md says what may happen.
 */
#ifndef ILK__LOGIN_H
#define ILK__LOGIN_H

#include "base/buf.h"
#include "net/url.h"
#include "reply.h"

enum { ILK__LOGIN_ROUND = 4, ILK__LOGIN_NAME = 128 };

/* A connection as its server knows it. */
typedef struct ilk__conn_number {
    int64_t id;    /* 0: the server did not say */
    int64_t since; /* local time of its login; 0: there was none */
} ilk__conn_number;

typedef struct ilk__login {
    const ilk__url *url;        /* borrowed */
    char name[ILK__LOGIN_NAME]; /* as servers accept it; "" for none */
    char asked[ILK__LOGIN_ROUND];
    int asked_count, answered;
    int fall_back;             /* HELLO was refused: ask in the old words */
    int protocol;              /* 2 or 3 */
    ilk__conn_number number;   /* of this connection */
    ilk__conn_number replaces; /* to be closed */
    int left_open;             /* it may not have been */
    int64_t now;               /* local time, set before each reply */
} ilk__login;

/* Append the first round to out. `replaces` may be NULL. ILK_ENOMEM. */
ilk_status ilk__login_start(ilk__login *login, const ilk__url *url,
                            const char *name, const ilk__conn_number *replaces,
                            ilk__buf *out, ilk_error *err);

/*
 * Take one reply: ILK_OK when logged in; ILK_EAGAIN when more must come, what
 * there is to say now being appended to out; else the server's refusal, whose
 * text never shows a password.
 */
ilk_status ilk__login_reply(ilk__login *login, const ilk__reply *reply,
                            ilk__buf *out, ilk_error *err);

#endif

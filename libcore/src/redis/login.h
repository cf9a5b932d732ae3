/* SPDX-License-Identifier: MIT */
/*
 * login.h -- the first commands on a new connection, as a state machine without
 * I/O.
 *
 *     round 1   HELLO 3 [AUTH user password] SETNAME name | SELECT db
 *     round 2   [AUTH ...] | CLIENT SETNAME name | CLIENT ID | SELECT db
 *     round 3   CLIENT LIST ID n
 *     round 4   CLIENT KILL ID n
 *
 * The commands of a round are sent in one write. Round 2 replaces round 1 for
 * servers without HELLO and for URLs that ask for RESP2. The login succeeds
 * even if the server refuses the connection's name.
 *
 * Rounds 3 and 4 are for a connection that replaces a broken one. Commands sent
 * over the broken one may still be in a buffer of the network or the server.
 * They would be executed late: after they were sent again, and after decisions
 * that assume they are lost. Therefore the new connection kills the old one on
 * the server before it carries any command; whatever arrives over the old one
 * after that is dropped.
 *
 * n is the old connection's client id. A server that was restarted counts ids
 * from the beginning, so that n may be somebody else's connection now: round 4
 * is left out unless connection n has our name and is old enough.
 *
 * The login also succeeds if the server refuses LIST or KILL (a missing right).
 * `left_open` is then set, the log warns once, and docs/safety.md says what may
 * happen.
 */
#ifndef ILK__LOGIN_H
#define ILK__LOGIN_H

#include "base/buf.h"
#include "net/url.h"
#include "reply.h"

enum { ILK__LOGIN_ROUND = 4, ILK__LOGIN_NAME = 128 };

/* Identifies a connection on its server. */
typedef struct ilk__conn_number {
    int64_t id;    /* of CLIENT ID; 0: unknown */
    int64_t since; /* local time of its login; 0: there was none */
} ilk__conn_number;

typedef struct ilk__login {
    const ilk__url *url;          /* borrowed */
    char name[ILK__LOGIN_NAME];   /* as servers accept it; "" for none */
    char asked[ILK__LOGIN_ROUND]; /* the commands of this round */
    int asked_count, answered;
    int fall_back;             /* HELLO was refused: go on with round 2 */
    int protocol;              /* 2 or 3 */
    ilk__conn_number number;   /* of this connection */
    ilk__conn_number replaces; /* the connection to be closed */
    int left_open;             /* `replaces` may still be open */
    int64_t now;               /* local time, set before each reply */
} ilk__login;

/* Append the first round to out. `replaces` may be NULL. ILK_ENOMEM. */
ilk_status ilk__login_start(ilk__login *login, const ilk__url *url,
                            const char *name, const ilk__conn_number *replaces,
                            ilk__buf *out, ilk_error *err);

/*
 * Process one reply. ILK_OK: logged in. ILK_EAGAIN: more replies must come; the
 * next round's commands, if it begins now, are appended to out. Anything else
 * is the server's refusal; its text never shows a password.
 */
ilk_status ilk__login_reply(ilk__login *login, const ilk__reply *reply,
                            ilk__buf *out, ilk_error *err);

#endif

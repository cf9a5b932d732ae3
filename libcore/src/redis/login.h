/* SPDX-License-Identifier: MIT */
/*
 * login.h -- the first commands on a new connection, as a state machine without
 * I/O.
 *
 *     round 1   HELLO 3 [AUTH user password] SETNAME name | SELECT db | CLIENT ID
 *     round 2   [AUTH ...] | CLIENT SETNAME name | CLIENT ID | SELECT db | CLIENT ID
 *     round 3   CLIENT LIST ID n own | CLIENT ID
 *     round 4   CLIENT KILL ID n | CLIENT LIST ID n own | CLIENT ID
 *
 * n is the client id of the connection that this one replaces, own is this
 * one's id. The commands of a round are sent in one write. Round 2 replaces
 * round 1 for servers without HELLO and for URLs that ask for RESP2. The login
 * succeeds even if the server refuses the connection's name.
 *
 * Rounds 3 and 4 are for a connection that replaces a broken one. Commands sent
 * over the broken one may still be in a buffer of the network or the server.
 * They would be executed late: after they were sent again, and after decisions
 * that assume they are lost. Therefore the new connection kills the old one on
 * the server before it carries any command; whatever arrives over the old one
 * after that is dropped.
 *
 * A faulty proxy or network may add, drop or swap replies here, too. Every round
 * therefore ends with CLIENT ID, whose reply must be the id that is known
 * already: then each reply before it was in its place. The list includes own, so
 * that a list of other connections is recognised.
 *
 * A server that was restarted counts ids from the beginning, so that n may be
 * somebody else's connection now: round 4 is left out unless connection n has
 * our name and is old enough. If n is the new connection's own id, both rounds
 * are left out.
 *
 * After a failover the new connection leads to another server, and rounds 3 and
 * 4 are left out (conn.c): n means nothing there. Commands that are still in a
 * buffer of the old connection cannot be executed on the new primary, because
 * a server that is a primary takes no more writes from the one before. If the
 * old primary executes them, they change data that it discards when it becomes
 * a replica; until then it is a second primary (docs/safety.md). They cannot
 * wait there for its next time as a primary either: the transaction in which
 * Sentinel makes it a replica also kills its clients' connections. If a client
 * returns to a server without having been connected to the one in between, n
 * is a connection of that server, and rounds 3 and 4 take place.
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

enum { ILK__LOGIN_ROUND = 5, ILK__LOGIN_NAME = 128 };

/* Identifies a connection on its server. */
typedef struct ilk__conn_identity {
    int64_t id;      /* of CLIENT ID; 0: unknown */
    int64_t since;   /* local time of its login; 0: there was none */
    uint64_t server; /* ilk__server_hash(), if a sentinel gave the address */
} ilk__conn_identity;

/* The state of the broken connection, by CLIENT LIST. */
typedef enum ilk__broken_conn {
    ILK__BROKEN_CLOSED, /* by the server, or by a restart of it */
    ILK__BROKEN_OPEN,
    ILK__BROKEN_UNSURE /* neither is certain */
} ilk__broken_conn;

typedef struct ilk__login {
    const ilk__url *url;         /* borrowed */
    char name[ILK__LOGIN_NAME];  /* as servers accept it; "" for none */
    char sent[ILK__LOGIN_ROUND]; /* the commands of this round */
    int sent_count, answered;
    int fall_back;               /* HELLO was refused: go on with round 2 */
    int protocol;                /* 2 or 3 */
    ilk__conn_identity identity; /* of this connection */
    ilk__conn_identity replaces; /* the connection to be closed */
    int left_open;               /* `replaces` may still be open */
    ilk__broken_conn broken;     /* the state of `replaces` on the server */
    int64_t now;                 /* local time, set before each reply */
} ilk__login;

/* Append the first round to out. `replaces` may be NULL. ILK_ENOMEM. */
ilk_status ilk__login_start(ilk__login *login, const ilk__url *url,
                            const char *name,
                            const ilk__conn_identity *replaces, ilk__buf *out,
                            ilk_error *err);

/*
 * Process one reply. ILK_OK: logged in. ILK_EAGAIN: more replies must come; the
 * next round's commands, if it begins now, are appended to out. Anything else
 * is the server's refusal; its text never shows a password.
 */
ilk_status ilk__login_reply(ilk__login *login, const ilk__reply *reply,
                            ilk__buf *out, ilk_error *err);

#endif

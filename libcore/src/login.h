/* SPDX-License-Identifier: MIT */
/*
 * login.h -- what a new connection says first, as a machine without I/O.
 *
 *     round 1   HELLO 3 [AUTH user password] SETNAME name | SELECT db
 *     round 2   [AUTH ...] | CLIENT SETNAME name | SELECT db
 *
 * A round is one write. Round 2 is for servers that know no HELLO, and for
 * URLs that ask for RESP2. A name that the server refuses is no failure.
 */
#ifndef ILK__LOGIN_H
#define ILK__LOGIN_H

#include "buf.h"
#include "reply.h"
#include "url.h"

enum { ILK__LOGIN_ROUND = 4, ILK__LOGIN_NAME = 128 };

typedef struct ilk__login {
    const ilk__url *url;        /* borrowed */
    char name[ILK__LOGIN_NAME]; /* as servers accept it; "" for none */
    char asked[ILK__LOGIN_ROUND];
    int asked_count, answered;
    int fall_back; /* HELLO was refused: ask in the old words */
    int protocol;  /* 2 or 3 */
} ilk__login;

/* Append the first round to out. ILK_ENOMEM. */
ilk_status ilk__login_start(ilk__login *login, const ilk__url *url,
                            const char *name, ilk__buf *out, ilk_error *err);

/*
 * Take one reply: ILK_OK when logged in; ILK_EAGAIN when more must come, what
 * there is to say now being appended to out; else the server's refusal, whose
 * text never shows a password.
 */
ilk_status ilk__login_reply(ilk__login *login, const ilk__reply *reply,
                            ilk__buf *out, ilk_error *err);

#endif

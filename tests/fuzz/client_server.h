/* SPDX-License-Identifier: MIT */
/*
 * client_server.h -- the server of a fuzzed client: it has no data, and the
 * input decides each of its replies and messages.
 *
 * A choice of 0 is what a healthy server sends: the first declared reply with
 * numbers that make sense, and for an entry of a wait queue the message that ends
 * the wait. So an input that is used up lets every operation end.
 */
#ifndef ILK__CLIENT_SERVER_H
#define ILK__CLIENT_SERVER_H

#include "client_world.h"

typedef struct ilk__shared ilk__shared;
extern const ilk__shared *server_client; /* whose secrets messages repeat */

/*
 * Whether the server has sent what lets the client believe that this token
 * holds: a reply HELD, or of a refresh, with the number of a request that has
 * the token, on the connection of the request and after it; or a message with
 * the token.
 */
int server_granted(const char *token);
/* Whether a reply with this code and the number of a request for this script has
 * been sent. */
int server_answered(const char *script, int code);
/* Whether any message with this text has been sent. */
int server_published(const char *text);

/* Something without a request: a message, a broken connection, any bytes. */
void server_disturb(void);

#endif

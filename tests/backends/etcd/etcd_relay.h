/* SPDX-License-Identifier: MIT */
/*
 * etcd_relay.h -- a port that leads to an etcd, and can hold requests back.
 *
 * Requests that were held back reach the server later, even when the client has
 * closed their connection meanwhile.
 */
#ifndef ILK__ETCD_RELAY_H
#define ILK__ETCD_RELAY_H

typedef struct etcd_relay etcd_relay;

etcd_relay *etcd_relay_start(int server_port);
int etcd_relay_port(const etcd_relay *relay);
/* Of the next requests with this word, pass the first `passes` and hold the one after
 * them, with its connection, until let_go(). Other connections are not affected. */
void etcd_relay_hold(etcd_relay *relay, const char *word, int passes);
/* Whether a request is held. */
int etcd_relay_has_held(etcd_relay *relay);
void etcd_relay_let_go(etcd_relay *relay);
void etcd_relay_stop(etcd_relay *relay);

#endif

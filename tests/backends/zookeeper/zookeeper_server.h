/* SPDX-License-Identifier: MIT */
/*
 * zookeeper_server.h -- a ZooKeeper server of a test's own on 127.0.0.1, a client of
 * the same library that looks at nodes, and a proxy before the server.
 *
 * The jar is $ILK_TEST_ZOOKEEPER or Debian's. Functions that return int return 0 for
 * success.
 */
#ifndef ILK__ZOOKEEPER_SERVER_H
#define ILK__ZOOKEEPER_SERVER_H

#include <sys/types.h>

typedef struct zookeeper_server {
    char dir[96];
    int port;
    pid_t pid;
} zookeeper_server;

enum { ZOOKEEPER_SERVER_SKIP = 77 };

int zookeeper_server_start(zookeeper_server *server);
int zookeeper_server_restart(zookeeper_server *server);
void zookeeper_server_kill(zookeeper_server *server);
void zookeeper_server_stop(zookeeper_server *server);

/* How many requests it has received. */
long zookeeper_requests(const zookeeper_server *server);

/* How many children a node has, -1: there is no such node; and one of them by its
 * index, in the order of their numbers. This and the next two wait at most
 * patience(20000) ms. */
int zookeeper_children(const zookeeper_server *server, const char *path,
                       char first[256]);
/* Delete a node, or (with `data`) create one of this kind. */
int zookeeper_delete(const zookeeper_server *server, const char *path);
int zookeeper_create(const zookeeper_server *server, const char *path,
                     const char *data, int mode);
/* Wait for so many children, at most patience(15000) ms. */
int zookeeper_await(const zookeeper_server *server, const char *path,
                    int count);

/* Armed with a word, the proxy passes the next request with it to the server, and
 * closes both connections instead of passing the answer. While it is blocked, it has no
 * connections. With a pace it passes so many bytes of the server at a time, and pauses so
 * many milliseconds behind them; 0 bytes: no pace. */
typedef struct zookeeper_proxy zookeeper_proxy;
zookeeper_proxy *zookeeper_proxy_open(const zookeeper_server *server);
int zookeeper_proxy_port(const zookeeper_proxy *proxy);
void zookeeper_proxy_arm(zookeeper_proxy *proxy, const char *word);
int zookeeper_proxy_struck(const zookeeper_proxy *proxy);
void zookeeper_proxy_block(zookeeper_proxy *proxy, int blocks);
void zookeeper_proxy_pace(zookeeper_proxy *proxy, int bytes, int pause_ms);
/* How many connections it has accepted. */
int zookeeper_proxy_accepted(const zookeeper_proxy *proxy);
void zookeeper_proxy_close(zookeeper_proxy *proxy);

#endif

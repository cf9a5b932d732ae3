/* SPDX-License-Identifier: MIT */
/*
 * etcd_server.h -- an etcd of a test's own, on free ports of 127.0.0.1.
 *
 * The program is $ILK_TEST_ETCD or etcd from PATH. Its data are in a private
 * directory, and it dies with the test program.
 */
#ifndef ILK__ETCD_SERVER_H
#define ILK__ETCD_SERVER_H

#include <sys/types.h>

enum { ETCD_SERVER_SKIP = 77 };

typedef struct etcd_server {
    char dir[64];
    int port, peer_port;
    int tls; /* of clients */
    pid_t pid;
    char extra[512];
} etcd_server;

/* extra: more arguments, separated by spaces, or NULL. With "--cert-file" among them
 * it speaks TLS. 0; ETCD_SERVER_SKIP where there is no etcd, which is said on
 * standard error; -1. */
int etcd_server_start(etcd_server *server, const char *extra);
/* Two members of one cluster. */
int etcd_server_start_pair(etcd_server *one, etcd_server *other);
int etcd_server_kill(etcd_server *server);    /* SIGKILL; the data stay */
int etcd_server_restart(etcd_server *server); /* after kill */
void etcd_server_pause(etcd_server *server);  /* SIGSTOP */
void etcd_server_resume(etcd_server *server);
void etcd_server_stop(etcd_server *server); /* end it and remove its data */

/* Run etcdctl with these arguments: 0; ETCD_SERVER_SKIP; -1. */
int etcd_server_ctl(etcd_server *server, const char *arguments);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * proxy.h -- stands between clients and the fixture's server and spoils what
 * comes back.
 *
 * A thread accepts on a unix socket, makes a connection to the server for
 * each client and forwards bytes both ways. A fault is armed for the next
 * command that holds a given word: its reply, and nothing else, is cut,
 * swallowed, held back or replaced. Clients send one command at a time here,
 * so what the server sends next on that connection is its reply.
 */
#ifndef ILK__PROXY_H
#define ILK__PROXY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

enum { PROXY_PAIRS = 32 };

typedef enum proxy_fault {
    PROXY_NONE,
    PROXY_CUT,    /* pass `bytes` of the reply, then close both ends */
    PROXY_LOSE,   /* close before the command gets to the server */
    PROXY_DELAY,  /* pass the reply after delay_ms */
    PROXY_REPLACE /* pass `text` instead of the reply; if it is an array that
                   * begins with a code, with the number of the request */
} proxy_fault;

typedef struct proxy_pair {
    int client, server; /* -1: free */
    int spoil;          /* the next bytes of the server are the reply */
} proxy_pair;

typedef struct proxy {
    char path[160], url[176], server_path[128];
    int listener;
    pthread_t thread;
    _Atomic int stop;
    proxy_pair pairs[PROXY_PAIRS];
    /* Guarded by the mutex. */
    pthread_mutex_t mutex;
    proxy_fault fault;
    const char *word; /* in the command */
    size_t bytes;
    int delay_ms;
    const char *text;
    size_t text_len;
    long long number; /* of the struck request: its last argument */
    int struck;       /* how many faults came true */
    size_t reply_len; /* of the last reply that was spoiled */
} proxy;

int proxy_open(proxy *p, const char *path, const char *server_path); /* 0 */
void proxy_close(proxy *p);

/* Arm a fault for the next command that holds `word`. */
void proxy_arm(proxy *p, proxy_fault fault, const char *word);
void proxy_cut(proxy *p, const char *word, size_t bytes);
void proxy_delay(proxy *p, const char *word, int delay_ms);
void proxy_replace(proxy *p, const char *word, const char *text, size_t len);
int proxy_struck(proxy *p); /* since the last time it was armed */
size_t proxy_reply_len(proxy *p);

#endif

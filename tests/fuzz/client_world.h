/* SPDX-License-Identifier: MIT */
/*
 * client_world.h -- one thread, a clock and a network of its own, for a whole
 * client.
 *
 *     client --send--> link --command--> client_server.c
 *            <--recv-- link <--delivery, at its time--
 *
 * The linker gives the library these functions instead of the system's. A call
 * that would sleep, poll() or ilk__park(), lets the virtual clock go on to what
 * happens next: a delivery, a turn of the keeper, or the end of the sleep. The
 * keeper has no thread: its turns run while the caller sleeps. So the input
 * decides everything, and nothing waits.
 */
#ifndef ILK__CLIENT_WORLD_H
#define ILK__CLIENT_WORLD_H

#include "fuzz.h"

#include "base/buf.h"
#include "redis/reply.h"

enum { LINKS = 32 };

/* One connection, as the server has it. */
typedef struct world_link {
    int used;
    int is_open;                /* the client has not closed it */
    int ended;                  /* the server has closed it */
    int is_subscriber;          /* the client sent SUBSCRIBE on it */
    int resp3;                  /* the client sent HELLO 3 */
    int64_t last_when;          /* of a delivery: replies keep their order */
    struct redisReader *reader; /* of commands */
    ilk__buf readable;          /* delivered and not received yet */
    ilk__buf shown;             /* everything that was delivered */
} world_link;

extern world_link world_links[LINKS];
extern int64_t world_now; /* virtual milliseconds */
extern fuzz_input world_input;

/* How the network treats the bytes. 0: as they are. */
extern size_t world_send_most, world_recv_most;
extern int world_refuses; /* connections are refused */

void world_begin(const uint8_t *data, size_t size);
void world_end(void);

/* Let time pass until something happens, at most until then. */
void world_wait(int64_t until);
/* Let all happen that is due within so many milliseconds. */
void world_pass(int64_t ms);

/* Bytes for the client, after a delay. `ends`: then the link is closed. */
void world_deliver(world_link *link, int64_t delay_ms, const void *data,
                   size_t len, int ends);

/* client_server.c */
void server_begin(void);
void server_end(void);
void server_command(world_link *link, const ilk__reply *command);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * sim.h -- a whole fleet in one program, on a clock of its own.
 *
 *     tasks --op--> lane -------\
 *                                >-- packets, late or lost --> server (Lua)
 *     shared -inflight-> calls -/                               |
 *       \---------------- inbox <------- PUBLISH ----------------/
 *
 * Nodes are processes: each has the library's own shared state, in-flight
 * operations, waiters and leases, one lane for its tasks, and the keeper's two
 * connections. Threads, sockets and the server's data are played here.
 * Everything that happens is an event at a virtual millisecond; the seed
 * decides all.
 */
#ifndef ILK__SIM_H
#define ILK__SIM_H

#include "op/shared.h"
#include "primitives/lock/lock.h"
#include "pubsub/subscriber.h"

#include <stdio.h>

enum { NODES = 4, TASKS = 3, NAME_MAX_BYTES = 16 };

typedef struct node node;

/* ---- world.c: time, chance, events -------------------------------------- */

extern int64_t world_now; /* virtual milliseconds */
extern node *current;     /* whose code runs; NULL: nobody's */

void world_begin(uint64_t seed);
uint32_t dice(uint32_t sides); /* 0 .. sides - 1 */
int chance(uint32_t percent);

typedef void event_fn(node *n, void *data);
void at(int64_t when, event_fn *fn, node *n, void *data);
int world_step(void); /* the next event; 0 when there is none */
void world_end(void); /* drop what is left, by `discard` */

void trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern int tracing;

/* The first thing that went wrong; empty while all is well. */
extern char fault[256];
void violated(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- server.c: the real scripts over store.lua -------------------------- */

/* The part that is switched off to see that it is missed. */
typedef enum control {
    CONTROL_NONE,
    CONTROL_NO_PASS_ON,  /* a cancel keeps a grant under way */
    CONTROL_LATE_GRANTS, /* a grant counts however late it is seen */
    CONTROL_RECEIPT      /* a lease is counted from its receipt */
} control;
extern control control_on;

void server_open(void);
void server_close(void);
void server_forget(void); /* all data and scripts are lost */
/* Run one command; the answer in the protocol's words, valid until the next
 * call. */
const char *server_run(const ilk__reply *command);
const char *server_value(const char *key); /* of a string; "" for none */
int server_waits(const char *key, const char *client); /* entries of it */

/* ---- node.c, wire.c: processes and their connections -------------------- */

typedef struct wire {
    int up;
    unsigned life;       /* counts breaks: what is older is lost */
    int64_t there, here; /* when the last packet arrives */
} wire;

typedef struct task task;
struct task {
    node *node;
    ilk__wait_queue wait_queue;
    ilk__bytes keys[ILK__LOCK_KEYS];
    ilk__bytes extend_keys[2];
    ilk__waiter waiter;
    ilk__lease lease;
    ilk__release release;
    ilk__op op;
    ilk_error err;
    char name[NAME_MAX_BYTES];
    enum { IDLE, ACQUIRING, PARKED, HOLDING, RELEASING, FINISHED } state;
    unsigned awaited;     /* number of the call under way; 0: none */
    unsigned calls, life; /* made so far; of the lane, for the last one */
    int asleep, rounds;
    uint32_t wakes;     /* of the shared state, seen */
    int64_t until;      /* IDLE, PARKED, HOLDING: local time */
    int64_t began;      /* ACQUIRING, HOLDING: world time of the acquire */
    int64_t wait_until; /* local deadline of the acquire */
};

struct node {
    ilk__shared shared;
    ilk__pipeline pipeline; /* the keeper's */
    ilk__subscriber subscriber;
    wire lane, calls, inbox;
    int subscribed; /* the server sends it messages */
    int dead;
    int64_t frozen_until;
    int64_t offset; /* its clock: offset + world * rate */
    double rate;
    int64_t planned_at;    /* the world's time of its next turn; INT64_MAX */
    unsigned subscription; /* life of the inbox that the server knows */
    task tasks[TASKS];
    size_t task_count;
};

extern node nodes[NODES];

int64_t local_of(const node *n, int64_t when);
/* Whether messages are lost and late, in percent of 100. */
extern uint32_t loss, lateness;
void node_open(node *n);
void node_close(node *n);
void node_turn(node *n);           /* keeper and tasks do what is due */
void node_break(node *n, wire *w); /* the connection is lost */
void node_kill(node *n);

/* wire.c */
ilk__expected_reply wire_send(node *n, wire *w, const ilk__command *command,
                              task *t);
void wire_cut(wire *w); /* what is on it is lost, at one end or the other */
void wire_unsubscribe(node *n);
int subscribers(const char *channel);
int publish(const char *channel, const char *message, size_t len);

/* ---- task.c: one who takes and gives a lock ----------------------------- */

void task_open(task *t, node *n, const char *name);
void task_close(task *t);
int64_t task_due(const task *t); /* local */
void task_turn(task *t);
void task_answer(task *t, unsigned number, const ilk__reply *reply);
void task_no_answer(task *t); /* a connection broke: was it its? */
void task_signal(task *t);    /* an interrupt */
int task_holds(const task *t, int64_t when);

/* ---- check.c: what must always be true ---------------------------------- */

void check_begin(void);
void check_took(task *t); /* it has just received its grant */
void check_cancelled(const char *lock, const char *token);
void check_now(void);
int check_finished(void); /* all who live have had their rounds */
void check_end(void);
void check_data_lost(void);

#endif

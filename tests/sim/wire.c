/* SPDX-License-Identifier: MIT */
/* wire.c -- packets between nodes and the server: in order, late, lost. */
#include "client/inbox.h"
#include "sim.h"

#include <stdlib.h>
#include <string.h>

uint32_t loss, lateness;

typedef struct packet {
    node *node;
    wire *wire;
    unsigned life; /* of the wire when it was sent */
    int survives;  /* the server reads it though the connection broke */
    task *task;    /* the sender; NULL: the keeper, or nobody */
    unsigned number;
    ilk__expected_reply expected;
    size_t len;
    char bytes[];
} packet;

static packet *write_packet(node *n, wire *w, const void *bytes, size_t len)
{
    packet *l = malloc(sizeof *l + len);

    if (!l)
        abort();
    *l = (packet){.node = n, .wire = w, .life = w->life, .len = len};
    memcpy(l->bytes, bytes, len);
    return l;
}

static ilk__reply *read_packet(const packet *l)
{
    struct redisReader *reader = ilk__reader_new();
    ilk__reply *reply = NULL;

    if (!reader || ilk__reader_feed(reader, l->bytes, l->len, NULL)
        || ilk__reader_next(reader, &reply, NULL))
        abort();
    ilk__reader_free(reader);
    return reply;
}

static int64_t travel_ms(void)
{
    if (chance(lateness))
        return 50 + dice(3000);
    return dice(4);
}

/* ---- to the node -------------------------------------------------------- */

static void deliver(node *n, const packet *l, ilk__reply *reply)
{
    if (l->wire == &n->lane) {
        if (ilk__match_reply(&l->expected, reply) == ILK__MATCH_FOREIGN)
            violated("a reply does not match its request");
        if (l->task)
            task_answer(l->task, l->number, reply);
        ilk__reply_free(reply);
        return;
    }
    ilk__shared_lock(&n->shared);
    if (l->wire == &n->calls) {
        ilk__pipeline_handle(&n->pipeline, ILK__ASYNC_CONN_REPLY, reply, "sim");
        ilk__pipeline_handle(&n->pipeline, ILK__ASYNC_CONN_NOTHING, NULL,
                             "sim");
    } else {
        ilk__inbox_reply(&n->shared, &n->subscriber, reply);
        ilk__reply_free(reply);
    }
    ilk__shared_unlock(&n->shared);
}

static void arrive_at_node(node *n, void *data)
{
    packet *l = data;

    if (!n->dead && l->life == l->wire->life) {
        ilk__reply *reply = read_packet(l);

        deliver(n, l, reply);
        node_turn(n);
    }
    free(l);
}

static void send_to_node(packet *l)
{
    wire *w = l->wire;

    w->here = w->here > world_now ? w->here : world_now;
    w->here += travel_ms();
    at(w->here, arrive_at_node, l->node, l);
}

/* ---- to the server ------------------------------------------------------ */

static const char *subscribe(node *n, const packet *l,
                             const ilk__reply *command)
{
    static char text[256];
    const ilk__reply *channel = command->items[1];

    if (l->life == l->wire->life) {
        n->subscribed = 1;
        n->subscription = l->life;
    }
    snprintf(text, sizeof text, ">3\r\n$9\r\nsubscribe\r\n$%zu\r\n%s\r\n:1\r\n",
             channel->len, channel->str);
    return text;
}

static void arrive_at_server(node *n, void *data)
{
    packet *l = data, *answer;
    ilk__reply *command;
    const char *text;

    (void)n;
    if (l->life != l->wire->life && !l->survives) {
        free(l);
        return;
    }
    command = read_packet(l);
    text = strcmp(command->items[0]->str, "SUBSCRIBE") == 0
               ? subscribe(l->node, l, command)
               : server_run(command);
    if (l->life == l->wire->life) {
        answer = write_packet(l->node, l->wire, text, strlen(text));
        answer->task = l->task;
        answer->number = l->number;
        answer->expected = l->expected;
        send_to_node(answer);
    }
    ilk__reply_free(command);
    free(l);
}

ilk__expected_reply wire_send(node *n, wire *w, const ilk__command *command,
                              task *t)
{
    static int64_t requests;
    ilk__expected_reply expected = {command->replies, ++requests};
    ilk__buf bytes = {0};
    packet *l;

    if (!w->up)
        return expected; /* broken, and the sender has yet to find out */
    if (ilk__command_format(command, expected.number, &bytes, NULL))
        abort();
    l = write_packet(n, w, ilk__buf_data(&bytes), ilk__buf_len(&bytes));
    ilk__buf_free(&bytes);
    l->task = t;
    l->number = t ? t->awaited : 0;
    l->expected = expected;
    l->survives = chance(50);
    w->there = w->there > world_now ? w->there : world_now;
    w->there += travel_ms();
    at(w->there, arrive_at_server, NULL, l);
    return expected;
}

void wire_cut(wire *w)
{
    w->life++;
    w->up = 0;
}

/* ---- messages ----------------------------------------------------------- */

/* The server may find out late that nobody listens any more. */
static void unsubscribe(node *n, void *data)
{
    packet *l = data;

    (void)n;
    if (l->node->subscription == l->life)
        l->node->subscribed = 0;
    free(l);
}

void wire_unsubscribe(node *n)
{
    packet *l = write_packet(n, &n->inbox, "", 0);

    l->life = n->subscription;
    at(world_now + (chance(50) ? 0 : dice(3000)), unsubscribe, NULL, l);
}

static int subscribes(const node *n, const char *channel)
{
    const char *id = channel + strlen("ilk:inbox:");

    return n->subscribed && strcmp(id, n->shared.client_id) == 0;
}

int subscribers(const char *channel)
{
    int count = 0;

    for (int i = 0; i < NODES; i++)
        count += subscribes(&nodes[i], channel);
    return count;
}

int publish(const char *channel, const char *message, size_t len)
{
    int receivers = 0;

    for (int i = 0; i < NODES; i++) {
        node *n = &nodes[i];
        char text[512];

        if (!subscribes(n, channel))
            continue;
        receivers++;
        if (n->subscription != n->inbox.life || chance(loss))
            continue;
        snprintf(text, sizeof text,
                 ">3\r\n$7\r\nmessage\r\n$%zu\r\n%s\r\n$%zu\r\n%.*s\r\n",
                 strlen(channel), channel, len, (int)len, message);
        send_to_node(write_packet(n, &n->inbox, text, strlen(text)));
    }
    return receivers;
}
